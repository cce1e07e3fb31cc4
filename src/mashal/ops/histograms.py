"""Histograms with edges, differences of samples, segments, and a count of fixed size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .. import _core, return_types
from .._core import Tensor
from ._registry import composite, write_out


def _floating(name: str, input: Tensor) -> None:
    if not input.is_floating_point():
        raise NotImplementedError(
            f"{name}: not implemented for {input.dtype}, got input {tuple(input.shape)}. Use .float()."
        )


def _edges(name: str, column: Tensor, bins: Any, limits: Sequence[float] | None) -> Tensor:
    from .creation import linspace

    if isinstance(bins, Tensor):
        if bins.dim() != 1 or bins.dtype != column.dtype:
            raise RuntimeError(
                f"{name}: bins must be a one-dimensional tensor of input's dtype, got bins {tuple(bins.shape)} "
                f"{bins.dtype} and input {column.dtype}"
            )
        return bins
    if bins <= 0:
        raise RuntimeError(f"{name}: bins must be > 0, but got {bins}")
    if limits is None:
        low, high = (column.min().item(), column.max().item()) if column.numel() else (0.0, 0.0)
    else:
        low, high = limits
    if not (math.isfinite(low) and math.isfinite(high)):
        raise RuntimeError(f"{name}: range [{low}, {high}] is not finite")
    if low > high:
        raise RuntimeError(f"{name}: min should not exceed max, but got min {low} max {high}")
    if low == high:
        low, high = low - 0.5, high + 0.5
    return linspace(low, high, bins + 1, dtype=column.dtype, device=column.device)


def _places(column: Tensor, edges: Tensor) -> tuple[Tensor, Tensor]:
    """The bin of each sample, and whether there is one. The last bin holds its upper edge too."""
    from .searching import searchsorted

    last = edges.shape[0] - 1
    place = searchsorted(edges, column.contiguous(), right=True) - 1
    place = place.masked_fill(column == edges[-1], last - 1)
    return place, (place >= 0) & (place < last)


def _count(place: Tensor, inside: Tensor, bins: int, weight: Tensor | None, like: Tensor) -> Tensor:
    where = inside.nonzero().squeeze(1)
    amounts = like.new_ones((where.shape[0],)) if weight is None else weight.reshape(-1).index_select(0, where)
    return like.new_zeros((bins,)).index_add(0, place.index_select(0, where), amounts)


@composite(method=True)
def histogram(
    input: Tensor,
    bins: Any,
    *,
    range: Sequence[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
    out: Any = None,
) -> Any:
    """How many elements lie between consecutive edges; each interval holds its lower edge, the last both.

    Args:
        bins: the number of equal intervals, or their increasing edges.
        range: the outermost edges for a number of intervals; default: the least and greatest element.
        weight: counts for each element instead of 1.
        density: divide so that the integral is 1.

    Returns:
        ``hist``, ``bin_edges``, of input's dtype.

    Raises:
        RuntimeError: for integers, ranges that are not finite or reversed, and wrong shapes.

    Gradient:
        none.

    Example:
        >>> import mashal
        >>> mashal.histogram(mashal.tensor([0.0, 1.0, 1.5, 2.0]), 2).hist
        tensor([1., 3.])
    """
    _floating("histogram", input)
    if isinstance(bins, Tensor) and range is not None:
        raise TypeError("histogram(): range cannot be given together with edges")
    if weight is not None and (weight.shape != input.shape or weight.dtype != input.dtype):
        raise RuntimeError(
            f"histogram: weight must have input's shape and dtype, got weight {tuple(weight.shape)} {weight.dtype} "
            f"and input {tuple(input.shape)} {input.dtype}"
        )
    with _core.no_grad_guard():
        flat = input.detach().reshape(-1)
        edges = _edges("histogram", flat, bins, range)
        hist = _count(*_places(flat, edges), edges.shape[0] - 1, weight, flat)
        if density:
            hist = hist / (hist.sum() * edges.diff())
    result = return_types.histogram((hist, edges))
    return result if out is None else write_out("histogram", out, result)


@composite()
def histogramdd(
    input: Tensor,
    bins: Any,
    *,
    range: Sequence[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
    out: Any = None,
) -> Any:
    """:func:`histogram` of points: ``input`` is ``(..., D)``, ``bins`` an int, or D ints, or D tensors of edges.

    ``range``: the outermost edges of all dimensions, one after the other. Returns: ``hist`` of D dimensions, and the
    tuple ``bin_edges``.

    Example:
        >>> import mashal
        >>> mashal.histogramdd(mashal.tensor([[0.0, 0.0], [1.0, 1.0]]), 2).hist
        tensor([[1., 0.],
                [0., 1.]])
    """
    _floating("histogramdd", input)
    if input.dim() < 2:
        raise RuntimeError(f"histogramdd: input tensor should have at least 2 dimensions, got {tuple(input.shape)}")
    d = input.shape[-1]
    wanted = [bins] * d if isinstance(bins, int) else list(bins)
    if len(wanted) != d:
        raise RuntimeError(
            f"histogramdd: expected {d} sequences of bin edges or numbers for a {d}-dimensional "
            f"histogram but got {len(wanted)}"
        )
    if range is not None and len(range) != 2 * d:
        raise RuntimeError(f"histogramdd: range should have {2 * d} elements, but got {len(range)}")
    with _core.no_grad_guard():
        points = input.detach().reshape(-1, d)
        all_edges, place, inside, size = [], None, None, []
        for i, count in enumerate(wanted):
            column = points[:, i]
            edges = _edges("histogramdd", column, count, None if range is None else range[2 * i : 2 * i + 2])
            at, within = _places(column, edges)
            n = edges.shape[0] - 1
            place = at if place is None else place * n + at
            inside = within if inside is None else inside & within
            size.append(n)
            all_edges.append(edges)
        if place is None or inside is None:
            raise RuntimeError("histogramdd: input must have at least one column")
        hist = _count(place, inside, math.prod(size), weight, points).reshape(size)
        if density:
            hist = hist / hist.sum()
            for i, edges in enumerate(all_edges):
                hist = hist / edges.diff().reshape([-1 if j == i else 1 for j in _core_range(d)])
    return return_types.histogramdd((hist, tuple(all_edges)))


def _core_range(n: int) -> list[int]:
    # `range` is an argument above.
    return list(range(n))


@composite(method=True)
def nonzero_static(input: Tensor, *, size: int, fill_value: int = -1, out: Any = None) -> Tensor:
    """``nonzero`` cut, or filled with ``fill_value``, to ``size`` rows.

    Example:
        >>> import mashal
        >>> mashal.nonzero_static(mashal.tensor([0, 1, 2]), size=3)
        tensor([[ 1],
                [ 2],
                [-1]])
    """
    if size < 0:
        raise RuntimeError(f"nonzero_static: 'size' must be an non-negative integer, got {size}")
    found = input.nonzero()[:size]
    result = found.new_full((size, input.dim()), fill_value)
    result[: found.shape[0]] = found
    return result if out is None else write_out("nonzero_static", out, result)


# ---- numerical derivatives of samples ----


def _difference(input: Tensor, dim: int, spacing: Any, edge_order: int) -> Tensor:
    n = input.shape[dim]
    if n < edge_order + 1:
        raise RuntimeError(
            f"torch.gradient expected each dimension size to be at least edge_order+1, got {n} along dim {dim}"
        )

    def part(start: int, stop: int | None) -> Tensor:
        return input.narrow(dim, start, (n if stop is None else stop % n if stop < 0 else stop) - start)

    def first(i: int) -> Tensor:
        return input.narrow(dim, i % n, 1)

    if isinstance(spacing, Tensor):
        steps = spacing.diff()
        shape = [-1 if d == dim else 1 for d in range(input.dim())]
        before, after = steps[:-1].reshape(shape), steps[1:].reshape(shape)
        # The slope of the parabola through three points.
        middle = (
            part(2, None) * (before / (after * (before + after)))
            - part(0, n - 2) * (after / (before * (before + after)))
            + part(1, n - 1) * ((after - before) / (before * after))
        )
        h0, h1, h2, h3 = steps[0], steps[min(1, n - 2)], steps[max(n - 3, 0)], steps[-1]
    else:
        middle = (part(2, None) - part(0, n - 2)) / (2 * spacing)
        h0 = h1 = h2 = h3 = spacing
    if edge_order == 1:
        left, right = (first(1) - first(0)) / h0, (first(-1) - first(-2)) / h3
    else:
        left = (
            first(0) * (-(2 * h0 + h1) / (h0 * (h0 + h1)))
            + first(1) * ((h0 + h1) / (h0 * h1))
            - first(2) * (h0 / (h1 * (h0 + h1)))
        )
        right = (
            first(-1) * ((2 * h3 + h2) / (h3 * (h2 + h3)))
            - first(-2) * ((h2 + h3) / (h2 * h3))
            + first(-3) * (h3 / (h2 * (h2 + h3)))
        )
    from .joining import cat

    return cat([left, middle, right], dim)


@composite()
def gradient(input: Tensor, *, spacing: Any = 1, dim: Any = None, edge_order: int = 1) -> Any:
    """The derivative of sampled values along each dimension: central differences, one-sided ones at the ends.

    Args:
        spacing: the distance of samples: one for all dimensions or one each; or a tensor of coordinates each.
        dim: which dimensions; default all.
        edge_order: 1 or 2: how many neighbours the ends use.

    Returns:
        a tuple of tensors of input's shape.

    Example:
        >>> import mashal
        >>> mashal.gradient(mashal.tensor([1.0, 4.0, 9.0]))
        (tensor([3., 4., 5.]),)
    """
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    dims = list(range(input.dim())) if dim is None else [dim] if isinstance(dim, int) else list(dim)
    dims = [d % input.dim() for d in dims]
    if len(set(dims)) != len(dims):
        raise RuntimeError("torch.gradient: dim 0 appears multiple times in the list of dims")
    given = isinstance(spacing, (tuple, list))
    spacings = list(spacing) if given else [spacing] * len(dims)
    if len(spacings) != len(dims):
        raise RuntimeError(
            f"torch.gradient expected spacing to be unspecified, a scalar or a list of length {len(dims)}, got "
            f"{len(spacings)}"
        )
    values = input if input.is_floating_point() or input.is_complex() else input.to(_core.get_default_dtype())
    return tuple(_difference(values, d, s, edge_order) for d, s in zip(dims, spacings, strict=True))


@composite()
def segment_reduce(
    data: Tensor,
    reduce: str,
    *,
    lengths: Tensor | None = None,
    indices: Tensor | None = None,
    offsets: Tensor | None = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: float | None = None,
) -> Tensor:
    """Reduces consecutive segments of the first dimension: ``sum``, ``mean``, ``max``, ``min`` or ``prod``.

    ``lengths`` or ``offsets`` say where segments are. Without ``initial`` an empty one gives 0, NaN, -inf, inf or 1.

    Example:
        >>> import mashal
        >>> mashal.segment_reduce(mashal.tensor([1.0, 2.0, 3.0]), "sum", lengths=mashal.tensor([1, 2]))
        tensor([1., 5.])
    """
    if axis != 0 or (lengths is None) == (offsets is None) or indices is not None:
        raise RuntimeError("segment_reduce: exactly one of lengths and offsets must be given, for axis 0.")
    if lengths is None:
        assert offsets is not None
        lengths = offsets.diff()
    if lengths.dim() != 1 or (not unsafe and int(lengths.sum()) != data.shape[0]):
        raise RuntimeError(
            f"segment_reduce: lengths must be a vector whose sum is the first size of data, got lengths "
            f"{tuple(lengths.shape)} and data {tuple(data.shape)}"
        )
    from .creation import arange

    segments = lengths.shape[0]
    index = arange(segments).repeat_interleave(lengths)
    empty = {"sum": 0.0, "mean": 0.0, "max": -math.inf, "min": math.inf, "prod": 1.0}
    if reduce not in empty:
        raise RuntimeError(f"segment_reduce: unsupported reduction {reduce!r}")
    start = data.new_full((segments, *data.shape[1:]), empty[reduce] if initial is None else initial)
    if reduce in ("sum", "mean"):
        out = start.index_add(0, index, data)
    else:
        spread = index.reshape([-1] + [1] * (data.dim() - 1)).expand(data.shape)
        out = start.scatter_reduce(0, spread, data, {"max": "amax", "min": "amin", "prod": "prod"}[reduce])
    if reduce == "mean":
        counts = lengths.reshape([-1] + [1] * (data.dim() - 1)).to(data.dtype)
        out = out / counts if initial is None else out.where(counts == 0, out / counts.clamp(min=1))
    return out
