"""``Variable``, which older programs wrap tensors in."""

import pytest
import torch

import mashal

LIBS = (mashal, torch)


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool", "complex64"])
def test_shares_memory_outside_the_graph(dtype):
    for lib in LIBS:
        x = lib.ones(3, dtype=getattr(lib, dtype))
        y = lib.autograd.Variable(x)
        x.zero_()
        assert type(y) is lib.Tensor
        assert y is not x
        assert y.dtype is x.dtype
        assert not y.any()
        assert not y.requires_grad


def test_gradients():
    for lib in LIBS:
        leaf = lib.ones(2, requires_grad=True)
        assert not lib.autograd.Variable(leaf).requires_grad
        x = lib.autograd.Variable(leaf * 2, requires_grad=True)
        assert x.is_leaf
        (x * x).sum().backward()
        assert x.grad.tolist() == [4, 4]
        assert leaf.grad is None
        assert lib.autograd.Variable().shape == (0,)
        assert lib.autograd.Variable(requires_grad=True).requires_grad
        with pytest.warns(UserWarning, match="volatile was removed"):
            lib.autograd.Variable(leaf, volatile=True)


def test_every_tensor_is_one():
    for lib in LIBS:
        assert isinstance(lib.ones(2), lib.autograd.Variable)
        assert isinstance(lib.nn.Parameter(lib.ones(2)), lib.autograd.Variable)
        assert not isinstance([1.0], lib.autograd.Variable)


def test_errors():
    for lib in LIBS:
        with pytest.raises(TypeError, match="Variable data has to be a tensor, but got list"):
            lib.autograd.Variable([1.0])
        with pytest.raises(RuntimeError, match="floating point"):
            lib.autograd.Variable(lib.tensor([1]), requires_grad=True)
