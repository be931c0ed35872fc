"""Knowledge distillation: a small student learns from the soft answers of a frozen teacher."""

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

rng = np.random.default_rng(26)


def network(width):
    net = nn.Sequential(nn.Flatten(), nn.Linear(16, width), nn.ReLU(), nn.Linear(width, 4))
    with torch.no_grad():
        for p in net.parameters():
            p.copy_(torch.tensor(rng.normal(0, 0.4, tuple(p.shape))))
    return net


def batch(n=32):
    labels = rng.integers(0, 4, n)
    x = rng.normal(0, 0.6, (n, 4, 4))
    x[np.arange(n), labels] += 1
    return torch.tensor(x, dtype=torch.float32), torch.tensor(labels, dtype=torch.long)


def train_teacher(teacher, steps):
    criterion, optimizer = nn.CrossEntropyLoss(), optim.Adam(teacher.parameters(), lr=0.02)
    teacher.train()
    for _ in range(steps):
        inputs, labels = batch()
        optimizer.zero_grad()
        loss = criterion(teacher(inputs), labels)
        loss.backward()
        optimizer.step()
    print(f"teacher {loss.item():.5f}")


def train_knowledge_distillation(teacher, student, steps, T=2, soft_weight=0.25, ce_weight=0.75):
    ce_loss = nn.CrossEntropyLoss()
    optimizer = optim.Adam(student.parameters(), lr=0.02)
    teacher.eval()
    student.train()
    for step in range(steps):
        inputs, labels = batch()
        optimizer.zero_grad()
        with torch.no_grad():
            teacher_logits = teacher(inputs)
        student_logits = student(inputs)
        soft_targets = nn.functional.softmax(teacher_logits / T, dim=-1)
        soft_prob = nn.functional.log_softmax(student_logits / T, dim=-1)
        kd = F.kl_div(soft_prob, soft_targets, reduction="batchmean") * (T**2)
        label_loss = ce_loss(student_logits, labels)
        loss = soft_weight * kd + ce_weight * label_loss
        loss.backward()
        optimizer.step()
        if step % 5 == 4:
            print(f"student {step} {loss.item():.5f} soft {kd.item():.5f} hard {label_loss.item():.5f}")


teacher, student = network(24), network(6)
train_teacher(teacher, 15)
for param in teacher.parameters():
    param.requires_grad = False
train_knowledge_distillation(teacher, student, 15)
