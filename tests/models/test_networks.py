"""Networks against their papers' numbers of parameters, and against logits that the libraries gave."""

import tomllib
from pathlib import Path

import numpy as np
import pytest
from helpers.networks import BERT, CASES, DECODERS, IDS, MASK, OURS, PLAIN, SOUND, T5, WHISPER, filled

import flambeau as fb
from flambeau import models
from flambeau.models.benchmarked import GPT2_SMALL  # the sizes of the checkpoint
from flambeau.models.llama import FAMILIES

GIVEN = tomllib.loads(Path(__file__).with_name("logits.toml").read_text(encoding="utf-8"))
PARAMETERS = {  # of the public checkpoints, as their libraries count them
    "resnet18": 11_689_512,
    "resnet50": 25_557_032,
    "resnet152": 60_192_808,
    "wide_resnet50_2": 68_883_240,
    "mobilenet_v2": 3_504_872,
    "mobilenet_v3_large": 5_483_032,
    "mobilenet_v3_small": 2_542_856,
    "efficientnet_b0": 5_288_548,
    "efficientnet_b7": 66_347_960,
    "efficientnet_lite0": 4_652_008,
    "tf_efficientnet_lite4": 13_006_568,
    "convnext_tiny": 28_589_128,
    "vit_base_patch16_224": 86_567_656,
}


@pytest.mark.parametrize("name", PARAMETERS)
def test_parameters(name):
    assert models.create_model(name).num_parameters() == PARAMETERS[name]


def test_parameters_of_texts():
    assert models.GPT2LMHeadModel({}).num_parameters() == 124_439_808 and GPT2_SMALL.vocabulary == 50257
    assert models.BertModel({}).num_parameters() == 109_482_240
    assert models.T5ForConditionalGeneration({}).num_parameters() == 60_506_624
    assert models.UNet(3, 2).num_parameters() == 31_037_698


