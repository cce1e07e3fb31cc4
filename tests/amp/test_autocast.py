"""Autocast regions: state, nesting, decorators, the weight cache, custom functions, threads, checkpointing."""

from __future__ import annotations

import threading
import warnings
from typing import Any

import numpy as np
import pytest
import torch

import mashal

BOTH = pytest.mark.parametrize("lib", [mashal, torch], ids=["mashal", "torch"])


def _weights(lib: Any, *shape: int) -> Any:
    data = np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)
    return lib.tensor(data, requires_grad=True)


@BOTH
def test_nesting_and_exceptions_to_it(lib: Any) -> None:
    x = lib.ones(2, 2)
    assert not lib.is_autocast_enabled("cpu")
    with lib.autocast("cpu", dtype=lib.float16):
        assert lib.get_autocast_dtype("cpu") == lib.float16
        assert (x @ x).dtype == lib.float16
        with lib.autocast("cpu", enabled=False):
            assert not lib.is_autocast_enabled("cpu")
            assert (x @ x).dtype == lib.float32
            with lib.autocast("cpu", dtype=lib.bfloat16):
                assert (x @ x).dtype == lib.bfloat16
        assert (x @ x).dtype == lib.float16
    assert not lib.is_autocast_enabled("cpu")
    assert lib.get_autocast_dtype("cpu") == lib.bfloat16
    assert (x @ x).dtype == lib.float32


@BOTH
def test_state_is_restored_after_an_error(lib: Any) -> None:
    with pytest.raises(KeyError), lib.autocast("cpu"):
        raise KeyError
    assert not lib.is_autocast_enabled("cpu")


@BOTH
def test_decorator(lib: Any) -> None:
    region = lib.autocast("cpu")

    @region
    def product(x: Any) -> Any:
        return x @ x

    assert [product(lib.ones(2, 2)).dtype for _ in range(2)] == [lib.bfloat16] * 2
    assert not lib.is_autocast_enabled("cpu")
    with pytest.raises(TypeError):
        region(lib.ones(1))


def test_a_region_may_be_entered_within_itself() -> None:
    @mashal.autocast("cpu")
    def product(x: Any, depth: int) -> Any:
        return product(x, depth - 1) if depth else x @ x

    assert product(mashal.ones(2, 2), 3).dtype == mashal.bfloat16
    assert not mashal.is_autocast_enabled("cpu")


@BOTH
def test_types_that_are_not_cast(lib: Any) -> None:
    with lib.autocast("cpu"):
        assert (lib.ones(2, 2, dtype=lib.float64) @ lib.ones(2, 2, dtype=lib.float64)).dtype == lib.float64
        assert (lib.ones(2, 2, dtype=lib.int64) @ lib.ones(2, 2, dtype=lib.int64)).dtype == lib.int64
        out = lib.empty(2, 2)
        assert lib.mm(lib.ones(2, 2), lib.ones(2, 2), out=out).dtype == lib.float32
        assert lib.zeros(2, 2).addmm_(lib.ones(2, 2), lib.ones(2, 2)).dtype == lib.float32


@BOTH
def test_gradients_come_back_in_the_type_of_the_weight(lib: Any) -> None:
    w, b, x = _weights(lib, 4, 3), _weights(lib, 4), lib.ones(5, 3)
    with lib.autocast("cpu"):
        y = lib.nn.functional.linear(x, w, b)
        z = lib.nn.functional.linear(x, w, b)
        loss = lib.nn.functional.mse_loss(y, (z * 2).detach())
    assert (y.dtype, loss.dtype) == (lib.bfloat16, lib.float32)
    assert y.grad_fn.next_functions != ()
    loss.backward()
    assert (w.grad.dtype, b.grad.dtype) == (lib.float32, lib.float32)


def test_gradients_equal() -> None:
    grads = []
    for lib in (mashal, torch):
        w, x = _weights(lib, 8, 6), _weights(lib, 5, 6)
        with lib.autocast("cpu"):
            h = lib.relu(x @ w.t())
            loss = lib.nn.functional.cross_entropy(h @ w, lib.tensor([0, 1, 2, 3, 4])) + (x @ w.t()).sum() * 0.01
        loss.backward()
        grads.append([g.float().numpy() for g in (w.grad, x.grad)])
    for a, b in zip(*grads, strict=True):
        np.testing.assert_allclose(a, b, rtol=3e-2, atol=3e-2 * np.abs(b).max())


