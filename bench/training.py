"""Training steps a second of recurrent, convolutional and attention networks: autocast, float32 and peers.

    python bench/training.py [--size small] [--networks lstm cnn gpt gpt8 vit resnet50]
        [--seconds 2] [--rounds 3] [--profile]
        [--sides float16 bfloat16 high torch compile compile-high]
    python bench/training.py --adapter llvmpipe --sides tinygrad [--python-peers .venv-peers/bin/python]
    FLAMBEAU_WEBGPU=dawn python bench/training.py --size card --sides float16 bfloat16 torch compile

It asks for nothing and ends with a table. Whole steps: forward, gradients, AdamW, recorded (`fb.jit`); with
float16 a GradScaler too, on both sides. Weights are the same, and the first losses are compared with
float32's before anything is timed (within 2e-3; 16 bits within 0.1, for a step that a scaler leaves out).
`high` is float32 whose products may be made of 16-bit ones (`fb.set_matmul_precision("high")`; torch's
TensorFloat-32). Contestants take turns; a ratio is the median over rounds of a side's rate through that of
our float32.
`small` is for CPUs and software adapters, `card` for a GPU: `gpt` is GPT-2 small then, batch 16 x 512, `gpt8`
8 layers of 512, batch 8 x 512, `vit` ViT-S of 16 x 16 patches, 32 images, `resnet50` 32 images. `--profile`
ends with the kernels of our float32 step.
tinygrad (0.14, TinyJit, WebGPU by Dawn) is a process of the peers' interpreter. It reads every loss, so
compare it at `small`. It is left out where its adapter is another than ours: `--adapter` shows both one.

Expected, written down before it was measured (2026-11-23). On a card with matrix units, by Dawn (H200):
float16 1.5x or more for the GPT (its products are three quarters of a float32 step), 1.2x for the LSTM (its
steps are short products, which wait for each other) and 1.0x to 1.3x for the CNN (Winograd's products are
float32 alone, and its images are small); bfloat16, which has no matrix units here, 0.9x to 1.2x: half the
bytes of what is stored. By wgpu, which has no matrix units: 0.9x to 1.2x for both. Beside torch: the GPT at
float32 no slower than torch.compile; at `high` (2026-11-26, H100) products 139 -> 60 ms of 172, so 1.6x
torch.compile's float32, and losses that differ by 1e-5 at most. On a software adapter: 0.6x to 0.9x for
either, since casts are work that saves nothing; torch on the CPU 2x to 6x ours. tinygrad there, on the same
adapter: 0.25x to 0.5x (as in `mnist_step.py` and `peers_native.py`), and less for the LSTM, whose step is
hundreds of small kernels; its first step minutes, where ours takes seconds.
"""

import argparse
import os
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
from _measure import Timing, interleave, queued, rates, ratio, show_table, timed
from first_calls import resnet50
from peers import networks
from peers.child import Child, NoAnswer, PeerError, peers_python
from peers.workload import LEARNING_RATE
from peers_native import ICDS, choose_adapter

import flambeau as fb
from flambeau.models.benchmarked import Size, digits_cnn, draw_weights, gpt

CLASSES = 10
CHECKED = 62  # steps before timing: a recording's 8th, 16th, ... 64th call are traced too, the 128th is far
FEATURES = 32  # of a step of the LSTM


class Net(NamedTuple):
    """Rows of a batch and their length, width and depth of the network, heads and vocabulary of a GPT."""

    rows: int
    length: int
    width: int
    layers: int = 1
    heads: int = 4
    vocabulary: int = 256


SIZES = {  # for a software adapter or a CPU, and for a card
    "small": {
        "lstm": Net(16, 24, 64),
        "cnn": Net(32, 28, 32),
        "gpt": Net(4, 64, 64, 12),
        "gpt8": Net(2, 48, 64, 8),
        "vit": Net(2, 32, 64, 2),
        "resnet50": Net(2, 32, 64),
    },
    "card": {
        "lstm": Net(64, 64, 512),
        "cnn": Net(512, 28, 32),
        "gpt": Net(16, 512, 768, 12, 12, 50257),
        "gpt8": Net(8, 512, 512, 8, 8, 32000),
        "vit": Net(32, 224, 384, 12, 6),
        "resnet50": Net(32, 224, 64),
    },
}
GPTS = ("gpt", "gpt8")
CHANNELS = {"cnn": 1, "vit": 3, "resnet50": 3}  # of an image
SCALE = 1.0  # of a scaler at first: ResNet-50 at these weights overflows from some hundreds on
SHOWN = 45  # kernels of a profile
PATCH = 16  # pixels of a side of a ViT's patch


