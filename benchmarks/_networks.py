"""Whole networks timed beside PyTorch's: the same weights, first checked to give the same numbers."""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from _harness import THREADS, Case, compare

Step = Callable[[], Any]  # gives a number or numbers that both frameworks must agree on
Make = Callable[[Any], Step]
CHECKED = 2  # first steps whose numbers must agree: later ones grow apart by roundings, as any two orders of summing do


def framework(name: str) -> Any:
    """mashal or torch, on two threads."""
    t = __import__(name)
    t.set_num_threads(THREADS)
    return t


def agree(case: str, frameworks: list[Any], steps: list[Step]) -> None:
    """Ends the program when the first steps differ: a fast step that computes something else isn't a fast step."""
    tolerance = 2e-2 if "bf16" in case else 1e-4
    for number in range(CHECKED):
        values = []
        for t, step in zip(frameworks, steps, strict=True):
            t.manual_seed(number)
            values.append(step().detach().double().numpy())
        ours, theirs = values
        error = abs(ours - theirs).max() / max(1.0, abs(theirs).max())
        if not error <= tolerance:
            raise SystemExit(f"{case}: step {number} is off by {error} of {abs(theirs).max()}")


def peak_resident() -> int:
    """In KiB, of this program alone: getrusage's includes what the process was before it ran it."""
    return int(re.findall(r"VmHWM:\s*(\d+)", Path("/proc/self/status").read_text())[0])


def memory(name: str, make: Make) -> None:
    """In a process of its own: prints by how much its resident size peaked over a few steps, in MiB."""
    t = framework(name)
    t.manual_seed(0)
    before = peak_resident()
    step = make(t)
    for _ in range(CHECKED):
        step()
    print(json.dumps((peak_resident() - before) / 1024))


def peak(name: str, case: str) -> float:
    """What :func:`memory` prints for one framework and case."""
    command = [sys.executable, sys.argv[0], "--memory", name, "-k", case]
    return float(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))


def main(cases: dict[str, tuple[float, Make]], description: str) -> None:
    """Prints our time, torch's, the ratio and the bar for every case, and peak memory where asked."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("-k", default="", help="only cases whose name contains this")
    parser.add_argument("--seconds", type=float, default=10.0, help="time per case")
    parser.add_argument("--peak", action="store_true", help="measure peak memory too, each in a fresh process")
    parser.add_argument("--memory", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.memory:
        memory(options.memory, cases[options.k][1])
        return
    print(f"{'case':32} {'mashal':>11} {'torch':>11} {'ratio':>6} {'bar':>5}" + "  MiB: mashal torch" * options.peak)
    frameworks = [framework("mashal"), framework("torch")]
    for case, (bar, make) in cases.items():
        if options.k not in case:
            continue
        steps = []
        for t in frameworks:
            t.manual_seed(0)
            steps.append(make(t))
        agree(case, frameworks, steps)
        a, b = compare(Case(case, *steps, bar), options.seconds, repeats=9)
        line = f"{case:32} {a * 1e3:8.2f} ms {b * 1e3:8.2f} ms {a / b:6.2f} {bar:5.2f}"
        if options.peak:
            line += f"  {peak('mashal', case):12.0f} {peak('torch', case):5.0f}"
        print(line + ("" if a / b <= bar else "  missed"), flush=True)
