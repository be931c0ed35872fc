"""A kernel's variant: forced, measured or by rule, and never one that does not fit."""

import pytest

from flambeau import choice
from flambeau.errors import FlambeauError
from flambeau.fuse import Limits

NAMES = ("plain", "tiles")


@pytest.fixture
def variant(monkeypatch):
    def force(text):
        monkeypatch.setenv("FLAMBEAU_VARIANT", text)
        choice.forced.cache_clear()

    yield force
    choice.forced.cache_clear()


def test_default():
    assert choice.choose(Limits(), "contract", (1,), NAMES, "plain") == "plain"


def test_measured_before_default():
    limits = Limits(tuned={("contract", (1,)): "tiles"})
    assert choice.choose(limits, "contract", (1,), NAMES, "plain") == "tiles"
    assert choice.choose(limits, "contract", (2,), NAMES, "plain") == "plain"
    assert choice.choose(limits, "contract", (1,), ("plain",), "plain") == "plain"


def test_forced_before_measured(variant):
    variant("attention=rows,contract=plain")
    assert choice.choose(Limits(tuned={("contract", ()): "tiles"}), "contract", (), NAMES, "tiles") == "plain"
    assert choice.choose(Limits(), "attention", (), NAMES, "tiles") == "tiles"


def test_forced_wrongly(variant):
    variant("contract")
    with pytest.raises(FlambeauError) as e:
        choice.forced()
    assert str(e.value) == "FLAMBEAU_VARIANT=contract: no variant for 'contract': write family=name,..."
