"""Comparison, logic, bits, classification, rounding."""

from __future__ import annotations

from tests.opdb import ALL_FLOATS, COMPLEX, FLOATS, INTS, Record, S, T
from tests.opdb._pointwise import ALL, REAL, SPECIAL, binary, inf, nan, unary

for _name in ("eq", "ne"):
    binary(_name, dtypes=ALL, numbers=(1, 0.5), grad=False, inplace=True)
for _name in ("lt", "le", "gt", "ge"):
    binary(_name, dtypes=REAL, numbers=(1, 0.5), grad=False, inplace=True, errors=[S(T((2,), kind="complex64"), 1)])
for _name in ("not_equal", "less", "less_equal", "greater", "greater_equal"):
    binary(_name, special=False, grad=False, inplace=True)
for _name in ("logical_and", "logical_or", "logical_xor"):
    binary(_name, dtypes=ALL, grad=False, inplace=True)
unary("logical_not", dtypes=ALL, grad=False)
for _name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
    binary(
        _name,
        -9,
        9,
        dtypes=(*INTS, "bool"),
        numbers=(3,),
        grad=False,
        inplace=True,
        special=False,
        errors=[S(T((2,), kind="float32"), T((2,), kind="float32"))],
    )
for _name in ("bitwise_left_shift", "bitwise_right_shift"):
    binary(
        _name,
        -9,
        9,
        second=(0, 5),
        dtypes=INTS,
        numbers=(2,),
        grad=False,
        inplace=True,
        special=False,
        errors=[S(T((2,), kind="float32"), T((2,), kind="float32"))],
    )
unary("bitwise_not", -9, 9, dtypes=(*INTS, "bool"), grad=False, special=False, errors=[S(T((2,), kind="float32"))])
for _name in ("isnan", "isinf", "isfinite"):
    unary(_name, dtypes=ALL, grad=False, inplace=False, out=False)
for _name in ("isposinf", "isneginf"):
    unary(_name, dtypes=REAL, grad=False, inplace=False, errors=[S(T((2,), kind="complex64"))])
unary("isreal", dtypes=ALL, grad=False, inplace=False, out=False, special=False)
Record(
    "equal",
    [
        S(T((2, 3)), T((2, 3))),
        S(T((2,)), T((3,))),
        S(T(values=[1.0, 2.0]), T(values=[1.0, 2.0])),
        S(T(values=[nan]), T(values=[nan])),
    ],
    grad=False,
    meta=False,
)
_a, _b = T(values=[1.0, 2.0, nan, inf, inf, 0.0]), T(values=[1.0 + 1e-7, 2.1, nan, inf, -inf, 1e-9])
for _name in ("isclose", "allclose"):
    Record(
        _name,
        [
            S(_a, _b),
            S(_a, _b, equal_nan=True),
            S(_a, _b, rtol=0.1),
            S(_a, _b, 0.0, 0.2),
            S(_a, _b, rtol=0, atol=0),
            S(T((3, 4)), T((4,))),
            S(T((3,), kind="int"), T((3,), kind="int"), rtol=0.5),
        ],
        dtypes=FLOATS,
        grad=False,
        meta=False,
        errors=[S(T((2,)), T((2,)), rtol=-1), S(T((2,)), T((2,), kind="int"))],
    )
Record(
    "isin",
    [
        S(T((3, 4), 0, 9, kind="int"), T((5,), 0, 9, kind="int")),
        S(T((3, 4), 0, 9, kind="int"), 3),
        S(3, T((5,), 0, 9, kind="int")),
        S(T((3, 4), 0, 9, kind="int"), T((5,), 0, 9, kind="int"), invert=True),
        S(T((20,), 0, 99, kind="int"), T((60,), 0, 99, kind="int")),
        S(T((4,)), T((0,))),
    ],
    grad=False,
    meta=False,
    strides=False,
)

for _name in ("floor", "ceil", "trunc"):
    unary(_name, -5, 5, dtypes=(*ALL_FLOATS, *INTS), errors=[S(T((2,), kind="complex64"))])
unary("fix", special=False)
unary("frac", -5, 5, errors=[S(T((2,), kind="int"))])
unary("round", -5, 5, dtypes=(*ALL_FLOATS, *INTS))
Record("round", [S(T(values=[0.5, 1.5, -0.5, -2.5, 2.6]))], exact=True, out=True, inplace=True)
Record(
    "round",
    [S(T((3, 5), -5, 5), decimals=2), S(T((3, 5), -500, 500), decimals=-1), S(T((3, 5)), decimals=0)],
    out=True,
    inplace=True,
    errors=[S(T((2,), kind="int"), decimals=1)],
)
Record("signbit", [S(SPECIAL)], grad=False)
Record(
    "is_nonzero",
    [S(T((), 1, 2)), S(T(values=[0.0]))],
    dtypes=(*FLOATS, *COMPLEX),
    grad=False,
    meta=False,
    errors=[S(T((2,)))],
)
