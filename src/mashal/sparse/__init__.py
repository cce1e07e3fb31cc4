"""Sparse tensors: functions, and the legacy constructors ``sparse.FloatTensor(indices, values, size)``."""

from __future__ import annotations

from typing import Any

import mashal

from .. import Tensor
from . import _ops
from ._tensor import SparseTensor, make

__all__ = [
    "BFloat16Tensor",
    "ByteTensor",
    "CharTensor",
    "DoubleTensor",
    "FloatTensor",
    "HalfTensor",
    "IntTensor",
    "LongTensor",
    "ShortTensor",
    "SparseTensor",
    "addmm",
    "check_sparse_tensor_invariants",
    "log_softmax",
    "mm",
    "sampled_addmm",
    "softmax",
    "spdiags",
    "sum",
]


class check_sparse_tensor_invariants:
    """Whether indices are checked where a sparse tensor is made: a context, a decorator, or switched for good."""

    _enabled = True

    def __init__(self, enable: bool = True) -> None:
        self.state = enable
        self.saved: bool | None = None

    @staticmethod
    def is_enabled() -> bool:
        """Whether indices are checked."""
        return check_sparse_tensor_invariants._enabled

    @staticmethod
    def enable() -> None:
        """Check."""
        check_sparse_tensor_invariants._enabled = True

    @staticmethod
    def disable() -> None:
        """Do not check."""
        check_sparse_tensor_invariants._enabled = False

    def __enter__(self) -> None:
        self.saved = check_sparse_tensor_invariants._enabled
        check_sparse_tensor_invariants._enabled = self.state

    def __exit__(self, *exc: object) -> None:
        check_sparse_tensor_invariants._enabled = bool(self.saved)


def mm(mat1: Tensor, mat2: Tensor, reduce: str = "sum") -> Tensor:
    """The product of a sparse matrix and another; sparse if both are. Gradients reach values and the other matrix."""
    if reduce != "sum":
        raise NotImplementedError(f"sparse.mm: only the reduction 'sum' is implemented, got {reduce!r}")
    return _ops.matmul(mat1, mat2)


def addmm(mat: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1.0, alpha: float = 1.0) -> Tensor:
    """``beta * mat + alpha * mat1 @ mat2``."""
    return _ops.addmm(mat, mat1, mat2, beta=beta, alpha=alpha)


def sampled_addmm(input: Any, mat1: Tensor, mat2: Tensor, *, beta: float = 1.0, alpha: float = 1.0) -> Any:
    """``beta * input + alpha * mat1 @ mat2`` at the indices of the sparse ``input`` only."""
    rows, columns = input._i[0], input._i[1]
    products = (mat1.index_select(0, rows) * mat2.index_select(1, columns).T).sum(1)
    return input._like(beta * input._v + alpha * products)


def sum(input: Any, dim: Any = None, dtype: Any = None) -> Any:
    """The sum over all elements, or dimensions: see :meth:`Tensor.sum` of sparse tensors."""
    return _ops.total(input, dim, dtype=dtype)


def softmax(input: Any, dim: int, *, dtype: Any = None) -> Any:
    """Softmax along a sparse dimension over the values that there are."""
    return _ops.softmax(input, dim, dtype)


def log_softmax(input: Any, dim: int, *, dtype: Any = None) -> Any:
    """The logarithm of :func:`softmax`."""
    return _ops.log_softmax(input, dim, dtype)


def spdiags(diagonals: Tensor, offsets: Tensor, shape: tuple[int, int], layout: Any = None) -> Any:
    """The matrix with the rows of ``diagonals`` along the diagonals of ``offsets``, entry j in column j."""
    diagonals, offsets = mashal.atleast_2d(diagonals), mashal.atleast_1d(offsets)
    if diagonals.shape[0] != offsets.shape[0]:
        raise RuntimeError(
            f"Number of diagonals ({diagonals.shape[0]}) does not match the number of offsets ({offsets.shape[0]})"
        )
    columns = mashal.arange(diagonals.shape[1]).expand(diagonals.shape)
    rows = columns - offsets.unsqueeze(1)
    inside = ((rows >= 0) & (rows < shape[0]) & (columns < shape[1])).nonzero(as_tuple=True)
    out = make(mashal.stack([rows[inside], columns[inside]]), diagonals[inside], shape)
    return out.to_sparse_csr() if layout is mashal.sparse_csr else out


class _legacy(type):
    """The class of ``sparse.FloatTensor`` and its kin: constructors, and marks for ``isinstance``."""

    dtype: Any

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, SparseTensor) and instance.dtype is cls.dtype

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if args and isinstance(args[0], Tensor):
            indices, values, *size = args
            return mashal.sparse_coo_tensor(indices, values, *size, dtype=cls.dtype)
        size = args[0] if len(args) == 1 and not isinstance(args[0], int) else args
        size = tuple(size) or (0,)
        return make(mashal.empty((len(size), 0), dtype=mashal.int64), mashal.empty((0,), dtype=cls.dtype), size, True)


for _name in ("BFloat16", "Byte", "Char", "Double", "Float", "Half", "Int", "Long", "Short"):
    _dtype = getattr(mashal, f"{_name}Tensor").dtype
    _doc = f"A sparse tensor of {_dtype!r} from indices, values and size, or from sizes alone."
    globals()[f"{_name}Tensor"] = _legacy(
        f"{_name}Tensor", (), {"__module__": __name__, "__doc__": _doc, "dtype": _dtype}
    )
