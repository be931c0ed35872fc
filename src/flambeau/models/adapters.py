"""LoRA adapters in peft's files (Hu et al., 2021): read, written, swapped, and merged into a GGUF file."""

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .. import nn
from ..core.modes import no_grad
from ..core.tree import is_dict
from ..errors import FlambeauError
from ..io import BlockWeight, open_weights, save_file, save_gguf
from ..io.checkpoint import load
from ..io.gguf_blocks import BLOCKS
from ..io.gguf_quantize import QUANTIZED, quantize_blocks
from ..nn.utils.lora import LINEAR, LoRALinear, lora
from ..tensor import Tensor, tensor
from .gguf import config_of, find_model, gguf_file, source_of
from .llama import FAMILIES, LlamaConfig, names_of_gguf
from .pretrained import read_object
from .settings import settings

CONFIG, WEIGHTS, PREFIX = "adapter_config.json", "adapter_model.safetensors", "base_model.model."
NAME = re.compile(rf"^{re.escape(PREFIX)}(.+)\.lora_([AB])\.weight$")
NOT_READ: dict[str, tuple[Any, ...]] = {  # entries of a config: the values that change nothing
    "use_dora": (False, None),
    "bias": ("none", None),
    "modules_to_save": (None, []),
    "fan_in_fan_out": (False, None),
    "trainable_token_indices": (None,),
}
Folder = str | os.PathLike[str]


class LowRankUpdate(NamedTuple):
    """The addition to a linear layer's weight: B @ A * alpha / rank. A [rank, in], B [out, rank], arrays of
    float32; scale: alpha / rank."""

    A: Any
    B: Any
    scale: float


@dataclass(frozen=True)
class LoraAdapter:
    """The additions to a model's linear layers by their dotted names, and the config of the file."""

    layers: dict[str, LowRankUpdate]
    config: Mapping[str, Any]

    @property
    def rank(self) -> int:
        """The largest rank."""
        return max(len(low.A) for low in self.layers.values())


def read_adapter(folder: Folder) -> LoraAdapter:
    """Read a LoRA adapter as peft writes it: adapter_config.json and adapter_model.safetensors in a folder.

    FlambeauError for a missing or damaged file, another kind of adapter, or options that are not supported.
    """
    path, call = Path(folder), f"read_adapter({str(folder)!r})"
    config = read_object(path / CONFIG)
    if config.get("peft_type") != "LORA":
        raise FlambeauError(f"{call}: peft_type is {config.get('peft_type')!r}: only 'LORA' is supported")
    for name, values in NOT_READ.items():
        if name in config and config[name] not in values:
            raise FlambeauError(
                f"{call}: {name} is {config[name]!r}, which is not supported: train without it"
            )
    parts: dict[str, dict[str, Any]] = {}
    for name, t in load(path / WEIGHTS, device="cpu").items():
        match = NAME.match(name)
        if match is None or t.ndim != 2:
            raise FlambeauError(
                f"{call}: {name!r} is no matrix of a linear layer's LoRA: get another adapter"
            )
        parts.setdefault(match[1], {})[match[2]] = t.float().numpy()
    if not parts:
        raise FlambeauError(f"{call}: {WEIGHTS} has no LoRA: get a complete copy")
    return LoraAdapter({name: _update(name, pair, config, call) for name, pair in parts.items()}, config)


def _update(name: str, pair: Mapping[str, Any], config: Mapping[str, Any], call: str) -> LowRankUpdate:
    if len(pair) != 2 or len(pair["A"]) != pair["B"].shape[1] or not len(pair["A"]):
        raise FlambeauError(f"{call}: lora_A and lora_B of {name!r} do not fit: get a complete copy")
    rank, alpha = len(pair["A"]), config.get("lora_alpha", 8)
    pattern = config.get("alpha_pattern")
    for key, value in pattern.items() if is_dict(pattern) else ():
        # peft's keys are regular expressions: names are read, which end the layer's
        if name == key or name.endswith(f".{key}"):
            alpha = value
    if not isinstance(alpha, int | float) or not abs(alpha) < 1e9:
        raise FlambeauError(f"{call}: lora_alpha is {alpha!r}, not a number: get a complete copy")
    return LowRankUpdate(pair["A"], pair["B"], alpha / (sqrt(rank) if config.get("use_rslora") else rank))


