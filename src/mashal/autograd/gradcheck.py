"""Comparing derivatives with finite differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _core
from .._core import Tensor
from . import grad as _grad


class GradcheckError(RuntimeError):
    """A derivative does not agree with finite differences."""


def _outputs(fn: Callable[..., Any], inputs: tuple[Any, ...]) -> tuple[Tensor, ...]:
    out = fn(*inputs)
    outs = (out,) if isinstance(out, Tensor) else tuple(out)
    return tuple(o for o in outs if isinstance(o, Tensor) and (o.dtype.is_floating_point or o.dtype.is_complex))


def _numeric_column(
    fn: Callable[..., Any], inputs: tuple[Any, ...], t: Tensor, index: int, step: complex, k: int
) -> Any:
    """D outputs[k] / d t[index] by central differences, flat."""
    data = t.data  # with a version of its own: what was computed from t before stays valid
    flat = data.view(-1) if data.is_contiguous() else data.as_strided(data.shape, data.stride())
    place = flat if data.is_contiguous() else data
    position: Any = index
    if not data.is_contiguous():
        position = []
        rest = index
        for s in reversed(data.shape):
            position.insert(0, rest % s)
            rest //= s
        position = tuple(position)
    before = place[position].item()
    # Recorded: the function may itself be a gradient. `data` is cut off, so the writes are not.
    place[position] = before + step
    high = _outputs(fn, inputs)[k].detach().clone()
    place[position] = before - step
    low = _outputs(fn, inputs)[k].detach().clone()
    place[position] = before
    return ((high - low) / (2 * abs(step))).reshape(-1)


def _close(a: Tensor, b: Tensor, rtol: float, atol: float) -> bool:
    return bool(((a - b).abs() <= atol + rtol * b.abs()).all())


def gradcheck(
    func: Callable[..., Any],
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Compares the gradient of every input that requires grad with central differences.

    Args:
        func: a function of tensors that returns tensors.
        inputs: its arguments; those that require grad should be float64 or complex128.
        eps: the step of the differences. ``atol``, ``rtol``: the allowed deviation.

    Returns:
        True, or False where ``raise_exception`` is off.

    Raises:
        GradcheckError: naming the output, the input and both Jacobians.

    Example:
        >>> import mashal
        >>> mashal.autograd.gradcheck(lambda x: x * x, mashal.ones(2, dtype=mashal.float64, requires_grad=True))
        True
    """
    args = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    try:
        _check(func, args, eps, atol, rtol)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def _check(func: Callable[..., Any], args: tuple[Any, ...], eps: float, atol: float, rtol: float) -> None:
    wanted = [t for t in args if isinstance(t, Tensor) and t.requires_grad]
    if not wanted:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of the them have "
            "requires_grad=True."
        )
    outs = _outputs(func, args)
    for k, out in enumerate(outs):
        if not out.requires_grad:
            continue
        directions = (1, 1j) if out.dtype.is_complex else (1,)
        analytic: list[list[list[Tensor | None]]] = [[] for _ in directions]
        for d, direction in enumerate(directions):
            for i in range(out.numel()):
                g = _core.empty(out.shape, None, out.dtype, out.device).fill_(0)
                g.view(-1)[i] = direction
                row = _grad(out, wanted, g, retain_graph=True, allow_unused=True)
                analytic[d].append([r if r is None else r.detach().reshape(-1) for r in row])
        for n, t in enumerate(wanted):
            for j in range(t.numel()):
                steps = (eps, eps * 1j) if t.dtype.is_complex else (eps,)
                columns = [_numeric_column(func, args, t, j, s, k) for s in steps]
                _compare(analytic, columns, n, j, k, out, t, atol, rtol)


def _compare(
    analytic: Any, columns: list[Tensor], n: int, j: int, k: int, out: Tensor, t: Tensor, atol: float, rtol: float
) -> None:
    # With output gradient v, the tape gives conj(v)-weighted derivatives: for a real input Re(conj(v) d), and for a
    # complex one Re(conj(v) dx) + 1j Re(conj(v) dy), where dx and dy are the differences in the two directions.
    for d, direction in enumerate((1, 1j) if out.dtype.is_complex else (1,)):
        for i in range(out.numel()):
            row = analytic[d][i][n]
            got = 0.0 if row is None else row[j].item()
            parts = [(complex(direction).conjugate() * complex(c[i].item())).real for c in columns]
            expected: Any = parts[0] if len(parts) == 1 else complex(parts[0], parts[1])
            if not abs(got - expected) <= atol + rtol * abs(expected):
                raise GradcheckError(
                    f"Jacobian mismatch for output {k} with respect to input {n}, element {i} against element {j}: "
                    f"numerical {expected}, analytical {got} (shapes {tuple(out.shape)} and {tuple(t.shape)})"
                )


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """:func:`gradcheck` of the gradient: compares second derivatives with differences of first ones."""
    args = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    n = len(args)
    outs = _outputs(func, args)
    if grad_outputs is None:
        gs = tuple(_core.empty(o.shape, None, o.dtype, o.device).normal_().requires_grad_() for o in outs)
    else:
        gs = (grad_outputs,) if isinstance(grad_outputs, Tensor) else tuple(grad_outputs)

    def first(*all_args: Any) -> tuple[Tensor, ...]:
        xs, vs = all_args[:n], all_args[n:]
        ys = _outputs(func, xs)
        live = [(y, v) for y, v in zip(ys, vs, strict=True) if y.requires_grad]
        wanted = [t for t in xs if isinstance(t, Tensor) and t.requires_grad]
        grads = _grad([y for y, _ in live], wanted, [v for _, v in live], create_graph=True, allow_unused=True)
        return tuple(g for g in grads if g is not None and g.requires_grad)

    if not first(*args, *gs):
        return True  # linear: nothing to compare
    return gradcheck(first, (*args, *gs), eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception)
