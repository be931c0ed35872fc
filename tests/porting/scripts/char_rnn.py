"""A vanilla RNN cell over characters, its step written by hand: min-char-rnn with autograd."""

import numpy as np
import torch
import torch.nn as nn

data = "hello world, hello there. " * 3
chars = sorted(set(data))
data_size, vocab_size, hidden_size, seq_length = len(data), len(chars), 12, 13
char_to_ix = {ch: i for i, ch in enumerate(chars)}
rng = np.random.default_rng(12)


class RNN(nn.Module):
    def __init__(self, input_size, hidden_size, output_size):
        super().__init__()
        self.hidden_size = hidden_size
        self.i2h = nn.Linear(input_size + hidden_size, hidden_size)
        self.h2o = nn.Linear(hidden_size, output_size)

    def forward(self, input, hidden):
        combined = torch.cat((input, hidden), 1)
        hidden = torch.tanh(self.i2h(combined))
        return self.h2o(hidden), hidden

    def init_hidden(self):
        return torch.zeros(1, self.hidden_size)


rnn = RNN(vocab_size, hidden_size, vocab_size)
for p in rnn.parameters():
    p.data = torch.from_numpy(rng.normal(0, 0.2, tuple(p.shape)).astype(np.float32))
criterion = nn.CrossEntropyLoss()
eye = torch.eye(vocab_size)
learning_rate = 0.05


def train(inputs, targets, hidden):
    rnn.zero_grad()
    loss = 0
    for i in range(len(inputs)):
        output, hidden = rnn(eye[inputs[i]].unsqueeze(0), hidden)
        loss += criterion(output, targets[i : i + 1])
    loss.backward()
    torch.nn.utils.clip_grad_norm_(rnn.parameters(), 5.0)
    for p in rnn.parameters():
        p.data.add_(p.grad.data, alpha=-learning_rate)
    return hidden.detach(), loss.item() / len(inputs)


ix = torch.tensor([char_to_ix[ch] for ch in data])
hidden = rnn.init_hidden()
p = 0
for n in range(15):
    if p + seq_length + 1 >= data_size:
        hidden, p = rnn.init_hidden(), 0
    inputs, targets = ix[p : p + seq_length], ix[p + 1 : p + seq_length + 1]
    hidden, loss = train(inputs, targets, hidden)
    p += seq_length
    if n % 5 == 4:
        print(f"iter {n}, loss: {loss:.6f}")
