"""Skip-gram with negative sampling: two embeddings and logsigmoid."""

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

text = "the king loves the queen and the queen loves the king while the dog chases the cat"
corpus = text.split(" ")
vocab = sorted(set(corpus))
index = {w: i for i, w in enumerate(vocab)}
rng = np.random.default_rng(15)


class SkipGramNeg(nn.Module):
    def __init__(self, n_vocab, n_embed):
        super().__init__()
        self.in_embed = nn.Embedding(n_vocab, n_embed)
        self.out_embed = nn.Embedding(n_vocab, n_embed)
        self.in_embed.weight.data.copy_(torch.tensor(rng.uniform(-0.5, 0.5, (n_vocab, n_embed))))
        self.out_embed.weight.data.copy_(torch.tensor(rng.uniform(-0.5, 0.5, (n_vocab, n_embed))))

    def forward(self, center, context, negatives):
        v = self.in_embed(center)
        u = self.out_embed(context)
        n = self.out_embed(negatives)
        positive = F.logsigmoid((u * v).sum(1))
        negative = F.logsigmoid(-torch.bmm(n, v.unsqueeze(2)).squeeze(2)).sum(1)
        return -(positive + negative).mean()


pairs = [(i, j) for i in range(len(corpus)) for j in range(i - 2, i + 3) if i != j and 0 <= j < len(corpus)]
centers = torch.LongTensor([index[corpus[i]] for i, _ in pairs])
contexts = torch.LongTensor([index[corpus[j]] for _, j in pairs])
counts = np.array([corpus.count(w) for w in vocab]) ** 0.75

model = SkipGramNeg(len(vocab), 8)
optimizer = optim.Adam(model.parameters(), lr=0.02)
for epoch in range(12):
    negatives = rng.choice(len(vocab), (len(pairs), 4), p=counts / counts.sum())
    loss = model(centers, contexts, torch.LongTensor(negatives))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 4 == 3:
        print(f"Epoch: {epoch + 1} Loss: {loss.item():.5f}")

with torch.no_grad():
    vectors = F.normalize(model.in_embed.weight, dim=1)
    similar = vectors @ vectors[index["king"]]
    values, order = torch.topk(similar, 3)
    print([vocab[i] for i in order.tolist()], values.tolist())
