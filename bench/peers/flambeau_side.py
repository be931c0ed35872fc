"""Turns the benchmark's model into a training step of Flambeau, recorded with `fb.jit`."""

from peers.protocol import Step
from peers.torch_side import module
from peers.workload import LEARNING_RATE, Task


def start(task: Task) -> tuple[str, Step]:
    """Builds the model, puts the batch in place and gives (the device's name, a training step)."""
    import flambeau as fb
    from flambeau import nn, optim

    model = nn.Sequential(*[module(nn, layer) for layer in task.layers])
    for parameter, value in zip(model.parameters(), sum(task.weights, ()), strict=True):
        parameter.assign_(fb.tensor(value))
    optimizer = optim.Adam(model.parameters(), lr=LEARNING_RATE)
    x, y = fb.tensor(task.images), fb.tensor(task.labels)

    @fb.jit
    def train(x, y):
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.step(loss.backward())
        return loss

    return str(x.device), lambda: train(x, y).item()
