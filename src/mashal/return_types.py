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
frexp = _named("frexp", "mantissa", "exponent")
geqrf = _named("geqrf", "a", "tau")
histogram = _named("histogram", "hist", "bin_edges")
histogramdd = _named("histogramdd", "hist", "bin_edges")
kthvalue = _named("kthvalue", "values", "indices")
linalg_cholesky_ex = _named("linalg_cholesky_ex", "L", "info")
linalg_eig = _named("linalg_eig", "eigenvalues", "eigenvectors")
linalg_eigh = _named("linalg_eigh", "eigenvalues", "eigenvectors")
linalg_inv_ex = _named("linalg_inv_ex", "inverse", "info")
linalg_lstsq = _named("linalg_lstsq", "solution", "residuals", "rank", "singular_values")
linalg_lu = _named("linalg_lu", "P", "L", "U")
linalg_lu_factor = _named("linalg_lu_factor", "LU", "pivots")
linalg_lu_factor_ex = _named("linalg_lu_factor_ex", "LU", "pivots", "info")
linalg_qr = _named("linalg_qr", "Q", "R")
linalg_slogdet = _named("linalg_slogdet", "sign", "logabsdet")
linalg_solve_ex = _named("linalg_solve_ex", "result", "info")
linalg_svd = _named("linalg_svd", "U", "S", "Vh")
lu_unpack = _named("lu_unpack", "P", "L", "U")
max = _named("max", "values", "indices")
median = _named("median", "values", "indices")
min = _named("min", "values", "indices")
mode = _named("mode", "values", "indices")
nanmedian = _named("nanmedian", "values", "indices")
qr = _named("qr", "Q", "R")
slogdet = _named("slogdet", "sign", "logabsdet")
sort = _named("sort", "values", "indices")
svd = _named("svd", "U", "S", "V")
topk = _named("topk", "values", "indices")
triangular_solve = _named("triangular_solve", "solution", "cloned_coefficient")
