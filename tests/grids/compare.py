"""One case of a grid: its arguments, torch's results in float64, and where ours differ on a device."""

from collections.abc import Callable
from contextlib import nullcontext
from functools import cached_property
from typing import Any
from zlib import crc32

import numpy as np
from helpers.compare import values
from helpers.kernels import planned_for

import flambeau as fb
from flambeau.core.op import COMPOSED, OPS
from flambeau.device import get_device

from .draw import Draw, Still
from .grid import Grid

KERNELS = ("software", "gpu", "cpu")  # kernels for a software adapter, for a real GPU, and NumPy
HALVES = {"float16": 2.0**-11, "bfloat16": 2.0**-8}  # their rounding
SPACES = ("nn.functional.", "", "special.", "Tensor.")
PREFIXES = ("linalg_", "fft_", "signal_windows_")


class Refused(Exception):
    """torch takes no such arguments."""


def rounded(a: np.ndarray, dtype: str) -> np.ndarray:
    """Floats as a half precision has them, in float32."""
    if dtype == "float16":
        return a.astype("f2").astype("f4")
    bits = a.astype("f4").view("u4")
    return (bits & np.uint32(0xFFFF0000)).view("f4")


def mapped(f: Callable, given: Any) -> Any:
    """Arguments with f of each array in their place, in lists and tuples too."""
    if isinstance(given, np.ndarray | np.generic):
        return f(np.asanyarray(given))
    if isinstance(given, list | tuple):
        return type(given)(mapped(f, g) for g in given)
    return {k: mapped(f, g) for k, g in given.items()} if isinstance(given, dict) else given


def told(given: Any) -> str:
    """An argument as an error tells it."""
    if isinstance(given, np.ndarray | np.generic):
        return f"{given.dtype}{list(given.shape)}"
    if isinstance(given, list | tuple):
        inner = ", ".join(map(told, given))
        return f"[{inner}]" if isinstance(given, list) else f"({inner}{',' * (len(given) == 1)})"
    return repr(given)


def flat(result: Any) -> list:
    return [t for r in result for t in flat(r)] if isinstance(result, list | tuple) else [result]


def found_in(torch, name: str) -> Callable:
    """torch's function of an op's name."""
    for prefix in PREFIXES:
        if name.startswith(prefix):
            name = prefix[:-1].replace("_", ".") + "." + name.removeprefix(prefix)
    for space in SPACES:
        owner = torch
        for part in (space + name).split("."):
            owner = getattr(owner, part, None)
        if owner is not None:
            return owner
    raise AttributeError(f"torch has no {name}")


