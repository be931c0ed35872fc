"""Every name that torch has can be read, imported and used as a class; calls say what is missing."""

import importlib
import importlib.metadata
import importlib.util
import sys

import pytest


@pytest.fixture
def installed(mode):
    """`import torch` gives flambeau.torch in this test alone."""
    if "torch" in sys.modules:
        pytest.skip("this process has imported the real torch")
    mode.install()
    yield mode
    mode.uninstall()


def test_no_name_of_torch_raises_when_it_is_read(mode):
    from flambeau.torch import module_tree, names

    failures = {}
    for module in names.modules():
        owner = module_tree.module_of(module)
        for name in names.names_of(module):
            try:
                getattr(owner, name)
            except Exception as e:
                failures[f"{module}.{name}"] = f"{type(e).__name__}: {e}"
    assert not failures


def test_unknown_names_are_missing(mode):
    assert not hasattr(mode.nn, "Linaer") and hasattr(mode.nn, "Linear") and not hasattr(mode, "npu")
    with pytest.raises(AttributeError, match=r"module 'torch.nn' has no attribute 'Linaer': did you mean"):
        _ = mode.nn.Linaer
    with pytest.raises(ModuleNotFoundError, match="flambeau.torch.nonsense"):
        importlib.import_module("flambeau.torch.nonsense")


def test_placeholders(mode):
    missing = mode.sparse.mm
    with pytest.raises(
        NotImplementedError, match=r"torch.sparse.mm\(...\): flambeau.torch does not have it: all"
    ):
        missing(1, 2)

    class Derived(mode.fx.Interpreter):
        pass

    with pytest.raises(RuntimeError, match=r"torch.fx.*Interpreter\(...\): flambeau.torch does not have it"):
        Derived(None)
    assert mode.fx.Interpreter[int] is mode.fx.Interpreter and not isinstance(1, mode.fx.Interpreter)
    annotation: mode.fx.Interpreter | None = None
    assert annotation is None


def test_install(installed):
    torch = importlib.import_module("torch")
    assert importlib.import_module("torch.nn.functional") is torch.nn.functional
    assert importlib.import_module("torch.nn").Linear is importlib.import_module("flambeau").nn.Linear
    assert importlib.util.find_spec("torch") and importlib.util.find_spec("torch.nn") and torch.__file__
    assert importlib.metadata.version("torch") == str(torch.__version__) == "2.13.0+flambeau"
    assert torch.__version__ > "2.1" and torch.__version__ < (3, 0) and torch.__version__ >= (2, 13, 0)
    with pytest.raises(ImportError, match="nonsense"):
        exec("from torch import nonsense")
    with pytest.raises(ModuleNotFoundError, match="torch.nonsense"):
        importlib.import_module("torch.nonsense")
    installed.uninstall()
    assert "torch" not in sys.modules and not any(n.startswith("torch.") for n in sys.modules)


def test_install_beside_the_real_torch(mode, monkeypatch):
    from types import ModuleType

    real = ModuleType("torch")
    real.__file__ = "/site/torch/__init__.py"
    monkeypatch.setitem(sys.modules, "torch", real)
    rule = r"this process has imported the real torch already \(/site/torch/__init__.py\): install before"
    with pytest.raises(RuntimeError, match=rule):
        mode.install()
