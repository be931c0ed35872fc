"""Functions that depend on something, called plainly and recorded: never silently out of date."""

import builtins
import time

import pytest
from helpers.draws import TIMES, in_turn
from helpers.watched_rows import CONFIG, ROWS, Base, Derived, Layer, Meta

import flambeau as fb
from flambeau import nn

STATES = (1.0, 2.0, 3.0, 1.0, 4.0)


@pytest.fixture(autouse=True)
def as_it_was(monkeypatch):
    """Rows change what is there for all."""
    kept = [(o, n, getattr(o, n)) for o, n in ((Base, "k"), (Base, "scaled"), (Meta, "k"), (Layer, "scale"))]
    kept += [(nn.ReLU, "forward", nn.ReLU.forward), (time, "time", time.time), (builtins, "abs", abs)]
    kept += [(CONFIG, "k", 1.0), (CONFIG.sub, "k", 1.0), (CONFIG.inner, "k", 1.0)]
    yield
    for owner, name, value in kept:
        setattr(owner, name, value)
    for owner in (Derived,):
        if "k" in vars(owner):
            del owner.k


def results(call, change, states=STATES, calls=3):
    found = []
    for k in states:
        more = change(k)
        for i in range(calls):
            x = fb.tensor([float(i + 1)])
            found.append(call(x, *(more if isinstance(more, tuple) else ())).tolist())
    return found


ALWAYS = in_turn(list(ROWS), runs=2)
NEVER = [name for name in ROWS if name not in ALWAYS or TIMES > 1]
WAYS = [(name, "always") for name in ALWAYS] + [(name, "never") for name in NEVER]


@pytest.mark.parametrize(("name", "check"), WAYS)
@pytest.mark.share(5)
def test_recorded_calls_give_what_plain_ones_give(name, check, capsys):
    wanted = results(*ROWS[name]())
    call, change = ROWS[name]()
    recorded = fb.jit(call, check=check)
    found = results(recorded, change)
    assert found == wanted
    said = capsys.readouterr().err
    assert recorded.programs or "runs unrecorded: " in said
    assert "shows that" not in said  # a check finds nothing that the watch has not seen