def batch(network: str, net: Net) -> tuple[np.ndarray, np.ndarray]:
    """What goes in, and the classes that should come out."""
    draw = np.random.default_rng(1)
    if network in GPTS:
        ids = draw.integers(0, net.vocabulary, (net.rows, net.length + 1)).astype(np.int32)
        return ids[:, :-1].copy(), ids[:, 1:].copy()
    shape = (net.length, net.rows, FEATURES)
    if network in CHANNELS:
        shape = (net.rows, CHANNELS[network], net.length, net.length)
    y = draw.integers(0, CLASSES, net.rows).astype(np.int32)
    return draw.standard_normal(shape, np.float32), y


TOLERANCE = {"float32": 2e-3, "high": 2e-3, "float16": 0.1, "bfloat16": 0.1}  # relative, of the first losses
OURS = ("float32", "high", "float16", "bfloat16")
TORCH = {"torch": ("float32", False), "compile": ("float32", True)}
for lower in OURS[1:]:
    TORCH |= {f"torch-{lower}": (lower, False), f"compile-{lower}": (lower, True)}


class Made(NamedTuple):
    """A contestant that has begun: a round of so many seconds, its first losses, its first step's seconds."""

    round: Callable[[float], Timing]
    losses: list[float]
    first: float
    dtype: str = "float32"


def lstm(f, net: Net):
    """Steps of features into classes, by the last state. [t, b, features] -> [b, classes]"""

    class Last(f.nn.Module):
        def __init__(self):
            super().__init__()
            self.steps = f.nn.LSTM(FEATURES, net.width, net.layers)
            self.end = f.nn.Linear(net.width, CLASSES)

        def forward(self, x):
            return self.end(self.steps(x)[0][-1])

    return Last()


