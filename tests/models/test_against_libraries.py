"""Networks and what they write against torchvision's, timm's and transformers': `./run test --torch`.

FLAMBEAU_GOLDEN=write writes logits.toml, which the plain tests compare with.
"""

import os
import tomllib
from pathlib import Path

import numpy as np
import pytest
from helpers.networks import (
    BERT,
    CASES,
    CONVNEXT,
    DECODERS,
    IDS,
    IMAGES,
    MASK,
    SOUND,
    VIT,
    WHISPER,
    fill,
    filled,
    libraries,
)

import flambeau as fb
from flambeau import models
from flambeau.models import sampling
from flambeau.models.pretrained import KINDS
from flambeau.models.t5 import T5Config, bucket

LOGITS = Path(__file__).with_name("logits.toml")


@pytest.fixture(scope="module")
def packages(torch):
    return libraries(torch)


WRITES = os.environ.get("FLAMBEAU_GOLDEN") == "write"


@pytest.fixture(scope="module")
def golden():
    """logits.toml, and what the tests that run make of it."""
    found = tomllib.loads(LOGITS.read_text("utf-8")) if LOGITS.exists() else {}
    yield found
    if WRITES:
        head = "# Eight numbers of what the libraries give: test_against_libraries.py writes them\n"
        lines = [f'"{name}" = {numbers}\n' for name, numbers in sorted(found.items())]
        LOGITS.write_text("".join([head, *lines]), encoding="utf-8")


