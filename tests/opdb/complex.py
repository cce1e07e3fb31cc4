"""Complex numbers."""

from __future__ import annotations

from tests.opdb import COMPLEX, FLOATS, Record, S, T
from tests.opdb._pointwise import ALL, unary

unary("conj", dtypes=ALL, special=False, inplace=False, out=False)
unary("conj_physical", dtypes=(*COMPLEX, *ALL), special=False)
unary("resolve_conj", dtypes=ALL, special=False, inplace=False, out=False)
unary("resolve_neg", dtypes=ALL, special=False, inplace=False, out=False)
unary("angle", dtypes=ALL, inplace=False)
Record("angle", [S(T(values=[0.0, 1j, -1.0, -1 - 1j]))], dtypes=("complex128",), second=False)
Record("is_conj", [S(T((2,)))], dtypes=COMPLEX, grad=False, meta=False)
Record("is_neg", [S(T((2,)))], dtypes=COMPLEX, grad=False, meta=False)
Record(
    "complex",
    [S(T((3, 4)), T((3, 4))), S(T((3, 1)), T((4,))), S(T(()), T(()))],
    dtypes=FLOATS,
    out=True,
    errors=[
        S(T((2,), kind="float32"), T((2,), kind="float64")),
        S(T((2,), kind="int"), T((2,), kind="int")),
    ],
)
Record(
    "polar",
    [
        S(T((3, 4), 0.1, 2), T((3, 4), -3, 3)),
        S(T((3, 1), 0.1, 2), T((4,), -3, 3)),
        S(T(values=[0.0, 1.0]), T(values=[1.0, 2.0])),
    ],
    dtypes=FLOATS,
    out=True,
    errors=[S(T((2,), kind="float32"), T((2,), kind="float64"))],
)
