"""The step of each recurrent layer: the new state from the gates, and the factors of its gradients."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from ..core import dtype as dt
from ..errors import ValueError
from ..ops.activation import elu, leaky_relu, softplus, softsign, thresholded_relu
from ..ops.creation import full_like
from ..tensor import Tensor


class Sequence(NamedTuple):
    """The inputs and weights of a recurrence; hidden is the size of a state, out that of its output."""

    gates: Tensor  # the input's contribution to all gates, [t, b, gates * hidden]
    weight: Tensor  # from the output of a state to the gates, [gates * hidden, out]
    shown: Tensor  # before the first step, [b, out]
    bias: Tensor | None = None  # of weight, [gates * hidden]
    # projection from the hidden state to the output, [out, hidden]; None: the output is the state
    project: Tensor | None = None
    cell: Tensor | None = None  # before the first step, [b, hidden]
    kept: Tensor | None = None  # which rows have not ended, [t, b, 1, 1]; the others keep their state
    # peepholes of an LSTM: from the cell to the input, output and forget gates, [3, hidden]
    peepholes: Tensor | None = None


class Slopes(NamedTuple):
    """The factors [t, b, 1, hidden] by which a step's gradients follow from those of its new state.

    rows: factors of the gradient of the hidden part or, where `of` has a 1, of the cell; the first ones are
    of the state's gates. input_rows: those of the input's gates. carries: the row of the old state's hidden
    part, and that of the old cell. across: the derivative of the new hidden part with respect to the new
    cell.
    """

    rows: list[Tensor]
    of: tuple[int, ...]
    input_rows: tuple[int, ...]
    carries: tuple[int | None, int | None]
    across: Tensor | None = None


class Cell(NamedTuple):
    """A kind of recurrent layer. A state is [..., parts, hidden]: the hidden state, then the cell.

    step(gates, shown, state, s) -> the new state, from the input's contribution to the gates [..., gates,
    hidden], the previous output `shown` and the previous state; slopes(gates, shown, state, new, s) ->
    Slopes, of all steps at once. Without slopes, backward differentiates the ops of each step.
    """

    name: str
    gates: int
    step: Callable[[Tensor, Tensor, Tensor, Sequence], Tensor]
    slopes: Callable[[Tensor, Tensor, Tensor, Tensor, Sequence], Slopes] | None


def gate(x: Tensor, i: int) -> Tensor:
    """Select a row. [..., rows, n] -> [..., 1, n]"""
    return x.narrow(-2, i, 1)


def under_each_other(parts: list[Tensor]) -> Tensor:
    """Stack parts [..., 1, n] in one value, which one kernel stores. -> [..., parts, n]"""
    # a select by position, so that one kernel stores all parts
    place, out = Tensor.arange(len(parts), dtype=dt.int32, device=parts[0].device).unsqueeze(1), parts[-1]
    for i, part in enumerate(parts[:-1]):
        out = (place == i).where(part, out)
    return out


def by_gate(x: Tensor, gates: int) -> Tensor:
    """[..., gates * hidden] -> [..., gates, hidden]"""
    return x.reshape(*x.shape[:-1], gates, x.shape[-1] // gates)


def own_gates(shown: Tensor, s: Sequence, gates: int) -> Tensor:
    """The state's contribution to the gates. [..., out] -> [..., gates, hidden]"""
    product = shown @ s.weight.transpose(0, 1)
    return by_gate(product if s.bias is None else product + s.bias, gates)


# --- activations ---


class Activation(NamedTuple):
    """An elementwise function and its derivative as a function of input and output; None if it is unknown."""

    function: Callable[[Tensor], Tensor]
    slope: Callable[[Tensor, Tensor], Tensor] | None = None

    def derivative(self, x: Tensor, y: Tensor) -> Tensor:
        """The derivative at x, where the function is y."""
        assert self.slope is not None, "the derivative of this cell is not defined"
        return self.slope(x, y)


