"""Training that is interrupted in one framework, saved to a file, and goes on in the other as if nothing had been."""

from __future__ import annotations

import numpy as np
import pytest

import mashal

torch = pytest.importorskip("torch")

OPTIMIZERS = {
    "SGD": {"lr": 0.05, "momentum": 0.9, "nesterov": True},
    "Adam": {"lr": 0.01, "amsgrad": True},
    "AdamW": {"lr": 0.01},
    "RMSprop": {"lr": 0.01, "momentum": 0.5, "centered": True},
    "Adagrad": {"lr": 0.05},
    "Adadelta": {"lr": 0.5},
    "Adamax": {"lr": 0.01},
    "NAdam": {"lr": 0.01},
    "RAdam": {"lr": 0.01},
    "ASGD": {"lr": 0.01},
    "Rprop": {"lr": 0.01},
    "Adafactor": {"lr": 0.05},
    "LBFGS": {"lr": 0.1, "max_iter": 3},
    "LBFGS-wolfe": {"lr": 0.5, "max_iter": 3, "line_search_fn": "strong_wolfe"},
}
SCHEDULES = {
    "sequential": lambda s, o: s.SequentialLR(o, [s.LinearLR(o, 0.1, total_iters=4), s.CosineAnnealingLR(o, 20)], [4]),
    "one-cycle": lambda s, o: s.OneCycleLR(o, 0.05, total_steps=20, cycle_momentum=False),
    "restarts": lambda s, o: s.CosineAnnealingWarmRestarts(o, 3, T_mult=2),
    "plateau": lambda s, o: s.ReduceLROnPlateau(o, patience=0, threshold=0.5),
}
RNG = np.random.default_rng(0)
X = RNG.standard_normal((16, 4)).astype("float32")
Y = (X[:, :1] * 2 - X[:, 1:2]).astype("float32")


class Run:
    def __init__(self, t, name, schedule):
        t.manual_seed(0)
        self.t = t
        self.model = t.nn.Sequential(t.nn.Linear(4, 8), t.nn.Tanh(), t.nn.Linear(8, 1))
        kind = name.split("-")[0]
        self.optimizer = getattr(t.optim, kind)(self.model.parameters(), **OPTIMIZERS[name])
        self.schedule = SCHEDULES[schedule](t.optim.lr_scheduler, self.optimizer)
        self.parts = {"model": self.model, "optimizer": self.optimizer, "schedule": self.schedule}

    def step(self):
        def closure():
            self.optimizer.zero_grad()
            loss = self.t.nn.functional.mse_loss(self.model(self.t.tensor(X)), self.t.tensor(Y))
            loss.backward()
            return loss

        loss = self.optimizer.step(closure).detach()
        plateau = isinstance(self.schedule, self.t.optim.lr_scheduler.ReduceLROnPlateau)
        self.schedule.step(*([float(loss)] if plateau else []))
        return float(loss), [g["lr"] for g in self.optimizer.param_groups]


@pytest.mark.parametrize("direction", ["ours_to_theirs", "theirs_to_ours"])
@pytest.mark.parametrize(
    ("name", "schedule"), [*((n, "sequential") for n in OPTIMIZERS), *(("Adam", s) for s in SCHEDULES)]
)
def test_interrupted_training(name, schedule, direction, tmp_path):
    first, second = (mashal, torch) if direction == "ours_to_theirs" else (torch, mashal)
    whole = Run(first, name, schedule)
    for _ in range(6):
        whole.step()
    path = tmp_path / "checkpoint.pt"
    first.save({k: v.state_dict() for k, v in whole.parts.items()}, path)
    resumed = Run(second, name, schedule)
    for key, state in second.load(path, weights_only=False).items():
        resumed.parts[key].load_state_dict(state)
    for _ in range(5):
        a, b = whole.step(), resumed.step()
        np.testing.assert_allclose(b[0], a[0], rtol=2e-4)
        np.testing.assert_allclose(b[1], a[1], rtol=1e-9)


def test_schedules_have_pytorchs_base_class():
    s = mashal.optim.lr_scheduler
    optimizer = mashal.optim.SGD([mashal.ones(1, requires_grad=True)], lr=1.0)
    assert isinstance(s.StepLR(optimizer, 1), s.LRScheduler)
    assert isinstance(s.ReduceLROnPlateau(optimizer), s.LRScheduler)
    assert issubclass(s._LRScheduler, s.LRScheduler)


@pytest.mark.parametrize("flag", [{"foreach": True}, {"foreach": False}, {"fused": True}, {}])
def test_flags_and_named_parameters(flag):
    found = []
    for t in (mashal, torch):
        t.manual_seed(0)
        model = t.nn.Linear(3, 1)
        optimizer = t.optim.Adam(model.named_parameters(), lr=0.1, **flag)
        assert optimizer.param_groups[0]["param_names"] == ["weight", "bias"]
        for _ in range(3):
            optimizer.zero_grad()
            model(t.tensor(X[:, :3])).square().mean().backward()
            optimizer.step()
        found.append(model.weight.detach().numpy())
    np.testing.assert_allclose(*found, rtol=1e-5, atol=1e-6)
