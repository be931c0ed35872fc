"""A small ResNet on CIFAR-like images: schedules, checkpoints, a run that is resumed, top-k accuracy."""

import os
import shutil
import tempfile
from collections import OrderedDict

import torch
import torch.backends.cudnn as cudnn
import torch.nn as nn
import torch.nn.functional as F
from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR, MultiStepLR, OneCycleLR, SequentialLR
from torch.utils.data import DataLoader, SubsetRandomSampler, TensorDataset


class AverageMeter(object):
    """Computes and stores the average and current value"""

    def __init__(self, name, fmt=":f"):
        self.name, self.fmt = name, fmt
        self.reset()

    def reset(self):
        self.val = self.avg = self.sum = self.count = 0

    def update(self, val, n=1):
        self.val = val
        self.sum += val * n
        self.count += n
        self.avg = self.sum / self.count

    def __str__(self):
        return ("{name} {val" + self.fmt + "} ({avg" + self.fmt + "})").format(**self.__dict__)


class BasicBlock(nn.Module):
    expansion = 1

    def __init__(self, in_planes, planes, stride=1):
        super(BasicBlock, self).__init__()
        self.conv1 = nn.Conv2d(in_planes, planes, kernel_size=3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.conv2 = nn.Conv2d(planes, planes, kernel_size=3, stride=1, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)
        self.shortcut = nn.Sequential()
        if stride != 1 or in_planes != self.expansion * planes:
            self.shortcut = nn.Sequential(
                nn.Conv2d(in_planes, self.expansion * planes, kernel_size=1, stride=stride, bias=False),
                nn.BatchNorm2d(self.expansion * planes),
            )

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += self.shortcut(x)
        return F.relu(out)


class ResNet(nn.Module):
    def __init__(self, block, num_blocks, num_classes=10):
        super(ResNet, self).__init__()
        self.in_planes = 4
        self.conv1 = nn.Conv2d(3, 4, kernel_size=3, stride=1, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(4)
        self.layer1 = self._make_layer(block, 4, num_blocks[0], stride=1)
        self.layer2 = self._make_layer(block, 8, num_blocks[1], stride=2)
        self.linear = nn.Linear(8 * block.expansion, num_classes)
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")
            elif isinstance(m, (nn.BatchNorm2d, nn.GroupNorm)):
                nn.init.constant_(m.weight, 1)
                nn.init.constant_(m.bias, 0)

    def _make_layer(self, block, planes, num_blocks, stride):
        layers = []
        for stride in [stride] + [1] * (num_blocks - 1):
            layers.append(block(self.in_planes, planes, stride))
            self.in_planes = planes * block.expansion
        return nn.Sequential(*layers)

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)))
        out = self.layer2(self.layer1(out))
        out = F.adaptive_avg_pool2d(out, (1, 1))
        return self.linear(torch.flatten(out, 1))


def accuracy(output, target, topk=(1,)):
    with torch.no_grad():
        maxk = max(topk)
        batch_size = target.size(0)
        _, pred = output.topk(maxk, 1, True, True)
        pred = pred.t()
        correct = pred.eq(target.view(1, -1).expand_as(pred))
        res = []
        for k in topk:
            correct_k = correct[:k].reshape(-1).float().sum(0, keepdim=True)
            res.append(correct_k.mul_(100.0 / batch_size))
        return res


def train_one_epoch(loader, model, criterion, optimizer, epoch, scheduler=None):
    losses, top1, top3 = AverageMeter("Loss", ":.4f"), AverageMeter("Acc@1", ":6.2f"), AverageMeter("Acc@3", ":6.2f")
    model.train()
    for i, (images, target) in enumerate(loader):
        output = model(images)
        loss = criterion(output, target)
        acc1, acc3 = accuracy(output, target, topk=(1, 3))
        losses.update(loss.item(), images.size(0))
        top1.update(acc1[0], images.size(0))
        top3.update(acc3[0], images.size(0))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if scheduler is not None:
            scheduler.step()
    print(f"epoch {epoch}", losses, "\t".join(f"{m.name} {m.avg.item():.2f}" for m in (top1, top3)))
    return losses.avg


def save_checkpoint(state, is_best, folder, filename="checkpoint.pth.tar"):
    torch.save(state, os.path.join(folder, filename))
    if is_best:
        shutil.copyfile(os.path.join(folder, filename), os.path.join(folder, "model_best.pth.tar"))


