"""Writes docs/coverage.md and docs/reference.md from the op table, its test rows and names.toml.

python scripts/write_docs.py            # writes both
python scripts/write_docs.py --check    # exits with 1 if one is not current
"""

import re
import sys
import tomllib
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import Mock, patch

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

import numpy as np  # noqa: E402
from helpers import opinfo  # noqa: E402
from rows import ROWS  # noqa: E402

import flambeau as fb  # noqa: E402
from flambeau import functions  # noqa: E402
from flambeau.core.help import doc_of  # noqa: E402
from flambeau.core.node import toposort  # noqa: E402
from flambeau.core.op import COMPOSED, OPS, Op  # noqa: E402
from flambeau.ops.table import Table  # noqa: E402
from flambeau.site import reference as public_names  # noqa: E402
from flambeau.site.reference import called, members, signature_of  # noqa: E402, F401 - called: for tests

COMMAND = "python scripts/write_docs.py"
NAMES = tomllib.loads((ROOT / "scripts/names.toml").read_text(encoding="utf-8"))
PREFIXES = ("linalg_", "fft_", "signal_windows_")
KINDS = {"f": "float", "i": "int", "u": "uint", "b": "bool", "c": "complex"}
GRADIENTS = {0: "none", 1: "first", 2: "second"}
# how the planner treats a kind of op (docs/internals/ops.md)
RUNS = {
    "elementwise": "fused", "movement": "view", "source": "computed where used", "gather": "fused load",
    "reduce": "kernel with epilogue", "contract": "kernel with epilogue", "fold": "kernel with epilogue",
    "opaque": "opaque kernels", "leaf": "buffer", "composite": "composed",
}  # fmt: skip
QUIET = {"elementwise", "movement", "source", "leaf", "composite", "gather"}  # need no kernel of their own

# functions that take an op's arguments in several ways, and then call it
CALLERS = {functions.where: OPS["where"], fb.Tensor.where: OPS["where"]}


def spaces() -> dict[str, dict[str, Any]]:
    """Each namespace's operations by name."""
    tensor = {name: getattr(fb.Tensor, name) for name in dir(Table) if not name.startswith("_")}
    tensor["where"] = fb.Tensor.where
    return {
        "fb": {name: getattr(functions, name) for name in functions.__all__},
        "Tensor": tensor,
        "nn.functional": {name: getattr(fb.nn.functional, name) for name in fb.nn.functional.__all__},
        "linalg": {name: getattr(fb.linalg, name) for name in fb.linalg.__all__},
        "fft": {name: getattr(fb.fft, name) for name in fb.fft.__all__},
        "special": {name: getattr(fb.special, name) for name in fb.special.__all__},
        "signal.windows": {n: getattr(fb.signal.windows, n) for n in fb.signal.windows.__all__},
    }


def name_of(entry: Any) -> str:
    """The op table's name of an entry; "" for a function that is not an op."""
    name = entry.name if isinstance(entry, Op) else getattr(entry, "__name__", "")
    return name if (OPS.get(name) or COMPOSED.get(name)) is entry else ""


def public() -> dict[str, tuple[Any, dict[str, list[str]]]]:
    """Table name: (entry, its names in each namespace) of every public operation."""
    found: dict[str, tuple[Any, dict[str, list[str]]]] = {}
    for space, functions_by_name in spaces().items():
        for name, function in functions_by_name.items():
            entry = CALLERS.get(function, function)
            own = name_of(entry)
            if own:
                found.setdefault(own, (entry, {}))[1].setdefault(space, []).append(name)
    return dict(sorted(found.items(), key=lambda item: title(item[0])))


def title(name: str) -> str:
    """`linalg_inv` as `linalg.inv`."""
    for prefix in PREFIXES:
        if name.startswith(prefix):
            return prefix[:-1].replace("_", ".") + "." + name.removeprefix(prefix)
    return name


# --- docs/coverage.md ---


