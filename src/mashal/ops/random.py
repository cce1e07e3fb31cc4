"""Random numbers: fills in place, and new tensors of them.

The numbers are PyTorch's, bit for bit, for the same seed (``csrc/cpu/random.h``). In place, a tensor is filled in the
order of its memory, whatever its dimensions are called.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from .. import _core
from .._core import Tensor
from ._registry import composite, op
from .creation import _placed, _with_keywords, empty, empty_like, zeros_like

_GENERATOR = "Generator? generator=None"

# ---- in place ----


def zero_gradient(g: Tensor) -> Tensor:
    """The rule of parameters that move a sample only by leaps, and of tensors that are filled anew."""
    return zeros_like(g)


@op(f"uniform_(Tensor input, float from=0, float to=1, *, {_GENERATOR}) -> Tensor", function=False, out=False)
def uniform_() -> None:
    """Fills ``input`` with uniform samples from ``[from, to)``.

    Args: floating or complex ``input``; ``generator``: default ``mashal.default_generator``. Returns: ``input``.
    Raises: RuntimeError if ``from > to`` or a bound is not representable. Gradient: zero.

    Example:
        >>> import mashal
        >>> x = mashal.empty(100).uniform_(2, 3)
        >>> bool(((x >= 2) & (x < 3)).all())
        True
    """


@op(f"normal_(Tensor input, float mean=0, float std=1, *, {_GENERATOR}) -> Tensor", function=False, out=False)
def normal_() -> None:
    """Fills ``input`` with normal samples of the given mean and standard deviation.

    Args: floating or complex ``input``; complex samples share ``std ** 2`` between their parts. Returns: ``input``.
    Raises: RuntimeError if ``std < 0``. Gradient: zero. Source: Box and Muller, 1958.

    Example:
        >>> import mashal
        >>> mashal.empty(3).normal_(5, 0)
        tensor([5., 5., 5.])
    """


@op(f"log_normal_(Tensor input, float mean=1, float std=2, *, {_GENERATOR}) -> Tensor", function=False, out=False)
def log_normal_() -> None:
    """Fills ``input`` with exponentials of normal samples; ``mean`` and ``std`` are those of the logarithm.

    Raises: RuntimeError unless ``std > 0``. Gradient: zero.

    Example:
        >>> import mashal
        >>> bool((mashal.empty(100).log_normal_() > 0).all())
        True
    """


@op(f"cauchy_(Tensor input, float median=0, float sigma=1, *, {_GENERATOR}) -> Tensor", function=False, out=False)
def cauchy_() -> None:
    """Fills ``input`` with samples of density ``sigma / (pi ((x - median)^2 + sigma^2))``.

    Raises: RuntimeError unless ``sigma > 0``. Gradient: zero.

    Example:
        >>> import mashal
        >>> mashal.empty(2, 3).cauchy_().shape
        mashal.Size([2, 3])
    """


@op(f"exponential_(Tensor input, float lambd=1, *, {_GENERATOR}) -> Tensor", function=False, out=False)
def exponential_() -> None:
    """Fills ``input`` with samples of density ``lambd exp(-lambd x)``, ``x >= 0``.

    Raises: RuntimeError unless ``lambd > 0``. Gradient: zero.

    Example:
        >>> import mashal
        >>> bool((mashal.empty(100).exponential_() >= 0).all())
        True
    """


@op(f"geometric_(Tensor input, float p, *, {_GENERATOR}) -> Tensor", function=False, out=False)
def geometric_() -> None:
    """Fills ``input`` with the number of trials up to the first success: ``P(k) = (1 - p)^(k - 1) p``, ``k >= 1``.

    Args: ``input`` of any real dtype but bool. Raises: RuntimeError unless ``0 < p < 1``. Gradient: zero.

    Example:
        >>> import mashal
        >>> bool((mashal.empty(100).geometric_(0.5) >= 1).all())
        True
    """


@op(f"_bernoulli_(Tensor input, float p, *, {_GENERATOR}) -> Tensor", out=False)
def _bernoulli_() -> None:
    """Fills ``input`` with ones of probability ``p`` and zeros; see ``bernoulli_``."""


@op(f"_bernoulli_tensor_(Tensor input, Tensor p, *, {_GENERATOR}) -> Tensor", out=False)
def _bernoulli_tensor_() -> None:
    """``bernoulli_`` with a probability for every element, broadcast to ``input``."""


@op(f"_random_(Tensor input, *, {_GENERATOR}) -> Tensor", out=False)
def _random_() -> None:
    """Fills ``input`` with integers from all that its dtype holds; see ``random_``."""


@op(f"_random_range_(Tensor input, int from, int? to, *, {_GENERATOR}) -> Tensor", out=False)
def _random_range_() -> None:
    """Fills ``input`` with integers of ``[from, to)``; see ``random_``."""


for _primitive in (
    uniform_,
    normal_,
    log_normal_,
    cauchy_,
    exponential_,
    geometric_,
    _bernoulli_,
    _random_,
    _random_range_,
):
    _primitive.vjp(input=zero_gradient)
_bernoulli_tensor_.vjp(input=zero_gradient, p=lambda g, p_shape: g.new_zeros(p_shape))


@composite(function=False, method=True)
def bernoulli_(input: Tensor, p: Any = 0.5, *, generator: Any = None) -> Tensor:
    """Fills ``input`` with ones of probability ``p`` and zeros.

    Args: ``input`` of any dtype but complex; ``p``: number or floating Tensor that broadcasts to ``input``.
    Returns: ``input``. Raises: RuntimeError for a probability outside ``[0, 1]``. Gradient: zero.

    Example:
        >>> import mashal
        >>> mashal.empty(2).bernoulli_(mashal.tensor([0., 1.]))
        tensor([0., 1.])
    """
    if isinstance(p, Tensor):
        return _bernoulli_tensor_(input, p, generator=generator)
    return _bernoulli_(input, p, generator=generator)


# Up to which power of two a floating dtype holds every integer.
_EXACT_BITS = {_core.float16: 11, _core.bfloat16: 8, _core.float32: 24, _core.float64: 53}


def _warn_if_imprecise(dtype: Any, low: int, high: int | None) -> None:
    bits = _EXACT_BITS.get(dtype)
    if bits is None:
        return
    for name, bound in (("from", low), ("to - 1", None if high is None else high - 1)):
        if bound is not None and abs(bound) > 1 << bits:
            warnings.warn(
                f"random_: {name} is {bound}, but {dtype} holds every integer only within [-(2^{bits}), 2^{bits}]: "
                "samples beyond are not uniform.",
                UserWarning,
                stacklevel=3,
            )


def _fill_range(input: Tensor, low: int, high: int | None, generator: Any) -> Tensor:
    if input.dtype in _EXACT_BITS and isinstance(low, int) and (high is None or isinstance(high, int)):
        _warn_if_imprecise(input.dtype, low, high)
    return _random_range_(input, low, high, generator=generator)


@composite(function=False, method=True)
def random_(input: Tensor, *bounds: int | None, generator: Any = None, **named: int | None) -> Tensor:
    """Fills ``input`` with uniform integers: ``random_()``, ``random_(to)`` or ``random_(from, to)``.

    Without bounds they reach from 0 to the largest value of the dtype, and to ``2^digits`` for a floating dtype;
    ``random_(from, None)`` starts at ``from``. ``to`` itself is never drawn. Returns: ``input``.
    Raises: RuntimeError if ``from >= to`` or a bound does not fit the dtype. Gradient: zero.

    Example:
        >>> import mashal
        >>> mashal.empty(3, dtype=mashal.int64).random_(7, 8)
        tensor([7, 7, 7])
    """
    unknown = set(named) - {"from", "to"}
    if unknown or len(bounds) + len(named) > 2:
        raise TypeError(f"random_() takes (), (to) or (from, to), got {len(bounds)} positional and {sorted(named)}")
    if not bounds and not named:
        return _random_(input, generator=generator)
    if len(bounds) == 2:
        low, high = bounds
    elif bounds and named:
        low, high = bounds[0], named.get("to")
    elif bounds:
        low, high = 0, bounds[0]
    else:
        low, high = named.get("from", 0), named.get("to")
    if low is None or (high is None and len(bounds) + len(named) == 1 and "from" not in named):
        raise TypeError("random_(): a bound must be int, not NoneType")
    return _fill_range(input, low, high, generator)


# ---- new tensors ----

_SIZED = f"int[*] size, *, {_GENERATOR}, dtype? dtype=None, device? device=None"
_LIKE = f"Tensor input, *, {_GENERATOR}, dtype? dtype=None, device? device=None, memory_format? memory_format=None"


def _is_random(primitive: Any) -> None:
    primitive.overloaded(_with_keywords(primitive))
    primitive.nondifferentiable("the result does not depend on the values of any tensor")


@op(f"rand({_SIZED}) -> Tensor", method=False)
def rand() -> None:
    """Uniform samples from ``[0, 1)``.

    Args: ``size``: ints or one sequence of them; ``generator``: default ``mashal.default_generator``; ``dtype``:
    floating or complex, default ``mashal.get_default_dtype()``; ``device``, ``requires_grad``, ``layout``,
    ``pin_memory``, ``out``.
    Raises: RuntimeError for a negative size or an integer dtype. Gradient: none.

    Example:
        >>> import mashal
        >>> _ = mashal.manual_seed(0)
        >>> mashal.rand(3)
        tensor([0.4963, 0.7682, 0.0885])
    """


@op(f"randn({_SIZED}) -> Tensor", method=False)
def randn() -> None:
    """Normal samples of mean 0 and variance 1; arguments as ``rand``.

    Example:
        >>> import mashal
        >>> _ = mashal.manual_seed(0)
        >>> mashal.randn(3)
        tensor([ 1.5410, -0.2934, -2.1788])
    """


@op(f"rand_like({_LIKE}) -> Tensor", method=False, out=False)
def rand_like() -> None:
    """``rand`` in the shape, dtype, device and layout of ``input``, each of which a keyword can change.

    Example:
        >>> import mashal
        >>> mashal.rand_like(mashal.zeros(2, 3)).shape
        mashal.Size([2, 3])
    """


@op(f"randn_like({_LIKE}) -> Tensor", method=False, out=False)
def randn_like() -> None:
    """``randn`` in the shape, dtype, device and layout of ``input``, each of which a keyword can change.

    Example:
        >>> import mashal
        >>> mashal.randn_like(mashal.zeros(2, 3)).shape
        mashal.Size([2, 3])
    """


@op(f"randperm(int n, *, {_GENERATOR}, dtype? dtype=None, device? device=None) -> Tensor", method=False)
def randperm() -> None:
    """The integers ``0 .. n - 1`` in random order.

    Args: ``dtype``: default int64; any real dtype but bool that holds them all; others as ``rand``.
    Raises: RuntimeError for a negative ``n`` or one too large for the dtype. Gradient: none.

    Example:
        >>> import mashal
        >>> _ = mashal.manual_seed(0)
        >>> mashal.randperm(4)
        tensor([0, 1, 3, 2])
    """


for _primitive in (rand, randn, rand_like, randn_like, randperm):
    _is_random(_primitive)


@composite()
def randint(
    low: Any = None,
    high: Any = None,
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
    """Uniform integers from ``[low, high)``: ``randint(high, size)`` or ``randint(low, high, size)``.

    Args: ``size``: sequence of ints; ``dtype``: default int64, or that of ``out``; others as ``rand``.
    Raises: RuntimeError if ``low >= high`` or a bound does not fit the dtype. Gradient: none.

    Example:
        >>> import mashal
        >>> _ = mashal.manual_seed(0)
        >>> mashal.randint(10, (5,))
        tensor([4, 9, 3, 0, 3])
    """
    if size is None and isinstance(high, (tuple, list)):
        low, high, size = 0, low, high
    elif high is None:
        low, high = 0, low
    elif low is None:
        low = 0
    if size is None or high is None:
        raise TypeError(
            "randint() takes (high, size) or (low, high, size): " + ("size" if size is None else "high") + " is missing"
        )
    if not isinstance(size, (tuple, list)):
        raise TypeError(f"randint(): argument 'size' must be tuple of ints, not {type(size).__name__}")
    if out is None:
        result = empty(size, dtype=_core.int64 if dtype is None else dtype, device=device)
    else:
        if dtype is not None and dtype != out.dtype:
            raise RuntimeError(f"randint: dtype {dtype} does not match the dtype of out, {out.dtype}")
        _core.resize_output("randint", out, size)
        result = out
    return _placed(_fill_range(result, low, high, generator), layout, requires_grad)


@composite()
def randint_like(
    input: Tensor,
    low: Any = None,
    high: Any = None,
    *,
    generator: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """``randint(high, ...)`` or ``randint(low, high, ...)`` in the shape, dtype, device and layout of ``input``.

    Example:
        >>> import mashal
        >>> mashal.randint_like(mashal.zeros(2), 3, 4)
        tensor([3., 3.])
    """
    if high is None:
        low, high = 0, low
    if high is None:
        raise TypeError("randint_like() missing required argument 'high'")
    low, high = (int(b.item()) if isinstance(b, Tensor) else b for b in (0 if low is None else low, high))
    result = empty_like(input, dtype=dtype, device=device, memory_format=memory_format)
    return _placed(_fill_range(result, low, high, generator), layout, requires_grad)
