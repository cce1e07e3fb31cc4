"""Records of new tensors, conversions of type, windows and odds and ends of Tensor."""

from __future__ import annotations

from typing import Any

from tests.opdb import ALL_FLOATS, COMPLEX, FLOATS, INTS, D, Record, S, T

ALL = (*ALL_FLOATS, *INTS, "bool", *COMPLEX)
A, ONE, EMPTY = T((2, 3)), T(()), T((0, 3))


def made(name: str, samples: list[Any], errors: list[Any] | None = None, **more: Any) -> None:
    """A function of plain arguments: nothing to differentiate, no tensor to be on another device."""
    Record(name, samples, **{"dtypes": ("float32",), "grad": False, "meta": False, "errors": errors or [], **more})


for _name in ("zeros", "ones"):
    made(
        _name,
        [S(2, 3), S((2, 3)), S(()), S(0), S(2, dtype=D("int64")), S([2], dtype=D("bool"))],
        [S(-1), S("x"), S(2.5)],
    )
made(
    "full", [S((2, 3), 1.5), S((2,), 3), S((), True), S((2,), 1, dtype=D("float64")), S((2,), 1 + 2j)], [S((-1,), 1.0)]
)
made("eye", [S(3), S(2, 4), S(0), S(2, dtype=D("int32"))], [S(-1), S(2, -1)])
made(
    "arange",
    [S(5), S(1, 5), S(1, 6, 2), S(5, 1, -2), S(0.0, 1.0, 0.3), S(5, dtype=D("float64")), S(2, 2), S(3.5), S(-2, 2.5)],
    [S(1, 5, 0), S(5, 1), S(1, 5, -1)],
)
made("range", [S(1, 4), S(0.0, 1.0, 0.25)], [S(1, 4, 0)])
made(
    "linspace",
    [
        S(0, 1, 5),
        S(3.0, -2.0, 4),
        S(0, 1, 1),
        S(0, 1, 0),
        S(0, 10, 4, dtype=D("int64")),
        S(0, 1, 5, dtype=D("float64")),
    ],
    [S(0, 1, -1)],
)
made("logspace", [S(0, 2, 5), S(0, 3, 4, 2.0)], [S(0, 1, -1)], tol={"float32": 4e-6})
made("tril_indices", [S(3, 4), S(3, 3, 1), S(4, 3, -1), S(0, 3)], [S(-1, 3)])
made("triu_indices", [S(3, 4), S(3, 3, 1), S(4, 3, -1)], [S(3, -1)])
for _name in ("hann_window", "hamming_window", "blackman_window", "bartlett_window", "kaiser_window"):
    made(_name, [S(8), S(7, False), S(1), S(0), S(8, dtype=D("float64"))], [S(-1)], tol={"float32": 4e-6})
made(
    "tensor",
    [
        S([1, 2]),
        S([[1.0, 2.0], [3.0, 4.0]]),
        S(3),
        S(True),
        S([]),
        S([1, 2.5]),
        S([True, 2]),
        S(1 + 2j),
        S([1, 2], dtype=D("float16")),
        S([[], []]),
    ],
    [S([[1], [1, 2]]), S("x")],
)
made("as_tensor", [S([1, 2]), S(2.5), S([1], dtype=D("float64"))], [S("x")])
made("scalar_tensor", [S(3.5), S(2, dtype=D("int64"))])
made("broadcast_shapes", [S((2, 1), (3,)), S((), (2,)), S(3, (2, 1))], [S((2,), (3,))])
made("promote_types", [S(D("int32"), D("float16")), S(D("float32"), D("complex64")), S(D("uint8"), D("int8"))])
made("can_cast", [S(D("float32"), D("int64")), S(D("int64"), D("float16")), S(D("float64"), D("float32"))])
made(
    "unravel_index",
    [S(T((3,), values=[0, 5, 11], kind="int64"), (3, 4)), S(T((), values=7, kind="int64"), (2, 2, 3))],
    [S(T((1,), values=[1], kind="int64"), (-1, 2))],
    strides=False,
)

for _name in ("zeros", "ones", "empty"):
    Record("Tensor.new_" + _name, [S(A, (0, 2)), S(A, (0,), dtype=D("int64"))], dtypes=ALL, grad=False)
Record(
    "Tensor.new_tensor",
    [S(A, [1, 2]), S(A, 3.5), S(A, [[1.0], [2.0]], dtype=D("int64"))],
    dtypes=("float32", "int64", "complex64"),
    grad=False,
    meta=False,
)
for _name in ("float", "double", "half", "bfloat16", "int", "long", "short", "char", "byte", "bool"):
    Record(
        "Tensor." + _name,
        [S(T((3, 4), 0.0, 2.0)), S(ONE), S(EMPTY)],
        dtypes=(*ALL_FLOATS, *INTS, "bool"),
        second=False,
        grad=_name in ("float", "double"),
    )
