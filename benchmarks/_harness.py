"""Interleaved timing of mashal and PyTorch in one process, both on two threads."""

from __future__ import annotations

import argparse
import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch

import mashal

THREADS = 2
Step = Callable[[], object]


@dataclass
class Case:
    """One line of a table: a step in both frameworks and the ratio it should not exceed."""

    name: str
    ours: Step
    theirs: Step
    bar: float


def _once(step: Step, number: int) -> float:
    start = time.perf_counter()
    for _ in range(number):
        step()
    return (time.perf_counter() - start) / number


def compare(case: Case, seconds: float, repeats: int = 15) -> tuple[float, float]:
    """Median seconds of one step for (mashal, torch), in interleaved repeats after a warm-up."""
    for step in (case.ours, case.theirs):
        step()
        step()
    longest = max(_once(case.ours, 1), _once(case.theirs, 1))
    number = max(1, int(seconds / repeats / 2 / longest))
    ours, theirs = [], []
    gc.disable()
    for _ in range(repeats):
        ours.append(_once(case.ours, number))
        theirs.append(_once(case.theirs, number))
    gc.enable()
    return statistics.median(ours), statistics.median(theirs)


def main(cases: Callable[[], list[Case]], description: str) -> None:
    """Prints our time, torch's, the ratio and the bar for every case."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("-k", default="", help="only cases whose name contains this")
    parser.add_argument("--seconds", type=float, default=2.0, help="time per case")
    options = parser.parse_args()
    mashal.set_num_threads(THREADS)
    torch.set_num_threads(THREADS)
    print(f"{'case':44} {'mashal':>12} {'torch':>12} {'ratio':>6} {'bar':>5}")
    for case in cases():
        if options.k not in case.name:
            continue
        a, b = compare(case, options.seconds)
        mark = "" if a / b <= case.bar else "  missed"
        print(f"{case.name:44} {a * 1e6:9.2f} us {b * 1e6:9.2f} us {a / b:6.2f} {case.bar:5.2f}{mark}", flush=True)