def _affine(x: Tensor, a: float, b: float) -> Tensor:
    return x * a + b


def _affine_slope(x: Tensor, y: Tensor, a: float, b: float) -> Tensor:
    return full_like(x, a)  # the shape of x, the derivative a


def _hard_sigmoid(x: Tensor, a: float, b: float) -> Tensor:
    return (x * a + b).clamp(0, 1)


def _hard_sigmoid_slope(x: Tensor, y: Tensor, a: float, b: float) -> Tensor:
    return ((y > 0) & (y < 1)).where(a, 0.0)  # at the bends 0, as clamp's is not


def _scaled_tanh(x: Tensor, a: float, b: float) -> Tensor:
    return (x * b).tanh() * a


def _scaled_tanh_slope(x: Tensor, y: Tensor, a: float, b: float) -> Tensor:
    inner = (x * b).tanh()
    return a * b * (1 - inner * inner)


# by ONNX's names: the defaults of alpha and beta, the function, and its derivative
_PLAIN: dict[str, tuple[Callable[[Tensor], Tensor], Callable[[Tensor, Tensor], Tensor]]] = {
    "relu": (Tensor.relu, lambda x, y: (y > 0).where(1.0, 0.0)),
    "sigmoid": (Tensor.sigmoid, lambda x, y: y * (1 - y)),
    "softplus": (softplus, lambda x, y: x.sigmoid()),
    "softsign": (softsign, lambda x, y: 1 / (1 + x.abs()).square()),
    "tanh": (Tensor.tanh, lambda x, y: 1 - y * y),
}
_OF_ALPHA: dict[
    str, tuple[float, Callable[[Tensor, float], Tensor], Callable[[Tensor, Tensor, float], Tensor]]
] = {
    "elu": (1.0, elu, lambda x, y, a: (x > 0).where(1.0, y + a)),
    "leakyrelu": (0.01, leaky_relu, lambda x, y, a: (x > 0).where(1.0, a)),
    "thresholdedrelu": (1.0, thresholded_relu, lambda x, y, a: (x > a).where(1.0, 0.0)),
}
_TABLE: dict[str, tuple[tuple[float, ...], Callable[..., Tensor], Callable[..., Tensor]]] = {
    "affine": ((1.0, 0.0), _affine, _affine_slope),
    **{name: ((alpha,), f, slope) for name, (alpha, f, slope) in _OF_ALPHA.items()},
    "hardsigmoid": ((0.2, 0.5), _hard_sigmoid, _hard_sigmoid_slope),
    "scaledtanh": ((1.0, 1.0), _scaled_tanh, _scaled_tanh_slope),
    **{name: ((), f, slope) for name, (f, slope) in _PLAIN.items()},
}
ACTIVATIONS = dict(sorted(_TABLE.items()))


def activation(name: str, *numbers: float) -> Activation:
    """An activation by name, which takes its parameters from the front of `numbers`. ValueError for an
    unknown name."""
    if name.lower() not in ACTIVATIONS:
        raise ValueError(f"activation {name!r} is unknown: use one of {', '.join(ACTIVATIONS)}")
    usual, function, slope = ACTIVATIONS[name.lower()]
    numbers = (*numbers, *usual[len(numbers) :])  # missing numbers have ONNX's defaults
    if not numbers:
        return Activation(function, slope)

    def apply(x: Tensor) -> Tensor:
        return function(x, *numbers)

    def slope_at(x: Tensor, y: Tensor) -> Tensor:
        return slope(x, y, *numbers)

    return Activation(apply, slope_at)


def _clip_to(x: Tensor, bound: float | None) -> Tensor:
    return x if bound is None else x.clamp(-bound, bound)


def clip_arguments(a: Activation, bound: float | None) -> Activation:
    """The function with its argument clamped to [-bound, bound]."""
    if bound is None:
        return a
    slope = a.slope
    if slope is not None:
        slope = partial(_clipped_slope, slope, bound)

    def apply(x: Tensor) -> Tensor:
        return a.function(_clip_to(x, bound))

    return Activation(apply, slope)


