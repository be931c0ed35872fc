"""A group of ranks and its collectives on arrays. Every result is reduced in one fixed order of the ranks."""

import queue
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ..errors import DistributedError, TypeError, ValueError
from . import wire
from .memory import PLACE, SMALLEST, SharedBlock
from .mesh import Key, Mesh, Payload, Peer
from .reductions import BFLOAT16, Array, ReduceOp, check_op, tree_reduce
from .wire import ANNOUNCE, COLLECTIVE, PIECE, POINT, SHARED

if TYPE_CHECKING:
    import numpy.typing as npt

TIMEOUT = 300.0  # seconds that a call waits for the other ranks
PARTS = 1 << 10  # pieces of the largest message of `RankCall.send_whole`
SMALL = 1 << 15  # bytes up to which all ranks send everything to all: one round instead of two


class Work:
    """A call that may still run. `wait` returns when its arrays hold the result.

    finish: runs in the thread that waits, before `wait` returns
    """

    def __init__(self, finish: Callable[[], None] | None = None):
        self._done, self._error = threading.Event(), None
        self._finish = finish

    def wait(self, timeout: float | timedelta | None = None) -> bool:
        """Wait for the result. Raises DistributedError if the call failed or `timeout` seconds passed."""
        seconds = timeout.total_seconds() if isinstance(timeout, timedelta) else timeout
        if not self._done.wait(seconds):
            raise DistributedError(f"wait(timeout={seconds:g}): the call has not finished")
        if self._error is not None:
            raise self._error
        if self._finish is not None:
            finish, self._finish = self._finish, None
            finish()
        return True

    def is_completed(self) -> bool:
        """Whether the call has ended, also by an error."""
        return self._done.is_set()

    def exception(self) -> BaseException | None:
        """The error of a failed call."""
        return self._error

    def then(self, finish: Callable[[], None]) -> "Work":
        """Run a function in the thread that waits, before `wait` returns."""
        self._finish = finish
        return self

    def run(self, function: Callable[[], object]) -> None:
        """Run the call and keep its error."""
        try:
            function()
        except BaseException as e:
            self._error = e
        self._done.set()


class Elastic(Protocol):
    """Makes the next generation of a group; `rendezvous.Worker` is one."""

    def regroup(self, group: "ProcessGroup", timeout: float) -> "ProcessGroup":
        """Agree on the living workers and connect to them."""
        ...

    def joiners(self) -> int:
        """How many new workers wait."""
        ...

    def close(self) -> None:
        """Leave the run."""
        ...


