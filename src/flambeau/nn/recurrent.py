"""Recurrent layers under PyTorch's names, with several layers and both directions, and their cells."""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from inspect import signature
from math import inf, sqrt
from typing import Any, ClassVar, cast

from ..core.dtype import DTypeLike
from ..core.node import describe
from ..core.tree import is_sequence
from ..device import DeviceLike
from ..errors import TypeError, ValueError
from ..ops.contract import linear
from ..ops.join import cat, stack
from ..ops.random import dropout
from ..tensor import Tensor, tensor
from . import cells, init
from .cells import Activation, Cell, Sequence
from .linear import new_parameter, not_negative, positive
from .module import Module, cast_layer
from .recurrence import output_of, recurrence
from .utils.rnn import PackedSequence, lengths_of, pack_steps, pad_steps


def _reverse(x: Tensor) -> Tensor:
    return x.flip(0)


class RecurrentModule(Module):
    """Base of recurrent layers and cells: PyTorch's initial values, uniform within 1 / sqrt(hidden_size)."""

    hidden_size: int

    def reset_parameters(self) -> None:
        """Initialise the parameters again."""
        bound = 1 / sqrt(self.hidden_size)
        for p in self.parameters(recurse=False):
            init.uniform_(p, -bound, bound)


# --- activations ---


CLIPS = ("clip", "state_clip")


def _rnn_of(layer: Any) -> Cell:
    act = _activation(layer, "nonlinearity")
    return cells.rnn(cells.clip_arguments(act, layer.clip), layer.state_clip)


def _gru_of(layer: Any) -> Cell:
    gate, hidden = (_activation(layer, f"{name}_activation") for name in ("gate", "hidden"))
    gate, hidden = (cells.clip_arguments(act, layer.clip) for act in (gate, hidden))
    return cells.gru(cells.GruGates(gate, hidden, layer.state_clip, layer.reset_after))


def _lstm_of(layer: Any) -> Cell:
    gate, cell, hidden = (_activation(layer, f"{name}_activation") for name in ("gate", "cell", "hidden"))
    gate, cell = (cells.clip_arguments(act, layer.clip) for act in (gate, cell))
    return cells.lstm(cells.LstmGates(gate, cell, hidden, layer.state_clip, layer.input_forget))


CELLS: dict[str, Callable[[Any], Cell]] = {"RNN": _rnn_of, "GRU": _gru_of, "LSTM": _lstm_of}


def _activation(layer: Any, argument: str) -> Activation:
    """The activation of an argument: a name, or a function of a tensor. ValueError for others."""
    setting: Any = getattr(layer, argument)
    if isinstance(setting, str) and setting.lower() in cells.ACTIVATIONS:
        return cells.activation(setting)
    if isinstance(setting, str) or not callable(setting):
        rule = f"is unknown: use one of {', '.join(cells.ACTIVATIONS)}, or a function of a tensor"
        raise ValueError(f"{type(layer).__name__}({argument}={setting!r}): {rule}")
    return Activation(getattr(layer, argument))


def cell_of(layer: Any) -> Cell:
    """The cell for a layer's arguments. ValueError for an unknown activation or an invalid bound."""
    for name in CLIPS:
        bound = getattr(layer, name)
        is_number = isinstance(bound, int | float) and not isinstance(bound, bool)
        if bound is not None and not (is_number and 0 < bound < inf):
            rule = "the bound must be above 0: pass another value, or None"
            raise ValueError(f"{type(layer).__name__}({name}={bound!r}): {rule}")
    return CELLS[layer.mode.split("_")[0]](layer)


def _own_options(layer: Any) -> str:
    """The arguments that PyTorch lacks (the keyword-only ones) and that differ from the default."""
    parameters = signature(cast("type[Any]", type(layer))).parameters.values()
    usual = {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}
    own = {name: getattr(layer, name) for name in usual}
    shown = {k: v for k, v in own.items() if v != usual[k] and not isinstance(v, Module)}
    return "".join(f", {name}={v!r}" for name, v in shown.items())