def load_adapter(model: nn.Module, folder: Folder) -> nn.Module:
    """Add a LoRA adapter of peft to a model's linear layers, quantised ones too, and freeze the rest; returns
    the model. The adapter can be trained on, and saved by `save_adapter`.

    model: a network under transformers' names. folder: has adapter_config.json and
    adapter_model.safetensors. FlambeauError as of `Adapters`.
    """
    Adapters(model, {"default": folder}).use("default")
    return model


def save_adapter(model: nn.Module, folder: Folder) -> None:
    """Write the LoRA layers of a model as peft does: adapter_config.json and adapter_model.safetensors.

    model: with layers of `nn.utils.lora` or `load_adapter`. folder: is made. ValueError for a model without.
    """
    layers = {name: m for name, m in model.named_modules() if isinstance(m, LoRALinear)}
    if not layers:
        raise ValueError(f"save_adapter({type(model).__name__}): has no LoRA layers: add nn.utils.lora(...)")
    path = Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    tensors: dict[str, Tensor] = {}
    for name, m in layers.items():
        tensors[f"{PREFIX}{name}.lora_A.weight"] = m.lora_A.detach()
        tensors[f"{PREFIX}{name}.lora_B.weight"] = m.lora_B.detach()
    save_file(tensors, path / WEIGHTS, {"format": "pt"})
    (path / CONFIG).write_text(json.dumps(_config_of(model, layers), indent=2) + "\n", encoding="utf-8")


def _config_of(model: nn.Module, layers: Mapping[str, LoRALinear]) -> dict[str, Any]:
    """The adapter_config.json of LoRA layers."""
    first = next(iter(layers.values()))
    others = {name for name, m in model.named_modules() if isinstance(m, LINEAR)}
    others -= {f"{name}.base" for name in layers}
    ends = {name.rpartition(".")[2] for name in layers}
    # the last parts of names, unless other layers have them too
    is_short = not any(name.rpartition(".")[2] in ends for name in others)
    return {
        "peft_type": "LORA",
        "task_type": "CAUSAL_LM",
        "base_model_name_or_path": None,
        "inference_mode": True,
        "r": first.r,
        "lora_alpha": first.alpha,
        "lora_dropout": first.dropout,
        "target_modules": sorted(ends if is_short else layers),
        "bias": "none",
        "fan_in_fan_out": False,
        "use_rslora": False,
        "rank_pattern": {name: m.r for name, m in layers.items() if m.r != first.r},
        "alpha_pattern": {name: m.alpha for name, m in layers.items() if m.alpha != first.alpha},
    }


class Adapters:
    """Several LoRA adapters of one model, one of which is in use. Their layers have the largest rank, so a
    step that is recorded again after a change has the kernels of the one before.

    model: a network under transformers' names; LoRA layers are added, and its own weights are frozen.
    folders: of peft, by names of your choice. FlambeauError for a damaged adapter, or one of another model.
    """

    def __init__(self, model: nn.Module, folders: Mapping[str, Folder]):
        self.model, self.used = model, None
        self.adapters = {name: read_adapter(folder) for name, folder in folders.items()}
        rank = max((a.rank for a in self.adapters.values()), default=0)
        modules = dict(model.named_modules())
        for name, adapter in self.adapters.items():
            self._check(name, adapter, modules)
        paths = tuple(dict.fromkeys(path for a in self.adapters.values() for path in a.layers))
        # alpha is the rank, so that layers scale by 1: lora_B has the adapters' own scales
        lora(model, rank, float(rank), paths)
        self.layers: dict[str, LoRALinear] = {path: model.get_submodule(path) for path in paths}  # type: ignore[misc]

    def _check(self, name: str, adapter: LoraAdapter, modules: Mapping[str, Any]) -> None:
        call = f"Adapters({type(self.model).__name__}, {name!r})"
        for path, low in adapter.layers.items():
            layer = modules.get(path)
            if not isinstance(layer, LINEAR):
                has = "has an adapter already" if isinstance(layer, LoRALinear) else "is no linear layer"
                raise FlambeauError(f"{call}: {path!r} {has} of this model: pass the adapter's own model")
            wanted = (layer.in_features, layer.out_features)
            if (low.A.shape[1], low.B.shape[0]) != wanted:
                sizes = f"{low.A.shape[1]} to {low.B.shape[0]} features, the layer {wanted[0]} to {wanted[1]}"
                raise FlambeauError(f"{call}: {path!r} is for {sizes}: pass the adapter's own model")

    @no_grad()
    def use(self, name: str | None) -> None:
        """Apply an adapter from the next call on; None for the model without one. KeyError for an unknown
        name."""
        if name is not None and name not in self.adapters:
            raise KeyError(f"use({name!r}): unknown: one of {', '.join(self.adapters)}")
        adapter = None if name is None else self.adapters[name]
        for path, layer in self.layers.items():
            low = None if adapter is None else adapter.layers.get(path)
            a, b = np.zeros(layer.lora_A.shape, "f4"), np.zeros(layer.lora_B.shape, "f4")
            if low is not None:
                a[: len(low.A)], b[:, : len(low.A)] = low.A, low.B * np.float32(low.scale)
            for parameter, values in ((layer.lora_A, a), (layer.lora_B, b)):
                parameter.assign_(tensor(values, dtype=parameter.dtype, device=parameter.device))
        self.used = name


