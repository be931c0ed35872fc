"""Runs models of libraries in one process, on the real torch or on flambeau.torch, and writes the results.

python -m helpers.library_run torch FOLDER MODULE NAME ...: the models of MODULE's CASES. It writes the
weights and the results of each into FOLDER, and prints a line of facts (JSON). With flambeau in place of
torch, the weights are those that the run on torch wrote. FLAMBEAU_LIBRARY_DEVICE names the device, and
FLAMBEAU_LIBRARY_DTYPE float64 instead of float32: rounding can't move a value over a kink there. With
FLAMBEAU_LIBRARY_WARM=1 the facts have milliseconds of warm calls too.
"""

import importlib
import io
import json
import os
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from contextlib import redirect_stderr
from pathlib import Path
from typing import Any

import numpy as np

from helpers.library_cases import OPTIONS

LIMIT = int(os.environ.get("FLAMBEAU_LIBRARY_SECONDS", "120"))  # of a model
DEVICE = os.environ.get("FLAMBEAU_LIBRARY_DEVICE", "cpu")
DTYPE = os.environ.get("FLAMBEAU_LIBRARY_DTYPE", "float32")
WARM = os.environ.get("FLAMBEAU_LIBRARY_WARM") == "1"
FIRST, ROUNDS, CALLS, BUDGET = 3, 3, 10, 0.9  # calls before timing; rounds of at most so many calls, seconds


def tensors_of(value: Any, torch: Any, seen: set[int] | None = None) -> list[Any]:
    """All float tensors in the result of a model, in order."""
    seen = set() if seen is None else seen
    if isinstance(value, torch.Tensor):
        return [value] if value.is_floating_point() else []
    if id(value) in seen or value is None or isinstance(value, str | int | float | bool):
        return []
    seen.add(id(value))
    if isinstance(value, dict):
        parts = list(value.values())
    elif isinstance(value, list | tuple):
        parts = list(value)
    else:
        parts = [getattr(value, name) for name in getattr(value, "__dataclass_fields__", ())]
    return [t for part in parts for t in tensors_of(part, torch, seen)]


def plain_outputs(value: Any, torch: Any) -> list[Any]:
    """The float tensors of a result that is made of dicts, lists and tuples, each once."""
    if isinstance(value, torch.Tensor):
        return [value] if value.is_floating_point() else []
    if isinstance(value, dict):
        value = list(value.values())
    parts = value if isinstance(value, list | tuple) else []
    return [t for part in parts for t in plain_outputs(part, torch)]


def loss_of(outputs: list[Any], torch: Any) -> Any:
    """A scalar that depends on every element of the outputs, on each differently."""
    total: Any = 0.0
    for t in outputs:
        if t.requires_grad and t.numel():
            t = t.to(getattr(torch, DTYPE))
            steps = torch.arange(t.numel(), dtype=t.dtype, device=t.device)
            total = total + (t * torch.cos(steps * 0.37 + 0.2).reshape(t.shape)).sum() / t.numel() ** 0.5
    return total


def perturb(state: dict[str, Any], seed: int) -> dict[str, np.ndarray]:
    """The weights, with numbers in place of constants, so that every part of a model counts."""
    generator, out = np.random.default_rng(seed), {}
    for name, value in state.items():
        if not hasattr(value, "detach"):
            continue
        a = value.detach().numpy().copy()
        if a.dtype.kind == "f" and a.size and np.isfinite(a).all() and a.std() < 1e-12:
            first = abs(float(a.reshape(-1)[0]))
            if name.endswith("running_var"):
                a = np.asarray(0.5 + generator.random(a.shape), a.dtype)
            elif a.size > 1 or first < 2:
                noise = generator.standard_normal(a.shape) * (0.1 if first > 0.05 else 0.05)
                a = np.asarray(a + noise, a.dtype)
        out[name] = a
    return out


