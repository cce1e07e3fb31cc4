"""Every schedule against PyTorch's: chainable and closed form, checkpoints, warnings and errors."""

import copy
import warnings

import pytest
import torch

import mashal

BUILDERS = {
    "LambdaLR": lambda s, o: s.LambdaLR(o, [lambda e: 0.9**e, lambda e: 1 / (1 + e)]),
    "LambdaLR-one": lambda s, o: s.LambdaLR(o, lambda e: 0.9**e),
    "MultiplicativeLR": lambda s, o: s.MultiplicativeLR(o, lambda e: 0.9 + 0.01 * e),
    "StepLR": lambda s, o: s.StepLR(o, 3, gamma=0.5),
    "MultiStepLR": lambda s, o: s.MultiStepLR(o, [2, 5, 5, 9], gamma=0.5),
    "ConstantLR": lambda s, o: s.ConstantLR(o, factor=0.25, total_iters=4),
    "LinearLR": lambda s, o: s.LinearLR(o, start_factor=0.1, end_factor=0.8, total_iters=6),
    "ExponentialLR": lambda s, o: s.ExponentialLR(o, 0.9),
    "PolynomialLR": lambda s, o: s.PolynomialLR(o, total_iters=8, power=1.7),
    "CosineAnnealingLR": lambda s, o: s.CosineAnnealingLR(o, 5, eta_min=0.01),
    "CosineAnnealingWarmRestarts": lambda s, o: s.CosineAnnealingWarmRestarts(o, 3, T_mult=2, eta_min=0.001),
    "CyclicLR-triangular": lambda s, o: s.CyclicLR(o, 0.01, [0.1, 0.2], step_size_up=3, step_size_down=4),
    "CyclicLR-triangular2": lambda s, o: s.CyclicLR(o, 0.01, 0.1, step_size_up=3, mode="triangular2"),
    "CyclicLR-exp_range": lambda s, o: s.CyclicLR(o, 0.01, 0.1, step_size_up=3, mode="exp_range", gamma=0.9),
    "CyclicLR-function": lambda s, o: s.CyclicLR(
        o, 0.01, 0.1, step_size_up=3, scale_fn=lambda x: 1 / x, scale_mode="cycle", cycle_momentum=False
    ),
    "OneCycleLR": lambda s, o: s.OneCycleLR(o, [0.5, 0.7], total_steps=20),
    "OneCycleLR-linear": lambda s, o: s.OneCycleLR(o, 0.5, epochs=4, steps_per_epoch=5, anneal_strategy="linear"),
    "OneCycleLR-three": lambda s, o: s.OneCycleLR(o, 0.5, total_steps=20, three_phase=True, pct_start=0.4),
    "SequentialLR": lambda s, o: s.SequentialLR(
        o, [s.ConstantLR(o, 0.1, 3), s.ExponentialLR(o, 0.9), s.CosineAnnealingLR(o, 5)], [3, 7]
    ),
    "SequentialLR-restarts": lambda s, o: s.SequentialLR(
        o, [s.LinearLR(o, 0.1, total_iters=3), s.CosineAnnealingWarmRestarts(o, 4)], [3]
    ),
    "SequentialLR-nested": lambda s, o: s.SequentialLR(
        o, [s.SequentialLR(o, [s.ConstantLR(o, 0.1, 2), s.StepLR(o, 2)], [2]), s.ExponentialLR(o, 0.9)], [6]
    ),
    "ChainedScheduler": lambda s, o: s.ChainedScheduler([s.ConstantLR(o, 0.1, 3), s.ExponentialLR(o, 0.9)]),
    "SWALR": lambda s, o: mashal_or_torch(s).optim.swa_utils.SWALR(o, [0.05, 0.2], anneal_epochs=4),
    "SWALR-linear": lambda s, o: mashal_or_torch(s).optim.swa_utils.SWALR(o, 0.05, 0, "linear"),
}
ALL = pytest.mark.parametrize("name", BUILDERS)


