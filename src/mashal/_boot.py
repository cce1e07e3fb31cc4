"""Loads the core, after setting how long its idle threads spin.

libgomp reads this once, as it is loaded. By its default a waiting thread spins for some 15 ms before it sleeps; where
any other process runs, a parallel region then costs time slices of the scheduler (measured: 8 ms instead of 0.1 ms).
"""

import os

_ours = "GOMP_SPINCOUNT" not in os.environ and "OMP_WAIT_POLICY" not in os.environ
if _ours:
    os.environ["GOMP_SPINCOUNT"] = "1000"  # about 50 us: longer than the gap between two small operations

from . import _core  # noqa: E402, F401 - the point of this module

if _ours:
    del os.environ["GOMP_SPINCOUNT"]  # child processes decide for themselves