def drop_nothing(model: Any) -> None:
    """Set the probability of every dropout to 0."""
    for m in model.modules():
        if "drop" in type(m).__name__.lower():
            for name in ("p", "drop_prob"):
                if isinstance(getattr(m, name, None), float):
                    setattr(m, name, 0.0)


def moved(inputs: Any, torch: Any) -> Any:
    """The inputs on the device, floats in DTYPE."""
    if hasattr(inputs, "detach"):
        return inputs.to(DEVICE, getattr(torch, DTYPE) if inputs.is_floating_point() else inputs.dtype)
    if isinstance(inputs, dict):
        return {key: moved(value, torch) for key, value in inputs.items()}
    is_sequence = isinstance(inputs, tuple | list)
    return type(inputs)(moved(value, torch) for value in inputs) if is_sequence else inputs


def array_of(t: Any) -> np.ndarray:
    return t.detach().cpu().numpy().copy()


class Run:
    """One model: what it computes goes to `arrays`, times and shapes to `facts`."""

    def __init__(self, torch: Any, case: Any, path: Path, is_torch: bool):
        self.torch, self.case, self.path, self.is_torch = torch, case, path, is_torch
        self.facts: dict[str, Any] = {"stage": "construct"}
        self.arrays: dict[str, np.ndarray] = {}

    def __call__(self) -> dict[str, Any]:
        try:
            for stage in (self.construct, self.forward, self.gradients, self.step):
                self.facts["stage"] = stage.__name__
                begin = time.perf_counter()
                stage()
                self.facts[f"{stage.__name__} seconds"] = time.perf_counter() - begin
            self.facts["stage"] = "end"
            if WARM:
                self.warm()
        except KeyboardInterrupt:
            raise
        except BaseException as e:
            self.facts["error"] = describe(e)
        if self.arrays:
            np.savez(self.path.with_suffix(".torch.npz" if self.is_torch else ".flambeau.npz"), **self.arrays)
        return self.facts

    def construct(self) -> None:
        """Make the model and load the weights."""
        torch = self.torch
        torch.manual_seed(0)
        np.random.seed(0)
        self.model, inputs = self.case.build(torch)
        own = self.model.state_dict()
        if self.is_torch:
            state = perturb(own, 1)
            self.arrays |= {f"w:{name}": a for name, a in state.items()}
        else:
            with np.load(self.path.with_suffix(".torch.npz")) as file:
                state = {key[2:]: file[key] for key in file.files if key.startswith("w:")}
        self.facts["state"] = [[name, list(v.shape)] for name, v in own.items() if hasattr(v, "shape")]
        others = {name: v for name, v in own.items() if name not in state}
        self.model.load_state_dict({name: torch.from_numpy(a) for name, a in state.items()} | others)
        self.model.to(DEVICE, getattr(torch, DTYPE)).eval()
        self.inputs = moved(inputs, torch)
        self.facts["parameters"] = sum(p.numel() for p in self.model.parameters())

    def call(self) -> list[Any]:
        """The outputs of the model."""
        if callable(self.inputs):
            return tensors_of(self.inputs(self.model), self.torch)
        if isinstance(self.inputs, dict):
            return tensors_of(self.model(**self.inputs), self.torch)
        return tensors_of(self.model(*self.inputs), self.torch)

    def forward(self) -> None:
        """The outputs in eval mode."""
        self.torch.manual_seed(1)
        with self.torch.no_grad():
            self.arrays |= {f"o:{i}": array_of(t) for i, t in enumerate(self.call())}

    def gradients(self) -> None:
        """The gradients of a loss."""
        if self.case.train:
            self.model.train()
            drop_nothing(self.model)
        parameters = [p for p in self.model.parameters() if p.requires_grad]
        make = getattr(self.torch.optim, self.case.optimizer)
        self.optimizer = make(parameters, **OPTIONS[self.case.optimizer])
        self.optimizer.zero_grad()
        self.torch.manual_seed(1)
        loss = loss_of(self.call(), self.torch)
        loss.backward()
        self.arrays["loss"] = np.float32(loss.item())
        named = dict(self.model.named_parameters())
        self.facts["without gradient"] = sorted(name for name, p in named.items() if p.grad is None)
        self.arrays |= {f"g:{name}": array_of(p.grad) for name, p in named.items() if p.grad is not None}

    def step(self) -> None:
        """One step of an optimizer."""
        self.optimizer.step()
        state = self.model.state_dict()
        self.arrays |= {f"s:{name}": array_of(v) for name, v in state.items() if hasattr(v, "detach")}

    def warm(self) -> None:
        """Milliseconds of a forward pass, of a step, and on Flambeau of the same step compiled."""
        torch, model, optimizer, inputs = self.torch, self.model, self.optimizer, self.inputs
        arguments, named = ((), inputs) if isinstance(inputs, dict) else (inputs, {})
        factors = [torch.ones_like(t) / t.numel() ** 0.5 for t in plain_outputs(self.call(), torch)]

        def forward() -> None:
            with torch.no_grad():
                model(*arguments, **named)

        # Nothing but what a script's step has: torch.compile watches all that a step reads.
        def step() -> None:
            optimizer.zero_grad()
            outputs = plain_outputs(model(*arguments, **named), torch)
            pairs = zip(outputs, factors, strict=True)
            loss = sum((t * f).sum() for t, f in pairs if t.requires_grad)
            loss.backward()
            optimizer.step()

        self.facts["step ms"] = self.milliseconds(step)
        if not self.is_torch:
            with warnings.catch_warnings(record=True), redirect_stderr(io.StringIO()) as told:
                self.facts["compiled ms"] = self.milliseconds(torch.compile(step), 10)
            self.facts["unrecorded"] = next((x for x in told.getvalue().splitlines() if "jit" in x), "")
        model.eval()
        self.facts["forward ms"] = self.milliseconds(forward)

    def milliseconds(self, call: Callable[[], None], first: int = FIRST) -> float:
        """The time of one of many calls after which the device is waited for: the least of the rounds."""

        def seconds(count: int) -> float:
            begin = time.perf_counter()
            for _ in range(count):
                call()
            if DEVICE != "cpu":
                self.torch.cuda.synchronize()
            return time.perf_counter() - begin

        seconds(first)
        count = max(1, min(CALLS, int(BUDGET / ROUNDS / seconds(1))))
        return round(min(seconds(count) for _ in range(ROUNDS)) / count * 1e3, 3)