def mashal_or_torch(schedulers):
    return mashal if schedulers is mashal.optim.lr_scheduler else torch


def make_optimizer(lib, kind="SGD", lr=0.1):
    options = {"momentum": 0.9} if kind == "SGD" else {}
    groups = [{"params": [lib.ones(2, requires_grad=True)]}, {"params": [lib.ones(3, requires_grad=True)], "lr": 0.3}]
    return getattr(lib.optim, kind)(groups, lr=lr, **options)


def build(lib, name, kind="SGD"):
    optimizer = make_optimizer(lib, kind)
    return optimizer, BUILDERS[name](lib.optim.lr_scheduler, optimizer)


def numbers(optimizer):
    keys = ("lr", "initial_lr", "momentum", "betas")
    return [{k: g[k] for k in keys if k in g} for g in optimizer.param_groups]


def close(ours, theirs):
    """Compare nested containers, floats up to a few roundings."""
    if isinstance(theirs, dict):
        assert ours.keys() == theirs.keys()
        for key, value in theirs.items():
            close(ours[key], value)
    elif isinstance(theirs, (list, tuple)):
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs, strict=True):
            close(a, b)
    elif isinstance(theirs, float):
        assert ours == pytest.approx(theirs, rel=1e-14, abs=1e-17)
    else:
        assert ours == theirs


# Sequences within sequences make their first step twice, and say so, as PyTorch's do.
@pytest.mark.filterwarnings("ignore:Detected call")
@pytest.mark.parametrize("kind", ["SGD", "Adam"])
@ALL
def test_values_and_state(name, kind):
    (ours, our_schedule), (theirs, their_schedule) = build(mashal, name, kind), build(torch, name, kind)
    for _ in range(19):
        close(numbers(ours), numbers(theirs))
        close(our_schedule.get_last_lr(), their_schedule.get_last_lr())
        close(our_schedule.state_dict(), their_schedule.state_dict())
        for optimizer, schedule in ((ours, our_schedule), (theirs, their_schedule)):
            optimizer.step()
            schedule.step()
    close(numbers(ours), numbers(theirs))


@pytest.mark.filterwarnings("ignore:Detected call")
@pytest.mark.parametrize("direction", ["ours_to_theirs", "theirs_to_ours"])
@ALL
def test_checkpoints_both_ways(name, direction):
    libs = (mashal, torch) if direction == "ours_to_theirs" else (torch, mashal)
    (source, source_schedule), (target, target_schedule) = build(libs[0], name), build(libs[1], name)
    for _ in range(6):
        source.step()
        source_schedule.step()
    target.load_state_dict(source.state_dict())
    target_schedule.load_state_dict(copy.deepcopy(source_schedule.state_dict()))
    for _ in range(10):
        for optimizer, schedule in ((source, source_schedule), (target, target_schedule)):
            optimizer.step()
            schedule.step()
        close(numbers(target), numbers(source))


@pytest.mark.parametrize("name", [n for n in BUILDERS if not n.startswith(("Sequential", "Chained", "SWALR"))])
def test_given_epoch(name):
    (ours, our_schedule), (theirs, their_schedule) = build(mashal, name), build(torch, name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for epoch in (1, 2, 7, 4, 12, 3):
            our_schedule.step(epoch)
            their_schedule.step(epoch)
            close(numbers(ours), numbers(theirs))


def test_restarts_at_fractions():
    for multiple in (1, 2):
        values = []
        for lib in (mashal, torch):
            optimizer = make_optimizer(lib)
            schedule = lib.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, 4, T_mult=multiple)
            optimizer.step()
            track = []
            for i in range(80):
                schedule.step(i / 5)
                track.append(schedule.get_last_lr())
            values.append(track)
        close(values[0], values[1])


