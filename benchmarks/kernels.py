"""Large operations against PyTorch: pointwise, reductions, softmax, products, convolution, attention, sorting."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from _harness import Case, Step, main

import mashal

Make = Callable[[Any], Step]


def rand(m: Any, *shape: int, dtype: str = "float32", grad: bool = False) -> Any:
    m.manual_seed(1)
    t = m.rand(*shape).sub_(0.5).to(getattr(m, dtype))
    return t.requires_grad_() if grad else t


def pointwise(name: str, n: int) -> Make:
    def make(m: Any) -> Step:
        a, b = rand(m, n), rand(m, n)
        if name == "add":
            return lambda: a + b
        if name == "where":
            c = a > 0
            return lambda: m.where(c, a, b)
        f = m.nn.functional.gelu if name == "gelu" else getattr(m, name)
        return lambda: f(a)

    return make


def reduction(name: str, dim: int | None) -> Make:
    def make(m: Any) -> Step:
        x = rand(m, 2048, 2048)
        f = getattr(m, name)
        return (lambda: f(x)) if dim is None else (lambda: f(x, dim))

    return make


def both_ways(forward: Callable[[Any], tuple[Callable[[], Any], list[Any]]]) -> Make:
    """A step of forward and backward."""

    def make(m: Any) -> Step:
        run, inputs = forward(m)
        out = run()
        g = m.ones(tuple(out.shape), dtype=out.dtype)

        def step() -> None:
            for t in inputs:
                t.grad = None
            run().backward(g)

        return step

    return make


def softmax_like(name: str, dtype: str = "float32") -> Make:
    def forward(m: Any) -> Any:
        x = rand(m, 512, 32000, dtype=dtype, grad=True)
        F = m.nn.functional
        if name == "layer_norm":
            w, b = m.ones(32000, dtype=x.dtype).requires_grad_(), m.zeros(32000, dtype=x.dtype).requires_grad_()
            return (lambda: F.layer_norm(x, (32000,), w, b)), [x, w, b]
        if name == "cross_entropy":
            y = m.randint(0, 32000, (512,))
            return (lambda: F.cross_entropy(x, y)), [x]
        f = getattr(F, name)
        return (lambda: f(x, -1)), [x]

    return both_ways(forward)


def matmul(a_shape: tuple[int, ...], b_shape: tuple[int, ...], dtype: str = "float32") -> Make:
    def make(m: Any) -> Step:
        a, b = rand(m, *a_shape, dtype=dtype), rand(m, *b_shape, dtype=dtype)
        return lambda: a @ b

    return make


def conv(x_shape: tuple[int, ...], w_shape: tuple[int, ...], stride: int, padding: int, groups: int = 1) -> Make:
    def forward(m: Any) -> Any:
        x, w = rand(m, *x_shape, grad=True), rand(m, *w_shape, grad=True)
        return (lambda: m.nn.functional.conv2d(x, w, None, stride, padding, 1, groups)), [x, w]

    return both_ways(forward)


def attention(m: Any) -> Step:
    def forward(m: Any) -> Any:
        q, k, v = (rand(m, 1, 8, 512, 64, grad=True) for _ in range(3))
        return (lambda: m.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)), [q, k, v]

    return both_ways(forward)(m)


def data_movement(name: str) -> Make:
    def make(m: Any) -> Step:
        x = rand(m, 1000, 1000)
        m.manual_seed(2)
        index = m.randint(0, 1000, (1000, 1000))
        rows = m.randint(0, 1000, (4096,))
        return {
            "sort": lambda: m.sort(x),
            "topk": lambda: m.topk(x, 10),
            "cumsum": lambda: m.cumsum(x, 1),
            "gather": lambda: m.gather(x, 1, index),
            "index_select": lambda: m.index_select(x, 0, rows),
            "scatter_add": lambda: m.zeros(1000, 1000).scatter_add_(1, index, x),
        }[name]

    return make


def embedding(m: Any) -> Step:
    def forward(m: Any) -> Any:
        w = rand(m, 10000, 256, grad=True)
        m.manual_seed(3)
        index = m.randint(0, 10000, (32, 128))
        return (lambda: m.nn.functional.embedding(index, w)), [w]

    return both_ways(forward)(m)


def recurrent(kind: str, steps: int, batch: int, size: int, train: bool = True, **options: Any) -> Make:
    def make(m: Any) -> Step:
        m.manual_seed(0)
        net = getattr(m.nn, kind)(size, size, **options)
        x = rand(m, steps, batch, size)

        def step() -> None:
            net.zero_grad()
            net(x)[0].sum().backward()

        def forward() -> None:
            with m.no_grad():
                net(x)

        return step if train else forward

    return make


def recurrent_cell(m: Any) -> Step:
    m.manual_seed(0)
    net = m.nn.LSTMCell(1, 51, dtype=m.float64)
    x = rand(m, 20, 97, 1, dtype="float64")

    def step() -> None:
        net.zero_grad()
        state = None
        for t in x.unbind(0):
            state = net(t, state)
        state[0].sum().backward()

    return step


def mlp(m: Any) -> Step:
    m.manual_seed(0)
    nn = m.nn
    net = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))
    x, y = m.rand(128, 784), m.randint(0, 10, (128,))
    optimizer = m.optim.SGD(net.parameters(), lr=0.01)

    def step() -> None:
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        optimizer.step()

    return step


def low_precision(name: str) -> Make:
    def make(m: Any) -> Step:
        x = rand(m, 1024, 4096, dtype="bfloat16")
        f = m.nn.functional.gelu if name == "gelu" else lambda t: m.softmax(t, -1)
        return lambda: f(x)

    return make


def cases() -> list[Case]:
    table: list[tuple[str, Make, float]] = []
    table += [
        (f"{name}, {n:.0e} float32", pointwise(name, n), bar)
        for n, bar in ((10**6, 0.6), (10**7, 0.35))
        for name in ("exp", "tanh", "sigmoid", "gelu", "erf", "add", "where")
    ]
    table += [
        (f"{name} over {label}, 2048 x 2048", reduction(name, dim), 0.15 if (name, dim) == ("var", -1) else 0.8)
        for name in ("sum", "mean", "amax", "var")
        for dim, label in ((-1, "last"), (0, "first"), (None, "all"))
    ]
    table += [
        (f"{name} 512 x 32000, fwd + bwd", softmax_like(name), 0.8)
        for name in ("softmax", "log_softmax", "layer_norm", "cross_entropy")
    ]
    table += [(f"matmul {n}", matmul((n, n), (n, n)), 1.0) for n in (64, 256, 512, 1024, 2048)]
    table.append(("matmul 64 x 128 x 128 batched", matmul((64, 128, 128), (64, 128, 128)), 1.0))
    table.append(("matmul (1, 4096) x (4096, 4096)", matmul((1, 4096), (4096, 4096)), 1.0))
    convolutions = {
        "3x3, 8 x 64 x 56 x 56": conv((8, 64, 56, 56), (64, 64, 3, 3), 1, 1),
        "1x1, 8 x 256 x 28 x 28": conv((8, 256, 28, 28), (128, 256, 1, 1), 1, 0),
        "3x3 stride 2, 8 x 128 x 28 x 28": conv((8, 128, 28, 28), (256, 128, 3, 3), 2, 1),
        "7x7 stride 2, 4 x 3 x 224 x 224": conv((4, 3, 224, 224), (64, 3, 7, 7), 2, 3),
        "depthwise 3x3, 8 x 128 x 56 x 56": conv((8, 128, 56, 56), (128, 1, 3, 3), 1, 1, 128),
    }
    table += [(f"conv2d {label}, fwd + bwd", make, 0.75) for label, make in convolutions.items()]
    table.append(("attention 8 x 512 x 64 causal, fwd + bwd", attention, 0.9))
    table += [
        (name, data_movement(name), 1.0) for name in ("sort", "topk", "cumsum", "gather", "index_select", "scatter_add")
    ]
    table.append(("embedding, fwd + bwd", embedding, 1.0))
    table += [
        (f"{kind} 35 x 20 x 256, fwd + bwd", recurrent(kind, 35, 20, 256), 0.8) for kind in ("RNN", "LSTM", "GRU")
    ]
    table.append(("LSTM 35 x 20 x 256 both directions", recurrent("LSTM", 35, 20, 256, bidirectional=True), 0.8))
    table.append(("LSTM 100 x 1 x 256 forward", recurrent("LSTM", 100, 1, 256, train=False), 0.8))
    table.append(("LSTM 1 x 1 x 16, fwd + bwd", recurrent("LSTM", 1, 1, 16), 0.3))
    table.append(("LSTMCell 97 x 51 float64, 20 steps", recurrent_cell, 0.8))
    table.append(("MLP 784-512-512-10 b128 SGD step", mlp, 0.65))
    table += [(f"matmul {n} bfloat16", matmul((n, n), (n, n), "bfloat16"), 0.2) for n in (512, 1024)]
    table += [(f"{name} bfloat16 1024 x 4096", low_precision(name), 0.2) for name in ("gelu", "softmax")]
    return [LazyCase(name, make, bar) for name, make, bar in table]


class LazyCase(Case):
    """Makes its tensors only when it is run."""

    def __init__(self, name: str, make: Make, bar: float) -> None:
        super().__init__(name, lambda: None, lambda: None, bar)
        self._make = make

    def __getattribute__(self, key: str) -> Any:
        if key in ("ours", "theirs"):
            steps = self.__dict__.setdefault("_steps", {})
            if key not in steps:
                steps[key] = self._make(mashal if key == "ours" else torch)
            return steps[key]
        return super().__getattribute__(key)


if __name__ == "__main__":
    main(cases, __doc__ or "")