class _Steps:
    """The valid steps of a batch of sequences, the longest first, and the indices that reverse each."""

    def __init__(self, batch_sizes: tuple[int, ...], device: DeviceLike | None):
        lengths = lengths_of(batch_sizes)
        steps = range(len(batch_sizes))
        is_running = [[t < n for n in lengths] for t in steps]
        self.kept = tensor(is_running, device=device).reshape(len(steps), len(lengths), 1, 1)
        # Each sequence is reversed within its own length.
        # steps of the padding map to themselves
        turned = [[n - 1 - t if t < n else t for n in lengths] for t in steps]
        self.turned = tensor(turned, device=device).unsqueeze(2)

    def turn(self, x: Tensor) -> Tensor:
        """Reverse each sequence; its padding stays in place. [t, b, n] -> [t, b, n]"""
        return x.gather(0, self.turned.expand(*x.shape))


class RNNBase(RecurrentModule):
    """Base of recurrent layers: weights by layer and direction, and the pass of a sequence through them.

    TypeError for arguments: its classes have them.
    """

    input_size: int
    hidden_size: int
    num_layers: int
    bias: bool
    batch_first: bool
    dropout: float
    bidirectional: bool
    proj_size: int = 0
    reverse: bool = False
    mode = ""

    def __post_init__(self):
        name, p = type(self).__name__, self.dropout
        positive(name, input_size=self.input_size, hidden_size=self.hidden_size, num_layers=self.num_layers)
        for option in ("bias", "batch_first"):
            if not isinstance(value := getattr(self, option), bool):
                raise TypeError(f"{name}({option}={value!r}): must be a bool: pass True or False")
        if isinstance(p, bool) or not 0 <= p <= 1:  # True would count as 1
            raise ValueError(f"{name}(dropout={p}): must be from 0 to 1: pass a probability")
        if not 0 <= self.proj_size < self.hidden_size:
            rule = f"must be 0 (off) to {self.hidden_size - 1}, below hidden_size: pass another value"
            raise ValueError(f"{name}(proj_size={self.proj_size}): {rule}")
        if self.proj_size and self.mode != "LSTM":
            raise ValueError(
                f"{name}(proj_size={self.proj_size}): only LSTM supports projections: leave it out"
            )
        if self.reverse and self.bidirectional:
            rule = "bidirectional already includes the reverse direction: leave one of them out"
            raise ValueError(f"{name}(bidirectional=True, reverse=True): {rule}")
        # Options of the constructor that are not attributes in PyTorch.
        device, dtype, gates = (*map(self.__dict__.pop, ("device", "dtype")), cell_of(self).gates)
        for layer in range(self.num_layers):
            # PyTorch's order of states: layer * directions + direction
            for suffix in self._suffixes(layer):
                self._make(layer, suffix, gates * self.hidden_size, device)
        self.reset_parameters()
        cast_layer(self, dtype)

    @property
    def out_size(self) -> int:
        """The features of a step's output in each direction."""
        return self.proj_size or self.hidden_size

    def _suffixes(self, layer: int) -> list[str]:
        return [f"_l{layer}", f"_l{layer}_reverse"][: 1 + self.bidirectional]

    def _make(self, layer: int, suffix: str, gates: int, device: Any) -> None:
        out = self.out_size
        # Layers after the first read both directions of the one before.
        width = self.input_size if layer == 0 else out * (1 + self.bidirectional)
        shapes = {"weight_ih": (gates, width), "weight_hh": (gates, out)}
        shapes |= {"bias_ih": (gates,), "bias_hh": (gates,)} if self.bias else {}
        shapes |= {"weight_hr": (out, self.hidden_size)} if self.proj_size else {}
        for name, shape in shapes.items():
            self.register_parameter(name + suffix, new_parameter(*shape, device=device))

    @property
    def all_weights(self) -> list[list[Any]]:
        """The parameters of each layer and direction, in PyTorch's order."""
        suffixes = [s for layer in range(self.num_layers) for s in self._suffixes(layer)]
        return [[p for n, p in self.named_parameters() if n.endswith(s)] for s in suffixes]

    def flatten_parameters(self) -> None:
        """Do nothing: kernels need no special layout."""

    # --- running ---

    def forward(
        self, input: Tensor | PackedSequence, hx: Tensor | tuple[Tensor, Tensor] | None = None
    ) -> tuple[Any, Any]:
        if isinstance(input, PackedSequence):
            return self._run_packed(input, hx)
        x = input.transpose(0, 1) if self.batch_first and input.ndim == 3 else input  # [t, b, input]
        batched = x.ndim == 3
        if x.ndim not in (2, 3) or x.shape[-1] != self.input_size:
            rule = f"takes 3 dims (or 2, without a batch) of which the last is {self.input_size}"
            raise ValueError(f"{type(self).__name__}({describe(input)}): {rule}: reshape it")
        if not x.shape[0]:
            rule = "the sequence has no steps: pass at least one"
            raise ValueError(f"{type(self).__name__}({describe(input)}): {rule}")
        y, state = self._run(x if batched else x.unsqueeze(1), self._start(hx, x, batched), None)
        if not batched:
            return y.squeeze(1), self._output_state(tuple(t.squeeze(1) for t in state))
        return y.transpose(0, 1) if self.batch_first else y, self._output_state(state)

    def _run_packed(self, packed_input: PackedSequence, hx: Any) -> tuple[PackedSequence, Any]:
        x = pad_steps(packed_input.data, packed_input.batch_sizes)
        start = self._start(hx, x, True)
        # A packed sequence is sorted by length, so its states are too.
        if packed_input.sorted_indices is not None:
            start = tuple(t.index_select(1, packed_input.sorted_indices) for t in start)
        y, state = self._run(x, start, _Steps(packed_input.batch_sizes, x.device))
        if packed_input.unsorted_indices is not None:
            state = tuple(t.index_select(1, packed_input.unsorted_indices) for t in state)
        return packed_input._replace(data=pack_steps(y, packed_input.batch_sizes)), self._output_state(state)

    def _sizes(self) -> list[int]:
        """The sizes of the states: the hidden state, and an LSTM's cell."""
        return [self.out_size]

    def _output_state(self, state: tuple[Tensor, ...]) -> Any:
        return state[0]

    def _start(self, hx: Any, x: Tensor, batched: bool) -> tuple[Tensor, ...]:
        """The initial states [layers * directions, b, n]; zeros if none are given."""
        count, batch = self.num_layers * (1 + self.bidirectional), x.shape[1] if batched else 1
        state_shapes = [(count, batch, n) if batched else (count, n) for n in self._sizes()]
        if hx is None:
            return tuple(
                Tensor.zeros(count, batch, s[-1], dtype=x.dtype, device=x.device) for s in state_shapes
            )
        states: tuple[Tensor, ...] = tuple(hx) if is_sequence(hx) else (hx,)  # an LSTM's pair, or one tensor
        if [t.shape for t in states] != state_shapes:
            shapes = " and ".join(str(list(s)) for s in state_shapes)
            own = " and ".join(str(list(t.shape)) for t in states)
            raise ValueError(
                f"{type(self).__name__}(hx of {own}): the states must be {shapes}: pass these shapes"
            )
        return states if batched else tuple(t.unsqueeze(1) for t in states)

    def _run(
        self, x: Tensor, start: tuple[Tensor, ...], steps: _Steps | None
    ) -> tuple[Tensor, tuple[Any, ...]]:
        """[t, b, input] -> [t, b, directions * out], and the last states."""
        last: list[tuple[Tensor, ...]] = []
        for layer in range(self.num_layers):
            # As in PyTorch, between layers, not after the last.
            if layer and self.dropout:
                x = dropout(x, self.dropout, self.training)
            outputs: list[Tensor] = []
            for suffix in self._suffixes(layer):
                # States are in the order of layers and directions, and `last` counts those done.
                y, state = self._direction(x, suffix, tuple(t[len(last)] for t in start), steps)
                outputs.append(y)
                last.append(state)
            x = outputs[0] if len(outputs) == 1 else cat(outputs, -1)
        return x, tuple(stack(each) for each in zip(*last, strict=True))

    def _direction(
        self, x: Tensor, suffix: str, start: tuple[Any, ...], steps: _Steps | None
    ) -> tuple[Tensor, tuple[Any, ...]]:
        back = self.reverse or suffix.endswith("reverse")
        turn: Callable[[Tensor], Tensor] = _reverse if steps is None else steps.turn
        weight, bias, own, own_bias, project = (
            cast("Any", getattr(self, name + suffix, None))
            for name in ("weight_ih", "bias_ih", "weight_hh", "bias_hh", "weight_hr")
        )
        # One product for all steps: only the state's part is sequential.
        gates = linear(turn(x) if back else x, weight, bias)
        cell = start[1] if len(start) > 1 else None
        kept = None if steps is None else steps.kept
        s = Sequence(gates, own, start[0], own_bias, project, cell, kept)  # type: ignore[arg-type]
        states = recurrence(cell_of(self), s)
        y = output_of(states, project)
        # the last output, and the cell beside the last state
        final_states = (y[-1],) if cell is None else (y[-1], states[-1].select(-2, 1))
        return turn(y) if back else y, final_states

    def extra_repr(self) -> str:
        usual = {"num_layers": 1, "bias": True, "batch_first": False, "dropout": 0.0}
        usual |= {"bidirectional": False, "proj_size": 0}
        own = {name: getattr(self, name) for name in usual}
        more = "".join(f", {name}={v!r}" for name, v in own.items() if v != usual[name])
        return f"{self.input_size}, {self.hidden_size}{more}{_own_options(self)}"