def where(names: dict[str, list[str]], own: str) -> str:
    """Namespaces, and other names in brackets."""
    told = []
    for space, found in names.items():
        others = sorted(n for n in found if n not in (own, title(own).rpartition(".")[2]))
        same = len(others) < len(found)
        told.append(space + (f" ({', '.join(others)})" if others else "") if same else f"{space}.{others[0]}")
    return ", ".join(told)


def dtypes(name: str, entry: Any) -> str:
    kinds = entry.dtypes or {i.kind for i in ROWS[name].inputs[:1]} | set(ROWS[name].kinds)
    return " ".join(word for kind, word in KINDS.items() if kind in kinds)


def kernels(nodes: list[Any]) -> set[str]:
    """The names of the ops that need a separate kernel."""
    return {n.op.name.strip("_") for n in nodes if n.op.kind not in QUIET}


def runs(name: str, entry: Any) -> str:
    """How an operation runs. For a composed one: the kernels that its row's graph needs or, if it computes
    everything itself, those that ran."""
    if isinstance(entry, Op):
        return RUNS[entry.kind]
    row, rng, cpu = ROWS[name], np.random.default_rng(1), fb.tensor(0.0, device="cpu").device
    given = [fb.tensor(i.make(rng), device=cpu) for i in row.inputs]
    with patch.object(cpu, "run", Mock(wraps=cpu.run)) as run:
        result = row.compute(name, *given)
    ran = [call.args[0] for call in run.call_args_list]
    wanted = kernels(toposort([result.node])) or kernels(ran)
    return "composed: " + (", ".join(sorted(wanted)) if wanted else "fuses")


def numpy_names() -> dict[str, str]:
    table = dict(NAMES["numpy"])
    return {name: name for name in table.pop("same").split()} | table


def burn_names() -> dict[str, list[str]]:
    """Our name: Burn's names for it, if Burn's expression is one call of ours."""
    found: dict[str, list[str]] = {}
    for table in NAMES["burn"].values():
        for burn, text in table.items():
            call = re.fullmatch(
                r"(?:m|F|x|v|b|i|c|s|p|m\.linalg|m\.fft)\.(\w+)\([^()]*(\([^()]*\))?[^()]*\)", text
            )
            if call and " " not in burn:
                prefix = {"m.linalg": "linalg_", "m.fft": "fft_"}.get(text.rpartition(f".{call[1]}(")[0], "")
                found.setdefault(prefix + call[1], []).append(burn)
    return found


def coverage() -> str:
    table, numpy, burn = public(), numpy_names(), burn_names()
    lines = []
    for name, (entry, names) in table.items():
        row = ROWS[name]
        torch = NAMES["torch"].get(name, title(name))
        lines.append(
            f"| `{title(name)}` | {where(names, name)} | {GRADIENTS[row.grads]} | {dtypes(name, entry)}"
            f" | {runs(name, entry)} | {torch or '-'} | {numpy.get(name, '-')}"
            f" | {', '.join(sorted(set(burn.get(name, [])))) or '-'} |"
        )
    graded = sum(ROWS[name].grads == 2 for name in table)
    head = COVERAGE.format(
        command=COMMAND, count=len(table), graded=graded, internal=len(ROWS) - len(table),
        beyond=sum(name not in burn for name in table),
    )  # fmt: skip
    return "\n".join([head, *lines, "", *opinfo_lines(), BURN, *burn_lines(), ""])


def opinfo_lines() -> list[str]:
    """The differences from PyTorch's database of operations, with reasons."""
    table = opinfo.table()
    rows = [
        f"| {OPINFO_KINDS[kind]} | {why} | {', '.join(f'`{name}`' for name in sorted(names))} |"
        for kind, why, names in table.reasons
    ]
    passed = table.operations - len(table.names)
    private = {name for _, why, names in table.reasons if why.startswith(PRIVATE) for name in names}
    head = OPINFO.format(
        count=table.operations, passed=passed, differ=len(table.names),
        public=table.operations - len(private), private=len(private),
    )  # fmt: skip
    return [head, *rows, ""]


