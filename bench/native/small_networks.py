"""Small networks with random weights, of torch, timm and transformers: functions of (model, inputs)."""

from itertools import pairwise
from typing import Any

from .networks import NETWORKS, vision

ROWS, TOKENS, WORDS = 2, 16, 128
TRANSFORMER: dict[str, Any] = {"vocab_size": WORDS, "attn_implementation": "eager"}
WIDTHS = (8, 16, 32, 64)  # of a U-Net's levels


def unet() -> tuple[Any, tuple]:
    """A U-Net on a picture whose sides do not halve evenly: what goes up is padded to what it is beside."""
    import torch
    from torch import nn
    from torch.nn import functional as F

    def block(before: int, after: int) -> nn.Sequential:
        def half(n):
            return nn.Conv2d(n, after, 3, padding=1, bias=False), nn.BatchNorm2d(after), nn.ReLU()

        return nn.Sequential(*half(before), *half(after))

    class UNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.down = nn.ModuleList(block(a, b) for a, b in zip((3, *WIDTHS[:-1]), WIDTHS, strict=True))
            pairs = list(pairwise(WIDTHS))[::-1]
            self.wider = nn.ModuleList(nn.ConvTranspose2d(b, a, 2, 2) for a, b in pairs)
            self.up = nn.ModuleList(block(2 * a, a) for a, _ in pairs)
            self.head = nn.Conv2d(WIDTHS[0], 2, 1)

        def forward(self, x):
            kept = [self.down[0](x)]
            for down in self.down[1:]:
                kept.append(down(F.max_pool2d(kept[-1], 2)))
            x = kept.pop()
            for wider, up in zip(self.wider, self.up, strict=True):
                x, beside = wider(x), kept.pop()
                high, wide = (b - a for a, b in zip(x.shape[2:], beside.shape[2:], strict=True))
                x = up(torch.cat([beside, F.pad(x, [0, wide, 0, high])], 1))
            return self.head(x)

    return UNet(), (torch.randn(1, 3, 50, 46),)


def timm(name: str, side: int = 64):
    """A network of timm, by its name."""

    def make() -> tuple[Any, tuple]:
        import torch

        vision(torch)  # timm imports it
        import timm

        return timm.create_model(name, pretrained=False), (torch.randn(ROWS, 3, side, side),)

    return make


def tokens(count: int = TOKENS) -> Any:
    import torch

    return torch.randint(0, 100, (ROWS, count))


def t5() -> tuple[Any, tuple]:
    """T5's logits, encoder and decoder."""
    transformers = imported()
    sizes = {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4}
    config = transformers.T5Config(**sizes, **TRANSFORMER, decoder_start_token_id=0)

    def logits(model, ids, mask, written):
        call = model(input_ids=ids, attention_mask=mask, decoder_input_ids=written, use_cache=False)
        return call.logits

    ids = tokens()
    return calling(transformers.T5ForConditionalGeneration(config), logits), (ids, ids * 0 + 1, tokens(7))


def whisper() -> tuple[Any, tuple]:
    """Whisper's encoder on 100 steps of 20 bands."""
    import torch

    transformers = imported()
    ends = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1}
    of = {f"{part}_{what}": n for part in ("encoder", "decoder") for what, n in SIZES.items()}
    config = transformers.WhisperConfig(
        d_model=32, num_mel_bins=20, max_source_positions=50, **of, **ends, **TRANSFORMER
    )
    model = transformers.WhisperModel(config).encoder
    return calling(model, lambda m, x: m(x).last_hidden_state), (torch.randn(1, 20, 100),)


SIZES = {"layers": 2, "attention_heads": 4, "ffn_dim": 64}


def decoder(kind: str, attention: str = "eager"):
    """Logits of Llama, or of what is built as it is: rotary places, grouped heads, gates."""

    def make() -> tuple[Any, tuple]:
        transformers = imported()
        heads = {"num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2}
        given = {**TRANSFORMER, "attn_implementation": attention, "pad_token_id": 0}
        config = getattr(transformers, f"{kind}Config")(
            hidden_size=32, intermediate_size=64, max_position_embeddings=64, **heads, **given
        )

        def logits(model, ids, mask):
            call = model(input_ids=ids, attention_mask=mask, position_ids=mask.cumsum(1) - 1, use_cache=False)
            return call.logits

        ids = tokens()
        return calling(getattr(transformers, f"{kind}ForCausalLM")(config), logits), (ids, ids * 0 + 1)

    return make


def imported() -> Any:
    """transformers, which imports torchvision."""
    import torch

    vision(torch)
    import transformers

    return transformers


def calling(model: Any, call: Any) -> Any:
    """A module of a model and of how it is called."""
    from torch import nn

    class Calling(nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, *inputs):
            return call(self.model, *inputs)

    return Calling()


SMALL = {
    **{name: lambda make=make: make(True, ROWS) for name, make in NETWORKS.items()},
    "unet": unet,
    "t5": t5,
    "whisper_encoder": whisper,
    "llama": decoder("Llama"),
    "llama_sdpa": decoder("Llama", "sdpa"),
    "qwen2": decoder("Qwen2"),
    "efficientnet_lite0": timm("efficientnet_lite0"),
    "mobilenetv4": timm("mobilenetv4_conv_small"),
    "convnextv2": timm("convnextv2_atto"),
    "swin": timm("swin_tiny_patch4_window7_224", 224),
}
