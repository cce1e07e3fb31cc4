"""Parametrizations: tensors of a module computed from other tensors by modules, whenever they are asked for."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import mashal

from ... import Tensor
from ..modules.container import ModuleDict, ModuleList
from ..modules.module import Module
from ..parameter import Parameter

__all__ = [
    "ParametrizationList",
    "cached",
    "is_parametrized",
    "register_parametrization",
    "remove_parametrizations",
    "transfer_parametrizations_and_params",
    "type_before_parametrizations",
]

_cache_users = 0
_cache: dict[tuple[int, str], Tensor] = {}


@contextmanager
def cached() -> Iterator[None]:
    """Within it, a parametrized tensor is computed once and kept until the outermost ``cached`` ends.

    Example:
        >>> import mashal
        >>> layer = mashal.nn.utils.parametrizations.weight_norm(mashal.nn.Linear(2, 2))
        >>> with mashal.nn.utils.parametrize.cached():
        ...     layer.weight is layer.weight
        True
    """
    global _cache_users
    _cache_users += 1
    try:
        yield
    finally:
        _cache_users -= 1
        if not _cache_users:
            _cache.clear()


def _register(module: Module, name: str, t: Tensor) -> None:
    if isinstance(t, Parameter):
        module.register_parameter(name, t)
    else:
        module.register_buffer(name, t)


def _set(dest: Tensor, src: Tensor) -> None:
    """Makes ``dest`` hold what ``src`` holds; its identity, which an optimizer may know, stays."""
    if dest is not src and (dest.shape != src.shape or dest.data_ptr() != src.data_ptr()):
        dest.data = src.detach()


def _describe(t: Any) -> str:
    return f"{tuple(t.shape)} {t.dtype}" if isinstance(t, Tensor) else type(t).__name__


class ParametrizationList(ModuleList):
    """The modules that compute one tensor, in order, and the tensors that the first of them starts from.

    Those are ``original``, or ``original0``, ``original1``, ... if ``right_inverse`` of the first module gives several.

    Args:
        modules: the parametrizations.
        original: the tensor that becomes parametrized.
        unsafe: leave out the checks that shape and dtype stay the same.

    Raises:
        ValueError: there are no modules, or a check fails.
    """

    original: Tensor
    unsafe: bool

    def __init__(self, modules: Sequence[Module], original: Tensor, unsafe: bool = False) -> None:
        if len(modules) == 0:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        shape, dtype = original.shape, original.dtype
        with mashal.no_grad():
            new: Any = original
            for module in reversed(list(self)):
                if hasattr(module, "right_inverse"):
                    with suppress(NotImplementedError):
                        new = module.right_inverse(new)
        if not isinstance(new, Tensor) and not isinstance(new, Sequence):
            raise ValueError(
                f"'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                f"Got {type(new).__name__}"
            )
        self.is_tensor = isinstance(new, Tensor)
        self.ntensors = 1 if self.is_tensor else len(new)
        if self.is_tensor:
            if new.dtype != dtype:
                raise ValueError(
                    f"When `right_inverse` outputs one tensor, it may not change the dtype: got {new.dtype} for "
                    f"original {dtype}. Use unsafe=True with several tensors if that is wanted."
                )
            _set(original, new)
            _register(self, "original", original)
        else:
            for i, t in enumerate(new):
                if not isinstance(t, Tensor):
                    raise ValueError(
                        f"'right_inverse' must return a Tensor or a Sequence of tensors, got element {i} of type "
                        f"{type(t).__name__}."
                    )
                if isinstance(original, Parameter):
                    t = Parameter(t, original.requires_grad)
                t.requires_grad_(original.requires_grad)
                _register(self, f"original{i}", t)
        if not unsafe:
            result = self()
            if not isinstance(result, Tensor):
                raise ValueError(f"A parametrization must return a tensor. Got {type(result).__name__}.")
            if result.dtype != dtype or result.shape != shape:
                raise ValueError(
                    f"Registering a parametrization may not change shape or dtype of the tensor, unless unsafe=True: "
                    f"got {_describe(result)} for {tuple(shape)} {dtype}."
                )

    def _originals(self) -> list[Tensor]:
        return [self.original] if self.is_tensor else [getattr(self, f"original{i}") for i in range(self.ntensors)]

    def right_inverse(self, value: Tensor) -> None:
        """Assigns: sets the originals so that the parametrized tensor becomes ``value``.

        Raises:
            RuntimeError: a module has no ``right_inverse``.
            ValueError: what it returns does not fit the originals.
        """
        with mashal.no_grad():
            new: Any = value
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(
                        f"parametrization {type(module).__name__} does not implement right_inverse, "
                        "so the tensor cannot be assigned to."
                    )
                new = module.right_inverse(new)
            if self.is_tensor:
                if not isinstance(new, Tensor):
                    raise ValueError(f"`right_inverse` should return a tensor. Got {type(new).__name__}")
                new = [new]
            elif not isinstance(new, Sequence) or len(new) != self.ntensors:
                got = len(new) if isinstance(new, Sequence) else type(new).__name__
                raise ValueError(f"'right_inverse' must return a sequence of {self.ntensors} tensors. Got {got}")
            for original, t in zip(self._originals(), new, strict=True):
                if not isinstance(t, Tensor):
                    raise ValueError(f"`right_inverse` must return tensors, got {type(t).__name__}")
                if original.dtype != t.dtype or original.shape != t.shape:
                    raise ValueError(
                        f"`right_inverse` must return tensors like the originals, got {_describe(t)} for "
                        f"{_describe(original)}."
                    )
                _set(original, t)

    def forward(self) -> Tensor:
        modules = list(self)
        x = modules[0](*self._originals())
        for module in modules[1:]:
            x = module(x)
        return x


def _no_getstate(self: Any) -> Any:
    raise RuntimeError(
        "Serialization of parametrized modules is only supported through state_dict(). See the notes on saving and "
        "loading models of PyTorch's documentation."
    )


def _deepcopy(self: Any, memo: dict[int, Any]) -> Any:
    if id(self) in memo:
        return memo[id(self)]
    # The copy gets a class of its own: its parametrizations may be removed while this module's stay.
    replica = object.__new__(type(self).__bases__[0])
    memo[id(self)] = replica
    replica.__dict__ = copy.deepcopy(self.__dict__, memo)
    _inject_new_class(replica)
    for name in replica.parametrizations:
        _inject_property(replica, name)
    return replica


def _inject_new_class(module: Module) -> None:
    """Gives the module a class of its own, on which properties can be put."""
    cls = type(module)
    content: dict[str, Any] = {"__getstate__": _no_getstate, "__module__": cls.__module__}
    if not hasattr(cls, "__deepcopy__"):
        content["__deepcopy__"] = _deepcopy
    module.__class__ = type(f"Parametrized{cls.__name__}", (cls,), content)


def _inject_property(module: Module, tensor_name: str) -> None:
    """Makes the tensor a property of the module's (own) class."""

    def compute(self: Any) -> Tensor:
        return self.parametrizations[tensor_name]()

    def get(self: Any) -> Tensor:
        if not _cache_users:
            return compute(self)
        key = (id(self), tensor_name)
        if key not in _cache:
            _cache[key] = compute(self)
        return _cache[key]

    def set_(self: Any, value: Tensor) -> None:
        self.parametrizations[tensor_name].right_inverse(value)

    setattr(type(module), tensor_name, property(get, set_))


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Makes ``module.<tensor_name>`` the result of ``parametrization`` of a tensor that becomes the parameter.

    The parameter is then ``module.parametrizations.<tensor_name>.original``. Parametrizations of one tensor are applied
    in the order of their registration. A method ``right_inverse`` of the parametrization gives the first value of the
    parameter, and makes assignment to the tensor possible; if it returns several tensors, ``forward`` takes as many.

    Args:
        unsafe: leave out the checks that the parametrization keeps shape and dtype.

    Raises:
        ValueError: there is no such tensor, or a check fails.

    Example:
        >>> import mashal
        >>> class Symmetric(mashal.nn.Module):
        ...     def forward(self, x):
        ...         return x.triu() + x.triu(1).mT
        >>> layer = mashal.nn.Linear(3, 3)
        >>> _ = mashal.nn.utils.parametrize.register_parametrization(layer, "weight", Symmetric())
        >>> bool((layer.weight == layer.weight.T).all())
        True
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        parametrizations: Any = module.parametrizations[tensor_name]
        if not unsafe:
            _check_further(getattr(module, tensor_name), parametrization)
        parametrizations.append(parametrization)
        parametrizations.unsafe |= unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        original = getattr(module, tensor_name)
        parametrizations = ParametrizationList([parametrization], original, unsafe=unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            _inject_new_class(module)
            module.parametrizations = ModuleDict()
        _inject_property(module, tensor_name)
        module.parametrizations[tensor_name] = parametrizations
    else:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name "
            f"'{tensor_name}'"
        )
    return module