def burn_lines() -> list[str]:
    found = []
    for table, rows in NAMES["burn"].items():
        found += [f"\n### {table.capitalize()}\n", "| Burn | Flambeau |", "|---|---|"]
        found += [
            f"| {burn} | `{text.replace('m.', 'fb.').replace('|', chr(92) + '|')}` |"
            for burn, text in rows.items()
        ]
    return found


COVERAGE = """\
# Operations

Written by `{command}` from the op table and its test rows; a test checks that it is current.
{count} operations are public ({internal} more are parts of them). {graded} are differentiable twice,
checked by finite differences.

- **gradient**: how many times it is differentiable, as tested. "first" means that the
  first gradient is piecewise constant or a second makes no sense, "none" that the result is not a smooth
  function (comparisons, indices, draws).
- **dtypes**: the kinds it accepts, each in all its sizes: float is float32, float16 and bfloat16; int is
  int64, int32, int16 and int8; uint is uint64, uint32, uint16 and uint8; complex is complex64. For composed
  operations the tested kinds are listed.
- **runs**: *fused*: a line in the kernel that needs it. *view*: an address computation. *kernel with
  epilogue*: a kernel that includes the elementwise operations after it. *opaque kernels*: one or several
  written by hand. *composed*: of other operations; after the colon those that need separate kernels,
  "fuses" if none does.
- **torch**: torch's name; "-" if torch has no such function. **Burn**: Burn
  0.22's name if it is one call; the table at the end has all of Burn's.

| operation | in | gradient | dtypes | runs | torch | NumPy | Burn |
|---|---|---|---|---|---|---|---|"""
PRIVATE = "only PyTorch's dispatcher"  # the reason of operations without a public name begins with this
OPINFO_KINDS = {
    "ABSENT": "not here", "RAISED": "raises here", "ACCEPTED": "raises only in PyTorch",
    "CLASS": "another exception", "WRONG": "another value",
}  # fmt: skip
OPINFO = """\
## PyTorch's database of operations

PyTorch tests itself with a database of {count} operations with sample inputs and wrong calls (`op_db` of
2.13). `tests/ops/test_opinfo.py` runs them here in float32, int64, bool and complex64: values, dtypes,
shapes, gradients, methods, writes in place, strided inputs, and errors. {passed} agree in all of
these; {differ} differ as listed. {private} of those have no public name in PyTorch: without them,
{passed} of {public} agree. Three rules apply everywhere and have no row: PyTorch's float64 results are
float32 on a device without float64, numbers are accepted in place of tensors, and there is
only one memory layout (`memory_format` and `layout` have no effect).

| what differs | why | operations |
|---|---|---|"""
BURN = """\
## For users of Burn

What to write for each operation of Burn 0.22; a test runs every line.

Beyond Burn's WebGPU backend: sorts, top-k, medians, `unique`, `bincount`, `nonzero` and scans run on the
GPU, scans in linear time; scatters join by sum, product, minimum and maximum in a fixed order;
transforms of any length; every interpolation and `grid_sample` mode has a gradient; gradients of
products with zeros; second gradients; attention without materialised scores under autodiff; max and
average pools in 3 dims; deterministic results; zero-size tensors; `einsum`; and the factorisations,
solvers and norms of [linalg.md](linalg.md).
"""


# --- docs/reference.md ---

MODULES: dict[str, Any] = {name: import_module(name) for name in public_names.MODULES}


def first_sentence(entry: Any) -> str:
    return " ".join(doc_of(entry).partition("\n\n")[0].split()).replace("|", "\\|")


def line(name: str, entry: Any, first: str = "input") -> str:
    if isinstance(entry, ModuleType):
        return f"- `{name}`: a namespace."
    if not callable(entry):
        return f"- `{name}`: {entry!r}."
    meaning = first_sentence(entry)
    return f"- `{name}{signature_of(entry, first)}`" + (f": {meaning}" if meaning else "")


