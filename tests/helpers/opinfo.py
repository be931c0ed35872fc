"""PyTorch's own database of operations (`op_db`), with its sample inputs and its wrong calls, run on ours.

    PYTHONPATH=src:tests python -m helpers.opinfo --device cpu --names add,cumsum --json out.json

Each operation is run in float32, int64, bool and complex64: as a function, as a method, in place, on inputs
that are not contiguous, with gradients, and with the inputs that PyTorch refuses. A process of its own runs a
share, so that an operation that dies or hangs is one finding. A finding is one of

    WRONG     a value, dtype, shape or gradient differs
    CRASH     the process dies, or takes longer than its time
    RAISED    we raise where PyTorch computes
    ACCEPTED  we compute where PyTorch raises
    CLASS     we raise, by a class that PyTorch's handler does not catch
    ABSENT    the name is not here
"""

import argparse
import json
import os
import queue
import re
import subprocess
import sys
import threading
import time
import tomllib
import types
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

DTYPES = ("float32", "int64", "bool", "complex64")
# Seconds that one operation may take before it counts as one that hangs. The slowest, ormqr with the kernels
# of GPUs, takes 70 on two idle cores (SwiftShader), nearly all to compile.
TIME = 180.0
START = 300.0  # until it has imported PyTorch's tests
# One sample in so many, for operations with hundreds: prime to the numbers of their options.
SHARES = {"unique": 5}  # 530 samples a dtype: products of five options
FEW = 3  # samples that variants, gradients and strided inputs take
ROOM = 1e-5  # beside a number that should be 0: terms of tens cancel
LENGTH = 160  # characters of a message
# what a device lacks, and what stands for it
NARROWER = {"float64": "float32", "complex128": "complex64"}
UNLIKE = {"float64", "complex128", "complex32"}  # dtypes that a sample asks for, and no device has
# results that a library is free to choose, which are compared as output_process_fn_grad leaves them
GAUGES = ("svd", "eig", "eigh", "qr", "lobpcg", "lowrank", "symeig", "geqrf", "lstsq")
DRAWN = (
    "bernoulli", "cauchy", "dropout", "empty", "exponential", "geometric", "log_normal", "lowrank",
    "multinomial", "normal_", "normal", "rand", "resize_", "rrelu", "uniform", "fractional_max_pool",
    "new_empty",
)  # fmt: skip
# how PyTorch refuses a number in the place of a tensor, which all binary functions here take
NUMBERS = re.compile(
    r"must be Tensor, not (int|float|bool)|got \((int|float|bool), |got \(Tensor, (int|float|bool)[,)]"
    r"|doesn't apply to a '(int|float)'|'(int|float)' object has no attribute"
)
# results that a library is free to choose: which of equals a place names
TIED = ("kthvalue", "topk", "mode", "sort", "median", "nanmedian")
TIED_PLACES = ("argsort",)  # which are all of the result
# what PyTorch checks slopes through, where an op reads one triangle or sums to 1 by its rule
PROJECTIONS = (
    "gradcheck_wrapper_hermitian_input", "gradcheck_wrapper_ctc_loss", "gradcheck_wrapper_triangular_input",
    "gradcheck_wrapper_triangular_input_real_positive_diagonal",
)  # fmt: skip
# what PyTorch's own calls say, and there is one of here: dense memory, rows first
ONE_LAYOUT = ("torch.contiguous_format", "torch.preserve_format", "torch.channels_last", "torch.strided")
# (values, gradients) beside float32's usual distance: chains of divisions and of factors
TOLERANCES: dict[str, float] = {}


@dataclass(frozen=True)
class Finding:
    """What differs, where: `variant` is function, method, inplace, strided, gradient, or error."""

    kind: str
    variant: str
    dtype: str
    sample: str
    message: str

    @property
    def text(self) -> str:
        return f"{self.kind:8} {self.variant:9} {self.dtype:9} {self.sample}\n{'':19}{self.message}"


