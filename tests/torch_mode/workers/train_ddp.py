import argparse
import os

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 3, padding=1)
        self.bn = nn.BatchNorm2d(8)
        self.fc1 = nn.Linear(8 * 8 * 8, 32)
        self.drop = nn.Dropout(0.0)
        self.fc2 = nn.Linear(32, 10)

    def forward(self, x):
        x = F.relu(self.bn(self.conv(x)))
        return self.fc2(self.drop(F.relu(self.fc1(x.flatten(1)))))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--backend", default="gloo")
    parser.add_argument("file")
    args = parser.parse_args()
    dist.init_process_group(args.backend)
    rank, world = dist.get_rank(), dist.get_world_size()
    local_rank = int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", local_rank) if torch.cuda.is_available() else torch.device("cpu")
    torch.manual_seed(1234 + rank)  # DDP broadcasts rank 0's weights
    model = Net().to(device)
    ddp = DDP(model, device_ids=[local_rank] if device.type == "cuda" else None)
    g = torch.Generator().manual_seed(0)
    x = torch.randn(200, 1, 8, 8, generator=g)
    y = (x.mean((1, 2, 3)) * 40).long().clamp(-4, 5) + 4
    dataset = TensorDataset(x, y)
    sampler = DistributedSampler(dataset, num_replicas=world, rank=rank, shuffle=True, seed=7)
    loader = DataLoader(dataset, batch_size=16, sampler=sampler)
    optimizer = torch.optim.SGD(ddp.parameters(), lr=0.1, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        ddp.train()
        total = torch.zeros(2, device=device)
        for xb, yb in loader:
            xb, yb = xb.to(device), yb.to(device)
            optimizer.zero_grad()
            loss = F.cross_entropy(ddp(xb), yb)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(ddp.parameters(), 1.0)
            optimizer.step()
            total += torch.tensor([loss.item() * len(xb), len(xb)], device=device)
        scheduler.step()
        dist.all_reduce(total, op=dist.ReduceOp.SUM)
        if rank == 0:
            print(f"epoch {epoch}: loss {total[0] / total[1]:.5f} of {int(total[1])}", flush=True)
    # accumulation
    with ddp.no_sync():
        F.cross_entropy(ddp(x[:8].to(device)), y[:8].to(device)).backward()
    F.cross_entropy(ddp(x[8 + rank : 16 + rank].to(device)), y[8 + rank : 16 + rank].to(device)).backward()
    norm = torch.stack([p.grad.norm() for p in ddp.parameters()]).norm()
    norms = [torch.zeros_like(norm) for _ in range(world)]
    dist.all_gather(norms, norm)
    weights = torch.cat([p.detach().flatten() for p in ddp.module.parameters()])
    low, high = weights.clone(), weights.clone()
    dist.all_reduce(low, op=dist.ReduceOp.MIN)
    dist.all_reduce(high, op=dist.ReduceOp.MAX)
    objects = [None] * world
    dist.all_gather_object(objects, {"rank": rank, "n": len(loader)})
    dist.barrier()
    if rank == 0:
        print("norms", [f"{n.item():.4f}" for n in norms])
        print("equal weights", bool((low == high).all()), f"{weights.sum().item():.4f}")
        print(objects, list(ddp.state_dict())[:3], type(ddp.module).__name__)
        torch.save(ddp.module.state_dict(), args.file)
    dist.barrier()
    state = torch.load(args.file, map_location=device)
    model.load_state_dict(state)
    print(f"rank {rank} {sum(p.sum().item() for p in model.parameters()):.4f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
