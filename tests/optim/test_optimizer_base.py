"""Parameter groups, hooks, checkpoints and their errors, against PyTorch's."""

import importlib

import pytest
import torch

import mashal

LIBS = pytest.mark.parametrize("lib", [mashal, torch], ids=["mashal", "torch"])


def optimizer_module(lib):
    return importlib.import_module(f"{lib.__name__}.optim.optimizer")


def params(lib, *shapes):
    return [lib.ones(s, requires_grad=True) for s in shapes or [(2, 3), (4,)]]


def step_once(lib, optimizer):
    for group in optimizer.param_groups:
        for p in group["params"]:
            p.grad = lib.ones_like(p)
    optimizer.step()


@LIBS
def test_groups_and_defaults(lib):
    a, b = params(lib)
    optimizer = lib.optim.SGD([{"params": a}, {"params": [b], "lr": 1.0, "extra": "kept"}], lr=0.1)
    assert [g["lr"] for g in optimizer.param_groups] == [0.1, 1.0]
    assert optimizer.param_groups[1]["extra"] == "kept"
    c = lib.ones(1, requires_grad=True)
    optimizer.add_param_group({"params": c, "momentum": 0.5})
    assert optimizer.param_groups[2]["params"] == [c]
    assert optimizer.defaults["lr"] == 0.1
    assert str(optimizer).startswith("SGD (\nParameter Group 0\n    dampening: 0\n")


@LIBS
def test_named_parameters(lib):
    a, b = params(lib)
    optimizer = lib.optim.Adam([("weight", a), ("bias", b)])
    assert optimizer.param_groups[0]["param_names"] == ["weight", "bias"]
    assert optimizer.state_dict()["param_groups"][0]["param_names"] == ["weight", "bias"]
    other = lib.optim.Adam([("x", a), ("y", b)])
    other.load_state_dict(optimizer.state_dict())
    assert other.param_groups[0]["param_names"] == ["weight", "bias"]
    unnamed = lib.optim.Adam([a, b])
    saved = unnamed.state_dict()
    other.load_state_dict(saved)
    assert other.param_groups[0]["param_names"] == ["weight", "bias"]


def bad_groups(lib):
    a, b = params(lib)
    return {
        "tensor": lambda: lib.optim.SGD(a),
        "empty": lambda: lib.optim.SGD([]),
        "set": lambda: lib.optim.SGD([{"params": {a, b}}]),
        "not a tensor": lambda: lib.optim.SGD([a, 3]),
        "not a leaf": lambda: lib.optim.SGD([a * 2]),
        "names missing": lambda: lib.optim.SGD([("a", a), b]),
        "repeated": lambda: lib.optim.SGD([{"params": [a]}, {"params": [a, b]}]),
        "group of another type": lambda: lib.optim.SGD([a]).add_param_group([b]),
        "some groups named": lambda: lib.optim.SGD([{"params": [("a", a)]}, {"params": [b]}]),
        "fewer groups": lambda: lib.optim.SGD([a]).load_state_dict(
            lib.optim.SGD([{"params": [a]}, {"params": [b]}]).state_dict()
        ),
        "fewer parameters": lambda: lib.optim.SGD([a]).load_state_dict(lib.optim.SGD([a, b]).state_dict()),
        "required": lambda: lib.optim.Optimizer([a], {"lr": optimizer_module(lib).required}),
        "no step": lambda: lib.optim.Optimizer([a], {}).step(),
    }


@pytest.mark.parametrize("case", bad_groups(mashal))
def test_errors(case):
    found = []
    for lib in (mashal, torch):
        with pytest.raises(Exception) as error:
            bad_groups(lib)[case]()
        found.append((error.type, str(error.value).replace("mashal", "torch")))
    assert found[0] == found[1]


@LIBS
def test_duplicates_warn(lib):
    (a, _) = params(lib)
    with pytest.warns(UserWarning, match="duplicate parameters"):
        lib.optim.SGD([a, a])


@LIBS
def test_zero_grad(lib):
    a, b = params(lib)
    optimizer = lib.optim.SGD([a, b])
    a.grad = lib.ones_like(a)
    optimizer.zero_grad(set_to_none=False)
    assert b.grad is None
    assert a.grad.abs().sum().item() == 0
    a.grad = lib.ones_like(a) * lib.ones_like(a).requires_grad_()
    optimizer.zero_grad(set_to_none=False)
    assert a.grad.grad_fn is None
    assert a.grad.abs().sum().item() == 0
    optimizer.zero_grad()
    assert a.grad is None


