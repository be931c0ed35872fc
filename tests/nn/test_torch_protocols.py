"""What libraries use of torch.nn that is not documented: dicts of members, the steps of a state_dict."""

from collections import OrderedDict

import numpy as np
import pytest

import flambeau as fb
import flambeau.nn.functional as F
from flambeau import nn


@pytest.fixture(autouse=True)
def _on_cpu():
    with fb.device("cpu"):
        yield


def test_dicts_of_members():
    m = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    assert list(m._modules) == ["0", "1"] and m._modules["0"] is m[0]
    assert list(m[0]._parameters) == ["weight", "bias"] and len(m[1]._buffers) == 3
    weight = nn.Parameter(fb.ones(3, 2))
    m[0]._parameters["weight"] = weight
    assert m[0].weight is weight and next(m.parameters()) is weight
    del m[0]._parameters["bias"]
    assert not hasattr(m[0], "bias") and list(m[0].state_dict()) == ["weight"]
    m[0]._parameters["bias"] = None
    assert m[0].bias is None and m[0](fb.ones(1, 2)).tolist() == [[2, 2, 2]]
    m._modules["1"] = nn.Identity()
    assert isinstance(m[1], nn.Identity)
    with pytest.raises(KeyError):
        m._modules["2"]
    # a plain tensor in a parameter's place is listed, as in PyTorch
    m[0]._parameters["weight"] = fb.zeros(3, 2)
    assert [name for name, _ in m.named_parameters()] == ["0.weight"]
    m._modules = OrderedDict(last=nn.Tanh())
    assert [name for name, _ in m.named_children()] == ["last"] and len(m) == 1


def test_sets_of_buffers():
    m = nn.Module()
    m.register_buffer("kept", fb.ones(1))
    m.register_buffer("table", fb.ones(2), persistent=False)
    assert set(m._non_persistent_buffers_set) == {"table"} and list(m.state_dict()) == ["kept"]
    m._non_persistent_buffers_set.discard("table")
    m._non_persistent_buffers_set.add("kept")
    assert list(m.state_dict()) == ["table"]
    m._buffers["kept"] = fb.zeros(3)
    assert m.kept.tolist() == [0, 0, 0] and m._buffers.copy().keys() == {"kept", "table"}


def test_lists_with_none():
    layers = nn.ModuleList([nn.Linear(1, 1), None, nn.Tanh()])
    assert len(layers) == 3 and layers[1] is None and [x is None for x in layers] == [False, True, False]
    assert sum(1 for _ in layers.modules()) == 3
    layers.append(None)
    layers[1] = nn.ReLU()
    assert len(layers) == 4 and isinstance(layers[1], nn.ReLU) and layers[3] is None
    named = nn.ModuleDict({"a": None, "b": nn.Tanh()})
    assert named["a"] is None and list(named) == ["a", "b"]
    assert [len(kind(None)) for kind in (nn.ModuleList, nn.ModuleDict, nn.ParameterList)] == [0, 0, 0]


class Renaming(nn.Module):
    """Reads files of its first version, whose weight was called `w`."""

    _version = 2

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(fb.zeros(2))
        self.versions = []

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, *lists):
        self.versions.append(local_metadata.get("version"))
        if f"{prefix}w" in state_dict:
            state_dict[f"{prefix}weight"] = state_dict.pop(f"{prefix}w")
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *lists)

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[f"{prefix}size"] = fb.tensor(2)


def test_steps_of_a_state_dict():
    m = nn.Sequential(Renaming(), nn.Linear(2, 2))
    state = m.state_dict()
    assert list(state) == ["0.weight", "0.size", "1.weight", "1.bias"] and isinstance(state, OrderedDict)
    assert state._metadata["0"] == {"version": 2} and state._metadata["1"] == {"version": 1}
    state["0.w"] = fb.tensor([3.0, 4.0])
    del state["0.weight"]
    with pytest.raises(ValueError, match=r"1 unexpected: '0\.size'"):
        m.load_state_dict(state)
    assert m[0].weight.tolist() == [0, 0]  # nothing is loaded
    keys = m.load_state_dict(state, strict=False)
    assert m[0].weight.tolist() == [3, 4] and keys.unexpected_keys == ["0.size"] and not keys.missing_keys
    assert m[0].versions == [2, 2]
    del state["1.bias"]
    assert m.load_state_dict(state, strict=False).missing_keys == ["1.bias"]


def test_hooks_of_a_state_dict():
    m = nn.Sequential(nn.Linear(1, 1), nn.Linear(1, 1))

    def rename(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs):
        state_dict[f"{prefix}bias"] = state_dict.pop(f"{prefix}offset")
        assert all(key.startswith(prefix) for key in state_dict)

    m[1]._register_load_state_dict_pre_hook(rename)
    state = m.state_dict()
    state["1.offset"] = fb.tensor([7.0])
    del state["1.bias"]
    m.load_state_dict(state)
    assert m[1].bias.item() == 7
    m.register_load_state_dict_post_hook(lambda module, keys: keys.missing_keys.clear())
    del state["0.bias"]
    assert not m.load_state_dict(state).missing_keys

    def refuse(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs):
        error_msgs.append("too old")

    m[0]._register_load_state_dict_pre_hook(refuse)
    with pytest.raises(ValueError, match="too old"):
        m.load_state_dict(state)


