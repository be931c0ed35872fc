"""Wrong calls: `except` with the class that PyTorch raises finds our error as well."""

import pickle

import pytest

import flambeau as fb
from flambeau import errors

# expressions: m is torch or flambeau, F its nn.functional; leaf has requires_grad, i is of int64, b of bools,
# c of complex64, s [3], v [4], x and the others [2, 3]
CALLS = """
leaf.add_(1)
leaf.zero_()
leaf.copy_(x)
leaf.uniform_()
leaf.__setitem__(0, 1.0)
leaf.__iadd__(1)
leaf[0].add_(1)
F.relu(leaf, inplace=True)
m.add(x, x, out=leaf)
s.add_(x)
i.exp_()
i.div_(2)
i.add_(1.5)
m.add(x, x, out=i)
x + v
x @ x
v.dot(s)
v.dot(x)
m.mm(x, v)
m.bmm(x, x)
m.addmm(x, x, x)
m.einsum("ij,jk->ik", x, x)
m.einsum("ij->k", x)
m.tensordot(x, v, 1)
x.reshape(4, 2)
x.reshape(-1, -1)
x.view(4, 2)
x.permute(0, 0)
x.permute(0, 1, 2)
x.expand(2, 4)
x.repeat(2)
x.sum(2)
x.sum((0, 0))
x[:0].amax()
x[:0].max()
x.softmax(5)
x.cumsum(5)
x[2]
x[0, 0, 0]
x[1.5]
x[b[:, :2]]
x[[5]]
x[[0, 1, 1], [0, 1]]
x.gather(0, x)
v.gather(0, i)
x.gather(0, i + 9).sum().item()
x.index_select(0, m.tensor([7])).sum().item()
x.scatter(0, i + 7, x).sum().item()
x.take(m.tensor([99])).sum().item()
x.select(0, 5)
x.narrow(1, 2, 2)
m.cat([x, v])
m.cat([x, m.zeros(2, 4)])
m.cat([])
m.stack([x, v])
m.stack([])
m.split(x, [1, 2])
m.chunk(x, 0)
m.unbind(x, 5)
x.squeeze(5)
x.transpose(0, 3)
x.unflatten(1, (2, 2))
x.unfold(1, 5, 1)
x.roll((1, 2), (0,))
m.movedim(x, (0, 1), (0, 0))
m.rot90(x, 1, (0, 0))
m.block_diag(m.zeros(2, 2, 2))
m.where(b, x, v)
x.clamp()
x.masked_select(x)
x & x
x << 1
b - b
-b
x + "1"
x + None
m.nan_to_num("a")
m.equal(x, 1)
c % c
c < c
c.floor()
c.amax()
c.sort()
m.gcd(x, x)
m.bincount(x)
m.bincount(m.tensor([-1]))
m.histc(x, -1)
m.quantile(x, 1.5)
x.kthvalue(9)
x.topk(9)
m.unique(x, dim=[0])
m.unique_consecutive(x, dim=[0])
m.searchsorted(x, m.zeros(3, 3))
m.randint(3, 3, (2,))
m.eye(-1)
m.tensor([[1, 2], [3]])
m.tensor([None])
m.tensor("a")
x.item()
bool(x)
len(m.zeros(()))
(leaf * 2).backward()
x.sum().backward()
(leaf * 2).backward(v)
m.autograd.grad(leaf.sum(), [m.zeros(2, requires_grad=True)])
i.requires_grad_()
(leaf * 2).requires_grad_(False)
copy.deepcopy(leaf * 2)
m.func.grad(lambda t: t)(x)
m.func.jvp(lambda t: t, (x,), (v,))
m.func.vmap(lambda t, u: t)(x, v)
m.linalg.inv(x)
m.linalg.det(x)
m.linalg.solve(m.eye(3), v)
m.linalg.qr(m.eye(3), "bad")
m.linalg.cross(x[:, :2], x[:, :2])
m.fft.fft(x, 0)
F.conv2d(x, x)
F.conv1d(m.zeros(1, 3, 5), m.zeros(4, 2, 3))
F.conv1d(m.zeros(1, 2, 2), m.zeros(4, 2, 3))
F.conv1d(m.zeros(1, 2, 5), m.zeros(4, 2, 3), stride=0)
F.conv_transpose1d(m.zeros(1, 2, 5), m.zeros(2, 4, 3), stride=0)
F.fold(m.zeros(1, 4, 4), (3, 3), 2, stride=0)
F.max_pool1d(m.zeros(1, 1, 4), 2, padding=2)
F.pad(x, (1, 2, 3))
F.gelu(x, approximate="fast")
F.dropout(x, 1.5)
F.cross_entropy(x, x[0, :2])
F.nll_loss(x, x[:, 0])
F.mse_loss(x, v)
F.embedding(s, x)
F.one_hot(s)
F.layer_norm(x, (4,))
F.group_norm(x, 2)
F.glu(x)
m.nn.Linear(2, 3)(x)
m.nn.LSTM(2, 3)(x)
m.nn.GRU(2, 3)(m.zeros(2, 2, 2), m.zeros(5, 5, 5))
m.nn.LSTMCell(2, 3)(x)
m.nn.BatchNorm1d(5)(x)
m.nn.BatchNorm2d(3)(x)
m.nn.Linear(2, 3).load_state_dict(m.nn.Linear(3, 3).state_dict())
m.nn.Linear(2, 3).load_state_dict({})
m.nn.Linear(2, 3).nothing
m.nn.Conv2d(3, 4, 3, groups=2)
m.nn.utils.rnn.pack_padded_sequence(m.zeros(2, 2, 2), m.tensor([1, 2]))
m.nn.GRU(3.0, 5)
m.nn.RNN(3, 5, bias=1)
m.nn.LSTM(3, 5, batch_first="False")
m.nn.Linear(3.5, 2)
m.nn.BatchNorm1d(3, eps=0.0)(x)
m.nn.LinearCrossEntropyLoss(3, 2, weight=s)
m.nn.LinearCrossEntropyLoss(3, 2, label_smoothing=2.0)
F.cross_entropy(x, x, ignore_index=1)
m.optim.SGD(leaf)
m.optim.SGD(None)
m.optim.SGD([leaf], lr=m.zeros(2))
m.optim.SGD([("a", leaf), leaf[0].detach()])
m.optim.SGD([{"params": [leaf]}, {"params": [("a", s)]}])
m.optim.SGD([leaf], lr=-1)
m.utils.data.default_collate([x, v])
m.utils.data.DataLoader([1], batch_size=0)
m.distributions.Normal(0.0, -1.0)
m.load("no such file")
""".strip().splitlines()


