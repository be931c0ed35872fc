"""Steps of recurrent layers in order: one product and one kernel a step, both ways.

What the input gives to all steps is one product before the first of them. A step is the product of the last
hidden state with the weights, to which the input's part is added as it is stored, and a kernel of all gates
and states. On the way back the gates of all steps come of one product over the hidden states that were
stored, and with them the factors of each step's gradients, which are linear: a step is one kernel that
multiplies, and one product. The weights' gradients are one product over all steps, not one a step.
"""

from collections.abc import Callable
from typing import NamedTuple

from ..core import dtype as dt
from ..core.autocast import ruled
from ..core.declare import stand_for
from ..core.modes import no_grad
from ..core.op import Op
from ..ops.join import cat, stack
from ..runtime.run import realize
from ..tensor import Tensor, tensor

PIECE = 32  # steps that are planned together


class Sequence(NamedTuple):
    """What a recurrence runs over; hidden is the size of a state, out that of what it shows."""

    given: Tensor  # the input's part of all gates, [t, b, gates * hidden]
    weight: Tensor  # from the state that is shown to the gates, [gates * hidden, out]
    shown: Tensor  # before the first step, [b, out]
    bias: Tensor | None = None  # of weight, [gates * hidden]
    project: Tensor | None = None  # from a state to what it shows, [out, hidden]; without, it is shown itself
    cell: Tensor | None = None  # before the first step, [b, hidden]
    kept: Tensor | None = None  # which rows still run, [t, b, 1, 1]; the others keep their state


class Slopes(NamedTuple):
    """How the gradients of a step follow from those of its new state, by factors [t, b, 1, hidden].

    rows: factors of the gradient of the hidden part or, where `of` has a 1, of the cell; the first ones are
    of the state's gates. given: which rows are of the input's gates. carries: which row is of the old state's
    hidden part, which of the old cell. across: of the new cell by the new hidden part.
    """

    rows: list[Tensor]
    of: tuple[int, ...]
    given: tuple[int, ...]
    carries: tuple[int | None, int | None]
    across: Tensor | None = None


class Cell(NamedTuple):
    """A kind of recurrent layer. A state is [..., parts, hidden]: what is shown or projected, then the cell.

    step(gates, own, state) -> the new state, of the input's and the state's own gates [..., gates, hidden];
    slopes(gates, own, state, new) -> Slopes, of all steps at once.
    """

    gates: int
    step: Callable[[Tensor, Tensor, Tensor], Tensor]
    slopes: Callable[[Tensor, Tensor, Tensor, Tensor], Slopes]


def _gate(x: Tensor, i: int) -> Tensor:
    return x.narrow(-2, i, 1)


def _rows(parts: list[Tensor]) -> Tensor:
    """Parts [..., 1, n] under each other as one value, which one kernel stores. -> [..., parts, n]"""
    place, out = Tensor.arange(len(parts), dtype=dt.int32, device=parts[0].device).unsqueeze(1), parts[-1]
    for i, part in enumerate(parts[:-1]):
        out = (place == i).where(part, out)
    return out


# --- the cells ---


def _plain(name: str) -> Cell:
    def step(gates: Tensor, own: Tensor, state: Tensor) -> Tensor:
        return getattr(gates + own, name)()

    def slopes(gates: Tensor, own: Tensor, state: Tensor, new: Tensor) -> Slopes:
        factor = 1 - new * new if name == "tanh" else (new > 0).to(new.dtype)
        return Slopes([factor], (0,), (0,), (None, None))

    return Cell(1, step, slopes)


def _lstm_gates(gates: Tensor, own: Tensor) -> tuple[Tensor, ...]:
    i, f, g, o = (_gate(gates + own, k) for k in range(4))
    return i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()


def _lstm_step(gates: Tensor, own: Tensor, state: Tensor) -> Tensor:
    i, f, g, o = _lstm_gates(gates, own)
    cell = f * _gate(state, 1) + i * g
    return _rows([o * cell.tanh(), cell])


