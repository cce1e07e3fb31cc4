"""Sparse tensors: coordinates and values, under the type of a tensor.

A sparse tensor is a tensor object without elements of its own (one zero, seen everywhere) that carries two ordinary
tensors: indices and values. Gradients are recorded by the values. Operations reach it through ``__torch_function__``;
what is not implemented for it raises, and never sees the zero.
"""

from __future__ import annotations

from typing import Any

import mashal

from .. import Tensor, _pickling
from .._legacy_types import sparse_coo, sparse_csr
from .._printing import _with_suffixes
from . import _ops as ops


def make(indices: Tensor, values: Tensor, size: Any, coalesced: bool = False, layout: Any = sparse_coo) -> SparseTensor:
    """A sparse tensor of these parts, which are not copied."""
    shell = values.detach().new_zeros(()).expand(tuple(size))
    out: SparseTensor = Tensor._make_subclass(SparseTensor, shell)
    out._i, out._v, out._is_coalesced, out._layout = indices, values, coalesced, layout
    return out


class SparseTensor(Tensor):
    """A tensor of layout ``sparse_coo`` or ``sparse_csr``, made by ``mashal.sparse_coo_tensor`` and its kin.

    ``indices``: int64 ``(sparse_dim, nnz)``; ``values``: ``(nnz, *dense sizes)``; indices that occur several times add
    up.
    """

    _i: Tensor
    _v: Tensor
    _is_coalesced: bool
    _layout: Any

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", str(func))
        implementation = ops.TABLE.get(name)
        if implementation is None:
            raise NotImplementedError(
                f"{name}: not implemented for sparse tensors, got {_described((*args, *(kwargs or {}).values()))}. "
                "Use .to_dense()."
            )
        return implementation(*args, **(kwargs or {}))

    # ---- what it is ----

    @property
    def layout(self) -> Any:  # type: ignore[override]
        """``mashal.sparse_coo`` or ``mashal.sparse_csr``."""
        return self._layout

    @property
    def is_sparse(self) -> bool:  # type: ignore[override]
        """Whether the layout is that of coordinates."""
        return self._layout is sparse_coo

    @property
    def is_sparse_csr(self) -> bool:  # type: ignore[override]
        """Whether the layout is that of compressed rows."""
        return self._layout is sparse_csr

    @property
    def requires_grad(self) -> bool:  # type: ignore[override]
        """Whether the values require a gradient."""
        return self._v.requires_grad

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self._v.requires_grad = value

    @property
    def grad_fn(self) -> Any:  # type: ignore[override]
        """The values' node of the tape."""
        return self._v.grad_fn

    @property
    def is_leaf(self) -> bool:  # type: ignore[override]
        """Whether the values are a leaf."""
        return self._v.is_leaf

    @property
    def grad(self) -> Any:  # type: ignore[override]
        """The gradient of the values, as a sparse tensor of the same indices."""
        return None if self._v.grad is None else self._like(self._v.grad)

    @property
    def data(self) -> Any:  # type: ignore[override]
        """The same without history."""
        return self.detach()

    @property
    def T(self) -> Any:  # type: ignore[override]
        """The transposed matrix."""
        return self.t()

    def _like(self, values: Tensor) -> SparseTensor:
        return make(self._i, values, self.shape, self._is_coalesced, self._layout)

    def sparse_dim(self) -> int:
        """The number of dimensions that have indices."""
        return self._i.shape[0]

    def dense_dim(self) -> int:
        """The number of dimensions of one value."""
        return self._v.dim() - 1

    def _nnz(self) -> int:
        return self._v.shape[0]

    def is_coalesced(self) -> bool:
        """Whether indices are sorted and unique."""
        return self._is_coalesced

    def _indices(self) -> Tensor:
        return self._i

    def _values(self) -> Tensor:
        return self._v

    def _need(self, what: str, coalesced: bool = True) -> None:
        if not self.is_sparse:
            raise RuntimeError(f"{what} expected sparse coordinate tensor layout but got {_word(self._layout)}")
        if coalesced and not self._is_coalesced:
            raise RuntimeError(f"Cannot get {what} on an uncoalesced tensor, please call .coalesce() first")

    def indices(self) -> Tensor:
        """The indices of a coalesced tensor, ``(sparse_dim, nnz)``."""
        self._need("indices")
        return self._i

    def values(self) -> Tensor:
        """The values of a coalesced tensor, ``(nnz, ...)``."""
        if self.is_sparse:
            self._need("values")
        return self._v

    def crow_indices(self) -> Tensor:
        """Where each row's values begin, and the end of the last: ``(rows + 1,)``, of compressed rows."""
        if self.is_sparse:
            raise RuntimeError("crow_indices expected sparse row compressed tensor layout but got Sparse")
        return ops.row_starts(self)

    def col_indices(self) -> Tensor:
        """The columns of the values, of compressed rows."""
        if self.is_sparse:
            raise RuntimeError("col_indices expected sparse row compressed tensor layout but got Sparse")
        return self._i[1]

    # ---- other forms ----

    def coalesce(self) -> SparseTensor:
        """The same tensor with sorted, unique indices; values of one index are added up."""
        return ops.coalesce(self)

    def to_dense(self, dtype: Any = None, *, masked_grad: bool | None = None) -> Tensor:
        """The strided tensor, zero where there is no index."""
        out = ops.to_dense(self)
        return out if dtype is None else out.to(dtype)

    def to_sparse(self, *args: Any, layout: Any = None, **kwargs: Any) -> SparseTensor:
        """This tensor in coordinates, or in ``layout``."""
        if layout is sparse_csr:
            return self.to_sparse_csr()
        return make(self._i, self._v, self.shape, self._is_coalesced)

    to_sparse_coo = to_sparse

    def to_sparse_csr(self, dense_dim: Any = None) -> SparseTensor:
        """This matrix in compressed rows."""
        if self.dim() != 2:
            raise RuntimeError(f"to_sparse_csr: expected a matrix, got {tuple(self.shape)}")
        full = self.coalesce()
        return make(full._i, full._v, full.shape, True, sparse_csr)

    def detach(self) -> SparseTensor:
        """The same without history; indices and values are shared."""
        return self._like(self._v.detach())

    def clone(self, *, memory_format: Any = None) -> SparseTensor:
        """A copy, with its history."""
        return make(self._i.clone(), self._v.clone(), self.shape, self._is_coalesced, self._layout)

    def requires_grad_(self, requires_grad: bool = True) -> SparseTensor:
        """Lets the values require a gradient."""
        self._v.requires_grad_(requires_grad)
        return self

    def to(self, *args: Any, **kwargs: Any) -> SparseTensor:
        """Another element type, or device."""
        values = self._v.to(*args, **kwargs)
        if values is self._v:
            return self
        return make(self._i.to(values.device), values, self.shape, self._is_coalesced, self._layout)

    def cpu(self) -> SparseTensor:
        """This tensor: it is there."""
        return self.to("cpu")

    def cuda(self, *args: Any, **kwargs: Any) -> SparseTensor:
        """Raises as that of strided tensors does."""
        return self._like(self._v.cuda(*args, **kwargs))

    def type(self, dtype: Any = None, non_blocking: bool = False) -> Any:
        """The name of the type, or a copy of another."""
        if dtype is None:
            return f"torch.sparse.{self.dtype._legacy_name}Tensor"
        return self._like(self._v.type(dtype))

    def backward(self, gradient: Any = None, *args: Any, **kwargs: Any) -> None:
        """Backward through the values; ``gradient`` is a sparse tensor of the same indices."""
        self._v.backward(gradient._v if isinstance(gradient, SparseTensor) else gradient, *args, **kwargs)

    def numpy(self, *, force: bool = False) -> Any:
        raise TypeError("can't convert Sparse layout tensor to numpy. Use Tensor.to_dense() first.")

    # The shell's own memory holds one zero: whoever asks for an address must not get it.

    def __buffer_refused__(self) -> str:
        """Why the tensor offers no buffer; the core asks before it gives one out."""
        return "can't convert Sparse layout tensor to a buffer. Use Tensor.to_dense() first."

    def __dlpack__(self, **kwargs: Any) -> Any:
        raise BufferError("Can't export tensors with layout other than torch.strided. Use Tensor.to_dense() first.")

    def data_ptr(self) -> int:
        raise RuntimeError("data_ptr: a sparse tensor has no memory of its own. Use .indices() and .values().")

    def untyped_storage(self) -> Any:
        raise NotImplementedError("untyped_storage: a sparse tensor has no storage of its own. Use .values().")

    def tolist(self) -> Any:
        raise RuntimeError("tolist: not implemented for sparse tensors. Use .to_dense().tolist().")

    def item(self) -> Any:
        """The number of a one-element tensor."""
        return self.to_dense().item()

    # ---- in place: the parts are replaced ----

    def _become(self, other: SparseTensor) -> SparseTensor:
        self._i, self._v, self._is_coalesced = other._i, other._v, other._is_coalesced
        return self

    def zero_(self) -> SparseTensor:
        """Forgets all values."""
        return self._become(make(self._i[:, :0], self._v.detach()[:0], self.shape, True))

    def add_(self, other: Any, *, alpha: Any = 1) -> SparseTensor:
        """Adds a sparse tensor."""
        return self._become(ops.add(self, other, alpha=alpha))

    def mul_(self, other: Any) -> SparseTensor:
        """Multiplies by a number or tensor."""
        return self._become(ops.mul(self, other))

    def div_(self, other: Any) -> SparseTensor:
        """Divides by a number."""
        return self._become(ops.div(self, other))

    def copy_(self, src: Any, non_blocking: bool = False) -> SparseTensor:
        """Takes over the indices and values of a sparse tensor."""
        if not isinstance(src, SparseTensor):
            raise RuntimeError("copy_() between dense and sparse Tensors is not implemented!")
        return self._become(src.clone().to(self.dtype))

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        def part(name: str, value: Tensor) -> str:
            text = repr(value.detach()).replace(f", dtype={value.dtype!r}", "")
            return f"{name}=" + text.replace("\n", "\n" + " " * (len(name) + 8))

        if self.is_sparse:
            parts = [part("indices", self._i)]
        else:
            parts = [part("crow_indices", self.crow_indices()), part("col_indices", self.col_indices())]
        parts.append(part("values", self._v))
        tail = [f"size={tuple(self.shape)}", f"nnz={self._nnz()}"]
        if self.dtype != mashal.get_default_dtype():
            tail.append(f"dtype={self.dtype!r}")
        tail.append(f"layout={self._layout!r}")
        if self._v.grad_fn is not None:
            tail.append(f"grad_fn=<{self._v.grad_fn.name()}>")
        elif self.requires_grad:
            tail.append("requires_grad=True")
        text = "tensor(" + ",\n       ".join(parts)
        return _with_suffixes(text, tail, 7, self.is_sparse)

    __str__ = __repr__

    def __deepcopy__(self, memo: Any) -> SparseTensor:
        out = make(self._i.clone(), self._v.detach().clone(), self.shape, self._is_coalesced, self._layout)
        memo[id(self)] = out
        return out.requires_grad_() if self.requires_grad else out

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _pickling.reduce_sparse(self)