def merge_adapter(model: Folder, adapter: Folder, out: Folder) -> list[str]:
    """Write a GGUF file with a LoRA adapter of peft merged into its weights; returns the changed tensors.

    model: a GGUF file of one of Llama's families. adapter: the folder of peft. out: the new file. Changed
    matrices keep their format if it can be written, else they become Q8_0; all others keep their bytes.
    FlambeauError for a file of another model, or formats that can't be kept.
    """
    path, call = find_model(model), f"merge_adapter({str(model)!r}, {str(adapter)!r})"
    file, low = gguf_file(path), read_adapter(adapter)
    if file is None:
        raise FlambeauError(f"{call}: is not a GGUF file: use nn.utils.merge_lora for networks in memory")
    with open_weights(file, "cpu", keep_quantized=True) as weights:
        config = settings(LlamaConfig, _llama_config(weights, call))
        tensors: dict[str, Any] = {name: weights[name] for name in weights}
        kinds = {name: weights.entries[name].kind for name in weights}
        metadata = dict(weights.metadata)
    for name in tensors:
        if kinds[name].upper() == kinds[name] and not isinstance(tensors[name], BlockWeight):
            raise FlambeauError(f"{call}: {name!r} has blocks of more than 2 dims, which can't be kept: "
                                "merge into a file of floats")  # fmt: skip
    places = {ours.removesuffix(".weight"): name for name, ours in names_of_gguf(config, [*tensors]).items()}
    if missing := [name for name in low.layers if name not in places]:
        raise FlambeauError(f"{call}: {missing[0]!r} is no layer of this model: pass the adapter's own model")
    for path_of, update in low.layers.items():
        name = places[path_of]
        tensors[name] = _merged(tensors[name], path_of, update, config, call)
    save_gguf(tensors, out, metadata)
    return [places[name] for name in low.layers]


def _llama_config(weights: Any, call: str) -> dict[str, Any]:
    try:
        config = config_of(source_of(weights))
    except ValueError as e:
        raise FlambeauError(f"{call}: {e}") from None
    if config["model_type"] not in FAMILIES:
        rule = f"one of {', '.join(FAMILIES)}"
        raise FlambeauError(f"{call}: is a file of {config['model_type']}: pass {rule}")
    return config


def _merged(value: Any, path: str, low: LowRankUpdate, config: LlamaConfig, call: str) -> Any:
    """A matrix plus an addition, in its format."""
    delta = (low.B @ low.A) * np.float32(low.scale)
    heads = {"q_proj": config.num_attention_heads, "k_proj": config.kv_heads}.get(path.rpartition(".")[2])
    if heads and config.traits.interleaves:  # llama.cpp's order of rows
        delta = delta.reshape(heads, 2, -1, delta.shape[1]).swapaxes(1, 2).reshape(delta.shape)
    if delta.shape != tuple(value.shape):
        sizes = f"{list(delta.shape)}, the file's weight {list(value.shape)}"
        raise FlambeauError(f"{call}: {path!r} has a shape of {sizes}: pass the adapter's own model")
    if not isinstance(value, BlockWeight):
        return tensor(value.float().numpy() + delta, device="cpu").to(value.dtype)
    form = value.format if value.format.name in QUANTIZED else BLOCKS["Q8_0"]
    numbers = np.ascontiguousarray(value.numpy() + delta, "f4")
    raw = quantize_blocks(form.name, numbers, numbers.shape)
    return BlockWeight(form, np.frombuffer(raw, "u1").reshape(len(numbers), -1))
