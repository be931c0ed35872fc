"""Turns a network of `bench/training.py` into a training step of tinygrad on WebGPU, by TinyJit."""

from peers.child import is_one_adapter
from peers.networks import Given
from peers.protocol import Step, Unsupported
from peers.tinygrad_side import adapter_name, choose_webgpu, function, trained
from peers.workload import LEARNING_RATE, MODELS


def start(given: Given) -> tuple[str, Step]:
    """Builds the network, puts the batch in place and gives (the adapter's name, a training step)."""
    choose_webgpu()
    from tinygrad import Tensor, nn

    adapter = adapter_name()
    if not is_one_adapter(given.adapter, adapter):  # said before it compiles for minutes
        raise Unsupported(f"runs on {adapter}, ours on {given.adapter}: give --adapter")
    parts, forward = {"lstm": lstm, "cnn": cnn, "gpt": gpt}[given.network](nn, given)
    weights = {name.removesuffix("_l0"): Tensor(value) for name, value in given.weights.items()}
    nn.state.load_state_dict(parts, weights, verbose=False)
    x, y = Tensor(given.x).realize(), Tensor(given.y.reshape(-1)).realize()
    # its decay of 0.01, betas and epsilon are torch's
    optimizer = nn.optim.AdamW(nn.state.get_parameters(parts), lr=LEARNING_RATE)

    def loss_of():
        scores = forward(x)
        return scores.reshape(-1, scores.shape[-1]).sparse_categorical_crossentropy(y)

    return adapter, trained(loss_of, optimizer)


def lstm(nn, given: Given):
    """(parts by torch's names, steps of features into classes). [t, b, features] -> [b, classes]"""
    features, width = given.x.shape[-1], given.weights["steps.weight_hh_l0"].shape[1]
    cell, end = nn.LSTMCell(features, width), nn.Linear(width, len(given.weights["end.weight"]))

    def forward(x):
        state = None
        for t in range(x.shape[0]):
            state = cell(x[t], state)
        return end(state[0])

    return {"steps": cell, "end": end}, forward


def cnn(nn, given: Given):
    """(parts by torch's names, digits into classes). [b, 1, 28, 28] -> [b, 10]"""
    layers = [function(nn, layer) for layer in MODELS["mnist"]]
    return layers, lambda x: x.sequential(layers)


def gpt(nn, given: Given):
    """(parts by torch's names, the scores of the next token). [b, t] -> [b, t, vocabulary]"""
    vocabulary, width = given.weights["tokens.weight"].shape
    blocks = [block(nn, width) for name in given.weights if name.endswith("qkv.weight")]
    tokens, norm = nn.Embedding(vocabulary, width), nn.LayerNorm(width)
    places = nn.Embedding(len(given.weights["places.weight"]), width)

    def forward(ids):
        x = tokens(ids) + places.weight[: ids.shape[1]]
        for part in blocks:
            x = after(part, x, given.heads)
        return norm(x).linear(tokens.weight.T)

    return {"tokens": tokens, "places": places, "blocks": blocks, "norm": norm}, forward


def block(nn, width: int) -> dict:
    """A block's parts."""
    sizes = {"qkv": (1, 3), "out": (1, 1), "up": (1, 4), "down": (4, 1)}  # in widths
    linears = {name: nn.Linear(a * width, b * width) for name, (a, b) in sizes.items()}
    return linears | {"norm1": nn.LayerNorm(width), "norm2": nn.LayerNorm(width)}


def after(part: dict, x, heads: int):
    """What a block makes of x. [b, t, width] -> [b, t, width]"""
    b, t, c = x.shape
    rows = part["qkv"](part["norm1"](x)).reshape(b, t, 3, heads, c // heads)
    q, k, v = (rows[:, :, i].transpose(1, 2) for i in range(3))
    y = q.scaled_dot_product_attention(k, v, is_causal=True)
    x = x + part["out"](y.transpose(1, 2).reshape(b, t, c))
    return x + part["down"](part["up"](part["norm2"](x)).gelu())
