"""Rewrites the tokenizer in a GGUF file's metadata as the rules of a tokenizer.json."""

import base64
from collections.abc import Mapping
from typing import Any

from ..core.tree import is_list
from .split import GPT2

Rules = dict[str, Any]

ENDINGS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
REST = r"|\s*[\r\n]+|\s+(?!\S)|\s+"
LLAMA3 = ENDINGS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*" + REST
QWEN2 = LLAMA3.replace("{1,3}", "")
# words of upper case letters, then lower case ones: gpt-4o and Mistral's tekken
UPPER = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"
LOWER = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
TEKKEN = rf"{UPPER}*{LOWER}+|{UPPER}+{LOWER}*|\p{{N}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*" + REST
GPT4O = (
    rf"{UPPER}*{LOWER}+{ENDINGS}?|{UPPER}+{LOWER}*{ENDINGS}?|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*"
    + REST
)
DEEPSEEK3 = (
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
    r"| ?[\p{P}\p{S}]+[\r\n]*" + REST
)
KANA = "[一-龥\u3040-ゟ゠-ヿ]+"
BLOOM = r" ?[^(\s|.,!?…。，、।۔،)]+"
# the patterns that split a text one after another, by the names of `tokenizer.ggml.pre`
PATTERNS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("default",), (r"[\p{P}\$\+<=>\^~\|]+", GPT2, r"\p{N}+", "[0-9][0-9][0-9]")),
    **dict.fromkeys(
        ("llama3", "llama-v3", "llama-bpe", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2", "dbrx",
         "smaug-bpe", "glm4", "chatglm-bpe"), (LLAMA3,)),
    **dict.fromkeys(
        ("qwen2", "deepseek-r1-qwen", "stablelm2", "hunyuan", "megrez", "grok-2", "seed-coder", "kormo",
         "f2llmv2", "solar-open"), (QWEN2,)),
    **dict.fromkeys(
        ("gpt-2", "gpt2", "phi-2", "mpt", "olmo", "jais", "trillion", "granite-docling", "exaone4",
         "gigachat", "jina-es", "jina-de", "jina-v1-en", "jina-v2-es", "jina-v2-de", "jina-v2-code",
         "roberta-bpe", "a.x-4.0", "mellum", "modern-bert"), (GPT2,)),
    **dict.fromkeys(
        ("smollm", "starcoder", "refact", "command-r", "codeshell", "exaone", "minerva-7b", "mellum2"),
        (r"\p{N}", GPT2)),
    "falcon": (r"[\p{P}\$\+<=>\^~\|`]+", GPT2, "[0-9][0-9][0-9]"),
    "deepseek-coder": (r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", "[一-龥ࠀ-一가-\ud7ff]+", r"\p{N}"),
    **dict.fromkeys(("deepseek-v3", "hunyuan-dense", "joyai-llm"), (r"\p{N}{1,3}", KANA, DEEPSEEK3)),
    **dict.fromkeys(("bloom", "poro-chat", "gpt3-finnish"), (BLOOM,)),
    "viking": (BLOOM, r"\p{N}"),
    "tekken": (TEKKEN,),
    **dict.fromkeys(("gpt-4o", "llama4", "minimax-m2"), (GPT4O,)),
}  # fmt: skip
NORMALIZED = ("qwen2", "deepseek-r1-qwen", "megrez")  # their tokenizer.json has NFC
WHOLE = ("llama3", "llama-v3", "llama-bpe", "falcon3", "pixtral", "lfm2", "tekken", "gpt-4o")
BEGIN = (
    "llama3",
    "llama-v3",
    "llama-bpe",
    "falcon3",
    "falcon-h1",
    "tekken",
    "chameleon",
)  # add bos by default
# kinds of tokens
UNKNOWN, CONTROL, USER_DEFINED = 2, 3, 4
MARK = "▁"
IDS = ("bos", "eos", "eot", "unknown", "padding", "cls", "mask")


