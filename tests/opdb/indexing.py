"""Records of indexing by tensors, masks, embedding. Searching and indices out of range: tests/ops/test_indexing.py."""

from __future__ import annotations

from typing import Any

from tests.opdb import ALL_FLOATS, COMPLEX, INTS, Record, S, T

ALL = (*ALL_FLOATS, *INTS, "bool", *COMPLEX)
NUMBERS = (*ALL_FLOATS, *INTS, *COMPLEX)
X = T((3, 4, 5))
V = T((10,))


def index(high: int, *shape: int) -> T:
    return T(shape, high=high, kind="index")


def fixed(*values: Any, kind: str = "int64") -> T:
    return T((len(values),), values=list(values), kind=kind)


Record(
    "gather",
    [
        S(X, 0, index(3, 2, 4, 5)), S(X, 1, index(4, 3, 2, 5)), S(X, -1, index(5, 2, 2, 3)), S(V, 0, index(10, 20)),
        S(T((40, 7)), 1, index(7, 40, 1)), S(X, 0, index(3, 0, 4, 5)), S(T(()), 0, index(1)),
    ],
    dtypes=ALL, out=True, exact=True,
    errors=[S(V, 0, T((2,))), S(T((3, 4)), 0, index(3, 2)), S(T((3, 4)), 0, index(3, 2, 5)), S(V, 1, index(3, 2))],
)  # fmt: skip
Record(
    "scatter",
    [
        S(X, 0, T((1, 4, 5), high=3, kind="index"), T((1, 4, 5))), S(V, 0, fixed(3, 1, 9), T((3,))),
        S(T((3, 4)), 1, index(4, 3, 1), T((3, 2))), S(X, 0, index(3, 2, 4, 5), 2), S(X, 1, index(4, 3, 2, 5), value=1),
    ],
    dtypes=ALL, out=True, exact=True, second=False,  # PyTorch differentiates only where index and src agree in shape
    grad=False, inplace=True,
    errors=[S(V, 0, T((2,)), 1.0), S(V, 0, index(3, 2), 1.0, reduce="x"), S(V, 1, index(3, 2), 1.0)],
)  # fmt: skip
_SUMS = [
    S(X, 0, index(3, 2, 4, 5), T((2, 4, 5))),
    S(X, -1, index(5, 3, 4, 7), T((3, 4, 7))),
    S(V, 0, index(10, 30), T((30,))),
]
Record(
    "scatter_add", _SUMS, dtypes=NUMBERS, out=True, inplace=True,
    tol={"float16": 4e-3, "bfloat16": 3e-2, "float32": 4e-6},
    errors=[S(V, 0, index(3, 4), T((3,))), S(V, 0, index(3, 4), T((4,), kind="int"))],
)  # fmt: skip
for _reduce in ("sum", "prod", "mean", "amax", "amin"):
    Record(
        "scatter_reduce",
        [S(*s.args, _reduce, include_self=own) for s in _SUMS for own in (True, False)],
        # Many factors or terms, of which PyTorch rounds every partial result.
        dtypes=("float32", "float64"), tol={"float32": 2e-5, "float64": 1e-11}, out=True, inplace=True,
        errors=[S(V, 0, index(3, 4), T((4,)), "median")],
    )  # fmt: skip