def vit(f, net: Net):
    """A vision transformer (Dosovitskiy et al., 2020). [n, 3, side, side] -> [n, classes]"""
    nn, width = f.nn, net.width

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width, 1e-6), nn.LayerNorm(width, 1e-6)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x):
            b, t, c = x.shape
            q, k, v = (
                self.qkv(self.norm1(x)).reshape(b, t, 3, net.heads, c // net.heads).permute(2, 0, 3, 1, 4)
            )
            y = nn.functional.scaled_dot_product_attention(q, k, v)
            x = x + self.out(y.transpose(1, 2).reshape(b, t, c))
            return x + self.down(nn.functional.gelu(self.up(self.norm2(x))))

    class Vit(nn.Module):
        def __init__(self):
            super().__init__()
            self.patches = nn.Conv2d(3, width, PATCH, PATCH)
            self.first = nn.Parameter(f.zeros(1, 1, width))
            self.places = nn.Parameter(f.zeros(1, (net.length // PATCH) ** 2 + 1, width))
            self.blocks = nn.ModuleList([Block() for _ in range(net.layers)])
            self.norm, self.end = nn.LayerNorm(width, 1e-6), nn.Linear(width, CLASSES)

        def forward(self, x):
            x = self.patches(x).flatten(2).transpose(1, 2)
            x = f.cat([self.first.expand(x.shape[0], -1, -1), x], 1) + self.places
            for block in self.blocks:
                x = block(x)
            return self.end(self.norm(x)[:, 0])

    return Vit()


def network(f, name: str, net: Net):
    """A network of either package."""
    sizes = Size(net.layers, net.width, net.heads, net.vocabulary, net.length)
    made = {
        "lstm": lambda: lstm(f, net),
        "cnn": lambda: digits_cnn(f),
        "gpt": lambda: gpt(f, sizes),
        "gpt8": lambda: gpt(f, sizes),
        "vit": lambda: vit(f, net),
        "resnet50": lambda: resnet50(f, CLASSES),
    }
    return draw_weights(f, made[name](), scale=0.05 if name in ("lstm", "cnn") else 0.02)


def our_step(name: str, net: Net, dtype: str):
    """(a call that trains once and gives the loss, what waits for it)"""
    model = network(fb, name, net)
    optimizer = fb.optim.AdamW(model.parameters(), lr=LEARNING_RATE)
    scaler = fb.GradScaler(init_scale=SCALE, enabled=dtype == "float16")
    lower = fb.bfloat16 if dtype == "bfloat16" else fb.float16
    context = fb.autocast(dtype=lower, enabled=dtype in ("float16", "bfloat16"))
    precision = "high" if dtype == "high" else "highest"

    @fb.jit
    def step(x, y):
        with fb.set_matmul_precision(precision):  # gradients' products too
            with context:
                scores = model(x)
                loss = fb.nn.functional.cross_entropy(scores.reshape(-1, scores.shape[-1]), y.reshape(-1))
            scaler.step(optimizer, scaler.scale(loss).backward())
            scaler.update()
        return loss

    x, y = map(fb.tensor, batch(name, net))
    device = x.device
    return lambda: step(x, y), device.wait if device.kind == "gpu" else int


def torch_step(name: str, net: Net, dtype: str, compiled: bool):
    """The same of PyTorch, on the card that it sees, else on the CPU; OSError where it lacks a compiler."""
    import torch

    place = "cuda" if torch.cuda.is_available() else "cpu"
    model = network(torch, name, net).to(place)
    optimizer = torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE)
    forward = torch.compile(model) if compiled else model
    scaler = torch.amp.GradScaler(place, init_scale=SCALE, enabled=dtype == "float16")
    x, y = (torch.from_numpy(a).to(place) for a in batch(name, net))
    x, y = x.long() if name in GPTS else x, y.long()
    lower = torch.bfloat16 if dtype == "bfloat16" else torch.float16

    def step():
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = dtype == "high"
        optimizer.zero_grad()
        with torch.autocast(place, dtype=lower, enabled=dtype in ("float16", "bfloat16")):
            scores = forward(x)
            loss = torch.nn.functional.cross_entropy(scores.reshape(-1, scores.shape[-1]), y.reshape(-1))
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        return loss.detach()

    return step, torch.cuda.synchronize if place == "cuda" else int


def here(side: str, name: str, net: Net, size: str) -> Made:
    """A contestant of this process."""
    begin = time.perf_counter()
    dtype, compiled = TORCH.get(side, (side, False))
    call, wait = our_step(name, net, side) if side in OURS else torch_step(name, net, dtype, compiled)
    losses = [call().item()]
    first = time.perf_counter() - begin
    losses += [call().item() for _ in range(4)]
    return Made(a_round(call, wait, size), losses, first, dtype)


def tinygrad(name: str, net: Net, args: argparse.Namespace, stack: ExitStack) -> Made:
    """A process of the peers' interpreter; PeerError where it can't be had or takes too long."""
    weights = {key: p.numpy() for key, p in network(fb, name, net).named_parameters()}
    path = Path(stack.enter_context(TemporaryDirectory())) / "given.npz"
    networks.write(
        path, networks.Given(name, net.heads, *batch(name, net), str(fb.get_default_device()), weights)
    )
    command = [os.path.abspath(args.python_peers), "-m", "peers", "tinygrad_networks", name, str(path)]
    child = stack.enter_context(Child(command, args.peer_seconds))
    try:
        ready = child.ready()
    except NoAnswer:
        raise PeerError(f"no first step in {args.peer_seconds:g} s") from None
    if "unavailable" in ready:
        raise PeerError(ready["unavailable"])
    return Made(child.round, child.losses(5), (ready["setup_ms"] + ready["first_step_ms"]) / 1e3)


def contestant(
    side: str, name: str, net: Net, args: argparse.Namespace, stack: ExitStack, wanted: list[float]
) -> Made | None:
    """A contestant that trains as float32 does, whose losses are `wanted`; None where it can't be had."""
    try:
        made = tinygrad(name, net, args, stack) if side == "tinygrad" else here(side, name, net, args.size)
    except PeerError as error:
        return left_out(name, side, str(error))
    except (
        Exception
    ) as error:  # a peer that is not installed, has no compiler, has no memory: the rest goes on
        return left_out(name, side, f"{type(error).__name__}: {str(error)[:200]}")
    losses, wanted = made.losses, wanted or made.losses
    off = max(abs(a - b) / max(abs(b), 1e-6) for a, b in zip(losses, wanted, strict=True))
    print(f"{name}, {side}: first losses {losses[0]:.4f} to {losses[-1]:.4f}, off by {off:.0e}", flush=True)
    return made if off <= TOLERANCE[made.dtype] else left_out(name, side, "these are not float32's")


def show_profile(name: str, net: Net) -> None:
    """Prints the kernels of our float32 step that take longest, those of one name, bytes and operations
    together."""
    call, wait = our_step(name, net, "float32")
    for _ in range(4):
        call()
    wait()
    with fb.profile() as profile:
        call()
        wait()
    kernels: dict[tuple[str, int, int], list[float]] = {}
    for span in profile.kernels:
        kernels.setdefault((span.work.name, span.work.nbytes, span.work.flops), []).append(span.seconds)
    rows: list[tuple[str, ...]] = []
    for (kernel, nbytes, flops), times in sorted(kernels.items(), key=lambda item: -sum(item[1]))[:SHOWN]:
        least = min(times)
        cells = (f"{1e3 * sum(times):.3f}", f"{1e6 * least:.1f}", f"{nbytes / 1e6:.1f}", f"{flops / 1e9:.2f}")
        speeds = (f"{nbytes / least / 1e9:.0f}", f"{flops / least / 1e12:.1f}")
        rows.append((kernel, str(len(times)), *cells, *speeds))
    total = f"{name}: {len(profile.kernels)} kernels, GPU {1e3 * profile.gpu:.2f} ms"
    columns = ("kernel", "runs", "ms", "us of one", "MB", "GFLOP", "GB/s", "TFLOP/s")
    show_table(total, columns, rows)


def left_out(name: str, side: str, why: str) -> None:
    print(f"{name}, {side}: left out: {why}", flush=True)


def a_round(call, wait, size: str):
    """A round of a given length. On a card steps queue up, with one wait for many; others have no time for
    that many."""
    if size == "card":
        for _ in range(CHECKED):
            call()
        wait()
        return lambda seconds: queued(call, wait, seconds)
    return lambda seconds: timed(lambda: (call(), wait()), seconds)


def raced(name: str, found: dict[str, Made], args: argparse.Namespace) -> dict[str, list[Timing]]:
    """The rounds of all; without tinygrad where it stops on the way."""
    try:
        return interleave({side: made.round for side, made in found.items()}, args.rounds, args.seconds)
    except PeerError as error:
        left_out(name, "tinygrad", str(error))
        return raced(name, {side: made for side, made in found.items() if side != "tinygrad"}, args)


def measured(name: str, args: argparse.Namespace) -> list[tuple[str, ...]]:
    """The rows of a network: each side's rate, and how many times our float32's that is."""
    net, found, wanted = SIZES[args.size][name], {}, []
    with ExitStack() as stack:
        for side in dict.fromkeys(["float32", *args.sides]):
            made = contestant(side, name, net, args, stack, wanted)
            if made is not None:
                found[side], wanted = made, wanted or made.losses
        timings = raced(name, found, args)
    rows = []
    for side, each in timings.items():
        middle, worst, best = rates(each)
        times = f"{ratio(each, timings['float32']):.2f}" if "float32" in timings else "-"
        first = found[side].first
        cells = (f"{middle:.2f}", f"{worst:.2f} to {best:.2f}", f"{1e3 / middle:.1f}", f"{first:.1f}")
        rows.append((f"{name}, {'our ' * (side in OURS)}{side}", *cells, times))
        print(*rows[-1], sep=", ", flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", choices=SIZES, default="small")
    parser.add_argument("--networks", nargs="+", choices=SIZES["small"], default=list(SIZES["small"]))
    sides = (*OURS[1:], *TORCH, "tinygrad")
    parser.add_argument(
        "--sides", nargs="*", choices=sides, default=["float16", "bfloat16", "torch", "compile"]
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--profile", action="store_true", help="end with the kernels of our float32 step")
    parser.add_argument("--adapter", choices=ICDS, help="a software adapter; else the best one there is")
    parser.add_argument("--python-peers", default=peers_python(), help="tinygrad's interpreter [%(default)s]")
    help = "what tinygrad may take for its first step, and for any other answer [%(default)g]"
    parser.add_argument("--peer-seconds", type=float, default=600.0, help=help)
    args = parser.parse_args()
    if args.adapter:
        choose_adapter(args.adapter)
    device = fb.get_default_device()
    print(
        f"ours on {device}; matrix units: {len(device.limits.matrix) if device.kind == 'gpu' else 0}",
        flush=True,
    )
    rows = [row for name in args.networks for row in measured(name, args)]
    columns = ("network, side", "steps/s", "rounds", "ms", "first s", "x our float32")
    show_table(f"training, {args.size}, on {device}", columns, rows)
    for name in args.networks if args.profile else ():
        show_profile(name, SIZES[args.size][name])


if __name__ == "__main__":
    main()