@dataclass
class Outcome:
    """All that one operation has shown."""

    name: str
    findings: list[Finding] = field(default_factory=list)
    tried: int = 0
    seconds: float = 0.0

    @property
    def kinds(self) -> list[str]:
        return sorted({f.kind for f in self.findings})


@dataclass(frozen=True)
class Table:
    """What differs from PyTorch, with its reasons: tests/opinfo_differs.toml."""

    operations: int
    reasons: list[tuple[str, str, tuple[str, ...]]]  # a kind, why, names

    def kinds(self, name: str) -> set[str]:
        return {kind for kind, _, names in self.reasons if name in names}

    @property
    def names(self) -> set[str]:
        return {name for _, _, names in self.reasons for name in names}


def table() -> Table:
    told = tomllib.loads((Path(__file__).parents[1] / "opinfo_differs.toml").read_text(encoding="utf-8"))
    return Table(told["operations"], [(d["kind"], d["why"], tuple(d["names"])) for d in told["differs"]])


def operations() -> dict[str, Any]:
    """`op_db` by name and variant."""
    from torch.testing._internal.common_methods_invocations import op_db

    return {op.formatted_name: op for op in op_db}


# --- our function for theirs ---


def attribute(owner: Any, path: str) -> Any:
    for part in path.split("."):
        owner = getattr(owner, part)
    return owner


def with_ours(function: Any, fb: Any) -> Any:
    """A function of PyTorch's tests that names `torch`, with ours in its place."""
    names = {**function.__globals__, "torch": fb, "wrapper_set_seed": lambda op, *a, **k: op(*a, **k)}
    called = set(PROJECTIONS) & set(function.__code__.co_names)
    names |= {name: with_ours(function.__globals__[name], fb) for name in called}
    ours = types.FunctionType(
        function.__code__, names, function.__name__, function.__defaults__, function.__closure__
    )
    ours.__kwdefaults__ = function.__kwdefaults__
    return ours


def ours_of(op: Any, fb: Any) -> Any:
    """Our function of the operation's public name; AttributeError where there is none."""
    from torch.overrides import resolve_name

    function = op.op
    module = getattr(function, "__module__", "") or ""
    if isinstance(function, types.FunctionType) and module.startswith("torch.testing"):
        return with_ours(function, fb)
    if module.startswith(("torch.signal", "torch.masked")):
        name = op.name
        return attribute(fb, name)
    try:
        name = resolve_name(function)
    except Exception:  # of what torch has no override for: a private function
        name = None
    if not name or name.startswith("aten."):
        raise AttributeError(f"torch.{getattr(function, '__name__', op.name)} is private")
    if name == "torch.spmm":  # torch.mm's other name
        name = "torch.mm"
    return attribute(fb, name.removeprefix("torch.").removeprefix("functional."))


# --- their values as ours, and back ---


