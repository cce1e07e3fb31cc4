"""Checkpointing: a part of a network is computed again in the backward pass instead of keeping what it saved."""

from __future__ import annotations

import contextlib
import functools
import warnings
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import Any

from .._core import Tensor
from ..amp._state import get_autocast_dtype, is_autocast_cache_enabled, is_autocast_enabled
from ..amp.autocast_mode import autocast
from ..autograd import backward
from ..autograd._passes import _is_checkpoint_valid
from ..autograd.function import Function
from ..autograd.grad_mode import enable_grad, set_grad_enabled
from ..autograd.graph import saved_tensors_hooks
from ..random import fork_rng, get_rng_state, set_rng_state
from ._checkpoint_policy import (
    CheckpointPolicy,
    DefaultDeviceType,
    SelectiveCheckpointContext,
    create_selective_checkpoint_contexts,
    get_device_states,
    set_checkpoint_debug_enabled,
    set_device_states,
)

__all__ = [
    "CheckpointError",
    "CheckpointFunction",
    "CheckpointPolicy",
    "DefaultDeviceType",
    "SelectiveCheckpointContext",
    "checkpoint",
    "checkpoint_sequential",
    "create_selective_checkpoint_contexts",
    "get_device_states",
    "noop_context_fn",
    "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
    "set_device_states",
]


class CheckpointError(RuntimeError):
    """A part of a network did something else when it was computed again."""


def noop_context_fn() -> tuple[AbstractContextManager[None], AbstractContextManager[None]]:
    """Two contexts that do nothing: for the forward pass and for the second one."""
    return contextlib.nullcontext(), contextlib.nullcontext()


_early_stop: list[bool] = []


