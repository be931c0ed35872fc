"""torchvision's transforms, v1 and v2, of tensors and of PIL images; tv_tensors; utils; datasets of folders."""

import os
import random
import shutil
import tempfile

import numpy as np
import torch
import torchvision.transforms as T
import torchvision.transforms.functional as TF
from PIL import Image
from torchvision import datasets, tv_tensors, utils
from torchvision.transforms import v2

random.seed(0)
np.random.seed(0)
torch.manual_seed(0)
image = Image.fromarray(np.random.randint(0, 255, (24, 20, 3), dtype=np.uint8))
tensor = TF.to_tensor(image)
small = lambda x: round(float(torch.as_tensor(np.asarray(x)).float().mean()), 3)
normalize = T.Normalize(mean=[0.485, 0.456, 0.406], std=[0.229, 0.224, 0.225])
pipeline = T.Compose([T.RandomResizedCrop(16), T.RandomHorizontalFlip(), T.ToTensor(), normalize, T.RandomErasing(p=1.0)])
out = pipeline(image)
print("train", out.shape, out.dtype, f"{out.mean().item():.3f} {out.std().item():.3f}")
out = T.Compose([T.Resize(18), T.CenterCrop(16), T.ToTensor(), normalize])(image)
print("test", out.shape, f"{out.sum().item():.2f}")
for t in (
    T.Resize((10, 12), antialias=True), T.Pad(2, padding_mode="reflect"), T.ColorJitter(0.3, 0.3, 0.3, 0.1), T.RandomRotation(30),
    T.RandomAffine(10, (0.1, 0.1), (0.9, 1.1), 5), T.RandomPerspective(p=1.0), T.Grayscale(3), T.GaussianBlur(3), T.RandomInvert(1.0),
    T.RandomSolarize(0.5, 1.0), T.RandomAdjustSharpness(2, 1.0), T.RandomAutocontrast(1.0), T.RandomCrop(12),
    T.FiveCrop(8), T.RandomVerticalFlip(1.0), T.ElasticTransform(20.0, 2.0),
):  # fmt: skip
    torch.manual_seed(5)
    value = t(tensor)
    print("tensor", type(t).__name__, [v.shape for v in value][0] if isinstance(value, tuple) else value.shape,
          small(torch.stack(value) if isinstance(value, tuple) else value))  # fmt: skip
for t in (T.RandAugment(), T.TrivialAugmentWide(), T.AutoAugment(), T.AugMix(), T.RandomPosterize(3, 1.0), T.RandomEqualize(1.0)):
    value = small if not isinstance(t, T.AugMix) else np.shape  # its Dirichlet numbers are a library's own
    torch.manual_seed(6)
    print("bytes", type(t).__name__, value(t((tensor * 255).to(torch.uint8))))
    torch.manual_seed(6)
    print("pil", type(t).__name__, value(t(image)))
for t in (T.RandomRotation(30), T.ColorJitter(0.3), T.RandomPerspective(p=1.0), T.GaussianBlur(3), T.Grayscale()):
    torch.manual_seed(5)
    print("pil", type(t).__name__, small(t(image)))
print("functional", small(TF.rotate(tensor, 20)), small(TF.hflip(tensor)), small(TF.adjust_hue(tensor, 0.2)), TF.pil_to_tensor(image).dtype)
print("back", TF.to_pil_image(tensor).size, small(TF.to_pil_image(tensor)))

new = v2.Compose([
    v2.ToImage(), v2.RandomResizedCrop((16, 16), antialias=True), v2.RandomHorizontalFlip(p=1.0),
    v2.ToDtype(torch.float32, scale=True), v2.Normalize([0.5] * 3, [0.25] * 3),
])  # fmt: skip
torch.manual_seed(1)
out = new(image)
print("v2", type(out).__name__, out.shape, f"{out.mean().item():.3f}")
boxes = tv_tensors.BoundingBoxes([[2, 3, 10, 12], [5, 5, 9, 9]], format="XYXY", canvas_size=(24, 20))
mask = tv_tensors.Mask(torch.arange(480).view(1, 24, 20) % 2)
torch.manual_seed(2)
sample = v2.Compose([v2.ToImage(), v2.RandomHorizontalFlip(1.0), v2.Resize((12, 10)), v2.RandomAffine(15), v2.ClampBoundingBoxes()])(
    {"image": image, "boxes": boxes, "mask": mask, "label": 3}
)
print("v2", type(sample["boxes"]).__name__, sample["boxes"].tolist(), sample["mask"].shape, sample["label"], sample["image"].shape)
print("v2", v2.functional.convert_bounding_box_format(boxes, new_format="CXCYWH").tolist(), type(boxes + 1).__name__)
torch.manual_seed(3)
mixed, labels = v2.MixUp(num_classes=4)(torch.rand(4, 3, 8, 8), torch.arange(4))
print("mixup", mixed.shape, f"{labels.sum().item():.3f}")
mixed, labels = v2.CutMix(num_classes=4)(torch.rand(4, 3, 8, 8), torch.arange(4))
print("cutmix", mixed.shape, f"{labels.sum().item():.3f}")
for t in (v2.RandomPhotometricDistort(p=1.0), v2.GaussianNoise(), v2.RandomZoomOut(p=1.0), v2.ScaleJitter((16, 16)), v2.RandomIoUCrop(), v2.JPEG(50)):
    torch.manual_seed(4)
    try:
        value = t(tv_tensors.Image(tensor if "JPEG" not in type(t).__name__ else (tensor * 255).byte()), boxes)[0]
        print("v2", type(t).__name__, value.shape[0], small(value))
    except RuntimeError as e:
        print("v2", type(t).__name__, "raises")
print("grid", utils.make_grid(torch.rand(5, 3, 4, 4), nrow=3, normalize=True).shape)
print("drawn", small(utils.draw_bounding_boxes((tensor * 255).byte(), boxes, colors="red")))

folder = tempfile.mkdtemp()
for c in ("cat", "dog"):
    os.makedirs(os.path.join(folder, c))
    for i in range(3):
        image.rotate(i * 90).save(os.path.join(folder, c, f"{i}.png"))
utils.save_image(tensor, os.path.join(folder, "grid.png"))
found = datasets.ImageFolder(folder, transform=T.Compose([T.Resize((8, 8)), T.ToTensor()]))
batch, labels = next(iter(torch.utils.data.DataLoader(found, batch_size=4, shuffle=False)))
print("folder", len(found), found.classes, batch.shape, labels.tolist(), f"{batch.mean().item():.4f}")
print("fake", datasets.FakeData(4, (3, 8, 8), 10, T.ToTensor())[1][0].shape)
shutil.rmtree(folder)