@dataclass(eq=False, repr=False)
class RNN(RNNBase):
    """h = tanh(W x + b + U h' + c), step by step. [t, b, in] -> [t, b, out], [layers, b, hidden]

    input_size: features of a step
    hidden_size: features of the state
    num_layers: layers that run one over the other
    nonlinearity: the activation of the state
    bias: add learned offsets
    batch_first: the batch is the first dim, and the steps the second
    dropout: the share of values dropped between layers
    bidirectional: a second direction runs from the end; the results are concatenated
    reverse: run from the end only; the results keep their places
    clip: the gates' inputs are limited to -clip .. clip, as in ONNX; None: no limit
    state_clip: the same for the state that a step makes
    Raises ValueError for sizes below 1; for probabilities outside 0 to 1; for bounds that are not above 0;
        for unknown activations.

    Activations have ONNX's names (affine, elu, hardsigmoid, leakyrelu, relu, scaledtanh, sigmoid, softplus,
    softsign, tanh, thresholdedrelu), or are functions of a tensor, which are differentiated step by step.
    """

    input_size: int
    hidden_size: int
    num_layers: int = 1
    nonlinearity: str | Callable[[Tensor], Tensor] = "tanh"
    bias: bool = True
    batch_first: bool = False
    dropout: float = 0.0
    bidirectional: bool = False
    device: DeviceLike | None = None
    dtype: DTypeLike | None = None
    _: KW_ONLY
    reverse: bool = False
    clip: float | None = None
    state_clip: float | None = None

    @property
    def mode(self) -> str:  # type: ignore[override]
        """The kind of cell, as PyTorch names it."""
        return rnn_mode(self.nonlinearity)