class Translator:
    """Turns arguments of PyTorch into ours; one tensor there is one tensor here."""

    def __init__(self, torch: Any, fb: Any, device: str, strided: bool = False):
        self.torch, self.fb, self.device, self.strided = torch, fb, device, strided
        self.pairs: dict[int, tuple[Any, Any]] = {}

    def __call__(self, value: Any) -> Any:
        torch, fb = self.torch, self.fb
        if isinstance(value, torch.Tensor):
            return self.tensor(value)
        if isinstance(value, torch.dtype):
            return dtype_of(fb, value)
        if isinstance(value, torch.nn.Module):
            return getattr(fb.nn, type(value).__name__)()
        if isinstance(value, torch.device):
            return self.device
        if isinstance(value, torch.Size):
            return tuple(value)
        if isinstance(value, (torch.layout, torch.memory_format)):
            return value
        if isinstance(value, slice):
            return slice(*map(self, (value.start, value.stop, value.step)))
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return type(value)(*map(self, value))
        if isinstance(value, (tuple, list)):
            return type(value)(map(self, value))
        if isinstance(value, dict):
            value = {name: v for name, v in value.items() if str(v) not in ONE_LAYOUT}
            return {name: self.device if name == "device" else self(v) for name, v in value.items()}
        if isinstance(value, types.FunctionType) and "torch" in value.__code__.co_names:
            return with_ours(value, fb)
        return value

    def tensor(self, value: Any) -> Any:
        if id(value) not in self.pairs:
            self.pairs[id(value)] = value, self.made(value)
        return self.pairs[id(value)][1]

    def made(self, value: Any) -> Any:
        dtype = dtype_of(self.fb, value.dtype)
        array = numbers(value)
        if self.strided and array.ndim and array.shape[-1] > 1:
            wide = np.repeat(array, 2, axis=-1)
            result = self.fb.tensor(wide, dtype=dtype, device=self.device)[..., ::2]
            return result.detach().requires_grad_() if value.requires_grad else result
        result = self.fb.tensor(array, dtype=dtype, device=self.device)
        return result.requires_grad_() if value.requires_grad else result


class Skipped(Exception):
    """A sample that asks for what no device has, as float64."""


def dtype_of(fb: Any, dtype: Any) -> Any:
    name = str(dtype).removeprefix("torch.")
    if name in UNLIKE:
        raise Skipped(name)
    return getattr(fb, "bool_" if name == "bool" and not hasattr(fb, "bool") else name)


def numbers(value: Any) -> np.ndarray:
    """A tensor of PyTorch's as an array; bfloat16 as float32."""
    value = value.detach().resolve_conj().resolve_neg()
    if value.layout is not _strided() or value.device.type == "meta" or value.ndim > 64:
        raise Skipped("a sparse tensor, one of no device, or of more dims than NumPy's")
    if str(value.dtype) in ("torch.bfloat16",):
        value = value.float()
    if value.dtype.is_complex and value.dtype.itemsize == 4:
        raise Skipped("complex32")
    return value.numpy(force=True).copy()


def _strided() -> Any:
    import torch

    return torch.strided


# --- comparison ---


