"""Texts written token by token: cache, padding, ends, draws, and how often a step is recorded."""

import tomllib
from pathlib import Path

import numpy as np
import pytest
from helpers.kernels import planned_for
from helpers.networks import DECODERS, GPT2, IDS, LLAMA, MASK, T5, filled

import flambeau as fb
from flambeau import models
from flambeau.models import generation
from flambeau.models.past import CacheSize, Past
from flambeau.runtime.pipeline import counters

GIVEN = tomllib.loads(Path(__file__).with_name("logits.toml").read_text(encoding="utf-8"))
MAKE = {"gpt2": models.GPT2LMHeadModel, "t5": models.T5ForConditionalGeneration}


@pytest.fixture(scope="module")
def gpt2():
    """A small GPT-2 on the NumPy device."""
    return filled(models.GPT2LMHeadModel(GPT2))


@pytest.mark.parametrize("name", ["gpt2", "mistral", "qwen3", "t5"])
def test_tokens_are_those_of_transformers(name):
    config, _ = DECODERS[name]
    model = filled(MAKE.get(name, models.LlamaForCausalLM)(config))
    found = models.generate(model, IDS, 12, attention_mask=MASK)
    assert found.tolist() == [[*first, *new] for first, new in zip(
        [[0], [0]] if name == "t5" else IDS.tolist(), GIVEN[f"tokens of {name}"], strict=True)]  # fmt: skip


@pytest.mark.share(5)
def test_a_step_is_recorded_once_and_replayed(gpu):
    """One recording, which other texts of the shape go on with; tokens as NumPy writes them."""
    model = filled(models.GPT2LMHeadModel(GPT2))
    begins = models.generate(model, IDS, 12).tolist()
    decoder = models.Decoder(model.to(gpu))
    want = decoder.generate(IDS, 24).tolist()
    assert [row[:21] for row in want] == begins
    (step,) = decoder.steps.values()
    ((program,),) = step.replayed.programs.values()
    calls = program.calls
    assert calls >= 22
    assert (
        decoder.generate(IDS[:, :4], 24)[:, :4].tolist() == IDS[:, :4].tolist()
    )  # a prompt of another length
    assert decoder.generate(IDS, 24).tolist() == want
    taken = fb.memory(gpu)["allocations"]
    assert decoder.generate(IDS, 24).tolist() == want
    assert fb.memory(gpu)["allocations"] == taken
    assert decoder.generate(IDS, 3, attention_mask=MASK).shape == (2, 12)  # padded: another cache
    assert len(decoder.steps) == 2 and program.calls >= 4 * 22
    assert list(step.replayed.programs.values()) == [[program]]


@pytest.mark.share(5)
def test_a_second_text_compiles_and_allocates_nothing(gpu):
    """The first prompt is planned like later ones, although its caches are new."""
    decoder = models.Decoder(filled(models.LlamaForCausalLM(LLAMA)).to(gpu))
    decoder.generate(IDS, 12)
    known, taken = vars(counters).copy(), fb.memory(gpu)["allocations"]
    decoder.generate(IDS, 12)
    assert (counters.plans, counters.compiles) == (known["plans"], known["compiles"])
    assert fb.memory(gpu)["allocations"] == taken


@pytest.mark.share(5)
def test_a_short_prompt_is_taken_by_the_recorded_step(gpu, monkeypatch):
    """Tokens, ends and draws as with a graph for the prompt; what is chosen inside the prompt counts not."""
    monkeypatch.setattr(generation, "ONE_BY_ONE", 0)
    model, texts = filled(models.LlamaForCausalLM(LLAMA)), []
    end = int(models.generate(model, IDS, 2, attention_mask=MASK)[0, -1])
    with planned_for(gpu, software=False, bundle_buffers=32):
        decoder = models.Decoder(model.to(gpu))
        for most in (0, 32):
            monkeypatch.setattr(generation, "ONE_BY_ONE", most)
            ended = decoder.generate(IDS, 5, attention_mask=MASK, eos_token_id=end).tolist()
            drawn = decoder.generate(IDS, 5, attention_mask=MASK, do_sample=True, seed=3).tolist()
            texts.append((ended, drawn))
            plans = counters.plans
        decoder.generate(IDS[:, :5], 5, do_sample=True, attention_mask=MASK[:, :5], seed=3)
    assert texts[0] == texts[1]
    assert counters.plans == plans  # a prompt of another length needs no plan


def test_rows_of_several_lengths_are_as_alone(gpt2):
    rows = [IDS[0].tolist(), IDS[1, :3].tolist()]
    found = models.generate(gpt2, rows, 5).tolist()
    assert found[1][:6] == [0] * 6
    for row, whole in zip(rows, found, strict=True):
        assert models.generate(gpt2, [row], 5).tolist()[0] == whole[-len(row) - 5 :]


