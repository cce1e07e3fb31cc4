"""The plumbing of a module's full backward hooks."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import mashal

from ... import Tensor


def _through_one_node(tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """The tensors again, all coming out of one autograd node, so that one hook sees all their gradients."""
    from ...autograd import Function  # looked up late: autograd may be imported after nn

    class ModuleBoundary(Function):
        @staticmethod
        def forward(ctx: Any, *args: Tensor) -> tuple[Tensor, ...]:
            ctx.mark_non_differentiable(*(arg for arg in args if not arg.requires_grad))
            return args

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            return grads

    return ModuleBoundary.apply(*tensors)


class BackwardHook:
    """Runs a module's full backward hooks when the gradients at both of its boundaries are known.

    Inputs and outputs each pass through one identity node. The output's node sees ``grad_output`` first (pre-hooks
    may replace it there), the input's node sees ``grad_input`` last, and then the hooks proper run. Arguments that
    are not tensors are reported as ``None``.
    """

    def __init__(
        self, module: Any, hooks: Sequence[Callable[..., Any]], pre_hooks: Sequence[Callable[..., Any]]
    ) -> None:
        self.module = module
        self.hooks = list(hooks)
        self.pre_hooks = list(pre_hooks)
        self.grad_outputs: Any = None
        self.input_places: list[int] | None = None
        self.output_places: list[int] | None = None
        self.n_inputs = -1
        self.n_outputs = -1

    def _route(self, attach: Callable[[Any], None], args: tuple[Any, ...]) -> tuple[tuple[Any, ...], list[int] | None]:
        """Sends the tensors among ``args`` through one node and attaches to it; returns their positions too."""
        places = [i for i, arg in enumerate(args) if isinstance(arg, Tensor)]
        if not (mashal.is_grad_enabled() and any(args[i].requires_grad for i in places)):
            return args, None
        new_tensors = _through_one_node([args[i] for i in places])
        attach(next(t.grad_fn for t in new_tensors if t.grad_fn is not None))
        routed = list(args)
        for place, tensor in zip(places, new_tensors, strict=True):
            routed[place] = tensor
        return tuple(routed), places

    def setup_input_hook(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments with which ``forward`` is to be called."""

        def hook(grad_input: Any, _: Any) -> Any:
            if self.grad_outputs is None:
                return None  # the gradient bypassed the module's output: there is nothing to report
            result = self._run_hooks(_spread(self.input_places, grad_input, self.n_inputs), self.grad_outputs)
            self.grad_outputs = None
            return None if result is None else _pick(self.input_places, result)

        routed, self.input_places = self._route(lambda node: node.register_hook(hook), args)
        self.n_inputs = len(args)
        return routed

    def setup_output_hook(self, output: Any) -> Any:
        """The output that the module is to return."""

        def hook(grad_output: Any) -> Any:
            self.grad_outputs = _spread(self.output_places, grad_output, self.n_outputs)
            for pre_hook in self.pre_hooks:
                replaced = pre_hook(self.module, self.grad_outputs)
                if replaced is not None:
                    replaced = replaced if isinstance(replaced, tuple) else (replaced,)
                    _check_count("pre hook", "grad_output", len(self.grad_outputs), len(replaced))
                    self.grad_outputs = replaced
            local = self.grad_outputs  # kept: the next block ends the pass by clearing the attribute
            if self.input_places is None:
                self._run_without_inputs()
            return _pick(self.output_places, local) if self.pre_hooks else None

        is_tuple = isinstance(output, tuple)
        routed, self.output_places = self._route(
            lambda node: node.register_prehook(hook), output if is_tuple else (output,)
        )
        self.n_outputs = len(routed)
        return routed if is_tuple else routed[0]

    def _run_without_inputs(self) -> None:
        """No input needs a gradient, so no node will fire at the input's side: run the hooks right away."""
        warnings.warn(
            "Full backward hook is firing when gradients are computed with respect to module outputs "
            "since no inputs require gradients. See https://docs.pytorch.org/docs/main/generated/"
            "torch.nn.Module.html#torch.nn.Module.register_full_backward_hook for more details.",
            stacklevel=5,
        )
        result = self._run_hooks((None,) * self.n_inputs, self.grad_outputs)
        self.grad_outputs = None
        if result is not None and any(grad is not None for grad in result):
            raise RuntimeError(
                "Backward hook for Modules where no input requires gradient should always return None "
                "or None for all gradients."
            )

    def _run_hooks(self, grad_input: tuple[Any, ...], grad_output: Any) -> tuple[Any, ...] | None:
        result = None
        for hook in self.hooks:
            out = hook(self.module, grad_input, grad_output)
            if out is not None:
                out = out if isinstance(out, tuple) else (out,)
                _check_count("hook", "grad_input", len(grad_input), len(out))
                result = grad_input = out
        return result


def _spread(places: list[int] | None, values: Sequence[Any], size: int) -> tuple[Any, ...]:
    full: list[Any] = [None] * size
    for place, value in zip(places or (), values, strict=True):
        full[place] = value
    return tuple(full)


def _pick(places: list[int] | None, values: Any) -> tuple[Any, ...]:
    return tuple(values[place] for place in places or ())


def _check_count(hook: str, what: str, expected: int, actual: int) -> None:
    if actual != expected:
        raise RuntimeError(
            f"Backward {hook} returned an invalid number of {what}, got {actual}, but expected {expected}"
        )
