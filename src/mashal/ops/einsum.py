"""Einstein summation and tensordot, as permutations and batched matrix products."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._core import Tensor
from ._registry import composite

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_ELLIPSIS = "..."


@composite()
def einsum(equation: Any, *operands: Any) -> Tensor:
    """Sums of products of tensor elements over named dimensions.

    ``einsum("ik,kj->ij", a, b)`` is ``a @ b``. Each operand has one letter per dimension; a letter that occurs in
    several places ties those dimensions together, one that is missing after ``->`` is summed over. A letter repeated
    within an operand takes its diagonal. ``...`` stands for all dimensions not named and broadcasts. Without ``->`` the
    output has the dimensions of ``...`` and then, in alphabetical order, the letters that occur once.

    Args:
        equation: text as above; or, in the other form, ``einsum(op1, [0, 1], op2, [1, 2], [0, 2])``: numbers 0 to 51
            for letters and ``...`` for the ellipsis.
        operands: tensors of one dtype.

    Raises:
        RuntimeError: for malformed equations, sizes that disagree, or a wrong number of operands.

    Example:
        >>> import mashal
        >>> mashal.einsum("ij->ji", mashal.ones(2, 3)).shape
        mashal.Size([3, 2])
    """
    if not isinstance(equation, str):
        equation, operands = _from_lists((equation, *operands))
    elif len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = tuple(operands[0])
    if not operands:
        raise RuntimeError("einsum(): must provide at least one operand")
    labels, output, ellipsis_rank = _parse(equation, operands)
    return _contract_all(list(operands), labels, output, ellipsis_rank)


def _from_lists(args: tuple[Any, ...]) -> tuple[str, tuple[Any, ...]]:
    def text(items: Sequence[Any]) -> str:
        out = ""
        for item in items:
            if item is Ellipsis:
                out += _ELLIPSIS
            elif 0 <= item < len(_LETTERS):
                out += _LETTERS[item]
            else:
                raise ValueError(f"einsum(): subscripts must lie in [0, {len(_LETTERS)}), got {item}")
        return out

    pairs = len(args) // 2
    equation = ",".join(text(args[2 * i + 1]) for i in range(pairs))
    if len(args) % 2 == 1:
        equation += "->" + text(args[-1])
    return equation, tuple(args[2 * i] for i in range(pairs))


def _split_term(term: str, rank: int, index: int) -> tuple[list[str], int]:
    """Letters of one operand with "..." as one item, and the number of dimensions that it covers."""
    term = term.replace(" ", "")
    if term.count(_ELLIPSIS) > 1 or "." in term.replace(_ELLIPSIS, ""):
        raise RuntimeError(f"einsum(): found '.' for operand {index} that is not part of any ellipsis")
    items: list[str] = []
    before, dots, after = term.partition(_ELLIPSIS)
    for part in (before, dots, after):
        if part == _ELLIPSIS:
            items.append(_ELLIPSIS)
            continue
        for letter in part:
            if not (letter.isascii() and letter.isalpha()):
                raise RuntimeError(
                    f"einsum(): invalid subscript given at index {index}: subscripts must be in [a-zA-Z], "
                    f"got '{letter}'"
                )
            items.append(letter)
    named = len(items) - (1 if dots else 0)
    if named > rank or (not dots and named != rank):
        raise RuntimeError(
            f"einsum(): the number of subscripts in the equation ({named}) does not match the number of dimensions "
            f"({rank}) for operand {index}" + ("" if dots else " and no ellipsis was given")
        )
    return items, rank - named


def _parse(equation: str, operands: Sequence[Tensor]) -> tuple[list[list[str]], list[str], int]:
    left, arrow, right = equation.partition("->")
    terms = left.split(",")
    if len(terms) != len(operands):
        more = "fewer" if len(operands) < len(terms) else "more"
        raise RuntimeError(f"einsum(): {more} operands were provided than specified in the equation")
    split = [_split_term(term, t.dim(), i) for i, (term, t) in enumerate(zip(terms, operands, strict=True))]
    ellipsis_rank = max(covered for _, covered in split)
    counts: dict[str, int] = {}
    for items, _ in split:
        for item in items:
            counts[item] = counts.get(item, 0) + 1
    has_ellipsis = _ELLIPSIS in counts
    if arrow:
        output: list[str] = []
        right = right.replace(" ", "")
        before, dots, after = right.partition(_ELLIPSIS)
        for part in (before, dots, after):
            for letter in [part] if part == _ELLIPSIS else part:
                if letter != _ELLIPSIS and not (letter.isascii() and letter.isalpha()):
                    raise RuntimeError(
                        f"einsum(): invalid subscript '{letter}' in the output: subscripts must be in [a-zA-Z]"
                    )
                if letter in output:
                    raise RuntimeError(f"einsum(): output subscript {letter} appears more than once in the output")
                if letter not in counts and letter != _ELLIPSIS:
                    raise RuntimeError(
                        f"einsum(): output subscript {letter} does not appear in the equation for any input operand"
                    )
                output.append(letter)
    else:
        once = sorted(letter for letter, n in counts.items() if n == 1 and letter != _ELLIPSIS)
        output = ([_ELLIPSIS] if has_ellipsis else []) + once
    # Dimensions of the ellipsis get names of their own, numbered from the right so that they broadcast.
    labels = []
    for items, covered in split:
        row: list[str] = []
        for item in items:
            row += [f".{k}" for k in range(covered - 1, -1, -1)] if item == _ELLIPSIS else [item]
        labels.append(row)
    full_output: list[str] = []
    for item in output:
        full_output += [f".{k}" for k in range(ellipsis_rank - 1, -1, -1)] if item == _ELLIPSIS else [item]
    return labels, full_output, ellipsis_rank


def _take_diagonals(t: Tensor, labels: list[str]) -> tuple[Tensor, list[str]]:
    labels = list(labels)
    i = 0
    while i < len(labels):
        j = next((k for k in range(i + 1, len(labels)) if labels[k] == labels[i]), None)
        if j is None:
            i += 1
            continue
        if t.shape[i] != t.shape[j]:
            raise RuntimeError(
                f"einsum(): subscript {labels[i]} is repeated for an operand but the sizes don't match, "
                f"{t.shape[j]} != {t.shape[i]}"
            )
        t = t.diagonal(0, i, j)
        name = labels[i]
        labels = [labels[k] for k in range(len(labels)) if k not in (i, j)] + [name]
        i = 0
    return t, labels


def _contract_all(operands: list[Tensor], labels: list[list[str]], output: list[str], ellipsis_rank: int) -> Tensor:
    pairs = [_take_diagonals(t, row) for t, row in zip(operands, labels, strict=True)]
    sizes: dict[str, int] = {}
    for index, (t, row) in enumerate(pairs):
        for size, name in zip(t.shape, row, strict=True):
            known = sizes.get(name, 1)
            if size not in (1, known) and known != 1:
                raise RuntimeError(
                    f"einsum(): subscript {name} has size {size} for operand {index} which does not broadcast "
                    f"with previously seen size {known}"
                )
            sizes[name] = size if known == 1 else known
    t, row = pairs[0]
    for k in range(1, len(pairs)):
        later = {name for _, names in pairs[k + 1 :] for name in names}
        t, row = _contract(t, row, *pairs[k], keep=later | set(output))
    gone = [i for i, name in enumerate(row) if name not in output]
    if gone:
        t = t.sum(gone)
        row = [name for name in row if name in output]
    missing = [name for name in output if name not in row]  # dimensions of "..." that no operand has
    for _ in missing:
        t = t.unsqueeze(-1)
    row = row + missing
    order = [row.index(name) for name in output]
    return t if order == list(range(len(order))) else t.permute(order)


def _contract(a: Tensor, a_names: list[str], b: Tensor, b_names: list[str], keep: set[str]) -> tuple[Tensor, list[str]]:
    """Product of two operands, summed over the names that are not kept, as one batched matrix product."""
    # What only one side has and nobody wants is summed first.
    for_sum = [i for i, n in enumerate(a_names) if n not in keep and n not in b_names]
    if for_sum:
        a = a.sum(for_sum)
        a_names = [n for i, n in enumerate(a_names) if i not in for_sum]
    for_sum = [i for i, n in enumerate(b_names) if n not in keep and n not in a_names]
    if for_sum:
        b = b.sum(for_sum)
        b_names = [n for i, n in enumerate(b_names) if i not in for_sum]
    shape_a, shape_b = dict(zip(a_names, a.shape, strict=True)), dict(zip(b_names, b.shape, strict=True))
    both = [n for n in a_names if n in shape_b]
    batch = [n for n in both if n in keep]
    # A size of 1 on one side of a summed name: that side is constant along it, so the other may be summed alone.
    for n in [n for n in both if n not in keep and shape_a[n] != shape_b[n]]:
        if shape_a[n] == 1:
            b = b.sum(b_names.index(n), keepdim=True)
            shape_b[n] = 1
        else:
            a = a.sum(a_names.index(n), keepdim=True)
            shape_a[n] = 1
    summed = [n for n in both if n not in keep]
    rows = [n for n in a_names if n not in shape_b]
    cols = [n for n in b_names if n not in shape_a]
    names = batch + rows + cols
    left = a.permute([a_names.index(n) for n in batch + rows + summed])
    right = b.permute([b_names.index(n) for n in batch + summed + cols])
    if not summed:  # an outer product over the batch
        left = left.reshape(list(left.shape) + [1] * len(cols))
        right = right.reshape([shape_b[n] for n in batch] + [1] * len(rows) + [shape_b[n] for n in cols])
        return left * right, names

    def count(shape: dict[str, int], group: list[str]) -> int:
        total = 1
        for n in group:
            total *= shape[n]
        return total

    left = left.reshape([shape_a[n] for n in batch] + [count(shape_a, rows), count(shape_a, summed)])
    right = right.reshape([shape_b[n] for n in batch] + [count(shape_b, summed), count(shape_b, cols)])
    product = left @ right
    sizes = list(product.shape[: len(batch)]) + [shape_a[n] for n in rows] + [shape_b[n] for n in cols]
    return product.reshape(sizes), names


@composite(out=True)
def tensordot(a: Tensor, b: Tensor, dims: Any = 2) -> Tensor:
    """Sums of products over several dimensions of two tensors.

    Args:
        dims: the number of last dimensions of ``a`` and first dimensions of ``b`` that are summed over; or two lists of
            dimensions that belong together.

    Raises:
        RuntimeError: if sizes of paired dimensions differ (1 broadcasts), or ``dims`` is negative or too large.

    Example:
        >>> import mashal
        >>> mashal.tensordot(mashal.ones(2, 3, 4), mashal.ones(3, 4, 5)).shape
        mashal.Size([2, 5])
    """
    if isinstance(dims, Tensor):
        dims = dims.tolist()
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a.dim(), b.dim()):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        dims_a, dims_b = list(range(a.dim() - dims, a.dim())), list(range(dims))
    else:
        dims_a, dims_b = (
            [d + t.dim() if d < 0 else d for d in ([group] if isinstance(group, int) else group)]
            for group, t in zip(dims, (a, b), strict=True)
        )
    if len(dims_a) != len(dims_b):
        raise RuntimeError(f"both dimension lists should have same length, got {len(dims_a)} and {len(dims_b)}")
    for i, j in zip(dims_a, dims_b, strict=True):
        if a.shape[i] == b.shape[j]:
            continue
        if a.shape[i] == 1:
            b = b.sum(j, keepdim=True)
        elif b.shape[j] == 1:
            a = a.sum(i, keepdim=True)
        else:
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {a.shape[i]} in dim {i} and "
                f"second has size {b.shape[j]} in dim {j}"
            )
    free_a = [d for d in range(a.dim()) if d not in dims_a]
    free_b = [d for d in range(b.dim()) if d not in dims_b]
    count = 1
    for d in dims_a:
        count *= a.shape[d]
    left = a.permute(free_a + dims_a).reshape(-1 if count else _product(a, free_a), count)
    right = b.permute(dims_b + free_b).reshape(count, -1 if count else _product(b, free_b))
    return (left @ right).reshape([a.shape[d] for d in free_a] + [b.shape[d] for d in free_b])


def _product(t: Tensor, dims: Sequence[int]) -> int:
    total = 1
    for d in dims:
        total *= t.shape[d]
    return total
