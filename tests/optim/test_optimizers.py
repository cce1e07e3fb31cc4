"""Every optimizer against PyTorch's: the same parameters and gradients, several steps, all options."""

import copy
import pickle

import numpy as np
import pytest
import torch

import mashal

OPTIONS = {
    "SGD": [
        {},
        {"lr": 0.1, "momentum": 0.9},
        {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01},
        {"lr": 0.1, "momentum": 0.8, "dampening": 0.3, "maximize": True},
        {"lr": 0.1, "weight_decay": 0.1},
    ],
    "Adam": [
        {},
        {"lr": 0.01, "betas": (0.8, 0.9), "eps": 1e-6},
        {"lr": 0.01, "weight_decay": 0.1},
        {"lr": 0.01, "amsgrad": True},
        {"lr": 0.01, "amsgrad": True, "maximize": True, "weight_decay": 0.1},
        {"lr": 0.01, "decoupled_weight_decay": True, "weight_decay": 0.1},
    ],
    "AdamW": [{}, {"lr": 0.01, "weight_decay": 0.5}, {"lr": 0.01, "amsgrad": True, "maximize": True}],
    "RMSprop": [
        {},
        {"momentum": 0.9},
        {"centered": True},
        {"centered": True, "momentum": 0.9, "weight_decay": 0.1, "maximize": True},
    ],
    "Adagrad": [
        {},
        {"lr_decay": 0.1, "weight_decay": 0.1},
        {"initial_accumulator_value": 0.5, "eps": 1e-3, "maximize": True},
    ],
    "Adadelta": [{}, {"lr": 0.5, "rho": 0.8, "weight_decay": 0.1}, {"maximize": True}],
    "Adamax": [{}, {"lr": 0.1, "weight_decay": 0.1}, {"maximize": True, "betas": (0.5, 0.7)}],
    "NAdam": [
        {},
        {"lr": 0.01, "momentum_decay": 0.1, "weight_decay": 0.1},
        {"decoupled_weight_decay": True, "weight_decay": 0.1, "maximize": True},
    ],
    "RAdam": [
        {},
        {"lr": 0.1, "weight_decay": 0.1},
        {"decoupled_weight_decay": True, "weight_decay": 0.1, "maximize": True},
        {"betas": (0.9, 0.5)},
    ],
    "ASGD": [{}, {"lr": 0.1, "lambd": 0.01, "weight_decay": 0.1}, {"t0": 2, "alpha": 0.5, "maximize": True}],
    "Rprop": [{}, {"etas": (0.3, 1.5), "step_sizes": (1e-3, 0.1)}, {"maximize": True}],
    "Adafactor": [{}, {"lr": 0.1, "weight_decay": 0.1, "d": 2.0, "eps": (1e-6, 1e-2)}, {"maximize": True}],
}
CASES = [(name, options) for name, many in OPTIONS.items() for options in many]
IDS = [f"{name}-{'-'.join(options) or 'defaults'}" for name, options in CASES]
SHAPES = [(3, 4), (5,), (), (2, 3, 4)]
# One rounding more or less in a step: relative to the dtype's machine epsilon.
TOLERANCE = {"float32": {"rtol": 2e-6, "atol": 1e-7}, "float64": {"rtol": 2e-14, "atol": 1e-15}}


def make(lib, arrays):
    return [lib.tensor(a).requires_grad_() for a in arrays]


def set_grads(lib, params, arrays):
    for p, a in zip(params, arrays, strict=True):
        p.grad = None if a is None else lib.tensor(a)


def draws(seed, dtype, steps=6, shapes=SHAPES):
    rng = np.random.default_rng(seed)

    def draw():
        arrays = [np.asarray(rng.standard_normal(s)) for s in shapes]
        if dtype.startswith("complex"):
            arrays = [a + 1j * rng.standard_normal(a.shape) for a in arrays]
        return [np.asarray(a, dtype=dtype) for a in arrays]

    grads = [draw() for _ in range(steps)]
    if len(shapes) > 1:
        grads[0][1] = None  # a parameter that joins one step later
    return draw(), grads


