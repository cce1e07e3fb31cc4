"""Arithmetic, powers and roots."""

from __future__ import annotations

from tests.opdb import ALL_FLOATS, COMPLEX, FLOATS, INTS, Record, S, T
from tests.opdb._pointwise import ALL, EXACT, GRID, REAL, SPECIAL, binary, inf, nan, unary

# Divisors: unsigned samples start at 0.
SIGNED = ("int8", "int16", "int32", "int64")
NUMBERS = (2, -3, 0.5, True)

binary(
    "add",
    dtypes=ALL,
    numbers=NUMBERS,
    inplace=True,
    more=[
        S(T((2, 3)), T((2, 3), kind="int")),
        S(T((2, 3)), T((), kind="float64")),
    ],
    errors=[S(T((2, 3)), T((2, 4))), S(T((2,), kind="int"), T((2,), kind="int"), alpha=1.5)],
)
Record(
    "add",
    [S(T((3, 4)), T((4,)), alpha=3), S(T((2,)), 5, alpha=2)],
    dtypes=(*ALL_FLOATS, *COMPLEX, *INTS),
    out=True,
    inplace=True,
)
Record("add", [S(T((3, 4)), T((4,)), alpha=-1.5)], dtypes=(*ALL_FLOATS, *COMPLEX), inplace=True)
Record("add", [S(T((3, 4)), T((4,)), alpha=1 - 2j)], dtypes=("complex128",))
# (torch has a complex type for float16, we have not.)
for _name in ("add", "sub", "mul", "div"):
    Record(
        _name,
        [S(T((2, 3)), T((3,), kind="complex64")), S(T((2, 3)), 1 + 2j), S(T((2, 3), kind="int"), 1 + 2j)],
        dtypes=(*FLOATS, *COMPLEX),
        out=True,
    )
binary(
    "sub",
    dtypes=(*ALL_FLOATS, *COMPLEX, *INTS),
    numbers=(2, -3, 0.5),
    inplace=True,
    errors=[
        S(T((2,), kind="bool"), T((2,), kind="bool")),
        S(T((2,)), T((3,))),
    ],
)
Record("sub", [S(T((3, 4)), T((4,)), alpha=3)], dtypes=(*ALL_FLOATS, *COMPLEX, *INTS), inplace=True)
binary("subtract", special=False)
binary("rsub", dtypes=(*ALL_FLOATS, *COMPLEX, *INTS), numbers=(2, 0.5), out=False)
Record("rsub", [S(T((3, 4)), T((4,)), alpha=3)], dtypes=(*ALL_FLOATS, *COMPLEX, *INTS))
binary("mul", dtypes=ALL, numbers=NUMBERS, inplace=True, errors=[S(T((2, 3)), T((2, 4)))])
binary("multiply", special=False)
binary(
    "div",
    dtypes=(*ALL_FLOATS, *COMPLEX, *INTS, "bool"),
    second=(1, 3),
    numbers=(2, -3.5),
    inplace=True,
    errors=[S(T((2,)), T((2,)), rounding_mode="up")],
)
for _mode in ("trunc", "floor"):
    Record(
        "div",
        [
            S(T((3, 5), -9, 9), T((3, 5), 1, 4), rounding_mode=_mode),
            S(T((3, 5), -9, 9), 2, rounding_mode=_mode),
            S(T((3, 5), -9, 9), T((), 1, 4), rounding_mode=_mode),
        ],
        dtypes=(*ALL_FLOATS, *SIGNED),
        out=True,
        inplace=True,
        errors=[S(T((2,), kind="int"), 0, rounding_mode=_mode)],
    )
    Record("div", [S(*GRID.args, rounding_mode=_mode)])