def leaves(value: Any) -> list[Any]:
    """The tensors and numbers of a result, in order."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (tuple, list)):
        return [leaf for v in value for leaf in leaves(v)]
    return [value]


def name_of(dtype: Any) -> str:
    return str(getattr(dtype, "name", dtype)).split(".")[-1]


def difference(got: Any, want: Any, values: bool, tolerance: float) -> str:
    """Where two results differ, or ""."""
    got, want = leaves(got), leaves(want)
    if len(got) != len(want):
        return f"{len(got)} results, not {len(want)}"
    for i, (a, b) in enumerate(zip(got, want, strict=True)):
        if said := difference_of(a, b, values, tolerance):
            return f"result {i}: {said}" if len(got) > 1 else said
    return ""


def difference_of(got: Any, want: Any, values: bool, tolerance: float) -> str:
    if not hasattr(want, "detach"):
        return plain_difference(got, want, values)
    if not hasattr(got, "detach"):
        return f"{type(got).__name__}, not a tensor"
    dtype = name_of(want.dtype)
    if name_of(got.dtype).rstrip("_") not in (dtype, NARROWER.get(dtype)):
        return f"dtype {name_of(got.dtype)}, not {dtype}"
    if tuple(got.shape) != tuple(want.shape):
        return f"shape {tuple(got.shape)}, not {tuple(want.shape)}"
    return apart(array_of(got), numbers(want), tolerance) if values else ""


def array_of(value: Any) -> np.ndarray:
    value = value.detach()
    value = value.float() if name_of(value.dtype) == "bfloat16" else value
    return np.asarray(value.numpy())


def plain_difference(got: Any, want: Any, values: bool) -> str:
    if isinstance(want, (bool, int, float, complex)):
        got = got.item() if hasattr(got, "item") and not hasattr(got, "detach") else got
        if not isinstance(got, (bool, int, float, complex)):
            return f"{type(got).__name__}, not {type(want).__name__}"
        return apart(np.asarray(got), np.asarray(want), 1e-4) if values else ""
    if name_of(got) == name_of(want) or got == want:
        return ""
    return f"{got!r}, not {want!r}"


def apart(got: np.ndarray, want: np.ndarray, tolerance: float) -> str:
    wide = "c16" if np.iscomplexobj(want) or np.iscomplexobj(got) else "f8"
    if want.dtype.kind in "iub" and got.dtype.kind in "iub":
        wrong = got != want
    else:
        got, want = got.astype(wide), want.astype(wide)
        finite = np.abs(want[np.isfinite(want)])
        room = tolerance * (np.abs(want) + 0.1 * finite.max(initial=0.0)) + ROOM
        with np.errstate(all="ignore"):
            near = np.abs(got - want) <= room
        wrong = ~(near | (got == want) | (np.isnan(got) & np.isnan(want)))
        if wide == "c16":  # an infinite part is one infinity
            wrong &= ~((np.isinf(got) | np.isnan(got)) & (np.isinf(want) | np.isnan(want)))
    if not wrong.any():
        return ""
    places = np.argwhere(wrong)
    at = tuple(int(p) for p in places[0])
    return f"{len(places)} of {want.size} values differ: at {at} {got[at]!s}, PyTorch {want[at]!s}"


# --- one operation ---


class Runner:
    """Runs operations of the database on one device."""

    def __init__(self, device: str = "cpu"):
        import torch

        import flambeau as fb

        torch.set_num_threads(1)
        warnings.simplefilter("ignore")
        self.torch, self.fb, self.device = torch, fb, device
        fb.set_default_device(device)

    def run(self, op: Any) -> Outcome:
        outcome = Outcome(op.formatted_name)
        try:
            function = ours_of(op, self.fb)
        except AttributeError as e:
            outcome.findings.append(Finding("ABSENT", "function", "", "", short(e)))
            return outcome
        calls = Calls(self, op, function, outcome)
        for dtype in DTYPES:
            if getattr(self.torch, dtype) in op.supported_dtypes("cpu"):
                calls.run(dtype)
        calls.errors()
        return outcome


class Calls:
    """The calls of one operation."""

    def __init__(self, runner: Runner, op: Any, function: Callable, outcome: Outcome):
        self.torch, self.fb, self.device = runner.torch, runner.fb, runner.device
        self.op, self.function, self.outcome = op, function, outcome
        self.tolerance = TOLERANCES.get(op.formatted_name, 2e-4)
        self.drawn = self.op.name in TIED_PLACES or any(name in op.formatted_name for name in DRAWN)
        self.free = any(part in GAUGES for part in op.name.replace(".", "_").split("_"))
        self.seen: set[tuple[str, str, str]] = set()

    def add(self, kind: str, variant: str, dtype: str, sample: Any, message: str) -> None:
        """Keep what differs: one of each kind, variant and dtype."""
        if (kind, variant, dtype) not in self.seen:
            self.seen.add((kind, variant, dtype))
            told = sample if isinstance(sample, str) else describe(sample)
            self.outcome.findings.append(Finding(kind, variant, dtype, told, message[:LENGTH]))

    def seed(self) -> None:
        """torch.manual_seed of the processor alone: the whole function formats stacks for other devices."""
        self.torch.default_generator.manual_seed(0)

    def samples(self, dtype: str, slopes: bool = False) -> Iterator[Any]:
        self.seed()
        kind = getattr(self.torch, dtype)
        samples = self.op.sample_inputs("cpu", kind, requires_grad=slopes)
        yield from islice(samples, 0, None, SHARES.get(self.op.name, 1))

    def projected(self, function: Callable, ours: bool) -> Callable:
        """A function of what PyTorch's checks of slopes make of its input: a Hermitian matrix, a triangle."""
        wrapper = self.op.gradcheck_wrapper
        if not {wrapper.__name__, *wrapper.__code__.co_names} & set(PROJECTIONS):  # it is one, or calls one
            return function
        return partial(with_ours(wrapper, self.fb) if ours else wrapper, function)

    def run(self, dtype: str) -> None:
        theirs, ours = self.op.op, self.function
        if self.op.gradcheck_wrapper.__name__ == PROJECTIONS[0]:
            theirs, ours = self.projected(theirs, False), self.projected(ours, True)
        for i, sample in enumerate(self.samples(dtype)):
            self.compare("function", dtype, sample, theirs, ours)
            if i >= FEW:
                continue
            self.compare("strided", dtype, sample, theirs, ours, strided=True)
            method = self.op.method_variant
            if method and method.__name__ != "<lambda>":
                own = getattr(self.fb.Tensor, method.__name__, None)
                self.compare("method", dtype, sample, method, own or absent(method.__name__))
            inplace = self.op.inplace_variant
            if (
                hasattr(inplace, "__name__")
                and inplace.__name__ != "<lambda>"
                and not sample.broadcasts_input
            ):
                own = getattr(self.fb.Tensor, inplace.__name__, None) or absent(inplace.__name__)
                self.compare("inplace", dtype, sample, inplace, own, inplace=True)
        kind = getattr(self.torch, dtype)
        if kind.is_floating_point:
            self.dependences(dtype)
        has_slopes = self.op.supports_autograd and (kind.is_floating_point or kind.is_complex)
        if has_slopes and not self.drawn and kind in self.op.supported_backward_dtypes("cpu"):
            self.gradients(dtype)

    def both(self, sample, theirs, ours, strided=False):
        """What torch computes and what we do: each a result or an exception."""
        translate = Translator(self.torch, self.fb, self.device, strided)
        args = translate((sample.input, *sample.args)), translate(sample.kwargs)
        copied = sample.transform(lambda t: t.detach().clone() if isinstance(t, self.torch.Tensor) else t)
        self.seed()
        want = attempt(theirs, (copied.input, *copied.args), copied.kwargs)
        self.outcome.tried += 1
        return attempt(ours, *args), want, args[0]

    def compare(self, variant, dtype, sample, theirs, ours, strided=False, inplace=False) -> None:
        try:
            got, want, mine = self.both(sample, theirs, ours, strided)
            if isinstance(want, Exception):
                if not isinstance(got, Exception):
                    self.add("ACCEPTED", variant, dtype, sample, f"PyTorch: {short(want)}")
                return
            if isinstance(got, Exception):
                kind = "ABSENT" if isinstance(got, Absent) else "RAISED"
                self.add(kind, variant, dtype, sample, short(got))
                return
            if inplace and hasattr(got, "detach") and got is not mine[0]:
                self.add("WRONG", variant, dtype, sample, "the result is not the tensor that was written")
            free = self.free
            if free:  # shapes and dtypes, then what does not hang on a library's choice
                said = difference(got, want, False, self.tolerance)
                process = sample.output_process_fn_grad
                got, want = with_ours(process, self.fb)(got), process(want)
            else:
                said = ""
            if self.op.name in TIED:
                got, want = leaves(got)[0], leaves(want)[0]
            values = not self.drawn and not drops(sample)
            said = said or difference(got, want, values, self.tolerance)
            if said and values:
                wide = attempt(theirs, *self.wide(sample)[0])
                if not isinstance(wide, Exception):
                    wide = sample.output_process_fn_grad(wide) if self.free else wide
                    wide = leaves(wide)[0] if self.op.name in TIED else wide
                    said = difference(got, wide, values, self.tolerance) and said
        except Skipped:
            return
        except Exception as e:  # in the comparison: a result of another form
            said = f"not comparable: {short(e)}"
        if said:
            self.add("WRONG", variant, dtype, sample, said)

    def dependences(self, dtype: str) -> None:
        """Whether results depend on inputs wherever PyTorch's do: a gradient that neither has must raise
        where it is computed."""
        sample = next(self.samples(dtype), None)
        if sample is None:
            return
        translate = Translator(self.torch, self.fb, self.device)
        copied = sample.transform(lambda t: t.detach().clone() if isinstance(t, self.torch.Tensor) else t)
        for tensor in leaves([copied.input, copied.args, copied.kwargs]):
            if isinstance(tensor, self.torch.Tensor) and tensor.is_floating_point():
                tensor.requires_grad_()
        try:
            args = translate((copied.input, *copied.args)), translate(copied.kwargs)
        except Skipped:
            return
        self.seed()
        want = attempt(self.op.op, (copied.input, *copied.args), copied.kwargs)
        got = attempt(self.function, *args)
        if isinstance(want, Exception) or isinstance(got, Exception):  # `compare` reports it
            return
        for a, b in zip(leaves(got), leaves(want), strict=False):
            if getattr(b, "requires_grad", False) and b.numel() and not getattr(a, "requires_grad", True):
                self.add("WRONG", "gradient", dtype, sample, "the result does not depend on the inputs")

    def gradients(self, dtype: str) -> None:
        for i, sample in enumerate(self.samples(dtype, slopes=True)):
            if i >= 4 * FEW:
                break
            try:
                theirs, ours = self.projected(self.op.op, False), self.projected(self.function, True)
                self.gradient("gradient", dtype, sample, theirs, ours)
            except Skipped:
                continue
            except Exception as e:  # where the device computes
                self.add("RAISED", "gradient", dtype, sample, short(e))

    def gradient(self, variant, dtype, sample, theirs, ours) -> None:
        translate = Translator(self.torch, self.fb, self.device)
        args = translate((sample.input, *sample.args)), translate(sample.kwargs)
        leaves_here = [pair for pair in translate.pairs.values() if pair[0].requires_grad]
        if not leaves_here or drops(sample):
            return
        want = attempt(self.slopes, (self.torch, theirs, sample, None, [p[0] for p in leaves_here]), {})
        if isinstance(want, Exception) or want is None:
            return
        got = attempt(self.slopes, (self.fb, ours, sample, args, [p[1] for p in leaves_here]), {})
        if isinstance(got, Exception):
            self.add("RAISED", variant, dtype, sample, short(got))
            return
        self.outcome.tried += 1
        if got is None:
            self.add("WRONG", variant, dtype, sample, "no result depends on the inputs")
            return
        zeros = [
            self.torch.zeros_like(p[0]) if g is None else g for g, p in zip(want, leaves_here, strict=True)
        ]
        mine = [self.fb.zeros_like(p[1]) if g is None else g for g, p in zip(got, leaves_here, strict=True)]
        if not (said := difference(mine, zeros, True, 5 * self.tolerance)):
            return
        (args, kwargs), inputs = self.wide(sample, [p[0] for p in leaves_here])
        wide = attempt(self.slopes, (self.torch, theirs, sample, (args, kwargs), inputs), {})
        if isinstance(wide, tuple):
            wide = [self.torch.zeros_like(x) if g is None else g for g, x in zip(wide, inputs, strict=True)]
            said = difference(mine, wide, True, 5 * self.tolerance) and said
        if said:
            self.add("WRONG", variant, dtype, sample, said)

    def wide(self, sample, inputs=()):
        """The arguments of a call in float64, and their leaves: what float32 rounds away in PyTorch is no
        measure of ours."""
        torch, doubles = self.torch, {}

        def doubled(value):
            if not isinstance(value, torch.Tensor):
                return value
            if id(value) not in doubles:
                dtype = {torch.float32: torch.float64, torch.complex64: torch.complex128}.get(value.dtype)
                copy = value.detach().clone().to(dtype or value.dtype)
                doubles[id(value)] = copy.requires_grad_(value.requires_grad)
            return doubles[id(value)]

        copied = sample.transform(doubled)
        return ((copied.input, *copied.args), copied.kwargs), [doubles[id(t)] for t in inputs]

    def slopes(self, module, function, sample, args, inputs):
        """Gradients by a fixed cotangent of every result that has one."""
        args, kwargs = args or ((sample.input, *sample.args), sample.kwargs)
        process = sample.output_process_fn_grad
        result = function(*args, **kwargs)
        result = (with_ours(process, self.fb) if module is self.fb else process)(result)
        outputs = [r for r in leaves(result) if hasattr(r, "detach") and r.requires_grad]
        if not outputs:
            return None
        cotangents = []
        for out in outputs:
            numbers = np.random.default_rng(0).uniform(0.5, 1.5, tuple(out.shape))
            if name_of(out.dtype).startswith("complex"):
                numbers = numbers + 1j * np.random.default_rng(1).uniform(0.5, 1.5, tuple(out.shape))
            kwargs = {"device": self.device} if module is self.fb else {}
            cotangents.append(module.tensor(numbers, dtype=out.dtype, **kwargs))
        return module.autograd.grad(outputs, inputs, cotangents, allow_unused=True)

    def errors(self) -> None:
        if self.op.error_inputs_func is None:
            return
        for case in self.op.error_inputs("cpu"):
            if self.op.name == "multinomial" and not case.sample_input.input.is_floating_point():
                continue  # of memory that nobody wrote: ours takes whole weights where they happen to be any
            sample = case.sample_input
            try:
                got, want, _ = self.both(sample, self.op.op, self.function)
            except (Skipped, AttributeError):
                continue
            if not isinstance(got, Exception):  # what is raised where the device computes
                got = attempt(lambda: [array_of(v) for v in leaves(got) if hasattr(v, "detach")], (), {})  # noqa: B023
            if not isinstance(want, Exception):
                continue
            if NUMBERS.search(str(want)):  # the array API's rule, and ours: a number is a tensor of no dims
                continue
            if not isinstance(got, Exception):
                self.add("ACCEPTED", "error", short(want)[:9], sample, f"PyTorch: {short(want)}")
            elif not isinstance(got, type(want)):
                told = f"{short(got)} | PyTorch: {short(want)}"
                self.add("CLASS", "error", type(want).__name__[:9], sample, told)


