"""Sequences turned round by a GRU encoder and a GRU decoder with attention and teacher forcing."""

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import optim

SOS, VOCAB, HIDDEN, LENGTH = 0, 7, 16, 4
rng = np.random.default_rng(13)


class EncoderRNN(nn.Module):
    def __init__(self, input_size, hidden_size):
        super().__init__()
        self.embedding = nn.Embedding(input_size, hidden_size)
        self.gru = nn.GRU(hidden_size, hidden_size, batch_first=True)

    def forward(self, input):
        return self.gru(self.embedding(input))


class BahdanauAttention(nn.Module):
    def __init__(self, hidden_size):
        super().__init__()
        self.Wa = nn.Linear(hidden_size, hidden_size)
        self.Ua = nn.Linear(hidden_size, hidden_size)
        self.Va = nn.Linear(hidden_size, 1)

    def forward(self, query, keys):
        scores = self.Va(torch.tanh(self.Wa(query) + self.Ua(keys)))
        weights = F.softmax(scores.squeeze(2).unsqueeze(1), dim=-1)
        return torch.bmm(weights, keys), weights


class AttnDecoderRNN(nn.Module):
    def __init__(self, hidden_size, output_size):
        super().__init__()
        self.embedding = nn.Embedding(output_size, hidden_size)
        self.attention = BahdanauAttention(hidden_size)
        self.gru = nn.GRU(2 * hidden_size, hidden_size, batch_first=True)
        self.out = nn.Linear(hidden_size, output_size)

    def forward(self, encoder_outputs, hidden, target):
        decoder_input = torch.full((target.size(0), 1), SOS, dtype=torch.long)
        outputs = []
        for i in range(target.size(1)):
            embedded = self.embedding(decoder_input)
            context, _ = self.attention(hidden.permute(1, 0, 2), encoder_outputs)
            output, hidden = self.gru(torch.cat((embedded, context), dim=2), hidden)
            outputs.append(self.out(output))
            decoder_input = target[:, i].unsqueeze(1)
        return F.log_softmax(torch.cat(outputs, dim=1), dim=-1)


encoder, decoder = EncoderRNN(VOCAB, HIDDEN), AttnDecoderRNN(HIDDEN, VOCAB)
for net in (encoder, decoder):
    for p in net.parameters():
        p.data.copy_(torch.tensor(rng.uniform(-0.25, 0.25, tuple(p.shape)), dtype=torch.float32))
encoder_optimizer = optim.Adam(encoder.parameters(), lr=0.02)
decoder_optimizer = optim.Adam(decoder.parameters(), lr=0.02)
criterion = nn.NLLLoss()

for step in range(8):
    numbers = rng.integers(1, VOCAB, (8, LENGTH))
    source, target = torch.from_numpy(numbers), torch.from_numpy(numbers[:, ::-1].copy())
    encoder_optimizer.zero_grad()
    decoder_optimizer.zero_grad()
    encoder_outputs, encoder_hidden = encoder(source)
    decoder_outputs = decoder(encoder_outputs, encoder_hidden, target)
    loss = criterion(decoder_outputs.view(-1, decoder_outputs.size(-1)), target.view(-1))
    loss.backward()
    encoder_optimizer.step()
    decoder_optimizer.step()
    if step % 2:
        print(f"{step} {loss.item():.4f}")