def _clipped_slope(slope: Callable[[Tensor, Tensor], Tensor], bound: float, x: Tensor, y: Tensor) -> Tensor:
    # outside the bounds the argument is constant
    return (x.abs() <= bound).where(slope(_clip_to(x, bound), y), 0.0)


def _pass_inside_bounds(x: Tensor, bound: float | None) -> Callable[[Tensor], Tensor]:
    """Set the factors to 0 where the value was clamped to its bounds."""
    return (lambda row: row) if bound is None else (lambda row: (x.abs() <= bound).where(row, 0.0))


# --- the cells ---


def rnn(act: Activation, state_clip: float | None = None) -> Cell:
    """The cell of RNN: one gate, whose value is the new state."""

    def step(gates: Tensor, shown: Tensor, state: Tensor, s: Sequence) -> Tensor:
        return _clip_to(act.function(gates + own_gates(shown, s, 1)), state_clip)

    def slopes(gates: Tensor, shown: Tensor, state: Tensor, new: Tensor, s: Sequence) -> Slopes:
        x = gates + own_gates(shown, s, 1)
        y = new if state_clip is None else act.function(x)
        return Slopes([_pass_inside_bounds(y, state_clip)(act.derivative(x, y))], (0,), (0,), (None, None))

    return Cell("rnn", 1, step, slopes if act.slope else None)


class LstmGates(NamedTuple):
    """The activations of an LSTM; clip bounds the gates' inputs, state_clip the new cell."""

    gate: Activation
    cell: Activation
    hidden: Activation
    state_clip: float | None = None
    input_forget: bool = False  # forget = 1 - input: there is no separate forget gate


class _Opened(NamedTuple):
    """The inputs of an LSTM's input, forget, candidate and output gates, and their values."""

    before: list[Tensor]
    i: Tensor
    f: Tensor
    g: Tensor
    cell: Tensor  # before it is clipped
    new: Tensor


def lstm(options: LstmGates) -> Cell:
    """The cell of LSTM: input, forget, candidate and output gates, in PyTorch's order."""
    coupled = options.input_forget
    count = 4 - coupled

    def open_gates(gates: Tensor, shown: Tensor, state: Tensor, s: Sequence) -> _Opened:
        # own_gates is a product of all gates at once; `old` is the cell before the step.
        x, old = gates + own_gates(shown, s, count), gate(state, 1)
        i, *f, g, o = (gate(x, k) for k in range(count))
        if s.peepholes is not None:
            # Peepholes: the gates also see the cell, the output gate the new one (Gers and Schmidhuber,
            # 2000).
            i = i + s.peepholes[0] * old
            f = [each + s.peepholes[2] * old for each in f]
        taken = options.gate.function(i)
        forget = 1 - taken if coupled else options.gate.function(f[0])
        candidate = options.cell.function(g)
        cell = forget * old + taken * candidate
        new = _clip_to(cell, options.state_clip)
        o = o if s.peepholes is None else o + s.peepholes[1] * new
        return _Opened([i, *f, g, o], taken, forget, candidate, cell, new)

    def step(gates: Tensor, shown: Tensor, state: Tensor, s: Sequence) -> Tensor:
        v = open_gates(gates, shown, state, s)
        return under_each_other([options.gate.function(v.before[-1]) * options.hidden.function(v.new), v.new])

    def slopes(gates: Tensor, shown: Tensor, state: Tensor, new: Tensor, s: Sequence) -> Slopes:
        # c' = f c + i g and h = o act(c'). The rows are the derivatives of c' with respect to the gates i,
        # f and g, of h with respect to o, and of c' with respect to c.
        v, old, cell = open_gates(gates, shown, state, s), gate(state, 1), gate(new, 1)
        bent, o = options.hidden.function(cell), options.gate.function(v.before[-1])
        slope_i, slope_o = options.gate.derivative(v.before[0], v.i), options.gate.derivative(v.before[-1], o)
        taken = (
            [(v.g - old) * slope_i]
            if coupled
            else [v.g * slope_i, old * options.gate.derivative(v.before[1], v.f)]
        )
        taken.append(v.i * options.cell.derivative(v.before[-2], v.g))
        passed = _pass_inside_bounds(v.cell, options.state_clip)
        rows, of = [*map(passed, taken), bent * slope_o, passed(v.f)], (1,) * (count - 1) + (0, 1)
        return Slopes(rows, of, tuple(range(count)), (None, count), o * options.hidden.derivative(cell, bent))

    has_slopes = all(a.slope for a in options[:3])
    return Cell("lstm", count, step, slopes if has_slopes else None)


