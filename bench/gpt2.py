"""Training steps of GPT-2 small beside PyTorch: are the losses the same, how long is a step, how much memory.

    python bench/gpt2.py [--beside torch] [--size small] [--batch 8] [--length 512] [--steps 10]

float32 throughout (TensorFloat-32 off), AdamW, the recorded step (`fb.jit`) against eager PyTorch on the card
that it sees, else on the CPU. The losses of a tiny model's first steps are compared before anything is timed.
"""

import argparse
import gc
import time

import numpy as np
from _measure import show_table

import flambeau as fb
from flambeau.models.benchmarked import GPT2_SMALL, GPT_TINY, Size, draw_weights, gpt, make_training_step

SIZES = {"small": GPT2_SMALL, "tiny": GPT_TINY}
TOLERANCE = 2e-4  # relative, of each of the first losses


def batch(size: Size, rows: int, length: int) -> tuple[np.ndarray, np.ndarray]:
    """Random tokens and the ones after them."""
    ids = np.random.default_rng(1).integers(0, size.vocabulary, (rows, length + 1)).astype(np.int32)
    return ids[:, :-1].copy(), ids[:, 1:].copy()


def step_of(f, size: Size, rows: int, length: int, lr: float = 3e-4):
    """(the model, a call that trains it once) in either package, from the same weights."""
    x, y = batch(size, rows, length)
    model = draw_weights(f, gpt(f, size))
    if f is fb:
        return model, make_training_step(f, model, fb.tensor(x), fb.tensor(y), lr=lr)
    place = "cuda" if f.cuda.is_available() else "cpu"
    given = (f.from_numpy(a).long().to(place) for a in (x, y))
    return model.to(place), make_training_step(f, model.to(place), *given, lr=lr)


def compare(torch, steps: int = 6) -> None:
    """The first losses of a tiny model; SystemExit where they part."""
    ours, theirs = (step_of(f, GPT_TINY, 4, 48, lr=3e-3)[1] for f in (fb, torch))
    for i in range(steps):
        a, b = ours().item(), theirs().item()
        print(f"tiny, step {i}: loss {a:.6f}, torch {b:.6f}", flush=True)
        if abs(a - b) > TOLERANCE * abs(b):
            raise SystemExit(f"losses differ at step {i}: {a} and {b}")


def seconds(call, done, steps: int) -> tuple[float, float, float]:
    """(first call, median step, fastest), in seconds; a step ends when its work is done."""
    begin = time.perf_counter()
    call()
    done()
    first = time.perf_counter() - begin
    call()
    done()
    times = []
    for _ in range(steps):
        begin = time.perf_counter()
        call()
        done()
        times.append(time.perf_counter() - begin)
    return first, sorted(times)[len(times) // 2], min(times)


def ours(size: Size, args) -> tuple[str, ...]:
    from flambeau.device import get_device

    device = get_device()
    _, step = step_of(fb, size, args.batch, args.length)
    first, median, best = seconds(step, device.wait if device.kind == "gpu" else int, args.steps)
    print(f"flambeau: loss {step().item():.5f}", flush=True)
    return row(f"flambeau on {device}", args, first, median, best, device.pool.peak, device.pool.reserved)


def theirs(torch, size: Size, args) -> tuple[str, ...]:
    cuda = torch.cuda.is_available()
    _, step = step_of(torch, size, args.batch, args.length)
    wait = torch.cuda.synchronize if cuda else int
    if cuda:
        torch.cuda.reset_peak_memory_stats()
    first, median, best = seconds(step, wait, args.steps)
    print(f"torch: loss {step().item():.5f}", flush=True)
    memory = (torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved()) if cuda else (0, 0)
    name = f"torch {torch.__version__} on {'cuda' if cuda else 'cpu'}"
    return row(name, args, first, median, best, *memory)


def row(name: str, args, first: float, median: float, best: float, *memory: int) -> tuple[str, ...]:
    tokens = args.batch * args.length / median
    sizes = (f"{n / 1e9:.2f}" if n else "-" for n in memory)
    cells = (name, f"{first:.2f}", f"{median * 1e3:.1f}", f"{best * 1e3:.1f}", f"{tokens:,.0f}", *sizes)
    print(*cells, sep=", ", flush=True)
    return cells


def profiled(size: Size, args) -> None:
    """Where a step's time goes."""
    _, step = step_of(fb, size, args.batch, args.length)
    for _ in range(2):
        step().item()
    with fb.profile() as profile:
        step().item()
    print(profile)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", choices=SIZES, default="small")
    parser.add_argument("--beside", choices=["torch"], nargs="*", default=[])
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--length", type=int, default=512)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--profile", action="store_true", help="end with the profile of a step")
    args = parser.parse_args()
    size, rows, torch = SIZES[args.size], [], None
    if args.beside:
        import torch

        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
        compare(torch)
        rows.append(theirs(torch, size, args))
        gc.collect()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
    rows.append(ours(size, args))
    columns = ("package", "first s", "step ms", "fastest", "tokens/s", "peak GB", "taken GB")
    show_table(f"GPT-2 {args.size}, f32, batch {args.batch} x {args.length}", columns, rows)
    if args.profile:
        profiled(size, args)


if __name__ == "__main__":
    main()
