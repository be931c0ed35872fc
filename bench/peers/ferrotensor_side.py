"""Turns the benchmark's model, where it has no convolution, into a training step of ferrotensor on wgpu."""

from peers.protocol import Step, Unsupported
from peers.workload import LEARNING_RATE, Layer, Task


def start(task: Task) -> tuple[str, Step]:
    """Builds the model, puts the batch in place and gives (the adapter's name, a training step)."""
    import ferrotensor as ft
    from ferrotensor.nn import functional

    if any(layer.kind == "conv" for layer in task.layers):
        raise Unsupported("has no convolution and no pooling: only --model mlp")
    gpu = ft.Device("gpu")
    # its weights lie [in, out], torch's [out, in]
    arrays = [array.T.tolist() for pair in task.weights for array in pair]
    parameters = [ft.tensor(array, device=gpu, requires_grad=True) for array in arrays]
    # AdamW without decay is Adam
    optimizer = ft.optim.AdamW(parameters, lr=LEARNING_RATE, weight_decay=0.0)
    x, y = ft.tensor(task.images.tolist(), device=gpu), ft.tensor(task.labels.tolist(), device=gpu)

    def step() -> float:
        optimizer.zero_grad()
        loss = functional.cross_entropy(forward(functional, task.layers, parameters, x), y)
        loss.backward()
        optimizer.step()
        return loss.item()

    return gpu.name, step


def forward(functional, layers: tuple[Layer, ...], parameters, x):
    """Applies the layers to a batch: [batch, 1, 28, 28] -> [batch, 10]"""
    left = iter(parameters)
    for layer in layers:
        match layer.kind:
            case "flatten":
                x = x.flatten(1)
            case "relu":
                x = x.relu()
            case "linear":
                x = functional.linear(x, next(left), next(left))
    return x
