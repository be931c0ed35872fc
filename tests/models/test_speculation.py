"""Speculative writing: the tokens of plain writing in fewer steps, the probabilities of draws, recordings."""

import numpy as np
import pytest
from helpers.networks import GPT2, IDS, LLAMA, MASK, T5, filled

import flambeau as fb
from flambeau import models
from flambeau.models.speculation import Lookup, accept
from flambeau.ops.random import Generator

HALF = LLAMA | {"num_hidden_layers": 1}
REPEATS = [[5, 6, 7, 8, 9, 5, 6, 7]]


@pytest.fixture(scope="module")
def llama():
    return filled(models.LlamaForCausalLM(LLAMA))


@pytest.fixture(scope="module")
def half():
    """A model of the first layer alone, whose guesses are sometimes right."""
    return filled(models.LlamaForCausalLM(HALF))


@pytest.fixture(scope="module")
def gpt2_that_repeats():
    """A model whose best token is a copy: without attention, by embeddings of its own."""
    model = filled(models.GPT2LMHeadModel(GPT2))
    state = {
        name: t.numpy() * ("wpe" not in name and ".h." not in name) for name, t in model.state_dict().items()
    }
    model.load_state_dict({name: fb.tensor(value, device="cpu") for name, value in state.items()})
    return model


@pytest.mark.parametrize("ids, guess", [
    ([1, 2, 3, 1, 2], [3, 1, 2]),  # what followed the first 1 2
    ([1, 2, 3, 9, 2], [3, 9, 2]),  # of a sequence of one token
    ([1, 2, 3], []),
    ([4, 4, 4, 4], [4, 4]),  # no more than the text has
    ([7], []),
])  # fmt: skip
def test_what_is_looked_up(ids, guess):
    assert Lookup(ids, 2, 3).guess() == guess


def test_greedy_tokens_are_the_same(llama, half):
    writer = models.Decoder(llama)
    want = writer.generate(IDS[:1], 12).tolist()
    steps = {}
    for name, how in {
        "lookup": {"prompt_lookup_num_tokens": 4},
        "half": {"assistant_model": half, "num_assistant_tokens": 3},
        "itself": {"assistant_model": llama},
    }.items():
        assert writer.generate(IDS[:1], 12, **how).tolist() == want, name
        steps[name] = writer.target_steps
    # guesses are all right: a step takes five, and writes one more
    assert steps["itself"] == 1 + 2 and steps["half"] <= 12 and steps["lookup"] <= 12


@pytest.mark.share(4)
def test_streams_and_padding(llama, half):
    writer = models.Decoder(llama)
    want = writer.generate(IDS[:1], 12).tolist()
    tokens = [row.tokens[0] for row in writer.stream(IDS[:1], 12, assistant_model=half)]
    assert [*IDS[0].tolist(), *tokens] == want[0]
    padded = {"attention_mask": MASK[1:], "eos_token_id": None}
    want = writer.generate(IDS[1:], 9, **padded).tolist()
    assert writer.generate(IDS[1:], 9, prompt_lookup_num_tokens=2, **padded).tolist() == want


@pytest.mark.share(4)
def test_a_text_that_repeats_takes_fewer_steps(gpt2_that_repeats):
    writer = models.Decoder(gpt2_that_repeats)
    want = writer.generate(REPEATS, 12).tolist()
    assert writer.generate(REPEATS, 12, prompt_lookup_num_tokens=5).tolist() == want
    assert writer.target_steps < 12


@pytest.mark.share(4)
def test_other_families_and_the_end_of_positions():
    gpt2 = filled(models.GPT2LMHeadModel(GPT2 | {"n_positions": 16}))
    writer = models.Decoder(gpt2)
    want = writer.generate(REPEATS, 8).tolist()  # up to the last position
    for how in ({"prompt_lookup_num_tokens": 6}, {"assistant_model": gpt2}):
        assert writer.generate(REPEATS, 8, **how).tolist() == want
    t5 = filled(models.T5ForConditionalGeneration(T5))
    want = models.generate(t5, IDS[:1], 12).tolist()
    assert models.generate(t5, IDS[:1], 12, prompt_lookup_num_tokens=3).tolist() == want


def test_an_end_token_ends_it(llama):
    want = models.generate(llama, IDS[:1], 12).tolist()[0]
    end = want[9 + 4]
    stops = want.index(end, 9)
    found = models.generate(llama, IDS[:1], 12, assistant_model=llama, eos_token_id=end).tolist()[0]
    assert found == want[: stops + 1]