binary("true_divide", second=(1, 2), special=False, inplace=True)
binary(
    "floor_divide",
    -9,
    9,
    second=(1, 4),
    dtypes=(*ALL_FLOATS, *SIGNED),
    numbers=(2, -3, 2.5),
    grad=False,
    inplace=True,
    errors=[S(T((2,), kind="int"), 0), S(T((2,), kind="complex64"), 1)],
)
binary(
    "remainder",
    -9,
    9,
    second=(1, 4),
    dtypes=(*ALL_FLOATS, *SIGNED),
    numbers=(2, -3, 2.5),
    inplace=True,
    errors=[S(T((2,), kind="int"), 0)],
)
binary(
    "fmod",
    -9,
    9,
    second=(1, 4),
    dtypes=(*ALL_FLOATS, *SIGNED),
    numbers=(2, -3, 2.5),
    inplace=True,
    errors=[S(T((2,), kind="int"), 0)],
)
unary("reciprocal", 0.5, 3, dtypes=(*ALL_FLOATS, *COMPLEX, *INTS))

unary("neg", dtypes=(*ALL_FLOATS, *COMPLEX, *INTS), errors=[S(T((2,), kind="bool"))])
unary("negative", special=False)
unary("positive", dtypes=(*ALL_FLOATS, *COMPLEX, *INTS), inplace=False, out=False, errors=[S(T((2,), kind="bool"))])
unary("abs", dtypes=(*ALL_FLOATS, *INTS))
Record("abs", [S(T((3, 5))), S(T(()))], dtypes=COMPLEX, out=True)
Record("abs", [S(T(values=[0.0, -0.0, 1.0, -2.0]))], dtypes=("float64", "complex128"))
unary("absolute", special=False)
unary("sign", dtypes=REAL, errors=[S(T((2,), kind="complex64"))])
unary("sgn", dtypes=ALL)
Record("sgn", [S(T(values=[0.0, 1 + 1j, -2j]))], dtypes=("complex128",), second=False)
unary("signbit", dtypes=REAL, grad=False, inplace=False)
binary("copysign", dtypes=REAL, numbers=(1.5, -0.0), inplace=True)
binary("nextafter", dtypes=FLOATS, inplace=True, exact=True)
binary("hypot", numbers=(), inplace=True)
binary(
    "gcd",
    -20,
    20,
    dtypes=INTS,
    grad=False,
    inplace=True,
    special=False,
    errors=[S(T((2,), kind="float32"), T((2,), kind="float32"))],
)
binary("lcm", -20, 20, dtypes=INTS, grad=False, inplace=True, special=False)

_three = [
    S(T((3, 5)), T((3, 5)), T((3, 5), 1, 2)),
    S(T((3, 5)), T((5,)), T((3, 1), 1, 2)),
    S(T(()), T(()), T((), 1, 2)),
    S(T((3, 5)), T((3, 5)), T((3, 5), 1, 2), value=2),
    S(T((600,)), T((600,)), T((600,), 1, 2)),
]
# torch rounds half types after each of the two products, we once.
_twice = {"float16": 3e-3, "bfloat16": 2.5e-2}
Record("addcmul", _three, dtypes=(*ALL_FLOATS, *COMPLEX, *INTS), out=True, inplace=True, tol=_twice)
Record("addcmul", [S(T((3, 5)), T((3, 5)), T((3, 5)), value=-0.5)], dtypes=(*FLOATS, *COMPLEX), inplace=True)
Record(
    "addcdiv",
    _three,
    dtypes=(*ALL_FLOATS, *COMPLEX),
    out=True,
    inplace=True,
    tol=_twice,
    errors=[S(T((2,), kind="int"), T((2,), kind="int"), T((2,), 1, 2, kind="int"))],
)
Record(
    "lerp",
    [
        S(T((3, 5)), T((3, 5)), 0.25),
        S(T((3, 5)), T((5,)), 0.75),
        S(T(()), T(()), 0.5),
        S(T((3, 5)), T((3, 5)), T((3, 5), 0, 1)),
        S(T((3, 5)), T((5,)), T((3, 1), -1, 2)),
        S(T((3, 5)), T((3, 5)), T((), 0, 1)),
    ],
    dtypes=(*ALL_FLOATS, *COMPLEX),
    out=True,
    inplace=True,
    tol=_twice,
    errors=[
        S(T((2,), kind="float32"), T((2,), kind="float64"), 0.5),
        S(T((2,), kind="int"), T((2,), kind="int"), 0.5),
        S(T((2,), kind="float32"), T((2,), kind="float32"), T((2,), kind="float64")),
    ],
)

