"""Turns a training on digits into docs/images/learner-rates.png and learner-worst.png.

python scripts/draw_learner.py [FOLDER]

Searches a learning rate, trains a small network on the digits that Flambeau carries for three epochs, and
draws the test digits with the highest losses: half a minute on two cores. With FOLDER it writes there, and
the curves and the confusion matrix too.
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np

import flambeau as fb
from flambeau import data, metrics, nn, optim
from flambeau.data.mnist import SUBSET
from flambeau.learner import Learner

IMAGES = Path(__file__).parents[1] / "docs/images"
B, EPOCHS = 100, 3  # B digits a step


def tensors(batch: Any) -> tuple[fb.Tensor, fb.Tensor]:
    """uint8 (B, 28, 28) and labels as a step takes them."""
    images, labels = batch
    return fb.tensor(images[:, None].astype(np.float32) / 255), fb.tensor(labels)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", help="write all pictures there")
    folder = parser.parse_args().folder
    fb.manual_seed(0)
    model = nn.Sequential(  # (B, 1, 28, 28)
        nn.Conv2d(1, 8, 5), nn.ReLU(), nn.MaxPool2d(2),  # (B, 8, 12, 12)
        nn.Flatten(), nn.BatchNorm1d(1152), nn.Dropout(0.1), nn.Linear(1152, 10),  # (B, 10)
    )  # fmt: skip
    accuracy = metrics.Accuracy(task="multiclass", num_classes=10)
    optimizer = optim.Adam(model.parameters(), lr=1e-3)
    learner = Learner(
        model, optimizer, nn.CrossEntropyLoss(), metrics=accuracy, prepare=tensors, renderers=[]
    )
    train, test = (data.mnist(is_train, root=SUBSET) for is_train in (True, False))
    loader = data.DataLoader(train, B, shuffle=True, seed=0, collate_fn=data.collate)
    valid = data.DataLoader(test, 500, collate_fn=data.collate)

    rates = learner.lr_find(loader)
    print(rates)
    if rates.suggestion is not None:
        optimizer.lr = rates.suggestion
    history = learner.fit(loader, valid, epochs=EPOCHS)
    seen = learner.interpret(valid)
    print(history[-1], seen)
    rates.plot().save((folder or IMAGES) / "learner-rates.png")
    seen.plot_top_losses().save((folder or IMAGES) / "learner-worst.png")
    if folder is not None:
        history.plot().save(folder / "learner-history.png")
        seen.plot_confusion().save(folder / "learner-confusion.png")


if __name__ == "__main__":
    main()
