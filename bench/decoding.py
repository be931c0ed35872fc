"""Text from a decoder, token by token, greedily: tokens a second beside transformers' `generate` on torch.

    python bench/decoding.py [--model llama-135m] [--dtype float16] [--sides torch static] [--batch 1]

"static" is torch with a cache of fixed length, whose step transformers compiles. Both take the same random
weights (TensorFloat-32 off), from a folder as transformers writes it; who writes other tokens is named. The
first calls are shown one by one; what compiles is in them. The table is of calls after these.
"""

import argparse
import time
from tempfile import TemporaryDirectory

import numpy as np
from _measure import interleave, number, rates, ratio, show_table, timed
from native.networks import vision

import flambeau as fb
from flambeau import models

FIRST = 4  # calls that are shown one by one
SIDES = {"torch": None, "static": "static"}  # the cache that transformers is told to take


SHAPES = {  # Llama shapes: SmolLM 135M, Qwen 0.5B
    "llama-135m": dict(
        hidden_size=576,
        intermediate_size=1536,
        num_hidden_layers=30,
        num_attention_heads=9,
        num_key_value_heads=3,
    ),
    "llama-500m": dict(
        hidden_size=896,
        intermediate_size=4864,
        num_hidden_layers=24,
        num_attention_heads=14,
        num_key_value_heads=2,
    ),
}


def network(args: argparse.Namespace):
    """A network of transformers with random weights."""
    import transformers

    if args.model == "gpt2":
        config = transformers.GPT2Config(vocab_size=args.words, n_layer=args.layers or 12)
        return transformers.GPT2LMHeadModel(config)
    shape = SHAPES[args.model] | ({"num_hidden_layers": args.layers} if args.layers else {})
    places = max(2048, args.prompt + args.tokens)
    config = transformers.LlamaConfig(
        vocab_size=args.words, tie_word_embeddings=True, max_position_embeddings=places, **shape
    )
    return transformers.LlamaForCausalLM(config)


def ours(folder: str, ids: np.ndarray, args: argparse.Namespace):
    """A call that writes the text once more, by Flambeau."""
    net = models.from_pretrained(folder)
    writer = models.Decoder(net.half() if args.dtype == "float16" else net)
    return lambda: writer.generate(fb.tensor(ids), args.tokens).numpy()


def theirs(net, cache: str | None, ids: np.ndarray, args: argparse.Namespace):
    """The same by transformers, on the card that torch sees, else on the CPU."""
    import torch

    torch.backends.cuda.matmul.allow_tf32 = False
    device = "cuda" if torch.cuda.is_available() else "cpu"
    net = net.to(device, torch.float16 if args.dtype == "float16" else torch.float32)
    given = torch.tensor(ids, device=device)
    how = dict(
        max_new_tokens=args.tokens, min_new_tokens=args.tokens, do_sample=False, cache_implementation=cache
    )
    how |= dict(attention_mask=torch.ones_like(given), pad_token_id=0)

    def call():
        with torch.no_grad():
            return net.generate(given, **how).cpu().numpy()

    return call


def first_calls(side: str, call, args: argparse.Namespace) -> np.ndarray:
    """Print the tokens a second of the first calls, one by one; returns the text of the first."""
    texts, speeds = [], []
    for _ in range(FIRST):
        begin = time.perf_counter()
        texts.append(call())
        speeds.append(args.batch * args.tokens / (time.perf_counter() - begin))
    print(f"{side}: the first {FIRST} calls, tokens/s:", *map(number, speeds), flush=True)
    return texts[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sides", nargs="*", choices=SIDES, default=["torch"])
    parser.add_argument("--model", choices=["gpt2", *SHAPES], default="gpt2")
    parser.add_argument("--dtype", choices=["float32", "float16"], default="float32")
    parser.add_argument("--layers", type=int, help="fewer than the model has")
    parser.add_argument("--words", type=int, default=50257, help="a software adapter binds 43,690 at most")
    parser.add_argument("--prompt", type=int, default=16, help="tokens that are given")
    parser.add_argument("--tokens", type=int, default=128, help="tokens that are written")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2.0)
    args = parser.parse_args()
    import torch

    vision(torch)  # transformers imports it
    torch.manual_seed(0)
    net = network(args).eval()
    ids = np.random.default_rng(0).integers(0, args.words, (args.batch, args.prompt))
    with TemporaryDirectory() as folder:
        net.save_pretrained(folder)
        calls = {"flambeau": ours(folder, ids, args)}
    for side in args.sides:
        calls[side] = theirs(net, SIDES[side], ids, args)
    texts = {side: first_calls(side, call, args) for side, call in calls.items()}
    for side, text in texts.items():
        if not np.array_equal(text, texts["flambeau"]):
            same = int((text == texts["flambeau"]).all(0).argmin())
            print(f"{side}: WRONG, or a tie: other tokens from place {same} of {text.shape[1]} on")
    found = interleave(
        {side: (lambda seconds, call=call: timed(call, seconds)) for side, call in calls.items()},
        args.rounds,
        args.seconds,
    )
    each = args.batch * args.tokens
    rows = [
        (
            side,
            number(rates(t)[0] * each),
            number(t[0].median_ms / args.tokens),
            f"{ratio(found['flambeau'], t):.2f}",
        )
        for side, t in found.items()
    ]
    title = f"{args.model}, {args.dtype}, {args.batch} x {args.tokens} tokens behind {args.prompt}"
    show_table(title, ("side", "tokens/s", "ms a step", "x ours"), rows)


if __name__ == "__main__":
    main()
