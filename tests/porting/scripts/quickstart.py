"""The basics: tensors, data, transforms, model, autograd, optimisation, save and load; digits of MNIST."""

import os
import tempfile

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

from flambeau.data.mnist import SUBSET, mnist

torch.manual_seed(3)

# tensors
data = [[1, 2], [3, 4]]
x_data = torch.tensor(data)
np_array = np.array(data)
x_np = torch.from_numpy(np_array)
x_ones = torch.ones_like(x_data)
x_rand = torch.rand_like(x_data, dtype=torch.float)
print(f"Ones Tensor: \n {x_ones} \n")
print(
    "of the same shape:",
    x_rand.shape == x_data.shape,
    x_rand.dtype == torch.float32,
    x_np.dtype == x_data.dtype,
)

shape = (
    2,
    3,
)
rand_tensor, ones_tensor, zeros_tensor = torch.rand(shape), torch.ones(shape), torch.zeros(shape)
print(bool((rand_tensor < ones_tensor).all()), f"Zeros Tensor: \n {zeros_tensor}")

device = torch.accelerator.current_accelerator().type if torch.accelerator.is_available() else "cpu"
tensor = torch.rand(3, 4)
if torch.accelerator.is_available():
    tensor = tensor.to(torch.accelerator.current_accelerator())
print(f"Shape of tensor: {tuple(tensor.shape)}", tensor.is_floating_point())

tensor = torch.ones(4, 4)
tensor[:, 1] = 0
print(f"First row: {tensor[0]}")
print(f"First column: {tensor[:, 0]}")
print(f"Last column: {tensor[..., -1]}")
print(tensor)

t1 = torch.cat([tensor, tensor, tensor], dim=1)
y1 = tensor @ tensor.T
y2 = tensor.matmul(tensor.T)
y3 = torch.rand_like(y1)
torch.matmul(tensor, tensor.T, out=y3)
z1 = tensor * tensor
z2 = tensor.mul(tensor)
z3 = torch.rand_like(tensor)
torch.mul(tensor, tensor, out=z3)
print(tuple(t1.shape), torch.equal(y1, y2), torch.equal(y1, y3), torch.equal(z1, z2), torch.equal(z1, z3))

agg = tensor.sum()
agg_item = agg.item()
print(agg_item, type(agg_item))
tensor.add_(5)
print(tensor)

t = torch.ones(5)
n = t.numpy()
print(f"t: {t}", f"n: {n}")
n = np.ones(5)
t = torch.from_numpy(n)
t = t * 2
print(t.tolist())


# datasets and transforms
class Digits(Dataset):
    def __init__(self, train, transform=None, target_transform=None):
        self.digits = mnist(train, root=SUBSET)
        self.transform = transform
        self.target_transform = target_transform

    def __len__(self):
        return len(self.digits.labels) // 10

    def __getitem__(self, idx):
        image, label = self.digits.images[idx], int(self.digits.labels[idx])
        if self.transform:
            image = self.transform(image)
        if self.target_transform:
            label = self.target_transform(label)
        return image, label


def to_tensor(image):
    return torch.from_numpy(image[None].astype(np.float32) / 255)


def one_hot(y):
    return torch.zeros(10, dtype=torch.float).scatter_(0, torch.tensor(y), value=1)


print(one_hot(3))
training_data = Digits(True, transform=to_tensor)
test_data = Digits(False, transform=to_tensor)
sample_idx = torch.randint(len(training_data), size=(1,)).item()
img, label = training_data[sample_idx]
print(0 <= sample_idx < 1000, tuple(img.shape), tuple(img.squeeze().shape), 0 <= label < 10)

train_dataloader = DataLoader(training_data, batch_size=64, shuffle=True)
train_features, train_labels = next(iter(train_dataloader))
print(f"Feature batch shape: {tuple(train_features.size())}")
print(f"Labels batch shape: {tuple(train_labels.size())}", train_labels.dtype == torch.int64)
train_dataloader = DataLoader(training_data, batch_size=100)
test_dataloader = DataLoader(test_data, batch_size=100)


