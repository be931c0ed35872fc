"""Models with quantised weights: loaded as they are, written, and how much of a text they lose."""

import numpy as np
import pytest
from helpers.gguf_models import tiny_chat

import flambeau as fb
from flambeau import models, nn
from flambeau.errors import FlambeauError
from flambeau.io import load_gguf
from flambeau.models.quantize import form_for, measure_text, perplexity, quantize_file


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("quantize") / "tiny.gguf"
    tiny_chat(
        path, {r"(attn_[qkv]|attn_output|token_embd)\.weight": "Q4_0", r"ffn_(gate|up)\.weight": "Q8_0"}
    )
    return path


def test_a_file_is_loaded_as_it_is(path, device):
    floats, kept = (models.from_pretrained(path, device, keep_quantized=keep) for keep in (False, True))
    layer = kept.model.layers[1]
    assert type(layer.self_attn.q_proj) is nn.BlockLinear and type(layer.mlp.up_proj) is nn.BlockLinear
    assert type(layer.mlp.down_proj) is nn.Linear  # rows of 48 elements are no blocks of 32
    assert type(kept.model.embed_tokens) is nn.BlockEmbedding
    ids = fb.tensor([[3, 1, 7, 2]], device=device)
    with fb.no_grad():
        want, got = floats(ids).numpy(), kept(ids).numpy()
    assert np.allclose(got, want, rtol=1e-4, atol=1e-5)
    texts = [models.Decoder(m).generate(ids, 6, eos_token_id=None).tolist() for m in (floats, kept)]
    assert texts[0] == texts[1]


@pytest.mark.parametrize(
    "name, shape, form, want",
    [
        ("a.weight", (8, 512), "Q4_K", "Q4_K"),
        ("a.weight", (8, 288), "Q4_K", "Q5_0"),
        ("a.weight", (8, 288), "Q6_K", "Q8_0"),
        ("a.weight", (80, 48), "Q5_K", None),
        ("a.weight", (80, 48), "BF16", "BF16"),
        ("a.weight", (8, 288), "Q2_K", "Q4_0"),
        ("a.weight", (512,), "Q4_K", None),
        ("a.bias", (8, 512), "Q4_K", None),
        ("a.weight", (2, 256), "Q4_K", None),
    ],
)
def test_which_tensors_are_quantised(name, shape, form, want):
    assert form_for(name, shape, form) == want


def test_what_is_written(tmp_path):
    rng = np.random.default_rng(0)
    arrays = {"a.weight": (8, 256), "b.weight": (40, 96), "a.bias": (8,)}
    tensors = {n: fb.tensor(rng.standard_normal(s).astype("f4"), device="cpu") for n, s in arrays.items()}
    fb.save(tensors, tmp_path / "model.safetensors")
    written = quantize_file(tmp_path / "model.safetensors", tmp_path / "model.gguf", "Q5_K")
    assert written.formats == {"Q5_K": 1, "Q5_1": 1} and written.before == 4 * (2048 + 3840 + 8)
    assert written.after == 8 * 176 + 120 * 24 + 32 and 0.01 < written.error < 0.06
    back = load_gguf(tmp_path / "model.gguf", "cpu")
    assert np.array_equal(back["a.bias"].numpy(), tensors["a.bias"].numpy())


# the relative error of normal numbers: llama.cpp's own are in these ratios
ERRORS = {"BF16": 0.0017, "F16": 0.0002, "Q8_0": 0.0053, "Q6_K": 0.018, "Q5_K": 0.036, "Q5_1": 0.039,
          "Q5_0": 0.043, "Q4_K": 0.072, "Q4_1": 0.080, "Q4_0": 0.086, "Q3_K": 0.153,
          "Q2_K": 0.274}  # fmt: skip


@pytest.mark.parametrize("form", ERRORS)
def test_errors_of_formats(form, tmp_path):
    x = np.random.default_rng(0).standard_normal((64, 256)).astype("f4")
    fb.save({"a.weight": fb.tensor(x, device="cpu")}, tmp_path / "x.safetensors")
    written = quantize_file(tmp_path / "x.safetensors", tmp_path / "x.gguf", form)
    assert written.formats == {form: 1} and abs(written.error / ERRORS[form] - 1) < 0.06


def test_perplexity_is_that_of_the_probabilities(path):
    model = models.from_pretrained(path, "cpu")
    ids = [5, 2, 9, 11, 3, 3, 8]
    rows = []
    for window in (ids[:4], ids[4:]):
        scores = model(fb.tensor([window], device="cpu")).log_softmax(-1).numpy()[0]
        rows += [scores[i, token] for i, token in enumerate(window[1:])]
    assert np.isclose(perplexity(model, ids, 4), np.exp(-np.mean(rows)), rtol=1e-5)
    with pytest.raises(ValueError, match="takes 2 tokens or more"):
        perplexity(model, [1])


def test_a_text_before_and_after(path, tmp_path):
    quantize_file(path, tmp_path / "q.gguf", "Q8_0")
    before, after = measure_text(path, tmp_path / "q.gguf", "hello the world, hello", 64, "cpu")
    assert before > 1 and abs(after / before - 1) < 0.02
    fb.save({"w": fb.ones(2, 2)}, tmp_path / "w.safetensors")
    with pytest.raises(FlambeauError, match=r"a text needs config.json and a tokenizer"):
        measure_text(tmp_path / "w.safetensors", tmp_path / "q.gguf", "hello", 64)