for _name in ("cfloat", "cdouble"):
    Record("Tensor." + _name, [S(A), S(ONE)], dtypes=(*FLOATS, *COMPLEX, "int64"))
Record(
    "Tensor.to",
    [
        S(A, D("float64")),
        S(A, D("int32")),
        S(A, dtype=D("float16")),
        S(A, T((1,), kind="float64", grad=False)),
        S(A, D("float64"), copy=True),
    ],
    second=False,
)
Record("Tensor.to", [S(A, "cpu"), S(A, "cpu", D("float64"))], meta=False, second=False)
Record("Tensor.type_as", [S(A, T((1,), kind="float64")), S(A, T((1,), kind="int"))], second=False)
Record("Tensor.type", [S(A, D("float64")), S(A), S(A, "torch.DoubleTensor")], meta=False, second=False)
Record("Tensor.cpu", [S(A)], meta=False)
Record(
    "Tensor.fill_",
    [S(A, 3), S(A, T((), grad=False)), S(EMPTY, 1)],
    dtypes=ALL,
    grad=False,
    layouts=("transposed", "sliced"),
    errors=[S(A, A)],
)
Record("Tensor.zero_", [S(A)], dtypes=ALL, grad=False)
Record("fill", [S(A, 3), S(A, T(()))], errors=[S(A, A)])
Record(
    "Tensor.copy_",
    [S(A, T((3,))), S(A, T((2, 3), kind="int")), S(A, ONE), S(T((2, 3), kind="int"), A)],
    dtypes=ALL_FLOATS,
    grad=False,
    errors=[S(A, T((4,)))],
)
Record(
    "Tensor.fill_diagonal_",
    [S(T((3, 3)), 2), S(T((5, 2)), 1.0), S(T((5, 2)), 1.0, wrap=True), S(T((2, 2, 2)), 7)],
    grad=False,
    errors=[S(T((3,)), 1), S(T((2, 3, 2)), 1)],
)
Record("Tensor.expand_as", [S(ONE, A)])
Record("Tensor.to_dense", [S(A)])
Record("Tensor.conj_physical_", [S(A)], dtypes=COMPLEX, grad=False)
for _name in (
    "nelement",
    "numel",
    "dim",
    "ndimension",
    "element_size",
    "is_floating_point",
    "is_complex",
    "is_signed",
    "is_contiguous",
    "storage_offset",
    "get_device",
    "is_pinned",
    "tolist",
    "is_conj",
    "is_neg",
):
    Record(
        "Tensor." + _name,
        [S(A), S(ONE), S(EMPTY)],
        dtypes=("float32", "int64", "complex64", "uint8"),
        grad=False,
        meta=False,
    )
Record("Tensor.size", [S(A), S(A, 0), S(A, -1)], grad=False, meta=False, errors=[S(A, 2), S(ONE, 0)])
Record("Tensor.stride", [S(A), S(ONE), S(A, 0), S(A, -1)], grad=False, meta=False, errors=[S(A, 2)])
Record(
    "Tensor.item",
    [S(ONE), S(T((1, 1)))],
    dtypes=("float32", "int64", "bool", "complex64"),
    grad=False,
    meta=False,
    errors=[S(A), S(EMPTY)],
)
Record("Tensor.resize_", [S(A, 3, 2), S(A, (6,)), S(A, 2, 2)], grad=False, meta=False, errors=[S(A, -1)])
Record("Tensor.is_same_size", [S(A, A), S(A, T((3, 2)))], grad=False, meta=False)
Record("Tensor.dim_order", [S(T((2, 3, 4)))], grad=False, meta=False, layouts=("transposed",))
Record("numel", [S(A), S(ONE)], grad=False, meta=False)
Record("is_tensor", [S(A), S(3)], grad=False, meta=False)
Record("is_floating_point", [S(A), S(T((1,), kind="int"))], grad=False, meta=False)
Record("is_complex", [S(A), S(T((1,), kind="complex64"))], grad=False, meta=False)
Record("is_nonzero", [S(ONE), S(T((1,), values=[0.0]))], grad=False, meta=False, errors=[S(A), S(EMPTY)])
Record("Tensor.resize_as_", [S(A, T((3, 2)))], grad=False, meta=False)
for _name in ("divide", "true_divide"):
    Record(_name, [S(A, T((3,), 0.5, 2.0))], out=True, inplace=True)
Record("Tensor.resize_as", [S(A, T((3, 2)))], grad=False, meta=False, layouts=("transposed",))
