"""Scaled dot-product attention."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from .. import _core
from .._core import Tensor
from ._registry import composite, op
from .dropout import _masked_scale, dropout
from .random import _bernoulli_


@op(
    "_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask, Tensor? kept, bool is_causal, float scale,"
    " float keep) -> (Tensor, Tensor)"
)
def _attention() -> None:
    """Attention in blocks, never holding all scores at once.

    ``out = dropout(softmax(scale * query @ key^T + mask)) @ value``; rows in which nothing is allowed give zeros.

    Args:
        query: (B, H, L, E); key: (B, Hk, S, E); value: (B, Hk, S, Ev), where Hk divides H (grouped heads).
        attn_mask: bool (true takes part) or query's dtype (added), broadcast to (B, H, L, S); not differentiated.
        kept: bool (B, H, L, S), the probabilities that dropout keeps, each divided by ``keep``; none: all of them.
        is_causal: query i sees keys up to i.

    Returns:
        out (B, H, L, Ev), in memory order (B, L, H, Ev); logsumexp (B, H, L), which backward needs.
    Source:
        T. Dao et al., "FlashAttention" (2022); the online softmax: M. Milakov and N. Gimelshein (2018).
    """


@op(
    "_attention_backward(Tensor grad, Tensor query, Tensor key, Tensor value, Tensor? attn_mask, Tensor? kept,"
    " Tensor out, Tensor logsumexp, bool is_causal, float scale, float keep) -> (Tensor, Tensor, Tensor)"
)
def _attention_backward() -> None:
    """Gradients of ``_attention`` with respect to query, key and value; probabilities are recomputed block by block."""


@_attention.vjp
def _(
    gs: tuple[Tensor, ...],
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None,
    kept: Tensor | None,
    outs: tuple[Tensor, ...],
    is_causal: bool,
    scale: float,
    keep: float,
) -> tuple[Tensor | None, ...]:
    grads = _attention_backward(gs[0], query, key, value, attn_mask, kept, outs[0], outs[1], is_causal, scale, keep)
    return (*grads, None, None)


@_attention_backward.vjp
def _(
    gs: tuple[Tensor, ...],
    grad: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None,
    kept: Tensor | None,
    is_causal: bool,
    scale: float,
    keep: float,
) -> tuple[Tensor | None, ...]:
    """Second derivatives, rarely asked for: the first ones written with all scores at hand, differentiated."""

    def firsts(grad: Tensor, query: Tensor, key: Tensor, value: Tensor) -> Sequence[Tensor]:
        return _gradients_with_scores(grad, query, key, value, attn_mask, kept, is_causal, scale, keep)

    # out and logsumexp are functions of the inputs: their part is contained in these.
    return (*_differentiated(firsts, (grad, query, key, value), gs), None, None, None, None)


@op(
    "_packed_attention(Tensor packed, Tensor? attn_mask, Tensor? kept, bool is_causal, float scale, float keep,"
    " bool length_first) -> (Tensor, Tensor)"
)
def _packed_attention() -> None:
    """``_attention`` of query, key and value that lie in one tensor, so that their gradient is one tensor as well.

    Args: packed: (3, B, H, L, E), any strides; the others as for ``_attention``.
    Returns: out (B, H, L, E), in memory order (L, B, H, E) if ``length_first``, else (B, L, H, E); logsumexp (B, H, L).
    """


@op(
    "_packed_attention_backward(Tensor grad, Tensor packed, Tensor? attn_mask, Tensor? kept, Tensor out,"
    " Tensor logsumexp, bool is_causal, float scale, float keep) -> Tensor"
)
def _packed_attention_backward() -> None:
    """Gradient of ``_packed_attention`` with respect to ``packed``, in its memory order."""


@_packed_attention.vjp
def _(
    gs: tuple[Tensor, ...],
    packed: Tensor,
    attn_mask: Tensor | None,
    kept: Tensor | None,
    outs: tuple[Tensor, ...],
    is_causal: bool,
    scale: float,
    keep: float,
) -> tuple[Tensor | None, ...]:
    grad = _packed_attention_backward(gs[0], packed, attn_mask, kept, outs[0], outs[1], is_causal, scale, keep)
    return grad, None, None


@_packed_attention_backward.vjp
def _(
    g: Tensor,
    grad: Tensor,
    packed: Tensor,
    attn_mask: Tensor | None,
    kept: Tensor | None,
    is_causal: bool,
    scale: float,
    keep: float,
) -> tuple[Tensor | None, ...]:
    """As for ``_attention_backward``."""

    def firsts(grad: Tensor, packed: Tensor) -> Sequence[Tensor]:
        query, key, value = packed.unbind(0)
        return _gradients_with_scores(grad, query, key, value, attn_mask, kept, is_causal, scale, keep)

    return (*_differentiated(firsts, (grad, packed), g.unbind(0)), None, None, None, None)


def _differentiated(
    firsts: Callable[..., Sequence[Tensor]], inputs: Sequence[Tensor], gs: Sequence[Tensor]
) -> Sequence[Tensor]:
    """The vector-Jacobian product of ``firsts``, recorded if grad mode is on."""
    from ..autograd import enable_grad
    from ..autograd import grad as gradients

    create_graph = _core.is_grad_enabled()
    with enable_grad():
        leaves = [t if t.requires_grad else t.detach().requires_grad_() for t in inputs]
        # Aliases: the gradient is wanted with respect to these uses only.
        uses = [t.view_as(t) for t in leaves]
        return gradients(firsts(*uses), uses, gs, create_graph=create_graph)


def _probabilities(query: Tensor, key: Tensor, mask: Tensor | None, is_causal: bool, scale: float) -> Tensor:
    scores = (query * scale) @ key.transpose(-2, -1)
    allowed = _allowed(query, key, mask, is_causal)
    if allowed is not None:
        scores = scores.masked_fill(allowed.logical_not(), -math.inf)
    elif mask is not None:
        scores = scores + mask
    weights = scores.softmax(-1)
    if mask is not None:  # a row without any allowed key counts as zeros
        weights = weights.masked_fill((scores == -math.inf).all(-1, True), 0.0)
    return weights


def _allowed(query: Tensor, key: Tensor, mask: Tensor | None, is_causal: bool) -> Tensor | None:
    if is_causal:
        return query.new_ones((query.shape[-2], key.shape[-2]), dtype=_core.bool).tril()
    return mask if mask is not None and mask.dtype == _core.bool else None


def _gradients_with_scores(
    grad: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    kept: Tensor | None,
    is_causal: bool,
    scale: float,
    keep: float,
) -> tuple[Tensor, Tensor, Tensor]:
    groups = query.shape[1] // key.shape[1]
    keys, values = (t.repeat_interleave(groups, 1) if groups > 1 else t for t in (key, value))
    p = _probabilities(query, keys, mask, is_causal, scale)
    dp = grad @ values.transpose(-2, -1)
    used = p
    if kept is not None:
        dp, used = _masked_scale(dp, kept, keep), _masked_scale(p, kept, keep)
    ds = p * (dp - (dp * p).sum(-1, True))
    g_query = (ds @ keys) * scale
    g_key = (ds.transpose(-2, -1) @ query) * scale
    g_value = used.transpose(-2, -1) @ grad
    if groups > 1:
        g_key, g_value = (t.unflatten(1, (-1, groups)).sum(2) for t in (g_key, g_value))
    return g_query, g_key, g_value


def _kept_by_dropout(query: Tensor, keys: int, p: float) -> Tensor:
    """The draws that dropout of the (B, H, L, S) probabilities makes, from the same random numbers."""
    mask = query.new_empty((*query.shape[:-1], keys), dtype=_core.bool)
    return _bernoulli_(mask, 1 - p)


def packed_attention(
    packed: Tensor, attn_mask: Tensor | None, dropout_p: float, is_causal: bool, length_first: bool
) -> Tensor:
    """``scaled_dot_product_attention`` of ``packed.unbind(0)``, packed being (3, B, H, L, E): (B, H, L, E).

    ``length_first`` asks for the memory order (L, B, H, E), else it is (B, L, H, E).
    """
    factor = 1.0 / math.sqrt(packed.shape[-1])
    if attn_mask is not None and attn_mask.dtype not in (_core.bool, packed.dtype):
        attn_mask = attn_mask.to(packed.dtype)  # the projection ran under autocast
    if dropout_p >= 1 or (attn_mask is not None and attn_mask.requires_grad):
        query, key, value = packed.unbind(0)
        return _with_scores(query, key, value, attn_mask, dropout_p, is_causal, factor, False)
    kept = _kept_by_dropout(packed[0], packed.shape[3], dropout_p) if dropout_p > 0 else None
    return _packed_attention(packed, attn_mask, kept, is_causal, factor, 1 - dropout_p, length_first)[0]


@composite(namespace="nn")
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """``softmax(scale * query @ key^T + mask) @ value`` over the last two dimensions.

    Args:
        query: (..., L, E); key: (..., S, E); value: (..., S, Ev).
        attn_mask: broadcast to (..., L, S); bool (true takes part) or query's dtype (added to the scores).
        dropout_p: probability of dropping a weight.
        is_causal: query i sees keys up to i; not together with ``attn_mask``.
        scale: default ``1 / sqrt(E)``.
        enable_gqa: key and value may have fewer heads (third dimension from the end); each serves several of query's.

    Raises:
        RuntimeError: if shapes or dtypes do not fit, or ``is_causal`` comes with ``attn_mask``.

    Example:
        >>> import mashal
        >>> x = mashal.ones(1, 2, 3, 4)
        >>> mashal._ops.scaled_dot_product_attention(x, x, x).shape
        mashal.Size([1, 2, 3, 4])
    """
    _check(query, key, value, attn_mask, is_causal, enable_gqa)
    # With no features every score is an empty sum, 0, whatever the factor.
    factor = 1.0 / math.sqrt(query.shape[-1] or 1) if scale is None else float(scale)
    learns_mask = attn_mask is not None and attn_mask.requires_grad
    if (
        learns_mask
        or dropout_p >= 1
        or not query.is_floating_point()
        or query.dim() < 3
        or (dropout_p > 0 and query.dim() != 4)
    ):
        return _with_scores(query, key, value, attn_mask, dropout_p, is_causal, factor, enable_gqa)
    lead = query.shape[:-2]
    if (
        query.dim() == 4
        and query.shape[0] == key.shape[0] == value.shape[0]
        and _heads_fit(query, key, value, enable_gqa)
    ):
        kept = _kept_by_dropout(query, key.shape[2], dropout_p) if dropout_p > 0 else None
        return _attention(query, key, value, attn_mask, kept, is_causal, factor, 1 - dropout_p)[0]
    if dropout_p > 0 or (enable_gqa and query.dim() != 4):
        return _with_scores(query, key, value, attn_mask, dropout_p, is_causal, factor, enable_gqa)
    # Other ranks and broadcasting batches: all leading dimensions become one.
    lead = _broadcast(_broadcast(lead, key.shape[:-2]), value.shape[:-2])
    batch = math.prod(lead)
    q, k, v = (t.expand(*lead, *t.shape[-2:]).reshape(batch, 1, *t.shape[-2:]) for t in (query, key, value))
    mask = attn_mask
    if mask is not None and mask.dim() > 2:
        mask = mask.expand(*lead, *mask.shape[-2:]).reshape(batch, 1, *mask.shape[-2:])
    out = _attention(q, k, v, mask, None, is_causal, factor, 1.0)[0]
    return out.reshape(*lead, *out.shape[-2:])


def _heads_fit(query: Tensor, key: Tensor, value: Tensor, enable_gqa: bool) -> bool:
    if enable_gqa:
        return key.shape[1] == value.shape[1]
    return query.shape[1] == key.shape[1] == value.shape[1]


def _broadcast(a: Sequence[int], b: Sequence[int]) -> tuple[int, ...]:
    n = max(len(a), len(b))
    a, b = (1,) * (n - len(a)) + tuple(a), (1,) * (n - len(b)) + tuple(b)
    for x, y in zip(a, b, strict=True):
        if x != y and 1 not in (x, y):
            raise RuntimeError(f"scaled_dot_product_attention: batch dimensions must broadcast, got {a} and {b}.")
    return tuple(y if x == 1 else x for x, y in zip(a, b, strict=True))


def _check(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, is_causal: bool, enable_gqa: bool) -> None:
    name = "scaled_dot_product_attention"
    got = ", ".join(f"{n} {tuple(t.shape)} {t.dtype}" for n, t in (("query", query), ("key", key), ("value", value)))
    if not query.dtype == key.dtype == value.dtype:
        raise RuntimeError(f"{name}: Expected query, key, and value to have the same dtype, got {got}.")
    if min(query.dim(), key.dim(), value.dim()) < 2:
        raise RuntimeError(f"{name}: Expected query, key, and value to all be at least 2 dimensional, got {got}.")
    if mask is not None:
        if is_causal:
            raise RuntimeError(f"{name}: Explicit attn_mask should not be set when is_causal=True")
        if mask.dtype not in (_core.bool, query.dtype):
            raise RuntimeError(
                f"{name}: Expected attn_mask dtype to be bool or to match query dtype, got attn_mask {mask.dtype}, "
                f"{got}."
            )
    if enable_gqa and (
        query.dim() < 3 or key.shape[-3] == 0 or query.shape[-3] % key.shape[-3] or query.shape[-3] % value.shape[-3]
    ):
        raise RuntimeError(
            f"{name}: Number of heads in key and value must divide the number of heads in query, got {got}."
        )


def _with_scores(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    dropout_p: float,
    is_causal: bool,
    scale: float,
    enable_gqa: bool,
) -> Tensor:
    """The same with all scores at hand: for dropout, and for masks that learn."""
    if enable_gqa:
        key = key.repeat_interleave(query.shape[-3] // key.shape[-3], -3)
        value = value.repeat_interleave(query.shape[-3] // value.shape[-3], -3)
    weights = _probabilities(query, key, mask, is_causal, scale)
    if dropout_p > 0:
        weights = dropout(weights, dropout_p, True)
    return weights @ value