Record(
    "index_select",
    [S(X, 0, index(3, 6)), S(X, 1, index(4, 6)), S(X, -1, index(5, 6)), S(X, 0, index(3)), S(V, 0, index(10, 0))],
    dtypes=ALL, out=True, exact=True, errors=[S(X, 0, index(3, 2, 2)), S(X, 0, T((2,))), S(X, 3, index(3, 2))],
)  # fmt: skip
Record(
    "index_add",
    [
        S(X, 0, index(3, 6), T((6, 4, 5))), S(X, -1, index(5, 6), T((3, 4, 6))), S(V, 0, index(10, 30), T((30,))),
        S(X, 1, index(4, 6), T((3, 6, 5)), alpha=2),
    ],
    dtypes=NUMBERS, out=True, inplace=True, tol={"float16": 4e-3, "bfloat16": 3e-2, "float32": 4e-6},
    errors=[S(X, 0, index(3, 2), X), S(X, 0, index(3, 3), T((3, 4, 5), kind="int"))],
)  # fmt: skip
Record(
    "index_copy",
    [S(X, 0, fixed(2, 0), T((2, 4, 5))), S(X, -1, fixed(4, 1), T((3, 4, 2))), S(V, 0, fixed(3), T((1,)))],
    dtypes=ALL, out=True, inplace=True, exact=True, errors=[S(X, 0, fixed(0, 1), X)],
)  # fmt: skip
Record(
    "index_fill",
    [S(X, 0, fixed(2, 0), 1), S(X, -1, fixed(-1, 1), 1), S(X, 0, fixed(2), T((), kind="float"))],
    dtypes=ALL, inplace=True, errors=[S(X, 0, T((2,)), 1.0), S(X, 0, fixed(1), T((1,)))],
)  # fmt: skip
Record("take", [S(X, index(60, 3, 4)), S(X, fixed(-1, -60))], dtypes=ALL, out=True, exact=True)
Record("take_along_dim", [S(X, index(3, 2, 1, 5), 0)], out=True, errors=[S(X, index(3, 2), 0)])
Record(
    "Tensor.put",
    [S(X, fixed(3, 1, 59), T((3,))), S(X, index(60, 50), T((50,)), True)],
    errors=[S(X, fixed(1), T((2,)))],
)
_COORDINATES = (index(3, 6), index(4, 6))
Record(
    "Tensor.index_put",
    [
        S(X, (fixed(2, 0),), T((2, 4, 5))), S(X, _COORDINATES, T((5,)), True), S(X, (index(3, 6),), T((6, 4, 5)), True),
        S(X, (fixed(1), fixed(2)), T(())),
    ],
    dtypes=("float32", "float64", "int64"), inplace=True,
    errors=[S(X, (fixed(1),), T((7,))), S(X, (fixed(1),), T((), kind="int"))],
)  # fmt: skip
_MASK = T((3, 4, 5), kind="bool")
Record(
    "Tensor.masked_fill",
    [
        S(X, _MASK, 1), S(X, T((4, 1), kind="bool"), 1), S(T((5,)), _MASK, 1), S(X, _MASK, T(())),
        S(T(()), T((), kind="bool"), 1),
    ],
    dtypes=ALL, inplace=True, errors=[S(X, T((5,), kind="uint8"), 1), S(X, _MASK, T((1,)))],
)  # fmt: skip
Record(
    "masked_select",
    [S(X, _MASK), S(X, T((4, 1), kind="bool")), S(T((5,)), _MASK)],
    dtypes=ALL, out=True, exact=True, meta=False, errors=[S(X, T((5,), kind="uint8"))],
)  # fmt: skip
Record(
    "Tensor.masked_scatter",
    [S(X, _MASK, T((60,))), S(X, T((4, 1), kind="bool"), T((8, 10)))],
    dtypes=ALL, inplace=True, exact=True, errors=[S(X, T((5,), values=[True] * 5, kind="bool"), T((2,)))],
)  # fmt: skip
# PyTorch lays the result out by columns.
Record("nonzero", [S(_MASK), S(X), S(T(())), S(T((0, 3)))], dtypes=ALL, grad=False, meta=False, strides=False)
Record("nonzero", [S(_MASK, as_tuple=True)], grad=False, meta=False, strides=False)
Record("argwhere", [S(_MASK)], grad=False, meta=False, strides=False)
Record(
    "bincount",
    [S(index(7, 30)), S(index(7, 30), T((30,))), S(index(7, 30), minlength=10), S(index(7, 0), minlength=3)],
    grad=False, meta=False, errors=[S(fixed(-1)), S(T((3,))), S(index(3, 2, 2)), S(index(3, 2), T((3,)))],
)  # fmt: skip
Record(
    "histc",
    [S(V, 5), S(V, 5, -1, 1), S(T((300,)), 7)],
    grad=False,
    out=True,
    errors=[S(V, 0), S(V, 3, 2, 1), S(index(3, 4))],
)
_ALL_OF_IT: dict[str, Any] = {"return_inverse": True, "return_counts": True}
Record(
    "unique",
    [
        S(index(5, 4, 6)), S(index(5, 4, 6), **_ALL_OF_IT), S(index(2, 4, 3, 2), dim=1, **_ALL_OF_IT),
        S(_MASK, **_ALL_OF_IT), S(V),
    ],
    grad=False, meta=False,
)  # fmt: skip
Record(
    "unique_consecutive",
    [S(index(2, 4, 6)), S(index(2, 30), **_ALL_OF_IT), S(index(2, 2, 6), dim=1, **_ALL_OF_IT)],
    grad=False, meta=False,
)  # fmt: skip
_TABLE = T((10, 6))
Record(
    "embedding",
    [S(_TABLE, index(10, 3, 4)), S(_TABLE, index(10, 30), 2), S(_TABLE, index(10))],
    dtypes=ALL_FLOATS, errors=[S(V, index(3, 2)), S(_TABLE, T((2,)))],
)  # fmt: skip
