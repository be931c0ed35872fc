"""Writes src/flambeau/torch/names.bin: the modules and names of the installed torch, for `flambeau.torch`.

python scripts/write_torch_names.py (torch 2.13.0). `flambeau.torch` answers an import of any of these names:
by ours, or by a placeholder that raises when it is called. One line a module, compressed by zlib:

    torch.nn.init|c:NAME ...|f:NAME ...|o:NAME ...|v:NAME=LITERAL ...|r:NAME ...|m:NAME=MODULE ...|x:NAME=PATH

c: classes, f: functions, o: other objects, v: constants, r: names that another module of the list defines,
m: modules under another name, x: what is imported from Python's library or another package, as MODULE:NAME.
"""

import contextlib
import importlib
import inspect
import io
import pkgutil
import sys
import types
import warnings
import zlib
from pathlib import Path

OUT = Path(__file__).resolve().parents[1] / "src" / "flambeau" / "torch" / "names.bin"

# Only the names of these modules are kept, not what is in them: compilers, exporters and tools, which no
# library reads at import.
_CLOSED = """
torch._inductor torch._dynamo torch._functorch torch._export torch.export torch.fx.experimental torch._refs
torch._prims torch._prims_common torch._decomp torch._numpy torch._vendor torch._native torch._strobelight
torch._lazy torch._library torch.ao torch.onnx torch.distributed torch.testing torch.utils.benchmark
torch.utils.bottleneck torch.utils.tensorboard torch.utils.hipify torch.utils.viz torch.utils.data.datapipes
torch.utils.model_dump torch.jit torch.package torch.contrib torch.backends torch.quantization
torch.nn.quantized torch.nn.quantizable torch.nn.qat torch.nn.intrinsic torch.numa torch.monitor
torch.profiler torch.mtia torch.xpu torch.cuda torch.masked torch.sparse torch.nested torch.utils._sympy
torch._C torch._higher_order_ops torch._subclasses torch._logging torch.fx torch._meta_registrations
torch._ops torch._torch_docs torch._tensor_docs torch._lowrank torch._linalg_utils torch.utils._cxx_pytree
torch.utils.cpp_extension torch.utils.flop_counter torch._dispatch
"""
# and of these of them, what is in themselves: libraries import from them
_OPEN = """
torch.ao torch.ao.quantization torch.onnx torch.export torch.distributed torch.distributed.fsdp
torch.testing torch.distributed.tensor torch.distributed.distributed_c10d torch.distributed.device_mesh
torch.distributed.algorithms torch.distributed.checkpoint torch.distributed.optim torch.distributed.rpc
torch.distributed.nn torch.distributed.utils torch.distributed.tensor.parallel torch._dynamo torch._inductor
torch._functorch torch.jit torch.cuda torch.cuda.amp torch.cuda.nvtx torch.cuda.memory torch.cuda.random
torch.cuda.graphs torch.cuda.streams torch.xpu torch.mtia torch.profiler torch.backends torch.sparse
torch.nested torch.masked torch.quantization torch._C torch._C._nn torch._C._functions
torch._C._distributed_c10d torch._higher_order_ops torch._subclasses torch._subclasses.fake_tensor
torch._logging torch.fx torch.fx.experimental torch.fx.experimental.proxy_tensor
torch.fx.experimental.symbolic_shapes torch.backends.cuda torch.backends.cudnn torch.backends.mkl
torch.backends.mkldnn torch.backends.mps torch.backends.openmp torch.backends.opt_einsum
torch.utils.tensorboard torch.utils.benchmark torch.testing._comparison torch._library torch.fx.graph
torch.fx.graph_module torch.fx.node torch.fx.proxy torch.fx.interpreter torch.fx.passes
torch.utils.data.datapipes torch.nn.quantized torch._export torch.masked.maskedtensor
torch._dynamo.eval_frame torch._dynamo.config torch._inductor.config torch.nn.intrinsic
torch.utils.cpp_extension torch.package torch.fx._symbolic_trace
"""
CLOSED, OPEN = _CLOSED.split(), frozenset(_OPEN.split())
CONSTANTS = bool | int | str | float | type(None)


