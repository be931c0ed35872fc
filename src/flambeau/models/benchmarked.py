"""Benchmark networks, written once for Flambeau and PyTorch: `f` is either package."""

from typing import Any, NamedTuple


class Size(NamedTuple):
    """The dims of a GPT."""

    layers: int
    width: int
    heads: int
    vocabulary: int
    context: int


GPT2_SMALL = Size(12, 768, 12, 50257, 1024)  # 124,439,808 parameters, the head tied to the embedding
GPT_TINY = Size(2, 64, 4, 512, 64)


def gpt(f: Any, size: Size) -> Any:
    """GPT-2 (Radford et al., 2019), with weights from N(0, 0.02). [b, t] -> [b, t, vocabulary]"""
    nn, F = f.nn, f.nn.functional
    base: type[Any] = nn.Module

    # Classes inside the function: their base is f.nn.Module of either package.
    class Block(base):
        def __init__(self):
            super().__init__()  # pyright: ignore[reportUnknownMemberType] - of either package
            self.norm1, self.norm2 = nn.LayerNorm(size.width), nn.LayerNorm(size.width)
            self.qkv = nn.Linear(size.width, 3 * size.width)
            self.out = nn.Linear(size.width, size.width)
            self.up = nn.Linear(size.width, 4 * size.width)
            self.down = nn.Linear(4 * size.width, size.width)

        def forward(self, x: Any) -> Any:
            b, t, c = x.shape
            rows = self.qkv(self.norm1(x)).reshape(b, t, 3, size.heads, c // size.heads)
            q, k, v = (rows[:, :, i].transpose(1, 2) for i in range(3))
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(y.transpose(1, 2).reshape(b, t, c))
            return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))

    class GPT(base):
        def __init__(self):
            super().__init__()  # pyright: ignore[reportUnknownMemberType] - of either package
            self.tokens = nn.Embedding(size.vocabulary, size.width)
            self.places = nn.Embedding(size.context, size.width)
            self.blocks = nn.ModuleList([Block() for _ in range(size.layers)])
            self.norm = nn.LayerNorm(size.width)

        def forward(self, ids: Any) -> Any:
            x = self.tokens(ids) + self.places.weight[: ids.shape[1]]
            for block in self.blocks:
                x = block(x)
            return F.linear(self.norm(x), self.tokens.weight)

    return GPT()


def digits_cnn(f: Any) -> Any:
    """Return the network of `bench/mnist_step.py`, 0.43 million parameters. [n, 1, 28, 28] -> [n, 10]"""
    nn = f.nn
    return nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(32, 32, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(3136, 128),
        nn.ReLU(),
        nn.Linear(128, 10),
    )


def draw_weights(f: Any, model: Any, seed: int = 0, scale: float = 0.02) -> Any:
    """Draw a model's matrices by NumPy, so that both packages have equal weights; biases become 0 and the
    weights of norms 1."""
    import numpy as np

    rng = np.random.default_rng(seed)
    for name, p in model.named_parameters():
        shape = tuple(p.shape)
        values = np.zeros(shape, np.float32) if name.endswith("bias") else np.ones(shape, np.float32)
        if len(shape) > 1:
            values = rng.standard_normal(shape, np.float32) * np.float32(scale)
        if hasattr(p, "assign_"):
            p.assign_(f.tensor(values))
        else:
            p.data.copy_(f.from_numpy(values))
    return model


def make_training_step(f: Any, model: Any, rows: Any, labels: Any, *, lr: float = 3e-4) -> Any:
    """Return a function that makes one training step by cross entropy and AdamW, and returns the loss."""
    optimizer = f.optim.AdamW(model.parameters(), lr=lr)

    def loss_of(x: Any, y: Any) -> Any:
        scores = model(x)
        return f.nn.functional.cross_entropy(scores.reshape(-1, scores.shape[-1]), y.reshape(-1))

    if f.__name__ == "flambeau":

        @f.jit
        def step(x: Any, y: Any) -> Any:
            loss = loss_of(x, y)
            optimizer.step(loss.backward())
            return loss

        return lambda: step(rows, labels)

    def eager():
        optimizer.zero_grad()
        loss = loss_of(rows, labels)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return eager