# ---- powers and roots ----
unary("square", dtypes=(*ALL_FLOATS, *COMPLEX, *INTS))
unary("sqrt", 0.1, 4, dtypes=(*ALL_FLOATS, *COMPLEX, *EXACT))
Record("sqrt", [S(T(values=[0.0, 1.0, -1.0]))], second=False)
unary("rsqrt", 0.2, 4, dtypes=(*ALL_FLOATS, *COMPLEX, *EXACT))
# float16: torch rounds the exponent to half, too.
binary(
    "pow",
    0.2,
    3,
    second=(-2, 2),
    dtypes=(*ALL_FLOATS, "complex128"),
    numbers=(2, 3, 0.5, -0.5, -1, -2, 0, 1, 1.7, -2.3),
    inplace=True,
    tol={"float32": 4e-6, "float16": 2e-3},
)
Record(
    "pow",
    [
        S(T((3, 5), 0, 4), T((3, 5), 0, 4)),
        S(T((3, 5), 0, 4), 2),
        S(T((3, 5), 0, 4), 3),
        S(T((3, 5), 0, 4), 2.5),
        S(T((3, 5), 0, 4), 0),
    ],
    dtypes=INTS,
    grad=False,
    strides=False,
    inplace=True,
    out=True,
    errors=[S(T((2,), kind="int"), -1)],
)
Record(
    "pow", [S(2, T((3, 5))), S(2.5, T((3, 5))), S(1, T((3, 5)))], dtypes=(*ALL_FLOATS, "int64"), out=True, strides=False
)
Record(
    "pow", [S(T((3, 5)), 1 + 2j), S(T((3, 5), 0.5, 2), T((3, 5), kind="complex128"))], dtypes=("float64", "complex128")
)
Record(
    "pow",
    [S(T((2, 3), kind="bool"), 2), S(T((2, 3), kind="int", low=0), 0.5), S(2, T((2, 3), kind="bool"))],
    dtypes=("float32",),
    strides=False,
)
# 0**0, 0**e, negative base, exponent 0.
Record(
    "pow",
    [
        S(T(values=[0.0, 0.0, 0.0, -1.5, -2.0, 3.0]), T(values=[0.0, 1.0, 2.0, 2.0, 0.0, 0.0])),
        S(T(values=[0.0, -1.0, 2.0]), 0),
        S(T(values=[0.0, -1.0, 2.0]), 1),
        S(T(values=[0.0, -1.0, 2.0]), 2),
        S(0.0, T(values=[0.0, 1.0, 2.0])),
        S(0, T((3, 5), 0, 2)),
    ],
    dtypes=("float64",),
    second=False,
    strides=False,
)
binary("float_power", 0.2, 3, dtypes=(*FLOATS, "complex64", "int64"), numbers=(2, 0.5), special=False)
binary("ldexp", second=(-3, 3), dtypes=(*ALL_FLOATS, "int64"), special=False)
Record("square", [S(SPECIAL)])
Record(
    "frexp",
    [
        S(T((3, 5), -9, 9)),
        S(
            T(values=[0.0, 1.0, -0.5, 2.0, 1e-40, 1e38, inf, nan]),
        ),
        S(T((300,), -9, 9)),
    ],
    dtypes=FLOATS,
    second=False,
    errors=[S(T((2,), kind="int"))],
)
Record("frexp", [S(T((3, 5), -9, 9))], dtypes=ALL_FLOATS, out=True)
# Numbers wrap to the tensor's type.
Record("add", [S(T((3,), 0, 9, kind="uint8"), 300), S(T((3,), 0, 9, kind="int8"), -200)], grad=False)
Record("eq", [S(T(values=[44, 45], kind="uint8"), 300)], grad=False)
