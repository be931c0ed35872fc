"""Runs the steps of recurrent layers: one product and one kernel per step, forward and backward.

The input's contribution to all steps is one product before the first step. A step is the product of the last
hidden state with the weights, whose epilogue adds the input's contribution, and a kernel of all gates and
states. Backward recomputes the gates of all steps by one product over the stored hidden states, and from them
the factors of each step's gradients, which are linear: each step is one elementwise kernel and one product.
The weights' gradients are one product over all steps. For a cell without slopes (`cells.Cell`), backward
differentiates the ops of each step.
"""

from typing import Any

from ..core.autocast import apply_rule
from ..core.declare import stand_for
from ..core.modes import no_grad
from ..core.op import Op
from ..ops.join import cat, stack
from ..runtime.run import realize
from ..tensor import Tensor, tensor
from .cells import Cell, Sequence, Slopes, by_gate, gate, under_each_other

PIECE = 32  # steps that are planned together

# --- forward ---


@apply_rule
def recurrence(cell: Cell, s: Sequence) -> Tensor:
    """The states after all steps, differentiable any number of times. -> [t, b, parts, hidden]"""
    if cell.slopes is None or s.peepholes is not None:
        return stack(_states(cell, s))
    # present: the inputs that are not None
    size, present = len(s), [i for i, t in enumerate(s) if t is not None]
    with no_grad():  # `gradients` replaces those of the loop's ops
        lowered = stack(_states(cell, s))

    def gradients(g: Tensor, y: Tensor, *inputs: Tensor) -> list[Tensor | None]:
        filled = dict(zip(present, inputs, strict=True))
        grads = _gradients(cell, Sequence(*(filled.get(i) for i in range(size))), g, y)  # type: ignore[arg-type]
        return [grads[i] for i in present]

    op = Op("composite", xp=_identity, grad=gradients, name=f"{cell.name}_steps")
    return Tensor(stand_for(op, lowered.node, tuple(s[i].node for i in present), {}))  # type: ignore[union-attr]


def _identity(xp: Any, x: Any) -> Any:
    return x


def output_of(states: Tensor, project: Tensor | None) -> Tensor:
    """The output of states. [..., parts, hidden] -> [..., out]"""
    hidden = states.select(-2, 0)
    return hidden if project is None else hidden @ project.transpose(0, 1)


def _first_state(s: Sequence) -> Tensor:
    """The state before the first step; with a projection nothing reads its hidden part. [b, parts, hidden]"""
    if s.cell is None:
        return s.shown.unsqueeze(-2)
    cell = s.cell.unsqueeze(-2)
    return under_each_other([s.shown.unsqueeze(-2) if s.project is None else cell, cell])


def _states(cell: Cell, s: Sequence) -> list[Tensor]:
    states: list[Tensor] = []
    state, shown = _first_state(s), s.shown
    for t, x in enumerate(s.gates.unbind(0)):
        # x: [b, gates * hidden]
        new = cell.step(by_gate(x, cell.gates), shown, state, s)
        state = new if s.kept is None else s.kept[t].where(new, state)  # an ended sequence keeps its state
        shown = output_of(state, s.project)
        states.append(state)
        _run_in_pieces(states)
    return states


def _run_in_pieces(states: list[Tensor]) -> None:
    """Compute a long loop in pieces, which share one plan. The graph of all steps would exceed the depth
    limit of pending nodes (`op.run_deep`)."""
    if len(states) % PIECE == 0:
        realize(*states[-PIECE:])


# --- backward ---


