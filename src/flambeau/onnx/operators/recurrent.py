"""Recurrent layers: RNN, LSTM and GRU, with every activation, direction, layout and length that ONNX has."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ...functions import cat, stack, where
from ...nn import functional as F
from ...nn.recurrence import Sequence, recurrence
from ...runtime.run import realize
from ...tensor import Tensor
from .table import operator

PIECE = 32  # steps of the general way that are planned together


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
    """What recurrent layers say, under ONNX's names."""

    activation_alpha: tuple[float, ...] | None = None
    activation_beta: tuple[float, ...] | None = None
    activations: tuple[str, ...] | None = None
    clip: float | None = None
    direction: str = "forward"
    hidden_size: int | None = None  # that of r, which is what is read
    input_forget: int = 0
    layout: int = 0
    linear_before_reset: int = 0
    output_sequence: int = 1  # of opset 1: whether anybody asks for Y, which the graph says too


class Direction(NamedTuple):
    """One direction of a layer."""

    w: Tensor  # [gates * h, i]
    r: Tensor  # [gates * h, h]
    of_input: Tensor | None  # bias, [gates * h]
    of_state: Tensor | None  # bias, [gates * h]
    hidden: Tensor  # [b, h]
    cell: Tensor  # [b, h]
    peepholes: tuple[Tensor, ...] | None  # of i, o and f, [h] each


Activation = Callable[[Tensor], Tensor]
# name -> how many of alpha and beta it takes, their defaults, and the function
ACTIVATIONS: dict[str, tuple[int, tuple[float, ...], Callable[..., Tensor]]] = {
    "affine": (2, (1.0, 0.0), lambda x, a, b: x * a + b),
    "elu": (1, (1.0,), lambda x, a: F.elu(x, a)),
    "hardsigmoid": (2, (0.2, 0.5), lambda x, a, b: (x * a + b).clamp(0, 1)),
    "leakyrelu": (1, (0.01,), lambda x, a: F.leaky_relu(x, a)),
    "relu": (0, (), lambda x: F.relu(x)),
    "scaledtanh": (2, (1.0, 1.0), lambda x, a, b: (x * b).tanh() * a),
    "sigmoid": (0, (), lambda x: x.sigmoid()),
    "softplus": (0, (), lambda x: F.softplus(x)),
    "softsign": (0, (), lambda x: F.softsign(x)),
    "tanh": (0, (), lambda x: x.tanh()),
    "thresholdedrelu": (1, (1.0,), lambda x, a: F.thresholded_relu(x, a)),
}
DEFAULTS = {"RNN": ("Tanh",), "GRU": ("Sigmoid", "Tanh"), "LSTM": ("Sigmoid", "Tanh", "Tanh")}
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
# layer -> the recurrence of nn that computes its plain form, and the order of its gates there
PLAIN = {"LSTM": ("LSTM", (0, 2, 3, 1)), "GRU": ("GRU", (1, 0, 2)), "RNN": ("RNN_TANH", (0,))}


def _activations(kind: str, a: RecurrentAttributes, directions: int) -> list[list[Activation]]:
    """The functions of each direction."""
    names = a.activations or DEFAULTS[kind] * directions
    each = len(DEFAULTS[kind])
    if len(names) not in (each * directions, each):
        raise ValueError(f"activations {list(names)}: takes {each} for each of {directions} directions")
    names = names * directions if len(names) == each else names
    alphas, betas = iter(a.activation_alpha or ()), iter(a.activation_beta or ())
    # clip holds what goes into gates and candidates; a cell's last activation reads the state as it is
    clips = [a.clip if k % each < 2 else None for k in range(len(names))]
    found = [_activation(name, alphas, betas, clip) for name, clip in zip(names, clips, strict=True)]
    return [found[i * each : (i + 1) * each] for i in range(directions)]


def _activation(name: str, alphas: Iterator, betas: Iterator, clip: float | None) -> Activation:
    """A function by name; those that take alpha and beta take the next of them."""
    if name.lower() not in ACTIVATIONS:
        raise ValueError(f"activation {name!r} is unknown: use one of {', '.join(ACTIVATIONS)}")
    takes, defaults, compute = ACTIVATIONS[name.lower()]
    given = [next(values, default) for values, default in zip((alphas, betas)[:takes], defaults)]
    return lambda x: compute(x if clip is None else x.clamp(-clip, clip), *given)