def _lstm_slopes(gates: Tensor, own: Tensor, state: Tensor, new: Tensor) -> Slopes:
    i, f, g, o = _lstm_gates(gates, own)
    bent = _gate(new, 1).tanh()
    rows = [g * i * (1 - i), _gate(state, 1) * f * (1 - f), i * (1 - g * g), bent * o * (1 - o), f]
    return Slopes(rows, (1, 1, 1, 0, 1), (0, 1, 2, 3), (None, 4), o * (1 - bent * bent))


def _gru_gates(gates: Tensor, own: Tensor) -> tuple[Tensor, ...]:
    r = (_gate(gates, 0) + _gate(own, 0)).sigmoid()
    z = (_gate(gates, 1) + _gate(own, 1)).sigmoid()
    return r, z, (_gate(gates, 2) + r * _gate(own, 2)).tanh()


def _gru_step(gates: Tensor, own: Tensor, state: Tensor) -> Tensor:
    _, z, n = _gru_gates(gates, own)
    return (1 - z) * n + z * state


def _gru_slopes(gates: Tensor, own: Tensor, state: Tensor, new: Tensor) -> Slopes:
    r, z, n = _gru_gates(gates, own)
    of_new = (1 - z) * (1 - n * n)
    rows = [of_new * _gate(own, 2) * r * (1 - r), (state - n) * z * (1 - z), of_new * r, z, of_new]
    return Slopes(rows, (0,) * 5, (0, 1, 4), (3, None))


CELLS = {
    "RNN_TANH": _plain("tanh"),
    "RNN_RELU": _plain("relu"),
    "LSTM": Cell(4, _lstm_step, _lstm_slopes),
    "GRU": Cell(3, _gru_step, _gru_slopes),
}


# --- the way forward ---


@ruled
def recurrence(kind: str, s: Sequence) -> Tensor:
    """The states after all steps, differentiable as often as is asked. -> [t, b, parts, hidden]"""
    cell, size, present = CELLS[kind], len(s), [i for i, t in enumerate(s) if t is not None]
    with no_grad():
        lowered = stack(_states(cell, s))

    def gradients(g: Tensor, y: Tensor, *inputs: Tensor) -> list[Tensor | None]:
        filled = dict(zip(present, inputs, strict=True))
        found = _gradients(cell, Sequence(*(filled.get(i) for i in range(size))), g, y)  # type: ignore[arg-type]
        return [found[i] for i in present]

    op = Op("composite", xp=lambda xp, x: x, grad=gradients, name=f"{kind.lower()}_steps")
    return Tensor(stand_for(op, lowered.node, tuple(s[i].node for i in present), {}))  # type: ignore[union-attr]


def shown_by(states: Tensor, project: Tensor | None) -> Tensor:
    """What states show. [..., parts, hidden] -> [..., out]"""
    hidden = states.select(-2, 0)
    return hidden if project is None else hidden @ project.transpose(0, 1)


def _first(s: Sequence) -> Tensor:
    """The state before the first step; with a projection nothing reads its hidden part. [b, parts, hidden]"""
    if s.cell is None:
        return s.shown.unsqueeze(-2)
    cell = s.cell.unsqueeze(-2)
    return _rows([s.shown.unsqueeze(-2) if s.project is None else cell, cell])


def _own(cell: Cell, shown: Tensor, s: Sequence) -> Tensor:
    """The state's own part of the gates. [..., out] -> [..., gates, hidden]"""
    made = shown @ s.weight.transpose(0, 1)
    return _by_gate(cell, made if s.bias is None else made + s.bias)


