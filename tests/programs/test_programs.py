"""Each program's losses under the alias are those it has with PyTorch, from the same seed."""

from __future__ import annotations

import pytest

from ._programs import PROGRAMS, difference, run


@pytest.mark.parametrize("name", PROGRAMS)
def test_losses_are_torchs(name: str) -> None:
    """Skipped with the reason where the repository isn't at hand."""
    if reason := PROGRAMS[name].missing():
        pytest.skip(reason)
    ours, theirs = run(name, "mashal"), run(name, "torch")
    assert difference(ours, theirs) <= PROGRAMS[name].tolerance, (ours.numbers, theirs.numbers)
