"""A loader that hangs must not hang the tests."""

import pytest


@pytest.fixture(autouse=True)
def _limit(time_limit):
    """For every test of the folder."""
