"""Weight and spectral normalisation, parametrizations, pruning and fusion, against PyTorch."""

import copy
import warnings

import numpy as np
import pytest
import torch
import torch.nn.utils.prune
from nn_helpers import assert_close, seed, to_torch

import mashal

FRAMEWORKS = (torch, mashal)


def both(run):
    """``run`` in both frameworks from the same seed: what it returns, tensors as arrays."""
    seed()
    results = []
    for framework in FRAMEWORKS:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = run(framework, np.random.default_rng(0))
        results.append((result, [w.category.__name__ for w in caught]))
    (theirs, their_warnings), (ours, our_warnings) = results
    assert our_warnings == their_warnings
    compare(ours, theirs)


def compare(ours, theirs):
    if isinstance(theirs, torch.Tensor):
        assert_close(ours, theirs, rtol=2e-5, atol=2e-5)
    elif isinstance(theirs, dict):
        assert list(ours) == list(theirs)
        for key in theirs:
            compare(ours[key], theirs[key])
    elif isinstance(theirs, list | tuple):
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs, strict=True):
            compare(a, b)
    elif isinstance(theirs, str):
        assert ours.replace("mashal", "torch") == theirs
    else:
        assert ours == theirs


def data(framework, rng, *shape):
    return framework.tensor(rng.normal(size=shape).astype("float32"))


def state(module):
    return dict(module.state_dict())


def trained(module, x):
    """Output and gradients."""
    out = module(x)
    (out * out).sum().backward()
    return [out.detach(), {name: p.grad for name, p in module.named_parameters()}]


def error(framework, call):
    try:
        call()
    except Exception as err:  # noqa: BLE001 (the class is compared)
        return type(err).__name__
    return None


LAYERS = {
    "linear": (lambda nn: nn.Linear(3, 4), (5, 3)),
    "conv": (lambda nn: nn.Conv2d(2, 4, 3), (2, 2, 5, 5)),
    "transposed": (lambda nn: nn.ConvTranspose1d(2, 4, 3), (2, 2, 5)),
}


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("dim", [0, 1, None])
@pytest.mark.parametrize("old", [True, False])
def test_weight_norm(layer, dim, old):
    make, shape = LAYERS[layer]

    def run(framework, rng):
        nn = framework.nn
        tools = nn.utils if old else nn.utils.parametrizations
        module = tools.weight_norm(make(nn), dim=dim)
        found = [state(module), repr(module), trained(module, data(framework, rng, *shape))]
        if old:
            nn.utils.remove_weight_norm(module)
            found.append(error(framework, lambda: nn.utils.remove_weight_norm(module)))
        else:
            nn.utils.parametrize.remove_parametrizations(module, "weight")
        return [*found, state(module), len(module._forward_pre_hooks)]

    both(run)


def test_old_weight_norm_state_loads_into_the_parametrization():
    def run(framework, rng):
        nn = framework.nn
        old = nn.utils.weight_norm(nn.Linear(3, 4))
        new = nn.Sequential(nn.utils.parametrizations.weight_norm(nn.Linear(3, 4)))
        new.load_state_dict({"0." + k: v for k, v in old.state_dict().items()})
        x = data(framework, rng, 2, 3)
        return [old(x), new(x)]

    both(run)


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("old", [True, False])
def test_spectral_norm(layer, old):
    make, shape = LAYERS[layer]

    def run(framework, rng):
        nn = framework.nn
        tools = nn.utils if old else nn.utils.parametrizations
        module = tools.spectral_norm(make(nn), n_power_iterations=2)
        x = data(framework, rng, *shape)
        found = [state(module), repr(module), trained(module, x), module(x)]
        module.eval()
        found += [module(x), state(module)]
        other = tools.spectral_norm(make(nn)).eval()
        other.load_state_dict(module.state_dict())
        found.append(other(x))
        found.append(error(framework, lambda: tools.spectral_norm(make(nn), n_power_iterations=0)))
        if old:
            found.append(module.state_dict()._metadata[""])
            nn.utils.remove_spectral_norm(module)
            found.append(error(framework, lambda: nn.utils.remove_spectral_norm(module)))
        else:
            nn.utils.parametrize.remove_parametrizations(module, "weight")
        return [*found, state(module), module(x)]

    both(run)


def make_parametrizations(framework):
    class Symmetric(framework.nn.Module):
        def forward(self, x):
            return x.triu() + x.triu(1).transpose(-1, -2)

        def right_inverse(self, x):
            return x.triu()

    class Scale(framework.nn.Module):
        def __init__(self):
            super().__init__()
            self.factor = framework.nn.Parameter(framework.tensor(2.0))

        def forward(self, x):
            return x * self.factor

    class LowRank(framework.nn.Module):
        def forward(self, a, b):
            return a @ b

        def right_inverse(self, x):
            return x[:, :1], x[:1]

    class Wrong(framework.nn.Module):
        def forward(self, x):
            return x[0]

    return Symmetric, Scale, LowRank, Wrong