def drops(sample: Any) -> bool:
    """Whether attention draws what it drops: an argument, or the 11th of multi_head_attention_forward."""
    p = sample.kwargs.get("dropout_p", sample.args[9] if len(sample.args) > 11 else 0)
    return isinstance(p, float) and p > 0


class Absent(AttributeError):
    """A method that is not here."""


def absent(name: str) -> Callable:
    def call(*args, **kwargs):
        raise Absent(f"Tensor.{name} is not here")

    return call


def attempt(function: Callable, args: tuple, kwargs: dict) -> Any:
    try:
        return function(*args, **kwargs)
    except Exception as e:
        return e


def short(e: BaseException) -> str:
    return f"{type(e).__name__}: {str(e).strip().splitlines()[0] if str(e).strip() else ''}"[:LENGTH]


def describe(sample: Any) -> str:
    """A sample in short: shapes for tensors that are large, values for small ones."""
    parts = [said(v) for v in (sample.input, *sample.args)]
    parts += [f"{name}={said(v)}" for name, v in sample.kwargs.items()]
    return f"({', '.join(parts)})"[: 2 * LENGTH]


def said(value: Any) -> str:
    if hasattr(value, "detach"):
        if value.numel() <= 4 and value.layout is _strided():
            return f"{value.detach().tolist()}".replace(" ", "")
        return f"{name_of(value.dtype)}{tuple(value.shape)}"
    if isinstance(value, (tuple, list)):
        return f"[{', '.join(map(said, value))}]"
    return repr(value)