def test_extra_state():
    class Counting(nn.Module):
        count = 0

        def get_extra_state(self):
            return {"count": self.count}

        def set_extra_state(self, state):
            self.count = state["count"]

    m, other = nn.Sequential(Counting()), nn.Sequential(Counting())
    m[0].count = 5
    other.load_state_dict(m.state_dict())
    assert other[0].count == 5 and list(m.state_dict()) == ["0._extra_state"]
    with pytest.raises(ValueError, match="_extra_state"):
        other.load_state_dict({})


def test_counts_of_batches_that_old_files_lack():
    m = nn.BatchNorm1d(2)
    m.num_batches_tracked.fill_(3)
    assert not m.load_state_dict({k: v for k, v in m.state_dict().items() if "num" not in k}).missing_keys
    state = m.state_dict()
    del state["num_batches_tracked"]
    with pytest.raises(ValueError, match="num_batches_tracked"):  # a file of the second version has it
        m.load_state_dict(state)


def test_names_that_users_classes_have_too():
    class Own(nn.Module):
        """Attributes that were private names of Module once."""

        def __init__(self):
            super().__init__()
            self._hooks, self._kinds, self._state, self._own = [], 1, None, "x"
            self._tree = self._named = self._places = self._cast = self._register = 0
            self.layer = nn.Linear(1, 1)

    m = Own()
    assert list(m.state_dict()) == ["layer.weight", "layer.bias"] and len(list(m.modules())) == 2
    assert m.layer(fb.ones(1, 1)).shape == (1, 1)


class Mixin:
    def __new__(cls, *args, **kw):
        self = super().__new__(cls)
        self.seen = args
        return self

    def __init__(self, size=None):
        self.size = size


def test_classes_with_several_bases():
    class Both(nn.Module, Mixin):
        def __init__(self, n):
            super().__init__()  # that of Module alone, as in PyTorch
            self.layer = nn.Linear(n, n)

    m = Both(2)
    assert m.seen == (2,) and not hasattr(m, "size") and m.layer.weight.shape == (2, 2)

    class Calls(nn.Module, Mixin):
        call_super_init = True

    assert Calls(size=4).size == 4
    with pytest.raises(TypeError, match="call_super_init"):
        nn.Module(3)


def test_unknown_attributes():
    class Wrapper(nn.Module):
        def __init__(self, inner):
            super().__init__()
            self.inner = inner

        def __getattr__(self, name):
            try:
                return super().__getattr__(name)
            except AttributeError:
                if name == "inner":
                    raise
                return getattr(self.inner, name)

    m = Wrapper(nn.Linear(2, 3))
    assert m.out_features == 3 and not hasattr(m, "other")

    class Broken(nn.Module):
        @property
        def size(self):
            return nn.Tanh().no_such_name

    with pytest.raises(AttributeError, match="'Tanh' object has no attribute 'no_such_name'"):
        getattr(Broken(), "size")  # noqa: B009
    with pytest.raises(AttributeError, match="'Tanh' object has no attribute 'x'"):
        getattr(nn.Tanh(), "x")  # noqa: B009


def test_apply_of_tensors():
    class Keeps(nn.Linear):
        calls = 0

        def _apply(self, fn, recurse=True):
            self.calls += 1
            return super()._apply(fn, recurse)

    m = nn.Sequential(Keeps(2, 2), nn.Linear(2, 2))
    weight = m[0].weight
    m.half()
    assert m[0].calls == 1 and m[0].weight is weight and weight.dtype == fb.float16 and weight.requires_grad
    m._apply(lambda t: t.float() * 0)
    assert weight.dtype == fb.float32 and not weight.detach().numpy().any()
    assert m.to("cpu", memory_format=None) is m