def rnn_mode(nonlinearity: Any) -> str:
    """RNN_TANH, RNN_RELU, or RNN_ with the name of another function."""
    return f"RNN_{nonlinearity if isinstance(nonlinearity, str) else 'FUNCTION'}".upper()


@dataclass(eq=False, repr=False)
class GRU(RNNBase):
    """Gated recurrent units (Cho et al., 2014). [t, b, in] -> [t, b, out], [layers, b, hidden]

    input_size: features of a step
    hidden_size: features of the state
    num_layers: layers that run one over the other
    bias: add learned offsets
    batch_first: the batch is the first dim, and the steps the second
    dropout: the share of values dropped between layers
    bidirectional: a second direction runs from the end; the results are concatenated
    reverse: run from the end only; the results keep their places
    clip: the gates' inputs are limited to -clip .. clip, as in ONNX; None: no limit
    state_clip: the same for the state that a step makes
    gate_activation: of the reset and update gates
    hidden_activation: of the candidate
    reset_after: apply the reset gate after the state's product, as PyTorch does; False: before it
    Raises ValueError for sizes below 1; for probabilities outside 0 to 1; for bounds that are not above 0;
        for unknown activations.

    Activations have ONNX's names (affine, elu, hardsigmoid, leakyrelu, relu, scaledtanh, sigmoid, softplus,
    softsign, tanh, thresholdedrelu), or are functions of a tensor, which are differentiated step by step.
    """

    input_size: int
    hidden_size: int
    num_layers: int = 1
    bias: bool = True
    batch_first: bool = False
    dropout: float = 0.0
    bidirectional: bool = False
    device: DeviceLike | None = None
    dtype: DTypeLike | None = None
    _: KW_ONLY
    reverse: bool = False
    clip: float | None = None
    state_clip: float | None = None
    gate_activation: str | Callable[[Tensor], Tensor] = "sigmoid"
    hidden_activation: str | Callable[[Tensor], Tensor] = "tanh"
    reset_after: bool = True
    mode: ClassVar[str] = "GRU"


