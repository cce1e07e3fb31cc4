"""Derivatives of functions, taken through the tape. Arguments and results may be nested containers of tensors."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from .. import Tensor
from ..autograd import enable_grad
from ..autograd import grad as gradients
from ..autograd.grad_mode import no_grad
from ..ops.creation import zeros_like
from ..ops.joining import stack

Argnums = int | tuple[int, ...]


# ---- containers ----


def _leaves(tree: Any) -> list[Any]:
    if isinstance(tree, dict):
        return [leaf for value in tree.values() for leaf in _leaves(value)]
    if isinstance(tree, (list, tuple)):
        return [leaf for value in tree for leaf in _leaves(value)]
    return [] if tree is None else [tree]


def _map(fn: Callable[..., Any], tree: Any, *others: Any) -> Any:
    """``fn`` on corresponding leaves, in containers like those of ``tree``."""
    if isinstance(tree, dict):
        made = {k: _map(fn, value, *(o[k] for o in others)) for k, value in tree.items()}
        return made if type(tree) is dict else type(tree)(made)
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return type(tree)(*(_map(fn, *values) for values in zip(tree, *others, strict=True)))
    if isinstance(tree, (list, tuple)):
        return type(tree)(_map(fn, *values) for values in zip(tree, *others, strict=True))
    return None if tree is None else fn(tree, *others)


# ---- levels ----


def _tracked(tree: Any) -> Any:
    """Aliases of the tensors with respect to which this level differentiates; levels outside still see through them."""

    def track(t: Any) -> Any:
        if not isinstance(t, Tensor):
            raise ValueError(f"Expected the arguments to differentiate by to be Tensors, got {type(t).__name__}")
        if not (t.is_floating_point() or t.is_complex()):
            raise RuntimeError(f"only Tensors of floating point or complex dtype can require gradients, got {t.dtype}")
        return t.view_as(t) if t.requires_grad else t.detach().requires_grad_()

    return _map(track, tree)


def _others_track(outputs: Sequence[Tensor], mine: Sequence[Tensor]) -> bool:
    """Whether the outputs depend on leaves of other levels: the derivative is then recorded as well."""
    ours = {id(t) for t in mine if t.is_leaf}
    if len(ours) < len(mine):
        return True
    seen: set[Any] = set()
    todo = [t.grad_fn for t in outputs if t.grad_fn is not None]
    while todo:
        node = todo.pop()
        if node in seen:
            continue
        seen.add(node)
        variable = getattr(node, "variable", None)
        if variable is not None and id(variable) not in ours and not hasattr(variable, "_of_finished_level"):
            return True
        todo.extend(following for following, _ in node.next_functions if following is not None)
    return False


def _finish(inputs: Sequence[Tensor]) -> None:
    """Marks this level's leaves: a recorded result depends on them, which means nothing to levels outside."""
    for t in inputs:
        if t.is_leaf:
            t._of_finished_level = True  # type: ignore[attr-defined]


def _plain(tree: Any, keep: bool) -> Any:
    """Results as outer levels see them."""
    return tree if keep else _map(lambda t: t.detach() if isinstance(t, Tensor) else t, tree)


def _select(args: tuple[Any, ...], argnums: Argnums) -> Any:
    def at(i: int) -> Any:
        if not isinstance(i, int) or isinstance(i, bool):
            raise RuntimeError(f"argnum must be int, got: {type(i)}")
        if not -len(args) <= i < len(args):
            raise RuntimeError(f"Got argnum={i}, but only {len(args)} positional inputs")
        return args[i]

    if isinstance(argnums, tuple):
        if not argnums:
            raise RuntimeError("argnums must be non-empty")
        return tuple(at(i) for i in argnums)
    return at(argnums)


def _replace(args: tuple[Any, ...], argnums: Argnums, new: Any) -> tuple[Any, ...]:
    changed = list(args)
    for i, value in zip(argnums, new, strict=True) if isinstance(argnums, tuple) else [(argnums, new)]:
        changed[i] = value
    return tuple(changed)


def _vector_product(
    outputs: Sequence[Tensor], inputs: Sequence[Tensor], vectors: Sequence[Tensor], create_graph: bool
) -> list[Tensor]:
    pairs = [(o, v) for o, v in zip(outputs, vectors, strict=True) if o.requires_grad]
    if not pairs:
        return [zeros_like(t) for t in inputs]
    found = gradients(
        [o for o, _ in pairs],
        inputs,
        [v for _, v in pairs],
        retain_graph=True,
        create_graph=create_graph,
        allow_unused=True,
    )
    return [zeros_like(t) if g is None else g for g, t in zip(found, inputs, strict=True)]


