"""Module: registration, iteration, hooks, state, moving, text and copies, against torch.nn.Module."""

import copy
import gc
import importlib
import pickle
import warnings
import weakref
from collections import OrderedDict

import pytest
import torch
from nn_helpers import outcome, seed

import mashal

LIBS = pytest.mark.parametrize("lib", [mashal, torch], ids=["mashal", "torch"])


def both(scenario):
    """Runs ``scenario(library)`` for both libraries and demands equal results (Python values, or an error)."""
    a, a_warnings = outcome(lambda: scenario(mashal))
    b, b_warnings = outcome(lambda: scenario(torch))
    assert clean(a) == clean(b)
    assert clean(a_warnings) == clean(b_warnings)
    return a


def clean(value):
    return repr(value).replace("mashal.", "torch.")


def net(lib):
    class Block(lib.nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = lib.nn.Linear(3, 3)
            self.norm = lib.nn.BatchNorm1d(3)
            self.register_buffer("scratch", lib.zeros(2), persistent=False)
            self.scale = lib.nn.Parameter(lib.ones(3))

        def forward(self, x, gain=1.0):
            return self.norm(self.fc(x)) * self.scale * gain

    class Net(lib.nn.Module):
        def __init__(self):
            super().__init__()
            self.one = Block()
            self.two = Block()
            self.two.fc = self.one.fc  # shared
            self.nothing = None
            self.register_parameter("absent", None)
            self.register_buffer("empty", None)
            self.register_module("hole", None)

        def forward(self, x):
            return self.two(self.one(x))

    return Net()


def values(t):
    return t.detach().tolist() if hasattr(t, "detach") else t


class PicklableMashal(mashal.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = mashal.nn.Linear(2, 2)
        self.register_forward_hook(module_level_hook)
        self.table = {"a": [1, 2]}

    def forward(self, x):
        return self.fc(x)


def module_level_hook(module, args, output):
    return output + 1


# ---- registration and attributes ------------------------------------------------------------------------------------

REGISTRATION = {
    "parameters": lambda lib, m: [n for n, _ in m.named_parameters()],
    "parameters-duplicates": lambda lib, m: [n for n, _ in m.named_parameters(remove_duplicate=False)],
    "parameters-prefix": lambda lib, m: [n for n, _ in m.named_parameters(prefix="p", recurse=False)],
    "buffers": lambda lib, m: [n for n, _ in m.named_buffers()],
    "modules": lambda lib, m: [(n, type(x).__name__) for n, x in m.named_modules()],
    "modules-duplicates": lambda lib, m: [n for n, _ in m.named_modules(prefix="r", remove_duplicate=False)],
    "modules-memo": lambda lib, m: [n for n, _ in m.named_modules(memo={m.one})],
    "children": lambda lib, m: [n for n, _ in m.named_children()],
    "counts": lambda lib, m: [len(list(f())) for f in (m.parameters, m.buffers, m.modules, m.children)],
    "state": lambda lib, m: list(m.state_dict()),
    "state-prefix": lambda lib, m: list(m.state_dict(prefix="x.")),
    "metadata": lambda lib, m: m.state_dict()._metadata,
    "keep-vars": lambda lib, m: [v.requires_grad for v in m.state_dict(keep_vars=True).values()],
    "detached": lambda lib, m: [v.requires_grad for v in m.state_dict().values()],
    "text": lambda lib, m: repr(m),
    "attributes": lambda lib, m: sorted(k for k in m.__dict__),
    "dir": lambda lib, m: [n for n in ("one", "two", "forward", "absent", "empty", "hole") if n in dir(m)],
    "get-submodule": lambda lib, m: type(m.get_submodule("two.fc")).__name__,
    "get-parameter": lambda lib, m: m.get_parameter("one.scale").shape == (3,),
    "get-buffer": lambda lib, m: values(m.get_buffer("one.norm.running_var")),
    "missing-attribute": lambda lib, m: m.unknown,
    "missing-submodule": lambda lib, m: m.get_submodule("one.unknown.x"),
    "no-submodule": lambda lib, m: m.get_submodule("one.scale"),
    "missing-parameter": lambda lib, m: m.get_parameter("one.unknown"),
    "no-parameter": lambda lib, m: m.get_parameter("one.training"),
    "missing-buffer": lambda lib, m: m.get_buffer("one.unknown"),
    "no-buffer": lambda lib, m: m.get_buffer("one.scale"),
    "set-submodule": lambda lib, m: (m.set_submodule("one.fc", lib.nn.ReLU()), repr(m))[1],
    "set-submodule-new": lambda lib, m: (m.set_submodule("one.act", lib.nn.ReLU()), repr(m))[1],
    "set-submodule-strict": lambda lib, m: m.set_submodule("one.act", lib.nn.ReLU(), strict=True),
    "set-submodule-empty": lambda lib, m: m.set_submodule("", lib.nn.ReLU()),
    "set-submodule-type": lambda lib, m: m.set_submodule("one", 3),
    "set-submodule-on-parameter": lambda lib, m: m.set_submodule("one.scale", lib.nn.ReLU()),
    "parameter-type": lambda lib, m: setattr(m.one, "scale", 3),
    "parameter-tensor": lambda lib, m: setattr(m.one, "scale", lib.ones(3)),
    "parameter-none": lambda lib, m: (setattr(m.one, "scale", None), [n for n, _ in m.named_parameters()])[1],
    "module-type": lambda lib, m: setattr(m, "one", "x"),
    "module-none": lambda lib, m: (setattr(m, "one", None), repr(m))[1],
    "buffer-type": lambda lib, m: setattr(m.one.norm, "running_mean", 3),
    "buffer-tensor": lambda lib, m: (setattr(m.one, "scratch", lib.ones(1)), list(m.state_dict()))[1],
    "plain-to-parameter": lambda lib, m: (
        setattr(m, "nothing", lib.nn.Parameter(lib.ones(1))),
        list(m.state_dict()),
        "nothing" in m.__dict__,
    )[1:],
    "parameter-to-module": lambda lib, m: (setattr(m.one, "fc", lib.nn.Parameter(lib.ones(1))), repr(m.one))[1],
    "module-over-parameter": lambda lib, m: (
        setattr(m.one, "scale", lib.nn.ReLU()),
        repr(m.one),
        list(m.one.state_dict()),
    )[1:],
    "buffer-class": lambda lib, m: (
        setattr(m, "shown", lib.nn.Buffer(lib.ones(1))),
        setattr(m.one, "hidden", lib.nn.Buffer(lib.ones(1), persistent=False)),
        [n for n, _ in m.named_buffers()],
        list(m.state_dict()),
    )[2:],
    "buffer-class-over-attribute": lambda lib, m: setattr(m, "nothing", lib.nn.Buffer(lib.ones(1))),
    "buffer-class-over-parameter": lambda lib, m: setattr(m.one, "scale", lib.nn.Buffer(lib.ones(1))),
    "buffer-class-again": lambda lib, m: (
        setattr(m.one, "scratch", lib.nn.Buffer(lib.ones(1))),
        list(m.state_dict()),
    )[1:],
    "delete": lambda lib, m: (
        delattr(m.one, "scale"),
        delattr(m.one, "scratch"),
        delattr(m, "two"),
        delattr(m, "nothing"),
        repr(m),
        list(m.state_dict()),
    )[4:],
    "delete-missing": lambda lib, m: delattr(m, "unknown"),
    **{
        f"register-{kind}-{name!r}": lambda lib, m, kind=kind, name=name: getattr(m.one, f"register_{kind}")(name, None)
        for kind in ("buffer", "parameter", "module")
        for name in (3, "a.b", "", "forward", "scale", "fc", "scratch")
    },
    "register-buffer-type": lambda lib, m: m.register_buffer("u", 3),
    "register-parameter-type": lambda lib, m: m.register_parameter("u", lib.zeros(2)),
    "register-module-type": lambda lib, m: m.add_module("u", lib.zeros(2)),
    "register-module-class": lambda lib, m: m.add_module("u", lib.nn.ReLU),
    "register-non-leaf": lambda lib, m: m.register_parameter("u", _non_leaf(lib)),
    "persistent-again": lambda lib, m: (m.one.register_buffer("scratch", lib.ones(1)), list(m.state_dict()))[1],
}


def _non_leaf(lib):
    p = lib.nn.Parameter(lib.zeros(2))
    with lib.no_grad():
        p.add_(1)
    q = lib.nn.Parameter(lib.zeros(2))
    q.requires_grad_(False)
    q.copy_(p * 1)
    return q


@pytest.mark.parametrize("name", REGISTRATION)
def test_registration(name):
    both(lambda lib: REGISTRATION[name](lib, net(lib)))


def broken_class(lib, body):
    class Broken(lib.nn.Module):
        def __init__(self):
            body(self, lib)

    return Broken()


BEFORE_INIT = {
    "parameter": lambda self, lib: setattr(self, "p", lib.nn.Parameter(lib.zeros(2))),
    "module": lambda self, lib: setattr(self, "m", lib.nn.ReLU()),
    "buffer": lambda self, lib: setattr(self, "b", lib.nn.Buffer(lib.zeros(2))),
    "register-buffer": lambda self, lib: self.register_buffer("b", None),
    "register-parameter": lambda self, lib: self.register_parameter("b", None),
    "read": lambda self, lib: self.unknown,
    "plain": lambda self, lib: setattr(self, "n", 3),
}


@pytest.mark.parametrize("name", BEFORE_INIT)
def test_before_init(name):
    both(lambda lib: (broken_class(lib, BEFORE_INIT[name]), None)[1])


def test_constructor_arguments():
    both(lambda lib: lib.nn.Module(3))
    both(lambda lib: lib.nn.Module(a=3))
    both(lambda lib: type("Sub", (lib.nn.Module,), {})(3))
    both(lambda lib: lib.nn.Module()(3))

    def cooperative(lib):
        class Mixin:
            def __init__(self, value):
                self.value = value

        class Both(lib.nn.Module, Mixin):
            call_super_init = True

            def __init__(self, value):
                super().__init__(value)

        return Both(4).value

    both(cooperative)


# ---- state ----------------------------------------------------------------------------------------------------------


def test_state_round_trip_and_errors():
    def scenario(lib):
        seed()
        a, b = net(lib), net(lib)
        first = repr(b.load_state_dict(a.state_dict()))
        same = all(values(x) == values(y) for x, y in zip(a.parameters(), b.parameters(), strict=True))
        state = a.state_dict()
        state["extra"] = lib.zeros(1)
        state["one.extra.deep"] = lib.zeros(1)
        del state["one.scale"]
        state["two.norm.weight"] = lib.zeros(7)
        state["two.norm.bias"] = 3
        loose = b.load_state_dict({k: v for k, v in state.items() if not k.startswith("two.norm")}, strict=False)
        errors = [outcome(lambda: b.load_state_dict(state))[0], outcome(lambda: b.load_state_dict(3))[0]]
        return first, same, sorted(loose.missing_keys), loose.unexpected_keys, repr(loose)[:20], errors

    both(scenario)


def test_state_of_containers_that_hold_no_tensor():
    def scenario(lib):
        m = lib.nn.Sequential(OrderedDict(a=lib.nn.ReLU(), b=lib.nn.Linear(2, 1)))
        return list(m.state_dict()), m.state_dict()._metadata, repr(m)

    both(scenario)


def test_positional_state_dict_arguments_warn():
    both(lambda lib: list(lib.nn.Linear(1, 1).state_dict(OrderedDict(), "x.")))
    both(lambda lib: lib.nn.Linear(1, 1).state_dict({}, "x.", True)["x.weight"].requires_grad)


def test_assign():
    def scenario(lib):
        m = lib.nn.Linear(2, 2)
        m.weight.requires_grad_(False)
        state = {"weight": lib.ones(2, 2), "bias": lib.nn.Parameter(lib.ones(2), requires_grad=False)}
        m.load_state_dict(state, assign=True)
        shared = m.weight.data_ptr() == state["weight"].data_ptr(), m.bias is state["bias"]
        return shared, m.weight.requires_grad, m.bias.requires_grad, type(m.weight).__name__

    both(scenario)


def test_loading_into_meta_warns_and_does_nothing():
    def scenario(lib):
        m = lib.nn.Linear(2, 2, device="meta")
        m.load_state_dict(lib.nn.Linear(2, 2).state_dict())
        before = m.weight.is_meta
        m.load_state_dict(lib.nn.Linear(2, 2).state_dict(), assign=True)
        return before, m.weight.is_meta

    both(scenario)


def test_scalar_saved_as_vector():
    def scenario(lib):
        m = lib.nn.Module()
        m.p = lib.nn.Parameter(lib.zeros(()))
        m.load_state_dict({"p": lib.ones(1)})
        return values(m.p)

    both(scenario)


def test_extra_state():
    def scenario(lib):
        class Counter(lib.nn.Module):
            count = 0

            def get_extra_state(self):
                return {"count": self.count}

            def set_extra_state(self, state):
                self.count = state["count"]

        outer = lib.nn.Sequential(Counter(), lib.nn.Linear(1, 1))
        outer[0].count = 5
        state = outer.state_dict()
        other = lib.nn.Sequential(Counter(), lib.nn.Linear(1, 1))
        other.load_state_dict(state)
        plain = lib.nn.Sequential(lib.nn.ReLU(), lib.nn.Linear(1, 1))
        missing = {k: v for k, v in state.items() if "extra" not in k}
        return (
            list(state),
            other[0].count,
            outcome(lambda: plain.load_state_dict(state))[0],
            outcome(lambda: other.load_state_dict(missing))[0],
            outcome(lambda: lib.nn.Module().get_extra_state())[0][:2],
            outcome(lambda: lib.nn.Module().set_extra_state(1))[0][:2],
        )

    both(scenario)


def test_old_batch_norm_state():
    def scenario(lib):
        m = lib.nn.Sequential(lib.nn.BatchNorm1d(2))
        state = m.state_dict()
        del state["0.num_batches_tracked"]
        strict = outcome(lambda: m.load_state_dict(state))[0][:2]
        state._metadata["0"]["version"] = 1
        old = repr(m.load_state_dict(state))
        norm = lib.nn.Sequential(lib.nn.InstanceNorm1d(2))
        stale = {"0.running_mean": lib.zeros(2), "0.running_var": lib.zeros(2)}
        return strict[:1], old, outcome(lambda: norm.load_state_dict(stale))[0][:2]

    both(scenario)


def test_state_hooks():
    def scenario(lib):
        log = []
        m = lib.nn.Sequential(lib.nn.Linear(1, 1))
        inner = m[0]

        def pre(module, prefix, keep_vars):
            log.append(("pre", prefix, keep_vars))

        def post(module, state, prefix, metadata):
            log.append(("post", sorted(state), prefix, dict(metadata)))
            state["added"] = 1

        def replace(module, state, prefix, metadata):
            log.append(("old", prefix))
            return OrderedDict(state)

        def load_pre(module, state, prefix, metadata, strict, missing, unexpected, errors):
            log.append(("load-pre", type(module).__name__, prefix, strict))
            state.pop("added", None)

        def raw(state, prefix, *rest):
            log.append(("raw", prefix, len(rest)))

        def load_post(module, keys):
            log.append(("load-post", list(keys.missing_keys), list(keys.unexpected_keys)))
            keys.missing_keys.clear()

        handles = [
            inner.register_state_dict_pre_hook(pre),
            m.register_state_dict_post_hook(post),
            m._register_state_dict_hook(replace),
            m.register_load_state_dict_pre_hook(load_pre),
            inner._register_load_state_dict_pre_hook(raw),
            inner.register_load_state_dict_post_hook(load_post),
        ]
        state = m.state_dict(keep_vars=True)
        m.load_state_dict(state)
        m.load_state_dict({})
        again = outcome(lambda: m._register_state_dict_hook(post))[0]
        bad = inner.register_state_dict_post_hook(lambda *a: 3)
        wrong = outcome(lambda: m.state_dict())[0]
        bad.remove()
        inner.register_load_state_dict_post_hook(lambda *a: 3)
        wrong_load = outcome(lambda: m.load_state_dict(state))[0]
        for handle in handles:
            handle.remove()
        log.append(list(m.state_dict()))
        return log, again, wrong, wrong_load

    both(scenario)


# ---- calls and hooks ------------------------------------------------------------------------------------------------


def test_forward_hooks_in_order():
    def scenario(lib):
        log = []
        m = lib.nn.Linear(2, 2)
        with lib.no_grad():
            m.weight.fill_(1)
            m.bias.fill_(0)
        m.register_forward_pre_hook(lambda mod, args: log.append("pre1"))
        m.register_forward_pre_hook(lambda mod, args: (log.append("pre0"), args[0] + 1)[1], prepend=True)
        m.register_forward_hook(lambda mod, args, out: (log.append("post1"), out * 2)[1])
        m.register_forward_hook(lambda mod, args, out: log.append(("post0", values(args[0]))), prepend=True)
        handle = m.register_forward_hook(lambda mod, args, out: log.append("gone"))
        handle.remove()
        handle.remove()
        with m.register_forward_hook(lambda mod, args, out: log.append("temporary")):
            first = values(m(lib.zeros(1, 2)))
        return first, values(m(lib.ones(1, 2))), log

    both(scenario)


def test_forward_hooks_with_kwargs():
    def scenario(lib):
        class M(lib.nn.Module):
            def forward(self, x, gain=1):
                return x * gain

        m = M()
        log = []
        m.register_forward_pre_hook(lambda mod, args, kw: (args, {"gain": kw.get("gain", 1) + 1}), with_kwargs=True)
        m.register_forward_hook(lambda mod, args, kw, out: log.append((sorted(kw), out)), with_kwargs=True)
        results = [m(3), m(3, gain=4)]
        m.register_forward_pre_hook(lambda mod, args, kw: 7, with_kwargs=True)
        return results, log, outcome(lambda: m(3))[0]

    both(scenario)


def test_always_called_hooks():
    def scenario(lib):
        class M(lib.nn.Module):
            def forward(self, x):
                if x < 0:
                    raise ValueError("negative")
                return x

        m = M()
        log = []
        m.register_forward_hook(lambda *a: log.append(("always", a[-1])), always_call=True)
        m.register_forward_hook(lambda *a: log.append(("usual", a[-1])))
        m.register_forward_hook(lambda m, args, kw, out: log.append(("kw", out)), always_call=True, with_kwargs=True)
        return outcome(lambda: m(-1))[0], m(2), log

    both(scenario)


def test_error_in_always_called_hook_is_silenced():
    def scenario(lib):
        class M(lib.nn.Module):
            def forward(self, x):
                raise ValueError("first")

        m = M()

        def bad(*args):
            raise KeyError("second")

        m.register_forward_hook(bad, always_call=True)
        return m(1)

    both(scenario)


def module_functions(lib):
    return importlib.import_module(f"{lib.__name__}.nn.modules.module")


def test_global_hooks():
    def scenario(lib):
        f = module_functions(lib)
        log = []
        m = lib.nn.Sequential(lib.nn.Linear(2, 2), lib.nn.ReLU())
        m[1].register_forward_pre_hook(lambda mod, args: log.append("own-pre"))
        m[1].register_forward_hook(lambda mod, args, out: log.append("own"))
        handles = [
            f.register_module_forward_pre_hook(lambda mod, args: log.append(("pre", type(mod).__name__))),
            f.register_module_forward_hook(lambda mod, args, out: log.append(("post", type(mod).__name__))),
            f.register_module_forward_hook(
                lambda mod, args, kw, out: log.append(("kw", kw)), with_kwargs=True, always_call=True
            ),
        ]
        m(lib.zeros(1, 2))
        for handle in handles:
            handle.remove()
        m(lib.zeros(1, 2))
        return log

    both(scenario)


def test_registration_hooks():
    def scenario(lib):
        f = module_functions(lib)
        log = []
        handles = [
            f.register_module_parameter_registration_hook(lambda m, n, p: log.append(("parameter", n))),
            f.register_module_buffer_registration_hook(lambda m, n, b: log.append(("buffer", n))),
            f.register_module_module_registration_hook(lambda m, n, c: log.append(("module", n))),
        ]
        try:
            net(lib)
        finally:
            for handle in handles:
                handle.remove()
        return log

    both(scenario)


def test_full_backward_hooks():
    def scenario(lib):
        seed()
        log = []
        m = lib.nn.Sequential(lib.nn.Linear(2, 2), lib.nn.Tanh())
        with lib.no_grad():
            m[0].weight.copy_(lib.tensor([[1.0, 2.0], [3.0, 4.0]]))
            m[0].bias.zero_()

        def full(name):
            return lambda mod, gi, go: log.append((name, rounded(gi), rounded(go)))

        def rounded(grads):
            return [None if g is None else [round(v, 4) for v in g.flatten().tolist()] for g in grads]

        m[0].register_full_backward_hook(full("linear"))
        m[1].register_full_backward_hook(lambda mod, gi, go: tuple(g * 2 for g in gi))
        m[1].register_full_backward_hook(full("tanh-first"), prepend=True)
        m[1].register_full_backward_pre_hook(lambda mod, go: (log.append("pre"), tuple(g * 3 for g in go))[1])
        x = lib.tensor([[0.1, -0.2]], requires_grad=True)
        m(x).sum().backward()
        return log, rounded([x.grad, m[0].weight.grad])

    both(scenario)


def test_full_backward_hook_without_differentiable_input_warns():
    def scenario(lib):
        log = []
        m = lib.nn.Linear(2, 1)
        m.register_full_backward_hook(lambda mod, gi, go: log.append((gi, len(go))))
        m(lib.zeros(1, 2)).sum().backward()
        return log

    both(scenario)


def test_full_backward_hook_errors():
    def scenario(lib):
        m = lib.nn.Linear(2, 1)
        m.register_full_backward_hook(lambda mod, gi, go: (None, None))
        x = lib.zeros(1, 2, requires_grad=True)
        wrong = outcome(lambda: m(x).sum().backward())[0]
        both_kinds = outcome(lambda: m.register_backward_hook(print))[0]
        other = lib.nn.Linear(2, 1)
        other.register_backward_hook(lambda mod, gi, go: None)
        return wrong, both_kinds, outcome(lambda: other.register_full_backward_hook(print))[0]

    both(scenario)


def test_global_backward_hooks():
    def scenario(lib):
        f = module_functions(lib)
        log = []
        handles = [
            f.register_module_full_backward_hook(lambda mod, gi, go: log.append(type(mod).__name__)),
            f.register_module_full_backward_pre_hook(lambda mod, go: log.append(("pre", type(mod).__name__))),
        ]
        try:
            x = lib.zeros(1, 2, requires_grad=True)
            lib.nn.Sequential(lib.nn.Linear(2, 1), lib.nn.ReLU())(x).sum().backward()
            mixed = outcome(lambda: f.register_module_backward_hook(print))[0]
        finally:
            for handle in handles:
                handle.remove()
        return log, mixed

    both(scenario)


def test_legacy_backward_hook():
    def scenario(lib):
        log = []
        m = lib.nn.Tanh()
        m.register_backward_hook(lambda mod, gi, go: log.append((type(mod).__name__, len(gi), len(go))))
        x = lib.zeros(1, 2, requires_grad=True)
        m(x * 1).sum().backward()
        return log

    both(scenario)


@LIBS
def test_a_call_without_hooks_goes_straight_to_forward(lib):
    import traceback

    class M(lib.nn.Module):
        def forward(self):
            return len(traceback.extract_stack())

    depth = M()() - len(traceback.extract_stack())
    assert depth <= (2 if lib is mashal else 3)


# ---- modes and moving -----------------------------------------------------------------------------------------------


def test_modes_and_gradients():
    def scenario(lib):
        m = net(lib)
        m.eval()
        modes = [x.training for x in m.modules()]
        m.train()
        modes += [x.training for x in m.modules()]
        m(lib.ones(2, 3)).sum().backward()
        had = [p.grad is not None for p in m.parameters()]
        m.zero_grad(set_to_none=False)
        zero = [float(p.grad.abs().sum()) for p in m.parameters()]
        m.zero_grad()
        none = [p.grad is None for p in m.parameters()]
        m.requires_grad_(False)
        return modes, had, zero, none, [p.requires_grad for p in m.parameters()], outcome(lambda: m.train(1))[0]

    both(scenario)


def dtypes(m):
    return [str(t.dtype) for t in (*m.parameters(), *m.buffers())]


MOVES = {
    "double": lambda lib, m: m.double(),
    "half": lambda lib, m: m.half(),
    "bfloat16": lambda lib, m: m.bfloat16(),
    "float": lambda lib, m: m.double().float(),
    "to-dtype": lambda lib, m: m.to(lib.float64),
    "to-device": lambda lib, m: m.to("cpu"),
    "to-device-dtype": lambda lib, m: m.to(lib.device("cpu"), lib.float64),
    "to-keywords": lambda lib, m: m.to(device="cpu", dtype=lib.float64, non_blocking=True),
    "to-tensor": lambda lib, m: m.to(lib.zeros(1, dtype=lib.float64)),
    "to-none": lambda lib, m: m.to(None),
    "type": lambda lib, m: m.type(lib.float64),
    "cpu": lambda lib, m: m.cpu(),
    "to-integer": lambda lib, m: m.to(lib.int32),
    "to-unknown": lambda lib, m: outcome(lambda: m.to(foo=3))[0][:2],
}


@pytest.mark.parametrize("name", MOVES)
def test_moving(name):
    def scenario(lib):
        m = net(lib)
        m(lib.ones(2, 3)).sum().backward()
        ids = [id(p) for p in m.parameters()]
        result = MOVES[name](lib, m)
        if result is not m:
            return result
        grads = [None if p.grad is None else str(p.grad.dtype) for p in m.parameters()]
        return dtypes(m), grads, ids == [id(p) for p in m.parameters()], [p.requires_grad for p in m.parameters()]

    both(scenario)


def test_memory_format():
    def scenario(lib):
        m = lib.nn.Conv2d(2, 3, 3).to(memory_format=lib.channels_last)
        return m.weight.is_contiguous(memory_format=lib.channels_last), m.bias.is_contiguous()

    both(scenario)


def test_meta():
    def scenario(lib):
        m = lib.nn.Linear(2, 2, device="meta")
        fails = [outcome(lambda: m.to("cpu"))[0][:2], outcome(lambda: m.cpu())[0][:2]]
        m.to_empty(device="cpu")
        return fails, m.weight.is_meta, type(m.weight).__name__, tuple(m.weight.shape)

    both(scenario)


def test_apply():
    def scenario(lib):
        order = []
        m = net(lib)
        same = m.apply(lambda x: order.append(type(x).__name__)) is m
        return order, same

    both(scenario)


# ---- text and copies ------------------------------------------------------------------------------------------------


def test_text_of_nested_modules():
    def scenario(lib):
        class Deep(lib.nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = lib.nn.Sequential(lib.nn.Linear(1, 1), lib.nn.ReLU())
                self.items = lib.nn.ModuleList([lib.nn.ReLU(), lib.nn.ReLU(), lib.nn.Tanh()])

            def extra_repr(self):
                return "first\nsecond"

        return repr(Deep()), repr(lib.nn.Module())

    both(scenario)


@LIBS
def test_deepcopy_is_independent(lib):
    m = net(lib)
    m(lib.ones(2, 3)).sum().backward()
    clone = copy.deepcopy(m)
    assert clone.one.fc is clone.two.fc
    assert clone.one.fc is not m.one.fc
    assert all(a is not b and values(a) == values(b) for a, b in zip(m.parameters(), clone.parameters(), strict=True))
    with lib.no_grad():
        clone.one.scale.fill_(7)
    assert values(m.one.scale) == [1, 1, 1]
    shallow = copy.copy(m)
    assert shallow.one is m.one


def test_pickle():
    m = PicklableMashal()
    again = pickle.loads(pickle.dumps(m))
    x = mashal.ones(1, 2)
    assert values(again(x)) == values(m(x))
    assert again.table == {"a": [1, 2]}
    assert isinstance(again.fc.weight, mashal.nn.Parameter)
    assert again.fc.weight.requires_grad


def test_load_pre_hook_does_not_keep_its_module_alive():
    m = mashal.nn.Linear(1, 1)
    m.register_load_state_dict_pre_hook(lambda *args: None)
    ref = weakref.ref(m)
    del m
    gc.collect()
    assert ref() is None


def test_parameter():
    def scenario(lib):
        p = lib.nn.Parameter(lib.ones(2))
        q = lib.nn.Parameter(lib.ones(2), requires_grad=False)
        p.tag = "kept"
        clone = copy.deepcopy(p)
        again = pickle.loads(pickle.dumps(p))
        with lib.no_grad():
            inside = lib.nn.Parameter(lib.ones(1)).requires_grad
        twice = copy.deepcopy([p, p])
        return (
            repr(p),
            repr(q),
            [isinstance(x, lib.nn.Parameter) for x in (p, clone, again, p + 1, p.detach(), p.data)],
            [x.requires_grad for x in (p, q, clone, again)],
            inside,
            p.is_leaf,
            again.tag,
            tuple(lib.nn.Parameter().shape),
            twice[0] is twice[1],
            isinstance(lib.nn.Buffer(lib.ones(1)), lib.nn.Buffer),
            isinstance(lib.ones(1), lib.nn.Buffer),
        )

    both(scenario)


def test_unused_warnings_do_not_appear():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        m = net(mashal)
        m.load_state_dict(m.state_dict())
        m.double().float().eval()
        repr(m)