def agree(name: str, ours, theirs, golden: dict) -> None:
    """Ours are theirs to 1e-4, and theirs what the plain tests compare with."""
    want = theirs.detach().numpy()
    most = max(1.0, float(np.abs(want).max()))
    found = ours if isinstance(ours, np.ndarray) else ours.numpy()
    assert np.abs(found - want).max() <= 1e-4 * most, name
    flat = want.reshape(-1)
    shown = flat[:: max(1, flat.size // 8)][:8]
    if WRITES:
        golden[name] = [round(float(v), 6) for v in shown]
    if name in golden:
        assert np.allclose(golden[name], shown, atol=1e-4 * most), name


@pytest.mark.parametrize("name", CASES)
def test_images(name, packages, golden):
    case = CASES[name]
    ours = filled(case.ours())
    theirs = fill(case.theirs(packages), ours.state_dict())
    assert list(ours.state_dict()) == list(theirs.state_dict()) or set(ours.state_dict()) == set(
        theirs.state_dict()
    )
    with packages.torch.no_grad():
        want = theirs(*map(packages.torch.from_numpy, case.inputs))
    agree(name, ours(*(fb.tensor(x, device="cpu") for x in case.inputs)), want, golden)


def of_transformers(packages, config: dict, kind: str):
    """A network of transformers by what config.json holds."""
    library = packages.transformers
    made = library.AutoConfig.for_model(**config)
    return getattr(library, kind)(made).eval(), made.to_dict()


ON_KERNELS = ("gpt2", "llama", "t5")  # the others differ from llama in what NumPy shows as well


@pytest.mark.parametrize("name", DECODERS)
def test_texts(name, packages, golden, gpu):
    """Logits, and the tokens that are best each, with a cache and padding: 64 of them by kernels."""
    torch, (config, kind) = packages.torch, DECODERS[name]
    theirs, whole = of_transformers(packages, config, kind)
    ours = filled(KINDS[config["model_type"]](whole))
    fill(theirs, ours.state_dict())
    ids, mask = torch.from_numpy(IDS).long(), torch.from_numpy(MASK)
    given = (IDS, IDS[:, :5]) if "d_model" in config else (IDS,)
    count, where = (64, gpu) if name in ON_KERNELS else (12, "cpu")
    with torch.no_grad():
        if "d_model" in config:
            want = theirs(input_ids=ids, decoder_input_ids=ids[:, :5]).logits
        else:
            want = theirs(ids).logits
        agree(name, ours(*(fb.tensor(x, device="cpu") for x in given)), want, golden)
        how = {"max_new_tokens": count, "do_sample": False, "eos_token_id": None, "pad_token_id": 0}
        best = theirs.generate(ids, attention_mask=mask, **how).numpy()[:, -count:]
    found = models.generate(ours.to(where), IDS, count, attention_mask=MASK).numpy()[:, -count:]
    assert (found == best).all() and len(set(best.flatten().tolist())) > 2
    if WRITES:
        golden[f"tokens of {name}"] = best[:, :12].tolist()
    assert best[:, :12].tolist() == golden[f"tokens of {name}"]


def test_bert_and_whisper(packages, golden):
    torch = packages.torch
    mask = MASK[:, ::-1].copy()
    theirs, whole = of_transformers(packages, BERT, "BertModel")
    ours = filled(models.BertModel(whole))
    with torch.no_grad():
        want = fill(theirs, ours.state_dict())(torch.from_numpy(IDS).long(), torch.from_numpy(mask))
    words, first = ours(fb.tensor(IDS, device="cpu"), fb.tensor(mask, device="cpu"))
    agree("bert", words, want.last_hidden_state, golden)
    agree("bert's first", first, want.pooler_output, golden)
    theirs, whole = of_transformers(packages, WHISPER, "WhisperModel")
    ours = filled(models.WhisperEncoder(whole))
    with torch.no_grad():
        want = fill(theirs.encoder, ours.state_dict())(torch.from_numpy(SOUND)).last_hidden_state
    agree("whisper", ours(fb.tensor(SOUND, device="cpu")), want, golden)


SAVED = {
    "gpt2": (DECODERS["gpt2"][0], "GPT2LMHeadModel"),
    "qwen3": (DECODERS["qwen3"][0], "Qwen3ForCausalLM"),
    "t5": (DECODERS["t5"][0], "T5ForConditionalGeneration"),
    "bert": (BERT, "BertForMaskedLM"),
    "whisper": (WHISPER, "WhisperModel"),
    "vit": (VIT, "ViTForImageClassification"),
    "convnext": (CONVNEXT, "ConvNextForImageClassification"),
}


@pytest.mark.parametrize("name", SAVED)
def test_folders_that_transformers_wrote(name, packages, tmp_path):
    """save_pretrained writes the names of public checkpoints: from_pretrained reads them."""
    torch, (config, kind) = packages.torch, SAVED[name]
    theirs, _ = of_transformers(packages, config, kind)
    theirs.save_pretrained(tmp_path, max_shard_size="20KB")
    ours = models.from_pretrained(tmp_path, device="cpu")
    ids, inner = torch.from_numpy(IDS).long(), None
    with torch.no_grad():
        if name in ("vit", "convnext"):
            inner, want = fb.tensor(IMAGES, device="cpu"), theirs(torch.from_numpy(IMAGES)).logits
        elif name == "whisper":
            inner, want = (
                fb.tensor(SOUND, device="cpu"),
                theirs.encoder(torch.from_numpy(SOUND)).last_hidden_state,
            )
        elif name == "t5":
            want = theirs(input_ids=ids, decoder_input_ids=ids).logits
        else:
            want = theirs.bert(ids).last_hidden_state if name == "bert" else theirs(ids).logits
    mine = fb.tensor(IDS, device="cpu") if inner is None else inner
    found = ours(mine, mine) if name == "t5" else ours(mine)
    agree(f"{name} of a folder", found[0] if name == "bert" else found, want, {})


def test_a_unet_of_torchs_layers(torch):
    """milesial/Pytorch-UNet in plain functions of torch, by the names of the weights."""
    F = torch.nn.functional
    ours = filled(models.UNet(3, 2, width=4))
    state = {name: torch.tensor(t.tolist()) for name, t in ours.state_dict().items()}

    def twice(x, name):
        for i in (0, 3):
            norm = [
                state[f"{name}.double_conv.{i + 1}.{n}"]
                for n in ("running_mean", "running_var", "weight", "bias")
            ]
            x = F.conv2d(x, state[f"{name}.double_conv.{i}.weight"], padding=1)
            x = F.batch_norm(x, *norm).relu()
        return x

    image = np.random.default_rng(5).standard_normal((2, 3, 37, 32)).astype(np.float32)
    sizes = [twice(torch.from_numpy(image), "inc")]
    for i in range(1, 5):
        sizes.append(twice(F.max_pool2d(sizes[-1], 2), f"down{i}.maxpool_conv.1"))
    y = sizes.pop()
    for i in range(1, 5):
        skip = sizes.pop()
        y = F.conv_transpose2d(y, state[f"up{i}.up.weight"], state[f"up{i}.up.bias"], stride=2)
        high, wide = skip.shape[2] - y.shape[2], skip.shape[3] - y.shape[3]
        y = F.pad(y, [wide // 2, wide - wide // 2, high // 2, high - high // 2])
        y = twice(torch.cat([skip, y], 1), f"up{i}.conv")
    want = F.conv2d(y, state["outc.conv.weight"], state["outc.conv.bias"])
    agree("unet", ours(fb.tensor(image, device="cpu")), want, {})


def test_a_tagger_of_torchs_layers(torch):
    ours = filled(models.LSTMTagger(6, 5, 48, 4, bidirectional=True, num_layers=2))
    embedding, lstm, linear = (
        torch.nn.Embedding(48, 6),
        torch.nn.LSTM(6, 5, 2, True, True, 0.0, True),
        torch.nn.Linear(10, 4),
    )
    for part, name in ((embedding, "word_embeddings"), (lstm, "lstm"), (linear, "hidden2tag")):
        own = {
            k.removeprefix(f"{name}."): torch.tensor(t.tolist())
            for k, t in ours.state_dict().items()
            if name in k
        }
        part.load_state_dict(own)
    want = linear(lstm(embedding(torch.from_numpy(IDS).long()))[0])
    agree("tagger", ours(fb.tensor(IDS, device="cpu")), want, {})


def test_buckets_of_distances(packages):
    theirs = packages.transformers.models.t5.modeling_t5.T5Attention._relative_position_bucket
    for most, count in ((128, 32), (16, 8), (100, 20)):
        config = T5Config(relative_attention_max_distance=most, relative_attention_num_buckets=count)
        for both in (True, False):
            far = packages.torch.arange(-most, most + 1)
            want = theirs(far, bidirectional=both, num_buckets=count, max_distance=most).tolist()
            assert [bucket(d, config, both) for d in range(-most, most + 1)] == want


def test_scores_that_are_left(packages):
    """top_k, top_p and both, as transformers' own rules leave them."""
    torch, library = packages.torch, packages.transformers
    scores = np.random.default_rng(6).standard_normal((3, 50)).astype(np.float32) * 3
    given, mine = torch.from_numpy(scores), fb.tensor(scores, device="cpu")
    for k in (1, 7, 60):
        want = library.TopKLogitsWarper(k)(None, given).numpy()
        assert (sampling.top_k_of(mine, k).numpy() == want).all()
    for p in (0.01, 0.3, 0.9, 1.0):
        want = library.TopPLogitsWarper(p)(None, given).numpy()
        assert (sampling.top_p_of(mine, p).numpy() == want).all()
    for p in (0.01, 0.2, 0.9, 1.0):
        want = library.MinPLogitsWarper(p)(None, given).numpy()
        assert (sampling.min_p_of(mine, p).numpy() == want).all()
    for p in (0.05, 0.3, 0.9):
        want = library.TypicalLogitsWarper(p)(None, given).numpy()
        assert (sampling.typical_p_of(mine, p).numpy() == want).all()


def test_penalties_of_tokens(packages):
    """Scores after the processors of a text that repeats itself, and the tokens of generate with all."""
    torch, library = packages.torch, packages.transformers
    rng = np.random.default_rng(7)
    scores = rng.standard_normal((3, 50)).astype(np.float32) * 3
    ids = rng.integers(0, 5, (3, 12)).astype(np.int32)
    given, tokens = torch.from_numpy(scores), torch.from_numpy(ids).long()
    history = sampling.TokenHistory(3, 20, 50, fb.device("cpu"))
    history.begin(fb.tensor(ids, device="cpu"))
    numbers, count = sampling.Numbers(), fb.tensor([12], dtype="int32", device="cpu")
    for options, theirs in (
        ({"repetition_penalty": 1.3}, library.RepetitionPenaltyLogitsProcessor(1.3)),
        ({"repetition_penalty": 0.7}, library.RepetitionPenaltyLogitsProcessor(0.7)),
        *(({"no_repeat_ngram_size": n}, library.NoRepeatNGramLogitsProcessor(n)) for n in (1, 2, 3, 13)),
    ):
        how = models.Sampling(**options)
        numbers.begin(how)
        mine = fb.tensor(scores, device="cpu")
        found = sampling.penalize(mine, sampling.rule_of(how), numbers, history, count).numpy()
        assert np.allclose(found, theirs(tokens, given.clone()).numpy(), rtol=1e-6), options
    config, kind = DECODERS["gpt2"]
    theirs, whole = of_transformers(packages, config, kind)
    ours = filled(KINDS["gpt2"](whole))
    fill(theirs, ours.state_dict())
    for extra in ({}, {"length_penalty": 2.0}, {"early_stopping": True}, {"num_return_sequences": 2}):
        for end in (None, 33, [33, 12]):
            beams = {"max_new_tokens": 9, "num_beams": 3, "eos_token_id": end, "pad_token_id": 1, **extra}
            with torch.no_grad():
                row, mask = torch.from_numpy(IDS).long(), torch.from_numpy(MASK)
                want = theirs.generate(row, attention_mask=mask, do_sample=False, **beams).numpy()
            assert (models.generate(ours, IDS, attention_mask=MASK, **beams).numpy() == want).all(), beams
    how = {"max_new_tokens": 20, "repetition_penalty": 1.2, "no_repeat_ngram_size": 3, "eos_token_id": None}
    with torch.no_grad():
        want = theirs.generate(torch.from_numpy(IDS).long(), do_sample=False, pad_token_id=0, **how).numpy()
    assert (models.generate(ours, IDS, **how).numpy() == want).all()
