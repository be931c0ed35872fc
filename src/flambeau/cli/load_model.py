"""Loads the model and the inputs that command-line arguments name."""

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..errors import FlambeauError, suggest
from ..nn import Module
from .mnist import network

DIGITS = "x=f32[N, 1, 28, 28]"  # the input of `flambeau mnist`'s network: pixels / 255 - 0.1307


def parse_input(text: str, call: str) -> tuple[str, str]:
    """Parse an --input into its name and its description."""
    name, equals, spec = text.partition("=")
    if not equals or not name.strip().isidentifier():
        raise FlambeauError(f"{call}: --input {text!r}: write it as '{DIGITS}'")
    return name.strip(), spec


def named_inputs(model: str, inputs: tuple[str, ...], call: str) -> list[tuple[str, str]]:
    """Return the names and descriptions of a model's inputs: of each --input, else of a file of
    `flambeau mnist`."""
    texts = inputs or ((DIGITS,) if model.endswith(".safetensors") else ())
    if not texts:
        raise FlambeauError(f"{call} {model}: no inputs: name each, as in --input '{DIGITS}'")
    return [parse_input(text, call) for text in texts]


def model_of(name: str, weights: Path | None, call: str) -> Callable[..., Any]:
    """Load the model or function that a command line names, with its weights."""
    if name.endswith(".safetensors"):
        name, weights, model = "flambeau mnist's network", weights or Path(name), network()
    else:
        model = _build_model(name, _find_model(name, call), call)
    if weights is not None:
        if not isinstance(model, Module):
            raise FlambeauError(f"{call}: {name} is not a model: --weights can't be loaded into it")
        model.load(weights)
    return model


def _find_model(name: str, call: str) -> Any:
    """Import the object named by `module:name` or `file.py:name`."""
    where, colon, attribute = name.rpartition(":")
    if not colon:
        raise FlambeauError(
            f"{call}: MODEL is {name!r}: write module:name, file.py:name or a .safetensors file"
        )
    if where.endswith(".py"):
        spec = importlib.util.spec_from_file_location(Path(where).stem, where)
        if spec is None or spec.loader is None or not Path(where).is_file():
            raise FlambeauError(f"{call}: {where} is not a file: check the path")
        module = importlib.util.module_from_spec(spec)
        # The file runs: a script needs `if __name__ == "__main__"` around its training.
        spec.loader.exec_module(module)
    else:
        sys.path.insert(0, "")  # the current folder, as with python -m
        try:
            module = importlib.import_module(where)
        except ModuleNotFoundError as e:
            raise FlambeauError(f"{call}: {e}: name a module that can be imported from here") from None
        finally:
            sys.path.remove("")
    if not hasattr(module, attribute):
        raise FlambeauError(f"{call}: {where} has no {attribute!r}{suggest(attribute, vars(module))}")
    return getattr(module, attribute)


def _build_model(name: str, model: Any, call: str) -> Any:
    """Return the object itself, or the model that it returns if it can be called without arguments."""
    if not callable(model):
        raise FlambeauError(
            f"{call}: {name} is {type(model).__name__}: name a model or a function of tensors"
        )
    if isinstance(model, Module):
        return model
    needed = [p for p in inspect.signature(model).parameters.values() if p.default is p.empty]
    # a function with parameters is the model itself, a class must be instantiated
    if isinstance(model, type) and needed:
        listed = ", ".join(p.name for p in needed)
        rule = "name a function without arguments that returns the model"
        raise FlambeauError(f"{call}: {name} needs arguments ({listed}): {rule}")
    return model if needed else model()