@dataclass(eq=False, repr=False)
class LSTM(RNNBase):
    """Long short-term memory (Hochreiter and Schmidhuber, 1997). [t, b, in] -> [t, b, out], (h, c)

    input_size: features of a step
    hidden_size: features of the state
    num_layers: layers that run one over the other
    bias: add learned offsets
    batch_first: the batch is the first dim, and the steps the second
    dropout: the share of values dropped between layers
    bidirectional: a second direction runs from the end; the results are concatenated
    proj_size: features that the state is projected to; 0: no projection
    reverse: run from the end only; the results keep their places
    clip: the gates' inputs are limited to -clip .. clip, as in ONNX; None: no limit
    state_clip: the same for the state that a step makes, here of the cell
    gate_activation: of the input, forget and output gates
    cell_activation: of the candidate
    hidden_activation: of the cell at the output
    input_forget: the forget gate is 1 - the input gate; the weights then have no forget rows
    Raises ValueError for sizes below 1; for probabilities outside 0 to 1; for bounds that are not above 0;
        for unknown activations.

    Activations have ONNX's names (affine, elu, hardsigmoid, leakyrelu, relu, scaledtanh, sigmoid, softplus,
    softsign, tanh, thresholdedrelu), or are functions of a tensor, which are differentiated step by step.
    """

    input_size: int
    hidden_size: int
    num_layers: int = 1
    bias: bool = True
    batch_first: bool = False
    dropout: float = 0.0
    bidirectional: bool = False
    proj_size: int = 0
    device: DeviceLike | None = None
    dtype: DTypeLike | None = None
    _: KW_ONLY
    reverse: bool = False
    clip: float | None = None
    state_clip: float | None = None
    gate_activation: str | Callable[[Tensor], Tensor] = "sigmoid"
    cell_activation: str | Callable[[Tensor], Tensor] = "tanh"
    hidden_activation: str | Callable[[Tensor], Tensor] = "tanh"
    input_forget: bool = False
    mode: ClassVar[str] = "LSTM"

    def _sizes(self) -> list[int]:
        return [self.out_size, self.hidden_size]

    def _output_state(self, state: tuple[Tensor, ...]) -> Any:
        return state


class RNNCellBase(RecurrentModule):
    """Base of cells: the weights of one step, under PyTorch's names.

    input_size, hidden_size: features of a step and of the state; ValueError below 0 and 1.
    """

    mode = ""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: DeviceLike | None = None,
        dtype: DTypeLike | None = None,
    ):
        not_negative(type(self).__name__, input_size=input_size)
        positive(type(self).__name__, hidden_size=hidden_size)
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        gates = cell_of(self).gates * hidden_size
        self.weight_ih = new_parameter(gates, input_size, device=device)
        self.weight_hh = new_parameter(gates, hidden_size, device=device)
        self.bias_ih = new_parameter(gates, device=device) if bias else None
        self.bias_hh = new_parameter(gates, device=device) if bias else None
        self.reset_parameters()
        cast_layer(self, dtype)

    def _step(self, x: Tensor, start: list[Tensor | None]) -> list[Tensor]:
        """The states after one step. [b, in] or [in] -> [b, hidden] or [hidden]"""
        if x.ndim not in (1, 2) or x.shape[-1] != self.input_size:
            rule = f"takes 2 dims (or 1, without a batch) of which the last is {self.input_size}"
            raise ValueError(f"{type(self).__name__}({describe(x)}): {rule}: reshape it")
        lead = x.shape[:-1]
        for h in start:
            if h is not None and h.shape != (*lead, self.hidden_size):
                rule = f"the state must be {[*lead, self.hidden_size]}: pass this shape"
                raise ValueError(f"{type(self).__name__}({describe(x)}, {describe(h)}): {rule}")
        rows = [
            Tensor.zeros(*lead, self.hidden_size, dtype=x.dtype, device=x.device) if h is None else h
            for h in start
        ]
        # the visible state first, an LSTM's cell after it
        shown, *cell = (h.reshape(-1, self.hidden_size) for h in rows)
        # one step of a batch: [1, b, gates * hidden]
        gates = linear(x.reshape(1, *(lead or (1,)), self.input_size), self.weight_ih, self.bias_ih)
        s = Sequence(gates, self.weight_hh, shown, self.bias_hh, None, *cell)
        state = recurrence(cell_of(self), s)[0]
        return [state.select(-2, i).reshape(*lead, self.hidden_size) for i in range(len(rows))]

    def extra_repr(self) -> str:
        bias = "" if self.bias else ", bias=False"
        return f"{self.input_size}, {self.hidden_size}{bias}{_own_options(self)}"


