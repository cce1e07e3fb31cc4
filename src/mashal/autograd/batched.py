"""Several vector-Jacobian products of one graph (``is_grads_batched``)."""

from __future__ import annotations

from typing import Any


def grad_batched(
    outputs: tuple[Any, ...],
    inputs: tuple[Any, ...],
    grad_outputs: tuple[Any, ...],
    retain_graph: bool,
    create_graph: bool,
    allow_unused: bool,
    materialize_grads: bool,
) -> tuple[Any, ...]:
    """One pass per index of the leading dimension of ``grad_outputs``; the results are stacked."""
    from ..ops.joining import stack
    from . import grad

    batch = grad_outputs[0].shape[0]
    rows = [
        grad(
            outputs,
            inputs,
            [g if g is None else g[i] for g in grad_outputs],
            retain_graph=True if i + 1 < batch else retain_graph,
            create_graph=create_graph,
            allow_unused=allow_unused,
            materialize_grads=materialize_grads,
        )
        for i in range(batch)
    ]
    return tuple(None if column[0] is None else stack(list(column)) for column in zip(*rows, strict=True))
