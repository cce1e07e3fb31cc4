"""Sequences of different lengths as one padded tensor, or packed without padding."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeVar

import mashal

from ... import Tensor, _ops

__all__ = [
    "PackedSequence",
    "invert_permutation",
    "pack_padded_sequence",
    "pack_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpack_sequence",
    "unpad_sequence",
]

_T = TypeVar("_T")
_R = TypeVar("_R")


class PackedSequence_(NamedTuple):
    """The fields of :class:`PackedSequence`."""

    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


def bind(optional: _T | None, fn: Callable[[_T], _R]) -> _R | None:
    """``fn(optional)``, or None for None."""
    return None if optional is None else fn(optional)


class PackedSequence(PackedSequence_):
    """Sequences of different lengths, step by step: first the first elements of all of them, then the second ones of
    those that have one, and so on. What :func:`pack_padded_sequence` and :func:`pack_sequence` return and the recurrent
    layers take.

    Attributes:
        data: (sum of lengths, ...).
        batch_sizes: int64, on the CPU; how many sequences reach each step. Those sequences are the first ones: they are
            sorted by length.
        sorted_indices: where the sorted sequences were before, or None if they were sorted.
        unsorted_indices: the inverse permutation.

    Example:
        >>> import mashal
        >>> mashal.nn.utils.rnn.PackedSequence(mashal.tensor([1, 3, 2]), mashal.tensor([2, 1])).data
        tensor([1, 3, 2])
    """

    def __new__(
        cls,
        data: Any,
        batch_sizes: Tensor | None = None,
        sorted_indices: Tensor | None = None,
        unsorted_indices: Tensor | None = None,
    ) -> PackedSequence:
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        if batch_sizes is None:  # PackedSequence((data, batch_sizes))
            if not isinstance(data, list | tuple) or len(data) != 2:
                raise AssertionError("Expected data to be a list or tuple of length 2")
            data, batch_sizes = data
        elif batch_sizes.device.type != "cpu":
            raise ValueError(
                "batch_sizes should always be on CPU. Instances of PackedSequence should never be created manually. "
                "They should be instantiated by functions like pack_sequence and pack_padded_sequences in "
                "nn.utils.rnn. https://pytorch.org/docs/stable/nn.html#torch.nn.utils.rnn.pack_sequence"
            )
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    # ``batch_sizes`` stays on the CPU and integer, whatever happens to the data.
    def pin_memory(self) -> PackedSequence:
        """With data and indices in pinned memory."""
        return type(self)(
            self.data.pin_memory(),
            self.batch_sizes,
            bind(self.sorted_indices, lambda t: t.pin_memory()),
            bind(self.unsorted_indices, lambda t: t.pin_memory()),
        )

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """With data of another dtype or device, as :meth:`Tensor.to`; ``self`` if there is nothing to do."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        move = {"non_blocking": kwargs.get("non_blocking", False)}
        return type(self)(
            data,
            self.batch_sizes,
            bind(self.sorted_indices, lambda t: t.to(data.device, **move)),
            bind(self.unsorted_indices, lambda t: t.to(data.device, **move)),
        )

    def cuda(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """On a CUDA device."""
        target = mashal.tensor((), dtype=self.data.dtype, device=self.data.device).to(*args, **kwargs)
        return self.to(*args, **kwargs) if target.is_cuda else self.to(*args, **{**kwargs, "device": "cuda"})

    def cpu(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """On the CPU."""
        target = mashal.tensor((), dtype=self.data.dtype, device=self.data.device).to(*args, **kwargs)
        on_cpu = target.device.type == "cpu"
        return self.to(*args, **kwargs) if on_cpu else self.to(*args, **{**kwargs, "device": "cpu"})

    def double(self) -> PackedSequence:
        return self.to(dtype=mashal.float64)

    def float(self) -> PackedSequence:
        return self.to(dtype=mashal.float32)

    def half(self) -> PackedSequence:
        return self.to(dtype=mashal.float16)

    def long(self) -> PackedSequence:
        return self.to(dtype=mashal.int64)

    def int(self) -> PackedSequence:
        return self.to(dtype=mashal.int32)

    def short(self) -> PackedSequence:
        return self.to(dtype=mashal.int16)

    def char(self) -> PackedSequence:
        return self.to(dtype=mashal.int8)

    def byte(self) -> PackedSequence:
        return self.to(dtype=mashal.uint8)

    @property
    def is_cuda(self) -> bool:
        """Whether the data is on a CUDA device."""
        return self.data.is_cuda

    def is_pinned(self) -> bool:
        """Whether the data is in pinned memory."""
        return self.data.is_pinned()


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The inverse of a permutation of ``0 .. n - 1``; None for None.

    Example:
        >>> import mashal
        >>> mashal.nn.utils.rnn.invert_permutation(mashal.tensor([2, 0, 1]))
        tensor([1, 2, 0])
    """
    if permutation is None:
        return None
    places = mashal.arange(permutation.numel(), device=permutation.device)
    return mashal.empty_like(permutation).scatter_(0, permutation, places.to(permutation.dtype))


def pack_padded_sequence(
    input: Tensor, lengths: Tensor | list[int], batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Packs a padded batch ``(L, B, *)``, or ``(B, L, *)`` if ``batch_first``; what lies behind a length is left out.

    Args:
        lengths: of the sequences, on the CPU.
        enforce_sorted: lengths must fall; if false, the sequences are sorted here.

    Raises:
        RuntimeError: for lengths that are not sorted, not positive, above L or not B many.

    Example:
        >>> import mashal
        >>> batch = mashal.tensor([[1, 2], [3, 0]])
        >>> mashal.nn.utils.rnn.pack_padded_sequence(batch, [2, 1], batch_first=True).data
        tensor([1, 3, 2])
    """
    if isinstance(lengths, Tensor):
        lengths = lengths.to(dtype=mashal.int64)
    else:
        lengths = mashal.as_tensor(lengths, dtype=mashal.int64, device="cpu")
    sorted_indices = None
    if not enforce_sorted:
        lengths, sorted_indices = mashal.sort(lengths, descending=True)
        sorted_indices = sorted_indices.to(input.device)
        input = input.index_select(0 if batch_first else 1, sorted_indices)
    data, batch_sizes = _ops._pack_padded_sequence(input, lengths, batch_first)
    return PackedSequence(data, batch_sizes, sorted_indices, None)


def pad_packed_sequence(
    sequence: PackedSequence,
    batch_first: bool = False,
    padding_value: float = 0.0,
    total_length: int | None = None,
) -> tuple[Tensor, Tensor]:
    """The inverse of :func:`pack_padded_sequence`: the padded batch, in its first order, and the lengths.

    Args:
        total_length: of the result, if it is to be above the longest sequence.

    Raises:
        ValueError: ``total_length`` is below the longest sequence.

    Example:
        >>> import mashal
        >>> rnn = mashal.nn.utils.rnn
        >>> packed = rnn.pack_sequence([mashal.tensor([1, 2]), mashal.tensor([3])])
        >>> rnn.pad_packed_sequence(packed, batch_first=True)
        (tensor([[1, 2],
                [3, 0]]), tensor([2, 1]))
    """
    longest = sequence.batch_sizes.size(0)
    if total_length is not None:
        if total_length < longest:
            raise ValueError(
                "Expected total_length to be at least the length of the longest sequence in input, but got "
                f"total_length={total_length} and max sequence length being {longest}"
            )
        longest = total_length
    padded, lengths = _ops._pad_packed_sequence(
        sequence.data, sequence.batch_sizes, batch_first, padding_value, longest
    )
    order = sequence.unsorted_indices
    if order is None:
        return padded, lengths
    return padded.index_select(0 if batch_first else 1, order), lengths[order.cpu()]


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


def pack_sequence(sequences: list[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Packs sequences ``(L_i, *)``; they must be given longest first unless ``enforce_sorted`` is false.

    Raises:
        RuntimeError: for no sequences, or sequences in another order.

    Example:
        >>> import mashal
        >>> mashal.nn.utils.rnn.pack_sequence([mashal.tensor([1, 2]), mashal.tensor([3])]).batch_sizes
        tensor([2, 1])
    """
    lengths = mashal.as_tensor([v.size(0) for v in sequences])
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The sequences of a :class:`PackedSequence`, in their first order.

    Example:
        >>> import mashal
        >>> rnn = mashal.nn.utils.rnn
        >>> rnn.unpack_sequence(rnn.pack_sequence([mashal.tensor([1, 2]), mashal.tensor([3])]))
        [tensor([1, 2]), tensor([3])]
    """
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
