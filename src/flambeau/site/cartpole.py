"""Saves CartPole and a policy as a program, which the page of CartPole runs without loading Python."""

import tempfile
from functools import cache
from pathlib import Path

from .. import nn
from ..device import device
from ..export.save import save_program
from ..io import load_bytes
from ..rl import AgentMLP, CartPole
from ..tensor import Tensor
from .hashes import digest

HIDDEN = 32, 32  # as in web/cartpole/page.py


class Balancer(nn.Module):
    """A step of CartPole by the best action of a policy.

    rows: a state of the environment [19, 1]. random: the uniform numbers of a new episode [4, 1].
    -> the next state, [19, 1]
    """

    def __init__(self):
        super().__init__()
        self.env = CartPole(1, device="cpu")
        self.env.max_steps = 1 << 24  # an episode ends when the pole falls, not after 500 steps
        self.actor = AgentMLP(1, (4, *HIDDEN, 2), last=0.01, device="cpu")

    def forward(self, rows: Tensor, random: Tensor) -> Tensor:
        logits = self.actor(self.env.observe_rows(rows).unsqueeze(0))[0]
        return self.env.step(rows, logits.argmax(-1).int(), random).state


@cache
def files(weights: bytes) -> dict[str, bytes]:
    """Save the program in a folder named by its hash. weights: what the page saves of a trained policy."""
    # Saving plans kernels for each class of adapters and needs no GPU.
    with device("cpu"), tempfile.TemporaryDirectory() as folder:
        model = Balancer()
        model.load_state_dict(load_bytes(weights))
        specs = {"rows": "f32[19, 1]", "random": "f32[4, 1]"}
        program = save_program(model, specs, Path(folder) / "program")
        program_files = {path.name: path.read_bytes() for path in sorted(program.iterdir())}
    name = digest(b"".join(program_files.values()))
    return {f"cartpole/program-{name}/{file}": data for file, data in program_files.items()}
