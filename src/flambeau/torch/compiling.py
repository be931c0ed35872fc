"""torch.compile and torch.compiler: fb.jit records and replays calls, with the gradients in `.grad`."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from ..capture.jit import jit_what_ran
from ..capture.observers import is_noting
from ..capture.program import parts_of
from ..core.modes import is_grad_enabled
from ..core.tree import leaves
from ..nn.module import Module
from ..runtime.state import thread
from ..tensor import Tensor
from . import grad_slots
from .compiled_modules import TrainedModule
from .data_parallel import DistributedDataParallel
from .derivatives import has_post_hooks
from .trees import KnownTrees

NEEDS_GRAPH = "its result has a graph: compute gradients inside, or call it under no_grad"
FIRST_GRADIENTS = "it reads gradients from before its first call"
STRANGE = "it returns an object that is not made of tensors, numbers, strings, lists, tuples and dicts"


class StartingGradients:
    """The calls of one function that begin with gradients for the same leaves, among those that they read."""

    def __init__(self, number: int):
        self.number = number
        self.asked: dict[int, bool] = {}  # by the leaf's position: whether its gradient was set at the start
        self.is_known = False  # it has run

    def fits(self, leaves_of: list[Tensor]) -> bool:
        """Whether gradients are set now as they were."""
        return all((grad_slots.read(leaves_of[i]) is not None) == was for i, was in self.asked.items())


class RecordedCalls:
    """The calls of one function, recorded by fb.jit.

    Gradients that a call reads are arguments of the recording, and those that it sets are results.
    """

    is_unwatched = True  # its state follows from the dependencies of recordings

    def __init__(self, fn: Callable[..., Any]):
        self.leaves: list[Tensor] = []
        self.places: dict[int, int] = {}  # by the id of a leaf
        self.variants: list[StartingGradients] = []
        self.shapes = KnownTrees()
        self.strange: Any = None  # a result that recordings can't return
        self.fn, self.record = fn, jit_what_ran(_inner_of(fn, self))

    def __call__(self, args: tuple[Any, ...], kw: dict[str, Any]) -> Any:
        if thread.recorder is not None or thread.computing is not None:
            return self.fn(*args, **kw)
        # fb.jit sees arguments, not `.grad`: whether gradients are None at the start is part of the key, as
        # the variant's number. A step with accumulation has two: the first pass sets gradients, the others
        # add to them.
        variant = next((v for v in self.variants if v.fits(self.leaves)), None)
        if variant is None:
            variant = StartingGradients(len(self.variants))
            self.variants.append(variant)
        initial = self._gradients(variant)
        result: Any
        gradients: dict[int, tuple[Any, bool]]
        shape: int | None
        result, shape, gradients = self.record(args, kw, initial, variant.number, has_post_hooks())
        for place, (gradient, is_other) in gradients.items():
            self._store(self.leaves[place], gradient, is_other)
        if self.strange is not None:
            (result,), self.strange = self.strange, None
        return self.shapes.whole(result, shape)

    def _gradients(self, variant: StartingGradients) -> dict[int, Tensor]:
        """The gradients that the call may read, by the position of their leaf."""
        places: list[int] = list(range(len(self.leaves)))  # the first call may read all
        if variant.is_known:
            places = [i for i, was in variant.asked.items() if was]
        pairs = ((i, grad_slots.read(self.leaves[i])) for i in places)
        return {i: g for i, g in pairs if g is not None}

    def _store(self, leaf: Tensor, gradient: Any, is_other: bool) -> None:
        before = grad_slots.read(leaf)
        if is_other or before is None or gradient is None:
            grad_slots.write(leaf, gradient)
        else:  # the call added to it: a reference to it sees the sum
            before.assign_(gradient)

    def place_of(self, leaf: Tensor) -> int:
        """The position of a leaf among those whose gradients calls read or set."""
        if id(leaf) not in self.places:
            self.places[id(leaf)] = len(self.leaves)
            self.leaves.append(leaf)
        return self.places[id(leaf)]

    def run(self, initial: dict[int, Tensor], number: int, args: Any, kw: Any) -> Any:
        """Call the function in a frame, and record the dependencies of the call."""
        frame = grad_slots.Frame({id(self.leaves[i]): g for i, g in initial.items()})
        recorder, grad_slots.current.frame = thread.recorder, frame
        try:
            result = self.fn(*args, **kw)
        finally:
            grad_slots.current.frame = None
        variant = self.variants[number]
        variant.is_known = True
        for leaf in frame.asked:
            place = self.place_of(leaf)
            variant.asked.setdefault(place, id(leaf) in frame.initial or frame.outside)
        if thread.recorder is recorder:
            if frame.outside:
                recorder.spoil(FIRST_GRADIENTS)
            elif not frame.has_passed and has_graph(result):  # a step's results are read, not differentiated
                recorder.spoil(NEEDS_GRAPH)
        result, shape = self.shapes.plain(result)
        try:
            parts_of(result)
        except TypeError:
            if thread.recorder is recorder:
                recorder.spoil(STRANGE)
            self.strange = (self.shapes.whole(result, shape),)
            result = shape = None
        changed = ((self.place_of(leaf), id(leaf), g) for leaf, g in frame.now.values())
        return result, shape, {i: (g, key in frame.cleared) for i, key, g in changed}


def _inner_of(fn: Callable[..., Any], calls: RecordedCalls) -> Callable[..., Any]:
    """The function that fb.jit records. A default is watched as a whole, so not at all; a closure would be
    followed by attributes."""

    def inner(
        args: Any, kw: Any, initial: dict[int, Tensor], number: int, _has_hooks: bool, calls: Any = calls
    ) -> Any:
        if thread.recorder is None:  # gradients are set where they are
            return fn(*args, **kw), None, {}
        return calls.run(initial, number, args, kw)

    return inner


def has_graph(result: Any) -> bool:
    """Whether gradients may flow through a result: it requires them, and no backward has used its graph."""
    return is_grad_enabled() and any(
        isinstance(t, Tensor) and t.requires_grad and t.node.param is None and not t.node.released
        for t in leaves(result)
    )


class OptimizedModule(Module):
    """A module whose calls are recorded; its parameters are those of the original module.

    mod: the original module, in `_orig_mod`
    """

    def __init__(self, mod: Module):
        self._orig_mod = mod
        vars(self).update(_calls=RecordedCalls(mod), _trained=TrainedModule(mod))

    def forward(self, *args: Any, **kw: Any) -> Any:
        """The original module's result. If gradients flow, forward and backward are two recordings."""
        calls: RecordedCalls = vars(self)["_calls"]
        trained: TrainedModule = vars(self)["_trained"]
        needs_graph = is_grad_enabled() and any(p.requires_grad for p in self._orig_mod.parameters())
        return trained.call(args, kw) if needs_graph else calls(args, kw)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or "_orig_mod" not in vars(self):
            raise AttributeError(name)
        return getattr(self._orig_mod, name)


