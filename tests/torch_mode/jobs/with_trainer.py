"""transformers' Trainer on a tiny BERT: collated batches, a schedule, evaluation, checkpoints, resuming."""

import os
import shutil
import tempfile

import numpy as np
import torch
from torch.utils.data import Dataset
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    EarlyStoppingCallback,
    GPT2Config,
    GPT2LMHeadModel,
    PrinterCallback,
    Trainer,
    TrainerCallback,
    TrainingArguments,
    default_data_collator,
    set_seed,
)
from transformers.utils import logging

logging.disable_progress_bar()
logging.set_verbosity_error()
folder = tempfile.mkdtemp()


class Sentences(Dataset):
    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        self.labels = rng.integers(0, 2, n)
        self.ids = rng.integers(4, 30, (n, 8))
        self.ids[:, 2] = np.where(self.labels, 5, 6)
        self.lengths = rng.integers(5, 9, n)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        mask = (np.arange(8) < self.lengths[i]).astype(np.int64)
        return {"input_ids": self.ids[i] * mask, "attention_mask": mask, "labels": int(self.labels[i])}


class Printed(TrainerCallback):
    def on_log(self, args, state, control, logs=None, **kwargs):
        kept = {k: round(v, 4 if k != "learning_rate" else 8) for k, v in logs.items() if k.split("_")[-1] in KEPT}
        print("log", state.global_step, kept)


KEPT = ("loss", "norm", "rate", "accuracy", "epoch")


def compute_metrics(prediction):
    return {"accuracy": float((prediction.predictions.argmax(-1) == prediction.label_ids).mean())}


set_seed(3)
config = BertConfig(
    vocab_size=32, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
    max_position_embeddings=16, num_labels=2, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
)  # fmt: skip
settings = dict(
    output_dir=folder, num_train_epochs=2, per_device_train_batch_size=8, per_device_eval_batch_size=8,
    learning_rate=5e-3, warmup_steps=2, weight_decay=0.01, logging_steps=2, eval_strategy="epoch", save_strategy="epoch",
    report_to="none", disable_tqdm=True, use_cpu=True, max_grad_norm=1.0, lr_scheduler_type="cosine",
    load_best_model_at_end=True, metric_for_best_model="accuracy",
)  # fmt: skip
trainer = Trainer(
    model=BertForSequenceClassification(config),
    args=TrainingArguments(**settings),
    train_dataset=Sentences(32, 0),
    eval_dataset=Sentences(16, 1),
    data_collator=default_data_collator,
    compute_metrics=compute_metrics,
    callbacks=[Printed(), EarlyStoppingCallback(early_stopping_patience=5)],
)
trainer.remove_callback(PrinterCallback)
result = trainer.train()
print("trained", result.global_step, f"{result.training_loss:.4f}")
print("evaluated", {k: round(v, 4) for k, v in trainer.evaluate().items() if k.split("_")[-1] in KEPT})
predicted = trainer.predict(Sentences(6, 2))
print("predicted", predicted.predictions.round(3).tolist(), predicted.metrics["test_accuracy"])
print("folders", sorted(d for d in os.listdir(folder) if d.startswith("checkpoint")))
trainer.save_model(os.path.join(folder, "last"))
model = BertForSequenceClassification.from_pretrained(os.path.join(folder, "last"))
print("loaded", sum((a - b).abs().sum().item() for a, b in zip(model.parameters(), trainer.model.parameters())))

# on from a checkpoint, with micro-batches
settings.update(num_train_epochs=6, gradient_accumulation_steps=2, load_best_model_at_end=False, metric_for_best_model=None, label_smoothing_factor=0.1)
trainer = Trainer(
    model=BertForSequenceClassification(config), args=TrainingArguments(**settings), train_dataset=Sentences(32, 0),
    eval_dataset=Sentences(16, 1), data_collator=default_data_collator, callbacks=[Printed()],
)  # fmt: skip
trainer.remove_callback(PrinterCallback)
trainer.train(resume_from_checkpoint=os.path.join(folder, "checkpoint-8"))

# a causal model, whose loss is computed in the model, with gradient checkpoints
gpt = GPT2LMHeadModel(GPT2Config(vocab_size=32, n_positions=16, n_embd=16, n_layer=2, n_head=2, bos_token_id=1, eos_token_id=2,
                                 resid_pdrop=0, embd_pdrop=0, attn_pdrop=0))  # fmt: skip


def causal(features):
    ids = torch.tensor(np.stack([f["input_ids"] for f in features]))
    return {"input_ids": ids, "attention_mask": (ids != 0).long(), "labels": ids.masked_fill(ids == 0, -100)}


args = TrainingArguments(
    folder, max_steps=4, per_device_train_batch_size=8, logging_steps=1, save_strategy="no", report_to="none", learning_rate=1e-3,
    disable_tqdm=True, use_cpu=True, remove_unused_columns=False, optim="adafactor", gradient_checkpointing=True,
)  # fmt: skip
trainer = Trainer(gpt, args, data_collator=causal, train_dataset=Sentences(32, 4), callbacks=[Printed()])
trainer.remove_callback(PrinterCallback)
trainer.train()
shutil.rmtree(folder)
