"""accelerate: prepare, accumulate, clip, gather, save_state and load_state, trackers, set_seed, autocast."""

import shutil
import tempfile
from pathlib import Path

import torch
import torch.nn.functional as F
from accelerate import Accelerator, init_empty_weights
from accelerate.utils import ProjectConfiguration, send_to_device, set_seed
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

set_seed(11)
folder = Path(tempfile.mkdtemp())
accelerator = Accelerator(
    gradient_accumulation_steps=2,
    cpu=True,
    project_config=ProjectConfiguration(project_dir=str(folder), automatic_checkpoint_naming=True),
)
print("processes", accelerator.num_processes, accelerator.device.type, accelerator.is_main_process, accelerator.mixed_precision)
x = torch.randn(50, 6)
y = (x.sum(1) > 0).long()
loader = DataLoader(TensorDataset(x, y), batch_size=8, shuffle=True)
evaluation = DataLoader(TensorDataset(x, y), batch_size=12)
model = nn.Sequential(nn.Linear(6, 16), nn.GELU(), nn.LayerNorm(16), nn.Linear(16, 2))
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 / (1 + step))
model, optimizer, loader, evaluation, scheduler = accelerator.prepare(model, optimizer, loader, evaluation, scheduler)
for epoch in range(2):
    model.train()
    losses = []
    for batch in loader:
        with accelerator.accumulate(model):
            inputs, targets = batch
            with accelerator.autocast():
                loss = F.cross_entropy(model(inputs), targets)
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                norm = accelerator.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
        losses.append(accelerator.gather(loss.detach()).mean().item())
    model.eval()
    correct = total = 0
    for inputs, targets in evaluation:
        with torch.no_grad():
            predictions = model(inputs).argmax(dim=-1)
        predictions, targets = accelerator.gather_for_metrics((predictions, targets))
        correct += (predictions == targets).sum().item()
        total += targets.shape[0]
    accelerator.print(
        f"epoch {epoch}: loss {sum(losses) / len(losses):.4f} norm {norm:.4f} lr {scheduler.get_last_lr()[0]:.5f} "
        f"accuracy {correct}/{total} skipped {optimizer.step_was_skipped}"
    )
    accelerator.save_state()
kept = [p.detach().clone() for p in model.parameters()]
with torch.no_grad():
    for p in model.parameters():
        p.add_(1.0)
accelerator.load_state(str(folder / "checkpoints" / "checkpoint_1"))
print("restored", all(torch.equal(a, b) for a, b in zip(kept, model.parameters())))
print("files", sorted(p.name for p in (folder / "checkpoints" / "checkpoint_0").iterdir()))
accelerator.wait_for_everyone()
unwrapped = accelerator.unwrap_model(model)
accelerator.save_model(unwrapped, str(folder / "saved"))
print("saved", sorted(p.name for p in (folder / "saved").iterdir()))
print("moved", {k: v.sum().item() for k, v in send_to_device({"a": torch.ones(2), "b": torch.zeros(1)}, "cpu").items()})
with init_empty_weights():
    empty = nn.Linear(1000, 1000)
print("empty", empty.weight.device.type, empty.weight.shape)
total = accelerator.reduce(torch.tensor([1.0, 2.0]), reduction="sum")
print("reduced", total.tolist(), accelerator.pad_across_processes(torch.ones(2, 3)).shape)
accelerator.end_training()
shutil.rmtree(folder)
