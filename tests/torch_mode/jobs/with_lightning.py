"""Lightning's Trainer: fit, validate, test, predict, checkpoints, a CSV logger, callbacks, resuming, by-hand optimisation."""

import csv
import logging
import shutil
import sys
import tempfile
import warnings
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

warnings.simplefilter("ignore")
logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
import pytorch_lightning as pl
import torchmetrics
from pytorch_lightning.callbacks import (
    Callback,
    EarlyStopping,
    GradientAccumulationScheduler,
    LearningRateMonitor,
    ModelCheckpoint,
    StochasticWeightAveraging,
)
from pytorch_lightning.loggers import CSVLogger

folder = Path(tempfile.mkdtemp())


class Digits(pl.LightningDataModule):
    def __init__(self, batch_size=16):
        super().__init__()
        self.save_hyperparameters()

    def prepare_data(self):
        generator = torch.Generator().manual_seed(0)
        y = torch.randint(0, 10, (120,), generator=generator)
        x = torch.rand(120, 1, 12, 12, generator=generator) * 0.5
        for i, label in enumerate(y.tolist()):
            x[i, 0, label] += 1
        self.all = TensorDataset(x, y)

    def setup(self, stage):
        self.train, self.val = random_split(self.all, [96, 24], generator=torch.Generator().manual_seed(1))

    def train_dataloader(self):
        return DataLoader(self.train, batch_size=self.hparams.batch_size, shuffle=True)

    def val_dataloader(self):
        return DataLoader(self.val, batch_size=12)

    test_dataloader = predict_dataloader = val_dataloader


class Classifier(pl.LightningModule):
    def __init__(self, hidden: int = 16, lr: float = 0.01):
        super().__init__()
        self.save_hyperparameters()
        self.example_input_array = torch.zeros(1, 1, 12, 12)
        self.net = nn.Sequential(
            nn.Conv2d(1, 4, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(),
            nn.Linear(144, hidden), nn.ReLU(), nn.Linear(hidden, 10),
        )  # fmt: skip
        self.accuracy = torchmetrics.Accuracy(task="multiclass", num_classes=10)

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = F.cross_entropy(self(x), y)
        self.log("train_loss", loss, on_step=True, on_epoch=True)
        return loss

    def validation_step(self, batch, batch_idx):
        x, y = batch
        logits = self(x)
        self.accuracy(logits, y)
        self.log("val_loss", F.cross_entropy(logits, y), prog_bar=True)
        self.log("val_acc", self.accuracy, prog_bar=True)

    def test_step(self, batch, batch_idx):
        self.validation_step(batch, batch_idx)

    def predict_step(self, batch, batch_idx):
        return self(batch[0]).argmax(1)

    def on_before_optimizer_step(self, optimizer):
        norms = pl.utilities.grad_norm(self, norm_type=2)
        if norms:
            self.log("norm", norms["grad_2.0_norm_total"])

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=self.hparams.lr)
        scheduler = torch.optim.lr_scheduler.OneCycleLR(
            optimizer, max_lr=0.02, total_steps=2 * int(self.trainer.estimated_stepping_batches)
        )
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": scheduler, "interval": "step"}}


class Told(Callback):
    def on_train_epoch_end(self, trainer, module):
        metrics = {k: round(v.item(), 4) for k, v in sorted(trainer.callback_metrics.items())}
        print("epoch", trainer.current_epoch, "step", trainer.global_step, metrics)


settings = dict(
    accelerator="cpu", enable_progress_bar=False, log_every_n_steps=1, default_root_dir=folder, enable_model_summary=False
)
pl.seed_everything(42, verbose=False)
model, data = Classifier(), Digits()
best = ModelCheckpoint(folder / "best", monitor="val_loss", save_top_k=1, save_last=True, filename="{epoch}-{step}")
trainer = pl.Trainer(
    max_epochs=2,
    gradient_clip_val=0.5,
    logger=CSVLogger(folder, name="logs"),
    callbacks=[Told(), best, LearningRateMonitor(), EarlyStopping("val_loss", patience=3)],
    **settings,
)
trainer.fit(model, data)
print("best", Path(best.best_model_path).name, f"{best.best_model_score.item():.4f}")
print("test", {k: round(v, 4) for k, v in trainer.test(model, data, verbose=False)[0].items()})
print("validate", {k: round(v, 4) for k, v in trainer.validate(model, data, verbose=False)[0].items()})
print("predicted", torch.cat(trainer.predict(model, data)).tolist())
rows = list(csv.DictReader(open(next(folder.rglob("metrics.csv")))))
print("logged", len(rows), [f"{float(r['lr-AdamW']):.5f}" for r in rows if r.get("lr-AdamW")][:4])

loaded = Classifier.load_from_checkpoint(best.best_model_path)
print("loaded", dict(loaded.hparams), all(torch.equal(a, b) for a, b in zip(loaded.parameters(), model.parameters())))

# on from the last checkpoint, with two micro-batches a step
again = Classifier()
trainer = pl.Trainer(max_epochs=3, logger=False, callbacks=[Told()], enable_checkpointing=False, **settings)
trainer.fit(again, Digits(), ckpt_path=folder / "best" / "last.ckpt")
trainer = pl.Trainer(
    max_epochs=2, logger=False, limit_train_batches=4, accumulate_grad_batches=2, enable_checkpointing=False,
    num_sanity_val_steps=0, callbacks=[Told(), StochasticWeightAveraging(1e-2, swa_epoch_start=1)], **settings,
)  # fmt: skip
trainer.fit(Classifier(), Digits())


# two optimisers, stepped by hand
class Pair(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.automatic_optimization = False
        self.g, self.d = nn.Linear(4, 3), nn.Linear(3, 1)

    def training_step(self, batch):
        opt_g, opt_d = self.optimizers()
        (x,) = batch
        self.toggle_optimizer(opt_d)
        d = F.softplus(self.d(self.g(x).detach())).mean() + F.softplus(-self.d(x[:, :3])).mean()
        opt_d.zero_grad()
        self.manual_backward(d)
        opt_d.step()
        self.untoggle_optimizer(opt_d)
        self.toggle_optimizer(opt_g)
        g = F.softplus(-self.d(self.g(x))).mean()
        opt_g.zero_grad()
        self.manual_backward(g)
        self.clip_gradients(opt_g, gradient_clip_val=0.1, gradient_clip_algorithm="norm")
        opt_g.step()
        self.untoggle_optimizer(opt_g)
        self.log_dict({"g": g, "d": d}, on_epoch=True)

    def configure_optimizers(self):
        return [torch.optim.Adam(self.g.parameters(), 0.05), torch.optim.SGD(self.d.parameters(), 0.1)], []


pair = Pair()
trainer = pl.Trainer(max_epochs=2, logger=False, enable_checkpointing=False, callbacks=[Told()], **settings)
trainer.fit(pair, DataLoader(TensorDataset(torch.randn(12, 4)), batch_size=4))
shutil.rmtree(folder)
