"""Saves a language model as a program that writes texts without Python: a step, with its cache as state, and
a small program that draws tokens."""

import os
import shutil
from pathlib import Path
from typing import Any

from ..core.node import describe
from ..export import save_program
from ..export.save import PROGRAM
from ..nn.module import Module
from ..tensor import Tensor

CONTEXT, CHUNK = 1024, 16  # positions of the cache; tokens of a prompt that a call takes at most
GROWTH = 4  # of the numbers of tokens that a call takes: planning one takes seconds for a large model
DRAW = "draw"  # the folder of the program that draws tokens
COLD = 1e-3  # the least temperature of a draw


def save_decoder(
    model: Module,
    folder: str | os.PathLike[str],
    context: int = CONTEXT,
    chunk: int = CHUNK,
    sample: bool = False,
    target: str | None = None,
) -> Path:
    """Save a decoder as a program that takes the next tokens of a text and returns the one after them.

    The program's input is `tokens`, int32 [1, N] with N of 1, 4, 16 and so on, and chunk; its results are
    `token`, int32 [1, 1], the most likely one, and `logits`, float32 [1, vocabulary]. Its state is the cache:
    `reset` begins another text. Weights stay quantised if they are.

    model: a network with hidden, head and new_past, such as LlamaForCausalLM. folder: new, empty, or from an
    earlier call. context: the most tokens of a text; more are lost. chunk: the most tokens of a call. sample:
    save a second program in the folder `draw`: of `logits`, `temperature`, `top_k` and `top_p` (float32,
    int32 and float32 [1]) it draws a token, int32 [1, 1], as `generate` draws; at temperature 0 it is the
    most likely one. target: as of save_program. Returns the folder. Raises TypeError if the model is not such
    a network, ValueError for a context or chunk below 1.
    """
    if not hasattr(model, "new_past") or hasattr(model, "read"):
        rule = "it writes no texts: pass a decoder such as LlamaForCausalLM"
        raise TypeError(f"save_decoder({describe(model)}): {rule}")
    for name, value in (("context", context), ("chunk", chunk)):
        if type(value) is not int or value < 1:
            raise ValueError(f"save_decoder({name}={value!r}): pass a number of tokens, 1 or more")
    step = _SavedStep(model, min(chunk, context), context)
    out, draw = Path(folder), Path(folder) / DRAW
    if (draw / PROGRAM).is_file():  # of an earlier call
        shutil.rmtree(draw)
    batches = _lengths(step.chunk)
    save_program(step, {"tokens": "i32[1, N]"}, out, target=target, state=step.past, batches=batches)
    if sample:
        vocabulary = model.config.vocab_size  # type: ignore[union-attr]
        options = {"temperature": "f32[1]", "top_k": "i32[1]", "top_p": "f32[1]"}
        save_program(draw_token, {"logits": f"f32[1, {vocabulary}]", **options}, draw)
    return out


def _lengths(chunk: int) -> list[int]:
    """Return the numbers of tokens that a call takes."""
    lengths = [1]
    while lengths[-1] * GROWTH < chunk:
        lengths.append(lengths[-1] * GROWTH)
    return sorted({*lengths, chunk})


class _SavedStep:
    """The step of a saved decoder, for one text, with the weights and modes of its model."""

    def __init__(self, model: Any, chunk: int, context: int):
        self.model, self.chunk = model, chunk
        self.past = model.new_past(1, context)
        self.modules, self.eval = model.modules, model.eval
        self.named_parameters, self.named_buffers = model.named_parameters, model.named_buffers

    def __call__(self, tokens: Tensor) -> dict[str, Tensor]:
        """Append tokens; return the most likely next one and the scores of all. [1, n] -> [1, 1] and
        [1, vocabulary]"""
        x = self.model.hidden(tokens, self.past)[:, -1:]
        logits = self.model.head(x)[:, 0].float()
        return {"token": logits.argmax(-1, keepdim=True).int(), "logits": logits}


def draw_token(logits: Tensor, temperature: Tensor, top_k: Tensor, top_p: Tensor) -> dict[str, Tensor]:
    """Return a drawn token, the most likely one at temperature 0. [1, n], [1], [1], [1] -> [1, 1]"""
    limited = limit_to(logits / temperature.clamp(min=COLD), top_k, top_p)
    drawn = limited.softmax(-1).multinomial(1)
    return {"token": (temperature > 0).where(drawn, logits.argmax(-1, keepdim=True)).int()}


def limit_to(logits: Tensor, top_k: Tensor, top_p: Tensor) -> Tensor:
    """Set the scores of tokens that are not among the k best to -inf, then those outside of top_p, in the
    order of `sampling.limit`; numbers below 1, and 1, leave all. [1, n], [1], [1] -> [1, n]"""
    count = logits.shape[-1]
    best = logits.sort(-1, descending=True)[0]
    k = (top_k < 1).where(count, top_k).clamp(max=count)
    least = best.gather(-1, (k - 1).reshape(1, 1).long())
    # top_p_of on what is left, whose order is known
    shares = (best >= least).where(best, float("-inf")).softmax(-1)
    kept = shares.cumsum(-1) - shares < top_p
    least = least.maximum(kept.where(best, float("inf")).amin(-1, keepdim=True))
    return (logits >= least).where(logits, float("-inf"))
