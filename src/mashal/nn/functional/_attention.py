"""Attention with several heads: projections, masks and heads around ``scaled_dot_product_attention``."""

from __future__ import annotations

import math
import warnings

import mashal

from ... import Tensor, _ops
from ...ops.attention import packed_attention

__all__ = ["multi_head_attention_forward"]


def _canonical_mask(
    mask: Tensor | None,
    mask_name: str,
    other_type: mashal.dtype | None,
    other_name: str,
    target_type: mashal.dtype,
    check_other: bool = True,
) -> Tensor | None:
    """A mask that is added to scores: bool masks (true means: leave out) become 0 and -inf."""
    if mask is None:
        return None
    is_bool = mask.dtype == mashal.bool
    if not is_bool and not mask.is_floating_point():
        raise AssertionError(
            f"{mask_name}: only bool and floating types are supported, got {mask_name} {tuple(mask.shape)} "
            f"{mask.dtype}. Use {mask_name}.bool(), which is true where a key is left out."
        )
    if check_other and other_type is not None and mask.dtype != other_type:
        warnings.warn(
            f"Support for mismatched {mask_name} and {other_name} is deprecated. Use same type for both instead.",
            stacklevel=3,
        )
    if not is_bool:
        return mask
    # new_full and masked_fill_ write one small tensor; its shape is the mask's, not that of the scores.
    return mashal.zeros(mask.shape, dtype=target_type, device=mask.device).masked_fill_(mask, -math.inf)


def _dtype_of(mask: Tensor | None) -> mashal.dtype | None:
    return None if mask is None else mask.dtype


def _check_ranks(
    query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Tensor | None, attn_mask: Tensor | None, heads: int
) -> bool:
    """Whether the input has a batch dimension. Raises where ranks do not go together."""
    if query.dim() not in (2, 3):
        raise AssertionError(
            f"multi_head_attention_forward: query should be unbatched 2D or batched 3D tensor, "
            f"got query {tuple(query.shape)}."
        )
    batched = query.dim() == 3
    kind = "batched" if batched else "unbatched"
    if key.dim() != query.dim() or value.dim() != query.dim():
        raise AssertionError(
            f"multi_head_attention_forward: for {kind} ({query.dim()}-D) query, expected key and value to be "
            f"{query.dim()}-D, got key {tuple(key.shape)} and value {tuple(value.shape)}."
        )
    if key_padding_mask is not None and key_padding_mask.dim() != query.dim() - 1:
        raise AssertionError(
            f"multi_head_attention_forward: for {kind} ({query.dim()}-D) query, expected key_padding_mask to be None "
            f"or {query.dim() - 1}-D, got key_padding_mask {tuple(key_padding_mask.shape)}."
        )
    if attn_mask is not None:
        if attn_mask.dim() not in (2, 3):
            raise AssertionError(
                f"multi_head_attention_forward: expected attn_mask to be None, 2-D or 3-D, "
                f"got attn_mask {tuple(attn_mask.shape)}."
            )
        if not batched and attn_mask.dim() == 3:
            expected = (heads, query.shape[0], key.shape[0])
            if tuple(attn_mask.shape) != expected:
                raise AssertionError(
                    f"multi_head_attention_forward: expected attn_mask to have shape {expected}, "
                    f"got attn_mask {tuple(attn_mask.shape)}."
                )
    return batched


