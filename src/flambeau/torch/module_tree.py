"""The tree of modules with torch's names: modules and names are looked up when they are first used."""

import importlib
import sys
from collections.abc import Callable, Iterable, Sequence
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from importlib.metadata import Distribution, DistributionFinder
from pathlib import Path
from types import ModuleType
from typing import Any

from ..errors import suggest
from . import names
from .placeholders import placeholder_class, placeholder_function
from .table import MODULES, NAMES, VERSION

PACKAGE = __name__.rpartition(".")[0]  # flambeau.torch
FLAMBEAU = PACKAGE.rpartition(".")[0]
ROOT = "torch"
NOTHING: Any = object()


class TorchModule(ModuleType):
    """A module of torch: looks names up at first use, and caches them."""

    def __getattr__(self, name: str) -> Any:
        value = _look_up(self.__name__, name)
        if value is NOTHING:
            rest = "" if name.startswith("_") else suggest(name, list(names.names_of(self.__name__)))
            raise AttributeError(
                f"module {self.__name__!r} has no attribute {name!r}{rest}", name=name, obj=self
            )
        vars(self)[name] = value
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        # an import sets its parent's attribute
        if not isinstance(value, TorchModule) or _is_submodule(self.__name__, name):
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*vars(self), *names.names_of(self.__name__), *_submodules(self.__name__)})


def _submodules(module: str) -> list[str]:
    start = f"{module}."
    inside = (m.removeprefix(start) for m in names.modules() if m.startswith(start))
    return [m for m in inside if "." not in m]


def is_known(name: str) -> bool:
    """Whether torch, or the table, has a module of this name."""
    return names.is_module(name) or name in MODULES


def _is_submodule(module: str, name: str) -> bool:
    """Whether an attribute is a module: a function of its name hides one (torch.autograd.gradcheck)."""
    kind, _ = names.names_of(module).get(name, ("m", ""))
    return kind == "m" and is_known(f"{module}.{name}")


def module_of(name: str) -> Any:
    """The module of torch of a name, imported if it was not."""
    if name == ROOT:
        return root
    module = _modules.get(name)
    if module is None:
        parent, _, last = name.rpartition(".")
        owner = module_of(parent)
        module = _modules[name] = _make(name)
        setattr(owner, last, module)
    return module


def _make(name: str) -> TorchModule:
    module = TorchModule(name, f"{name}, as Flambeau has it.")
    module.__path__ = []  # a package: Python asks `TorchFinder` for modules inside
    module.__file__ = str(Path(__file__).parent.joinpath(*name.split(".")[1:], "__init__.py"))
    module.__spec__ = ModuleSpec(name, _loader, is_package=True)
    module.__loader__ = _loader
    return module


def _look_up(module: str, name: str) -> Any:
    """The value of a name of a module of torch; NOTHING if torch has none."""
    # The order matters: names with their own row, then modules, then names of our public modules, then
    # placeholders.
    if (path := NAMES.get(f"{module}.{name}")) is not None:
        return _attribute(path)
    if _is_submodule(module, name):
        return module_of(f"{module}.{name}")
    if name == "__all__":
        return [n for n in names.names_of(module) if not n.startswith("_")]
    if name.startswith("__"):
        return NOTHING
    if (kind := names.names_of(module).get(name)) is None and not names.is_closed(module):
        return NOTHING
    for source in _sources(module):
        if (value := _public(source, name)) is not NOTHING:
            return value
    return _value_of_kind(module, name, *(kind or ("c", "")))


def _sources(module: str) -> tuple[str, ...]:
    """Our modules for a module of torch: of the nearest package with a row that is not torch itself."""
    while module not in MODULES and module.count(".") > 1:
        module = module.rpartition(".")[0]
    return MODULES.get(module, ())


def _public(source: str, name: str) -> Any:
    """A public name of one of our modules; NOTHING if it has none."""
    module = importlib.import_module(FLAMBEAU if source == "." else FLAMBEAU + source)
    is_here = source.startswith(".torch.")
    public = vars(module).get("__all__") if not is_here else None
    if public is not None and name not in public and source != ".":
        return NOTHING
    value = getattr(module, name, NOTHING)
    # names that one of our modules imports from another do not count as its own
    return NOTHING if isinstance(value, ModuleType) else value


