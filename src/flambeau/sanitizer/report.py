"""The findings, as rows that print as text."""

from dataclasses import asdict, dataclass, field
from typing import Any

from ..core.printing import count_text


@dataclass(frozen=True)
class KernelFault:
    """A fault of a kernel.

    kind: "out of bounds read", "out of bounds write", "uninitialised", "race", "non-uniform barrier",
    "float16 overflow", "nan", "inf". kernel: its name. template, template_line: the place in the templates,
    or in a custom op's text. line, text: of the kernel's WGSL. group, thread: the first workgroup and thread
    (x, y, z) with the fault; None if it was found without running. threads: how many had it. told: the
    message. python: the file and line of the value that the kernel stores.
    """

    kind: str
    kernel: str
    template: str
    template_line: int
    line: int
    text: str
    told: str
    python: str = ""
    group: tuple[int, int, int] | None = None
    thread: tuple[int, int, int] | None = None
    threads: int = 0

    def __str__(self) -> str:
        lines = [f"{self.kind}: {self.kernel}: {self.told}"]
        place = f"{self.template}:{self.template_line}, line {self.line} of the kernel"
        lines.append(f"  {place}: {self.text}")
        if self.group is not None:
            many = f", the first of {self.threads:,} threads" if self.threads > 1 else ""
            lines.append(f"  workgroup {self.group}, thread {self.thread}{many}")
        lines += [f"  {self.python}"] if self.python else []
        return "\n".join(lines)


@dataclass
class Sanitized:
    """The result of `sanitize`: faults, the number of kernels and of their runs, the parts that were not
    watched, with reasons, and the function's result."""

    faults: list[KernelFault] = field(default_factory=list[KernelFault])
    kernels: int = 0
    runs: int = 0
    skipped: list[str] = field(default_factory=list[str])
    result: Any = None

    @property
    def ok(self) -> bool:
        """Whether no fault was found."""
        return not self.faults

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        faults = [asdict(f) for f in self.faults]
        return {"faults": faults, "kernels": self.kernels, "runs": self.runs, "skipped": self.skipped}

    def __str__(self) -> str:
        count = f"{count_text(self.kernels, 'kernel')}, {count_text(self.runs, 'run')}"
        summary = count_text(len(self.faults), "fault") if self.faults else "no fault"
        lines = [f"{count}: {summary}", *map(str, self.faults)]
        return "\n".join([*lines, *(f"not watched: {s}" for s in self.skipped)])

    __repr__ = __str__


@dataclass(frozen=True)
class Wrong:
    """A wrong value.

    stage: "op" (one op alone), "fusion" (a kernel that computes several), "cache" (a cached plan or pipeline
    of something else), "gradient" (an op's rule), "replay" (a recording). op: its name. call: its inputs and
    result. line: the Python file and line that made it. gradient_of: the op whose gradient it is part of, or
    "". kernel, template: those that computed it. apart: the elements that differ.
    """

    stage: str
    op: str
    call: str
    told: str
    line: str = ""
    gradient_of: str = ""
    kernel: str = ""
    template: str = ""
    apart: Any = None
    serial: int = -1

    def __str__(self) -> str:
        origin = f" in the gradient of {self.gradient_of}" if self.gradient_of else ""
        summary = "; ".join(str(x) for x in (self.apart, self.told) if x)
        lines = [f"{self.stage}: {self.call}{origin}: {summary}"]
        if self.line:
            lines.append(f"  {self.line}")
        if self.kernel:
            lines.append(f"  kernel {self.kernel} ({self.template})")
        return "\n".join(lines)


@dataclass
class Checked:
    """The result of `check`: wrong values in the order of the call; how many values, kernels and gradients
    were compared; whether a recording was replayed; and the function's result."""

    wrong: list[Wrong] = field(default_factory=list[Wrong])
    values: int = 0
    gradients: int = 0
    kernels: set[Any] = field(default_factory=set[Any])
    replayed: bool = False
    result: Any = None

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.wrong

    @property
    def first(self) -> Wrong | None:
        """The first wrong value."""
        return self.wrong[0] if self.wrong else None

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        rows = [asdict(w) | {"apart": str(w.apart) if w.apart else ""} for w in self.wrong]
        counts = {"values": self.values, "gradients": self.gradients, "kernels": len(self.kernels)}
        return {"wrong": rows, **counts, "replayed": self.replayed}

    def __str__(self) -> str:
        counts = f"{self.values:,} values, {len(self.kernels):,} kernels, {self.gradients:,} gradients"
        summary = f"{counts}, {'replayed' if self.replayed else 'not replayed'}"
        many = len(self.wrong)
        return "\n".join([f"{summary}: {f'{many} wrong' if many else 'all right'}", *map(str, self.wrong)])

    __repr__ = __str__
