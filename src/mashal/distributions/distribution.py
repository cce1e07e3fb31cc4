"""The base class of distributions."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import mashal

from .. import Size, Tensor
from . import constraints
from .utils import lazy_property

__all__ = ["Distribution"]

_EMPTY = Size()


class Distribution:
    """A distribution over tensors: a batch of ``batch_shape`` independent ones over events of ``event_shape``.

    Args:
        validate_args: check parameters now and values later; default: :meth:`set_default_validate_args`.
    """

    has_rsample = False
    has_enumerate_support = False
    _validate_args = __debug__
    # Tensor parameters by name, with the number of dimensions that belong to the event: what ``expand`` expands.
    _batched: ClassVar[dict[str, int]] = {}

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Whether distributions check parameters and values unless told otherwise.

        Raises:
            ValueError: unless it is a bool.
        """
        if value not in (True, False):
            raise ValueError(f"set_default_validate_args: value must be True or False, got {value!r}.")
        Distribution._validate_args = value

    def __init__(
        self,
        batch_shape: Size = _EMPTY,
        event_shape: Size = _EMPTY,
        validate_args: bool | None = None,
    ) -> None:
        self._batch_shape = batch_shape
        self._event_shape = event_shape
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_parameters()

    def _check_parameters(self) -> None:
        try:
            arg_constraints = self.arg_constraints
        except NotImplementedError:
            warnings.warn(
                f"{type(self)} does not define `arg_constraints`. Please set `arg_constraints = {{}}` or initialize "
                "the distribution with `validate_args=False` to turn off validation.",
                stacklevel=3,
            )
            return
        given = self.__dict__
        for name, constraint in arg_constraints.items():
            value = given.get(name)
            if value is None:
                if isinstance(getattr(type(self), name, None), lazy_property):
                    continue  # derived from the parameter that was given
                value = getattr(self, name)
            if constraints.is_dependent(constraint) or constraint._holds(value):
                continue
            raise ValueError(
                f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of distribution "
                f"{self!r} to satisfy the constraint {constraint!r}, but found invalid values:\n{value}"
            )

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The same distribution with its batch dimensions expanded to ``batch_shape``, without copies.

        Args:
            _instance: an object to fill, for subclasses that override the constructor.
        """
        if not self._batched:
            raise NotImplementedError
        new = self._get_checked_instance(self._home(), _instance)
        shape = Size(batch_shape)
        self._expand_parameters(new, shape)
        Distribution.__init__(new, shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def _home(self) -> type:
        """The class of this package that the object's class is or derives from."""
        return next(cls for cls in type(self).__mro__ if cls.__module__.startswith("mashal.distributions."))

    def _expand_parameters(self, new: Any, shape: Size) -> None:
        for name, event_dim in self._batched.items():
            value = self.__dict__.get(name)
            if value is not None:
                tail = value.shape[value.dim() - event_dim :] if event_dim else ()
                new.__dict__[name] = value.expand(shape + tuple(tail))

    @property
    def batch_shape(self) -> Size:
        """The shape of independent distributions."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one event."""
        return self._event_shape

    @property
    def arg_constraints(self) -> dict[str, constraints.Constraint]:
        """The region of every parameter."""
        raise NotImplementedError

    @property
    def support(self) -> constraints.Constraint | None:
        """The region of values."""
        raise NotImplementedError

    @property
    def mean(self) -> Tensor:
        """The expected value."""
        raise NotImplementedError

    @property
    def mode(self) -> Tensor:
        """The most probable value."""
        raise NotImplementedError(f"{type(self)} does not implement mode")

    @property
    def variance(self) -> Tensor:
        """The variance."""
        raise NotImplementedError

    @property
    def stddev(self) -> Tensor:
        """The standard deviation."""
        return self.variance.sqrt()

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Samples of shape ``sample_shape + batch_shape + event_shape``, without a gradient."""
        with mashal.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """Samples as differentiable functions of the parameters."""
        raise NotImplementedError

    def sample_n(self, n: int) -> Tensor:
        """``sample((n,))``."""
        warnings.warn("sample_n will be deprecated. Use .sample((n,)) instead", UserWarning, stacklevel=2)
        return self.sample(Size((n,)))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density or probability at ``value``."""
        raise NotImplementedError

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of values up to ``value``."""
        raise NotImplementedError

    def icdf(self, value: Tensor) -> Tensor:
        """The inverse of :meth:`cdf`."""
        raise NotImplementedError

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values of a discrete distribution, along a new first dimension; one shape for all batches."""
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """The entropy in nats, for each of the batch."""
        raise NotImplementedError

    def perplexity(self) -> Tensor:
        """The exponential of :meth:`entropy`."""
        return self.entropy().exp()

    def _extended_shape(self, sample_shape: Any = ()) -> Size:
        if not isinstance(sample_shape, Size):
            sample_shape = Size(sample_shape)
        return sample_shape + self._batch_shape + self._event_shape

    def _validate_sample(self, value: Tensor) -> None:
        """Raises ValueError unless ``value`` can be an event of this distribution."""
        if not isinstance(value, Tensor):
            raise ValueError(f"The value argument to log_prob must be a Tensor, got {type(value).__name__}.")
        shape, event = value.shape, self._event_shape
        expected = self._batch_shape + event
        if shape != expected:
            if tuple(shape[len(shape) - len(event) :]) != tuple(event):
                raise ValueError(f"The right-most size of value must match event_shape: {shape} vs {event}.")
            for i, j in zip(reversed(shape), reversed(expected), strict=False):
                if i not in (1, j) and j != 1:
                    raise ValueError(
                        f"Value is not broadcastable with batch_shape+event_shape: {shape} vs {Size(expected)}."
                    )
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(
                f"{type(self)} does not define `support` to enable sample validation. Please initialize the "
                "distribution with `validate_args=False` to turn off validation.",
                stacklevel=3,
            )
            return
        if support is None:
            raise AssertionError("support is None")
        if not support._holds(value):
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) to be within the "
                f"support ({support!r}) of the distribution {self!r}, but found invalid values:\n{value}"
            )

    def _get_checked_instance(self, cls: type, _instance: Any = None) -> Any:
        if _instance is None and type(self).__init__ is not cls.__init__:  # type: ignore[misc]
            raise NotImplementedError(
                f"Subclass {type(self).__name__} of {cls.__name__} that defines a custom __init__ method must also "
                "define a custom .expand() method."
            )
        return type(self).__new__(type(self)) if _instance is None else _instance

    def __repr__(self) -> str:
        shown = [name for name in self.arg_constraints if name in self.__dict__]
        parts = [f"{n}: {v if v.numel() == 1 else v.size()}" for n in shown for v in (self.__dict__[n],)]
        return f"{type(self).__name__}({', '.join(parts)})"