def _additive_mask(
    attn_mask: Tensor | None,
    key_padding_mask: Tensor | None,
    batch: int,
    heads: int,
    queries: int,
    keys: int,
) -> Tensor | None:
    """Both masks as one that broadcasts to (B, H, L, S); neither is expanded."""
    if attn_mask is not None:
        if attn_mask.dim() == 2:
            if tuple(attn_mask.shape) != (queries, keys):
                raise RuntimeError(
                    f"multi_head_attention_forward: the shape of the 2D attn_mask must be {(queries, keys)}, "
                    f"got attn_mask {tuple(attn_mask.shape)}."
                )
        else:
            if tuple(attn_mask.shape) != (batch * heads, queries, keys):
                raise RuntimeError(
                    f"multi_head_attention_forward: the shape of the 3D attn_mask must be "
                    f"{(batch * heads, queries, keys)}, got attn_mask {tuple(attn_mask.shape)}."
                )
            attn_mask = attn_mask.view(batch, heads, queries, keys)
    if key_padding_mask is None:
        return attn_mask
    if tuple(key_padding_mask.shape) != (batch, keys):
        raise AssertionError(
            f"multi_head_attention_forward: expected key_padding_mask to have shape {(batch, keys)}, "
            f"got key_padding_mask {tuple(key_padding_mask.shape)}."
        )
    padding = key_padding_mask.view(batch, 1, 1, keys)
    return padding if attn_mask is None else attn_mask + padding