# --- one step ---


def _rnn_step(given: Tensor, h: Tensor, c: Tensor, s: Direction, acts: list, a: Any) -> tuple:
    return acts[0](given + _of_state(h, s)), c


def _of_state(h: Tensor, s: Direction) -> Tensor:
    made = h @ s.r.transpose(0, 1)
    return made if s.of_state is None else made + s.of_state


def _gru_step(given: Tensor, h: Tensor, c: Tensor, s: Direction, acts: list, a: Any) -> tuple:
    n = h.shape[-1]
    if a.linear_before_reset:
        own = _of_state(h, s)
        z, r = (acts[0](given[:, k : k + n] + own[:, k : k + n]) for k in (0, n))
        made = acts[1](given[:, 2 * n :] + r * own[:, 2 * n :])
    else:
        gates = s._replace(r=s.r[: 2 * n], of_state=None if s.of_state is None else s.of_state[: 2 * n])
        own = _of_state(h, gates)
        z, r = (acts[0](given[:, k : k + n] + own[:, k : k + n]) for k in (0, n))
        rest = s._replace(r=s.r[2 * n :], of_state=None if s.of_state is None else s.of_state[2 * n :])
        made = acts[1](given[:, 2 * n :] + _of_state(r * h, rest))
    return (1 - z) * made + z * h, c


def _lstm_step(
    given: Tensor, h: Tensor, c: Tensor, s: Direction, acts: list, a: Any
) -> tuple[Tensor, Tensor]:
    gates = given + _of_state(h, s)
    n = h.shape[-1]
    i, o, f, g = (gates[:, k * n : (k + 1) * n] for k in range(4))
    if s.peepholes is not None:
        i, f = i + s.peepholes[0] * c, f + s.peepholes[2] * c
    i = acts[0](i)
    f = 1 - i if a.input_forget else acts[0](f)
    c = f * c + i * acts[1](g)
    o = o if s.peepholes is None else o + s.peepholes[1] * c
    return acts[0](o) * acts[2](c), c


STEPS = {"RNN": _rnn_step, "GRU": _gru_step, "LSTM": _lstm_step}


# --- all steps ---


def _is_plain(kind: str, acts: tuple[str, ...], a: RecurrentAttributes, s: Direction) -> bool:
    """Whether nn's recurrence computes it."""
    named = tuple(name.lower() for name in acts)
    usual = named == tuple(name.lower() for name in DEFAULTS[kind])
    special = a.clip is not None or a.input_forget or s.peepholes is not None
    return usual and not special and (kind != "GRU" or bool(a.linear_before_reset))


def _reordered(t: Tensor, order: tuple[int, ...]) -> Tensor:
    """Gates along dim 0 in another order."""
    parts = t.chunk(len(order), 0)
    return t if order == tuple(range(len(order))) else cat([parts[k] for k in order], 0)


def _ordered(w: Tensor, r: Tensor, b: Tensor | None, kind: str, d: int) -> tuple[Any, ...]:
    """A direction's weights and biases as nn's recurrence has them."""
    size, order = GATES[kind] * r.shape[-1], PLAIN[kind][1]
    biases = (None, None) if b is None else (b[d][:size], b[d][size:])
    return tuple(None if t is None else _reordered(t, order) for t in (w[d], r[d], *biases))


def _by_recurrence(
    kind: str, x: Tensor, s: Direction, kept: Tensor | None, weights: tuple
) -> tuple[Tensor, Tensor]:
    """The plain form; weights: the direction's, `_ordered`. -> states and cells [t, b, h]"""
    name, (w, r, of_input, of_state) = PLAIN[kind][0], weights
    given = x @ w.transpose(0, 1)
    given = given if of_input is None else given + of_input
    cell = s.cell if kind == "LSTM" else None
    flags = None if kept is None else kept.unsqueeze(-1)
    states = recurrence(name, Sequence(given, r, s.hidden, of_state, None, cell, flags))
    return states.select(-2, 0), states.select(-2, states.shape[-2] - 1)


