"""Texts that advance together: tokens as alone, joining and leaving, shared beginnings, failures."""

import threading
from dataclasses import replace

import numpy as np
import pytest
from helpers.networks import DECODERS, filled

import flambeau as fb
from flambeau import models
from flambeau.core.modes import no_grad
from flambeau.models import slots
from flambeau.models.sampling import Numbers, limit, rule_of
from flambeau.serve import batching
from flambeau.serve.batching import Batcher, Closing, QueueFull, text_of

HOWS = (
    models.Sampling(),
    models.Sampling(do_sample=True, seed=1),
    models.Sampling(do_sample=True, temperature=2.0, top_k=5, seed=2),
    models.Sampling(do_sample=True, top_p=0.8, min_p=0.05, seed=3),
    models.Sampling(repetition_penalty=1.5, presence_penalty=0.3),
    models.Sampling(do_sample=True, frequency_penalty=0.5, temperature=0.7, seed=4, logprobs=3),
)


def model_of(name, device="cpu"):
    kind = models.GPT2LMHeadModel if name == "gpt2" else models.LlamaForCausalLM
    return filled(kind(DECODERS[name][0])).to(device)


def drawn_texts(count, longest=36, new=5):
    """(prompt, number of new tokens, sampling) of each text."""
    rng = np.random.default_rng(7)
    sizes = [(int(rng.integers(1, longest)), int(rng.integers(1, new))) for _ in range(count)]
    rows = [(rng.integers(3, 40, n).tolist(), most) for n, most in sizes]
    return [(*row, HOWS[i % len(HOWS)]) for i, row in enumerate(rows)]


@no_grad()
def written(batcher, rows, arrivals=None):
    """The tokens of texts that arrive before the given steps."""
    texts = [text_of(*row) for row in rows]
    late = sorted(zip(arrivals or [0] * len(rows), range(len(rows)), strict=True))
    while late or batcher.waiting or batcher._is_busy():
        while late and late[0][0] <= batcher.decoder.steps:
            batcher.waiting.append(texts[late.pop(0)[1]])
        if not (batcher.waiting or batcher._is_busy()):  # nobody is there: the next one comes at once
            batcher.waiting.append(texts[late.pop(0)[1]])
        batcher.advance()
    return [text.written for text in texts]


def forget(batcher):
    for slot in batcher.slots:
        slot.held = []


@pytest.mark.parametrize("name", ["gpt2", "llama", "mistral", "qwen3", "gemma2", "qwen2_moe"])
@pytest.mark.share(6)
def test_tokens_are_as_alone(name):
    """Texts that come at once, and at drawn steps, in four slots: best tokens as `generate` writes them,
    drawn ones as alone, in at most half of the steps."""
    model, rows = model_of(name), drawn_texts(16 if name == "llama" else 6)
    batcher, alone = Batcher(model, 4, 64), Batcher(model, 4, 64)
    want = []
    for row in rows:
        forget(alone)
        want += written(alone, [row])
    for (ids, new, how), tokens in zip(rows, want, strict=True):
        assert len(tokens) == new
        if not how.do_sample:
            options = {k: v for k, v in vars(how).items() if k.endswith("penalty")}
            found = models.generate(model, [ids], new, eos_token_id=None, **options)
            assert found[0, len(ids) :].tolist() == tokens
    assert written(batcher, rows) == want
    assert alone.decoder.steps == sum(row[1] for row in rows)
    assert batcher.decoder.steps <= alone.decoder.steps / 2
    forget(batcher)
    rng = np.random.default_rng(3)
    assert (
        written(batcher, rows, (batcher.decoder.steps + rng.integers(0, len(rows), len(rows))).tolist())
        == want
    )


@pytest.mark.share(4)
def test_joining_and_leaving_record_nothing(gpu):
    """Each call is recorded once; texts of other lengths and options, in other slots, replay them."""
    rows = drawn_texts(8)
    batcher = Batcher(model_of("mistral", gpu), 4, 64)
    first = written(batcher, rows)
    known = batcher.decoder.stages.recordings()
    calls = {name: sum(map(len, c.programs.values())) for name, c in batcher.decoder.stages.calls.items()}
    assert max(calls.values()) == 1 and calls["scores"] == calls["chunk"] == calls["draws"] == 1
    taken = fb.memory(gpu)["live"]
    forget(batcher)
    assert written(batcher, rows, list(range(30, 6, -3))) == first
    assert batcher.decoder.stages.recordings() == known and fb.memory(gpu)["live"] <= taken
    want = written(Batcher(model_of("mistral"), 4, 64), rows)
    greedy = [i for i, row in enumerate(rows) if not row[2].do_sample]
    assert [first[i] for i in greedy] == [want[i] for i in greedy]


@pytest.mark.share(2)
def test_a_shared_beginning_is_prefilled_once():
    """A later turn, a text with the same beginning, and one beside a text that is being written: tokens as
    without; the slot that was used longest ago is given up."""
    model, rng = model_of("llama"), np.random.default_rng(5)
    system, (a, b, c) = rng.integers(3, 40, 20).tolist(), (rng.integers(3, 40, 6).tolist() for _ in range(3))
    batcher = Batcher(model, 2, 80)

    def ask(*prompts, new=5):
        """Tokens, and how many tokens of prompts were prefilled."""
        before, rows = batcher.prefilled, [(ids, new, HOWS[0]) for ids in prompts]
        found = written(batcher, rows)
        fresh = Batcher(model, 2, 80)
        assert found == [t for row in rows for t in (forget(fresh), written(fresh, [row]))[1]]
        return found, batcher.prefilled - before

    (reply,), count = ask(system + a)
    assert count == 25  # the last token goes through a step
    turn = system + a + reply + b
    assert ask(turn)[1] == 6  # the last token of the reply, and all but the last one of the new ones
    assert batcher.decoder.copies == 0
    assert ask(system + c)[1] == 5 and batcher.decoder.copies == 1  # the longer text stays where it is
    assert ask(turn + a)[1] <= 12 and batcher.decoder.copies == 1
    assert ask(system + b, system + a)[1] == 5  # the second one is there already
    assert ask(c)[1] == 5 and ask(b + c)[1] == 11  # neither shares; the old entries are given up
    assert ask(system + a)[1] == 25
    assert len(batcher.slots) == 2 and all(len(s.held) <= 80 for s in batcher.slots)


