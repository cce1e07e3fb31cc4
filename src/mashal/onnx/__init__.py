"""ONNX: nothing is exported (yet); programs that import it for the case that a user asks for it run."""

from __future__ import annotations

from typing import Any, NoReturn

from .._missing import WHY

__all__ = ["OnnxExporterError", "export", "is_in_onnx_export"]


class OnnxExporterError(RuntimeError):
    """A failed export."""


def is_in_onnx_export() -> bool:
    """Whether an export is running: never, here.

    Example:
        >>> import mashal
        >>> mashal.onnx.is_in_onnx_export()
        False
    """
    return False


def export(model: Any, *args: Any, **kwargs: Any) -> NoReturn:
    """Would write ``model`` as an ONNX file.

    Raises:
        NotImplementedError: always.
    """
    raise NotImplementedError(f"torch.onnx.export: {WHY}")
