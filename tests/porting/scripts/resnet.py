"""Residual blocks with batch norm, as in networks for CIFAR."""

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

rng = np.random.default_rng(10)


class BasicBlock(nn.Module):
    expansion = 1

    def __init__(self, in_planes, planes, stride=1):
        super().__init__()
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
    def __init__(self, num_blocks, num_classes=3):
        super().__init__()
        self.in_planes = 4
        self.conv1 = nn.Conv2d(3, 4, kernel_size=3, stride=1, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(4)
        self.layer1 = self._make_layer(4, num_blocks[0], stride=1)
        self.layer2 = self._make_layer(8, num_blocks[1], stride=2)
        self.linear = nn.Linear(8, num_classes)

    def _make_layer(self, planes, num_blocks, stride):
        layers = []
        for s in [stride] + [1] * (num_blocks - 1):
            layers.append(BasicBlock(self.in_planes, planes, s))
            self.in_planes = planes * BasicBlock.expansion
        return nn.Sequential(*layers)

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)))
        out = self.layer2(self.layer1(out))
        out = F.adaptive_avg_pool2d(out, 1)
        return self.linear(out.view(out.size(0), -1))


net = ResNet([1, 1])
for m in net.modules():
    if isinstance(m, (nn.Conv2d, nn.Linear)):
        m.weight.data.copy_(torch.as_tensor(rng.normal(0, 0.25, tuple(m.weight.shape)), dtype=torch.float32))
nn.init.zeros_(net.linear.bias)
print(sum(p.numel() for p in net.parameters() if p.requires_grad), "parameters")
criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-4, nesterov=True)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=6)

for epoch in range(6):
    targets = torch.from_numpy(rng.integers(0, 3, 12))
    inputs = torch.from_numpy(rng.normal(0, 0.5, (12, 3, 8, 8)).astype(np.float32))
    inputs[torch.arange(12), targets] += 1.0
    optimizer.zero_grad()
    outputs = net(inputs)
    loss = criterion(outputs, targets)
    loss.backward()
    optimizer.step()
    scheduler.step()
    _, predicted = outputs.max(1)
    acc = 100.0 * predicted.eq(targets).sum().item() / targets.size(0)
    print(f"{epoch} Loss: {loss.item():.4f} | Acc: {acc:.1f}% | lr {scheduler.get_last_lr()[0]:.5f}")