def compare(ours, theirs, **tolerance):
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), **tolerance)


def compare_state(ours, theirs, **tolerance):
    """Compare two state dictionaries; keys and non-tensors must be the same."""
    ours, theirs = ours.state_dict(), theirs.state_dict()
    assert ours["param_groups"] == theirs["param_groups"]
    assert ours["state"].keys() == theirs["state"].keys()
    for key, theirs_of in theirs["state"].items():
        ours_of = ours["state"][key]
        assert ours_of.keys() == theirs_of.keys()
        for name, value in theirs_of.items():
            assert str(ours_of[name].dtype).split(".")[1] == str(value.dtype).split(".")[1]
            np.testing.assert_allclose(ours_of[name].numpy(), value.numpy(), err_msg=name, **tolerance)


def translate(value, lib):
    """Turn a state dictionary of one library into the other's."""
    if isinstance(value, (torch.Tensor, mashal.Tensor)):
        return lib.tensor(value.detach().numpy())
    if isinstance(value, dict):
        return {k: translate(v, lib) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(translate(v, lib) for v in value)
    return value


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("name", "options"), CASES, ids=IDS)
def test_steps(name, options, dtype):
    start, grads = draws(0, dtype)
    ours, theirs = make(mashal, start), make(torch, start)
    our_optimizer = getattr(mashal.optim, name)(ours, **options)
    their_optimizer = getattr(torch.optim, name)(theirs, **options)
    for step_grads in grads:
        set_grads(mashal, ours, step_grads)
        set_grads(torch, theirs, step_grads)
        our_optimizer.step()
        their_optimizer.step()
        compare(ours, theirs, **TOLERANCE[dtype])
    compare_state(our_optimizer, their_optimizer, **TOLERANCE[dtype])
    assert repr(our_optimizer) == repr(their_optimizer)


@pytest.mark.parametrize(("name", "options"), CASES, ids=IDS)
def test_tensors_that_fused_kernels_do_not_take(name, options):
    # Transposed parameters and gradients.
    start, grads = draws(1, "float64", shapes=[(3, 4)])
    ours, theirs = [mashal.tensor(start[0]).T.requires_grad_()], [torch.tensor(start[0]).T.requires_grad_()]
    our_optimizer = getattr(mashal.optim, name)(ours, **options)
    their_optimizer = getattr(torch.optim, name)(theirs, **options)
    for step_grads in grads:
        ours[0].grad = mashal.tensor(step_grads[0]).T
        theirs[0].grad = torch.tensor(step_grads[0]).T
        our_optimizer.step()
        their_optimizer.step()
    compare(ours, theirs, **TOLERANCE["float64"])


@pytest.mark.parametrize(("name", "options"), CASES, ids=IDS)
def test_complex(name, options):
    if name == "Adafactor":
        start, grads = draws(2, "complex128")
        params = make(mashal, start)
        set_grads(mashal, params, grads[1])
        with pytest.raises(RuntimeError, match="Adafactor does not support complex parameters"):
            mashal.optim.Adafactor(params).step()
        return
    start, grads = draws(2, "complex128")
    ours, theirs = make(mashal, start), make(torch, start)
    our_optimizer = getattr(mashal.optim, name)(ours, **options)
    their_optimizer = getattr(torch.optim, name)(theirs, **options)
    for step_grads in grads:
        set_grads(mashal, ours, step_grads)
        set_grads(torch, theirs, step_grads)
        our_optimizer.step()
        their_optimizer.step()
    compare(ours, theirs, **TOLERANCE["float64"])
    compare_state(our_optimizer, their_optimizer, **TOLERANCE["float64"])


def muon_pair(dtype="float32", **options):
    start, grads = draws(3, dtype, shapes=[(3, 4), (6, 2)])
    grads[0] = grads[1]  # PyTorch's Muon wants every gradient
    ours, theirs = make(mashal, start), make(torch, start)
    return (
        ours,
        theirs,
        mashal.optim.Muon(ours, **options),
        torch.optim.Muon(theirs, **options),
        grads,
    )


