"""timm's parts as its train.py puts them together: loader, mixup, optimizer, scheduler, EMA, clipping, savers."""

import logging
import os
import shutil
import tempfile
from collections import OrderedDict
from contextlib import suppress

import numpy as np
import torch
import torch.nn as nn
from timm import utils
from timm.data import AugMixDataset, FastCollateMixup, Mixup, create_transform, resolve_data_config
from timm.layers import convert_splitbn_model, convert_sync_batchnorm
from timm.loss import BinaryCrossEntropy, LabelSmoothingCrossEntropy, SoftTargetCrossEntropy
from timm.models import create_model, load_checkpoint, model_parameters, safe_model_name
from timm.optim import create_optimizer_v2
from timm.scheduler import create_scheduler_v2
from timm.utils import ApexScaler, ModelEmaV2, ModelEmaV3, NativeScaler

logging.disable(logging.INFO)
utils.random_seed(42, 0)
folder = tempfile.mkdtemp()
device = utils.init_distributed_device_so() if hasattr(utils, "init_distributed_device_so") and False else torch.device("cpu")
images = torch.randn(32, 3, 32, 32)
labels = torch.randint(0, 4, (32,))
images += labels.view(-1, 1, 1, 1) * 0.4
dataset = torch.utils.data.TensorDataset(images, labels)
loader = torch.utils.data.DataLoader(dataset, 8, shuffle=True, drop_last=True)


def train(name, opt, sched, loss_fn, mixup_fn=None, steps=2, **options):
    model = create_model(name, pretrained=False, num_classes=4, **options)
    model.to(device=device, memory_format=torch.channels_last)
    optimizer = create_optimizer_v2(model, opt=opt, lr=0.01, weight_decay=0.05, momentum=0.9, layer_decay=0.75 if "vit" in name else None)
    model_ema = ModelEmaV3(model, decay=0.9, use_warmup=True)
    scheduler, num_epochs = create_scheduler_v2(
        optimizer, sched=sched, num_epochs=2, decay_epochs=1, warmup_epochs=1, warmup_lr=1e-4, min_lr=1e-5, updates_per_epoch=len(loader)
    )
    loss_scaler = NativeScaler(device="cpu")
    saver = utils.CheckpointSaver(
        model=model, optimizer=optimizer, args=None, model_ema=model_ema, amp_scaler=None, checkpoint_dir=folder,
        recovery_dir=folder, decreasing=True, max_history=2,
    )  # fmt: skip
    if mixup_fn is not None:
        mixup_fn.mixup_enabled = True
    num_updates = 0
    for epoch in range(num_epochs):
        losses_m, top1_m = utils.AverageMeter(), utils.AverageMeter()
        model.train()
        for batch_idx, (input, target) in enumerate(loader):
            if batch_idx == steps:
                break
            if mixup_fn is not None:
                input, target = mixup_fn(input, target)
            input = input.contiguous(memory_format=torch.channels_last)
            with suppress():
                output = model(input)
                loss = loss_fn(output, target)
            loss_scaler(
                loss, optimizer, clip_grad=1.0, clip_mode="agc" if opt == "sgd" else "norm",
                parameters=model_parameters(model, exclude_head=opt == "sgd"), create_graph=False, need_update=True,
            )  # fmt: skip
            optimizer.zero_grad()
            num_updates += 1
            model_ema.update(model, step=num_updates)
            losses_m.update(loss.item(), input.size(0))
            scheduler.step_update(num_updates=num_updates, metric=losses_m.avg)
        lrl = [g["lr"] for g in optimizer.param_groups]
        model.eval()
        with torch.inference_mode():
            output = model_ema.module(images)
            top1, top2 = utils.accuracy(output, labels, topk=(1, 2))
            top1_m.update(top1.item(), 32)
            eval_loss = nn.CrossEntropyLoss()(output, labels)
        scheduler.step(epoch + 1, eval_loss.item())
        saver.save_checkpoint(epoch, metric=eval_loss.item())
        print(f"{name} {opt} {epoch}: {losses_m.avg:.4f} lr {sum(lrl) / len(lrl):.6f} groups {len(lrl)} top1 {top1_m.avg:.2f} ema {eval_loss.item():.4f}")
    twin = create_model(name, pretrained=False, num_classes=4, **options)
    load_checkpoint(twin, os.path.join(folder, "last.pth.tar"), use_ema=True)
    with torch.no_grad():
        print("loaded", f"{(twin.eval()(images) - model_ema.module(images)).abs().max().item():.5f}")
    for file in os.listdir(folder):
        os.remove(os.path.join(folder, file))


small = dict(img_size=32, patch_size=8, embed_dim=24, depth=2, num_heads=2)
np.random.seed(1)
train("resnet10t", "sgd", "cosine", LabelSmoothingCrossEntropy(0.1), drop_rate=0.0)
mixup = Mixup(mixup_alpha=0.2, cutmix_alpha=1.0, prob=1.0, switch_prob=0.5, mode="batch", label_smoothing=0.1, num_classes=4)
train("vit_tiny_patch16_224", "adamw", "cosine", SoftTargetCrossEntropy(), mixup, **small)
np.random.seed(2)
mixup = Mixup(mixup_alpha=0.8, prob=1.0, mode="elem", label_smoothing=0.0, num_classes=4)
train("convnext_atto", "lamb", "step", BinaryCrossEntropy(0.1), mixup, depths=(1, 1, 1, 1), dims=(8, 12, 16, 20))
for opt in ("lion", "rmsproptf", "adabelief", "nadamw", "adafactor", "radam", "adan", "madgrad", "novograd", "muon"):
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 2))
    optimizer = create_optimizer_v2(model, opt=opt, lr=0.01, weight_decay=0.01)
    x, y = torch.randn(10, 6), torch.randint(0, 2, (10,))
    for _ in range(3):
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(opt, f"{loss.item():.5f}", f"{sum(p.abs().sum().item() for p in model.parameters()):.4f}")
for sched in ("cosine", "tanh", "step", "multistep", "poly", "plateau"):
    p = [nn.Parameter(torch.zeros(1))]
    optimizer = torch.optim.SGD(p, lr=0.1)
    scheduler, epochs = create_scheduler_v2(optimizer, sched=sched, num_epochs=4, decay_epochs=1, decay_milestones=(1, 2), warmup_epochs=1, warmup_lr=1e-3, patience_epochs=0)
    rates = []
    for epoch in range(4):
        scheduler.step(epoch + 1, 1.0)
        rates.append(optimizer.param_groups[0]["lr"])
    print(sched, epochs, [f"{r:.5f}" for r in rates])
shutil.rmtree(folder)