def _by_steps(
    kind: str, x: Tensor, s: Direction, kept: Tensor | None, how: tuple[list, RecurrentAttributes]
) -> tuple[Tensor, Tensor]:
    """Step by step. -> states and cells [t, b, h]"""
    given = x @ s.w.transpose(0, 1)
    given = given if s.of_input is None else given + s.of_input
    h, c, made = s.hidden, s.cell, []
    for t, part in enumerate(given.unbind(0)):
        new_h, new_c = STEPS[kind](part, h, c, s, *how)
        h, c = (new_h, new_c) if kept is None else (where(kept[t], new_h, h), where(kept[t], new_c, c))
        made.append((h, c))
        if len(made) % PIECE == 0:
            realize(*(v for pair in made[-PIECE:] for v in pair))
    return stack([h for h, _ in made]), stack([c for _, c in made])


def _direction(i: RecurrentInputs, d: int, kind: str) -> Direction:
    """The weights and the first states of one direction."""
    batch, size, gates = i.x.shape[1], i.r.shape[-1], GATES[kind]
    none = Tensor.zeros(batch, size, dtype=i.x.dtype, device=i.x.device)
    biases = (None, None) if i.b is None else (i.b[d][: gates * size], i.b[d][gates * size :])
    hidden, cell = (none if t is None else t[d] for t in (i.hidden, i.cell))
    peepholes = None if i.peepholes is None else tuple(i.peepholes[d].chunk(3, 0))
    return Direction(i.w[d], i.r[d], *biases, hidden, cell, peepholes)


def _kept(i: RecurrentInputs) -> Tensor | None:
    """Which sequences still run. -> [t, b, 1]"""
    if i.lengths is None:
        return None
    steps = Tensor.arange(i.x.shape[0], device=i.x.device).reshape(-1, 1, 1)
    return steps < i.lengths.reshape(1, -1, 1).long()


def _check(i: RecurrentInputs, kind: str, a: RecurrentAttributes) -> int:
    directions = {"forward": 1, "reverse": 1, "bidirectional": 2}.get(a.direction)
    if directions is None:
        raise ValueError(f"direction {a.direction!r} is unknown: use forward, reverse or bidirectional")
    wanted = (directions, GATES[kind] * i.r.shape[-1], i.r.shape[-1])
    if i.x.ndim != 3 or tuple(i.r.shape) != wanted or tuple(i.w.shape) != (*wanted[:2], i.x.shape[-1]):
        raise ValueError(
            f"input {list(i.x.shape)}, W {list(i.w.shape)} and R {list(i.r.shape)} do not fit each other:"
            f" with this hidden size and direction {a.direction} R is {list(wanted)}"
        )
    return directions


def _layer(kind: str, inputs: tuple, attributes: dict[str, Any], node: Any) -> tuple[Tensor, ...]:
    """All directions. -> Y [t, directions, b, h], Y_h and, of LSTM, Y_c [directions, b, h]"""
    i, a = RecurrentInputs(*inputs), RecurrentAttributes(**attributes)
    if a.layout:
        i = i._replace(
            **{k: v.transpose(0, 1) for k in ("x", "hidden", "cell") if (v := getattr(i, k)) is not None}
        )
    directions, kept = _check(i, kind, a), _kept(i)
    acts = _activations(kind, a, directions)
    names = a.activations or DEFAULTS[kind] * directions
    each, made = len(DEFAULTS[kind]), []
    for d in range(directions):
        back = d == 1 or a.direction == "reverse"
        x, flags = (t.flip(0) if back and t is not None else t for t in (i.x, kept))
        s = _direction(i, d, kind)
        own = (names * directions)[d * each : (d + 1) * each]
        if _is_plain(kind, own, a, s):
            weights = node.once(_ordered, i.w, i.r, i.b, kind, d, of=(1, 2, 3))
            hidden, cells = _by_recurrence(kind, x, s, flags, weights)  # type: ignore[arg-type]
        else:
            hidden, cells = _by_steps(kind, x, s, flags, (acts[d], a))  # type: ignore[arg-type]
        y = hidden if flags is None else where(flags, hidden, 0.0)
        made.append((y.flip(0) if back else y, hidden[-1], cells[-1]))
    y, last, cell = (stack([m[k] for m in made], k == 0) for k in range(3))
    if a.layout:
        y, last, cell = y.permute(2, 0, 1, 3), last.transpose(0, 1), cell.transpose(0, 1)
    return (y, last, cell) if kind == "LSTM" else (y, last)


def _enter(kind: str) -> None:
    @operator(kind)
    def layer(*inputs: Tensor, node: Any, **attributes: Any) -> tuple[Tensor, ...]:
        return _layer(kind, inputs, attributes, node)


for _kind in GATES:
    _enter(_kind)
