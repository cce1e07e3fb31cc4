"""Embedding with a sparse gradient: only the rows that were read are in it."""

from __future__ import annotations

import weakref
from typing import Any

import mashal

from .. import Tensor
from ..autograd import Function
from ._tensor import SparseTensor, make

# Tables that have the hook below, by identity.
_watched: dict[int, weakref.ref[Tensor]] = {}


def _watch(weight: Tensor) -> None:
    """Lets strided gradients of the same table (a tied output layer's) find a strided one to be added to."""
    known = _watched.get(id(weight))
    if known is not None and known() is weight:
        return
    key = id(weight)
    table = weakref.ref(weight, lambda _: _watched.pop(key, None))
    _watched[key] = table

    def make_dense(_: Tensor) -> None:
        owner = table()
        if owner is not None and isinstance(owner.grad, SparseTensor):
            owner.grad = owner.grad.to_dense()

    weight.register_hook(make_dense)


class _Lookup(Function):
    @staticmethod
    def forward(ctx: Any, weight: Tensor, index: Tensor, padding_idx: int) -> Tensor:
        ctx.weight, ctx.padding_idx = weight, padding_idx
        ctx.save_for_backward(index)
        return mashal.embedding(weight.detach(), index)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        index = ctx.saved_tensors[0].reshape(-1).long()
        rows, weight = g.detach().reshape(-1, g.shape[-1]), ctx.weight
        if ctx.padding_idx >= 0:
            kept = (index != ctx.padding_idx).nonzero().squeeze(1)
            rows, index = rows.index_select(0, kept), index.index_select(0, kept)
        grad = make(index.unsqueeze(0), rows.clone(), weight.shape)
        # The tape adds strided gradients only: this one goes to its table directly.
        weight.grad = grad if weight.grad is None else weight.grad + grad
        return None, None, None


def lookup(weight: Tensor, index: Tensor, padding_idx: int) -> Tensor:
    """Rows of a leaf ``weight``, whose ``grad`` becomes a sparse tensor."""
    _watch(weight)
    return _Lookup.apply(weight, index, padding_idx)
