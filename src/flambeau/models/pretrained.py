"""Builds a network from a folder with config.json and weights, as on model hubs."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .. import nn
from ..core.dtype import DTypeLike
from ..core.tree import is_dict, is_list
from ..device import DeviceLike
from ..errors import FlambeauError, MissingFile, suggest
from ..io import BlockWeight
from ..io.checkpoint import load
from ..io.formats import open_weights
from ..io.gguf import MAGIC
from ..io.sources import LazyWeights
from ..tensor import tensor
from .bert import ENCODERS, BertModel
from .convnext import ConvNeXt, ConvNeXtFile
from .gguf import config_of, ends_of, find_model, gguf_file, source_of
from .gpt2 import GPT2LMHeadModel
from .gpt_neox import GPTNeoXForCausalLM
from .llama import FAMILIES, LlamaForCausalLM
from .modernbert import ModernBertModel
from .registry import build_network
from .settings import settings
from .t5 import T5ForConditionalGeneration
from .vit import VisionTransformer, VitFile
from .whisper import WhisperEncoder

CONFIG, GENERATION = "config.json", "generation_config.json"
ENDS = ("eos_token_id", "pad_token_id")  # some files have -1 for no token
LARGEST = 64 << 20  # bytes of a JSON file


def _classes(config: Mapping[str, Any]) -> int:
    """Return the number of classes of a transformers classifier."""
    labels = config.get("id2label")
    return len(labels) if is_dict(labels) else int(config.get("num_labels", 2))


def _vit(config: Mapping[str, Any]) -> nn.Module:
    return VisionTransformer(settings(VitFile, config).sizes(), _classes(config))


def _convnext(config: Mapping[str, Any]) -> nn.Module:
    sizes = settings(ConvNeXtFile, config)
    return ConvNeXt(tuple(sizes.depths), tuple(sizes.hidden_sizes), _classes(config))


KINDS: dict[str, Any] = {  # by model_type
    **dict.fromkeys(ENCODERS, BertModel),
    "bert": BertModel,
    "convnext": _convnext,
    "gpt2": GPT2LMHeadModel,
    "gpt_neox": GPTNeoXForCausalLM,
    "t5": T5ForConditionalGeneration,
    "vit": _vit,
    "whisper": WhisperEncoder,
    "modernbert": ModernBertModel,
    **dict.fromkeys(FAMILIES, LlamaForCausalLM),
}


def from_pretrained(
    path: str | os.PathLike[str],
    device: DeviceLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    keep_quantized: bool = False,
) -> Any:
    """Return the network of a folder or a GGUF file, with its weights, in eval mode.

    path: a GGUF file of llama.cpp (any part of a split one); or a folder with config.json, as transformers
    and timm write it, beside model.safetensors or pytorch_model.bin, whole or in parts with an index. The
    tokens that end a text come from the GGUF file or generation_config.json, and are kept as `generation` of
    the network. keep_quantized: the quantised matrices of a GGUF file stay as they are in memory, and layers
    multiply by them (`nn.BlockLinear`); these are not trained. FlambeauError names a file that is missing or
    damaged, an unknown network, or weights that do not fit.
    """
    path, call = find_model(path), f"from_pretrained({str(path)!r})"
    if (file := gguf_file(path)) is None:
        return _from_folder(path, device, dtype, call)
    with open_gguf(file, device, call, keep_quantized) as weights:
        return network_of(weights, device, dtype, call)


def open_gguf(file: Path, device: Any, call: str, keep_quantized: bool = False) -> LazyWeights:
    """Open a GGUF file. FlambeauError for a missing or damaged one, or one of another format."""
    try:
        with file.open("rb") as f:
            begin = f.read(len(MAGIC))
    except FileNotFoundError:
        raise MissingFile(f"{call}: no such file: check the path") from None
    except OSError as e:
        raise FlambeauError(f"{call}: can't be read: {e.strerror or e}") from None
    if begin != MAGIC:
        raise FlambeauError(f"{call}: is not a GGUF file, whatever its name says: get a complete copy")
    return open_weights(file, device=device, keep_quantized=keep_quantized)


def _from_folder(folder: Path, device: Any, dtype: Any, call: str) -> Any:
    """Return the network of a folder with config.json."""
    config = read_object(folder / CONFIG)
    model = _network(config, device, dtype, f"{call}: {CONFIG}")
    if (folder / GENERATION).exists() and hasattr(model, "new_past"):
        model.generation = _ends(folder / GENERATION)
    try:
        load_weights(model, load(folder, device="cpu"))
    except ValueError as e:
        raise FlambeauError(f"{call}: {e}") from None
    return model.eval()


def network_of(weights: LazyWeights, device: Any, dtype: Any, call: str) -> Any:
    """Return the network of an open GGUF file."""
    try:
        config = config_of(source_of(weights))
    except ValueError as e:
        raise FlambeauError(f"{call}: {e}") from None
    model = _network(config, device, dtype, call)
    model.generation = ends_of(weights.metadata)
    try:
        load_weights(model, weights, device)
    except ValueError as e:
        raise FlambeauError(f"{call}: {e}") from None
    return model.eval()


def _network(config: Mapping[str, Any], device: Any, dtype: Any, call: str) -> Any:
    """Return a network of random weights, on its device."""
    try:
        model = _build(config)
    except (ValueError, TypeError) as e:
        raise FlambeauError(f"{call}: {e}") from None
    # before loading, so that each tensor is converted once
    if device is not None or dtype is not None:
        model.to(device=device, dtype=dtype)
    return model


def load_weights(model: nn.Module, state: Mapping[str, Any], device: DeviceLike | None = None) -> None:
    """Load the tensors of a public checkpoint, under the network's names or others that it recognises.

    model: the network. state: tensors or arrays by name, or BlockWeights, which replace the layers of Llama's
    families and become floats in others. device: of these layers. ValueError as load_state_dict's.
    """
    if not isinstance(model, LlamaForCausalLM):
        state = {name: _as_tensor(value) for name, value in state.items()}
    adapt = getattr(model, "adapt", dict)
    model.load_state_dict(nn.keep_blocks(model, adapt(state), device))


def _as_tensor(value: Any) -> Any:
    return tensor(value.numpy()) if isinstance(value, BlockWeight) else value


def _build(config: Mapping[str, Any]) -> Any:
    if "model_type" not in config and isinstance(config.get("architecture"), str):  # timm's
        return build_network(config["architecture"], int(config.get("num_classes", 1000)))
    kind = config.get("model_type")
    if not isinstance(kind, str) or kind not in KINDS:
        hint = suggest(str(kind), list(KINDS)) or f": one of {', '.join(sorted(KINDS))}"
        raise ValueError(f"model_type {kind!r}: unknown{hint}")
    return KINDS[kind](config)


def _ends(path: Path) -> dict[str, Any]:
    """Return the eos and pad tokens, by the names of Sampling."""
    tokens = {name: value for name, value in read_object(path).items() if name in ENDS and value is not None}
    for name, value in tokens.items():
        # several end tokens are a list (Llama 3); the padding is one token
        many = value if is_list(value) and name == "eos_token_id" else [value]
        if not all(type(token) is int for token in many):
            raise FlambeauError(f"{path}: {name} is {value!r}, which is not a token: get a complete copy")
    return {name: value for name, value in tokens.items() if value != -1}


def read_object(path: Path) -> dict[str, Any]:
    """Read a JSON file's object. FlambeauError if the file is missing, too large or not an object."""
    try:
        if path.stat().st_size > LARGEST:
            raise FlambeauError(
                f"{path}: {path.stat().st_size:,} bytes are not a {path.name}: get a complete copy"
            )
        content = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise MissingFile(f"{path}: no such file: pass the folder of a model") from None
    except OSError as e:
        raise FlambeauError(f"{path}: can't be read: {e.strerror or e}") from None
    except (ValueError, RecursionError):
        raise FlambeauError(f"{path}: is not JSON: get a complete copy") from None
    if not is_dict(content):
        raise FlambeauError(f"{path}: does not hold a JSON object: get a complete copy")
    return content
