"""Short-time Fourier transforms: the spectra of overlapping, windowed pieces of a signal."""

from __future__ import annotations

import warnings

from .._core import Tensor
from ._registry import composite
from .spectral import _fft_c2c, _fft_c2r, _fft_r2c


def _window(name: str, window: Tensor | None, win_length: int, n_fft: int, signal: Tensor, warn: str) -> Tensor:
    """The window, centred among ``n_fft`` points."""
    if window is None:
        warnings.warn(
            f"A window was not provided. A rectangular window will be applied,{warn} To suppress this warning and use "
            "a rectangular window, explicitly set `window=torch.ones(n_fft, device=<device>)`.",
            stacklevel=4,
        )
        window = signal.new_ones((win_length,), dtype=signal.dtype.to_real())
    elif window.dim() != 1 or window.shape[0] != win_length:
        raise RuntimeError(
            f"{name}: expected a 1D window tensor of size equal to win_length={win_length}, but got window with size "
            f"{list(window.shape)}"
        )
    if win_length < n_fft:
        left = (n_fft - win_length) // 2
        from .padding import constant_pad_nd

        window = constant_pad_nd(window, (left, n_fft - win_length - left))
    return window


def _lengths(name: str, n_fft: int, hop_length: int | None, win_length: int | None) -> tuple[int, int]:
    hop = n_fft // 4 if hop_length is None else hop_length
    length = n_fft if win_length is None else win_length
    if hop <= 0:
        raise RuntimeError(f"{name}: expected hop_length > 0, but got hop_length={hop}")
    if not 0 < length <= n_fft:
        raise RuntimeError(f"{name}: expected 0 < win_length <= n_fft, but got win_length={length}")
    return hop, length


