"""Programs of the self-test that are given something wrong, and what is left out of slow ones."""

from dataclasses import replace

import flambeau as fb
from flambeau.selftest.programs import Input, Line, Program

DEAR = ("attention", "transposed convolutions")


def plain(program):
    """Without gradients: a CPU takes long to compile those kernels of GPUs."""
    return replace(program, by=())


V = ("v0", "v1", "v2", "v3", "v4")
X = Input("v0", (37, 6), fb.float32, "quarters", 1)
Y = Input("v1", (37, 6), fb.float32, "normal", 2)


def planted(text, says, **others):
    """A program with a line that will be wrong, among others."""
    lines = (
        Line("v2", "v0 + v1", "v0 + v1"),
        Line("v3", text, says),
        Line("v4", "(v3 * 2).transpose(0, 1)", "(v3 * 2).transpose(1, 0)"),
    )
    return Program((X, Y), lines, ("v4", "v2"), family="planted", **others)


def wrong_flip(self, dims):
    """flip that forgets to where a dim is 5 or longer."""
    return self if self.shape[dims] >= 5 else FLIP(self, dims)


FLIP = fb.Tensor.flip
