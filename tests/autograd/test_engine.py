"""backward and grad: accumulation, freeing, higher orders, modes, depth, re-entrance, threads."""

from __future__ import annotations

import gc
import threading
import weakref

import pytest

import mashal
from mashal.autograd.gradcheck import GradcheckError
from tests.autograd.parity import agree, programs


def leaf(F, *values):
    return F.tensor([float(v) for v in values], dtype=F.float64, requires_grad=True)


def accumulates(F):
    x = leaf(F, 1, 2)
    for _ in range(3):
        (x * x).sum().backward()
    return x.grad


def twice_without_retain(F):
    y = (leaf(F, 1) ** 2).sum()
    y.backward()
    y.backward()


def twice_with_nothing_saved(F):
    x = leaf(F, 1)
    y = (x + 1).sum()
    y.backward()
    y.backward()
    return x.grad


def twice_with_retain(F):
    x = leaf(F, 3)
    y = (x**2).sum()
    y.backward(retain_graph=True)
    y.backward()
    return x.grad


def freed_in_part(F):
    x = leaf(F, 2)
    y = x * x
    y.sum().backward()
    (y * 2).sum().backward()


def non_scalar(F):
    (leaf(F, 1, 2) * 2).backward()


def non_scalar_with_gradient(F):
    x = leaf(F, 1, 2)
    (x * x).backward(F.tensor([1.0, 10.0], dtype=F.float64))
    return x.grad


def wrong_gradient_shape(F):
    (leaf(F, 1, 2) * 2).backward(F.ones(3, dtype=F.float64))


def gradient_not_a_tensor(F):
    (leaf(F, 1, 2) * 2).backward([1.0, 2.0])


def no_grad_root(F):
    F.ones(1).backward()


def one_element_root(F):
    x = leaf(F, 2)
    (x * x).backward()
    return x.grad


def several_roots(F):
    x = leaf(F, 1, 2)
    F.autograd.backward([(x * 2).sum(), x * x], [None, F.ones(2, dtype=F.float64)])
    return x.grad


def several_roots_mismatch(F):
    x = leaf(F, 1, 2)
    F.autograd.backward([x.sum(), x.sum()], [None])


def same_root_twice(F):
    x = leaf(F, 2)
    y = (x * x).sum()
    F.autograd.backward([y, y])
    return x.grad


def root_is_leaf(F):
    x = leaf(F, 2)
    x.backward()
    return x.grad


def root_inside_graph_of_other(F):
    x = leaf(F, 2)
    y = (x * x).sum()
    z = y * 3
    F.autograd.backward([y, z])
    return x.grad


def grad_simple(F):
    x, w = leaf(F, 2), leaf(F, 3)
    return list(F.autograd.grad((x * w).sum(), [x, w]))


def grad_leaves_grad_alone(F):
    x, w = leaf(F, 2), leaf(F, 3)
    F.autograd.grad((x * w).sum(), x)
    return [x.grad, w.grad]


def grad_unused(F):
    x, w = leaf(F, 2), leaf(F, 3)
    F.autograd.grad(x.sum(), [x, w])


def grad_allow_unused(F):
    x, w = leaf(F, 2), leaf(F, 3)
    return list(F.autograd.grad(x.sum(), [x, w], allow_unused=True))


def grad_materialize(F):
    x, w = leaf(F, 2), leaf(F, 3, 4)
    return list(F.autograd.grad(x.sum(), [x, w], materialize_grads=True))


def grad_materialize_conflict(F):
    x = leaf(F, 2)
    F.autograd.grad(x.sum(), x, materialize_grads=True, allow_unused=False)


def grad_of_plain(F):
    x = leaf(F, 2)
    F.autograd.grad(x.sum(), F.ones(2))


def grad_of_root_itself(F):
    x = leaf(F, 2)
    y = (x * x).sum()
    return list(F.autograd.grad(y, [y, x]))


def grad_of_intermediates(F):
    x = leaf(F, 2)
    y = x * x
    z = y * 3
    return list(F.autograd.grad(z.sum(), [z, y, x]))


def grad_same_input_twice(F):
    x = leaf(F, 2)
    return list(F.autograd.grad((x * x).sum(), [x, x]))


def grad_outputs_sequence(F):
    x = leaf(F, 1, 2)
    return list(F.autograd.grad([x * x, x * 3], x, [F.ones(2, dtype=F.float64), F.full((2,), 5.0, dtype=F.float64)]))


