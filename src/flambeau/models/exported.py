"""Saves a language model as a program that writes texts without Python: a step, with its cache as state."""

import os
from pathlib import Path
from typing import Any

from ..core.node import describe
from ..export import save_program
from ..nn.module import Module
from ..tensor import Tensor
from .sampling import top_p_of

CONTEXT, CHUNK = 1024, 16  # positions of the cache; tokens of a prompt that a call takes at most
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

    The program's input is `tokens`, int32 [1, N] with N from 1 to chunk; its results are `token`, int32
    [1, 1], and `logits`, float32 [1, vocabulary]. Its state is the cache: `reset` begins another text.
    Weights stay quantised if they are.

    model: a network with hidden, head and new_past, such as LlamaForCausalLM. folder: new, empty, or from an
    earlier call. context: the most tokens of a text; more are lost. chunk: the most tokens of a call. sample:
    add the inputs `temperature`, `top_k` and `top_p` (float32, int32 and float32 [1]): the token is drawn as
    `generate` draws, and is the most likely one at temperature 0. target: as of save_program. Returns the
    folder. Raises TypeError if the model is not such a network, ValueError for a context or chunk below 1.
    """
    if not hasattr(model, "new_past") or hasattr(model, "read"):
        rule = "it writes no texts: pass a decoder such as LlamaForCausalLM"
        raise TypeError(f"save_decoder({describe(model)}): {rule}")
    for name, value in (("context", context), ("chunk", chunk)):
        if type(value) is not int or value < 1:
            raise ValueError(f"save_decoder({name}={value!r}): pass a number of tokens, 1 or more")
    step = _SavedStep(model, min(chunk, context), context)
    inputs: dict[str, Any] = {"tokens": "i32[1, N]"}
    if sample:
        inputs |= {"temperature": "f32[1]", "top_k": "i32[1]", "top_p": "f32[1]"}
    return save_program(step, inputs, folder, step.chunk, target, step.past)


class _SavedStep:
    """The step of a saved decoder, for one text, with the weights and modes of its model."""

    def __init__(self, model: Any, chunk: int, context: int):
        self.model, self.chunk = model, chunk
        self.past = model.new_past(1, context)
        self.modules, self.eval = model.modules, model.eval
        self.named_parameters, self.named_buffers = model.named_parameters, model.named_buffers

    def __call__(self, tokens: Tensor, *options: Tensor) -> dict[str, Tensor]:
        """Return the next token and its scores; options: temperature, top_k and top_p."""
        return self.draw(tokens, *options) if options else self.next(tokens)

    def _scores(self, tokens: Tensor) -> Tensor:
        """Append tokens, and return the scores of the next one. [1, n] -> [1, vocabulary]"""
        x = self.model.hidden(tokens, self.past)[:, -1:]
        return self.model.head(x)[:, 0].float()

    def next(self, tokens: Tensor) -> dict[str, Tensor]:
        """Return the most likely next token."""
        logits = self._scores(tokens)
        return {"token": logits.argmax(-1, keepdim=True).int(), "logits": logits}

    def draw(self, tokens: Tensor, temperature: Tensor, top_k: Tensor, top_p: Tensor) -> dict[str, Tensor]:
        """Return a drawn token, the most likely one at temperature 0."""
        logits = self._scores(tokens)
        best = logits.argmax(-1, keepdim=True)
        limited = limit_to(logits / temperature.clamp(min=COLD), top_k, top_p)
        drawn = limited.softmax(-1).multinomial(1)
        return {"token": (temperature > 0).where(drawn, best).int(), "logits": logits}


def limit_to(logits: Tensor, top_k: Tensor, top_p: Tensor) -> Tensor:
    """Set the scores of tokens that are not among the k best to -inf, then those outside of top_p, in the
    order of `sampling.limit`; numbers below 1, and 1, leave all. [1, n], [1], [1] -> [1, n]"""
    count = logits.shape[-1]
    best = logits.sort(-1, descending=True)[0]
    k = (top_k < 1).where(count, top_k).clamp(max=count)
    least = best.gather(-1, (k - 1).reshape(1, 1).long())
    return top_p_of((logits >= least).where(logits, float("-inf")), top_p)
