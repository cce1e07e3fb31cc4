"""What all optimizers share: parameter groups, state, hooks and checkpoints."""

from __future__ import annotations

import functools
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from copy import deepcopy
from itertools import chain
from typing import Any, TypeAlias, TypeVar

from .. import Tensor, _core
from .. import float32 as _float32
from ..utils.hooks import RemovableHandle

__all__ = [
    "Optimizer",
    "register_optimizer_step_post_hook",
    "register_optimizer_step_pre_hook",
]

Group: TypeAlias = dict[str, Any]
State: TypeAlias = dict[str, Any]
StateDict: TypeAlias = dict[str, Any]
ParamsT: TypeAlias = Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]]
Closure: TypeAlias = Callable[[], Any]
Args: TypeAlias = tuple[Any, ...]
Kwargs: TypeAlias = dict[str, Any]
OptimizerPreHook: TypeAlias = Callable[["Optimizer", Args, Kwargs], "tuple[Args, Kwargs] | None"]
OptimizerPostHook: TypeAlias = Callable[["Optimizer", Args, Kwargs], None]
Hooks: TypeAlias = "OrderedDict[int, Callable[..., Any]]"
F = TypeVar("F", bound=Callable[..., Any])

_global_pre_hooks: Hooks = OrderedDict()
_global_post_hooks: Hooks = OrderedDict()

_HOOK_ATTRIBUTES = (
    "_optimizer_step_pre_hooks",
    "_optimizer_step_post_hooks",
    "_optimizer_state_dict_pre_hooks",
    "_optimizer_state_dict_post_hooks",
    "_optimizer_load_state_dict_pre_hooks",
    "_optimizer_load_state_dict_post_hooks",
)


class _RequiredParameter:
    """The default of an option that every parameter group must give itself."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _RequiredParameter()


def _register(hooks: Hooks, hook: Callable[..., Any], *, prepend: bool = False) -> RemovableHandle:
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def register_optimizer_step_pre_hook(hook: OptimizerPreHook) -> RemovableHandle:
    """Call ``hook(optimizer, args, kwargs)`` before the step of every optimizer, ahead of the optimizer's own hooks."""
    return _register(_global_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: OptimizerPostHook) -> RemovableHandle:
    """Call ``hook(optimizer, args, kwargs)`` after the step of every optimizer, behind the optimizer's own hooks."""
    return _register(_global_post_hooks, hook)


def _typename(obj: object) -> str:
    if isinstance(obj, Tensor):
        return str(obj.type())
    cls = type(obj)
    return cls.__qualname__ if cls.__module__ in ("builtins", "") else f"{cls.__module__}.{cls.__qualname__}"


