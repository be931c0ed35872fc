"""Network architectures under the names of public checkpoints."""

from importlib import import_module
from typing import Any

PUBLIC = {  # module: its public names
    "adapters": "Adapters load_adapter merge_adapter save_adapter",
    "bert": "BertConfig BertModel",
    "conversation": "Chat chat",
    "clip": "ClipVision ClipVisionConfig",
    "convnext": "ConvNeXt",
    "efficientnet": "EfficientNet",
    "exported": "save_decoder",
    "generation": "Decoder Sampling generate",
    "gpt2": "GPT2Config GPT2LMHeadModel",
    "gpt_neox": "GPTNeoXConfig GPTNeoXForCausalLM",
    "grammar": "Grammar",
    "llama": "LlamaConfig LlamaForCausalLM",
    "mobilenet": "MobileNetV2 MobileNetV3 mobilenet_v2 mobilenet_v3_large mobilenet_v3_small",
    "modernbert": "ModernBertConfig ModernBertModel",
    "pretrained": "from_pretrained load_weights",
    "registry": "list_models",
    "resnet": ("ResNet resnet101 resnet152 resnet18 resnet34 resnet50 resnext50_32x4d wide_resnet50_2"),
    "t5": "T5Config T5ForConditionalGeneration",
    "tabular": "Categorify DateParts FillMissing Normalize TableEncoder TabularModel",
    "tagger": "LSTMTagger",
    "unet": "UNet",
    "vit": "VisionTransformer VitConfig",
    "weights": "PretrainedWeights create_model list_pretrained",
    "whisper": "WhisperConfig WhisperEncoder",
}
_homes = {name: module for module, names in PUBLIC.items() for name in names.split()}
__all__ = sorted(_homes)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    from ..core.torch_hints import UnknownName

    if name in _homes:
        return getattr(import_module(f".{_homes[name]}", __name__), name)
    raise UnknownName(__name__, name, lambda: __all__)
