"""Kernels and bytes of a call of exported networks, beside the same networks written in Flambeau.

    FLAMBEAU_KERNELS=gpu python bench/onnx_kernels.py [--scale tiny] [--only resnet18 gpt2] [--kernels]

Nothing is run: calls are planned. FLAMBEAU_KERNELS=gpu plans as for a GPU on any adapter. "as in the file"
is `load(fuses=False)`, without what is made of weights ahead.
"""

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from _measure import show_table
from native.networks import NETWORKS
from onnx_models import exported

import flambeau as fb
from flambeau import models


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=NETWORKS, default=list(NETWORKS))
    parser.add_argument("--scale", choices=("tiny", "full"), default="full")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--kernels", action="store_true", help="print each plan")
    args = parser.parse_args()
    rows = []
    with TemporaryDirectory() as folder:
        for name in args.only:
            path = exported(name, args, Path(folder))
            with np.load(path.with_suffix(".npz")) as found:
                feeds = {k: v for k, v in found.items() if k}
            for side, y in sides(name, path, feeds, args.scale == "tiny").items():
                plan = y.plan()
                rows.append((name, side, str(len(plan)), f"{megabytes(y):.1f}"))
                print(*rows[-1], *([plan] if args.kernels else []), sep="  ", flush=True)
            path.unlink()
    show_table(f"{args.scale}, batch {args.batch}", ("network", "side", "kernels", "MB moved"), rows)


def sides(name: str, path: Path, feeds: dict, tiny: bool) -> dict[str, Any]:
    """What each side computes, not computed yet."""
    inputs = [fb.tensor(v) for v in feeds.values()]
    found = {}
    with fb.no_grad():
        for side, fuses in (("as in the file", False), ("loaded", True)):
            model = fb.onnx.load(path, replays=False, fuses=fuses).train(not fuses)
            y = model(*inputs)
            found[side] = y[0] if isinstance(y, tuple) else y
        own = OWN[name](tiny)
        if own is not None:
            found["fb.models"] = own(*inputs)
    return found


def megabytes(y: Any) -> float:
    """What the kernels of a plan read and write at least."""
    return sum(c.nbytes for c in y._planned().costs) / 1e6


def image(name: str):
    """A network of the registry, which has one size."""
    return lambda tiny: models.create_model(name).eval()


def bert(tiny: bool):
    width, layers, heads = (48, 2, 4) if tiny else (384, 6, 12)
    sizes = {"num_hidden_layers": layers, "num_attention_heads": heads, "intermediate_size": 4 * width}
    net = models.BertModel(models.BertConfig(hidden_size=width, **sizes)).eval()
    return lambda ids, mask: net(ids, mask)[0]


def gpt2(tiny: bool):
    width, layers, heads = (48, 2, 4) if tiny else (768, 12, 12)
    net = models.GPT2LMHeadModel(models.GPT2Config(n_embd=width, n_layer=layers, n_head=heads)).eval()
    return lambda ids, mask: net(ids)


def lstm(tiny: bool):
    width = 16 if tiny else 256
    return models.LSTMTagger(width, width, 1000, 17, bidirectional=True, num_layers=2).eval()


OWN = {
    "resnet18": image("resnet18"),
    "resnet50": image("resnet50"),
    "mobilenet_v2": image("mobilenet_v2"),
    "mobilenet_v3": image("mobilenet_v3_large"),
    "efficientnet_b0": image("efficientnet_b0"),
    "convnext_tiny": image("convnext_tiny"),
    "vit": lambda tiny: None if tiny else models.create_model("vit_base_patch16_224").eval(),
    "minilm": bert,
    "gpt2": gpt2,
    "lstm": lstm,
}

if __name__ == "__main__":
    main()
