"""A kernel's variant: forced, measured or by rule, and never one that does not fit."""

import pytest

from flambeau.core import choose
from flambeau.core.limits import Limits
from flambeau.errors import FlambeauError

NAMES = ("plain", "tiles")


@pytest.fixture
def variant(monkeypatch):
    def force(text):
        monkeypatch.setenv("FLAMBEAU_VARIANT", text)
        choose.forced.cache_clear()

    yield force
    choose.forced.cache_clear()


def test_default():
    assert choose.choose(Limits(), "contract", (1,), NAMES, "plain") == "plain"


def test_measured_before_default():
    limits = Limits(tuned={("contract", (1,)): "tiles"})
    assert choose.choose(limits, "contract", (1,), NAMES, "plain") == "tiles"
    assert choose.choose(limits, "contract", (2,), NAMES, "plain") == "plain"
    assert choose.choose(limits, "contract", (1,), ("plain",), "plain") == "plain"


def test_forced_before_measured(variant):
    variant("attention=rows,contract=plain")
    assert choose.choose(Limits(tuned={("contract", ()): "tiles"}), "contract", (), NAMES, "tiles") == "plain"
    assert choose.choose(Limits(), "attention", (), NAMES, "tiles") == "tiles"


def test_forced_wrongly(variant):
    variant("contract")
    with pytest.raises(FlambeauError) as e:
        choose.forced()
    assert str(e.value) == "FLAMBEAU_VARIANT=contract: no variant for 'contract': write family=name,..."
