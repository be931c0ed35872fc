"""The gradients of a shard as a saved program, which a tab runs without Python, and as a recorded step."""

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..capture.jit import jit
from ..core.dtype import bool_, float32
from ..core.host import to_bytes
from ..core.modes import enable_grad
from ..core.node import describe
from ..errors import FlambeauError, TypeError, ValueError
from ..export.save import save_program
from ..export.web_module import PROGRAM_FILES
from ..func.modules import functional_call
from ..nn.module import Module
from ..ops.random import get_rng_state, set_rng_state
from ..runtime.run import read
from ..tensor import Tensor

Floats = NDArray[np.float32]
MOST_BYTES = 1 << 28  # of the weights: a tab gets them at each step, and returns as many for each shard


class GradientProgram:
    """The loss and the gradients of one shard's items.

    model: its parameters must be float32, and a call must assign to nothing (batch norms do, in training).
    loss: (output, target) -> []. shard: tensors of one shard, (inputs..., target).
    """

    def __init__(self, model: Module, loss: Callable[[Any, Any], Tensor], shard: Sequence[Tensor]):
        self.model, self.loss = model, loss
        named = {n: p for n, p in model.named_parameters() if p.requires_grad}
        self.names, self.params = list(named), list(named.values())
        self._check()
        self.sizes = [p.numel() for p in self.params]
        self.nbytes = 4 * sum(self.sizes)
        if self.nbytes > MOST_BYTES:
            rule = f"has {self.nbytes:,} bytes of parameters: tabs take {MOST_BYTES:,} at most"
            raise ValueError(f"TabWorkers({type(model).__name__}): it {rule}: use distributed workers")
        self.specs = [(t.dtype.short, list(t.shape)) for t in shard]
        self.files = self._save()
        self._step = jit(self._gradients)

    def _check(self) -> None:
        call = f"TabWorkers({type(self.model).__name__})"
        if not self.params:
            raise ValueError(f"{call}: no parameter requires gradients: pass a model to train")
        for name, p in zip(self.names, self.params, strict=True):
            if p.dtype is not float32:
                rule = "tabs compute in float32: use model.float()"
                raise TypeError(f"{call}: {name!r} is {describe(p)}: {rule}")

    def _save(self) -> dict[str, bytes]:
        """The program's files by name."""
        weights = {f"w{i}": f"f32{list(p.shape)}" for i, p in enumerate(self.params)}
        inputs = {f"x{i}": f"{dtype}{shape}" for i, (dtype, shape) in enumerate(self.specs)}
        with tempfile.TemporaryDirectory() as folder:
            try:
                save_program(self._gradients, weights | inputs, Path(folder) / "program", target="web")
            except (FlambeauError, ValueError, TypeError) as e:
                reason = str(e).partition(": ")[2]
                raise FlambeauError(f"TabWorkers({type(self.model).__name__}): {reason}") from e
            return {name: (Path(folder) / "program" / name).read_bytes() for name in PROGRAM_FILES}

    def _gradients(self, *tensors: Tensor) -> list[Tensor]:
        """(weights..., inputs..., target) -> loss, gradients..."""
        count = len(self.params)
        # The weights are arguments: a tab gets them with each step.
        with enable_grad():
            weights = [w.detach().requires_grad_() for w in tensors[:count]]
            *inputs, target = tensors[count:]
            output = functional_call(self.model, dict(zip(self.names, weights, strict=True)), tuple(inputs))
            loss = self.loss(output, target)
            grads = loss.backward(inputs=weights)
        return [loss, *(grads.get(w, Tensor.zeros(*w.shape)) for w in weights)]

    def compute(self, shard: Sequence[Tensor], seed: int) -> Floats:
        """Compute the loss and the gradients here, as one vector. seed: of the random numbers."""
        before = get_rng_state()
        set_rng_state((seed, 0))
        try:
            return flat(self._step(*(p.detach() for p in self.params), *shard))
        finally:
            set_rng_state(before)

    def weights(self) -> Floats:
        """Read the parameters as one vector."""
        return flat(self.params)

    def parts(self, vector: Floats) -> list[Floats]:
        """Cut a vector at the parameters."""
        return np.split(vector, np.cumsum(self.sizes)[:-1])

    def differs(self, vector: Floats, reference: Floats, tolerance: float) -> str:
        """The first tensor whose norm of differences is above `tolerance` of its norm; "" if none is."""
        names = ["the loss", *(f"the gradient of {name!r}" for name in self.names)]
        least = 1e-6 * float(np.linalg.norm(reference[1:])) + 1e-12  # gradients that are rounding errors
        pairs = [[vector[:1], *self.parts(vector[1:])], [reference[:1], *self.parts(reference[1:])]]
        for name, got, expected in zip(names, *pairs, strict=True):
            difference, norm = (float(np.linalg.norm(v)) for v in (got - expected, expected))
            if not difference <= tolerance * norm + least:  # NaN differs too
                return f"{name} differs by {difference / max(norm, 1e-30):.2g} of its norm"
        return ""


def flat(tensors: Sequence[Tensor]) -> Floats:
    """Read float32 tensors as one vector."""
    return np.concatenate([np.frombuffer(raw, np.float32) for raw in read(list(tensors))])


def map_bytes(parts: Sequence[Any]) -> list[bytes]:
    """`bytes_of` of each part."""
    return [bytes_of(part) for part in parts]


def bytes_of(part: Any) -> bytes:
    """The elements of a tensor or an array as a tab reads them, padded to a multiple of 8 bytes."""
    if isinstance(part, Tensor):
        raw = part.numpy().tobytes() if part.dtype is bool_ else bytes(read([part])[0])
    else:
        values, _, dtype = to_bytes(part, None)
        raw = np.asarray(part, np.uint8).tobytes() if dtype is bool_ else bytes(values)
    return raw + bytes(-len(raw) % 8)