class GgufVocabulary:
    """The tokens of a file, with checks. ValueError for entries that are missing or damaged."""

    def __init__(self, metadata: Mapping[str, Any]):
        self.metadata = metadata
        self.model: str = self.get("model", str)
        self.tokens: list[str] = self.texts("tokens")
        if not self.tokens:
            raise ValueError("tokenizer.ggml.tokens: is empty: get a complete copy")
        self.kinds = self.numbers("token_type", 1)
        self.vocab: dict[str, int] = {}
        for i, text in enumerate(self.tokens):
            self.vocab.setdefault(text, i)
        # 151,936 rows of a vocabulary of 151,665 tokens: the rest has names that occur twice

    def get(self, name: str, kind: type, default: Any = None) -> Any:
        """Return an entry; the default if it is missing."""
        value = self.metadata.get(f"tokenizer.ggml.{name}", default)
        if not isinstance(value, kind):
            missing = "is missing" if value is None else f"is {type(value).__name__}, not {kind.__name__}"
            raise ValueError(f"tokenizer.ggml.{name}: {missing}: pass a file with a tokenizer")
        return value

    def texts(self, name: str) -> list[str]:
        """Return a list of texts."""
        values: list[Any] = self.get(name, list)
        if not all(isinstance(v, str) for v in values):
            raise ValueError(f"tokenizer.ggml.{name}: has an entry that is not a text: get a complete copy")
        return values

    def numbers(self, name: str, default: float) -> list[Any]:
        """Return a number for each token."""
        values: list[Any] = self.get(name, list, [default] * len(self.tokens))
        if len(values) != len(self.tokens) or not all(isinstance(v, int | float) for v in values):
            raise ValueError(
                f"tokenizer.ggml.{name}: has {len(values):,} numbers for {len(self.tokens):,} tokens: "
                "get a complete copy"
            )
        return values

    def named(self) -> dict[str, int]:
        """Return the tokens that the file names, by "bos", "eos" and so on."""
        ids: dict[str, int] = {}
        names = {name: name for name in IDS} | {"separator": "seperator", "sep": "separator"}
        for name, spelled in names.items():
            value = self.metadata.get(f"tokenizer.ggml.{spelled}_token_id")
            if value is None:
                continue
            if type(value) is not int or not 0 <= value < len(self.tokens):
                raise ValueError(
                    f"tokenizer.ggml.{spelled}_token_id: is {value!r}, which is none of the "
                    f"{len(self.tokens):,} tokens: get a complete copy"
                )
            ids["separator" if name == "sep" else name] = value
        return ids

    def added(self) -> list[Rules]:
        """Return the rows of tokens that are matched before words are."""
        specials = (UNKNOWN, CONTROL)
        return [
            {"id": i, "content": self.tokens[i], "special": kind in specials, "normalized": False}
            for i, kind in enumerate(self.kinds)
            if kind in (*specials, USER_DEFINED)
        ]


def json_of(metadata: Mapping[str, Any]) -> Rules:
    """Return the rules of a tokenizer.json for a GGUF file's metadata. ValueError for an unknown kind of
    tokenizer, or a damaged one."""
    words = GgufVocabulary(metadata)
    if words.model not in MODELS:
        rule = f"one of {', '.join(MODELS)}"
        raise ValueError(f"tokenizer.ggml.model {words.model!r}: unknown: {rule}")
    rules = MODELS[words.model](words)
    named = words.named()
    rules |= {"added_tokens": words.added(), "named_tokens": named}
    adds_begin, adds_end = _adds(words, named)
    rules["post_processor"] = {
        "type": "TemplateProcessing",
        "single": [*adds_begin, {"Sequence": {"id": "A"}}, *adds_end],
        "special_tokens": {str(i): {"ids": [i]} for i in named.values()},
    }
    return rules


def _adds(words: GgufVocabulary, named: Mapping[str, int]) -> tuple[list[Any], list[Any]]:
    """Return the tokens before and after a text."""
    is_bert = words.model == "bert"
    adds_begin = words.model == "llama" or is_bert or words.metadata.get("tokenizer.ggml.pre") in BEGIN
    adds_begin, adds_end = (
        words.get(f"add_{name}_token", bool, default)
        for name, default in (("bos", adds_begin), ("eos", words.model == "t5"))
    )
    first = named.get("cls", named.get("bos")) if is_bert else named.get("bos")
    last = named.get("separator") if is_bert else named.get("eos")
    adds_end = adds_end or is_bert
    rows = [[{"SpecialToken": {"id": str(i)}}] if i is not None else [] for i in (first, last)]
    return rows[0] if adds_begin else [], rows[1] if adds_end else []


