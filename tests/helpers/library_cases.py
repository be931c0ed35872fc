"""Sixty models of eleven packages, in small configurations, for the scoreboard of flambeau.torch."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

Inputs = tuple[Any, ...] | dict[str, Any]


class Case(NamedTuple):
    """A model: `build(torch)` returns it with its inputs.

    optimizer: the name of one in torch.optim. train: gradients in training mode, with dropout's p of 0.
    """

    build: Callable[[Any], tuple[Any, Inputs]]
    optimizer: str = "SGD"
    train: bool = False


OPTIONS = {
    "SGD": {"lr": 0.01, "momentum": 0.9},
    "AdamW": {"lr": 1e-3},
    "Adam": {"lr": 1e-3},
    "RMSprop": {"lr": 1e-4},
    "Adagrad": {"lr": 1e-3},
    "NAdam": {"lr": 1e-3},
}


def normal(*shape: int, seed: int = 3) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def tokens(*shape: int, below: int = 50, seed: int = 4) -> np.ndarray:
    return np.random.default_rng(seed).integers(3, below, shape)


# --- torchvision, timm ---


def torchvision(name: str, size: int = 64, count: int = 1, **options: Any) -> Case:
    def build(torch: Any) -> tuple[Any, Inputs]:
        from torchvision import models

        model = models.get_model(name, weights=None, num_classes=7, **options)
        return model, (torch.from_numpy(normal(count, 3, size, size)),)

    return Case(build, train=count > 2)


def timm(name: str, size: int = 64, optimizer: str = "SGD", count: int = 1, **options: Any) -> Case:
    def build(torch: Any) -> tuple[Any, Inputs]:
        import timm

        model = timm.create_model(name, num_classes=7, **options)
        return model, (torch.from_numpy(normal(count, 3, size, size)),)

    return Case(build, optimizer, train=count > 2)


def small_vit(torch: Any) -> tuple[Any, Inputs]:
    from torchvision.models import VisionTransformer

    model = VisionTransformer(64, 16, num_layers=2, num_heads=4, hidden_dim=64, mlp_dim=96, num_classes=7)
    return model, (torch.from_numpy(normal(1, 3, 64, 64)),)


# --- transformers ---

ENCODER: dict[str, Any] = {
    "vocab_size": 50, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2,
    "num_attention_heads": 4, "max_position_embeddings": 60, "hidden_dropout_prob": 0.0,
    "attention_probs_dropout_prob": 0.0, "pad_token_id": 0,
}  # fmt: skip
DECODER: dict[str, Any] = {
    "vocab_size": 50, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 40, "head_dim": 8,
    "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
}  # fmt: skip
PICTURE: dict[str, Any] = {
    "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
    "image_size": 32, "patch_size": 8, "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0,
}  # fmt: skip
WORDS = {"input_ids": tokens(2, 8), "attention_mask": np.array([[1] * 8, [1] * 6 + [0] * 2])}
TEXT, IMAGE = {"input_ids": tokens(2, 8)}, {"pixel_values": normal(2, 3, 32, 32)}


def transformers(kind: str, name: str, config: dict, inputs: dict, optimizer: str = "SGD") -> Case:
    def build(torch: Any) -> tuple[Any, Inputs]:
        import transformers as library

        model = getattr(library, name)(library.AutoConfig.for_model(kind, **config))
        return model, {key: torch.from_numpy(value) for key, value in inputs.items()}

    return Case(build, optimizer)


TRANSFORMERS = {
    "bert": transformers("bert", "BertForMaskedLM", ENCODER, WORDS),
    "roberta": transformers("roberta", "RobertaForSequenceClassification", ENCODER, WORDS, "RMSprop"),
    "deberta": transformers(
        "deberta",
        "DebertaModel",
        ENCODER | {"relative_attention": True, "pos_att_type": ["p2c", "c2p"]},
        WORDS,
    ),
    "gpt2": transformers(
        "gpt2", "GPT2LMHeadModel", {"vocab_size": 50, "n_embd": 32, "n_layer": 2, "n_head": 4}, WORDS
    ),
    "llama": transformers("llama", "LlamaForCausalLM", DECODER, WORDS),
    "qwen3": transformers("qwen3", "Qwen3ForCausalLM", DECODER, WORDS),
    "gemma2": transformers("gemma2", "Gemma2ForCausalLM", DECODER, WORDS),
    "mixtral": transformers(
        "mixtral", "MixtralForCausalLM", DECODER | {"num_local_experts": 4, "num_experts_per_tok": 2}, WORDS
    ),
    "mamba": transformers(
        "mamba",
        "MambaForCausalLM",
        {"vocab_size": 50, "hidden_size": 32, "num_hidden_layers": 2, "state_size": 4},
        TEXT,
    ),
    "t5": transformers(
        "t5",
        "T5ForConditionalGeneration",
        {"vocab_size": 50, "d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_heads": 4},
        TEXT | {"decoder_input_ids": tokens(2, 5, seed=9)},
    ),
    "bart": transformers(
        "bart",
        "BartForConditionalGeneration",
        {"vocab_size": 50, "d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_ffn_dim": 48,
         "encoder_attention_heads": 4, "decoder_attention_heads": 4, "decoder_ffn_dim": 48},
        TEXT | {"decoder_input_ids": tokens(2, 5, seed=9)},
    ),
    "vit": transformers("vit", "ViTForImageClassification", PICTURE, IMAGE),
    "swin": transformers(
        "swin",
        "SwinForImageClassification",
        {"image_size": 32, "patch_size": 2, "embed_dim": 8, "depths": [1, 1], "num_heads": [2, 2],
         "window_size": 4},
        IMAGE,
    ),
    "clip": transformers(
        "clip",
        "CLIPModel",
        {
            "text_config": {k: v for k, v in ENCODER.items() if "prob" not in k} | {"eos_token_id": 2},
            "vision_config": {k: v for k, v in PICTURE.items() if "prob" not in k},
            "projection_dim": 16,
        },
        IMAGE | TEXT,
    ),
    "wav2vec2": transformers(
        "wav2vec2",
        "Wav2Vec2ForCTC",
        {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
         "conv_dim": [16, 16], "conv_kernel": [10, 3], "conv_stride": [5, 2], "num_feat_extract_layers": 2,
         "num_conv_pos_embeddings": 8, "num_conv_pos_embedding_groups": 4, "vocab_size": 30},
        {"input_values": normal(2, 800)},
    ),
}  # fmt: skip

# --- smaller packages ---


def image_model(path: str, size: int = 32, seed: int = 3, **options: Any) -> Case:
    """A model of images: `package.module:Class` with these options."""

    def build(torch: Any) -> tuple[Any, Inputs]:
        return named(path)(**options), (torch.from_numpy(normal(2, 3, size, size, seed=seed)),)

    return Case(build)


def named(path: str) -> Any:
    from importlib import import_module

    module, _, name = path.partition(":")
    return getattr(import_module(module), name)


def token_model(path: str, optimizer: str = "AdamW", **options: Any) -> Case:
    """A model of tokens: `package.module:Class` with these options."""

    def build(torch: Any) -> tuple[Any, Inputs]:
        return named(path)(**options), (torch.from_numpy(tokens(2, 16)),)

    return Case(build, optimizer)


def x_transformer(layers: str, **options: Any) -> Case:
    def build(torch: Any) -> tuple[Any, Inputs]:
        import x_transformers as library

        inner = getattr(library, layers)(dim=32, depth=2, heads=4, attn_dim_head=8, **options)
        wrapper = library.TransformerWrapper(num_tokens=50, max_seq_len=16, attn_layers=inner)
        return wrapper, (torch.from_numpy(tokens(2, 16)),)

    return Case(build, "Adam")


def efficientnet(name: str) -> Case:
    def build(torch: Any) -> tuple[Any, Inputs]:
        from efficientnet_pytorch import EfficientNet

        return EfficientNet.from_name(name, num_classes=7), (torch.from_numpy(normal(1, 3, 64, 64)),)

    return Case(build)


def differential(method: str, adjoint: bool) -> Case:
    def build(torch: Any) -> tuple[Any, Inputs]:
        import torchdiffeq

        class Flow(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.net = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))

            def field(self, t: Any, y: Any) -> Any:
                return self.net(y**3)

            def forward(self, y: Any, times: Any) -> Any:
                if adjoint:
                    parameters = tuple(self.net.parameters())
                    options = {"method": method, "adjoint_params": parameters, "rtol": 1e-3, "atol": 1e-4}
                    return torchdiffeq.odeint_adjoint(self.field, y, times, **options)
                return torchdiffeq.odeint(self.field, y, times, method=method)

        return Flow(), (torch.from_numpy(normal(3, 2)), torch.linspace(0.0, 1.0, 4))

    return Case(build, "NAdam")


VIT_SIZES: dict[str, Any] = {"image_size": 32, "patch_size": 8, "num_classes": 7, "dim": 32, "depth": 2}

CASES: dict[str, Case] = {
    "torchvision/squeezenet1_1": torchvision("squeezenet1_1"),
    "torchvision/densenet121": torchvision("densenet121", 32),
    "torchvision/efficientnet_b0": torchvision("efficientnet_b0"),
    "torchvision/mobilenet_v3_small": torchvision("mobilenet_v3_small", count=4),
    "torchvision/regnet_y_400mf": torchvision("regnet_y_400mf"),
    "torchvision/resnet18": torchvision("resnet18", count=4),
    "torchvision/shufflenet_v2_x0_5": torchvision("shufflenet_v2_x0_5"),
    "torchvision/mobilenet_v2": torchvision("mobilenet_v2"),
    "torchvision/VisionTransformer": Case(small_vit),
    "timm/resnet10t": timm("resnet10t", count=4),
    "timm/test_vit": timm("test_vit", 160, "AdamW"),
    "timm/test_convnext": timm("test_convnext", optimizer="AdamW"),
    "timm/test_nfnet": timm("test_nfnet"),
    "timm/test_efficientnet": timm("test_efficientnet"),
    "timm/mobilenetv4_conv_small_035": timm("mobilenetv4_conv_small_035"),
    "timm/deit_tiny_patch16_224": timm("deit_tiny_patch16_224", 64, "AdamW", img_size=64, depth=3),
    "timm/edgenext_xx_small": timm("edgenext_xx_small"),
    "timm/ghostnet_050": timm("ghostnet_050"),
    "timm/lcnet_035": timm("lcnet_035"),
    "timm/gmlp_ti16_224": timm("gmlp_ti16_224", 64, img_size=64),
    "timm/mobilevit_xxs": timm("mobilevit_xxs"),
    "timm/poolformerv2_s12": timm("poolformerv2_s12"),
    "timm/test_mambaout": timm("test_mambaout"),
    # In training mode: PyTorch 2.13's gradient of batch_norm in eval mode is wrong for transposed gradients.
    "timm/xcit_nano_12_p8_224": timm("xcit_nano_12_p8_224", 64, depth=2, count=4),
    "timm/swinv2_cr_tiny_ns_224": timm("swinv2_cr_tiny_ns_224", 64, img_size=64, depths=(1, 1, 1, 1)),
    "timm/regnetx_002": timm("regnetx_002"),
    "timm/tf_efficientnetv2_b0": timm("tf_efficientnetv2_b0"),
    **{f"transformers/{name}": case for name, case in TRANSFORMERS.items()},
    "vit-pytorch/ViT": image_model("vit_pytorch:ViT", heads=4, mlp_dim=48, **VIT_SIZES),
    "vit-pytorch/SimpleViT": image_model("vit_pytorch:SimpleViT", heads=4, mlp_dim=48, **VIT_SIZES),
    "vit-pytorch/DeepViT": image_model("vit_pytorch.deepvit:DeepViT", heads=4, mlp_dim=48, **VIT_SIZES),
    "vit-pytorch/CaiT": image_model(
        "vit_pytorch.cait:CaiT", heads=4, mlp_dim=48, cls_depth=1, **VIT_SIZES
    ),
    "vit-pytorch/T2TViT": image_model(
        "vit_pytorch.t2t:T2TViT",
        image_size=32, dim=32, depth=2, heads=4, mlp_dim=48, num_classes=7, t2t_layers=((7, 4), (3, 2)),
    ),
    "vit-pytorch/CCT": image_model(
        "vit_pytorch.cct:CCT",
        img_size=32, embedding_dim=32, n_conv_layers=1, num_layers=2, num_heads=4, mlp_ratio=2, num_classes=7,
    ),
    "x-transformers/Encoder": x_transformer("Encoder"),
    "x-transformers/Decoder": x_transformer("Decoder", rotary_pos_emb=True),
    "x-transformers/Decoder, SwiGLU": x_transformer("Decoder", ff_glu=True, ff_swish=True, use_rmsnorm=True),
    # Seed 3 puts an activation of the decoder within rounding of ReLU's kink.
    "segmentation-models-pytorch/Unet": image_model(
        "segmentation_models_pytorch:Unet",
        64, 11, encoder_name="resnet18", encoder_weights=None, classes=2,
    ),
    "segmentation-models-pytorch/FPN": image_model(
        "segmentation_models_pytorch:FPN", 64, encoder_name="mobilenet_v2", encoder_weights=None, classes=2
    ),
    "segmentation-models-pytorch/DeepLabV3Plus": image_model(
        "segmentation_models_pytorch:DeepLabV3Plus",
        64, encoder_name="resnet18", encoder_weights=None, classes=2,
    ),
    "efficientnet-pytorch/b0": efficientnet("efficientnet-b0"),
    "performer-pytorch/PerformerLM": token_model(
        "performer_pytorch:PerformerLM", num_tokens=50, max_seq_len=16, dim=32, depth=2, heads=4, dim_head=8
    ),
    "local-attention/LocalTransformer": token_model(
        "local_attention:LocalTransformer",
        num_tokens=50, dim=32, depth=2, max_seq_len=16, causal=True, local_attn_window_size=4,
    ),
    "axial-attention/AxialAttention": image_model(
        "axial_attention:AxialAttention", 8, dim=3, dim_index=1, heads=1, num_dimensions=2
    ),
    "torchdiffeq/odeint": differential("rk4", False),
    "torchdiffeq/odeint_adjoint": differential("dopri5", True),
}  # fmt: skip
