"""Converts a config.json to the dataclass of a network's sizes."""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from types import UnionType
from typing import Any, TypeVar, get_args, get_origin

from .. import nn
from ..errors import suggest
from ..tensor import Tensor

Kind = TypeVar("Kind")
F = nn.functional

MOST_LAYERS = 2000  # an untrusted config.json may ask for a billion
LAYERS = ("n_layer", "num_layers", "num_decoder_layers", "num_hidden_layers", "encoder_layers")


def _gelu_tanh(x: Tensor) -> Tensor:
    return F.gelu(x, approximate="tanh")


def _quick_gelu(x: Tensor) -> Tensor:
    return x * (1.702 * x).sigmoid()


# activations under transformers' names
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "gelu": F.gelu,
    "gelu_new": _gelu_tanh,
    "gelu_pytorch_tanh": _gelu_tanh,
    "gelu_fast": _gelu_tanh,
    "quick_gelu": _quick_gelu,
    "relu": F.relu,
    "silu": F.silu,
    "swish": F.silu,
    "tanh": F.tanh,
}


def activation(name: str) -> Any:
    """Return the activation of a transformers name; ValueError suggests similar names for an unknown one."""
    if name not in ACTIVATIONS:
        hint = suggest(name, list(ACTIVATIONS)) or f": one of {', '.join(ACTIVATIONS)}"
        raise ValueError(f"activation {name!r}: unknown{hint}")
    return ACTIVATIONS[name]


def settings(kind: type[Kind], config: Mapping[str, Any] | Kind) -> Kind:
    """Convert a config.json to sizes, with defaults for missing ones; a dataclass is returned unchanged.

    Unknown entries are ignored. ValueError lists everything that is missing or invalid.
    """
    if isinstance(config, kind):
        return config
    if not isinstance(config, Mapping):
        raise TypeError(f"{kind.__name__}: pass the dict of config.json, not {config!r}")
    sizes: dict[str, Any] = {}
    problems: list[str] = []
    for field in fields(kind):  # type: ignore[arg-type]
        if field.name in config:
            sizes[field.name] = config[field.name]
            problems += _problems_of(field, config[field.name])
        elif field.default is MISSING:
            problems.append(f"{field.name} is missing")
    if problems:
        raise ValueError(f"{kind.__name__}: {'; '.join(problems)}: use a config.json of this kind of network")
    return kind(**sizes)


def _problems_of(field: Any, value: Any) -> list[str]:
    """Return the problem of a value of the wrong type, or of a number that is not a size; [] without one."""
    kind = field.type
    # int | None -> (int, NoneType); list[int] -> list
    kinds = tuple(get_origin(k) or k for k in (get_args(kind) if isinstance(kind, UnionType) else (kind,)))
    fits = isinstance(value, kinds) or (float in kinds and isinstance(value, int))
    # bool is a subclass of int in Python, but true is not a size
    if not fits or (isinstance(value, bool) and bool not in kinds):
        return [f"{field.name} is {value!r}, not {getattr(kind, '__name__', kind)}"]
    if isinstance(value, int | float) and not isinstance(value, bool):
        # token ids may be 0; sizes and eps may not
        least = 0 if field.default == 0 or field.name.endswith("_id") else 1e-30
        most = MOST_LAYERS if field.name in LAYERS else 1 << 31
        return [] if least <= value <= most else [f"{field.name} is {value!r}, which is not a size"]
    return []
