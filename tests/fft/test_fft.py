"""Fourier transforms against PyTorch's."""

from __future__ import annotations

import numpy as np
import pytest

import mashal
from mashal.autograd import gradcheck, gradgradcheck

torch = pytest.importorskip("torch")

NUMPY = {np.dtype("float32"): 2e-5, np.dtype("complex64"): 2e-5}


def same(a, b):
    assert tuple(a.shape) == tuple(b.shape)
    assert repr(a.dtype).split(".")[1] == repr(b.dtype).split(".")[1]
    left, right = a.detach().numpy(), b.detach().resolve_conj().numpy()
    tolerance = NUMPY.get(left.dtype, 1e-12)
    np.testing.assert_allclose(left, right, rtol=tolerance, atol=tolerance * max(1.0, np.abs(right).max(initial=0)))


def data(shape, dtype):
    rng = np.random.default_rng(0)
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if "complex" in dtype else x).astype(dtype)


NORMS = (None, "backward", "ortho", "forward")
REAL_INPUT = ("rfft", "ihfft")


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
def test_one_dimension(name, dtype, norm):
    if name in REAL_INPUT and "complex" in dtype:
        pytest.skip("takes real input")
    x = data((3, 6, 5), dtype)
    for n in (None, 1, 4, 7, 8):
        for dim in (-1, 0, 1):
            kwargs = {"n": n, "dim": dim, "norm": norm}
            same(
                getattr(mashal.fft, name)(mashal.tensor(x), **kwargs),
                getattr(torch.fft, name)(torch.tensor(x), **kwargs),
            )


@pytest.mark.parametrize("norm", NORMS[1:])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
def test_several_dimensions(name, dtype, norm):
    if name in REAL_INPUT and "complex" in dtype:
        pytest.skip("takes real input")
    x = data((3, 6, 5), dtype)
    for s, dim in ((None, None), ((4, 5), None), (None, (0, 1)), ((4, 7), (2, 0)), ((-1, 6), (1, 2)), (None, (-1,))):
        kwargs = {"s": s, "dim": dim, "norm": norm}
        same(
            getattr(mashal.fft, name + "n")(mashal.tensor(x), **kwargs),
            getattr(torch.fft, name + "n")(torch.tensor(x), **kwargs),
        )
    same(
        getattr(mashal.fft, name + "2")(mashal.tensor(x), norm=norm),
        getattr(torch.fft, name + "2")(torch.tensor(x), norm=norm),
    )
    same(
        getattr(mashal.fft, name + "2")(mashal.tensor(x), (4, 4)),
        getattr(torch.fft, name + "2")(torch.tensor(x), (4, 4)),
    )


def test_other_types_and_out():
    same(mashal.fft.fft(mashal.arange(4)), torch.fft.fft(torch.arange(4)))
    same(mashal.fft.rfft(mashal.tensor([True, False])), torch.fft.rfft(torch.tensor([True, False])))
    out = mashal.empty(0, dtype=mashal.complex64)
    assert mashal.fft.fft(mashal.arange(4.0), out=out) is out
    same(out, torch.fft.fft(torch.arange(4.0)))
    same(mashal.fft.fft(mashal.ones(3, 4).T, dim=0), torch.fft.fft(torch.ones(3, 4).T, dim=0))
    same(mashal.fft.fftn(mashal.tensor(2.0)), torch.fft.fftn(torch.tensor(2.0)))
    meta = mashal.fft.rfft(mashal.empty(3, 8, device="meta"))
    assert meta.is_meta
    assert tuple(meta.shape) == (3, 5)


def test_frequencies_and_shifts():
    for n in (1, 2, 5, 6):
        for d in (1.0, 0.25):
            same(mashal.fft.fftfreq(n, d), torch.fft.fftfreq(n, d))
            same(mashal.fft.rfftfreq(n, d), torch.fft.rfftfreq(n, d))
    same(mashal.fft.fftfreq(4, dtype=mashal.float64), torch.fft.fftfreq(4, dtype=torch.float64))
    x = data((4, 5), "float32")
    for dim in (None, 0, (1,), (0, 1)):
        same(mashal.fft.fftshift(mashal.tensor(x), dim), torch.fft.fftshift(torch.tensor(x), dim))
        same(mashal.fft.ifftshift(mashal.tensor(x), dim), torch.fft.ifftshift(torch.tensor(x), dim))


