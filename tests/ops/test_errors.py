"""Bad input: the class that torch raises, and a message that names the op."""

from __future__ import annotations

import pytest

from tests.opdb import Record
from tests.ops._compare import both, builtin_class, cases, functions

# torch deprecates some of what is compared.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.mark.parametrize("record", cases(lambda r: bool(r.errors), reader="errors"))
def test_errors(record: Record) -> None:
    ours, theirs = functions(record)
    for i, sample in enumerate(record.errors):
        a, ka, b, kb = both(record, i, sample, record.dtypes[0])
        with pytest.raises(Exception) as expected:  # noqa: PT011: torch says which
            theirs(*b, **kb)
        with pytest.raises(builtin_class(expected.value)) as got:
            ours(*a, **ka)
        assert str(got.value), f"{record.name} error {i}: empty message"
