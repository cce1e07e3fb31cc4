"""Images that lie channels-last behind contiguous strides: nothing but speed may tell them from others."""

from __future__ import annotations

import copy
import io
import pickle
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import mashal
from mashal._core import is_opaque

F = mashal.nn.functional


def images(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


X = images(2, 3, 6, 5)
W = images(8, 3, 3, 3, seed=1) / 5


def made(lib: Any) -> Any:
    """The result of a convolution: opaque with mashal where oneDNN is built in."""
    return lib.nn.functional.conv2d(lib.tensor(X), lib.tensor(W), padding=1)


@pytest.fixture
def y() -> mashal.Tensor:
    t = made(mashal)
    if not is_opaque(t):
        pytest.skip("convolutions do not make opaque tensors in this build")
    return t


def close(ours: Any, theirs: Any) -> None:
    assert tuple(ours.shape) == tuple(theirs.shape)
    assert tuple(ours.stride()) == tuple(theirs.stride())
    assert str(ours.dtype).split(".")[-1] == str(theirs.dtype).split(".")[-1]
    np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=2e-5, atol=2e-5)


def unpooled(fn: Any, y: Any) -> Any:
    values, indices = fn.max_pool2d(y, 2, 2, return_indices=True)
    return fn.max_unpool2d(values, indices, 2, 2, output_size=(6, 5))