def shown(y) -> np.ndarray:
    """Eight of a tensor's numbers."""
    flat = y.numpy().reshape(-1)
    return flat[:: max(1, flat.size // 8)][:8]


def agrees(name: str, y) -> None:
    given = np.array(GIVEN[name], np.float32)
    assert np.abs(shown(y) - given).max() <= 1e-4 * max(1, np.abs(given).max()), name


@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.share(3)
def test_images(name):
    case = CASES[name]
    agrees(name, filled(case.ours())(*(fb.tensor(x, device="cpu") for x in case.inputs)))


@pytest.mark.parametrize("name", DECODERS)
def test_texts(name):
    config, _ = DECODERS[name]
    kind = models.T5ForConditionalGeneration if "d_model" in config else None
    kind = kind or (models.GPT2LMHeadModel if name == "gpt2" else models.LlamaForCausalLM)
    ids = fb.tensor(IDS, device="cpu")
    agrees(
        name,
        filled(kind(config | OURS.get(name, {})))(*((ids, ids[:, :5]) if "d_model" in config else (ids,))),
    )


def test_a_t5_whose_head_is_its_own():
    """By config.json, or by a file whose head is not the embedding; one that is the embedding is left out."""
    made = filled(models.T5ForConditionalGeneration(T5 | {"tie_word_embeddings": False}))
    state = made.state_dict()
    tied = T5 | {"scale_decoder_outputs": False}
    for head, count in ((state["lm_head.weight"], len(state)), (state["shared.weight"], len(state) - 1)):
        found = models.T5ForConditionalGeneration(tied).to("cpu")
        models.load_weights(found, state | {"lm_head.weight": head})
        assert len(found.state_dict()) == count
        ids = fb.tensor(IDS, device="cpu")
        same = (found(ids, ids).numpy() == made(ids, ids).numpy()).all()
        assert same == (count == len(state))


def test_bert_and_whisper():
    mask = fb.tensor(MASK[:, ::-1].copy(), device="cpu")  # padding behind
    bert = filled(models.BertModel(BERT))
    words, first = bert(fb.tensor(IDS, device="cpu"), mask)
    agrees("bert", words)
    agrees("bert's first", first)
    whole = bert.embed(fb.tensor(IDS[1:, :5], device="cpu")).numpy()
    padded = bert.embed(fb.tensor(IDS, device="cpu"), mask).numpy()
    assert np.abs(whole - padded[1:]).max() < 1e-5 and np.abs((padded**2).sum(1) - 1).max() < 1e-5
    agrees("whisper", filled(models.WhisperEncoder(WHISPER))(fb.tensor(SOUND, device="cpu")))


def test_a_network_on_the_kernels(gpu):
    """The cheapest of each kind: values as on NumPy."""
    made = filled(models.BertModel(BERT))
    ids = fb.tensor(IDS, device="cpu")
    want = made(ids)[0].numpy()
    assert np.abs(made.to(gpu)(ids.to(gpu))[0].numpy() - want).max() < 1e-4


def test_a_unet_keeps_the_size_and_learns():
    """Odd sizes too, whose halves lose a row; `--torch` compares its logits with torch's own layers."""
    model = models.UNet(1, 2, width=2).to("cpu")
    x = fb.randn(2, 1, 19, 17, device="cpu")
    assert model(x).shape == (2, 2, 19, 17)
    grads = model(x).square().mean().backward()
    total = sum((grads[p].square().sum() for p in model.parameters()), start=fb.zeros((), device="cpu"))
    assert 0 < total.item() < float("inf")


def test_a_tagger_reads_both_ways():
    tagger = models.LSTMTagger(4, 5, 20, 3, bidirectional=True).to("cpu")
    assert tagger(fb.tensor([[1, 2, 3], [4, 5, 6]], device="cpu")).shape == (2, 3, 3)
    assert tagger.hidden2tag.in_features == 10 and "lstm.weight_ih_l0_reverse" in tagger.state_dict()


ERRORS = {
    "create_model('resnet51'): unknown: did you mean 'resnet50'?": lambda: models.create_model("resnet51"),
    "create_model('x'): unknown: list_models() lists the names": lambda: models.create_model("x"),
    "GPT2Config: n_embd is '12', not int; n_head is True, not int: "
    "use a config.json of this kind of network": lambda: models.GPT2LMHeadModel(
        {"n_embd": "12", "n_head": True}
    ),
    "GPT2Config: n_layer is -1, which is not a size: use a config.json of this kind of network": (
        lambda: models.GPT2LMHeadModel({"n_layer": -1})
    ),
    "GPT2Config: 5 heads, 16 features: the heads must divide the features": (
        lambda: models.GPT2LMHeadModel({"n_embd": 16, "n_head": 5})
    ),
    "LlamaConfig: vocab_size is missing; hidden_size is missing; intermediate_size is"
    " missing; num_hidden_layers is missing; num_attention_heads is missing: use"
    " a config.json of this kind of network": (lambda: models.LlamaForCausalLM({})),
    f"model_type 'gemma': unknown: one of {', '.join(FAMILIES)}": (
        lambda: models.LlamaForCausalLM(DECODERS["llama"][0] | {"model_type": "gemma"})
    ),
    "rope_type 'yarn': unknown: one of default, linear, llama3": (
        lambda: models.LlamaForCausalLM(DECODERS["llama"][0] | {"rope_parameters": {"rope_type": "yarn"}})
    ),
    "rope_type 'linear': factor is missing: use a complete config.json": (
        lambda: models.LlamaForCausalLM(DECODERS["llama"][0] | {"rope_parameters": {"rope_type": "linear"}})
    ),
    "LlamaConfig: no_rope_layers has 1 of 2 layers: pass one entry for each layer": (
        lambda: models.LlamaForCausalLM(DECODERS["smollm3"][0] | {"no_rope_layers": [1]})
    ),
    "LlamaConfig: 4 heads of 24 features, 3 key heads: heads must divide the features, and"
    " key heads the heads": (
        lambda: models.LlamaForCausalLM(DECODERS["llama"][0] | {"num_key_value_heads": 3})
    ),
    "activation 'gelo': unknown: did you mean 'gelu'?": lambda: models.BertModel({"hidden_act": "gelo"}),
    "BertConfig: position_embedding_type is 'relative_key': only \"absolute\" is supported": (
        lambda: models.BertModel({"position_embedding_type": "relative_key"})
    ),
    "feed_forward_proj 'swish': unknown: one of relu, gated-gelu, gated-silu": (
        lambda: models.T5ForConditionalGeneration({"feed_forward_proj": "swish"})
    ),
    "VitConfig: 33 pixels in 16, 768 features in 12: patches must divide the image, and heads"
    " the features": lambda: models.VitConfig(33),
    "WhisperEncoder(f32[2, 8, 10]): takes spectrograms of [b, 8, 24]: pad or crop the audio": (
        lambda: models.WhisperEncoder(WHISPER)(fb.zeros(2, 8, 10, device="cpu"))
    ),
    "80 tokens: GPT-2 has 16 positions: pass fewer": (
        lambda: models.GPT2LMHeadModel({"n_embd": 4, "n_head": 1, "n_layer": 1, "n_positions": 16}).new_past(
            1, 80
        )
    ),
    "BasicBlock(64, 64, groups=2, width=64): only bottlenecks support groups and widths: use"
    " a ResNet of 50 layers or more": lambda: models.ResNet(models.resnet.BasicBlock, (1, 1, 1, 1), groups=2),
}


@pytest.mark.parametrize("said", ERRORS)
def test_what_can_not_be(said):
    with pytest.raises(ValueError) as caught:
        ERRORS[said]()
    assert str(caught.value) == said


def test_unknown_names():
    with pytest.raises(AttributeError, match="did you mean 'resnet50'"):
        models.resnet51  # noqa: B018
    assert (
        models.list_models() == sorted(models.list_models())
        and "tf_efficientnet_lite0" in models.list_models()
    )