def _by_gate(cell: Cell, x: Tensor) -> Tensor:
    return x.reshape(*x.shape[:-1], cell.gates, x.shape[-1] // cell.gates)


def _states(cell: Cell, s: Sequence) -> list[Tensor]:
    state, shown, made = _first(s), s.shown, []
    for t, x in enumerate(s.given.unbind(0)):
        new = cell.step(_by_gate(cell, x), _own(cell, shown, s), state)
        state = new if s.kept is None else s.kept[t].where(new, state)
        shown = shown_by(state, s.project)
        made.append(state)
        _in_pieces(made)
    return made


def _in_pieces(made: list[Tensor]) -> None:
    """Have what a long loop made computed now and then: pieces have one plan, and a graph of all steps would
    be deeper than nodes may wait (`op.run_deep`)."""
    if len(made) % PIECE == 0:
        realize(*made[-PIECE:])


# --- the way back ---


def _gradients(cell: Cell, s: Sequence, g: Tensor, states: Tensor) -> Sequence:
    """The gradients by all that a recurrence runs over, from that of its states."""
    earlier = states.narrow(0, 0, len(states) - 1)
    before = cat([_first(s).unsqueeze(0), earlier], 0)
    shown = cat([s.shown.unsqueeze(0), shown_by(earlier, s.project)], 0)
    gates = _by_gate(cell, s.given)
    slopes = cell.slopes(gates, _own(cell, shown, s), before, states)
    slopes = slopes if s.kept is None else _while_kept(slopes, s.kept)
    made, of_shown, carried = _walk_back(cell, s, slopes, g)
    own = made.narrow(-2, 0, cell.gates).flatten(-2)
    flat = own.flatten(0, 1)
    given = own if slopes.given == tuple(range(cell.gates)) else _chosen(made, slopes.given)
    last, hidden = of_shown[0], carried[0]
    return Sequence(
        given,
        flat.transpose(0, 1) @ shown.flatten(0, 1),
        last if hidden is None or s.project is not None else last + hidden.squeeze(-2),
        None if s.bias is None else flat.sum(0),
        None if s.project is None else _of_project(s.project, of_shown[1:], earlier),
        None if s.cell is None else carried[1].squeeze(-2),  # type: ignore[union-attr]
    )


def _chosen(made: Tensor, rows: tuple[int, ...]) -> Tensor:
    return cat([_gate(made, i) for i in rows], -2).flatten(-2)


def _of_project(project: Tensor, of_shown: list[Tensor], earlier: Tensor) -> Tensor:
    if not of_shown:
        return project * 0
    return stack(of_shown).flatten(0, 1).transpose(0, 1) @ earlier.select(-2, 0).flatten(0, 1)


def _while_kept(slopes: Slopes, kept: Tensor) -> Slopes:
    """Where a row is over, nothing reaches its gates, and the gradients of its state pass."""
    rows = [kept.where(x, 1.0 if i in slopes.carries else 0.0) for i, x in enumerate(slopes.rows)]
    across = None if slopes.across is None else kept.where(slopes.across, 0.0)
    hidden, cell = slopes.carries
    if hidden is None:
        over = kept.logical_not().to(rows[0].dtype).expand(*rows[0].shape)
        return Slopes([*rows, over], (*slopes.of, 0), slopes.given, (len(rows), cell), across)
    return Slopes(rows, slopes.of, slopes.given, slopes.carries, across)


def _walk_back(
    cell: Cell, s: Sequence, slopes: Slopes, g: Tensor
) -> tuple[Tensor, list[Tensor], list[Tensor | None]]:
    """The gradients of all rows [t, b, rows, hidden]; of what was shown before each step, the first first;
    of the first state's hidden part and cell. A step is a kernel that multiplies, and a product."""
    factors = _rows(slopes.rows).unbind(0)
    across = None if slopes.across is None else slopes.across.unbind(0)
    is_cell = tensor(slopes.of, device=g.device).bool().unsqueeze(1)
    made: list[Tensor] = []
    of_shown: list[Tensor] = []
    carried: list[Tensor | None] = [None, None]
    for t in reversed(range(len(factors))):
        hidden = _plus(_gate(g[t], 0), carried[0])
        if of_shown:
            back = of_shown[-1] if s.project is None else of_shown[-1] @ s.project
            hidden = hidden + back.unsqueeze(-2)
        arriving = hidden
        if across is not None:
            of_cell = _plus(_gate(g[t], 1), carried[1]) + hidden * across[t]
            arriving = is_cell.where(of_cell, hidden)
        made.append(factors[t] * arriving)
        carried = [None if i is None else _gate(made[-1], i) for i in slopes.carries]
        of_shown.append(made[-1].narrow(-2, 0, cell.gates).flatten(-2) @ s.weight)
        _in_pieces(made)
    return stack(made[::-1]), of_shown[::-1], carried


def _plus(x: Tensor, y: Tensor | None) -> Tensor:
    return x if y is None else x + y
