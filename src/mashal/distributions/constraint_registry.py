"""Transforms onto regions: ``biject_to`` gives bijections, ``transform_to`` any smooth map from all reals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import constraints, transforms

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]


class ConstraintRegistry:
    """From classes of regions to functions that make a transform for a region."""

    def __init__(self) -> None:
        self._registry: dict[type, Callable[[Any], transforms.Transform]] = {}

    def register(self, constraint: Any, factory: Callable[[Any], transforms.Transform] | None = None) -> Any:
        """Sets the function for a class of regions; without ``factory`` a decorator.

        Raises:
            TypeError: unless ``constraint`` is a Constraint or a class of them.
        """
        if factory is None:
            return lambda fn: self.register(constraint, fn)
        if isinstance(constraint, constraints.Constraint):
            constraint = type(constraint)
        if not isinstance(constraint, type) or not issubclass(constraint, constraints.Constraint):
            raise TypeError(f"Expected constraint to be either a Constraint subclass or instance, but got {constraint}")
        self._registry[constraint] = factory
        return factory

    def __call__(self, constraint: constraints.Constraint) -> transforms.Transform:
        """A transform onto the region.

        Raises:
            NotImplementedError: if none is registered.
        """
        try:
            factory = self._registry[type(constraint)]
        except KeyError:
            raise NotImplementedError(f"Cannot transform {type(constraint).__name__} constraints") from None
        return factory(constraint)


biject_to = ConstraintRegistry()
transform_to = ConstraintRegistry()


def _both(*kinds: Any) -> Callable[[Any], Any]:
    def add(fn: Any) -> Any:
        for registry in (biject_to, transform_to):
            for kind in kinds:
                # A compound region asks for its parts at the registry it was asked from.
                registry.register(kind, lambda c, registry=registry: fn(c, registry))
        return fn

    return add


@_both(constraints.real)
def _(constraint: Any, registry: Any) -> transforms.Transform:
    return transforms.identity_transform


@_both(constraints.independent)
def _(constraint: Any, registry: Any) -> transforms.Transform:
    return transforms.IndependentTransform(registry(constraint.base_constraint), constraint.reinterpreted_batch_ndims)


@_both(constraints.greater_than, constraints.greater_than_eq)
def _(constraint: Any, registry: Any) -> transforms.Transform:
    return transforms.ComposeTransform(
        [transforms.ExpTransform(), transforms.AffineTransform(constraint.lower_bound, 1)]
    )


@_both(constraints.less_than)
def _(constraint: Any, registry: Any) -> transforms.Transform:
    return transforms.ComposeTransform(
        [transforms.ExpTransform(), transforms.AffineTransform(constraint.upper_bound, -1)]
    )


@_both(constraints.interval, constraints.half_open_interval)
def _(constraint: Any, registry: Any) -> transforms.Transform:
    lower, upper = constraint.lower_bound, constraint.upper_bound
    # Tensors are not compared: that would wait for their values.
    if isinstance(lower, (int, float)) and lower == 0 and isinstance(upper, (int, float)) and upper == 1:
        return transforms.SigmoidTransform()
    return transforms.ComposeTransform(
        [transforms.SigmoidTransform(), transforms.AffineTransform(lower, upper - lower)]
    )


@biject_to.register(constraints.simplex)
def _(constraint: Any) -> transforms.Transform:
    return transforms.StickBreakingTransform()


@transform_to.register(constraints.simplex)
def _(constraint: Any) -> transforms.Transform:
    return transforms.SoftmaxTransform()


@transform_to.register(constraints.lower_cholesky)
def _(constraint: Any) -> transforms.Transform:
    return transforms.LowerCholeskyTransform()


@transform_to.register(constraints.positive_definite)
@transform_to.register(constraints.positive_semidefinite)
def _(constraint: Any) -> transforms.Transform:
    return transforms.PositiveDefiniteTransform()


@_both(constraints.corr_cholesky)
def _(constraint: Any, registry: Any) -> transforms.Transform:
    return transforms.CorrCholeskyTransform()


@_both(constraints.cat)
def _(constraint: Any, registry: Any) -> transforms.Transform:
    return transforms.CatTransform([registry(c) for c in constraint.cseq], constraint.dim, constraint.lengths)


@_both(constraints.stack)
def _(constraint: Any, registry: Any) -> transforms.Transform:
    return transforms.StackTransform([registry(c) for c in constraint.cseq], constraint.dim)
