"""Recurrent layers: RNN, LSTM and GRU, with every activation, direction, layout and length that ONNX has."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ...functions import cat, stack, where
from ...nn import cells
from ...nn.cells import ACTIVATIONS, Activation, Cell, Sequence
from ...nn.recurrence import recurrence
from ...tensor import Tensor
from .quantized import dynamic_quantize_linear, matmul_integer
from .shape import reverse_sequence
from .table import operator


class RecurrentInputs(NamedTuple):
    """The inputs of LSTM; RNN and GRU have the first six."""

    x: Tensor  # [t, b, i]
    w: Tensor  # [directions, gates * h, i]
    r: Tensor  # [directions, gates * h, h]
    b: Tensor | None = None  # [directions, 2 * gates * h]
    lengths: Tensor | None = None  # [b]
    hidden: Tensor | None = None  # [directions, b, h]
    cell: Tensor | None = None  # [directions, b, h]
    peepholes: Tensor | None = None  # [directions, 3 * h]


class RecurrentAttributes(NamedTuple):
    """The attributes of recurrent layers, under ONNX's names."""

    activation_alpha: tuple[float, ...] | None = None
    activation_beta: tuple[float, ...] | None = None
    activations: tuple[str, ...] | None = None
    clip: float | None = None
    direction: str = "forward"
    hidden_size: int | None = None  # ignored: the size of r is used
    input_forget: int = 0
    layout: int = 0
    linear_before_reset: int = 0
    output_sequence: int = 1  # opset 1: whether Y is used, which the graph also says


DEFAULTS = {"RNN": ("Tanh",), "GRU": ("Sigmoid", "Tanh"), "LSTM": ("Sigmoid", "Tanh", "Tanh")}
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
ORDERS = {"LSTM": (0, 2, 3, 1), "GRU": (1, 0, 2), "RNN": (0,)}  # the order of gates in cells
COUPLED = (0, 3, 1)  # without the gate that an LSTM of input_forget does not read


def _activations(kind: str, a: RecurrentAttributes, directions: int) -> list[list[Activation]]:
    """Return the functions of each direction."""
    names = a.activations or DEFAULTS[kind] * directions
    each = len(DEFAULTS[kind])
    if len(names) not in (each * directions, each):
        raise ValueError(f"activations {list(names)}: takes {each} for each of {directions} directions")
    names = names * directions if len(names) == each else names
    alphas, betas = iter(a.activation_alpha or ()), iter(a.activation_beta or ())
    activations = [_activation(name, alphas, betas) for name in names]
    # clip bounds the inputs of gates and candidates; a cell's last activation reads the state unclipped
    activations = [cells.clip_arguments(f, a.clip) if k % each < 2 else f for k, f in enumerate(activations)]
    return [activations[i * each : (i + 1) * each] for i in range(directions)]


def _activation(name: str, alphas: Iterator[Any], betas: Iterator[Any]) -> Activation:
    """Return a function by name; those that take alpha and beta take the next of them."""
    usual = ACTIVATIONS.get(name.lower(), ((),))[0]
    return cells.activation(name, *(next(values, n) for values, n in zip((alphas, betas), usual)))


CELLS: dict[str, Callable[[list[Activation], RecurrentAttributes], Cell]] = {
    "RNN": lambda acts, a: cells.rnn(acts[0]),
    "GRU": lambda acts, a: cells.gru(
        cells.GruGates(acts[0], acts[1], reset_after=bool(a.linear_before_reset))
    ),
    "LSTM": lambda acts, a: cells.lstm(
        cells.LstmGates(acts[0], acts[1], acts[2], input_forget=bool(a.input_forget))
    ),
}


def _reorder(t: Tensor, order: tuple[int, ...], gates: int) -> Tensor:
    """Gates along dim 0 in another order."""
    # ONNX orders LSTM's gates i, o, f, c and GRU's z, r, h; cells (PyTorch) has i, f, c, o and r, z, h.
    parts = t.chunk(gates, 0)
    return t if order == tuple(range(gates)) else cat([parts[k] for k in order], 0)


def _order_weights(
    w: Tensor, r: Tensor, b: Tensor | None, kind: str, coupled: int, d: int
) -> tuple[Any, ...]:
    """Return a direction's weights and biases in the layout of cells."""
    gates, order = GATES[kind], COUPLED if coupled and kind == "LSTM" else ORDERS[kind]
    size = gates * r.shape[-1]
    biases = (None, None) if b is None else (b[d][:size], b[d][size:])
    return tuple(None if t is None else _reorder(t, order, gates) for t in (w[d], r[d], *biases))