class RNNCell(RNNCellBase):
    """One step of RNN. [b, in], [b, hidden] -> [b, hidden]

    input_size, hidden_size: features of a step and of the state
    nonlinearity: the activation of the state: an ONNX name, or a function of a tensor
    clip: the gates' inputs are limited to -clip .. clip, as in ONNX; None: no limit
    state_clip: the same for the state that a step makes
    Raises ValueError for an input_size below 0, a hidden_size below 1, bounds that are not above 0, and
        unknown activations.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str | Callable[[Tensor], Tensor] = "tanh",
        device: DeviceLike | None = None,
        dtype: DTypeLike | None = None,
        *,
        clip: float | None = None,
        state_clip: float | None = None,
    ):
        self.nonlinearity = nonlinearity
        self.clip, self.state_clip = clip, state_clip
        super().__init__(input_size, hidden_size, bias, device, dtype)

    @property
    def mode(self) -> str:  # type: ignore[override]
        """The kind of cell."""
        return rnn_mode(self.nonlinearity)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return self._step(input, [hx])[0]


class GRUCell(RNNCellBase):
    """One step of GRU. [b, in], [b, hidden] -> [b, hidden]

    input_size, hidden_size: features of a step and of the state
    clip: the gates' inputs are limited to -clip .. clip, as in ONNX; None: no limit
    state_clip: the same for the state that a step makes
    gate_activation: of the reset and update gates: an ONNX name, or a function of a tensor
    hidden_activation: of the candidate: an ONNX name, or a function of a tensor
    reset_after: apply the reset gate after the state's product, as PyTorch does; False: before it
    Raises ValueError for an input_size below 0, a hidden_size below 1, bounds that are not above 0, and
        unknown activations.
    """

    mode = "GRU"

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: DeviceLike | None = None,
        dtype: DTypeLike | None = None,
        *,
        clip: float | None = None,
        state_clip: float | None = None,
        gate_activation: str | Callable[[Tensor], Tensor] = "sigmoid",
        hidden_activation: str | Callable[[Tensor], Tensor] = "tanh",
        reset_after: bool = True,
    ):
        self.clip, self.state_clip, self.reset_after = clip, state_clip, reset_after
        self.gate_activation, self.hidden_activation = gate_activation, hidden_activation
        super().__init__(input_size, hidden_size, bias, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return self._step(input, [hx])[0]


class LSTMCell(RNNCellBase):
    """One step of LSTM. [b, in], ([b, hidden], [b, hidden]) -> ([b, hidden], [b, hidden])

    input_size, hidden_size: features of a step and of the state
    clip: the gates' inputs are limited to -clip .. clip, as in ONNX; None: no limit
    state_clip: the same for the state that a step makes, here of the cell
    gate_activation: of the input, forget and output gates: an ONNX name, or a function of a tensor
    cell_activation: of the candidate: an ONNX name, or a function of a tensor
    hidden_activation: of the cell at the output: an ONNX name, or a function of a tensor
    input_forget: the forget gate is 1 - the input gate
    Raises ValueError for an input_size below 0, a hidden_size below 1, bounds that are not above 0, and
        unknown activations.
    """

    mode = "LSTM"

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: DeviceLike | None = None,
        dtype: DTypeLike | None = None,
        *,
        clip: float | None = None,
        state_clip: float | None = None,
        gate_activation: str | Callable[[Tensor], Tensor] = "sigmoid",
        cell_activation: str | Callable[[Tensor], Tensor] = "tanh",
        hidden_activation: str | Callable[[Tensor], Tensor] = "tanh",
        input_forget: bool = False,
    ):
        self.clip, self.state_clip, self.input_forget = clip, state_clip, input_forget
        self.gate_activation, self.hidden_activation = gate_activation, hidden_activation
        self.cell_activation = cell_activation
        super().__init__(input_size, hidden_size, bias, device, dtype)

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        hidden, cell = self._step(input, [None, None] if hx is None else list(hx))
        return hidden, cell
