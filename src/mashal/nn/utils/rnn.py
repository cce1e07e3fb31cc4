"""Sequences of different lengths as one padded tensor."""

from __future__ import annotations

from collections.abc import Iterable

from ... import Tensor

__all__ = ["pad_sequence", "unpad_sequence"]


def pad_sequence(
    sequences: Tensor | Iterable[Tensor],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    """Sequences ``(L_i, *)`` as one tensor ``(L, B, *)``, or ``(B, L, *)`` if ``batch_first``, L the greatest length.

    Raises:
        RuntimeError: for no sequences, different further dimensions, or an unknown ``padding_side``.

    Example:
        >>> import mashal
        >>> mashal.nn.utils.rnn.pad_sequence([mashal.ones(1), mashal.ones(2)], batch_first=True)
        tensor([[1., 0.],
                [1., 1.]])
    """
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}"
        )
    items = list(sequences.unbind(0)) if isinstance(sequences, Tensor) else list(sequences)
    if not items:
        raise RuntimeError("pad_sequence: received an empty list of sequences")
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"Expected padding_side to be one of left or right, but got {padding_side}.")
    rest = tuple(items[0].shape[1:])
    for i, item in enumerate(items):
        if tuple(item.shape[1:]) != rest:
            raise RuntimeError(
                f"pad_sequence: all sequences must agree behind the first dimension, got {tuple(items[0].shape)} at 0 "
                f"and {tuple(item.shape)} at {i}."
            )
    longest = max(item.shape[0] for item in items)
    shape = (len(items), longest) if batch_first else (longest, len(items))
    out = items[0].new_full((*shape, *rest), padding_value)
    for i, item in enumerate(items):
        n = item.shape[0]
        place = slice(longest - n, longest) if padding_side == "left" else slice(0, n)
        if batch_first:
            out[i, place] = item
        else:
            out[place, i] = item
    return out


def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> list[Tensor]:
    """The sequences of the given lengths from a padded tensor.

    Example:
        >>> import mashal
        >>> mashal.nn.utils.rnn.unpad_sequence(mashal.ones(1, 3), mashal.tensor([2]), batch_first=True)
        [tensor([1., 1.])]
    """
    rows = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [row[: int(n)] for row, n in zip(rows.unbind(0), lengths, strict=True)]
