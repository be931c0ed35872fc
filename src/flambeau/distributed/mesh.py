"""Connections of one rank to all others: a thread reads frames and finds dead peers."""

import contextlib
import selectors
import socket
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from ..errors import DistributedError
from . import wire
from .memory import PLACE, Blocks, MemoryGone, SharedBlock
from .reductions import Array
from .wire import ABORT, ANNOUNCE, BYE, COLLECTIVE, FREE, POINT, SHARED, Header

STASH = 64 << 20  # bytes that a peer may send before they are asked for; then its frames wait in the socket
BLOCK_SECONDS = 0.1  # a sender waits this long for a free block, then it uses the socket
LINGER = 2.0  # seconds in which a closing rank lets its peers read its messages
OVERHEAD = 1024  # bytes that a stashed message counts as beside its payload
NO_CALL = (0xFFFF, 0)  # replaces the group and number of a call on which ranks differ
MAX_CALL = 1 << 14  # bytes of a call's text
REMEMBERED = 256  # calls whose descriptions are stored to compare with late frames


class Key(NamedTuple):
    """The call and the part that a message belongs to. Tags are those of send and recv."""

    source: int
    kind: int
    group: int
    seq: int
    part: int
    tag: int = 0


class Payload(NamedTuple):
    """A received payload; `place` names the sender's block that must be freed after use."""

    text: str
    data: Array
    place: int | None
    stashed: int  # bytes counted until it is received; 0 if in the array that waited for it


class Peer:
    """One connection, with the message being read and the queue of messages to write."""

    def __init__(self, rank: int, connection: socket.socket, pid: int = 0, shares_memory: bool = False):
        self.rank, self.socket, self.pid, self.shares_memory = rank, connection, pid, shares_memory
        connection.setblocking(False)
        self.lock = threading.Lock()  # of the fields below
        self.queue: deque[memoryview] = deque()
        self.queued = self.written = 0  # bytes since the start
        self.head = bytearray(wire.HEADER.size)
        self.header: Header | None = None
        self.text = bytearray()
        self.target: Array | None = None
        self.rest: memoryview = memoryview(self.head)  # of the part that is being read
        self.stashed = 0
        self.paused = False


