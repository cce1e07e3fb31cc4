"""Legacy constructors, storages, and methods about memory and single elements, against PyTorch."""

import warnings

import numpy as np
import pytest
import torch

import mashal

FRAMEWORKS = (mashal, torch)
TYPES = ("Float", "Double", "Half", "BFloat16", "Long", "Int", "Short", "Char", "Byte", "Bool")


def outcome(fn, framework):
    """A result as plain data, or the class of what was raised."""
    try:
        with warnings.catch_warnings(action="ignore"):
            return plain(fn(framework))
    except Exception as e:  # noqa: BLE001 (the class is the result)
        return type(e)


def plain(value):
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        name = str(value.dtype).split(".")[1]
        data = value.detach().to((torch if isinstance(value, torch.Tensor) else mashal).float64).tolist()
        return name, tuple(value.shape), data
    if isinstance(value, (list, tuple)):
        return tuple(plain(v) for v in value)
    return value


def same(fn):
    ours, theirs = (outcome(fn, f) for f in FRAMEWORKS)
    if isinstance(theirs, type):
        assert isinstance(ours, type), f"PyTorch raises {theirs.__name__}, mashal gives {ours}"
        assert issubclass(ours, theirs)
    else:
        assert ours == theirs


def made(t):
    """What of a tensor with unspecified contents can be compared."""
    return str(t.dtype).split(".")[1], tuple(t.shape)


@pytest.mark.parametrize("name", TYPES)
def test_typed_constructors(name):
    def make(framework):
        return getattr(framework, f"{name}Tensor")

    same(lambda f: make(f)([1, 0, 1]))
    same(lambda f: make(f)((2, 3)))
    same(lambda f: make(f)(np.array([[1, 2], [0, 1]])))
    same(lambda f: made(make(f)(2, 3)))
    same(lambda f: made(make(f)(f.Size([2]))))
    same(lambda f: make(f)())
    same(lambda f: make(f)(1.5))
    same(lambda f: make(f)("ab"))
    same(lambda f: make(f)(f.ones(2, dtype=f.float64)))
    same(lambda f: isinstance(f.ones(1), make(f)))
    same(lambda f: isinstance(f.ones(1).bool(), make(f)))
    same(lambda f: isinstance(f.nn.Parameter(f.ones(1)), make(f)))
    same(lambda f: isinstance(1, make(f)))
    same(lambda f: make(f).__name__)
    same(lambda f: f.ones(1).type(make(f)))
    same(lambda f: make(f)([1], device="meta"))


def test_typed_constructor_of_a_tensor_shares_memory():
    x = mashal.ones(2)
    y = mashal.FloatTensor(x)
    y[0] = 5
    assert x[0] == 5


@pytest.mark.parametrize(
    "call",
    [
        lambda f: made(f.ones(2).new(3)),
        lambda f: f.ones(2).new([1, 2]),
        lambda f: f.ones(2).long().new([1, 2]),
        lambda f: f.ones(2).new(),
        lambda f: f.ones(2).new(f.ones(2).long()),
        lambda f: f.ones(2).new_tensor([1, 2]),
        lambda f: f.ones(2).long().new_tensor([1.5, 2]),
        lambda f: f.ones(2).new_tensor(3, dtype=f.int8),
        lambda f: f.ones(2).new_tensor(f.ones(1).long()),
        lambda f: f.ones(2).new_tensor([1.0], requires_grad=True).requires_grad,
        lambda f: made(f.Tensor(2, 3)),
        lambda f: f.Tensor(),
        lambda f: made(f.Tensor(size=(2, 3))),
        lambda f: f.Tensor([1, 2]),
        lambda f: f.Tensor(2.5),
        lambda f: f.arange(4).resize_(2, 2),
        lambda f: f.arange(4).resize_([2]),
        lambda f: made(f.arange(4).resize_(2, 5)),
        lambda f: f.ones(2, 2).t().resize_(2, 2).stride(),
        lambda f: f.zeros(1, 2, 2, 2).resize_(1, 2, 2, 2, memory_format=f.channels_last).stride(),
        lambda f: f.ones(2, requires_grad=True).resize_(3),
        lambda f: f.ones(2).resize_(-1),
        lambda f: f.arange(4).resize_as_(f.zeros(2, 2)),
        lambda f: f.arange(4).resize(2, 2),
        lambda f: f.arange(4).resize(3),
        lambda f: f.arange(6)[2:].resize_(2, 2),
        lambda f: f.ones(2).set_(),
        lambda f: f.ones(2).set_(f.arange(6.0)),
        lambda f: f.ones(2).set_(f.arange(6.0), 1, (2, 2), (3, 1)),
        lambda f: f.ones(2).set_(f.arange(6.0), 1, (2, 2)),
        lambda f: f.ones(2).set_(f.arange(6)),
        lambda f: f.ones(2, requires_grad=True).set_(f.zeros(3)),
        lambda f: f.ones(2).set_(f.arange(3.0).untyped_storage(), 1, (2,), (1,)),
        lambda f: f.ones(2).set_(f.arange(3.0).storage()),
        lambda f: f.arange(3).apply_(lambda v: v * 2),
        lambda f: f.ones(2, requires_grad=True).apply_(lambda v: v),
        lambda f: f.arange(3).map_(f.tensor(10), lambda a, b: a + b),
        lambda f: f.arange(3).map_(f.ones(3), lambda a, b: a + b),
        lambda f: f.zeros(2).map_(f.ones(2, 1), lambda a, b: a + b),
        lambda f: f.zeros(2).map2_(f.ones(2), f.ones(2), lambda a, b, c: a + b + c),
        lambda f: f.arange(6.0).reshape(2, 3).trace(),
        lambda f: f.trace(f.ones(2, 2, dtype=f.uint8)),
        lambda f: f.trace(f.ones(3)),
        lambda f: f.trace(f.ones(0, 3)),
        lambda f: f.zeros(3, 2).fill_diagonal_(5),
        lambda f: f.zeros(7, 2).fill_diagonal_(5, wrap=True),
        lambda f: f.zeros(3, 2).fill_diagonal_(5, wrap=True),
        lambda f: f.zeros(2, 7).fill_diagonal_(5, True),
        lambda f: f.zeros(2, 3).t().fill_diagonal_(1),
        lambda f: f.zeros(3, 3, 3).fill_diagonal_(1),
        lambda f: f.zeros(3).fill_diagonal_(1),
        lambda f: f.zeros(3, 3, 2).fill_diagonal_(1),
        lambda f: f.unravel_index(f.tensor([5, 3]), (2, 3)),
        lambda f: f.unravel_index(f.tensor(5), (2, 3)),
        lambda f: f.detach(f.ones(2, requires_grad=True)).requires_grad,
        lambda f: f.ones(2).to_dense(),
        lambda f: (f.ones(2).is_pinned(), f.ones(2).is_shared()),
        lambda f: f.typename(f.ones(1)),
        lambda f: f.typename("a"),
        lambda f: f.typename(f.nn.Linear(1, 1)).split(".")[-1],
        lambda f: f._assert(False, "no"),
        lambda f: f._assert(f.tensor(True), "no"),
    ],
)
def test_same_as_torch(call):
    same(call)