@pytest.mark.parametrize(
    "options", [{}, {"nesterov": False, "lr": 0.1}, {"adjust_lr_fn": "match_rms_adamw"}, {"adjust_lr_fn": "original"}]
)
def test_muon(options):
    ours, theirs, our_optimizer, their_optimizer, grads = muon_pair(**options)
    for step_grads in grads:
        set_grads(mashal, ours, step_grads)
        set_grads(torch, theirs, step_grads)
        our_optimizer.step()
        their_optimizer.step()
    # The orthogonalised update is bfloat16: one unit in its last place is 2**-8 of a step of about lr.
    compare(ours, theirs, rtol=0, atol=len(grads) * options.get("lr", 1e-3) * 2**-7)
    compare_state(our_optimizer, their_optimizer, rtol=1e-6)
    assert repr(our_optimizer) == repr(their_optimizer)


def test_muon_wants_matrices():
    with pytest.raises(ValueError, match="Muon only supports 2D parameters"):
        mashal.optim.Muon([mashal.zeros(3, requires_grad=True)])


@pytest.mark.parametrize("direction", ["ours_to_theirs", "theirs_to_ours"])
@pytest.mark.parametrize(("name", "options"), CASES, ids=IDS)
def test_checkpoints_both_ways(name, options, direction):
    start, grads = draws(4, "float32")
    libs = (mashal, torch) if direction == "ours_to_theirs" else (torch, mashal)
    first = make(libs[0], start)
    source = getattr(libs[0].optim, name)(first, **options)
    for step_grads in grads[:3]:
        set_grads(libs[0], first, step_grads)
        source.step()
    second = make(libs[1], [p.detach().numpy() for p in first])
    target = getattr(libs[1].optim, name)(second)
    target.load_state_dict(translate(source.state_dict(), libs[1]))
    for step_grads in grads[3:]:
        set_grads(libs[0], first, step_grads)
        set_grads(libs[1], second, step_grads)
        source.step()
        target.step()
    compare(first, second, **TOLERANCE["float32"])


@pytest.mark.parametrize("name", OPTIONS)
def test_copy_and_pickle(name):
    start, grads = draws(5, "float64")
    params = make(mashal, start)
    optimizer = getattr(mashal.optim, name)(params)
    set_grads(mashal, params, grads[1])
    optimizer.step()
    clone = copy.deepcopy(optimizer)
    again = pickle.loads(pickle.dumps(optimizer))
    set_grads(mashal, params, grads[2])
    optimizer.step()
    for other in (clone, again):
        others = other.param_groups[0]["params"]
        set_grads(mashal, others, grads[2])
        other.step()
        compare(others, params)


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW"])
def test_implementation_options_change_nothing(name):
    start, grads = draws(6, "float32")
    results = []
    for options in ({}, {"foreach": True}, {"fused": True}):
        params = make(mashal, start)
        optimizer = getattr(mashal.optim, name)(params, **options)
        for step_grads in grads:
            set_grads(mashal, params, step_grads)
            optimizer.step()
        results.append(params)
    compare(results[0], results[1])
    compare(results[0], results[2])


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "NAdam", "RAdam", "ASGD", "Adadelta"])
def test_tensor_lr(name):
    start, grads = draws(7, "float64")
    ours, theirs = make(mashal, start), make(torch, start)
    our_optimizer = getattr(mashal.optim, name)(ours, lr=mashal.tensor(0.01, dtype=mashal.float64))
    their_optimizer = getattr(torch.optim, name)(theirs, lr=torch.tensor(0.01, dtype=torch.float64))
    for step_grads in grads:
        set_grads(mashal, ours, step_grads)
        set_grads(torch, theirs, step_grads)
        our_optimizer.step()
        their_optimizer.step()
    compare(ours, theirs, **TOLERANCE["float64"])


