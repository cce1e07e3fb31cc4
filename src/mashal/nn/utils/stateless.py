"""Calls of a module with other parameters and buffers than its own."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from typing import Any

from ... import Tensor
from ..modules.module import Module

__all__ = ["functional_call"]

_Place = tuple[Module, str]


def _places(module: Module) -> dict[str, _Place]:
    """Where each dotted name of a parameter or buffer is kept; shared tensors appear under all of their names."""
    found: dict[str, _Place] = {}
    for prefix, sub in module.named_modules(remove_duplicate=False):
        dot = f"{prefix}." if prefix else ""
        for table in (sub._parameters, sub._buffers):
            for name, t in table.items():
                if t is not None:
                    found[dot + name] = (sub, name)
    return found


def _table(place: _Place) -> Any:
    """The mapping that holds the tensor; for a name that the module does not know, its plain attributes."""
    sub, name = place
    if name in sub._parameters:
        return sub._parameters
    return sub._buffers if name in sub._buffers else sub.__dict__


_ABSENT = object()


def _current(place: _Place) -> Any:
    return _table(place).get(place[1], _ABSENT)


def _put(place: _Place, value: Any) -> None:
    if value is _ABSENT:
        _table(place).pop(place[1], None)
    else:
        _table(place)[place[1]] = value


def _with_ties(places: dict[str, _Place], given: dict[str, Any]) -> dict[str, Any]:
    """Extends the replacements to the other names of a shared tensor.

    Raises: ValueError where two names of one tensor are given different values.
    """
    names_of: dict[int, list[str]] = {}
    for name, place in places.items():
        names_of.setdefault(id(_current(place)), []).append(name)
    extended = dict(given)
    for names in names_of.values():
        values = [given[name] for name in names if name in given]
        if not values:
            continue
        if any(v is not values[0] for v in values):
            shared = [name for name in names if name in given]
            raise ValueError(f"functional_call got multiple values for keys {sorted(shared)}, which are tied.")
        extended.update(dict.fromkeys(names, values[0]))
    return extended


@contextlib.contextmanager
def _reparametrize_module(
    module: Module, parameters_and_buffers: dict[str, Any], tie_weights: bool = False, strict: bool = False
) -> Iterator[None]:
    """Within it the module has the given tensors; changes that it makes to them are written back to the mapping."""
    places = _places(module)
    replaced = _with_ties(places, parameters_and_buffers) if tie_weights else parameters_and_buffers
    if strict:
        unexpected = sorted(set(replaced) - set(places))
        missing = sorted(set(places) - set(replaced))
        if unexpected or missing:
            problems = [
                f"{kind} key(s): {', '.join(names)}."
                for kind, names in (("Unexpected", unexpected), ("Missing", missing))
                if names
            ]
            raise RuntimeError(f"Error(s) in reparametrizing for {module._get_name()}:\n\t" + "\n\t".join(problems))
    for name in replaced:
        if name not in places:
            places[name] = _new_place(module, name)
    # Every place once: parameters shared by two names of one module lie in one table entry.
    kept = [(name, places[name], _current(places[name])) for name in replaced]
    try:
        for name, place, _ in kept:
            _put(place, replaced[name])
        yield
    finally:
        for name, place, _ in kept:
            if name in parameters_and_buffers:
                parameters_and_buffers[name] = _current(place)
        for _, place, value in reversed(kept):
            _put(place, value)


def _new_place(module: Module, name: str) -> _Place:
    """A place for a tensor that the module does not have: a None entry, or an attribute for the time of the call."""
    path, _, last = name.rpartition(".")
    owner = module.get_submodule(path)
    known = last in owner._parameters or last in owner._buffers or not hasattr(owner, last)
    if not known and not isinstance(getattr(owner, last), Tensor):
        raise TypeError(f"{name}: {getattr(owner, last)!r} is not an instance of torch.Tensor")
    return owner, last


def _functional_call(
    module: Module,
    parameters_and_buffers: dict[str, Tensor],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    if args is None:
        args = ()
    elif not isinstance(args, tuple):
        args = (args,)
    with _reparametrize_module(module, parameters_and_buffers, tie_weights, strict):
        return module(*args, **(kwargs or {}))


def functional_call(
    module: Module,
    parameters_and_buffers: dict[str, Tensor],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Deprecated: the old name of :func:`mashal.func.functional_call`."""
    warnings.warn(
        "This API is deprecated as of PyTorch 2.0 and will be removed in a future version of PyTorch. Please use "
        "torch.func.functional_call instead which is a drop-in replacement for this API.",
        FutureWarning,
        stacklevel=2,
    )
    return _functional_call(module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict)