@contextlib.contextmanager
def set_checkpoint_early_stop(enable: bool) -> Any:
    """For a block: whether a second pass stops as soon as everything that was saved has been computed again."""
    _early_stop.append(enable)
    try:
        yield
    finally:
        _early_stop.pop()


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Callable[[], tuple[Any, Any]] = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    **kwargs: Any,
) -> Any:
    """``function(*args, **kwargs)``, of which the tape keeps only the arguments; the backward pass calls it again.

    Args:
        use_reentrant: False: what operations save is dropped and computed again on demand. True: the call is one node,
            whose backward pass runs another one inside; keywords, ``autograd.grad`` and ``inputs=`` do not work.
            Left out: True, with a warning.
        preserve_rng_state: (keyword) draw the same random numbers again. Default: True.
        context_fn: gives two contexts, for the first and for the second call; not with ``use_reentrant``.
        determinism_check: ``"none"`` leaves out the comparison of what both calls saved.
        early_stop: end the second call as soon as it has computed everything that was saved.
        debug: accepted for PyTorch's sake.

    Raises:
        CheckpointError: (in the backward pass) if the second call saves other tensors than the first.
        ValueError: for keywords that ``use_reentrant=True`` cannot pass on.

    Example:
        >>> import mashal
        >>> from mashal.utils.checkpoint import checkpoint
        >>> x = mashal.ones(2, requires_grad=True)
        >>> checkpoint(lambda a: a.exp().log(), x, use_reentrant=False).sum().backward()
        >>> x.grad
        tensor([1., 1.])
    """
    if use_reentrant is None:
        warnings.warn(
            "checkpoint: the use_reentrant parameter should be passed explicitly. use_reentrant=False is recommended; "
            "the default is True.",
            stacklevel=2,
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if use_reentrant:
        if kwargs:
            raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
        if context_fn is not noop_context_fn or debug:
            raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
        return CheckpointFunction.apply(function, preserve, *args)
    if determinism_check not in ("default", "none"):
        raise ValueError(f"determinism_check should be one of ('default', 'none'), but got {determinism_check}")
    if _early_stop:
        early_stop = _early_stop[-1]
    first, second = context_fn()
    again = _Recomputation(function, args, kwargs, preserve, second, determinism_check == "default", early_stop)
    with again.hooks(), first:
        return function(*args, **kwargs)


# ---- a node with a backward pass inside ----


def check_backward_validity(inputs: Iterable[Any]) -> None:
    """Warns if no input needs a gradient, so that none will be computed."""
    if not any(isinstance(t, Tensor) and t.requires_grad for t in inputs):
        warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", stacklevel=4)


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Tensors without their history, that need gradients as before; other values as they are."""
    return tuple(t.detach().requires_grad_(t.requires_grad) if isinstance(t, Tensor) else t for t in inputs)


def _autocast_state() -> Callable[[], AbstractContextManager[Any]]:
    """A region with the autocast state of now."""
    return functools.partial(
        autocast, "cpu", get_autocast_dtype("cpu"), is_autocast_enabled("cpu"), is_autocast_cache_enabled()
    )


class CheckpointFunction(Function):
    """The node of ``checkpoint(..., use_reentrant=True)``."""

    @staticmethod
    def forward(ctx: Any, run_function: Callable[..., Any], preserve_rng_state: bool, *args: Any) -> Any:
        check_backward_validity(args)
        ctx.run_function = run_function
        ctx.autocast = _autocast_state()
        ctx.rng_state = get_rng_state() if preserve_rng_state else None
        ctx.places = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
        ctx.inputs = [None if isinstance(a, Tensor) else a for a in args]
        ctx.save_for_backward(*(args[i] for i in ctx.places))
        with set_grad_enabled(False):
            return run_function(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        if not _is_checkpoint_valid():
            raise RuntimeError(
                "When use_reentrant=True, checkpoint is incompatible with .grad() or passing an `inputs` parameter to "
                ".backward(). To resolve this error, you can either set use_reentrant=False, or call .backward() "
                "without passing the `inputs` argument."
            )
        inputs = list(ctx.inputs)
        for place, t in zip(ctx.places, ctx.saved_tensors, strict=True):
            inputs[place] = t
        detached = detach_variable(tuple(inputs))
        with fork_rng(devices=(), enabled=ctx.rng_state is not None):
            if ctx.rng_state is not None:
                set_rng_state(ctx.rng_state)
            with enable_grad(), ctx.autocast():
                outputs = ctx.run_function(*detached)
        if isinstance(outputs, Tensor):
            outputs = (outputs,)
        pairs = [(o, g) for o, g in zip(outputs, grads, strict=True) if isinstance(o, Tensor) and o.requires_grad]
        if not pairs:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        backward([o for o, _ in pairs], [g for _, g in pairs])
        return None, None, *(t.grad if isinstance(t, Tensor) else None for t in detached)


# ---- saved tensors computed again on demand ----


class _Enough(Exception):  # noqa: N818 (no error: it ends a pass early)
    """Everything that was saved has been computed again."""


class _Place:
    """What the tape keeps instead of a saved tensor: its number, and what it looked like."""

    def __init__(self, number: int, t: Tensor) -> None:
        self.number = number
        self.looks = _looks(t)


def _looks(t: Tensor) -> tuple[Any, ...]:
    return tuple(t.shape), t.dtype, t.device


class _Recomputation:
    """One checkpointed call: counts what is saved in it; repeats it when the first saved tensor is asked for."""

    def __init__(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        preserve_rng_state: bool,
        context: AbstractContextManager[Any],
        compare: bool,
        early_stop: bool,
    ) -> None:
        self.function, self.args, self.kwargs, self.context = function, args, kwargs, context
        self.rng_state = get_rng_state() if preserve_rng_state else None
        self.autocast = _autocast_state()
        self.compare, self.early_stop = compare, early_stop
        self.count = 0
        # Tensors of the last repetition by number; each is given out once, so that memory is freed on the way.
        self.tensors: dict[int, Tensor] = {}

    def hooks(self) -> saved_tensors_hooks:
        return saved_tensors_hooks(self._pack, self._unpack)

    def _pack(self, t: Tensor) -> _Place:
        place = _Place(self.count, t)
        self.count += 1
        return place

    def _unpack(self, place: _Place) -> Tensor:
        if place.number not in self.tensors:
            self._repeat()
        if place.number not in self.tensors:
            raise CheckpointError(
                "checkpoint: A different number of tensors was saved during the original forward and recomputation.\n"
                f"Number of tensors saved during forward: {self.count}\n"
                f"Number of tensors saved during recomputation: {len(self.tensors)}."
            )
        t = self.tensors.pop(place.number)
        if self.compare and _looks(t) != place.looks:
            raise CheckpointError(
                "checkpoint: Recomputed values for the following tensors have different metadata than during the "
                f"forward pass.\ntensor at position {place.number}:\nsaved metadata: {place.looks}\n"
                f"recomputed metadata: {_looks(t)}"
            )
        return t

    def _repeat(self) -> None:
        self.tensors = {}
        seen = 0

        def pack(t: Tensor) -> Tensor:
            nonlocal seen
            self.tensors[seen] = t.detach()
            seen += 1
            if self.early_stop and seen == self.count:
                raise _Enough
            return t.detach()

        with fork_rng(devices=(), enabled=self.rng_state is not None):
            if self.rng_state is not None:
                set_rng_state(self.rng_state)
            with enable_grad(), saved_tensors_hooks(pack, lambda t: t), self.autocast(), self.context:
                try:
                    self.function(*self.args, **self.kwargs)
                except _Enough:
                    return
        if seen != self.count:
            raise CheckpointError(
                "checkpoint: A different number of tensors was saved during the original forward and recomputation.\n"
                f"Number of tensors saved during forward: {self.count}\n"
                f"Number of tensors saved during recomputation: {seen}."
            )


def checkpoint_sequential(
    functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any
) -> Any:
    """A sequence of modules in so many segments, of which all but the last are checkpointed.

    Raises:
        ValueError: for keywords other than ``preserve_rng_state``.
    """
    if use_reentrant is None:
        warnings.warn(
            "checkpoint_sequential: the use_reentrant parameter should be passed explicitly. use_reentrant=False is "
            "recommended; the default is True.",
            stacklevel=2,
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    modules = list(functions.children()) if hasattr(functions, "children") else list(functions)
    size = len(modules) // segments

    def run(part: list[Callable[[Any], Any]]) -> Callable[[Any], Any]:
        def forward(value: Any) -> Any:
            for module in part:
                value = module(value)
            return value

        return forward

    for i in range(segments - 1):
        part = modules[i * size : (i + 1) * size]
        input = checkpoint(run(part), input, use_reentrant=use_reentrant, preserve_rng_state=preserve)
    return run(modules[(segments - 1) * size :])(input)