class OptimizedParallel(OptimizedModule):
    """A DistributedDataParallel whose module is recorded: exchanges between workers are not.

    mod: the wrapper, in `_orig_mod`
    """

    def __init__(self, mod: DistributedDataParallel):
        super().__init__(mod)
        vars(mod)["_run"] = OptimizedModule(mod.module)

    def forward(self, *args: Any, **kw: Any) -> Any:
        """The wrapper's result."""
        return self._orig_mod(*args, **kw)


def compile(model: Any = None, *, disable: bool = False, **options: Any) -> Any:
    """A function (or module) whose calls on a GPU are recorded and replayed, as fb.jit does: an entire step
    with backward, optimizer.step and zero_grad.

    disable: return the function itself. options: torch's others (fullgraph, dynamic, backend, mode), which
    choose nothing here.
    """
    if model is None:

        def decorate(f: Any) -> Any:
            return compile(f, disable=disable)

        return decorate
    if disable:
        return model
    if isinstance(model, Module):
        is_parallel = isinstance(model, DistributedDataParallel)
        return OptimizedParallel(model) if is_parallel else OptimizedModule(model)
    calls = RecordedCalls(model)

    @wraps(model)
    def call(*args: Any, **kw: Any) -> Any:
        return calls(args, kw)

    vars(call)["_torchdynamo_orig_callable"] = model
    return call


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """The function itself: nothing is compiled that it could be left out of."""
    return _same if fn is None else fn


def _same(fn: Callable[..., Any]) -> Callable[..., Any]:
    return fn


def is_compiling() -> bool:
    """Whether a call of torch.compile is being recorded: libraries then leave out what reads values."""
    return thread.recorder is not None or is_noting()


def is_exporting() -> bool:
    """False: nothing is exported through it."""
    return False


is_dynamo_compiling = is_compiling


def allow_in_graph(fn: Any) -> Any:
    """The function itself."""
    return fn


assume_constant_result = substitute_in_graph = allow_in_graph


def cudagraph_mark_step_begin() -> None:
    """Nothing: recordings need no mark."""


def reset() -> None:
    """Nothing: recordings end with the functions that own them."""


def list_backends(exclude_tags: Any = ()) -> list[str]:
    """The names of compilers: none has an effect."""
    return ["inductor"]