def _check_further(value: Tensor, parametrization: Any) -> None:
    """Another parametrization on top must keep dtype and shape, and so must its inverse."""

    def check(what: str, result: Any) -> None:
        if not isinstance(result, Tensor):
            raise ValueError(f"{what} must return a tensor. Got {type(result).__name__}.")
        if result.dtype != value.dtype or result.shape != value.shape:
            raise ValueError(
                f"{what} may not change shape or dtype of the tensor, unless unsafe=True: got {_describe(result)} for "
                f"{_describe(value)}."
            )

    result = parametrization(value)
    check("A parametrization", result)
    if hasattr(parametrization, "right_inverse"):
        try:
            back = parametrization.right_inverse(result)
        except NotImplementedError:
            return
        check("parametrization.right_inverse", back)


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether the module has parametrizations, or one of ``tensor_name``."""
    parametrizations = getattr(module, "parametrizations", None)
    if not isinstance(parametrizations, ModuleDict):
        return False
    if tensor_name is None:
        return len(parametrizations) > 0
    return tensor_name in parametrizations


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Makes the tensor a plain parameter or buffer again.

    Args:
        leave_parametrized: keep the computed value; else the original's.

    Raises:
        ValueError: the tensor is not parametrized, or there are several originals and their values should be kept.
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    parametrizations: Any = module.parametrizations[tensor_name]
    if parametrizations.is_tensor:
        original = parametrizations.original
        if leave_parametrized:
            with mashal.no_grad():
                # The identity of the original stays: an optimizer may know it.
                original.data = getattr(module, tensor_name).detach()
    elif leave_parametrized:
        value = getattr(module, tensor_name)
        original = Parameter(value) if value.requires_grad else value
    else:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a "
            "sequence of tensors."
        )
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    _register(module, tensor_name, original)
    if not is_parametrized(module):
        delattr(module, "parametrizations")
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module: Module) -> type:
    """The class that the module had before it was parametrized."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Gives ``to_module`` the parametrizations of ``from_module`` (or of one tensor of it) and their parameters.

    A tensor that ``to_module`` lacks is created. Values are copied, parametrizations shared.
    """
    if not is_parametrized(from_module):
        return to_module
    sources: Any = from_module.parametrizations
    for name in list(sources) if tensor_name is None else [tensor_name]:
        source = sources[name]
        if not hasattr(to_module, name):
            _register(to_module, name, copy.deepcopy(source.original if source.is_tensor else source.original0))
        for parametrization in source:
            register_parametrization(to_module, name, parametrization)
        target = to_module.parametrizations[name]
        with mashal.no_grad():
            if source.is_tensor:
                target.original = _like(source.original, target.original)
            else:
                for i in range(source.ntensors):
                    key = f"original{i}"
                    setattr(target, key, _like(getattr(source, key), getattr(target, key)))
    return to_module


def _like(source: Tensor, target: Tensor) -> Tensor:
    copied = source.detach().clone()
    return Parameter(copied, source.requires_grad) if isinstance(target, Parameter) else copied