# --- shares, each in a process ---


def work(device: str) -> None:
    """Run the operations that standard input names, one a line, and print an outcome for each."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is no outcome
    known = operations()
    runner = Runner(device)
    print(json.dumps(list(known)), file=out, flush=True)
    for line in sys.stdin:
        if line.strip() == os.environ.get("FLAMBEAU_OPINFO_DIES"):  # a test of what becomes of it
            os.abort()
        started = time.process_time()
        try:
            outcome = runner.run(known[line.strip()])
        except Exception as e:
            outcome = Outcome(line.strip(), [Finding("CRASH", "runner", "", "", short(e))])
        outcome.seconds = round(time.process_time() - started, 2)
        print(json.dumps(asdict(outcome)), file=out, flush=True)


class Worker:
    """A process that runs operations; a new one comes for one that died."""

    def __init__(self, device: str, environment: dict[str, str]):
        self.device, self.environment = device, environment
        self.start()

    def start(self) -> None:
        command = [sys.executable, "-W", "ignore", "-m", "helpers.opinfo", "--work", "--device", self.device]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True, env=self.environment
        )
        self.lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self.read, args=(self.process, self.lines), daemon=True).start()
        self.names: list[str] = json.loads(self.lines.get(timeout=START))

    @staticmethod
    def read(process: Any, lines: queue.Queue) -> None:
        for line in process.stdout:
            lines.put(line)
        lines.put("")

    def run(self, name: str) -> Outcome:
        self.process.stdin.write(f"{name}\n")
        self.process.stdin.flush()
        try:
            line, fault = self.lines.get(timeout=TIME), "the process died"
        except queue.Empty:
            line, fault = "", f"no end within {TIME:.0f} s"
        if line:
            told = json.loads(line)
            told["findings"] = [Finding(**f) for f in told["findings"]]
            return Outcome(**told)
        self.stop()
        fault += f" (exit code {self.process.returncode})"
        self.start()
        return Outcome(name, [Finding("CRASH", "process", "", "", fault)])

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


def environment_of(kernels: str = "") -> dict[str, str]:
    tests = Path(__file__).parents[1]
    path = os.pathsep.join([str(tests.parent / "src"), str(tests)])
    return {**os.environ, "PYTHONPATH": path, **({"FLAMBEAU_KERNELS": kernels} if kernels else {})}


def run(choose: Callable, device: str = "cpu", kernels: str = "") -> Iterator[Outcome]:
    """The outcome of each operation that `choose` leaves of all names, run in a process of its own."""
    worker = Worker(device, environment_of(kernels))
    try:
        yield from map(worker.run, choose(worker.names))
    finally:
        worker.stop()


def names() -> list[str]:
    """All names of the database, as a process of its own imports it."""
    worker = Worker("cpu", environment_of())
    worker.stop()
    return worker.names


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--names", default="", help="separated by commas; all without it")
    parser.add_argument("--kernels", default="")
    parser.add_argument("--json", action="store_true", help="a line of JSON for each operation")
    parser.add_argument("--share", default="0/1", help="every n-th, from the first")
    parser.add_argument("--work", action="store_true")
    options = parser.parse_args()
    if options.work:
        work(options.device)
        return
    first, step = map(int, options.share.split("/"))
    names = options.names.split(",")

    def choose(all_names: list[str]) -> list[str]:
        return names if options.names else all_names[first::step]

    for outcome in run(choose, options.device, options.kernels):
        if options.json:
            print(json.dumps(asdict(outcome)), flush=True)
            continue
        kinds = ", ".join(outcome.kinds) or "PASS"
        print(f"{outcome.name}: {kinds} ({outcome.tried} calls, {outcome.seconds} s)", flush=True)
        for finding in outcome.findings:
            print(f"  {finding.text}")


if __name__ == "__main__":
    main()
