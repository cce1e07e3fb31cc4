"""Records of copies, joining and rearranging."""

from __future__ import annotations

from tests.opdb import ALL_FLOATS, COMPLEX, INTS, D, Record, S, T

ALL = (*ALL_FLOATS, *INTS, "bool", *COMPLEX)
X = T((3, 4, 5))
A, B = T((2, 3)), T((2, 3))

Record("clone", [S(X), S(T(())), S(T((0, 3))), S(X, memory_format=D("contiguous_format"))], dtypes=ALL, exact=True)
Record("Tensor.contiguous", [S(X), S(T((2, 3, 4, 5)), memory_format=D("channels_last"))], dtypes=ALL, exact=True)
Record("zeros_like", [S(X), S(X, dtype=D("int8"))], dtypes=ALL, grad=False)
Record("ones_like", [S(X), S(X, dtype=D("int8"))], dtypes=ALL, grad=False)
Record("full_like", [S(X, 3), S(X, 1, dtype=D("float64"))], dtypes=ALL, grad=False)
Record("Tensor.new_zeros", [S(X, (2, 3)), S(X, 2, 3), S(X, 2, dtype=D("int8"))], dtypes=ALL, grad=False)
Record("Tensor.new_ones", [S(X, (2, 3)), S(X, 2, 3)], dtypes=ALL, grad=False)
Record("Tensor.new_full", [S(X, (2, 3), 1), S(X, (), 1)], dtypes=ALL, grad=False)
Record(
    "cat",
    [
        S([A, B]), S([A, B], 1), S([A, B], -1), S([A]), S([A, B, A], dim=0), S([T((3,)), T((0,)), T((2,))]),
        S([T((2, 3)), T((0, 3))]), S([T((2, 3), kind="int"), T((2, 3))]), S([T((40, 7)), T((40, 1))], 1),
    ],
    dtypes=ALL, out=True, exact=True,
    errors=[S([]), S([T(())]), S([A, T((3,))]), S([A, T((3, 4))]), S([A, B], 2)],
)  # fmt: skip
Record("concat", [S([A, B], 1)], out=True, exact=True)
Record("concatenate", [S([A, B], 1), S([A, B], axis=-1)], out=True, exact=True)
Record(
    "stack",
    [S([A, B]), S([A, B], 1), S([A, B], -1), S([T(()), T(())]), S([T((2,), kind="int"), T((2,))])],
    dtypes=ALL, out=True, exact=True, errors=[S([]), S([A, T((3, 2))]), S([A, B], 3)],
)  # fmt: skip
for _name in ("hstack", "vstack", "dstack", "column_stack", "row_stack"):
    _samples = [S([T(s), T(s)]) for s in ((), (3,), (2, 3), (2, 3, 2))]
    Record(_name, _samples, dtypes=("float32", "int64"), out=True, exact=True, errors=[S([])])
Record(
    "flip",
    [S(X, (0,)), S(X, (0, 2)), S(X, (-1, 1, 0)), S(X, ()), S(T(()), (0,)), S(T((0, 3)), (1,))],
    dtypes=ALL, exact=True, errors=[S(X, (0, 0)), S(X, (3,))],
)  # fmt: skip
Record("Tensor.flip", [S(X, 0), S(X, 0, 2)], exact=True)
Record("fliplr", [S(X)], exact=True, errors=[S(T((3,)))])
Record("flipud", [S(X)], exact=True, errors=[S(T(()))])
Record(
    "roll",
    [S(X, 1, 0), S(X, -2, 1), S(X, 7, 2), S(X, (1, 2), (0, 2)), S(X, 3), S(X, (1, 1), (0, 0)), S(T((0, 3)), 1, 1)],
    dtypes=ALL, exact=True, errors=[S(X, (1, 2), (0,)), S(X, (), ()), S(T(()), 1, 0), S(X, 1, 3)],
)  # fmt: skip
Record(
    "rot90",
    [S(X), *(S(X, k, (2, 1)) for k in range(-1, 5))],
    dtypes=ALL, exact=True, errors=[S(X, 1, (1, 1)), S(X, 1, (0,)), S(T((3,)))],
)  # fmt: skip
Record(
    "Tensor.repeat",
    [S(X, *r) for r in ((2, 1, 1), (1, 2, 3), (2, 1, 1, 1), (0, 1, 1), (1, 1, 1))] + [S(X, (2, 1, 1)), S(T(()), 3)],
    dtypes=("float32", "float64", "int64"), tol={"float64": 1e-11}, errors=[S(X, 2, 2), S(X, 2, -1, 1)],
)  # fmt: skip
Record("tile", [S(X, r) for r in ((2,), (2, 1, 3), (2, 1, 1, 1), ())])
Record("Tensor.tile", [S(X, 2, 1, 3)])
COUNTS = T(values=[0, 2, 1], kind="int64")
Record(
    "repeat_interleave",
    [
        S(X, 2), S(X, 2, 0), S(X, 3, -1), S(X, 0, 1), S(X, COUNTS, 0), S(X, T(values=[2], kind="int64"), 1),
        S(X, COUNTS, 0, output_size=3),
    ],
    dtypes=("float32", "float64", "int64"), meta=False,
    errors=[S(X, -1, 0), S(X, T(values=[1, 2], kind="int64"), 0), S(X, T(values=[1, -2, 1], kind="int64"), 0)],
)  # fmt: skip
Record("repeat_interleave", [S(COUNTS)], grad=False, meta=False)
Record("meshgrid", [S(T((2,)), T((3,)), indexing=ix) for ix in ("ij", "xy")], errors=[S(A, indexing="ij")])
Record("cartesian_prod", [S(T((2,)), T((3,))), S(T((2,)))], errors=[S(A, B)])
Record(
    "combinations",
    [S(T((4,))), S(T((3,)), 3, True), S(T((3,)), 1), S(T((3,)), 4), S(T((3,)), 0)],
    meta=False, errors=[S(A), S(T((3,)), -1)],
)  # fmt: skip
Record("block_diag", [S(A, T((3,)), T(())), S(A)], errors=[S(X)])
# PyTorch multiplies in place, which its derivative does not survive.
Record(
    "vander",
    [S(T((3,))), S(T((3,)), 2), S(T((3,)), increasing=True)],
    tol={"float32": 1e-5},
    grad=False,
    errors=[S(A)],
)
Record(
    "tril",
    [S(X), S(X, 1), S(X, -2), S(X, 9), S(T((0, 3)))],
    dtypes=ALL,
    exact=True,
    inplace=True,
    out=True,
    errors=[S(T((3,)))],
)
Record(
    "triu",
    [S(X), S(X, 1), S(X, -2), S(X, 9), S(T((0, 3)))],
    dtypes=ALL,
    exact=True,
    inplace=True,
    out=True,
    errors=[S(T((3,)))],
)
Record("diag", [S(T((4,))), S(T((4,)), 2), S(T((3, 5))), S(T((3, 5)), -1)], dtypes=ALL, out=True, errors=[S(X)])
Record(
    "diag_embed",
    [S(X), S(X, 2), S(X, -1, 0, 2), S(T((4,)))],
    dtypes=ALL, exact=True, errors=[S(X, 0, 1, 1), S(X, 0, 9, 0)],
)  # fmt: skip
Record("diagflat", [S(T((2, 2))), S(T((2, 2)), 1)], dtypes=ALL)
