"""Padding at the ends of dimensions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .._core import Tensor
from ._registry import composite, op

Ints = Sequence[int]


@op("constant_pad_nd(Tensor input, int[] pad, Number value=0) -> Tensor", method=False)
def constant_pad_nd() -> None:
    """Surrounds ``input`` with ``value``.

    Args:
        pad: (before, after) of the last dimension, then of the one before it, and so on. Negative amounts crop.

    Returns:
        a copy; channels-last memory is kept.

    Raises:
        RuntimeError: if ``pad`` has an odd or too large number of entries, or a size would become negative.
    Gradient:
        the part of ``g`` that came from ``input``.

    Example:
        >>> import mashal
        >>> mashal.constant_pad_nd(mashal.ones(2), [1, 2])
        tensor([0., 1., 1., 0., 0.])
    """


constant_pad_nd.vjp(input=lambda g, pad: constant_pad_nd(g, [-p for p in pad]))


@op("_pad_by_index(Tensor input, int[] pad, str mode) -> Tensor")
def _pad_by_index() -> None:
    """Padding with elements of ``input`` itself.

    Args:
        input: one or two dimensions more than ``pad`` has pairs.
        mode: ``"reflect"`` (mirrored, without repeating the edge), ``"replicate"`` (the edge repeated), ``"circular"``.
    Gradient:
        sums over all places an element was copied to.
    """


@op("_pad_by_index_backward(Tensor grad, int[] pad, str mode) -> Tensor")
def _pad_by_index_backward() -> None:
    """The adjoint of ``_pad_by_index``."""


_pad_by_index.vjp(input=lambda g, pad, mode: _pad_by_index_backward(g, pad, mode))
_pad_by_index_backward.vjp(grad=lambda g, pad, mode: _pad_by_index(g, pad, mode))


def _declare(mode: str, word: str, rank: int) -> None:
    def pad(input: Tensor, padding: Any) -> Tensor:
        pads = [padding] * (2 * rank) if isinstance(padding, int) else list(padding)
        if len(pads) != 2 * rank:
            raise RuntimeError(f"{name}: padding size is expected to be {2 * rank}, but got: {len(pads)}")
        return _pad_by_index(input, pads, mode)

    name = f"{word}_pad{rank}d"
    pad.__name__ = name
    pad.__doc__ = f"""{mode.capitalize()} padding of the last {rank} dimension(s); see ``nn.functional.pad``.

    Args:
        input: {rank + 1}-D or {rank + 2}-D.
        padding: {2 * rank} amounts, from the last dimension on.
    """
    call = composite(namespace="nn")(pad)
    _PADS[mode, 2 * rank] = lambda input, pads, mode: call(input, pads)


# By mode and number of amounts: the ops that autocast knows.
_PADS: dict[tuple[str, int], Callable[[Tensor, Any, str], Tensor]] = {}
for _rank in (1, 2, 3):
    _declare("reflect", "reflection", _rank)
    _declare("replicate", "replication", _rank)


@composite(namespace="nn")
def pad(input: Tensor, pad: Ints, mode: str = "constant", value: Any = None) -> Tensor:
    """``constant_pad_nd``, or padding by ``mode`` (see ``_pad_by_index``).

    Example:
        >>> import mashal
        >>> mashal._ops.pad(mashal.tensor([[1, 2, 3]]), [2, 0], "circular")
        tensor([[2, 3, 1, 2, 3]])
    """
    if mode == "constant":
        return constant_pad_nd(input, pad, 0 if value is None else value)
    return _PADS.get((mode, len(pad)), _pad_by_index)(input, pad, mode)
