"""Small vocabularies as GGUF files hold them: byte pairs, SentencePiece's two kinds, word pieces."""

from itertools import pairwise
from typing import Any

from flambeau.tokenizers.split import BYTES

TEXT = (
    "the cat and the dog say hello to the world, and the world says hello: été, naïve, straße! "
    "I'll don't they've 1234567 times; def f(x):\n    return x + 1\n\n\tthe end. "
)
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, BYTE = 1, 2, 3, 4, 6
CHATML = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] "
    "+ '<|im_end|>' + '\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


def learned(words: list[list[str]], count: int) -> list[tuple[str, str]]:
    """The most frequent pairs of neighbours, joined one after another."""
    merges = []
    for _ in range(count):
        counts: dict[tuple[str, str], int] = {}
        for word in words:
            for pair in pairwise(word):
                counts[pair] = counts.get(pair, 0) + 1
        if not counts:
            break
        a, b = max(counts, key=lambda pair: (counts[pair], pair))
        merges.append((a, b))
        for i, word in enumerate(words):
            out: list[str] = []
            for c in word:
                if out and out[-1] == a and c == b:
                    out[-1] = a + b
                else:
                    out.append(c)
            words[i] = out
    return merges


def entries(model: str, tokens: list[str], kinds: list[int], **more: Any) -> dict[str, Any]:
    rows = {"model": model, "tokens": tokens, "token_type": kinds, **more}
    return {f"tokenizer.ggml.{name}": value for name, value in rows.items()}


def byte_pairs(pre: str = "smollm") -> dict[str, Any]:
    words = [[BYTES[b] for b in f" {word}".encode()] for word in TEXT.split()]
    words += [[BYTES[b] for b in run.encode()] for run in ("\n\n", "    ", "été", "12", "abc", "日本")]
    merges = learned(words, 90)
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    tokens = [*special, *sorted(BYTES), *dict.fromkeys(a + b for a, b in merges), "<tool_call>"]
    kinds = [CONTROL] * 3 + [NORMAL] * (len(tokens) - 4) + [USER_DEFINED]
    return entries("gpt2", tokens, kinds, pre=pre, merges=[f"{a} {b}" for a, b in merges], bos_token_id=1,
                   eos_token_id=2, padding_token_id=2, unknown_token_id=0) | {
        "tokenizer.chat_template": CHATML}  # fmt: skip


def sentence_pieces(prefix: bool = True) -> dict[str, Any]:
    words = [list(f"▁{word}") for word in TEXT.split()] + [list("▁▁▁▁"), list("日本語")]
    letters = sorted({c for word in words for c in word} | set("▁abcxyz0123456789.,"))
    joined = [*dict.fromkeys(a + b for a, b in learned(words, 90))]
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{b:02X}>" for b in range(256)), *joined, *letters, "<|user|>"]
    kinds = [UNKNOWN, CONTROL, CONTROL, *[BYTE] * 256, *[NORMAL] * (len(joined) + len(letters)), USER_DEFINED]
    scores = [*[0.0] * 259, *(-float(i) for i in range(len(joined) + len(letters))), 0.0]
    ids = {"bos_token_id": 1, "eos_token_id": 2, "unknown_token_id": 0}
    return entries("llama", tokens, kinds, scores=scores, add_space_prefix=prefix, **ids)


def unigrams() -> dict[str, Any]:
    words = [list(f"▁{word}") for word in TEXT.split()]
    letters = sorted({c for word in words for c in word})
    joined = [*dict.fromkeys(a + b for a, b in learned(words, 90))]
    tokens = ["<pad>", "</s>", "<unk>", *joined, *letters]
    kinds = [CONTROL, CONTROL, UNKNOWN, *[NORMAL] * (len(joined) + len(letters))]
    scores = [0.0, 0.0, 0.0, *(-3 - 0.0917 * i for i in range(len(joined) + len(letters)))]
    return entries("t5", tokens, kinds, scores=scores, eos_token_id=1, unknown_token_id=2, padding_token_id=0)


def word_pieces() -> dict[str, Any]:
    words = sorted({word.strip(":;,.!?").lower() for word in TEXT.split()} - {""})
    letters = sorted({c for word in words for c in word} | set(".,!?:;'"))
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokens = [*special, *dict.fromkeys(f"▁{w}" for w in [*words, *letters]), *letters, "s", "ing", "ll"]
    tokens = [*dict.fromkeys(tokens)]
    kinds = [CONTROL] * 5 + [NORMAL] * (len(tokens) - 5)
    return entries("bert", tokens, kinds, cls_token_id=2, seperator_token_id=3, unknown_token_id=1,
                   padding_token_id=0, mask_token_id=4)  # fmt: skip


GGUF = {
    "gpt2": lambda: byte_pairs("gpt-2"),
    "llama": sentence_pieces,
    "gemma": lambda: sentence_pieces(False),
    "t5": unigrams,
    "bert": word_pieces,
}


def merges_of(model: dict[str, Any]) -> list[list[str]]:
    """The pairs that SentencePiece's scores rank, as the package wants them."""
    vocab, scores = model["vocab"], model["scores"]
    rows = [(-scores[i], len(t[:k]), t[:k], t[k:]) for t, i in vocab.items() for k in range(1, len(t))
            if t[:k] in vocab and t[k:] in vocab and not t.startswith("<")]  # fmt: skip
    return [[a, b] for _, _, a, b in sorted(rows)]


def rules_for_the_package(rules: dict[str, Any]) -> dict[str, Any]:
    """Rules with the fields that the package asks for, without ours."""
    out = {name: value for name, value in rules.items() if name != "named_tokens"}
    out |= {"version": "1.0", "truncation": None, "padding": None, "post_processor": None}
    flags = {"single_word": False, "lstrip": False, "rstrip": False}
    out["added_tokens"] = [flags | row for row in rules["added_tokens"]]
    if rules["model"]["type"] == "SPM":
        model = {k: v for k, v in rules["model"].items() if k != "scores"}
        out["model"] = model | {"type": "BPE", "merges": merges_of(rules["model"])}
    bert = {"clean_text": True, "handle_chinese_chars": True, "strip_accents": None}
    if (rules["normalizer"] or {}).get("type") == "BertNormalizer":
        out["normalizer"] = bert | rules["normalizer"]
    return out