class Mesh:
    """The connections of one rank in one generation of the workers.

    rank: this worker's. sockets: a connection to each other rank, after the handshake. pids: the peers that
    can map this worker's shared memory. generation: frames of other generations are an error.
    """

    def __init__(
        self,
        rank: int,
        sockets: Mapping[int, socket.socket],
        pids: Mapping[int, int] | None = None,
        generation: int = 0,
    ):
        self.rank, self.size, self.generation = rank, len(sockets) + 1, generation
        self.changed = threading.Condition()  # guards all fields below
        self.inbox: dict[Key, Payload] = {}
        self.posted: dict[Key, Array] = {}
        self.wanted: Counter[int] = Counter()  # waiters for the frames of each rank
        self.calls: dict[tuple[int, int], str] = {}
        self.begun: dict[int, int] = {}  # the last call of each group
        self.early: dict[tuple[int, int], dict[int, str]] = {}
        self.dead: set[int] = set()
        self.left: set[int] = set()
        self.failure, self.failed_call = "", NO_CALL
        self.closed = False
        self.groups = 0
        self.blocks = Blocks()
        pids = pids or {}
        self.peers = {r: Peer(r, s, pids.get(r, 0), r in pids) for r, s in sockets.items()}
        self.waited: dict[int, float] = dict.fromkeys(self.peers, 0.0)  # seconds spent on each rank
        self._wake_reader, self._wake_writer = (wire.remember(s) for s in socket.socketpair())
        for s in (self._wake_reader, self._wake_writer):
            s.setblocking(False)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._wake_reader, selectors.EVENT_READ)
        for peer in self.peers.values():
            self._selector.register(peer.socket, selectors.EVENT_READ, peer)
        self._thread = threading.Thread(target=self._serve, name=f"flambeau-mesh-{rank}", daemon=True)
        self._thread.start()

    # Sending

    def send(self, peer: Peer, header: bytes, payload: memoryview | None = None) -> int:
        """Write a frame, as much as fits now; the thread writes the rest. Returns a ticket for `flush`."""
        views = [memoryview(header)] + ([payload] if payload is not None and payload.nbytes else [])
        with peer.lock:
            peer.queued += sum(v.nbytes for v in views)
            if not peer.queue:
                peer.queue.extend(views)
                self._write(peer)
            else:
                peer.queue.extend(views)
            ticket, is_queued = peer.queued, bool(peer.queue)
        if is_queued:
            self._wake()
        return ticket

    def _write(self, peer: Peer) -> None:
        """Write queued bytes until the socket is full. The caller holds the peer's lock."""
        try:
            while peer.queue:
                count = peer.socket.send(peer.queue[0])
                peer.written += count
                rest = peer.queue.popleft()[count:]
                if rest.nbytes:
                    peer.queue.appendleft(rest)
        except BlockingIOError:
            pass
        except OSError:  # the reading side finds out that the peer is gone
            peer.written = peer.queued
            peer.queue.clear()

    def flush(self, tickets: Iterable[tuple[Peer, int]], deadline: float, call: str) -> None:
        """Wait until the frames of these tickets are in the sockets, so that their arrays may change."""
        with self.changed:
            while waiting := [peer.rank for peer, ticket in tickets if peer.written < ticket]:
                self._wait(waiting.copy, deadline, call)

    def _wait(
        self,
        missing: Callable[[], Sequence[int]],
        deadline: float,
        call: str,
        number: tuple[int, int] = NO_CALL,
    ) -> None:
        """Wait for a change. The caller holds `changed`. Fails on all ranks at the deadline."""
        self._check_call(*number, call)
        if not self.changed.wait(_seconds_left(deadline)) and time.monotonic() > deadline:
            self._fail(f"{_ranks(missing())} did not arrive in {call} of rank {self.rank} before the timeout")
            self.check(call)

    def share(self, readers: int, data: Array) -> SharedBlock | None:
        """Copy bytes to a block for this many readers; None if none becomes free soon."""
        deadline = time.monotonic() + BLOCK_SECONDS
        with self.changed:
            while (block := self.blocks.take(data.nbytes)) is None:
                if self.blocks.full or self.failure or time.monotonic() > deadline:
                    return None
                self.changed.wait(_seconds_left(deadline))
            block.readers = readers
        block.bytes[: data.nbytes] = data
        return block

    def lend(self, data: Array, readers: int) -> tuple[SharedBlock, int] | None:
        """Let peers read bytes where they are; None if they are not in shared memory. See `settle`."""
        with self.changed:
            place = self.blocks.find(data)
            if place is not None:
                place[0].readers += readers
            return place

    def settle(self, lent: Sequence[SharedBlock], deadline: float, call: str) -> None:
        """Wait until peers have read the memory that this call lent them."""
        with self.changed:
            while any(block.readers for block in lent):
                self._wait(lambda: sorted(self.peers), deadline, call)

    def free(self, source: int, message: Payload) -> None:
        """Tell the sender that its block was read."""
        if message.place is not None:
            self.send(self.peers[source], Header(FREE, generation=self.generation, seq=message.place).pack())

    # Receiving

    def begin(self, group: int, seq: int, call: str) -> None:
        """Record which collective this rank calls, and compare it with the calls of others."""
        with self.changed:
            self._check_call(group, seq, call)
            self.calls[group, seq] = call
            self.begun[group] = seq
            while len(self.calls) > REMEMBERED:
                del self.calls[next(iter(self.calls))]
            for source, other in self.early.pop((group, seq), {}).items():
                self._compare(group, seq, source, other)
            self._check_call(group, seq, call)

    def _check_call(self, group: int, seq: int, call: str) -> None:
        """As `check`, but calls before one in which ranks differ may still complete."""
        if self.closed or not (self.failed_call[0] == group and seq < self.failed_call[1]):
            self.check(call)

    def _compare(self, group: int, seq: int, source: int, other: str) -> None:
        call = self.calls[group, seq]
        if other != call:
            difference = f"rank {self.rank}: {call}, rank {source}: {other}"
            self._fail(f"call {seq} differs between ranks: {difference}", (group, seq))

    def post(self, key: Key, into: Array) -> None:
        """Name the array (contiguous bytes) that a frame's payload goes to, before it arrives."""
        with self.changed:
            if key not in self.inbox:
                self.posted[key] = into

    def take(self, keys: Sequence[Key], deadline: float, call: str) -> tuple[Key, Payload]:
        """The first message that answers to one of the keys. Raises DistributedError at the deadline."""
        with self.changed:
            if (key := self._find_arrived(keys)) is None:
                key = self._wait_for(keys, deadline, call)
            if self.failed_call[0] == key.group and key.kind == COLLECTIVE:
                self._check_call(key.group, key.seq, call)  # the message has arrived, but ranks may differ
            message = self.inbox.pop(key)
            self.posted.pop(key, None)
            self._unstash(key.source, message)
            return key, message

    def _find_arrived(self, keys: Iterable[Key]) -> Key | None:
        return next((key for key in keys if key in self.inbox), None)

    def _wait_for(self, keys: Sequence[Key], deadline: float, call: str) -> Key:
        sources = [key.source for key in keys]
        start = time.monotonic()
        self.wanted.update(sources)
        if any(self.peers[source].paused for source in sources):
            self._wake()
        try:
            while (key := self._find_arrived(keys)) is None:
                if self.left.issuperset(sources):
                    self._fail(f"{_ranks(sources)} has left: it called destroy_process_group or ended")
                may_arrive = keys[0].kind == COLLECTIVE and not self.dead.intersection(sources)
                spared = (keys[0].group, keys[0].seq) if may_arrive else NO_CALL
                self._wait(partial(self._missing, keys), deadline, call, spared)
        finally:
            self.wanted.subtract(sources)
        self.waited[key.source] += time.monotonic() - start
        return key

    def _missing(self, keys: Sequence[Key]) -> list[int]:
        """The ranks that this call waits for, beside those of the keys."""
        first = keys[0]
        waiting = {
            k.source for k in self.posted if (k.kind, k.group, k.seq) == (first.kind, first.group, first.seq)
        }
        waiting -= {
            k.source for k in self.inbox if (k.kind, k.group, k.seq) == (first.kind, first.group, first.seq)
        }
        return sorted(waiting | {k.source for k in keys})

    def _unstash(self, source: int, message: Payload) -> None:
        peer = self.peers[source]
        peer.stashed -= message.stashed
        if peer.paused and peer.stashed < STASH:
            self._wake()

    # Failures

    def check(self, call: str) -> None:
        """Raises DistributedError if the workers failed or this one has left. The caller holds `changed`."""
        if self.failure:
            raise DistributedError(f"{call}: {self.failure}")
        if self.closed:
            raise DistributedError(f"{call}: the process group was destroyed")

    def _fail(self, reason: str, call: tuple[int, int] = NO_CALL) -> None:
        """Fail on all ranks, from this call (group, number) on; calls that have their messages complete."""
        if self.failure:
            return
        self.failure, self.failed_call = reason, call
        self.changed.notify_all()
        header = Header(ABORT, group=call[0], generation=self.generation, seq=call[1])
        for peer in self.peers.values():
            self.send(peer, header.pack(reason.encode()[:4096]))

    def next_group(self) -> int:
        """The number of the next group, equal on all ranks if all make their groups in the same order."""
        with self.changed:
            self.groups += 1
            if self.groups >= NO_CALL[0]:
                raise DistributedError(f"new_group: this is group {self.groups}: reuse groups")
            return self.groups

    def abort(self, reason: str) -> None:
        """Stop all ranks: each of their calls raises a DistributedError with this reason."""
        with self.changed:
            self._fail(f"rank {self.rank}: {reason}")

    # The thread

    def _wake(self) -> None:
        with contextlib.suppress(OSError):
            self._wake_writer.send(b"\0")

    def _serve(self) -> None:
        try:
            while not self.closed:
                for key, events in self._selector.select():
                    self._handle(key.data, events)
                self._watch()
        except Exception as e:  # a fault of ours: all ranks must hear of it rather than wait
            with self.changed:
                self._fail(f"rank {self.rank}: {type(e).__name__}: {e}")
        finally:
            self._selector.close()

    def _handle(self, peer: Peer | None, events: int) -> None:
        """Read from and write to a socket, as far as it is ready. None is the socket that wakes this
        thread."""
        if peer is None:
            with contextlib.suppress(BlockingIOError):
                self._wake_reader.recv(4096)
            return
        if events & selectors.EVENT_WRITE:
            with peer.lock:
                self._write(peer)
            with self.changed:
                self.changed.notify_all()
        if events & selectors.EVENT_READ:
            self._read(peer)

    def _watch(self) -> None:
        """Register each connection's current needs with the selector."""
        for peer in self._living_peers():
            peer.paused = peer.stashed > STASH and not self.wanted[peer.rank]
            events = (0 if peer.paused else selectors.EVENT_READ) | (
                selectors.EVENT_WRITE if peer.queue else 0
            )
            entry = self._selector.get_map().get(peer.socket)
            if entry is None and events:
                self._selector.register(peer.socket, events, peer)
            elif entry is not None and not events:
                self._selector.unregister(peer.socket)
            elif entry is not None and entry.events != events:
                self._selector.modify(peer.socket, events, peer)

    def _read(self, peer: Peer) -> None:
        try:
            for _ in range(64):  # then other peers have their turn
                count = peer.socket.recv_into(peer.rest)
                if not count:
                    self._lose(peer, "its connection closed")
                    return
                peer.rest = peer.rest[count:]
                if not peer.rest.nbytes:
                    self._advance(peer)
        except BlockingIOError:
            pass
        except MemoryGone as e:  # the process was killed after it had sent the frame
            self._lose(peer, str(e))
        except DistributedError as e:
            with self.changed:
                self._fail(f"rank {peer.rank} sent a damaged message to rank {self.rank}: {e}")
            self._lose(peer, "it sent a damaged message")
        except OSError as e:
            self._lose(peer, e.strerror or str(e))

    def _advance(self, peer: Peer) -> None:
        """A part of a frame is complete: begin the next one."""
        header = peer.header
        if header is None:
            header = peer.header = wire.unpack(peer.head, wire.PIECE, MAX_CALL)
            if header.generation != self.generation:
                raise DistributedError(
                    f"it belongs to generation {header.generation} of the workers, this is {self.generation}"
                )
            peer.text = bytearray(header.text)
            peer.target = None
            if header.text:
                peer.rest = memoryview(peer.text)
                return
        elif peer.target is not None:
            self._deliver(peer, header)
            return
        if header.length:
            peer.target = self._target(peer, header)
            peer.rest = memoryview(peer.target)  # type: ignore[arg-type]
        else:
            peer.target = np.empty(0, np.uint8)
            self._deliver(peer, header)

    def _target(self, peer: Peer, header: Header) -> Array:
        """The destination of a payload: the array that waits for it, or new memory."""
        if not header.flags & SHARED:
            with self.changed:
                target = self.posted.get(self._key(peer, header))
            if target is not None and target.nbytes == header.length:
                return target
        return np.empty(header.length, np.uint8)

    def _key(self, peer: Peer, header: Header) -> Key:
        return Key(peer.rank, header.kind, header.group, header.seq, header.part, header.tag)

    def _deliver(self, peer: Peer, header: Header) -> None:
        """A frame is complete."""
        data = peer.target
        assert data is not None
        text = peer.text.decode("utf-8", "replace")
        peer.header, peer.target, peer.rest = None, None, memoryview(peer.head)
        place = None
        if header.flags & SHARED:
            if data.nbytes != PLACE.size or not peer.shares_memory:
                raise DistributedError("it describes a block of shared memory in an invalid way")
            place, first, length = PLACE.unpack(data.tobytes())
            data = self.blocks.view(peer.pid, place, first, length)
        with self.changed:
            if header.kind in (COLLECTIVE, POINT):
                if header.kind == COLLECTIVE and text:
                    self._arrive(peer, header, text)
                if not header.flags & ANNOUNCE:
                    self._store(peer, self._key(peer, header), text, data, place)
            elif header.kind == FREE:
                self.blocks.release(header.seq)
            elif header.kind == ABORT:
                if not self.failure:
                    self.failure, self.failed_call = text, (header.group, header.seq)
            elif header.kind == BYE:
                self.left.add(peer.rank)
            else:
                raise DistributedError(f"frames of kind {header.kind} do not belong here")
            self.changed.notify_all()

    def _store(self, peer: Peer, key: Key, text: str, data: Array, place: int | None) -> None:
        """Keep a message until it is received. One that nobody has asked for counts, with its header."""
        is_expected = self.posted.get(key) is data
        stashed = 0 if is_expected else OVERHEAD + (data.nbytes if place is None else 0)
        peer.stashed += stashed
        self.inbox[key] = Payload(text, data, place, stashed)

    def _arrive(self, peer: Peer, header: Header, text: str) -> None:
        """Compare the call that a first frame names with this rank's, now or when this rank calls it."""
        if (header.group, header.seq) in self.calls:
            self._compare(header.group, header.seq, peer.rank, text)
        elif header.seq > self.begun.get(header.group, -1):
            self.early.setdefault((header.group, header.seq), {})[peer.rank] = text

    def _lose(self, peer: Peer, reason: str) -> None:
        with contextlib.suppress(KeyError, ValueError):
            self._selector.unregister(peer.socket)
        with peer.lock:  # or a thread that writes might write to the next file with this number
            peer.socket.close()
            peer.written = peer.queued
            peer.queue.clear()
        with self.changed:
            if peer.rank not in self.left and not self.closed:
                self.dead.add(peer.rank)
                # Others may not have noticed; a rank that then ends because of this must not be blamed.
                self._fail(f"rank {peer.rank} died ({reason})")
            self.changed.notify_all()

    def close(self, goodbye: bool = True) -> None:
        """Leave the mesh; peers that still wait for this rank raise an error that says so."""
        with self.changed:
            if self.closed:
                return
            deadline = time.monotonic() + LINGER
            if goodbye:
                for peer in self._living_peers():
                    self.send(peer, Header(BYE, generation=self.generation).pack())
                # Readers map a block when its frame arrives: the file must exist until then.
                while time.monotonic() < deadline and self._is_needed():
                    self.changed.wait(0.05)
            self.closed = True
            self.changed.notify_all()
        self._wake()
        if threading.current_thread() is not self._thread:
            self._thread.join(LINGER)
        for peer in self.peers.values():
            with peer.lock:
                peer.socket.close()
        self._wake_reader.close()
        self._wake_writer.close()
        self.blocks.close()

    def _living_peers(self) -> list[Peer]:
        return [p for r, p in self.peers.items() if r not in self.dead and r not in self.left]

    def _is_needed(self) -> bool:
        """Whether living peers still have to get frames or read blocks of this rank."""
        living = [] if self.failure else self._living_peers()
        is_unread = bool(living) and any(block.readers for block in self.blocks.own.values())
        return is_unread or any(peer.queue for peer in living)


def _seconds_left(deadline: float) -> float:
    return max(min(deadline - time.monotonic(), 3600.0), 0.0)


def _ranks(ranks: Sequence[int]) -> str:
    names = ", ".join(map(str, ranks))
    return f"rank {names}" if len(ranks) == 1 else f"ranks {names}"
