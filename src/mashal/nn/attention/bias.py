"""Causal masks for queries and keys of different lengths."""

from __future__ import annotations

from enum import IntEnum, auto
from typing import Any

import mashal

from ... import Tensor
from ...overrides import _disabled_torch_function_impl

__all__ = ["CausalBias", "CausalVariant", "causal_lower_right", "causal_upper_left"]


class CausalVariant(IntEnum):
    """From which corner the triangle of allowed keys starts, where lengths differ."""

    UPPER_LEFT = auto()
    LOWER_RIGHT = auto()


class CausalBias(Tensor):
    """A bool mask for ``scaled_dot_product_attention``, ``(seq_len_q, seq_len_kv)``, true where a key may be seen.

    ``UPPER_LEFT``: query i sees keys up to i. ``LOWER_RIGHT``: the last query sees all keys.
    """

    # Results of operations are plain tensors.
    __torch_function__ = _disabled_torch_function_impl
    variant: CausalVariant
    seq_len_q: int
    seq_len_kv: int

    def __new__(cls, variant: CausalVariant, seq_len_q: int, seq_len_kv: int) -> Any:
        if not isinstance(variant, CausalVariant):
            raise AssertionError(f"variant must be a CausalVariant, got {type(variant).__name__}")
        if variant == CausalVariant.LOWER_RIGHT and seq_len_q > seq_len_kv:
            import warnings

            warnings.warn(
                "Lower right causal bias will produce NaNs in the output when seq_len_q > seq_len_kv!", stacklevel=2
            )
        offset = seq_len_kv - seq_len_q if variant == CausalVariant.LOWER_RIGHT else 0
        bias = Tensor._make_subclass(cls, mashal.ones(seq_len_q, seq_len_kv, dtype=mashal.bool).tril(offset))
        bias.variant, bias.seq_len_q, bias.seq_len_kv = variant, seq_len_q, seq_len_kv
        return bias

    def __init__(self, variant: CausalVariant, seq_len_q: int, seq_len_kv: int) -> None:
        """Everything happens in ``__new__``."""

    def __repr__(self) -> str:
        return repr(self.as_subclass(Tensor))


def causal_upper_left(*size: int) -> CausalBias:
    """The mask in which query i sees keys up to i.

    Example:
        >>> import mashal
        >>> mashal.nn.attention.bias.causal_upper_left(2, 3)
        tensor([[ True, False, False],
                [ True,  True, False]])
    """
    if len(size) != 2:
        raise AssertionError("causal_upper_left only supports 2D tensors")
    return CausalBias(CausalVariant.UPPER_LEFT, *size)


def causal_lower_right(*size: int) -> CausalBias:
    """The mask in which the last query sees all keys, the one before it all but the last, and so on."""
    if len(size) != 2:
        raise AssertionError("causal_lower_right only supports 2D tensors")
    return CausalBias(CausalVariant.LOWER_RIGHT, *size)
