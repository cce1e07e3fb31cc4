"""Discrete Fourier transforms: three primitives, and compositions of them.

Lengths with factors up to 13 go through a kernel of our own, several lines at a time; others, and long or single
lines, through NumPy's (pocketfft).

``norm`` of the primitives: 0 no factor, 1 the inverse root of the number of points, 2 its inverse.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from .. import _core
from .._core import Tensor
from ._registry import composite, op

Ints = Sequence[int]

# NumPy's names of the three factors, for a forward and for an inverse transform.
_FORWARD: tuple[Any, ...] = ("backward", "ortho", "forward")
_INVERSE: tuple[Any, ...] = ("forward", "ortho", "backward")


# Beyond it the lines that are worked at together leave the cache.
_LONGEST = 8192


@op("_fft_lines(Tensor input, int dim, int size, int kind, bool forward, float scale) -> Tensor", out=False)
def _fft_lines() -> None:
    """Transforms along one dimension; ``kind`` 0: complex, 1: half of that of real numbers, 2: its inverse."""


_fft_lines.nondifferentiable("a part of _fft_c2c, _fft_r2c and _fft_c2r, which have derivatives")


@functools.lru_cache(512)
def _is_smooth(n: int) -> bool:
    if not 0 < n <= _LONGEST:
        return False
    for factor in (2, 3, 5, 7, 11, 13):
        while n % factor == 0:
            n //= factor
    return n == 1


def _by_lines(input: Tensor, sizes: Sequence[int]) -> bool:
    """Whether the kernel for several lines is the one to use."""
    return all(map(_is_smooth, sizes)) and 4 * max(sizes) <= input.numel() < 1 << 28


def _scale(n: int, norm: int) -> float:
    return (1.0, n**-0.5, 1.0 / n)[norm]


def _as_tensor(array: Any, dtype: Any) -> Tensor:
    import numpy as np

    # NumPy before version 2 computes in double precision only.
    wanted = np.dtype(repr(dtype).split(".")[1])
    return _core.from_buffer(np.ascontiguousarray(array, dtype=wanted).reshape(array.shape))


@op("_fft_c2c(Tensor input, int[] dim, int norm, bool forward) -> Tensor", out=False)
def _fft_c2c() -> None:
    """The transform of complex numbers along ``dim``."""


@_fft_c2c.shape
def _(input: Any, dim: Ints, norm: int, forward: bool) -> Any:
    return input.shape, input.dtype


@_fft_c2c.cpu
def _(input: Tensor, dim: Ints, norm: int, forward: bool) -> Tensor:
    import numpy as np

    if not dim or input.numel() == 0:
        return input.clone()
    if _by_lines(input, [input.shape[d] for d in dim]):
        for d in dim:
            n = input.shape[d]
            input = _fft_lines(input, d, n, 0, forward, _scale(n, norm))
        return input
    array = input.detach().numpy()
    transform = np.fft.fftn if forward else np.fft.ifftn
    array = transform(array, axes=tuple(dim), norm=(_FORWARD if forward else _INVERSE)[norm])
    return _as_tensor(array, input.dtype)


# The transposed conjugate of a transform is the opposite one.
_fft_c2c.vjp(input=lambda g, dim, norm, forward: _fft_c2c(g, dim, norm, not forward))


@op("_fft_r2c(Tensor input, int[] dim, int norm) -> Tensor", out=False)
def _fft_r2c() -> None:
    """The transform of real numbers: half of it, along the last of ``dim`` (the rest is its conjugate)."""


@_fft_r2c.shape
def _(input: Any, dim: Ints, norm: int) -> Any:
    shape = list(input.shape)
    shape[dim[-1]] = shape[dim[-1]] // 2 + 1
    return shape, input.dtype.to_complex()


@_fft_r2c.cpu
def _(input: Tensor, dim: Ints, norm: int) -> Tensor:
    import numpy as np

    dtype = input.dtype.to_complex()
    sizes = [input.shape[d] for d in dim]
    if input.numel() and _by_lines(input, sizes):
        out = _fft_lines(input, dim[-1], sizes[-1], 1, True, _scale(sizes[-1], norm))
        for d, n in zip(dim[:-1], sizes[:-1], strict=True):
            out = _fft_lines(out, d, n, 0, True, _scale(n, norm))
        return out
    array = input.detach().numpy()
    if array.size == 0:
        shape = list(array.shape)
        shape[dim[-1]] = shape[dim[-1]] // 2 + 1
        return _core.empty(tuple(shape), None, dtype, None).zero_()
    return _as_tensor(np.fft.rfftn(array, axes=tuple(dim), norm=_FORWARD[norm]), dtype)


@op("_fft_c2r(Tensor input, int[] dim, int norm, int size) -> Tensor", out=False)
def _fft_c2r() -> None:
    """The inverse transform of half of a transform of real numbers, ``size`` along the last of ``dim``."""


@_fft_c2r.shape
def _(input: Any, dim: Ints, norm: int, size: int) -> Any:
    shape = list(input.shape)
    shape[dim[-1]] = size
    return shape, input.dtype.to_real()


@_fft_c2r.cpu
def _(input: Tensor, dim: Ints, norm: int, size: int) -> Tensor:
    import numpy as np

    dtype = input.dtype.to_real()
    sizes = [input.shape[d] for d in dim]
    sizes[-1] = size
    if input.numel() and _by_lines(input, sizes):
        for d, n in zip(dim[:-1], sizes[:-1], strict=True):
            input = _fft_lines(input, d, n, 0, False, _scale(n, norm))
        return _fft_lines(input, dim[-1], size, 2, False, _scale(size, norm))
    array = input.detach().numpy()
    if array.size == 0:
        shape = list(array.shape)
        shape[dim[-1]] = size
        return _core.empty(tuple(shape), None, dtype, None).zero_()
    return _as_tensor(np.fft.irfftn(array, s=sizes, axes=tuple(dim), norm=_INVERSE[norm]), dtype)


def _weighted(half: Tensor, dim: int, size: int, weight: float) -> Tensor:
    """``half`` of a transform, with ``weight`` on what stands for two points: all but the ends."""
    count = half.shape[dim]
    weights = half.new_full((count,), weight, dtype=half.dtype.to_real())
    weights[0] = 1.0
    if size % 2 == 0:
        weights[-1] = 1.0
    shape = [1] * half.dim()
    shape[dim] = count
    return half * weights.view(shape)


@_fft_r2c.vjp("input")
def _(g: Tensor, input_shape: Ints, dim: Ints, norm: int) -> Tensor:
    size = input_shape[dim[-1]]
    return _fft_c2r(_weighted(g, dim[-1], size, 0.5), dim, norm, size)


@_fft_c2r.vjp("input")
def _(g: Tensor, dim: Ints, norm: int, size: int) -> Tensor:
    return _weighted(_fft_r2c(g, dim, norm), dim[-1], size, 2.0)


# ---- arguments ----

_NORMS = {None: "backward", "backward": "backward", "ortho": "ortho", "forward": "forward"}


def _norm(norm: str | None, forward: bool) -> int:
    if norm not in _NORMS:
        raise RuntimeError(f'Invalid normalization mode: "{norm}"')
    return (_FORWARD if forward else _INVERSE).index(_NORMS[norm])


def _promoted(name: str, input: Any, to_complex: bool) -> Tensor:
    if not isinstance(input, Tensor):
        raise TypeError(f"{name}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
    dtype = input.dtype
    if not (dtype.is_floating_point or dtype.is_complex):
        dtype = _core.get_default_dtype()
    if dtype in (_core.float16, _core.bfloat16):
        word = "Half" if dtype == _core.float16 else "BFloat16"
        raise RuntimeError(f"{name}: Unsupported dtype {word}. Use input.float().")
    return input.to(dtype.to_complex() if to_complex else dtype)


def _real_only(name: str, input: Tensor) -> None:
    if input.dtype.is_complex:
        word = "ComplexFloat" if input.dtype == _core.complex64 else "ComplexDouble"
        raise RuntimeError(f"{name} expects a real input tensor, but got {word}. Use fft or ifft.")


def _wrap(name: str, dim: int, ndim: int) -> int:
    if ndim == 0:
        raise IndexError(f"{name}: Dimension specified as {dim} but tensor has no dimensions")
    if not -ndim <= dim < ndim:
        raise IndexError(
            f"{name}: Dimension out of range (expected to be in range of [{-ndim}, {ndim - 1}], but got {dim})"
        )
    return dim % ndim


def _positive(n: int) -> int:
    if n < 1:
        raise RuntimeError(f"Invalid number of data points ({n}) specified")
    return n


def _resized(input: Tensor, dims: Ints, sizes: Ints) -> Tensor:
    """``input`` cropped, or followed by zeros, to ``sizes`` along ``dims``."""
    pad: list[int] = [0] * (2 * input.dim())
    changed = False
    for d, n in zip(dims, sizes, strict=True):
        have = input.shape[d]
        if n < have:
            input = input.narrow(d, 0, n)
        elif n > have:
            pad[2 * (input.dim() - 1 - d) + 1] = n - have
            changed = True
    if not changed:
        return input
    from .padding import constant_pad_nd

    return constant_pad_nd(input, pad)


def _shape_and_dims(name: str, input: Tensor, s: Ints | None, dim: Any) -> tuple[list[int], list[int]]:
    ndim = input.dim()
    if isinstance(dim, int):
        dim = (dim,)
    if isinstance(s, int):
        s = (s,)
    if dim is not None:
        dims = [_wrap(name, d, ndim) for d in dim]
        if len(set(dims)) != len(dims):
            raise RuntimeError(f"{name}: FFT dims must be unique, got {tuple(dim)}.")
        if s is not None and len(s) != len(dims):
            raise RuntimeError(f"{name}: When given, dim and shape arguments must have the same length")
    elif s is not None:
        if len(s) > ndim:
            raise RuntimeError(f"{name}: Got shape with {len(s)} values but input tensor only has {ndim} dimensions.")
        dims = list(range(ndim - len(s), ndim))
    else:
        dims = list(range(ndim))
    sizes = [input.shape[d] for d in dims] if s is None else list(s)
    sizes = [input.shape[d] if n == -1 else n for d, n in zip(dims, sizes, strict=True)]
    for n in sizes:
        _positive(n)
    return sizes, dims


# ---- one dimension ----


def _one(name: str, input: Tensor, n: int | None, dim: int) -> tuple[int, int]:
    dim = _wrap(name, dim, input.dim())
    return _positive(input.shape[dim] if n is None else n), dim


def _complex_1d(name: str, input: Any, n: int | None, dim: int, norm: str | None, forward: bool) -> Tensor:
    input = _promoted(name, input, to_complex=True)
    n, dim = _one(name, input, n, dim)
    return _fft_c2c(_resized(input, (dim,), (n,)), (dim,), _norm(norm, forward), forward)


@composite(namespace="fft", out=True)
def fft_fft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """``y[k] = sum over j of x[j] exp(-2 pi i j k / n)``.

    Args:
        input: real or complex.
        n: the length along ``dim``: input is cropped, or followed by zeros.
        norm: ``"backward"`` (default) no factor, ``"ortho"`` 1 / sqrt(n), ``"forward"`` 1 / n.

    Returns:
        complex, of ``n`` points along ``dim``.

    Raises:
        RuntimeError: for ``n`` below 1, an unknown ``norm``, half precision.

    Example:
        >>> import mashal
        >>> mashal.fft.fft(mashal.tensor([1.0, 0.0, 0.0, 0.0]))
        tensor([1.+0.j, 1.+0.j, 1.+0.j, 1.+0.j])
    """
    return _complex_1d("fft", input, n, dim, norm, True)


@composite(namespace="fft", out=True)
def fft_ifft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of :func:`fft`: the factor ``1 / n`` belongs to it by default."""
    return _complex_1d("ifft", input, n, dim, norm, False)