torch.manual_seed(5)
cudnn.benchmark = True
device = "cuda" if torch.cuda.is_available() else "cpu"
gpu_count = torch.cuda.device_count()
images = torch.randn(40, 3, 8, 8)
target = (images.mean((1, 2, 3)) * 40).long() % 4
images[range(40), target % 3] += target.view(-1, 1, 1) * 0.3
sampler = SubsetRandomSampler(list(range(0, 40, 2)) + [1, 3, 5, 7], generator=torch.Generator().manual_seed(1))
loader = DataLoader(TensorDataset(images, target), batch_size=8, sampler=sampler)
folder = tempfile.mkdtemp()
criterion = nn.CrossEntropyLoss(label_smoothing=0.1).to(device)


def fresh():
    net = ResNet(BasicBlock, [1, 1], num_classes=4).to(device)
    optimizer = torch.optim.SGD(net.parameters(), 0.05, momentum=0.9, weight_decay=5e-4, nesterov=True)
    scheduler = MultiStepLR(optimizer, milestones=[1, 3], gamma=0.1)
    return net, optimizer, scheduler


net, optimizer, scheduler = fresh()
best = 1e9
for epoch in range(2):
    loss = train_one_epoch(loader, net, criterion, optimizer, epoch)
    scheduler.step()
    is_best, best = loss < best, min(loss, best)
    state = {"epoch": epoch + 1, "arch": "resnet", "state_dict": net.state_dict(), "best": best}
    state |= {"optimizer": optimizer.state_dict(), "scheduler": scheduler.state_dict()}
    save_checkpoint(state, is_best, folder)
print("learning rate", scheduler.get_last_lr(), sorted(os.listdir(folder)))

net, optimizer, scheduler = fresh()
checkpoint = torch.load(os.path.join(folder, "checkpoint.pth.tar"), map_location=device, weights_only=True)
start_epoch, best = checkpoint["epoch"], checkpoint["best"]
net.load_state_dict(checkpoint["state_dict"])
optimizer.load_state_dict(checkpoint["optimizer"])
scheduler.load_state_dict(checkpoint["scheduler"])
for epoch in range(start_epoch, 4):
    train_one_epoch(loader, net, criterion, optimizer, epoch)
    scheduler.step()
print("resumed", start_epoch, f"{best:.4f}", scheduler.last_epoch, [f"{g['lr']:.5f}" for g in optimizer.param_groups])
moments = [optimizer.state[p]["momentum_buffer"] for p in net.parameters()]
print("moments", len(moments), f"{sum(m.norm().item() for m in moments):.3f}")

# partial weights, frozen layers, groups of parameters, other schedules
weights = OrderedDict((k, v) for k, v in net.state_dict().items() if not k.startswith("linear"))
net = ResNet(BasicBlock, [1, 1], num_classes=6)
missing = net.load_state_dict(weights, strict=False)
print(missing.missing_keys, missing.unexpected_keys)
try:
    net.load_state_dict(weights)
except RuntimeError as e:
    print(type(e).__name__ in ("RuntimeError", "ValueError"), "linear.weight" in str(e))
for param in net.parameters():
    param.requires_grad = False
net.linear = nn.Linear(net.linear.in_features, 4)
print("trained", [n for n, p in net.named_parameters() if p.requires_grad])
optimizer = torch.optim.Adam(filter(lambda p: p.requires_grad, net.parameters()), lr=0.01)
warm = LinearLR(optimizer, start_factor=0.1, total_iters=2)
schedule = SequentialLR(optimizer, [warm, CosineAnnealingLR(optimizer, T_max=4)], milestones=[2])
train_one_epoch(loader, net, criterion, optimizer, 0, schedule)
print("grads", [p.grad is None for p in net.parameters()].count(True), f"{net.linear.weight.grad.norm():.4f}")
for p in net.layer2.parameters():
    p.requires_grad_(True)
optimizer.add_param_group({"params": net.layer2.parameters(), "lr": 0.001})
schedule = OneCycleLR(optimizer, max_lr=[0.02, 0.002], epochs=1, steps_per_epoch=len(loader))
train_one_epoch(loader, net, criterion, optimizer, 1, schedule)
print("rates", [f"{g['lr']:.2e}" for g in optimizer.param_groups])
shutil.rmtree(folder)
