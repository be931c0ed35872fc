"""Turns lines that PyTorch's users type into what they give there, or into errors that say what to type."""

import re
from importlib import import_module

import pytest
from helpers.habits import RAISING, TOLD, equal, given_by, scope

import flambeau as fb
import flambeau.nn.functional as F
from flambeau import nn, optim
from flambeau.core.torch_hints import WORDS


@pytest.fixture(autouse=True)
def _on_numpy():
    """What these lines are about is the same on all devices; modes and seeds are put back."""
    state = fb.get_rng_state()
    with fb.device("cpu"):
        yield
    fb.set_rng_state(state)


def ours(line: str) -> str:
    return given_by(line, scope(fb, nn, F, optim))


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_lines_give_what_they_give_in_torch():
    assert not {line: (ours(line), want) for line, want in equal() if ours(line) != want}
    assert len(equal()) >= 70


@pytest.mark.filterwarnings("ignore")
def test_that_is_what_torch_gives(torch):
    def theirs(line: str) -> str:
        return given_by(line, scope(torch, torch.nn, torch.nn.functional, torch.optim))

    assert not {line: (theirs(line), want) for line, want in equal() if theirs(line) != want}
    assert not [line for line in RAISING if not theirs(line).startswith("raises")]


@pytest.mark.parametrize("line", [*RAISING, *TOLD])
def test_other_lines_say_what_to_type(line):
    """The rule, what was given, what to do: there is a colon, or a near name, in what is said."""
    said = ours(line)
    assert said.startswith("raises ") and re.search("unsupported operand|unexpected keyword|: ", said), said


def test_words_are_for_names_that_are_not_there():
    """Of a tensor the import itself would fail."""
    spaces = {owner: import_module(owner) for owner in WORDS if owner != "Tensor"}
    found = [(owner, name) for owner, space in spaces.items() for name in WORDS[owner] if name in dir(space)]
    assert not found, "remove these from core/torch_hints.py"
    assert not any(hasattr(fb.ones(1), name) or hasattr(fb.Tensor, name) for name in WORDS["Tensor"])


def test_names_that_are_missing():
    x = fb.ones(1)
    for get, text in (
        (lambda: x.grad, "Tensor.grad does not exist: gradients are not kept on tensors: grads ="
         " loss.backward(), and then grads[p]"),
        (lambda: setattr(x, "grad", x), "Tensor.grad does not exist: gradients are not kept on tensors:"
         " grads = loss.backward(), and then grads[p]; grads[p] = g replaces it"),
        (lambda: x.to_dense(), "Tensor.to_dense does not exist: it is already dense"),
        (lambda: x.sigmiod, "'Tensor' object has no attribute 'sigmiod'"),
        (lambda: fb.FloatTensor, "module 'flambeau' has no attribute 'FloatTensor': use fb.tensor(data,"
         " dtype=fb.float32)"),
        (lambda: nn.Lineer, "module 'flambeau.nn' has no attribute 'Lineer': did you mean 'Linear'?"),
        (lambda: F.rellu, "module 'flambeau.nn.functional' has no attribute 'rellu': did you mean 'relu'?"),
        (lambda: optim.Adm, "module 'flambeau.optim' has no attribute 'Adm': did you mean 'Adam'?"),
    ):  # fmt: skip
        with pytest.raises(AttributeError) as told:
            get()
        assert str(told.value) == text


def test_what_is_public_is_listed():
    """`dir(fb)` is what the package says is public, and nothing else."""
    assert dir(fb) == sorted(fb.__all__)
