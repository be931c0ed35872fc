"""The workloads in tinygrad on WebGPU (Dawn), recorded with TinyJit."""

from native.given import HEADS, Arrays, layers


def start(name: str, g: Arrays):
    """(adapter's name, a call, what reads its result as a flat list); a call ends when its work is done."""
    from peers.tinygrad_side import adapter_name, choose_webgpu, function, trained

    choose_webgpu()
    from tinygrad import Device, Tensor, TinyJit, nn

    device = Device[Device.DEFAULT]
    t = {k: Tensor(v).realize() for k, v in g.items()}
    device.synchronize()
    if "train" in name or "infer" in name:
        model = [function(nn, layer) for layer in layers(name)]
        for i, layer in enumerate(model):
            if hasattr(layer, "weight"):
                layer.weight.assign(t[f"weight{i}"]).realize()
                layer.bias.assign(t[f"bias{i}"]).realize()
        x, y = t["x"], t["y"]
        if "infer" in name:
            infer = TinyJit(lambda: x.sequential(model).realize())
            return adapter_name(), lambda: infer().tolist(), lambda rows: [v for row in rows for v in row]
        kind = nn.optim.SGD if name.endswith("sgd") else nn.optim.Adam
        optimizer = kind(nn.state.get_parameters(model), lr=1e-3)
        step = trained(lambda: x.sequential(model).sparse_categorical_crossentropy(y), optimizer)
        return adapter_name(), step, lambda r: [r]
    step = TinyJit(lambda: calls()[name[:2] if name.startswith("mm") else name](**t).realize())

    def call():
        made = step()
        device.synchronize()
        return made

    return adapter_name(), call, lambda r: r.flatten().tolist()


def calls() -> dict:
    def block(x, qkv, out, up, down):
        b, t, c = x.shape
        rows = x.layernorm().linear(qkv.T).reshape(b, t, 3, HEADS, c // HEADS)
        q, k, v = (rows[:, :, i].transpose(1, 2) for i in range(3))
        y = q.scaled_dot_product_attention(k, v).transpose(1, 2).reshape(b, t, c)
        x = x + y.linear(out.T)
        return x + x.layernorm().linear(up.T).gelu().linear(down.T)

    return {
        "mm": lambda a, b: a @ b,
        "elt4m": lambda x: x.gelu() * 0.5 + x * x,
        "sum4m": lambda x: x.sum(),
        "block_fwd": block,
    }
