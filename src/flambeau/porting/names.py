"""Resolves a script's names from its imports and assignments to torch's modules, functions and optimisers."""

import ast
from collections.abc import Iterator

OPTIM, SCHEDULES = "torch.optim.", "torch.optim.lr_scheduler."
SCALERS = ("torch.GradScaler", "torch.amp.GradScaler", "torch.cuda.amp.GradScaler")

# torch's old constructors -> the dtype of their tensors; "" for the default dtype.
TYPED = {
    "torch.FloatTensor": "",
    "torch.DoubleTensor": "float64",
    "torch.HalfTensor": "float16",
    "torch.LongTensor": "long",
    "torch.IntTensor": "int32",
    "torch.ShortTensor": "int16",
    "torch.CharTensor": "int8",
    "torch.ByteTensor": "uint8",
    "torch.BoolTensor": "bool",
}


class TorchNames:
    """A script's names for torch's objects: `path` resolves an expression to torch's name, or ""."""

    def __init__(self, tree: ast.Module):
        self.known: dict[str, str] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.Import | ast.ImportFrom):
                self.known.update(torch_imports(node))
        self.classes = {n.name: n for n in ast.walk(tree) if isinstance(n, ast.ClassDef)}
        self.assigned_calls: dict[str, ast.Call] = {}  # text of an assigned variable -> the call
        for target, value in assignments(tree):
            if isinstance(value, ast.Call):
                self.assigned_calls[ast.unparse(target)] = value
        uses = [(n.attr, ast.unparse(n.value)) for n in ast.walk(tree) if isinstance(n, ast.Attribute)]
        # an object with both methods is an optimiser
        self.steps = {text for name, text in uses if name == "step" and ("zero_grad", text) in uses}

    def path(self, node: ast.AST) -> str:
        """Return torch's name of an expression, such as `torch.nn.Linear`; "" if it is not torch's."""
        if isinstance(node, ast.Name):
            return self.known.get(node.id, "")
        if isinstance(node, ast.Attribute):
            owner = self.path(node.value)
            return owner and f"{owner}.{node.attr}"
        return ""

    def maker(self, text: str) -> str:
        """Return torch's name of the class whose object a variable is assigned, or of its base class."""
        call = self.assigned_calls.get(text)
        return "" if call is None else self.path(call.func) or self._base(call.func)

    def _base(self, node: ast.AST) -> str:
        owner = self.classes.get(node.id) if isinstance(node, ast.Name) else None
        return next((p for b in owner.bases if (p := self.path(b))), "") if owner else ""

    def is_optimizer(self, text: str) -> bool | None:
        """Whether a variable is an optimiser; None if unknown."""
        maker = self.maker(text)
        last = text.rpartition(".")[2].lower()
        if maker:
            return maker.startswith(OPTIM) and not maker.startswith(SCHEDULES)
        # Objects with a `step` that are not optimisers: schedulers, warm-ups, environments, scalers,
        # profilers.
        if any(word in last for word in ("sched", "warm", "env", "scaler", "prof")):
            return False
        return True if "opt" in last or text in self.steps else None

    def is_scaler(self, text: str) -> bool:
        """Whether a variable is a GradScaler, by its assignment or, if that is unknown, by its name."""
        is_named = text not in self.assigned_calls and "scaler" in text.rpartition(".")[2].lower()
        return is_named or self.maker(text) in SCALERS

    def optimizers_of(self, model: str) -> list[str]:
        """Return the optimisers of a model's parameters, by the text of their variables."""
        optimisers = [t for t in self.assigned_calls if self.is_optimizer(t) and self.maker(t)]
        return [t for t in optimisers if f"{model}.parameters()" in ast.unparse(self.assigned_calls[t])]


def torch_imports(node: ast.Import | ast.ImportFrom) -> dict[str, str]:
    """Return {the script's name: torch's name} of an import."""
    if isinstance(node, ast.Import):
        modules = [a for a in node.names if is_torch(a.name)]
        return {a.asname or "torch": a.name if a.asname else "torch" for a in modules}
    if node.level or not is_torch(node.module or ""):
        return {}
    return {a.asname or a.name: f"{node.module}.{a.name}" for a in node.names}


def is_torch(module: str) -> bool:
    return module.partition(".")[0] == "torch"


def assignments(tree: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield (target, value) of all assignments; those of tuples element by element."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                yield from _pairs(target, node.value)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            yield node.target, node.value


def _pairs(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    both = isinstance(target, ast.Tuple | ast.List) and isinstance(value, ast.Tuple | ast.List)
    if both and len(target.elts) == len(value.elts):  # type: ignore[union-attr]
        yield from zip(target.elts, value.elts, strict=True)  # type: ignore[union-attr]
    else:
        yield target, value
