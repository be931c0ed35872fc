"""Stands in for packages that are not installed, as torchvision in a page: their names raise when called."""

import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from ..errors import TypeError
from .placeholders import placeholder_class


class AbsentModule(ModuleType):
    """A module of such a package: every name can be imported, and raises when it is called."""

    __version__ = "0"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        value = placeholder_class(f"{self.__name__}.{name}")
        setattr(self, name, value)
        return value


class AbsentFinder(MetaPathFinder, Loader):
    """Answers imports of the named packages, after all other finders: installed packages are not touched."""

    packages: set[str] = set()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        is_ours = fullname.partition(".")[0] in self.packages
        return ModuleSpec(fullname, self, is_package=True) if is_ours else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return AbsentModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        pass


def stand_in(*packages: str) -> None:
    """Answer imports of packages that are not installed by placeholders, which raise when they are called.

    For libraries that import torchvision, PIL or huggingface_hub for features that a program does not use, as
    in a page. TypeError for a dotted name.
    """
    for name in packages:
        if not name.isidentifier():
            raise TypeError(f"stand_in({name!r}): takes names of packages, such as 'torchvision'")
    if not AbsentFinder.packages:
        sys.meta_path.append(AbsentFinder())
    AbsentFinder.packages.update(packages)
