"""Named results: tuples whose parts can also be read by name, such as ``x.max(0).indices``."""

from __future__ import annotations

from collections.abc import Iterable
from operator import itemgetter
from typing import Any


def _named(name: str, *fields: str) -> Any:
    """A tuple type that is made from one iterable, like the results of ``os.stat``."""

    def new(cls: Any, parts: Iterable[Any]) -> Any:
        made = tuple.__new__(cls, parts)
        if len(made) != len(fields):
            raise TypeError(f"{name}() takes a {len(fields)}-sequence ({len(made)}-sequence given)")
        return made

    def text(self: Any) -> str:
        body = ",\n".join(f"{field}={part!r}" for field, part in zip(fields, self, strict=True))
        return f"mashal.return_types.{name}(\n{body})"

    members: dict[str, Any] = {field: property(itemgetter(i)) for i, field in enumerate(fields)}
    members |= {"__new__": new, "__repr__": text, "__slots__": (), "__module__": __name__, "n_fields": len(fields)}
    members["__reduce__"] = lambda self: (type(self), (tuple(self),))
    return type(name, (tuple,), members)


aminmax = _named("aminmax", "min", "max")
cummax = _named("cummax", "values", "indices")
cummin = _named("cummin", "values", "indices")
kthvalue = _named("kthvalue", "values", "indices")
max = _named("max", "values", "indices")
median = _named("median", "values", "indices")
min = _named("min", "values", "indices")
mode = _named("mode", "values", "indices")
nanmedian = _named("nanmedian", "values", "indices")
sort = _named("sort", "values", "indices")
topk = _named("topk", "values", "indices")
