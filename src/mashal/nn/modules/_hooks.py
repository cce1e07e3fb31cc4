"""Hooks of modules: the global registries, and the path a call takes when any hook is present."""

from __future__ import annotations

import functools
import warnings
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

from ... import Tensor
from ...utils.hooks import RemovableHandle
from ._backward_hook import BackwardHook

__all__ = [
    "register_module_backward_hook",
    "register_module_buffer_registration_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]

# All global hooks that a call must look at live in one mapping, so that the fast path makes one test:
# id -> (kind, hook, with_kwargs, always_call).
global_call_hooks: OrderedDict[int, tuple[str, Callable[..., Any], bool, bool]] = OrderedDict()
_global_is_full_backward: bool | None = None

buffer_registration_hooks: OrderedDict[int, Callable[..., Any]] = OrderedDict()
module_registration_hooks: OrderedDict[int, Callable[..., Any]] = OrderedDict()
parameter_registration_hooks: OrderedDict[int, Callable[..., Any]] = OrderedDict()


def _register(hooks: OrderedDict[int, Any], hook: Any) -> RemovableHandle:
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    return handle


def register_module_buffer_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Calls ``hook(module, name, buffer)`` at every buffer registration; a returned value replaces the buffer."""
    return _register(buffer_registration_hooks, hook)


def register_module_module_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Calls ``hook(module, name, submodule)`` at every submodule registration; a returned value replaces it."""
    return _register(module_registration_hooks, hook)


def register_module_parameter_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Calls ``hook(module, name, param)`` at every parameter registration; a returned value replaces it."""
    return _register(parameter_registration_hooks, hook)


def register_module_forward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Calls ``hook(module, args)`` before the forward of every module; see ``Module.register_forward_pre_hook``."""
    return _register(global_call_hooks, ("forward_pre", hook, False, False))


def register_module_forward_hook(
    hook: Callable[..., Any], *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Calls ``hook(module, args, output)`` after the forward of every module; see ``register_forward_hook``."""
    return _register(global_call_hooks, ("forward", hook, with_kwargs, always_call))


def register_module_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """The deprecated predecessor of :func:`register_module_full_backward_hook`."""
    return _register_global_backward(hook, False)


def register_module_full_backward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Calls ``hook(module, grad_output)`` before the backward of every module."""
    return _register(global_call_hooks, ("backward_pre", hook, False, False))


def register_module_full_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Calls ``hook(module, grad_input, grad_output)`` after the backward of every module."""
    return _register_global_backward(hook, True)


def _register_global_backward(hook: Callable[..., Any], full: bool) -> RemovableHandle:
    global _global_is_full_backward
    if _global_is_full_backward is (not full):
        raise RuntimeError(
            "Cannot use both regular backward hooks and full backward hooks as a "
            "global Module hook. Please use only one of them."
        )
    _global_is_full_backward = full
    return _register(global_call_hooks, ("backward", hook, False, False))


def _global(kind: str) -> list[Callable[..., Any]]:
    return [hook for k, hook, _, _ in global_call_hooks.values() if k == kind]


def _backward_hooks(module: Any) -> tuple[list[Callable[..., Any]], list[Callable[..., Any]]]:
    """The full and the legacy backward hooks that apply to a call of ``module``."""
    everywhere = _global("backward")
    full = list(everywhere) if _global_is_full_backward is True else []
    legacy = list(everywhere) if _global_is_full_backward is False else []
    (full if module._is_full_backward_hook is True else legacy).extend(module._backward_hooks.values())
    return full, legacy


def _first_tensor(result: Any) -> Any:
    while not isinstance(result, Tensor):
        if isinstance(result, Mapping):
            result = next((value for value in result.values() if isinstance(value, Tensor)), None)
        elif isinstance(result, list | tuple) and result:
            result = result[0]
        else:
            return None
        if result is None:
            return None
    return result


def _warn_legacy(module: Any, args: Any, result: Any, grad_fn: Any) -> None:
    """Legacy backward hooks see wrong gradients in these cases; say in which one the call is."""
    many = (
        "Using a non-full backward hook when the forward {} is deprecated and will be removed in future versions. "
        "This hook will be missing some {}. Please use register_full_backward_hook to get the documented behavior."
    )
    outputs = (result,) if isinstance(result, Tensor) else result
    if not (isinstance(outputs, tuple) and all(isinstance(r, Tensor) for r in outputs)):
        warnings.warn(
            "Using non-full backward hooks on a Module that does not return a "
            "single Tensor or a tuple of Tensors is deprecated and will be removed "
            "in future versions. This hook will be missing some of the grad_output. "
            "Please use register_full_backward_hook to get the documented behavior.",
            FutureWarning,
            stacklevel=4,
        )
        return
    inputs = (args,) if isinstance(args, Tensor) else args
    if not (isinstance(inputs, tuple) and all(isinstance(i, Tensor) for i in inputs)):
        warnings.warn(
            "Using non-full backward hooks on a Module that does not take as input a "
            "single Tensor or a tuple of Tensors is deprecated and will be removed "
            "in future versions. This hook will be missing some of the grad_input. "
            "Please use register_full_backward_hook to get the documented behavior.",
            FutureWarning,
            stacklevel=4,
        )
        return
    out_nodes = {r.grad_fn for r in outputs if r.grad_fn is not None}
    if not out_nodes or (len(out_nodes) == 1 and grad_fn not in out_nodes):
        warnings.warn(many.format("contains multiple autograd Nodes", "grad_input"), FutureWarning, stacklevel=4)
    elif len(out_nodes) > 1:
        warnings.warn(
            many.format("returns outputs of several autograd Nodes", "grad_output"), FutureWarning, stacklevel=4
        )
    else:
        in_nodes = {i.grad_fn for i in inputs if i.grad_fn is not None}
        next_nodes = {n[0] for n in grad_fn.next_functions}
        if in_nodes != next_nodes:
            warnings.warn(many.format("contains multiple autograd Nodes", "grad_input"), FutureWarning, stacklevel=4)


def call_with_hooks(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``module(*args, **kwargs)`` with every hook that applies.

    Order: pre-hooks (global, own), forward, hooks (global, own). If something raises, the ``always_call`` hooks that
    have not run yet still run, and the first error is raised afterwards.
    """
    forward_hooks: list[tuple[Any, Callable[..., Any], bool, bool]] = [
        (("global", hook_id), hook, with_kwargs, always)
        for hook_id, (kind, hook, with_kwargs, always) in global_call_hooks.items()
        if kind == "forward"
    ]
    # A dict view would break if a hook removed itself.
    result: Any = None
    done: set[Any] = set()
    try:
        return _call_inner(module, args, kwargs, forward_hooks, done)
    except Exception:
        remaining = forward_hooks + _own_forward_hooks(module)
        for key, hook, with_kwargs, always in remaining:
            if not always or key in done:
                continue
            try:
                out = hook(module, args, kwargs, result) if with_kwargs else hook(module, args, result)
                if out is not None:
                    result = out
            except Exception as err:  # noqa: BLE001 (whatever a hook raises, the first error is the one to report)
                warnings.warn(
                    f"module forward hook with ``always_call=True`` raised an exception that was silenced as "
                    f"another error was raised in forward: {err}",
                    stacklevel=2,
                )
        raise


def _own_forward_hooks(module: Any) -> list[tuple[Any, Callable[..., Any], bool, bool]]:
    return [
        (hook_id, hook, hook_id in module._forward_hooks_with_kwargs, hook_id in module._forward_hooks_always_called)
        for hook_id, hook in module._forward_hooks.items()
    ]


def _run_pre_hooks(module: Any, args: Any, kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    own = [(h, i in module._forward_pre_hooks_with_kwargs) for i, h in module._forward_pre_hooks.items()]
    for hook, with_kwargs in [*((h, False) for h in _global("forward_pre")), *own]:
        if with_kwargs:
            replaced = hook(module, args, kwargs)
            if replaced is None:
                continue
            if not (isinstance(replaced, tuple) and len(replaced) == 2):
                raise RuntimeError(
                    f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {replaced}."
                )
            args, kwargs = replaced
        else:
            replaced = hook(module, args)
            if replaced is not None:
                args = replaced if isinstance(replaced, tuple) else (replaced,)
    return args, kwargs


def _call_inner(module: Any, args: Any, kwargs: dict[str, Any], forward_hooks: Any, done: set[Any]) -> Any:
    args, kwargs = _run_pre_hooks(module, args, kwargs)

    full, legacy = _backward_hooks(module)
    pre = [*_global("backward_pre"), *module._backward_pre_hooks.values()]
    boundary = BackwardHook(module, full, pre) if full or pre else None
    if boundary is not None:
        args = boundary.setup_input_hook(args)

    result = module.forward(*args, **kwargs)

    for key, hook, with_kwargs, _ in [*forward_hooks, *_own_forward_hooks(module)]:
        done.add(key)
        out = hook(module, args, kwargs, result) if with_kwargs else hook(module, args, result)
        if out is not None:
            result = out

    if boundary is not None:
        if not isinstance(result, Tensor | tuple):
            warnings.warn(
                "For backward hooks to be called, module output should be a Tensor or a tuple of Tensors but "
                f"received {type(result)}",
                stacklevel=4,
            )
        result = boundary.setup_output_hook(result)

    if legacy:
        tensor = _first_tensor(result)
        grad_fn = None if tensor is None else tensor.grad_fn
        if grad_fn is not None:
            for hook in legacy:
                grad_fn.register_hook(functools.partial(hook, module))
            _warn_legacy(module, args, result, grad_fn)
    return result
