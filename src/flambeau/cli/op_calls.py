"""Parses the calls of the command line, lists common ones, and runs them on random numbers."""

import ast
import re
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

from .. import nn
from ..core.op import COMPOSED, OPS
from ..errors import FlambeauError, suggest
from ..export.inputs import spec_of
from ..functions import ones, randn
from .workloads import Tools, digits, gpt2, high, medium

Call = Callable[[], Any]
EXAMPLE = "matmul(f32[64, 784], f32[784, 128])"
PART = re.compile(r"\w+\s*\[[^\]]*\]")


def attention(part: str, more: str = "") -> str:
    return f"scaled_dot_product_attention({', '.join([part] * 3)}{more})"


# Workloads that `flambeau tune` measures by default after the calls below, because their graphs take longer
# to plan: name -> (workload, sizes on GPUs, sizes on software adapters).
MODELS = {
    "matmul at precision high": (high, (4096,), (256,)),
    "matmul at precision medium": (medium, (4096,), (256,)),
    "a smaller matmul at precision high": (high, (1024,), (128,)),
    "a smaller matmul at precision medium": (medium, (1024,), (128,)),
    "a step of the digits' network": (digits, (64,), (64,)),
    "a step of a tiny GPT": (gpt2, (8, 64), (4, 64)),
}
# Time may run out (--seconds), so the most common calls are first.
GPU_CALLS = (
    "conv2d(f32[64, 32, 28, 28], f32[32, 32, 3, 3], padding=1)",
    "conv2d(f32[64, 64, 56, 56], f32[64, 64, 3, 3], padding=1)",
    "linear(f32[4096, 768], f32[3072, 768], f32[3072])",
    attention("f32[8, 12, 512, 64]", ", is_causal=True"),
    "conv2d(f32[64, 32, 14, 14], f32[64, 32, 3, 3], padding=1)",
    "linear(f32[64, 3136], f32[128, 3136], f32[128])",
    "conv2d(f32[64, 128, 28, 28], f32[128, 128, 3, 3], padding=1)",
    "conv2d(f32[64, 256, 14, 14], f32[256, 256, 3, 3], padding=1)",
    "linear(f32[4096, 768], f32[768, 768], f32[768])",
    "matmul(f32[1024, 1024], f32[1024, 1024])",
    "matmul(f32[2048, 2048], f32[2048, 2048])",
    "matmul(f32[512, 512], f32[512, 512])",
    "layer_norm(f32[4096, 768], [768])",
    "softmax(f32[4096, 4096], -1)",
    "sum(f32[4096, 4096], 1)",
    "sum(f32[16777216])",
    "max_pool2d(f32[64, 64, 56, 56], 2)",
    "conv2d(f32[64, 512, 7, 7], f32[512, 512, 3, 3], padding=1)",
    "conv2d(f32[64, 64, 56, 56], f32[256, 64, 1, 1])",
    "conv2d(f32[64, 64, 56, 56], f32[128, 64, 3, 3], stride=2, padding=1)",
    attention("f32[8, 16, 1024, 64]"),
    attention("f16[8, 16, 1024, 64]"),
    "matmul(f16[4096, 4096], f16[4096, 4096])",
    "matmul(f16[1024, 1024], f16[1024, 1024])",
    "matmul(f32[4096, 4096], f32[4096, 4096])",
    "matmul(f32[8192, 8192], f32[8192])",
    "matmul(f32[8, 768], f32[768, 3072])",
    "conv2d(f32[64, 1, 28, 28], f32[32, 1, 3, 3], padding=1)",
    "linear(f32[64, 128], f32[10, 128], f32[10])",
    "matmul(f32[64, 784], f32[784, 128])",
    "matmul(f32[96, 512, 64], f32[96, 64, 512])",
    "softmax(f32[4096, 512], -1)",
    "log_softmax(f32[64, 10], -1)",
    "layer_norm(f32[16384, 256], [256])",
    "cross_entropy(f32[4096, 50257], i32[4096])",
    "linear(f32[4096, 768], f32[50257, 768])",
)
SOFTWARE_CALLS = (
    "matmul(f32[256, 256], f32[256, 256])",
    "matmul(f32[512, 512], f32[512, 512])",
    "linear(f32[64, 784], f32[128, 784], f32[128])",
    "conv2d(f32[4, 32, 28, 28], f32[32, 32, 3, 3], padding=1)",
    "conv2d(f32[4, 64, 14, 14], f32[64, 64, 3, 3], padding=1)",
    attention("f32[1, 4, 256, 64]"),
    attention("f32[1, 4, 256, 64]", ", is_causal=True"),
    "softmax(f32[1024, 1024], -1)",
    "layer_norm(f32[1024, 768], [768])",
    "cross_entropy(f32[64, 10], i32[64])",
    "sum(f32[1024, 1024], 1)",
    "sum(f32[1048576])",
    "max_pool2d(f32[16, 32, 28, 28], 2)",
    "matmul(f32[1024, 1024], f32[1024])",
)


