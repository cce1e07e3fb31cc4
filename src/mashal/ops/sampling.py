"""Samples of distributions whose parameters are tensors. Except where said, parameters get a zero gradient."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import _core
from .._core import Tensor
from ._registry import composite, op, write_out
from .creation import _placed, empty, empty_like
from .random import _bernoulli_, zero_gradient
from .views import broadcast_shapes

_GENERATOR = "Generator? generator=None"


@op(f"bernoulli(Tensor input, *, {_GENERATOR}) -> Tensor")
def bernoulli() -> None:
    """One with probability ``input``, else zero; ``bernoulli(input, p)`` takes one probability for all elements.

    Args: ``input``: floating, values in ``[0, 1]`` (any dtype and value if ``p`` is given). Returns: shape and dtype of
    ``input``, contiguous. Raises: RuntimeError for a probability outside ``[0, 1]``. Gradient: zero.

    Example:
        >>> import mashal
        >>> mashal.bernoulli(mashal.tensor([0., 1.]))
        tensor([0., 1.])
    """


bernoulli.vjp(input=zero_gradient)


@bernoulli.overloaded
def _bernoulli_one(input: Tensor, p: float, *, generator: Any = None, out: Tensor | None = None) -> Tensor:
    sample = _bernoulli_(empty_like(input, memory_format=_core.contiguous_format), p, generator=generator)
    return sample if out is None else write_out("bernoulli", out, sample)


@op(f"poisson(Tensor input, {_GENERATOR}) -> Tensor", method=False, out=False)
def poisson() -> None:
    """Poisson samples with rates ``input``: ``P(k) = input^k exp(-input) / k!``.

    Args: ``input``: floating, every rate ``>= 0``. Returns: shape and dtype of ``input``, contiguous.
    Raises: RuntimeError for a negative rate. Gradient: zero. Source: for rates from 10 on, PTRS (Hoermann, 1993).

    Example:
        >>> import mashal
        >>> mashal.poisson(mashal.zeros(3))
        tensor([0., 0., 0.])
    """


poisson.vjp(input=zero_gradient)


@op(f"binomial(Tensor count, Tensor prob, {_GENERATOR}) -> Tensor", method=False, out=False)
def binomial() -> None:
    """The number of successes in ``count`` trials of probability ``prob``.

    Args: float32 or float64 tensors of one dtype that broadcast. Returns: their common shape, contiguous.
    Raises: ValueError for an integer dtype, RuntimeError for different ones. Gradient: zero.
    Source: BTRS (Hoermann, 1993).

    Example:
        >>> import mashal
        >>> mashal.binomial(mashal.tensor([5., 5.]), mashal.tensor([0., 1.]))
        tensor([0., 5.])
    """


binomial.vjp(count=zero_gradient, prob=zero_gradient)


@op("_standard_gamma_grad(Tensor input, Tensor output) -> Tensor", out=False)
def _standard_gamma_grad() -> None:
    """How the sample ``output`` of ``_standard_gamma(input)`` moves with ``input`` while its quantile stays.

    Source: Figurnov, Mohamed and Mnih, "Implicit Reparameterization Gradients", 2018.
    """


_standard_gamma_grad.nondifferentiable("its derivative needs the second derivative of the incomplete gamma function")


@op(f"_standard_gamma(Tensor input, {_GENERATOR}) -> Tensor", out=False)
def _standard_gamma() -> None:
    """Samples of the gamma distribution with shape parameter ``input`` and scale 1.

    Args: ``input``: float32 or float64. Returns: its shape and dtype, contiguous.
    Gradient: by implicit reparametrisation. Source: Marsaglia and Tsang, 2000.

    Example:
        >>> import mashal
        >>> bool((mashal._ops._standard_gamma(mashal.ones(10)) > 0).all())
        True
    """


@_standard_gamma.vjp("input")
def _(g: Tensor, input: Tensor, out: Tensor) -> Tensor:
    return g * _standard_gamma_grad(input, out)


@composite()
def _sample_dirichlet(input: Tensor, generator: Any = None) -> Tensor:
    """Samples of the Dirichlet distribution with concentrations ``input[..., k]``: gamma samples divided by their sum.

    Gradient: by implicit reparametrisation of the gamma samples.

    Example:
        >>> import mashal
        >>> mashal._ops._sample_dirichlet(mashal.ones(2, 3)).sum(-1)
        tensor([1., 1.])
    """
    gamma = _standard_gamma(input.double(), generator)
    sample = (gamma / gamma.sum(-1, keepdim=True)).to(input.dtype)
    # Off the faces of the simplex, where the density is zero or infinite.
    if input.dtype == _core.float64:
        return sample.clamp(2.0**-1022, 1 - 2.0**-53)
    return sample.clamp(2.0**-126, 1 - 2.0**-24)


@op("_sampled(Tensor input, Tensor[] parameters) -> Tensor", out=False, dynamic="none is made: it is the input's")
def _sampled() -> None:
    """``input``, as a sample whose ``parameters`` get a zero gradient. Shares memory with ``input``."""


_sampled.vjp(input=lambda g: g, parameters=lambda g, parameters_shape: [g.new_zeros(s) for s in parameters_shape])


@composite()
def normal(
    mean: Any,
    std: Any = 1.0,
    size: Sequence[int] | None = None,
    *,
    generator: Any = None,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Normal samples: ``normal(mean, std)`` with a tensor or two, or ``normal(mean, std, size)`` with numbers.

    Args: ``mean``: number or floating or complex Tensor; ``std``: number or real Tensor, ``>= 0``; both broadcast.
    ``dtype`` and what follows go with ``size``. Returns: dtype of ``mean`` if a Tensor, else of ``std``; contiguous.
    Raises: RuntimeError for a negative ``std``. Gradient: zero.

    Example:
        >>> import mashal
        >>> mashal.normal(mashal.tensor([1., 2.]), 0.)
        tensor([1., 2.])
    """
    parameters = [t for t in (mean, std) if isinstance(t, Tensor)]
    if size is not None:
        if parameters:
            raise TypeError("normal(): mean and std must be numbers when size is given")
        sample = empty(size, dtype=dtype, device=device).normal_(mean, std, generator=generator)
        sample = sample if out is None else write_out("normal", out, sample)
        return _placed(sample, layout, requires_grad)
    if not parameters:
        raise TypeError("normal() needs size when mean and std are numbers")
    with _core.no_grad_guard():
        if isinstance(std, Tensor):
            sample = _scaled_normal(mean, std, generator)
        else:
            sample = (
                empty_like(mean, memory_format=_core.contiguous_format).normal_(0, std, generator=generator).add_(mean)
            )
    if out is not None:
        return write_out("normal", out, sample)
    if _core.is_grad_enabled() and any(t.requires_grad for t in parameters):
        return _sampled(sample, parameters)
    return sample


