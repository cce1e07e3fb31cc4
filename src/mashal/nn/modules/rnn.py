"""Recurrent layers: RNN, LSTM and GRU over sequences, and their single steps."""

from __future__ import annotations

import math
import numbers
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import mashal

from ... import Tensor, _ops
from .. import init
from ..parameter import Parameter
from ..utils.rnn import PackedSequence
from .module import Module

__all__ = ["GRU", "GRUCell", "LSTM", "LSTMCell", "RNN", "RNNBase", "RNNCell", "RNNCellBase"]

_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


def apply_permutation(tensor: Tensor, permutation: Tensor, dim: int = 1) -> Tensor:
    """Deprecated name of ``tensor.index_select(dim, permutation)``."""
    warnings.warn(
        "`apply_permutation` is deprecated, please use `tensor.index_select(dim, permutation)` instead",
        FutureWarning,
        stacklevel=2,
    )
    return tensor.index_select(dim, permutation)


def _check_options(
    input_size: Any, hidden_size: Any, num_layers: int, bias: Any, batch_first: Any, dropout: Any, proj_size: int
) -> None:
    if not isinstance(dropout, numbers.Real) or isinstance(dropout, bool) or not 0 <= float(dropout) <= 1:
        raise ValueError(
            "dropout should be a number in range [0, 1] representing the probability of an element being zeroed"
        )
    if dropout > 0 and num_layers == 1:
        warnings.warn(
            "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects num_layers "
            f"greater than 1, but got dropout={dropout} and num_layers={num_layers}",
            stacklevel=4,
        )
    for name, value in (("bias", bias), ("batch_first", batch_first)):
        if not isinstance(value, bool):
            raise TypeError(f"{name} should be of type bool, got: {type(value).__name__}")
    for name, value in (("input_size", input_size), ("hidden_size", hidden_size)):
        if not isinstance(value, int):
            raise TypeError(f"{name} should be of type int, got: {type(value).__name__}")
        if value <= 0:
            raise ValueError(f"{name} must be greater than zero")
    if num_layers <= 0:
        raise ValueError("num_layers must be greater than zero")
    if proj_size < 0:
        raise ValueError("proj_size should be a positive integer or zero to disable projections")
    if proj_size >= hidden_size:
        raise ValueError("proj_size has to be smaller than hidden_size")


