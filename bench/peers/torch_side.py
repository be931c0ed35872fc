"""Turns the benchmark's model into a training step of PyTorch on the CPU."""

from peers.protocol import Step
from peers.workload import LEARNING_RATE, Layer, Task


def start(task: Task) -> tuple[str, Step]:
    """Builds the model, puts the batch in place and gives (the CPU's threads, a training step)."""
    import torch
    from torch import nn

    torch.set_flush_denormal(True)  # the tiny gradients of a learnt batch would slow its steps down
    model = nn.Sequential(*[module(nn, layer) for layer in task.layers])
    with torch.no_grad():
        for parameter, value in zip(model.parameters(), sum(task.weights, ()), strict=True):
            parameter.copy_(torch.from_numpy(value))
    optimizer = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE)
    x, y = torch.from_numpy(task.images), torch.from_numpy(task.labels).long()

    def step() -> float:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss.item()

    return f"CPU, {torch.get_num_threads()} threads", step


def module(nn, layer: Layer):
    """The layer as a module of `nn`, torch's or one with torch's names."""
    return {
        "conv": lambda: nn.Conv2d(layer.inputs, layer.outputs, layer.kernel, padding=layer.padding),
        "linear": lambda: nn.Linear(layer.inputs, layer.outputs),
        "relu": nn.ReLU,
        "pool": lambda: nn.MaxPool2d(2),
        "flatten": nn.Flatten,
    }[layer.kind]()
