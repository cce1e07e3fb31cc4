"""The fuzzer: every operation, called with arguments that nobody would write on purpose.

``python -m tests.fuzz`` runs it; docs are in :mod:`tests.fuzz.__main__`. A call may raise a Python exception of a sane
class or give a result; it must never crash the process, hang, or lose memory. Every call follows from a seed, so each
finding
can be replayed alone. What it found stays in ``test_regressions.py``.
"""