def backward_inputs(F):
    x, w = leaf(F, 2), leaf(F, 3)
    (x * w).sum().backward(inputs=[x])
    return [x.grad, w.grad]


def backward_inputs_single(F):
    x, w = leaf(F, 2), leaf(F, 3)
    (x * w).sum().backward(inputs=x)
    return [x.grad, w.grad]


def backward_inputs_empty(F):
    leaf(F, 2).sum().backward(inputs=[])


def backward_inputs_non_leaf(F):
    x = leaf(F, 2)
    y = x * 2
    (y * y).sum().backward(inputs=[y])
    return [x.grad, y.grad]


def backward_inputs_non_leaf_and_leaf(F):
    x = leaf(F, 2)
    y = x * 2
    (y * y).sum().backward(inputs=[y, x])
    return [x.grad, y.grad]


def second_derivative(F):
    x = leaf(F, 2, 3)
    (g,) = F.autograd.grad((x**4).sum(), x, create_graph=True)
    (h,) = F.autograd.grad(g.sum(), x, create_graph=True)
    (k,) = F.autograd.grad(h.sum(), x, create_graph=True)
    (m,) = F.autograd.grad(k.sum(), x)
    return [g, h, k, m]


def gradient_penalty(F):
    x, w = leaf(F, 2, 3), leaf(F, 5, 7)
    (g,) = F.autograd.grad((x * w).tanh().sum(), x, create_graph=True)
    ((g * g).sum() - 1).pow(2).backward()
    return [x.grad, w.grad]


def backward_create_graph(F):
    x = leaf(F, 2)
    (x**3).sum().backward(create_graph=True)
    g = x.grad
    x.grad = None
    g.sum().backward()
    return [g.requires_grad, g, x.grad]


def accumulate_under_create_graph(F):
    x = leaf(F, 2)
    (x**3).sum().backward()
    (x**3).sum().backward(create_graph=True)
    return x.grad


def no_grad_block(F):
    x = leaf(F, 1)
    with F.no_grad():
        y = x * 2
        with F.enable_grad():
            z = x * 3
    return [y, z]


def no_grad_decorator(F):
    x = leaf(F, 1)

    @F.no_grad()
    def f(a, *, b=1):
        return a * b, F.is_grad_enabled()

    @F.no_grad
    def g(a):
        return a * 2

    return [f(x, b=3), g(x), F.is_grad_enabled(), f.__name__]


def no_grad_restored_after_error(F):
    try:
        with F.no_grad():
            raise ValueError
    except ValueError:
        pass
    return F.is_grad_enabled()


def no_grad_reentered(F):
    mode = F.no_grad()
    log = []
    with mode:
        with F.enable_grad():
            log.append(F.is_grad_enabled())
            with mode:
                log.append(F.is_grad_enabled())
            log.append(F.is_grad_enabled())
        log.append(F.is_grad_enabled())
    log.append(F.is_grad_enabled())
    return log


def set_grad_enabled(F):
    log = [F.is_grad_enabled()]
    F.set_grad_enabled(False)
    log.append(F.is_grad_enabled())
    F.set_grad_enabled(True)
    with F.set_grad_enabled(False):
        log.append(F.is_grad_enabled())
    log.append(F.is_grad_enabled())

    @F.set_grad_enabled(False)
    def f():
        return F.is_grad_enabled()

    log += [F.is_grad_enabled(), f(), F.is_grad_enabled()]
    return log


def no_grad_generator(F):
    @F.no_grad()
    def gen():
        got = yield F.is_grad_enabled()
        yield [got, F.is_grad_enabled()]

    it = gen()
    log = [next(it), F.is_grad_enabled(), it.send(5), F.is_grad_enabled()]
    it.close()
    return log


def inference_flags(F):
    x = leaf(F, 1)
    plain = F.ones(2)
    with F.inference_mode():
        y = x * 2
        v, p = x.view(1), plain[1:]
        made = F.ones(1)
        log = [F.is_inference_mode_enabled(), F.is_grad_enabled()]
    return [
        y.is_inference(),
        y.requires_grad,
        v.is_inference(),
        p.is_inference(),
        made.is_inference(),
        made[0].is_inference(),
        x.is_inference(),
        log,
    ]


def inference_decorator(F):
    x = leaf(F, 1)

    @F.inference_mode()
    def f(a):
        return a * 2

    @F.inference_mode
    def g(a):
        return a * 2

    with F.inference_mode(False):
        z = x * 2
    return [f(x).is_inference(), g(x).is_inference(), z.requires_grad]