@BOTH
def test_a_weight_is_cast_once(lib: Any) -> None:
    w, x = _weights(lib, 4, 3), lib.ones(5, 3)

    def casts(**options: Any) -> int:
        with lib.autocast("cpu", **options):
            products = [lib.nn.functional.linear(x, w) for _ in range(3)]
        # The node that casts: from the product's node to the weight's edge.
        edges = {
            id(f)
            for p in products
            for f, _ in _chain(p.grad_fn)
            if f is not None and "Copy" in type(f).__name__ + f.name()
        }
        return len(edges)

    assert casts() == 1
    assert casts(cache_enabled=False) == 3


def _chain(node: Any) -> list[Any]:
    found, todo = [], [node]
    while todo:
        for edge in todo.pop().next_functions:
            if edge[0] is not None:
                found.append(edge)
                todo.append(edge[0])
    _KEEP.extend(f for f, _ in found)
    return found


_KEEP: list[Any] = []  # nodes are told apart by id: none may be freed meanwhile


def test_a_changed_weight_is_cast_again() -> None:
    w, x = mashal.ones(1, 1, requires_grad=True), mashal.ones(1, 1)
    with mashal.autocast("cpu"):
        assert (x @ w).item() == 1
        with mashal.no_grad():
            w.mul_(3)
        assert (x @ w).item() == 3


def test_a_cast_without_record_does_not_lose_the_gradient() -> None:
    w, x = mashal.ones(1, 1, requires_grad=True), mashal.ones(1, 1)
    with mashal.autocast("cpu"):
        with mashal.no_grad():
            x @ w
        (x @ w).sum().backward()
    assert w.grad is not None
    assert w.grad.item() == 1


@BOTH
def test_other_threads_are_not_touched(lib: Any) -> None:
    seen = []
    with lib.autocast("cpu"):
        thread = threading.Thread(target=lambda: seen.append(lib.is_autocast_enabled("cpu")))
        thread.start()
        thread.join()
    assert seen == [False]


