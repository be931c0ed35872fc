"""Its import answers `import torch` with `flambeau.torch`: what child processes import first."""

from .module_tree import install

install()