@pytest.mark.parametrize("name", ["Adam", "AdamW", "RMSprop", "Adadelta", "Adamax", "NAdam", "RAdam", "ASGD", "Rprop"])
def test_capturable_gives_the_same_steps(name):
    start, grads = draws(8, "float64")
    results = []
    for capturable in (False, True):
        params = make(mashal, start)
        optimizer = getattr(mashal.optim, name)(params, capturable=capturable)
        for step_grads in grads:
            set_grads(mashal, params, step_grads)
            optimizer.step()
        results.append(params)
    # A captured step computes its factors from the float32 step count.
    compare(results[0], results[1], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("SGD", {"weight_decay": 0.1}),
        ("Adam", {}),
        ("AdamW", {}),
        ("RMSprop", {"lr": 0.1, "momentum": 0.9}),
        ("Adagrad", {"lr": 0.1}),
        ("Adadelta", {"lr": 0.1}),
        ("NAdam", {"lr": 0.1}),
        ("RAdam", {"lr": 0.1}),
        ("ASGD", {"lr": 0.1, "lambd": 0.1}),
    ],
)
def test_differentiable(name, options):
    # The gradient of a loss after three steps with respect to the start and, where PyTorch has it, the learning rate.
    results = []
    start, grads = draws(9, "float64", shapes=[(3,)])
    for lib in (mashal, torch):
        lr = lib.tensor(0.1, dtype=lib.float64, requires_grad=True)
        leaf = lib.tensor(start[0], requires_grad=True)
        p = leaf.clone()
        p.retain_grad()
        optimizer = getattr(lib.optim, name)([p], **{"lr": lr, **options}, differentiable=True)
        for step_grads in grads[1:4]:
            p.grad = lib.tensor(step_grads[0]) * leaf
            optimizer.step()
        p.square().sum().backward()
        results.append((leaf.grad, lr.grad))
    for ours, theirs in zip(*results, strict=True):
        assert (ours is None) == (theirs is None)
        if ours is not None:
            np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-5)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("SGD", {"momentum": 0.9}),
        ("SGD", {"momentum": 0.9, "nesterov": True}),
        ("Adam", {"amsgrad": True}),
        ("Adamax", {}),
        ("Rprop", {}),
        ("ASGD", {"lambd": 0.1}),
    ],
)
def test_differentiable_against_differences(name, options):
    # PyTorch raises for these, over several steps or for a learning rate, or (SGD) cuts the first momentum off.
    start, grads = draws(10, "float64", shapes=[(3,)])

    def final(lr, leaf):
        p = leaf.clone()
        p.retain_grad()
        optimizer = getattr(mashal.optim, name)([p], **{"lr": lr, **options}, differentiable=True)
        for step_grads in grads[1:4]:
            p.grad = mashal.tensor(step_grads[0]) * leaf
            optimizer.step()
        return p.square().sum()

    leaf = mashal.tensor(start[0], requires_grad=True)
    lr = mashal.tensor(0.1, dtype=mashal.float64, requires_grad=name != "Rprop")
    final(lr, leaf).backward()
    h = 1e-6
    for i in range(3):
        shift = mashal.tensor(np.eye(3)[i] * h)
        ends = [mashal.tensor(start[0], requires_grad=True) + sign * shift for sign in (1, -1)]
        slope = (final(0.1, ends[0]) - final(0.1, ends[1])).item() / (2 * h)
        assert leaf.grad[i].item() == pytest.approx(slope, rel=1e-5, abs=1e-8)
    if lr.requires_grad:
        again = mashal.tensor(start[0], requires_grad=True)
        h = 1e-3 if name == "ASGD" else h  # its step size is kept in float32
        slope = (final(0.1 + h, again) - final(0.1 - h, again)).item() / (2 * h)
        assert lr.grad.item() == pytest.approx(slope, rel=1e-3 if name == "ASGD" else 1e-5)


