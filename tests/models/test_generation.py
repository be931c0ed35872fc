"""Texts written token by token: cache, padding, ends, draws, and how often a step is recorded."""

import tomllib
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from helpers.kernels import planned_for
from helpers.networks import DECODERS, GPT2, IDS, LLAMA, MASK, T5, filled

import flambeau as fb
from flambeau import models
from flambeau.models import generation
from flambeau.models.past import CacheSize, Past
from flambeau.models.sampling import rule_of
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


@pytest.mark.share(9)
@pytest.mark.parametrize(
    ("name", "most", "chunks", "options"),
    [
        ("gpt2", 32, (32,), {}),
        ("llama", 1, (4, 2), {"do_sample": True, "seed": 3, "repetition_penalty": 1.7}),
        ("mistral", 2, (3,), {"repetition_penalty": 1.7}),
    ],
)
def test_a_recorded_step_processes_the_prompt(gpu, monkeypatch, name, most, chunks, options):
    """Tokens, ends, penalties and draws as with a graph for the prompt, whether the step takes tokens, parts
    that overlap or equal parts; tokens chosen inside the prompt are dropped."""
    config = LLAMA if name == "llama" else DECODERS[name][0]
    model = filled(MAKE.get(name, models.LlamaForCausalLM)(config))
    end = int(models.generate(model, IDS, 2, attention_mask=MASK)[0, -1])
    model.to(gpu)

    def write(decoder: models.Decoder, n: int) -> list[list[int]]:
        ids, mask = IDS[:, :n], MASK[:, :n]
        return decoder.generate(ids, 5, attention_mask=mask, eos_token_id=end, **options).tolist()

    wanted = [write(models.Decoder(model), n) for n in (9, 6)]
    monkeypatch.setattr(generation, "ONE_BY_ONE", most)
    monkeypatch.setattr(generation, "CHUNKS", chunks)
    with planned_for(gpu, software=False):
        decoder = models.Decoder(model)
        texts = [write(decoder, 9)]
        (step,) = decoder.steps.values()
        recordings = len(step.replayed.programs)
        texts.append(write(decoder, 6))
    assert texts == wanted
    assert len(step.replayed.programs) == recordings  # a prompt of another length records nothing


def test_parts_of_a_prompt_cover_it():
    for n in (*range(1, 70), 255, 256, 257, 300, 511, 512, 1000):
        parts = generation._chunks(n)
        assert parts[0].start == 0 and parts[-1].stop == n
        assert all(a.stop == b.start for a, b in pairwise(parts[:-1]))
        assert len(parts) == 1 or parts[-2].start < parts[-1].start <= parts[-2].stop
        assert len({part.stop - part.start for part in parts}) == 1


def test_rows_of_several_lengths_are_as_alone(gpt2):
    rows = [IDS[0].tolist(), IDS[1, :3].tolist()]
    found = models.generate(gpt2, rows, 5).tolist()
    assert found[1][:6] == [0] * 6
    for row, whole in zip(rows, found, strict=True):
        assert models.generate(gpt2, [row], 5).tolist()[0] == whole[-len(row) - 5 :]


@pytest.mark.share(2)
def test_other_paddings_record_nothing(gpu):
    """Batches of other lengths replay one step; tokens as NumPy writes them."""
    decoder, rng = models.Decoder(filled(models.GPT2LMHeadModel(GPT2)).to(gpu)), np.random.default_rng(3)
    host = models.Decoder(filled(models.GPT2LMHeadModel(GPT2)))
    for sizes in ((9, 4, 2), (3, 9, 9), (5, 12, 1), (2, 3, 2), (12, 1, 7)):
        rows = [rng.integers(3, 40, n).tolist() for n in sizes]
        found = decoder.generate(rows, 4, eos_token_id=None).tolist()
        assert found == host.generate(rows, 4, eos_token_id=None).tolist()
    (step,) = decoder.steps.values()
    ((program,),) = step.replayed.programs.values()
    assert program.calls >= 3 * 5


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
    for options, want in (
        ({}, shares),
        ({"top_k": 3}, np.array([0.5, 0.3, 0.15, 0]) / 0.95),
        ({"top_p": 0.7}, np.array([0.5, 0.3, 0, 0]) / 0.8),
        ({"min_p": 0.2}, np.array([0.5, 0.3, 0.15, 0]) / 0.95),
        ({"typical_p": 0.25}, np.array([0, 1, 0, 0])),
        ({"temperature": 2.0}, shares**0.5 / (shares**0.5).sum()),
    ):
        how = models.Sampling(do_sample=True, **options)
        step.numbers.begin(how)
        found = np.bincount(step.choose(logits, rule_of(how)).numpy().flatten(), minlength=4) / 4000
        assert np.abs(found - want).max() < 0.04, options


