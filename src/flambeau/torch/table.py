"""Where each name of torch comes from: the place to add a module or a name.

A name of torch's module M is looked up in this order (`module_tree.py`):
 1. `NAMES`: "M.name" -> "our.module:attribute";
 2. `MODULES` of M, or of the nearest package above M that has a row: our modules, whose `__all__` (or, of
    modules in flambeau.torch, all public names) is searched in order;
 3. names.bin, the list of torch's own names: a constant's value, a name that another of torch's modules
    defines, or a placeholder, which raises when it is called.

Names that torch does not have are not found: `hasattr(torch, ...)` answers as of torch.
"""

VERSION = "2.13.0+flambeau"  # of torch; the part after + is ignored where libraries compare versions

# The modules of this package whose import registers what the mode replaces.
REPLACING = (
    "derivatives",
    "devices",
    "drawing",
    "precision",
    "sizes",
    "stepping",
    "storages",
    "tensor_forms",
    "user_optimizers",
)

# torch's module -> our modules, in order. Paths begin with "." for flambeau, ".torch." for this package.
MODULES: dict[str, tuple[str, ...]] = {
    "torch": (".torch.functions", ".torch.drawing", ".torch.legacy_types", ".torch.markers", "."),
    "torch.accelerator": (".accelerator",),
    "torch.amp": (".torch.precision", ".amp"),
    "torch.autograd": (".autograd",),
    "torch.autograd.function": (".autograd.function",),
    "torch.autograd.functional": (".autograd.functional",),
    "torch.autograd.grad_mode": (".autograd",),
    "torch.compiler": (".torch.compiling",),
    "torch.cuda": (".torch.gpus", ".cuda"),
    "torch.cuda.amp": (".torch.precision", ".cuda.amp"),
    "torch.distributions": (".distributions",),
    "torch.fft": (".fft",),
    "torch.func": (".func",),
    "torch.functional": (".",),
    "torch.fx": (".torch.identity",),
    "torch.hub": (".hub",),
    "torch.jit": (".torch.identity",),
    "torch.library": (".torch.identity",),
    "torch.linalg": (".linalg",),
    "torch.masked": (".masked",),
    "torch.nn": (".nn",),
    "torch.nn.functional": (".nn.functional",),
    "torch.nn.init": (".nn.init",),
    "torch.nn.modules": (".nn",),
    "torch.nn.parameter": (".nn",),
    "torch.nn.utils": (".torch.clipping", ".nn.utils"),
    "torch.nn.utils.parametrizations": (".nn.utils.parametrizations",),
    "torch.nn.utils.parametrize": (".nn.utils.parametrize",),
    "torch.nn.utils.prune": (".nn.utils.prune",),
    "torch.nn.utils.rnn": (".nn.utils.rnn",),
    "torch.nn.utils.stateless": (".nn.utils.stateless",),
    "torch.optim": (".optim",),
    "torch.optim.lr_scheduler": (".optim.lr_scheduler",),
    "torch.optim.swa_utils": (".optim.swa_utils",),
    "torch.random": (".torch.drawing",),
    "torch.serialization": (".",),
    "torch.signal": (".signal",),
    "torch.signal.windows": (".signal.windows",),
    "torch.special": (".special",),
    "torch.testing": (".testing",),
    "torch.utils._pytree": (".torch.trees",),
    "torch.utils.checkpoint": (".torch.checkpoints",),
    "torch.utils.data": (".torch.data",),
}

# "torch's module.name" -> "our module:attribute"
NAMES: dict[str, str] = {
    "torch.Generator": ".ops.mersenne:MersenneGenerator",
    "torch.utils.data.dataloader._BaseDataLoaderIter": ".torch.loading:BaseIterator",
    "torch.utils.data.dataloader._SingleProcessDataLoaderIter": ".torch.loading:SerialIterator",
    "torch.utils.data.dataloader._MultiProcessingDataLoaderIter": ".torch.loading:ThreadedIterator",
    "torch.utils.data.dataloader._DatasetKind": ".torch.loading:DatasetKind",
    "torch.utils.data.dataloader._InfiniteConstantSampler": ".torch.loading:ConstantSampler",
    "torch.UntypedStorage": ".torch.storages:UntypedStorage",
    "torch.TypedStorage": ".torch.storages:TypedStorage",
    "torch.Tensor": ".tensor:Tensor",
    "torch._tensor.Tensor": ".tensor:Tensor",
    "torch.dtype": ".core.dtype:DType",
    "torch.device": ".torch.devices:TorchDevice",
    "torch.Size": ".torch.sizes:TorchSize",
    "torch.no_grad": ".torch.grad_modes:NoGrad",
    "torch.enable_grad": ".torch.grad_modes:EnableGrad",
    "torch.inference_mode": ".torch.grad_modes:InferenceMode",
    "torch.is_inference_mode_enabled": ".torch.grad_modes:is_inference_mode_enabled",
    "torch.autograd.no_grad": ".torch.grad_modes:NoGrad",
    "torch.autograd.enable_grad": ".torch.grad_modes:EnableGrad",
    "torch.autograd.inference_mode": ".torch.grad_modes:InferenceMode",
    "torch.autograd.grad_mode.no_grad": ".torch.grad_modes:NoGrad",
    "torch.autograd.grad_mode.enable_grad": ".torch.grad_modes:EnableGrad",
    "torch.autograd.grad_mode.inference_mode": ".torch.grad_modes:InferenceMode",
    "torch.compile": ".torch.compiling:compile",
    "torch.optim.Optimizer": ".optim.optimizer:Optimizer",
    "torch.optim.optimizer.Optimizer": ".optim.optimizer:Optimizer",
    "torch.autograd.backward": ".torch.derivatives:backward_of",
    "torch.jit.isinstance": ".torch.identity:isinstance_of",
    "torch.autograd.function.once_differentiable": ".autograd.function:once_differentiable",
    "torch.cuda.manual_seed": ".torch.drawing:seed_gpu",
    "torch.cuda.manual_seed_all": ".torch.drawing:seed_gpu",
    "torch.cuda.get_rng_state": ".torch.drawing:get_gpu_rng_state",
    "torch.cuda.set_rng_state": ".torch.drawing:set_gpu_rng_state",
    "torch.cuda.get_rng_state_all": ".torch.drawing:get_rng_state_all",
    "torch.cuda.set_rng_state_all": ".torch.drawing:set_rng_state_all",
    "torch.cuda.random.manual_seed": ".torch.drawing:seed_gpu",
    "torch.cuda.random.manual_seed_all": ".torch.drawing:seed_gpu",
    "torch.cuda.random.get_rng_state": ".torch.drawing:get_gpu_rng_state",
    "torch.cuda.random.set_rng_state": ".torch.drawing:set_gpu_rng_state",
    "torch.version.__version__": ".torch.table:VERSION",
}
