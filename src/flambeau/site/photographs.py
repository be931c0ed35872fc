"""Builds the program of the image page from EfficientNet-Lite0, and the names of its classes."""

import tempfile
from functools import cache
from pathlib import Path

from ..errors import FlambeauError
from ..export.save import save_program
from ..models import imagenet
from .hashes import digest

INPUTS = {"canvas": f"u8[{imagenet.CANVAS}, {imagenet.CANVAS}, 4]", "side": "f32[1]"}


@cache
def files() -> dict[str, bytes]:
    """Return the program's files and labels.txt in a folder named by their hash; {} if the package of the
    weights is not installed."""
    try:
        model = imagenet.Classifier(imagenet.efficientnet_lite0("cpu"))
    except FlambeauError:
        return {}
    with tempfile.TemporaryDirectory() as folder:
        program = save_program(model, INPUTS, Path(folder) / "program")
        program_files = {path.name: path.read_bytes() for path in sorted(program.iterdir())}
    program_files["labels.txt"] = "\n".join(imagenet.labels()).encode()
    name = digest(b"".join(program_files.values()))
    return {f"image/program-{name}/{file}": data for file, data in program_files.items()}
