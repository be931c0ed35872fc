"""What libraries do while they are imported: names, decorators and registrations of what Flambeau lacks."""

import subprocess
import sys
from pathlib import Path

import numpy as np

LIBRARY = """
import typing
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, Sampler
from torch.multiprocessing import Manager, get_context
from torch.onnx import symbolic_helper
from torch.hub import urlparse
from torch.jit import Final

class Numbers(Dataset[int]):
    def __len__(self): return 3
    def __getitem__(self, i): return i

class Stream(IterableDataset[int]): pass
class Order(Sampler[int]): pass
loader: DataLoader[int] = DataLoader(Numbers())
size: Final[int] = 3

torch.onnx.register_custom_op_symbolic("a::b", print, 11)

@symbolic_helper.parse_args("v", "f")
def symbolic(g, x): return "kept"

if torch.backends.mkl.is_available() or torch.backends.mkldnn.is_available():
    raise AssertionError
assert torch.backends.cudnn.benchmark is False and torch.backends.cuda.flash_sdp_enabled() is False
assert "Flambeau" in torch.__config__.show() and torch.hub._get_torch_home()
assert torch.finfo(torch.float8_e4m3fn).max == 448 and torch.finfo(torch.float8_e5m2).tiny == 2**-14
torch.serialization.add_safe_globals([Numbers])
keys = torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastCPU) | torch._C.DispatchKeySet(
    torch._C.DispatchKey.AutocastCUDA)
assert keys.has(torch._C.DispatchKey.AutocastCPU) and not keys.has(torch._C.DispatchKey.CPU)
_lib = torch.library.Library("mine", "DEF")
_lib.define("twice(Tensor x) -> Tensor")
_lib.impl("twice", lambda x: x * 2, "CompositeImplicitAutograd")

@torch.library.register_fake("mine::twice")
def _(x): return x

@torch.library.custom_op("mine::cube", mutates_args=())
def cube(x: torch.Tensor) -> torch.Tensor:
    return x.detach() ** 3

def setup(ctx, inputs, output): ctx.save_for_backward(inputs[0])
def slope(ctx, g): return g * 3 * ctx.saved_tensors[0] ** 2
cube.register_autograd(slope, setup_context=setup)
"""

SCRIPT = """
import flambeau.torch
flambeau.torch.install()
import pytest

import torch
import strange_library as lib

assert lib.symbolic(None, 1) == "kept" and list(lib.loader)[2].tolist() == [2]
assert issubclass(lib.Numbers, torch.utils.data.Dataset)
with pytest.raises(NotImplementedError, match="parse_args"):
    lib.symbolic_helper.parse_args("v")  # called after the import
x = torch.tensor([1.0, 2.0], requires_grad=True)
assert torch.ops.mine.twice(x).tolist() == [2, 4] and torch.ops.mine.twice.default(x).tolist() == [2, 4]
lib.cube(x).sum().backward()
assert x.grad.tolist() == [3, 12] and torch.ops.mine.cube(x).tolist() == [1, 8]
assert torch.ops.aten.mul.Tensor(x, 3).tolist() == [3, 6] and torch.ops.aten.relu(-x).tolist() == [0, 0]
with pytest.raises(AttributeError):
    torch.ops.mine.no_such_op
with pytest.raises(OSError, match="compiled libraries do not load"):
    torch.ops.load_library("/somewhere/other.so")
with torch.nn.attention.sdpa_kernel([]):
    assert torch.backends.cuda.math_sdp_enabled()
torch._C._log_api_usage_once("x")
torch._dynamo.mark_static_address(x)
torch._C._jit_set_profiling_mode(False)
assert torch._C._jit_can_fuse_on_cpu() is False and torch._C._are_functorch_transforms_active() is False
torch._assert(True, "fine")
torch._check(x.shape[0] == 2, lambda: "fine")
for check, error in ((torch._assert, AssertionError), (torch._check, RuntimeError),
                     (torch._check_value, ValueError), (torch._check_index, IndexError)):
    with pytest.raises(error, match="not so"):
        check(False, "not so")
a, b = torch.arange(8.0).reshape(4, 2), torch.arange(12.0).reshape(3, 2, 2)
y = torch.nn.functional.grouped_mm(a, b, offs=torch.tensor([1, 1, 4], dtype=torch.int32))
assert y.tolist() == torch.cat([a[:1] @ b[0], a[1:] @ b[2]]).tolist()
print("end")
"""


def test_what_libraries_do_while_they_are_imported(tmp_path):
    (tmp_path / "strange_library.py").write_text(LIBRARY, encoding="utf-8")
    call = [sys.executable, "-c", SCRIPT]
    source = str(Path(__file__).parents[2] / "src")
    environment = {"PYTHONPATH": f"{source}:{tmp_path}", "PATH": "", "FLAMBEAU_DEVICE": "cpu"}
    done = subprocess.run(call, capture_output=True, text=True, env=environment, check=False)
    assert done.stdout == "end\n", done.stderr


def test_boxes_that_overlap(mode):
    from flambeau.torch.torchvision_ops import nms

    generator = np.random.default_rng(4)
    corners = generator.uniform(0, 6, (40, 2)).astype(np.float32)
    boxes = np.concatenate([corners, corners + generator.uniform(1, 4, (40, 2)).astype(np.float32)], 1)
    scores = generator.permutation(40).astype(np.float32)
    kept = nms(mode.tensor(boxes), mode.tensor(scores), 0.3).tolist()
    want: list[int] = []
    for i in np.argsort(-scores).tolist():  # the definition, box by box
        if all(overlap(boxes[i], boxes[j]) <= 0.3 for j in want):
            want.append(i)
    assert kept == want and 3 < len(kept) < 40
    assert nms(mode.zeros(0, 4), mode.zeros(0), 0.5).shape == (0,)


def overlap(a, b) -> float:
    low, high = np.maximum(a[:2], b[:2]), np.minimum(a[2:], b[2:])
    both = np.prod(np.clip(high - low, 0, None))
    return float(both / (np.prod(a[2:] - a[:2]) + np.prod(b[2:] - b[:2]) - both))