@pytest.mark.share(3)
def test_penalties_by_kernels(gpu, gpt2):
    """Penalties are part of the recorded step, which other numbers replay: tokens as NumPy writes them."""
    options = {"repetition_penalty": 1.7, "frequency_penalty": 0.4, "presence_penalty": 0.3}
    options |= {"no_repeat_ngram_size": 2, "logprobs": 2, "eos_token_id": None}
    want = [*models.Decoder(gpt2).stream(IDS, 10, **options)]
    rows = np.array([row.tokens for row in want]).T
    assert all(len({*pairwise(r)}) == 9 for r in rows.tolist())  # no pair occurs twice
    decoder = models.Decoder(filled(models.GPT2LMHeadModel(GPT2)).to(gpu))
    for numbers in ({}, {"repetition_penalty": 1.1}):
        found = [*decoder.stream(IDS, 10, **options | numbers)]
        want = [*models.Decoder(gpt2).stream(IDS, 10, **options | numbers)]
        assert [row.tokens for row in found] == [row.tokens for row in want]
        assert np.allclose([row.best for row in found], [row.best for row in want], atol=1e-3)
    (step,) = decoder.steps.values()
    assert sum(map(len, step.replayed.programs.values())) == 1


def test_logarithms_of_probabilities(gpt2):
    (first, *_) = models.Decoder(gpt2).stream(IDS, 2, logprobs=3)
    logits = gpt2(fb.tensor(IDS, device="cpu"))[:, -1]
    logs, order = logits.log_softmax(-1).topk(3, -1)
    want = np.concatenate([logs[:, :1].numpy(), order.numpy(), logs.numpy()], 1)
    assert np.allclose(first.best, want, atol=1e-5) and first.tokens == order[:, 0].tolist()


def test_lengths_copies_processors_and_stop_texts(gpt2):
    free = models.generate(gpt2, IDS, 8, eos_token_id=None).tolist()
    assert models.generate(gpt2, IDS, max_length=12, eos_token_id=None).tolist() == [r[:12] for r in free]
    drawn = models.generate(gpt2, IDS, 4, do_sample=True, seed=3, num_return_sequences=3, eos_token_id=None)
    assert drawn.shape == (6, 13) and len({str(r) for r in drawn[:3].tolist()}) > 1
    assert (drawn[:, :9].numpy() == np.repeat(IDS, 3, 0)).all()
    seen = []

    def odd(ids, scores):
        seen.append(ids.tolist())
        even = fb.arange(scores.shape[-1], device="cpu") % 2 == 0
        return even.where(float("-inf"), scores)

    new = models.generate(gpt2, IDS, 3, logits_processor=[odd], eos_token_id=None).numpy()
    assert (new[:, 9:] % 2 == 1).all() and seen == [new[:, : 9 + i].tolist() for i in range(3)]

    class Letters:
        def decode(self, ids):
            return "".join(chr(97 + i) for i in ids)

    first = free[0][9:]
    text = Letters().decode(first)
    found = models.generate(
        gpt2, IDS, 8, stop_strings=text[2:4], tokenizer=Letters(), pad_token_id=1, eos_token_id=None
    ).tolist()
    end = text.index(text[2:4]) + 2
    assert found[0][9 : 9 + end] == first[:end] and set(found[0][9 + end :]) <= {1}


def test_beams(gpt2):
    """Of all texts of two tokens the one with the best score; several texts of each row, the best first."""
    ids = IDS[:1]
    first = gpt2(fb.tensor(ids, device="cpu"))[:, -1].log_softmax(-1).numpy()[0]
    pairs = np.concatenate([np.repeat(ids, 48, 0), np.arange(48)[:, None]], 1).astype(np.int32)
    second = gpt2(fb.tensor(pairs, device="cpu"))[:, -1].log_softmax(-1).numpy()
    scores = first[:, None] + second
    best = np.argsort(-scores, axis=None)[:3]
    how = {"num_beams": 48, "num_return_sequences": 3, "eos_token_id": None}
    found = models.generate(gpt2, ids, 2, **how).numpy()[:, 9:]
    assert found.tolist() == [[int(i) // 48, int(i) % 48] for i in best]
    one = models.generate(gpt2, IDS, 4, attention_mask=MASK, eos_token_id=None).tolist()
    assert models.generate(gpt2, IDS, 4, attention_mask=MASK, eos_token_id=None, num_beams=1).tolist() == one


ERRORS = {
    "generate(num_beams=0): pass a number of beams, 1 or more": {"num_beams": 0},
    "generate(num_beams=2, do_sample=...): do not go together: pass one of them": {
        "num_beams": 2,
        "do_sample": True,
    },
    "generate(num_return_sequences=3): pass a number from 1 to num_beams, 2": {
        "num_beams": 2,
        "num_return_sequences": 3,
    },
    "generate(max_length=9): the prompt has 9 tokens: pass a larger number": {"max_length": 9},
    "generate(num_return_sequences=2): pass a number, 1 or more; above 1 with do_sample=True": {
        "num_return_sequences": 2
    },
    "generate(stop_strings=['a']): pass texts, and tokenizer= with the tokenizer that reads them": {
        "stop_strings": "a"
    },
    "generate(repetition_penalty=0): pass a number above 0": {"repetition_penalty": 0},
    "generate(logits_processor=...): pass functions (tokens, scores) -> scores": {"logits_processor": [1]},
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
