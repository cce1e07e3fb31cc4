"""The graph itself: nodes, edges, hooks on saved tensors and on groups of tensors."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from .. import _core
from .._core import Node, Tensor
from ..utils.hooks import HookHandle, RemovableHandle


class GradientEdge(NamedTuple):
    """A place in the graph: the ``output_nr``-th result of a node."""

    node: Any
    output_nr: int


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The edge that carries the gradient of ``tensor``."""
    if not tensor.requires_grad:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    node = tensor.grad_fn
    if node is None:
        node = tensor.view(tensor.shape).grad_fn.next_functions[0][0]
    return GradientEdge(node, tensor.output_nr)


class saved_tensors_hooks:
    """Within it, tensors saved for backward pass through ``pack`` when saved and ``unpack`` when used.

    Example:
        >>> import mashal
        >>> with mashal.autograd.graph.saved_tensors_hooks(lambda t: t.numpy(), lambda a: mashal.from_numpy(a)):
        ...     y = (mashal.ones(2, requires_grad=True).exp()).sum()
    """

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self) -> None:
        _core.push_saved_hooks(self.pack_hook, self.unpack_hook)

    def __exit__(self, *exc: object) -> None:
        _core.pop_saved_hooks()


class save_on_cpu(saved_tensors_hooks):
    """Keeps saved tensors in CPU memory."""

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        super().__init__(lambda t: (t.device, t.cpu()), lambda packed: packed[1].to(packed[0]))


class disable_saved_tensors_hooks:
    """Within it, no saved-tensor hooks may be pushed."""

    def __init__(self, error_message: str) -> None:
        self.error_message = error_message

    def __enter__(self) -> None:
        def refuse(_: Tensor) -> Any:
            raise RuntimeError(self.error_message)

        self._push = _core.push_saved_hooks
        _core.push_saved_hooks = lambda pack, unpack: refuse(pack)

    def __exit__(self, *exc: object) -> None:
        _core.push_saved_hooks = self._push


@dataclass
class _Pass:
    grads: list[Any]
    left: int
    seen: bool = False


def register_multi_grad_hook(tensors: Sequence[Tensor], fn: Callable[..., Any], *, mode: str = "all") -> Any:
    """Calls ``fn`` when the gradients of all (or any) of ``tensors`` have been computed in a backward pass."""
    if mode not in ("all", "any"):
        raise ValueError(f"{mode=} must be one of ('all', 'any')")
    # One state per backward pass: they may run in several threads, or one inside another.
    passes: dict[int, _Pass] = {}
    lock = threading.Lock()
    nodes = [get_gradient_edge(t).node for t in tensors if t.requires_grad]

    def make(i: int) -> Callable[[Tensor], None]:
        def hook(g: Tensor) -> None:
            number = _core.backward_pass()
            with lock:
                if number not in passes:
                    passes[number] = _Pass([None] * len(tensors), sum(map(_core.will_run, nodes)))
                state = passes[number]
                state.grads[i] = g
                state.left -= 1
                first, last = not state.seen, state.left == 0
                state.seen = True
                if last:
                    del passes[number]
            if mode == "any" and first:
                fn(g)
            elif mode == "all" and last:
                fn(state.grads)

        return hook

    handles = [t.register_hook(make(i)) for i, t in enumerate(tensors) if t.requires_grad]

    class Handle:
        def remove(self) -> None:
            for h in handles:
                h.remove()

        def __enter__(self) -> Handle:
            return self

        def __exit__(self, *exc: object) -> None:
            self.remove()

    return Handle()


def _register(self: Any, fn: Callable[..., Any]) -> RemovableHandle:
    return HookHandle(self._register_hook(fn))


def _register_pre(self: Any, fn: Callable[..., Any]) -> RemovableHandle:
    return HookHandle(self._register_prehook(fn))


Node.register_hook = _register
Node.register_prehook = _register_pre
