"""Lazy layers, the adaptive softmax and the linear cross entropy, against PyTorch."""

import copy
import pickle
import warnings

import numpy as np
import pytest
import torch
from nn_helpers import assert_same_outcome, seed

import mashal

FRAMEWORKS = (torch, mashal)


def close(ours, theirs, rtol=2e-5, atol=2e-5):
    np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=atol)


def result(call, *args):
    """The name of the exception's class, if there is one."""
    try:
        call(*args)
    except Exception as err:  # noqa: BLE001 (the class is compared)
        return type(err).__name__
    return None


LAZY = [
    ("LazyLinear", (3,), {}, (2, 5)),
    ("LazyLinear", (3,), {"bias": False, "dtype": "float64"}, (2, 5)),
    ("LazyConv1d", (4, 3), {}, (2, 3, 9)),
    ("LazyConv2d", (4, 3), {"groups": 2, "padding": 1}, (2, 4, 9, 9)),
    ("LazyConv3d", (4, 2), {"bias": False}, (2, 3, 4, 4, 4)),
    ("LazyConvTranspose1d", (4, 3), {"stride": 2}, (2, 3, 9)),
    ("LazyConvTranspose2d", (4, 3), {"groups": 2}, (4, 9, 9)),
    ("LazyConvTranspose3d", (4, 2), {}, (2, 3, 4, 4, 4)),
    ("LazyBatchNorm1d", (), {}, (4, 3)),
    ("LazyBatchNorm2d", (), {"affine": False}, (4, 3, 2, 2)),
    ("LazyBatchNorm2d", (), {"bias": False, "momentum": None}, (4, 3, 2, 2)),
    ("LazyBatchNorm3d", (), {"track_running_stats": False}, (4, 3, 2, 2, 2)),
    ("LazyInstanceNorm1d", (), {}, (4, 3, 5)),
    ("LazyInstanceNorm2d", (), {"affine": False}, (4, 3, 5, 5)),
    ("LazyInstanceNorm3d", (), {"track_running_stats": False}, (4, 3, 2, 2, 2)),
]


@pytest.mark.parametrize(("name", "args", "kwargs", "shape"), LAZY)
def test_lazy_layers(name, args, kwargs, shape):
    x = np.random.default_rng(0).normal(size=shape)
    found = []
    for framework in FRAMEWORKS:
        seed()
        options = {k: getattr(framework, v) if k == "dtype" else v for k, v in kwargs.items()}

        def make(framework=framework, options=options):
            return getattr(framework.nn, name)(*args, **options)

        layer = make()
        facts = [repr(layer), list(layer.state_dict()), [repr(p) for p in layer.parameters()]]
        facts += [layer.has_uninitialized_params(), [type(b).__name__ for b in layer.buffers()]]
        t = framework.tensor(x, dtype=options.get("dtype", framework.float32))
        out = layer(t)
        facts += [repr(layer), type(layer).__name__, [tuple(v.shape) for v in layer.state_dict().values()]]
        facts += [len(layer._forward_pre_hooks), sorted(k for k in layer.__dict__ if "hook" not in k)]
        loaded = make()
        loaded.load_state_dict(layer.state_dict())
        # PyTorch's instance norm does not find out its size here.
        again = out if framework is torch and "Instance" in name else loaded(t)
        other = make().half()
        facts.append([str(p.dtype).split(".")[1] for p in other.parameters()])
        other.load_state_dict(make().state_dict())
        facts.append(other.has_uninitialized_params())
        facts.append(result(layer.load_state_dict, other.state_dict()))
        facts.append(result(make(), framework.zeros(2)))
        found.append((facts, out.detach().numpy(), again.detach().numpy()))
    assert found[1][0] == found[0][0]
    close(found[1][1], found[0][1])
    close(found[1][2], found[0][2])


def test_uninitialized_tensors():
    p = mashal.nn.UninitializedParameter(dtype=mashal.float64)
    assert mashal.nn.parameter.is_lazy(p)
    assert p.requires_grad
    with pytest.raises(RuntimeError, match="shape of an uninitialized"):
        _ = p.shape
    with pytest.raises(ValueError, match="uninitialized parameter"):
        _ = p + 1
    twin, loaded = copy.deepcopy(p), pickle.loads(pickle.dumps(p))
    assert type(twin) is type(loaded) is mashal.nn.UninitializedParameter
    p.materialize((2, 3))
    assert type(p) is mashal.nn.Parameter
    assert p.dtype == mashal.float64
    assert tuple(p.shape) == (2, 3)
    b = mashal.nn.UninitializedBuffer(persistent=False)
    assert isinstance(b, mashal.nn.Buffer)
    b.materialize((3,))
    assert type(b) is mashal.Tensor
    net = mashal.nn.Sequential(mashal.nn.LazyLinear(3), mashal.nn.ReLU(), mashal.nn.LazyLinear(2))
    assert net(mashal.ones(1, 4)).shape == (1, 2)
    assert [type(m) for m in net] == [mashal.nn.Linear, mashal.nn.ReLU, mashal.nn.Linear]


@pytest.mark.parametrize("head_bias", [True, False])
def test_adaptive_softmax(head_bias):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(7, 16)).astype("float32"), rng.integers(0, 30, 7)
    found = []
    for framework in FRAMEWORKS:
        seed()
        layer = framework.nn.AdaptiveLogSoftmaxWithLoss(16, 30, [4, 12, 20], div_value=2.0, head_bias=head_bias)
        out = layer(framework.tensor(x), framework.tensor(y))
        out.loss.backward()
        one = layer(framework.tensor(x[0]), framework.tensor(y[0]))
        values = [
            out.output,
            out.loss,
            one.output,
            layer.log_prob(framework.tensor(x)),
            layer.predict(framework.tensor(x)),
        ]
        values += [p.grad for p in layer.parameters()]
        found.append((repr(layer), list(layer.state_dict()), [v.detach().numpy() for v in values]))
    assert found[1][:2] == found[0][:2]
    for a, b in zip(found[1][2], found[0][2], strict=True):
        close(a, b)


