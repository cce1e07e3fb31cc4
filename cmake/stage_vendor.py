"""Copy OpenBLAS and oneDNN out of the Python packages that carry them into one folder of the build tree.

CMake runs this at configure time. Staging (instead of linking where pip put them) gives exactly one stripped copy of
each library, and a place of one's own for headers that pip unpacks among those of other packages:

    OUT/lib/*.so*        what goes into mashal/lib
    OUT/lib/licenses/    their licences, which travel with them
    OUT/include/         headers
"""

import argparse
import filecmp
import importlib.metadata
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path


def main() -> None:
    """Stage what the options name, leaving files that are already right untouched."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--strip", required=True, help="the strip program")
    parser.add_argument("--onednn", action="store_true", help="stage oneDNN too")
    parser.add_argument("--openmp", type=Path, required=True, help="the OpenMP run-time library that the compiler uses")
    options = parser.parse_args()

    stage = Stage(options.out, options.strip)
    stage_openblas(stage)
    if options.onednn:
        stage_onednn(stage)
    # The SONAME, not the development link's name: that is what the loader asks for.
    openmp = options.openmp.resolve()
    stage.library(openmp, openmp.name.split(".so")[0] + ".so.1")


class Stage:
    """The folder being filled."""

    def __init__(self, out: Path, strip: str) -> None:
        self.out = out
        self.strip = strip

    def copy(self, source: Path, target: str) -> bool:
        """Copy if contents differ, so that time stamps stay; say whether it did."""
        path = self.out / target
        if path.exists() and filecmp.cmp(source, path, shallow=False):
            return False
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, path)
        return True

    def library(self, source: Path, name: str) -> None:
        """Stage a shared library without its local symbols (a fifth of oneDNN's size)."""
        changed = self.copy(source, f"original/{name}")
        target = self.out / "lib" / name
        if changed or not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            subprocess.run([self.strip, "--strip-unneeded", "-o", target, self.out / "original" / name], check=True)
            target.chmod(0o755)


def stage_openblas(stage: Stage) -> None:
    """Stage scipy-openblas32: BLAS and LAPACK with 32-bit integers; its names begin with ``scipy_``."""
    try:
        import scipy_openblas32 as package
    except ImportError:
        sys.exit("stage_vendor: OpenBLAS not found; install scipy-openblas32 in the Python that builds mashal")
    for header in sorted(Path(package.get_include_dir()).glob("*.h")):
        stage.copy(header, f"include/{header.name}")
    # On some processors the package brings a Fortran run-time along; it lies in the same folder.
    for library in sorted(Path(package.get_lib_dir()).glob("lib*.so*")):
        stage.library(library, library.name)
    for path in package_files("scipy-openblas32", lambda path: path.name.startswith("LICENSE")):
        stage.copy(path, "lib/licenses/OpenBLAS-LICENSE.txt")


def stage_onednn(stage: Stage) -> None:
    """Stage oneDNN. Its packages unpack into the environment's prefix, so their file lists are asked."""
    try:
        headers = package_files("onednn-devel-cpu-gomp", lambda path: path.suffix in {".h", ".hpp"})
        libraries = package_files("onednn-cpu-gomp", lambda path: path.name.startswith("libdnnl.so."))
        texts = package_files(
            "onednn-cpu-gomp", lambda path: path.name in {"LICENSE", "THIRD-PARTY-PROGRAMS"} and "onednn" in path.parts
        )
    except importlib.metadata.PackageNotFoundError as missing:
        sys.exit(
            f"stage_vendor: oneDNN package {missing.name} not found on {platform.machine()}; install onednn-cpu-gomp "
            "and onednn-devel-cpu-gomp, or configure with -DMASHAL_ONEDNN=OFF for the portable kernels"
        )
    for header in headers:
        parts = header.parts
        inside = parts[len(parts) - parts[::-1].index("include") :]
        stage.copy(header, "/".join(("include", *inside)))
    # A wheel cannot hold links, so libdnnl.so.3 and libdnnl.so.3.2 are equal files; the shorter name is the SONAME.
    library = min(libraries, key=lambda path: len(path.name))
    stage.library(library, library.name)
    for text in texts:
        stage.copy(text, f"lib/licenses/oneDNN-{text.name}.txt")


def package_files(package: str, wanted: Callable[[Path], bool]) -> list[Path]:
    """Return the installed files of a package that satisfy ``wanted``."""
    files = importlib.metadata.distribution(package).files or []
    return [Path(str(file.locate())).resolve() for file in files if wanted(Path(str(file)))]


if __name__ == "__main__":
    main()
