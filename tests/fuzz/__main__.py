"""Runs the fuzzer.

    python -m tests.fuzz                       every target, 30 calls each
    python -m tests.fuzz --count 500 --only conv
    python -m tests.fuzz --seed 7              other calls
    python -m tests.fuzz --replay add:0.17     one call, in this process, with what it gives or raises

Exit status 1 if there are findings. The same options always make the same calls.
"""

from __future__ import annotations

import argparse
import sys


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.fuzz", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--count", type=int, default=30, help="calls per target")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="only targets with this in their name")
    parser.add_argument("--replay", metavar="NAME:SEED")
    parser.add_argument("--no-memory-limit", action="store_true", help="for sanitizers, which reserve address space")
    parser.add_argument("--slowdown", type=float, default=1.0, help="factor on the time limits")
    options = parser.parse_args()

    from tests.fuzz.calls import draw, run
    from tests.fuzz.signatures import targets

    if options.replay:
        name, _, seed = options.replay.rpartition(":")
        call = draw(targets()[name], seed)
        print(call, flush=True)
        print(run(call) or "fine")
        return 0
    from tests.fuzz.driver import fuzz

    names = [n for n in targets() if options.only in n]
    calls = [(n, f"{options.seed}.{i}") for i in range(options.count) for n in names]
    found = fuzz(calls, memory=0 if options.no_memory_limit else 2 << 30, slowdown=options.slowdown)
    for finding in found:
        print(finding)
    print(f"{len(calls)} calls of {len(names)} targets: {len(found)} findings")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