class Case:
    """Case `number` of an op's grid by a seed; `repr` is the call, `key` repeats it."""

    def __init__(self, name: str, row: Grid, seed: int, number: int):
        self.name, self.row, self.key = name, row, f"{seed}/{name}/{number}"
        seeds = (seed, crc32(name.encode()), number)
        self.args, self.kwargs = row.draw(Draw(*seeds))
        self.style = Draw(*seeds, 1)  # apart, so that a change of styles leaves the arguments
        self.half = self.style.one(*HALVES) if row.half and self.style.maybe(0.12) else ""
        self.alone = self.style.maybe()  # values without gradients first: other plans
        if self.half:
            self.args, self.kwargs = (mapped(self._rounded, g) for g in (self.args, self.kwargs))

    def __repr__(self) -> str:
        given = [*map(told, self.args), *(f"{k}={told(v)}" for k, v in self.kwargs.items())]
        return f"{self.name}({', '.join(given)})" + (f" in {self.half}" if self.half else "")

    def _rounded(self, a):
        if a.dtype.kind != "f":
            return a
        return rounded(np.asarray(a), self.half).view(type(a))

    def weights(self, i: int, shape) -> np.ndarray:
        """What a result's elements count in the sum whose slopes are taken."""
        rng = np.random.default_rng([crc32(self.key.encode()), i])
        found = np.asarray(rng.uniform(0.5, 1.5, shape) * rng.choice([-1, 1], shape))
        return np.asarray(rounded(found.astype("f4"), "bfloat16"))  # exact in every float dtype

    def shaken(self, turn: int) -> Callable:
        """`weights`, each off by as much as rounding may make it."""
        rng = np.random.default_rng([crc32(self.key.encode()), turn])
        off = HALVES.get(self.half, 2.0**-24)
        return lambda i, shape: self.weights(i, shape) * (1.0 + off * rng.choice([-1, 1], shape))

    # --- torch ---

    def by_torch(self, torch, dtype, weights: Callable | None = None) -> list[np.ndarray]:
        """Results, then slopes by each float that is not Still."""
        leaves, weights = [], weights or self.weights

        def given(a):
            if a.dtype.kind == "f":
                t = torch.from_numpy(np.array(a)).to(dtype)
                if self.row.slopes and not isinstance(a, Still):
                    leaves.append(t.requires_grad_())
                return t
            t = torch.from_numpy(np.array(a))
            return t.long() if a.dtype == "i4" else t

        f = self.row.theirs
        args, kwargs = mapped(given, self.args), mapped(given, self.kwargs)
        call = (lambda *a, **kw: f(torch, *a, **kw)) if callable(f) else found_in(torch, f or self.name)
        try:
            ys = flat(call(*args, **kwargs))
        except (RuntimeError, ValueError, TypeError, IndexError, NotImplementedError) as e:
            raise Refused(f"{type(e).__name__}: {e}") from e
        ys = [y if torch.is_tensor(y) else torch.tensor(y) for y in ys]
        smooth = [(i, y) for i, y in enumerate(ys) if y.requires_grad]
        if smooth:
            weighted = ((y * torch.from_numpy(weights(i, y.shape)).to(dtype)).sum() for i, y in smooth)
            sum(weighted).backward()
        slopes = [torch.zeros_like(t) if t.grad is None else t.grad for t in leaves]
        found = (t.detach() for t in [*ys, *slopes])
        return [(t.float() if t.dtype is torch.bfloat16 else t).numpy() for t in found]

    def expect(self, torch) -> None:
        """What is right, by torch in float64, and how far each may be off, by its own in float32."""
        self.want = self.by_torch(torch, torch.float64)
        try:
            near = self.by_torch(torch, torch.float32)
        except Refused:
            near = self.want
        tol = 16 * HALVES[self.half] if self.half else self.row.tol
        self.bounds = []
        for want, other in zip(self.want, near):
            with np.errstate(all="ignore"):
                off, sizes = abs(want.astype("f8") - other), abs(want[np.isfinite(want)].astype("f8"))
            off = off[np.isfinite(off)]
            self.bounds.append(tol * max(sizes.max(initial=0), self.row.least) + 8 * off.max(initial=0))

    def allow_rounding(self, torch) -> None:
        """Let a slope be as far off as its terms' rounding may bring it: where they cancel each other that is
        much beside their sum, and torch's float32 may be close to it by chance."""
        for turn in range(4):
            moved = self.by_torch(torch, torch.float64, self.shaken(turn))
            for k, (want, other) in enumerate(zip(self.want, moved)):
                with np.errstate(all="ignore"):
                    off = abs(want.astype("f8") - other)
                self.bounds[k] = max(self.bounds[k], 8 * off[np.isfinite(off)].max(initial=0))

    # --- ours ---

    def _given(self, device, leaves: list):
        """Arrays as tensors: as they are, made by an op, transposed, or a part of a larger one."""
        style = Draw(crc32(self.key.encode()))

        def given(a):
            kind = style.one("plain", "plain", "made", "transposed", "part")
            smooth = a.dtype.kind == "f"
            order = tuple(int(i) for i in style.rng.permutation(a.ndim))
            back: Callable = lambda t: t  # noqa: E731
            there: Callable = back
            if kind == "made" and smooth:
                a, back, there = (a * 2).view(type(a)), (lambda t: t * 0.5), (lambda t: t * 2)
            elif kind == "transposed" and a.ndim:
                inverse = tuple(int(i) for i in np.argsort(order))
                a, back = np.ascontiguousarray(a.transpose(order)).view(type(a)), lambda t: t.permute(inverse)
                there = back
            elif kind == "part" and a.ndim:
                wide = np.concatenate([a, a[..., :1], a[..., :1]], -1).view(type(a))
                a, back = wide, (lambda t: t[..., : t.shape[-1] - 2])
                there = back
            x = fb.tensor(np.asarray(a), device=device)
            if smooth and self.half:
                x = x.to(getattr(fb, self.half))
            if smooth and self.row.slopes and not isinstance(a, Still):
                leaves.append((x.requires_grad_(), there))
            return back(x)

        return given

    def by_us(self, device) -> list[np.ndarray]:
        leaves: list = []
        given = self._given(device, leaves)
        args, kwargs = mapped(given, self.args), mapped(given, self.kwargs)
        f = self.row.ours or OPS.get(self.name) or COMPOSED[self.name]
        if not leaves and not any(isinstance(a, fb.Tensor) for a in flat(list(args))):
            kwargs["device"] = device  # it is made of numbers alone
        ys = flat(f(*args, **kwargs))
        ys = [y if isinstance(y, fb.Tensor) else fb.tensor(y, device=device) for y in ys]
        found = values(*ys) if self.alone else []
        smooth = [(i, y) for i, y in enumerate(ys) if y.requires_grad]
        grads: Any = {}
        if smooth:
            weighted = [(y * fb.tensor(self.weights(i, y.shape), device=device)).sum() for i, y in smooth]
            grads = sum(weighted[1:], weighted[0]).backward()
        slopes = [
            there(grads[x]) if x in grads else fb.zeros(*there(x).shape, device=device) for x, there in leaves
        ]
        both = values(*([] if found else ys), *slopes)
        return [*found, *both]

    def difference(self, kernels: str) -> str:
        """What of ours is not as it should be, or an empty text."""
        device = get_device("cpu" if kernels == "cpu" else None)
        with nullcontext() if kernels == "cpu" else planned_for(device, software=kernels == "software"):
            try:
                found = self.by_us(device)
            except Exception as e:  # of any type: torch took the arguments
                return f"{type(e).__name__}: {e}"
        if len(found) != len(self.want):
            return f"{len(found)} results and slopes, not {len(self.want)}"
        for i, (got, want, bound) in enumerate(zip(found, self.want, self.bounds)):
            if wrong := self._wrong(got, want, bound):
                count = len(self.want)
                return f"result or slope {i + 1} of {count}: {wrong}"
        return ""

    def _wrong(self, got, want, bound) -> str:
        if got.shape != want.shape:
            return f"shape {got.shape}, not {want.shape}"
        if (got.dtype.kind == "f") != (want.dtype.kind == "f"):
            return f"dtype {got.dtype}, not {want.dtype}"
        got, want = got.astype("f8"), want.astype("f8")
        most = {"float16": 6e4}.get(self.half, 3.4e38)
        with np.errstate(all="ignore"):
            near = (abs(got - want) <= bound) | (got == want) | (np.isnan(got) & np.isnan(want))
            near |= (abs(want) > most) & ((got == np.sign(want) * np.inf) | (abs(got) > most / 2))
        if near.all():
            return ""
        at = tuple(int(i) for i in np.argwhere(~near)[0])
        share = f"{(~near).sum():,} of {near.size:,} elements"
        return f"{share}, at {list(at)} {got[at]:.8g}, not {want[at]:.8g} within {bound:.1e}"

    @cached_property
    def repeat(self) -> str:
        return f"FLAMBEAU_GRID_CASE={self.key} ./run test --torch -k one_case"
