"""Sentences classified by nn.TransformerEncoder, with padding and sinusoidal positions."""

import math

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

rng = np.random.default_rng(14)


class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 32):
        super().__init__()
        position = torch.arange(max_len).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(1, max_len, d_model)
        pe[0, :, 0::2] = torch.sin(position * div_term)
        pe[0, :, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.pe[:, : x.size(1)]


class Classifier(nn.Module):
    def __init__(self, ntoken=12, d_model=16, nhead=2, d_hid=32, nlayers=2):
        super().__init__()
        self.pos_encoder = PositionalEncoding(d_model)
        layer = nn.TransformerEncoderLayer(d_model, nhead, d_hid, dropout=0.0, batch_first=True)
        self.transformer_encoder = nn.TransformerEncoder(layer, nlayers, enable_nested_tensor=False)
        self.embedding = nn.Embedding(ntoken, d_model, padding_idx=0)
        self.d_model = d_model
        self.linear = nn.Linear(d_model, 2)

    def forward(self, src: Tensor) -> Tensor:
        mask = src == 0
        x = self.pos_encoder(self.embedding(src) * math.sqrt(self.d_model))
        x = self.transformer_encoder(x, src_key_padding_mask=mask)
        x = x.masked_fill(mask.unsqueeze(-1), 0.0).sum(1) / (~mask).sum(1, keepdim=True)
        return self.linear(x)


def batch(n=8):
    rows = [torch.tensor(rng.integers(1, 12, rng.integers(3, 8))) for _ in range(n)]
    labels = torch.tensor([int((row > 6).sum() * 2 > len(row)) for row in rows])
    return pad_sequence(rows, batch_first=True, padding_value=0), labels


model = Classifier()
for p in model.parameters():
    if p.dim() > 1:
        p.data = torch.tensor(rng.normal(0, 0.2, tuple(p.shape)), dtype=torch.float32)
    elif p.dim() == 1:
        p.data = torch.tensor(rng.normal(0.5, 0.2, tuple(p.shape)), dtype=torch.float32)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
criterion = nn.CrossEntropyLoss()
for step in range(6):
    tokens, labels = batch()
    loss = criterion(model(tokens), labels)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
    optimizer.step()
    optimizer.zero_grad()
    print(f"step {step} | loss {loss.item():5.4f} | ppl {math.exp(loss):8.4f}")