class ProcessGroup:
    """Ranks that call collectives together: all in the same order, with equal dtypes and shapes.

    Arrays are NumPy's; results are written to them. A uint16 array with dtype="bfloat16" holds bfloat16. Each
    method with `async_op` returns a `Work` if it is true: leave the arrays alone until its `wait`.

    mesh: the connections. ranks: of the mesh, the members of this group in order. number: distinguishes
    groups of one mesh. timeout: seconds that a call waits for the others.
    """

    def __init__(
        self, mesh: Mesh, ranks: Sequence[int] | None = None, number: int = 0, timeout: float = TIMEOUT
    ):
        self.mesh, self.number, self.timeout = mesh, number, float(timeout)
        self.ranks = list(range(mesh.size)) if ranks is None else list(ranks)
        self.rank, self.size = self.ranks.index(mesh.rank), len(self.ranks)
        self.elastic: Elastic | None = None
        self.last_source = -1  # the sender of the last message that `recv` returned
        self._seq = 0
        self._sent: dict[tuple[int, int], int] = {}
        self._received: dict[tuple[int, int], int] = {}
        self._calls_lock = threading.RLock()  # of collectives of one group
        self._tasks: queue.SimpleQueue[tuple[Work, Callable[[], object]] | None] = queue.SimpleQueue()
        self._pending = 0
        self._thread: threading.Thread | None = None

    def __repr__(self) -> str:
        return f"ProcessGroup(rank={self.rank}, size={self.size}, generation={self.generation})"

    @property
    def generation(self) -> int:
        """Counts the changes of the members."""
        return self.mesh.generation

    @property
    def failure(self) -> str:
        """Why calls fail, or ""."""
        return self.mesh.failure

    def empty(self, shape: int | Sequence[int], dtype: "npt.DTypeLike" = np.float32) -> Array:
        """An array for collectives. If ranks share memory, they read it where it is, without a copy.

        shape: the array's; its elements are not initialised. dtype: NumPy's.
        """
        count, kind = int(np.prod(shape)), np.dtype(dtype)
        if count * kind.itemsize >= SMALLEST and any(p.shares_memory for p in self.mesh.peers.values()):
            with self.mesh.changed:
                array = self.mesh.blocks.array(count * kind.itemsize)
            if array is not None:
                return array.view(kind).reshape(shape)
        return np.empty(shape, kind)

    # Running calls in order

    def _run(self, function: Callable[[], object], async_op: bool) -> Work | None:
        # Frames are matched by a call's number, which `_begin` counts: all calls of a group therefore run in
        # the order of the calls, including those that wait for nothing.
        with self._calls_lock:
            if not async_op and not self._pending:
                function()
                return None
            work = Work()
            self._pending += 1
            if self._thread is None:
                self._thread = threading.Thread(target=self._serve, name="flambeau-group", daemon=True)
                self._thread.start()
            self._tasks.put((work, function))
        if async_op:
            return work
        work.wait()
        return None

    def _serve(self) -> None:
        while (task := self._tasks.get()) is not None:
            work, function = task
            work.run(function)
            with self._calls_lock:
                self._pending -= 1
            del task, work, function  # else this thread keeps the arrays alive until the next call

    # Collectives

    def all_reduce(
        self, array: Array, op: ReduceOp = ReduceOp.SUM, *, dtype: str | None = None, async_op: bool = False
    ) -> Work | None:
        """Reduce the arrays of all ranks into each of them. array: [...]

        Raises DistributedError if ranks differ in the call, die or miss the timeout; TypeError if the dtype
        has no such op.
        """
        # Arguments are checked here, in the caller's thread: a wrong call must not reach the other ranks.
        name = _dtype_of("all_reduce", array, dtype, op)

        def run() -> None:
            call = self._begin("all_reduce", op.value, name, array.shape)
            self._reduce(call, array, array, op, name, range(self.size))

        return self._run(run, async_op)

    def reduce(
        self, array: Array, dst: int, op: ReduceOp = ReduceOp.SUM, *, dtype: str | None = None,
        async_op: bool = False,
    ) -> Work | None:  # fmt: skip
        """Reduce the arrays of all ranks into that of rank `dst`; the others do not change. array: [...]

        Raises DistributedError as `all_reduce` does.
        """
        name = _dtype_of("reduce", array, dtype, op)
        self._check_rank("reduce", "dst", dst)
        result = array if self.rank == dst else None

        def run() -> None:
            call = self._begin("reduce", f"{op.value}, dst={dst}", name, array.shape)
            self._reduce(call, array, result, op, name, [dst])

        return self._run(run, async_op)

    def reduce_scatter(
        self, output: Array, arrays: Sequence[Array], op: ReduceOp = ReduceOp.SUM, *,
        dtype: str | None = None, async_op: bool = False,
    ) -> Work | None:  # fmt: skip
        """Reduce a list of arrays over the ranks; rank i gets the i-th result. output and each array: [...]

        Raises DistributedError as `all_reduce` does; ValueError if the list has another length than the
        group, or an array another size than `output`.
        """
        name = _dtype_of("reduce_scatter", output, dtype, op)
        self._check_list("reduce_scatter", arrays, output)

        def run() -> None:
            call = self._begin("reduce_scatter", op.value, name, output.shape)
            parts = [_to_bytes(a) for a in arrays]
            target, result = _target(output)
            targets: list[Array | None] = [None] * self.size
            targets[self.rank] = result
            call.reduce_slices(parts, targets, op, output.dtype, name, [])
            call.end()
            _write_back(output, target)

        return self._run(run, async_op)

    def all_gather(self, outputs: Sequence[Array], array: Array, *, async_op: bool = False) -> Work | None:
        """Copy the array of each rank i to outputs[i] of all ranks. array and each output: [...]

        Raises DistributedError as `all_reduce` does; ValueError if the list has another length than the
        group, or an output another size than `array`.
        """
        name = _dtype_of("all_gather", array)
        self._check_list("all_gather", outputs, array)

        def run() -> None:
            call = self._begin("all_gather", "", name, array.shape)
            own_bytes = _to_bytes(array)
            targets = [_target(o) for o in outputs]
            targets[self.rank][1][:] = own_bytes
            call.spread(own_bytes, [t[1] for t in targets])
            call.end()
            for output, (target, _) in zip(outputs, targets, strict=True):
                _write_back(output, target)

        return self._run(run, async_op)

    def gather(
        self, array: Array, outputs: Sequence[Array] | None, dst: int, *, async_op: bool = False
    ) -> Work | None:
        """Copy the arrays of all ranks to the outputs of rank `dst`. array and each output: [...]

        outputs: one array a rank on `dst`, None elsewhere. Raises DistributedError as `all_reduce` does;
        ValueError if a list is missing or superfluous, or its length or sizes differ.
        """
        name = _dtype_of("gather", array)
        self._check_root("gather", "dst", dst, outputs, array)

        def run() -> None:
            call = self._begin("gather", f"dst={dst}", name, array.shape)
            own_bytes = _to_bytes(array)
            if outputs is None:
                call.move({dst: own_bytes}, {}, 0)
            else:
                call.announce(r for r in range(self.size) if r != dst)
                targets = [_target(o) for o in outputs]
                targets[dst][1][:] = own_bytes
                call.move({}, {r: t[1] for r, t in enumerate(targets) if r != dst}, 0)
                for output, (target, _) in zip(outputs, targets, strict=True):
                    _write_back(output, target)
            call.end()

        return self._run(run, async_op)

    def scatter(
        self, output: Array, arrays: Sequence[Array] | None, src: int, *, async_op: bool = False
    ) -> Work | None:
        """Copy arrays[i] of rank `src` to the output of rank i. output and each array: [...]

        arrays: one a rank on `src`, None elsewhere. Raises DistributedError as `all_reduce` does; ValueError
        if a list is missing or superfluous, or its length or sizes differ.
        """
        name = _dtype_of("scatter", output)
        self._check_root("scatter", "src", src, arrays, output)

        def run() -> None:
            call = self._begin("scatter", f"src={src}", name, output.shape)
            target, result = _target(output)
            if arrays is None:
                call.announce([src])
                call.move({}, {src: result}, 0)
            else:
                parts = [_to_bytes(a) for a in arrays]
                result[:] = parts[src]
                call.move({r: part for r, part in enumerate(parts) if r != src}, {}, 0)
            call.end()
            _write_back(output, target)

        return self._run(run, async_op)

    def broadcast(self, array: Array, src: int, *, async_op: bool = False) -> Work | None:
        """Copy the array of rank `src` to the arrays of all ranks. array: [...]

        Raises DistributedError as `all_reduce` does.
        """
        name = _dtype_of("broadcast", array)
        self._check_rank("broadcast", "src", src)

        def run() -> None:
            call = self._begin("broadcast", f"src={src}", name, array.shape)
            if self.rank == src:
                own_bytes = _to_bytes(array)
                others = [r for r in range(self.size) if r != src]
                for part, start in enumerate(range(0, own_bytes.size, PIECE)):
                    call.send(others, part, own_bytes[start : start + PIECE])
                if not own_bytes.size:
                    call.announce(others)
            else:
                call.announce([src])
                target, result = _target(array)
                call.move({}, {src: result}, 0)
                _write_back(array, target)
            call.end()

        return self._run(run, async_op)

    def all_to_all(
        self, outputs: Sequence[Array], arrays: Sequence[Array], *, async_op: bool = False
    ) -> Work | None:
        """Copy arrays[j] of rank i to outputs[i] of rank j. Sizes may differ from pair to pair.

        Raises DistributedError as `all_reduce` does, also if a pair's sizes differ; ValueError if a list has
        another length than the group.
        """
        for list_name, arrays_of in (("outputs", outputs), ("arrays", arrays)):
            if len(arrays_of) != self.size:
                call = f"all_to_all({list_name} of {len(arrays_of)})"
                raise ValueError(f"{call}: pass one array for each of {self.size} ranks")
        names = {_dtype_of("all_to_all", a) for a in (*outputs, *arrays)}
        if len(names) != 1:
            raise TypeError(f"all_to_all(dtypes {', '.join(sorted(names))}): all arrays need one dtype")
        if arrays[self.rank].size != outputs[self.rank].size:
            raise ValueError(f"all_to_all: arrays[{self.rank}] and outputs[{self.rank}] differ in size")

        def run() -> None:
            call = self._begin("all_to_all", "", names.pop(), None)
            parts, targets = [_to_bytes(a) for a in arrays], [_target(o) for o in outputs]
            targets[self.rank][1][:] = parts[self.rank]
            others = [r for r in range(self.size) if r != self.rank]
            # Sizes first: a rank that expects other sizes than its peers send would wait for frames forever.
            sizes = {r: np.zeros(8, np.uint8) for r in others}
            # Numbers from 2**31 distinguish these from pieces of data.
            call.move({r: np.array([parts[r].size]).view(np.uint8) for r in others}, sizes, 1 << 31)
            for r in others:
                if (size := int(sizes[r].view(np.int64)[0])) != targets[r][1].size:
                    call.fail(
                        f"rank {r} sends {size} bytes, rank {self.rank} has space for {targets[r][1].size}"
                    )
            call.move({r: parts[r] for r in others}, {r: targets[r][1] for r in others}, 0)
            call.end()
            for output, (target, _) in zip(outputs, targets, strict=True):
                _write_back(output, target)

        return self._run(run, async_op)

    def barrier(self, *, async_op: bool = False) -> Work | None:
        """Wait until all ranks call this. Raises DistributedError as `all_reduce` does."""
        return self._run(lambda: self._meet("barrier", ""), async_op)

    # Point to point

    def send(self, array: Array, to: int, tag: int = 0, *, async_op: bool = False) -> Work | None:
        """Send an array to a rank, which calls `recv`. array: [...]

        Raises DistributedError if that rank dies or misses the timeout; ValueError for a rank out of range.
        """
        name = _dtype_of("send", array)
        self._check_rank("send", "dst", to, self.rank)
        # The n-th send to a rank with a tag meets its n-th receive with that tag; collectives have another
        # count.
        call = RankCall(
            self, POINT, self._count(self._sent, to, tag), f"send({name}, {list(array.shape)})", tag
        )
        data = _to_bytes(array)
        call.check()
        for part in range(max(-(-data.size // PIECE), 1)):
            call.send([to], part, data[part * PIECE : (part + 1) * PIECE])
        return self._complete(call.end, async_op)

    def recv(
        self, array: Array, source: int | None = None, tag: int = 0, *, async_op: bool = False
    ) -> Work | None:
        """Receive an array of a rank that calls `send` with the same dtype, shape and tag. array: [...]

        source: None for any rank, which needs async_op=False; `last_source` then has the sender's rank.
        Raises DistributedError if a rank dies, sends something else or misses the timeout; ValueError for a
        rank out of range.
        """
        name = _dtype_of("recv", array)
        text = f"send({name}, {list(array.shape)})"
        sources = [r for r in range(self.size) if r != self.rank]
        if source is not None:
            self._check_rank("recv", "src", source, self.rank)
            sources = [source]
        # From any rank: a call for the next message of each; only the sender's counts as received.
        counts = {r: self._received.get((r, tag), 0) for r in sources}
        if source is not None:
            self._count(self._received, source, tag)
        target, result = _target(array)

        def run() -> None:
            calls = {r: RankCall(self, POINT, n, text, tag) for r, n in counts.items()}
            if source is not None:
                calls[source].post(source, 0, result[:PIECE])
            keys = [c.key(r, 0) for r, c in calls.items()]
            first = next(iter(calls.values()))
            key, message = self.mesh.take(keys, first.deadline, f"recv of {text}")
            sender = self.ranks.index(key.source)
            if source is None:
                self._count(self._received, sender, tag)
            call, self.last_source = calls[sender], sender
            if message.text != text:
                call.fail(f"rank {sender} calls {message.text}, rank {self.rank} receives {text[5:-1]}")
            call.accept(sender, message, result[:PIECE])
            for part in range(1, -(-result.size // PIECE)):
                call.fetch(sender, part, result[part * PIECE : (part + 1) * PIECE])
            _write_back(array, target)

        return self._complete(run, async_op)

    def _complete(self, function: Callable[[], object], async_op: bool) -> Work | None:
        """Run the end of a send or recv, which no collective has to wait for."""
        if not async_op:
            function()
            return None
        work = Work()
        threading.Thread(target=work.run, args=(function,), daemon=True).start()
        return work

    def _count(self, counts: dict[tuple[int, int], int], rank: int, tag: int) -> int:
        with self._calls_lock:
            count = counts.get((rank, tag), 0)
            counts[rank, tag] = count + 1
        return count

    # Groups

    def new_group(self, ranks: Sequence[int]) -> "ProcessGroup | None":
        """A group of some ranks of this one; all ranks call this. None on ranks that are not in it."""
        ranks = sorted(set(ranks))
        for rank in ranks:
            self._check_rank("new_group", "ranks", rank)
        self._run(lambda: self._meet("new_group", str(ranks)), False)
        number = self.mesh.next_group()
        if self.rank not in ranks:
            return None
        return ProcessGroup(self.mesh, [self.ranks[r] for r in ranks], number, self.timeout)

    def abort(self, reason: str) -> None:
        """Stop all ranks: their calls raise a DistributedError that names this rank and the reason."""
        self.mesh.abort(reason)

    def stragglers(self) -> list[tuple[int, float]]:
        """Ranks and the seconds that this one waited for each since the last call, the slowest first."""
        waited = [(self.ranks.index(r), s) for r, s in self.mesh.waited.items() if r in self.ranks]
        self.mesh.waited.update(dict.fromkeys(self.mesh.waited, 0.0))
        return sorted(waited, key=lambda row: -row[1])

    def joiners(self) -> int:
        """How many new workers wait for the next `reconfigure`; 0 for a group that cannot grow."""
        return self.elastic.joiners() if self.elastic else 0

    def reconfigure(self, timeout: float = 30.0) -> "ProcessGroup":
        """Leave this group and make the next one, of its living ranks and new workers. All living ranks call
        it.

        Ranks keep their order. timeout: ranks that do not call this within so many seconds are excluded.
        Raises
        DistributedError if the group was not made by a store, or the store is gone.
        """
        if self.elastic is None:
            raise DistributedError("reconfigure: only a group of init_process_group can change its members")
        self.close(goodbye=False, leave=False)
        return self.elastic.regroup(self, timeout)

    def close(self, goodbye: bool = True, leave: bool = True) -> None:
        """Leave the group. Other ranks' calls that need this one raise an error."""
        self._tasks.put(None)
        self.mesh.close(goodbye)
        if leave and self.elastic is not None:
            self.elastic.close()

    def begin(self, name: str) -> "RankCall":
        """Begin a call whose parts the caller sends and receives, from any thread. All ranks begin it
        in the same order as their other collectives."""
        with self._calls_lock:
            return self._begin(name, "", "", None)

    # Parts of calls

    def _begin(self, name: str, details: str, dtype: str, shape: Sequence[int] | None) -> "RankCall":
        values = [details, dtype, "" if shape is None else str(list(shape))]
        text = f"{name}({', '.join(v for v in values if v)})"
        call = RankCall(self, COLLECTIVE, self._seq, text)
        self._seq += 1
        self.mesh.begin(self.number, call.seq, text)
        return call

    def _meet(self, name: str, details: str) -> None:
        """Wait until all ranks are in this call."""
        call = self._begin(name, details, "", None)
        call.send(call.others, 0, np.empty(0, np.uint8))
        for rank in call.others:
            call.receive([(rank, 0)])
        call.end()

    def _reduce(
        self, call: "RankCall", array: Array, output: Array | None, op: ReduceOp, dtype: str,
        receivers: Sequence[int],
    ) -> None:  # fmt: skip
        """Each rank reduces one slice of the array and sends the result to the receivers."""
        # Large arrays take two rounds: each rank reduces one slice and sends the result. A rank then moves 2
        # (n - 1) / n of the array each way, whatever the number of ranks n. One round would move n - 1
        # arrays.
        source = _to_bytes(array)
        target, result = (None, None) if output is None else _target(output)
        others = [r for r in range(self.size) if r != self.rank]
        if source.size <= SMALL:  # one round: all parts to all receivers
            call.send([r for r in receivers if r != self.rank], 0, source)
            if result is None:
                call.end()
            else:
                call.announce(r for r in others if r not in receivers)
                # Not into `source`: peers may still read it, lent or queued, until `end`.
                out = np.empty_like(source)
                call.reduce(0, source, out, op, array.dtype, dtype)
                call.end()
                result[:] = out
        else:
            # A multiple of each element's size, so that slices have whole elements: 32 bytes is complex256.
            step = -(-source.size // self.size // 32) * 32
            bounds = [slice(r * step, (r + 1) * step) for r in range(self.size)]
            targets = [None if result is None else result[b] for b in bounds]
            call.reduce_slices([source[b] for b in bounds], targets, op, array.dtype, dtype, receivers)
            call.end()
        if output is not None and target is not None:
            _write_back(output, target)

    def _check_rank(self, call: str, name: str, rank: int, own: int = -1) -> None:
        if not 0 <= rank < self.size or rank == own:
            reason = "it is the caller's own rank" if rank == own else f"ranks are 0 to {self.size - 1}"
            raise ValueError(f"{call}({name}={rank}): {reason}")

    def _check_list(self, call: str, arrays: Sequence[Array], like: Array) -> None:
        if len(arrays) != self.size:
            raise ValueError(
                f"{call}(a list of {len(arrays)}): the group has {self.size} ranks: pass one array each"
            )
        for array in arrays:
            if array.dtype != like.dtype or array.size != like.size:
                raise ValueError(
                    f"{call}({array.dtype} {list(array.shape)}): expected {like.dtype} {list(like.shape)}"
                )

    def _check_root(
        self, call: str, name: str, root: int, arrays: Sequence[Array] | None, like: Array
    ) -> None:
        self._check_rank(call, name, root)
        if (arrays is not None) != (self.rank == root):
            raise ValueError(f"{call}({name}={root}): only rank {root} passes the list of arrays")
        if arrays is not None:
            self._check_list(call, arrays, like)


class RankCall:
    """One call on one rank: its frames have its number, and the first to each rank has its text."""

    def __init__(self, group: ProcessGroup, kind: int, seq: int, text: str, tag: int = 0):
        self.group, self.mesh = group, group.mesh
        self.kind, self.seq, self.text, self.tag = kind, seq, text, tag
        self.deadline = time.monotonic() + group.timeout  # of all its messages together
        self.tickets: dict[int, tuple[Peer, int]] = {}
        self.introduced: set[int] = set()
        self.lent: list[SharedBlock] = []
        self.others = [r for r in range(group.size) if r != group.rank]

    def key(self, rank: int, part: int) -> Key:
        return Key(self.group.ranks[rank], self.kind, self.group.number, self.seq, part, self.tag)

    def check(self) -> None:
        with self.mesh.changed:
            self.mesh.check(self.text)

    def fail(self, reason: str) -> None:
        """Fail on all ranks."""
        with self.mesh.changed:
            self.mesh.abort(reason)
            self.mesh.check(self.text)

    def announce(self, ranks: Iterable[int]) -> None:
        """Name this call to ranks that get no data from this one, so that they compare it with theirs."""
        for rank in ranks:
            self._frame(rank, 0, ANNOUNCE, None)

    def send(self, ranks: Sequence[int], part: int, data: Array) -> None:
        """Send at most a piece to some ranks: through one block for those that share memory."""
        peers = [self.mesh.peers[self.group.ranks[r]] for r in ranks]
        sharing = {p.rank for p in peers if p.shares_memory} if data.size >= SMALLEST else set[int]()
        place = self._place(data, len(sharing)) if sharing and self.kind == COLLECTIVE else b""
        for rank, peer in zip(ranks, peers, strict=True):
            if place and peer.rank in sharing:
                self._frame(rank, part, SHARED, memoryview(place))
            else:
                self._frame(rank, part, 0, memoryview(data))  # type: ignore[arg-type]

    def _place(self, data: Array, readers: int) -> bytes:
        """Where peers can read the bytes: in the user's array or in a block with a copy; empty if nowhere."""
        if (place := self.mesh.lend(data, readers)) is not None:
            self.lent.append(place[0])
            return PLACE.pack(place[0].file, place[1], data.size)
        block = self.mesh.share(readers, data)
        return b"" if block is None else PLACE.pack(block.file, 0, data.size)

    def _frame(self, rank: int, part: int, flags: int, payload: memoryview | None) -> None:
        text = b"" if rank in self.introduced else self.text.encode()
        self.introduced.add(rank)
        header = wire.Header(
            self.kind, flags, self.group.number, self.mesh.generation, self.seq, part, self.tag,
            length=payload.nbytes if payload is not None else 0,
        )  # fmt: skip
        peer = self.mesh.peers[self.group.ranks[rank]]
        self.tickets[rank] = peer, self.mesh.send(peer, header.pack(text), payload)

    def post(self, rank: int, part: int, into: Array) -> None:
        if into.size:
            self.mesh.post(self.key(rank, part), into)

    def receive(self, sources: Sequence[tuple[int, int]]) -> tuple[int, Payload]:
        """The next message of these (rank, part)."""
        keys = [self.key(rank, part) for rank, part in sources]
        key, message = self.mesh.take(keys, self.deadline, self.text)
        return self.group.ranks.index(key.source), message

    def accept(self, rank: int, message: Payload, into: Array) -> None:
        """Copy a payload to its target, unless the thread has already written it there."""
        if message.data.size != into.size:
            self.fail(
                f"rank {rank} sent {message.data.size} bytes, rank {self.group.rank} expected {into.size}"
            )
        if message.stashed:
            into[:] = message.data
        self.mesh.free(self.group.ranks[rank], message)

    def fetch(self, rank: int, part: int, into: Array) -> None:
        """Receive one piece."""
        _, message = self.receive([(rank, part)])
        self.accept(rank, message, into)

    def send_whole(self, ranks: Sequence[int], part: int, data: Array) -> None:
        """Send bytes of any length to some ranks, as the parts from part * PARTS on. Ranks that share memory
        read them where they are; the array may change after `end`."""
        first = part * PARTS
        sharing = [r for r in ranks if self._shares(r)] if data.size >= SMALLEST else []
        if sharing and (place := self._place(data, len(sharing))):
            for rank in sharing:
                self._frame(rank, first, SHARED, memoryview(place))
            ranks = [r for r in ranks if r not in sharing]
        for number, start in enumerate(range(0, data.size if ranks else 0, PIECE)):
            for rank in ranks:
                self._frame(rank, first + number, 0, memoryview(data[start : start + PIECE]))  # type: ignore[arg-type]

    def receive_whole(self, rank: int, part: int, size: int) -> tuple[Array, Payload | None]:
        """Receive `size` bytes that a rank sent with `send_whole`: where the sender has them, if ranks share
        memory. Pass the payload to `free` after use. The timeout begins now."""
        self.renew()
        first = part * PARTS
        if self._shares(rank) or size <= PIECE:
            _, message = self.receive([(rank, first)])
            if message.data.size == size:
                return message.data, message
            whole = np.empty(size, np.uint8)
            self.accept(rank, message, whole[:PIECE])
            number = 1
        else:
            whole, number = np.empty(size, np.uint8), 0
            for piece in range(-(-size // PIECE)):
                self.post(rank, first + piece, whole[piece * PIECE : (piece + 1) * PIECE])
        for piece in range(number, -(-size // PIECE)):
            self.fetch(rank, first + piece, whole[piece * PIECE : (piece + 1) * PIECE])
        return whole, None

    def renew(self) -> None:
        """Let the timeout begin now."""
        self.deadline = time.monotonic() + self.group.timeout

    def free(self, rank: int, message: Payload | None) -> None:
        """Let the sender change the memory that `receive_whole` has returned."""
        if message is not None:
            self.mesh.free(self.group.ranks[rank], message)

    def _shares(self, rank: int) -> bool:
        return self.mesh.peers[self.group.ranks[rank]].shares_memory

    def move(self, outgoing: dict[int, Array], incoming: dict[int, Array], first: int) -> None:
        """Send and receive bytes in pieces numbered from `first`, all ranks side by side."""
        lengths = [a.size for a in (*outgoing.values(), *incoming.values())]
        for rank in outgoing:
            if not outgoing[rank].size:
                self.announce([rank])
        for part in range(-(-max(lengths, default=0) // PIECE)):
            piece = slice(part * PIECE, (part + 1) * PIECE)
            for rank, into in incoming.items():
                self.post(rank, first + part, into[piece])
            for rank, data in outgoing.items():
                if data[piece].size:
                    self.send([rank], first + part, data[piece])
            for rank, into in incoming.items():
                if into[piece].size:
                    self.fetch(rank, first + part, into[piece])

    def spread(self, own: Array, targets: Sequence[Array]) -> None:
        """Send this rank's bytes to all and receive those of all."""
        if not own.size:
            self.announce(self.others)
        for part, start in enumerate(range(0, own.size, PIECE)):
            piece = slice(start, start + PIECE)
            for rank in self.others:
                self.post(rank, part, targets[rank][piece])
            self.send(self.others, part, own[piece])
            for rank in self.others:
                self.fetch(rank, part, targets[rank][piece])

    def reduce(
        self, part: int, own: Array, out: Array, op: ReduceOp, dtype: np.dtype[Any], name: str
    ) -> None:
        """Reduce one piece of all ranks into `out`, which may be `own` on ranks 0 and 1."""
        parts: list[Array] = []
        messages: dict[int, Payload] = {}
        for rank in range(self.group.size):
            data = own
            if rank != self.group.rank:
                messages[rank] = self.receive([(rank, part)])[1]
                data = messages[rank].data
                if data.size != own.size:
                    self.fail(
                        f"rank {rank} sent {data.size} bytes, rank {self.group.rank} expected {own.size}"
                    )
            parts.append(data.view(dtype))
        tree_reduce(parts, op, out.view(dtype), name)
        for rank, message in messages.items():
            self.mesh.free(self.group.ranks[rank], message)

    def reduce_slices(
        self, slices: Sequence[Array], targets: Sequence[Array | None], op: ReduceOp, dtype: np.dtype[Any],
        name: str, receivers: Sequence[int],
    ) -> None:  # fmt: skip
        """Rank r reduces slice r of all ranks, piece by piece, and sends each piece of the result to the
        receivers.

        targets: where this rank puts the results, None for those that it does not get.
        """
        group = self.group
        own, target = slices[group.rank], targets[group.rank]
        # `tree_reduce` reads its first two parts in its first addition only: it may write over either.
        in_place = target is not None and group.rank < 2 and np.may_share_memory(own, target)
        # Piece `part` of a slice travels as number 2 part, its result as 2 part + 1.
        count = max(-(-s.size // PIECE) for s in slices)
        to = [r for r in receivers if r != group.rank]
        self.announce(r for r in self.others if not slices[r].size)

        def contribute(part: int) -> None:
            for r in self.others:
                data = slices[r][part * PIECE : (part + 1) * PIECE]
                if data.size:
                    self.send([r], 2 * part, data)

        def collect(part: int) -> None:
            for r in self.others:
                into = targets[r]
                if into is not None and (piece := into[part * PIECE : (part + 1) * PIECE]).size:
                    self.fetch(r, 2 * part + 1, piece)

        # Results are expected before any can come, so that the thread writes them where they belong, without
        # a copy.
        for r in self.others:
            for part in range(count):
                if (into := targets[r]) is not None:
                    self.post(r, 2 * part + 1, into[part * PIECE : (part + 1) * PIECE])
        # One piece ahead: a peer has the next piece at hand while this rank reduces the present one.
        if count:
            contribute(0)
        for part in range(count):
            if part + 1 < count:
                contribute(part + 1)
            piece = slice(part * PIECE, (part + 1) * PIECE)
            if own[piece].size:
                out = target[piece] if in_place and target is not None else np.empty_like(own[piece])
                self.reduce(2 * part, own[piece], out, op, dtype, name)
                if target is not None and not in_place:
                    target[piece] = out
                self.send(to, 2 * part + 1, out if target is None else target[piece])
            if part:
                collect(part - 1)
        if count:
            collect(count - 1)

    def end(self) -> None:
        """Wait until the arrays may change."""
        self.mesh.flush(self.tickets.values(), self.deadline, self.text)
        if self.lent:
            self.mesh.settle(self.lent, self.deadline, self.text)


def _dtype_of(call: str, array: Array, dtype: str | None = None, op: ReduceOp | None = None) -> str:
    """The dtype's name, checked. Raises TypeError."""
    if not isinstance(array, np.ndarray):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
        raise TypeError(f"{call}({type(array).__name__}): pass a tensor or a NumPy array")
    if array.dtype.kind not in "biufc" or not array.dtype.isnative:
        raise TypeError(f"{call}(array of {array.dtype}): pass numbers or bool in native byte order")
    name = str(array.dtype)
    if dtype is not None and dtype != name:
        if dtype != BFLOAT16 or name != "uint16":
            raise TypeError(
                f"{call}(dtype={dtype!r}): the array is {name}: only uint16 can hold another dtype, bfloat16"
            )
        name = dtype
    if op is not None:
        check_op(call, op, name)
    return name


def _to_bytes(array: Array) -> Array:
    """The bytes of an array, [n] uint8: a view, or a copy if it is not contiguous."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def _target(array: Array) -> tuple[Array, Array]:
    """An array to write bytes into, and its bytes: the array itself if it is contiguous."""
    if not array.flags.writeable:
        raise ValueError(
            "a collective writes its result to the array, and this one is read-only: pass a copy"
        )
    target = array if array.flags.c_contiguous else np.ascontiguousarray(array)
    return target, target.reshape(-1).view(np.uint8)


def _write_back(array: Array, target: Array) -> None:
    if target is not array:
        array[...] = target
