"""Texts to tokens and back: equal to the package `tokenizers` on drawn texts of all planes of Unicode."""

import json
import random
import unicodedata

import pytest
import tokenizers
from helpers.drawn_texts import SEED, texts
from helpers.vocabularies import GGUF, byte_pairs, rules_for_the_package

from flambeau.errors import FlambeauError
from flambeau.tokenizers import Tokenizer
from flambeau.tokenizers.characters import compile_pattern, ranges_of
from flambeau.tokenizers.gguf import PATTERNS
from flambeau.tokenizers.pieces import Pairs


def streamed(tokenizer: Tokenizer, ids: list[int]) -> str:
    stream = tokenizer.stream()
    return "".join([*map(stream.push, ids), stream.end()])


def compare(metadata: dict, count: int) -> None:
    """The same tokens, with special tokens as plain text and as themselves, and the same texts of tokens."""
    ours = Tokenizer.from_gguf(metadata)
    theirs = tokenizers.Tokenizer.from_str(json.dumps(rules_for_the_package(ours.rules)))
    kind = ours.rules["model"]["type"]
    # the package's tables of punctuation and accents for BERT are those of Unicode 8
    drawn, is_unigram = (
        texts(count, unicodedata.ucd_3_2_0 if kind == "WordPiece" else None),
        kind == "Unigram",
    )
    specials = ours.special_ids - {ours.named.get("unknown")}
    for allow in (False, True):
        theirs.encode_special_tokens = not allow
        want = [e.ids for e in theirs.encode_batch(drawn, add_special_tokens=False)]
        for text, ids in zip(drawn, want, strict=True):
            found = ours.encode(text, add_special_tokens=False, allow_special=allow)
            # the package's unigrams take a special token from a text that was to be plain
            assert found == ids or (is_unigram and not allow and specials & {*ids}), ascii(text)
            assert allow or not specials & {*found}
            if allow:
                for skips in (False, True):
                    decoded = ours.decode(ids, skip_special_tokens=skips)
                    assert decoded == theirs.decode(ids, skip_special_tokens=skips), ids
                assert "\ufffd" in decoded or streamed(ours, ids) == decoded
    rng = random.Random(SEED)
    for _ in range(count // 4):  # tokens that no text has: bytes that end within a character
        ids = [rng.randrange(len(ours)) for _ in range(8)]
        assert ours.decode(ids, skip_special_tokens=False) == theirs.decode(ids, skip_special_tokens=False), (
            ids
        )


@pytest.mark.parametrize("name", GGUF)
def test_tokens_are_those_of_the_package(name):
    compare(GGUF[name](), 60)


@pytest.mark.share(5)
@pytest.mark.parametrize("name", GGUF)
def test_ten_thousand_texts(torch, name):
    compare(GGUF[name](), 10_000)


@pytest.mark.share(3)
@pytest.mark.parametrize("pre", ["default", "llama-bpe", "qwen2", "smollm", "falcon", "deepseek-coder",
                                 "deepseek-v3", "bloom", "tekken", "gpt-4o"])  # fmt: skip
def test_every_split_of_llama_cpp(pre):
    compare(byte_pairs(pre), 60)


def test_the_names_of_splits_are_known():
    assert all(compile_pattern(pattern) for patterns in PATTERNS.values() for pattern in patterns)


def test_a_special_token_in_a_text_is_plain_text_unless_asked():
    tokenizer = Tokenizer.from_gguf(byte_pairs("smollm"))
    end = tokenizer.vocab["<|im_end|>"]
    assert end not in tokenizer.encode("Hello<|im_end|>")
    assert tokenizer.encode("Hello<|im_end|>", allow_special=True)[-1] == end
    assert (
        tokenizer.decode([end]) == "" and tokenizer.decode([end], skip_special_tokens=False) == "<|im_end|>"
    )
    spm = Tokenizer.from_gguf(GGUF["llama"]())
    assert spm.encode("<s>")[0] == spm.named["bos"] and spm.encode("<s>").count(spm.named["bos"]) == 1


def test_classes_of_characters():
    """Unicode 16 whatever Python knows: Garay of 16, Kawi of 15, extension H of ideographs."""

    def is_in(code: int, name: str) -> bool:
        return any(a <= code <= b for a, b in ranges_of(name))

    assert is_in(0x10D50, "Lu") and is_in(0x11F04, "L") and is_in(0x31350, "Lo") and is_in(0x1E4F0, "Nd")
    assert not is_in(0x10D50, "Ll") and not is_in(0xE000, "L")
    assert compile_pattern(r"\s+").fullmatch("\x85\u3000") and not compile_pattern(r"\s").match("\x1c")
    assert compile_pattern(r"[^\s\p{L}]+").match("12 a")[0] == "12"
    assert compile_pattern(r"[\P{L}x]+").match("12xa")[0] == "12x"
    assert compile_pattern(r"\P{N}+").match("ab1")[0] == "ab"


def test_a_long_word_takes_little_time():
    """A word of 20,000 letters: pairs are joined in n log n steps."""
    row = {"merges": ["a a", "aa aa"]}
    pairs = Pairs(row, {"a": 0, "aa": 1, "aaaa": 2})
    assert pairs("a" * 20_001) == [2] * 5000 + [0]


BAD = {  # an entry of a GGUF file: what the error says
    "tokenizer.ggml.model": ("other", "tokenizer.ggml.model 'other': unknown"),
    "tokenizer.ggml.pre": ("other", "tokenizer.ggml.pre 'other': unknown: one of default"),
    "tokenizer.ggml.tokens": ([], "tokens: is empty"),
    "tokenizer.ggml.token_type": ([1], "has 1 numbers for"),
    "tokenizer.ggml.merges": (["q~ zz"], "is of a token that the vocabulary lacks"),
    "tokenizer.ggml.eos_token_id": (10**6, "is 1000000, which is none of the"),
}


@pytest.mark.parametrize("key", BAD)
def test_damaged_entries_of_a_file(key):
    value, message = BAD[key]
    with pytest.raises(ValueError, match=message):
        Tokenizer.from_gguf(byte_pairs("smollm") | {key: value})


def test_damaged_files(tmp_path):
    path = tmp_path / "tokenizer.json"
    with pytest.raises(FlambeauError, match="no such file"):
        Tokenizer.from_file(path)
    empty = '"model": {"vocab": {}, "merges": []}'
    for text, message in (
        ("[", "is not JSON"),
        ("[]", "JSON object"),
        ("{}", "'model'"),
        ('{"model": {"type": "New", "vocab": {}}}', "model 'New': unknown"),
        (f'{{{empty}, "normalizer": {{"type": "No"}}}}', "normalizer 'No'"),
        ('{"model": {"vocab": {"a": 0}, "merges": [["a", "b"]]}}', "merge 0, 'a' 'b'"),
    ):
        path.write_text(text)
        with pytest.raises(FlambeauError, match=message):
            Tokenizer.from_file(tmp_path)
    with pytest.raises(ValueError, match="decode\\(-1\\): is not a token"):
        Tokenizer.from_gguf(byte_pairs("gpt-2")).decode([-1])
