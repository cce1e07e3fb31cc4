"""Jacobians, Hessians and products with them, of plain functions of tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _core
from .._core import Tensor
from . import grad as _grad
from .grad_mode import enable_grad


def _prepare(inputs: Any, create_graph: bool) -> tuple[Tensor, ...]:
    items = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    if create_graph:
        return tuple(t.view_as(t) if t.requires_grad else t.detach().requires_grad_() for t in items)
    return tuple(t.detach().requires_grad_() for t in items)


def _call(func: Callable[..., Any], inputs: tuple[Tensor, ...]) -> tuple[tuple[Tensor, ...], bool]:
    out = func(*inputs)
    single = isinstance(out, Tensor)
    outs = (out,) if single else tuple(out)
    for i, o in enumerate(outs):
        if not isinstance(o, Tensor):
            raise TypeError(
                f"The outputs of the user-provided function must be Tensors, got {type(o).__name__} at index {i}"
            )
    return outs, single


def _fill(grads: tuple[Any, ...], like: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    return tuple(
        _core.empty(t.shape, None, t.dtype, t.device).fill_(0) if g is None else g
        for g, t in zip(grads, like, strict=True)
    )


def _differentiable(outs: tuple[Tensor, ...], inputs: tuple[Tensor, ...], gs: Any, create: bool) -> tuple[Tensor, ...]:
    pairs = [(o, g) for o, g in zip(outs, gs, strict=True) if o.requires_grad]
    if not pairs:
        return _fill((None,) * len(inputs), inputs)
    grads = _grad(
        [o for o, _ in pairs], inputs, [g for _, g in pairs], retain_graph=True, create_graph=create, allow_unused=True
    )
    return _fill(grads, inputs)


def vjp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """``(func(*inputs), v^T J)`` with J the Jacobian of ``func``; ``v`` may be left out for a one-element result."""
    with enable_grad():
        xs = _prepare(inputs, create_graph)
        outs, single = _call(func, xs)
        if v is None:
            if len(outs) != 1 or outs[0].numel() != 1:
                raise RuntimeError(
                    "The vector v can only be None if the user-provided function returns a single Tensor with a single "
                    "element."
                )
            vs: tuple[Any, ...] = (_core.empty(outs[0].shape, None, outs[0].dtype, outs[0].device).fill_(1),)
        else:
            vs = (v,) if isinstance(v, Tensor) else tuple(v)
        grads = _differentiable(outs, xs, vs, create_graph)
    if not create_graph:
        outs = tuple(o.detach() for o in outs)
    return (outs[0] if single else outs), (grads[0] if isinstance(inputs, Tensor) else grads)


def jvp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """``(func(*inputs), J v)``, by differentiating the vector-Jacobian product with respect to its vector."""
    with enable_grad():
        xs = _prepare(inputs, create_graph)
        if v is None:
            if len(xs) != 1 or xs[0].numel() != 1:
                raise RuntimeError(
                    "The vector v can only be None if the input to the user-provided function is a single Tensor with "
                    "a single element."
                )
            vs: tuple[Any, ...] = (_core.empty(xs[0].shape, None, xs[0].dtype, xs[0].device).fill_(1),)
        else:
            vs = (v,) if isinstance(v, Tensor) else tuple(v)
        outs, single = _call(func, xs)
        dummies = tuple(_core.empty(o.shape, None, o.dtype, o.device).fill_(0).requires_grad_() for o in outs)
        grads = _differentiable(outs, xs, dummies, True)
        if any(g.requires_grad for g in grads):
            products = _differentiable(grads, dummies, vs, create_graph)
        else:
            products = _fill((None,) * len(outs), outs)
    if not create_graph:
        outs = tuple(o.detach() for o in outs)
        products = tuple(p.detach() for p in products)
    return (outs[0] if single else outs), (products[0] if single else products)


def jacobian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """The Jacobian: for each result and input a tensor of shape ``result.shape + input.shape``.

    Example:
        >>> import mashal
        >>> mashal.autograd.functional.jacobian(lambda x: x * x, mashal.tensor([1.0, 2.0]))
        tensor([[2., 0.],
                [0., 4.]])
    """
    from ..ops.joining import stack

    with enable_grad():
        xs = _prepare(inputs, create_graph)
        outs, single = _call(func, xs)
        rows = []
        for o in outs:
            flat = o.reshape(-1)
            columns = [_differentiable((flat[i],), xs, (None,), create_graph) for i in range(flat.numel())]
            rows.append(
                tuple(
                    stack([c[k] for c in columns]).reshape(*o.shape, *x.shape)
                    if columns
                    else _core.empty((*o.shape, *x.shape), None, o.dtype, o.device)
                    for k, x in enumerate(xs)
                )
            )
    result: Any = tuple(r[0] for r in rows) if isinstance(inputs, Tensor) else tuple(rows)
    return result[0] if single else result


def hessian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """The matrix of second derivatives of a function with a one-element result."""
    single = isinstance(inputs, Tensor)

    def gradient(*xs: Tensor) -> Any:
        out = func(*xs)
        if not isinstance(out, Tensor) or out.numel() != 1:
            raise RuntimeError("The Tensor returned by the function given to hessian should contain a single element")
        grads = _fill(_grad(out.reshape(()), xs, create_graph=True, allow_unused=True), xs)
        return grads[0] if single else grads

    return jacobian(gradient, inputs, create_graph=create_graph)


def vhp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """``(func(*inputs), v^T H)`` with H the Hessian of ``func``."""
    single = isinstance(inputs, Tensor)

    def gradient(*xs: Tensor) -> Any:
        grads = _fill(_grad(func(*xs), xs, create_graph=True, allow_unused=True), xs)
        return grads[0] if single else grads

    _, product = vjp(gradient, inputs, v, create_graph)
    with enable_grad():
        value = func(*((inputs,) if single else tuple(inputs)))
    return (value if create_graph else value.detach()), product


def hvp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """``(func(*inputs), H v)``: equal to :func:`vhp`, as the Hessian is symmetric."""
    return vhp(func, inputs, v, create_graph, strict)
