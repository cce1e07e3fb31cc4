"""Exponentials, logarithms, trigonometric and hyperbolic functions."""

from __future__ import annotations

from tests.opdb import ALL_FLOATS, COMPLEX, FLOATS, Record, S, T
from tests.opdb._pointwise import EXACT, binary, unary

_DTYPES = (*ALL_FLOATS, *COMPLEX, *EXACT)
# torch's vectorised complex functions carry a few float roundings more than ours.
_C = {"complex64": 2e-5}

for _name, _low, _high in (
    ("exp", -2, 2),
    ("exp2", -2, 2),
    ("expm1", -2, 2),
    ("log", 0.2, 3),
    ("log2", 0.2, 3),
    ("log10", 0.2, 3),
    ("log1p", -0.5, 3),
    ("sin", -7, 7),
    ("cos", -7, 7),
    ("tan", -1.2, 1.2),
    ("asin", -0.9, 0.9),
    ("acos", -0.9, 0.9),
    ("atan", -3, 3),
    ("sinh", -2, 2),
    ("cosh", -2, 2),
    ("tanh", -2, 2),
    ("asinh", -3, 3),
    ("acosh", 1.1, 4),
    ("atanh", -0.9, 0.9),
    ("sigmoid", -4, 4),
    ("sinc", -2, 2),
):
    unary(_name, _low, _high, dtypes=_DTYPES, tol=_C)
for _name, _low, _high in (
    ("arcsin", -0.9, 0.9),
    ("arccos", -0.9, 0.9),
    ("arctan", -3, 3),
    ("arcsinh", -3, 3),
    ("arccosh", 1.1, 4),
    ("arctanh", -0.9, 0.9),
):
    unary(_name, _low, _high, special=False)
for _name in ("deg2rad", "rad2deg"):
    unary(_name, dtypes=(*ALL_FLOATS, *EXACT), errors=[S(T((2,), kind="complex64"))])
unary("logit", 0.1, 0.9, dtypes=(*ALL_FLOATS, *EXACT))
Record(
    "logit", [S(T((3, 5), -0.5, 1.5), 0.1), S(T((3, 5), -0.5, 1.5), eps=0.2)], dtypes=ALL_FLOATS, out=True, inplace=True
)
Record("logit", [S(T(values=[-0.5, 0.2, 1.5]))], dtypes=("float64",), second=False)
Record("sinc", [S(T(values=[0.0, 0.5, -1.0]))], dtypes=("float64",), second=False)

binary("logaddexp", dtypes=(*ALL_FLOATS, *COMPLEX), tol=_C)
binary("logaddexp2", dtypes=ALL_FLOATS)
binary("atan2", dtypes=(*ALL_FLOATS, *EXACT), inplace=True)
binary("arctan2", special=False, inplace=True)
Record("atan2", [S(T(values=[0.0, 1.0, -1.0]), T(values=[0.0, 0.0, -2.0]))], dtypes=FLOATS, second=False)
