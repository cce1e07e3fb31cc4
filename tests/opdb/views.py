"""Records of views: results that share memory, and ops composed of them."""

from __future__ import annotations

from tests.opdb import ALL_FLOATS, COMPLEX, INTS, Record, S, T

ALL = (*ALL_FLOATS, *INTS, "bool", *COMPLEX)
REAL = (*ALL_FLOATS, *INTS, "bool")  # torch does not differentiate the *_scatter family of complex tensors
A, X, ONE, EMPTY = T((2, 3)), T((2, 3, 4)), T(()), T((0, 3))


def view(name: str, samples: list, errors: list = [], **more: object) -> None:  # noqa: B006
    Record(name, samples, **{"dtypes": ALL, "exact": True, "errors": errors, **more})


view(
    "Tensor.view",
    [
        S(X, 6, 4),
        S(X, (24,)),
        S(X, -1, 2),
        S(X, [2, 12]),
        S(ONE, 1),
        S(ONE, ()),
        S(EMPTY, 3, 0),
        S(EMPTY, 0, 5),
        S(A, 3, 2),
    ],
    [S(X, 5, 5), S(X, -1, -1), S(X, -2), S(EMPTY, -1, 0), S(X, 7, -1)],
)
view("Tensor.view_as", [S(X, T((6, 4))), S(ONE, T((1, 1)))], [S(X, A)])
view(
    "reshape",
    [S(X, (6, 4)), S(X, (-1,)), S(ONE, (1, 1)), S(X, (2, -1)), S(EMPTY, (0,)), S(EMPTY, (3, 0))],
    [S(X, (5, 5)), S(X, (-1, -1))],
)
view("Tensor.reshape", [S(X, 6, 4), S(X, -1), S(X, [4, 6])], [S(X, 5)])
view("Tensor.reshape_as", [S(X, T((4, 6)))], [S(X, A)])
view(
    "as_strided",
    [S(X, (3, 2), (4, 1)), S(X, (3, 2), (1, 1), 5), S(X, (2, 2, 3), (0, 3, 2)), S(ONE, (), ()), S(X, (0, 3), (1, 1))],
    [S(X, (3,), (12,)), S(X, (3,), (1, 1)), S(X, (2,), (-1,)), S(X, (2,), (1,), -1)],
)
view("transpose", [S(X, 0, 1), S(X, -1, 0), S(X, 1, 1), S(ONE, 0, -1), S(EMPTY, 0, 1)], [S(X, 0, 3), S(X, -4, 0)])
view("swapaxes", [S(X, 0, -1)], [S(X, 0, 3)])
view("swapdims", [S(X, 0, -1)], [S(X, 0, 3)])
view("permute", [S(X, (2, 0, 1)), S(X, (-1, 0, 1)), S(ONE, ())], [S(X, (0, 1)), S(X, (0, 0, 1)), S(X, (0, 1, 3))])
view("Tensor.permute", [S(X, 2, 0, 1), S(X, [1, 0, 2])], [S(X, 0)])
view(
    "movedim",
    [S(X, 0, 2), S(X, -1, 0), S(X, (0, 1), (2, 0)), S(ONE, 0, 0)],
    [S(X, (0, 0), (1, 2)), S(X, (0,), (1, 2)), S(X, 3, 0)],
)
view("moveaxis", [S(X, 0, 2)], [S(X, 0, 5)])
view("t", [S(A), S(T((3,))), S(ONE)], [S(X)])
view("adjoint", [S(A), S(X)], [S(T((3,)))])
view(
    "Tensor.expand",
    [S(T((3, 1)), 3, 4), S(T((3, 1)), -1, 2), S(ONE, 2, 2), S(T((3,)), 2, 3), S(T((1,)), (0,)), S(A, -1, -1)],
    [S(A, 3, 3), S(A, 3), S(A, -1, 2, 3), S(A, 2, -2)],
)
view("Tensor.expand_as", [S(T((3, 1)), T((2, 3, 4)))], [S(A, T((3,)))])
view("broadcast_to", [S(T((3, 1)), (2, 3, 4)), S(ONE, (2,))], [S(A, (3, 3))])
view("broadcast_tensors", [S(T((3, 1)), T((4,))), S(ONE, A), S(A)], [S(A, T((4,)))])
view("select", [S(X, 1, 2), S(X, -1, -4), S(T((3,)), 0, 1)], [S(X, 1, 3), S(X, 3, 0), S(ONE, 0, 0), S(X, 0, -3)])
view(
    "narrow",
    [S(X, 1, 1, 2), S(X, -1, -2, 2), S(X, 0, 2, 0)],
    [S(X, 1, 2, 2), S(X, 1, 4, 0), S(X, 0, 0, -1), S(ONE, 0, 0, 1)],
)
view(
    "squeeze",
    [
        S(T((1, 3, 1))),
        S(T((1, 3, 1)), 0),
        S(T((1, 3, 1)), -1),
        S(T((1, 3, 1)), 1),
        S(T((1, 3, 1)), (0, 2)),
        S(ONE),
        S(ONE, 0),
    ],
    [S(A, 2), S(A, (0, 0))],
)
view("unsqueeze", [S(A, 0), S(A, 2), S(A, -1), S(A, -3), S(ONE, 0)], [S(A, 3), S(A, -4)])
view(
    "diagonal",
    [S(A), S(A, 1), S(A, -1), S(X, 0, 1, 2), S(X, 1, -1, 0), S(A, 5), S(T((3, 3)), offset=2)],
    [S(T((3,))), S(A, 0, 0, 0), S(A, 0, 0, 2)],
)
view(
    "Tensor.unfold",
    [S(T((7,)), 0, 3, 2), S(X, -1, 2, 1), S(X, 1, 3, 5), S(T((4,)), 0, 0, 1), S(ONE, 0, 1, 1)],
    [S(X, 1, 4, 1), S(X, 1, 1, 0), S(X, 3, 1, 1), S(X, 0, -1, 1)],
)
view("unbind", [S(X), S(X, 1), S(X, -1), S(EMPTY)], [S(ONE), S(X, 3)])
view(
    "split",
    [S(X, 2, 1), S(X, [1, 2], 1), S(T((7,)), 3), S(EMPTY, 0), S(T((4,)), 9)],
    [S(X, [1, 1], 1), S(X, 0), S(X, -1), S(ONE, 1)],
)
view("Tensor.split_with_sizes", [S(X, [1, 2], 1), S(X, [0, 2])], [S(X, [1, 1], 1), S(X, [3, -1])])
view("chunk", [S(T((7,)), 3), S(X, 2, 1), S(X, 9, -1), S(EMPTY, 2)], [S(X, 0), S(ONE, 1)])
view(
    "tensor_split",
    [S(T((7,)), 3), S(T((7,)), (2, 5)), S(X, (1,), -1), S(T((3,)), 5), S(T((7,)), (5, 2)), S(T((7,)), (-2,))],
    [S(ONE, 1), S(T((3,)), 0)],
)
view("hsplit", [S(T((4, 6)), 2), S(T((6,)), 3), S(T((4, 6)), [1, 4])], [S(ONE, 1), S(T((4, 6)), 4)])
view("vsplit", [S(T((4, 6)), 2), S(T((4, 6)), [1, 3])], [S(T((4,)), 2), S(T((4, 6)), 3)])
view("dsplit", [S(T((2, 3, 4)), 2)], [S(T((4, 6)), 2), S(T((2, 3, 4)), 3)])
view("flatten", [S(X), S(X, 1), S(X, 0, 1), S(X, -2, -1), S(ONE), S(EMPTY), S(X, 1, 1)], [S(X, 2, 1), S(X, 3)])
view("ravel", [S(X), S(ONE)])
view(
    "unflatten",
    [S(T((2, 12)), 1, (3, 4)), S(T((2, 12)), -1, (3, -1)), S(T((6,)), 0, (2, 3))],
    [S(T((2, 12)), 1, (5, 2)), S(T((2, 12)), 2, (1, 1)), S(T((6,)), 0, ())],
)
view("atleast_1d", [S(ONE), S(A), S(ONE, A)])
view("atleast_2d", [S(ONE), S(T((3,))), S(A), S([ONE, A])])
view("atleast_3d", [S(ONE), S(T((3,))), S(A), S(X), S(T((1, 2, 3, 4)))])
view(
    "select_scatter",
    [S(X, T((2, 4)), 1, 2), S(X, T((3, 4)), 0, -1)],
    [S(X, T((2, 3)), 1, 2), S(X, T((2, 4)), 1, 5)],
    dtypes=REAL,
    strides="dense",
)
view(
    "slice_scatter",
    [S(X, T((1, 3, 4)), 0, 1), S(X, T((2, 3, 2)), 2, 0, 4, 2), S(X, T((2, 3, 1)), -1, -1)],
    [S(X, T((2, 3, 3)), 2, 0, 2)],
    dtypes=REAL,
    strides="dense",
)
view(
    "diagonal_scatter",
    [S(T((3, 3)), T((3,))), S(A, T((2,)), 1), S(X, T((4, 2)), 0, 0, 1)],
    [S(A, T((3,)))],
    dtypes=REAL,
    strides="dense",
)
view("view_as_real", [S(A), S(ONE)], [S(T((2,), kind="float32"))], dtypes=COMPLEX)
view(
    "view_as_complex",
    [S(T((3, 2))), S(T((2, 4, 2)))],
    [S(A), S(ONE), S(T((2,), kind="int"))],
    dtypes=("float32", "float64"),
)
view("real", [S(A), S(ONE)], dtypes=("float32", *COMPLEX))
view("imag", [S(A), S(ONE)], [S(T((2,), kind="float32"))], dtypes=COMPLEX)
view("Tensor.squeeze_", [S(T((1, 3, 1))), S(T((1, 3, 1)), 0)], [S(A, 2)], grad=False, meta=False)
view("Tensor.unsqueeze_", [S(A, 0), S(A, -1)], [S(A, 3)], grad=False, meta=False)
view("Tensor.transpose_", [S(X, 0, 1)], [S(X, 0, 3)], grad=False, meta=False)
view("Tensor.t_", [S(A)], [S(X)], grad=False, meta=False)
view("Tensor.as_strided_", [S(X, (3, 2), (4, 1))], [S(X, (3,), (12,))], grad=False, meta=False)
view("unsafe_split", [S(X, 2, 1), S(T((7,)), 3)])
