"""safetensors.torch: files of tensors and of models, shared weights, metadata, slices, all dtypes."""

import os
import shutil
import tempfile

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load, load_file, load_model, save, save_file, save_model
from torch import nn

torch.manual_seed(0)
folder = tempfile.mkdtemp()
path = os.path.join(folder, "x.safetensors")
tensors = {"a": torch.randn(3, 4), "b": torch.arange(5), "c": torch.tensor(2.5), "empty": torch.zeros(0, 3)}
for dtype in (torch.float16, torch.bfloat16, torch.float64, torch.int8, torch.uint8, torch.bool, torch.int16, torch.int32):
    tensors[str(dtype)] = torch.tensor([0, 1, 1]).to(dtype)
save_file(tensors, path, metadata={"format": "pt", "step": "3"})
loaded = load_file(path)
print(sorted(loaded), all(loaded[k].dtype == v.dtype and torch.equal(loaded[k], v) for k, v in tensors.items()))
with safe_open(path, framework="pt", device="cpu") as f:
    print(sorted(f.metadata().items()), len(f.keys()), f.get_slice("a")[1:, 2].shape, f.get_tensor("b").tolist(), f.get_slice("a").get_shape())
data = save({"w": torch.ones(2, 2)})
print(len(data), load(data)["w"].sum().item())


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.head = nn.Embedding(6, 4), nn.Linear(4, 6, bias=False)
        self.head.weight = self.embed.weight
        self.norm = nn.BatchNorm1d(4)


model, other = Tied(), Tied()
save_model(model, path)
print(sorted(load_file(path)))
missing, unexpected = load_model(other, path)
print(missing, unexpected, torch.equal(model.embed.weight, other.head.weight))
try:
    save_file({"a": model.embed.weight, "b": model.head.weight}, path)
except RuntimeError as e:
    print("shared", str(e).strip().splitlines()[0][:60])
try:
    save_file({"t": torch.randn(3, 4).t()}, path)
except ValueError as e:
    print("strided", str(e)[:60])
with open(path, "wb") as f:
    f.write(b"xx")
try:
    load_file(path)
except SafetensorError as e:
    print("damaged", type(e).__name__)
shutil.rmtree(folder)