def _sequence(i: RecurrentInputs, d: int, kind: str, x: Tensor, weights: tuple[Any, ...]) -> Sequence:
    """Return the Sequence of one direction; weights: the result of `_order_weights`."""
    w, r, of_input, of_state = weights
    none = Tensor.zeros(x.shape[1], r.shape[-1], dtype=x.dtype, device=x.device)
    # The product with x has no recurrence: one matrix product for all steps. [t, b, gates * h]
    gates = x @ w.transpose(0, 1)
    gates = gates if of_input is None else gates + of_input
    hidden, cell = (none if t is None else t[d] for t in (i.hidden, i.cell))
    peepholes = None if i.peepholes is None else i.peepholes[d].reshape(3, -1)
    cell = cell if kind == "LSTM" else None
    return Sequence(gates, r, hidden, of_state, cell=cell, peepholes=peepholes)


def _active_mask(i: RecurrentInputs) -> Tensor | None:
    """Return the mask of sequences that have not ended. -> [t, b, 1]"""
    if i.lengths is None:
        return None
    steps = Tensor.arange(i.x.shape[0], device=i.x.device).reshape(-1, 1, 1)
    return steps < i.lengths.reshape(1, -1, 1).long()


def _check(i: RecurrentInputs, kind: str, a: RecurrentAttributes) -> int:
    directions = {"forward": 1, "reverse": 1, "bidirectional": 2}.get(a.direction)
    if directions is None:
        raise ValueError(f"direction {a.direction!r} is unknown: use forward, reverse or bidirectional")
    expected_shape = (directions, GATES[kind] * i.r.shape[-1], i.r.shape[-1])
    if (
        i.x.ndim != 3
        or tuple(i.r.shape) != expected_shape
        or tuple(i.w.shape) != (*expected_shape[:2], i.x.shape[-1])
    ):
        raise ValueError(
            f"input {list(i.x.shape)}, W {list(i.w.shape)} and R {list(i.r.shape)} do not fit each other:"
            f" with this hidden size and direction {a.direction} R is {list(expected_shape)}"
        )
    return directions


def _layer(kind: str, inputs: tuple[Any, ...], attributes: dict[str, Any], node: Any) -> tuple[Tensor, ...]:
    """Run all directions. -> Y [t, directions, b, h], Y_h and, for LSTM, Y_c [directions, b, h]"""
    i, a = RecurrentInputs(*inputs), RecurrentAttributes(**attributes)
    if a.layout:
        i = i._replace(
            **{k: v.transpose(0, 1) for k in ("x", "hidden", "cell") if (v := getattr(i, k)) is not None}
        )
    directions, active = _check(i, kind, a), _active_mask(i)
    acts = _activations(kind, a, directions)
    parts: list[tuple[Tensor, Tensor, Tensor]] = []
    for d in range(directions):
        back = d == 1 or a.direction == "reverse"
        # A reversed sequence has its padding in front, where the mask keeps the initial state.
        x, flags = (t.flip(0) if back and t is not None else t for t in (i.x, active))
        weights = node.once(_order_weights, i.w, i.r, i.b, kind, a.input_forget, d, of=(1, 2, 3))
        s = _sequence(i, d, kind, x, weights)  # type: ignore[arg-type]
        s = s._replace(kept=None if flags is None else flags.unsqueeze(-1))
        # [t, b, kinds of state, h]: kind 0 is the hidden state, the last one LSTM's cell state
        states = recurrence(CELLS[kind](acts[d], a), s)
        hidden, last = states.select(-2, 0), states[-1]
        # the spec: outputs after the end of a sequence are 0
        y = hidden if flags is None else where(flags, hidden, 0.0)
        parts.append((y.flip(0) if back else y, last.select(-2, 0), last.select(-2, last.shape[-2] - 1)))
    y, last, cell = (stack([p[k] for p in parts], int(k == 0)) for k in range(3))
    if a.layout:
        y, last, cell = y.permute(2, 0, 1, 3), last.transpose(0, 1), cell.transpose(0, 1)
    return (y, last, cell) if kind == "LSTM" else (y, last)


