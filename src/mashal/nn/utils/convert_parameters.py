"""Parameters as one vector, and back."""

from __future__ import annotations

from collections.abc import Iterable

import mashal

from ... import Tensor

__all__ = ["parameters_to_vector", "vector_to_parameters"]


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All elements of the parameters, in order, as one vector.

    Example:
        >>> import mashal
        >>> mashal.nn.utils.parameters_to_vector([mashal.zeros(1, 1), mashal.ones(2)])
        tensor([0., 1., 1.])
    """
    return mashal.cat([p.reshape(-1) for p in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Makes the parameters views of the parts of a vector, in order.

    Raises:
        TypeError: if ``vec`` is no tensor.
    """
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected Tensor, but got: {type(vec).__name__}")
    at = 0
    for p in parameters:
        p.data = vec[at : at + p.numel()].view(p.shape).data
        at += p.numel()
