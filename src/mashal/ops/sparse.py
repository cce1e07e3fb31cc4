"""Making sparse tensors, and what strided tensors answer when they are asked for sparse parts.

The tensors themselves are in :mod:`mashal.sparse`, which is imported on first use.
"""

from __future__ import annotations

from typing import Any

from .. import _core
from .._core import Tensor
from ._registry import composite, op


def _index(value: Any) -> Tensor:
    from .._tensor import as_tensor

    return as_tensor(value).to(_core.int64)


def _values(value: Any, dtype: Any, device: Any) -> Tensor:
    from .._tensor import as_tensor

    return as_tensor(value, dtype=dtype, device=device)


def _check_indices(indices: Tensor, values: Tensor, size: tuple[int, ...]) -> None:
    n = indices.shape[0]
    if len(size) != n + values.dim() - 1:
        raise RuntimeError(
            f"number of dimensions must be sparse_dim ({n}) + dense_dim ({values.dim() - 1}), but got {len(size)}"
        )
    if tuple(values.shape[1:]) != size[n:]:
        raise RuntimeError(
            f"values has incorrect size, expected {[values.shape[0], *size[n:]]}, got {list(values.shape)}"
        )
    if indices.shape[1] == 0:
        return
    low, high = indices.amin(1).tolist(), indices.amax(1).tolist()
    for d in range(n):
        if low[d] < 0:
            raise RuntimeError(f"found negative index {low[d]} for dim {d}")
        if high[d] >= size[d]:
            raise RuntimeError(
                f"size is inconsistent with indices: for dim {d}, size is {size[d]} but found index {high[d]}"
            )


@op("_spmm(Tensor rows, Tensor columns, Tensor values, Tensor dense, int n) -> Tensor", out=False)
def _spmm() -> None:
    """The product of a sparse matrix of ``n`` rows and a strided one, both float32 or float64.

    A primitive because rows of ``dense``, gathered, are a temporary of ``nnz x columns``: several times slower.
    """


@op("_sampled_dots(Tensor rows, Tensor columns, Tensor a, Tensor b) -> Tensor", out=False)
def _sampled_dots() -> None:
    """The dot product of row ``rows[k]`` of ``a`` and row ``columns[k]`` of ``b``, for every k."""


_spmm.constant("rows", "columns")
_spmm.vjp(
    values=lambda g, rows, columns, dense: _sampled_dots(rows, columns, g, dense),
    dense=lambda g, rows, columns, values, dense_shape: _spmm(columns, rows, values, g, dense_shape[0]),
)
_sampled_dots.constant("rows", "columns")
_sampled_dots.vjp(
    a=lambda g, rows, columns, b, a_shape: _spmm(rows, columns, g, b, a_shape[0]),
    b=lambda g, rows, columns, a, b_shape: _spmm(columns, rows, g, a, b_shape[0]),
)


@composite()
def sparse_coo_tensor(
    indices: Any,
    values: Any = None,
    size: Any = None,
    *,
    dtype: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
    is_coalesced: bool | None = None,
) -> Any:
    """A sparse tensor of coordinates: ``out[indices[:, k]] += values[k]``.

    Args:
        indices: ``(sparse_dim, nnz)``.
        values: ``(nnz, *dense sizes)``; gradients are recorded through them.
        size: by default the smallest that holds the indices.
        is_coalesced: promises that indices are sorted and unique.

    Raises:
        RuntimeError: for indices out of range and sizes that do not fit.

    Example:
        >>> import mashal
        >>> mashal.sparse_coo_tensor([[0, 1], [1, 0]], [3.0, 4.0], (2, 2)).to_dense()
        tensor([[0., 3.],
                [4., 0.]])
    """
    from ..sparse import check_sparse_tensor_invariants, make

    if values is None or (not isinstance(values, (Tensor, list)) and size is None and isinstance(values, tuple)):
        sizes = tuple(indices) if values is None else values
        nothing = _core.empty((len(sizes), 0), None, _core.int64, None)
        return make(nothing, _core.empty((0,), None, dtype or _core.get_default_dtype(), None), sizes, True)
    index, value = _index(indices), _values(values, dtype, device)
    if index.dim() == 1:
        index = index.unsqueeze(0)
    if index.dim() != 2:
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(index.shape)}")
    if value.dim() == 0:
        value = value.expand(index.shape[1])
    if index.shape[1] != value.shape[0]:
        raise RuntimeError(
            f"indices and values must have same nnz, but got nnz from indices: {index.shape[1]}, nnz from values: "
            f"{value.shape[0]}"
        )
    if size is None:
        if index.shape[1] == 0:
            raise RuntimeError("sparse_coo_tensor: size must be given where there are no indices.")
        sizes = (*(n + 1 for n in index.amax(1).tolist()), *value.shape[1:])
    else:
        sizes = tuple(size)
    if check_invariants or (check_invariants is None and check_sparse_tensor_invariants.is_enabled()):
        _check_indices(index, value, sizes)
    if value.requires_grad and not _core.is_grad_enabled():
        value = value.detach()
    if requires_grad:
        value = value.detach().requires_grad_()
    return make(index, value, sizes, bool(is_coalesced))


