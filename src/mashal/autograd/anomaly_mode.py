"""Anomaly mode: errors in backward name the forward call; NaN gradients raise."""

from __future__ import annotations

import traceback
import warnings
from typing import Any

from .. import _core


def _capture() -> list[str]:
    # Frames of this package's own plumbing would only hide the user's line.
    return traceback.format_stack()[:-1]


def _report(name: str, trace: list[str] | None) -> None:
    if trace is None:
        text = "No forward pass information available. Enable detect anomaly during forward pass for more information."
    else:
        text = "Traceback of forward call that caused the error:\n" + "".join(trace)
    warnings.warn(f"Error detected in {name}. {text}", stacklevel=2)


def _check(name: str, trace: list[str] | None, grads: tuple[Any, ...]) -> None:
    if not _check_nan:
        return
    for i, g in enumerate(grads):
        if g is not None and bool(g.detach().isnan().any()):
            _report(name, trace)
            raise RuntimeError(f"Function '{name}' returned nan values in its {i}th output.")


_check_nan = True
_core.set_anomaly_hooks(_capture, _report, _check)


class set_detect_anomaly:
    """Turns anomaly detection on or off, as a function or a context manager."""

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        global _check_nan
        self._before = (_core.set_anomaly_mode(mode), _check_nan)
        _check_nan = check_nan

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        global _check_nan
        _core.set_anomaly_mode(self._before[0])
        _check_nan = self._before[1]


class detect_anomaly(set_detect_anomaly):
    """Within it, a failing or NaN-producing backward function names the forward call it belongs to.

    Example:
        >>> import mashal
        >>> with mashal.autograd.detect_anomaly():
        ...     y = mashal.ones(1, requires_grad=True) * 2
    """

    def __init__(self, check_nan: bool = True) -> None:
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for "
            "debugging.",
            stacklevel=2,
        )
        super().__init__(True, check_nan)
