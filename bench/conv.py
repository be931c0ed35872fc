"""Convolutions of usual shapes, forward and with gradients, beside torch (float32) and tinygrad on WebGPU.

python bench/conv.py [--torch] [--tinygrad] [--batch 32] [--only NAME ...]
"""

import argparse
from collections.abc import Callable
from math import prod
from typing import NamedTuple

import numpy as np
from _measure import interleave, number, queued, ratio, show_table

import flambeau as fb
from flambeau.device import get_device
from flambeau.nn import functional as F


class Conv(NamedTuple):
    """The input's channels and size, the weight (input channels first when transposed), and the rest."""

    channels: int
    size: tuple[int, ...]
    weight: tuple[int, ...]
    stride: int = 1
    padding: int = 0
    groups: int = 1
    transposed: bool = False

    @property
    def name(self) -> str:
        return f"conv{'_transpose' * self.transposed}{len(self.size)}d"

    @property
    def attrs(self) -> dict[str, int]:
        return {"stride": self.stride, "padding": self.padding, "groups": self.groups}

    def flops(self, batch: int) -> int:
        """Multiplications and additions: each place of the smaller side meets the whole weight once."""
        taps, sizes = self.weight[2:], self.size
        if not self.transposed:
            sizes = [(n + 2 * self.padding - k) // self.stride + 1 for n, k in zip(sizes, taps, strict=True)]
        return 2 * batch * prod(sizes) * prod(self.weight)


CONVS = {
    "3x3, 64 to 64 at 56": Conv(64, (56, 56), (64, 64, 3, 3), padding=1),
    "3x3, 64 to 64 at 28": Conv(64, (28, 28), (64, 64, 3, 3), padding=1),
    "3x3, 256 to 256 at 14": Conv(256, (14, 14), (256, 256, 3, 3), padding=1),
    "3x3 stride 2, 64 to 128 at 28": Conv(64, (28, 28), (128, 64, 3, 3), 2, 1),
    "1x1, 256 to 64 at 14": Conv(256, (14, 14), (64, 256, 1, 1)),
    "7x7 stride 2, 3 to 64 at 112": Conv(3, (112, 112), (64, 3, 7, 7), 2, 3),
    "depthwise 3x3, 128 at 28": Conv(128, (28, 28), (128, 1, 3, 3), padding=1, groups=128),
    "1-d of 9, 64 to 64 at 1024": Conv(64, (1024,), (64, 64, 9), padding=4),
    "3-d 3x3x3, 16 to 32 at 16": Conv(16, (16, 16, 16), (32, 16, 3, 3, 3), padding=1),
    "transposed 4x4 stride 2, 64 to 32 at 14": Conv(64, (14, 14), (64, 32, 4, 4), 2, 1, transposed=True),
}


def given(conv: Conv, batch: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    shapes = ((batch, conv.channels, *conv.size), conv.weight)
    x, w = (rng.uniform(-1, 1, shape).astype("f4") for shape in shapes)
    return x, w


Calls = tuple[Callable, Callable, Callable]  # forward, with gradients, wait


def ours(conv: Conv, batch: int) -> Calls:
    x, w = (fb.tensor(a, requires_grad=True).realize() for a in given(conv, batch))
    f = getattr(F, conv.name)

    def backward():
        grads = f(x, w, **conv.attrs).square().sum().backward()
        fb.realize(grads[x], grads[w])

    return lambda: f(x, w, **conv.attrs).detach().realize(), backward, fb.synchronize


def of_torch(conv: Conv, batch: int) -> Calls:
    import torch

    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
    place = "cuda" if torch.cuda.is_available() else "cpu"
    x, w = (torch.tensor(a, requires_grad=True, device=place) for a in given(conv, batch))
    f = getattr(torch.nn.functional, conv.name)

    def forward():
        with torch.no_grad():
            return f(x, w, **conv.attrs)

    def backward():
        torch.autograd.grad(f(x, w, **conv.attrs).square().sum(), (x, w))

    return forward, backward, torch.cuda.synchronize if place == "cuda" else lambda: None


def of_tinygrad(conv: Conv, batch: int) -> Calls:
    from peers.tinygrad_side import choose_webgpu

    choose_webgpu()
    from tinygrad import Device, Tensor, TinyJit

    x, w = (Tensor(a).realize() for a in given(conv, batch))

    def run():
        return (x.conv_transpose2d if conv.transposed else x.conv2d)(w, **conv.attrs)

    def gradients():
        found = run().square().sum().gradient(x, w)
        return found[0].realize(*found[1:])

    device = Device["WEBGPU"]
    return TinyJit(lambda: run().realize()), TinyJit(gradients), device.synchronize


PEERS = {"torch": of_torch, "tinygrad": of_tinygrad}


def measured(conv: Conv, batch: int, peers: list[str]) -> list[list[str]]:
    """A row for the forward pass and one for the forward pass with both gradients: three times the work."""
    sides = {"flambeau": ours(conv, batch)} | {name: PEERS[name](conv, batch) for name in peers}
    rows = []
    for which, times in ((0, 1), (1, 3)):
        found = interleave(
            {
                name: (lambda s, run=calls[which], wait=calls[2]: queued(run, wait, s))
                for name, calls in sides.items()
            },
            3,
            0.2,
        )
        rate = max(t.rate for t in found["flambeau"]) * conv.flops(batch) * times / 1e9
        rows.append([number(rate), *(f"{ratio(found['flambeau'], found[name]):.2f}" for name in peers)])
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    software = get_device().limits.software
    parser.add_argument("--batch", type=int, default=2 if software else 64)
    parser.add_argument("--torch", action="store_true", help="beside torch, on its card or the CPU")
    parser.add_argument(
        "--tinygrad", action="store_true", help="beside tinygrad on WebGPU, where it is installed"
    )
    parser.add_argument("--only", nargs="+", choices=CONVS, metavar="NAME", help="some of the shapes")
    args = parser.parse_args()
    peers = [name for name in PEERS if getattr(args, name)]
    rows = []
    for name in args.only or CONVS:
        forward, backward = measured(CONVS[name], args.batch, peers)
        rows += [(name, *forward), ("  and gradients", *backward)]
    show_table(
        f"batch {args.batch}, {get_device()}: GFLOP/s, and how many times as fast as each peer",
        ("what", "GFLOP/s", *(f"/ {name}" for name in peers)),
        rows,
    )


if __name__ == "__main__":
    main()
