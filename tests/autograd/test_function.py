"""autograd.Function: saving, flags, contexts, dirty and non-differentiable results, views, errors."""

from __future__ import annotations

import gc
import weakref

import pytest

import mashal
from tests.autograd.parity import agree, programs


def leaf(F, *values):
    return F.tensor([float(v) for v in values], dtype=F.float64, requires_grad=True)


def make(F, forward, backward, **more):
    return type(
        "Made",
        (F.autograd.Function,),
        {
            "forward": staticmethod(forward),
            "backward": staticmethod(backward),
            **{k: staticmethod(v) for k, v in more.items()},
        },
    )


def saved_tensors(F):
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return g * b, g * a

    x, y = leaf(F, 2), leaf(F, 3)
    z = make(F, forward, backward).apply(x, y)
    z.backward()
    return [z, x.grad, y.grad]


def setup_context(F):
    def forward(a, k):
        return a * k, a + k

    def setup(ctx, inputs, output):
        ctx.k = inputs[1]
        ctx.shape = output[0].shape

    def backward(ctx, g, h):
        return g * ctx.k + h, None

    x = leaf(F, 2, 3)
    a, b = make(F, forward, backward, setup_context=setup).apply(x, 5)
    (a * b).sum().backward()
    return [a, b, x.grad]


def vjp_instead_of_backward(F):
    x = leaf(F, 2, 3)
    M = type(
        "M",
        (F.autograd.Function,),
        {"forward": staticmethod(lambda ctx, a: a * 2), "vjp": staticmethod(lambda ctx, g: g * 2)},
    )
    M.apply(x).sum().backward()
    return x.grad


def needs_input_grad(F):
    log = []

    def forward(ctx, a, b, k):
        log.append(list(ctx.needs_input_grad))
        return a + b

    def backward(ctx, g):
        log.append(list(ctx.needs_input_grad))
        return g, g, None

    make(F, forward, backward).apply(leaf(F, 1), F.ones(1, dtype=F.float64), 3).backward()
    return log


def forward_is_unrecorded(F):
    log = []

    def forward(ctx, a):
        b = a * 2
        log.append((F.is_grad_enabled(), b.requires_grad))
        return b

    y = make(F, forward, lambda ctx, g: g).apply(leaf(F, 1))
    return [log, y, y.grad_fn.name().endswith("MadeBackward")]


def no_inputs_need_grad(F):
    return make(F, lambda ctx, a: a * 2, lambda ctx, g: g).apply(F.ones(1))


def under_no_grad(F):
    with F.no_grad():
        return make(F, lambda ctx, a: a * 2, lambda ctx, g: g).apply(leaf(F, 1))


def missing_gradients_are_zeros(F):
    log = []

    def backward(ctx, g, h):
        log.append([g, h])
        return g + h

    x = leaf(F, 1, 2)
    a, _ = make(F, lambda ctx, t: (t * 1, t * 2), backward).apply(x)
    a.sum().backward()
    return [log, x.grad]


def missing_gradients_as_none(F):
    log = []

    def forward(ctx, t):
        ctx.set_materialize_grads(False)
        return t * 1, t * 2

    def backward(ctx, g, h):
        log.append([g, h])
        return g

    x = leaf(F, 1, 2)
    a, _ = make(F, forward, backward).apply(x)
    a.sum().backward()
    return [log, x.grad]


def non_differentiable(F):
    def forward(ctx, t):
        s, i = t.sort()
        ctx.mark_non_differentiable(i)
        ctx.save_for_backward(i)
        return s, i

    def backward(ctx, g, _):
        (i,) = ctx.saved_tensors
        return F.zeros_like(g).scatter(0, i, g)

    x = leaf(F, 3, 1, 2)
    s, i = make(F, forward, backward).apply(x)
    (s * F.tensor([1.0, 10.0, 100.0], dtype=F.float64)).sum().backward()
    return [s, i, x.grad]


def non_differentiable_float(F):
    def forward(ctx, t):
        out = t * 2
        ctx.mark_non_differentiable(out)
        return out

    return make(F, forward, lambda ctx, g: g).apply(leaf(F, 1))


def dirty(F):
    def forward(ctx, t):
        ctx.mark_dirty(t)
        t.mul_(3)
        return t

    x = leaf(F, 1, 2)
    y = x * 2
    z = make(F, forward, lambda ctx, g: g * 3).apply(y)
    (z * y).sum().backward()
    return [z is y, y, x.grad, y._version]


def dirty_leaf(F):
    def forward(ctx, t):
        ctx.mark_dirty(t)
        t.mul_(3)
        return t

    make(F, forward, lambda ctx, g: g * 3).apply(leaf(F, 1))


