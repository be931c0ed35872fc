"""A training step through torch.compile in torch mode, beside fb.jit of the same step.

python bench/torch_mode.py --model resnet50: one process measures both, turn by turn, so that both see the
same machine. FLAMBEAU_DEVICE names the GPU. --model timm_resnet50 and timm_vit_s compile timm's model, with
`import torch` answered by flambeau.torch, beside our own text of it; they need timm.
"""

import argparse
import importlib.util
import os
import statistics
import time

os.environ.setdefault("FLAMBEAU_CUDA", "1")

import flambeau as fb
import flambeau.nn.functional as F
import flambeau.torch as torch

VIT_S = fb.models.VitConfig(embed_dim=384, num_heads=6)
MODELS = {
    "mlp": (lambda: fb.nn.Sequential(*_layers(256, 3), fb.nn.Linear(256, 10)), (64, 256), 10),
    "cnn": (lambda: fb.nn.Sequential(*_convolutions(16, 2), fb.nn.Linear(16 * 64, 10)), (16, 3, 8, 8), 10),
    "resnet50": (lambda: fb.models.resnet50(), (32, 3, 224, 224), 1000),
    "vit_s": (lambda: fb.models.VisionTransformer(VIT_S), (32, 3, 224, 224), 1000),
}
TIMM = {"timm_resnet50": ("resnet50", "resnet50"), "timm_vit_s": ("vit_s", "vit_small_patch16_224")}


def _layers(width, n):
    return [layer for _ in range(n) for layer in (fb.nn.Linear(width, width), fb.nn.ReLU())]


def _convolutions(width, n):
    first = [fb.nn.Conv2d(3, width, 3, padding=1), fb.nn.BatchNorm2d(width), fb.nn.ReLU()]
    more = [fb.nn.Conv2d(width, width, 3, padding=1), fb.nn.BatchNorm2d(width), fb.nn.ReLU()] * (n - 1)
    return [*first, *more, fb.nn.Flatten()]


def ours(make, x, y):
    """The step in Flambeau's own form."""
    model = make().to("gpu")
    optimizer = fb.optim.AdamW(model.parameters(), lr=1e-3)

    @fb.jit
    def step(x, y):
        loss = F.cross_entropy(model(x), y)
        optimizer.step(loss.backward())
        return loss

    return lambda: step(x, y)


def torchs(make, x, y, zero_first):
    """The step in torch's form."""
    model = make().to("gpu")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

    @torch.compile
    def step(x, y):
        if zero_first:
            optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        if not zero_first:
            optimizer.zero_grad()
        return loss

    return lambda: step(x, y)


def from_timm(name):
    """A function that builds timm's model of that name."""
    torch.install()
    if importlib.util.find_spec("torchvision") is None:
        torch.stand_in("torchvision")
    with torch.enabled():
        timm = importlib.import_module("timm")
    return lambda: timm.create_model(name)


def seconds(call, steps):
    start = time.perf_counter()
    for _ in range(steps):
        loss = call()
    loss.item()
    return (time.perf_counter() - start) / steps


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", choices=[*MODELS, *TIMM], default="mlp")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    own, name = TIMM.get(options.model, (options.model, None))
    make, shape, classes = MODELS[own]
    make_theirs = make if name is None else from_timm(name)
    with torch.enabled(False), fb.device("gpu"):
        x, y = fb.randn(*shape), fb.randint(0, classes, (shape[0],))
        calls = {"own form, fb.jit": (ours(make, x, y), False)}
    with torch.enabled():
        calls["torch.compile, zero_grad last"] = torchs(make_theirs, x, y, False), True
        calls["torch.compile, zero_grad first"] = torchs(make_theirs, x, y, True), True
    times = {name: [] for name in calls}
    for i in range(options.rounds + 1):
        for name, (call, mode) in calls.items():
            with torch.enabled(mode):
                spent = seconds(call, options.steps if i else 5)
            times[name] += [spent] if i else []
    base = statistics.median(times["own form, fb.jit"])
    print(f"{options.model} on {x.device}, {options.steps} steps a round, median of {options.rounds}")
    for name, spent in times.items():
        middle = statistics.median(spent)
        print(f"{name:32} {middle * 1e3:8.2f} ms a step   {base / middle:.2f} of the own form's speed")


if __name__ == "__main__":
    main()
