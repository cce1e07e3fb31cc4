"""Installed size, import time and memory after import, against PyTorch."""

from __future__ import annotations

import importlib.util
import statistics
import subprocess
import sys
from pathlib import Path


def installed_size(name: str) -> int:
    """Bytes of the package's folder, caches left out."""
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        raise SystemExit(f"{name} is not installed")
    folder = Path(spec.origin).parent
    return sum(f.stat().st_size for f in folder.rglob("*") if f.is_file() and f.suffix != ".pyc")


def _measure(statement: str) -> tuple[float, float]:
    """(seconds, resident MiB) of a fresh process after a statement, NumPy's import not counted in the time."""
    program = (
        "import time, resource\nimport numpy\nt = time.perf_counter()\n"
        f"{statement}\nprint(time.perf_counter() - t)\n"
        "print(int(open('/proc/self/statm').read().split()[1]) * resource.getpagesize() / 2**20)"
    )
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    return float(out[0]), float(out[1])


def main() -> None:
    ours = [_measure("import mashal") for _ in range(7)]
    theirs = [_measure("import torch") for _ in range(3)]
    rows = [
        ("installed size, MiB", installed_size("mashal") / 2**20, installed_size("torch") / 2**20, 0.2),
        ("import after NumPy, s", statistics.median(t for t, _ in ours), statistics.median(t for t, _ in theirs), 0.1),
        (
            "resident after import, MiB",
            statistics.median(m for _, m in ours),
            statistics.median(m for _, m in theirs),
            0.4,
        ),
    ]
    print(f"{'':28} {'mashal':>10} {'torch':>10} {'ratio':>6} {'bar':>5}")
    for name, a, b, bar in rows:
        print(f"{name:28} {a:10.3f} {b:10.3f} {a / b:6.2f} {bar:5.2f}{'' if a / b <= bar else '  missed'}")


if __name__ == "__main__":
    main()