def dirty_view(F):
    def forward(ctx, t):
        ctx.mark_dirty(t)
        t.mul_(3)
        return t

    x = leaf(F, 1, 2)
    y = x * 2
    v = y[1:]
    make(F, forward, lambda ctx, g: g * 3).apply(v)
    (y * y).sum().backward()
    return [y, v, x.grad]


def dirty_plain_buffer(F):
    def forward(ctx, buffer, t):
        ctx.mark_dirty(buffer)
        buffer.add_(t)
        return buffer

    x = leaf(F, 1, 2)
    buffer = F.ones(2, dtype=F.float64)
    out = make(F, forward, lambda ctx, g: (None, g)).apply(buffer, x)
    (out * out).sum().backward()
    return [out is buffer, buffer, x.grad]


def dirty_not_returned(F):
    def forward(ctx, t):
        ctx.mark_dirty(t)
        t.mul_(3)
        return t * 1

    y = leaf(F, 1, 2) * 2
    make(F, forward, lambda ctx, g: g * 3).apply(y)


def returns_its_input(F):
    x = leaf(F, 1, 2)
    y = make(F, lambda ctx, t: t, lambda ctx, g: g * 10).apply(x)
    y.sum().backward()
    return [y is x, y, x.grad]


def returns_view_of_input(F):
    x = leaf(F, 1, 2)
    y = make(F, lambda ctx, t: t.view(2, 1), lambda ctx, g: g.view(2) * 10).apply(x)
    y.sum().backward()
    return [y, x.grad]


def returned_view_written(F):
    x = leaf(F, 1, 2) * 1
    y = make(F, lambda ctx, t: t.view(2, 1), lambda ctx, g: g.view(2) * 10).apply(x)
    y.mul_(2)


def returned_input_written(F):
    x = leaf(F, 1, 2) * 1
    y = make(F, lambda ctx, t: t, lambda ctx, g: g * 10).apply(x)
    y.mul_(2)


def result_written(F):
    x = leaf(F, 1, 2)
    y = make(F, lambda ctx, t: t * 2, lambda ctx, g: g * 2).apply(x)
    y.mul_(2)
    y.sum().backward()
    return [y, x.grad]


def one_of_several_results_written(F):
    x = leaf(F, 1, 2)
    a, b = make(F, lambda ctx, t: (t * 2, t * 3), lambda ctx, g, h: g * 2 + h * 3).apply(x)
    a.mul_(2)
    (a + b).sum().backward()
    return [a, b, x.grad]


def saved_input_written(F):
    def forward(ctx, t):
        ctx.save_for_backward(t)
        return t * t

    x = leaf(F, 1)
    y = x * 1
    z = make(F, forward, lambda ctx, g: g * ctx.saved_tensors[0] * 2).apply(y)
    y.add_(1)
    z.backward()


def saved_output_written(F):
    def forward(ctx, t):
        out = t.exp()
        ctx.save_for_backward(out)
        return out

    z = make(F, forward, lambda ctx, g: g * ctx.saved_tensors[0]).apply(leaf(F, 1))
    z.add_(1)
    z.backward()


def saved_twice_freed(F):
    def forward(ctx, t):
        ctx.save_for_backward(t)
        return t * t

    z = make(F, forward, lambda ctx, g: g * ctx.saved_tensors[0] * 2).apply(leaf(F, 1))
    z.backward()
    z.backward()


def saved_retained(F):
    def forward(ctx, t):
        ctx.save_for_backward(t)
        return t * t

    x = leaf(F, 3)
    z = make(F, forward, lambda ctx, g: g * ctx.saved_tensors[0] * 2).apply(x)
    z.backward(retain_graph=True)
    z.backward()
    return x.grad


def saves_none(F):
    def forward(ctx, t):
        ctx.save_for_backward(t, None)
        return t * 1

    def backward(ctx, g):
        t, nothing = ctx.saved_tensors
        return g * t if nothing is None else None

    x = leaf(F, 3)
    make(F, forward, backward).apply(x).backward()
    return x.grad


def saves_number(F):
    def forward(ctx, t):
        ctx.save_for_backward(3)
        return t * 1

    make(F, forward, lambda ctx, g: g).apply(leaf(F, 1))


def saved_is_same_object(F):
    log = []

    def forward(ctx, t):
        ctx.save_for_backward(t)
        return t * 1

    x = leaf(F, 3)

    def backward(ctx, g):
        log.append(ctx.saved_tensors[0] is x)
        return g

    make(F, forward, backward).apply(x).backward()
    return log


def second_order(F):
    def forward(ctx, t):
        ctx.save_for_backward(t)
        return t**3

    def backward(ctx, g):
        (t,) = ctx.saved_tensors
        return g * 3 * t * t

    x = leaf(F, 2)
    (g,) = F.autograd.grad(make(F, forward, backward).apply(x), x, create_graph=True)
    (h,) = F.autograd.grad(g, x, create_graph=True)
    return [g, h, *F.autograd.grad(h, x)]


