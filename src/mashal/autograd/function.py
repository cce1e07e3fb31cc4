"""Custom differentiable functions."""

from __future__ import annotations

import functools
import inspect
import warnings
import weakref
from collections.abc import Callable
from typing import Any

from .. import _core
from .._core import Tensor
from .grad_mode import no_grad


class FunctionCtx:
    """What ``forward`` leaves for ``backward``: saved tensors, flags and any attributes."""

    _function: type[Function]
    _node: Any = None
    _to_save: tuple[Any, ...] = ()
    _dirty: tuple[Tensor, ...] = ()
    _non_differentiable: tuple[Tensor, ...] = ()
    _materialize = True
    needs_input_grad: tuple[bool, ...] = ()

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keeps tensors for ``backward``, which finds them in ``saved_tensors``; in-place changes are noticed."""
        self._to_save = tensors

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """Accepted for PyTorch programs; forward mode is computed from ``backward``."""

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Says which inputs ``forward`` wrote in place; they must be returned."""
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Says which results have no gradient."""
        self._non_differentiable = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Whether missing gradients reach ``backward`` as zeros (the default) or as None."""
        self._materialize = value

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        node = None if self._node is None else self._node()
        return self._to_save if node is None else _core.function_saved(node)

    saved_variables = saved_tensors

    def _run_backward(self, grads: tuple[Any, ...]) -> tuple[Any, ...]:
        function = self._function
        if function.backward is not Function.backward:
            result = function.backward(self, *grads)
        elif function.vjp is not Function.vjp:
            result = function.vjp(self, *grads)
        else:
            raise NotImplementedError(
                "You must implement either the backward or vjp method for your custom autograd.Function "
                f"({function.__name__}) to use it with backward mode AD."
            )
        if not isinstance(result, tuple):
            result = tuple(result) if isinstance(result, list) else (result,)
        positions = self._tensor_positions
        n = self._n_args
        if len(result) > n and all(g is None for g in result[n:]):
            result = result[:n]
        if len(result) != n:
            raise RuntimeError(
                f"function {function.__name__}Backward returned an incorrect number of gradients (expected {n}, got "
                f"{len(result)})"
            )
        for i, g in enumerate(result):
            if g is not None and i not in positions:
                raise RuntimeError(
                    f"function {function.__name__}Backward returned a gradient different than None at position "
                    f"{i + 1}, but the corresponding forward input was not a Variable"
                )
        return tuple(result[i] for i in positions)

    _tensor_positions: tuple[int, ...] = ()
    _n_args = 0


class Function:
    """Base of custom functions with their own ``forward`` and ``backward``; call ``apply``.

    ``forward(ctx, *args)`` computes the result (or ``forward(*args)`` and ``setup_context(ctx, inputs, output)``);
    ``backward(ctx, *grads)`` returns one gradient, or None, per argument of ``forward``.

    Example:
        >>> import mashal
        >>> class Double(mashal.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         return x * 2
        ...     @staticmethod
        ...     def backward(ctx, g):
        ...         return g * 2
        >>> x = mashal.ones(1, requires_grad=True)
        >>> Double.apply(x).backward()
        >>> x.grad
        tensor([2.])
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warnings.warn(
            f"{type(self).__name__} should not be instantiated. Methods on autograd functions are all static, so you "
            "should invoke them on the class itself: use apply().",
            DeprecationWarning,
            stacklevel=2,
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd "
            "function with static forward method: call apply() on the class."
        )

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        raise NotImplementedError("backward is not implemented.")

    @staticmethod
    def vjp(ctx: Any, *grad_outputs: Any) -> Any:
        raise NotImplementedError("vjp is not implemented.")

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Runs ``forward`` unrecorded and links its results to ``backward``."""
        separate = cls.setup_context is not Function.setup_context
        if kwargs:
            args = _bind(cls.forward, args, kwargs, skip=0 if separate else 1)
        ctx = _context_class(cls)()  # type: ignore[arg-type]  # a class is hashable
        positions = tuple(i for i, a in enumerate(args) if isinstance(a, Tensor))
        ctx._tensor_positions = positions
        ctx._n_args = len(args)
        recording = _core.is_grad_enabled()
        ctx.needs_input_grad = tuple(isinstance(a, Tensor) and a.requires_grad for a in args)
        tensors = tuple(args[i] for i in positions)
        node = None
        if recording and any(ctx.needs_input_grad):
            node = _core.function_node(ctx, f"{cls.__name__}Backward", tensors)
        with no_grad():
            if separate:
                output = cls.forward(*args)
                cls.setup_context(ctx, args, output)
            else:
                output = cls.forward(ctx, *args)
        single = not isinstance(output, tuple)
        outputs = (output,) if single else output
        outputs = _link(ctx, node, tensors, outputs)
        return outputs[0] if single else outputs


