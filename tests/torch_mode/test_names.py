"""Every name that torch has can be read, imported and used as a class; calls say what is missing."""

import importlib
import importlib.metadata
import importlib.util
import sys
import warnings

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


def test_modules_answer_with_what_flambeau_has_under_the_same_path(mode):
    from flambeau.torch import module_tree, names

    wrong, count = [], 0
    for module in names.modules():
        try:
            ours = importlib.import_module(module.replace("torch", "flambeau", 1))
        except ImportError:
            continue
        owner, public, count = module_tree.module_of(module), getattr(ours, "__all__", ()), count + 1
        shared = [name for name in names.names_of(module) if name in public]
        wrong += [f"{module}.{name}" for name in shared if hasattr(getattr(owner, name), "torch_name")]
    # functions of another meaning
    assert sorted(wrong) == ["torch.hub.load", "torch.onnx.export"] and count > 20


def test_aliases_for_annotations(installed):
    from torch.nn.common_types import _ratio_2_t, _size_2_t, _size_any_t
    from torch.types import _int, _size

    def layer(size: _size_2_t, ratio: _ratio_2_t | None = None, *rest: _size_any_t | _size) -> _int:
        return 1

    assert layer(2) == _int("1")


def test_autocast_of_devices_that_do_not_exist(mode):
    x = mode.ones(2, 2)
    assert not mode.is_autocast_enabled("xpu") and mode.get_autocast_dtype("hpu") is mode.bfloat16
    assert mode.amp.is_autocast_available("xpu") and not mode.amp.is_autocast_available("meta")
    with mode.autocast("xpu"):
        assert (x @ x).dtype is mode.float32 and not mode.is_autocast_enabled("xpu")
    assert mode.autocast("xpu")(lambda: (x @ x).dtype)() is mode.float32
    with mode.autocast("cpu"):
        assert (x @ x).dtype is mode.bfloat16
    with pytest.warns(UserWarning, match="autocast stays off"), mode.autocast("cpu", dtype=mode.float32):
        assert (x @ x).dtype is mode.float32
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with mode.autocast("cpu", dtype=mode.float32, enabled=False):
            assert (x @ x).dtype is mode.float32


def test_distributed_is_there_in_a_launched_process(mode, monkeypatch):
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    distributed = mode.distributed
    assert not distributed.is_available() and not distributed.is_initialized()
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert (
        distributed.is_available() and distributed.is_nccl_available() and not distributed.is_mpi_available()
    )
    assert callable(distributed.all_reduce) and distributed.ReduceOp.SUM is not None
    assert mode.nn.parallel.DistributedDataParallel.__module__.startswith("flambeau.")


def test_shapes_of_distributions_are_sizes(mode):
    normal = mode.distributions.Normal(mode.zeros(2, 3), 1.0)
    both = mode.distributions.Independent(normal, 1)
    assert repr(normal.batch_shape) == "torch.Size([2, 3])" and both.event_shape.numel() == 3
    assert repr(both.expand((4, 2)).batch_shape) == "torch.Size([4, 2])"


def test_values_that_are_asserted(mode):
    mode._assert_async(mode.ones(1), "not one")
    with pytest.raises(RuntimeError, match="not one"):
        mode._assert_async(mode.zeros(1), "not one")


def test_graph_modules_can_be_subclassed(mode):
    class Traced(mode.fx.GraphModule):
        pass

    assert issubclass(Traced, mode.nn.Module)
    with pytest.raises(NotImplementedError, match="torch.fx.GraphModule"):
        Traced(mode.nn.Linear(1, 1), None)


def test_no_tensor_has_a_tangent(mode):
    x = mode.ones(2)
    with mode.autograd.forward_ad.dual_level():
        assert mode.autograd.forward_ad.unpack_dual(x).tangent is None
    with pytest.raises(NotImplementedError, match="make_dual"):
        mode.autograd.forward_ad.make_dual(x, x)
