"""Records of reductions, scans, sorting and statistics; more values in tests/ops."""

from __future__ import annotations

from tests.opdb import ALL_FLOATS, COMPLEX, FLOATS, INTS, D, Record, S, T

ALL = (*ALL_FLOATS, *INTS, "bool", *COMPLEX)
REAL = (*ALL_FLOATS, *INTS, "bool")
NUMBERS = (*ALL_FLOATS, *INTS)
A, X, ONE, EMPTY = T((3, 4)), T((2, 3, 4)), T(()), T((0, 3))
# All different, so that places of extremes agree.
DISTINCT = T((3, 4), values=[[3, -1, 7, 0], [5, 2, -6, 9], [-4, 8, 1, -2]])
TIES = T((2, 4), values=[[1, 3, 3, 0], [2, 2, 2, 2]])
HALF = {"float16": 4e-3, "bfloat16": 3e-2}  # sums in another order, rounded once

DIMS = [
    S(X),
    S(X, 1),
    S(X, -1, True),
    S(X, (0, 2)),
    S(X, (0, -1), keepdim=True),
    S(ONE),
    S(ONE, 0),
    S(EMPTY, 0),
    S(EMPTY, 1),
]
BAD = [S(X, 3), S(X, -4), S(X, (0, 0))]

Record(
    "sum",
    [*DIMS, S(EMPTY), S(X, dtype=D("float64"))],
    dtypes=ALL,
    tol=HALF,
    out=False,
    errors=BAD,
)
Record("sum", [S(X, 1), S(X, (0, 2), True)], out=True)
Record("nansum", [*DIMS, S(T((2, 2), values=[[1.0, float("nan")], [2.0, 3.0]]))], tol=HALF)
Record(
    "mean",
    [S(X), S(X, 1), S(X, -1, True), S(X, (0, 2)), S(ONE), S(X, dtype=D("float64")), S(EMPTY)],
    dtypes=(*ALL_FLOATS, *COMPLEX),
    tol=HALF,
    errors=[*BAD, S(T((2,), kind="int"))],
)
Record("nanmean", [S(X), S(X, 1), S(T((2, 2), values=[[1.0, float("nan")], [2.0, 3.0]]), 0)])
Record(
    "prod",
    [S(X), S(X, 1), S(X, -1, True), S(ONE), S(EMPTY), S(EMPTY, 0), S(T((2, 3), values=[[1, 0, 3], [0, 0, 2]]), 1)],
    dtypes=ALL,
    tol=HALF,
    errors=[S(X, 3)],
)
Record(
    "amax",
    [S(X), S(X, 1), S(X, (0, 2), True), S(TIES, 1), S(ONE)],
    dtypes=REAL,
    out=True,
    errors=[S(X, 3), S(EMPTY, 0)],
)
Record(
    "amin",
    [S(X), S(X, 1), S(X, (0, 2), True), S(TIES, 1), S(ONE)],
    dtypes=REAL,
    out=True,
    errors=[S(X, 3), S(EMPTY, 0)],
)
Record("aminmax", [S(A), S(A, dim=1), S(A, dim=0, keepdim=True)], dtypes=REAL, errors=[S(A, dim=2), S(EMPTY)])
for _name in ("max", "min"):
    Record(
        _name,
        [
            S(DISTINCT),
            S(DISTINCT, 1),
            S(DISTINCT, 0, True),
            S(DISTINCT, dim=-1),
            S(TIES),
            S(ONE),
            S(ONE, 0),
            S(A, T((4,))),
        ],
        dtypes=NUMBERS,
        errors=[S(A, 2), S(EMPTY), S(EMPTY, 0)],
    )
for _name in ("argmax", "argmin"):
    Record(
        _name,
        [S(DISTINCT), S(DISTINCT, 1), S(DISTINCT, 0, True), S(ONE), S(T((3, 0)), 0)],
        dtypes=NUMBERS,
        grad=False,
        errors=[S(A, 2), S(EMPTY), S(EMPTY, 0)],
    )
for _name in ("all", "any"):
    Record(
        _name,
        [S(A), S(A, 1), S(A, -1, True), S(A, (0, 1)), S(ONE), S(EMPTY), S(EMPTY, 0)],
        dtypes=ALL,
        grad=False,
        out=False,
        errors=[S(A, 2)],
    )
Record(
    "count_nonzero",
    [S(DISTINCT), S(DISTINCT, 1), S(DISTINCT, (0, 1)), S(EMPTY)],
    dtypes=ALL,
    grad=False,
    errors=[S(A, 2)],
)
Record(
    "logsumexp",
    [S(X, 1), S(X, (0, 2), True), S(ONE, 0), S(EMPTY, 0)],
    dtypes=ALL_FLOATS,
    tol=HALF,
    out=True,
    errors=[S(X, 3)],
)

for _name in ("cumsum", "cumprod"):
    Record(
        _name,
        [S(X, 1), S(X, -1), S(ONE, 0), S(EMPTY, 0)],
        dtypes=(*ALL_FLOATS, *INTS, *COMPLEX),
        tol=HALF,
        out=True,
        inplace=False,
        errors=[S(X, 3)],
    )
Record("cumsum", [S(X, 0, dtype=D("float64"))])
Record("cumprod", [S(X, 0, dtype=D("float64")), S(T((2, 4), values=[[1, 0, 3, 2], [0, 2, 0, 1]]), 1)])
for _name in ("cummax", "cummin"):
    Record(_name, [S(DISTINCT, 1), S(DISTINCT, 0), S(ONE, 0), S(EMPTY, 0)], dtypes=NUMBERS, errors=[S(X, 3)])