def _value_of_kind(module: str, name: str, kind: str, text: str) -> Any:
    if kind == "v":
        return names.constant(text)
    if kind == "m":
        return module_of(text)
    if kind == "x":
        value = _import_from_package(text)
        return placeholder_class(f"{module}.{name}") if value is NOTHING else value
    if kind == "r":
        for home in names.homes().get(name, ()):
            if home != module:
                return getattr(module_of(home), name)
    make = placeholder_function if kind == "f" else placeholder_class
    return make(f"{module}.{name}")


def _import_from_package(path: str) -> Any:
    """A name that torch's module imports from Python's library or another package; NOTHING if that isn't
    installed."""
    home, _, name = path.partition(":")
    try:
        owner = importlib.import_module(home)
    except ImportError:
        return NOTHING
    return getattr(owner, name, NOTHING) if name else owner


def _attribute(path: str) -> Any:
    source, _, name = path.partition(":")
    module = importlib.import_module(FLAMBEAU if source == "." else FLAMBEAU + source)
    return getattr(module, name) if name else module


class _Loader(Loader):
    """Gives the module that the tree already has."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        name = spec.name
        return module_of(ROOT + name.removeprefix(PACKAGE) if name.startswith(PACKAGE) else name)

    def exec_module(self, module: ModuleType) -> None:
        pass


class TorchFinder(DistributionFinder):
    """Answers imports of torch's modules under `torch`, if installed, and under flambeau.torch."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname == ROOT or fullname.startswith(f"{ROOT}."):
            is_ours = _installed.on and is_known(fullname)
        else:
            name = fullname.removeprefix(f"{PACKAGE}.")
            is_ours = name != fullname and is_known(f"{ROOT}.{name}")
        return ModuleSpec(fullname, _loader, is_package=True) if is_ours else None

    def find_distributions(self, context: DistributionFinder.Context | None = None) -> Iterable[Distribution]:
        """While installed, `importlib.metadata.version("torch")` is ours."""
        name = None if context is None else context.name
        return [_TorchDistribution()] if _installed.on and name in (None, ROOT) else []


class _TorchDistribution(Distribution):
    """The metadata of `torch` while it is installed."""

    def read_text(self, filename: str) -> str | None:
        files = {
            "METADATA": f"Metadata-Version: 2.1\nName: {ROOT}\nVersion: {VERSION}\n",
            "top_level.txt": f"{ROOT}\n",
        }
        return files.get(filename)

    def locate_file(self, path: Any) -> Any:
        return Path(__file__).parent / path


on_install: list[tuple[Callable[[], None], Callable[[], None]]] = []  # called by install and uninstall


class _Installed:
    on = False


_installed, _loader, _finder = _Installed(), _Loader(), TorchFinder()
_modules: dict[str, TorchModule] = {}
root = _make(ROOT)
_modules[ROOT] = root
sys.meta_path.insert(0, _finder)


def install() -> None:
    """Answer `import torch` in this process with `flambeau.torch`.

    RuntimeError if the real torch is already imported. Its files are not touched.
    """
    loaded = sys.modules.get(ROOT)
    if loaded is not None and loaded is not root:
        rule = "this process has imported the real torch already"
        where = getattr(loaded, "__file__", None) or "its module"
        raise RuntimeError(
            f"flambeau.torch.install(): {rule} ({where}): install before the first `import torch`"
        )
    _installed.on = True
    sys.modules.update(_modules)
    for begin, _ in on_install:
        begin()


def uninstall() -> None:
    """Stop answering `import torch`: the next import finds the real torch, if there is one.

    Modules imported in the meantime keep their names.
    """
    _installed.on = False
    for _, end in on_install:
        end()
    for name in [
        n for n, m in sys.modules.items() if isinstance(m, TorchModule) and not n.startswith(PACKAGE)
    ]:
        del sys.modules[name]


def is_installed() -> bool:
    """Whether `import torch` gives `flambeau.torch`."""
    return _installed.on
