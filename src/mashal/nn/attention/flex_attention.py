"""Attention whose scores and masks are Python functions of positions.

The functions are called once with index tensors that broadcast against each other, ``b (B, 1, 1, 1)``,
``h (1, H, 1, 1)``, ``q (1, 1, L, 1)`` and ``kv (1, 1, 1, S)``: elementwise operations and indexing of captured tensors
work as if the function were called for every position. All scores are held at once.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import mashal

from ... import Tensor

__all__ = [
    "AuxOutput",
    "AuxRequest",
    "BlockMask",
    "and_masks",
    "create_block_mask",
    "create_mask",
    "flex_attention",
    "noop_mask",
    "or_masks",
]

MaskMod = Callable[..., Tensor]


class AuxRequest(NamedTuple):
    """What ``flex_attention`` returns besides the output."""

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """What was asked for: logsumexp and maximum of each query's scores, ``(B, H, L)``."""

    lse: Tensor | None = None
    max_scores: Tensor | None = None


def noop_mask(batch: Tensor, head: Tensor, token_q: Tensor, token_kv: Tensor) -> Tensor:
    """Allows everything."""
    return batch.new_ones((), dtype=mashal.bool)


def and_masks(*mask_mods: MaskMod) -> MaskMod:
    """The mask that allows what all of the masks allow."""
    return _combined(mask_mods, Tensor.logical_and)


def or_masks(*mask_mods: MaskMod) -> MaskMod:
    """The mask that allows what any of the masks allows."""
    return _combined(mask_mods, Tensor.logical_or)


def _combined(mask_mods: tuple[MaskMod, ...], join: Any) -> MaskMod:
    if not all(callable(m) for m in mask_mods):
        raise RuntimeError(f"All inputs should be callable mask_mods: {mask_mods}")

    def mask(b: Tensor, h: Tensor, q_idx: Tensor, kv_idx: Tensor) -> Tensor:
        return functools.reduce(join, [m(b, h, q_idx, kv_idx) for m in mask_mods])

    return mask


def _positions(*sizes: int) -> list[Tensor]:
    return [mashal.arange(n).view([-1 if d == i else 1 for d in range(4)]) for i, n in enumerate(sizes)]


def create_mask(
    mod_fn: Callable[..., Tensor], B: int | None, H: int | None, Q_LEN: int, KV_LEN: int, device: Any = None
) -> Tensor:
    """The values of a mask function, bool ``(B, H, Q_LEN, KV_LEN)``; ``None`` for B or H means 1.

    Example:
        >>> import mashal
        >>> mashal.nn.attention.flex_attention.create_mask(lambda b, h, q, kv: q >= kv, None, None, 2, 2)
        tensor([[[[ True, False],
                  [ True,  True]]]])
    """
    sizes = (1 if B is None else B, 1 if H is None else H, Q_LEN, KV_LEN)
    return mod_fn(*_positions(*sizes)).bool().expand(sizes).contiguous()


def _ordered(dense: Tensor) -> tuple[Tensor, Tensor]:
    """Of a matrix of blocks: how many are set in each row, and their columns first."""
    values = dense.to(mashal.int32)
    order = values.argsort(dim=-1, descending=True, stable=True)
    return values.sum(-1).to(mashal.int32), order.to(mashal.int32).contiguous()


def _dense(counts: Tensor, indices: Tensor) -> Tensor:
    """The opposite of ``_ordered``."""
    columns = indices.shape[-1]
    used = mashal.arange(columns) < counts.unsqueeze(-1)
    blank = mashal.zeros(indices.shape, dtype=mashal.int32)
    return blank.scatter(-1, indices.long(), used.to(mashal.int32))