class RNNBase(Module):
    """What :class:`RNN`, :class:`LSTM` and :class:`GRU` share: options, parameters, and the checks of a call.

    The parameters of layer k are ``weight_ih_l{k}``, ``weight_hh_l{k}``, ``bias_ih_l{k}``, ``bias_hh_l{k}`` and, with a
    projection, ``weight_hr_l{k}``; those of the second direction end in ``_reverse``.
    """

    mode: str
    input_size: int
    hidden_size: int
    num_layers: int
    bias: bool
    batch_first: bool
    dropout: float
    bidirectional: bool
    proj_size: int

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        _check_options(input_size, hidden_size, num_layers, bias, batch_first, dropout, proj_size)
        if mode not in _GATES:
            raise ValueError("Unrecognized RNN mode: " + mode)
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size

        state_size = proj_size or hidden_size
        gate_size = _GATES[mode] * hidden_size
        self._all_weights: list[list[str]] = []
        for layer in range(num_layers):
            for suffix in ("", "_reverse")[: 2 if bidirectional else 1]:
                width = input_size if layer == 0 else state_size * (2 if bidirectional else 1)
                shapes: list[tuple[str, tuple[int, ...]]] = [
                    ("weight_ih", (gate_size, width)),
                    ("weight_hh", (gate_size, state_size)),
                ]
                if bias:
                    shapes += [("bias_ih", (gate_size,)), ("bias_hh", (gate_size,))]
                if proj_size:
                    shapes.append(("weight_hr", (proj_size, hidden_size)))
                names = []
                for name, shape in shapes:
                    names.append(f"{name}_l{layer}{suffix}")
                    setattr(self, names[-1], Parameter(mashal.empty(shape, device=device, dtype=dtype)))
                self._all_weights.append(names)
        self._flat_weights_names = [name for names in self._all_weights for name in names]
        self._init_flat_weights()
        self.reset_parameters()

    # ``_flat_weights`` holds the same tensors as the attributes, in the order in which the layers take them. It is a
    # list of its own, since weights may be replaced (by functional calls, parametrizations, or by hand).
    def _init_flat_weights(self) -> None:
        self._flat_weights: list[Any] = [getattr(self, name, None) for name in self._flat_weights_names]
        self._flat_weight_refs: list[Any] = [None if w is None else weakref.ref(w) for w in self._flat_weights]
        self.flatten_parameters()

    def _weights_have_changed(self) -> bool:
        for ref, name in zip(self._flat_weight_refs, self._flat_weights_names, strict=True):
            weight = getattr(self, name, None)
            if weight is not None and ref is not None and ref() is not weight:
                return True
        return False

    def _update_flat_weights(self) -> None:
        if self._weights_have_changed():
            self._init_flat_weights()

    def __setattr__(self, name: str, value: Any) -> None:
        names = self.__dict__.get("_flat_weights_names")
        if names is not None and name in names:
            self._flat_weights[names.index(name)] = value
        super().__setattr__(name, value)

    def flatten_parameters(self) -> None:
        """Does nothing: weights need not lie in one piece here. Present because programs call it."""

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Any:
        self._flat_weight_refs = []
        result = super()._apply(fn, recurse)
        self._init_flat_weights()
        return result

    def reset_parameters(self) -> None:
        """Draws all parameters from U(-k, k) with ``k = 1 / sqrt(hidden_size)``."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The parameters, a list for each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def check_input(self, input: Tensor, batch_sizes: Tensor | None) -> None:
        weight = self._flat_weights[0]
        if input.dtype != weight.dtype and not _autocast():
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({weight.dtype}). Convert input: "
                f"input.to({weight.dtype}), or convert model: model.to({input.dtype})"
            )
        expected = 2 if batch_sizes is not None else 3
        if input.dim() != expected:
            raise RuntimeError(f"input must have {expected} dimensions, got {input.dim()}")
        if self.input_size != input.size(-1):
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.size(-1)}"
            )

    def _batch_size(self, input: Tensor, batch_sizes: Tensor | None) -> int:
        if batch_sizes is not None:
            return int(batch_sizes[0])
        return input.size(0) if self.batch_first else input.size(1)

    def _state_count(self) -> int:
        return self.num_layers * (2 if self.bidirectional else 1)

    def get_expected_hidden_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        return self._state_count(), self._batch_size(input, batch_sizes), self.proj_size or self.hidden_size

    def check_hidden_size(
        self, hx: Tensor, expected_hidden_size: tuple[int, int, int], msg: str = "Expected hidden size {}, got {}"
    ) -> None:
        if tuple(hx.shape) != expected_hidden_size:
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.shape)))

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        return hx if permutation is None else hx.index_select(1, permutation)

    def _no_state(self, input: Tensor, batch: int) -> Any:
        return mashal.zeros(self._state_count(), batch, self.hidden_size, dtype=input.dtype, device=input.device)

    # The state of an unbatched sequence with a batch dimension, its dimensions having been checked.
    def _batched_state(self, hx: Any, is_batched: bool) -> Any:
        expected = 3 if is_batched else 2
        if hx.dim() != expected:
            kind = "batched 3-D" if is_batched else "unbatched 2-D"
            raise RuntimeError(f"For {kind} input, hx should also be {expected}-D but got {hx.dim()}-D tensor")
        return hx if is_batched else hx.unsqueeze(1)

    def _unbatched_state(self, hx: Any) -> Any:
        return hx.squeeze(1)

    def _call(self, input: Tensor, hx: Any, batch_sizes: Tensor | None) -> tuple[Tensor, Any]:
        fn = getattr(_ops, self.mode.lower())
        options = (self.bias, self.num_layers, self.dropout, self.training, self.bidirectional)
        if batch_sizes is None:
            result = fn(input, hx, self._flat_weights, *options, self.batch_first)
        else:
            result = fn(input, batch_sizes, hx, self._flat_weights, *options)
        return result[0], result[1:] if len(result) > 2 else result[1]

    def extra_repr(self) -> str:
        shown = [f"{self.input_size}, {self.hidden_size}"]
        for name, default in (
            ("proj_size", 0),
            ("num_layers", 1),
            ("bias", True),
            ("batch_first", False),
            ("dropout", 0),
            ("bidirectional", False),
        ):
            if getattr(self, name) != default:
                shown.append(f"{name}={getattr(self, name)}")
        return ", ".join(shown)

    def __getstate__(self) -> dict[str, Any]:
        self._update_flat_weights()
        state = self.__dict__.copy()
        del state["_flat_weight_refs"]  # weak references are not copied or stored
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.__dict__.setdefault("proj_size", 0)  # not in files of versions without projections
        self._flat_weight_refs = [None if w is None else weakref.ref(w) for w in self._flat_weights]

    def _forward(self, input: Any, hx: Any) -> tuple[Any, Any]:
        self._update_flat_weights()
        if isinstance(input, PackedSequence):
            data, batch_sizes, sorted_indices, unsorted_indices = input
            if hx is None:
                hx = self._no_state(data, int(batch_sizes[0]))
            else:
                hx = self.permute_hidden(hx, sorted_indices)
            self.check_forward_args(data, hx, batch_sizes)
            output, hidden = self._call(data, hx, batch_sizes)
            packed = PackedSequence(output, batch_sizes, sorted_indices, unsorted_indices)
            return packed, self.permute_hidden(hidden, unsorted_indices)
        if input.dim() not in (2, 3):
            kind = self.mode.partition("_")[0]
            what = f"{input.dim()}D tensor" if kind == "RNN" else f"{input.dim()}D"
            raise ValueError(f"{kind}: Expected input to be 2D or 3D, got {what} instead")
        is_batched = input.dim() == 3
        batch_dim = 0 if self.batch_first else 1
        if not is_batched:
            input = input.unsqueeze(batch_dim)
        if hx is None:
            hx = self._no_state(input, input.size(batch_dim))
        else:
            hx = self._batched_state(hx, is_batched)
        self.check_forward_args(input, hx, None)
        output, hidden = self._call(input, hx, None)
        if is_batched:
            return output, hidden
        return output.squeeze(batch_dim), self._unbatched_state(hidden)


def _autocast() -> bool:
    from ... import _core

    return _core.autocast_on()


class RNN(RNNBase):
    r"""Elman's recurrent network: ``h_t = tanh(W_ih x_t + b_ih + W_hh h_{t-1} + b_hh)``, several layers deep.

    Args:
        input_size: features of ``x_t``.
        hidden_size: features of ``h_t``.
        num_layers: layers; each but the first reads the states of the one below.
        nonlinearity: ``"tanh"`` or ``"relu"``.
        bias: whether there are biases.
        batch_first: input and output are ``(N, L, *)`` instead of ``(L, N, *)``.
        dropout: probability of dropping an output of a layer, but for the last, in training.
        bidirectional: a second network reads backwards; outputs are joined.
        device, dtype: of the parameters.

    Shape:
        With D directions, input ``(L, N, input_size)``, ``(L, input_size)`` or a
        :class:`~mashal.nn.utils.rnn.PackedSequence`; ``hx`` ``(D * num_layers, N, hidden_size)``, zeros by default.
        Returns output ``(L, N, D * hidden_size)`` and the last ``h`` of every layer.

    Raises:
        RuntimeError: shapes do not fit. ValueError: the input has another dtype than the weights.

    Example::

        >>> out, h = nn.RNN(10, 20, 2)(torch.randn(5, 3, 10))
        >>> out.shape, h.shape
        (mashal.Size([5, 3, 20]), mashal.Size([2, 3, 20]))
    """

    nonlinearity: str

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        if len(args) > 3:
            nonlinearity, args = args[3], args[:3] + args[4:]
        else:
            nonlinearity = kwargs.pop("nonlinearity", "tanh")
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        super().__init__(f"RNN_{nonlinearity.upper()}", *args, **kwargs)
        self.nonlinearity = nonlinearity

    def forward(self, input: Any, hx: Tensor | None = None) -> tuple[Any, Tensor]:
        return self._forward(input, hx)


class LSTM(RNNBase):
    r"""Long short-term memory, several layers deep.

    ``i, f, g, o`` are the sigmoid (``g``: the tanh) of ``W_ih x_t + b_ih + W_hh h_{t-1} + b_hh``, and
    ``c_t = f c_{t-1} + i g``, ``h_t = o tanh(c_t)``.

    Args:
        input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, device, dtype: as of
            :class:`RNN`.
        proj_size: if not 0, ``h_t`` is projected to that many features: ``h_t = W_hr (o tanh(c_t))``.

    Shape:
        With D directions, input ``(L, N, input_size)``, ``(L, input_size)`` or a
        :class:`~mashal.nn.utils.rnn.PackedSequence`; ``hx`` the pair of h ``(D * num_layers, N, proj_size or
        hidden_size)`` and c ``(D * num_layers, N, hidden_size)``, zeros by default. Returns output ``(L, N, D *
        (proj_size or hidden_size))`` and the last ``(h, c)``.

    Raises:
        RuntimeError: shapes do not fit. ValueError: the input has another dtype than the weights.

    Source:
        Hochreiter and Schmidhuber, "Long Short-Term Memory", 1997; projections: Sak et al., 2014.

    Example::

        >>> out, (h, c) = nn.LSTM(10, 20, bidirectional=True)(torch.randn(5, 3, 10))
        >>> out.shape, c.shape
        (mashal.Size([5, 3, 40]), mashal.Size([2, 3, 20]))
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)

    def get_expected_cell_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        return self._state_count(), self._batch_size(input, batch_sizes), self.hidden_size

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        self.check_input(input, batch_sizes)
        expected = self.get_expected_hidden_size(input, batch_sizes)
        self.check_hidden_size(hidden[0], expected, "Expected hidden[0] size {}, got {}")
        expected = self.get_expected_cell_size(input, batch_sizes)
        self.check_hidden_size(hidden[1], expected, "Expected hidden[1] size {}, got {}")

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        if permutation is None:
            return hx
        return hx[0].index_select(1, permutation), hx[1].index_select(1, permutation)

    def _no_state(self, input: Tensor, batch: int) -> Any:
        where = {"dtype": input.dtype, "device": input.device}
        count = self._state_count()
        return (
            mashal.zeros(count, batch, self.proj_size or self.hidden_size, **where),
            mashal.zeros(count, batch, self.hidden_size, **where),
        )

    def _batched_state(self, hx: Any, is_batched: bool) -> Any:
        expected = 3 if is_batched else 2
        if hx[0].dim() != expected or hx[1].dim() != expected:
            kind = "batched 3-D" if is_batched else "unbatched 2-D"
            raise RuntimeError(
                f"For {kind} input, hx and cx should also be {expected}-D but got ({hx[0].dim()}-D, {hx[1].dim()}-D) "
                "tensors"
            )
        return hx if is_batched else (hx[0].unsqueeze(1), hx[1].unsqueeze(1))

    def _unbatched_state(self, hx: Any) -> Any:
        return hx[0].squeeze(1), hx[1].squeeze(1)

    def forward(self, input: Any, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Any, tuple[Tensor, Tensor]]:
        return self._forward(input, hx)


