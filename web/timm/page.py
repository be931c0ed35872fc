"""Builds models of timm by name in the worker, and runs them on the visitor's GPU."""

from collections import Counter
from time import perf_counter

import numpy  # the small one of the self-test's page

import flambeau as fb
import flambeau.torch as torch
from flambeau.codegen.render import render
from flambeau.models.imagenet import labels
from flambeau.torch.placeholders import placeholder_class

# timm imports these for training, downloads and files, of which the page does nothing
ABSENT = ("PIL", "huggingface_hub", "multiprocessing", "safetensors", "torchvision", "yaml")
# names of NumPy that are read when timm is imported, and that the small one lacks
OF_NUMPY = "bytes_ floating generic integer number object_ random str_ typing"
SUGGESTED = """
vit_tiny_patch16_224 convnext_atto resnet18 mobilenetv3_small_050 deit_tiny_patch16_224 efficientnet_lite0
regnety_002 repvgg_a0 mixer_s32_224 levit_128s poolformer_s12 edgenext_xx_small
"""
BEST = 5


class Page:
    """The model that is shown, and its name."""

    name, model, has_weights = "", None, False


for _name in OF_NUMPY.split():
    vars(numpy).setdefault(_name, placeholder_class(f"numpy.{_name}"))
torch.install()
torch.stand_in(*ABSENT)
fb.set_default_device("gpu")
import timm  # noqa: E402 - its torch is there now

shown = Page()


def names() -> dict:
    """timm's version, names to try, and how many there are."""
    return {"version": timm.__version__, "names": SUGGESTED.split(), "count": len(timm.list_models())}


async def build(name: str) -> dict:
    """Make a model of this name with random weights; what it says of itself."""
    begun = perf_counter()
    torch.manual_seed(0)
    shown.model = timm.create_model(name, pretrained=False).eval()
    fb.realize(*shown.model.parameters(), *shown.model.buffers())  # no kernels of a picture
    shown.name, shown.has_weights = name, False
    return facts() | {"seconds": perf_counter() - begun}


async def load(path: str) -> dict:
    """Load the weights of a dropped file into the model."""
    state = fb.load(path)
    found = shown.model.load_state_dict(state)
    fb.realize(*shown.model.parameters(), *shown.model.buffers())
    shown.has_weights = True
    return facts() | {"told": f"{len(state)} tensors. {found}"}


def facts() -> dict:
    """What the page shows of a model."""
    model, config = shown.model, shown.model.pretrained_cfg
    return {
        "name": shown.name,
        "class": type(model).__name__,
        "parameters": sum(p.numel() for p in model.parameters()),
        "size": config["input_size"][-1],
        "weights": shown.has_weights,
    }


async def run(pixels) -> dict:
    """Run the model on a picture's RGBA bytes: the best classes, the milliseconds and the kernels."""
    config = shown.model.pretrained_cfg
    size = config["input_size"][-1]
    mean, std = (fb.tensor(list(config[key])).reshape(3, 1, 1) for key in ("mean", "std"))
    picture = fb.tensor(pixels).reshape(size, size, 4)[..., :3].permute(2, 0, 1).float() / 255
    begun = perf_counter()
    with torch.no_grad():
        best = shown.model(((picture - mean) / std).unsqueeze(0))[0].softmax(-1).topk(BEST)
    kernels = planned(best.values)
    values, places = (await best.values.read()).tolist(), (await best.indices.read()).tolist()
    spent = perf_counter() - begun
    texts = labels() if shown.model.num_classes == 1000 else []
    top = [[texts[i] if texts else f"class {i}", v] for i, v in zip(places, values, strict=True)]
    return {"top": top, "ms": 1000 * spent, "kernels": kernels, "all": sum(k["times"] for k in kernels)}


def planned(value) -> list[dict]:
    """The kernels of a value that is not computed yet: each text once, and how often it runs."""
    plan = value.plan()
    counts, by_shader = Counter(k.shader for k in plan), {k.shader: k for k in reversed(plan)}
    return [
        {"name": by_shader[shader].name, "times": times, "wgsl": render(shader)}
        for shader, times in counts.most_common()
    ]