def test_parametrize():
    def run(framework, rng):
        nn, tools = framework.nn, framework.nn.utils.parametrize
        Symmetric, Scale, LowRank, Wrong = make_parametrizations(framework)
        module = nn.Linear(3, 3)
        x = data(framework, rng, 2, 3)
        weight = module.weight
        tools.register_parametrization(module, "weight", Symmetric())
        found = [module.parametrizations.weight.original is weight, state(module), repr(module), module(x)]
        tools.register_parametrization(module, "weight", Scale())
        found += [trained(module, x), tools.is_parametrized(module), tools.is_parametrized(module, "bias")]
        found.append(tools.type_before_parametrizations(module).__name__)
        found.append(type(module).__name__)
        found.append(error(framework, lambda: setattr(module, "weight", framework.eye(3))))  # Scale has no inverse
        found.append(error(framework, lambda: tools.register_parametrization(module, "weight", Wrong())))
        found.append(error(framework, lambda: tools.register_parametrization(module, "missing", Scale())))
        found.append(error(framework, lambda: tools.register_parametrization(nn.Linear(2, 2), "weight", Wrong())))
        with tools.cached():
            found.append(module.weight is module.weight)
        found.append(module.weight is module.weight)
        twin = copy.deepcopy(module)
        found += [twin(x), state(twin)]
        found.append(error(framework, lambda: module.__getstate__()))
        tools.remove_parametrizations(module, "weight", leave_parametrized=False)
        found += [state(module), module.weight is weight, type(module).__name__, hasattr(module, "parametrizations")]

        buffered = nn.BatchNorm1d(3)
        tools.register_parametrization(buffered, "running_mean", Scale())
        found += [[name for name, _ in buffered.named_buffers()], state(buffered)]
        tools.remove_parametrizations(buffered, "running_mean")
        found.append(state(buffered))

        several = nn.Linear(4, 3)
        tools.register_parametrization(several, "weight", LowRank())
        found += [state(several), several.weight, trained(several, data(framework, rng, 2, 4))]
        several.weight = data(framework, rng, 3, 4)
        found += [state(several)]
        found.append(error(framework, lambda: tools.remove_parametrizations(several, "weight", False)))
        target = nn.Linear(4, 3)
        tools.transfer_parametrizations_and_params(several, target)
        found += [state(target)]
        tools.remove_parametrizations(several, "weight")
        return [*found, state(several), [type(p).__name__ for p in several.parameters()]]

    both(run)


def test_a_copy_keeps_its_parametrization_when_the_original_loses_it():
    module = mashal.nn.utils.parametrizations.weight_norm(mashal.nn.Linear(2, 2))
    twin = copy.deepcopy(module)
    mashal.nn.utils.parametrize.remove_parametrizations(module, "weight")
    assert mashal.nn.utils.parametrize.is_parametrized(twin, "weight")
    mashal.testing.assert_close(twin.weight, module.weight)


@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5)])
@pytest.mark.parametrize("kind", [None, "matrix_exp", "cayley", "householder"])
@pytest.mark.parametrize("trivial", [True, False])
def test_orthogonal(shape, kind, trivial):
    def run(framework, rng):
        nn = framework.nn
        module = nn.utils.parametrizations.orthogonal(
            nn.Linear(shape[1], shape[0]).double(), orthogonal_map=kind, use_trivialization=trivial
        )
        x = framework.tensor(rng.normal(size=(2, shape[1])))
        found = [module.weight, trained(module, x)]
        target = framework.linalg.qr(framework.tensor(rng.normal(size=(5, 5))))[0][: shape[0], : shape[1]]
        if shape[0] != shape[1]:
            target = framework.linalg.qr(target if shape[0] > shape[1] else target.mT)[0]
            target = target if shape[0] > shape[1] else target.mT
        found.append(error(framework, lambda: setattr(module, "weight", target)))
        # The rest of a rectangular base is drawn from rounded values: only what it must give is compared.
        return [*found, module.weight] if found[-1] is None else found

    both(run)


def test_orthogonal_errors():
    def run(framework, rng):
        nn = framework.nn
        make = nn.utils.parametrizations.orthogonal
        return [
            error(framework, lambda: make(nn.Linear(2, 2), "bias")),
            error(framework, lambda: make(nn.Linear(2, 2), "missing")),
            error(framework, lambda: make(nn.Linear(2, 2), orthogonal_map="other")),
        ]

    both(run)


PRUNINGS = {
    "identity": lambda p, m: p.identity(m, "weight"),
    "random": lambda p, m: p.random_unstructured(m, "weight", amount=0.4),
    "l1": lambda p, m: p.l1_unstructured(m, "weight", amount=3),
    "random rows": lambda p, m: p.random_structured(m, "weight", amount=2, dim=0),
    "ln": lambda p, m: p.ln_structured(m, "weight", amount=0.3, n=2, dim=1),
    "ln inf": lambda p, m: p.ln_structured(m, "weight", amount=1, n=float("inf"), dim=0),
    "none": lambda p, m: p.random_unstructured(m, "weight", amount=0),
}