def _gradients(cell: Cell, s: Sequence, g: Tensor, states: Tensor) -> Sequence:
    """The gradients with respect to all inputs of a recurrence, from that of its states."""
    earlier = states.narrow(0, 0, len(states) - 1)
    # the state and the output before each step, [t, b, parts, hidden] and [t, b, out]
    before = cat([_first_state(s).unsqueeze(0), earlier], 0)
    shown = cat([s.shown.unsqueeze(0), output_of(earlier, s.project)], 0)
    slopes = cell.slopes(by_gate(s.gates, cell.gates), shown, before, states, s)  # type: ignore[misc]
    slopes = slopes if s.kept is None else _pass_ended(slopes, s.kept)
    # Only this loop is sequential; the products before and after it cover all steps at once.
    factors, of_shown, carried = _walk_back(cell, s, slopes, g)
    own = factors.narrow(-2, 0, cell.gates).flatten(-2)  # [t, b, gates * hidden]
    flat = own.flatten(0, 1)  # steps and batch are summed in one product: [t * b, gates * hidden]
    rows = slopes.input_rows
    of_input = own if rows == tuple(range(cell.gates)) else _select_gates(factors, rows)
    last, hidden = of_shown[0], carried[0]
    return Sequence(
        of_input,
        flat.transpose(0, 1) @ shown.flatten(0, 1),
        # The output before the first step is also its state, unless it is projected from one.
        last if hidden is None or s.project is not None else last + hidden.squeeze(-2),
        None if s.bias is None else flat.sum(0),
        None if s.project is None else _of_project(s.project, of_shown[1:], earlier),
        None if s.cell is None else carried[1].squeeze(-2),  # type: ignore[union-attr]
    )


def _select_gates(factors: Tensor, rows: tuple[int, ...]) -> Tensor:
    return cat([gate(factors, i) for i in rows], -2).flatten(-2)


def _of_project(project: Tensor, of_shown: list[Tensor], earlier: Tensor) -> Tensor:
    if not of_shown:  # a single step: nothing was projected from a state
        return project * 0
    return stack(of_shown).flatten(0, 1).transpose(0, 1) @ earlier.select(-2, 0).flatten(0, 1)


def _pass_ended(slopes: Slopes, kept: Tensor) -> Slopes:
    """For rows that have ended, set the gradients of the gates to 0 and pass those of the state."""
    rows = [kept.where(x, 1.0 if i in slopes.carries else 0.0) for i, x in enumerate(slopes.rows)]
    across = None if slopes.across is None else kept.where(slopes.across, 0.0)
    hidden, cell = slopes.carries
    if hidden is None:
        over = kept.logical_not().to(rows[0].dtype).expand(*rows[0].shape)
        return Slopes([*rows, over], (*slopes.of, 0), slopes.input_rows, (len(rows), cell), across)
    return Slopes(rows, slopes.of, slopes.input_rows, slopes.carries, across)


def _walk_back(
    cell: Cell, s: Sequence, slopes: Slopes, g: Tensor
) -> tuple[Tensor, list[Tensor], list[Tensor | None]]:
    """The gradients of all rows [t, b, rows, hidden]; of the output before each step, in order; and of the
    first state's hidden part and cell. A step is a kernel that multiplies, and a product."""
    factors = under_each_other(slopes.rows).unbind(0)
    across = None if slopes.across is None else slopes.across.unbind(0)
    # whether a row's gradient comes from the cell, or from the hidden part
    is_cell = tensor(slopes.of, device=g.device).bool().unsqueeze(1)
    row_factors: list[Tensor] = []
    of_shown: list[Tensor] = []
    carried: list[Tensor | None] = [None, None]
    for t in reversed(range(len(factors))):
        hidden = _plus(gate(g[t], 0), carried[0])
        if of_shown:
            back = of_shown[-1] if s.project is None else of_shown[-1] @ s.project
            hidden = hidden + back.unsqueeze(-2)
        arriving = hidden
        if across is not None:
            # the cell also gets the gradient of the hidden part that is computed from it
            of_cell = _plus(gate(g[t], 1), carried[1]) + hidden * across[t]
            arriving = is_cell.where(of_cell, hidden)
        row_factors.append(factors[t] * arriving)  # [b, rows, hidden], one kernel
        carried = [None if i is None else gate(row_factors[-1], i) for i in slopes.carries]
        of_shown.append(row_factors[-1].narrow(-2, 0, cell.gates).flatten(-2) @ s.weight)
        _run_in_pieces(row_factors)
    return stack(row_factors[::-1]), of_shown[::-1], carried


def _plus(x: Tensor, y: Tensor | None) -> Tensor:
    return x if y is None else x + y