def _unary(name: str) -> Any:
    def method(self: SparseTensor, *args: Any, **kwargs: Any) -> Any:
        return ops.TABLE[name](self, *args, **kwargs)

    method.__name__ = name
    return method


def _word(layout: Any) -> str:
    return {"sparse_coo": "Sparse", "sparse_csr": "SparseCsr"}.get(repr(layout).rpartition(".")[2], "Strided")


def _described(values: tuple[Any, ...]) -> str:
    listed = [w for v in values for w in (v if isinstance(v, (list, tuple)) else (v,))]
    tensors = [w for w in listed if isinstance(w, Tensor)]
    return ", ".join(f"{_word(t.layout)} {tuple(t.shape)} {t.dtype}" for t in tensors)


# Methods that are compositions of others on strided tensors: here they are the operation itself.
for _name in (
    "t", "transpose", "permute", "sum", "mul", "div", "add", "sub", "neg", "mm", "matmul", "index_select", "narrow",
    "float", "double", "half", "bfloat16", "int", "long", "bool", "unsqueeze", "abs", "sqrt", "pow", "select",
    "addmm", "mv", "__getitem__", "swapaxes", "multiply", "divide", "true_divide", "softmax",
    "log_softmax", "sparse_mask", "relu", "contiguous",
):  # fmt: skip
    setattr(SparseTensor, _name, _unary(_name))
