"""What :func:`mashal.save` and :func:`mashal.load` do by default: attributes of ``load`` and ``save``."""

from ...serialization._options import load, save

__all__ = ["load", "save"]
