# ruff: noqa: PLC0414 - programs import these names from here
"""Extensions in C++: PyTorch's C++ interface is not here, so they cannot be built against mashal; all raises that."""

from __future__ import annotations

import os
import shutil
from typing import Any, NoReturn

from ..torch_version import TorchVersion as TorchVersion

__all__ = [
    "BuildExtension", "CUDAExtension", "CppExtension", "SyclExtension", "get_default_build_root", "include_paths",
    "is_ninja_available", "library_paths", "load", "load_inline", "verify_ninja_availability",
]  # fmt: skip

# Where toolkits are: mashal looks for none.
CUDA_HOME: str | None = None
CUDNN_HOME: str | None = None
ROCM_HOME: str | None = None
HIP_HOME: str | None = None
SYCL_HOME: str | None = None
ROCM_VERSION: tuple[int, int] | None = None
IS_HIP_EXTENSION = False


def _refuse(name: str) -> NoReturn:
    raise RuntimeError(
        f"cpp_extension.{name}: extensions are written against PyTorch's C++ interface (ATen), which mashal does not "
        "have. Use the program's Python version of the operation, if it has one."
    )


def CppExtension(name: str, sources: Any, *args: Any, **kwargs: Any) -> NoReturn:
    """An extension for setuptools. Raises: RuntimeError."""
    _refuse("CppExtension")


def CUDAExtension(name: str, sources: Any, *args: Any, **kwargs: Any) -> NoReturn:
    """An extension for setuptools, with CUDA. Raises: RuntimeError."""
    _refuse("CUDAExtension")


def SyclExtension(name: str, sources: Any, *args: Any, **kwargs: Any) -> NoReturn:
    """An extension for setuptools, with SYCL. Raises: RuntimeError."""
    _refuse("SyclExtension")


class BuildExtension:
    """A command for setuptools. Raises: RuntimeError when it is made."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _refuse("BuildExtension")

    @classmethod
    def with_options(cls, **_options: Any) -> type[BuildExtension]:
        """The command with options."""
        return cls


def load(name: str, sources: Any, *args: Any, **kwargs: Any) -> NoReturn:
    """Builds and imports an extension. Raises: RuntimeError."""
    _refuse("load")


def load_inline(name: str, cpp_sources: Any, *args: Any, **kwargs: Any) -> NoReturn:
    """Builds and imports an extension given as text. Raises: RuntimeError."""
    _refuse("load_inline")


def include_paths(device_type: str = "cpu", torch_include_dirs: bool = True) -> list[str]:
    """The folders of C++ headers: none."""
    return []


def library_paths(device_type: str = "cpu", torch_include_dirs: bool = True) -> list[str]:
    """The folders of C++ libraries: none."""
    return []


def is_ninja_available() -> bool:
    """Whether the build tool ninja is installed."""
    return shutil.which("ninja") is not None


def verify_ninja_availability() -> None:
    """Raises RuntimeError unless it is."""
    if not is_ninja_available():
        raise RuntimeError("Ninja is required to load C++ extensions (pip install ninja to get it)")


def get_default_build_root() -> str:
    """The folder where extensions would be built."""
    return os.path.realpath(os.path.join(os.path.expanduser("~"), ".cache", "torch_extensions"))