def error_of(m, expression):
    x, s, v = m.zeros(2, 3), m.zeros(3), m.zeros(4)
    i, b, c = (m.zeros(2, 3, dtype=d) for d in (m.int64, m.bool, m.complex64))
    leaf = m.zeros(2, 3, requires_grad=True)
    names = {"m": m, "F": m.nn.functional, "x": x, "s": s, "v": v, "i": i, "b": b, "c": c, "leaf": leaf}
    names["copy"] = __import__("copy")
    with pytest.raises(Exception) as caught:
        eval(expression, names)
    return caught.value


@pytest.mark.parametrize("expression", CALLS)
def test_except_of_torchs_class_finds_ours(torch, expression):
    with fb.device("cpu"):
        ours = error_of(fb, expression)
    assert isinstance(ours, type(error_of(torch, expression)))


def test_classes_are_pythons_and_pytorchs_at_once():
    with pytest.raises(RuntimeError) as caught:
        fb.zeros(2, device="cpu") + fb.zeros(3, device="cpu")
    assert isinstance(caught.value, ValueError) and type(caught.value) is errors.ValueError
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is errors.ValueError and str(again) == str(caught.value)
    with pytest.raises(NotImplementedError) as caught:
        fb.zeros(2, device="cpu") & fb.zeros(2, device="cpu")
    assert isinstance(caught.value, TypeError)
    with pytest.raises(RuntimeError) as caught:
        fb.zeros(2, device="cpu").sum(1)
    assert isinstance(caught.value, IndexError)
    with pytest.raises(FileNotFoundError) as caught:
        fb.load("no such file")
    assert isinstance(caught.value, errors.FlambeauError)