@composite()
def sparse_csr_tensor(
    crow_indices: Any,
    col_indices: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Any:
    """A sparse matrix of compressed rows: row i has the values ``crow_indices[i]`` up to ``crow_indices[i + 1]``.

    Example:
        >>> import mashal
        >>> mashal.sparse_csr_tensor([0, 1, 2], [1, 0], [3.0, 4.0], (2, 2)).to_dense()
        tensor([[0., 3.],
                [4., 0.]])
    """
    from .._legacy_types import sparse_csr
    from ..sparse import make
    from .creation import arange
    from .joining import stack

    crow, col, value = _index(crow_indices), _index(col_indices), _values(values, dtype, device)
    rows = crow.shape[0] - 1
    sizes = (rows, int(col.max()) + 1 if col.numel() else 0) if size is None else tuple(size)
    if rows != sizes[0] or int(crow[-1]) != col.shape[0] or col.shape[0] != value.shape[0]:
        raise RuntimeError(
            f"sparse_csr_tensor: crow_indices must have rows + 1 entries, the last of which is the number of columns' "
            f"indices and values, got crow_indices {tuple(crow.shape)}, col_indices {tuple(col.shape)}, values "
            f"{tuple(value.shape)} and size {sizes}."
        )
    index = stack([arange(rows).repeat_interleave(crow[1:] - crow[:-1]), col])
    _check_indices(index, value, sizes)
    if requires_grad:
        value = value.detach().requires_grad_()
    return make(index, value, sizes, True, sparse_csr)


@composite(function=False, method=True)
def to_sparse(self: Tensor, sparse_dim: int | None = None, *, layout: Any = None, **blocks: Any) -> Any:
    """The non-zero elements in coordinates (or compressed rows): the first ``sparse_dim`` dimensions get indices.

    Example:
        >>> import mashal
        >>> mashal.tensor([[0.0, 2.0]]).to_sparse().values()
        tensor([2.])
    """
    from .._legacy_types import sparse_csr
    from ..sparse import make

    n = self.dim() if sparse_dim is None or layout is not None else sparse_dim
    if not 0 < n <= max(self.dim(), 1):
        raise RuntimeError(f"to_sparse: sparse_dim must be from 1 to {self.dim()}, got {n}")
    occupied = self.detach() != 0
    if n < self.dim():
        occupied = occupied.flatten(n).any(-1)
    index = occupied.nonzero().T.contiguous()
    out = make(index, self[tuple(index)], self.shape, True)
    return out.to_sparse_csr() if layout is sparse_csr else out


@composite(function=False, method=True)
def to_sparse_coo(self: Tensor) -> Any:
    """:meth:`to_sparse` in coordinates."""
    return to_sparse(self)


@composite(function=False, method=True)
def to_sparse_csr(self: Tensor, dense_dim: int | None = None) -> Any:
    """The non-zero elements of a matrix in compressed rows."""
    return to_sparse(self).to_sparse_csr()


@composite(function=False, method=True)
def sparse_mask(self: Tensor, mask: Any) -> Any:
    """The elements at the indices of a sparse ``mask``, as a sparse tensor."""
    from ..sparse._ops import sparse_mask as masked

    return masked(self, mask)


def _only_sparse(name: str, doc: str, layout: str = "sparse coordinate tensor layout") -> None:
    def method(self: Tensor) -> Any:
        raise RuntimeError(f"{name} expected {layout} but got Strided")

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"{doc} Of sparse tensors; others raise RuntimeError."
    composite(function=False, method=True)(method)


_only_sparse("coalesce", "Sorts indices and adds up values of equal ones.")
_only_sparse("is_coalesced", "Whether indices are sorted and unique.")
_only_sparse("indices", "The indices.")
_only_sparse("values", "The values.")
_only_sparse("sparse_dim", "The number of dimensions with indices.")
_only_sparse("dense_dim", "The number of dimensions of a value.")
_only_sparse("crow_indices", "Where rows begin.", "sparse row compressed tensor layout")
_only_sparse("col_indices", "The columns of values.", "sparse row compressed tensor layout")


def _product(name: str, doc: str) -> None:
    def call(input: Tensor, mat2: Tensor) -> Any:
        from ..sparse._ops import matmul

        return matmul(input, mat2)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = doc
    composite()(call)


_product("spmm", "The product of a sparse matrix and another.")
_product("dsmm", "The product of a strided matrix and a sparse one.")


@composite(method=True)
def smm(input: Tensor, mat: Tensor) -> Any:
    """The product of a sparse matrix and a strided one, as a sparse tensor."""
    from ..sparse._ops import matmul

    return to_sparse(matmul(input, mat))


@composite()
def hspmm(mat1: Tensor, mat2: Tensor) -> Any:
    """The product of a sparse matrix and a strided one, as a sparse tensor."""
    from ..sparse._ops import matmul

    return to_sparse(matmul(mat1, mat2), 1)


@composite()
def saddmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """``beta * input + alpha * mat1 @ mat2`` for a sparse ``mat1``."""
    from ..sparse._ops import addmm

    return addmm(input, mat1, mat2, beta=beta, alpha=alpha)


@composite(method=True)
def sspaddmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """``beta * input + alpha * mat1 @ mat2`` for sparse ``input`` and ``mat1``: sparse."""
    from ..sparse._ops import add, matmul, mul

    if not (getattr(input, "is_sparse", False) and getattr(mat1, "is_sparse", False)):
        raise RuntimeError("sspaddmm: expected sparse input and mat1. Use .to_sparse().")
    return add(mul(input, beta), to_sparse(matmul(mat1, mat2)), alpha=alpha)
