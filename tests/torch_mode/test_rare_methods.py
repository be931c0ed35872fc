"""Names of torch.Tensor that few programs use: version counters, flags, refusals."""

import pytest
from helpers.paths import TESTS

from flambeau.torch.placeholders import MissingInTorch


def versions(m):
    """Version counters of a tensor and its views."""
    x = m.zeros(4)
    out = [x._version]
    x.add_(1)
    x[0] = 3
    out.append(x._version)
    view = x[1:]
    view.mul_(2)
    out += [x._version, view._version, x.detach()._version]
    y = x * 2
    out.append(y._version)
    with m.no_grad():
        layer = m.nn.Linear(2, 2)
        before = layer.weight._version
        layer.weight.fill_(1.0)
    return [*out, layer.weight._version - before]


def test_versions_count_writes(mode):
    assert versions(mode) == [0, 2, 3, 3, 3, 0, 1]


def test_versions_beside_torch(torch):
    assert versions(torch) == [0, 2, 3, 3, 3, 0, 1]


def test_every_name_of_the_class_exists(mode):
    rows = (TESTS / "names_of_torch.txt").read_text().splitlines()
    names = {
        name for row in rows if row.startswith("torch.Tensor:") for name in row.partition(":")[2].split()
    }
    assert len(names) > 500 and sorted(n for n in names if not hasattr(mode.Tensor, n)) == []


def test_refusals_say_the_name(mode):
    x = mode.ones(2, 2)
    for call in (x.to_sparse, x.q_scale, x.triangular_solve):
        with pytest.raises(
            MissingInTorch, match=r"torch\.Tensor\.\w+\(\.\.\.\): flambeau.torch does not have it"
        ):
            call()
    assert x.to_dense() is x and x.dense_dim() == 2 and not x.is_coalesced() and x.names == (None, None)
    assert x.record_stream(None) is None and x.name is None and x.output_nr == 0
    assert x.module_load(mode.zeros(2, 2)).tolist() == [[0, 0], [0, 0]]


def test_meta_tensors_print_and_come_back(mode):
    with mode.device("meta"):
        model = mode.nn.Sequential(mode.nn.Linear(3, 4), mode.nn.LayerNorm(4))
        y = model(mode.randn(2, 3))
    assert repr(y) == "tensor(..., device='meta', size=(2, 4), requires_grad=True)" and y.shape.numel() == 8
    with pytest.raises(NotImplementedError, match="Cannot copy out of meta tensor; no data!"):
        model.to("cpu")
    assert model.to_empty(device="cpu")[0].weight.device == mode.device("cpu")


def test_recordings_do_not_watch_version_counters(mode):
    x = mode.zeros(2)
    x.add_(1)
    assert x._version == 1 and "writes" not in vars(x)
