"""Ten networks with random weights, as torchvision and transformers build them, and their inputs."""

from typing import Any

SIDE = {True: 64, False: 224}  # of images, tiny or not


def image(name: str):
    """A network of torchvision on images of 224 x 224, tiny ones on 64 x 64."""

    def make(tiny: bool, batch: int) -> tuple[Any, tuple]:
        import torch

        return getattr(vision(torch), name)(), (torch.randn(batch, 3, SIDE[tiny], SIDE[tiny]),)

    return make


def vision(torch: Any) -> Any:
    """torchvision.models, also where the wheel is CUDA's beside a CPU's torch: nms alone is missed there."""
    try:
        from torchvision import models
    except RuntimeError:
        import sys

        for name in [m for m in sys.modules if m.partition(".")[0] == "torchvision"]:
            del sys.modules[name]
        library = torch.library.Library("torchvision", "FRAGMENT")
        KEPT.append(library)
        for name in ("nms", "qnms"):
            library.define(f"{name}(Tensor boxes, Tensor scores, float iou_threshold) -> Tensor")
        from torchvision import models
    return models


KEPT: list[Any] = []  # what is declared lives as long as its library


def vit(tiny: bool, batch: int) -> tuple[Any, tuple]:
    """ViT-B/16, or two small layers of it."""
    import torch

    models, x = vision(torch), torch.randn(batch, 3, SIDE[tiny], SIDE[tiny])
    return (models.VisionTransformer(64, 16, 2, 4, 64, 128) if tiny else models.vit_b_16()), (x,)


def language(kind: str):
    """MiniLM's encoder, or GPT-2 small, on 128 tokens; tiny ones of two layers on 16."""

    def make(tiny: bool, batch: int) -> tuple[Any, tuple]:
        import torch

        vision(torch)  # transformers imports it
        import transformers

        sizes = {"minilm": (384, 6, 12), "gpt2": (768, 12, 12)}[kind]
        width, layers, heads = (48, 2, 4) if tiny else sizes
        ids = torch.randint(0, 100, (batch, 16 if tiny else 128))
        mask = torch.ones_like(ids)
        if kind == "gpt2":
            config = transformers.GPT2Config(
                n_embd=width, n_layer=layers, n_head=heads, use_cache=False, attn_implementation="eager"
            )
            return logits_of(transformers.GPT2LMHeadModel(config)), (ids, mask)
        config = transformers.BertConfig(
            hidden_size=width,
            num_hidden_layers=layers,
            num_attention_heads=heads,
            intermediate_size=4 * width,
            attn_implementation="eager",
        )
        return hidden_of(transformers.BertModel(config)), (ids, mask)

    return make


def logits_of(model: Any) -> Any:
    """GPT-2 with places by the mask, so that its export asks for nothing that ONNX lacks."""
    from torch import nn

    class WithPlaces(nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, ids, mask):
            return self.model(ids, attention_mask=mask, position_ids=mask.cumsum(1) - 1).logits

    return WithPlaces()


def hidden_of(model: Any) -> Any:
    """BERT's last hidden state."""
    from torch import nn

    class Last(nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, ids, mask):
            return self.model(ids, attention_mask=mask).last_hidden_state

    return Last()


def lstm(tiny: bool, batch: int) -> tuple[Any, tuple]:
    """A tagger: two layers of LSTM both ways over 64 steps; tiny ones over 8."""
    import torch
    from torch import nn

    width = 16 if tiny else 256

    class Tagger(nn.Module):
        def __init__(self):
            super().__init__()
            self.words = nn.Embedding(1000, width)
            self.lstm = nn.LSTM(width, width, 2, bidirectional=True, batch_first=True)
            self.tags = nn.Linear(2 * width, 17)

        def forward(self, ids):
            return self.tags(self.lstm(self.words(ids))[0])

    return Tagger(), (torch.randint(0, 1000, (batch, 8 if tiny else 64)),)


NETWORKS = {
    "resnet18": image("resnet18"),
    "resnet50": image("resnet50"),
    "mobilenet_v2": image("mobilenet_v2"),
    "mobilenet_v3": image("mobilenet_v3_large"),
    "efficientnet_b0": image("efficientnet_b0"),
    "convnext_tiny": image("convnext_tiny"),
    "vit": vit,
    "minilm": language("minilm"),
    "gpt2": language("gpt2"),
    "lstm": lstm,
}