def test_limits_and_draws_of_rows():
    """Rows with options of their own beside others: limited as `generate` limits one, and drawn by the
    probabilities; a token without a share is never drawn."""
    rng = np.random.default_rng(2)
    logits = fb.tensor(rng.normal(size=(1, 50)).astype("f4") * 3, device="cpu")
    options = [
        {},
        {"top_k": 7},
        {"top_p": 0.6},
        {"min_p": 0.1},
        {"temperature": 0.5, "top_k": 9, "top_p": 0.7},
    ]
    hows = [models.Sampling(do_sample=True, **o) for o in options]
    columns = np.stack([slots.SlotRequest(how, 0).numbers for how in hows])
    found = slots.limit_rows(logits.expand(5, 50), fb.tensor(columns, device="cpu")).numpy()
    assert np.array_equal(found[0], logits.numpy()[0])
    for row, how in zip(found, hows, strict=True):
        numbers = Numbers()
        numbers.begin(how)
        want = limit(logits, rule_of(how), numbers).numpy()[0]
        assert np.array_equal(np.isfinite(row), np.isfinite(want)), how
        assert np.array_equal(row[np.isfinite(row)], logits.numpy()[0][np.isfinite(row)])
    shares = np.array([0, 0.5, 0, 0.3, 0.2, 0], np.float32)
    with np.errstate(divide="ignore"):
        scores = fb.tensor(np.tile(np.log(shares), (4000, 1)), device="cpu")
    uniform = rng.random((4000, 1)).astype("f4")
    uniform[:3, 0] = 0, 1 - 2**-24, 0.5
    tokens = slots.draw_rows(scores, fb.tensor(uniform, device="cpu")).numpy().flatten()
    assert tokens[:3].tolist() == [1, 4, 3]
    assert np.abs(np.bincount(tokens, minlength=6) / 4000 - shares).max() < 0.03


def test_ends_grammars_and_wrong_options():
    """An end token frees the slot; a text whose grammar cannot be written ends alone."""
    model = model_of("gpt2")
    (free,) = written(Batcher(model, 2, 64), [([5, 6], 8, HOWS[0])])
    how = replace(HOWS[0], eos_token_id=free[3])
    batcher = Batcher(model, 2, 64)
    assert written(batcher, [([5, 6], 8, how)])[0] == free[: free.index(free[3]) + 1]

    class Broken:
        def mask(self):
            raise ValueError("regex: no token of the vocabulary continues the text")

    bad, good = text_of([5, 6], 8, HOWS[0], Broken()), text_of([5, 6], 8, HOWS[0])
    batcher.waiting.extend([bad, good])
    while batcher.waiting or batcher._is_busy():
        batcher.advance()
    assert good.written == free and isinstance(bad.out.get(), ValueError)
    for name, value in (("typical_p", 0.5), ("no_repeat_ngram_size", 2)):
        wrong = models.Sampling(do_sample=True, **{name: value})
        with pytest.raises(ValueError, match=f"slots: {name} is not supported: use generate"):
            text_of([5], 1, wrong)


def test_the_thread_goes_on(monkeypatch):
    """More texts than may wait are refused; one that nobody reads leaves its slot; a failure of the device
    ends the texts that are being written, not the thread; the end ends all."""
    batcher = Batcher(model_of("gpt2"), 2, 64)
    monkeypatch.setattr(batching, "WAITING", 3)
    rows = [text_of([5, 6], 20, HOWS[0]) for _ in range(5)]
    batcher.add(rows)
    with pytest.raises(QueueFull):
        batcher.add([text_of([5], 1, HOWS[0]) for _ in range(6)])
    readers = [row.tokens(lambda: False) for row in rows]
    next(readers[0]), next(readers[1])
    readers[0].close()  # a client that hung up
    assert len([*readers[2]]) == 20
    assert batcher.call(lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        batcher.call(lambda: 1 // 0)
    for reader in readers[1:]:
        list(reader)

    def fail(self, rows):
        raise MemoryError("the device has no memory")

    monkeypatch.setattr(slots.SlotDecoder, "step", fail)
    lost = text_of([5, 6], 4, HOWS[0])
    batcher.add([lost])
    with pytest.raises(MemoryError):
        list(lost.tokens(lambda: False))
    monkeypatch.undo()
    again = text_of([5, 6], 4, HOWS[0])
    batcher.add([again])
    assert [row.tokens[0] for row in again.tokens(lambda: False)] == again.written and len(again.written) == 4
    last = text_of([5, 6], 20, HOWS[0])
    batcher.add([last])
    ended = threading.Thread(target=batcher.close)
    reader = last.tokens(lambda: False)
    next(reader)
    ended.start()
    with pytest.raises(Closing):
        list(reader)
    ended.join(10)
    assert not ended.is_alive() and not batcher.thread.is_alive()
    with pytest.raises(Closing):
        batcher.add([text_of([5], 1, HOWS[0])])
