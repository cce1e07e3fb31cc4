"""Activation functions."""

from __future__ import annotations

from typing import Any

from tests.opdb import ALL_FLOATS, FLOATS, INTS, Record, S, T
from tests.opdb._pointwise import SPECIAL, unary

_KINKS = T(values=[-3.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 3.0, 6.0, 20.0, -20.0])


def _activation(name: str, *arguments: tuple[Any, ...], **kwargs: Any) -> None:
    samples = []
    for a in arguments or ((),):
        samples += [
            S(T((3, 5), -4, 4), *a),
            S(T((), -4, 4), *a),
            S(T((0, 2)), *a),
            S(_KINKS, *a),
            S(T((600,), -7, 7), *a),
            S(SPECIAL, *a),
        ]
    Record(name, samples, **{"dtypes": ALL_FLOATS, **kwargs})


_F = "nn.functional."
unary("relu", dtypes=(*ALL_FLOATS, *INTS), out=False, errors=[S(T((2,), kind="bool")), S(T((2,), kind="complex64"))])
_activation("relu")
_activation("threshold", (0.5, 2.0), (-1, 0), out=True)
Record("threshold", [S(T((3, 5), -4, 4), 1, 2)], dtypes=INTS, grad=False)
_activation(_F + "relu6")
_activation(_F + "hardtanh", (), (-0.5, 2.0))
_activation(_F + "leaky_relu", (), (0.2,), (-0.5,), errors=[S(T((2,), kind="int"))])
_activation(_F + "hardsigmoid", second=False, tol={"float64": 1e-9})  # torch: no second derivative, 1/6 in float
_activation(_F + "hardswish")
_activation("hardshrink", (), (1.0,), out=True)
_activation(_F + "softshrink", (), (1.0,), errors=[S(T((2,)), -1.0)])
_activation(_F + "elu", (), (0.5,))
_activation("selu")
_activation("celu", (), (0.5,), (2.0,), errors=[S(T((2,)), 0.0)])
_activation(_F + "logsigmoid", strides=False)
_activation(_F + "softplus", (), (2.0,), (0.5, 1.0))
# The limit of silu, mish and gelu at minus infinity is 0; torch and we give nan.
_activation(_F + "silu", errors=[S(T((2,), kind="int"))])
_activation(_F + "mish")
# At infinity torch gives nan, we inf.
unary(_F + "gelu", -7, 7, special=False, inplace=False, out=False)
Record(
    _F + "gelu",
    [S(T((3, 5), -4, 4), approximate="tanh"), S(_KINKS, approximate="tanh"), S(T((600,), -7, 7), approximate="tanh")],
    dtypes=ALL_FLOATS,
    errors=[S(T((2,)), approximate="x")],
)
_activation(_F + "softsign")
_activation(_F + "tanhshrink")
Record(_F + "glu", [S(T((3, 6))), S(T((4, 3)), 0), S(T((2, 4, 3)), 1)], dtypes=FLOATS, errors=[S(T((3, 5))), S(T(()))])
Record(
    "prelu",
    [
        S(T((2, 3, 4)), T((3,))),
        S(T((2, 3, 4)), T((1,))),
        S(T((5,)), T((1,))),
        S(T((2, 3)), T((3,))),
        S(T((2, 3)), T(())),
        S(T(()), T(())),
    ],
    dtypes=ALL_FLOATS,
    errors=[S(T((2, 3)), T((2,))), S(T((2, 3), kind="float32"), T((3,), kind="float64"))],
)
