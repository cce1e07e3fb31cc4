"""What programs say to compilers that are not here yet: all of it runs eagerly, with the same results."""

from __future__ import annotations

import copy
import pickle
from typing import Optional, Union  # what programs written for TorchScript use

import pytest
import torch

import mashal

F = mashal.nn.functional


class Net(mashal.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = mashal.nn.Linear(3, 2)
        self.scale = 2.0

    def forward(self, x):
        return F.relu(self.fc(x)) * self.scale

    def twice(self, x):
        return self(self.fc.weight.new_ones(1, 3)) + x


def test_compiled_module():
    net = Net()
    compiled = mashal.compile(net, mode="max-autotune", fullgraph=True, dynamic=False, backend="inductor")
    x = mashal.rand(4, 3)
    assert mashal.equal(compiled(x), net(x))
    assert compiled._orig_mod is net
    assert isinstance(compiled, mashal._dynamo.OptimizedModule)
    assert isinstance(compiled, mashal._dynamo.eval_frame.OptimizedModule)
    assert list(compiled.state_dict()) == ["_orig_mod.fc.weight", "_orig_mod.fc.bias"]
    assert [n for n, _ in compiled.named_parameters()] == ["_orig_mod.fc.weight", "_orig_mod.fc.bias"]
    assert repr(compiled).startswith("OptimizedModule(\n  (_orig_mod): Net(")
    compiled.scale = 3.0
    assert net.scale == 3.0
    assert compiled.fc is net.fc
    assert compiled.twice(mashal.zeros(2)).shape == (1, 2)
    del compiled.scale
    assert not hasattr(net, "scale")
    compiled.eval()
    assert not net.training
    assert not compiled.training
    compiled.load_state_dict(compiled.state_dict())
    compiled.to(mashal.float64)
    assert net.fc.weight.dtype is mashal.float64
    with pytest.raises(AttributeError, match="no attribute 'absent'"):
        _ = compiled.absent
    assert len(mashal.compile(mashal.nn.Sequential(net, net))) == 2
    for again in (copy.deepcopy(compiled), pickle.loads(pickle.dumps(compiled))):
        assert mashal.equal(again.fc.weight, net.fc.weight)
        assert again._orig_mod is not net


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_compiled_module_is_pytorchs():
    theirs, ours = torch.compile(torch.nn.Linear(2, 3)), mashal.compile(mashal.nn.Linear(2, 3))
    assert list(theirs.state_dict()) == list(ours.state_dict())
    assert repr(theirs) == repr(ours)
    assert type(theirs).__name__ == type(ours).__name__


def test_compiled_functions():
    @mashal.compile
    def f(x, y=1):
        """Adds."""
        return x + y

    assert f(1, y=2) == 3
    assert (f.__name__, f.__doc__) == ("f", "Adds.")

    @mashal.compile(mode="reduce-overhead", dynamic=True)
    def g(x):
        return -x

    assert g(1) == -1
    assert mashal.compile(abs, disable=True) is abs
    assert mashal.compile(lambda x: x, backend=lambda gm, inputs: gm, options={"trace.enabled": True})(5) == 5
    with pytest.raises(RuntimeError, match="Either mode or options"):
        mashal.compile(abs, mode="default", options={})
    with pytest.raises(RuntimeError, match="mode must be one of"):
        mashal.compile(abs, mode="fast")
    with pytest.raises(RuntimeError, match="function or a Module"):
        mashal.compile(3)


def test_module_compiles_itself():
    net = Net()
    x = mashal.rand(2, 3)
    before = net(x)
    assert net.compile(mode="default", dynamic=True) is None
    assert mashal.equal(net(x), before)
    assert list(net.state_dict()) == ["fc.weight", "fc.bias"]
    with pytest.raises(RuntimeError, match="mode must be one of"):
        net.compile(mode="fast")


def test_compiler_controls():
    c = mashal.compiler
    assert (c.is_compiling(), c.is_dynamo_compiling(), c.is_exporting()) == (False, False, False)
    assert c.disable(abs) is abs
    assert c.disable(recursive=False)(abs) is abs
    assert c.allow_in_graph(abs) is abs
    assert c.nested_compile_region(abs) is abs
    with pytest.raises(AssertionError):
        c.allow_in_graph(3)
    c.reset()
    c.cudagraph_mark_step_begin()
    with c.set_stance("force_eager"):
        pass
    assert c.set_stance("default")(abs) is abs
    with pytest.raises(RuntimeError, match="stance must be one of"):
        c.set_stance("odd")
    assert c.list_backends() == ["eager"]
    assert c.get_default_backend() == "eager"
    c.set_default_backend("inductor")
    assert c.get_default_backend() == "inductor"
    c.set_default_backend(None)
    assert c.save_cache_artifacts() is None
    assert c.skip_all_guards_unsafe([1, 2]) == [True, True]
    with pytest.raises(NotImplementedError):
        c.load_compiled_function(None)


def test_dynamo_names():
    d = mashal._dynamo
    d.config.cache_size_limit = 64
    assert d.config.cache_size_limit == 64
    d.config.cache_size_limit = 8
    with d.config.patch(cache_size_limit=1, brand_new=2):
        assert (d.config.cache_size_limit, d.config.brand_new) == (1, 2)
    assert d.config.cache_size_limit == 8
    assert not d.config.brand_new

    @d.config.patch("suppress_errors", True)
    def f():
        return d.config.suppress_errors

    assert f() is True
    d.config.triton.cudagraphs = True
    assert d.config.triton.cudagraphs is True
    import mashal._dynamo.config as config

    assert config is d.config
    assert not d.is_compiling()
    assert not d.is_dynamo_supported()
    d.reset()
    d.mark_dynamic(mashal.ones(2), 0)
    d.graph_break()
    assert d.disable(abs) is abs
    assert d.optimize("eager")(lambda x: x + 1)(1) == 2
    with pytest.raises(RuntimeError, match="Invalid backend"):
        d.lookup_backend("inductor")


def test_jit_marks_and_script():
    jit = mashal.jit

    class Scripted(jit.ScriptModule):
        __constants__ = ("n",)

        def __init__(self):
            super().__init__()
            self.n = jit.Attribute(3, int)
            self.values: jit.Final[list] = [1]

        @jit.script_method
        def forward(self, x):
            return x * self.n

        @jit.export
        def more(self, x: mashal.Tensor) -> mashal.Tensor:
            return x

        @jit.ignore
        def other(self):
            return 1

        @jit.ignore(drop=True)
        def third(self):
            return 2

        @jit.unused
        def fourth(self):
            return 3

    module = Scripted()
    assert module.n == 3
    assert module(2) == 6
    assert (module.other(), module.third(), module.fourth()) == (1, 2, 3)
    assert jit.script(module) is module
    assert jit.script(Scripted) is Scripted
    assert jit.freeze(module.eval()) is module
    with pytest.raises(RuntimeError, match="eval"):
        jit.freeze(module.train())
    assert jit.optimize_for_inference(module) is module

    @jit.script
    def f(x):
        return x + 1

    assert f(1) == 2
    assert jit.script_if_tracing(f) is f
    assert jit._overload(f) is f
    assert (jit.is_scripting(), jit.is_tracing()) == (False, False)
    assert jit.annotate(list[int], []) == []
    assert jit.interface(Scripted) is Scripted
    with jit.optimized_execution(False), jit.fuser("fuser1"), jit.strict_fusion():
        pass
    assert jit.set_fusion_strategy([("STATIC", 1)]) == [("STATIC", 2), ("DYNAMIC", 10)]
    jit.set_fusion_strategy([("STATIC", 2), ("DYNAMIC", 10)])
    with pytest.raises(RuntimeError, match=r"jit\.script: obj must be"):
        jit.script(3)
    assert jit.wait(jit.fork(lambda a, b: a + b, 1, b=2)) == 3
    assert issubclass(jit.TracerWarning, Warning)
    from mashal.jit.annotations import List

    assert List is not None


@pytest.mark.parametrize(
    ("obj", "kind"),
    [
        ([1, 2], list[int]),
        ([1, "a"], list[int]),
        ({"a": 1}, dict[str, int]),
        ({1: 1}, dict[str, int]),
        ((1, "a"), tuple[int, str]),
        ((1,), tuple[int, str]),
        (None, Optional[int]),  # noqa: UP045
        (1, Optional[int]),  # noqa: UP045
        ("a", Union[int, list[str]]),  # noqa: UP007
        (["a"], Union[int, list[str]]),  # noqa: UP007
        (3, (int, str)),
        (3, int),
    ],
    ids=str,
)
def test_jit_isinstance(obj, kind):
    assert mashal.jit.isinstance(obj, kind) == torch.jit.isinstance(obj, kind)


@pytest.mark.parametrize("name", ["trace", "trace_module", "save", "load"])
def test_jit_graphs_are_missing(name):
    arguments = (None,) if name == "load" else (mashal.nn.Identity(), "x")
    with pytest.raises(NotImplementedError, match=rf"jit\.{name}: mashal does not make or read TorchScript.*supported"):
        getattr(mashal.jit, name)(*arguments)


def test_futures():
    from mashal.futures import Future, collect_all, wait_all

    a, b = Future(), Future()
    chained = a.then(lambda f: f.value() + 1)
    failing = a.then(lambda f: 1 / 0)
    both = collect_all([a, b])
    seen = []
    b.add_done_callback(lambda f: seen.append(f.value()))
    assert not both.done()
    with pytest.raises(RuntimeError, match="not there yet"):
        a.value()
    a.set_result(1)
    b.set_result(2)
    assert chained.wait() == 2
    with pytest.raises(ZeroDivisionError):
        failing.wait()
    assert [f.value() for f in both.wait()] == wait_all([a, b]) == [1, 2]
    assert seen == [2]
    with pytest.raises(RuntimeError, match="completed once"):
        a.set_result(3)
    error = Future()
    error.set_exception(ValueError("x"))
    with pytest.raises(ValueError, match="x"):
        error.wait()
    with pytest.raises(AssertionError):
        Future().set_exception(3)
    assert collect_all([]).wait() == []