def common_calls(place: Any) -> Iterator[tuple[str, Call]]:
    """Yield the calls that are tuned by default, with their names. Each is built when it is needed."""
    import flambeau

    software = place.limits.software
    for text in SOFTWARE_CALLS if software else GPU_CALLS:
        yield text, parse_call(text, place)
        # The tensors of one call must not leave too little memory for the next.
        place.pool.trim()
    for name, (make, large, small) in MODELS.items():
        yield name, make(Tools(flambeau, place), *(small if software else large)).call


def parse_call(text: str, place: Any) -> Call:
    """Return a call such as "conv2d(f32[8, 3, 32, 32], f32[16, 3, 3, 3], padding=1)" on random numbers."""

    name, arguments, named = _parse(text)
    # Public functions first (conv2d checks its arguments); then composites and single ops.
    op = getattr(nn.functional, name, None) or COMPOSED.get(name) or OPS.get(name)
    if op is None:
        op_names = [n for n in (*OPS, *COMPOSED) if not n.startswith("_")]
        raise FlambeauError(f"tune --op {text!r}: unknown operation{suggest(name, op_names)}")
    return lambda: op(
        *(_argument(a, text, place) for a in arguments),
        **{k: _argument(a, text, place) for k, a in named.items()},
    )


class Part(str):
    """The text of an argument that is a tensor."""


def _parse(text: str) -> tuple[str, list[Any], dict[str, Any]]:
    """Return a call's name and arguments: a Part for each tensor, else the values."""
    # f32[64, 784] is not a Python literal: each is replaced by a name part0, part1, ..., and the rest is
    # parsed.
    parts, numbers = [Part(p) for p in PART.findall(text)], count()
    try:
        call = ast.parse(PART.sub(lambda _: f"part{next(numbers)}", text.strip()), mode="eval").body
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name)):
            raise ValueError
        left = iter(parts)  # in the order in which they are written

        def value(a: ast.expr) -> Any:
            return next(left) if isinstance(a, ast.Name) and a.id.startswith("part") else ast.literal_eval(a)

        return (
            call.func.id,
            [value(a) for a in call.args],
            {k.arg: value(k.value) for k in call.keywords if k.arg},
        )
    except (SyntaxError, ValueError, StopIteration):
        raise FlambeauError(f"tune --op {text!r}: write it as {EXAMPLE!r}") from None


def _argument(a: Any, text: str, place: Any) -> Any:
    if not isinstance(a, Part):
        return a
    try:
        spec = spec_of("x", a)
        return random_tensor(spec.dtype, spec.at(1), place)
    except (ValueError, TypeError):
        raise FlambeauError(
            f"tune --op {text!r}: {a!r} is not a tensor: write it as in {EXAMPLE!r}"
        ) from None


def random_tensor(dtype: Any, shape: tuple[int, ...], place: Any) -> Any:
    """Return a tensor of random numbers; of ones for integers."""
    if dtype.is_float:
        # Requires gradients, so that --train measures the kernels of all arguments.
        return randn(*shape, device=place).to(dtype).requires_grad_()
    # Valid indices and labels for any size above 1.
    return ones(*shape, dtype=dtype, device=place)
