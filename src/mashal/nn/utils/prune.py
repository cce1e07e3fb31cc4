"""Pruning: parameters multiplied by masks of zeros and ones."""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any

import mashal

from ... import Tensor
from ..modules.module import Module


class BasePruningMethod(ABC):
    """A way to choose what to prune. Subclasses say how in :meth:`compute_mask`, and what kind of choice it is.

    ``PRUNING_TYPE`` is ``"unstructured"`` (single elements), ``"structured"`` (whole slices) or ``"global"``.
    Pruning a parameter ``weight`` makes it ``weight_orig``, adds a buffer ``weight_mask``, and installs this object as
    a hook that sets ``weight`` to their product before every call.
    """

    _tensor_name: str
    PRUNING_TYPE: str

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask for ``t``, on top of the mask there is."""

    def apply_mask(self, module: Module) -> Tensor:
        """The original parameter times its mask."""
        if self._tensor_name is None:
            raise AssertionError(f"Module {module} has to be pruned")
        mask = getattr(module, self._tensor_name + "_mask")
        original = getattr(module, self._tensor_name + "_orig")
        return mask.to(dtype=original.dtype) * original

    @classmethod
    def apply(
        cls, module: Module, name: str, *args: Any, importance_scores: Tensor | None = None, **kwargs: Any
    ) -> Any:
        """Prunes the parameter ``name``; a second pruning takes from what the first one left.

        Args:
            args, kwargs: for the class's constructor.
            importance_scores: chosen from in place of the parameter's own values; of its shape.
        """
        old = None
        for k, hook in list(module._forward_pre_hooks.items()):
            if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
                old = hook
                del module._forward_pre_hooks[k]
        method: Any = cls(*args, **kwargs)
        method._tensor_name = name
        if old is not None:
            container = old if isinstance(old, PruningContainer) else PruningContainer(old)
            container._tensor_name = name
            container.add_pruning_method(method)
            method = container
        original = getattr(module, name)
        if importance_scores is None:
            importance_scores = original
        elif importance_scores.shape != original.shape:
            raise AssertionError(
                f"importance_scores should have the same shape as parameter {name} of {module}, got "
                f"{tuple(importance_scores.shape)} and {tuple(original.shape)}."
            )
        if old is None:
            module.register_parameter(name + "_orig", module._parameters.pop(name))
            default_mask = mashal.ones_like(getattr(module, name + "_orig"))
        else:
            default_mask = getattr(module, name + "_mask").detach().clone(memory_format=mashal.contiguous_format)
        try:
            mask = method.compute_mask(importance_scores, default_mask=default_mask)
        except Exception:
            if old is None:  # as it was
                module._parameters[name] = module._parameters.pop(name + "_orig")
            raise
        module.register_buffer(name + "_mask", mask)
        setattr(module, name, method.apply_mask(module))
        module.register_forward_pre_hook(method)
        return method

    def prune(self, t: Tensor, default_mask: Tensor | None = None, importance_scores: Tensor | None = None) -> Tensor:
        """The pruned version of a tensor that belongs to no module."""
        if importance_scores is None:
            importance_scores = t
        elif importance_scores.shape != t.shape:
            raise AssertionError("importance_scores should have the same shape as tensor t")
        mask = default_mask if default_mask is not None else mashal.ones_like(t)
        return t * self.compute_mask(importance_scores, default_mask=mask)

    def remove(self, module: Module) -> None:
        """Makes the pruned values the parameter; what was pruned stays zero."""
        name = self._tensor_name
        if name is None:
            raise AssertionError(f"Module {module} has to be pruned before pruning can be removed")
        weight = self.apply_mask(module)
        if hasattr(module, name):
            delattr(module, name)
        original: Any = module._parameters.pop(name + "_orig")
        original.data = weight.data
        del module._buffers[name + "_mask"]
        setattr(module, name, original)


class PruningContainer(BasePruningMethod):
    """Several prunings of one parameter, in order."""

    def __init__(self, *args: Any) -> None:
        self._pruning_methods: tuple[BasePruningMethod, ...] = ()
        if not isinstance(args, Iterable):
            self._tensor_name = args._tensor_name
            self.add_pruning_method(args)
        elif len(args) == 1:
            self._tensor_name = args[0]._tensor_name
            self.add_pruning_method(args[0])
        else:
            for method in args:
                self.add_pruning_method(method)

    def add_pruning_method(self, method: Any) -> None:
        """Appends a method. TypeError if it is none; ValueError if it is for another parameter."""
        if not isinstance(method, BasePruningMethod) and method is not None:
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if method is not None and self._tensor_name != method._tensor_name:
            raise ValueError(
                "Can only add pruning methods acting on the parameter named "
                f"'{self._tensor_name}' to PruningContainer {self}. Found '{method._tensor_name}'"
            )
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[BasePruningMethod]:
        return iter(self._pruning_methods)

    def __getitem__(self, idx: Any) -> Any:
        return self._pruning_methods[idx]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask of the last method, applied only to what earlier ones left."""
        method = self._pruning_methods[-1]
        mask = default_mask.to(dtype=t.dtype)
        kind = method.PRUNING_TYPE
        if kind == "unstructured":
            where: Any = mask == 1
        elif kind == "structured":
            dim = method.dim  # type: ignore[attr-defined]
            if dim < 0:
                dim += t.dim()
            # Slices in which anything is left.
            kept = mask.sum([d for d in range(t.dim()) if d != dim]) != 0
            where = [slice(None)] * t.dim()
            where[dim] = kept
            where = tuple(where)
        elif kind == "global":
            where = tuple([slice(None)] * t.dim())
        else:
            raise ValueError(f"Unrecognized PRUNING_TYPE {kind}")
        new = mask.clone()
        new[where] = method.compute_mask(t[where], default_mask=mask[where]).to(dtype=mask.dtype)
        return new


