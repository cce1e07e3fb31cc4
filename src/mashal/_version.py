"""The version, written once: the build and ``mashal.__version__`` both read it here."""

__version__ = "0.1.0"