def test_a_row_ends_and_is_padded(gpt2):
    free = models.generate(gpt2, IDS, 8).numpy()[:, 9:]
    end = int(free[0, 2])
    at = free.tolist()[0].index(end)
    seen = []
    found = models.generate(gpt2, IDS, 8, eos_token_id=[end, 47], pad_token_id=1, streamer=seen.append)
    new = found.numpy()[:, 9:]
    assert (new[0, : at + 1] == free[0, : at + 1]).all() and (new[0, at + 1 :] == 1).all()
    assert [list(step) for step in zip(*new.tolist(), strict=True)] == seen
    alone = models.generate(gpt2, IDS[:1], 8, eos_token_id=end)
    assert alone.shape == (1, 9 + at + 1)  # no more than is needed


@pytest.mark.share(5)
def test_draws_follow_seeds(gpt2):
    writer = models.Decoder(gpt2)

    def drawn(**how):
        return writer.generate(IDS[:1], 4, do_sample=True, **how).tolist()

    assert drawn(seed=3, temperature=3.0) == drawn(seed=3, temperature=3.0)
    assert len({str(drawn(seed=s, temperature=3.0)) for s in range(3)}) > 1
    best = models.generate(gpt2, IDS[:1], 4).tolist()
    assert drawn(top_k=1) == drawn(top_p=1e-6) == drawn(temperature=1e-4) == best
    fb.manual_seed(5)
    first = [drawn(temperature=3.0), drawn(temperature=3.0)]
    fb.manual_seed(5)
    assert [drawn(temperature=3.0), drawn(temperature=3.0)] == first and first[0] != first[1]


def test_draws_have_the_probabilities():
    """Of 4,000 rows at once: a quarter, and nothing below the cuts."""
    shares = np.array([0.5, 0.3, 0.15, 0.05], np.float32)
    logits = fb.tensor(np.log(np.tile(shares, (4000, 1))), device="cpu")
    step = generation.Step(None, Past(CacheSize(1, 1, 1, 1, 1)).to("cpu"))
    step.top_p.value, step.inverse.value = 0.7, 0.5
    for draw, want in (
        ((False, None, False), shares),
        ((False, 3, False), np.array([0.5, 0.3, 0.15, 0]) / 0.95),
        ((False, None, True), np.array([0.5, 0.3, 0, 0]) / 0.8),
        ((True, None, False), shares**0.5 / (shares**0.5).sum()),
    ):
        found = np.bincount(step.choose(logits, draw).numpy().flatten(), minlength=4) / 4000
        assert np.abs(found - want).max() < 0.04, draw


ERRORS = {
    "generate(temperature=0.5): it applies only to sampling: pass do_sample=True as well": {
        "temperature": 0.5
    },
    "generate(temperature=0): pass a number above 0": {"do_sample": True, "temperature": 0},
    "generate(top_k=0): pass a number of tokens, 1 or more": {"do_sample": True, "top_k": 0},
    "generate(top_p=1.5): pass a probability above 0, 1 at most": {"do_sample": True, "top_p": 1.5},
    "generate(max_new_tokens=0): pass a number of tokens, 1 or more": {"max_new_tokens": 0},
    "generate(i32[2, 9], attention_mask=i32[1, 9]): the mask needs an element for each token:"
    " make the shapes equal": {"attention_mask": MASK[:1]},
    "generate(i32[2, 9]): attention_mask of row 1 must have all padding before the tokens: pad on the left": {
        "attention_mask": MASK[:, ::-1].copy()
    },
    "generate(i32[9]): takes rows of tokens, int [b, n]: pass at least one token": {"input_ids": IDS[0]},
    "generate(i32[0]): takes rows of tokens, int [b, n]: pass at least one token": {"input_ids": []},
    "100 tokens: GPT-2 has 80 positions: pass fewer": {"max_new_tokens": 91},
}


@pytest.mark.parametrize("said", ERRORS)
def test_what_can_not_be(said, gpt2):
    with pytest.raises(ValueError) as caught:
        models.generate(gpt2, **{"input_ids": IDS} | ERRORS[said])
    assert str(caught.value) == said


def test_an_unknown_word(gpt2):
    with pytest.raises(TypeError) as caught:
        models.generate(gpt2, IDS, temprature=1.0)
    assert str(caught.value) == "generate() got an unexpected keyword argument 'temprature'"


def test_llama_and_t5_configs_are_not_changed():
    """The tables of the tests are shared: a network that wrote to its config would show in the next."""
    models.LlamaForCausalLM(LLAMA), models.T5ForConditionalGeneration(T5)
    assert "model_type" in LLAMA and T5["eos_token_id"] is None