@pytest.mark.parametrize("name", ["trace", "fill_diagonal_"])
def test_gradients_of_diagonals(name):
    def gradient(f):
        x = f.arange(6.0).reshape(3, 2).requires_grad_()
        y = x.trace() if name == "trace" else (x * 2).fill_diagonal_(1).pow(2).sum()
        y.backward()
        return x.grad

    same(gradient)


def test_pin_memory_is_the_tensor_itself():
    x = mashal.ones(2)
    assert x.pin_memory() is x


def test_memory_that_numpy_looks_at_is_not_resized():
    for framework in FRAMEWORKS:
        x = framework.ones(2)
        array = x.numpy()
        with pytest.raises(RuntimeError, match="not resizable"):
            x.resize_(1000)
        assert array.tolist() == [1, 1]
        assert not x.untyped_storage().resizable()


def test_views_follow_a_storage_that_grows():
    x = mashal.arange(4.0)
    y = x[1:3]
    x.resize_(100000)
    y[0] = 9
    assert x[1] == 9
    assert x.data_ptr() + 4 == y.data_ptr()


@pytest.mark.parametrize(
    "call",
    [
        lambda s: (s.nbytes(), s.size(), len(s), s.element_size(), s.tolist()),
        lambda s: [s[0], s[-1], list(s)],
        lambda s: s.fill_(3).tolist(),
        lambda s: s.clone().tolist(),
        lambda s: s.copy_(s.clone().fill_(1)).tolist(),
        lambda s: (str(s.device), s.is_cuda, s.is_pinned(), s.is_shared()),
        lambda s: s[100],
        lambda s: len(s.resize_(100)),
        lambda s: repr(s).replace("mashal", "torch"),
    ],
)
@pytest.mark.parametrize("kind", ["untyped_storage", "storage"])
def test_storages(kind, call):
    same(lambda f: call(getattr(f.arange(3, dtype=f.int16), kind)()))


def test_storage_shares_memory():
    x = mashal.zeros(4)
    s = x[1:].untyped_storage()
    assert s.data_ptr() == x.data_ptr()
    assert s == x.untyped_storage()
    assert hash(s) == hash(x.untyped_storage())
    s.fill_(0xFF)
    assert bool(x.isnan().all())
    assert mashal.is_storage(s)
    assert not mashal.is_storage(x)
    with pytest.raises(RuntimeError, match="smaller"):
        s.resize_(1)


def test_typed_storage():
    def check(f):
        s = f.TypedStorage([1, 2, 3], dtype=f.int32)
        return [s.tolist(), str(s.dtype).split(".")[1], s.nbytes(), s.long().tolist(), s.type(), s.untyped().nbytes()]

    same(check)
    same(lambda f: f.UntypedStorage(4).nbytes())
    same(lambda f: f.UntypedStorage([1, 2]).tolist())
    same(lambda f: f.arange(5, dtype=f.uint8).untyped_storage()[1:3].tolist())
    same(lambda f: f.storage.UntypedStorage is f.UntypedStorage)


def test_dlpack_module():
    from mashal.utils.dlpack import from_dlpack, to_dlpack

    x = mashal.arange(3)
    y = from_dlpack(to_dlpack(x))
    y[0] = 7
    assert x[0] == 7