def modules() -> dict[str, types.ModuleType | None]:
    """Each module of torch by name; None for one that can't be imported here."""
    names = {
        m.name for m in pkgutil.walk_packages(sys.modules["torch"].__path__, "torch.", onerror=lambda _: None)
    }
    names |= {n for n in sys.modules if n.startswith("torch._C") or n in ("torch.classes", "torch.ops")}
    out: dict[str, types.ModuleType | None] = {"torch": sys.modules["torch"]}
    for name in sorted(n for n in names if "._internal" not in n and "__main__" not in n):
        out[name] = None
        if is_open(name):
            with contextlib.suppress(BaseException), contextlib.redirect_stdout(io.StringIO()):
                out[name] = importlib.import_module(name)
    return out


def is_open(name: str) -> bool:
    return name in OPEN or not any(name == c or name.startswith(c + ".") for c in CLOSED)


def path_of(value: object, name: str) -> str:
    """MODULE or MODULE:NAME of what comes from outside of torch, "" for what can't be found there."""
    if isinstance(value, types.ModuleType):
        own = str(vars(value).get("__name__"))
        return own if own in sys.modules and not own.startswith("torch") else ""
    homes = (str(getattr(value, "__module__", "") or ""), "typing", "collections.abc", "multiprocessing")
    for home, last in ((h, n) for h in homes for n in (name, str(getattr(value, "__name__", "")))):
        if home in sys.modules and not home.startswith("torch") and (home != "builtins" or last != name):
            found = vars(sys.modules[home]).get(last)
            if found is value or (found is not None and found == value):
                return f"{home}:{last}"
    return ""


def kind_of(value: object, name: str, module: str, known: dict[str, types.ModuleType | None]) -> str:
    """The letter of a name, "" for one that is left out."""
    if isinstance(value, types.ModuleType):
        own = str(vars(value).get("__name__"))
        if own in known:
            return "" if own == f"{module}.{name}" else "m"
        return "x" if path_of(value, name) else ""
    if type(value) in CONSTANTS.__args__:  # not a string of a class of its own
        return "v" if len(repr(value)) < 60 and "/" not in repr(value) else "o"
    home = str(getattr(value, "__module__", "") or "")
    is_class, is_function = inspect.isclass(value), callable(value)
    if not home.startswith("torch") and not module.startswith("torch._C"):
        if path_of(value, name):
            return "x"
        if type(value).__module__ in ("typing", "types") and not is_class:  # an alias for annotations
            return "o"
        if is_class or is_function:
            return "" if home else "f"
    is_elsewhere = home != module and not module.startswith("torch._C") and known.get(home) is not None
    if is_elsewhere and (is_class or is_function):
        return "r" if getattr(known[home], name, None) is value else "c" if is_class else "f"
    if type(value).__module__ in ("typing", "types", "collections", "logging", "builtins") and not is_class:
        return "f" if is_function else "o"
    return "c" if is_class else "f" if is_function else "o"


def _of_class(module: types.ModuleType) -> dict[str, object]:
    """The settings of a module of a class of its own, such as torch.backends.cudnn."""
    out: dict[str, object] = {}
    for kind in type(module).__mro__:
        for key in vars(kind) if kind not in (types.ModuleType, object) else ():
            with contextlib.suppress(Exception):
                out.setdefault(key, getattr(module, key))
    return out


def line_of(name: str, module: types.ModuleType | None, known: dict[str, types.ModuleType | None]) -> str:
    if module is None:
        return name
    kinds: dict[str, list[str]] = {}
    public = set(vars(module).get("__all__", ()))
    inner = (
        vars(vars(module)["m"]) if hasattr(module, "m") else {}
    )  # the module that has settings as properties
    for key, value in sorted({**inner, **_of_class(module), **vars(module)}.items()):
        if (
            key.startswith("__")
            or not key.isidentifier()
            or (letter := kind_of(value, key, name, known)) == ""
        ):
            continue
        if letter in "rm" and "_" in {part[0] for part in name.split(".")} and key not in public:
            continue
        if letter == "x":
            text = f"={path_of(value, key)}"
        else:
            text = f"={value!r}" if letter == "v" else f"={vars(value)['__name__']}" if letter == "m" else ""
        kinds.setdefault(letter, []).append(key + text)
    return "|".join([name, *(f"{k}:" + "\t".join(names) for k, names in sorted(kinds.items()))])


def main() -> None:
    warnings.simplefilter("ignore")
    known = modules()
    text = "\n".join(line_of(name, module, known) for name, module in known.items())
    OUT.write_bytes(zlib.compress(text.encode(), 9))
    print(f"{OUT}: {len(known)} modules, {len(text):,} characters, {OUT.stat().st_size:,} bytes")


if __name__ == "__main__":
    importlib.import_module("torch")
    main()
