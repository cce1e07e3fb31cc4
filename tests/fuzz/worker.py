"""The process that makes the calls: ``python -m tests.fuzz.worker PLAN``, where the plan is a JSON file.

It notes the number of the call it is about to make in a shared file before each call, so that whoever watches can tell
which call it died of or hangs in.
"""

from __future__ import annotations

import faulthandler
import gc
import json
import mmap
import resource
import signal
import sys
import warnings
from pathlib import Path
from typing import Any

PAGE = mmap.PAGESIZE


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE


def main(plan_path: str) -> None:
    plan: dict[str, Any] = json.loads(Path(plan_path).read_text())
    faulthandler.enable()
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    if plan["memory"]:
        resource.setrlimit(resource.RLIMIT_AS, (plan["memory"], plan["memory"]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    import mashal
    from tests.fuzz.calls import draw, run
    from tests.fuzz.signatures import targets

    warnings.simplefilter("ignore")
    mashal.set_num_threads(1)
    offered = targets()
    in_use = lambda: mashal._core.memory_stats()["allocated"]  # noqa: E731
    with Path(plan["progress"]).open("r+b") as shared, Path(plan["findings"]).open("a") as findings:
        counter = mmap.mmap(shared.fileno(), 8)
        grown, size = resident(), 0
        for number, (name, seed) in enumerate(plan["calls"]):
            if number < plan["start"]:
                continue
            counter[:8] = number.to_bytes(8, "little")
            call = draw(offered[name], seed)
            before = in_use()
            wrong = run(call)
            if in_use() > before:
                gc.collect()
                if in_use() > before:
                    # Some operations keep something on first use; what leaks does so again.
                    before = in_use()
                    run(call)
                    gc.collect()
                    if in_use() > before:
                        wrong = wrong or f"{in_use() - before} bytes of tensors are still held after the call"
            if number % 2000 == 0:
                mashal._core.empty_cache()
                size, grown = resident(), size
                if plan["memory"] and grown and size > grown + (128 << 20):
                    wrong = wrong or f"the process has grown by {(size - grown) >> 20} MiB within 2000 calls"
            if wrong:
                findings.write(
                    json.dumps({"name": name, "seed": seed, "kind": "error", "text": wrong, "call": repr(call)}) + "\n"
                )
                findings.flush()
        counter[:8] = len(plan["calls"]).to_bytes(8, "little")


if __name__ == "__main__":
    main(sys.argv[1])
