"""Whether values are close, and if not, where and by how much they differ."""

from __future__ import annotations

import cmath
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .. import _core
from .._core import Tensor
from .._tensor import from_numpy

__all__ = ["assert_allclose", "assert_close"]

# Default relative and absolute tolerance by type; those of a pair are the larger ones. Whole numbers must be equal.
_TOLERANCES = {
    _core.float16: (1e-3, 1e-5),
    _core.bfloat16: (1.6e-2, 1e-5),
    _core.float32: (1.3e-6, 1e-5),
    _core.float64: (1e-7, 1e-7),
    _core.complex64: (1.3e-6, 1e-5),
    _core.complex128: (1e-7, 1e-7),
}


class _Settings:
    """The arguments of a comparison that hold for all of its parts."""

    def __init__(self, rtol: float | None, atol: float | None, equal_nan: bool, **checks: bool) -> None:
        self.rtol, self.atol, self.equal_nan, self.checks = rtol, atol, equal_nan, checks

    def tolerances(self, *dtypes: Any) -> tuple[float, float]:
        if self.rtol is not None and self.atol is not None:
            return self.rtol, self.atol
        if self.rtol is not None or self.atol is not None:
            missing = "atol" if self.atol is None else "rtol"
            raise ValueError(f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {missing}.")
        pairs = [_TOLERANCES.get(d, (0.0, 0.0)) for d in dtypes]
        return max(p[0] for p in pairs), max(p[1] for p in pairs)


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """Asserts ``|actual - expected| <= atol + rtol |expected|`` for every element, of equal shapes and types.

    Args:
        actual: a tensor, an array, a number, a bool, None, or a sequence or mapping of such.
        expected: the same kind of value. Both may be subclasses of each other's type if ``allow_subclasses``.
        rtol: with ``atol``; both by default from the dtypes (float32: 1.3e-6 and 1e-5, float64: 1e-7 and 1e-7,
            whole numbers: 0).
        msg: a text that replaces the message, or a function of the message.

    Raises:
        AssertionError: if the values differ; the message says where and by how much.
        TypeError: for values of different kinds. ValueError: if only one tolerance is given.

    Example:
        >>> import mashal
        >>> mashal.testing.assert_close(mashal.tensor([1.0, 2.0]), mashal.tensor([1.0, 2.000001]))
    """
    settings = _Settings(
        rtol, atol, equal_nan, subclasses=allow_subclasses, device=check_device, dtype=check_dtype,
        layout=check_layout, stride=check_stride,
    )  # fmt: skip
    problem = _compare(actual, expected, settings, ())
    if problem is not None:
        raise AssertionError(problem if msg is None else msg(problem) if callable(msg) else msg)


def assert_allclose(
    actual: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = True,
    msg: str = "",
) -> None:
    """Deprecated: :func:`assert_close` for anything that a tensor can be made of, with wider tolerances.

    Raises:
        AssertionError: if the values differ.
    """
    warnings.warn(
        "mashal.testing.assert_allclose is deprecated. Use mashal.testing.assert_close instead.",
        FutureWarning,
        stacklevel=2,
    )
    actual = actual if isinstance(actual, Tensor) else _core.tensor_from_data(actual, None)
    expected = expected if isinstance(expected, Tensor) else _core.tensor_from_data(expected, actual.dtype)
    if rtol is None and atol is None:
        wide = {
            _core.float16: (1e-3, 1e-3), _core.bfloat16: (1e-2, 1e-3), _core.float32: (1e-4, 1e-5),
            _core.float64: (1e-5, 1e-8), _core.complex64: (1e-4, 1e-5), _core.complex128: (1e-5, 1e-8),
        }  # fmt: skip
        pairs = [wide.get(t.dtype, (0.0, 0.0)) for t in (actual, expected)]
        rtol, atol = max(p[0] for p in pairs), max(p[1] for p in pairs)
    assert_close(
        actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan, check_device=True, check_dtype=False,
        check_stride=False, msg=msg or None,
    )  # fmt: skip


# ---- kinds of values: each comparison gives the message of a failure, or None ----


def _is_array(value: Any) -> bool:
    return isinstance(value, (np.ndarray, np.generic))


def _compare(actual: Any, expected: Any, settings: _Settings, path: tuple[Any, ...]) -> str | None:
    if isinstance(actual, Mapping) and isinstance(expected, Mapping):
        return _mappings(actual, expected, settings, path)
    if _is_sequence(actual) and _is_sequence(expected):
        if len(actual) != len(expected):
            # Different structures are no matter of closeness: `msg` does not replace what is said about them.
            raise AssertionError(_at(path, f"The length of the sequences mismatch: {len(actual)} != {len(expected)}"))
        problems = (_compare(a, e, settings, (*path, i)) for i, (a, e) in enumerate(zip(actual, expected, strict=True)))
        return next((p for p in problems if p is not None), None)
    problem = _leaf(actual, expected, settings)
    return None if problem is None else _at(path, problem)


def _at(path: tuple[Any, ...], problem: str) -> str:
    if not path:
        return problem
    return f"{problem}\n\nThe failure occurred for item {''.join(f'[{step!r}]' for step in path)}"


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def _mappings(
    actual: Mapping[Any, Any], expected: Mapping[Any, Any], settings: _Settings, path: tuple[Any, ...]
) -> str | None:
    missing, additional = expected.keys() - actual.keys(), actual.keys() - expected.keys()
    if missing or additional:
        problem = (
            "The keys of the mappings do not match:\n"
            f"Missing keys in the actual mapping: {sorted(missing, key=str)}\n"
            f"Additional keys in the actual mapping: {sorted(additional, key=str)}"
        )
        raise AssertionError(_at(path, problem))
    problems = (_compare(actual[k], expected[k], settings, (*path, k)) for k in expected)
    return next((p for p in problems if p is not None), None)


def _leaf(actual: Any, expected: Any, settings: _Settings) -> str | None:
    if actual is None or expected is None:
        return None if actual is expected else f"None mismatch: {actual} is not {expected}"
    if isinstance(actual, (bool, np.bool_)) and isinstance(expected, (bool, np.bool_)):
        same = bool(actual) is bool(expected)
        return None if same else f"Booleans mismatch: {actual} is not {expected}"
    numbers = (int, float, complex)
    if isinstance(actual, numbers) and isinstance(expected, numbers):
        return _numbers(actual, expected, settings)
    if _is_array(actual) and _is_array(expected):
        return _tensors(_array(actual), _array(expected), settings)
    related = type(actual) is type(expected) or (
        settings.checks["subclasses"] and (isinstance(actual, type(expected)) or isinstance(expected, type(actual)))
    )
    if isinstance(actual, Tensor) and isinstance(expected, Tensor) and related:
        return _tensors(actual, expected, settings)
    raise TypeError(f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}.")


def _array(value: Any) -> Tensor:
    return from_numpy(np.array(value, copy=True))


_NUMBER_TYPES = {int: _core.int64, float: _core.float64, complex: _core.complex128, bool: _core.bool}


def _numbers(actual: Any, expected: Any, settings: _Settings) -> str | None:
    rtol, atol = settings.tolerances(_NUMBER_TYPES.get(type(actual)), _NUMBER_TYPES.get(type(expected)))
    if settings.checks["dtype"] and type(actual) is not type(expected):
        return f"The (d)types do not match: {type(actual)} != {type(expected)}."
    return _scalars(actual, expected, rtol, atol, settings.equal_nan)


def _scalars(actual: Any, expected: Any, rtol: float, atol: float, equal_nan: bool) -> str | None:
    if actual == expected or (equal_nan and cmath.isnan(actual) and cmath.isnan(expected)):
        return None
    difference = abs(actual - expected)
    if cmath.isfinite(difference) and difference <= atol + rtol * abs(expected):
        return None
    relative: Any = float("inf") if expected == 0 else difference / abs(expected)
    exact = rtol == 0 and atol == 0
    return (
        f"Scalars are not {'equal' if exact else 'close'}!\n\n"
        f"Expected {expected} but got {actual}.\n"
        f"Absolute difference: {difference}{'' if exact else f' (up to {atol} allowed)'}\n"
        f"Relative difference: {relative}{'' if exact else f' (up to {rtol} allowed)'}"
    )


# ---- tensors ----


def _tensors(actual: Tensor, expected: Tensor, settings: _Settings) -> str | None:
    rtol, atol = settings.tolerances(actual.dtype, expected.dtype)
    checks = settings.checks
    attributes = [("shape", True), *((name, checks[name]) for name in ("device", "layout", "dtype"))]
    for name, wanted in attributes:
        a, e = getattr(actual, name), getattr(expected, name)
        if wanted and a != e:
            return f"The values for attribute '{name}' do not match: {a} != {e}."
    if checks["stride"] and actual.stride() != expected.stride():
        return f"The values for attribute 'stride()' do not match: {actual.stride()} != {expected.stride()}."
    if actual.is_meta or expected.is_meta:
        return None
    a, e = actual.detach(), expected.detach()
    if a.dtype != e.dtype:
        common = _core.promote_types(a.dtype, e.dtype)
        a, e = a.to(common), e.to(common)
    matches = a.isclose(e, rtol=rtol, atol=atol, equal_nan=settings.equal_nan)
    if bool(matches.all()):
        return None
    if a.ndim == 0:
        problem = _scalars(a.item(), e.item(), rtol, atol, settings.equal_nan)
        if problem is not None:
            return problem
    return _mismatch(a, e, matches, rtol, atol)


def _mismatch(a: Tensor, e: Tensor, matches: Tensor, rtol: float, atol: float) -> str:
    wrong, total = int((~matches).sum()), a.numel()
    exact = rtol == 0 and atol == 0
    if not (a.dtype.is_floating_point or a.dtype.is_complex):
        a, e = a.to(_core.int64), e.to(_core.int64)
    difference = (a - e).abs()
    difference[matches] = 0
    relative = difference / e.abs()
    relative[matches] = 0
    return (
        f"Tensor-likes are not {'equal' if exact else 'close'}!\n\n"
        f"Mismatched elements: {wrong} / {total} ({wrong / total:.1%})\n"
        f"{_greatest('absolute', difference, None if exact else atol)}\n"
        f"{_greatest('relative', relative, None if exact else rtol)}"
    )


def _greatest(kind: str, values: Tensor, allowed: float | None) -> str:
    place = np.unravel_index(int(values.flatten().argmax()), tuple(values.shape))
    where = tuple(int(i) for i in place)
    text = f"Greatest {kind} difference: {values[where].item()} at index {where}"
    return text if allowed is None else f"{text} (up to {allowed} allowed)"