class BlockMask:
    """A mask function together with the blocks of queries and keys in which it allows anything.

    For each row of blocks, ``kv_num_blocks`` says how many blocks are partly allowed and ``kv_indices`` which;
    ``full_kv_num_blocks`` and ``full_kv_indices`` say so of blocks that are allowed as a whole; ``q_...`` are the same
    by columns.
    """

    def __init__(
        self,
        seq_lengths: tuple[int, int],
        kv_num_blocks: Tensor,
        kv_indices: Tensor,
        full_kv_num_blocks: Tensor | None,
        full_kv_indices: Tensor | None,
        q_num_blocks: Tensor | None,
        q_indices: Tensor | None,
        full_q_num_blocks: Tensor | None,
        full_q_indices: Tensor | None,
        BLOCK_SIZE: tuple[int, int] = (128, 128),
        mask_mod: MaskMod = noop_mask,
    ) -> None:
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        if (full_kv_num_blocks is None) != (full_kv_indices is None):
            raise AssertionError("full_kv_num_blocks and full_kv_indices must be both provided or omitted")
        self.seq_lengths = seq_lengths
        self.kv_num_blocks = kv_num_blocks
        self.kv_indices = kv_indices
        self.full_kv_num_blocks = full_kv_num_blocks
        self.full_kv_indices = full_kv_indices
        self.q_num_blocks = q_num_blocks
        self.q_indices = q_indices
        self.full_q_num_blocks = full_q_num_blocks
        self.full_q_indices = full_q_indices
        self.BLOCK_SIZE = BLOCK_SIZE
        self.mask_mod = mask_mod

    @classmethod
    def from_kv_blocks(
        cls,
        kv_num_blocks: Tensor,
        kv_indices: Tensor,
        full_kv_num_blocks: Tensor | None = None,
        full_kv_indices: Tensor | None = None,
        BLOCK_SIZE: int | tuple[int, int] = 128,
        mask_mod: MaskMod | None = None,
        seq_lengths: tuple[int, int] | None = None,
        compute_q_blocks: bool = True,
    ) -> BlockMask:
        """A mask from its rows of blocks; the columns are computed."""
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        sizes = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
        if seq_lengths is None:
            seq_lengths = (kv_indices.shape[-2] * sizes[0], kv_indices.shape[-1] * sizes[1])
        columns: list[Tensor | None] = [None] * 4
        if compute_q_blocks:
            columns[:2] = _ordered(_dense(kv_num_blocks, kv_indices).transpose(-2, -1))
            if full_kv_num_blocks is not None and full_kv_indices is not None:
                columns[2:] = _ordered(_dense(full_kv_num_blocks, full_kv_indices).transpose(-2, -1))
        rows = (kv_num_blocks, kv_indices, full_kv_num_blocks, full_kv_indices)
        return cls(seq_lengths, *rows, *columns, sizes, mask_mod or noop_mask)

    @property
    def shape(self) -> tuple[int, ...]:
        """``(B, H, Q_LEN, KV_LEN)``."""
        return (*self.kv_indices.shape[:-2], *self.seq_lengths)

    def numel(self) -> int:
        """The number of pairs of positions."""
        return math.prod(self.shape)

    def sparsity(self) -> float:
        """The percentage of pairs that lie in blocks without anything allowed."""
        blocks = int(self.kv_num_blocks.sum())
        if self.full_kv_num_blocks is not None:
            blocks += int(self.full_kv_num_blocks.sum())
        return (1 - blocks * self.BLOCK_SIZE[0] * self.BLOCK_SIZE[1] / self.numel()) * 100

    def to_dense(self) -> Tensor:
        """Ones for blocks in which anything is allowed: ``(B, H, Q_LEN / block, KV_LEN / block)``."""
        dense = _dense(self.kv_num_blocks, self.kv_indices)
        if self.full_kv_num_blocks is not None and self.full_kv_indices is not None:
            dense = dense | _dense(self.full_kv_num_blocks, self.full_kv_indices)
        return dense

    def _tensors(self) -> tuple[Tensor | None, ...]:
        return (
            self.kv_num_blocks,
            self.kv_indices,
            self.full_kv_num_blocks,
            self.full_kv_indices,
            self.q_num_blocks,
            self.q_indices,
            self.full_q_num_blocks,
            self.full_q_indices,
        )

    def as_tuple(self, flatten: bool = True) -> tuple[Any, ...]:
        """All parts, in the order of the constructor."""
        sizes = self.BLOCK_SIZE if flatten else (self.BLOCK_SIZE,)
        lengths = self.seq_lengths if flatten else (self.seq_lengths,)
        return (*lengths, *self._tensors(), *sizes, self.mask_mod)

    def to(self, device: Any) -> BlockMask:
        """A copy on a device."""
        moved: Any = [None if t is None else t.to(device) for t in self._tensors()]
        return BlockMask(self.seq_lengths, *moved, self.BLOCK_SIZE, self.mask_mod)

    def __repr__(self) -> str:
        return f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%)"


