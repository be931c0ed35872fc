"""Compare runs: four optimisers with two seeds each, their events in files, and a table.

python examples/compare_runs.py

60 steps each, in 2 epochs. Test accuracy, mean of two seeds: adagrad 0.882, adamw 0.878, sgd 0.871, lion
0.830.
"""

import argparse
import json
from collections import defaultdict
from pathlib import Path

import numpy as np

import flambeau as fb
from flambeau import data, metrics, nn, optim
from flambeau.learner import Event

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--steps", type=int, default=60, help="of each run, in two epochs")
parser.add_argument("--runs", type=Path, default=Path("runs"), help="a folder; runs that are there are kept")
args = parser.parse_args()
B, EPOCHS, SEEDS = 64, 2, (0, 1)
OPTIMIZERS = {
    "sgd": lambda p: optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True),
    "adamw": lambda p: optim.AdamW(p, lr=3e-3),
    "lion": lambda p: optim.Lion(p, lr=5e-4),
    "adagrad": lambda p: optim.Adagrad(p, lr=2e-2),
}


def pixels(batch):
    images, labels = batch
    return images.flatten(1).float() / 255, labels


def train(name: str, seed: int, log: Path) -> None:
    """Train once; the events are written to a file, one per line."""
    fb.manual_seed(seed)
    digits, test = data.mnist(train=True, download=False), data.mnist(train=False, download=False)
    some = data.Subset(digits, range(min(len(digits), B * max(args.steps // EPOCHS, 1))))
    model = nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))
    lines: list[str] = []

    def write(event: Event) -> None:
        lines.append(json.dumps(event.to_dict() | {"run": name, "seed": seed}))

    learner = fb.Learner(
        model, OPTIMIZERS[name](model.parameters()), nn.functional.cross_entropy,
        metrics={"accuracy": metrics.Accuracy(task="multiclass", num_classes=10)},
        prepare=pixels, renderers=[write],
    )  # fmt: skip
    learner.fit(
        data.DataLoader(some, B, shuffle=True, seed=seed, drop_last=True),
        data.DataLoader(test, 500),
        epochs=EPOCHS,
    )
    log.write_text("\n".join(lines))


args.runs.mkdir(exist_ok=True)
for name in OPTIMIZERS:
    for seed in SEEDS:
        log = args.runs / f"{name}-{seed}.jsonl"
        if not log.exists():
            train(name, seed, log)

# --- all runs of the folder, also those of an earlier call ---

losses, accuracies = defaultdict(list), defaultdict(list)
for log in sorted(args.runs.glob("*.jsonl")):
    events = [json.loads(line) for line in log.read_text().splitlines()]
    name = events[0]["run"]
    losses[name].append(
        [v for e in events if e["kind"] == "values" and e["split"] == "train" for v in e["values"]["loss"]]
    )
    valid = [e["metrics"] for e in events if e["kind"] == "epoch_ended" and e["split"] == "valid"]
    accuracies[name].append(max(next(v for k, v in m.items() if "accuracy" in k) for m in valid))

marks = {name: name[0].upper() if i % 2 else name[0] for i, name in enumerate(losses)}
print(f"{'':8}  {'first loss':>10}  {'last loss':>10}  {'accuracy':>9}  of seeds")
for name, runs in sorted(losses.items(), key=lambda item: -np.mean(accuracies[item[0]])):
    first, last = np.mean([r[0] for r in runs]), np.mean([np.mean(r[-10:]) for r in runs])
    seeds = " ".join(f"{a:.4f}" for a in sorted(accuracies[name]))
    print(f"{name:8}  {first:10.3f}  {last:10.3f}  {np.mean(accuracies[name]):9.4f}  {seeds}")

rows, columns = 10, 60
canvas = [[" "] * columns for _ in range(rows)]
highest = max(np.mean([r[0] for r in runs]) for runs in losses.values())
for name, runs in losses.items():
    curve = np.mean([r[: min(map(len, runs))] for r in runs], 0)
    for x, part in enumerate(np.array_split(curve, min(columns, len(curve)))):
        canvas[int((1 - min(part.mean() / highest, 1)) * (rows - 1))][x] = name[0]
print("\n".join("".join(row) for row in canvas))
