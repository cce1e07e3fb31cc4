"""Hooks on tensors, leaves, nodes and groups of tensors: order, replacement, removal, errors."""

from __future__ import annotations

import gc
import weakref

import pytest

import mashal
from tests.autograd.parity import agree, programs


def leaf(F, *values):
    return F.tensor([float(v) for v in values], dtype=F.float64, requires_grad=True)


def tensor_hook_order(F):
    x = leaf(F, 1, 2)
    y = x * 2
    log = []
    y.register_hook(lambda g: log.append(("first", g.clone())))
    y.register_hook(lambda g: g * 10)
    y.register_hook(lambda g: log.append(("third", g.clone())))
    y.sum().backward()
    return [log, x.grad]


def leaf_hook_sees_each_gradient(F):
    x = leaf(F, 1, 2)
    log = []
    x.register_hook(lambda g: log.append(g.clone()))
    ((x * 2) + (x * 3)).sum().backward()
    (x * x).sum().backward()
    return [log, x.grad]


def leaf_hook_replaces(F):
    x = leaf(F, 1, 2)
    x.register_hook(lambda g: g * 100)
    (x * 2).sum().backward()
    return [x.grad, F.autograd.grad((x * 3).sum(), x)]


def hook_on_captured_intermediate(F):
    x = leaf(F, 1, 2)
    y = x * 2
    y.register_hook(lambda g: g * 100)
    # With x as a second input torch gives y's gradient as it was before the hooks (docs/differences.md).
    return list(F.autograd.grad((y * y).sum(), [y]))


def removed_hook(F):
    x = leaf(F, 1, 2)
    y = x * 2
    log = []
    handle = y.register_hook(lambda g: log.append(1))
    other = y.register_hook(lambda g: log.append(2))
    handle.remove()
    handle.remove()
    y.sum().backward(retain_graph=True)
    other.remove()
    y.sum().backward()
    return [log, x.grad]


def removed_leaf_hook(F):
    x = leaf(F, 1)
    log = []
    handle = x.register_hook(lambda g: log.append(1))
    x.sum().backward()
    handle.remove()
    x.sum().backward()
    return log


def handle_as_context(F):
    x = leaf(F, 1)
    log = []
    with x.register_hook(lambda g: log.append(1)):
        x.sum().backward()
    x.sum().backward()
    return log


def hook_removes_itself(F):
    x = leaf(F, 1)
    y = x * 2
    log = []
    handles = []

    def once(g):
        log.append("once")
        handles[0].remove()

    handles.append(y.register_hook(once))
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    return log


def hook_without_grad(F):
    F.zeros(2).register_hook(lambda g: g)


def hook_returns_wrong_type(F):
    y = leaf(F, 1) * 2
    y.register_hook(lambda g: 3)
    y.sum().backward()


def hook_returns_wrong_shape(F):
    y = leaf(F, 1, 2) * 2
    y.register_hook(lambda g: g[:1])
    y.sum().backward()


def hook_raises(F):
    y = leaf(F, 1) * 2

    def bad(g):
        raise ValueError("from the hook")

    y.register_hook(bad)
    y.sum().backward()


def post_accumulate(F):
    x = leaf(F, 1, 2)
    log = []

    def after(p):
        log.append(p.grad.clone())
        p.grad = None

    x.register_post_accumulate_grad_hook(after)
    (x * 2).sum().backward()
    (x * 3).sum().backward()
    return [log, x.grad]


def post_accumulate_order_and_removal(F):
    x = leaf(F, 1)
    log = []
    x.register_hook(lambda g: log.append("hook"))
    one = x.register_post_accumulate_grad_hook(lambda p: log.append("one"))
    x.register_post_accumulate_grad_hook(lambda p: log.append("two"))
    x.sum().backward()
    one.remove()
    x.sum().backward()
    return log


def post_accumulate_on_non_leaf(F):
    (leaf(F, 1) * 2).register_post_accumulate_grad_hook(lambda p: None)


def post_accumulate_not_for_grad(F):
    x = leaf(F, 1)
    log = []
    x.register_post_accumulate_grad_hook(lambda p: log.append(1))
    F.autograd.grad(x.sum(), x)
    return log