def create_block_mask(
    mask_mod: MaskMod,
    B: int | None,
    H: int | None,
    Q_LEN: int,
    KV_LEN: int,
    device: Any = None,
    BLOCK_SIZE: int | tuple[int, int] = 128,
    _compile: bool = False,
    separate_full_blocks: bool = True,
) -> BlockMask:
    """The :class:`BlockMask` of a mask function.

    Args:
        mask_mod: ``mask_mod(b, h, q_idx, kv_idx)``, true where a query may see a key.
        B, H: numbers of batches and heads if the mask depends on them, else ``None``.
        BLOCK_SIZE: of queries and keys.
        separate_full_blocks: note blocks that are allowed as a whole by themselves.

    Example:
        >>> import mashal
        >>> from mashal.nn.attention.flex_attention import create_block_mask
        >>> create_block_mask(lambda b, h, q, kv: q >= kv, None, None, 512, 512)
        BlockMask(shape=(1, 1, 512, 512), sparsity=37.50%)
    """
    rows, columns = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
    mask = create_mask(mask_mod, B, H, Q_LEN, KV_LEN, device)
    padded = mashal.nn.functional.pad(mask.to(mashal.uint8), (0, -KV_LEN % columns, 0, -Q_LEN % rows))
    blocks = padded.unflatten(3, (-1, columns)).unflatten(2, (-1, rows)).sum((3, 5))
    full = blocks == rows * columns
    partial = blocks > 0
    whole: tuple[Tensor | None, Tensor | None] = (None, None)
    if separate_full_blocks:
        partial = partial & full.logical_not()
        whole = _ordered(full)
    return BlockMask.from_kv_blocks(
        *_ordered(partial), *whole, BLOCK_SIZE=(rows, columns), mask_mod=mask_mod, seq_lengths=(Q_LEN, KV_LEN)
    )


def flex_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    score_mod: Callable[..., Tensor] | None = None,
    block_mask: BlockMask | None = None,
    scale: float | None = None,
    enable_gqa: bool = False,
    return_lse: bool = False,
    kernel_options: Any = None,
    *,
    return_aux: AuxRequest | None = None,
) -> Any:
    """``softmax(mask(score_mod(query key^T scale))) value``.

    Args:
        query: ``(B, Hq, L, E)``; key: ``(B, H, S, E)``; value: ``(B, H, S, Ev)``.
        score_mod: ``score_mod(score, b, h, q_idx, kv_idx)``, the new score; see the module's text for its arguments.
        block_mask: from :func:`create_block_mask`; the rest is left out.
        scale: default ``1 / sqrt(E)``.
        enable_gqa: each head of key and value serves several of query's.
        return_lse: return ``(output, logsumexp)``; ``return_aux`` is the newer form.
        kernel_options: accepted; there are no kernels to choose.

    Raises:
        ValueError: shapes do not go together.
        NotImplementedError: the input is not four-dimensional.

    Example:
        >>> import mashal
        >>> from mashal.nn.attention.flex_attention import flex_attention
        >>> x = mashal.ones(1, 2, 3, 4)
        >>> flex_attention(x, x, x, lambda score, b, h, q, kv: score + (q - kv)).shape
        mashal.Size([1, 2, 3, 4])
    """
    got = f"query {tuple(query.shape)}, key {tuple(key.shape)} and value {tuple(value.shape)}"
    if query.dim() != 4 or key.dim() != 4 or value.dim() != 4:
        raise NotImplementedError(f"flex_attention: only 4-dimensional input is supported, got {got}.")
    if query.dtype != key.dtype or query.dtype != value.dtype:
        raise ValueError(f"flex_attention: query, key and value must have the same dtype, got {got}.")
    if query.shape[-1] != key.shape[-1]:
        raise ValueError(f"flex_attention: query and key must have the same last size, got {got}.")
    if not enable_gqa and query.shape[1] != key.shape[1]:
        raise ValueError(
            f"flex_attention: query and key must have as many heads as each other, got {got}. Use enable_gqa=True."
        )
    groups, rest = divmod(query.shape[1], key.shape[1])
    if rest:
        raise ValueError(f"flex_attention: heads of query must be a multiple of the heads of key, got {got}.")
    if key.shape[0] not in (query.shape[0], 1):
        raise ValueError(f"flex_attention: batch sizes must be equal, got {got}.")
    if groups > 1:
        key, value = key.repeat_interleave(groups, 1), value.repeat_interleave(groups, 1)
    # Half types are too coarse for scores.
    dtype = mashal.promote_types(query.dtype, mashal.float32)
    factor = 1.0 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = (query.to(dtype) @ key.to(dtype).transpose(-2, -1)) * factor
    positions = _positions(*scores.shape)
    if score_mod is not None:
        scores = score_mod(scores, *positions).to(dtype)
    if block_mask is not None:
        allowed = block_mask.mask_mod(*positions)
        scores = scores.where(allowed, scores.new_full((), -math.inf))
    # A query without any key gives zeros.
    nothing = (scores == -math.inf).all(-1, True)
    weights = scores.masked_fill(nothing, 0.0).softmax(-1).masked_fill(nothing, 0.0)
    out = (weights @ value.to(dtype)).to(query.dtype)
    if return_aux is not None:
        return out, AuxOutput(
            scores.logsumexp(-1) if return_aux.lse else None, scores.amax(-1) if return_aux.max_scores else None
        )
    return (out, scores.logsumexp(-1)) if return_lse else out
