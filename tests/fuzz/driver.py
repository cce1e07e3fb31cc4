"""Watches a worker: restarts it behind the call that killed it, and ends calls that take too long."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Seconds of processor time (a busy machine must not make a call look slow), then of any time.
CPU_LIMIT, WALL_LIMIT = 5.0, 120.0


@dataclass(frozen=True)
class Finding:
    name: str
    seed: str
    kind: str  # "crash", "hang", "error"
    text: str
    call: str

    def __str__(self) -> str:
        replay = f"python -m tests.fuzz --replay {self.name}:{self.seed}"
        return f"{self.kind}: {self.call}\n    {self.text}\n    replay: {replay}"


def _cpu_seconds(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def fuzz(
    calls: list[tuple[str, str]], *, memory: int = 2 << 30, slowdown: float = 1.0, per_target: int = 3
) -> list[Finding]:
    """Makes the calls in worker processes.

    ``memory``: limit of address space in bytes, 0 for none. ``slowdown``: factor on the time limits. A target is left
    alone after ``per_target`` crashes or hangs.
    """
    found: list[Finding] = []
    fatal: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as folder:
        findings, progress, plan = (Path(folder) / n for n in ("findings", "progress", "plan"))
        findings.touch()
        progress.write_bytes(bytes(8))
        start = 0
        while start < len(calls):
            plan.write_text(
                json.dumps(
                    {
                        "calls": calls,
                        "start": start,
                        "memory": memory,
                        "findings": str(findings),
                        "progress": str(progress),
                    }
                )
            )
            progress.write_bytes(start.to_bytes(8, "little"))
            kind, number, log = watch(plan, progress, Path(folder) / "log", slowdown)
            if number >= len(calls) and kind == "done":
                break
            name, seed = calls[min(number, len(calls) - 1)]
            found.append(Finding(name, seed, kind, log, describe(name, seed)))
            fatal[name] = fatal.get(name, 0) + 1
            start = number + 1
            if fatal[name] >= per_target:
                calls = [*calls[:start], *(c for c in calls[start:] if c[0] != name)]
        found += [Finding(**json.loads(line)) for line in findings.read_text().splitlines()]
    return found


def watch(
    plan: Path, progress: Path, log: Path, slowdown: float, module: str = "tests.fuzz.worker"
) -> tuple[str, int, str]:
    """Runs one worker (``python -m module plan``) to its end.

    Returns:
        ("done" | "crash" | "hang", number of the call, what it said).
    """
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    with log.open("wb") as stream:
        worker = subprocess.Popen(
            [sys.executable, "-m", module, str(plan)],
            cwd=ROOT,
            env=environment,
            stdout=stream,
            stderr=subprocess.STDOUT,
        )
        seen, cpu, since = -1, 0.0, time.monotonic()
        hung = False
        while worker.poll() is None:
            time.sleep(0.05)
            number = int.from_bytes(progress.read_bytes(), "little")
            if number != seen:
                seen, cpu, since = number, _cpu_seconds(worker.pid), time.monotonic()
            elif (
                _cpu_seconds(worker.pid) - cpu > CPU_LIMIT * slowdown
                or time.monotonic() - since > WALL_LIMIT * slowdown
            ):
                hung = True
                worker.send_signal(signal.SIGUSR1)  # faulthandler says where
                time.sleep(0.5)
                worker.kill()
                worker.wait()
    number = int.from_bytes(progress.read_bytes(), "little")
    text = log.read_text(errors="replace")
    lines = text.strip().splitlines()
    if worker.returncode == 0:
        return "done", number, ""
    if hung:
        return "hang", number, "\n    ".join(lines[:14])
    return "crash", number, f"exit status {worker.returncode}\n    " + "\n    ".join(lines[:30])


def describe(name: str, seed: str) -> str:
    from tests.fuzz.calls import draw
    from tests.fuzz.signatures import targets

    target = targets().get(name)
    return repr(draw(target, seed)) if target else name
