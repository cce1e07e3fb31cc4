"""Calls of several modules at once."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import mashal

__all__ = ["parallel_apply"]


def parallel_apply(
    modules: Sequence[Any],
    inputs: Sequence[Any],
    kwargs_tup: Sequence[dict[str, Any]] | None = None,
    devices: Sequence[Any] | None = None,
) -> list[Any]:
    """Each module called with its arguments, one thread each. An exception in one is raised here.

    Raises: AssertionError if the numbers of modules, inputs, keyword arguments and devices differ.
    """
    if len(modules) != len(inputs):
        raise AssertionError(f"The number of modules {len(modules)} is not equal to the number of inputs {len(inputs)}")
    kwargs = list(kwargs_tup) if kwargs_tup is not None else [{} for _ in modules]
    if len(kwargs) != len(modules):
        raise AssertionError(f"The number of modules {len(modules)} is not equal to the number of kwargs {len(kwargs)}")
    if devices is not None and len(devices) != len(modules):
        raise AssertionError(
            f"The number of modules {len(modules)} is not equal to the number of devices {len(devices)}"
        )
    results: list[Any] = [None] * len(modules)
    recording = mashal.is_grad_enabled()

    def run(i: int) -> None:
        args = inputs[i] if isinstance(inputs[i], (list, tuple)) else (inputs[i],)
        try:
            with mashal.set_grad_enabled(recording):
                results[i] = (modules[i](*args, **kwargs[i]), None)
        except BaseException as error:  # noqa: BLE001 (raised again below, in the caller's thread)
            results[i] = (None, error)

    if len(modules) == 1:
        run(0)
    else:
        threads = [threading.Thread(target=run, args=(i,)) for i in range(len(modules))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for _, error in results:
        if error is not None:
            raise error
    return [value for value, _ in results]