class Identity(BasePruningMethod):
    """Prunes nothing: for a parameter that should look pruned."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return default_mask

    @classmethod
    def apply(cls, module: Module, name: str) -> Any:  # type: ignore[override]
        return super().apply(module, name)


class RandomUnstructured(BasePruningMethod):
    """Prunes elements chosen at random; ``amount`` is a fraction or a number of them."""

    PRUNING_TYPE = "unstructured"

    def __init__(self, amount: float) -> None:
        _validate_pruning_amount_init(amount)
        self.amount = amount

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        count = t.nelement()
        pruned = _compute_nparams_toprune(self.amount, count)
        _validate_pruning_amount(pruned, count)
        mask = default_mask.clone(memory_format=mashal.contiguous_format)
        if pruned:
            chosen = mashal.topk(mashal.rand_like(t).view(-1), k=pruned).indices
            mask.view(-1)[chosen] = 0
        return mask

    @classmethod
    def apply(cls, module: Module, name: str, amount: float) -> Any:  # type: ignore[override]
        return super().apply(module, name, amount=amount)


class L1Unstructured(BasePruningMethod):
    """Prunes the elements of least magnitude; ``amount`` is a fraction or a number of them."""

    PRUNING_TYPE = "unstructured"

    def __init__(self, amount: float) -> None:
        _validate_pruning_amount_init(amount)
        self.amount = amount

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        count = t.nelement()
        pruned = _compute_nparams_toprune(self.amount, count)
        _validate_pruning_amount(pruned, count)
        mask = default_mask.clone(memory_format=mashal.contiguous_format)
        if pruned:
            chosen = mashal.topk(t.abs().view(-1), k=pruned, largest=False).indices
            mask.view(-1)[chosen] = 0
        return mask

    @classmethod
    def apply(  # type: ignore[override]
        cls, module: Module, name: str, amount: float, importance_scores: Tensor | None = None
    ) -> Any:
        return super().apply(module, name, amount=amount, importance_scores=importance_scores)


class RandomStructured(BasePruningMethod):
    """Prunes slices along ``dim`` chosen at random; ``amount`` is a fraction or a number of them."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: float, dim: int = -1) -> None:
        _validate_pruning_amount_init(amount)
        self.amount = amount
        self.dim = dim

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        count = _slices(t, self.dim)
        pruned = _compute_nparams_toprune(self.amount, count)
        _validate_pruning_amount(pruned, count)
        draws = mashal.rand(count)
        kept = mashal.ones(count, dtype=mashal.bool)
        if pruned:
            kept = draws > mashal.kthvalue(draws, k=pruned).values
        return default_mask.to(dtype=t.dtype) * _slice_mask(t, self.dim, kept)

    @classmethod
    def apply(cls, module: Module, name: str, amount: float, dim: int = -1) -> Any:  # type: ignore[override]
        return super().apply(module, name, amount=amount, dim=dim)


