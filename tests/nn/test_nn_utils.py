"""nn.utils: clipping of gradients, parameters as vectors, padded sequences, against PyTorch."""

import warnings

import numpy as np
import pytest
import torch

import mashal

FRAMEWORKS = (mashal, torch)


def parameters(framework, scale=1.0, dtype="float32"):
    rng = np.random.default_rng(0)
    out = []
    for shape in ((3, 2), (4,), ()):
        p = framework.zeros(shape, dtype=getattr(framework, dtype), requires_grad=True)
        p.grad = framework.tensor(rng.normal(size=shape) * scale, dtype=getattr(framework, dtype))
        out.append(p)
    out.append(framework.zeros(2, requires_grad=True))  # without a gradient
    return out


def grads(params):
    return [None if p.grad is None else p.grad.double().tolist() for p in params]


@pytest.mark.parametrize("order", [2.0, 1.0, float("inf"), 0.5, 3])
@pytest.mark.parametrize("scale", [1.0, 1e-3, 1e3])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_clip_grad_norm(order, scale, dtype):
    results = []
    for framework in FRAMEWORKS:
        params = parameters(framework, scale, dtype)
        total = framework.nn.utils.clip_grad_norm_(params, 0.5, norm_type=order)
        results.append((total.item(), grads(params), str(total.dtype).split(".")[1]))
    (ours, theirs) = results
    assert ours[2] == theirs[2]
    np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-6)
    for a, b in zip(ours[1], theirs[1], strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            np.testing.assert_allclose(a, b, rtol=2e-6)


@pytest.mark.parametrize("value", [1e30, 3e38])
@pytest.mark.parametrize("order", [2.0, 1.0])
def test_clip_of_huge_gradients_keeps_their_direction(value, order):
    p = mashal.zeros(4, requires_grad=True)
    p.grad = mashal.full((4,), value)
    total = mashal.nn.utils.clip_grad_norm_(p, 1.0, order)
    expected = mashal.full((4,), 0.5 if order == 2 else 0.25)
    mashal.testing.assert_close(p.grad, expected)
    assert total.item() >= value or order == 1


def test_clip_of_huge_half_gradients():
    p = mashal.zeros(4, dtype=mashal.float16, requires_grad=True)
    p.grad = mashal.full((4,), 60000.0, dtype=mashal.float16)
    mashal.nn.utils.clip_grad_norm_(p, 1.0)
    mashal.testing.assert_close(p.grad, mashal.full((4,), 0.5, dtype=mashal.float16))


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_clip_of_gradients_that_are_no_numbers(bad):
    results = []
    for framework in FRAMEWORKS:
        p = framework.zeros(2, requires_grad=True)
        p.grad = framework.tensor([bad, 1.0])
        with pytest.raises(RuntimeError, match="non-finite"):
            framework.nn.utils.clip_grad_norm_([p], 1.0, error_if_nonfinite=True)
        framework.nn.utils.clip_grad_norm_([p], 1.0)
        results.append(p.grad.tolist())
    np.testing.assert_array_equal(*results)


def test_other_clips():
    for framework in FRAMEWORKS:
        params = parameters(framework)
        framework.nn.utils.clip_grad_value_(params, 0.3)
        assert max(float(p.grad.abs().max()) for p in params if p.grad is not None) <= 0.3 + 1e-7
        assert framework.nn.utils.clip_grad_norm_([], 1.0).item() == 0
        with pytest.warns(FutureWarning):
            framework.nn.utils.clip_grad_norm(params, 1.0)
        params = parameters(framework)
        total = framework.nn.utils.get_total_norm([p.grad for p in params if p.grad is not None])
        framework.nn.utils.clip_grads_with_norm_(params, 1.0, total)
        after = framework.nn.utils.get_total_norm([p.grad for p in params if p.grad is not None])
        np.testing.assert_allclose(after.item(), 1.0, rtol=1e-5)
        # A generator of parameters is walked once.
        framework.nn.utils.clip_grad_norm_((p for p in params), 0.1)
        after = framework.nn.utils.get_total_norm([p.grad for p in params if p.grad is not None])
        np.testing.assert_allclose(after.item(), 0.1, rtol=1e-5)


def test_vectors():
    for framework in FRAMEWORKS:
        model = framework.nn.Linear(3, 2)
        with framework.no_grad():
            vector = framework.nn.utils.parameters_to_vector(model.parameters()) * 2
        assert vector.shape == (8,)
        framework.nn.utils.vector_to_parameters(vector, model.parameters())
        assert framework.equal(framework.nn.utils.parameters_to_vector(model.parameters()), vector)
        assert model.weight.is_leaf
        assert isinstance(model.weight, framework.nn.Parameter)
        vector[0] = 7
        assert model.weight[0, 0] == 7
        with pytest.raises(TypeError):
            framework.nn.utils.vector_to_parameters([1.0], model.parameters())
        flat = framework.nn.utils.parameters_to_vector(model.parameters())
        flat.sum().backward()
        assert bool((model.weight.grad == 1).all())


@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("side", ["left", "right"])
def test_pad_sequence(batch_first, side):
    results = []
    for framework in FRAMEWORKS:
        items = [framework.arange(2.0 * n).reshape(n, 2).requires_grad_() for n in (3, 1, 0, 2)]
        out = framework.nn.utils.rnn.pad_sequence(items, batch_first, -1.0, side)
        (out * out).sum().backward()
        results.append((out.tolist(), [i.grad.tolist() for i in items]))
    assert results[0] == results[1]


def test_pad_sequence_errors_and_back():
    for framework in FRAMEWORKS:
        rnn = framework.nn.utils.rnn
        for bad in ([], [framework.ones(2, 2), framework.ones(2, 3)], 3):
            with pytest.raises(RuntimeError), warnings.catch_warnings(action="ignore"):
                rnn.pad_sequence(bad)
        items = [framework.ones(2), framework.ones(3)]
        back = rnn.unpad_sequence(rnn.pad_sequence(items), framework.tensor([2, 3]))
        assert [b.tolist() for b in back] == [i.tolist() for i in items]


@pytest.mark.parametrize("bound", [-1.0, -1e-30, float("nan")])
def test_negative_bounds_are_refused(bound):
    p = mashal.zeros(2, requires_grad=True)
    p.grad = mashal.tensor([3.0, 4.0])
    clip = mashal.nn.utils
    for call in (
        lambda: clip.clip_grad_norm_([p], bound),
        lambda: clip.clip_grad_value_([p], bound),
        lambda: clip.clip_grads_with_norm_([p], bound, mashal.tensor(5.0)),
    ):
        with pytest.raises(ValueError, match="must be at least 0"):
            call()
    assert p.grad.tolist() == [3.0, 4.0]