def _link(ctx: FunctionCtx, node: Any, inputs: tuple[Tensor, ...], outputs: tuple[Any, ...]) -> tuple[Any, ...]:
    dirty = {id(t) for t in ctx._dirty}
    if dirty - {id(o) for o in outputs}:
        raise RuntimeError(
            "Some elements marked as dirty during the forward method were not returned as output. The inputs that are "
            "modified inplace must all be outputs of the Function."
        )
    fixed = {id(t) for t in ctx._non_differentiable}
    given = {id(t) for t in inputs}
    results, flags = [], []
    replaced: dict[int, Any] = {}
    for o in outputs:
        flag = 0
        if isinstance(o, Tensor):
            if id(o) in dirty:
                flag = 1
                if node is not None and o.is_leaf and o.requires_grad:
                    raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
            elif id(o) in fixed:
                flag = 2
            if flag != 1 and id(o) in given:
                # An input returned as it is: a new view, so that the input keeps its own history.
                with no_grad():
                    replaced[id(o)] = o = o.view(o.shape) if flag == 0 else o.detach()
            elif flag != 1 and o.requires_grad and o._base is None:
                replaced[id(o)] = o = o.detach()
        results.append(o)
        flags.append(flag)
    if node is None:
        return tuple(results)
    place = {id(o): i for i, o in enumerate(results) if isinstance(o, Tensor)}
    saved = []
    for t in ctx._to_save:
        t = replaced.get(id(t), t)
        if t is not None and not isinstance(t, Tensor):
            raise TypeError(f"save_for_backward can only save variables, but argument is of type {type(t).__name__}")
        saved.append((t, place.get(id(t), -1)))
    ctx._node = weakref.ref(node)
    _core.function_finish(node, tuple(results), tuple(flags), tuple(saved), ctx._materialize)
    ctx._to_save = ()
    return tuple(results)


def _bind(forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], skip: int) -> tuple[Any, ...]:
    bound = inspect.signature(forward).bind(*([None] * skip), *args, **kwargs)
    bound.apply_defaults()
    return tuple(bound.args[skip:])


@functools.cache
def _context_class(cls: type[Function]) -> type[FunctionCtx]:
    return type(f"{cls.__name__}Backward", (FunctionCtx,), {"_function": cls})


def once_differentiable(fn: Callable[..., Any]) -> Callable[..., Any]:
    """For a ``backward`` that is not itself differentiable: differentiating through it raises."""

    @functools.wraps(fn)
    def wrapped(ctx: Any, *grads: Any) -> Any:
        with no_grad():
            result = fn(ctx, *grads)
        if not _core.is_grad_enabled() or not any(isinstance(g, Tensor) and g.requires_grad for g in grads):
            return result
        items = result if isinstance(result, tuple) else (result,)
        marked = tuple(
            _Refuse.apply(t, *[g for g in grads if isinstance(g, Tensor)]) if isinstance(t, Tensor) else t
            for t in items
        )
        return marked if isinstance(result, tuple) else marked[0]

    return wrapped


class _Refuse(Function):
    """The identity in its first argument, linked to the others by a derivative that raises."""

    @staticmethod
    def forward(ctx: Any, result: Tensor, *grads: Tensor) -> Tensor:
        return result.detach()

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")