# Every kind of consumer: (name, function of library and image).
CONSUMERS: list[tuple[str, Callable[[Any, Any], Any]]] = [
    ("view", lambda t, y: y.view(2, -1)),
    ("flatten", lambda t, y: y.flatten(1) * 2),
    ("select", lambda t, y: y[1, 2]),
    ("slice", lambda t, y: y[:, 2:7:2, 1:]),
    ("mask", lambda t, y: y[y > 0]),
    ("index", lambda t, y: y[:, [3, 0]]),
    ("permute", lambda t, y: y.permute(0, 2, 3, 1)),
    ("transposed clone", lambda t, y: y.permute(0, 2, 3, 1).contiguous()),
    ("expand", lambda t, y: y.unsqueeze(1).expand(2, 3, 8, 6, 5)),
    ("as_strided", lambda t, y: y.as_strided((3, 4), (5, 1), 7)),
    ("unfold", lambda t, y: y.unfold(2, 3, 1)),
    ("detach", lambda t, y: y.detach()),
    ("clone", lambda t, y: y.clone()),
    ("contiguous", lambda t, y: y.contiguous()),
    ("channels-last", lambda t, y: y.contiguous(memory_format=t.channels_last)),
    ("to channels-last", lambda t, y: y.to(memory_format=t.channels_last)),
    ("clone channels-last", lambda t, y: y.clone(memory_format=t.channels_last)),
    ("double", lambda t, y: y.double()),
    ("half", lambda t, y: y.half()),
    ("relu", lambda t, y: t.relu(y)),
    ("chain", lambda t, y: t.sigmoid(t.nn.functional.leaky_relu(y, 0.1)) * y),
    ("two opaque", lambda t, y: t.relu(y) - t.tanh(y)),
    ("plain beside", lambda t, y: y + t.tensor(images(2, 8, 6, 5, seed=2))),
    ("plain first", lambda t, y: t.tensor(images(2, 8, 6, 5, seed=2)) * y),
    ("channels-last beside", lambda t, y: y * t.tensor(images(2, 8, 6, 5)).contiguous(memory_format=t.channels_last)),
    ("permuted beside", lambda t, y: y * t.tensor(images(2, 5, 6, 8)).permute(0, 3, 2, 1)),
    ("per channel", lambda t, y: y * t.tensor(images(8, 1, 1))),
    ("per image", lambda t, y: y + t.tensor(images(2, 8, 1, 1))),
    ("per column", lambda t, y: y + t.tensor(images(5))),
    ("one channel", lambda t, y: y * t.tensor(images(2, 1, 6, 5))),
    ("five dimensions", lambda t, y: y + t.tensor(images(3, 1, 1, 1, 1))),
    ("expanded", lambda t, y: y + t.tensor(images(1, 8, 1, 1)).expand(2, 8, 6, 5)),
    ("number", lambda t, y: 2 - y),
    ("scalar tensor", lambda t, y: y / t.tensor(3.0)),
    ("integer beside", lambda t, y: y * t.arange(5)),
    ("double beside", lambda t, y: y + t.tensor(images(2, 8, 6, 5)).double()),
    ("compare", lambda t, y: y > 0),
    ("where", lambda t, y: t.where(y > 0, y, t.zeros(()))),
    ("clamp", lambda t, y: y.clamp(-0.5, 0.5)),
    ("masked_fill", lambda t, y: y.masked_fill(y > 0, 0.0)),
    ("cat channels", lambda t, y: t.cat([y, t.relu(y), t.ones(2, 3, 6, 5)], 1)),
    ("cat batch", lambda t, y: t.cat([y, t.relu(y)], 0)),
    ("cat plain", lambda t, y: t.cat([t.ones(2, 8, 6, 2), y], 3)),
    ("stack", lambda t, y: t.stack([y, y])),
    ("chunk", lambda t, y: t.relu(y).chunk(2, 1)[1] + 1),
    ("sum", lambda t, y: y.sum()),
    ("sum of dims", lambda t, y: y.sum((0, 2, 3))),
    ("mean keepdim", lambda t, y: y.mean((2, 3), True)),
    ("max", lambda t, y: y.max(1).values),
    ("argmax", lambda t, y: y.argmax()),
    ("var", lambda t, y: y.var(1)),
    ("softmax", lambda t, y: y.softmax(1)),
    ("cumsum", lambda t, y: y.cumsum(3)),
    ("sort", lambda t, y: y.sort(2).values),
    ("matmul", lambda t, y: y @ t.tensor(images(5, 4))),
    ("batch_norm", lambda t, y: t.nn.functional.batch_norm(y, None, None, training=True)),
    ("group_norm", lambda t, y: t.nn.functional.group_norm(y, 4)),
    ("layer_norm", lambda t, y: t.nn.functional.layer_norm(y, (5,))),
    ("instance_norm", lambda t, y: t.nn.functional.instance_norm(y)),
    ("max_pool", lambda t, y: t.nn.functional.max_pool2d(y, 2)),
    ("max_pool indices", lambda t, y: t.nn.functional.max_pool2d(y, 2, return_indices=True)[1]),
    ("max_unpool", lambda t, y: unpooled(t.nn.functional, y)),
    ("avg_pool", lambda t, y: t.nn.functional.avg_pool2d(y, 3, 2, 1)),
    ("adaptive", lambda t, y: t.nn.functional.adaptive_avg_pool2d(y, 1)),
    ("adaptive max", lambda t, y: t.nn.functional.adaptive_max_pool2d(y, (2, 3))),
    ("nearest", lambda t, y: t.nn.functional.interpolate(y, scale_factor=2)),
    ("bilinear", lambda t, y: t.nn.functional.interpolate(y, size=(7, 9), mode="bilinear")),
    ("pad", lambda t, y: t.nn.functional.pad(y, (1, 2, 0, 1), value=3.0)),
    ("reflect", lambda t, y: t.nn.functional.pad(y, (1, 2, 0, 1), mode="reflect")),
    ("pixel_shuffle", lambda t, y: t.nn.functional.pixel_shuffle(y, 2)),
    ("conv", lambda t, y: t.nn.functional.conv2d(y, t.tensor(images(4, 8, 3, 3)), stride=2)),
    ("pointwise conv", lambda t, y: t.nn.functional.conv2d(y, t.tensor(images(4, 8, 1, 1)))),
    ("depthwise conv", lambda t, y: t.nn.functional.conv2d(y, t.tensor(images(8, 1, 3, 3)), padding=1, groups=8)),
    ("grouped conv", lambda t, y: t.nn.functional.conv2d(y, t.tensor(images(4, 4, 3, 3)), groups=2)),
    ("one channel out", lambda t, y: t.nn.functional.conv2d(y, t.tensor(images(1, 8, 3, 3)))),
    ("conv_transpose", lambda t, y: t.nn.functional.conv_transpose2d(y, t.tensor(images(8, 4, 2, 2)), stride=2)),
    ("prelu", lambda t, y: t.nn.functional.prelu(y, t.tensor(images(8)))),
    ("flip", lambda t, y: y.flip(2)),
    ("roll", lambda t, y: y.roll(1, 3)),
    ("empty_like", lambda t, y: t.zeros_like(y)),
    ("new_zeros", lambda t, y: y.new_zeros(3)),
]


@pytest.mark.parametrize("name", [name for name, _ in CONSUMERS])
def test_every_consumer_sees_contiguous_elements(name: str, y: mashal.Tensor) -> None:
    function = dict(CONSUMERS)[name]
    close(function(mashal, y), function(torch, made(torch)))
    close(y, made(torch))  # and the image is what it was


@pytest.mark.parametrize("name", [name for name, _ in CONSUMERS])
def test_gradients_through_every_consumer(name: str) -> None:
    function = dict(CONSUMERS)[name]
    grads = []
    for lib in (mashal, torch):
        x, w = lib.tensor(X, requires_grad=True), lib.tensor(W, requires_grad=True)
        out = function(lib, lib.nn.functional.conv2d(x, w, padding=1))
        if not out.requires_grad:
            return
        (out * out * out).sum().backward()
        grads.append((x.grad, w.grad))
    for ours, theirs in zip(*grads, strict=True):
        scale = max(1.0, float(theirs.abs().max()))
        np.testing.assert_allclose(ours.numpy() / scale, theirs.numpy() / scale, rtol=1e-4, atol=2e-5)


