"""Discrete Fourier transforms: PyTorch's ``torch.fft``."""

from . import _ops

_PREFIX = "fft_"
# Every operation whose name begins so, without the beginning.
for _name, _call in vars(_ops).items():
    if _name.startswith(_PREFIX):
        globals()[_name.removeprefix(_PREFIX)] = _call