@pytest.mark.parametrize("last_epoch", [-1, 0, 4])
@pytest.mark.parametrize("name", ["StepLR", "CosineAnnealingLR", "LinearLR", "PolynomialLR", "ExponentialLR"])
def test_resuming(name, last_epoch):
    arguments = {"StepLR": (2,), "CosineAnnealingLR": (9,), "ExponentialLR": (0.9,)}.get(name, ())
    tracks = []
    for lib in (mashal, torch):
        optimizer = make_optimizer(lib)
        for group in optimizer.param_groups:
            group["initial_lr"] = 2 * group["lr"]
        schedule = getattr(lib.optim.lr_scheduler, name)(optimizer, *arguments, last_epoch=last_epoch)
        track = [numbers(optimizer)]
        for _ in range(5):
            optimizer.step()
            schedule.step()
            track.append(numbers(optimizer))
        tracks.append(track)
    close(tracks[0], tracks[1])


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"mode": "max", "patience": 1},
        {"threshold_mode": "abs", "threshold": 0.3, "patience": 0},
        {"mode": "max", "threshold_mode": "abs", "threshold": 0.3, "patience": 2, "cooldown": 2},
        {"patience": 0, "cooldown": 3, "min_lr": 0.02, "factor": 0.5},
        {"patience": 0, "min_lr": [0.02, 0.2], "eps": 0.01},
    ],
)
def test_plateau(options):
    metrics = [3.0, 2.5, 2.6, 2.4, 2.4, 2.41, 2.39, 2.5, 2.6, 1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 0.99, 1.0, 1.1, 0.5, 0.6]
    ours, theirs = make_optimizer(mashal), make_optimizer(torch)
    our_schedule = mashal.optim.lr_scheduler.ReduceLROnPlateau(ours, **options)
    their_schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(theirs, **options)
    for value in metrics:
        our_schedule.step(mashal.tensor(value, dtype=mashal.float64))
        their_schedule.step(value)
        close(our_schedule.state_dict(), their_schedule.state_dict())
        close(numbers(ours), numbers(theirs))
    again = torch.optim.lr_scheduler.ReduceLROnPlateau(theirs)
    again.load_state_dict(our_schedule.state_dict())
    again = mashal.optim.lr_scheduler.ReduceLROnPlateau(ours)
    again.load_state_dict(their_schedule.state_dict())
    again.step(100.0)
    their_schedule.step(100.0)
    close(again.state_dict(), their_schedule.state_dict())


def test_tensor_lr_keeps_its_identity():
    p = mashal.ones(2, requires_grad=True)
    lr = mashal.tensor(0.5)
    optimizer = mashal.optim.Adam([p], lr=lr)
    schedule = mashal.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    optimizer.step()
    schedule.step()
    assert optimizer.param_groups[0]["lr"] is lr
    assert lr.item() == 0.25
    assert schedule.base_lrs[0].item() == 0.5


@pytest.mark.parametrize("lib", [mashal, torch], ids=["mashal", "torch"])
def test_warnings(lib):
    schedulers = lib.optim.lr_scheduler
    schedule = schedulers.StepLR(make_optimizer(lib), 2)
    with pytest.warns(UserWarning, match=r"Detected call of `lr_scheduler.step\(\)` before `optimizer.step\(\)`"):
        schedule.step()
    with pytest.warns(UserWarning, match=r"please use `get_last_lr\(\)`"):
        schedule.get_lr()
    with pytest.warns(UserWarning, match="The epoch parameter in"):
        schedule.step(3)
    optimizer = make_optimizer(lib)
    schedule = schedulers.StepLR(optimizer, 2)
    optimizer.step = lambda: None
    with pytest.warns(UserWarning, match=r"`optimizer.step\(\)` has been overridden"):
        schedule.step()
    plateau = schedulers.ReduceLROnPlateau(make_optimizer(lib))
    with pytest.warns(UserWarning, match="The epoch parameter in"):
        plateau.step(1.0, 3)


