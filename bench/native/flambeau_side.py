"""The workloads in Flambeau, recorded with `fb.jit`."""

from native.given import HEADS, Arrays, layers


def start(name: str, g: Arrays):
    """(adapter's name, a call, what reads its result as a flat list); a call ends when its work is done."""
    import flambeau as fb
    from flambeau import nn, optim

    F = nn.functional
    device = fb.zeros(1).realize().device
    if "train" in name or "infer" in name:
        model = nn.Sequential(*[module(nn, layer) for layer in layers(name)])
        values = [v for k, v in g.items() if k not in ("x", "y")]
        for parameter, value in zip(model.parameters(), values, strict=True):
            parameter.assign_(fb.tensor(value))
        x, y = fb.tensor(g["x"]), fb.tensor(g["y"])
        if "infer" in name:
            infer = fb.jit(lambda x: model(x))
            return str(device), lambda: infer(x).tolist(), flat
        kind = optim.SGD if name.endswith("sgd") else optim.Adam
        optimizer = kind(model.parameters(), lr=1e-3)

        @fb.jit
        def train(x, y):
            loss = F.cross_entropy(model(x), y)
            optimizer.step(loss.backward())
            return loss

        return str(device), lambda: train(x, y).item(), lambda r: [r]

    t = {k: fb.tensor(v) for k, v in g.items()}
    fb.realize(*t.values())
    step = fb.jit(calls(F)[name[:2] if name.startswith("mm") else name])

    def call():
        y = step(**t)
        device.wait()
        return y

    return str(device), call, lambda r: r.reshape(-1).tolist()


def calls(F) -> dict:
    def block(x, qkv, out, up, down):
        b, t, c = x.shape
        rows = F.linear(F.layer_norm(x, (c,)), qkv).reshape(b, t, 3, HEADS, c // HEADS)
        q, k, v = (rows[:, :, i].transpose(1, 2) for i in range(3))
        y = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, t, c)
        x = x + F.linear(y, out)
        return x + F.linear(F.gelu(F.linear(F.layer_norm(x, (c,)), up), approximate="tanh"), down)

    return {
        "mm": lambda a, b: a @ b,
        "elt4m": lambda x: F.gelu(x, approximate="tanh") * 0.5 + x * x,
        "sum4m": lambda x: x.sum(),
        "block_fwd": block,
    }


def module(nn, layer):
    from peers.torch_side import module

    return module(nn, layer)


def flat(rows: list) -> list[float]:
    return [v for row in rows for v in row]
