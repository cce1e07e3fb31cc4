"""Whatever writes to a weight that `linear` or a convolution keeps packed, the next forward pass sees it."""

from __future__ import annotations

import copy
import os
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mashal
from mashal import nn

Module = nn.Linear | nn.Conv2d


def stepped(make: Callable[..., Any], **options: Any) -> Callable[[Any], None]:
    def write(layer: Any) -> None:
        optimizer = make(layer.parameters(), **options)
        layer(INPUTS[type(layer)]()).sum().backward()
        optimizer.step()

    return write


def loaded(layer: Any, **options: Any) -> None:
    layer.load_state_dict({name: 3 * x for name, x in layer.state_dict().items()}, **options)


def copied(layer: Any) -> Any:
    other = copy.deepcopy(layer)
    other.weight.data.mul_(2)
    return other


def by_vector(layer: Any) -> None:
    vector = nn.utils.parameters_to_vector(layer.parameters()).detach()
    nn.utils.vector_to_parameters(2 * vector, layer.parameters())


def in_a_thread(layer: Any) -> None:
    thread = threading.Thread(target=lambda: layer.weight.data.mul_(4))
    thread.start()
    thread.join()


WRITES: dict[str, Callable[[Any], Any]] = {
    "SGD": stepped(mashal.optim.SGD, lr=0.5),
    "Adam": stepped(mashal.optim.Adam, lr=0.5),
    "AdamW foreach": stepped(mashal.optim.AdamW, lr=0.5, foreach=True),
    "load_state_dict": loaded,
    "load_state_dict assign": lambda layer: loaded(layer, assign=True),
    "vector_to_parameters": by_vector,
    "init": lambda layer: nn.init.xavier_uniform_(layer.weight),
    "half and back": lambda layer: layer.half().float(),
    "deepcopy": copied,
    "setitem": lambda layer: layer.weight.data.__setitem__((slice(0, 5), slice(2, 9)), 7.0),
    "masked_fill_": lambda layer: layer.weight.data.masked_fill_(layer.weight.data > 0, -1),
    "out=": lambda layer: mashal.add(mashal.ones(*layer.weight.shape), 2, out=layer.weight.data),
    "foreach": lambda layer: mashal._foreach_mul_([layer.weight.data], 3.0),
    "view": lambda layer: layer.weight.data.view(-1)[::2].zero_(),
    "numpy": lambda layer: np.copyto(layer.weight.data.numpy(), 5),
    "dlpack": lambda layer: mashal.from_dlpack(layer.weight.data).fill_(2),
    "share_memory": lambda layer: (layer.share_memory(), layer.weight.data.mul_(2))[0],
    "storage": lambda layer: layer.weight.untyped_storage().fill_(0),
    "data =": lambda layer: setattr(layer.weight, "data", mashal.ones(*layer.weight.shape) * 2),
    "weight_norm": lambda layer: nn.utils.parametrizations.weight_norm(layer),
    "thread": in_a_thread,
}
INPUTS: dict[type, Callable[[], Any]] = {
    nn.Linear: lambda: mashal.randn(32, 128),
    nn.Conv2d: lambda: mashal.randn(1, 64, 9, 7),
}
LAYERS: dict[str, Callable[[], Module]] = {
    "linear": lambda: nn.Linear(128, 160),
    "1x1": lambda: nn.Conv2d(64, 96, 1),
    "3x3": lambda: nn.Conv2d(64, 96, 3, padding=1),
}


def used(layer: Any, x: Any) -> Any:
    with mashal.no_grad():
        for _ in range(2):
            layer(x)
        return layer(x)


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("kind", LAYERS)
def test_a_write_is_seen(kind: str, write: str) -> None:
    mashal.manual_seed(0)
    layer: Any = LAYERS[kind]()
    x = INPUTS[type(layer)]()
    used(layer, x)
    result = WRITES[write](layer)
    layer = result if isinstance(result, nn.Module) else layer
    # In double precision, from a copy: no kept form has a part in it.
    exact = copy.deepcopy(layer).double()(x.double()).detach()
    scale = max(1.0, exact.abs().max().item())
    assert (used(layer, x).double() - exact).abs().max().item() < 1e-4 * scale


def test_threads_and_a_forked_child_read_one_kept_weight() -> None:
    layer, x = nn.Linear(256, 256), mashal.randn(64, 256)
    wanted, wrong = layer(x).detach(), []

    def work() -> None:
        with mashal.no_grad():
            wrong.extend(1 for _ in range(50) if not mashal.allclose(layer(x), wanted, atol=1e-5))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    child = os.fork()
    if child == 0:
        os._exit(0 if mashal.allclose(used(layer, x), wanted, atol=1e-5) else 1)
    assert os.waitpid(child, 0)[1] == 0