Record("logcumsumexp", [S(X, 1), S(ONE, 0), S(EMPTY, 0)], tol=HALF, out=True, errors=[S(X, 3)])
Record(
    "diff",
    [S(X), S(X, 2, 1), S(X, 1, -1, T((2, 3, 1)), T((2, 3, 2))), S(X, 9), S(T((1,)))],
    dtypes=(*FLOATS, "int32", "bool"),
    errors=[S(ONE), S(X, -1), S(X, 1, 3)],
)
Record("trapezoid", [S(X), S(X, dim=1), S(X, dx=0.5), S(X, T((4,))), S(X, T((2, 3, 4)), dim=0)], errors=[S(X, T((3,)))])
Record("cumulative_trapezoid", [S(X), S(X, dim=1), S(X, dx=0.5), S(X, T((4,)))])

Record(
    "sort",
    [
        S(DISTINCT),
        S(DISTINCT, 0),
        S(DISTINCT, -1, True),
        S(ONE),
        S(EMPTY, 0),
        S(TIES, dim=1, stable=True),
        S(TIES, dim=1, descending=True, stable=True),
    ],
    dtypes=NUMBERS,
    errors=[S(A, 2)],
    strides="dense",
    layouts=("transposed", "sliced"),
)
Record(
    "argsort",
    [S(DISTINCT), S(DISTINCT, 0, True), S(TIES, dim=1, stable=True)],
    dtypes=NUMBERS,
    grad=False,
    errors=[S(A, 2)],
    strides="dense",
    layouts=("transposed", "sliced"),
)
Record("msort", [S(DISTINCT)], dtypes=NUMBERS, out=True, strides="dense", layouts=("transposed", "sliced"))
Record(
    "topk",
    [S(DISTINCT, 2), S(DISTINCT, 2, 0), S(DISTINCT, 3, -1, False), S(DISTINCT, 0), S(ONE, 1)],
    dtypes=NUMBERS,
    errors=[S(A, 5), S(A, 2, 2), S(A, -1)],
    strides="dense",
    layouts=("transposed", "sliced"),
)
Record(
    "kthvalue",
    [S(DISTINCT, 2), S(DISTINCT, 1, 0), S(DISTINCT, 3, -1, True), S(ONE, 1)],
    dtypes=NUMBERS,
    errors=[S(A, 5), S(A, 0), S(A, 1, 2)],
    strides="dense",
    layouts=("transposed", "sliced"),
)
Record("mode", [S(T((2, 5), values=[[1, 2, 2, 3, 1], [0, 5, 5, 5, 0]]), 1), S(ONE)], dtypes=NUMBERS, errors=[S(A, 2)])
Record(
    "median",
    [S(DISTINCT), S(DISTINCT, 1), S(DISTINCT, 0, True), S(ONE)],
    dtypes=NUMBERS,
    errors=[S(A, 2)],
    strides="dense",
    layouts=("transposed", "sliced"),
)
Record(
    "nanmedian",
    [S(DISTINCT), S(T((2, 3), values=[[1.0, float("nan"), 3.0], [4.0, 2.0, 9.0]]), 1)],
    dtypes=FLOATS,
    strides="dense",
    layouts=("transposed", "sliced"),
)
Record(
    "quantile",
    [
        S(DISTINCT, 0.3),
        S(DISTINCT, 0.5, 1),
        S(DISTINCT, 0.25, 0, True),
        S(DISTINCT, T((3,), values=[0.1, 0.5, 0.9], grad=False), 1),
        *(S(DISTINCT, 0.4, 1, interpolation=i) for i in ("lower", "higher", "midpoint", "nearest")),
    ],
    errors=[S(A, 1.5), S(A, 0.5, 2), S(A, 0.5, interpolation="x"), S(T((2,), kind="int"), 0.5)],
)
Record("nanquantile", [S(DISTINCT, 0.3, 1), S(T((2, 3), values=[[1.0, float("nan"), 3.0], [4.0, 2.0, 9.0]]), 0.5, 1)])
for _name in ("var", "std"):
    Record(
        _name,
        [
            S(X),
            S(X, 1),
            S(X, (0, 2), correction=0),
            S(X, 1, False),
            S(X, -1, True, True),
            S(X, 1, correction=2),
            S(X, dim=0, keepdim=True),
        ],
        dtypes=(*FLOATS, *COMPLEX),
        errors=[S(X, 3), S(T((2,), kind="int"))],
    )
for _name in ("var_mean", "std_mean"):
    Record(_name, [S(X), S(X, 1), S(X, (0, 2), correction=0, keepdim=True)], errors=[S(X, 3)])
Record(
    "cov",
    [
        S(A),
        S(T((5,))),
        S(A, correction=0),
        S(A, fweights=T((4,), values=[1, 2, 1, 3], kind="int64")),
        S(A, aweights=T((4,), 0.1, 1.0)),
    ],
    errors=[S(X)],
)
Record("corrcoef", [S(A), S(T((5,)))], errors=[S(X)])
Record("aminmax", [S(ONE)], dtypes=FLOATS)
Record("sum", [S(X, 1, dtype=D("int64"))], grad=False)
# Of nothing but -inf; the gradient differs (docs/differences.md).
Record("logsumexp", [S(T((2,), values=[float("-inf"), float("-inf")]), 0)], grad=False)