def inference_tensor_saved(F):
    x = leaf(F, 1)
    with F.inference_mode():
        y = F.ones(1, dtype=F.float64)
    x * y


def inference_tensor_unsaved(F):
    x = leaf(F, 1)
    with F.inference_mode():
        y = F.ones(1, dtype=F.float64)
    (x + y).sum().backward()
    return x.grad


def inference_tensor_written_outside(F):
    with F.inference_mode():
        y = F.ones(1)
    y.add_(1)


def inference_tensor_written_inside(F):
    with F.inference_mode():
        y = F.ones(1)
        y.add_(1)
        y[0] = 7
    return y + 1


def inference_tensor_requires_grad(F):
    with F.inference_mode():
        y = F.ones(1)
    y.requires_grad_()


def inference_tensor_cloned(F):
    with F.inference_mode():
        y = F.ones(1)
    z = y.clone()
    z.add_(1)
    z.requires_grad_()
    return [z.is_inference(), z]


def inference_version(F):
    with F.inference_mode():
        y = F.ones(1)
    return y._version


def inference_view_written_outside(F):
    x = F.ones(2)
    with F.inference_mode():
        v = x[1:]
    v.add_(1)
    return x


def inference_view_of_result_written_outside(F):
    y = leaf(F, 1, 2) * 1
    with F.inference_mode():
        v = y[1:]
    v.add_(1)


def normal_write_in_inference(F):
    y = F.ones(2)
    with F.inference_mode():
        y.add_(1)
    y.add_(1)
    return [y, y._version]


def integers_do_not_require_grad(F):
    F.ones(2, dtype=F.int64).requires_grad_()


def argmax_has_no_grad(F):
    y = leaf(F, 1, 2).argmax()
    return [y.requires_grad, y.is_leaf]


def comparison_has_no_grad(F):
    y = leaf(F, 1, 2) > 1
    return [y.requires_grad, y.is_leaf]


def values_of_max_have_grad(F):
    x = F.tensor([[1.0, 3.0], [4.0, 2.0]], requires_grad=True)
    values, indices = x.max(1)
    values.sum().backward()
    return [values, indices, x.grad]


def requires_grad_of_result(F):
    (leaf(F, 1) * 2).requires_grad_(False)


def grad_assignment_shape(F):
    x = leaf(F, 1)
    x.grad = F.ones(2, dtype=F.float64)


def grad_assignment_type(F):
    x = leaf(F, 1)
    x.grad = F.ones(1, dtype=F.float32)


def grad_assignment_not_tensor(F):
    leaf(F, 1).grad = 3


def grad_assignment_kept(F):
    x = leaf(F, 1)
    g = F.full((1,), 5.0, dtype=F.float64)
    x.grad = g
    x.sum().backward()
    return [x.grad is g, g]


def float_gradient_of_half(F):
    x = F.ones(3, dtype=F.float16, requires_grad=True)
    (x.float() * 2).sum().backward()
    return x.grad


def mixed_dtypes(F):
    x = F.ones(2, requires_grad=True)
    y = F.ones(2, dtype=F.float64, requires_grad=True)
    (x * y).sum().backward()
    return [x.grad, y.grad]


def broadcast_gradients(F):
    x = F.ones(3, 1, requires_grad=True)
    y = F.ones(4, requires_grad=True)
    z = F.ones((), requires_grad=True)
    (x * y * z * F.arange(12.0).reshape(3, 4)).sum().backward()
    return [x.grad, y.grad, z.grad]


def gradient_layout(F):
    x = F.ones(2, 3).t().requires_grad_()
    (x * F.arange(6.0).reshape(3, 2)).sum().backward()
    return [x.grad, list(x.grad.stride())]


def expanded_gradient_is_owned(F):
    x = F.ones(3, requires_grad=True)
    x.sum().backward()
    x.grad[0] = 5
    return [x.grad, list(x.grad.stride())]


def gradient_not_shared(F):
    x, y = F.ones(3, requires_grad=True), F.ones(3, requires_grad=True)
    g = F.ones(3)
    (x + y).backward(g)
    x.grad.add_(1)
    return [x.grad, y.grad, g]


def detach_cuts(F):
    x = leaf(F, 2)
    y = x * 2
    z = y.detach() * y
    z.sum().backward()
    return [y.detach().requires_grad, x.grad]


