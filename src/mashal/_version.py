"""The versions, written once: the build reads the first, ``mashal.version`` both."""

__version__ = "0.1.0"

# The version of PyTorch whose behaviour this is.
torch = "2.13.0"
