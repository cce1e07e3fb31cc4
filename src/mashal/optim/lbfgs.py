"""Limited-memory BFGS."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from .. import Tensor, cat, enable_grad, no_grad, view_as_real
from ._group import check_lr, require
from .optimizer import Closure, Optimizer, ParamsT, State

__all__ = ["LBFGS"]


class _Point(NamedTuple):
    """The objective on the search line: position, value, gradient, and the gradient's component along the line."""

    t: Any
    f: float
    g: Tensor
    slope: Any


def _cubic_minimum(a: _Point, b: _Point, bounds: tuple[Any, Any] | None = None) -> Any:
    """Minimise the cubic through two points with given slopes, within ``bounds`` (between the points if None).

    Source: Nocedal and Wright, "Numerical optimization", 2nd edition, equation 3.59.
    """
    low, high = bounds if bounds is not None else (min(a.t, b.t), max(a.t, b.t))
    d1 = a.slope + b.slope - 3 * (a.f - b.f) / (a.t - b.t)
    discriminant = d1**2 - a.slope * b.slope
    if not discriminant >= 0:
        return (low + high) / 2.0  # the cubic has no minimum
    d2 = discriminant**0.5
    left, right = (a, b) if a.t <= b.t else (b, a)
    t = right.t - (right.t - left.t) * ((right.slope + d2 - d1) / (right.slope - left.slope + 2 * d2))
    return min(max(t, low), high)


def _strong_wolfe(
    evaluate: Callable[[Any], _Point],
    start: _Point,
    t: Any,
    direction_size: Any,
    c1: float = 1e-4,
    c2: float = 0.9,
    tolerance_change: float = 1e-9,
    max_evals: int = 25,
) -> tuple[_Point, int]:
    r"""Find a step that satisfies the strong Wolfe conditions.

    :math:`f(t) \le f(0) + c_1 t f'(0)` and :math:`|f'(t)| \le c_2 |f'(0)|`. First a bracket is grown, then it is
    narrowed.

    Args:
        evaluate: gives the point at a position on the line.
        start: the point at 0.
        t: first position to try.
        direction_size: largest absolute component of the direction; scales ``tolerance_change``.

    Returns:
        The best point found and the number of evaluations.

    Source: Nocedal and Wright, "Numerical optimization", 2nd edition, algorithms 3.5 and 3.6.
    """

    def too_high(point: _Point) -> bool:
        return bool(point.f > start.f + c1 * point.t * start.slope)

    def flat(point: _Point) -> bool:
        return bool(abs(point.slope) <= -c2 * start.slope)

    previous, new = start._replace(t=0), evaluate(t)
    evals = 1
    rounds = 0
    bracket: list[_Point] = []
    while rounds < max_evals:
        if too_high(new) or (rounds > 1 and new.f >= previous.f):
            bracket = [previous, new]
            break
        if flat(new):
            return new, evals
        if new.slope >= 0:
            bracket = [previous, new]
            break
        bounds = new.t + 0.01 * (new.t - previous.t), new.t * 10
        t = _cubic_minimum(previous, new, bounds)
        previous, new = new, evaluate(t)
        evals += 1
        rounds += 1
    else:
        bracket = [start._replace(t=0), new]

    def best_first(points: list[_Point]) -> list[_Point]:
        return points if points[0].f <= points[1].f else points[::-1]

    low, high = best_first(bracket)
    stalled = False
    while rounds < max_evals and abs(high.t - low.t) * direction_size >= tolerance_change:
        t = _cubic_minimum(low, high) if low.t <= high.t else _cubic_minimum(high, low)
        left, right = min(low.t, high.t), max(low.t, high.t)
        # Near an end of the bracket twice in a row, or outside it: move inwards, else the bracket stops shrinking.
        margin = 0.1 * (right - left)
        if min(right - t, t - left) < margin:
            if stalled or t >= right or t <= left:
                t = right - margin if abs(t - right) < abs(t - left) else left + margin
                stalled = False
            else:
                stalled = True
        else:
            stalled = False
        new = evaluate(t)
        evals += 1
        rounds += 1
        if too_high(new) or new.f >= low.f:
            low, high = best_first([low, new])
            continue
        if flat(new):
            return new, evals
        if new.slope * (high.t - low.t) >= 0:
            high = low
        low = new
    return low, evals