def diamond(F):
    x = leaf(F, 2)
    y = x * x
    a, b = y.sin(), y.cos()
    (a * b + y).sum().backward()
    return x.grad


def complex_gradients(F):
    z = F.tensor([1 + 2j, 3 - 1j], dtype=F.complex128, requires_grad=True)
    (z * z.conj()).real.sum().backward()
    return F.view_as_real(z.grad)


def complex_root(F):
    z = F.tensor(1 + 2j, requires_grad=True)
    (z * z).backward()


def real_root_of_complex_gradient(F):
    z = F.tensor([1 + 2j], dtype=F.complex128, requires_grad=True)
    (z * z).backward(F.tensor([1.0], dtype=F.float64))


def saved_hooks(F):
    x = leaf(F, 2, 3)
    log = []

    def pack(t):
        log.append(("pack", t.clone()))
        return t.detach() * 1, "tag"

    def unpack(p):
        log.append(p[1])
        return p[0]

    with F.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = x * x
    z = y.exp()
    z.sum().backward()
    return [len(log), x.grad]


def saved_hooks_nest(F):
    x = leaf(F, 2)
    log = []
    hooks = F.autograd.graph.saved_tensors_hooks
    with hooks(lambda t: log.append("outer") or t, lambda t: t):
        with hooks(lambda t: log.append("inner") or t, lambda t: t):
            a = x.exp()
        b = a.sin()
    b.sum().backward()
    return [log, x.grad]


def saved_hooks_unpack_wrong(F):
    x = leaf(F, 2)
    with F.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: 3):
        y = x.exp()
    y.sum().backward()


def saved_hooks_pack_in_place(F):
    x = leaf(F, 2)
    with F.autograd.graph.saved_tensors_hooks(lambda t: t.mul_(2), lambda t: t):
        (x * 1).sin()


def saved_hooks_disabled(F):
    with F.autograd.graph.disable_saved_tensors_hooks("not here"):
        with F.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
            pass


def saved_hooks_see_in_place_write(F):
    x = leaf(F, 2)
    y = x * 1
    with F.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
        z = y * y
    y.add_(1)
    z.sum().backward()
    return x.grad


def save_on_cpu(F):
    x = leaf(F, 2)
    with F.autograd.graph.save_on_cpu():
        y = (x * x).exp()
    y.sum().backward()
    return x.grad


def second_order_with_saved_hooks(F):
    x = leaf(F, 2)
    with F.autograd.graph.saved_tensors_hooks(lambda t: t.detach().clone(), lambda t: t):
        y = x.exp()
    (g,) = F.autograd.grad(y.sum(), x, create_graph=True)
    return [g.requires_grad, g]


def nested_backward_in_hook(F):
    x = leaf(F, 2)
    y = x * x
    log = []

    def hook(g):
        with F.enable_grad():
            w = leaf(F, 3)
            (w * w).sum().backward()
            log.append(w.grad)

    y.register_hook(hook)
    y.sum().backward()
    return [log, x.grad]


def nested_backward_on_same_leaf(F):
    x = leaf(F, 2)
    y = x * x

    def hook(g):
        with F.enable_grad():
            (x * 100).sum().backward()

    y.register_hook(hook)
    y.sum().backward()
    return x.grad


def jacobian(F):
    x = leaf(F, 1, 2)
    return F.autograd.functional.jacobian(lambda t: t**2 * t.sum(), x)


def jacobian_several(F):
    return F.autograd.functional.jacobian(lambda a, b: (a * b, a.sum()), (leaf(F, 1, 2), leaf(F, 3, 4)))


def hessian(F):
    return F.autograd.functional.hessian(lambda t: (t**3).sum() * t[0], leaf(F, 1, 2))


def vector_products(F):
    f = F.autograd.functional
    v = F.tensor([1.0, 2.0], dtype=F.float64)
    return [
        f.vjp(lambda t: t**3, leaf(F, 1, 2), v),
        f.jvp(lambda t: t**3, leaf(F, 1, 2), v),
        f.hvp(lambda t: (t**3).sum(), leaf(F, 1, 2), v),
        f.vhp(lambda t: (t**3).sum(), leaf(F, 1, 2), v),
    ]


def batched_grad(F):
    x = leaf(F, 1, 2, 3)
    return list(F.autograd.grad(x**2, x, F.eye(3, dtype=F.float64), is_grads_batched=True))


