"""What a report of a bug should say about the machine: ``python -m mashal.utils.collect_env``."""

from __future__ import annotations

import importlib.metadata
import locale
import os
import platform
import re
import subprocess
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

import mashal

TORCH_AVAILABLE = True
_PACKAGES = (
    "mashal",
    "numpy",
    "torch",
    "torchvision",
    "torchaudio",
    "safetensors",
    "tensorboard",
    "onnx",
    "mypy",
    "ruff",
)


class SystemEnv(NamedTuple):
    """The facts."""

    torch_version: str
    mashal_version: str
    is_debug_build: str
    cuda_compiled_version: str
    gcc_version: str | None
    cmake_version: str | None
    os: str
    libc_version: str
    python_version: str
    python_platform: str
    is_cuda_available: str
    cpu_capability: str
    cpu_info: str
    pip_packages: str


def run(command: str | Sequence[str]) -> tuple[int, str, str]:
    """The exit code, output and errors of a command."""
    shell = isinstance(command, str)
    try:
        done = subprocess.run(command, capture_output=True, check=False, shell=shell)
    except OSError as error:
        return 127, "", str(error)
    encoding = locale.getpreferredencoding(False)
    return done.returncode, done.stdout.decode(encoding).strip(), done.stderr.decode(encoding).strip()


def run_and_read_all(run_lambda: Any, command: Any) -> str | None:
    """The output of a command; None if it failed."""
    code, out, _ = run_lambda(command)
    return out if code == 0 else None


def run_and_parse_first_match(run_lambda: Any, command: Any, regex: str) -> str | None:
    """The first group of a pattern in the output of a command; None if it failed or does not match."""
    text = run_and_read_all(run_lambda, command)
    found = re.search(regex, text) if text is not None else None
    return found.group(1) if found else None


def get_gcc_version(run_lambda: Any = run) -> str | None:
    """The version of GCC."""
    return run_and_parse_first_match(run_lambda, ["gcc", "--version"], r"gcc (.*)")


def get_cmake_version(run_lambda: Any = run) -> str | None:
    """The version of CMake."""
    return run_and_parse_first_match(run_lambda, ["cmake", "--version"], r"cmake (.*)")


def get_nvidia_driver_version(run_lambda: Any = run) -> str | None:
    """The version of NVIDIA's driver; None without one."""
    return run_and_parse_first_match(run_lambda, ["nvidia-smi"], r"Driver Version: (.*?) ")


def get_gpu_info(run_lambda: Any = run) -> str | None:
    """The NVIDIA GPUs by name; None without any."""
    return run_and_read_all(run_lambda, ["nvidia-smi", "-L"])


def get_platform() -> str:
    """Returns "linux", "darwin", "win32" or "cygwin"."""
    return sys.platform


def get_os(run_lambda: Any = run) -> str:
    """The operating system."""
    try:
        release = platform.freedesktop_os_release()
    except OSError:
        return f"{platform.system()} {platform.release()}"
    return f"{release.get('PRETTY_NAME', platform.system())} ({platform.machine()})"


def get_python_platform() -> str:
    """The platform as Python names it."""
    return platform.platform()


def get_libc_version() -> str:
    """The C library."""
    return "-".join(platform.libc_ver()) if sys.platform == "linux" else "N/A"


def get_cpu_info(run_lambda: Any = run) -> str:
    """What lscpu says."""
    return run_and_read_all(run_lambda, ["lscpu"]) or platform.processor() or "N/A"


def get_pip_packages(run_lambda: Any = run, patterns: Sequence[str] | None = None) -> tuple[str, str]:
    """The versions of packages that matter, as pip lists them."""
    found = []
    for name in patterns or _PACKAGES:
        try:
            found.append(f"{name}=={importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    return "pip", "\n".join(found)


def get_env_info() -> SystemEnv:
    """All facts."""
    return SystemEnv(
        torch_version=str(mashal.__version__),
        mashal_version=mashal.version.mashal,
        is_debug_build=str(mashal.version.debug),
        cuda_compiled_version="None",
        gcc_version=get_gcc_version(),
        cmake_version=get_cmake_version(),
        os=get_os(),
        libc_version=get_libc_version(),
        python_version=f"{sys.version.splitlines()[0]} ({sys.maxsize.bit_length() + 1}-bit runtime)",
        python_platform=get_python_platform(),
        is_cuda_available=str(mashal.cuda.is_available()),
        cpu_capability=mashal.backends.cpu.get_cpu_capability(),
        cpu_info=get_cpu_info(),
        pip_packages=get_pip_packages()[1],
    )


def pretty_str(envinfo: SystemEnv) -> str:
    """The facts as a text."""
    lines = []
    for name, value in envinfo._asdict().items():
        title = name.replace("_", " ").capitalize()
        text = "Could not collect" if value is None else str(value)
        lines.append(f"{title}:\n{text}\n" if "\n" in text else f"{title}: {text}")
    return "\n".join(lines)


def get_pretty_env_info() -> str:
    """All facts as a text."""
    return pretty_str(get_env_info())


def main() -> None:
    """Prints it."""
    print("Collecting environment information...")
    print(get_pretty_env_info(), end=os.linesep)


if __name__ == "__main__":
    main()
