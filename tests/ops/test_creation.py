"""Tensors made from numbers and sizes: values, dtypes and layouts against PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import mashal

CALLS = """zeros(2,3) zeros((2,3),dtype=t.int64) zeros([2,3]) zeros(size=(2,2)) zeros(0) zeros(2,0,3)
ones(3,dtype=t.bool) zeros(2,dtype=t.float16) zeros(2,requires_grad=True) zeros(3,layout=t.strided)
zeros(2,device="cpu") zeros(2,pin_memory=False) full((2,),1) full((2,),True) full((),2.5) full((2,),1+2j)
full((2,),1.5,dtype=t.int64) full((2,),fill_value=3.) eye(3) eye(2,4,dtype=t.int32) eye(4,2) eye(0) arange(5)
arange(5.) arange(1,10,3) arange(10,0,-3) arange(0,0) arange(0,10,2.5) arange(0,10,2.5,dtype=t.int32)
arange(0,1,0.1) arange(0,1,0.01) arange(start=1,end=4) arange(end=4) arange(3,dtype=t.float16)
arange(3,dtype=t.bfloat16) arange(0,100,7,dtype=t.uint8) arange(2**60,2**60+3)
arange(-5,5,0.001,dtype=t.float64) arange(1,9,step=3) linspace(0,1,5) linspace(-3,7.3,100) linspace(0,5,1000)
linspace(0.1,0.7,33,dtype=t.float64) linspace(0,10,5,dtype=t.int64) linspace(5,1,1) linspace(0,1,0)
linspace(0,1j,3) linspace(10,0,7,dtype=t.int32) linspace(start=0,end=1,steps=3) tril_indices(3,4)
tril_indices(3,4,1) tril_indices(4,3,-2) triu_indices(3,4) triu_indices(4,3,-2)
triu_indices(3,3,2,dtype=t.int32) range(1,4) range(0,1,0.25) empty_strided((2,3),(1,2)).zero_()
zeros_like(t.ones(2,3).t()) full_like(t.ones(2,dtype=t.int32),3) ones_like(t.zeros(2),dtype=t.int64)
zeros_like(t.ones(2,3,4,5),memory_format=t.channels_last) zeros_like(t.ones(2),requires_grad=True)
ones(2).new_zeros(3,2) ones(2).new_full((2,),5) ones(2).new_ones((2,)) ones(2,dtype=t.int32).new_ones((2,))
ones(2).new_empty(0) ones(2).new_zeros(2,dtype=t.int8) ones(2).new_empty_strided((2,3),(1,2)).fill_(1)
zeros(2,3,out=t.empty(0)) zeros(2,out=t.empty(2,dtype=t.int64)) arange(3,out=t.empty(0,dtype=t.int64))
vander(t.arange(1,4)) vander(t.arange(1.,4),N=2) vander(t.arange(1,4),increasing=True)
zeros(2,3,device="meta").shape"""


@pytest.mark.filterwarnings("ignore:torch.range is deprecated")
@pytest.mark.parametrize("call", CALLS.split())
def test_same_as_torch(call: str) -> None:
    ours, theirs = (eval(f"t.{call}", {"t": lib}) for lib in (mashal, torch))
    if not isinstance(theirs, torch.Tensor):
        assert tuple(ours) == tuple(theirs)
        return
    assert ours.dtype == getattr(mashal, str(theirs.dtype)[6:])
    assert tuple(ours.shape) == tuple(theirs.shape)
    assert ours.stride() == theirs.stride()
    assert ours.requires_grad == theirs.requires_grad
    assert ours.tolist() == theirs.tolist()


@pytest.mark.parametrize("call", ["logspace(0,2,3)", "logspace(-1,1,7,base=2)", "logspace(0,5,1000)"])
def test_logspace(call: str) -> None:
    ours, theirs = (eval(f"t.{call}", {"t": lib}) for lib in (mashal, torch))
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=2e-6)


def test_logspace_of_ints() -> None:
    assert mashal.logspace(0, 3, 4, dtype=mashal.int64).tolist() == [1, 10, 100, 1000]


ERRORS: list[tuple[type[Exception], Any]] = [
    (RuntimeError, lambda t: t.zeros(-1)),
    (TypeError, lambda t: t.zeros()),
    (TypeError, lambda t: t.zeros(2, "a")),
    (TypeError, lambda t: t.ones(2, foo=3)),
    (RuntimeError, lambda t: t.arange(5, 0)),
    (RuntimeError, lambda t: t.arange(0, 5, 0)),
    (RuntimeError, lambda t: t.arange(float("inf"))),
    (RuntimeError, lambda t: t.arange(0, float("nan"))),
    (RuntimeError, lambda t: t.linspace(0, 1, -1)),
    (RuntimeError, lambda t: t.eye(-1)),
    (RuntimeError, lambda t: t.full((2,), 1j, dtype=t.float32)),
    (RuntimeError, lambda t: t.empty(2, 3, memory_format=t.channels_last)),
]


@pytest.mark.parametrize("index", range(len(ERRORS)))
def test_errors(index: int) -> None:
    error, call = ERRORS[index]
    for lib in (torch, mashal):
        with pytest.raises(error):
            call(lib)
