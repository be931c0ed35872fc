"""GPT-2 writing token by token, greedily: tokens a second beside transformers' own `generate` on torch.

    python bench/decoding.py [--sides torch static] [--layers 12] [--words 50257] [--tokens 128] [--batch 1]

"static" is torch with a cache of fixed length, whose step transformers compiles. Both take the same random
weights in float32 (TensorFloat-32 off), from a folder as transformers writes it; who writes other tokens is
named. A first text, with whatever compiles, does not count.
"""

import argparse
from tempfile import TemporaryDirectory

import numpy as np
from _measure import interleave, number, rates, ratio, show_table, timed
from native.networks import vision

import flambeau as fb
from flambeau import models

SIDES = {"torch": None, "static": "static"}  # the cache that transformers is told to take


def ours(folder: str, ids: np.ndarray, tokens: int):
    """A call that writes the text once more, by Flambeau."""
    writer = models.Decoder(models.from_pretrained(folder))
    return lambda: writer.generate(fb.tensor(ids), tokens).numpy()


def theirs(net, cache: str | None, ids: np.ndarray, tokens: int):
    """The same by transformers, on the card that torch sees, else on the CPU."""
    import torch

    torch.backends.cuda.matmul.allow_tf32 = False
    device = "cuda" if torch.cuda.is_available() else "cpu"
    net = net.to(device)
    given = torch.tensor(ids, device=device)
    how = dict(max_new_tokens=tokens, min_new_tokens=tokens, do_sample=False, cache_implementation=cache)
    how |= dict(attention_mask=torch.ones_like(given), pad_token_id=0)

    def call():
        with torch.no_grad():
            return net.generate(given, **how).cpu().numpy()

    return call


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sides", nargs="*", choices=SIDES, default=["torch"])
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--words", type=int, default=50257, help="a software adapter binds 43,690 at most")
    parser.add_argument("--prompt", type=int, default=16, help="tokens that are given")
    parser.add_argument("--tokens", type=int, default=128, help="tokens that are written")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2.0)
    args = parser.parse_args()
    import torch

    vision(torch)  # transformers imports it
    import transformers

    torch.manual_seed(0)
    net = transformers.GPT2LMHeadModel(
        transformers.GPT2Config(vocab_size=args.words, n_layer=args.layers)
    ).eval()
    ids = np.random.default_rng(0).integers(0, args.words, (args.batch, args.prompt))
    with TemporaryDirectory() as folder:
        net.save_pretrained(folder)
        calls = {"flambeau": ours(folder, ids, args.tokens)}
    for side in args.sides:
        calls[side] = theirs(net, SIDES[side], ids, args.tokens)
    texts = {side: call() for side, call in calls.items()}
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
    title = f"GPT-2, {args.layers} layers, {args.batch} x {args.tokens} tokens behind {args.prompt}"
    show_table(title, ("side", "tokens/s", "ms a step", "x ours"), rows)


if __name__ == "__main__":
    main()