def test_it_looks_contiguous(y: mashal.Tensor) -> None:
    assert y.is_contiguous()
    assert y.stride() == (240, 30, 5, 1)
    assert not y.is_contiguous(memory_format=mashal.channels_last)
    assert is_opaque(y)


@pytest.mark.parametrize(
    "function",
    [
        lambda y: mashal.relu(y),
        lambda y: y + mashal.relu(y),
        lambda y: F.batch_norm(y, None, None, training=True),
        lambda y: F.max_pool2d(y, 2),
        lambda y: F.avg_pool2d(y, 2),
        lambda y: F.interpolate(y, scale_factor=2),
        lambda y: mashal.cat([y, y], 1),
        lambda y: F.conv2d(y, mashal.ones(4, 8, 3, 3)),
        lambda y: F.conv_transpose2d(y, mashal.ones(8, 4, 2, 2), stride=2),
        lambda y: F.pad(y, (1, 1, 1, 1)),
        lambda y: y.clone(),
        lambda y: y.relu_(),
        lambda y: y.add_(mashal.ones(2, 8, 6, 5)),
        lambda y: y * mashal.ones(2, 8, 1, 1),
    ],
)
def test_ops_that_keep_the_layout(function: Callable[[Any], Any], y: mashal.Tensor) -> None:
    assert is_opaque(function(y))
    assert is_opaque(y)


def test_gradients_stay_in_the_layout() -> None:
    x = mashal.tensor(X, requires_grad=True)
    y = F.conv2d(x, mashal.tensor(W), padding=1)
    if not is_opaque(y):
        pytest.skip("convolutions do not make opaque tensors in this build")
    seen = []
    y.register_hook(lambda g: seen.append(is_opaque(g)))
    mashal.relu(F.batch_norm(F.conv2d(y, mashal.ones(4, 8, 3, 3)), None, None, training=True)).sum().backward()
    assert seen == [True]


def test_in_place_writes() -> None:
    results = []
    for lib in (mashal, torch):
        y = made(lib)
        view = y[0]  # a view taken while the layout is opaque
        y.relu_()
        y += lib.tensor(images(2, 8, 6, 5, seed=3))
        y.mul_(lib.relu(y))
        view[1] = 7.0
        y[:, 3].fill_(2.0)
        y.sub_(1)
        results.append((y, view, y._version))
    close(results[0][0], results[1][0])
    close(results[0][1], results[1][1])
    assert results[0][2] == results[1][2]


def test_in_place_on_an_opaque_tensor_and_its_views() -> None:
    results = []
    for lib in (mashal, torch):
        y = made(lib)
        flat = y.view(2, -1)
        y.relu_()
        flat.add_(1)
        y.add_(flat.view(2, 8, 6, 5))
        results.append((y, flat))
    close(results[0][0], results[1][0])
    close(results[0][1], results[1][1])


def test_out(y: mashal.Tensor) -> None:
    out = mashal.empty(2, 8, 6, 5)
    mashal.relu(y, out=out)
    close(out, torch.relu(made(torch)))
    mashal.add(y, 1, out=y)
    close(y, made(torch) + 1)
    mashal.mul(mashal.tensor(X), 2, out=y)
    close(y, torch.tensor(X) * 2)


def test_export(y: mashal.Tensor) -> None:
    expected = made(torch).numpy()
    shared = y.numpy()
    np.testing.assert_allclose(shared, expected, rtol=2e-5, atol=2e-5)
    shared[0, 0, 0, 0] = 42.0
    assert y[0, 0, 0, 0].item() == 42.0
    for convert in (np.asarray, np.from_dlpack, lambda t: np.array(t.tolist(), np.float32)):
        np.testing.assert_allclose(convert(made(mashal)), expected, rtol=2e-5, atol=2e-5)
    assert made(mashal).data_ptr() % 64 == 0
    assert repr(made(mashal)) == repr(mashal.tensor(made(mashal).numpy().copy()))


def test_copies(y: mashal.Tensor) -> None:
    expected = made(torch)
    close(copy.deepcopy(y), expected)
    close(pickle.loads(pickle.dumps(made(mashal))), expected)
    buffer = io.BytesIO()
    mashal.save({"y": made(mashal)}, buffer)
    buffer.seek(0)
    close(mashal.load(buffer)["y"], expected)
    assert made(mashal).untyped_storage().nbytes() == expected.untyped_storage().nbytes()


