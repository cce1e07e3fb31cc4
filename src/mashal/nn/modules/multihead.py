"""Attention with several heads."""

from __future__ import annotations

from typing import Any

import mashal

from ... import Tensor
from .. import init
from ..functional._attention import multi_head_attention
from ..parameter import Parameter
from .linear import NonDynamicallyQuantizableLinear
from .module import Module

__all__ = ["MultiheadAttention"]


class MultiheadAttention(Module):
    r"""``concat(head_1, ..., head_h) W_o`` with ``head_i = softmax(Q_i K_i^T / sqrt(d)) V_i`` (Vaswani et al. 2017).

    ``Q_i``, ``K_i`` and ``V_i`` are linear projections of query, key and value to ``d = embed_dim / num_heads``
    features.

    Args:
        embed_dim: E, the size of query and output. A multiple of ``num_heads``.
        num_heads: h.
        dropout: probability of dropping an attention weight in training mode.
        bias: whether the projections have biases.
        add_bias_kv: one more key and value, learned.
        add_zero_attn: one more key and value of zeros.
        kdim, vdim: sizes of key and value; default E.
        batch_first: ``(N, L, E)`` in place of ``(L, N, E)``.
        device, dtype: of the parameters.

    Shape:
        query ``(L, N, E)``, key ``(S, N, kdim)``, value ``(S, N, vdim)``; without N: unbatched. Output as query, and
        the weights ``(N, L, S)`` (averaged over heads) or ``(N, h, L, S)``.

    Raises:
        ValueError: ``embed_dim`` or ``num_heads`` is not positive.
        AssertionError: ``embed_dim`` is no multiple of ``num_heads``, or shapes do not go together.

    Example::

        >>> attention = nn.MultiheadAttention(8, 2, batch_first=True)
        >>> x = torch.randn(3, 5, 8)
        >>> out, weights = attention(x, x, x)
        >>> out.shape, weights.shape
        (mashal.Size([3, 5, 8]), mashal.Size([3, 5, 5]))
    """

    bias_k: Tensor | None
    bias_v: Tensor | None

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and num_heads={num_heads} "
                "instead"
            )
        super().__init__()
        self.embed_dim = embed_dim
        self.kdim = kdim if kdim is not None else embed_dim
        self.vdim = vdim if vdim is not None else embed_dim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError("embed_dim must be divisible by num_heads")

        def parameter(*shape: int) -> Parameter:
            return Parameter(mashal.empty(shape, device=device, dtype=dtype))

        if not self._qkv_same_embed_dim:
            self.q_proj_weight = parameter(embed_dim, embed_dim)
            self.k_proj_weight = parameter(embed_dim, self.kdim)
            self.v_proj_weight = parameter(embed_dim, self.vdim)
            self.register_parameter("in_proj_weight", None)
        else:
            self.in_proj_weight = parameter(3 * embed_dim, embed_dim)
            for name in ("q_proj_weight", "k_proj_weight", "v_proj_weight"):
                self.register_parameter(name, None)
        if bias:
            self.in_proj_bias = parameter(3 * embed_dim)
        else:
            self.register_parameter("in_proj_bias", None)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias=bias, device=device, dtype=dtype)
        if add_bias_kv:
            self.bias_k = parameter(1, 1, embed_dim)
            self.bias_v = parameter(1, 1, embed_dim)
        else:
            self.bias_k = self.bias_v = None
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        if self._qkv_same_embed_dim:
            init.xavier_uniform_(self.in_proj_weight)
        else:
            init.xavier_uniform_(self.q_proj_weight)
            init.xavier_uniform_(self.k_proj_weight)
            init.xavier_uniform_(self.v_proj_weight)
        if self.in_proj_bias is not None:
            init.constant_(self.in_proj_bias, 0.0)
            init.constant_(self.out_proj.bias, 0.0)
        if self.bias_k is not None:
            init.xavier_normal_(self.bias_k)
        if self.bias_v is not None:
            init.xavier_normal_(self.bias_v)

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Files from before there were separate weights.
        state.setdefault("_qkv_same_embed_dim", True)
        super().__setstate__(state)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Output and attention weights (``None`` without ``need_weights``, which is faster).

        Args:
            key_padding_mask: ``(N, S)``, or ``(S,)``; bool (true leaves a key out) or added to the scores.
            attn_mask: ``(L, S)`` or ``(N num_heads, L, S)``; bool (true leaves out) or added.
            average_attn_weights: average the weights over the heads.
            is_causal: says that ``attn_mask`` is the causal mask.
        """
        separate = None
        if not self._qkv_same_embed_dim:
            separate = (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight)
        return multi_head_attention(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout if self.training else 0.0,
            self.out_proj.weight,
            self.out_proj.bias,
            key_padding_mask,
            need_weights,
            attn_mask,
            separate,
            None,
            None,
            average_attn_weights,
            is_causal,
            self.batch_first,
            not self.batch_first or self.training,
        )

    def merge_masks(
        self, attn_mask: Tensor | None, key_padding_mask: Tensor | None, query: Tensor
    ) -> tuple[Tensor | None, int | None]:
        """Both masks as one, and its kind: 0 for ``attn_mask``, 1 for ``key_padding_mask``, 2 for both together.

        ``query`` is ``(N, L, E)``; the mask of kind 2 is ``(N, num_heads, L, L)``.
        """
        if attn_mask is None:
            return (None, None) if key_padding_mask is None else (key_padding_mask, 1)
        batch, length = query.shape[:2]
        if attn_mask.dim() == 3:
            full = attn_mask.view(batch, -1, length, length)
        else:
            full = attn_mask.view(1, 1, length, length).expand(batch, self.num_heads, -1, -1)
        if key_padding_mask is not None:
            full = full + key_padding_mask.view(batch, 1, 1, length).expand(-1, self.num_heads, -1, -1)
        return full, 2
