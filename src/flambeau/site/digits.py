"""Saves the digit network as a program, which pages run before or without loading Python."""

import tempfile
from functools import cache
from pathlib import Path

from .. import nn
from ..device import device
from ..export.save import save_program
from ..io import load_bytes
from ..models.digits import MEAN, network
from ..tensor import Tensor
from .hashes import digest


class DigitReader(nn.Sequential):
    """The network with a scaled input and probabilities. Its weights keep the network's names.

    [n, 784] in 0 to 1 -> [n, 10], the probabilities
    """

    def forward(self, input: Tensor) -> Tensor:
        return super().forward(input.reshape(-1, 1, 28, 28) - MEAN).softmax(1)


@cache
def files(weights: bytes) -> dict[str, bytes]:
    """Save the program in a folder named by its hash. weights: a file of `flambeau mnist`."""
    # Saving plans kernels for each class of adapters and needs no GPU.
    with device("cpu"), tempfile.TemporaryDirectory() as folder:
        model = DigitReader(*network())
        model.load_state_dict(load_bytes(weights))
        program = save_program(model, {"pixels": "f32[1, 784]"}, Path(folder) / "program")
        program_files = {path.name: path.read_bytes() for path in sorted(program.iterdir())}
    name = digest(b"".join(program_files.values()))
    return {f"mnist/program-{name}/{file}": data for file, data in program_files.items()}