def optimizer_in_backward(F):
    x = leaf(F, 1, 2)

    def step(p):
        with F.no_grad():
            p.sub_(p.grad, alpha=0.1)
        p.grad = None

    x.register_post_accumulate_grad_hook(step)
    (x * x).sum().backward()
    return x


def node_hooks(F):
    x = leaf(F, 1, 2)
    y = x * x
    log = []
    y.grad_fn.register_prehook(lambda gs: log.append(("pre", [g.clone() for g in gs])))
    y.grad_fn.register_hook(
        lambda gi, go: log.append(("post", [None if g is None else g.clone() for g in gi], [g.clone() for g in go]))
    )
    (y * 3).sum().backward()
    return log


def node_hooks_replace(F):
    x = leaf(F, 1, 2)
    y = x * 2
    y.grad_fn.register_prehook(lambda gs: (gs[0] * 10,))
    y.grad_fn.register_hook(lambda gi, go: tuple(None if g is None else g + 1 for g in gi))
    y.sum().backward()
    return x.grad


def node_hook_of_accumulator(F):
    x = leaf(F, 1, 2)
    node = (x * 2).grad_fn.next_functions[0][0]
    log = []
    node.register_hook(lambda gi, go: log.append(("acc", len(gi), len(go))))
    node.register_prehook(lambda gs: log.append("pre"))
    y = x * 3
    y.sum().backward()
    return [log, node.variable is x]


def order_of_all(F):
    x = leaf(F, 1)
    y = x * 2
    log = []
    y.grad_fn.register_prehook(lambda gs: log.append("node pre"))
    y.register_hook(lambda g: log.append("tensor"))
    y.grad_fn.register_hook(lambda gi, go: log.append("node post"))
    y.retain_grad()
    y.register_hook(lambda g: g * 5)
    x.register_hook(lambda g: log.append("leaf"))
    x.register_post_accumulate_grad_hook(lambda p: log.append("accumulated"))
    y.sum().backward()
    return [log, y.grad, x.grad]


def retain_grad(F):
    x = leaf(F, 1, 2)
    y = x * 2
    y.retain_grad()
    z = y * y
    before = [y.retains_grad, x.retains_grad, y.grad is None]
    z.sum().backward(retain_graph=True)
    first = y.grad.clone()
    z.sum().backward()
    x.retain_grad()
    return [before, first, y.grad, x.retains_grad]


def retain_grad_without_grad(F):
    F.zeros(2).retain_grad()


def retain_grad_of_unused(F):
    x = leaf(F, 1)
    y = x * 2
    y.retain_grad()
    (x * 3).sum().backward()
    return y.grad


def retain_grad_with_grad_function(F):
    x = leaf(F, 1)
    y = x * 2
    y.retain_grad()
    g = F.autograd.grad(y.sum(), x)
    return [g, y.grad]


def retain_grad_of_multiple_results(F):
    x = leaf(F, 1, 2, 3, 4)
    a, b = x.split(2)
    b.retain_grad()
    a.retain_grad()
    (a * b * b).sum().backward()
    return [a.grad, b.grad, x.grad]


def hooks_of_multiple_results(F):
    x = leaf(F, 1, 2, 3, 4)
    a, b = (x * 1).split(2)
    log = []
    # torch calls hooks of results without a gradient with None (docs/differences.md).
    b.register_hook(lambda g: log.append(("b", g.clone())))
    a.register_hook(lambda g: None if g is None else log.append(("a", g.clone())))
    (b * 2).sum().backward()
    return [log, x.grad]


def multi_grad_hook_all(F):
    x, y = leaf(F, 1), leaf(F, 2)
    log = []
    F.autograd.graph.register_multi_grad_hook(
        (x, y), lambda gs: log.append([None if g is None else g.clone() for g in gs])
    )
    (x * y).sum().backward()
    (x * y * 2).sum().backward()
    return log


def multi_grad_hook_partial(F):
    x, y, z = leaf(F, 1), leaf(F, 2), leaf(F, 3)
    log = []
    F.autograd.graph.register_multi_grad_hook(
        (x, y, z), lambda gs: log.append([None if g is None else g.clone() for g in gs])
    )
    (x * z).sum().backward()
    return log