@composite(method=True)
def stft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Tensor:
    """The transforms of pieces of ``n_fft`` samples, ``hop_length`` apart, each multiplied by ``window``.

    Args:
        input: ``(..., time)``, of one or two dimensions, real or complex.
        hop_length: default ``n_fft // 4``.
        win_length: default ``n_fft``; a shorter window is centred.
        center: extend the signal by half a piece on both sides, as ``pad_mode`` says, so that pieces are centred.
        normalized: divide by the root of ``n_fft``.
        onesided: only frequencies from 0 on; default for real input.
        return_complex: False: the two parts in a last dimension (deprecated in PyTorch); needed for real input.

    Returns:
        ``(..., frequencies, pieces)``.

    Raises:
        RuntimeError: for other shapes, types and lengths.

    Example:
        >>> import mashal
        >>> mashal.stft(mashal.ones(16), 4, window=mashal.ones(4), return_complex=True).shape
        mashal.Size([3, 17])
    """
    hop, length = _lengths("stft", n_fft, hop_length, win_length)
    if not (input.dtype.is_floating_point or input.dtype.is_complex):
        raise RuntimeError(f"stft: expected a tensor of floating point or complex values, got input {input.dtype}.")
    if input.dim() not in (1, 2):
        raise RuntimeError(f"stft: expected a 1D or 2D tensor, got input {tuple(input.shape)} {input.dtype}.")
    is_complex = input.dtype.is_complex or (window is not None and window.dtype.is_complex)
    if return_complex is None:
        if not is_complex:
            raise RuntimeError(
                "stft requires the return_complex parameter be given for real inputs, and will further require that "
                "return_complex=True in a future PyTorch release."
            )
        return_complex = True
    if onesided is None:
        onesided = not is_complex
    elif onesided and is_complex:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    if align_to_window is not None and center:
        raise RuntimeError("stft: align_to_window should only be set when center = False.")
    batched = input if input.dim() == 2 else input.unsqueeze(0)
    if center:
        from ..nn.functional import pad

        batched = pad(batched.unsqueeze(1), (n_fft // 2, n_fft // 2), pad_mode).squeeze(1)
    samples = batched.shape[-1]
    if not 0 < n_fft <= samples:
        raise RuntimeError(f"stft: expected 0 < n_fft <= {samples}, but got n_fft={n_fft}")
    full = _window(
        "stft", window, length, n_fft, input, "which is known to cause spectral leakage. Other windows such as "
        "torch.hann_window or torch.hamming_window are recommended to reduce spectral leakage.",
    )  # fmt: skip
    pieces = batched.unfold(-1, n_fft, hop) * full
    norm = 1 if normalized else 0
    if onesided:
        out = _fft_r2c(pieces, (2,), norm)
    else:
        out = _fft_c2c(pieces.to(pieces.dtype.to_complex()), (2,), norm, True)
    out = out.transpose(1, 2)
    if input.dim() == 1:
        out = out.squeeze(0)
    if return_complex:
        return out
    warnings.warn(
        "stft with return_complex=False is deprecated: call torch.view_as_real on the complex output.", stacklevel=3
    )
    from .views import view_as_real

    return view_as_real(out)


@composite(method=True)
def istft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
) -> Tensor:
    """The signal whose :func:`stft` is nearest to ``input``: pieces are added and divided by the windows' squares.

    Args:
        input: complex, ``(..., frequencies, pieces)``.
        length: crop, or follow by zeros, to as many samples.
        return_complex: for transforms of complex signals.

    Raises:
        RuntimeError: for real input, sizes that do not fit, and where the windows leave a sample uncovered.

    Example:
        >>> import mashal
        >>> spectrum = mashal.stft(mashal.ones(16), 4, window=mashal.ones(4), return_complex=True)
        >>> mashal.istft(spectrum, 4, window=mashal.ones(4))[:3]
        tensor([1., 1., 1.])
    """
    if not input.dtype.is_complex:
        raise RuntimeError(
            "istft requires a complex-valued input tensor matching the output from stft with return_complex=True."
        )
    if input.dim() not in (2, 3) or input.numel() == 0:
        raise RuntimeError(f"istft: expected a tensor with 2 or 3 dimensions, got input {tuple(input.shape)}")
    hop, win = _lengths("istft", n_fft, hop_length, win_length)
    if hop > win:
        raise RuntimeError(f"istft: expected 0 < hop_length <= win_length, got {hop} and {win}")
    if onesided is None:
        onesided = input.shape[-2] != n_fft
    expected = n_fft // 2 + 1 if onesided else n_fft
    if input.shape[-2] != expected:
        word = "n_fft / 2 + 1 when onesided=True" if onesided else "n_fft when onesided=False"
        raise RuntimeError(
            f"istft: expected the frequency dimension (3rd to the last) of the input tensor to match {word}, but got "
            f"{input.shape[-2]} for n_fft {n_fft}"
        )
    if return_complex and onesided:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    full = _window(
        "istft", window, win, n_fft, input, " Please provide the same window used by stft to make the inversion "
        "lossless.",
    )  # fmt: skip
    batched = (input if input.dim() == 3 else input.unsqueeze(0)).transpose(1, 2)
    norm = 1 if normalized else 2
    if return_complex:
        pieces = _fft_c2c(batched, (2,), norm, False)
    elif onesided:
        pieces = _fft_c2r(batched, (2,), norm, n_fft)
    else:
        pieces = _fft_c2r(batched[..., : n_fft // 2 + 1], (2,), norm, n_fft)
    count = pieces.shape[1]
    total = n_fft + hop * (count - 1)
    signal = _overlap_add(pieces * full, hop, total)
    envelope = _overlap_add((full * full).expand((1, count, n_fft)), hop, total)
    start = n_fft // 2 if center else 0
    end = total - n_fft // 2 if center else total
    if length is not None:
        end = start + length
    signal, envelope = signal[:, start:end], envelope[:, start:end]
    lowest = envelope.abs().min()
    if not lowest.item() > 1e-11:
        raise RuntimeError(
            f"istft: window overlap add min: {lowest.item()}: some samples are covered by no piece. Use the window and "
            "center of stft."
        )
    signal = signal / envelope
    if length is not None and signal.shape[1] < length:
        warnings.warn(
            "The length of signal is shorter than the length parameter. Result is being padded with zeros in the tail. "
            "Please check your center and hop_length settings.",
            stacklevel=2,
        )
        from .padding import constant_pad_nd

        signal = constant_pad_nd(signal, (0, length - signal.shape[1]))
    return signal if input.dim() == 3 else signal.squeeze(0)


def _overlap_add(pieces: Tensor, hop: int, total: int) -> Tensor:
    """The sum of ``(batch, count, size)`` pieces, each placed ``hop`` after the one before, as ``(batch, total)``."""
    from .creation import arange

    batch, count, size = pieces.shape
    starts = arange(count, device=pieces.device) * hop
    index = (starts.unsqueeze(1) + arange(size, device=pieces.device)).reshape(-1)
    # Along the first dimension whole rows are added.
    rows = pieces.reshape(batch, count * size).T
    return pieces.new_zeros((total, batch)).index_add(0, index, rows).T