def test_arguments_of_layers():
    table = fb.tensor([[1.0, 2.0], [3.0, 4.0]])
    layer = nn.Embedding(2, 2, None, None, 2.0, False, False, table, _freeze=True)
    assert layer(fb.tensor([1])).tolist() == [[3, 4]] and not layer.weight.requires_grad
    bag = nn.EmbeddingBag(2, 2, None, 2.0, False, "sum", False, table)
    assert bag(input=fb.tensor([[0, 1]])).tolist() == [[4, 6]]
    with pytest.raises(ValueError, match=r"_weight=float32\[2, 2\]|_weight"):
        nn.Embedding(3, 2, _weight=table)
    assert nn.Linear(2, 3)(input=fb.ones(1, 2)).shape == (1, 3)
    assert nn.GroupNorm(1, 2, bias=False).bias is None
    assert nn.LazyInstanceNorm1d().to("cpu")(fb.ones(1, 2, 3)).shape == (1, 2, 3)
    lazy = nn.LazyInstanceNorm2d()
    lazy(fb.ones(1, 2, 3, 3))
    assert lazy.weight is not None and lazy.running_mean is not None  # PyTorch's defaults
    attention = nn.MultiheadAttention(4, 2)
    assert attention._qkv_same_embed_dim
    attention.in_proj_bias.data.fill_(1)
    attention._reset_parameters()
    assert not attention.in_proj_bias.detach().numpy().any()
    assert nn.Hardtanh(min_value=-2, max_value=2)(fb.tensor([5.0])).item() == 2
    assert nn.MaxPool2d(2).stride == 2 and nn.AvgPool2d(3).stride == 3
    assert nn.Conv2d(1, 1, 3, padding=(1, 2))._reversed_padding_repeated_twice == [2, 2, 1, 1]
    assert nn.init._calculate_fan_in_and_fan_out(fb.ones(4, 2, 3)) == (6, 12)
    assert nn.init._calculate_correct_fan(fb.ones(4, 2), "fan_out") == 4


def test_old_arguments_of_losses():
    x, y = fb.tensor([[1.0, 3.0], [0.0, 5.0]]), fb.tensor([[0.0, 1.0], [2.0, 2.0]])
    assert F.mse_loss(x, y, False).item() == F.mse_loss(x, y, reduction="sum").item() == 18
    assert F.mse_loss(x, y, None, None, "sum").item() == 18 and F.mse_loss(x, y, "sum").item() == 18
    assert F.l1_loss(x, y, reduce=False).tolist() == [[1, 2], [2, 3]]
    assert F.l1_loss(x, y, size_average=True, reduce=True).item() == 2
    classes = fb.tensor([1, 0])
    want = F.cross_entropy(x, classes, ignore_index=0).item()
    assert F.cross_entropy(x, classes, None, None, 0).item() == pytest.approx(want)
    assert nn.CrossEntropyLoss(None, None, 0)(x, classes).item() == pytest.approx(want)
    assert nn.MSELoss(False)(x, y).item() == 18 and nn.MSELoss(reduction="sum")(x, y).item() == 18
    assert nn.L1Loss(size_average=False).reduction == "sum" and nn.L1Loss("none").reduction == "none"
    assert nn.NLLLoss(reduce=False).reduction == "none" and nn.KLDivLoss().reduction == "mean"


@pytest.mark.filterwarnings("ignore:softmax without dim")
def test_softmax_without_a_dim():
    for shape in ((3,), (2, 3), (2, 3, 4), (2, 3, 2, 2)):
        x = fb.randn(*shape)
        dim = 0 if len(shape) in (0, 1, 3) else 1
        want = F.softmax(x, dim).numpy()
        np.testing.assert_allclose(F.softmax(x).numpy(), want, rtol=1e-6)
        np.testing.assert_allclose(nn.Softmax()(x).numpy(), want, rtol=1e-6)
        np.testing.assert_allclose(F.log_softmax(x, None).exp().numpy(), want, rtol=1e-5)
        np.testing.assert_allclose(nn.Softmin()(-x).numpy(), want, rtol=1e-6)


def test_layers_whose_parts_are_overridden():
    class Doubled(nn.TransformerEncoderLayer):
        def _ff_block(self, x):
            return super()._ff_block(x) * 0

        def _sa_block(self, x, attn_mask, key_padding_mask, is_causal=False):
            return x * 0

    layer = Doubled(4, 2, 8, norm_first=True).eval()
    x = fb.randn(3, 1, 4)
    assert (layer(x) == x).all().item()

    class AnyRank(nn.BatchNorm1d):
        def _check_input_dim(self, input):
            pass

    assert AnyRank(2).eval()(fb.ones(1, 2, 3, 3, 3)).shape == (1, 2, 3, 3, 3)

    class Scaled(nn.Conv1d):
        def forward(self, x):
            return self._conv_forward(x, self.weight * 0, self.bias)

    conv = Scaled(1, 1, 1)
    assert conv(fb.ones(1, 1, 2)).tolist()[0][0] == pytest.approx([conv.bias.item()] * 2)

    class Named(nn.ReLU):
        def __init__(self, name):
            super().__init__()
            self.title = name

    assert repr(Named("x")) == "Named()"


def test_dicts_of_members_can_be_reversed():
    m = nn.Sequential(nn.Linear(1, 1), nn.ReLU())
    assert [name for name, _ in reversed(m._modules.items())] == list(reversed(m._modules)) == ["1", "0"]
    assert (
        list(m[0]._parameters.keys())[::-1] == list(reversed(m[0]._parameters.keys())) == ["bias", "weight"]
    )
    for name in m._modules.keys():  # noqa: SIM118
        m._modules[name] = nn.Identity()
    assert [type(v) for v in m._modules.values()] == [nn.Identity, nn.Identity]