def _heads(t: Tensor, heads: int, batch_first: bool) -> Tensor:
    """(B, L, E) or (L, B, E) as (B, H, L, D), a view."""
    split = t.view(t.shape[0], t.shape[1], heads, t.shape[2] // heads)
    return split.permute(0, 2, 1, 3) if batch_first else split.permute(1, 2, 0, 3)


def _projections(
    query: Tensor, key: Tensor, value: Tensor, weight: Tensor, bias: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """Query, key and value under the thirds of one weight; arguments that are the same are projected together."""
    size = query.shape[-1]
    if key is value:
        if query is key:
            q, k, v = _ops.linear(query, weight, bias).chunk(3, -1)
            return q, k, v
        w_q, w_kv = weight.split([size, 2 * size])
        b_q, b_kv = (None, None) if bias is None else bias.split([size, 2 * size])
        k, v = _ops.linear(key, w_kv, b_kv).chunk(2, -1)
        return _ops.linear(query, w_q, b_q), k, v
    w_q, w_k, w_v = weight.chunk(3)
    b_q, b_k, b_v = (None, None, None) if bias is None else bias.chunk(3)
    return _ops.linear(query, w_q, b_q), _ops.linear(key, w_k, b_k), _ops.linear(value, w_v, b_v)


def _weights(query: Tensor, key: Tensor, mask: Tensor | None) -> Tensor:
    scores = (query * math.sqrt(1.0 / query.shape[-1])) @ key.transpose(-2, -1)
    # Under autocast the scores have the lower type, and keep it.
    return (scores if mask is None else scores + mask.to(scores.dtype)).softmax(-1)


def multi_head_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    key_padding_mask: Tensor | None,
    need_weights: bool,
    attn_mask: Tensor | None,
    separate: tuple[Tensor, Tensor, Tensor] | None,
    static_k: Tensor | None,
    static_v: Tensor | None,
    average_attn_weights: bool,
    is_causal: bool,
    batch_first: bool,
    length_first_memory: bool,
) -> tuple[Tensor, Tensor | None]:
    """``multi_head_attention_forward`` for both orders of length and batch, so that neither needs a transposed copy.

    ``separate`` holds three projection weights in place of ``in_proj_weight``. ``length_first_memory``: the output's
    memory has PyTorch's order (L, N, E) even if ``batch_first``; dropout draws its numbers in that order.
    """
    batched = _check_ranks(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not batched:
        lone = 0 if batch_first else 1
        same_keys, same_values = key is query, value is key
        query = query.unsqueeze(lone)
        key = query if same_keys else key.unsqueeze(lone)
        value = key if same_values else value.unsqueeze(lone)
        if key_padding_mask is not None:
            key_padding_mask = key_padding_mask.unsqueeze(0)
    # Which dimension is which.
    b, length = (0, 1) if batch_first else (1, 0)
    batch, queries, size = query.shape[b], query.shape[length], query.shape[2]
    keys = key.shape[length]

    if size != embed_dim_to_check:
        raise AssertionError(
            f"multi_head_attention_forward: was expecting embedding dimension of {embed_dim_to_check}, "
            f"got query {tuple(query.shape)}."
        )
    width = size // num_heads
    if width * num_heads != size:
        raise AssertionError(f"multi_head_attention_forward: embed_dim {size} not divisible by num_heads {num_heads}")
    if separate is not None:
        if key.shape[:2] != value.shape[:2]:
            raise AssertionError(
                f"multi_head_attention_forward: key's sequence and batch dims {tuple(key.shape[:2])} do not match "
                f"value's {tuple(value.shape[:2])}"
            )
    elif key.shape != value.shape:
        raise AssertionError(
            f"multi_head_attention_forward: key shape {tuple(key.shape)} does not match "
            f"value shape {tuple(value.shape)}"
        )

    key_padding_mask = _canonical_mask(
        key_padding_mask, "key_padding_mask", _dtype_of(attn_mask), "attn_mask", query.dtype
    )
    if is_causal and attn_mask is None:
        raise RuntimeError("Need attn_mask if specifying the is_causal hint.")
    # The hint is worth something only where no other mask is in play and no weights are asked for.
    is_causal = is_causal and key_padding_mask is None and not need_weights
    if is_causal:
        attn_mask = None
    else:
        attn_mask = _canonical_mask(attn_mask, "attn_mask", None, "", query.dtype, check_other=False)

    plain = bias_k is None and bias_v is None and not add_zero_attn and static_k is None and static_v is None
    if separate is None and in_proj_weight is None:
        raise AssertionError("use_separate_proj_weight is False but in_proj_weight is None")
    if plain and separate is None and not need_weights and query is key and key is value:
        mask = _additive_mask(attn_mask, key_padding_mask, batch, num_heads, queries, keys)
        together = _ops.linear(query, in_proj_weight, in_proj_bias)
        packed = together.view(*query.shape[:2], 3, num_heads, width)
        packed = packed.permute(2, 0, 3, 1, 4) if batch_first else packed.permute(2, 1, 3, 0, 4)
        attended = packed_attention(packed, mask, dropout_p, is_causal, length_first_memory)
        out = _projected(attended, out_proj_weight, out_proj_bias, batch_first, length_first_memory)
        return (out if batched else out.squeeze(b)), None

    if separate is None:
        q, k, v = _projections(query, key, value, in_proj_weight, in_proj_bias)  # type: ignore[arg-type]
    else:
        b_q, b_k, b_v = (None, None, None) if in_proj_bias is None else in_proj_bias.chunk(3)
        q = _ops.linear(query, separate[0], b_q)
        k = _ops.linear(key, separate[1], b_k)
        v = _ops.linear(value, separate[2], b_v)

    extra = 0
    if bias_k is not None and bias_v is not None:
        if static_k is not None or static_v is not None:
            raise AssertionError("bias cannot be added to static key or value.")
        k, v = (
            mashal.cat([t, extra_row.expand(*_one_row(t, length))], length)
            for t, extra_row in ((k, bias_k), (v, bias_v))
        )
        extra += 1
    elif bias_k is not None or bias_v is not None:
        raise AssertionError("bias_k and bias_v must be given together")

    q = _heads(q, num_heads, batch_first)
    k = (
        _heads(k, num_heads, batch_first)
        if static_k is None
        else _static(static_k, "static_k", batch, num_heads, width)
    )
    v = (
        _heads(v, num_heads, batch_first)
        if static_v is None
        else _static(static_v, "static_v", batch, num_heads, width)
    )
    if add_zero_attn:
        k, v = (mashal.cat([t, t.new_zeros((batch, num_heads, 1, t.shape[3]))], 2) for t in (k, v))
        extra += 1
    keys = k.shape[2]
    if extra:
        # Keys that were added are never masked.
        attn_mask = None if attn_mask is None else mashal.nn.functional.pad(attn_mask, (0, extra))
        if key_padding_mask is not None:
            key_padding_mask = mashal.nn.functional.pad(key_padding_mask, (0, extra))
    mask = _additive_mask(attn_mask, key_padding_mask, batch, num_heads, queries, keys)

    if not need_weights:
        attended = _ops.scaled_dot_product_attention(q, k, v, mask, dropout_p, is_causal)
        out = _projected(attended, out_proj_weight, out_proj_bias, batch_first, length_first_memory)
        return (out if batched else out.squeeze(b)), None
    weights = _weights(q, k, mask)
    if dropout_p > 0:
        weights = mashal.dropout(weights, dropout_p, True)
    out = _projected(weights @ v, out_proj_weight, out_proj_bias, batch_first, length_first_memory)
    if average_attn_weights:
        weights = weights.mean(1)
    if not batched:
        return out.squeeze(b), weights.squeeze(0)
    return out, weights


def _projected(
    attended: Tensor, weight: Tensor, bias: Tensor | None, batch_first: bool, length_first_memory: bool
) -> Tensor:
    """(B, H, L, D) with its heads merged, under the output's projection: (B, L, E) or (L, B, E)."""
    # Merging is a view where the memory is in the order asked for.
    t = attended.permute(2, 0, 1, 3) if length_first_memory else attended.permute(0, 2, 1, 3)
    out = _ops.linear(t.reshape(*t.shape[:2], t.shape[2] * t.shape[3]), weight, bias)
    return out.transpose(0, 1) if batch_first and length_first_memory else out


def _one_row(t: Tensor, length: int) -> list[int]:
    shape = list(t.shape)
    shape[length] = 1
    return shape


def _static(t: Tensor, name: str, batch: int, heads: int, width: int) -> Tensor:
    """(B * H, S, D), as callers who keep projected keys and values pass them, as (B, H, S, D)."""
    if t.shape[0] != batch * heads or t.shape[2] != width:
        raise AssertionError(
            f"multi_head_attention_forward: {name} must be ({batch * heads}, S, {width}), got {name} {tuple(t.shape)}."
        )
    return t.view(batch, heads, t.shape[1], width)


def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Attention with ``num_heads`` heads of ``E / num_heads`` features; see :class:`~mashal.nn.MultiheadAttention`.

    Args:
        query: ``(L, N, E)`` or ``(L, E)``; key: ``(S, N, Ek)``; value: ``(S, N, Ev)``.
        in_proj_weight: ``(3 E, E)``, the projections of query, key and value one below the other. With
            ``use_separate_proj_weight`` the three weights are given one by one instead.
        in_proj_bias: ``(3 E,)``; bias_k, bias_v: ``(1, 1, E)``, one more key and value.
        add_zero_attn: one more key and value of zeros.
        key_padding_mask: ``(N, S)``; attn_mask: ``(L, S)`` or ``(N num_heads, L, S)``. Bool (true leaves out) or added.
        static_k, static_v: ``(N num_heads, S, E / num_heads)``, used in place of projected keys and values.
        need_weights: return the attention weights as well; without them a faster path is taken.
        is_causal: says that ``attn_mask`` is the causal mask, which then need not be looked at.

    Returns:
        ``(L, N, E)`` and, with ``need_weights``, ``(N, L, S)``, or ``(N, num_heads, L, S)`` without averaging.

    Raises:
        AssertionError: ranks, sizes or dtypes do not go together.
        RuntimeError: ``attn_mask`` has a wrong shape, or ``is_causal`` comes without it.
    """
    separate = None
    if use_separate_proj_weight:
        if q_proj_weight is None or k_proj_weight is None or v_proj_weight is None:
            raise AssertionError(
                "use_separate_proj_weight is True but q_proj_weight, k_proj_weight or v_proj_weight is None"
            )
        separate = (q_proj_weight, k_proj_weight, v_proj_weight)
    return multi_head_attention(
        query,
        key,
        value,
        embed_dim_to_check,
        num_heads,
        in_proj_weight,
        in_proj_bias,
        bias_k,
        bias_v,
        add_zero_attn,
        dropout_p if training else 0.0,
        out_proj_weight,
        out_proj_bias,
        key_padding_mask,
        need_weights,
        attn_mask,
        separate,
        static_k,
        static_v,
        average_attn_weights,
        is_causal,
        False,
        True,
    )
