"""Decoders saved as programs: the tokens of `generate`, with the cache as state and quantised weights."""

import numpy as np
import pytest
from helpers.gguf_models import tiny_chat
from helpers.networks import filled

import flambeau as fb
from flambeau import models
from flambeau.models.exported import _lengths, limit_to
from flambeau.models.opened import open_model
from flambeau.models.sampling import Numbers, Sampling, limit, rule_of

SIZES = {
    "vocab_size": 97, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2,
}  # fmt: skip
PROMPT = [3, 5, 7, 11, 13, 17, 19, 23]


@pytest.fixture(scope="module", autouse=True)
def on_gpu(gpu):
    return gpu


def written(program, prompt, count, chunk, token=lambda result: result["token"]):
    """The tokens that a program writes after a prompt, which it takes in chunks."""
    for at in range(0, len(prompt), chunk):
        result = program(np.array([prompt[at : at + chunk]], "i4"))
    tokens = [token(result).item()]
    while len(tokens) < count:
        tokens.append(token(program(np.array([tokens[-1:]], "i4"))).item())
    return tokens


def generated(model, prompt, count):
    rows = models.generate(model.eval(), [prompt], max_new_tokens=count, eos_token_id=None)
    return rows.tolist()[0][len(prompt) :]


@pytest.mark.share(6, first=0)
def test_a_saved_decoder_writes_the_tokens_of_generate(tmp_path, on_gpu):
    model = filled(models.LlamaForCausalLM(SIZES)).to(on_gpu)
    out = models.save_decoder(model, tmp_path / "p", context=64, chunk=2)
    program, wanted = fb.load_program(out), generated(model, PROMPT, 8)
    assert repr(program) == "SavedProgram(tokens=i32[1, N])" and program.batch == (1, 2)
    assert written(program, PROMPT, 8, 2) == wanted
    program.reset()
    assert written(program, PROMPT, 8, 1) == wanted
    assert "model.layers.1.mlp.up_proj.weight" in fb.load(out / "weights.safetensors")
    logits = model(fb.tensor([[*PROMPT, *wanted]]))[:, -1]
    last = program(np.array([wanted[-1:]], "i4"))["logits"].numpy()
    np.testing.assert_allclose(last, logits.detach().numpy(), rtol=1e-4, atol=1e-4)


@pytest.mark.share(6, first=2)
def test_quantised_weights_stay_quantised(tmp_path):
    tiny_chat(tmp_path / "m.gguf", "Q8_0")
    model = open_model(tmp_path / "m.gguf", keep_quantized=True).model
    out = models.save_decoder(model, tmp_path / "p", context=64, chunk=2)
    blocks = [t for name, t in fb.load(out / "weights.safetensors").items() if name.endswith(".blocks")]
    assert len(blocks) >= 14
    assert sum(t.nbytes for t in blocks) < 1.15 * (tmp_path / "m.gguf").stat().st_size
    assert written(fb.load_program(out), PROMPT, 12, 2) == generated(model, PROMPT, 12)
    with fb.device("cpu"):  # where nothing but planning runs
        model = open_model(tmp_path / "m.gguf", keep_quantized=True).model
        other = models.save_decoder(model, tmp_path / "other", context=64, chunk=2)
    for name in ("program.txt", "kernels.wgsl"):
        assert (other / name).read_text("utf-8") == (out / name).read_text("utf-8")


@pytest.mark.share(6, first=4)
def test_a_saved_decoder_draws(tmp_path, on_gpu):
    model = filled(models.LlamaForCausalLM(SIZES | {"num_hidden_layers": 1})).to(on_gpu)
    out = models.save_decoder(model, tmp_path / "p", context=64, chunk=1, sample=True)
    program, draw = fb.load_program(out), fb.load_program(out / "draw")
    best = generated(model, PROMPT, 6)

    def options(temperature, top_k, top_p):
        rest = np.array([temperature], "f4"), np.array([top_k], "i4"), np.array([top_p], "f4")
        return lambda result: draw(result["logits"], *rest)["token"]

    for given in (options(0, 0, 1), options(2, 1, 1), options(2, 0, 1e-6)):
        program.reset()
        assert written(program, PROMPT, 6, 1, given) == best
    models.save_decoder(model, out, context=64, chunk=1)  # without an old program that draws
    assert not (out / "draw").exists()
    drawn = []
    for seed in (1, 1, 2):
        program.reset()
        fb.manual_seed(seed)
        drawn.append(written(program, PROMPT[:3], 8, 1, options(5, 0, 1)))
    assert drawn[0] == drawn[1] != drawn[2]


def test_limits_of_a_draw_are_those_of_generate():
    rng = np.random.default_rng(4)
    for k, p in [(0, 1.0), (1, 1.0), (5, 0.5), (97, 0.9), (500, 0.1), (-3, 1.0), (7, 1e-6)]:
        logits = fb.tensor(rng.normal(0, 3, (1, 97)).astype("f4"))
        sampling, numbers = Sampling(do_sample=True, top_k=min(k, 97) if k > 0 else None, top_p=p), Numbers()
        numbers.begin(sampling)
        wanted = limit(logits, rule_of(sampling), numbers).numpy()
        found = limit_to(logits, fb.tensor([k]), fb.tensor([p])).numpy()
        np.testing.assert_array_equal(found, wanted, f"top_k {k}, top_p {p}")


def test_few_numbers_of_tokens_are_planned():
    assert [_lengths(n) for n in (1, 2, 4, 10, 64)] == [[1], [1, 2], [1, 4], [1, 4, 10], [1, 4, 16, 64]]


def test_wrong_arguments_are_said(tmp_path):
    model = models.LlamaForCausalLM(SIZES)
    with pytest.raises(TypeError) as e:
        models.save_decoder(fb.nn.Linear(2, 3), tmp_path / "p")
    assert str(e.value).startswith("save_decoder(Linear")
    assert str(e.value).endswith("): it writes no texts: pass a decoder such as LlamaForCausalLM")
    for given in ({"context": 0}, {"chunk": 2.5}):
        ((name, value),) = given.items()
        with pytest.raises(ValueError) as e:
            models.save_decoder(model, tmp_path / "p", **given)
        assert str(e.value) == f"save_decoder({name}={value!r}): pass a number of tokens, 1 or more"
    assert not (tmp_path / "p").exists()
