"""Lines that PyTorch's users type, with `m`, `nn`, `F` and `optim` of either library, and what they give."""

import copy
import io
import math
import pickle
from types import SimpleNamespace
from typing import Any

import numpy as np

from .paths import ROOT

WEIGHT = [[0.5, -1.0, 0.25], [1.5, 0.0, -0.5]]


def scope(m: Any, nn: Any, F: Any, optim: Any) -> dict[str, Any]:
    """What the lines name: X and Y [2, 3], K integers, P with gradients, a model and its optimiser."""
    X = m.tensor([[1.0, 2.0, -3.0], [4.0, -0.5, 0.25]])
    Y = m.tensor([[2.0, 1.0, 5.0], [0.5, -1.5, 2.25]])
    model = nn.Linear(3, 2)
    with m.no_grad():
        model.weight.copy_(m.tensor(WEIGHT))
        model.bias.copy_(m.tensor([0.25, -0.25]))
    given = {"m": m, "nn": nn, "F": F, "optim": optim, "X": X, "Y": Y, "K": m.tensor([0, 1])}
    given |= {"P": m.tensor([1.0, 2.0], requires_grad=True), "model": model, "T": Tools(m)}
    given |= {"O": optim.SGD(model.parameters(), lr=0.1), "N": np.arange(6, dtype="f4").reshape(2, 3)}
    return given | {"np": np, "copy": copy, "pickle": pickle, "math": math, "io": io}


class Tools(SimpleNamespace):
    """What lines need that are no expressions."""

    def __init__(self, m: Any):
        super().__init__(m=m)

    def set(self, owner: Any, name: str, value: Any) -> Any:
        """Assign to an attribute; what it is then."""
        setattr(owner, name, value)
        return getattr(owner, name)

    def inside(self, context: Any, f: Any) -> Any:
        """What a function gives inside a `with` block."""
        with context:
            return f()

    def saved(self, obj: Any) -> Any:
        """What a file has that save wrote."""
        file = io.BytesIO()
        self.m.save(obj, file)
        file.seek(0)
        return self.m.load(file)


def plain(value: Any) -> Any:
    """A result of either library as numbers, texts and lists."""
    if isinstance(value, np.ndarray) or hasattr(value, "requires_grad"):
        return ["tensor", list(value.shape), plain(value.tolist())]
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, float | np.floating):
        return float(f"{value:.4g}")
    if isinstance(value, str):
        return value.replace("torch.", "").replace("flambeau.", "")
    if value is None or isinstance(value, int | complex):
        return value
    text = str(value)
    return text.rpartition(".")[2] if text.startswith(("torch.", "flambeau.")) else type(value).__name__


def given_by(line: str, names: dict[str, Any]) -> str:
    """What a line gives, as text; "raises" where it does, and what ours says then."""
    try:
        return repr(plain(eval(line, names)))
    except Exception as e:
        return f"raises {e}"


# both raise, and ours says what to do
RAISING = """
P.grad.zero_()
T.set(P, "grad", X)
T.set(P * 2, "requires_grad", False)
T.set(K, "requires_grad", True)
f"{X:.2f}"
int(X)
bool(X)
X.sum().__index__()
[1][X.sum()]
copy.deepcopy(P * 2)
len(X.sum())
X @ N
m.exp(X, out=m.zeros(2, 3, dtype=m.int32))
m.exp(P, out=m.zeros(2))
m.cat([X, N])
F.relu(P, inplace=True)
nn.Sigmoid(inplace=True)
model(N)
model([[1.0, 2.0, 3.0]])
F.cross_entropy(model(X), np.array([0, 1]))
F.cross_entropy(model(X), m.tensor([0.0, 1.0]))
F.cross_entropy(model(X), K[:, None])
F.binary_cross_entropy_with_logits(X[:, :1], m.tensor([0.0, 1.0]))
m.tensor([[1, 2], [3]])
m.tensor("a")
m.device("no such device")
model.to(m.int32)
m.foo
nn.Lineer
F.rellu
optim.Adm
X + "a"
X.view(4)
divmod(X, 2)
m.load(io.BytesIO(b"no file of ours"))
model.load_state_dict({"weight": X})
"""
# PyTorch gives something, and here is an error with words: what a user of it types
TOLD = """
P.grad
(P * 2).grad_fn
X.type()
X.data_ptr()
X.untyped_storage()
X.to_sparse()
X.share_memory_()
m.FloatTensor([1, 2])
m.LongTensor([1, 2])
m.sparse_coo_tensor
m.set_num_threads(1)
T.saved(model)
"""


RAISING, TOLD = RAISING.strip().splitlines(), TOLD.strip().splitlines()


def equal() -> list[tuple[str, str]]:
    """(line, what PyTorch gives), of those that give the same here: habits_of_torch.txt has them in turns."""
    text = (ROOT / "tests" / "habits_of_torch.txt").read_text(encoding="utf-8").splitlines()
    return list(zip(text[::2], text[1::2], strict=True))
