"""Fixtures of several folders."""

import signal

import pytest


@pytest.fixture
def time_limit():
    """What hangs must not hang the tests: an error after a minute."""

    def stop(*_):
        raise TimeoutError("the test took longer than 60 s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)
