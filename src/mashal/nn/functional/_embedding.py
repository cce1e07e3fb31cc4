"""Embedding lookups and one-hot codes."""

from __future__ import annotations

import warnings

import mashal

from ... import Tensor

__all__ = ["embedding", "embedding_bag", "one_hot"]


def _no_grad_embedding_renorm_(weight: Tensor, input: Tensor, max_norm: float, norm_type: float) -> None:
    """Scales the rows that are looked up down to ``max_norm``, in place and without gradient."""
    with mashal.no_grad():
        mashal.embedding_renorm_(weight.detach(), input, max_norm, norm_type)


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """Rows of ``weight`` ``(V, D)``: indices ``(*)`` give ``(*, D)``; see :class:`~mashal.nn.Embedding`.

    Raises:
        AssertionError: ``padding_idx`` is out of range.
    """
    if padding_idx is None:
        padding_idx = -1
    else:
        if not -weight.size(0) <= padding_idx < weight.size(0):
            raise AssertionError("Padding_idx must be within num_embeddings")
        if padding_idx < 0:
            padding_idx = weight.size(0) + padding_idx
    if max_norm is not None:
        input = input.contiguous()
        _no_grad_embedding_renorm_(weight, input, max_norm, norm_type)
    if sparse and weight.requires_grad and weight.is_leaf and not scale_grad_by_freq and mashal.is_grad_enabled():
        from ...sparse._embedding import lookup

        return lookup(weight, input, padding_idx)
    return mashal.embedding(weight, input, padding_idx, scale_grad_by_freq, sparse)


def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """Sums, means or maxima of bags of rows of ``weight``; see :class:`~mashal.nn.EmbeddingBag`.

    Raises:
        ValueError: shapes of input and offsets do not fit, or the mode is unknown or rules out an option.
    """
    if weight.dtype == mashal.long and input.is_floating_point():
        warnings.warn(
            "Argument order of nn.functional.embedding_bag was changed. Usage `embedding_bag(weight, input, ...)` is "
            "deprecated, and should now be `embedding_bag(input, weight, ...)`.",
            stacklevel=2,
        )
        weight, input = input, weight
    if per_sample_weights is not None and input.size() != per_sample_weights.size():
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({per_sample_weights.shape}) is not None, then it must have the "
            f"same shape as the input ({input.shape})"
        )
    if not weight.dim() == 2:
        raise ValueError(f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.dim()}")
    if input.dim() == 2:
        if offsets is not None:
            raise ValueError(
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length "
                f"sequences. However, found offsets of type {type(offsets)}"
            )
        offsets = mashal.arange(0, input.numel(), input.size(1), dtype=input.dtype, device=input.device)
        input = input.reshape(-1)
        if per_sample_weights is not None:
            per_sample_weights = per_sample_weights.reshape(-1)
    elif input.dim() == 1:
        if offsets is None:
            raise ValueError("offsets has to be a 1D Tensor but got None")
        if offsets.dim() != 1:
            raise ValueError("offsets has to be a 1D Tensor")
    else:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.dim()}")
    modes = {"sum": 0, "mean": 1, "max": 2}
    if mode not in modes:
        raise ValueError("mode has to be one of sum, mean or max")
    if mode == "max":
        if scale_grad_by_freq:
            raise ValueError("max mode does not support scaling the gradient by the frequency")
        if sparse:
            raise ValueError("max mode does not support sparse weights")
    if max_norm is not None:
        _no_grad_embedding_renorm_(weight, input, max_norm, norm_type)
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' "
            f"(got mode='{mode}'). Please open a feature request on GitHub."
        )
    return mashal.embedding_bag(
        weight,
        input,
        offsets,
        scale_grad_by_freq,
        modes[mode],
        sparse,
        per_sample_weights,
        include_last_offset,
        padding_idx,
    )[0]


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """Indices ``(*)`` as int64 codes ``(*, num_classes)`` with a single 1 each.

    Args:
        tensor: int64 indices.
        num_classes: -1 takes the largest index plus 1.

    Raises:
        RuntimeError: wrong dtype, a negative index, one that is not below ``num_classes``, or an empty tensor whose
            number of classes is not given.
    """
    if tensor.dtype != mashal.int64:
        raise RuntimeError(
            f"one_hot is only applicable to index tensor of type LongTensor: tensor must be int64, got {tensor.dtype}. "
            "Convert it with tensor.long()."
        )
    if tensor.numel() == 0:
        if num_classes <= 0:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
        return tensor.new_empty([*tensor.shape, num_classes])
    if not tensor.is_meta:
        if tensor.min().item() < 0:
            raise RuntimeError("Class values must be non-negative.")
        largest = tensor.max().item()
        if num_classes == -1:
            num_classes = largest + 1
        elif largest >= num_classes:
            raise RuntimeError("Class values must be smaller than num_classes.")
    elif num_classes == -1:
        raise RuntimeError("one_hot: num_classes must be given for a meta tensor, which has no values to count.")
    return tensor.new_zeros([*tensor.shape, num_classes]).scatter_(-1, tensor.unsqueeze(-1), 1)