def second_order_through_saved_result(F):
    def forward(ctx, t):
        out = t.exp()
        ctx.save_for_backward(out)
        return out

    x = leaf(F, 0.5)
    (g,) = F.autograd.grad(make(F, forward, lambda ctx, g: g * ctx.saved_tensors[0]).apply(x), x, create_graph=True)
    return [g, *F.autograd.grad(g, x)]


def backward_unrecorded_by_default(F):
    log = []

    def backward(ctx, g):
        log.append(F.is_grad_enabled())
        return g

    make(F, lambda ctx, t: t * 1, backward).apply(leaf(F, 1)).backward()
    return log


def once_differentiable(F):
    M = type(
        "M",
        (F.autograd.Function,),
        {
            "forward": staticmethod(lambda ctx, t: t * 2),
            "backward": staticmethod(F.autograd.function.once_differentiable(lambda ctx, g: g * 2)),
        },
    )
    x = leaf(F, 2)
    y = M.apply(x)
    y.backward(retain_graph=True)
    first = x.grad.clone()
    (g,) = F.autograd.grad(y, x, F.ones(1, dtype=F.float64, requires_grad=True), create_graph=True)
    g.backward()
    return first


def too_few_gradients(F):
    make(F, lambda ctx, a, b: a * b, lambda ctx, g: g).apply(leaf(F, 1), leaf(F, 1)).backward()


def too_many_gradients(F):
    make(F, lambda ctx, a: a * 1, lambda ctx, g: (g, g)).apply(leaf(F, 1)).backward()


def too_many_gradients_that_are_none(F):
    x = leaf(F, 1)
    make(F, lambda ctx, a: a * 1, lambda ctx, g: (g, None, None)).apply(x).backward()
    return x.grad


def gradient_for_a_number(F):
    make(F, lambda ctx, a, k: a * k, lambda ctx, g: (g, g)).apply(leaf(F, 1), 3).backward()


def gradient_of_wrong_shape(F):
    make(F, lambda ctx, a: a * 1, lambda ctx, g: F.ones(3, dtype=F.float64)).apply(leaf(F, 1, 2)).backward(
        F.ones(2, dtype=F.float64)
    )


def gradient_of_larger_shape_is_reduced(F):
    x = leaf(F, 1)
    make(F, lambda ctx, a: a.expand(3) * 1, lambda ctx, g: g).apply(x).sum().backward()
    return x.grad


def gradient_of_other_dtype(F):
    x = leaf(F, 1)
    make(F, lambda ctx, a: a * 1, lambda ctx, g: g.float()).apply(x).backward()
    return x.grad


def gradient_is_none(F):
    x = leaf(F, 1)
    make(F, lambda ctx, a: a * 1, lambda ctx, g: None).apply(x).backward()
    return x.grad


def gradient_not_a_tensor(F):
    make(F, lambda ctx, a: a * 1, lambda ctx, g: 3).apply(leaf(F, 1)).backward()


def no_backward(F):
    M = type("M", (F.autograd.Function,), {"forward": staticmethod(lambda ctx, t: t * 2)})
    M.apply(leaf(F, 1)).backward()


def no_forward(F):
    type("M", (F.autograd.Function,), {}).apply(leaf(F, 1))


def instance_is_refused(F):
    make(F, lambda ctx, a: a, lambda ctx, g: g)()


def old_style_is_refused(F):
    class Old(F.autograd.Function):
        def forward(self, t):
            return t

    Old()(leaf(F, 1))


def keyword_arguments(F):
    x = leaf(F, 1)
    y = make(F, lambda ctx, a, k=2: a * k, lambda ctx, g: (g * 7, None)).apply(x, 5)
    y.backward()
    return [y, x.grad]


def other_results_pass(F):
    out = make(F, lambda ctx, a: (a * 1, 3, None, "text"), lambda ctx, g, *rest: g).apply(leaf(F, 1))
    return list(out)


def list_result(F):
    return make(F, lambda ctx, a: [a * 1, a * 2], lambda ctx, *g: g[0]).apply(leaf(F, 1))


def tensors_in_list_are_plain(F):
    x = leaf(F, 1)
    return make(F, lambda ctx, items: items[0] * 2, lambda ctx, g: None).apply([x])


def attributes_on_context(F):
    def forward(ctx, t):
        ctx.factor = 5
        ctx.note = "kept"
        return t * 5

    x = leaf(F, 1)
    y = make(F, forward, lambda ctx, g: g * ctx.factor).apply(x)
    y.backward()
    return [x.grad, y.grad_fn.note]


def exception_in_forward(F):
    def forward(ctx, t):
        raise ValueError("forward")

    make(F, forward, lambda ctx, g: g).apply(leaf(F, 1))


