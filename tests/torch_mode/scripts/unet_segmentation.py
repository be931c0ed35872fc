"""U-Net that marks discs in noisy images; dice plus binary cross entropy, AdamW, a plateau schedule, IoU."""

from functools import partial

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.optim.lr_scheduler import ReduceLROnPlateau
from torch.utils.data import DataLoader, Dataset, random_split


class Discs(Dataset[tuple[Tensor, Tensor]]):
    def __init__(self, n, size=16, seed=0):
        rng = np.random.default_rng(seed)
        rows, columns = np.mgrid[:size, :size]
        centres, radii = rng.uniform(4, size - 4, (n, 2)), rng.uniform(2, 4, n)
        self.masks = np.stack([(rows - a) ** 2 + (columns - b) ** 2 < r * r for (a, b), r in zip(centres, radii)])
        self.images = (self.masks + rng.normal(0, 0.3, self.masks.shape)).astype(np.float32)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        image, mask = torch.as_tensor(self.images[index]), torch.as_tensor(self.masks[index])
        return image.unsqueeze(0).contiguous(), mask.long().contiguous()


class DoubleConv(nn.Module):
    """(convolution => batch norm => ReLU) twice"""

    def __init__(self, in_channels, out_channels, mid_channels=None):
        super().__init__()
        mid_channels = mid_channels or out_channels
        self.double_conv = nn.Sequential(
            nn.Conv2d(in_channels, mid_channels, kernel_size=3, padding=1, bias=False),
            nn.BatchNorm2d(mid_channels),
            nn.ReLU(inplace=True),
            nn.Conv2d(mid_channels, out_channels, kernel_size=3, padding=1, bias=False),
            nn.BatchNorm2d(out_channels),
            nn.ReLU(inplace=True),
        )

    def forward(self, x: Tensor) -> Tensor:
        return self.double_conv(x)


class Down(nn.Sequential):
    def __init__(self, in_channels, out_channels):
        super().__init__(nn.MaxPool2d(2), DoubleConv(in_channels, out_channels))


class Up(nn.Module):
    def __init__(self, in_channels, out_channels, bilinear=True):
        super().__init__()
        if bilinear:
            self.up = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True)
            self.conv = DoubleConv(in_channels + in_channels // 2, out_channels, in_channels // 2)
        else:
            self.up = nn.ConvTranspose2d(in_channels, in_channels // 2, kernel_size=2, stride=2)
            self.conv = DoubleConv(in_channels, out_channels)

    def forward(self, x1, x2):
        x1 = self.up(x1)
        diffY, diffX = x2.size()[2] - x1.size()[2], x2.size()[3] - x1.size()[3]
        x1 = F.pad(x1, [diffX // 2, diffX - diffX // 2, diffY // 2, diffY - diffY // 2])
        return self.conv(torch.cat([x2, x1], dim=1))


class UNet(nn.Module):
    def __init__(self, n_channels, n_classes, width=6):
        super(UNet, self).__init__()
        self.n_channels, self.n_classes = n_channels, n_classes
        self.inc = DoubleConv(n_channels, width)
        self.down1 = Down(width, 2 * width)
        self.down2 = Down(2 * width, 4 * width)
        self.up1 = Up(4 * width, 2 * width, bilinear=False)
        self.up2 = Up(2 * width, width, bilinear=True)
        self.outc = nn.Conv2d(width, n_classes, kernel_size=1)

    def forward(self, x):
        x1 = self.inc(x)
        x2 = self.down1(x1)
        x3 = self.down2(x2)
        return self.outc(self.up2(self.up1(x3, x2), x1))


def dice_coeff(input: Tensor, target: Tensor, epsilon: float = 1e-6):
    assert input.size() == target.size()
    sum_dim = (-1, -2)
    inter = 2 * (input * target).sum(dim=sum_dim)
    sets_sum = input.sum(dim=sum_dim) + target.sum(dim=sum_dim)
    sets_sum = torch.where(sets_sum == 0, inter, sets_sum)
    return ((inter + epsilon) / (sets_sum + epsilon)).mean()


@torch.inference_mode()
def evaluate(net, loader):
    net.eval()
    score, union, meet = 0, 0, 0
    for image, mask in loader:
        mask_pred = (torch.sigmoid(net(image)) > 0.5).squeeze(1)
        score += dice_coeff(mask_pred.float(), mask.float())
        meet += (mask_pred & mask.bool()).sum().item()
        union += (mask_pred | mask.bool()).sum().item()
    net.train()
    return score / max(len(loader), 1), meet / union


torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
dataset = Discs(20)
n_val = int(len(dataset) * 0.2)
train_set, val_set = random_split(dataset, [len(dataset) - n_val, n_val], generator=torch.Generator().manual_seed(0))
loader_args = dict(batch_size=4, num_workers=0, pin_memory=torch.cuda.is_available())
train_loader = DataLoader(train_set, shuffle=True, **loader_args)
val_loader = DataLoader(val_set, shuffle=False, drop_last=True, **loader_args)
model = UNet(1, 1)
for m in model.modules():
    if isinstance(m, (nn.Conv2d, nn.ConvTranspose2d)):
        nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")
model = model.to(device=device, memory_format=torch.channels_last)
print(sum(p.numel() for p in model.parameters() if p.requires_grad), "parameters")
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=1e-4)
scheduler = ReduceLROnPlateau(optimizer, mode="max", factor=0.5, patience=0)
grad_scaler = torch.amp.GradScaler("cpu", enabled=False)
bce = nn.BCEWithLogitsLoss(pos_weight=torch.tensor([2.0]))
for epoch in range(1, 4):
    model.train()
    epoch_loss = 0.0
    for images, true_masks in train_loader:
        images = images.to(device=device, dtype=torch.float32, memory_format=torch.channels_last)
        true_masks = true_masks.to(device=device, dtype=torch.long)
        with torch.autocast(device.type if device.type != "mps" else "cpu", enabled=False):
            masks_pred = model(images)
            loss = bce(masks_pred.squeeze(1), true_masks.float())
            loss += 1 - dice_coeff(F.sigmoid(masks_pred.squeeze(1)), true_masks.float())
        optimizer.zero_grad(set_to_none=True)
        grad_scaler.scale(loss).backward()
        grad_scaler.unscale_(optimizer)
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        grad_scaler.step(optimizer)
        grad_scaler.update()
        epoch_loss += loss.item()
    dice, iou = evaluate(model, val_loader)
    scheduler.step(dice)
    print(
        f"epoch {epoch}: loss {epoch_loss / len(train_loader):.4f}, norm {norm:.3f}, dice {dice:.3f}, iou {iou:.3f}, "
        f"lr {optimizer.param_groups[0]['lr']:.5f}"
    )
tag = partial("{:.4f}".format)
print({k: tag(v.float().abs().mean()) for k, v in model.state_dict().items() if "outc" in k or "up1.up" in k})