def describe(e: BaseException) -> str:
    """An error and where it was raised, on one line."""
    frames = [f for f in traceback.extract_tb(e.__traceback__) if "importlib" not in f.filename]
    where = " < ".join(f"{'/'.join(f.filename.split('/')[-2:])}:{f.lineno}" for f in reversed(frames[-4:]))
    cause = e.__cause__ or e.__context__
    because = "" if cause is None else f" because of {describe(cause)}"
    return f"{type(e).__name__}: {' '.join(str(e).split())[:400]} [{where}]{because}"[:1500]


class TooSlow(BaseException):
    """A model took longer than LIMIT."""


def main() -> None:
    library, folder, module, *names = sys.argv[1:]
    warnings.simplefilter("ignore")
    is_torch = library == "torch"
    if not is_torch:
        import flambeau.torch

        flambeau.torch.install()
    import torch

    torch.set_num_threads(1)
    if is_torch and DEVICE != "cpu":
        torch.backends.cudnn.allow_tf32 = False  # float32, as the other side computes
    if is_torch:
        from helpers.torchvision_here import torchvision

        torchvision(torch)
    cases = importlib.import_module(module).CASES

    def stop(*_: Any) -> None:
        raise TooSlow(f"more than {LIMIT} s")

    signal.signal(signal.SIGALRM, stop)
    for name in names:
        signal.alarm(LIMIT)
        facts = Run(torch, cases[name], Path(folder) / name.replace("/", "_"), is_torch)()
        signal.alarm(0)
        print(json.dumps({"name": name} | facts), flush=True)


if __name__ == "__main__":
    main()
