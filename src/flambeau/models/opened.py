"""Opens a language model with its tokenizer and chat template, and reports its memory before loading it."""

from math import prod
from typing import Any, NamedTuple

from ..core.dtype import as_dtype
from ..device import get_device
from ..errors import FlambeauError
from ..io.formats import open_weights
from ..tokenizers import ChatTemplate, Tokenizer
from ..tokenizers.files import template_in
from .gguf import CONFIG, config_of, find_model, gguf_file, source_of
from .pretrained import from_pretrained, network_of, open_gguf, read_object

# names of sizes in configs, the first that a config has
LAYERS, HEADS = ("num_hidden_layers", "n_layer"), ("num_attention_heads", "n_head")
WIDE, TOKENS = ("hidden_size", "n_embd"), ("max_position_embeddings", "n_positions")


class ModelSize(NamedTuple):
    """The size of a language model: its model_type, parameters, bytes of the file, of the weights in memory
    and of a token in the cache, and the most tokens of a text."""

    family: str
    parameters: int
    file: int
    weights: int
    token: int
    context: int


def measure(path: Any, dtype: Any = None) -> ModelSize:
    """Return the size of the model in a GGUF file or a folder, without loading its weights. FlambeauError as
    of from_pretrained."""
    path, call = find_model(path), f"measure({str(path)!r})"
    file = gguf_file(path)
    with open_gguf(file, "cpu", call) if file else open_weights(path, device="cpu") as weights:
        sizes = {name: prod(entry.shape) for name, entry in weights.entries.items()}
        try:
            config = config_of(source_of(weights)) if file else read_object(path / CONFIG)
        except ValueError as e:
            raise FlambeauError(f"{call}: {e}") from None
    width = as_dtype(dtype or "float32").itemsize
    layers, heads, wide, tokens = (
        next((config[name] for name in names if isinstance(config.get(name), int)), 1)
        for names in (LAYERS, HEADS, WIDE, TOKENS)
    )
    keys = config.get("num_key_value_heads") or heads
    features = config.get("head_dim") or wide // max(heads, 1)
    parameters = sum(sizes.values())
    files = [file] if file else [f for f in path.iterdir() if f.suffix in (".safetensors", ".bin")]
    total = sum(f.stat().st_size for f in files)
    kind = str(config.get("model_type"))
    return ModelSize(
        kind, parameters, total, width * parameters, 2 * width * layers * keys * features, tokens
    )


class OpenedModel(NamedTuple):
    """A language model, its tokenizer, and its chat template, None if the files have none.

    names: texts of special tokens that chat templates use, such as bos_token.
    """

    model: Any
    tokenizer: Tokenizer
    template: ChatTemplate | None
    names: dict[str, str]


def open_model(
    path: Any, device: Any = None, dtype: Any = None, keep_quantized: bool | None = None
) -> OpenedModel:
    """Return the model of a GGUF file or a folder with its tokenizer and chat template.

    keep_quantized: as of from_pretrained; by default on GPUs (a CPU would decode all weights for each token).
    FlambeauError as of from_pretrained, and for a tokenizer that is missing or damaged.
    """
    path, call = find_model(path), f"open_model({str(path)!r})"
    if (file := gguf_file(path)) is None:
        tokenizer, source = Tokenizer.from_file(path), template_in(path)
        model = from_pretrained(path, device, dtype)
        return _opened(model, tokenizer, source, call)
    is_kept = get_device(device).kind == "gpu" if keep_quantized is None else keep_quantized
    with open_gguf(file, device, call, is_kept) as weights:
        try:  # before the weights, which take longer
            tokenizer = Tokenizer.from_gguf(weights.metadata)
        except ValueError as e:
            raise FlambeauError(f"{call}: {e}") from None
        source = weights.metadata.get("tokenizer.chat_template")
        model = network_of(weights, device, dtype, call)
        return _opened(model, tokenizer, source if isinstance(source, str) else None, call)


def _opened(model: Any, tokenizer: Tokenizer, source: str | None, call: str) -> OpenedModel:
    if not hasattr(model, "new_past") or hasattr(model, "read"):
        raise FlambeauError(f"{call}: {type(model).__name__} writes no texts: pass a decoder")
    names = tokenizer.special_texts()
    try:
        template = None if source is None else ChatTemplate(source, names)
    except ValueError as e:
        raise FlambeauError(f"{call}: {e}") from None
    return OpenedModel(model, tokenizer, template, names)