@LIBS
def test_step_hooks(lib):
    optimizer, calls = lib.optim.SGD(params(lib)), []
    module = optimizer_module(lib)
    handles = [
        optimizer.register_step_pre_hook(lambda opt, args, kwargs: calls.append("pre")),
        optimizer.register_step_post_hook(lambda opt, args, kwargs: calls.append("post")),
        module.register_optimizer_step_pre_hook(lambda opt, args, kwargs: calls.append("global pre")),
        module.register_optimizer_step_post_hook(lambda opt, args, kwargs: calls.append("global post")),
    ]
    step_once(lib, optimizer)
    assert calls == ["global pre", "pre", "post", "global post"]
    for handle in handles:
        handle.remove()
    step_once(lib, optimizer)
    assert len(calls) == 4


@LIBS
def test_pre_hook_replaces_arguments(lib):
    optimizer = lib.optim.SGD(params(lib))
    with optimizer.register_step_pre_hook(lambda opt, args, kwargs: ((opt, lambda: 7), {})):
        assert optimizer.step() == 7
    optimizer.register_step_pre_hook(lambda opt, args, kwargs: 3)
    with pytest.raises(RuntimeError, match="must return None or a tuple"):
        optimizer.step()


@LIBS
def test_closure(lib):
    (a,) = params(lib, (2,))
    optimizer = lib.optim.SGD([a], lr=0.5)

    def closure():
        optimizer.zero_grad()
        loss = (a * a).sum()
        loss.backward()
        return loss

    with lib.no_grad():
        assert optimizer.step(closure).item() == 2.0
    assert a.tolist() == [0.0, 0.0]


@LIBS
def test_state_dict_hooks(lib):
    optimizer, calls = lib.optim.SGD(params(lib)), []
    optimizer.register_state_dict_pre_hook(lambda opt: calls.append("pre"))
    optimizer.register_state_dict_pre_hook(lambda opt: calls.append("first"), prepend=True)
    optimizer.register_state_dict_post_hook(lambda opt, state: {**state, "mark": 1})
    saved = optimizer.state_dict()
    assert calls == ["first", "pre"]
    assert saved["mark"] == 1
    optimizer.register_load_state_dict_pre_hook(lambda opt, state: {**state, "state": {}})
    optimizer.register_load_state_dict_post_hook(lambda opt: calls.append("loaded"))
    optimizer.load_state_dict(saved)
    assert calls[-1] == "loaded"


@LIBS
def test_loading_casts_state_but_not_steps(lib):
    source = lib.optim.Adam(params(lib))
    step_once(lib, source)
    target = lib.optim.Adam([p.detach().double().requires_grad_() for p in source.param_groups[0]["params"]])
    target.load_state_dict(source.state_dict())
    state = target.state[target.param_groups[0]["params"][0]]
    assert state["exp_avg"].dtype == lib.float64
    assert state["step"].dtype == lib.float32
    step_once(lib, target)
    assert state["step"].item() == 2


@LIBS
def test_old_checkpoints(lib):
    source = lib.optim.Adam(params(lib))
    step_once(lib, source)
    saved = source.state_dict()
    del saved["param_groups"][0]["maximize"]
    saved["state"] = {k: {**v, "step": 1} for k, v in saved["state"].items()}
    target = lib.optim.Adam(params(lib))
    target.load_state_dict(saved)
    step_once(lib, target)
    assert target.param_groups[0]["maximize"] is False
    assert target.state_dict()["state"][0]["step"].item() == 2


@LIBS
def test_own_optimizer(lib):
    class Sign(lib.optim.Optimizer):
        def __init__(self, params, lr):
            super().__init__(params, {"lr": lr})

        @lib.no_grad()
        def step(self, closure=None):
            for group in self.param_groups:
                for p in group["params"]:
                    self.state[p]["n"] = self.state[p].get("n", 0) + 1
                    p.add_(p.grad.sign(), alpha=-group["lr"])

    a, b = params(lib)
    optimizer, calls = Sign([a, b], 0.5), []
    optimizer.register_step_post_hook(lambda *_: calls.append(1))
    step_once(lib, optimizer)
    assert calls == [1]
    assert b.tolist() == [0.5] * 4
    assert optimizer.state_dict() == {
        "state": {0: {"n": 1}, 1: {"n": 1}},
        "param_groups": [{"lr": 0.5, "params": [0, 1]}],
    }
    lib.optim.lr_scheduler.StepLR(optimizer, 1)