class Optimizer:
    r"""Base class of all optimizers.

    A subclass passes its options' defaults to ``__init__`` and defines :meth:`step`. Keep parameters in collections
    with a fixed order: a checkpoint identifies a parameter by its position.

    Args:
        params: tensors, or ``(name, tensor)`` pairs such as ``model.named_parameters()``, or dictionaries (parameter
            groups), each with ``"params"`` and options that override ``defaults`` for this group.
        defaults: option values for groups that do not give their own.

    Attributes:
        param_groups: list of dictionaries: ``"params"``, the options and, for named parameters, ``"param_names"``.
        state: for every parameter that has been stepped, the dictionary of what the algorithm remembers about it.

    Raises:
        TypeError: ``params`` is a tensor, a set, or holds something that is not a tensor.
        ValueError: ``params`` is empty, holds a non-leaf tensor, or repeats a parameter in two groups.
    """

    def __init__(self, params: ParamsT, defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        self._make_hook_tables()
        self._patch_step_function()
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                + _typename(params)
            )
        self.state: defaultdict[Any, Any] = defaultdict(dict)
        self.param_groups: list[Group] = []
        groups: list[Any] = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def _make_hook_tables(self) -> None:
        for name in _HOOK_ATTRIBUTES:
            self.__dict__.setdefault(name, OrderedDict())

    # -- pickling and printing -----------------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._make_hook_tables()
        self._patch_step_function()
        # Checkpoints from before an option existed take its default, so that the algorithm finds every key.
        for group in self.param_groups:
            for name, default in self.defaults.items():
                group.setdefault(name, default)

    def __repr__(self) -> str:
        blocks = []
        for i, group in enumerate(self.param_groups):
            options = [f"    {key}: {group[key]}\n" for key in sorted(group) if key != "params"]
            blocks.append(f"\nParameter Group {i}\n" + "".join(options))
        return f"{type(self).__name__} (" + "".join(blocks) + ")"

    # -- hooks ---------------------------------------------------------------------------------------------------------

    @staticmethod
    def profile_hook_step(func: F) -> F:
        """Return ``func``, the ``step`` of an optimizer class, surrounded by the step hooks."""

        @functools.wraps(func)
        def step(*args: Any, **kwargs: Any) -> Any:
            self = args[0]
            if not _core.profiler_on():
                return hooked_step(self, args, kwargs)
            entered = _core.profiler_push(f"Optimizer.step#{type(self).__name__}.step")
            try:
                return hooked_step(self, args, kwargs)
            finally:
                _core.profiler_pop(entered)

        def hooked_step(self: Optimizer, args: Args, kwargs: Kwargs) -> Any:
            for pre_hook in (*_global_pre_hooks.values(), *self._optimizer_step_pre_hooks.values()):
                result = pre_hook(self, args, kwargs)
                if result is not None:
                    if not (isinstance(result, tuple) and len(result) == 2):
                        raise RuntimeError(
                            f"{func} must return None or a tuple of (new_args, new_kwargs), but got {result}."
                        )
                    args, kwargs = result
            out = func(*args, **kwargs)
            for post_hook in (*self._optimizer_step_post_hooks.values(), *_global_post_hooks.values()):
                post_hook(self, args, kwargs)
            return out

        step.hooked = True  # type: ignore[attr-defined]
        return step  # type: ignore[return-value]

    def _patch_step_function(self) -> None:
        # On the class, once: instance attributes named `step` stay free for wrappers such as the learning-rate
        # schedulers', and unpickled optimizers get their hooks too.
        cls = type(self)
        if not getattr(cls.step, "hooked", False):
            cls.step = self.profile_hook_step(cls.step)  # type: ignore[method-assign]

    def register_step_pre_hook(self, hook: OptimizerPreHook) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` before each step; it may return new ``(args, kwargs)``."""
        return _register(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: OptimizerPostHook) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` after each step."""
        return _register(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Callable[[Optimizer], None], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer)`` before :meth:`state_dict` gathers; ``prepend`` puts it ahead of earlier hooks."""
        return _register(self._optimizer_state_dict_pre_hooks, hook, prepend=prepend)

    def register_state_dict_post_hook(
        self, hook: Callable[[Optimizer, StateDict], StateDict | None], prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(optimizer, state_dict)`` on the result of :meth:`state_dict`; a returned value replaces it."""
        return _register(self._optimizer_state_dict_post_hooks, hook, prepend=prepend)

    def register_load_state_dict_pre_hook(
        self, hook: Callable[[Optimizer, StateDict], StateDict | None], prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(optimizer, state_dict)`` before loading; a returned value is loaded instead."""
        return _register(self._optimizer_load_state_dict_pre_hooks, hook, prepend=prepend)

    def register_load_state_dict_post_hook(
        self, hook: Callable[[Optimizer], None], prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(optimizer)`` after :meth:`load_state_dict`."""
        return _register(self._optimizer_load_state_dict_post_hooks, hook, prepend=prepend)

    # -- checkpoints ---------------------------------------------------------------------------------------------------

    def state_dict(self) -> StateDict:
        """Return ``{"state": ..., "param_groups": ...}``, with parameters replaced by their positions.

        The tensors are the optimizer's own, not copies. PyTorch reads this dictionary, and :meth:`load_state_dict`
        reads PyTorch's.
        """
        for pre_hook in self._optimizer_state_dict_pre_hooks.values():
            pre_hook(self)
        position: dict[int, int] = {}
        groups = []
        for group in self.param_groups:
            packed = {key: value for key, value in group.items() if key != "params"}
            for p in group["params"]:
                position.setdefault(id(p), len(position))
            packed["params"] = [position[id(p)] for p in group["params"]]
            groups.append(packed)
        state = {position[id(k)] if isinstance(k, Tensor) else k: v for k, v in self.state.items()}
        result: StateDict = {"state": state, "param_groups": groups}
        for post_hook in self._optimizer_state_dict_post_hooks.values():
            replaced = post_hook(self, result)
            if replaced is not None:
                result = replaced
        return result

    @staticmethod
    def _process_value_according_to_param_policy(
        param: Tensor, value: Tensor, param_id: int, param_groups: list[Group], key: object = None
    ) -> Tensor:
        """Bring a loaded state tensor to the dtype and device that the algorithm expects beside ``param``."""
        if key == "step":
            # Step counts stay in full precision on the host, unless a captured or fused kernel reads them on the
            # device.
            group = next((g for g in param_groups if param_id in g["params"]), {})
            if group.get("capturable") or group.get("fused"):
                return value.to(dtype=_float32, device=param.device)
            return value
        if param.is_floating_point():
            return value.to(dtype=param.dtype, device=param.device)
        return value.to(device=param.device)

    def load_state_dict(self, state_dict: StateDict) -> None:
        """Take over the state and options of a :meth:`state_dict`, matching parameters by position.

        Args:
            state_dict: mashal's or PyTorch's, for an optimizer of the same class with as many parameters per group.
                Its tensors are used, not copied, where dtype and device already fit.

        Raises:
            ValueError: the number of groups, or of parameters in a group, differs.
        """
        state_dict = state_dict.copy()
        for pre_hook in self._optimizer_load_state_dict_pre_hooks.values():
            replaced = pre_hook(self, state_dict)
            if replaced is not None:
                state_dict = replaced

        groups = self.param_groups
        saved_groups = deepcopy(state_dict["param_groups"])
        if len(groups) != len(saved_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(g["params"]) != len(s["params"]) for g, s in zip(groups, saved_groups, strict=True)):
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of optimizer's group"
            )
        param_of = dict(
            zip(
                chain.from_iterable(g["params"] for g in saved_groups),
                chain.from_iterable(g["params"] for g in groups),
                strict=True,
            )
        )

        def cast(value: Any, param: Tensor, param_id: int, key: object = None) -> Any:
            if isinstance(value, Tensor):
                return self._process_value_according_to_param_policy(param, value, param_id, saved_groups, key)
            if isinstance(value, dict):
                return {k: cast(v, param, param_id, k) for k, v in value.items()}
            if isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
                return type(value)(cast(v, param, param_id, key) for v in value)  # type: ignore[call-arg]
            return value

        state: defaultdict[Any, Any] = defaultdict(dict)
        for key, value in state_dict["state"].items():
            if key in param_of:
                state[param_of[key]] = cast(value, param_of[key], key)
            else:
                state[key] = value
        new_groups = []
        for group, saved in zip(groups, saved_groups, strict=True):
            saved["params"] = group["params"]
            if "param_names" in group:
                saved.setdefault("param_names", group["param_names"])
            new_groups.append(saved)
        self.__setstate__({"state": state, "param_groups": new_groups})
        for post_hook in self._optimizer_load_state_dict_post_hooks.values():
            post_hook(self)

    # -- use -----------------------------------------------------------------------------------------------------------

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters.

        Args:
            set_to_none: set ``p.grad = None``, which costs nothing and makes the next step skip parameters that got no
                gradient; if False, fill the gradients with zeros, in place and cut off from any graph.
        """
        if not _core.profiler_on():
            return self._forget_gradients(set_to_none)
        entered = _core.profiler_push(f"Optimizer.zero_grad#{type(self).__name__}.zero_grad")
        try:
            self._forget_gradients(set_to_none)
        finally:
            _core.profiler_pop(entered)
        return None

    def _forget_gradients(self, set_to_none: bool) -> None:
        for group in self.param_groups:
            if set_to_none:
                for p in group["params"]:
                    p.grad = None
                continue
            for p in group["params"]:
                grad = p.grad
                if grad is None:
                    continue
                if grad.grad_fn is not None:
                    grad.detach_()
                else:
                    grad.requires_grad_(False)
                grad.zero_()

    def step(self, closure: Closure | None = None) -> Any:
        """Update all parameters once.

        Args:
            closure: recomputes and returns the loss; optional for most algorithms.
        """
        raise NotImplementedError

    def add_param_group(self, param_group: Group) -> None:
        """Add a group of parameters, for instance layers that are unfrozen later.

        Args:
            param_group: dictionary with ``"params"`` (a tensor or an ordered collection of tensors or of
                ``(name, tensor)`` pairs) and options; missing options are filled in from ``defaults``, in place.
        """
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        params = param_group["params"]
        if isinstance(params, Tensor):
            params = [params]
        elif isinstance(params, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets "
                "will change between runs. Please use a list instead."
            )
        else:
            params = list(params)
        names = [p[0] for p in params if isinstance(p, tuple)]
        if names:
            if len(names) != len(params):
                raise ValueError("all optimizer params should be with/without names. Some param names are missing")
            params = [p[1] for p in params]
        param_group["params"] = params
        if names:
            param_group["param_names"] = names

        differentiable = self.defaults.get("differentiable")
        for p in params:
            if not isinstance(p, Tensor):
                raise TypeError("optimizer can only optimize Tensors, but one of the params is " + _typename(p))
            if not differentiable and not (p.is_leaf or p.retains_grad):
                raise ValueError("can't optimize a non-leaf Tensor")
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            param_group.setdefault(name, default)

        own = {id(p) for p in params}
        if len(own) != len(params):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this will cause an error; "
                "see github.com/pytorch/pytorch/issues/40967 for more information",
                stacklevel=3,
            )
        if self.param_groups and bool(names) != ("param_names" in self.param_groups[0]):
            kind = "with names" if names else "without names"
            raise ValueError(
                "all optimizer param groups should be with/without names. "
                f"cannot add param group {kind} to the optimizer"
            )
        if any(id(p) in own for group in self.param_groups for p in group["params"]):
            raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(param_group)