def rosenbrock(p):
    return (1 - p[0]) ** 2 + 100 * (p[1] - p[0] ** 2) ** 2


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"lr": 0.1, "history_size": 3},
        {"line_search_fn": "strong_wolfe"},
        {"line_search_fn": "strong_wolfe", "history_size": 2, "max_iter": 4},
        {"line_search_fn": "strong_wolfe", "max_eval": 7},
        {"lr": 3.0, "line_search_fn": "strong_wolfe"},
    ],
)
@pytest.mark.parametrize("objective", [rosenbrock, lambda p: (p**4).sum() + (p[0] * p[1]).sin() + p.square().sum()])
def test_lbfgs(options, objective):
    tracks, optimizers = [], []
    for lib in (mashal, torch):
        p = lib.tensor([-1.2, 1.0], dtype=lib.float64, requires_grad=True)
        optimizer = lib.optim.LBFGS([p], **options)
        losses = []

        def closure(p=p, optimizer=optimizer, losses=losses):
            optimizer.zero_grad()
            loss = objective(p)
            loss.backward()
            losses.append(float(loss.detach()))
            return loss

        for _ in range(5):
            optimizer.step(closure)
        tracks.append((losses, p))
        optimizers.append(optimizer)
    assert len(tracks[0][0]) == len(tracks[1][0])
    # Near a minimum, steps without a line search multiply a rounding error by ten each (in PyTorch alone as well).
    compared = slice(None if "line_search_fn" in options else 40)
    np.testing.assert_allclose(tracks[0][0][compared], tracks[1][0][compared], rtol=1e-8, atol=1e-12)
    if "line_search_fn" in options:
        compare([tracks[0][1]], [tracks[1][1]], rtol=1e-8, atol=1e-10)
    states = [next(iter(o.state_dict()["state"].values())) for o in optimizers]
    assert states[0].keys() == states[1].keys()
    assert [states[0][k] for k in ("func_evals", "n_iter")] == [states[1][k] for k in ("func_evals", "n_iter")]


def test_lbfgs_errors():
    p, q = mashal.zeros(2, requires_grad=True), mashal.zeros(2, requires_grad=True)
    with pytest.raises(ValueError, match="LBFGS doesn't support per-parameter options"):
        mashal.optim.LBFGS([{"params": [p]}, {"params": [q]}])
    optimizer = mashal.optim.LBFGS([p], line_search_fn="golden")

    def closure():
        optimizer.zero_grad()
        loss = (p - 1).square().sum()
        loss.backward()
        return loss

    with pytest.raises(RuntimeError, match="only 'strong_wolfe' is supported"):
        optimizer.step(closure)


BAD_OPTIONS = [
    ("SGD", {"lr": -1}),
    ("SGD", {"momentum": -1}),
    ("SGD", {"weight_decay": -1}),
    ("SGD", {"nesterov": True}),
    ("SGD", {"fused": True, "foreach": True}),
    ("SGD", {"fused": True, "differentiable": True}),
    ("Adam", {"lr": -1}),
    ("Adam", {"eps": -1}),
    ("Adam", {"betas": (1.0, 0.5)}),
    ("Adam", {"betas": (0.5, -0.1)}),
    ("Adam", {"weight_decay": -1}),
    ("Adam", {"fused": True, "foreach": True}),
    ("AdamW", {"weight_decay": -1}),
    ("RMSprop", {"alpha": -1}),
    ("RMSprop", {"momentum": -1}),
    ("Adagrad", {"lr_decay": -1}),
    ("Adagrad", {"initial_accumulator_value": -1}),
    ("Adadelta", {"rho": 1.5}),
    ("Adamax", {"betas": (0.0, 1.0)}),
    ("NAdam", {"momentum_decay": -1}),
    ("RAdam", {"eps": -1}),
    ("ASGD", {"weight_decay": -1}),
    ("Rprop", {"etas": (1.1, 1.2)}),
    ("LBFGS", {"lr": -1}),
    ("Adafactor", {"beta2_decay": 0.5}),
    ("Adafactor", {"d": 0.5}),
    ("Adafactor", {"eps": (-1.0, 1.0)}),
    ("Muon", {"momentum": -1}),
    ("Muon", {"adjust_lr_fn": "other"}),
]


@pytest.mark.parametrize(("name", "options"), BAD_OPTIONS)
def test_bad_options(name, options):
    messages = []
    for lib in (mashal, torch):
        with pytest.raises((ValueError, RuntimeError)) as error:
            getattr(lib.optim, name)([lib.zeros(2, 2, requires_grad=True)], **options)
        messages.append((error.type, str(error.value)))
    assert messages[0] == messages[1]
