"""Writes the weights of a model as a quantised GGUF file, and measures what a text loses by it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..core import dtype as dt
from ..core.modes import no_grad
from ..core.node import describe
from ..device import DeviceLike
from ..errors import FlambeauError
from ..io import BlockWeight, load_gguf, open_weights, save_gguf
from ..io.gguf_blocks import BLOCKS
from ..nn import Module
from ..nn.functional import cross_entropy
from ..tensor import Tensor, tensor
from ..tokenizers import Tokenizer
from .gguf import CONFIG, find_model, gguf_file
from .pretrained import from_pretrained, load_weights, read_object

# llama.cpp's formats for rows that are no multiple of 256 elements
SHORTER = {
    "Q2_K": "Q4_0",
    "Q3_K": "Q4_0",
    "Q4_K": "Q5_0",
    "Q5_K": "Q5_1",
    "Q6_K": "Q8_0",
    "TQ1_0": "Q4_0",
    "TQ2_0": "Q4_0",
}
FLOATS = {"F16": dt.float16, "BF16": dt.bfloat16}  # formats without blocks
SMALLEST = 1 << 10  # elements of a matrix that is worth blocks
NAMES = ("weight", "embedding")  # with which the names of matrices that are quantised end


@dataclass(frozen=True)
class QuantizedFile:
    """A written file: how many matrices have each format, the bytes of all tensors as float32 and in the
    file, and the norm of the quantised matrices' errors as a part of their own."""

    formats: dict[str, int]
    before: int
    after: int
    error: float


def form_for(name: str, shape: tuple[int, ...], form: str) -> str | None:
    """The format of a tensor: the requested one, a format of shorter blocks if rows require it, or None for
    norms, biases, small matrices and rows that are no multiple of any block."""
    if len(shape) != 2 or shape[0] * shape[1] < SMALLEST or not name.endswith(NAMES):
        return None
    if form in FLOATS:
        return form
    forms = (form, SHORTER.get(form, form))
    return next((f for f in forms if shape[1] % BLOCKS[f].elements == 0), None)


def quantize_file(model: Any, out: Path, form: str) -> QuantizedFile:
    """Write the tensors of a model's file or folder to a GGUF file, its matrices in a format such as "Q4_K".

    model: a GGUF file (its metadata is kept), another file of tensors, or a folder of a hub. Tensors keep
    their names. FlambeauError for a file that is missing or damaged.
    """
    path = find_model(model)
    file = gguf_file(path)
    with open_weights(file or path, "cpu") as weights:
        tensors = {name: weights[name] for name in weights}
        metadata = dict(weights.metadata) if file is not None else _about(path)
    forms = {name: form_for(name, t.shape, form) for name, t in tensors.items()}
    patterns = {f"^{re.escape(name)}$": f for name, f in forms.items() if f in BLOCKS}
    converted = {
        n: t.to(FLOATS.get(str(forms[n]), dt.float32)) if forms[n] else t for n, t in tensors.items()
    }
    save_gguf(converted, out, metadata, quantize=patterns)
    return _compare(tensors, load_gguf(out, "cpu", keep_quantized=True), forms)


def _about(path: Path) -> dict[str, Any]:
    """The metadata of a file whose source is not GGUF."""
    kind = read_object(path / CONFIG).get("model_type") if (path / CONFIG).exists() else None
    return {"general.architecture": str(kind or "unknown"), "general.name": path.stem}


def _compare(
    tensors: Mapping[str, Tensor], written: Mapping[str, Any], forms: Mapping[str, str | None]
) -> QuantizedFile:
    formats, lost, all_squares = dict[str, int](), 0.0, 0.0
    for name, value in written.items():
        if (form := forms[name]) is not None:
            formats[form] = formats.get(form, 0) + 1
            numbers = tensors[name].float().numpy()
            decoded = value.numpy() if isinstance(value, BlockWeight) else value.float().numpy()
            lost += float(np.square(decoded - numbers, dtype="f8").sum())
            all_squares += float(np.square(numbers, dtype="f8").sum())
    before = sum(4 * t.numel() for t in tensors.values())
    after = sum(value.nbytes for value in written.values())
    return QuantizedFile(formats, before, after, (lost / all_squares) ** 0.5 if all_squares else 0.0)


def measure_text(
    model: Any, file: Path, text: str, tokens: int, device: DeviceLike | None = None
) -> tuple[float, float]:
    """Return the perplexity of a text's first tokens by a model of a GGUF file or a folder with config.json,
    and by the same network with the quantised weights of `file`. FlambeauError without a tokenizer."""
    path, call = find_model(model), f"quantize({str(model)!r})"
    source = gguf_file(path)
    if source is None and not (path / CONFIG).exists():
        raise FlambeauError(f"{call}: a text needs {CONFIG} and a tokenizer: pass a folder or a GGUF file")
    if source is None:
        ids = Tokenizer.from_file(path).encode(text)[:tokens]
        before, after = (from_pretrained(path, device) for _ in range(2))
        load_weights(after, load_gguf(file, device, keep_quantized=True), device)
    else:
        with open_weights(source, "cpu") as weights:
            ids = Tokenizer.from_gguf(weights.metadata).encode(text)[:tokens]
        before, after = from_pretrained(source, device), from_pretrained(file, device, keep_quantized=True)
    return perplexity(before, ids), perplexity(after, ids)


def perplexity(model: Module, ids: Any, length: int = 512) -> float:
    """exp of the mean negative log probability of each token after the first of its window.

    ids: tokens of a text, in windows of `length`; the last may be shorter. ValueError for fewer than 2
    tokens.
    """
    row = np.asarray(ids).reshape(-1)
    if len(row) < 2:
        raise ValueError(f"perplexity({describe(ids)}): takes 2 tokens or more: pass a longer text")
    device, total, count = next(model.parameters()).device, 0.0, 0
    with no_grad():
        for start in range(0, len(row) - 1, length):
            window = row[start : start + length]
            if len(window) < 2:
                break
            scores = model(tensor(window[None, :-1].astype("i4"), device=device)).float()
            wanted = tensor(window[1:].astype("i4"), device=device)
            total += float(cross_entropy(scores[0], wanted, reduction="sum").item())
            count += len(window) - 1
    return float(np.exp(total / count))