@pytest.mark.parametrize(
    "wrong",
    [
        lambda t: t.fft.fft(t.ones(3), n=0),
        lambda t: t.fft.fft(t.ones(3), norm="abc"),
        lambda t: t.fft.rfft(t.ones(3) + 0j),
        lambda t: t.fft.ihfft(t.ones(3) + 0j),
        lambda t: t.fft.fft(t.ones(4).half()),
        lambda t: t.fft.fft(t.ones(4).bfloat16()),
        lambda t: t.fft.fft(t.tensor(1.0)),
        lambda t: t.fft.fft(t.ones(3), dim=1),
        lambda t: t.fft.fftn(t.ones(3, 3), s=(1, 2, 3)),
        lambda t: t.fft.fftn(t.ones(3, 3), s=(1, 2), dim=(0,)),
        lambda t: t.fft.fftn(t.ones(3, 3), dim=(0, 0)),
        lambda t: t.fft.fftn(t.ones(3, 3), dim=(0, 5)),
        lambda t: t.fft.fft2(t.ones(3)),
        lambda t: t.fft.irfft(t.ones(1)),
        lambda t: t.fft.rfftn(t.ones(3), dim=()),
        lambda t: t.fft.irfftn(t.ones(3), dim=()),
        lambda t: t.fft.fft(t.ones(3, 0)),
        lambda t: t.fft.fftfreq(4, dtype=t.int64),
        lambda t: t.fft.fft([1.0, 2.0]),
        lambda t: t.stft(t.ones(30), 8),
        lambda t: t.stft(t.ones(30), 8, 0, return_complex=True),
        lambda t: t.stft(t.ones(30), 8, win_length=9, return_complex=True),
        lambda t: t.stft(t.ones(30), 8, window=t.ones(3), return_complex=True),
        lambda t: t.stft(t.ones(30).int(), 8, return_complex=True),
        lambda t: t.stft(t.ones(1, 1, 30), 8, return_complex=True),
        lambda t: t.stft(t.ones(5), 8, center=False, return_complex=True),
        lambda t: t.stft(t.ones(30) + 0j, 8, onesided=True, return_complex=True),
        lambda t: t.istft(t.ones(5, 3), 8),
        lambda t: t.istft(t.ones(5, 3) + 0j, 11, window=t.ones(11)),
        lambda t: t.istft(t.ones(5, 3) + 0j, 8, 9, window=t.ones(8)),
        lambda t: t.istft(t.ones(5, 3) + 0j, 8, window=t.hann_window(8), center=False),
    ],
)
def test_errors(wrong):
    with pytest.raises(Exception) as expected:
        wrong(torch)
    with pytest.raises(expected.type):
        wrong(mashal)


REAL = mashal.tensor(data((2, 3, 4), "float64"), requires_grad=True)
COMPLEX = mashal.tensor(data((2, 3, 4), "complex128"), requires_grad=True)


@pytest.mark.parametrize(
    ("f", "x"),
    [
        (lambda x: mashal.fft.fft(x, 5), COMPLEX),
        (lambda x: mashal.fft.fft(x, 3, dim=1, norm="ortho"), REAL),
        (lambda x: mashal.fft.ifftn(x, norm="forward"), COMPLEX),
        (lambda x: mashal.fft.rfft(x, 5), REAL),
        (lambda x: mashal.fft.rfft(x, 4), REAL),
        (lambda x: mashal.fft.rfftn(x, (3, 5), (2, 0)), REAL),
        (lambda x: mashal.fft.irfft(x, 5), COMPLEX),
        (lambda x: mashal.fft.irfftn(x, norm="ortho"), COMPLEX),
        (lambda x: mashal.fft.hfft(x), COMPLEX),
        (lambda x: mashal.fft.ihfftn(x), REAL),
        (lambda x: mashal.stft(x.reshape(2, 12), 4, 2, window=mashal.hann_window(4), return_complex=True), REAL),
        (lambda x: mashal.istft(x.reshape(2, 3, 4), 4, 2, window=mashal.hann_window(4)), COMPLEX),
    ],
)
def test_derivatives(f, x):
    assert gradcheck(f, (x,))
    assert gradgradcheck(f, (x,))