class LnStructured(BasePruningMethod):
    """Prunes the slices along ``dim`` of least ``n``-norm; ``amount`` is a fraction or a number of them."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: float, n: Any, dim: int = -1) -> None:
        _validate_pruning_amount_init(amount)
        self.amount = amount
        self.n = n
        self.dim = dim

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        count = _slices(t, self.dim)
        pruned = _compute_nparams_toprune(self.amount, count)
        _validate_pruning_amount(pruned, count)
        best = mashal.topk(_compute_norm(t, self.n, self.dim), k=count - pruned, largest=True).indices
        kept = mashal.zeros(count, dtype=mashal.bool)
        kept[best] = True
        return default_mask.to(dtype=t.dtype) * _slice_mask(t, self.dim, kept)

    @classmethod
    def apply(  # type: ignore[override]
        cls, module: Module, name: str, amount: float, n: Any, dim: int, importance_scores: Tensor | None = None
    ) -> Any:
        return super().apply(module, name, amount=amount, n=n, dim=dim, importance_scores=importance_scores)


class CustomFromMask(BasePruningMethod):
    """Prunes where a given mask is zero."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        if default_mask.shape != self.mask.shape:
            raise AssertionError(
                f"mask must have the shape of the parameter, {tuple(default_mask.shape)}, got {tuple(self.mask.shape)}."
            )
        return default_mask * self.mask.to(dtype=default_mask.dtype)

    @classmethod
    def apply(cls, module: Module, name: str, mask: Tensor) -> Any:  # type: ignore[override]
        return super().apply(module, name, mask=mask)


def identity(module: Module, name: str) -> Module:
    """Makes a parameter look pruned, with a mask of ones."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: Module, name: str, amount: float) -> Module:
    """Prunes a fraction (or number) of a parameter's elements, chosen at random."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module: Module, name: str, amount: float, importance_scores: Tensor | None = None) -> Module:
    """Prunes the fraction (or number) of a parameter's elements with the least magnitude.

    Example:
        >>> import mashal
        >>> layer = mashal.nn.utils.prune.l1_unstructured(mashal.nn.Linear(3, 2), "weight", amount=2)
        >>> int((layer.weight == 0).sum()), [name for name, _ in layer.named_parameters()]
        (2, ['bias', 'weight_orig'])
    """
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module: Module, name: str, amount: float, dim: int) -> Module:
    """Prunes a fraction (or number) of a parameter's slices along ``dim``, chosen at random."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(
    module: Module, name: str, amount: float, n: Any, dim: int, importance_scores: Tensor | None = None
) -> Module:
    """Prunes the fraction (or number) of a parameter's slices along ``dim`` with the least ``n``-norm."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def global_unstructured(
    parameters: Any, pruning_method: Any, importance_scores: dict[Any, Tensor] | None = None, **kwargs: Any
) -> None:
    """Prunes several parameters as if they were one.

    Args:
        parameters: pairs of module and name.
        pruning_method: an unstructured method's class.
        importance_scores: scores by pair, in place of the parameters' values.
        kwargs: for the method, such as ``amount``.

    Raises: TypeError if the arguments are no such things or the method is not unstructured.
    """
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    parameters = list(parameters)
    scores = importance_scores if importance_scores is not None else {}
    if not isinstance(scores, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    relevant = [scores.get((module, name), getattr(module, name)) for module, name in parameters]
    vector = mashal.nn.utils.parameters_to_vector(relevant)
    masks = [getattr(module, name + "_mask", mashal.ones_like(getattr(module, name))) for module, name in parameters]
    default_mask = mashal.nn.utils.parameters_to_vector(masks)
    container = PruningContainer()
    container._tensor_name = "temp"
    method = pruning_method(**kwargs)
    method._tensor_name = "temp"
    container.add_pruning_method(method)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. '
            f"Found method {pruning_method} of type {method.PRUNING_TYPE}"
        )
    mask = container.compute_mask(vector, default_mask)
    at = 0
    for module, name in parameters:
        param = getattr(module, name)
        count = param.numel()
        custom_from_mask(module, name, mask=mask[at : at + count].view_as(param))
        at += count


