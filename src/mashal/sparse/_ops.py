"""Operations on sparse tensors: compositions over their indices and values, so that gradients follow."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import mashal

from .. import Tensor
from .. import _ops as _core_ops

if TYPE_CHECKING:
    from ._tensor import SparseTensor

# By the name of the function or method.
TABLE: dict[str, Callable[..., Any]] = {}


def _is_sparse(x: Any) -> bool:
    return isinstance(x, Tensor) and hasattr(x, "_is_coalesced")


def _make(indices: Tensor, values: Tensor, size: Any, coalesced: bool = False) -> SparseTensor:
    from ._tensor import make

    return make(indices, values, size, coalesced)


def _offers(*names: str) -> Callable[[Any], Any]:
    def add(fn: Any) -> Any:
        for name in names:
            TABLE[name] = fn
        return fn

    return add


def _linear(indices: Tensor, sizes: Any) -> Tensor:
    """The place of each index among all, in row-major order."""
    out = indices.new_zeros((indices.shape[1],))
    for row, n in zip(indices, sizes, strict=True):
        out = out * n + row
    return out


def _unravel(places: Tensor, sizes: Any) -> Tensor:
    rows = []
    for n in reversed(list(sizes)):
        rows.append(places % n)
        places = places.div(n, rounding_mode="floor")
    return mashal.stack(rows[::-1]) if rows else places.new_zeros((0, places.shape[0]))


def coalesce(x: SparseTensor) -> SparseTensor:
    """Sorted, unique indices; values of one index added up."""
    if x._is_coalesced:
        return x
    sizes = x.shape[: x.sparse_dim()]
    places, where = _linear(x._i, sizes).unique(return_inverse=True)
    values = x._v.new_zeros((places.shape[0], *x._v.shape[1:])).index_add(0, where, x._v)
    return _make(_unravel(places, sizes), values, x.shape, True)


def to_dense(x: SparseTensor) -> Tensor:
    """The strided tensor."""
    n = x.sparse_dim()
    sizes, rest = x.shape[:n], x._v.shape[1:]
    out = x._v.new_zeros((math.prod(sizes), *rest))
    values = x._v
    if values.dtype == mashal.bool:
        return to_dense(x.to(mashal.uint8)).to(mashal.bool)
    return out.index_add(0, _linear(x._i, sizes), values).reshape(x.shape)


def row_starts(x: SparseTensor) -> Tensor:
    """Where each row of a coalesced matrix begins."""
    counts = mashal.bincount(x._i[0], minlength=x.shape[0])
    return mashal.cat([counts.new_zeros((1,)), counts.cumsum(0)])


# ---- products ----


def _check_product(name: str, a: Tensor, b: Tensor) -> None:
    if a.dim() != 2 or b.dim() not in (1, 2) or (_is_sparse(a) and a.dense_dim()):
        raise RuntimeError(f"{name}: expected matrices, got input {tuple(a.shape)} and mat2 {tuple(b.shape)}.")
    if a.shape[1] != b.shape[0]:
        raise RuntimeError(
            f"{name}: mat1 and mat2 shapes cannot be multiplied ({a.shape[0]}x{a.shape[1]} and "
            f"{'x'.join(str(n) for n in b.shape)})"
        )
    if a.dtype != b.dtype:
        raise RuntimeError(f"{name}: expected both of one dtype, got {a.dtype} and {b.dtype}. Use .to().")


def _sparse_times_dense(a: SparseTensor, b: Tensor) -> Tensor:
    rows, columns = a._i[0], a._i[1]
    if b.dim() == 1:
        return a._v.new_zeros((a.shape[0],)).index_add(0, rows, a._v * b.index_select(0, columns))
    if b.dtype in (mashal.float32, mashal.float64):
        return _core_ops._spmm(rows, columns, a._v, b, a.shape[0])
    return a._v.new_zeros((a.shape[0], b.shape[1])).index_add(0, rows, a._v.unsqueeze(1) * b.index_select(0, columns))


def _sparse_times_sparse(a: SparseTensor, b: SparseTensor) -> SparseTensor:
    b = coalesce(b)
    starts = row_starts(b)
    first = starts[a._i[1]]
    counts = starts[a._i[1] + 1] - first
    # Each value of a meets all values of one row of b.
    left = mashal.arange(a._nnz()).repeat_interleave(counts)
    offset = mashal.arange(left.shape[0]) - (counts.cumsum(0) - counts)[left]
    right = first[left] + offset
    indices = mashal.stack([a._i[0][left], b._i[1][right]])
    return coalesce(_make(indices, a._v[left] * b._v[right], (a.shape[0], b.shape[1])))


@_offers("mm", "matmul", "mv", "spmm", "smm", "__matmul__", "__rmatmul__")
def matmul(input: Any, mat2: Any, *, out: Any = None) -> Any:
    """Products of matrices, of which one or both are sparse; sparse only if both are."""
    _check_product("mm", input, mat2)
    if not _is_sparse(input):
        return transpose(transpose(mat2, 0, 1) @ input.T, 0, 1) if _is_sparse(mat2) else input @ mat2
    return _sparse_times_sparse(input, mat2) if _is_sparse(mat2) else _sparse_times_dense(input, mat2)


@_offers("addmm")
def addmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1, out: Any = None) -> Any:
    """``beta * input + alpha * mat1 @ mat2``."""
    product = matmul(mat1, mat2)
    return (input if beta == 1 else input * beta) + (product if alpha == 1 else product * alpha)


# ---- shapes ----


@_offers("transpose", "swapaxes", "swapdims")
def transpose(input: Any, dim0: int, dim1: int) -> Any:
    """Two sparse dimensions exchanged."""
    if not _is_sparse(input):
        return input.transpose(dim0, dim1)
    order = list(range(input.dim()))
    dim0, dim1 = dim0 % input.dim(), dim1 % input.dim()
    order[dim0], order[dim1] = order[dim1], order[dim0]
    return permute(input, order)


@_offers("permute")
def permute(input: Any, *dims: Any) -> Any:
    """Sparse dimensions among themselves, and dense ones."""
    order = [d % input.dim() for d in (dims[0] if len(dims) == 1 and not isinstance(dims[0], int) else dims)]
    n = input.sparse_dim()
    if any(d >= n for d in order[:n]):
        raise RuntimeError("permute: sparse and dense dimensions of a sparse tensor cannot be exchanged")
    values = input._v.permute([0, *(d - n + 1 for d in order[n:])]) if len(order) > n else input._v
    size = [input.shape[d] for d in order]
    out = _make(input._i[order[:n]], values, size, input._is_coalesced and order[:n] == list(range(n)))
    return out.to_sparse_csr() if input.is_sparse_csr else out


@_offers("t")
def t(input: Any) -> Any:
    """The transposed matrix."""
    return transpose(input, 0, 1) if input.dim() == 2 else input


@_offers("unsqueeze")
def unsqueeze(input: Any, dim: int) -> Any:
    """A sparse dimension of size 1."""
    dim = dim % (input.dim() + 1)
    indices = mashal.cat([input._i[:dim], input._i.new_zeros((1, input._nnz())), input._i[dim:]])
    return _make(indices, input._v, (*input.shape[:dim], 1, *input.shape[dim:]), input._is_coalesced)


def _chosen(input: Any, mask: Tensor) -> tuple[Tensor, Tensor]:
    where = mask.nonzero().squeeze(1)
    return input._i.index_select(1, where), input._v.index_select(0, where)


@_offers("select")
def select(input: Any, dim: int, index: int) -> Any:
    """One index of a dimension."""
    dim = dim % input.dim()
    size = (*input.shape[:dim], *input.shape[dim + 1 :])
    if dim >= input.sparse_dim():
        return _make(input._i, input._v.select(dim - input.sparse_dim() + 1, index), size, input._is_coalesced)
    n = input.shape[dim]
    if not -n <= index < n:
        raise IndexError(f"select(): index {index} out of range for tensor of size {tuple(input.shape)} at dim {dim}")
    indices, values = _chosen(input, input._i[dim] == index % n)
    if input.sparse_dim() == 1:
        return values.sum(0)
    return _make(mashal.cat([indices[:dim], indices[dim + 1 :]]), values, size, input._is_coalesced)


@_offers("narrow")
def narrow(input: Any, dim: int, start: int, length: int) -> Any:
    """A range of a sparse dimension."""
    dim = dim % input.dim()
    row = input._i[dim]
    indices, values = _chosen(input, (row >= start) & (row < start + length))
    shift = indices.new_zeros((indices.shape[0], 1))
    shift[dim] = start
    size = list(input.shape)
    size[dim] = length
    return _make(indices - shift, values, size, input._is_coalesced)


@_offers("index_select")
def index_select(input: Any, dim: int, index: Tensor) -> Any:
    """The slices of a sparse dimension that ``index`` names, in its order."""
    dim = dim % input.dim()
    row, order = input._i[dim].sort(stable=True)
    first = mashal.searchsorted(row, index)
    counts = mashal.searchsorted(row, index, right=True) - first
    target = mashal.arange(index.shape[0]).repeat_interleave(counts)
    offset = mashal.arange(target.shape[0]) - (counts.cumsum(0) - counts)[target]
    source = order[first[target] + offset]
    indices = input._i.index_select(1, source)
    indices[dim] = target
    size = list(input.shape)
    size[dim] = index.shape[0]
    return _make(indices, input._v.index_select(0, source), size)


@_offers("__getitem__")
def getitem(input: Any, index: Any) -> Any:
    """Integers, whole slices and ranges, from the first dimension on."""
    dim = 0
    for part in index if isinstance(index, tuple) else (index,):
        if isinstance(part, int):
            input = select(input, dim, part)
            continue
        if isinstance(part, slice) and part.step in (None, 1):
            start, stop, _ = part.indices(input.shape[dim])
            if (start, stop) != (0, input.shape[dim]):
                input = narrow(input, dim, start, max(stop - start, 0))
            dim += 1
            continue
        raise NotImplementedError(f"indexing a sparse tensor with {type(part).__name__} is not implemented")
    return input


@_offers("cat", "concat", "concatenate")
def cat(tensors: Any, dim: int = 0, *, out: Any = None) -> Any:
    """Sparse tensors one behind the other along a sparse dimension."""
    if not all(_is_sparse(x) for x in tensors):
        raise RuntimeError("cat: all tensors must be sparse, or none. Use .to_dense().")
    dim = dim % tensors[0].dim()
    start, indices = 0, []
    for x in tensors:
        shifted = x._i.clone()
        shifted[dim] += start
        indices.append(shifted)
        start += x.shape[dim]
    size = list(tensors[0].shape)
    size[dim] = start
    return _make(mashal.cat(indices, 1), mashal.cat([x._v for x in tensors]), size)


@_offers("stack")
def stack(tensors: Any, dim: int = 0, *, out: Any = None) -> Any:
    """Sparse tensors of one size along a new sparse dimension."""
    sizes = [tuple(x.shape) for x in tensors]
    for at, size in enumerate(sizes):
        if size != sizes[0]:
            raise RuntimeError(
                f"stack: expects each tensor to be equal size, but got {sizes[0]} at entry 0 and {size} at entry {at}"
            )
    if not all(_is_sparse(x) for x in tensors):
        raise RuntimeError("stack: all tensors must be sparse, or none. Use .to_dense().")
    return cat([unsqueeze(x, dim) for x in tensors], dim % (len(sizes[0]) + 1))


# ---- elements ----


@_offers("add", "__add__", "__radd__")
def add(input: Any, other: Any, *, alpha: Any = 1, out: Any = None) -> Any:
    """Sums of sparse tensors, or of a strided and a sparse one."""
    if not _is_sparse(input):
        if not isinstance(input, Tensor):
            return add(other, input)
        dense = to_dense(other)
        return input + (dense if alpha == 1 else dense * alpha)
    if not isinstance(other, Tensor):
        if other == 0:
            return input
        raise RuntimeError("add: a number cannot be added to a sparse tensor. Use .to_dense().")
    if not _is_sparse(other):
        raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")
    if input.shape != other.shape:
        raise RuntimeError(
            f"add: expected 'self' and 'other' to have same size, but got {tuple(input.shape)} and {tuple(other.shape)}"
        )
    values = other._v if alpha == 1 else other._v * alpha
    dtype = mashal.promote_types(input.dtype, values.dtype)
    both = _make(mashal.cat([input._i, other._i], 1), mashal.cat([input._v.to(dtype), values.to(dtype)]), input.shape)
    return coalesce(both)


@_offers("add_", "__iadd__")
def add_(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    """Adds a sparse tensor to a strided one, in place."""
    if not _is_sparse(other):
        raise RuntimeError("add_: a strided tensor cannot be added to a sparse one in place.")
    if other.sparse_dim() == 1 and input.shape == other.shape:
        return input.index_add_(0, other._i[0], other._v, alpha=alpha)
    return input.add_(to_dense(other), alpha=alpha)


@_offers("sub", "__sub__", "subtract", "rsub", "__rsub__")
def sub(input: Any, other: Any, *, alpha: Any = 1, out: Any = None) -> Any:
    """Differences, as :func:`add`."""
    return add(input, other, alpha=-alpha)


@_offers("mul", "multiply", "__mul__", "__rmul__")
def mul(input: Any, other: Any, *, out: Any = None) -> Any:
    """Products with numbers, with strided tensors and of sparse tensors: zero where one has no index."""
    if not _is_sparse(input):
        input, other = other, input
    if not isinstance(other, Tensor) or other.dim() == 0:
        return input._like(input._v * other)
    if not _is_sparse(other):
        at = tuple(input._i)
        return input._like(input._v * other.expand(input.shape)[at])
    a, b = coalesce(input), coalesce(other)
    if a.shape != b.shape:
        raise RuntimeError(f"mul: sizes must be equal, got input {tuple(a.shape)} and other {tuple(b.shape)}")
    sizes = a.shape[: a.sparse_dim()]
    left, right = _linear(a._i, sizes), _linear(b._i, sizes)
    place = mashal.searchsorted(right, left).clamp(max=max(right.shape[0] - 1, 0))
    if right.shape[0] == 0 or left.shape[0] == 0:
        return _make(a._i[:, :0], a._v[:0] * b._v[:0], a.shape, True)
    mine = (right[place] == left).nonzero().squeeze(1)
    values = a._v.index_select(0, mine) * b._v.index_select(0, place[mine])
    return _make(a._i.index_select(1, mine), values, a.shape, True)


@_offers("div", "divide", "true_divide", "__truediv__")
def div(input: Any, other: Any, *, rounding_mode: Any = None, out: Any = None) -> Any:
    """Quotients by numbers."""
    if not _is_sparse(input) or (isinstance(other, Tensor) and other.dim() != 0):
        raise RuntimeError("div: a sparse tensor can be divided by a number only, and divides nothing.")
    return input._like(input._v.div(other, rounding_mode=rounding_mode))


_ZERO_PRESERVING = (
    "abs", "asin", "asinh", "atan", "atanh", "ceil", "erf", "expm1", "floor", "log1p", "neg", "relu", "round", "sgn",
    "sign", "sin", "sinh", "sqrt", "square", "tan", "tanh", "trunc", "isnan", "isinf", "deg2rad", "rad2deg", "erfinv",
)  # fmt: skip


def _elementwise(name: str) -> Any:
    def call(input: Any, *args: Any, **kwargs: Any) -> Any:
        full = coalesce(input) if input.is_sparse else input
        return full._like(getattr(full._v, name)(*args, **kwargs))

    call.__name__ = name
    return call


for _name in _ZERO_PRESERVING:
    TABLE[_name] = _elementwise(_name)
TABLE["__neg__"] = TABLE["neg"]
TABLE["absolute"] = TABLE["abs"]


@_offers("pow", "__pow__")
def power(input: Any, exponent: Any) -> Any:
    """Positive powers."""
    if isinstance(exponent, Tensor) or exponent <= 0:
        raise RuntimeError("pow: the exponent of a sparse tensor must be a positive number. Use .to_dense().")
    full = coalesce(input)
    return full._like(full._v**exponent)


for _name, _dtype in (
    ("float", mashal.float32),
    ("double", mashal.float64),
    ("half", mashal.float16),
    ("bfloat16", mashal.bfloat16),
    ("int", mashal.int32),
    ("long", mashal.int64),
    ("bool", mashal.bool),
):
    TABLE[_name] = lambda input, dtype=_dtype: input.to(dtype)
TABLE["contiguous"] = lambda input, **kwargs: input
TABLE["is_same_size"] = lambda input, other: input.shape == other.shape
TABLE["numel"] = lambda input: math.prod(input.shape)
TABLE["is_nonzero"] = lambda input: bool(to_dense(input))
TABLE["allclose"] = lambda a, b, **kwargs: mashal.allclose(
    *(to_dense(x) if _is_sparse(x) else x for x in (a, b)), **kwargs
)
for _name in ("zeros_like", "_zeros_like"):
    TABLE[_name] = lambda input, **kwargs: _make(
        input._i[:, :0], input._v.detach()[:0].to(kwargs.get("dtype") or input.dtype), input.shape, True
    )
TABLE["clone"] = lambda input, **kwargs: input.clone()
TABLE["detach"] = lambda input: input.detach()


# ---- reductions ----


@_offers("sum", "_sum")
def total(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """Over everything or all sparse dimensions: strided. Over some of them, or dense ones: sparse."""
    values = input._v if dtype is None else input._v.to(dtype)
    if dim is None or (isinstance(dim, (tuple, list)) and not dim):
        return values.sum()
    dims = sorted(d % input.dim() for d in ((dim,) if isinstance(dim, int) else dim))
    n = input.sparse_dim()
    dense = [d - n + 1 for d in dims if d >= n]
    if dense:
        values = values.sum(dense, keepdim=keepdim)
    over = [d for d in dims if d < n]
    kept = [d for d in range(n) if d not in over]
    size = [s if d not in dims else 1 for d, s in enumerate(input.shape) if keepdim or d not in dims]
    if not kept:
        out = values.sum(0)
        return out.reshape(size) if keepdim else out
    if keepdim:
        indices = input._i.clone()
        for d in over:
            indices[d] = 0
    else:
        indices = input._i[kept]
    out = _make(indices, values, size, input._is_coalesced and not over)
    return coalesce(out) if over else out


def _grouped(input: Any, dim: int) -> tuple[Any, Tensor, int]:
    """The coalesced tensor, and for each value the number of its line along ``dim``."""
    full = coalesce(input)
    dim = dim % full.dim()
    if dim >= full.sparse_dim():
        raise RuntimeError("softmax: dim must be a sparse dimension of a sparse tensor.")
    others = [d for d in range(full.sparse_dim()) if d != dim]
    places = _linear(full._i[others], [full.shape[d] for d in others])
    lines, group = places.unique(return_inverse=True)
    return full, group, lines.shape[0]


@_offers("log_softmax", "_log_softmax")
def log_softmax(input: Any, dim: int, dtype: Any = None) -> Any:
    """``log_softmax`` over the values that there are along ``dim``: others count as minus infinity."""
    full, group, count = _grouped(input, dim)
    values = full._v if dtype is None else full._v.to(dtype)
    index = group.reshape((-1,) + (1,) * (values.dim() - 1)).expand(values.shape)
    top = (
        values.detach()
        .new_full((count, *values.shape[1:]), -math.inf)
        .scatter_reduce(0, index, values.detach(), "amax")
    )
    shifted = values - top[group]
    sums = values.new_zeros((count, *values.shape[1:])).index_add(0, group, shifted.exp())
    return full._like(shifted - sums.log()[group])


@_offers("softmax", "_softmax")
def softmax(input: Any, dim: int, dtype: Any = None) -> Any:
    """The exponential of :func:`log_softmax`."""
    out = log_softmax(input, dim, dtype)
    return out._like(out._v.exp())


@_offers("sparse_mask")
def sparse_mask(input: Any, mask: Any) -> Any:
    """The elements of ``input`` at the indices of ``mask``."""
    if _is_sparse(input):
        input = to_dense(input)
    full = coalesce(mask)
    return full._like(input[tuple(full._i)])
