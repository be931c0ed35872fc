"""peft: LoRA on a tiny Llama (train, save, load, merge, disable), IA3, prompt tuning, prefix tuning, DoRA."""

import os
import shutil
import tempfile

import torch
from peft import (
    IA3Config,
    LoraConfig,
    PeftModel,
    PrefixTuningConfig,
    PromptTuningConfig,
    TaskType,
    get_peft_model,
    get_peft_model_state_dict,
)
from torch import nn
from transformers import LlamaConfig, LlamaForCausalLM, set_seed
from transformers.utils import logging

logging.set_verbosity_error()
folder = tempfile.mkdtemp()
config = LlamaConfig(vocab_size=32, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=2,
                     num_key_value_heads=2, max_position_embeddings=32, initializer_range=0.2, pad_token_id=0)  # fmt: skip


def base():
    set_seed(0)
    return LlamaForCausalLM(config)


def train(model, steps=3, lr=0.02):
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=lr)
    ids = torch.randint(3, 32, (4, 10), generator=torch.Generator().manual_seed(5))
    losses = []
    model.train()
    for _ in range(steps):
        loss = model(input_ids=ids, attention_mask=torch.ones_like(ids), labels=ids).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(round(loss.item(), 4))
    model.eval()
    return losses


ids = torch.tensor([[4, 9, 11, 7]])
lora = LoraConfig(task_type=TaskType.CAUSAL_LM, r=4, lora_alpha=8, lora_dropout=0.0, target_modules=["q_proj", "v_proj"], bias="none")
model = get_peft_model(base(), lora)
model.print_trainable_parameters()
print("lora", train(model), sorted({n.split(".")[-3] for n in get_peft_model_state_dict(model)}))
out = model(ids).logits
with model.disable_adapter():
    print("disabled", f"{(model(ids).logits - base()(ids).logits).abs().max().item():.5f}")
model.save_pretrained(folder)
print("files", sorted(os.listdir(folder)))
loaded = PeftModel.from_pretrained(base(), folder).eval()
print("loaded", f"{(loaded(ids).logits - out).abs().max().item():.5f}", loaded.active_adapter)
merged = loaded.merge_and_unload()
print("merged", type(merged).__name__, f"{(merged(ids).logits - out).abs().max().item():.4f}", f"{out.std().item():.4f}")
print("written", merged.generate(ids, max_new_tokens=5, do_sample=False).tolist())
model.add_adapter("second", LoraConfig(task_type=TaskType.CAUSAL_LM, r=2, target_modules="all-linear", init_lora_weights=False))
model.set_adapter("second")
print("second", train(model, 2), model.active_adapter)
print("dora", train(get_peft_model(base(), LoraConfig(r=2, use_dora=True, target_modules=["q_proj"], modules_to_save=["lm_head"]))))
print("ia3", train(get_peft_model(base(), IA3Config(task_type="CAUSAL_LM", target_modules=["k_proj", "down_proj"], feedforward_modules=["down_proj"]))))
prompts = get_peft_model(base(), PromptTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=4))
print("prompt", train(prompts))
print("prefix", train(get_peft_model(base(), PrefixTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=3))))


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin0, self.act, self.conv = nn.Linear(6, 8), nn.ReLU(), nn.Conv1d(2, 3, 1)

    def forward(self, x):
        return self.conv(self.act(self.lin0(x)).view(-1, 2, 4)).flatten(1)


set_seed(2)
mlp = get_peft_model(MLP(), LoraConfig(r=2, target_modules=["lin0", "conv"], init_lora_weights="gaussian"))
optimizer = torch.optim.SGD(mlp.parameters(), lr=0.1)
x = torch.randn(5, 6)
for step in range(3):
    optimizer.zero_grad()
    loss = mlp(x).pow(2).mean()
    loss.backward()
    optimizer.step()
    print("mlp", step, f"{loss.item():.4f}")
before = mlp(x)
mlp.merge_adapter()
print("merged", f"{(mlp(x) - before).abs().max().item():.4f}", [n for n, p in mlp.named_parameters() if p.requires_grad][:2])
shutil.rmtree(folder)
