"""The stubs are those the registry implies, and serve a type checker."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def run(*command, **kwargs):
    return subprocess.run(
        [sys.executable, "-P", *command], capture_output=True, text=True, cwd=ROOT, check=False, **kwargs
    )


@pytest.mark.skipif(not (ROOT / "src/mashal/_core.pyi").exists(), reason="not run from a source tree")
def test_stubs_are_those_of_the_registry():
    result = run("scripts/make_stubs.py", "--check")
    assert result.returncode == 0, result.stdout + result.stderr


def test_sample_program_runs():
    result = run(str(HERE / "sample.py"))
    assert result.returncode == 0, result.stderr
    assert float(result.stdout) > 0


def mypy(path):
    pytest.importorskip("mypy")
    environment = {**os.environ, "MYPYPATH": str(ROOT / "src")}
    return run(
        "-m", "mypy", "--strict", "--config-file", os.devnull, "--follow-imports=silent", str(path), env=environment
    )


def test_sample_program_type_checks():
    result = mypy(HERE / "sample.py")
    assert result.returncode == 0, result.stdout


def test_mistakes_are_found():
    path = HERE / "wrong.py"
    marked = {i for i, line in enumerate(path.read_text().splitlines(), 1) if line.endswith("# error")}
    result = mypy(path)
    found = {int(n) for n in re.findall(r"wrong\.py:(\d+): error", result.stdout)}
    assert found == marked, result.stdout
