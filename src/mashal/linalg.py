"""Linear algebra: PyTorch's ``torch.linalg``."""

from . import _ops
from .ops.decompositions import LinAlgError as LinAlgError  # noqa: PLC0414 (re-exported)

_PREFIX = "linalg_"
# Every operation whose name begins so, without the beginning.
for _name, _call in vars(_ops).items():
    if _name.startswith(_PREFIX):
        globals()[_name.removeprefix(_PREFIX)] = _call
