"""Embeddings with sparse gradients, and the optimizers that take them, against PyTorch's."""

from __future__ import annotations

import numpy as np
import pytest

import mashal

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore:Sparse invariant checks")

MAKERS = {
    "sgd": lambda t, p: t.optim.SGD(p, lr=0.1),
    "momentum": lambda t, p: t.optim.SGD(p, lr=0.1, momentum=0.9),
    "nesterov": lambda t, p: t.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True),
    "adagrad": lambda t, p: t.optim.Adagrad(p, lr=0.1, lr_decay=0.01),
    "sparse-adam": lambda t, p: t.optim.SparseAdam(p, lr=0.1),
    "sparse-adam-up": lambda t, p: t.optim.SparseAdam(p, lr=0.01, betas=(0.8, 0.9), maximize=True),
}
BATCHES = [[[1, 2], [1, 4]], [[0, 0], [3, 0]], [[2, 2], [2, 2]], [[4, 1], [0, 3]]]


def table(t, **kwargs):
    t.manual_seed(0)
    return t.nn.Embedding(5, 3, sparse=True, **kwargs)


def same(a, b):
    np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("padding", [None, 0])
@pytest.mark.parametrize("name", MAKERS)
def test_steps(name, padding):
    weights = []
    for t in (mashal, torch):
        layer = table(t, padding_idx=padding)
        optimizer = MAKERS[name](t, layer.parameters())
        for batch in BATCHES:
            optimizer.zero_grad()
            (layer(t.tensor(batch)) ** 2).sum().backward()
            assert layer.weight.grad.is_sparse
            optimizer.step()
        weights.append(layer.weight)
    same(*weights)


def test_gradients_add_up():
    found = []
    for t in (mashal, torch):
        layer = table(t)
        for batch in BATCHES:
            layer(t.tensor(batch)).square().sum().backward()
        found.append(layer.weight.grad)
    assert found[0].is_sparse
    same(found[0].to_dense(), found[1].to_dense())


def test_a_tied_output_layer_makes_the_gradient_dense():
    found = []
    for t in (mashal, torch):
        layer = table(t)
        for batch in BATCHES[:2]:
            h = layer(t.tensor(batch))
            (h @ layer.weight.t()).square().sum().backward()
        found.append(layer.weight.grad)
    assert not found[0].is_sparse
    same(*found)


@pytest.mark.parametrize("direction", ["to", "from"])
def test_sparse_adam_checkpoints(direction):
    layers = [table(mashal), table(torch)]
    optimizers = [
        t.optim.SparseAdam(layer.parameters(), lr=0.1) for t, layer in zip((mashal, torch), layers, strict=True)
    ]

    def step(i, batch):
        t = (mashal, torch)[i]
        optimizers[i].zero_grad()
        layers[i](t.tensor(batch)).square().sum().backward()
        optimizers[i].step()

    source, target = (0, 1) if direction == "to" else (1, 0)
    step(source, BATCHES[0])
    convert = torch.from_numpy if target else mashal.from_numpy
    state = optimizers[source].state_dict()
    state["state"] = {
        k: {n: v if isinstance(v, int) else convert(v.numpy().copy()) for n, v in s.items()}
        for k, s in state["state"].items()
    }
    optimizers[target].load_state_dict(state)
    with (mashal, torch)[target].no_grad():
        layers[target].weight.copy_(convert(layers[source].weight.detach().numpy().copy()))
    for batch in BATCHES[1:]:
        step(0, batch)
        step(1, batch)
    same(layers[0].weight, layers[1].weight)


@pytest.mark.parametrize("name", ["Adam", "AdamW", "RMSprop", "Rprop", "NAdam", "RAdam", "Adamax", "Adadelta", "ASGD"])
def test_others_refuse(name):
    messages = []
    for t in (mashal, torch):
        layer = table(t)
        optimizer = getattr(t.optim, name)(layer.parameters(), lr=0.1)
        layer(t.tensor([1])).sum().backward()
        with pytest.raises(RuntimeError, match="sparse gradients") as error:
            optimizer.step()
        messages.append(str(error.value))
    assert messages[0].split(",")[0].replace("AdamW", "Adam") == messages[1].split(",")[0].replace("AdamW", "Adam")


def test_sparse_adam_refuses():
    for t in (mashal, torch):
        p = t.nn.Parameter(t.ones(3))
        optimizer = t.optim.SparseAdam([p])
        p.grad = t.ones(3)
        with pytest.raises(RuntimeError, match="does not support dense gradients"):
            optimizer.step()
        for wrong in ({"lr": 0.0}, {"eps": 0.0}, {"betas": (1.0, 0.9)}):
            with pytest.raises(ValueError, match="Invalid"):
                t.optim.SparseAdam([p], **wrong)


def test_swapped_parameters_and_state():
    results = []
    for t in (mashal, torch):
        p, q = t.nn.Parameter(t.ones(3)), t.nn.Parameter(2 * t.ones(3))
        optimizer = t.optim.Adam([p], lr=0.1)
        p.grad = t.ones(3)
        optimizer.step()
        state = optimizer.state_dict()
        state["state"] = {k: {n: v.clone() for n, v in s.items()} for k, s in state["state"].items()}
        state["param_groups"][0]["lr"] = 0.5
        q.grad = t.ones(3)
        with t.optim.swap_in_optimizer_params_and_state(optimizer, {"q": q}, state):
            optimizer.step()
        assert optimizer.param_groups[0]["lr"] == 0.1
        assert optimizer.param_groups[0]["params"][0] is p
        results.append((p, q, state["state"][0]["exp_avg"], optimizer.state[p]["exp_avg"]))
    for a, b in zip(*results, strict=True):
        same(a, b)
