"""Starting a group of processes that live and fail together."""

from __future__ import annotations

import ctypes
import multiprocessing
import multiprocessing.connection
import os
import pickle
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

__all__ = [
    "ProcessContext",
    "ProcessException",
    "ProcessExitedException",
    "ProcessRaisedException",
    "SpawnContext",
    "spawn",
    "start_processes",
]

ENV_VAR_PARALLEL_START = "TORCH_MP_PARALLEL_START"
_PR_SET_PDEATHSIG = 1


class ProcessException(Exception):  # noqa: N818 - PyTorch's name
    """One of a group of processes failed.

    Attributes:
        msg: what happened.
        error_index: the process's number in its group.
        error_pid: its process id.
    """

    def __init__(self, msg: str, error_index: int, error_pid: int) -> None:
        super().__init__(msg)
        self.msg = msg
        self.error_index = error_index
        self.error_pid = error_pid

    def __reduce__(self) -> Any:
        return type(self), (self.msg, self.error_index, self.error_pid)


class ProcessRaisedException(ProcessException):
    """It raised an exception; the message holds its traceback."""


class ProcessExitedException(ProcessException):
    """It was killed by a signal or exited by itself.

    Attributes:
        exit_code: its exit code, negative for a signal.
        signal_name: the signal's name, or None.
    """

    def __init__(
        self, msg: str, error_index: int, error_pid: int, exit_code: int, signal_name: str | None = None
    ) -> None:
        super().__init__(msg, error_index, error_pid)
        self.exit_code = exit_code
        self.signal_name = signal_name

    def __reduce__(self) -> Any:
        return type(self), (self.msg, self.error_index, self.error_pid, self.exit_code, self.signal_name)


def _prctl_pr_set_pdeathsig(number: int) -> None:
    """Asks the system to send this process a signal when its parent ends; Linux only."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, int(number), 0, 0, 0)


def _run(fn: Callable[..., Any], index: int, args: tuple[Any, ...], error_file: str) -> None:
    """The life of one process: errors go to a file, since a queue may be what is broken."""
    _prctl_pr_set_pdeathsig(signal.SIGINT)
    try:
        fn(index, *args)
    except KeyboardInterrupt:
        pass
    except Exception:  # noqa: BLE001 - whatever it was, the parent is told
        with open(error_file, "wb") as file:
            pickle.dump(traceback.format_exc(), file)
        sys.exit(1)


class ProcessContext:
    """A running group of processes.

    Args:
        processes: the processes, started.
        error_files: where each of them would write its traceback.
    """

    def __init__(self, processes: Sequence[Any], error_files: Sequence[str]) -> None:
        self.processes = list(processes)
        self.error_files = list(error_files)
        self.sentinels = {process.sentinel: index for index, process in enumerate(self.processes)}

    def pids(self) -> list[int]:
        """The process ids."""
        return [int(process.pid) for process in self.processes]

    def _wait_all(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        for process in self.processes:
            process.join(max(0.0, end - time.monotonic()))

    def _stop_all(self, grace_period: float | None) -> None:
        if grace_period is not None:
            self._wait_all(grace_period)
        for process in self.processes:
            if process.is_alive():
                process.terminate()
        self._wait_all(30 if grace_period is None else grace_period)
        for process in self.processes:
            if process.is_alive():
                process.kill()
            process.join()

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Waits until all have ended or one has failed; then the others are stopped.

        Args:
            timeout: seconds to wait; None waits without limit.
            grace_period: seconds that the others get to end by themselves after a failure, and again after being
                asked to terminate, before they are killed.

        Returns:
            Whether all have ended.

        Raises:
            ProcessRaisedException: one raised an exception.
            ProcessExitedException: one was killed or exited with another code than 0.
        """
        if not self.sentinels:
            return True
        failed = None
        for sentinel in multiprocessing.connection.wait(list(self.sentinels), timeout=timeout):
            index = self.sentinels.pop(sentinel)  # type: ignore[arg-type]
            self.processes[index].join()
            if self.processes[index].exitcode != 0:
                failed = index
                break
        if failed is None:
            return not self.sentinels
        self._stop_all(grace_period)
        raise self._failure(failed)

    def _failure(self, index: int) -> ProcessException:
        process, file = self.processes[index], self.error_files[index]
        try:
            with open(file, "rb") as stream:
                trace = pickle.load(stream)
            os.unlink(file)
        except OSError:
            pass
        else:
            message = f"\n\n-- Process {index} terminated with the following error:\n{trace}"
            return ProcessRaisedException(message, index, process.pid)
        code = process.exitcode
        if code >= 0:
            return ProcessExitedException(f"process {index} terminated with exit code {code}", index, process.pid, code)
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"<Unknown signal {-code}>"
        return ProcessExitedException(
            f"process {index} terminated with signal {name}", index, process.pid, code, signal_name=name
        )


class SpawnContext(ProcessContext):
    """The old name of :class:`ProcessContext`."""

    def __init__(self, processes: Sequence[Any], error_files: Sequence[str]) -> None:
        warnings.warn("SpawnContext is renamed to ProcessContext since 1.4 release.", stacklevel=2)
        super().__init__(processes, error_files)


def start_processes(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Starts ``nprocs`` processes that call ``fn(index, *args)``.

    Args:
        fn: what each process runs.
        args: further arguments.
        nprocs: how many.
        join: wait for them.
        daemon: end them with this process.
        start_method: "fork", "spawn" or "forkserver".

    Returns:
        None after waiting, otherwise the running group.
    """
    context: Any = multiprocessing.get_context(start_method)

    def start(index: int) -> tuple[Any, str]:
        # Only a name: the file exists once the process has failed.
        with tempfile.NamedTemporaryFile(prefix="mashal-errorfile-", suffix=".pickle") as file:
            name = file.name
        process = context.Process(target=_run, args=(fn, index, args, name), daemon=daemon)
        process.start()
        return process, name

    if start_method == "forkserver" and os.environ.get(ENV_VAR_PARALLEL_START, "0") == "1" and nprocs > 0:
        with ThreadPoolExecutor(max_workers=nprocs) as executor:
            started = list(executor.map(start, range(nprocs)))
    else:
        started = [start(index) for index in range(nprocs)]
    group = ProcessContext([process for process, _ in started], [name for _, name in started])
    if not join:
        return group
    while not group.join():
        pass
    return None


def spawn(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """:func:`start_processes` by the "spawn" method; if one process fails, the others are stopped.

    Raises:
        ProcessRaisedException: one raised an exception.
        ProcessExitedException: one was killed or exited with another code than 0.

    Example:
        >>> mashal.multiprocessing.spawn(train, args=(config,), nprocs=2)  # doctest: +SKIP
    """
    if start_method != "spawn":
        warnings.warn(
            f"This method only supports start_method=spawn (got: {start_method}).\nTo use a different start_method "
            "use:\n\t\t torch.multiprocessing.start_processes(...)",
            FutureWarning,
            stacklevel=2,
        )
    return start_processes(fn, args, nprocs, join, daemon, start_method="spawn")