@pytest.mark.share(5)
def test_steps_are_recorded_once(gpu, half):
    """For prompts of all lengths, and texts of all numbers of right guesses; on kernels as on NumPy."""
    llama = filled(models.LlamaForCausalLM(LLAMA))
    wants = [models.generate(llama, IDS[:1, :n], 12).tolist() for n in (9, 4)]
    writer, draft = models.Decoder(llama.to(gpu)), filled(models.LlamaForCausalLM(HALF)).to(gpu)
    programs = []
    for n, want in zip((9, 4), wants, strict=True):
        found = writer.generate(IDS[:1, :n], 12, assistant_model=draft, num_assistant_tokens=3)
        assert found.tolist() == want
        (step,) = writer.steps.values()
        recorded = [*step.check.check.programs.values(), *step.check.propose.programs.values()]
        programs.append([id(program) for row in recorded for program in row])
    assert len(programs[0]) == 2 and programs[0] == programs[1]


SHARES = {  # of the model and the draft
    "near": ([0.5, 0.3, 0.15, 0.05], [0.4, 0.4, 0.1, 0.1]),
    "far": ([0.1, 0.2, 0.3, 0.4], [0.85, 0.05, 0.05, 0.05]),
    "same": ([0.25, 0.25, 0.25, 0.25], [0.25, 0.25, 0.25, 0.25]),
    "never": ([0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5]),
}


@pytest.mark.parametrize("name", SHARES)
def test_draws_have_the_probabilities_of_the_model(name, device):
    """Of 4,000 guesses, drawn by the draft and certain ones; and as many are right as the rule says."""
    p, q = (np.array(row, np.float32) for row in SHARES[name])
    count, rng, generator = 4000, np.random.default_rng(1), Generator()
    generator.manual_seed(7)
    shares = fb.tensor(np.tile(p, (count + 1, 1)), device=device)
    drawn = rng.choice(4, (count, 1), p=q / q.sum()).astype("i4")
    guessed = fb.tensor(np.tile(q, (count, 1)), device=device)
    for guesses, how, rate in (
        (drawn, guessed, np.minimum(p, q).sum()),
        (np.full((count, 1), 1, "i4"), None, p[1]),
    ):
        is_right, tokens = accept(shares, fb.tensor(guesses, device=device), how, generator)
        found = np.bincount(tokens.numpy()[:-1].reshape(-1), minlength=4) / count
        assert np.abs(found - p).max() < 0.035, found
        assert abs(is_right.numpy().mean() - rate) < 0.035
        assert (tokens.numpy()[:-1][is_right.numpy()] == guesses[is_right.numpy()]).all()


@pytest.mark.share(4)
def test_drawn_texts(llama, half):
    """Texts follow seeds."""
    writer = models.Decoder(llama)
    how = {"do_sample": True, "temperature": 1.5, "top_k": 4, "assistant_model": half}
    texts = [writer.generate(IDS[:1], 5, seed=s, **how).tolist() for s in (3, 3, 4)]
    assert texts[0] == texts[1] != texts[2]
    # a model that guesses for itself is right but for the rounding of wider products
    writer.generate(IDS[:1], 18, seed=2, **(how | {"assistant_model": llama, "num_assistant_tokens": 5}))
    assert writer.target_steps <= 5


ERRORS = {
    "generate(prompt_lookup_num_tokens=0): pass a number of tokens from 1 to 64": {
        "prompt_lookup_num_tokens": 0
    },
    "generate(prompt_lookup_num_tokens=..., assistant_model=...): do not go together: pass one of them": {
        "prompt_lookup_num_tokens": 2, "assistant_model": "half"
    },
    "generate(assistant_model=Linear): writes no texts: pass a decoder": {"assistant_model": "linear"},
    "generate(prompt_lookup_num_tokens=..., repetition_penalty=...): do not go together: pass one of them": {
        "prompt_lookup_num_tokens": 2, "repetition_penalty": 1.5
    },
    "generate(assistant_model=LlamaForCausalLM): it has 40 tokens, the model 48: pass one with the same "
    "tokenizer": {"assistant_model": "other"},
    "generate(num_beams=..., prompt_lookup_num_tokens or assistant_model=...): do not go together: pass one "
    "of them": {"num_beams": 2, "prompt_lookup_num_tokens": 2},
}  # fmt: skip


@pytest.mark.parametrize("text", ERRORS)
def test_errors(text, llama, half):
    other = models.LlamaForCausalLM(HALF | {"vocab_size": 40}).to("cpu")
    named = {"half": half, "linear": fb.nn.Linear(2, 2), "other": other}
    how = {n: named.get(v, v) if isinstance(v, str) else v for n, v in ERRORS[text].items()}
    with pytest.raises(ValueError) as e:
        models.generate(llama, IDS[:1], 4, **how)
    assert str(e.value) == text


def test_one_row(llama):
    with pytest.raises(ValueError) as e:
        models.generate(llama, IDS, 4, prompt_lookup_num_tokens=2)
    rule = "generate(prompt_lookup_num_tokens=...): writes one row at a time, not 2: pass one"
    assert str(e.value) == rule
    t5 = models.T5ForConditionalGeneration(T5).to("cpu")
    with pytest.raises(ValueError, match="the model has an encoder, which the draft lacks"):
        models.generate(t5, IDS[:1], 4, assistant_model=llama)
