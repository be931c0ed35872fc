"""Settings, devices and helpers that scripts call around their computations: they work, and print torch's."""

import torch
import torch.backends.cudnn as cudnn
import torch.utils._pytree as pytree
from torch import nn

# settings
torch.backends.cudnn.benchmark = True
torch.backends.cudnn.deterministic = True
cudnn.enabled = True
print(torch.backends.cudnn.benchmark, cudnn.deterministic)
torch.backends.cuda.matmul.allow_tf32 = True
torch.backends.cudnn.allow_tf32 = True
print(torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32)
torch.backends.cuda.matmul.allow_tf32 = False
torch.set_float32_matmul_precision("high")
print(torch.get_float32_matmul_precision())
torch.set_float32_matmul_precision("highest")
torch.use_deterministic_algorithms(True, warn_only=True)
torch.use_deterministic_algorithms(False)
torch.set_num_threads(1)
torch.set_num_interop_threads(1)
torch.set_printoptions(precision=4)
torch.autograd.set_detect_anomaly(False)
torch.set_default_dtype(torch.float32)
torch.set_default_tensor_type(torch.FloatTensor)
torch.set_default_tensor_type("torch.FloatTensor")
torch.set_default_device("cpu")
print(torch.get_default_device(), torch.get_num_threads() >= 1)
torch.set_warn_always(False)
print(torch.backends.mps.is_available(), torch.backends.mps.is_built(), torch.backends.cudnn.is_available())
print(torch.backends.cuda.is_built(), torch.backends.mkldnn.is_available() in (True, False))
with torch.backends.cudnn.flags(enabled=False):
    pass
with torch.backends.cuda.sdp_kernel(enable_math=True):
    pass
with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
    print(torch.nn.functional.scaled_dot_product_attention(*[torch.ones(1, 1, 2, 4)] * 3).shape)
print(torch.backends.cuda.flash_sdp_enabled() in (True, False))

# random numbers
torch.manual_seed(0)
torch.cuda.manual_seed(0)
torch.cuda.manual_seed_all(0)
torch.random.manual_seed(1)
g = torch.Generator()
print(g.manual_seed(3) is g, torch.initial_seed(), torch.randn(2, generator=g).shape, g.device)
state = torch.get_rng_state()
a = torch.rand(3)
torch.set_rng_state(state)
print(torch.equal(a, torch.rand(3)), isinstance(state, torch.Tensor), state.dtype)
with torch.random.fork_rng():
    torch.rand(1)

# the GPU that is not there
print(torch.cuda.is_available(), torch.cuda.device_count(), torch.cuda.is_initialized(), torch.version.cuda)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
print(device, torch.accelerator.is_available(), torch.cuda.is_bf16_supported())
torch.cuda.empty_cache()
print(torch.cuda.memory_allocated(), torch.cuda.max_memory_allocated(), torch.cuda.memory_reserved())
print(hasattr(torch, "xpu"), torch.xpu.is_available(), hasattr(torch, "npu"), torch.mps.device_count())
print(torch.distributed.is_available() and torch.distributed.is_initialized())
print(torch.version.hip, isinstance(torch.__version__, str), torch.__version__ >= "2.0")
print(torch.__version__.split("+")[0], torch.__version__ >= (1, 8), torch.version.git_version is not None)

# helpers
print(torch.is_tensor(1), torch.is_floating_point(torch.ones(1)), torch.numel(torch.ones(3)))
print(torch.typename(torch.ones(1)), torch.typename(1), torch.is_storage(1))
print(torch.jit.is_scripting(), torch.jit.is_tracing(), torch.compiler.is_compiling())


@torch.jit.script
def double(x: torch.Tensor) -> torch.Tensor:
    return x * 2


@torch.jit.ignore
def ignored(x):
    return x


@torch.compiler.disable
def plain(x):
    return x + 1


@torch.compiler.disable(recursive=False)
def plain_too(x):
    return x + 1


@torch.jit.unused
def unused(x):
    return x


@torch._dynamo.disable
def undone(x):
    return x


@torch.fx.wrap
def wrapped(x):
    return x


print(double(torch.ones(1)), ignored(1), plain(1), plain_too(1), unused(1), undone(1), wrapped(1))
scripted = torch.jit.script(nn.Linear(2, 2))
print(scripted(torch.zeros(1, 2)).shape, torch.jit.Final[int] is not None, torch.jit.annotate(int, 3))


class Layer(nn.Module):
    __constants__ = ["n"]
    n: torch.jit.Final[int]

    def __init__(self):
        super().__init__()
        self.n = 3

    @torch.jit.export
    def forward(self, x):
        return x * self.n


print(Layer()(torch.ones(1)))
print(torch.utils.checkpoint.checkpoint(lambda a, b: a * b, torch.ones(2), 3, use_reentrant=False))
layers = nn.Sequential(nn.ReLU(), nn.Tanh())
print(torch.utils.checkpoint.checkpoint_sequential(layers, 2, torch.zeros(2), use_reentrant=False))
leaves, spec = pytree.tree_flatten({"a": [1, (2, 3)], "b": 4})
print(leaves, pytree.tree_unflatten(leaves, spec), pytree.tree_map(lambda v: v + 1, [1, {"x": 2}]))
print(pytree.tree_leaves([1, [2]]), pytree.tree_map_only(int, lambda v: -v, [1, "a"]))
print(
    pytree.tree_flatten_with_path({"a": [1]})[0],
    spec.num_leaves,
    pytree.tree_structure([1]) == pytree.tree_structure([2]),
)
with torch.profiler.record_function("name"), torch.autograd.profiler.record_function("name"):
    pass
with torch.autograd.set_detect_anomaly(True), torch.autograd.detect_anomaly():
    pass
with torch.cuda.device(0) if torch.cuda.is_available() else torch.no_grad():
    pass
with torch.cuda.amp.autocast(enabled=False):
    print((torch.ones(1, 1) @ torch.ones(1, 1)).dtype)
scaler = torch.cuda.amp.GradScaler(enabled=False)
print(scaler.is_enabled(), scaler.get_scale(), scaler.state_dict())
print(torch.testing.assert_close(torch.ones(1), torch.ones(1)), torch.allclose(torch.ones(1), torch.ones(1)))
torch._assert(True, "message")
print(torch.get_file_path is not None)