def custom_from_mask(module: Module, name: str, mask: Tensor) -> Module:
    """Prunes a parameter where ``mask`` is zero."""
    CustomFromMask.apply(module, name, mask)
    return module


def remove(module: Module, name: str) -> Module:
    """Makes pruning permanent: the parameter keeps its zeros, mask and hook go. ValueError if it is not pruned."""
    for k, hook in module._forward_pre_hooks.items():
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            hook.remove(module)
            del module._forward_pre_hooks[k]
            return module
    raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")


def is_pruned(module: Module) -> bool:
    """Whether a parameter of the module or of a submodule is pruned."""
    return any(
        isinstance(hook, BasePruningMethod) for sub in module.modules() for hook in sub._forward_pre_hooks.values()
    )


def _validate_pruning_amount_init(amount: Any) -> None:
    if not isinstance(amount, numbers.Real):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    if (isinstance(amount, numbers.Integral) and amount < 0) or (
        not isinstance(amount, numbers.Integral) and not 0.0 <= float(amount) <= 1.0
    ):
        raise ValueError(f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer")


def _validate_pruning_amount(amount: Any, tensor_size: int) -> None:
    if isinstance(amount, numbers.Integral) and amount > tensor_size:
        raise ValueError(f"amount={amount} should be smaller than the number of parameters to prune={tensor_size}")


def _validate_structured_pruning(t: Tensor) -> None:
    if len(t.shape) <= 1:
        raise ValueError(
            "Structured pruning can only be applied to multidimensional tensors. Found tensor of shape "
            f"{t.shape} with {len(t.shape)} dims"
        )


def _validate_pruning_dim(t: Tensor, dim: int) -> None:
    if dim >= t.dim():
        raise IndexError(f"Invalid index {dim} for tensor of size {t.shape}")


def _compute_nparams_toprune(amount: Any, tensor_size: int) -> int:
    """The number that ``amount`` means: itself if whole, else that fraction."""
    return int(amount) if isinstance(amount, numbers.Integral) else round(amount * tensor_size)


def _slices(t: Tensor, dim: int) -> int:
    _validate_structured_pruning(t)
    _validate_pruning_dim(t, dim)
    return t.shape[dim]


def _slice_mask(t: Tensor, dim: int, kept: Tensor) -> Tensor:
    shape = [1] * t.dim()
    shape[dim] = -1
    return kept.to(t.dtype).reshape(shape).expand(t.shape)


def _compute_norm(t: Tensor, n: Any, dim: int) -> Tensor:
    """The n-norm of each slice along ``dim``."""
    dims = [d for d in range(t.dim()) if d != dim % t.dim()]
    return mashal.norm(t, p=n, dim=dims)