def _enter(kind: str) -> None:
    @operator(kind)
    def layer(*inputs: Tensor, node: Any, **attributes: Any) -> tuple[Tensor, ...]:
        return _layer(kind, inputs, attributes, node)


for _kind in GATES:
    _enter(_kind)


class QuantizedInputs(NamedTuple):
    """The inputs of DynamicQuantizeLSTM: those of LSTM, with transposed 8-bit matrices."""

    x: Tensor
    w: Tensor  # [directions, i, 4 * h]
    r: Tensor  # [directions, h, 4 * h]
    b: Tensor | None
    lengths: Tensor | None
    hidden: Tensor | None
    cell: Tensor | None
    peepholes: Tensor | None
    w_scale: Tensor  # [directions], or one a column
    w_zero: Tensor
    r_scale: Tensor
    r_zero: Tensor


@operator("DynamicQuantizeLSTM", domain="com.microsoft", optional=True)
def dynamic_quantize_lstm(*inputs: Any, **attributes: Any) -> tuple[Tensor, ...]:
    """LSTM with 8-bit products: x is quantised once by its range, the state at each step by its own."""
    q, a = QuantizedInputs(*inputs), RecurrentAttributes(**attributes)
    i = RecurrentInputs(*q[:8])._replace(w=q.w.mT, r=q.r.mT)
    directions, active = _check(i, "LSTM", a), _active_mask(i)
    parts: list[tuple[Tensor, Tensor, Tensor]] = []
    acts, x = _activations("LSTM", a, directions), dynamic_quantize_linear(q.x)
    for d in range(directions):
        back = d == 1 or a.direction == "reverse"
        gates = _product(x, q.w[d], q.w_scale[d], q.w_zero[d])
        # b is [8 * h], input and recurrent biases; both are added once.
        gates = gates if q.b is None else gates + q.b[d].reshape(2, -1).sum(0)
        gates = _backward(gates, q.lengths) if back else gates
        y, hidden, cell = _stepwise(q, d, gates, active, CELLS["LSTM"](acts[d], a))
        parts.append((_backward(y, q.lengths) if back else y, hidden, cell))
    y, hidden, cell = (stack([p[k] for p in parts], int(k == 0)) for k in range(3))
    return y, hidden, cell


def _backward(x: Tensor, lengths: Tensor | None) -> Tensor:
    """Run sequences of different lengths backwards: those active at a step are quantised together."""
    return x.flip(0) if lengths is None else reverse_sequence(x, lengths)


def _product(x: tuple[Tensor, Tensor, Tensor], w: Tensor, scale: Tensor, zero: Tensor) -> Tensor:
    """Return the product of quantised numbers and an 8-bit matrix. [..., k], [k, n] -> [..., n]"""
    return matmul_integer(x[0], w, x[2], zero).float() * (x[1] * scale)


def _stepwise(q: QuantizedInputs, d: int, inputs: Tensor, kept: Tensor | None, cell: Cell) -> tuple[Any, ...]:
    """Return the outputs of all steps, and the last states, of one direction."""
    none = Tensor.zeros(inputs.shape[1], q.r.shape[1], device=inputs.device)
    hidden, state = (none if t is None else t[d] for t in (q.hidden, q.cell))
    peepholes = None if q.peepholes is None else q.peepholes[d].reshape(3, -1)
    # the gates already include the product with x
    no_more = Tensor.zeros(q.r.shape[2], q.r.shape[1], device=inputs.device)
    rows: list[Tensor] = []
    for t in range(inputs.shape[0]):
        before = rows[-1] if rows else hidden  # 0 for sequences that have ended
        product = _product(dynamic_quantize_linear(before), q.r[d], q.r_scale[d], q.r_zero[d])
        gates = (inputs[t] + product).chunk(4, -1)
        step = cat([gates[k] for k in ORDERS["LSTM"]], -1).unsqueeze(0)
        s = Sequence(step, no_more, hidden, None, cell=state, peepholes=peepholes)
        states = recurrence(cell, s._replace(kept=None if kept is None else kept[t : t + 1].unsqueeze(-1)))[0]
        hidden, state = states.select(-2, 0), states.select(-2, states.shape[-2] - 1)
        rows.append(hidden if kept is None else where(kept[t], hidden, 0.0))
    return stack(rows), hidden, state
