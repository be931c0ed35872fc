"""Rewrites imports of torch as imports of flambeau under the script's names."""

import ast

from .edits import Edit, Script
from .gradients import Left, Rewrites
from .names import is_torch

WORDS = "the same names"

# Packages that depend on torch -> their replacement.
OTHERS = {
    "torchvision": "write the layers, or load their weights by name from a .safetensors file; "
    "flambeau.data reads MNIST and arrays",
    "torchaudio": "read the audio with another library, and convert its array with flambeau.tensor",
    "torchtext": "convert words to integers yourself, as tests/porting/scripts/lstm_tagger.py does",
    "torchmetrics": "flambeau.metrics has its names; compute() returns numbers, value() tensors",
    "pytorch_lightning": "write the loop: for x, y in loader: grads = loss(x, y).backward(); "
    "optimizer.step(grads)",
    "lightning": "write the loop: for x, y in loader: grads = loss(x, y).backward(); optimizer.step(grads)",
    "accelerate": "leave it out: tensors are already on the best device",
    "apex": "leave it out: 16-bit layers are model.to(flambeau.float16)",
    "deepspeed": "flambeau trains in one process: see docs/recording.md for memory",
    "transformers": "flambeau.models.from_pretrained(folder) reads GPT-2, Llama and its kin, T5 and BERT",
    "timm": "flambeau.models.create_model(name) builds some networks; write the layers of others",
    "torch_geometric": "write it with index_add and scatter",
}


def imports(source: Script) -> Rewrites:
    """Return the edits of imports of torch, and the imports of packages that need torch."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.ImportFrom) and not node.level:
            yield from _convert_names(source, node)
        elif isinstance(node, ast.Import):
            yield from _convert_modules(source, node)


def _convert_names(source: Script, node: ast.ImportFrom) -> Rewrites:
    module = node.module or ""
    if is_torch(module):
        place = source.find(module, source.start(node) + len("from"))
        yield Edit(place, place + len("torch"), "flambeau", WORDS)
    elif module.partition(".")[0] in OTHERS:
        yield Left(node.lineno, f"from {module} import ...", OTHERS[module.partition(".")[0]])


def _convert_modules(source: Script, node: ast.Import) -> Rewrites:
    for alias in node.names:
        package = alias.name.partition(".")[0]
        if package in OTHERS:
            yield Left(node.lineno, f"import {alias.name}", OTHERS[package])
        elif is_torch(alias.name):
            # `import torch.nn` binds `torch`: flambeau under that name has all its modules.
            name = alias.name.replace("torch", "flambeau", 1) if alias.asname else "flambeau as torch"
            begin = source.start(alias)
            yield Edit(begin, begin + len(alias.name), name, WORDS)
