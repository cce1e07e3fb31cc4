"""Kullback-Leibler divergences, by pairs of classes.

:mod:`_kl_same` holds those within a family, :mod:`_kl_mixed` those between families.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from .. import Tensor
from .distribution import Distribution

__all__ = ["kl_divergence", "register_kl"]

_KL_REGISTRY: dict[tuple[type, type], Callable[[Any, Any], Tensor]] = {}
_KL_MEMOIZE: dict[tuple[type, type], Any] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[Any], Any]:
    """Decorates a function of ``(p, q)`` as the divergence of two classes, and of their subclasses.

    Raises:
        TypeError: unless both are classes of distributions.
    """
    for name, kind in (("type_p", type_p), ("type_q", type_q)):
        if not isinstance(kind, type) and issubclass(kind, Distribution):
            raise TypeError(f"Expected {name} to be a Distribution subclass but got {kind}")

    def decorator(fun: Any) -> Any:
        _KL_REGISTRY[type_p, type_q] = fun
        _KL_MEMOIZE.clear()
        return fun

    return decorator


def _distance(pair: tuple[type, type], order: tuple[int, int], mros: tuple[Any, Any]) -> tuple[int, int]:
    """How far a registered pair is from the objects' classes; ``order`` says which of the two counts first."""
    first, second = order
    return mros[first].index(pair[first]), mros[second].index(pair[second])


def _dispatch_kl(type_p: type, type_q: type) -> Any:
    """The function of the nearest registered pair; where p and q disagree about which that is, p's, with a warning."""
    matches = [(a, b) for a, b in _KL_REGISTRY if issubclass(type_p, a) and issubclass(type_q, b)]
    if not matches:
        return NotImplemented
    mros = type_p.__mro__, type_q.__mro__
    left = min(matches, key=lambda pair: _distance(pair, (0, 1), mros))
    right = min(matches, key=lambda pair: _distance(pair, (1, 0), mros))
    if _KL_REGISTRY[left] is not _KL_REGISTRY[right]:
        warnings.warn(
            f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). Please register_kl({left[0].__name__}, "
            f"{right[1].__name__})",
            RuntimeWarning,
            stacklevel=3,
        )
    return _KL_REGISTRY[left]


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """``E_p[log p(x) - log q(x)]``, for each of the batch.

    Raises:
        NotImplementedError: if nothing is registered for the two classes.

    Example:
        >>> import mashal
        >>> d = mashal.distributions
        >>> d.kl_divergence(d.Normal(0.0, 1.0), d.Normal(1.0, 1.0))
        tensor(0.5000)
    """
    key = type(p), type(q)
    fun = _KL_MEMOIZE.get(key)
    if fun is None:
        fun = _KL_MEMOIZE[key] = _dispatch_kl(*key)
    if fun is NotImplemented:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}"
        )
    return fun(p, q)


from . import _kl_mixed, _kl_same  # noqa: E402, F401 - they register theirs
