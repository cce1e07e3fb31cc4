"""Recurrent layers and cells: RNN, LSTM and GRU."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from .. import _core
from .._core import Tensor
from ._registry import composite, op
from .activations import relu
from .creation import arange
from .dropout import dropout as _dropout
from .joining import cat, stack
from .matmul import linear

TANH, RELU, LSTM, GRU = range(4)


@op(
    "_rnn_layer(Tensor input, Tensor hx, Tensor? cx, Tensor[] params, int[] batch_sizes, int mode, bool has_biases,"
    " bool keep) -> (Tensor, Tensor, Tensor, Tensor)",
    out=False,
)
def _rnn_layer() -> None:
    """One recurrent layer over all steps, in one direction or in both.

    Args:
        input: (T, B, I), or with ``batch_sizes`` (rows, I), sequences sorted by length, longest first.
        hx: (D, B, P) with D directions; cx: (D, B, H) for an LSTM. A single step is input (B, I), hx (B, H), cx (B, H).
        params: for each direction w_ih (G H, I), w_hh (G H, P), biases (G H) if ``has_biases``, and w_hr (P, H) of an
            LSTM with a projection.
        mode: 0 tanh, 1 relu, 2 LSTM, 3 GRU.
        keep: whether backward will be wanted.

    Returns:
        out (T, B, D P) or (rows, D P), empty for a single step; hy and cy (empty unless an LSTM), as hx and cx; what
        backward needs, as bytes.
    """


@op(
    "_rnn_layer_backward(Tensor grad, Tensor grad_hy, Tensor? grad_cy, Tensor input, Tensor hx, Tensor? cx, Tensor[]"
    " params, Tensor kept, int[] batch_sizes, int mode, bool has_biases, bool need_input, bool need_params)"
    " -> Tensor[]",
    out=False,
)
def _rnn_layer_backward() -> None:
    """Gradients of ``_rnn_layer`` with respect to input, hx, cx (of an LSTM) and params; empty where not needed."""


@_rnn_layer.vjp
def _(
    gs: tuple[Tensor, ...],
    input: Tensor,
    hx: Tensor,
    cx: Tensor | None,
    params: list[Tensor],
    batch_sizes: tuple[int, ...],
    mode: int,
    has_biases: bool,
    out3: Tensor,
    needs: tuple[bool, ...],
) -> tuple[Any, ...]:
    lstm = mode == LSTM
    grad_cy = gs[2] if lstm else None
    grads = _rnn_layer_backward(
        gs[0], gs[1], grad_cy, input, hx, cx, params, out3, batch_sizes, mode, has_biases, needs[0], needs[3]
    )
    first = 3 if lstm else 2
    return (
        grads[0] if needs[0] else None,
        grads[1],
        grads[2] if lstm else None,
        list(grads[first:]) if needs[3] else None,
    )


@_rnn_layer_backward.vjp
def _(
    gs: tuple[Tensor, ...],
    grad: Tensor,
    grad_hy: Tensor,
    grad_cy: Tensor | None,
    input: Tensor,
    hx: Tensor,
    cx: Tensor | None,
    params: list[Tensor],
    batch_sizes: tuple[int, ...],
    mode: int,
    has_biases: bool,
    need_input: bool,
    need_params: bool,
) -> tuple[Any, ...]:
    """Second derivatives, rarely asked for: the layer step by step, differentiated twice."""
    from ..autograd import enable_grad
    from ..autograd import grad as gradients

    create_graph = _core.is_grad_enabled()
    given: list[Any] = [grad, grad_hy, grad_cy, input, hx, cx, *params]
    with enable_grad():
        # Aliases: the gradient is wanted with respect to these uses only.
        uses: list[Any] = [
            None if t is None else (t if t.requires_grad else t.detach().requires_grad_()).view_as(t) for t in given
        ]
        out, hy, cy = _layer_by_steps(uses[3], uses[4], uses[5], uses[6:], batch_sizes, mode, has_biases)
        outs = [t for t in (out, hy, cy) if t is not None]
        cotangents = [g for g, t in zip(uses[:3], (out, hy, cy), strict=True) if t is not None]
        wanted = [t for t in uses[3:] if t is not None]
        firsts = gradients(outs, wanted, cotangents, create_graph=True, allow_unused=True)
        pairs = [(f, g) for f, g in zip(firsts, gs, strict=True) if f is not None and f.requires_grad and g.numel()]
        present = [t for t in uses if t is not None]
        seconds = gradients(
            [f for f, _ in pairs], present, [g for _, g in pairs], create_graph=create_graph, allow_unused=True
        )
    found = iter(seconds)
    result = [None if t is None else next(found) for t in uses]
    # What was kept is a function of the inputs: its part is contained in the above.
    return (*result[:6], result[6:], None)


def _cell(
    mode: int, x: Tensor, h: Tensor, c: Tensor | None, w_hh: Tensor, b_hh: Tensor | None
) -> tuple[Tensor, Tensor | None]:
    """One step from ``x``, the input's part of the gates, to (h, c)."""
    y = linear(h, w_hh, b_hh)
    if mode == GRU:
        (xr, xz, xn), (yr, yz, yn) = x.chunk(3, -1), y.chunk(3, -1)
        n = (xn + (xr + yr).sigmoid() * yn).tanh()
        return n + (xz + yz).sigmoid() * (h - n), None
    if mode == LSTM:
        i, f, g, o = (x + y).chunk(4, -1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        return o.sigmoid() * c.tanh(), c
    return (relu(x + y) if mode == RELU else (x + y).tanh()), None


def _layer_by_steps(
    input: Tensor,
    hx: Tensor,
    cx: Tensor | None,
    params: Sequence[Any],
    batch_sizes: Sequence[int],
    mode: int,
    has_biases: bool,
) -> tuple[Tensor | None, Tensor, Tensor | None]:
    """``_rnn_layer`` from single steps, for what the fused one does not offer."""
    if hx.dim() == 2:
        w_ih, w_hh, b_ih, b_hh = params if has_biases else (*params, None, None)
        h, c = _cell(mode, linear(input, w_ih, b_ih), hx, cx, w_hh, b_hh)
        return None, h, c
    packed = len(batch_sizes) > 0
    steps = input.split_with_sizes(list(batch_sizes), 0) if packed else input.unbind(0)
    directions = hx.shape[0]
    n_params = len(params) // directions
    results, last_h, last_c = [], [], []
    for d in range(directions):
        w_ih, w_hh, *rest = params[d * n_params : (d + 1) * n_params]
        b_ih, b_hh = rest[:2] if has_biases else (None, None)
        w_hr = rest[-1] if len(rest) > (2 if has_biases else 0) else None
        h, c = hx[d], None if cx is None else cx[d]
        out: list[Any] = [None] * len(steps)
        for t in range(len(steps)) if d == 0 else reversed(range(len(steps))):
            n = steps[t].shape[0]  # sequences that are that long; the states of the others stay
            new_h, new_c = _cell(mode, linear(steps[t], w_ih, b_ih), h[:n], None if c is None else c[:n], w_hh, b_hh)
            if w_hr is not None:
                new_h = linear(new_h, w_hr)
            out[t] = new_h
            h = cat([new_h, h[n:]]) if n < h.shape[0] else new_h
            if c is not None and new_c is not None:
                c = cat([new_c, c[n:]]) if n < c.shape[0] else new_c
        results.append(cat(out) if packed else stack(out))
        last_h.append(h)
        last_c.append(c)
    out_all = results[0] if directions == 1 else cat(results, -1)
    return out_all, stack(last_h), stack(last_c) if mode == LSTM else None


def _keeps(tensors: Sequence[Tensor | None]) -> bool:
    return _core.is_grad_enabled() and any(t is not None and t.requires_grad for t in tensors)


def _run(
    mode: int,
    input: Tensor,
    hx: Tensor,
    cx: Tensor | None,
    batch_sizes: Sequence[int],
    params: Sequence[Tensor],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """All layers, on (T, B, I) or packed rows."""
    if mode == GRU and _core.autocast_on():  # an LSTM and the plain networks are cast as a whole, see _autocast
        args = (mode, input, hx, cx, batch_sizes, params, has_biases, num_layers, dropout, train, bidirectional)
        out, hy, cy = _core.call_autocast(_run, "float32", args, {})
        return out.to(hx.dtype), hy.to(hx.dtype), cy
    directions = 2 if bidirectional else 1
    per_layer, rest = divmod(len(params), num_layers)
    plain = directions * (4 if has_biases else 2)
    if rest or per_layer not in ((plain, plain + directions) if mode == LSTM else (plain,)):
        raise RuntimeError(
            f"{_NAMES[mode]}: params must hold {plain} tensors for each layer, got {len(params)} tensors for "
            f"num_layers={num_layers}, has_biases={has_biases}, bidirectional={bidirectional}."
        )
    if num_layers == 1:
        keep = _keeps((input, hx, cx, *params))
        return _rnn_layer(input, hx, cx, params, batch_sizes, mode, has_biases, keep)[:3]
    states, cells = [], []
    for layer in range(num_layers):
        weights = params[layer * per_layer : (layer + 1) * per_layer]
        h = hx[layer * directions : (layer + 1) * directions]
        c = None if cx is None else cx[layer * directions : (layer + 1) * directions]
        keep = _keeps((input, h, c, *weights))
        input, hy, cy, _ = _rnn_layer(input, h, c, weights, batch_sizes, mode, has_biases, keep)
        states.append(hy)
        cells.append(cy)
        if dropout and train and layer < num_layers - 1:
            input = _dropout(input, dropout, True)
    return input, cat(states), cat(cells)


_NAMES = ("rnn_tanh", "rnn_relu", "lstm", "gru")


def _sequence(mode: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Tensor, Tensor, Tensor]:
    """Both signatures: (input, hx, ..., batch_first) and (data, batch_sizes, hx, ...)."""
    common = ("params", "has_biases", "num_layers", "dropout", "train", "bidirectional")
    packed = "batch_sizes" in kwargs or (
        len(args) > 2 and isinstance(args[1], Tensor) and isinstance(args[2], Tensor if mode != LSTM else tuple | list)
    )
    if mode == LSTM and len(args) > 1 and not packed:
        packed = isinstance(args[1], Tensor)
    names = ("data", "batch_sizes", "hx", *common) if packed else ("input", "hx", *common, "batch_first")
    values = dict(zip(names, args, strict=False))
    values.update(kwargs)
    if len(args) > len(names) or set(values) != set(names):
        got = ", ".join([type(a).__name__ for a in args] + [f"{k}={type(v).__name__}" for k, v in kwargs.items()])
        raise TypeError(
            f"{_NAMES[mode]}() received an invalid combination of arguments - got ({got}), but expected "
            f"(data, batch_sizes, hx, {', '.join(common)}) or (input, hx, {', '.join(common)}, batch_first)"
        )
    rest = {n: values[n] for n in common}
    cx = None
    hx = values["hx"]
    if mode == LSTM:
        if isinstance(hx, Tensor) or len(hx) != 2:
            raise RuntimeError("lstm expects two hidden states")
        hx, cx = hx
    if packed:
        return _run(mode, values["data"], hx, cx, values["batch_sizes"].tolist(), **rest)
    batch_first = values["batch_first"]
    input = values["input"].transpose(0, 1) if batch_first else values["input"]
    out, hy, cy = _run(mode, input, hx, cx, (), **rest)
    return (out.transpose(0, 1) if batch_first else out), hy, cy


@composite()
def lstm(*args: Any, **kwargs: Any) -> tuple[Tensor, Tensor, Tensor]:
    """``(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)`` or, for packed
    sequences, ``(data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional)``; see
    :class:`mashal.nn.LSTM`, whose ``_flat_weights`` are ``params``.

    Args: ``hx``: the pair (h, c). Returns: output, last h, last c.
    Source: Hochreiter and Schmidhuber, 1997; projections: Sak et al., 2014.
    """
    return _sequence(LSTM, args, kwargs)


@composite()
def gru(*args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
    """``(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)`` or, for packed
    sequences, ``(data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional)``; see
    :class:`mashal.nn.GRU`, whose ``_flat_weights`` are ``params``. Returns: output, last h.

    Source: Cho et al., 2014.
    """
    return _sequence(GRU, args, kwargs)[:2]


@composite()
def rnn_tanh(*args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
    """The network of Elman, 1990: :class:`mashal.nn.RNN`, with the arguments of :func:`gru`."""
    return _sequence(TANH, args, kwargs)[:2]


@composite()
def rnn_relu(*args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
    """:func:`rnn_tanh` with relu in place of tanh."""
    return _sequence(RELU, args, kwargs)[:2]


def _one_step(
    mode: int,
    input: Tensor,
    hx: Tensor,
    cx: Tensor | None,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None,
    b_hh: Tensor | None,
) -> tuple[Tensor, Tensor]:
    if mode in (LSTM, GRU) and _core.autocast_on():
        h, c = _core.call_autocast(_one_step, "float32", (mode, input, hx, cx, w_ih, w_hh, b_ih, b_hh), {})
        return h.to(hx.dtype), c if cx is None else c.to(cx.dtype)
    params = [w_ih, w_hh]
    has_biases = b_ih is not None or b_hh is not None
    if has_biases:
        params += [w_ih.new_zeros(w_ih.shape[0]) if b is None else b for b in (b_ih, b_hh)]
    keep = _keeps((input, hx, cx, *params))
    if hx.dim() != 2:
        raise _misfit(mode, input, hx, cx, w_ih, w_hh)
    try:
        _, hy, cy, _ = _rnn_layer(input, hx, cx, params, (), mode, has_biases, keep)
    except RuntimeError:
        error = _misfit(mode, input, hx, cx, w_ih, w_hh)
        if error is None:
            raise
        raise error from None
    return hy, cy


def _misfit(mode: int, input: Tensor, hx: Tensor, cx: Tensor | None, w_ih: Tensor, w_hh: Tensor) -> Any:
    """PyTorch's error for the arguments of a cell; None if it is none of those."""
    states = (hx,) if cx is None else (hx, cx)
    if input.dim() != 2 or any(t.dim() != 2 for t in states):
        return RuntimeError(
            f"{_NAMES[mode]}_cell: input and hidden states must have 2 dimensions, got input {tuple(input.shape)} and "
            f"{', '.join(str(tuple(t.shape)) for t in states)}."
        )
    if input.shape[1] != w_ih.shape[1]:
        return RuntimeError(f"input has inconsistent input_size: got {input.shape[1]} expected {w_ih.shape[1]}")
    hidden = w_hh.shape[1]
    for i, t in enumerate(states):
        if t.shape[0] != input.shape[0]:
            return RuntimeError(f"Input batch size {input.shape[0]} doesn't match hidden{i} batch size {t.shape[0]}")
        if t.shape[1] != hidden:
            return RuntimeError(f"hidden{i} has inconsistent hidden_size: got {t.shape[1]}, expected {hidden}")
    gates = (1, 1, 4, 3)[mode]
    if w_hh.shape[0] != gates * hidden:
        return RuntimeError(
            f"weight_hh first dim must be {gates} * hidden_size = {gates * hidden}, but got {w_hh.shape[0]}"
        )
    return None


@composite()
def lstm_cell(
    input: Tensor,
    hx: Sequence[Tensor],
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """One step of an LSTM from (h, c) to the next (h, c); see :class:`mashal.nn.LSTMCell`.

    Raises: RuntimeError for shapes that do not fit.
    """
    if isinstance(hx, Tensor) or len(hx) != 2:
        raise RuntimeError("lstm_cell expects two hidden states")
    return _one_step(LSTM, input, hx[0], hx[1], w_ih, w_hh, b_ih, b_hh)


@composite()
def gru_cell(
    input: Tensor,
    hx: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> Tensor:
    """One step of a GRU; see :class:`mashal.nn.GRUCell`. Raises: RuntimeError for shapes that do not fit."""
    return _one_step(GRU, input, hx, None, w_ih, w_hh, b_ih, b_hh)[0]


@composite()
def rnn_tanh_cell(
    input: Tensor,
    hx: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> Tensor:
    """``tanh(w_ih x + b_ih + w_hh h + b_hh)``. Raises: RuntimeError for shapes that do not fit."""
    return _one_step(TANH, input, hx, None, w_ih, w_hh, b_ih, b_hh)[0]


@composite()
def rnn_relu_cell(
    input: Tensor,
    hx: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> Tensor:
    """``relu(w_ih x + b_ih + w_hh h + b_hh)``. Raises: RuntimeError for shapes that do not fit."""
    return _one_step(RELU, input, hx, None, w_ih, w_hh, b_ih, b_hh)[0]


def _places(lengths: Tensor, longest: int) -> Tensor:
    """Numbers t * B + b of the elements within their sequences, in order."""
    steps = arange(longest)
    return (steps.unsqueeze(1) < lengths.unsqueeze(0)).flatten().nonzero().squeeze(1)


@composite()
def _pack_padded_sequence(input: Tensor, lengths: Tensor, batch_first: bool) -> tuple[Tensor, Tensor]:
    """Rows of a padded batch in order of steps, and how many sequences reach each step.

    Args: input: (T, B, ...) or (B, T, ...); lengths: int64 (B,), falling. Raises: RuntimeError for other lengths.

    Example:
        >>> import mashal
        >>> mashal._ops._pack_padded_sequence(mashal.tensor([[1, 2], [3, 0]]), mashal.tensor([2, 1]), True)
        (tensor([1, 3, 2]), tensor([2, 1]))
    """
    if input.numel() == 0:
        raise RuntimeError("Cannot pack empty tensors.")
    if lengths.dim() != 1:
        raise RuntimeError(
            f"'lengths' argument should be a 1D CPU int64 tensor, but got {lengths.dim()}D {lengths.device.type} "
            f"{lengths.type().split('.')[-1].removesuffix('Tensor')} tensor"
        )
    if batch_first:
        input = input.transpose(0, 1)
    longest, batch = input.shape[0], input.shape[1]
    if len(lengths) != batch:
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {len(lengths)} (batch_size={batch})"
        )
    values = lengths.tolist()
    if values[-1] <= 0 or min(values) <= 0:
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0"
        )
    if any(a < b for a, b in pairwise(values)):
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
            "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement if you "
            "do not need ONNX exportability."
        )
    if values[0] > longest:
        raise RuntimeError(
            f"pack_padded_sequence: no length may be above the number of steps of input ({longest}), got {values[0]}."
        )
    sizes = (arange(values[0]).unsqueeze(1) < lengths.unsqueeze(0)).sum(1)
    if values[-1] == values[0]:
        return input[: values[0]].flatten(0, 1), sizes
    return input.flatten(0, 1).index_select(0, _places(lengths, values[0]).to(input.device)), sizes


@composite()
def _pad_packed_sequence(
    data: Tensor, batch_sizes: Tensor, batch_first: bool, padding_value: float, total_length: int
) -> tuple[Tensor, Tensor]:
    """The inverse of ``_pack_padded_sequence``: the padded batch and the lengths of its sequences.

    Raises: RuntimeError if ``total_length`` is less than the longest sequence.

    Example:
        >>> import mashal
        >>> mashal._ops._pad_packed_sequence(mashal.tensor([1, 3, 2]), mashal.tensor([2, 1]), True, 0., 2)
        (tensor([[1, 2],
                [3, 0]]), tensor([2, 1]))
    """
    sizes = batch_sizes.tolist()
    steps, batch = len(sizes), sizes[0]
    longest = max(steps, total_length)
    if 0 < total_length < steps:
        raise RuntimeError(
            "Expected total_length to be at least the length of the longest sequence in input, but got "
            f"total_length={total_length} and max sequence length being {steps}"
        )
    lengths = (arange(batch).unsqueeze(1) < batch_sizes.unsqueeze(0)).sum(1)
    out = data.new_full((longest * batch, *data.shape[1:]), padding_value)
    out = out.index_copy(0, _places(lengths, steps).to(data.device), data).unflatten(0, (longest, batch))
    return (out.transpose(0, 1) if batch_first else out), lengths