def _refill(tree: Any, leaves: Sequence[Any]) -> Any:
    """The container of ``tree`` with other leaves."""
    each = iter(leaves)
    return _map(lambda _: next(each), tree)


# ---- the transforms ----


def grad_and_value(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function that gives ``(gradient, value)`` of ``func``; see :func:`grad`.

    Example:
        >>> import mashal
        >>> mashal.func.grad_and_value(lambda x: x * x)(mashal.tensor(3.0))
        (tensor(6.), tensor(9.))
    """

    @functools.wraps(func)
    def call(*args: Any, **kwargs: Any) -> Any:
        with enable_grad():
            mine = _tracked(_select(args, argnums))
            result = func(*_replace(args, argnums, mine), **kwargs)
            aux = None
            if has_aux:
                if not isinstance(result, tuple) or len(result) != 2:
                    raise RuntimeError(
                        "grad_and_value(f)(*args): output of function f should be a tuple: (output, aux) if has_aux is "
                        "True"
                    )
                result, aux = result
            if not isinstance(result, Tensor):
                raise RuntimeError(
                    f"grad_and_value(f)(*args): Expected f(*args) to return a Tensor, got {type(result)}"
                )
            if result.dim() != 0:
                raise RuntimeError(
                    "grad_and_value(f)(*args): Expected f(*args) to return a scalar tensor, got tensor with "
                    f"{result.dim()} dims. Maybe you wanted to use the vjp or jacrev APIs instead?"
                )
            inputs = _leaves(mine)
            keep = _others_track([result], inputs)
            found = _vector_product([result], inputs, [result.detach().new_ones(())], keep)
            _finish(inputs)
        grads = _plain(_refill(mine, found), keep)
        value = _plain(result, keep)
        return (grads, (value, _plain(aux, keep))) if has_aux else (grads, value)

    return call


def grad(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function that gives the gradient of ``func``, which returns a scalar tensor. It can be nested.

    Args:
        argnums: by which positional arguments to differentiate; each a tensor or a container of tensors.
        has_aux: ``func`` returns ``(value, aux)``; aux is passed on behind the gradient.

    Raises:
        RuntimeError: ``func`` returns no scalar tensor, or ``argnums`` does not fit the arguments.

    Example:
        >>> import mashal
        >>> mashal.func.grad(mashal.func.grad(mashal.sin))(mashal.tensor(0.0)).abs()
        tensor(0.)
    """
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def call(*args: Any, **kwargs: Any) -> Any:
        grads, value = both(*args, **kwargs)
        return (grads, value[1]) if has_aux else grads

    return call


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """``(func(*primals), vjp_fn)``; ``vjp_fn(cotangents)`` gives the products with the Jacobian, one per primal.

    Example:
        >>> import mashal
        >>> value, product = mashal.func.vjp(lambda x: x * x, mashal.tensor([1.0, 2.0]))
        >>> product(mashal.tensor([1.0, 1.0]))
        (tensor([2., 4.]),)
    """
    with enable_grad():
        mine = _tracked(primals)
        output, aux = _call(func, mine, has_aux)
        outputs, inputs = _leaves(output), _leaves(mine)
        keep = _others_track(outputs, inputs)
        _finish(inputs)

    def product(cotangents: Any) -> Any:
        vectors = _leaves(cotangents)
        if len(vectors) != len(outputs):
            raise RuntimeError(
                f"Expected the cotangents to have the structure of the output: {len(outputs)} tensors, "
                f"got {len(vectors)}"
            )
        record = keep or any(v.requires_grad for v in vectors)
        with enable_grad():
            found = _vector_product(outputs, inputs, vectors, record)
        return _plain(_refill(mine, found), record)

    value = _plain(output, keep)
    return (value, product, _plain(aux, keep)) if has_aux else (value, product)


def _call(func: Callable[..., Any], args: tuple[Any, ...], has_aux: bool) -> tuple[Any, Any]:
    result = func(*args)
    aux = None
    if has_aux:
        if not isinstance(result, tuple) or len(result) != 2:
            raise RuntimeError("output of function f should be a tuple: (output, aux) if has_aux is True")
        result, aux = result
    leaves = _leaves(result)
    if not leaves or not all(isinstance(t, Tensor) for t in leaves):
        raise RuntimeError(f"Expected f(*args) to return tensors, got {type(result)}")
    return result, aux


def _linear(
    func: Callable[..., Any], primals: tuple[Any, ...], has_aux: bool
) -> tuple[Any, Callable[..., Any], Any, bool]:
    """``(value, jvp_fn, aux, recorded)``: the derivative of the vector-Jacobian product by its vector is the other
    product.
    """
    with enable_grad():
        mine = _tracked(primals)
        output, aux = _call(func, mine, has_aux)
        outputs, inputs = _leaves(output), _leaves(mine)
        keep = _others_track(outputs, inputs)
        dummies = [t.detach().new_zeros(t.shape).requires_grad_() for t in outputs]
        transposed = _vector_product(outputs, inputs, dummies, True)
        _finish([*inputs, *dummies])

    def product(tangents: Any) -> Any:
        vectors = _leaves(tangents)
        if len(vectors) != len(inputs) or any(v.shape != t.shape for v, t in zip(vectors, inputs, strict=False)):
            raise RuntimeError(
                "Expected the tangents to have the structure and shapes of the primals, got "
                f"{[tuple(v.shape) for v in vectors]} for {[tuple(t.shape) for t in inputs]}"
            )
        record = keep or any(v.requires_grad for v in vectors)
        with enable_grad():
            found = _vector_product(transposed, dummies, vectors, record)
        return _plain(_refill(output, found), record)

    return output, product, aux, keep


def jvp(func: Callable[..., Any], primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False) -> Any:
    """``(func(*primals), J tangents)`` with J the Jacobian; computed with two reverse passes.

    Example:
        >>> import mashal
        >>> mashal.func.jvp(lambda x: x * x, (mashal.tensor([1.0, 2.0]),), (mashal.tensor([1.0, 0.0]),))
        (tensor([1., 4.]), tensor([2., 0.]))
    """
    if not isinstance(primals, tuple) or not isinstance(tangents, tuple):
        raise RuntimeError("jvp(f, primals, tangents): Expected primals and tangents to be tuples.")
    output, product, aux, keep = _linear(func, primals, has_aux)
    value = _plain(output, keep)
    return (value, product(tangents), _plain(aux, keep)) if has_aux else (value, product(tangents))


def linearize(func: Callable[..., Any], *primals: Any) -> Any:
    """``(func(*primals), jvp_fn)``; ``jvp_fn(*tangents)`` can be called many times without computing ``func`` anew."""
    output, product, _, keep = _linear(func, primals, False)
    return _plain(output, keep), lambda *tangents: product(tangents)


def jacrev(
    func: Callable[..., Any],
    argnums: Argnums = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
) -> Callable[..., Any]:
    """A function that gives the Jacobian of ``func``, one reverse pass per element of the result.

    The Jacobian of a result of shape S by an argument of shape T has shape ``S + T``. Containers nest: results outside,
    arguments inside.

    Example:
        >>> import mashal
        >>> mashal.func.jacrev(lambda x: x * x)(mashal.tensor([1.0, 2.0]))
        tensor([[2., 0.],
                [0., 4.]])
    """

    @functools.wraps(func)
    def call(*args: Any) -> Any:
        with enable_grad():
            mine = _tracked(_select(args, argnums))
            output, aux = _call(func, _replace(args, argnums, mine), has_aux)
            inputs = _leaves(mine)
            keep = _others_track(_leaves(output), inputs)
            jacobian = _map(lambda t: _refill(mine, _jacobian(t, inputs, keep)), output)
            _finish(inputs)
        jacobian = _plain(jacobian, keep)
        return (jacobian, _plain(aux, keep)) if has_aux else jacobian

    return call


def _jacobian(output: Tensor, inputs: Sequence[Tensor], create_graph: bool) -> list[Tensor]:
    rows: list[list[Tensor]] = []
    for i in range(output.numel()):
        with no_grad():
            unit = output.detach().new_zeros(output.numel())
            unit[i] = 1
        rows.append(_vector_product([output], inputs, [unit.view(output.shape)], create_graph))
    if not rows:
        return [t.detach().new_zeros((*output.shape, *t.shape)) for t in inputs]
    return [stack([row[k] for row in rows]).reshape((*output.shape, *t.shape)) for k, t in enumerate(inputs)]


def jacfwd(
    func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, *, randomness: str = "error"
) -> Callable[..., Any]:
    """The same Jacobian as :func:`jacrev`; there is no forward mode here that would be cheaper for wide results."""
    return jacrev(func, argnums, has_aux=has_aux)


def hessian(func: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """A function that gives the second derivatives of ``func``: the Jacobian of its Jacobian.

    Example:
        >>> import mashal
        >>> mashal.func.hessian(lambda x: (x ** 3).sum())(mashal.tensor([1.0, 2.0]))
        tensor([[ 6.,  0.],
                [ 0., 12.]])
    """
    return jacrev(jacrev(func, argnums), argnums)