class LBFGS(Optimizer):
    r"""Limited-memory BFGS: quasi-Newton steps from the last ``history_size`` changes of parameters and gradients.

    With :math:`s_i` the past steps and :math:`y_i` the past changes of the gradient, the direction is :math:`-H g`,
    where :math:`H` is the BFGS inverse Hessian built from :math:`s_i, y_i` on :math:`\frac{s^T y}{y^T y} I`. It is
    applied by the two-loop recursion, without forming a matrix. One call of :meth:`step` makes up to ``max_iter``
    iterations.

    Args:
        params: parameters, all in one group.
        lr: step length, or the first length tried by the line search.
        max_iter: most iterations per call of :meth:`step`.
        max_eval: most evaluations of the closure per call; ``max_iter * 1.25`` if None.
        tolerance_grad: stop when no component of the gradient exceeds this.
        tolerance_change: stop when the loss, or every parameter, changes less than this.
        history_size: number of past changes kept; each costs twice the parameters' memory.
        line_search_fn: ``"strong_wolfe"`` or None.

    Raises:
        ValueError: there is more than one parameter group, or ``lr`` is negative.
        RuntimeError: ``line_search_fn`` is unknown.

    Source:
        Nocedal, "Updating quasi-Newton matrices with limited storage", 1980; Nocedal and Wright, "Numerical
        optimization", 2nd edition, algorithm 7.4.

    Example:
        >>> optimizer = LBFGS(model.parameters(), line_search_fn="strong_wolfe")  # doctest: +SKIP
        >>> def closure():  # doctest: +SKIP
        ...     optimizer.zero_grad()
        ...     loss = loss_fn(model(x), y)
        ...     loss.backward()
        ...     return loss
        >>> optimizer.step(closure)  # doctest: +SKIP
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        check_lr(lr)
        defaults = {
            "lr": lr,
            "max_iter": max_iter,
            "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change,
            "history_size": history_size,
            "line_search_fn": line_search_fn,
        }
        super().__init__(params, defaults)
        require(len(self.param_groups) == 1, "LBFGS doesn't support per-parameter options (parameter groups)")
        self._params: list[Tensor] = self.param_groups[0]["params"]

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._params = self.param_groups[0]["params"]

    def _flat_grad(self) -> Tensor:
        """Return all gradients in one vector, zero for parameters without one, complex ones as pairs of reals."""
        pieces = []
        for p in self._params:
            grad = p.new_zeros(p.shape) if p.grad is None else p.grad
            pieces.append((view_as_real(grad) if grad.is_complex() else grad).reshape(-1))
        return cat(pieces, 0)

    def _move(self, direction: Tensor, t: float) -> None:
        """``params += t * direction``, in place."""
        offset = 0
        for p in self._params:
            target = view_as_real(p) if p.is_complex() else p
            count = target.numel()
            target.add_(direction[offset : offset + count].view_as(target), alpha=t)
            offset += count

    @no_grad()
    def step(self, closure: Closure | None = None) -> Any:
        """Make up to ``max_iter`` iterations.

        Args:
            closure: clears the gradients, computes the loss, calls ``backward`` and returns the loss. Required.

        Returns:
            The loss before the first iteration.
        """
        if closure is None:
            raise TypeError("LBFGS.step: closure must be a function that recomputes the loss, got None.")
        evaluate_closure = enable_grad()(closure)
        group = self.param_groups[0]
        lr, max_iter, history_size = group["lr"], group["max_iter"], group["history_size"]
        tolerance_grad, tolerance_change = group["tolerance_grad"], group["tolerance_change"]
        line_search_fn = group["line_search_fn"]

        # Parameters have no state of their own; PyTorch's checkpoints keep it at the first one.
        state: State = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)

        first_loss = evaluate_closure()
        loss = float(first_loss)
        evals = 1
        state["func_evals"] += 1
        grad = self._flat_grad()
        converged = bool(grad.abs().max() <= tolerance_grad)
        if converged:
            return first_loss

        d, t = state.get("d"), state.get("t")
        dirs, steps, ro = state.get("old_dirs", []), state.get("old_stps", []), state.get("ro", [])
        scale, previous_grad, previous_loss = (state.get(k) for k in ("H_diag", "prev_flat_grad", "prev_loss"))
        al: list[Any] = state.setdefault("al", [None] * history_size)

        for n_iter in range(1, max_iter + 1):
            state["n_iter"] += 1
            if state["n_iter"] == 1:
                d, dirs, steps, ro, scale = grad.neg(), [], [], [], 1
            else:
                change, moved = grad - previous_grad, d * t
                curvature = change.dot(moved)
                if curvature > 1e-10:  # else the update would not stay positive definite
                    if len(dirs) == history_size:
                        for past in (dirs, steps, ro):
                            past.pop(0)
                    dirs.append(change)
                    steps.append(moved)
                    ro.append(1.0 / curvature)
                    scale = curvature / change.dot(change)
                q = grad.neg()
                for i in reversed(range(len(dirs))):
                    al[i] = steps[i].dot(q) * ro[i]
                    q.add_(dirs[i], alpha=-float(al[i]))
                d = q * scale
                for i in range(len(dirs)):
                    d.add_(steps[i], alpha=float(al[i] - dirs[i].dot(d) * ro[i]))
            previous_grad, previous_loss = grad, loss

            # Without curvature yet, a unit step may be far too long.
            t = min(1.0, 1.0 / grad.abs().sum()) * lr if state["n_iter"] == 1 else lr
            slope = grad.dot(d)
            if slope > -tolerance_change:
                break
            new_evals = 0
            if line_search_fn is not None:
                if line_search_fn != "strong_wolfe":
                    raise RuntimeError("only 'strong_wolfe' is supported")
                origin = [p.clone() for p in self._params]

                def evaluate(t: Any, d: Tensor = d, origin: list[Tensor] = origin) -> _Point:
                    self._move(d, float(t))
                    value = float(evaluate_closure())
                    g = self._flat_grad()
                    for p, start in zip(self._params, origin, strict=True):
                        p.copy_(start)
                    return _Point(t, value, g, g.dot(d))

                found, new_evals = _strong_wolfe(evaluate, _Point(0, loss, grad, slope), t, d.abs().max())
                t, loss, grad = found.t, found.f, found.g
                self._move(d, float(t))
                converged = bool(grad.abs().max() <= tolerance_grad)
            else:
                self._move(d, float(t))
                if n_iter != max_iter:
                    loss = float(evaluate_closure())
                    grad = self._flat_grad()
                    converged = bool(grad.abs().max() <= tolerance_grad)
                    new_evals = 1
            evals += new_evals
            state["func_evals"] += new_evals
            if (
                evals >= group["max_eval"]
                or converged
                or (d * t).abs().max() <= tolerance_change
                or abs(loss - previous_loss) < tolerance_change
            ):
                break

        state.update(
            d=d,
            t=t,
            old_dirs=dirs,
            old_stps=steps,
            ro=ro,
            H_diag=scale,
            prev_flat_grad=previous_grad,
            prev_loss=previous_loss,
        )
        return first_loss