class GRU(RNNBase):
    r"""Gated recurrent units, several layers deep.

    ``r`` and ``z`` are sigmoids of ``W_ih x_t + b_ih + W_hh h_{t-1} + b_hh``,
    ``n = tanh(W_in x_t + b_in + r (W_hn h_{t-1} + b_hn))`` and ``h_t = (1 - z) n + z h_{t-1}``.

    Args:
        input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, device, dtype: as of
            :class:`RNN`.

    Shape:
        As of :class:`RNN`.

    Raises:
        RuntimeError: shapes do not fit. ValueError: the input has another dtype than the weights.

    Note:
        ``r`` scales the product with the state, not the state before it, as in the paper's first version.

    Source:
        Cho et al., "Learning Phrase Representations using RNN Encoder-Decoder", 2014.

    Example::

        >>> out, h = nn.GRU(10, 20, batch_first=True)(torch.randn(3, 5, 10))
        >>> out.shape, h.shape
        (mashal.Size([3, 5, 20]), mashal.Size([1, 3, 20]))
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        super().__init__("GRU", *args, **kwargs)

    def forward(self, input: Any, hx: Tensor | None = None) -> tuple[Any, Tensor]:
        return self._forward(input, hx)


class RNNCellBase(Module):
    """What the cells share: sizes and parameters ``weight_ih``, ``weight_hh``, ``bias_ih``, ``bias_hh``."""

    input_size: int
    hidden_size: int
    bias: bool
    weight_ih: Tensor
    weight_hh: Tensor

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool, num_chunks: int, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        width = num_chunks * hidden_size
        self.weight_ih = Parameter(mashal.empty((width, input_size), device=device, dtype=dtype))
        self.weight_hh = Parameter(mashal.empty((width, hidden_size), device=device, dtype=dtype))
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(name, Parameter(mashal.empty(width, device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws all parameters from U(-k, k) with ``k = 1 / sqrt(hidden_size)``."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def extra_repr(self) -> str:
        shown = f"{self.input_size}, {self.hidden_size}"
        if self.bias is not True:
            shown += f", bias={self.bias}"
        nonlinearity = self.__dict__.get("nonlinearity", "tanh")
        return shown if nonlinearity == "tanh" else f"{shown}, nonlinearity={nonlinearity}"

    def _check_dim(self, what: str, t: Tensor) -> None:
        if t.dim() not in (1, 2):
            raise ValueError(f"{type(self).__name__}: Expected {what} to be 1D or 2D, got {t.dim()}D instead")

    def _step(self, fn: Any, input: Tensor, hx: Tensor | None) -> Tensor:
        """One step of a cell with one state."""
        self._check_dim("input", input)
        if hx is not None:
            self._check_dim("hidden", hx)
        is_batched = input.dim() == 2
        if not is_batched:
            input = input.unsqueeze(0)
            hx = None if hx is None else hx.unsqueeze(0)
        if hx is None:
            hx = mashal.zeros(input.size(0), self.hidden_size, dtype=input.dtype, device=input.device)
        result = fn(input, hx, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        return result if is_batched else result.squeeze(0)


class RNNCell(RNNCellBase):
    r"""One step of :class:`RNN`: ``h' = tanh(W_ih x + b_ih + W_hh h + b_hh)``.

    Args:
        input_size, hidden_size: features of ``x`` and ``h``.
        bias: whether there are biases.
        nonlinearity: ``"tanh"`` or ``"relu"``.
        device, dtype: of the parameters.

    Shape:
        input ``(N, input_size)`` or ``(input_size,)``, hx ``(N, hidden_size)`` or ``(hidden_size,)``, zeros by default.

    Raises:
        RuntimeError: sizes do not fit. ValueError: wrong numbers of dimensions.

    Example::

        >>> nn.RNNCell(10, 20)(torch.randn(3, 10)).shape
        mashal.Size([3, 20])
    """

    nonlinearity: str

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, num_chunks=1, device=device, dtype=dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return self._step(_ops.rnn_tanh_cell if self.nonlinearity == "tanh" else _ops.rnn_relu_cell, input, hx)


class LSTMCell(RNNCellBase):
    r"""One step of :class:`LSTM`, from ``(h, c)`` to the next.

    Args:
        input_size, hidden_size: features of ``x`` and ``h``.
        bias: whether there are biases.
        device, dtype: of the parameters.

    Shape:
        input ``(N, input_size)`` or ``(input_size,)``; h and c ``(N, hidden_size)`` or ``(hidden_size,)``, zeros by
        default.

    Raises:
        RuntimeError: sizes do not fit. ValueError: wrong numbers of dimensions.

    Example::

        >>> h, c = nn.LSTMCell(10, 20)(torch.randn(3, 10))
        >>> h.shape
        mashal.Size([3, 20])
    """

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, num_chunks=4, device=device, dtype=dtype)

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        self._check_dim("input", input)
        if hx is not None:
            for i, t in enumerate(hx):
                self._check_dim(f"hx[{i}]", t)
        is_batched = input.dim() == 2
        if not is_batched:
            input = input.unsqueeze(0)
            hx = None if hx is None else (hx[0].unsqueeze(0), hx[1].unsqueeze(0))
        if hx is None:
            zeros = mashal.zeros(input.size(0), self.hidden_size, dtype=input.dtype, device=input.device)
            hx = (zeros, zeros)
        h, c = _ops.lstm_cell(input, hx, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        return (h, c) if is_batched else (h.squeeze(0), c.squeeze(0))


class GRUCell(RNNCellBase):
    r"""One step of :class:`GRU`.

    Args:
        input_size, hidden_size: features of ``x`` and ``h``.
        bias: whether there are biases.
        device, dtype: of the parameters.

    Shape:
        input ``(N, input_size)`` or ``(input_size,)``, hx ``(N, hidden_size)`` or ``(hidden_size,)``, zeros by default.

    Raises:
        RuntimeError: sizes do not fit. ValueError: wrong numbers of dimensions.

    Example::

        >>> nn.GRUCell(10, 20)(torch.randn(3, 10)).shape
        mashal.Size([3, 20])
    """

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, num_chunks=3, device=device, dtype=dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return self._step(_ops.gru_cell, input, hx)
