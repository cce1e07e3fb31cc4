"""Larger and smaller of two, limits, selection, replacement of nan."""

from __future__ import annotations

from tests.opdb import ALL_FLOATS, COMPLEX, FLOATS, INTS, Record, S, T
from tests.opdb._pointwise import ALL, REAL, SPECIAL, binary, inf, nan

_ties = [S(T(values=[1.0, 2.0, 3.0, nan, 1.0]), T(values=[1.0, 3.0, 2.0, 1.0, nan]))]
for _name in ("maximum", "minimum", "fmax", "fmin"):
    Record(_name, _ties)
    binary(_name, dtypes=REAL, errors=[S(T((2,), kind="complex64"), T((2,), kind="complex64"))])

_x = T((3, 5), -3, 3)
_edge = T(values=[-1.0, 0.0, 1.0, 2.0, nan])
for _name in ("clamp", "clip"):
    Record(
        _name,
        [
            S(_x, -1, 1),
            S(_x, min=-1),
            S(_x, max=1),
            S(_x, 1, -1),
            S(T(()), 0, 1),
            S(_x, None, 1),
        ],
        dtypes=(*ALL_FLOATS, *(i for i in INTS if i != "uint8")),
        out=True,
        inplace=True,
        errors=[S(T((2,))), S(T((2,), kind="complex64"), 0, 1)],
    )
Record("clamp", [S(_edge, 0, 1), S(_edge, min=0), S(_edge, max=1)], dtypes=ALL_FLOATS)
Record(
    "clamp",
    [S(_x, -0.5, 1.5), S(_x, min=0.5), S(T((3, 5), kind="bool"), 0, 1)],
    dtypes=(*ALL_FLOATS, "int64"),
    inplace=True,
)
Record(
    "clamp",
    [
        S(_x, T((3, 5), -2, 0), T((3, 5), 0, 2)),
        S(_x, T((5,), -2, 0)),
        S(_x, None, T((3, 1), 0, 2)),
        S(_x, max=T((), 0, 2)),
        S(_x, T((3, 5), 0, 2), T((3, 5), -2, 0)),
    ],
    dtypes=(*ALL_FLOATS, "int64"),
    out=True,
    inplace=True,
)
Record(
    "clamp",
    [
        S(_edge, T(values=[0.0] * 5), T(values=[1.0] * 5)),
        S(_edge, T(values=[0.0] * 5)),
        S(_edge, max=T(values=[1.0] * 5)),
    ],
)
Record("clamp", [S(T((5,)), T((3, 5), -2, 0), T((5,), 0, 2))], grad=False)
Record("clamp_min", [S(_x, 0.5), S(_x, T((5,)))], out=True, inplace=True)
Record("clamp_max", [S(_x, 0.5), S(_x, T((5,)))], out=True, inplace=True)
Record("clamp", [S(SPECIAL, -1.0, 1.0), S(SPECIAL, nan, 1.0), S(SPECIAL, min=inf)])

_condition = T((3, 5), kind="bool")
Record(
    "where",
    [
        S(_condition, T((3, 5)), T((3, 5))),
        S(_condition, T((5,)), T((3, 1))),
        S(_condition, T((3, 5)), 0),
        S(_condition, 1, T((3, 5))),
        S(_condition, 2.5, 1),
        S(_condition, 1, 2),
        S(T((), kind="bool"), T((2,)), T((2,))),
        S(_condition, T((3, 5)), T((3, 5), kind="int")),
        S(_condition, T((3, 5)), T((), kind="float64")),
        S(T((600,), kind="bool"), T((600,)), T((600,))),
    ],
    dtypes=ALL,
    out=True,
    errors=[S(T((2,), kind="int"), T((2,)), T((2,)))],
)
Record("where", [S(_condition)], grad=False, meta=False, strides=False)
Record("Tensor.where", [S(T((3, 5)), _condition, T((5,))), S(T((3, 5)), _condition, 0)], dtypes=(*FLOATS, *COMPLEX))
binary(
    "heaviside",
    dtypes=REAL,
    grad=False,
    inplace=True,
    errors=[
        S(T((2,), kind="float32"), T((2,), kind="float64")),
        S(T((2,), kind="complex64"), T((2,), kind="complex64")),
    ],
)
Record(
    "nan_to_num",
    [
        S(T(values=[1.0, nan, inf, -inf])),
        S(T(values=[1.0, nan, inf, -inf]), 2.0),
        S(T(values=[1.0, nan, inf, -inf]), 2.0, 3.0, -4.0),
        S(T(values=[1.0, nan, inf, -inf]), posinf=9.0),
        S(T((3, 4))),
    ],
    dtypes=ALL_FLOATS,
    out=True,
    inplace=True,
)
Record("nan_to_num", [S(T((3, 4)))], dtypes=(*INTS, "bool", *COMPLEX), grad=False)