def _byte_pairs(words: GgufVocabulary) -> Rules:
    """Byte pairs of UTF-8, after splits by patterns."""
    pre: str = words.get("pre", str, "default")
    if pre not in PATTERNS:
        raise ValueError(f"tokenizer.ggml.pre {pre!r}: unknown: one of {', '.join(PATTERNS)}")
    splits: list[Rules] = [
        {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
        for pattern in PATTERNS[pre]
    ]
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    if words.get("add_space_prefix", bool, False):
        splits.insert(0, level | {"add_prefix_space": True})
    return {
        "normalizer": {"type": "NFC"} if pre in NORMALIZED else None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [*splits, level]},
        "model": {
            "type": "BPE",
            "vocab": words.vocab,
            "merges": [*_complete(words)],
            "ignore_merges": pre in WHOLE,
        },
        "decoder": level,
    }


def _complete(words: GgufVocabulary) -> list[list[str]]:
    """Return the merges as pairs."""
    pairs: list[list[str]] = []
    for merge in words.texts("merges"):
        left, _, right = merge[1:].partition(" ")
        pairs.append([merge[:1] + left, right])
    return pairs


def _sentence_pieces(words: GgufVocabulary) -> Rules:
    """SentencePiece's byte pairs with bytes for unknown characters, as Llama and Gemma have."""
    prefix = words.get("add_space_prefix", bool, True)
    space: list[Rules] = [{"type": "Prepend", "prepend": MARK}] if prefix else []
    strip: list[Rules] = [{"type": "Strip", "content": " ", "start": 1, "stop": 0}] if prefix else []
    unknown = words.named().get("unknown")
    return {
        "normalizer": {
            "type": "Sequence",
            "normalizers": [*space, {"type": "Replace", "pattern": {"String": " "}, "content": MARK}],
        },
        "pre_tokenizer": None,
        "model": {
            "type": "SPM",
            "vocab": words.vocab,
            "scores": words.numbers("scores", 0.0),
            "unk_token": None if unknown is None else words.tokens[unknown],
            "byte_fallback": True,
            "fuse_unk": True,
        },
        "decoder": {
            "type": "Sequence",
            "decoders": [
                {"type": "Replace", "pattern": {"String": MARK}, "content": " "},
                {"type": "ByteFallback"},
                {"type": "Fuse"},
                *strip,
            ],
        },
    }


def _unigrams(words: GgufVocabulary) -> Rules:
    """SentencePiece's unigrams, as T5 has."""
    charsmap = words.metadata.get("tokenizer.ggml.precompiled_charsmap")
    steps: list[Rules] = []
    if is_list(charsmap):
        raw = bytes(v & 255 for v in charsmap)
        steps.append({"type": "Precompiled", "precompiled_charsmap": base64.b64encode(raw).decode()})
    if words.get("remove_extra_whitespaces", bool, True):
        steps.append({"type": "Strip", "strip_left": False, "strip_right": True})
        steps.append({"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": MARK})
    prefix = words.get("add_space_prefix", bool, True)
    space = {"type": "Metaspace", "replacement": MARK, "prepend_scheme": "always" if prefix else "never"}
    scores = words.numbers("scores", 0.0)
    return {
        "normalizer": {"type": "Sequence", "normalizers": steps},
        "pre_tokenizer": space | {"split": True},
        "model": {
            "type": "Unigram",
            "vocab": [[text, score] for text, score in zip(words.tokens, scores, strict=True)],
            "unk_id": words.named().get("unknown"),
        },
        "decoder": space,
    }


def _word_pieces(words: GgufVocabulary) -> Rules:
    """BERT's word pieces. llama.cpp marks the start of a word where BERT marks what continues one."""
    texts = [
        text if kind in (UNKNOWN, CONTROL) else text[1:] if text.startswith(MARK) else f"##{text}"
        for text, kind in zip(words.tokens, words.kinds, strict=True)
    ]
    words.tokens = texts
    words.vocab = {text: i for i, text in reversed([*enumerate(texts)])}
    unknown = words.named().get("unknown")
    return {
        "normalizer": {"type": "BertNormalizer", "lowercase": True},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "model": {
            "type": "WordPiece",
            "vocab": words.vocab,
            "unk_token": "[UNK]" if unknown is None else texts[unknown],
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
        },
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
    }


MODELS = {"gpt2": _byte_pairs, "llama": _sentence_pieces, "t5": _unigrams, "bert": _word_pieces}