def exception_in_backward(F):
    def backward(ctx, g):
        raise IndexError("backward")

    make(F, lambda ctx, t: t * 1, backward).apply(leaf(F, 1)).backward()


def grad_mode_restored_after_error(F):
    try:
        exception_in_forward(F)
    except ValueError:
        pass
    return F.is_grad_enabled()


def integer_result(F):
    x = leaf(F, 1, 2)
    a, n = make(F, lambda ctx, t: (t * 1, F.tensor(3)), lambda ctx, g, h: g).apply(x)
    a.sum().backward()
    return [a, n, x.grad]


def plain_result_of_constant(F):
    x = leaf(F, 1, 2)
    y = make(F, lambda ctx, t: F.ones(2, dtype=F.float64), lambda ctx, g: g * 4).apply(x)
    y.sum().backward()
    return [y, x.grad]


def same_tensor_twice(F):
    x = leaf(F, 2)
    make(F, lambda ctx, a, b: a * b, lambda ctx, g: (g * 3, g * 4)).apply(x, x).backward()
    return x.grad


def inside_another(F):
    Inner = make(F, lambda ctx, t: t * 2, lambda ctx, g: g * 20)

    def forward(ctx, t):
        return Inner.apply(t) + 1

    x = leaf(F, 2)
    make(F, forward, lambda ctx, g: g * 7).apply(x).backward()
    return x.grad


def recorded_inside_backward(F):
    Inner = make(F, lambda ctx, t: t * 2, lambda ctx, g: g * 20)
    x = leaf(F, 2)
    (g,) = F.autograd.grad(
        make(F, lambda ctx, t: t * 1, lambda ctx, g: Inner.apply(g)).apply(x * x), x, create_graph=True
    )
    return [g, *F.autograd.grad(g, x)]


def straight_through(F):
    class Sign(F.autograd.Function):
        @staticmethod
        def forward(ctx, t):
            return t.sign()

        @staticmethod
        def backward(ctx, g):
            return g.clamp(-1, 1)

    x = leaf(F, -2, 3)
    (Sign.apply(x) * 5).sum().backward()
    return x.grad


def context_needs_flags_in_setup(F):
    log = []

    def setup(ctx, inputs, output):
        log.append(list(ctx.needs_input_grad))
        ctx.save_for_backward(*inputs)
        ctx.set_materialize_grads(False)

    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return g * b if ctx.needs_input_grad[0] else None, g * a if ctx.needs_input_grad[1] else None

    x = leaf(F, 2)
    make(F, lambda a, b: a * b, backward, setup_context=setup).apply(x, F.ones(1, dtype=F.float64)).backward()
    return [log, x.grad]


PROGRAMS = programs(globals(), "leaf", "make")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_program(program):
    agree(program)


class Square(mashal.autograd.Function):
    @staticmethod
    def forward(ctx, t):
        ctx.save_for_backward(t)
        return t * t

    @staticmethod
    def backward(ctx, g):
        return 2 * g * ctx.saved_tensors[0]


def test_graph_of_functions_is_freed():
    x = mashal.ones(2, requires_grad=True)
    middle = x * 2
    y = Square.apply(middle)
    dead, node = weakref.ref(middle), weakref.ref(y.grad_fn)
    del middle
    y.sum().backward()
    assert dead() is None
    del y
    gc.collect()
    assert node() is None


def test_result_kept_on_the_context_is_collected():
    class Keeps(mashal.autograd.Function):
        @staticmethod
        def forward(ctx, t):
            ctx.out = t.exp()
            return ctx.out

        @staticmethod
        def backward(ctx, g):
            return g * ctx.out

    y = Keeps.apply(mashal.ones(2, requires_grad=True))
    dead = weakref.ref(y)
    del y
    gc.collect()
    assert dead() is None


def test_gradcheck_of_function():
    x = mashal.tensor([0.3, -2.0], dtype=mashal.float64, requires_grad=True)
    assert mashal.autograd.gradcheck(Square.apply, (x,))
    assert mashal.autograd.gradgradcheck(Square.apply, (x,))


def test_function_in_saved_tensors_hooks():
    log = []
    x = mashal.tensor([3.0], requires_grad=True)
    with mashal.autograd.graph.saved_tensors_hooks(
        lambda t: log.append("pack") or t * 1, lambda t: log.append("unpack") or t
    ):
        y = Square.apply(x)
    y.backward()
    assert log == ["pack", "unpack"]
    assert x.grad.item() == 6


def test_function_of_parameters_and_subclass():
    w = mashal.nn.Parameter(mashal.ones(2))
    out = Square.apply(w)
    assert type(out) is mashal.Tensor
    out.sum().backward()
    assert w.grad.tolist() == [2, 2]
