"""Advice for PyTorch's names that do not exist here, shown in the error of a missing attribute."""

from collections.abc import Callable, Iterable
from typing import Any

from ..errors import suggest

GRAD = "gradients are not kept on tensors: grads = loss.backward(), and then grads[p]"
FILES = "fb.save(t, path) and fb.load(path) keep tensors"
ONE_PROCESS = "a tensor is on one device of one process"
TYPED = "use fb.tensor(data, dtype=fb.{})"
DENSE = "all tensors are dense: multiply by a mask, or use index_add and scatter"

# owner of the attribute -> its name -> what to write instead
WORDS: dict[str, dict[str, str]] = {
    "Tensor": {
        "grad": GRAD,
        "grad_fn": "autograd functions do not exist: y.requires_grad says whether gradients flow, y.plan()"
        " shows the kernels",
        "retain_grad": "autograd.grad(loss, [y]) gives the gradient with respect to any tensor y",
        "layout": DENSE,
        "to_sparse": DENSE,
        "to_dense": "it is already dense",
        "data_ptr": "GPU memory has no addresses: fb.from_dlpack and t.__dlpack__() share arrays",
        "storage": "views know their base themselves: t.is_contiguous(), t.clone()",
        "untyped_storage": "views know their base themselves: t.is_contiguous(), t.clone()",
        "pin_memory": "leave it out: copies always use staging buffers",
        "share_memory_": ONE_PROCESS,
        "names": "dims have no names",
        "is_sparse": DENSE,
        "is_quantized": "nn.quantize_(model) makes layers of 4 or 8 bits",
    },
    "flambeau": {
        "FloatTensor": TYPED.format("float32"),
        "HalfTensor": TYPED.format("float16"),
        "BFloat16Tensor": TYPED.format("bfloat16"),
        "IntTensor": TYPED.format("int32"),
        "LongTensor": TYPED.format("int64"),
        "ByteTensor": TYPED.format("uint8"),
        "CharTensor": TYPED.format("int8"),
        "BoolTensor": TYPED.format("bool"),
        "multiprocessing": "'flambeau launch' runs a script in several processes, joined by fb.distributed",
        "sparse": DENSE,
        "sparse_coo_tensor": DENSE,
        "strided": DENSE,
        "set_num_threads": "it has no effect on the GPU: FLAMBEAU_DEVICE=cpu uses the threads of NumPy",
        "get_num_threads": "it has no effect on the GPU: FLAMBEAU_DEVICE=cpu uses the threads of NumPy",
        "set_default_tensor_type": "pass dtype= and device=, or fb.set_default_device(...)",
        "ops": "fb.custom_op defines an op in WGSL",
        "_C": "there is no compiled extension: the package is Python and WGSL",
        "Storage": "views know their base themselves: t.is_contiguous(), t.clone()",
        "torchvision": "fb.data reads MNIST and folders of arrays",
    },
    "flambeau.nn.functional": {
        "has_torch_function": "dispatch is internal to torch",
    },
}


class Missing:
    """An attribute that only PyTorch's tensors have. Its AttributeError says what to write instead.

    Other unknown names get Python's error: a `__getattr__` would slow down every attribute.
    """

    def __init__(self, name: str):
        self.name = name

    def __get__(self, tensor: Any, owner: Any = None) -> Any:
        raise AttributeError(
            (f"Tensor.{self.name} does not exist: {WORDS['Tensor'][self.name]}"), name=self.name
        )

    def __set__(self, tensor: Any, value: Any) -> None:
        from .warn_once import NO_GRAD_KEPT, note

        if self.name == "grad" and value is None:  # some scripts begin a step by this
            return note(NO_GRAD_KEPT)
        hint = "; grads[p] = g replaces it" if self.name == "grad" else ""
        raise AttributeError(f"Tensor.{self.name} does not exist: {WORDS['Tensor'][self.name]}{hint}")


def missing_from(tensor: type) -> None:
    """Give a class the attributes that say what to write instead."""
    for name in WORDS["Tensor"]:
        assert name not in dir(tensor), f"Tensor.{name} exists: remove its line"
        setattr(tensor, name, Missing(name))


class UnknownName(AttributeError):
    """An unknown attribute of a module. Its text searches for advice or a similar name only when it is shown:
    `hasattr` raises it often and shows nothing."""

    def __init__(self, owner: str, name: str, known: Callable[[], Iterable[str]]):
        super().__init__(owner, name)
        self.owner, self.missing, self.known = owner, name, known

    def __str__(self) -> str:
        text = f"module {self.owner!r} has no attribute {self.missing!r}"
        if words := WORDS.get(self.owner, {}).get(self.missing):
            return f"{text}: {words}"
        if self.missing.startswith("_"):
            return text
        return text + suggest(self.missing, [k for k in self.known() if not k.startswith("_")])
