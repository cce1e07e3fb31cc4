"""What small operations cost: dispatch, recording, backward, optimizer steps."""

from __future__ import annotations

from typing import Any

import torch
from _harness import Case, Step, main

import mashal


def add(m: Any, grad: bool) -> Step:
    a, b = m.ones(1, requires_grad=grad), m.ones(1)
    return lambda: a + b


def chain(m: Any) -> Step:
    x = m.ones(1, requires_grad=True)

    def step() -> None:
        y = x
        for _ in range(10):
            y = y * 1.01 + 0.5
        y.backward()

    return step


def adam(m: Any) -> Step:
    params = [m.nn.Parameter(m.ones(16)) for _ in range(200)]
    for p in params:
        p.grad = m.ones(16)
    return m.optim.Adam(params).step  # type: ignore[no-any-return]


def rnn_loop(m: Any) -> Step:
    m.manual_seed(0)
    w, u, x = m.randn(16, 16, requires_grad=True), m.randn(16, 16, requires_grad=True), m.randn(100, 4, 16)

    def step() -> None:
        h = m.zeros(4, 16)
        for t in range(100):
            h = m.tanh(x[t] @ w + h @ u)
        h.sum().backward()

    return step


def index(m: Any) -> Step:
    x = m.ones(8, 8)
    return lambda: x[2, 1:5]


def module_call(m: Any) -> Step:
    layer, x = m.nn.Linear(4, 4), m.ones(1, 4)
    return lambda: layer(x)


def cases() -> list[Case]:
    table: list[tuple[str, Any, float]] = [
        ("add, 1 element, no grad", lambda m: add(m, False), 0.25),
        ("add, 1 element, with grad", lambda m: add(m, True), 0.35),
        ("chain of 20 mul/add, forward + backward", chain, 0.30),
        ("Adam step, 200 small tensors", adam, 0.35),
        ("RNN cell loop, 100 steps, forward + backward", rnn_loop, 0.5),
        ("x[2, 1:5]", index, 0.5),
        ("Linear(4, 4) on (1, 4)", module_call, 0.5),
    ]
    return [Case(name, make(mashal), make(torch), bar) for name, make, bar in table]


if __name__ == "__main__":
    main(cases, __doc__ or "")