class GruGates(NamedTuple):
    """The activations of a GRU; state_clip bounds the new state."""

    gate: Activation
    hidden: Activation
    state_clip: float | None = None
    # whether the reset gate multiplies the product with the state, not the state itself
    reset_after: bool = True


def gru(options: GruGates) -> Cell:
    """The cell of GRU: reset, update and candidate gates, in PyTorch's order."""
    return _gru(options) if options.reset_after else _gru_that_resets_before(options)


def _gru(options: GruGates) -> Cell:
    def open_gates(gates: Tensor, shown: Tensor, s: Sequence) -> tuple[Tensor, ...]:
        own = own_gates(shown, s, 3)
        of_r, of_z = (gate(gates, k) + gate(own, k) for k in range(2))
        r = options.gate.function(of_r)
        of_n = gate(gates, 2) + r * gate(own, 2)
        return of_r, of_z, of_n, r, options.gate.function(of_z), options.hidden.function(of_n), gate(own, 2)

    def step(gates: Tensor, shown: Tensor, state: Tensor, s: Sequence) -> Tensor:
        *_, z, n, _ = open_gates(gates, shown, s)
        return _clip_to((1 - z) * n + z * state, options.state_clip)

    def slopes(gates: Tensor, shown: Tensor, state: Tensor, new: Tensor, s: Sequence) -> Slopes:
        # h' = (1 - z) n + z h with n = act(x_n + r own). The rows are the derivatives of h' with respect to
        # the gates r and z, own, the old state h and x_n.
        of_r, of_z, of_n, r, z, n, own = open_gates(gates, shown, s)
        of_new, slope = (1 - z) * options.hidden.derivative(of_n, n), options.gate.derivative
        rows = [of_new * own * slope(of_r, r), (state - n) * slope(of_z, z), of_new * r, z, of_new]
        passed = _pass_inside_bounds((1 - z) * n + z * state, options.state_clip)
        return Slopes([*map(passed, rows)], (0,) * 5, (0, 1, 4), (3, None))

    return Cell("gru", 3, step, slopes if options.gate.slope and options.hidden.slope else None)


def _gru_that_resets_before(options: GruGates) -> Cell:
    """The GRU of reset_after=False: the candidates are a second product, of the reset state. A step takes two
    products and two kernels."""

    def part(shown: Tensor, s: Sequence, begin: int, gates: int) -> Tensor:
        # The rows of the weight that belong to the gates `begin` to `begin + gates`.
        n = shown.shape[-1]
        bias = None if s.bias is None else s.bias.narrow(0, begin * n, gates * n)
        return own_gates(shown, s._replace(weight=s.weight.narrow(0, begin * n, gates * n), bias=bias), gates)

    def step(gates: Tensor, shown: Tensor, state: Tensor, s: Sequence) -> Tensor:
        both = options.gate.function(gates.narrow(-2, 0, 2) + part(shown, s, 0, 2))
        r, z = gate(both, 0), gate(both, 1)
        n = options.hidden.function(gate(gates, 2) + part(r.squeeze(-2) * shown, s, 2, 1))
        return _clip_to((1 - z) * n + z * state, options.state_clip)

    return Cell("gru", 3, step, None)
