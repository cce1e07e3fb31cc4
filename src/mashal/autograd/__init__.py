"""Automatic differentiation: backward, grad, custom functions, hooks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import _core, _missing
from .._core import Tensor
from . import graph as graph
from ._passes import _is_checkpoint_valid as _is_checkpoint_valid
from ._passes import run_backward as _run_backward
from .anomaly_mode import detect_anomaly as detect_anomaly
from .anomaly_mode import set_detect_anomaly as set_detect_anomaly
from .function import Function as Function
from .function import once_differentiable as once_differentiable
from .grad_mode import enable_grad as enable_grad
from .grad_mode import inference_mode as inference_mode
from .grad_mode import is_multithreading_enabled as is_multithreading_enabled
from .grad_mode import no_grad as no_grad
from .grad_mode import set_grad_enabled as set_grad_enabled
from .grad_mode import set_multithreading_enabled as set_multithreading_enabled
from .variable import Variable as Variable

_Tensors = Tensor | Sequence[Tensor]


def _as_tuple(x: Any) -> tuple[Any, ...]:
    return (x,) if isinstance(x, (Tensor, graph.GradientEdge)) or x is None else tuple(x)


def _root_grads(tensors: tuple[Any, ...], grads: Any) -> tuple[Any, ...]:
    grads = (None,) * len(tensors) if grads is None else _as_tuple(grads)
    for g in grads:
        if g is not None and not isinstance(g, Tensor):
            raise TypeError(f"gradients can be either Tensors or None, but got {type(g).__name__}")
    if len(grads) != len(tensors):
        raise RuntimeError(f"got {len(tensors)} tensors and {len(grads)} gradients")
    full: list[Any] = []
    for root, g in zip(tensors, grads, strict=True):
        t = root
        if isinstance(root, graph.GradientEdge):
            # A stand-in with the shape and type of the value at that place.
            shape, dtype, device = root.node._result(root.output_nr)
            t = _core.empty(shape, None, dtype, device).requires_grad_()
        elif not isinstance(root, Tensor):
            raise TypeError(f"expected Tensors or GradientEdges, but got {type(root).__name__}")
        if g is None:
            if not t.requires_grad:
                full.append(None)  # the engine says which element it is
            elif t.numel() != 1:
                raise RuntimeError("grad can be implicitly created only for scalar outputs")
            elif t.dtype.is_complex:
                raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {t.dtype}")
            else:
                full.append(_ones_like(t))
            continue
        if g.shape != t.shape:
            raise RuntimeError(
                f"Mismatch in shape: grad_output has a shape of {g.shape} and output has a shape of {t.shape}."
            )
        if g.dtype.is_complex != t.dtype.is_complex:
            raise RuntimeError(
                "For complex Tensors, both grad_output and output are required to have the same dtype. "
                f"Mismatch in dtype: grad_output has a dtype of {g.dtype} and output has a dtype of {t.dtype}."
            )
        full.append(g)
    return tuple(full)


def _ones_like(t: Tensor) -> Tensor:
    return _core.empty(t.shape, None, t.dtype, t.device).fill_(1)


def backward(
    tensors: _Tensors,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Any = None,
) -> None:
    """Adds the gradients of ``tensors`` with respect to the graph's leaves to their ``.grad``.

    Args:
        tensors: roots of the differentiation.
        grad_tensors: the vector of the vector-Jacobian product per root; may be left out for one-element tensors.
        retain_graph: keep saved tensors for another pass; by default the value of ``create_graph``.
        create_graph: record the backward pass itself, for higher derivatives.
        inputs: accumulate only into these.

    Raises:
        RuntimeError: for roots that do not require grad, missing gradients of non-scalar roots, or a freed graph.

    Example:
        >>> import mashal
        >>> x = mashal.tensor([2.0], requires_grad=True)
        >>> mashal.autograd.backward(x * x)
        >>> x.grad
        tensor([4.])
    """
    if grad_variables is not None:
        if grad_tensors is not None:
            raise RuntimeError(
                "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to `backward()`."
            )
        grad_tensors = grad_variables
    roots = _as_tuple(tensors)
    if inputs is not None:
        inputs = _as_tuple(inputs)
        if not inputs:
            raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    keep = create_graph if retain_graph is None else retain_graph
    _run_backward(roots, _root_grads(roots, grad_tensors), inputs, keep, create_graph, True)


def grad(
    outputs: _Tensors,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Any, ...]:
    """The gradients of ``outputs`` with respect to ``inputs``, returned instead of accumulated.

    Args:
        allow_unused: give None for inputs that the outputs do not depend on, instead of raising.
        materialize_grads: give zeros instead of None.

    Raises:
        RuntimeError: if an input does not require grad or is not part of the graph.

    Example:
        >>> import mashal
        >>> x = mashal.tensor(3.0, requires_grad=True)
        >>> mashal.autograd.grad(x * x, x)
        (tensor(6.),)
    """
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
        )
    if allow_unused is None:
        allow_unused = materialize_grads
    roots = _as_tuple(outputs)
    wanted = _as_tuple(inputs)
    keep = create_graph if retain_graph is None else retain_graph
    if is_grads_batched:
        from .batched import grad_batched

        return grad_batched(roots, wanted, _as_tuple(grad_outputs), keep, create_graph, allow_unused, materialize_grads)
    result = _run_backward(roots, _root_grads(roots, grad_outputs), wanted, keep, create_graph, False)
    if not allow_unused:
        for i, g in enumerate(result):
            if g is None:
                raise RuntimeError(
                    f"grad: the differentiated Tensor at index {i} of inputs, of shape {tuple(wanted[i].shape)}, "
                    "appears to not have been used in the graph. Set allow_unused=True if this is the desired behavior."
                )
    if materialize_grads:
        result = [
            _core.empty(t.shape, None, t.dtype, t.device).fill_(0) if g is None else g
            for g, t in zip(result, wanted, strict=True)
        ]
    return tuple(result)


# These use the functions above.
from . import functional as functional  # noqa: E402
from .gradcheck import GradcheckError as GradcheckError  # noqa: E402
from .gradcheck import gradcheck as gradcheck  # noqa: E402
from .gradcheck import gradgradcheck as gradgradcheck  # noqa: E402

__getattr__ = _missing.hook(__name__, ("profiler", "profiler_util"))