def multi_grad_hook_any(F):
    x, y = leaf(F, 1), leaf(F, 2)
    log = []
    handle = F.autograd.graph.register_multi_grad_hook((x, y), lambda g: log.append(1), mode="any")
    (x * y).sum().backward()
    (x * y).sum().backward()
    handle.remove()
    (x * y).sum().backward()
    return log


def multi_grad_hook_bad_mode(F):
    F.autograd.graph.register_multi_grad_hook((leaf(F, 1),), lambda g: None, mode="some")


def node_names_and_edges(F):
    x = leaf(F, 1)
    y = (x * 2 + x).exp().sum()
    names = []
    node = y.grad_fn
    while node is not None:
        names.append(node.name().split("::")[-1])
        node = node.next_functions[0][0] if node.next_functions else None
    return names


def gradient_edge(F):
    x = leaf(F, 1, 2)
    y = x * 2
    edge = F.autograd.graph.get_gradient_edge(y)
    leaf_edge = F.autograd.graph.get_gradient_edge(x)
    return [edge.node is y.grad_fn, edge.output_nr, leaf_edge.node.variable is x]


def grad_of_gradient_edge(F):
    x = leaf(F, 1, 2)
    y = x * 2
    edge = F.autograd.graph.get_gradient_edge(y)
    return list(F.autograd.grad((y * y).sum(), edge))


def root_gradient_edge(F):
    x = leaf(F, 1, 2)
    y = (x * x).sum()
    edge = F.autograd.graph.get_gradient_edge(y)
    F.autograd.backward(edge, F.ones((), dtype=F.float64))
    return x.grad


def metadata(F):
    node = (leaf(F, 1) * 2).grad_fn
    node.metadata["k"] = 1
    return node.metadata


def register_hook_under_no_grad(F):
    x = leaf(F, 1)
    log = []
    with F.no_grad():
        x.register_hook(lambda g: log.append(1))
    x.sum().backward()
    return log


def hook_runs_in_grad_mode(F):
    x = leaf(F, 1)
    y = x * 2
    log = []
    y.register_hook(lambda g: log.append((F.is_grad_enabled(), g.requires_grad)))
    y.sum().backward(retain_graph=True)
    y.sum().backward(create_graph=True)
    return log


def hook_builds_second_order(F):
    x = leaf(F, 3)
    y = x * x
    y.register_hook(lambda g: g * g)
    (g,) = F.autograd.grad((y * y).sum(), x, create_graph=True)
    return [g, *F.autograd.grad(g.sum(), x)]


PROGRAMS = programs(globals(), "leaf")


@pytest.mark.filterwarnings("ignore:Using backward\\(\\) with create_graph:UserWarning")
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_program(program):
    agree(program)


def test_hook_that_refers_to_its_tensor_is_collected():
    for make in (lambda: mashal.ones(2, requires_grad=True), lambda: mashal.ones(2, requires_grad=True) * 2):
        x = make()
        x.register_hook(lambda g, x=x: g * x)
        dead = weakref.ref(x)
        del x
        gc.collect()
        assert dead() is None
    x = mashal.ones(2, requires_grad=True)
    x.register_post_accumulate_grad_hook(lambda p, x=x: None)
    dead = weakref.ref(x)
    del x
    gc.collect()
    assert dead() is None


def test_node_hook_that_refers_to_its_tensor_is_collected():
    x = mashal.ones(2, requires_grad=True) * 2
    x.grad_fn.register_hook(lambda gi, go, x=x: None)
    dead = weakref.ref(x)
    del x
    gc.collect()
    assert dead() is None


def test_hook_outlives_the_tensor_it_was_registered_on():
    x = mashal.ones(2, requires_grad=True)
    y = x * 2
    log = []
    y.register_hook(lambda g: log.append(g.tolist()))
    z = y.sum()
    del y
    z.backward()
    assert log == [[1.0, 1.0]]


def test_node_identity():
    y = mashal.ones(2, requires_grad=True) * 2
    assert y.grad_fn is y.grad_fn
    assert y.exp().grad_fn.next_functions[0][0] is y.grad_fn