@composite(namespace="fft", out=True)
def fft_rfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The first half, ``n // 2 + 1`` points, of :func:`fft` of real numbers."""
    input = _promoted("rfft", input, to_complex=False)
    _real_only("rfft", input)
    n, dim = _one("rfft", input, n, dim)
    return _fft_r2c(_resized(input, (dim,), (n,)), (dim,), _norm(norm, True))


@composite(namespace="fft", out=True)
def fft_irfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of :func:`rfft`; ``n`` is the length of the result, by default the even one that fits."""
    return _half_inverse("irfft", input, n, dim, _norm(norm, False))


@composite(namespace="fft", out=True)
def fft_hfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The transform, real, of numbers whose second half is the conjugate of the first: only that is given."""
    return _half_inverse("hfft", input, n, dim, _norm(norm, True), conjugate=True)


def _half_inverse(name: str, input: Any, n: int | None, dim: int, norm: int, conjugate: bool = False) -> Tensor:
    input = _promoted(name, input, to_complex=True)
    dim = _wrap(name, dim, input.dim())
    n = _positive(2 * (input.shape[dim] - 1) if n is None else n)
    half = _resized(input, (dim,), (n // 2 + 1,))
    return _fft_c2r(half.conj() if conjugate else half, (dim,), norm, n)


@composite(namespace="fft", out=True)
def fft_ihfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of :func:`hfft`: the first half of the inverse transform of real numbers."""
    input = _promoted("ihfft", input, to_complex=False)
    _real_only("ihfft", input)
    n, dim = _one("ihfft", input, n, dim)
    return _fft_r2c(_resized(input, (dim,), (n,)), (dim,), _norm(norm, False)).conj()


# ---- several dimensions ----


def _complex_nd(name: str, input: Any, s: Any, dim: Any, norm: str | None, forward: bool) -> Tensor:
    input = _promoted(name, input, to_complex=True)
    sizes, dims = _shape_and_dims(name, input, s, dim)
    return _fft_c2c(_resized(input, dims, sizes), dims, _norm(norm, forward), forward)


def _real_nd(name: str, input: Any, s: Any, dim: Any, norm: str | None, forward: bool) -> Tensor:
    input = _promoted(name, input, to_complex=False)
    _real_only(name, input)
    sizes, dims = _shape_and_dims(name, input, s, dim)
    if not dims:
        raise RuntimeError(f"{name} must transform at least one axis")
    out = _fft_r2c(_resized(input, dims, sizes), dims, _norm(norm, forward))
    return out if forward else out.conj()


def _inverse_real_nd(name: str, input: Any, s: Any, dim: Any, norm: int, conjugate: bool) -> Tensor:
    input = _promoted(name, input, to_complex=True)
    given = None if s is None else [s] if isinstance(s, int) else list(s)
    sizes, dims = _shape_and_dims(name, input, given, dim)
    if not dims:
        raise RuntimeError(f"{name} must transform at least one axis")
    last = dims[-1]
    n = 2 * (input.shape[last] - 1) if given is None or given[-1] == -1 else given[-1]
    sizes[-1] = _positive(n) // 2 + 1
    half = _resized(input, dims, sizes)
    return _fft_c2r(half.conj() if conjugate else half, dims, norm, n)


@composite(namespace="fft", out=True)
def fft_fftn(input: Tensor, s: Ints | None = None, dim: Ints | None = None, norm: str | None = None) -> Tensor:
    """:func:`fft` along several dimensions: all, or ``dim``, or as many last ones as ``s`` has sizes."""
    return _complex_nd("fftn", input, s, dim, norm, True)


@composite(namespace="fft", out=True)
def fft_ifftn(input: Tensor, s: Ints | None = None, dim: Ints | None = None, norm: str | None = None) -> Tensor:
    """The inverse of :func:`fftn`."""
    return _complex_nd("ifftn", input, s, dim, norm, False)


@composite(namespace="fft", out=True)
def fft_rfftn(input: Tensor, s: Ints | None = None, dim: Ints | None = None, norm: str | None = None) -> Tensor:
    """:func:`fftn` of real numbers: the first half along the last of the dimensions."""
    return _real_nd("rfftn", input, s, dim, norm, True)


@composite(namespace="fft", out=True)
def fft_irfftn(input: Tensor, s: Ints | None = None, dim: Ints | None = None, norm: str | None = None) -> Tensor:
    """The inverse of :func:`rfftn`; the last of ``s`` is the length of the result."""
    return _inverse_real_nd("irfftn", input, s, dim, _norm(norm, False), False)


@composite(namespace="fft", out=True)
def fft_hfftn(input: Tensor, s: Ints | None = None, dim: Ints | None = None, norm: str | None = None) -> Tensor:
    """:func:`hfft` along the last of the dimensions, :func:`fft` along the others."""
    return _inverse_real_nd("hfftn", input, s, dim, _norm(norm, True), True)


@composite(namespace="fft", out=True)
def fft_ihfftn(input: Tensor, s: Ints | None = None, dim: Ints | None = None, norm: str | None = None) -> Tensor:
    """The inverse of :func:`hfftn`."""
    return _real_nd("ihfftn", input, s, dim, norm, False)


def _declare_2d(name: str, of: Any) -> None:
    def two(input: Tensor, s: Ints | None = None, dim: Ints = (-2, -1), norm: str | None = None) -> Tensor:
        return of(input, s, dim, norm)

    two.__doc__ = f":func:`{name}n` of the last two dimensions, or of ``dim``."
    two.__name__ = two.__qualname__ = f"fft_{name}2"
    composite(namespace="fft", out=True)(two)


for _name, _of in (
    ("fft", fft_fftn),
    ("ifft", fft_ifftn),
    ("rfft", fft_rfftn),
    ("irfft", fft_irfftn),
    ("hfft", fft_hfftn),
    ("ihfft", fft_ihfftn),
):
    _declare_2d(_name, _of)


# ---- helpers ----


def _frequencies(name: str, n: int, d: float, dtype: Any, device: Any, half: bool) -> Tensor:
    from .creation import arange

    dtype = dtype or _core.get_default_dtype()
    if not (dtype.is_floating_point or dtype.is_complex):
        raise RuntimeError(f"{name} requires a floating point or complex dtype")
    if half:
        return arange(n // 2 + 1, dtype=dtype, device=device) * (1.0 / (n * d) if n else 1.0)
    out = arange(n, dtype=dtype, device=device)
    positive = (n + 1) // 2
    out[positive:] -= n
    return out * (1.0 / (n * d) if n else 1.0)


@composite(namespace="fft", out=True)
def fft_fftfreq(
    n: int, d: float = 1.0, *, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """The frequencies of :func:`fft`'s points, for samples a distance ``d`` apart: first the positive ones.

    Example:
        >>> import mashal
        >>> mashal.fft.fftfreq(4)
        tensor([ 0.0000,  0.2500, -0.5000, -0.2500])
    """
    out = _frequencies("fftfreq", n, d, dtype, device, half=False)
    return out.requires_grad_() if requires_grad else out


@composite(namespace="fft", out=True)
def fft_rfftfreq(
    n: int, d: float = 1.0, *, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """The frequencies of :func:`rfft`'s points."""
    out = _frequencies("rfftfreq", n, d, dtype, device, half=True)
    return out.requires_grad_() if requires_grad else out


def _shifted(input: Tensor, dim: Any, forward: bool) -> Tensor:
    dims = range(input.dim()) if dim is None else (dim,) if isinstance(dim, int) else dim
    dims = [_wrap("fftshift" if forward else "ifftshift", d, input.dim()) for d in dims]
    if not dims:
        return input.clone()
    return input.roll([(input.shape[d] + (not forward)) // 2 for d in dims], dims)


@composite(namespace="fft")
def fft_fftshift(input: Tensor, dim: Any = None) -> Tensor:
    """Moves frequency 0 to the middle, along all dimensions or ``dim``."""
    return _shifted(input, dim, True)


@composite(namespace="fft")
def fft_ifftshift(input: Tensor, dim: Any = None) -> Tensor:
    """The inverse of :func:`fftshift`."""
    return _shifted(input, dim, False)
