"""A version that compares as a version, not as a text: what ``torch.__version__`` is."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable
from typing import Any

from .version import __version__ as internal_version

__all__ = ["TorchVersion"]

# PEP 440: epoch, release, pre-release, post-release, development release, local part.
_FORM = (
    r"\s*v?(?:(\d+)!)?(\d+(?:\.\d+)*)"
    r"(?:[-_.]?(alpha|a|beta|b|preview|pre|c|rc)[-_.]?(\d*))?"
    r"(?:-(\d+)|[-_.]?(post|rev|r)[-_.]?(\d*))?"
    r"(?:[-_.]?(dev)[-_.]?(\d*))?"
    r"(?:\+([a-z0-9]+(?:[-_.][a-z0-9]+)*))?\s*"
)
_PHASE = {"alpha": 0, "a": 0, "beta": 1, "b": 1, "preview": 2, "pre": 2, "c": 2, "rc": 2}


def _key(text: str) -> tuple[Any, ...] | None:
    """What versions are ordered by; None for what is no version."""
    found = re.fullmatch(_FORM, text, re.IGNORECASE)  # compiled when first compared: importing stays fast
    if found is None:
        return None
    epoch, release, phase, phase_number, dash_post, post, post_number, dev, dev_number, local = found.groups()
    numbers = [int(n) for n in release.split(".")]
    while len(numbers) > 1 and numbers[-1] == 0:
        numbers.pop()
    after = dash_post is not None or post is not None
    if phase is not None:
        pre = (0, _PHASE[phase.lower()], int(phase_number or 0))
    else:  # 1.0.dev1 comes before 1.0a1
        pre = (-1, 0, 0) if dev and not after else (1, 0, 0)
    return (
        int(epoch or 0),
        tuple(numbers),
        pre,
        int(dash_post or post_number or 0) if after else -1,
        (0, int(dev_number or 0)) if dev else (1, 0),
        # Numbers come after words; a version without this part comes first.
        tuple((1, int(p), "") if p.isdigit() else (0, 0, p.lower()) for p in re.split("[-_.]", local)) if local else (),
    )


def _text(other: Any) -> str:
    if isinstance(other, str):
        return str(other)
    if isinstance(other, Iterable):
        return ".".join(str(part) for part in other)
    return str(other)


def _comparison(compare: Callable[[Any, Any], bool]) -> Callable[[TorchVersion, Any], bool]:
    def method(self: TorchVersion, other: Any) -> bool:
        text = _text(other)
        mine, theirs = _key(str(self)), _key(text)
        return compare(str(self), text) if mine is None or theirs is None else compare(mine, theirs)

    return method


class TorchVersion(str):
    """A version text that compares by PEP 440, with texts, tuples of numbers and ``packaging``'s versions.

    What is no version ("parrot") compares as a text.

    Example:
        >>> from mashal.torch_version import TorchVersion
        >>> TorchVersion("1.10.0a") > "1.9", TorchVersion("1.10.0a") >= (1, 10)
        (True, False)
    """

    __slots__ = ()

    __lt__ = _comparison(operator.lt)
    __le__ = _comparison(operator.le)
    __eq__ = _comparison(operator.eq)  # type: ignore[assignment]
    __ne__ = _comparison(operator.ne)  # type: ignore[assignment]
    __gt__ = _comparison(operator.gt)
    __ge__ = _comparison(operator.ge)
    __hash__ = str.__hash__


__version__ = TorchVersion(internal_version)