def reference() -> str:
    out = [REFERENCE.format(command=COMMAND)]
    for title_, module in MODULES.items():
        out += [f"\n## {title_}\n", *(line(name, entry) for name, entry in members(module).items())]
    methods = {
        name: value
        for klass in (fb.Tensor, *fb.Tensor.__mro__[1:-1])
        for name, value in vars(klass).items()
        if name[0] != "_" and name not in functions.__all__
    }
    out.append(TENSOR)
    for name, value in sorted(methods.items()):
        f = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
        if callable(f):
            out.append(
                f"- `{name}`: {first_sentence(f)}" if isinstance(value, property) else line(name, f, "")
            )
    variables = [f"| `{name}` | {meaning} |" for name, meaning in VARIABLES.items()]
    return "\n".join([*out, ENVIRONMENT, *variables, "\n## Commands\n", *commands(), ""])


def commands() -> list[str]:
    """The help of every command, as it prints."""
    import click

    from flambeau.cli import main

    out = []

    def add(command: click.Command, path: str) -> None:
        names = main.context_settings["help_option_names"]  # commands below inherit them
        context = click.Context(
            command, info_name=path, terminal_width=100, max_content_width=100, help_option_names=names
        )
        out.extend([f"### {path}\n", "```", command.get_help(context), "```\n"])
        for name, below in sorted(getattr(command, "commands", {}).items()):
            add(below, f"{path} {name}")

    add(main, "flambeau")
    return out


REFERENCE = """\
# Reference

Every public function, class, option and command, with the first sentence of its docstring. Written
from the code by `{command}`; a test checks that it is current. Names and arguments are PyTorch's.
[coverage.md](coverage.md) has the gradients and dtypes of each operation."""

TENSOR = """
## flambeau.Tensor

Functions of the package whose first argument is a tensor are methods too. The other methods:
"""
ENVIRONMENT = """
## Environment

| variable | what it does |
|---|---|"""
VARIABLES = {
    "FLAMBEAU_BACKEND": "uses only adapters of one API: `vulkan`, `metal`, `dx12` or `gl`",
    "FLAMBEAU_CACHE": "the cache folder (downloads, templates), instead of the platform's",
    "FLAMBEAU_CHECKS": "`full`: checks the indices of every kernel, also of those proven in bounds; `off`:"
    " checks none, not even a custom op's (on Dawn all or none are checked; products are twice as fast)",
    "FLAMBEAU_CUDA": "`1`: in torch mode, `torch.cuda.is_available()` is true of software adapters too",
    "FLAMBEAU_DATA": "the folder in which data sets are looked up first",
    "FLAMBEAU_DEBUG": "`1` prints each new plan and keeps tracebacks of commands, `2` also prints shaders",
    "FLAMBEAU_DEVICE": "the default device, such as `gpu:1`, `cpu` or `torch:cuda`",
    "FLAMBEAU_PARENT": "set by `flambeau launch`: the pipe by which a worker notices that the launcher ended",
    "FLAMBEAU_STORE": "set by `flambeau launch`, which serves the workers' store at `MASTER_ADDR`",
    "FLAMBEAU_TOKEN": "the secret that the workers of a run share, or a server and its clients",
    "FLAMBEAU_TUNE": "`on` measures the variants of every kernel that runs, `off` ignores measured choices",
    "FLAMBEAU_VARIANT": "`family=name,...`: forces a kernel variant wherever it fits, for tests",
    "FLAMBEAU_KERNELS": "`software` or `gpu`: uses the kernels of that class of adapters, for tests",
    "FLAMBEAU_LIMITS": "`portable` requests only the limits that WebGPU guarantees",
    "FLAMBEAU_PYODIDE": "Pyodide's npm archive (.tgz) for `flambeau web`, instead of a download",
    "FLAMBEAU_WEBGPU": "`dawn` uses Dawn instead of wgpu-native",
}

PAGES = {"docs/coverage.md": coverage, "docs/reference.md": reference}


def main(arguments: list[str]) -> int:
    stale = []
    for page, make in PAGES.items():
        text, path = make(), ROOT / page
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(page)
            if "--check" not in arguments:
                path.write_text(text, encoding="utf-8")
    print(f"{'stale' if '--check' in arguments else 'written'}: {', '.join(stale) or 'nothing'}")
    return int(bool(stale) and "--check" in arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
