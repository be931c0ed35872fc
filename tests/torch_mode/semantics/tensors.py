"""Types, devices, sizes and texts of tensors: printed, and compared with what torch prints."""

import copy
import pickle

import torch


def error(call):
    try:
        call()
    except Exception as e:
        print(isinstance(e, (RuntimeError, TypeError, ValueError)))
    else:
        print("no error")


# sizes
x = torch.zeros(2, 3)
print(x.shape, x.size(), x.size(0), x.shape.numel(), x.shape[1:], x.shape[0], len(x.shape))
print(x.shape == (2, 3), x.shape + (4,), isinstance(x.shape, tuple), isinstance(x.shape, torch.Size))
print(torch.Size([2, 3]), torch.Size((2, 3)).numel(), list(x.shape), torch.Size([1]) + torch.Size([2]))
print(x.new_zeros(x.shape).shape, x.view(x.size(0), -1).shape, torch.zeros(x.shape[0], *x.shape[1:]).shape)
print(
    hash(x.shape) == hash((2, 3)),
    {x.shape: 1}[(2, 3)],
    copy.deepcopy(x.shape),
    pickle.loads(pickle.dumps(x.shape)),
)

# dtypes
print(torch.float32, torch.int64, [torch.float16], str(torch.bool), torch.long is torch.int64, torch.half)
print(torch.float32.is_floating_point, torch.int8.itemsize, isinstance(torch.uint8, torch.dtype), torch.float)
print(torch.tensor(1).dtype, torch.tensor(1.5).dtype, torch.tensor([True]).dtype, torch.arange(3).dtype)
print(torch.get_default_dtype(), torch.finfo(torch.float32).eps, torch.iinfo(torch.int8).max)
print(torch.promote_types(torch.int32, torch.float16), (torch.ones(1, dtype=torch.int8) + 1.5).dtype)
print(
    torch.ones(2).sum(dtype=torch.float64).dtype,
    torch.zeros(2, dtype=float).dtype,
    torch.zeros(1, dtype=int).dtype,
)

# devices
d = torch.device("cuda", 1)
print(
    d, repr(d), d.type, d.index, torch.device("cuda"), repr(torch.device("cpu")), torch.device("cuda:0").index
)
print(torch.device("cuda") == torch.device("cuda:0"), torch.device("cuda:1") == d, torch.device("cpu") != d)
print(
    x.device,
    repr(x.device),
    x.device == torch.device("cpu"),
    x.device.type,
    x.device.index,
    x.is_cuda,
    x.is_cpu,
)
print(
    isinstance(x.device, torch.device), torch.device(x.device) == x.device, {torch.device("cpu"): 1}[x.device]
)
print(torch.device("meta"), torch.device("mps"), torch.device("xpu:1"), torch.device(type="cuda", index=0))
error(lambda: torch.device("nonsense"))
with torch.device("cpu"):
    print(torch.zeros(1).device)
print(
    copy.deepcopy(d),
    pickle.loads(pickle.dumps(d)),
    x.get_device(),
    x.to("cpu") is x,
    x.to(torch.device("cpu")) is x,
)
print(torch.zeros(1, device="cpu").device, torch.zeros(1, device=torch.device("cpu")).device, f"{x.device}")

# legacy types
print(
    torch.FloatTensor(2, 3).shape,
    torch.FloatTensor([1, 2]),
    torch.LongTensor([1, 2]).dtype,
    torch.Tensor(2, 3).shape,
)
print(
    torch.Tensor([1, 2]),
    torch.Tensor().shape,
    torch.IntTensor(3).dtype,
    torch.ByteTensor([1]).dtype,
    torch.BoolTensor([1]),
)
print(
    x.type(),
    x.long().type(),
    x.type("torch.LongTensor").dtype,
    x.type(torch.float64).dtype,
    x.type(torch.HalfTensor).dtype,
)
print(
    isinstance(x, torch.FloatTensor),
    isinstance(x, torch.LongTensor),
    isinstance(x, torch.Tensor),
    torch.is_tensor(x),
)
print(
    x.type_as(torch.LongTensor([1])).dtype,
    x.double().type(),
    x.bool().type(),
    torch.FloatTensor(x.size()).shape,
)
print(torch.Tensor(x.shape).shape, torch.FloatTensor, str(torch.LongTensor))

# texts
print(x, torch.tensor([1, 2], dtype=torch.int32), torch.tensor(3.5), torch.tensor([]), torch.zeros(0, 3))
print(
    torch.ones(2, requires_grad=True),
    torch.ones(2, requires_grad=True) * 2,
    torch.tensor([1.5, 2], dtype=torch.float64),
)
print(torch.nn.Parameter(torch.ones(2)))
print(torch.tensor([True, False]), torch.tensor(1 + 2j), f"{torch.tensor(2.5):.1f}", f"{torch.tensor([1.0])}")
print(torch.nn.Linear(2, 3), torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Dropout(0.1)))

# flags and forms
print(
    x.is_sparse,
    x.is_quantized,
    x.is_contiguous(memory_format=torch.contiguous_format),
    x.layout,
    x.is_pinned(),
)
print(x.contiguous(memory_format=torch.channels_last).shape if x.ndim == 4 else x.contiguous().shape)
print(
    torch.zeros(1, 2, 3, 3).to(memory_format=torch.channels_last).shape, x.to(torch.float16, copy=True).dtype
)
print(x.to("cpu", torch.float64, non_blocking=True).dtype, x.to(device="cpu", dtype=torch.int32).dtype)
print(x.cpu() is x, x.storage_offset(), x.stride(), x.element_size(), x.nelement(), x.dim(), x.ndimension())
print(torch.strided, torch.contiguous_format, torch.channels_last, torch.preserve_format)
