"""Tokens a second of decoders with random weights, beside a plain loop of torch with a static cache.

    python bench/decoding_shapes.py [--models gpt2 135m 500m 1b] [--dtypes float32 float16 q4_0] [--batch 1 8]
        [--flat 4096] [--prefill 512 1024] [--torch] [--seconds 270]

Unlike decoding.py it needs no transformers. q4_0: the weights of all linear layers and of the table are
random blocks. Each row has the first four calls of 128 tokens after a prompt of 16. --flat: tokens a second
around token 128 and at the end of one long text. --prefill: tokens a second of a prompt. --products: us of a
product of one vector in a chain, by FLAMBEAU_VARIANT=contract=skinny and the like. What does not fit
--seconds is left out, and the row says so.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from _measure import number, show_table

import flambeau as fb
from flambeau import models, nn
from flambeau.io.gguf_blocks import BLOCKS, weight_of

WORDS, PROMPT, TOKENS, CALLS = 32000, 16, 128, 4
SHAPES = {  # hidden, intermediate, layers, heads, heads of keys
    "135m": (576, 1536, 30, 9, 3),
    "500m": (896, 4864, 24, 14, 2),
    "1b": (2048, 8192, 16, 32, 8),
}
PRODUCTS = ((576, 576), (192, 576), (1536, 576), (896, 896), (4864, 896), (2048, 2048), (8192, 2048))


def llama(name: str) -> Any:
    """A Llama of a shape, with random weights."""
    hidden, wide, layers, heads, keys = SHAPES[name]
    return models.LlamaForCausalLM(
        dict(
            model_type="llama",
            vocab_size=WORDS,
            hidden_size=hidden,
            intermediate_size=wide,
            num_hidden_layers=layers,
            num_attention_heads=heads,
            num_key_value_heads=keys,
            tie_word_embeddings=True,
            max_position_embeddings=8192,
        )
    )


def blocks(form: str, n: int, k: int) -> Any:
    """Random blocks with one scale, of numbers below 0.16."""
    block, rng = BLOCKS[form.upper()], np.random.default_rng(0)
    raw = rng.integers(0, 256, (n * k // block.elements, block.size), dtype=np.uint8)
    raw[:, :2] = np.array([0.02], "f2").view("u1")
    return weight_of(block.name, raw.tobytes(), (n, k))


def network(name: str, dtype: str) -> Any:
    net = (models.GPT2LMHeadModel(models.GPT2Config()) if name == "gpt2" else llama(name)).eval()
    if dtype == "float16":
        return net.half()
    if dtype != "float32":
        layers = [(n, m) for n, m in net.named_modules() if type(m) in (nn.Linear, nn.Embedding)]
        nn.keep_blocks(net, {f"{n}.weight": blocks(dtype, *m.weight.shape) for n, m in layers})
    return net


def prompt(batch: int, length: int = PROMPT) -> np.ndarray:
    return np.random.default_rng(length).integers(0, WORDS, (batch, length))


def calls_of(write: Callable[[], Any], batch: int) -> list[float]:
    """Tokens a second of the first calls."""
    speeds: list[float] = []
    for _ in range(CALLS):
        begin = time.perf_counter()
        write()
        speeds.append(batch * TOKENS / (time.perf_counter() - begin))
    return speeds


def texts(net: Any, batch: int) -> list[float]:
    """Tokens a second of the first calls of a new decoder."""
    ids, decoder = fb.tensor(prompt(batch)), models.Decoder(net)
    return calls_of(lambda: decoder.generate(ids, TOKENS, eos_token_id=None).numpy(), batch)


def flat(net: Any, length: int) -> tuple[float, float, float]:
    """Tokens a second at tokens 64 to 192 and at the last 128; the longest step of the last half in ms."""
    times: list[float] = []
    options = dict(eos_token_id=None, streamer=lambda _: times.append(time.perf_counter()))
    models.Decoder(net).generate(fb.tensor(prompt(1)), length - PROMPT, **options)
    early, late = 128 / (times[192] - times[64]), 128 / (times[-1] - times[-129])
    return early, late, 1000 * float(np.diff(times[len(times) // 2 :]).max())


def prefill(net: Any, length: int) -> tuple[float]:
    """Tokens a second of a prompt, the best of three calls after the first two."""
    decoder, ids, best = models.Decoder(net), fb.tensor(prompt(1, length)), 0.0
    for i in range(5):
        begin = time.perf_counter()
        decoder.generate(ids, 1, eos_token_id=None).numpy()
        best = max(best, length / (time.perf_counter() - begin)) if i > 1 else 0.0
    return (best,)


class TorchLoop:
    """A Llama shape in plain torch: one eager step after another, with caches of fixed length."""

    def __init__(self, name: str, dtype: str, batch: int, length: int):
        import torch

        self.torch, self.device = torch, "cuda" if torch.cuda.is_available() else "cpu"
        torch.backends.cuda.matmul.allow_tf32 = False
        hidden, wide, layers, self.heads, self.keys = SHAPES[name]
        self.size = hidden // self.heads
        options = dict(device=self.device, dtype=getattr(torch, dtype))

        def weight(n: int, k: int) -> Any:
            return torch.randn(n, k, **options) * 0.02

        kv = self.keys * self.size
        sizes = [(hidden, hidden), (kv, hidden), (kv, hidden), (hidden, hidden)]
        sizes += [(wide, hidden), (wide, hidden), (hidden, wide)]
        self.layers = [[weight(*s) for s in sizes] for _ in range(layers)]
        self.norm, self.table = torch.ones(hidden, **options), weight(WORDS, hidden)
        caches = (batch, self.keys, length, self.size)
        self.caches = [[torch.zeros(caches, **options) for _ in "kv"] for _ in range(layers)]
        angles = torch.arange(length).unsqueeze(1) * 10000.0 ** (-torch.arange(0, self.size, 2) / self.size)
        self.cos, self.sin = (f(angles).to(**options) for f in (torch.cos, torch.sin))

    def turn(self, x: Any, at: slice) -> Any:
        a, b = x.chunk(2, -1)
        cos, sin = self.cos[at], self.sin[at]
        return self.torch.cat([a * cos - b * sin, b * cos + a * sin], -1)

    def step(self, ids: Any, at: int) -> Any:
        functional = self.torch.nn.functional
        x, n, to = self.table[ids], ids.shape[1], slice(at, at + ids.shape[1])
        for (q, k, v, o, gate, up, down), (keys, values) in zip(self.layers, self.caches, strict=True):
            h = functional.rms_norm(x, x.shape[-1:], self.norm)
            parts = [(h @ w.T).unflatten(-1, (-1, self.size)).transpose(1, 2) for w in (q, k, v)]
            keys[:, :, to], values[:, :, to] = self.turn(parts[1], to), parts[2]
            seen = (keys[:, :, : at + n], values[:, :, : at + n])
            y = functional.scaled_dot_product_attention(
                self.turn(parts[0], to), *seen, is_causal=n > 1, enable_gqa=True
            )
            x = x + y.transpose(1, 2).flatten(2) @ o.T
            h = functional.rms_norm(x, x.shape[-1:], self.norm)
            x = x + (functional.silu(h @ gate.T) * (h @ up.T)) @ down.T
        return (functional.rms_norm(x, x.shape[-1:], self.norm)[:, -1:] @ self.table.T).argmax(-1)

    def write(self, ids: np.ndarray, tokens: int) -> Any:
        with self.torch.no_grad():
            token, at = self.torch.tensor(ids, device=self.device), 0
            for _ in range(tokens):
                n = token.shape[1]
                token, at = self.step(token, at), at + n
            return token.cpu()


def torch_texts(name: str, dtype: str, batch: int) -> list[float]:
    """As `texts`, by torch."""
    loop = TorchLoop(name, dtype, batch, 2048)
    return calls_of(lambda: loop.write(prompt(batch), TOKENS), batch)


def torch_prefill(name: str, dtype: str, length: int) -> tuple[float]:
    """As `prefill`, by torch."""
    loop, best = TorchLoop(name, dtype, 1, length), 0.0
    for _ in range(4):
        begin = time.perf_counter()
        loop.write(prompt(1, length), 1)
        best = max(best, length / (time.perf_counter() - begin))
    return (best,)


def products(dtype: str, n: int, k: int) -> tuple[float, float]:
    """us of a product [k] x [n, k] and back in a chain; the greatest relative error of one, times 1e6."""
    layers = [nn.Sequential(nn.Linear(k, n, False), nn.Linear(n, k, False)) for _ in range(32)]
    for pair in layers if dtype != "float32" else ():
        nn.keep_blocks(pair, {"0.weight": blocks(dtype, n, k), "1.weight": blocks(dtype, k, n)})

    @fb.jit
    def chain(x: Any) -> Any:
        for pair in layers:
            x = pair(x) * 0.01
        return x

    x, times = fb.randn(1, k), list[float]()
    with fb.no_grad():
        y, dense = layers[0][0](x), layers[0][0].weight.numpy().astype("f8")
        wanted = x.numpy().astype("f8") @ dense.T
        error = float(np.abs(y.numpy() - wanted).max() / np.abs(wanted).max())
        for _ in range(12):
            begin = time.perf_counter()
            chain(x).numpy()
            times.append(time.perf_counter() - begin)
    return 1e6 * min(times) / 64, 1e6 * error


class Rows:
    """Measures until the time is over, and prints each row."""

    def __init__(self, seconds: float):
        self.end, self.rows = time.perf_counter() + seconds, list[tuple[str, ...]]()

    def add(self, title: str, measure: Callable[..., Any], *given: Any) -> None:
        if time.perf_counter() > self.end:
            print(f"{title}: left out: no time", flush=True)
            return
        try:
            self.rows.append((title, *map(number, measure(*given))))
        except Exception as e:
            self.rows.append((title, f"{type(e).__name__}: {str(e)[:200]}"))
        print(*self.rows[-1], flush=True)

    def table(self) -> None:
        wide = max(map(len, self.rows), default=1)
        filled = [(*r, *[""] * (wide - len(r))) for r in self.rows]
        show_table("tokens/s", ("what", *"1234"[: wide - 1]), filled)


def measure_ours(rows: Rows, name: str, dtype: str, args: argparse.Namespace) -> None:
    net = network(name, dtype)
    for batch in args.batch:
        rows.add(f"{name} {dtype} x{batch}", texts, net, batch)
    for n in args.prefill:
        rows.add(f"{name} {dtype} prefill {n}", prefill, net, n)
    if args.flat and name != "gpt2":  # it has 1,024 places
        rows.add(f"{name} {dtype} at 128, {args.flat}, slowest ms", flat, net, args.flat)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", nargs="*", default=["135m", "500m", "1b", "gpt2"])
    parser.add_argument("--dtypes", nargs="*", default=["float32", "float16", "q4_0"])
    parser.add_argument("--batch", type=int, nargs="*", default=[1, 8])
    parser.add_argument("--flat", type=int, default=0, help="the length of one long text")
    parser.add_argument("--prefill", type=int, nargs="*", default=[])
    parser.add_argument("--products", action="store_true")
    parser.add_argument("--torch", action="store_true")
    parser.add_argument("--seconds", type=float, default=270.0)
    args = parser.parse_args()
    rows = Rows(args.seconds)
    for n, k in PRODUCTS if args.products else ():
        for dtype in ("float32", "q4_0"):
            rows.add(f"{dtype} [{k}] x [{n}, {k}] us, error 1e-6", products, dtype, n, k)
    print(fb.tensor(0).device)
    for name in args.models:
        for dtype in args.dtypes:
            if not (name == "gpt2" and dtype.startswith("q")):  # its layers are no nn.Linear
                measure_ours(rows, name, dtype, args)
            if args.torch and name in SHAPES and not dtype.startswith("q"):
                for batch in args.batch:
                    rows.add(f"torch {name} {dtype} x{batch}", torch_texts, name, dtype, batch)
                for n in args.prefill:
                    rows.add(f"torch {name} {dtype} prefill {n}", torch_prefill, name, dtype, n)
    rows.table()


if __name__ == "__main__":
    main()
