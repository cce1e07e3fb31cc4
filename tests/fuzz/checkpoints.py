"""Loads damaged and hostile checkpoints in a process that watches what the reader does.

    python -m tests.fuzz.checkpoints --count 100000     what is run before a release
    python -m tests.fuzz.checkpoints --replay 0.17      one file, with what it gives or raises

A load may give an object, or raise one of a few exceptions. It may not import, compile or run anything, open a file,
start a process, use much memory or time, or crash. Exit status 1 if there are findings.
"""

from __future__ import annotations

import argparse
import faulthandler
import io
import json
import mmap
import pickle
import resource
import signal
import sys
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.fuzz.driver import watch

# What a damaged file may raise. MemoryError is not among them: a size is compared before memory is asked for.
SANE = (RuntimeError, pickle.UnpicklingError, EOFError, ValueError)
FORBIDDEN = (
    "import", "exec", "compile", "open", "code.__new__", "cpython.run", "ctypes.dlopen", "ctypes.dlsym",
    "function.__new__", "marshal", "os.", "pickle.find_class", "shutil", "socket", "subprocess", "tempfile", "urllib",
    "webbrowser", "pty", "glob", "ftplib", "http", "smtplib", "sys.settrace", "sys.setprofile", "builtins.input",
)  # fmt: skip
MEMORY = 3 << 30


@dataclass(frozen=True)
class Finding:
    seed: str
    kind: str
    text: str

    def __str__(self) -> str:
        replay = f"python -m tests.fuzz.checkpoints --replay {self.seed}"
        return f"{self.kind} at {self.seed}\n    {self.text}\n    replay: {replay}"


class Sandbox:
    """Notes what the interpreter is asked to do while it is armed."""

    def __init__(self) -> None:
        self.armed = False
        self.allowed = ""  # the file that is being loaded
        self.seen: list[str] = []
        sys.addaudithook(self._hook)

    def _hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.armed or not event.startswith(FORBIDDEN):
            return
        if event == "open" and str(arguments[0]) == self.allowed:
            return
        self.seen.append(f"{event} {arguments!r:.200}")


def _touch(value: Any) -> None:
    """Reads the memory of the tensors that came out: it must be there."""
    import mashal

    waiting, seen = [value], set()
    while waiting:
        item = waiting.pop()
        if id(item) in seen or len(seen) > 2000:
            continue
        seen.add(id(item))
        if isinstance(item, mashal.Tensor):
            if not item.is_meta and item.numel() <= 1 << 20:
                item.detach().clone()
        elif isinstance(item, (list, tuple, set, frozenset)):
            waiting += item
        elif isinstance(item, dict):
            waiting += item.values()


def run(sandbox: Sandbox, kind: str, data: bytes, path: Path, way: int) -> str:
    """Loads one file in one of the ways; what is wrong with how it went, or ""."""
    import mashal
    from mashal.utils import safetensors

    sandbox.seen.clear()
    if way % 3 == 0:
        path.write_bytes(data)
    sandbox.allowed, sandbox.armed = str(path), True
    try:
        if kind == "safetensors":
            value = safetensors.load(data) if way % 3 else safetensors.load_file(path)
        elif way % 7 == 5:
            value = mashal.serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(data))
        elif way % 3 == 0:
            value = mashal.load(path, mmap=way % 2 == 0 and data[:4] == b"PK\3\4")
        else:
            value = mashal.load(io.BytesIO(data), map_location=("cpu", None, "meta")[way % 5 % 3])
        _touch(value)
    except SANE as error:
        wrong = "" if len(str(error)) < 3000 else f"an error of {len(str(error))} letters: {str(error)[:200]}"
    except BaseException as error:  # noqa: BLE001 - any other is the finding
        wrong = f"{type(error).__name__}: {error}"[:500]
    else:
        wrong = ""
    finally:
        sandbox.armed = False
    return f"the load did this: {sandbox.seen[0]}" if sandbox.seen else wrong


def _prepare() -> tuple[Sandbox, Path]:
    """Imports what loads import on first use, so that later imports are the file's doing."""
    import mashal.cuda
    from mashal.utils import safetensors  # noqa: F401
    from tests.fuzz.checkpoint_files import corpus

    warnings.simplefilter("ignore")
    mashal.set_num_threads(1)
    path = Path(tempfile.mkdtemp(prefix="mashal-fuzz-")) / "file"
    sandbox = Sandbox()
    for way, (kind, data) in enumerate(corpus()):
        run(sandbox, kind, data, path, way)
        run(sandbox, kind, data, path, 0)
    for kind, data in corpus():
        for way in range(12):
            wrong = run(sandbox, kind, data, path, way)
            if wrong:
                raise AssertionError(f"a sound file: {wrong}")
    return sandbox, path


def worker(plan_path: str) -> None:
    plan: dict[str, Any] = json.loads(Path(plan_path).read_text())
    faulthandler.enable()
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    from tests.fuzz.checkpoint_files import draw

    sandbox, path = _prepare()
    with Path(plan["progress"]).open("r+b") as shared, Path(plan["findings"]).open("a") as findings:
        counter = mmap.mmap(shared.fileno(), 8)
        for number in range(plan["start"], plan["count"]):
            counter[:8] = number.to_bytes(8, "little")
            seed = f"{plan['seed']}.{number}"
            wrong = run(sandbox, *draw(seed), path, number)
            if wrong:
                findings.write(json.dumps({"seed": seed, "kind": "error", "text": wrong}) + "\n")
                findings.flush()
        counter[:8] = plan["count"].to_bytes(8, "little")


def fuzz(count: int, seed: int = 0, most: int = 20) -> list[Finding]:
    """Loads so many files in worker processes; gives up after ``most`` crashes or hangs."""
    found: list[Finding] = []
    with tempfile.TemporaryDirectory() as folder:
        findings, progress, plan = (Path(folder) / n for n in ("findings", "progress", "plan"))
        findings.touch()
        progress.write_bytes(bytes(8))
        start = 0
        while start < count and len(found) < most:
            options = {"start": start, "count": count, "seed": seed}
            plan.write_text(json.dumps({**options, "findings": str(findings), "progress": str(progress)}))
            progress.write_bytes(start.to_bytes(8, "little"))
            kind, number, log = watch(plan, progress, Path(folder) / "log", 1.0, "tests.fuzz.checkpoints")
            if number >= count and kind == "done":
                break
            found.append(Finding(f"{seed}.{number}", kind, log))
            start = number + 1
        return found + [Finding(**json.loads(line)) for line in findings.read_text().splitlines()]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("plan", nargs="?", help=argparse.SUPPRESS)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--replay", metavar="SEED.NUMBER")
    options = parser.parse_args()
    if options.plan:
        worker(options.plan)
        return 0
    if options.replay:
        from tests.fuzz.checkpoint_files import draw

        sandbox, path = _prepare()
        kind, data = draw(options.replay)
        way = int(options.replay.rpartition(".")[2])
        print(f"{kind}, {len(data)} bytes: {run(sandbox, kind, data, path, way) or 'fine'}")
        return 0
    found = fuzz(options.count, options.seed)
    for finding in found:
        print(finding)
    print(f"{options.count} files: {len(found)} findings")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
