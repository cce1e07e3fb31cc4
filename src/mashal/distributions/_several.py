"""Different transforms for slices of one tensor."""

from __future__ import annotations

from collections.abc import Sequence

import mashal

from .. import Tensor
from . import constraints
from ._transform import Transform
from .utils import _sum_rightmost


class _Several(Transform):
    """What :class:`CatTransform` and :class:`StackTransform` share: slices along ``dim``, a transform for each."""

    transforms: list[Transform]
    dim: int

    def __init__(self, tseq: Sequence[Transform], dim: int, cache_size: int) -> None:
        if not all(isinstance(t, Transform) for t in tseq):
            raise AssertionError("All elements of tseq must be Transform instances")
        super().__init__(cache_size=cache_size)
        self.transforms = [t.with_cache(cache_size) for t in tseq] if cache_size else list(tseq)
        self.dim = dim

    def _slices(self, value: Tensor) -> list[Tensor]:
        raise NotImplementedError

    def _join(self, parts: list[Tensor]) -> Tensor:
        raise NotImplementedError

    def _check(self, value: Tensor) -> None:
        if not -value.dim() <= self.dim < value.dim():
            raise AssertionError(f"dim {self.dim} out of range for value of {value.dim()} dimensions")

    def _call(self, x: Tensor) -> Tensor:
        self._check(x)
        return self._join([t(piece) for t, piece in zip(self.transforms, self._slices(x), strict=True)])

    def _inverse(self, y: Tensor) -> Tensor:
        self._check(y)
        return self._join([t.inv(piece) for t, piece in zip(self.transforms, self._slices(y), strict=True)])

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        return all(t.bijective for t in self.transforms)


class CatTransform(_Several):
    """Transforms of consecutive slices of given lengths along ``dim``."""

    def __init__(
        self, tseq: Sequence[Transform], dim: int = 0, lengths: Sequence[int] | None = None, cache_size: int = 0
    ) -> None:
        super().__init__(tseq, dim, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise AssertionError(f"lengths must be as many as tseq, got {len(self.lengths)} and {len(self.transforms)}")

    @property
    def event_dim(self) -> int:
        """The largest number of dimensions of an event."""
        return max(t.event_dim for t in self.transforms)

    @property
    def length(self) -> int:
        """The size along ``dim``."""
        return sum(self.lengths)

    def with_cache(self, cache_size: int = 1) -> Transform:
        if self._cache_size == cache_size:
            return self
        return CatTransform(self.transforms, self.dim, self.lengths, cache_size)

    def _slices(self, value: Tensor) -> list[Tensor]:
        if value.shape[self.dim] != self.length:
            raise AssertionError(f"value.size({self.dim}) must be {self.length}, got {value.shape[self.dim]}")
        return list(value.split(self.lengths, self.dim))

    def _join(self, parts: list[Tensor]) -> Tensor:
        return mashal.cat(parts, self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        self._check(x)
        self._check(y)
        terms = []
        for t, a, b in zip(self.transforms, self._slices(x), self._slices(y), strict=True):
            term = t.log_abs_det_jacobian(a, b)
            if t.event_dim < self.event_dim:
                term = _sum_rightmost(term, self.event_dim - t.event_dim)
            terms.append(term)
        dim = self.dim - x.dim() if self.dim >= 0 else self.dim
        dim += self.event_dim
        if dim < 0:
            return mashal.cat(terms, dim)
        total = terms[0]
        for term in terms[1:]:
            total = total + term
        return total

    @constraints.dependent_property
    def domain(self) -> constraints.Constraint:  # type: ignore[override]
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @constraints.dependent_property
    def codomain(self) -> constraints.Constraint:  # type: ignore[override]
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)


class StackTransform(_Several):
    """A transform for each index along ``dim``."""

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(tseq, dim, cache_size)

    def with_cache(self, cache_size: int = 1) -> Transform:
        return self if self._cache_size == cache_size else StackTransform(self.transforms, self.dim, cache_size)

    def _slices(self, value: Tensor) -> list[Tensor]:
        if value.shape[self.dim] != len(self.transforms):
            raise AssertionError(f"value.size({self.dim}) must be {len(self.transforms)}, got {value.shape[self.dim]}")
        return list(value.unbind(self.dim))

    def _join(self, parts: list[Tensor]) -> Tensor:
        return mashal.stack(parts, self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        self._check(x)
        self._check(y)
        pairs = zip(self.transforms, self._slices(x), self._slices(y), strict=True)
        return self._join([t.log_abs_det_jacobian(a, b) for t, a, b in pairs])

    @constraints.dependent_property
    def domain(self) -> constraints.Constraint:  # type: ignore[override]
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @constraints.dependent_property
    def codomain(self) -> constraints.Constraint:  # type: ignore[override]
        return constraints.stack([t.codomain for t in self.transforms], self.dim)