def anomaly_nan(F):
    x = F.tensor([0.0], requires_grad=True)
    with F.autograd.set_detect_anomaly(True):
        (x.sqrt() * 0).sum().backward()


def anomaly_nan_unchecked(F):
    x = F.tensor([0.0], requires_grad=True)
    with F.autograd.set_detect_anomaly(True, check_nan=False):
        (x.sqrt() * 0).sum().backward()
    return x.grad


def anomaly_flag(F):
    log = [F.is_anomaly_enabled()]
    with F.autograd.set_detect_anomaly(True):
        log.append(F.is_anomaly_enabled())
        with F.autograd.set_detect_anomaly(False):
            log.append(F.is_anomaly_enabled())
    return [*log, F.is_anomaly_enabled()]


PROGRAMS = programs(globals(), "leaf")


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_program(program):
    agree(program)


def test_messages():
    x = mashal.ones(2, requires_grad=True)
    y = (x * x).sum()
    y.backward()
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()
    with pytest.raises(RuntimeError, match="scalar outputs"):
        (x * 2).backward()
    with pytest.raises(RuntimeError, match="element 0 of tensors does not require grad"):
        mashal.ones(1).backward()
    z = x * 1
    w = z * z
    z.add_(1)
    with pytest.raises(RuntimeError, match=r"modified by an inplace operation.*version 1; expected version 0"):
        w.sum().backward()
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        x.add_(1)


def test_deep_graph():
    x = mashal.ones(1, requires_grad=True)
    y = x
    for _ in range(100_000):
        y = y + 1
    y.backward()
    assert x.grad.item() == 1
    del y
    z = x
    for _ in range(100_000):
        z = z * 1.0
    del z  # frees 100,000 nodes without recursion
    gc.collect()


def test_deep_graph_of_functions():
    class Add(mashal.autograd.Function):
        @staticmethod
        def forward(ctx, t):
            ctx.save_for_backward(t)
            return t + 1

        @staticmethod
        def backward(ctx, g):
            return g

    x = mashal.ones(1, requires_grad=True)
    y = x
    for _ in range(20_000):
        y = Add.apply(y)
    y.backward()
    assert x.grad.item() == 1
    z = x
    for _ in range(20_000):
        z = Add.apply(z)
    del z, y


def test_deep_list_of_held_results():
    x = mashal.ones(1, requires_grad=True)
    kept = [x]
    for _ in range(30_000):
        kept.append(kept[-1] * 1.0)
    kept[-1].backward()
    del kept
    gc.collect()


def test_backward_frees_the_graph():
    x = mashal.ones(3, requires_grad=True)
    y = x * 2
    dead = weakref.ref(y)
    z = (y * y).sum()
    del y
    assert dead() is not None  # the product's node keeps it
    z.backward()
    assert dead() is None


def test_forward_result_is_freed_without_backward():
    x = mashal.ones(3, requires_grad=True)
    y = x.exp()  # the node keeps its own result
    node = weakref.ref(y.grad_fn)
    result = weakref.ref(y)
    del y
    assert result() is None
    assert node() is None
    a = x * 2
    b = a.exp()
    node = weakref.ref(a.grad_fn)
    del a, b
    assert node() is None


def test_retained_graph_is_freed_later():
    x = mashal.ones(3, requires_grad=True)
    y = (x * x).sum()
    y.backward(retain_graph=True)
    node = weakref.ref(y.grad_fn)
    del y
    assert node() is None


def test_create_graph_does_not_leak():
    x = mashal.ones(3, requires_grad=True)
    (g,) = mashal.autograd.grad((x**3).sum(), x, create_graph=True)
    node = weakref.ref(g.grad_fn)
    del g
    gc.collect()
    assert node() is None


def test_threads_have_their_own_modes():
    seen = {}

    def work():
        seen["other"] = (mashal.is_grad_enabled(), mashal.is_inference_mode_enabled())

    with mashal.inference_mode():
        t = threading.Thread(target=work)
        t.start()
        t.join()
    assert seen["other"] == (True, False)


def test_backward_in_many_threads():
    w = [mashal.full((64, 64), 1.0 / 64, requires_grad=True) for _ in range(8)]
    errors = []

    def work(k):
        try:
            for _ in range(20):
                x = mashal.ones(8, 64)
                for _ in range(5):
                    x = (x @ w[k]).tanh()
                x.sum().backward()
        except RuntimeError as e:
            errors.append(e)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors
    for other in w[1:]:
        assert mashal.allclose(w[0].grad, other.grad, rtol=1e-6)