def test_as_a_buffer() -> None:
    module = mashal.nn.Module()
    module.register_buffer("y", made(mashal))
    other = mashal.nn.Module()
    other.register_buffer("y", mashal.zeros(2, 8, 6, 5))
    other.load_state_dict(module.state_dict())
    close(other.y, made(torch))


def test_second_gradients() -> None:
    results = []
    for lib in (mashal, torch):
        x, w = lib.tensor(X, requires_grad=True), lib.tensor(W, requires_grad=True)
        fn = lib.nn.functional
        y = fn.max_pool2d(lib.tanh(fn.batch_norm(fn.conv2d(x, w, padding=1), None, None, training=True)), 2)
        (g,) = lib.autograd.grad((y * y).sum(), x, create_graph=True)
        (g * g).sum().backward()
        results.append((g, x.grad, w.grad))
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=2e-3, atol=2e-4)


def test_hooks_and_retained_gradients() -> None:
    results = []
    for lib in (mashal, torch):
        x = lib.tensor(X, requires_grad=True)
        y = lib.nn.functional.conv2d(x, lib.tensor(W), padding=1)
        y.retain_grad()
        y.register_hook(lambda g: g * 2)
        packed: list[Any] = []

        def pack(t: Any, packed: list[Any] = packed) -> int:
            packed.append(t)
            return len(packed) - 1

        with lib.autograd.graph.saved_tensors_hooks(pack, lambda i, packed=packed: packed[i]):
            z = lib.tanh(lib.nn.functional.conv2d(lib.relu(y), lib.tensor(images(4, 8, 3, 3))))
        z.sum().backward()
        results.append((y.grad, x.grad))
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=2e-4, atol=2e-4)


def test_a_saved_tensor_that_changed_is_noticed() -> None:
    x = mashal.tensor(X, requires_grad=True)
    y = F.conv2d(x, mashal.tensor(W), padding=1)
    z = mashal.tanh(y)
    z.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


def test_many_threads_ask_at_once() -> None:
    expected = F.conv2d(mashal.tensor(images(4, 3, 64, 64)), mashal.tensor(W)).numpy()
    for _ in range(10):
        y = F.conv2d(mashal.tensor(images(4, 3, 64, 64)), mashal.tensor(W))
        found: list[Any] = []

        def read(y: mashal.Tensor = y, found: list[Any] = found) -> None:
            mashal.relu(y)
            found.append(y.numpy())

        threads = [threading.Thread(target=read) for _ in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert len(found) == 8
        for array in found:
            assert array.__array_interface__["data"] == found[0].__array_interface__["data"]
            np.testing.assert_array_equal(array, expected)


def test_inference_mode() -> None:
    with mashal.inference_mode():
        y = mashal.relu(made(mashal))
        assert y.is_inference()
    with pytest.raises(RuntimeError, match=r"[Ii]nference tensor"):
        y.relu_()


def test_three_dimensions() -> None:
    x, w = images(2, 3, 5, 6, 4), images(8, 3, 3, 3, 3, seed=1)
    results = []
    for lib in (mashal, torch):
        fn = lib.nn.functional
        a, b = lib.tensor(x, requires_grad=True), lib.tensor(w, requires_grad=True)
        y = fn.max_pool3d(lib.relu(fn.batch_norm(fn.conv3d(a, b, padding=1), None, None, training=True)), 2)
        (y * y).sum().backward()
        results.append((y, a.grad, b.grad))
    assert results[0][0].stride() == results[1][0].stride()
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=1e-3, atol=1e-3)


def test_channels_last_tensors_of_the_user_stay_what_they_are() -> None:
    for lib in (mashal, torch):
        x = lib.tensor(X).contiguous(memory_format=lib.channels_last)
        y = lib.relu(lib.nn.functional.conv2d(x, lib.tensor(W)))
        assert y.is_contiguous(memory_format=lib.channels_last)
        assert not y.is_contiguous()


def test_meta_and_empty() -> None:
    y = F.conv2d(mashal.empty(2, 3, 6, 5, device="meta"), mashal.empty(8, 3, 3, 3, device="meta"))
    assert y.stride() == (96, 12, 3, 1)
    assert F.conv2d(mashal.empty(0, 3, 6, 5), mashal.tensor(W)).shape == (0, 8, 4, 3)


def test_resize_and_set(y: mashal.Tensor) -> None:
    expected = made(torch)
    first = expected.flatten()[:10].clone()
    y.resize_(10)
    close(y, first)
    z = made(mashal)
    z.data = mashal.ones(3)
    assert z.tolist() == [1, 1, 1]
    u = mashal.empty(0)
    u.set_(made(mashal))
    close(u, made(torch))