def bad_schedules(lib):
    s = lib.optim.lr_scheduler
    o, other = make_optimizer(lib), make_optimizer(lib)
    plain = lib.optim.Adagrad([lib.ones(2, requires_grad=True)])
    step = s.StepLR(o, 2)
    return {
        "not an optimizer": lambda: s.StepLR(3, 2),
        "not an optimizer (cyclic)": lambda: s.CyclicLR(3, 0.1, 0.2),
        "not an optimizer (one cycle)": lambda: s.OneCycleLR(3, 0.1, 2),
        "not an optimizer (plateau)": lambda: s.ReduceLROnPlateau(3),
        "lambdas": lambda: s.LambdaLR(o, [lambda e: e]),
        "not a function": lambda: s.MultiplicativeLR(o, [lambda e: e, 3]),
        "factor": lambda: s.ConstantLR(o, 1.5),
        "start factor": lambda: s.LinearLR(o, 0.0),
        "end factor": lambda: s.LinearLR(o, 0.5, 1.5),
        "no schedules": lambda: s.SequentialLR(o, [], []),
        "milestones": lambda: s.SequentialLR(o, [step], [3]),
        "two optimizers": lambda: s.SequentialLR(o, [step, s.StepLR(other, 3)], [3]),
        "plateau in sequence": lambda: s.SequentialLR(o, [step, s.ReduceLROnPlateau(o)], [3]),
        "no schedules to chain": lambda: s.ChainedScheduler([]),
        "chain of two optimizers": lambda: s.ChainedScheduler([step, s.StepLR(other, 3)]),
        "plateau factor": lambda: s.ReduceLROnPlateau(o, factor=1.0),
        "plateau mode": lambda: s.ReduceLROnPlateau(o, mode="up"),
        "plateau threshold": lambda: s.ReduceLROnPlateau(o, threshold_mode="up"),
        "plateau minima": lambda: s.ReduceLROnPlateau(o, min_lr=[1.0]),
        "cyclic mode": lambda: s.CyclicLR(o, 0.1, 0.2, mode="square"),
        "cyclic momentum": lambda: s.CyclicLR(plain, 0.1, 0.2),
        "cyclic bounds": lambda: s.CyclicLR(o, 0.1, [0.2]),
        "T_0": lambda: s.CosineAnnealingWarmRestarts(o, 0),
        "T_mult": lambda: s.CosineAnnealingWarmRestarts(o, 1, 0),
        "eta_min": lambda: s.CosineAnnealingWarmRestarts(o, 1, 1, "0"),
        "negative epoch": lambda: s.CosineAnnealingWarmRestarts(o, 1).step(-1),
        "total steps": lambda: s.OneCycleLR(o, 0.1, 0),
        "epochs": lambda: s.OneCycleLR(o, 0.1, epochs=0, steps_per_epoch=3),
        "steps per epoch": lambda: s.OneCycleLR(o, 0.1, epochs=1, steps_per_epoch=0),
        "neither": lambda: s.OneCycleLR(o, 0.1),
        "pct_start": lambda: s.OneCycleLR(o, 0.1, 10, pct_start=1.5),
        "strategy": lambda: s.OneCycleLR(o, 0.1, 10, anneal_strategy="exp"),
        "too many steps": lambda: s.OneCycleLR(o, 0.1, 3, last_epoch=-1).step(4),
        "SWA strategy": lambda: lib.optim.swa_utils.SWALR(o, 0.1, anneal_strategy="exp"),
        "SWA epochs": lambda: lib.optim.swa_utils.SWALR(o, 0.1, -1),
    }


@pytest.mark.parametrize("case", bad_schedules(mashal))
@pytest.mark.filterwarnings("ignore")
def test_errors(case):
    found = []
    for lib in (mashal, torch):
        with pytest.raises(Exception) as error:
            bad_schedules(lib)[case]()
        found.append((error.type, str(error.value)))
    assert found[0] == found[1]


def test_resuming_needs_initial_lr():
    with pytest.raises(KeyError, match="param 'initial_lr' is not specified in param_groups\\[0\\] when resuming"):
        mashal.optim.lr_scheduler.StepLR(make_optimizer(mashal), 2, last_epoch=3)