@pytest.mark.parametrize("first", PRUNINGS)
@pytest.mark.parametrize("second", [None, "l1", "ln", "identity"])
def test_prune(first, second):
    def run(framework, rng):
        nn, prune = framework.nn, framework.nn.utils.prune
        module = nn.Linear(5, 6)
        found = [prune.is_pruned(module)]
        PRUNINGS[first](prune, module)
        if second is not None:
            PRUNINGS[second](prune, module)
        x = data(framework, rng, 2, 5)
        found += [prune.is_pruned(module), state(module), [n for n, _ in module.named_parameters()]]
        found += [len(module._forward_pre_hooks), trained(module, x), module.weight]
        prune.remove(module, "weight")
        found += [state(module), prune.is_pruned(module), len(module._forward_pre_hooks), module(x)]
        found.append(error(framework, lambda: prune.remove(module, "weight")))
        return found

    both(run)


def test_prune_globally_and_by_mask():
    def run(framework, rng):
        nn, prune = framework.nn, framework.nn.utils.prune
        net = nn.Sequential(nn.Linear(4, 5), nn.Linear(5, 3))
        pairs = [(net[0], "weight"), (net[1], "weight"), (net[1], "bias")]
        prune.global_unstructured(pairs, pruning_method=prune.L1Unstructured, amount=0.5)
        found = [state(net)]
        prune.custom_from_mask(net[0], "bias", framework.tensor([1, 0, 1, 0, 1]))
        found += [state(net), net(data(framework, rng, 2, 4))]
        t = data(framework, rng, 3, 4)
        found.append(prune.L1Unstructured(amount=5).prune(t))
        found.append(prune.L1Unstructured(amount=5).prune(t, importance_scores=-t))
        make = nn.Linear(3, 2)
        found += [
            error(framework, lambda: prune.L1Unstructured(amount=1.5)),
            error(framework, lambda: prune.L1Unstructured(amount="x")),
            error(framework, lambda: prune.L1Unstructured(amount=-1)),
            error(framework, lambda: prune.l1_unstructured(make, "weight", amount=7)),
            error(framework, lambda: prune.ln_structured(make, "bias", amount=1, n=2, dim=0)),
            error(framework, lambda: prune.ln_structured(make, "weight", amount=1, n=2, dim=4)),
            error(framework, lambda: prune.global_unstructured(3, prune.L1Unstructured, amount=1)),
            error(framework, lambda: prune.PruningContainer().add_pruning_method(3)),
        ]
        return [*found, list(make.state_dict())]

    both(run)


@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("bias", [True, False])
def test_fusion(affine, bias):
    def run(framework, rng):
        nn = framework.nn

        def ready(bn):
            bn.running_mean.copy_(data(framework, rng, bn.num_features))
            bn.running_var.copy_(data(framework, rng, bn.num_features).abs() + 0.5)
            if affine:
                framework.nn.init.normal_(bn.weight)
                framework.nn.init.normal_(bn.bias)
            return bn.eval()

        conv = nn.Conv2d(2, 4, 3, bias=bias).eval()
        fused = nn.utils.fuse_conv_bn_eval(conv, ready(nn.BatchNorm2d(4, affine=affine)))
        up = nn.ConvTranspose2d(2, 4, 3, bias=bias).eval()
        fused_up = nn.utils.fuse_conv_bn_eval(up, ready(nn.BatchNorm2d(4, affine=affine)), transpose=True)
        x = data(framework, rng, 2, 2, 5, 5)
        found = [state(fused), fused(x), fused_up(x)]
        if affine:
            linear = nn.Linear(3, 4, bias=bias).eval()
            fused = nn.utils.fuse_linear_bn_eval(linear, ready(nn.BatchNorm1d(4)))
            found += [fused(data(framework, rng, 2, 3))]
        found.append(error(framework, lambda: nn.utils.fuse_conv_bn_eval(conv.train(), nn.BatchNorm2d(4))))
        return found

    both(run)


def test_skip_init_and_memory_formats():
    def run(framework, rng):
        nn = framework.nn
        made = nn.utils.skip_init(nn.Linear, 3, 4)
        net = nn.Sequential(nn.Conv2d(2, 3, 3), nn.Conv3d(2, 3, 3), nn.ConvTranspose2d(2, 3, 3), nn.Linear(2, 2))
        nn.utils.convert_conv2d_weight_memory_format(net, framework.channels_last)
        nn.utils.convert_conv3d_weight_memory_format(net, framework.channels_last_3d)
        return [
            repr(made),
            [tuple(p.shape) for p in made.parameters()],
            [tuple(p.stride()) for p in net.parameters()],
            error(framework, lambda: nn.utils.skip_init(nn.Identity)),
            error(framework, lambda: nn.utils.skip_init(dict)),
        ]

    both(run)


def test_geqrf():
    a = np.random.default_rng(0).normal(size=(2, 4, 3))
    for t in (a, a.swapaxes(1, 2), a[0].astype("float32")):
        ours, theirs = mashal.geqrf(mashal.tensor(t)), torch.geqrf(torch.tensor(t))
        assert_close(tuple(ours), tuple(theirs))
        assert type(ours)._fields if hasattr(type(ours), "_fields") else ours.tau is ours[1]
    assert to_torch(mashal.linalg.householder_product(*mashal.geqrf(mashal.tensor(a)))).shape == (2, 4, 3)
