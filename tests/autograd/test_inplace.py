"""In-place writes, views and their histories: the same values, gradients, flags and refusals as torch."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests.autograd.parity import agree, programs


def leaf(F: Any, *shape: int) -> Any:
    n = 1
    for s in shape:
        n *= s
    return (F.arange(1, n + 1, dtype=F.float64).reshape(shape) / 3).detach().requires_grad_()


def grads(F: Any, out: Any, *leaves: Any) -> list[Any]:
    weights = F.arange(1, out.numel() + 1, dtype=out.dtype).reshape(out.shape)
    (out * weights).sum().backward()
    return [out, *[x.grad for x in leaves]]


# ---- one program each; the name is the test's ----


def inplace_on_result(F):
    x = leaf(F, 3)
    y = x * 2
    y.mul_(x)
    return grads(F, y, x)


def inplace_on_leaf(F):
    leaf(F, 3).mul_(2)


def inplace_on_leaf_in_no_grad(F):
    x = leaf(F, 3)
    with F.no_grad():
        x.mul_(2)
    return [x, x._version]


def inplace_on_leaf_under_inference(F):
    x = leaf(F, 3)
    with F.inference_mode():
        x.mul_(2)
    return x


def inplace_on_view_of_leaf(F):
    leaf(F, 3)[0].mul_(2)


def setitem_on_leaf(F):
    x = leaf(F, 3)
    x[0] = 1.0


def inplace_on_view_of_leaf_in_no_grad(F):
    x = leaf(F, 3)
    with F.no_grad():
        x[0].mul_(5)
    return grads(F, x * x, x)


def inplace_on_detached_shares_memory(F):
    x = leaf(F, 3)
    x.detach().mul_(2)
    return [x, x._version]


def inplace_on_data_keeps_version(F):
    x = leaf(F, 3)
    before = x._version
    x.data.mul_(2)
    return [x, x._version - before]


def plain_leaf_becomes_result(F):
    x = leaf(F, 3)
    y = F.zeros(3, dtype=F.float64)
    y.add_(x)
    return grads(F, y * y, x)


def setitem_into_plain_base(F):
    x = leaf(F, 3)
    y = F.ones(2, 3, dtype=F.float64)
    y[1] = x * 2
    return grads(F, y * y, x)


def setitem_scalar_cuts_gradient(F):
    x = leaf(F, 4)
    y = x * 1
    y[1] = 7.0
    return grads(F, y * x, x)


def setitem_slice_of_tensor(F):
    x, w = leaf(F, 4, 3), leaf(F, 2, 3)
    y = x * 2
    y[1:3] = w * w
    return grads(F, y, x, w)


def setitem_mask(F):
    x, w = leaf(F, 4), leaf(F, 2)
    y = x * 2
    y[F.tensor([True, False, True, False])] = w * 3
    return grads(F, y * y, x, w)


def setitem_index_list(F):
    x, w = leaf(F, 4), leaf(F, 2)
    y = x * 2
    y[[3, 0]] = w * w
    return grads(F, y * y, x, w)


def setitem_broadcasts(F):
    x, w = leaf(F, 2, 3), leaf(F, 1)
    y = x * 2
    y[:, 1:] = w * w
    return grads(F, y * y, x, w)


def view_then_write_base(F):
    x = leaf(F, 4)
    base = x * 2
    view = base[1:3]
    base.mul_(x)
    return grads(F, view * view, x)


def view_then_write_view_read_base(F):
    x = leaf(F, 4)
    base = x * 2
    view = base[1:3]
    view.mul_(3)
    return grads(F, base * base, x)


def two_views_write_one_read_other(F):
    x = leaf(F, 2, 3)
    base = x * 2
    row, column = base[0], base[:, 1]
    row.mul_(x[1])
    return grads(F, column * column, x)


def chain_of_views(F):
    x = leaf(F, 2, 6)
    base = x * 1
    v = base.view(3, 4).t()[1:3].unsqueeze(0)
    v.mul_(2).add_(1)
    w = base[0]
    w.exp_()
    return grads(F, v + base.sum(), x)


def chain_of_views_flags(F):
    x = leaf(F, 2, 6)
    base = x * 1
    v = base.view(3, 4).t()[1:3]
    return [v._base is base, base._base is None, v._is_view() if hasattr(v, "_is_view") else True]


def write_view_of_plain_base(F):
    x = leaf(F, 2)
    base = F.zeros(4, dtype=F.float64)
    view = base[1:3]
    view.add_(x)
    flags = [base.requires_grad, view.requires_grad, base.is_leaf, view.is_leaf]
    return [flags, *grads(F, base * base, x)]


def sibling_view_of_plain_base(F):
    x = leaf(F, 2)
    base = F.zeros(4, dtype=F.float64)
    first, second = base[:2], base[1:3]
    second.add_(x)
    return [first.requires_grad, *grads(F, first * 2, x)]


def plain_view_of_written_base_with_no_grad(F):
    x = leaf(F, 2)
    base = F.zeros(4, dtype=F.float64)
    view = base[1:3]
    with F.no_grad():
        view.add_(x)
    return [base, view]


def write_through_detached_view(F):
    x = leaf(F, 4)
    y = x * 2
    y[1:3].detach().zero_()
    return grads(F, y, x)


def zero_view(F):
    x = leaf(F, 4)
    y = x * x
    y[1:3].zero_()
    return grads(F, y, x)


def fill_diagonal_view(F):
    x = leaf(F, 3, 3)
    y = x * x
    y.diagonal().fill_(1)
    return grads(F, y, x)


def copy_into_view(F):
    x, w = leaf(F, 4), leaf(F, 2)
    y = x * x
    y[1:3].copy_(w * 2)
    return grads(F, y * y, x, w)


def transpose_in_place_view(F):
    x = leaf(F, 2, 3)
    y = x * x
    y.t().mul_(2)
    return grads(F, y, x)


def expanded_view_write(F):
    y = (leaf(F, 3) * 2).expand(2, 3)
    y.mul_(2)


def as_strided_write(F):
    x = leaf(F, 6)
    y = x * 1
    y.as_strided((2, 2), (3, 1), 1).mul_(5)
    return grads(F, y * y, x)


def split_write(F):
    x = leaf(F, 4)
    y = x * 1
    y.split(2)[0].mul_(2)


def chunk_write(F):
    (leaf(F, 4) * 1).chunk(2)[0].mul_(2)


def unbind_write(F):
    x = leaf(F, 2, 2)
    y = x * 1
    y.unbind(0)[0].mul_(2)


def unbind_write_of_plain(F):
    y = F.ones(2, 2, dtype=F.float64)
    a, _ = y.unbind(0)
    a.mul_(2)
    return y


def unbind_write_of_plain_with_grad(F):
    x = leaf(F, 2)
    y = F.ones(2, 2, dtype=F.float64)
    a, _ = y.unbind(0)
    a.mul_(x)


def unbind_no_grad_write(F):
    y = leaf(F, 2, 2) * 1
    a, _ = y.unbind(0)
    with F.no_grad():
        a.mul_(2)
    return y


def iterate_write(F):
    y = leaf(F, 2, 2) * 1
    for row in y:
        row.mul_(2)


def no_grad_view_written_outside(F):
    y = leaf(F, 4) * 1
    with F.no_grad():
        v = y[1:]
    v.mul_(2)


def no_grad_view_of_leaf_written_outside(F):
    x = leaf(F, 4)
    with F.no_grad():
        v = x[1:]
    v.mul_(2)


def no_grad_view_of_plain_written_by_grad(F):
    x = leaf(F, 3)
    y = F.zeros(4, dtype=F.float64)
    with F.no_grad():
        v = y[1:]
    v.add_(x)


def no_grad_view_of_plain(F):
    y = F.zeros(4, dtype=F.float64)
    with F.no_grad():
        v = y[1:]
    v.add_(1)
    return [y, v, v._base is y]


def multi_no_grad_view_written_inside(F):
    y = leaf(F, 4) * 1
    with F.no_grad():
        v = y[1:]
        v.mul_(2)
    return [y, v]


def requires_grad_view_flags(F):
    x = leaf(F, 4)
    with F.no_grad():
        v = x[1:]
    w = x[1:]
    return [v.requires_grad, w.requires_grad, v.is_leaf, w.is_leaf]


def saved_input_overwritten(F):
    x = leaf(F, 3)
    y = x * 1
    z = y * y
    y.add_(1)
    z.sum().backward()


def saved_output_overwritten(F):
    x = leaf(F, 3)
    y = x.exp()
    y.add_(1)
    y.sum().backward()


def saved_view_overwritten_by_base(F):
    x = leaf(F, 4)
    base = x * 1
    z = base[:2] * base[2:]
    base.zero_()
    z.sum().backward()


def unsaved_input_overwritten(F):
    x = leaf(F, 3)
    y = x * 1
    z = y + 1
    y.mul_(5)
    return grads(F, z * 2 + y, x)


def overwritten_leaf_after_save(F):
    x, w = leaf(F, 3), leaf(F, 3)
    z = x * w
    with F.no_grad():
        w.add_(1)
    z.sum().backward()


def overwritten_through_data_unnoticed(F):
    x, w = leaf(F, 3), leaf(F, 3)
    z = x * w
    w.data.add_(1)
    return grads(F, z, x)


def out_of_place_after_in_place(F):
    x = leaf(F, 3)
    y = x * 2
    y += x
    y -= 1
    y *= y
    return grads(F, y, x)


def in_place_with_itself(F):
    x = leaf(F, 3)
    y = x * 1
    y.mul_(y)
    return grads(F, y, x)


def in_place_with_own_view(F):
    x = leaf(F, 3)
    y = x * 1
    y.add_(y[0].clone())
    return grads(F, y, x)


def in_place_activation(F):
    x = leaf(F, 3)
    y = (x - 0.5) * 1
    F.nn.functional.relu(y, inplace=True)
    return grads(F, y, x)


def in_place_sqrt_keeps_result(F):
    x = leaf(F, 3)
    y = x * 1
    y.sqrt_()
    return grads(F, y, x)


def in_place_requires_same_shape(F):
    (leaf(F, 3) * 1).add_(F.ones(2, 3, dtype=F.float64))


def in_place_requires_castable(F):
    F.ones(3, dtype=F.int64).add_(1.5)


def in_place_int_div(F):
    F.ones(3, dtype=F.int64).div_(2)


def masked_fill(F):
    x = leaf(F, 3)
    y = x * x
    y.masked_fill_(F.tensor([True, False, True]), 0.0)
    return grads(F, y, x)


def masked_fill_view(F):
    x = leaf(F, 2, 3)
    y = x * x
    y[1].masked_fill_(F.tensor([True, False, True]), 0.0)
    return grads(F, y, x)


def index_add(F):
    x, w = leaf(F, 3), leaf(F, 2)
    y = x * x
    y.index_add_(0, F.tensor([2, 0]), w * 2)
    return grads(F, y, x, w)


def scatter_into_view(F):
    x, w = leaf(F, 2, 3), leaf(F, 2)
    y = x * x
    y[0].scatter_(0, F.tensor([2, 0]), w * 2)
    return grads(F, y, x, w)


def detach_in_place(F):
    x = leaf(F, 3)
    y = x * 2
    y.detach_()
    return [y.requires_grad, y.is_leaf, y]


def detach_in_place_of_view(F):
    y = (leaf(F, 3) * 2)[1:]
    y.detach_()


def requires_grad_after_the_fact(F):
    y = F.zeros(3, dtype=F.float64)
    v = y[1:]
    y.requires_grad_()
    return [v.requires_grad, (y * 2).requires_grad]


def requires_grad_on_view(F):
    y = F.zeros(3, dtype=F.float64)
    v = y[1:].requires_grad_()
    out = v * 2
    out.sum().backward()
    return [y.requires_grad, v.grad, v.is_leaf]


def write_view_leaf(F):
    v = F.zeros(3, dtype=F.float64)[1:].requires_grad_()
    v.mul_(2)


def write_base_of_view_leaf(F):
    y = F.zeros(3, dtype=F.float64)
    v = y[1:].requires_grad_()
    y.add_(1)
    return [y, v, y.requires_grad]


def relu_keeps_hook(F):
    x = leaf(F, 3)
    y = x * 2
    seen = []
    y.register_hook(lambda g: seen.append(g.clone()))
    y.mul_(3)
    y.register_hook(lambda g: seen.append(g.clone()))
    y.sum().backward()
    return [seen, x.grad]


def hook_that_changes_before_in_place(F):
    x = leaf(F, 3)
    y = x * 2
    y.register_hook(lambda g: g * 10)
    y.mul_(3)
    y.sum().backward()
    return x.grad


def retain_grad_then_in_place(F):
    x = leaf(F, 3)
    y = x * 2
    y.retain_grad()
    y.mul_(3)
    y.sum().backward()
    return [x.grad, y.grad, y.retains_grad]


def retain_grad_twice_around_in_place(F):
    x = leaf(F, 3)
    y = x * 2
    y.retain_grad()
    y.mul_(3)
    y.retain_grad()
    y.mul_(5)
    y.sum().backward()
    return [x.grad, y.grad]


def retain_grad_of_view_then_base_write(F):
    x = leaf(F, 3)
    y = x * 2
    v = y[1:]
    v.retain_grad()
    y.mul_(3)
    v.sum().backward()
    return [x.grad, v.grad]


def retain_grad_of_base_then_view_write(F):
    x = leaf(F, 3)
    y = x * 2
    y.retain_grad()
    y[1:].mul_(3)
    y.sum().backward()
    return [x.grad, y.grad]


def hook_of_view_then_base_write(F):
    x = leaf(F, 3)
    y = x * 2
    v = y[1:]
    seen = []
    v.register_hook(lambda g: seen.append(g.clone()))
    y.mul_(3)
    (v * 2).sum().backward()
    return [seen, x.grad]


def second_order_through_view_write(F):
    x, w = leaf(F, 4), leaf(F, 2)
    y = x * x
    y[1:3].mul_(w * w)
    (g,) = F.autograd.grad((y * y).sum(), x, create_graph=True)
    return [g, *F.autograd.grad((g * g).sum(), [x, w])]


def second_order_through_in_place(F):
    x = leaf(F, 3)
    y = x * x
    y.mul_(x).exp_()
    (g,) = F.autograd.grad(y.sum(), x, create_graph=True)
    return [g, *F.autograd.grad(g.sum(), x)]


def in_place_on_accumulated_grad(F):
    x = leaf(F, 3)
    (x * x).sum().backward()
    x.grad.zero_()
    (x * x).sum().backward()
    return x.grad


def unfold_view_write(F):
    y = leaf(F, 5) * 1
    y.unfold(0, 2, 2).mul_(2)
    return y


def real_view_of_complex(F):
    x = leaf(F, 3)
    z = F.complex(x, x * 2)
    F.view_as_real(z)[:, 0].mul_(3)
    return F.view_as_real(z)


def squeeze_in_place(F):
    x = leaf(F, 1, 3)
    y = x * 2
    y.squeeze_(0)
    return [*grads(F, y * y, x)]


def transpose_in_place(F):
    x = leaf(F, 2, 3)
    y = x * 2
    y.t_()
    return [*grads(F, y * y, x)]


def unsqueeze_in_place_of_view(F):
    x = leaf(F, 2, 3)
    y = (x * 2)[0]
    y.unsqueeze_(0)
    y.mul_(2)
    return [*grads(F, y * y, x)]


def set_data(F):
    x = leaf(F, 3)
    y = x * x
    x.data = F.ones(3, dtype=F.float64)
    return [x, *grads(F, y, x)]


def set_data_other_shape(F):
    x = leaf(F, 3)
    x.data = F.ones(2, 2, dtype=F.float64)
    return [x, *grads(F, x * x, x)]


def version_counters(F):
    x = F.zeros(4)
    v = x[1:]
    d = x.detach()
    versions = [x._version]
    v.add_(1)
    versions += [x._version, v._version, d._version]
    d.add_(1)
    versions += [x._version, v._version, d._version]
    x.data.add_(1)
    versions += [x._version]
    F.add(x, 1, out=x)
    versions += [x._version]
    return versions


def out_with_grad(F):
    F.mul(leaf(F, 3), 2, out=F.zeros(3, dtype=F.float64))


def out_requires_grad(F):
    F.mul(F.ones(3, dtype=F.float64), 2, out=leaf(F, 3))


def out_of_graph_tensor(F):
    x = leaf(F, 3)
    with F.no_grad():
        out = F.zeros(3, dtype=F.float64)
        F.mul(x, 2, out=out)
    return out


def random_fill_in_graph(F):
    x = leaf(F, 3)
    y = x * 2
    y.fill_(3)
    return [y.requires_grad, *grads(F, y * x, x)]


def uniform_fill_drops_gradient(F):
    x = leaf(F, 3)
    y = x * 2
    F.manual_seed(0)
    y.uniform_()
    return [y.requires_grad, *grads(F, y * x, x)]


def resize_with_grad(F):
    leaf(F, 3).resize_(2)


PROGRAMS = programs(globals(), "leaf", "grads")


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_program(program):
    agree(program)


# ---- random programs of views and in-place writes ----

VIEWS = {
    "select": lambda t: t[0],
    "slice": lambda t: t[..., 1:],
    "step": lambda t: t[..., ::2],
    "transpose": lambda t: t.transpose(0, -1),
    "unsqueeze": lambda t: t.unsqueeze(0),
    "squeeze": lambda t: t.squeeze(),
    "flatten": lambda t: t.flatten() if t.is_contiguous() else t.view(t.shape),
    "detach": lambda t: t.detach(),
    "narrow": lambda t: t.narrow(0, 0, 1),
    "diagonal": lambda t: t.diagonal(),
    "movedim": lambda t: t.movedim(0, -1),
}
WRITES = {
    "mul": lambda t, w: t.mul_(2),
    "add": lambda t, w: t.add_(w),
    "mulw": lambda t, w: t.mul_(w),
    "zero": lambda t, w: t.zero_(),
    "sin": lambda t, w: t.sin_(),
    "copy": lambda t, w: t.copy_(w * w),
    "clamp": lambda t, w: t.clamp_(max=1.0),
    "sub_self": lambda t, w: t.sub_(t.detach().clone()),
    "set": lambda t, w: t.__setitem__(0, w * 3) if t.dim() else t.fill_(1),
    "exp": lambda t, w: t.mul_(0.1).exp_(),
}
READS = {"none": lambda t, w: None, "mul": lambda t, w: t * w, "square": lambda t, w: t * t, "add": lambda t, w: t + 1}


def random_program(seed: int) -> Any:
    rng = random.Random(seed)
    steps = []
    for _ in range(rng.randint(2, 7)):
        kind = rng.choice(["view", "view", "write", "write", "read"])
        table = {"view": VIEWS, "write": WRITES, "read": READS}[kind]
        steps.append((kind, rng.choice(sorted(table)), rng.random(), rng.random() < 0.12))

    def program(F: Any) -> Any:
        x, w = leaf(F, 3, 4), (leaf(F, 1) / 2).detach().requires_grad_()
        pool = [x * 1, F.ones(2, 3, dtype=F.float64)] if seed % 3 else [x * x]
        outs = []
        for kind, name, where, unrecorded in steps:
            t = pool[int(where * len(pool))]
            with F.set_grad_enabled(not unrecorded):
                if kind == "view":
                    if t.dim() or name in ("unsqueeze", "squeeze", "detach"):
                        if name == "diagonal" and t.dim() < 2:
                            continue
                        pool.append(VIEWS[name](t))
                elif kind == "write":
                    # torch alone refuses to write a view whose base was rewritten, unless its history was asked for.
                    assert t.is_leaf in (True, False)
                    WRITES[name](t, w)
                else:
                    outs.append(READS[name](t, w))
        outs = [o for o in outs if o is not None]
        total = sum(((p * (i + 1.5)).sin().sum() for i, p in enumerate([*pool, *outs])), x.sum() * 0)
        flags = [(p.requires_grad, p.is_leaf, p._version) for p in pool]
        g = F.autograd.grad(total, [x, w], allow_unused=True, create_graph=True)
        again = F.autograd.grad(
            sum((i.sum() for i in g if i is not None and i.requires_grad), x.sum()), [x, w], materialize_grads=True
        )
        # Whether a gradient of zeros is recorded is a matter of taste.
        return [flags, list(pool), total, [i if i is None else i.detach() for i in g], list(again)]

    program.__doc__ = str(steps)
    return program


@pytest.mark.parametrize("block", range(10))
def test_random_programs(block):
    for seed in range(block * 60, block * 60 + 60):
        program = random_program(seed)
        try:
            agree(program, tol=1e-9)
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {program.__doc__}\n{error}") from None