def test_gradient_is_pytorchs():
    x = data((3, 6), "float32")
    found = []
    for t in (mashal, torch):
        a = t.tensor(x, requires_grad=True)
        y = t.fft.fft(a, 8)
        z = t.fft.irfft(y * y.abs(), 9)
        z.square().sum().backward()
        found.append(a.grad)
    same(*found)


STFT = [
    {"n_fft": 8},
    {"n_fft": 8, "hop_length": 3, "win_length": 6},
    {"n_fft": 7, "center": False},
    {"n_fft": 8, "pad_mode": "constant", "normalized": True},
    {"n_fft": 8, "onesided": False},
]


@pytest.mark.filterwarnings("ignore:A window was not provided", "ignore:stft with return_complex=False")
@pytest.mark.parametrize("kwargs", STFT)
@pytest.mark.parametrize("with_window", [True, False])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
def test_stft_and_istft(kwargs, with_window, dtype):
    for shape in ((40,), (2, 40)):
        x = data(shape, dtype)
        results = []
        for t in (mashal, torch):
            kind = t.float64 if dtype == "float64" else t.float32
            window = None
            if with_window:
                window = t.hann_window(kwargs.get("win_length", kwargs["n_fft"]), dtype=kind) + 0.1
            results.append((t, window, t.stft(t.tensor(x), window=window, return_complex=True, **kwargs)))
        same(results[0][2], results[1][2])
        back = []
        for t, window, spectrum in results:
            rest = {k: v for k, v in kwargs.items() if k != "pad_mode"}
            if dtype == "complex64":
                rest["onesided"] = False
            back += [
                t.istft(spectrum, window=window, length=length, return_complex=dtype == "complex64", **rest)
                for length in (None, 30, 33)
            ]
        half = len(back) // 2
        for a, b in zip(back[:half], back[half:], strict=True):
            same(a, b)
    if dtype != "complex64":
        same(
            mashal.tensor(x).stft(8, return_complex=False),
            torch.tensor(x).stft(8, return_complex=False),
        )


@pytest.mark.parametrize("n", [1, 2, 9, 11, 13, 35, 64, 143, 400, 17, 1024])
@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_many_lines(n, dtype):
    """Lengths of every factor, more lines than a vector register holds, along either dimension."""
    for shape, dim in (((37, n), 1), ((n, 35), 0), ((2, n, 3), 1)):
        x = data(shape, dtype)
        names = ("fft", "ifft") if "complex" in dtype else ("fft", "rfft", "ihfft")
        for name in names:
            same(
                getattr(mashal.fft, name)(mashal.tensor(x), dim=dim), getattr(torch.fft, name)(torch.tensor(x), dim=dim)
            )
        for m in (2 * n, 2 * n + 1):
            same(
                mashal.fft.irfft(mashal.tensor(x), m, dim=dim, norm="ortho"),
                torch.fft.irfft(torch.tensor(x), m, dim=dim, norm="ortho"),
            )


def test_kernel_refuses_what_it_cannot():
    lines = mashal._ops._fft_lines
    z = mashal.ones(4, 17, dtype=mashal.complex64)
    with pytest.raises(RuntimeError, match="factors"):
        lines(z, 1, 17, 0, True, 1.0)
    with pytest.raises(RuntimeError, match="size must be"):
        lines(z, 1, 16, 0, True, 1.0)
    with pytest.raises(RuntimeError, match="type of input"):
        lines(z, 1, 17, 1, True, 1.0)
    with pytest.raises(RuntimeError, match="dim must be"):
        lines(z, 2, 17, 0, True, 1.0)