@BOTH
@pytest.mark.parametrize("cast_inputs", [None, "float32", "float16"])
def test_custom_functions(lib: Any, cast_inputs: str | None) -> None:
    seen: list[Any] = []
    wanted = None if cast_inputs is None else getattr(lib, cast_inputs)

    class Product(lib.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        @lib.amp.custom_fwd(device_type="cpu", cast_inputs=wanted)
        def forward(ctx: Any, a: Any, b: Any) -> Any:
            ctx.save_for_backward(a, b)
            seen.append((a.dtype, lib.is_autocast_enabled("cpu")))
            return a @ b

        @staticmethod
        @lib.amp.custom_bwd(device_type="cpu")
        def backward(ctx: Any, g: Any) -> Any:
            a, b = ctx.saved_tensors
            seen.append(lib.is_autocast_enabled("cpu"))
            return g @ b.t(), a.t() @ g

    a, b = _weights(lib, 2, 3), _weights(lib, 3, 2)
    with lib.autocast("cpu"):
        y = Product.apply(a, b)
    y.float().sum().backward()
    inside = cast_inputs is None
    assert seen == [(lib.float32 if inside else wanted, inside), inside]
    assert y.dtype == (lib.bfloat16 if inside else wanted)
    assert a.grad.dtype == lib.float32


@BOTH
@pytest.mark.parametrize("use_reentrant", [False, True])
def test_checkpointing_repeats_under_the_same_state(lib: Any, use_reentrant: bool) -> None:
    seen = []

    def block(x: Any) -> Any:
        y = x @ x
        seen.append(y.dtype)
        return y.float().exp()

    x = _weights(lib, 3, 3)
    with lib.autocast("cpu", dtype=lib.float16):
        y = lib.utils.checkpoint.checkpoint(block, x, use_reentrant=use_reentrant)
    y.sum().backward()
    assert seen == [lib.float16, lib.float16]


@BOTH
def test_bad_arguments(lib: Any) -> None:
    with pytest.raises(ValueError, match="device_type"):
        lib.autocast(1)
    with pytest.raises(RuntimeError):
        lib.autocast("nonsense")
    with pytest.warns(UserWarning, match="target dtype is not supported"):
        region = lib.autocast("cpu", dtype=lib.float32)
    with region:
        assert not lib.is_autocast_enabled("cpu")
    for call in (lambda: lib.set_autocast_enabled("cpu", 1), lambda: lib.set_autocast_dtype("cpu", 3)):
        with pytest.raises(TypeError):
            call()


@BOTH
def test_cuda_regions_are_disabled_with_a_warning(lib: Any) -> None:
    with pytest.warns(UserWarning, match="CUDA is not available"):
        region = lib.autocast("cuda")
    with region:
        assert (lib.ones(2, 2) @ lib.ones(2, 2)).dtype == lib.float32
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with lib.cuda.amp.autocast():
            pass
        lib.cuda.amp.GradScaler()
    kinds = [w.category for w in caught if "is deprecated" in str(w.message) or "CUDA is not" in str(w.message)]
    assert kinds.count(FutureWarning) == 2
    assert kinds.count(UserWarning) == 2


@BOTH
def test_older_names(lib: Any) -> None:
    with pytest.warns(FutureWarning), lib.cpu.amp.autocast():
        assert (lib.ones(2, 2) @ lib.ones(2, 2)).dtype == lib.bfloat16
    with pytest.warns(DeprecationWarning, match="is_autocast_enabled\\('cpu'\\)"):
        assert lib.is_autocast_cpu_enabled() is False
    with pytest.warns(DeprecationWarning, match="get_autocast_dtype\\('cuda'\\)"):
        assert lib.get_autocast_gpu_dtype() == lib.float16
    assert lib.is_autocast_enabled() is False
    assert lib.is_autocast_cache_enabled() is True
    assert lib.amp.is_autocast_available("cpu") is True
    assert lib.amp.is_autocast_available("meta") is False
    assert lib.autocast_increment_nesting() == 1
    assert lib.autocast_decrement_nesting() == 0


@pytest.mark.parametrize("low", ["bfloat16", "float16"])
def test_layers_with_float_weights_and_half_inputs(low: str) -> None:
    """Normalisation keeps float32 weights; its inputs come from products."""
    results = []
    for lib in (mashal, torch):
        lib.manual_seed(0)
        image = lib.nn.Sequential(
            lib.nn.Conv2d(3, 8, 3), lib.nn.BatchNorm2d(8), lib.nn.ReLU(), lib.nn.GroupNorm(2, 8), lib.nn.Flatten(),
            lib.nn.Linear(8 * 16, 6), lib.nn.LayerNorm(6), lib.nn.PReLU(), lib.nn.Linear(6, 4),
        )  # fmt: skip
        x = lib.randn(5, 3, 6, 6)
        with lib.autocast("cpu", dtype=getattr(lib, low)):
            y = image(x)
            loss = lib.nn.functional.cross_entropy(y, lib.tensor([0, 1, 2, 3, 0]))
        loss.backward()
        results.append(
            [str(y.dtype).split(".")[-1], y.detach().float().numpy(), *(p.grad.numpy() for p in image.parameters())]
        )
    assert results[0][0] == results[1][0] == low
    for a, b in zip(results[0][1:], results[1][1:], strict=True):
        np.testing.assert_allclose(a, b, rtol=0.1, atol=0.06 * max(np.abs(b).max(), 1e-3))


@pytest.mark.parametrize("transposed", [False, True])
def test_half_convolutions_differentiate(transposed: bool) -> None:
    results = []
    for lib in (mashal, torch):
        lib.manual_seed(0)
        x, w = lib.randn(2, 4, 6, 6).half().requires_grad_(), lib.randn(4, 4, 3, 3).half().requires_grad_()
        call = lib.nn.functional.conv_transpose2d if transposed else lib.nn.functional.conv2d
        y = call(x, w, stride=2)
        (y.float() ** 2).sum().backward()
        results.append([t.detach().float().numpy() for t in (y, x.grad, w.grad)])
    for a, b in zip(*results, strict=True):
        np.testing.assert_allclose(a, b, rtol=4e-3, atol=4e-3 * np.abs(b).max())
