"""``func``: transforms of functions and stateless calls of modules, against PyTorch."""

import warnings

import numpy as np
import pytest
import torch
import torch.func

import mashal
import mashal.func

FRAMEWORKS = (torch, mashal)


def compare(ours, theirs):
    if isinstance(theirs, torch.Tensor):
        assert tuple(ours.shape) == tuple(theirs.shape)
        assert ours.requires_grad == theirs.requires_grad
        np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=1e-6, atol=1e-8)
    elif isinstance(theirs, dict):
        assert list(ours) == list(theirs)
        for key in theirs:
            compare(ours[key], theirs[key])
    elif isinstance(theirs, tuple | list):
        assert type(ours) is type(theirs)
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs, strict=True):
            compare(a, b)
    else:
        assert ours == theirs


def both(run):
    x, y = np.random.default_rng(0).normal(size=(2, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch's own forward mode warns of its means
        results = [run(fw, fw.tensor(x), fw.tensor(y)) for fw in FRAMEWORKS]
    compare(results[1], results[0])


def apply(pair, *args):
    """The value, and the product with each argument."""
    value, product = pair
    return value, [product(a) for a in args]


TRANSFORMS = {
    "grad": lambda fw, x, y: fw.func.grad(lambda a, b: (a.sin() * b).sum())(x, y),
    "grad of the second": lambda fw, x, y: fw.func.grad(lambda a, b: (a.sin() * b).sum(), argnums=1)(x, y),
    "grad of both": lambda fw, x, y: fw.func.grad(lambda a, b: (a.sin() * b).sum(), argnums=(0, 1))(x, y),
    "grad with aux": lambda fw, x, y: fw.func.grad(lambda a: ((a * a).sum(), {"twice": a * 2}), has_aux=True)(x),
    "grad of a mapping": lambda fw, x, y: fw.func.grad(lambda p: (p["a"] * p["b"][0]).sum())({"a": x, "b": [y]}),
    "grad of grad": lambda fw, x, y: fw.func.grad(lambda a: fw.func.grad(lambda b: (b**3).sum())(a).sum())(x),
    "grad inside": lambda fw, x, y: fw.func.grad(lambda a: (a * fw.func.grad(lambda b: (a * b**2).sum())(y)).sum())(x),
    "unused": lambda fw, x, y: fw.func.grad(lambda a, b: (b * b).sum() + 0 * a.sum())(x, y),
    "value": lambda fw, x, y: fw.func.grad_and_value(lambda a: (a.exp()).sum())(x),
    "value with aux": lambda fw, x, y: fw.func.grad_and_value(lambda a: (a.exp().sum(), a), has_aux=True)(x),
    "vjp": lambda fw, x, y: apply(fw.func.vjp(lambda a: a.sin(), x), y),
    "vjp of two": lambda fw, x, y: apply(fw.func.vjp(lambda a, b: (a * b, a + b), x, y), (x, y)),
    "jvp": lambda fw, x, y: fw.func.jvp(lambda a: a.sin() * a, (x,), (y,)),
    "jvp of two": lambda fw, x, y: fw.func.jvp(lambda a, b: (a * b, a), (x, y), (y, x)),
    "jvp with aux": lambda fw, x, y: fw.func.jvp(lambda a: (a * a, a), (x,), (y,), has_aux=True),
    "linearize": lambda fw, x, y: apply(fw.func.linearize(lambda a: a.sin() * a, x), y, x),
    "jacrev": lambda fw, x, y: fw.func.jacrev(lambda a: fw.outer(a, a))(x),
    "jacrev of both": lambda fw, x, y: fw.func.jacrev(lambda a, b: a * b.sum(), argnums=(0, 1))(x, y),
    "jacrev of containers": lambda fw, x, y: fw.func.jacrev(lambda p: {"s": p["a"].sin(), "t": p["b"]})(
        {"a": x, "b": y}
    ),
    "jacfwd": lambda fw, x, y: fw.func.jacfwd(lambda a: fw.outer(a, a))(x),
    "hessian": lambda fw, x, y: fw.func.hessian(lambda a: (a**3).sum() + a[0] * a[1])(x),
    "jacobian of a gradient": lambda fw, x, y: fw.func.jacrev(fw.func.grad(lambda a: (a.sin() * a).sum()))(x),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms(name):
    both(lambda fw, x, y: TRANSFORMS[name](fw, x, y))


def test_gradients_reach_tensors_outside():
    def run(fw, x, y):
        y.requires_grad_()
        g = fw.func.grad(lambda a: (a * a * y).sum())(x)
        g.sum().backward()
        return g, y.grad

    both(run)


@pytest.mark.parametrize(
    "call",
    [
        lambda fw, x: fw.func.grad(lambda a: a)(x),
        lambda fw, x: fw.func.grad(lambda a: 3)(x),
        lambda fw, x: fw.func.grad(lambda a: a.sum(), argnums=2)(x),
        lambda fw, x: fw.func.grad(lambda a: a.sum(), has_aux=True)(x),
        lambda fw, x: fw.func.grad(lambda a: a.sum())(fw.tensor([1, 2])),
        lambda fw, x: fw.func.jvp(lambda a: a, x, x),
    ],
)
def test_errors(call):
    kinds = []
    for fw in FRAMEWORKS:
        with pytest.raises(Exception) as caught:
            call(fw, fw.ones(3))
        kinds.append(caught.type.__name__)
    assert kinds[0] == kinds[1]


def net(fw):
    fw.manual_seed(0)
    nn = fw.nn
    model = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3), nn.Linear(3, 3)).double()
    model[2].weight = model[0].weight
    return model


def test_functional_call():
    def run(fw, x, y):
        model, batch = net(fw), fw.stack([x, y])
        params = {name: p.detach() + 1 for name, p in model.named_parameters()}
        buffers = {name: b.clone() for name, b in model.named_buffers()}
        call = fw.func.functional_call
        found = [call(model, params, batch), call(model, (params, buffers), (batch,)), buffers]
        found += [call(model, params, batch, tie_weights=False), model(batch), dict(model.state_dict())]
        model.eval()
        found.append(fw.func.grad(lambda p: (call(model, p, (batch,)) ** 2).sum())(params))
        found.append(call(model, {"0.bias": params["0.bias"], "0.other": batch}, batch))
        with pytest.warns(FutureWarning):
            found.append(fw.nn.utils.stateless.functional_call(model, params, batch))
        return found

    both(run)


@pytest.mark.parametrize(
    "call",
    [
        lambda fw, m, x: fw.func.functional_call(m, {"missing.weight": x}, x),
        lambda fw, m, x: fw.func.functional_call(m, {"0.forward": x}, x),
        lambda fw, m, x: fw.func.functional_call(m, {"0.weight": x, "2.weight": x + 1}, x),
        lambda fw, m, x: fw.func.functional_call(m, {"0.weight": x}, x, strict=True),
        lambda fw, m, x: fw.func.functional_call(m, ({"0.weight": x}, {"0.weight": x}), x),
        lambda fw, m, x: fw.func.functional_call(m, 3, x),
        lambda fw, m, x: fw.func.stack_module_state([]),
        lambda fw, m, x: fw.func.stack_module_state([m, m[0]]),
        lambda fw, m, x: fw.func.stack_module_state([fw.nn.Linear(1, 1), fw.nn.Linear(1, 1).eval()]),
    ],
)
def test_functional_call_errors(call):
    kinds = []
    for fw in FRAMEWORKS:
        model = net(fw)
        with pytest.raises(Exception) as caught:
            call(fw, model, fw.ones(3, 3).double())
        kinds.append(caught.type.__name__)
        assert isinstance(model[0].weight, fw.nn.Parameter)
    assert kinds[0] == kinds[1]


def test_stacked_state_and_batch_norm():
    def run(fw, x, y):
        models = [net(fw) for _ in range(2)]
        params, buffers = fw.func.stack_module_state(models)
        bare = fw.func.replace_all_batch_norm_modules_(models[0])
        return params, buffers, bare(fw.stack([x, y])), list(bare.state_dict())

    both(run)


def test_data_parallel_without_a_gpu():
    def run(fw, x, y):
        model = fw.nn.DataParallel(net(fw))
        batch = fw.stack([x, y])
        out = model(batch)
        return out, list(model.state_dict()), repr(model)

    both(lambda fw, x, y: [r.replace("mashal", "torch") if isinstance(r, str) else r for r in run(fw, x, y)])


def test_parts_of_data_parallel():
    from mashal.nn import parallel

    layer = mashal.nn.Linear(2, 3)
    parts = parallel.scatter({"x": mashal.ones(5, 2), "n": 3}, ["cpu", "cpu"])
    assert [(tuple(p["x"].shape), p["n"]) for p in parts] == [((3, 2), 3), ((2, 2), 3)]
    replicas = parallel.replicate(layer, ["cpu", "cpu"])
    outputs = parallel.parallel_apply(replicas, [(p["x"],) for p in parts])
    joined = parallel.gather(outputs, "cpu")
    mashal.testing.assert_close(joined, layer(mashal.ones(5, 2)))
    joined.sum().backward()
    mashal.testing.assert_close(layer.bias.grad, mashal.full((3,), 5.0))
