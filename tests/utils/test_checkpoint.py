"""Checkpointing: the same values and gradients as without, fewer saved tensors, and what is raised."""

import warnings

import pytest

import mashal
from mashal import nn
from mashal.utils.checkpoint import CheckpointError, checkpoint, checkpoint_sequential, set_checkpoint_early_stop

REENTRANT = pytest.mark.parametrize("use_reentrant", [False, True])


def network():
    mashal.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Dropout(0.5), nn.Linear(8, 4), nn.GELU())


@REENTRANT
def test_same_gradients(use_reentrant):
    results = []
    for checkpointed in (False, True):
        model = network()
        mashal.manual_seed(1)
        x = mashal.randn(3, 4, requires_grad=True)
        y = checkpoint(model, x, use_reentrant=use_reentrant) if checkpointed else model(x)
        mashal.rand(2)  # numbers drawn in between are not drawn again
        y.pow(2).sum().backward()
        results.append([y.detach(), x.grad, *(p.grad for p in model.parameters()), mashal.rand(2)])
    for a, b in zip(*results, strict=True):
        mashal.testing.assert_close(a, b, rtol=0, atol=0)


@REENTRANT
def test_sequential(use_reentrant):
    model = network()
    model[2].p = 0.0
    x = mashal.randn(3, 4, requires_grad=True)
    expected = mashal.autograd.grad(model(x).sum(), x)[0]
    checkpoint_sequential(model, 2, x, use_reentrant=use_reentrant).sum().backward()
    mashal.testing.assert_close(x.grad, expected)


def test_autograd_grad_and_inputs():
    x = mashal.ones(2, requires_grad=True)
    y = checkpoint(lambda a: a.exp(), x, use_reentrant=False)
    mashal.testing.assert_close(mashal.autograd.grad(y.sum(), x)[0], x.detach().exp())
    for run in (
        lambda y: mashal.autograd.grad(y.sum(), x),
        lambda y: y.sum().backward(inputs=[x]),
    ):
        with pytest.raises(RuntimeError, match="use_reentrant=True"):
            run(checkpoint(lambda a: a.exp(), x, use_reentrant=True))


def test_saved_tensors_are_dropped():
    kept = []
    with mashal.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t) or t, lambda t: t):
        x = mashal.ones(2, requires_grad=True)
        checkpoint(lambda a: a.exp().sin().exp(), x, use_reentrant=False)
    assert kept == []


def test_nested_and_keywords():
    def inner(a, *, power):
        return a.exp().pow(power)

    def outer(a):
        return checkpoint(inner, a.sin(), power=3, use_reentrant=False).cos()

    x = mashal.linspace(0.1, 1, 4, dtype=mashal.float64, requires_grad=True)
    checkpoint(outer, x, use_reentrant=False).sum().backward()
    expected = mashal.autograd.grad(x.sin().exp().pow(3).cos().sum(), x)[0]
    mashal.testing.assert_close(x.grad, expected)


def test_retain_graph_and_several_outputs():
    x = mashal.ones(2, requires_grad=True)
    a, b = checkpoint(lambda t: (t.exp(), t.sin()), x, use_reentrant=False)
    a.sum().backward(retain_graph=True)
    b.sum().backward()
    mashal.testing.assert_close(x.grad, x.detach().exp() + x.detach().cos())
    y = checkpoint(lambda t: t.exp() * t, x, use_reentrant=False).sum()
    first = mashal.autograd.grad(y, x, retain_graph=True)[0]
    mashal.testing.assert_close(mashal.autograd.grad(y, x)[0], first)


@pytest.mark.parametrize("early_stop", [True, False])
def test_how_often_functions_run(early_stop):
    calls = []

    def function(a):
        calls.append("start")
        a = a.exp()
        calls.append("end")
        return a + 1  # saves nothing

    x = mashal.ones(2, requires_grad=True)
    checkpoint(function, x, use_reentrant=False, early_stop=early_stop).sum().backward()
    assert calls == ["start", "end", "start", *(() if early_stop else ("end",))]
    calls.clear()
    with set_checkpoint_early_stop(early_stop):
        y = checkpoint(function, x, use_reentrant=False)
    y.sum().backward()
    assert calls == ["start", "end", "start", *(() if early_stop else ("end",))]


def test_another_computation_is_noticed():
    x = mashal.ones(2, requires_grad=True)

    def changing(first, second):
        calls = []

        def function(a):
            calls.append(None)
            return (first if len(calls) == 1 else second)(a.exp())

        return checkpoint(function, x, use_reentrant=False).sum()

    with pytest.raises(CheckpointError, match="different number"):
        changing(lambda b: b.exp(), lambda b: b).backward()
    with pytest.raises(CheckpointError, match="different metadata"):
        changing(lambda b: b.exp(), lambda b: (b * mashal.ones(3, 1)).exp()).backward()


def test_contexts():
    seen = []

    class Note:
        def __init__(self, name):
            self.name = name

        def __enter__(self):
            seen.append(self.name)

        def __exit__(self, *exc):
            pass

    x = mashal.ones(1, requires_grad=True)
    y = checkpoint(lambda a: a.exp(), x, use_reentrant=False, context_fn=lambda: (Note("first"), Note("second")))
    y.backward()
    assert seen == ["first", "second"]


def test_arguments():
    x = mashal.ones(1, requires_grad=True)
    with pytest.warns(UserWarning, match="use_reentrant"):
        checkpoint(lambda a: a * 2, x)
    with pytest.raises(ValueError, match="Unexpected keyword"):
        checkpoint(lambda a: a * 2, x, use_reentrant=True, other=1)
    with pytest.raises(ValueError, match="determinism_check"):
        checkpoint(lambda a: a * 2, x, use_reentrant=False, determinism_check="much")
    with pytest.warns(UserWarning, match="requires_grad"):
        assert checkpoint(lambda a: a * 2, mashal.ones(1), use_reentrant=True).item() == 2
    with warnings.catch_warnings():
        assert checkpoint(lambda a, b: a * b, x, 3, use_reentrant=True).item() == 3