def test_adaptive_softmax_errors():
    def outcome(call):
        def run(framework):
            return lambda: call(framework, framework.nn.AdaptiveLogSoftmaxWithLoss(8, 20, [5, 10]))

        assert_same_outcome(run(mashal), run(torch), message=False)

    for cutoffs in ([], [5, 5], [10, 5], [0, 5], [5, 20], [2.5]):
        outcome(lambda fw, m, cutoffs=cutoffs: fw.nn.AdaptiveLogSoftmaxWithLoss(8, 20, cutoffs))
    outcome(lambda fw, m: m(fw.ones(2, 8), fw.tensor([1])))
    outcome(lambda fw, m: m(fw.ones(2, 8), fw.tensor([1, 20])))
    outcome(lambda fw, m: m(fw.ones(2, 8), fw.tensor(1)))
    outcome(lambda fw, m: m(fw.ones(8), fw.tensor([1])))
    outcome(lambda fw, m: m(fw.ones(2, 8), fw.ones(2, 2, dtype=fw.int64)))


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("options", [None, {}, {"batch_chunk_size": 2}])
def test_linear_cross_entropy(reduction, weighted, options):
    rng = np.random.default_rng(0)
    x, w, b, y = rng.normal(size=(6, 4)), rng.normal(size=(5, 4)), rng.normal(size=5), rng.integers(0, 5, 6)
    y[2] = -100
    for one in (True, False):
        for bias in (True, False):
            found = []
            for framework in FRAMEWORKS:
                tensors = [framework.tensor(a).requires_grad_() for a in (x[0] if one else x, w, b)]
                loss = framework.nn.functional.linear_cross_entropy(
                    tensors[0],
                    tensors[1],
                    framework.tensor(y[0] if one else y),
                    linear_bias=tensors[2] if bias else None,
                    weight=framework.tensor(np.arange(5) / 4) if weighted else None,
                    reduction=reduction,
                    options=None if options is None else framework.nn.LinearCrossEntropyOptions(**options),
                )
                (loss * loss).sum().backward()
                values = [loss.detach(), *(t.grad for t in tensors[: 3 if bias else 2])]
                found.append([v.numpy() for v in values])
            for a, c in zip(*found, strict=True):
                close(c, a, rtol=1e-7, atol=1e-9)


def test_linear_cross_entropy_layer_and_errors():
    rng = np.random.default_rng(0)
    x, indices = rng.normal(size=(6, 4)).astype("float32"), rng.integers(0, 5, (6, 2, 3))
    probabilities = rng.random((6, 5, 2, 3)).astype("float32")
    for target in (indices, probabilities):
        found = []
        for framework in FRAMEWORKS:
            seed()
            loss = framework.nn.LinearCrossEntropyLoss(4, 5, out_features=(2, 3), bias=True, label_smoothing=0.1)
            found.append(
                (repr(loss), list(loss.state_dict()), loss(framework.tensor(x), framework.tensor(target)).item())
            )
        assert found[0][:2] == found[1][:2]
        close(found[1][2], found[0][2])

    def outcome(call):
        assert_same_outcome(lambda: call(mashal), lambda: call(torch), message=False)

    def f(fw, *shapes, **kwargs):
        y = fw.zeros(shapes[2], dtype=fw.int64)
        return fw.nn.functional.linear_cross_entropy(fw.ones(shapes[0]), fw.ones(shapes[1]), y, **kwargs)

    outcome(lambda fw: f(fw, (1, 6, 4), (5, 4), (1, 6)))
    outcome(lambda fw: f(fw, (6, 4), (5,), (6,)))
    outcome(lambda fw: f(fw, (6, 4), (5, 3), (6,)))
    outcome(lambda fw: f(fw, (4,), (5, 2, 4), (2,)))
    outcome(lambda fw: f(fw, (6, 4), (5, 4), (6,), linear_bias=fw.ones(3)))
    outcome(lambda fw: f(fw, (6, 4), (5, 4), (3,)))
    outcome(lambda fw: f(fw, (6, 4), (5, 4), (6,), reduction="bad"))
    outcome(lambda fw: f(fw, (6, 4), (5, 2, 4), (6, 2), options=fw.nn.LinearCrossEntropyOptions()))
    outcome(lambda fw: f(fw, (6, 4), (5, 4), (6,), label_smoothing=0.1, options=fw.nn.LinearCrossEntropyOptions()))
    for bad in (
        {"batch_chunk_size": 0},
        {"chunking_method": "x"},
        {"acc_policy": "x"},
        {"chunking_method": "aspect_ratio:0"},
    ):
        outcome(lambda fw, bad=bad: fw.nn.LinearCrossEntropyOptions(**bad) and None)
    assert repr(mashal.nn.LinearCrossEntropyOptions()) == repr(torch.nn.LinearCrossEntropyOptions())


def test_chunks_can_be_differentiated_again_after_a_pass():
    x = mashal.randn(6, 4, requires_grad=True)
    options = mashal.nn.LinearCrossEntropyOptions(batch_chunk_size=2)
    loss = mashal.nn.functional.linear_cross_entropy(
        x, mashal.randn(5, 4), mashal.zeros(6, dtype=mashal.long), options=options
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loss.backward(retain_graph=True)
        first = x.grad.clone()
        loss.backward()
    mashal.testing.assert_close(x.grad, 2 * first)
