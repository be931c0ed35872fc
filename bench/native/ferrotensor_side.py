"""The workloads that ferrotensor has: no convolution, and no more than 5 seconds a call."""

from peers.protocol import Unsupported

from native.given import Arrays


def start(name: str, g: Arrays):
    """(adapter's name, a call, what reads its result as a flat list); it ends with the read of a number."""
    import ferrotensor as ft
    from ferrotensor.nn import functional as F

    if name.startswith("cnn"):
        raise Unsupported("has no convolution")
    if name == "block_fwd":
        raise Unsupported("takes more than the 5 s after which it gives wrong values")
    gpu = ft.Device("gpu")
    if name == "mlp_train_adam":
        return gpu.name, training(ft, F, gpu, g), lambda r: [r]
    t = {k: ft.tensor(v.tolist(), device=gpu) for k, v in g.items()}

    def call():
        y = CALLS[name[:2] if name.startswith("mm") else name](**t)
        return y, y.item() if y.numel() == 1 else last(y)

    return gpu.name, call, lambda r: [r[1]] if r[0].numel() == 1 else flat(r[0])


CALLS = {
    "mm": lambda a, b: a.matmul(b),
    "elt4m": lambda x: x.gelu() * 0.5 + x * x,
    "sum4m": lambda x: x.sum(),
}


def last(y) -> float:
    """Reading one element is its only wait."""
    while y.ndim > 1:
        y = y.narrow(0, 0, 1).squeeze(0)
    return y.narrow(0, 0, 1).item()


def flat(y) -> list[float]:
    found = y.cpu().tolist()
    return [v for row in found for v in row] if isinstance(found[0], list) else found


def training(ft, F, gpu, g: Arrays):
    names = ("weight1", "bias1", "weight3", "bias3")
    # its weights lie [in, out], torch's [out, in]
    parameters = [ft.tensor(g[n].T.tolist(), device=gpu, requires_grad=True) for n in names]
    optimizer = ft.optim.AdamW(parameters, lr=1e-3, weight_decay=0.0)  # without decay it is Adam
    x, y = ft.tensor(g["x"].tolist(), device=gpu), ft.tensor(g["y"].tolist(), device=gpu)

    def step() -> float:
        optimizer.zero_grad()
        hidden = F.linear(x.flatten(1), *parameters[:2]).relu()
        loss = F.cross_entropy(F.linear(hidden, *parameters[2:]), y)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step