def test_shared_leaf_in_threads():
    w = mashal.zeros(1000, requires_grad=True)

    def work():
        for _ in range(50):
            (w * 1.0).sum().backward()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert w.grad.unique().tolist() == [200.0]


def test_graph_crosses_threads():
    x = mashal.ones(3, requires_grad=True)
    out = []
    t = threading.Thread(target=lambda: out.append((x * x).sum()))
    t.start()
    t.join()
    (out[0] + (x * 2).sum()).backward()
    assert x.grad.tolist() == [4, 4, 4]


def test_saved_hooks_belong_to_their_thread():
    x = mashal.ones(3, requires_grad=True)
    log = []
    with mashal.autograd.graph.saved_tensors_hooks(lambda t: log.append(1) or t, lambda t: t):
        t = threading.Thread(target=x.exp)
        t.start()
        t.join()
    assert log == []


def test_anomaly_names_the_forward_line():
    x = mashal.tensor([0.0], requires_grad=True)
    with pytest.warns(UserWarning, match="Anomaly Detection"):
        mode = mashal.autograd.detect_anomaly()
    with mode:
        y = (x.sqrt() * 0).sum()
        with (
            pytest.warns(UserWarning, match=r"test_engine\.py"),
            pytest.raises(RuntimeError, match=r"SqrtBackward0.*nan"),
        ):
            y.backward()
    assert not mashal.is_anomaly_enabled()


def test_anomaly_reports_a_failing_function():
    class Bad(mashal.autograd.Function):
        @staticmethod
        def forward(ctx, t):
            return t * 1

        @staticmethod
        def backward(ctx, g):
            raise RuntimeError("inside backward")

    x = mashal.ones(1, requires_grad=True)
    with mashal.autograd.set_detect_anomaly(True):
        y = Bad.apply(x)
        with (
            pytest.warns(UserWarning, match=r"Error detected in BadBackward[\s\S]*Bad\.apply"),
            pytest.raises(RuntimeError, match="inside backward"),
        ):
            y.backward()


def test_gradcheck_finds_a_wrong_derivative():
    class Wrong(mashal.autograd.Function):
        @staticmethod
        def forward(ctx, t):
            ctx.save_for_backward(t)
            return t * t

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0]

    x = mashal.tensor([1.0, 2.0], dtype=mashal.float64, requires_grad=True)
    with pytest.raises(GradcheckError):
        mashal.autograd.gradcheck(Wrong.apply, (x,))
    assert not mashal.autograd.gradcheck(Wrong.apply, (x,), raise_exception=False)
    assert mashal.autograd.gradcheck(lambda t: t * t, (x,))
    assert mashal.autograd.gradgradcheck(lambda t: t**3, (x,))


def test_gradcheck_of_several_results():
    x = mashal.ones(2, dtype=mashal.float64, requires_grad=True)
    assert mashal.autograd.gradcheck(lambda t: (t * t, t.exp(), t * t * t), (x,))


def grad_leaves_the_graph_beyond_its_inputs(F):
    """Only nodes that ran are freed."""
    x = leaf(F, 1, 2)
    y = x * x
    z = y * y
    (first,) = F.autograd.grad(z.sum(), y)
    (second,) = F.autograd.grad(y.sum(), x)
    return first, second


def test_grad_leaves_the_graph_beyond_its_inputs():
    agree(grad_leaves_the_graph_beyond_its_inputs)


def test_reentrant_backward_in_function():
    """Checkpointing in small: backward recomputes forward and runs its backward."""

    class Recompute(mashal.autograd.Function):
        @staticmethod
        def forward(ctx, fn, t):
            ctx.fn = fn
            ctx.save_for_backward(t)
            return fn(t)

        @staticmethod
        def backward(ctx, g):
            (t,) = ctx.saved_tensors
            with mashal.enable_grad():
                t = t.detach().requires_grad_()
                ctx.fn(t).backward(g)
            return None, t.grad

    x = mashal.tensor([0.5, 0.7], dtype=mashal.float64, requires_grad=True)
    y = x
    for _ in range(50):
        y = Recompute.apply(lambda t: t.sin() * 1.1, y)
    y.sum().backward()
    z = w = x.detach().requires_grad_()
    for _ in range(50):
        z = z.sin() * 1.1
    z.sum().backward()
    assert mashal.allclose(x.grad, w.grad)
