"""docs/supported.md lists what there is."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.skipif(not (ROOT / "src/mashal/_core.pyi").exists(), reason="not run from a source tree")
def test_page_is_up_to_date():
    result = subprocess.run(
        [sys.executable, "-P", "scripts/supported.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr
