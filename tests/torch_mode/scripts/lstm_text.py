"""A word language model: LSTM with dropout, truncated backpropagation, tied weights, SGD by hand, packed sequences."""

import math
from collections import Counter
from io import StringIO

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

TEXT = StringIO(
    "a ship sails the sea\nthe sea carries a ship\na storm meets the ship\nthe ship survives the storm\n"
    "calm waters carry the ship home\nthe crew sings of the storm and the sea\n" * 4
)


class Dictionary(object):
    def __init__(self):
        self.word2idx, self.idx2word = {}, []

    def add_word(self, word):
        if word not in self.word2idx:
            self.idx2word.append(word)
            self.word2idx[word] = len(self.idx2word) - 1
        return self.word2idx[word]

    def __len__(self):
        return len(self.idx2word)


def tokenize(file, dictionary):
    idss = []
    for line in file:
        idss.append(torch.tensor([dictionary.add_word(w) for w in line.split() + ["<eos>"]]).type(torch.int64))
    return torch.cat(idss)


class RNNModel(nn.Module):
    def __init__(self, rnn_type, ntoken, ninp, nhid, nlayers, dropout=0.5, tie_weights=False):
        super(RNNModel, self).__init__()
        self.ntoken = ntoken
        self.drop = nn.Dropout(dropout)
        self.encoder = nn.Embedding(ntoken, ninp)
        if rnn_type in ["LSTM", "GRU"]:
            self.rnn = getattr(nn, rnn_type)(ninp, nhid, nlayers, dropout=dropout)
        else:
            self.rnn = nn.RNN(ninp, nhid, nlayers, nonlinearity="tanh", dropout=dropout)
        self.decoder = nn.Linear(nhid, ntoken)
        if tie_weights:
            if nhid != ninp:
                raise ValueError("When using the tied flag, nhid must be equal to emsize")
            self.decoder.weight = self.encoder.weight
        self.init_weights()
        self.rnn_type, self.nhid, self.nlayers = rnn_type, nhid, nlayers

    def init_weights(self):
        initrange = 0.1
        nn.init.uniform_(self.encoder.weight, -initrange, initrange)
        nn.init.zeros_(self.decoder.bias)
        nn.init.uniform_(self.decoder.weight, -initrange, initrange)

    def forward(self, input, hidden):
        emb = self.drop(self.encoder(input))
        output, hidden = self.rnn(emb, hidden)
        output = self.drop(output)
        decoded = self.decoder(output)
        decoded = decoded.view(-1, self.ntoken)
        return F.log_softmax(decoded, dim=1), hidden

    def init_hidden(self, bsz):
        weight = next(self.parameters())
        if self.rnn_type == "LSTM":
            return (weight.new_zeros(self.nlayers, bsz, self.nhid), weight.new_zeros(self.nlayers, bsz, self.nhid))
        return weight.new_zeros(self.nlayers, bsz, self.nhid)


def repackage_hidden(h):
    if isinstance(h, torch.Tensor):
        return h.detach()
    return tuple(repackage_hidden(v) for v in h)


def batchify(data, bsz):
    nbatch = data.size(0) // bsz
    data = data.narrow(0, 0, nbatch * bsz)
    return data.view(bsz, -1).t().contiguous()


def get_batch(source, i, bptt):
    seq_len = min(bptt, len(source) - 1 - i)
    return source[i : i + seq_len], source[i + 1 : i + 1 + seq_len].view(-1)


torch.manual_seed(1111)
dictionary = Dictionary()
corpus = tokenize(TEXT, dictionary)
ntokens, bptt, clip, lr = len(dictionary), 7, 0.25, 2.0
train_data, val_data = batchify(corpus[:120], 5), batchify(corpus[-40:], 2)
print("tokens", ntokens, "shapes", train_data.size(), tuple(val_data.shape), Counter(corpus.tolist()).most_common(2))
criterion = nn.NLLLoss()


def evaluate(model, data_source):
    model.eval()
    total_loss = 0.0
    hidden = model.init_hidden(2)
    with torch.no_grad():
        for i in range(0, data_source.size(0) - 1, bptt):
            data, targets = get_batch(data_source, i, bptt)
            output, hidden = model(data, hidden)
            hidden = repackage_hidden(hidden)
            total_loss += len(data) * criterion(output, targets).item()
    return total_loss / (len(data_source) - 1)


for kind in ("LSTM", "GRU", "RNN"):
    model = RNNModel(kind, ntokens, 12, 12, 2, dropout=0.0, tie_weights=True)
    best_val_loss, rate = None, lr
    for epoch in range(1, 3):
        model.train()
        total_loss = 0.0
        hidden = model.init_hidden(5)
        for batch, i in enumerate(range(0, train_data.size(0) - 1, bptt)):
            data, targets = get_batch(train_data, i, bptt)
            model.zero_grad()
            hidden = repackage_hidden(hidden)
            output, hidden = model(data, hidden)
            loss = criterion(output, targets)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
            for p in model.parameters():
                p.data.add_(p.grad, alpha=-rate)
            total_loss += loss.item()
        val_loss = evaluate(model, val_data)
        print(f"{kind} epoch {epoch}: train {total_loss / (batch + 1):.4f}, valid {val_loss:.4f} ppl {math.exp(val_loss):.2f}")
        if not best_val_loss or val_loss < best_val_loss:
            best_val_loss = val_loss
        else:
            rate /= 4.0

# sentences of different lengths: padded, packed, bidirectional
lines = [torch.tensor([dictionary.word2idx[w] for w in s.split()]) for s in TEXT.getvalue().splitlines()[3:6]]
lengths = torch.tensor([len(line) for line in lines])
padded = pad_sequence(lines, batch_first=True, padding_value=-1)
embed = nn.Embedding(ntokens + 1, 6, padding_idx=ntokens)
encoder = nn.LSTM(6, 5, batch_first=True, bidirectional=True)
packed = pack_padded_sequence(
    embed(padded.masked_fill(padded < 0, ntokens)), lengths, batch_first=True, enforce_sorted=False
)
out, (h, c) = encoder(packed)
out, sizes = pad_packed_sequence(out, batch_first=True)
(out.sum() + h.pow(2).sum()).backward()
print("packed", tuple(out.shape), sizes.tolist(), f"{out.abs().sum().item():.4f} {c.norm():.4f}")
print("gradients", f"{embed.weight.grad.norm():.4f}", embed.weight.grad[ntokens].abs().sum().item())
