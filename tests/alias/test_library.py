"""Operations that programs make."""

import pytest
import torch

import mashal


def make(lib, name):
    @lib.library.custom_op(name, mutates_args=())
    def scale(x: lib.Tensor, factor: float = 2.0, *, shift: int = 0) -> lib.Tensor:
        return x.detach().clone() * factor + shift

    @scale.register_fake
    def _(x, factor=2.0, *, shift=0):
        return lib.empty_like(x)

    def setup_context(ctx, inputs, output, keyword_only_inputs):
        x, ctx.factor = inputs
        ctx.save_for_backward(x)

    def backward(ctx, g):
        assert len(ctx.saved_tensors) == 1
        return g * ctx.factor, None

    scale.register_autograd(backward, setup_context=setup_context)
    return scale


@pytest.mark.parametrize("lib", [torch, mashal], ids=["torch", "mashal"])
def test_custom_op(lib):
    scale = make(lib, "mashal_test::scale")
    x = lib.ones(3, requires_grad=True)
    y = scale(x, 3.0, shift=1)
    assert y.tolist() == [4, 4, 4]
    y.sum().backward()
    assert x.grad.tolist() == [3, 3, 3]
    assert lib.ops.mashal_test.scale(lib.ones(1)).tolist() == [2]
    assert not scale(lib.ones(2)).requires_grad
    assert scale(lib.ones(2, device="meta")).is_meta


def test_schemas():
    number = int | float

    def f(
        x: mashal.Tensor, y: mashal.Tensor | None, n: list[int], s: str = "a", *, k: number = 1, d: mashal.dtype = None
    ) -> None:
        pass

    assert mashal.library.infer_schema(f, mutates_args=("x",)) == (
        '(Tensor(a0!) x, Tensor? y, SymInt[] n, str s="a", *, Scalar k=1, ScalarType d=None) -> ()'
    )
    with pytest.raises(ValueError, match="not found in the parameters"):
        mashal.library.infer_schema(f, mutates_args=("z",))
    with pytest.raises(ValueError, match="must have a type annotation"):
        mashal.library.infer_schema(lambda x: x, mutates_args=())


def test_writing_and_mistakes():
    @mashal.library.custom_op("mashal_test::fill", mutates_args={"x"})
    def fill(x: mashal.Tensor, value: float) -> None:
        x.fill_(value)

    x = mashal.zeros(2)
    assert mashal.ops.mashal_test.fill.default(x, 3.0) is None
    assert x.tolist() == [3, 3]
    with pytest.raises(RuntimeError, match="non-functional"):
        fill.register_autograd(lambda ctx, g: g)
    with pytest.raises(ValueError, match="namespace::name"):
        mashal.library.custom_op("bad", lambda x: x, mutates_args=())
    with pytest.raises(RuntimeError, match="there is no operation 'a::b'"):
        mashal.library.register_fake("a::b")
    mashal.library.register_kernel("mashal_test::fill", "cpu", lambda x, value: x.fill_(-value))
    fill(x, 1.0)
    assert x.tolist() == [-1, -1]
    with pytest.raises(AttributeError, match="no attribute 'absent'"):
        _ = mashal.ops.mashal_test.absent