def _scaled_normal(mean: Any, std: Tensor, generator: Any) -> Tensor:
    if std.is_complex():
        raise RuntimeError(f"normal: std must be real, got std {tuple(std.shape)} {std.dtype}. Use std.abs().")
    if std.numel() > 0 and not std.is_meta and bool((std.min() < 0).item()):
        raise RuntimeError(f"normal: all elements of std must be >= 0.0, got a minimum of {std.min().item()}.")
    if isinstance(mean, Tensor):
        shape = broadcast_shapes(mean.shape, std.shape)
        noise = empty(shape, dtype=mean.dtype, device=mean.device)
    else:
        noise = empty_like(std, memory_format=_core.contiguous_format)
        mean = noise.new_full((), mean)  # rounded to the dtype before it is added
    return noise.normal_(0, 1, generator=generator).mul_(std).add_(mean)


@op(f"_multinomial(Tensor input, int num_samples, *, {_GENERATOR}) -> Tensor", out=False)
def _multinomial() -> None:
    """``multinomial`` with replacement, by search in the cumulative sums of each row."""


_multinomial.nondifferentiable("the result is integer")

# Categories must be countable in float32.
_MAX_CATEGORIES = 1 << 24


@composite(method=True, out=True)
def multinomial(input: Tensor, num_samples: int, replacement: bool = False, *, generator: Any = None) -> Tensor:
    """Draws category numbers, of probability proportional to ``input``, from every row.

    Args: ``input``: floating ``(categories,)`` or ``(rows, categories)``, entries ``>= 0`` with a positive sum;
    ``replacement``: whether a category may be drawn twice.
    Returns: int64 ``(num_samples,)`` or ``(rows, num_samples)``.
    Raises: RuntimeError for other shapes, for entries that are negative or not finite, for rows without a positive sum,
    and for more samples than categories without replacement. Gradient: none, integer.
    Source: without replacement the largest of ``input / exponential samples`` (Efraimidis and Spirakis, 2006).

    Example:
        >>> import mashal
        >>> mashal.multinomial(mashal.tensor([0., 3., 0.]), 4, replacement=True)
        tensor([1, 1, 1, 1])
    """
    if input.dim() not in (1, 2):
        raise RuntimeError(
            f"multinomial: input must have 1 or 2 dimensions, got input {tuple(input.shape)} {input.dtype}."
        )
    if not input.is_floating_point():
        raise RuntimeError(
            f"multinomial: input must be floating-point, got input {tuple(input.shape)} {input.dtype}. "
            "Use input.float()."
        )
    categories = input.shape[-1]
    if num_samples <= 0:
        raise RuntimeError(f"multinomial: num_samples must be > 0, got {num_samples}.")
    if not replacement and num_samples > categories:
        raise RuntimeError(
            f"multinomial: num_samples must not exceed the number of categories without replacement, got num_samples "
            f"{num_samples} and input {tuple(input.shape)} {input.dtype}. Pass replacement=True."
        )
    if categories > _MAX_CATEGORIES:
        raise RuntimeError(f"multinomial: input may have at most 2^24 categories, got {categories}.")
    with _core.no_grad_guard():
        if replacement and num_samples > 1:
            return _multinomial(input, num_samples, generator=generator)
        if input.numel() > 0 and not input.is_meta:
            if not bool(((input.max() < float("inf")) & (input.min() >= 0)).item()):
                raise RuntimeError("multinomial: every entry of input must be finite and >= 0, got one that is not.")
            if bool((input.sum(-1) == 0).any().item()):
                raise RuntimeError("multinomial: every row of input must have a positive sum, got 0.")
        keys = input / empty_like(input).exponential_(1, generator=generator)
        if num_samples == 1:
            return keys.argmax(-1, keepdim=True)
        return keys.topk(num_samples)[1]