# the model
class NeuralNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.flatten = nn.Flatten()
        self.linear_relu_stack = nn.Sequential(
            nn.Linear(28 * 28, 64),
            nn.ReLU(),
            nn.Linear(64, 32),
            nn.ReLU(),
            nn.Linear(32, 10),
        )

    def forward(self, x):
        x = self.flatten(x)
        logits = self.linear_relu_stack(x)
        return logits


model = NeuralNetwork().to(device)
print(model)
X = torch.rand(1, 28, 28, device=device)
logits = model(X)
pred_probab = nn.Softmax(dim=1)(logits)
y_pred = pred_probab.argmax(1)
print(tuple(y_pred.shape), f"{pred_probab.sum().item():.4f}")
for name, param in model.named_parameters():
    print(f"Layer: {name} | Size: {tuple(param.size())}", param.requires_grad)

# the same numbers in every framework
draw = np.random.default_rng(5)
with torch.no_grad():
    for param in model.parameters():
        values = draw.normal(0, 0.1, tuple(param.shape)).astype(np.float32)
        param.copy_(torch.from_numpy(values))

# autograd
x = torch.ones(5)
y = torch.zeros(3)
w = torch.tensor(draw.normal(0, 1, (5, 3)).astype(np.float32), requires_grad=True)
b = torch.tensor(draw.normal(0, 1, 3).astype(np.float32), requires_grad=True)
z = torch.matmul(x, w) + b
loss = torch.nn.functional.binary_cross_entropy_with_logits(z, y)
loss.backward()
print(w.grad)
print(b.grad)
print(z.requires_grad)
with torch.no_grad():
    z = torch.matmul(x, w) + b
print(z.requires_grad)
z = torch.matmul(x, w) + b
z_det = z.detach()
print(z_det.requires_grad)

inp = torch.eye(4, 5, requires_grad=True)
out = (inp + 1).pow(2).t()
out.backward(torch.ones_like(out), retain_graph=True)
print(f"First call\n{inp.grad}")
out.backward(torch.ones_like(out), retain_graph=True)
print(f"\nSecond call\n{inp.grad}")
inp.grad.zero_()
out.backward(torch.ones_like(out), retain_graph=True)
print(f"\nCall after zeroing gradients\n{inp.grad}")


# optimisation
def train_loop(dataloader, model, loss_fn, optimizer):
    size = len(dataloader.dataset)
    model.train()
    for batch, (X, y) in enumerate(dataloader):
        X, y = X.to(device), y.to(device)
        pred = model(X)
        loss = loss_fn(pred, y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if batch % 5 == 0:
            loss, current = loss.item(), (batch + 1) * len(X)
            print(f"loss: {loss:>7f}  [{current:>5d}/{size:>5d}]")


def test_loop(dataloader, model, loss_fn):
    model.eval()
    size = len(dataloader.dataset)
    num_batches = len(dataloader)
    test_loss, correct = 0, 0
    with torch.no_grad():
        for X, y in dataloader:
            X, y = X.to(device), y.to(device)
            pred = model(X)
            test_loss += loss_fn(pred, y).item()
            correct += (pred.argmax(1) == y).type(torch.float).sum().item()
    test_loss /= num_batches
    correct /= size
    print(f"Test Error: \n Accuracy: {(100 * correct):>0.1f}%, Avg loss: {test_loss:>8f} \n")


loss_fn = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
epochs = 2
for t in range(epochs):
    print(f"Epoch {t + 1}\n-------------------------------")
    train_loop(train_dataloader, model, loss_fn, optimizer)
    test_loop(test_dataloader, model, loss_fn)

# save and load
path = os.path.join(tempfile.mkdtemp(), "model_weights.pth")
torch.save(model.state_dict(), path)
model = NeuralNetwork().to(device)
model.load_state_dict(torch.load(path, weights_only=True))
model.eval()
x, y = test_data[0][0], test_data[0][1]
with torch.no_grad():
    x = x.to(device)
    pred = model(x)
    predicted, actual = pred[0].argmax(0).item(), y
    print(f'Predicted: "{predicted}", Actual: "{actual}"')
