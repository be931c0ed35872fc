"""From nothing to call 10, 100 and 1,000 of five recorded functions, and their longest call, beside PyTorch.

    python bench/first_calls.py [--size small] [--models loss cnn lstm gpt resnet50] [--calls 10 100 1000]
        [--sides ours torch compile]

Each contestant is a process of its own, whose clock starts before its imports. Each call ends when its loss
is read, so that a call has a time. `longest` is the longest call after the third, `median` the median of
these: recording, compiling and the checks of `fb.jit` show there. `small` is for CPUs and software adapters,
`card` for a GPU.

Expected, written down before it was measured (2026-11-27). Checks take at most 1 % of the running time; one
check is two to three graph buildings, so on a card the longest call of ResNet-50 is at most three times the
median (a check of about 60 ms beside a step of 35 ms), of `loss` ten times (0.5 ms beside 0.06 ms). Call 10:
ours 3 to 6 s for ResNet-50, torch eager 4 to 6 s (import and first kernels), torch.compile 30 to 60 s.
"""

import argparse
import json
import subprocess
import sys
import time
from statistics import median

BORN = time.perf_counter()
SIDES = ("ours", "torch", "compile")
MODELS = ("loss", "cnn", "lstm", "gpt", "resnet50")
LOSS = {"small": (256, 64), "card": (4096, 1000)}  # rows and classes
IMAGES = {"small": (2, 32), "card": (32, 224)}  # ResNet-50's batch, and the height and width of an image
STAGES = ((3, 64, 1), (4, 128, 2), (6, 256, 2), (3, 512, 2))  # blocks, width, stride of each of its stages
WARM = 3  # calls that record, compile and are checked first; the longest is looked for after them


def resnet50(f, classes: int = 1000):
    """The network in either package."""
    nn = f.nn

    def normed(n_in: int, n_out: int, size: int, stride: int = 1) -> list:
        conv = nn.Conv2d(n_in, n_out, size, stride, padding=size // 2, bias=False)
        return [conv, nn.BatchNorm2d(n_out)]

    class Block(nn.Module):
        def __init__(self, n_in: int, width: int, stride: int):
            super().__init__()
            n_out = 4 * width
            self.body = nn.Sequential(
                *normed(n_in, width, 1), nn.ReLU(), *normed(width, width, 3, stride), nn.ReLU(),
                *normed(width, n_out, 1),
            )  # fmt: skip
            changes = n_in != n_out or stride > 1
            self.shortcut = nn.Sequential(*normed(n_in, n_out, 1, stride)) if changes else nn.Identity()

        def forward(self, x):
            return (self.body(x) + self.shortcut(x)).relu()

    layers, n_in = [*normed(3, 64, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, padding=1)], 64
    for blocks, width, stride in STAGES:
        for i in range(blocks):
            layers.append(Block(n_in, width, stride if i == 0 else 1))
            n_in = 4 * width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(n_in, classes))


def our_call(model: str, size: str):
    """A call that reads the loss of one step."""
    import training

    import flambeau as fb

    if model in training.SIZES[size]:
        step, _ = training.our_step(model, training.SIZES[size][model], "float32")
        return lambda: step().item()
    if model == "loss":
        scores = fb.randn(*LOSS[size])
        target = fb.randint(0, LOSS[size][1], LOSS[size][:1])

        @fb.jit
        def slopes(x, y):
            x = x.detach().requires_grad_()
            loss = fb.nn.functional.cross_entropy(x, y)
            return loss, loss.backward()[x]

        return lambda: slopes(scores, target)[0].item()
    net = resnet50(fb)
    optimizer = fb.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    rows, side = IMAGES[size]
    x, y = fb.randn(rows, 3, side, side), fb.randint(0, 1000, (rows,))

    @fb.jit
    def step(x, y):
        loss = fb.nn.functional.cross_entropy(net(x), y)
        optimizer.step(loss.backward())
        return loss

    return lambda: step(x, y).item()


def torch_call(model: str, size: str, compiled: bool):
    """The same in PyTorch, on the card that it sees, else on the CPU."""
    import torch
    import training

    if model in training.SIZES[size]:
        step, _ = training.torch_step(model, training.SIZES[size][model], "float32", compiled)
        return lambda: step().item()
    place = "cuda" if torch.cuda.is_available() else "cpu"
    cross_entropy = torch.nn.functional.cross_entropy
    if model == "loss":
        scores = torch.randn(*LOSS[size], device=place, requires_grad=True)
        target = torch.randint(0, LOSS[size][1], LOSS[size][:1], device=place)
        forward = torch.compile(cross_entropy) if compiled else cross_entropy

        def slopes():
            loss = forward(scores, target)
            torch.autograd.grad(loss, scores)
            return loss.item()

        return slopes
    net = resnet50(torch).to(place)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    forward = torch.compile(net) if compiled else net
    rows, side = IMAGES[size]
    x = torch.randn(rows, 3, side, side, device=place)
    y = torch.randint(0, 1000, (rows,), device=place)

    def step():
        optimizer.zero_grad()
        loss = cross_entropy(forward(x), y)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def child(side: str, model: str, size: str, calls: list[int]) -> None:
    """Print the seconds from this process's start to each of the calls, and of each call."""
    call = our_call(model, size) if side == "ours" else torch_call(model, size, side == "compile")
    seconds, reached = [], {}
    for n in range(1, max(calls) + 1):
        begin = time.perf_counter()
        call()
        end = time.perf_counter()
        seconds.append(end - begin)
        if n in calls:
            reached[n] = end - BORN
    rest = seconds[WARM:] or seconds
    print(json.dumps({"reached": reached, "longest": max(rest), "median": median(rest)}))


def row(side: str, model: str, args: argparse.Namespace) -> tuple[str, ...]:
    """A contestant's times, or why it is left out."""
    wanted = [side, model, args.size, *map(str, args.calls)]
    done = subprocess.run([sys.executable, __file__, "--child", *wanted], capture_output=True, text=True)
    if done.returncode:
        why = (done.stderr.strip().splitlines() or ["no message"])[-1]
        return model, side, f"left out: {why[:100]}"
    told = json.loads(done.stdout.splitlines()[-1])
    times = [f"{told['reached'][str(n)]:.2f}" for n in args.calls]
    longest, usual = told["longest"], told["median"]
    return model, side, *times, f"{usual * 1e3:.2f}", f"{longest * 1e3:.1f}", f"{longest / usual:.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", choices=LOSS, default="small")
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--sides", nargs="+", choices=SIDES, default=list(SIDES))
    parser.add_argument("--calls", nargs="+", type=int, default=[10, 100, 1000])
    args = parser.parse_args()
    print("model, side, s to call", *args.calls, "median ms, longest ms, longest / median", sep=", ")
    for model in args.models:
        for side in args.sides:
            print(*row(side, model, args), sep=", ", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(*sys.argv[2:5], [int(n) for n in sys.argv[5:]])
    else:
        main()
