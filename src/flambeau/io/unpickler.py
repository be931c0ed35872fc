"""Reads pickles as plain values, by an interpreter of the opcodes that imports nothing and calls only
functions of a table.

Python's own `pickle` imports and calls objects that a file names. Here a global is looked up in a fixed
table, and
an unknown one is an error. No attribute is set, no method that a file names is called, and nothing recurses:
a file can't overflow the stack.
"""

from codecs import escape_decode
from collections.abc import Callable
from struct import calcsize, unpack_from
from typing import Any, TypeGuard

from ..core.tree import is_dict
from .elements import DamagedFile, RefusedFile, shorten_name

LISTS = 1_000_000  # dicts, lists and marks that a small file may make, each of about 100 bytes
EACH = 32  # bytes of a file for each further one
CALL = 8  # the cost of a call, which may create a tensor
BYTES, TIMES = 1 << 24, 4  # the limit of the arguments of calls: bytes, plus a multiple of the file's size
LINE = 1 << 16  # bytes of a line
PARTS = 16  # elements of a tuple that is a key: each lookup computes its hash
WORDS = (str, bytes, bool, type(None))  # key types whose hashes a file can't choose


class Global:
    """A global name of a pickle, and its replacement: a function or a value."""

    def __init__(self, name: str, call: Callable[..., Any] | None, value: Any = None):
        self.name, self.call, self.value = name, call, value


class Vocabulary:
    """The globals that a pickle may use: functions, which it may call, and values."""

    def __init__(self, calls: dict[str, Callable[..., Any]], values: dict[str, Any], refused: dict[str, str]):
        self.calls, self.values, self.refused = calls, values, refused

    def find(self, name: str) -> Global:
        """Return the replacement of a name; DamagedFile for an unknown one."""
        if name in self.values:
            return Global(name, None, self.values[name])
        if name in self.calls:
            return Global(name, self.calls[name])
        kind = name.rpartition(".")[2]
        rule = self.refused.get(kind, "it is code, which is never run from a file: save a state_dict()")
        raise RefusedFile(f"it names {shorten_name(name)}: {rule}")


class Unpickler:
    """Interprets one pickle: stack, memo and position. `persistent` resolves persistent ids."""

    def __init__(
        self, view: memoryview, offset: int, names: Vocabulary, persistent: Callable[[Any], Any], room: int
    ):
        self.view, self.at, self.names, self.persistent = view, offset, names, persistent
        self.stack: list[Any] = []
        self.marks: list[int] = []
        self.memo: dict[int, Any] = {}
        # Limits the memory of objects that take few bytes in the pickle: short opcodes can create many lists.
        self.left = LISTS + room // EACH
        self.bytes_left = BYTES + TIMES * room

    def run(self) -> Any:
        """Return the value. DamagedFile reports the fault and its offset."""
        begin = self.at
        try:
            while True:
                begin = self.at
                code = self.byte()
                if code == STOP:
                    return plain(self.pop())
                step = STEPS[code]
                if step is None:
                    raise DamagedFile(f"opcode {code:#04x} is not allowed")
                step(self)
        except DamagedFile as e:
            raise type(e)(f"byte {begin:,} of its pickle: {e}") from None
        except (IndexError, KeyError, TypeError, ValueError, OverflowError, AttributeError) as e:
            error = f"{type(e).__name__}: {str(e)[:100]}"
            raise DamagedFile(f"byte {begin:,} of its pickle: its steps are invalid ({error})") from None

    # --- bytes ---

    def byte(self) -> int:
        if self.at >= len(self.view):
            raise DamagedFile("it ends early")
        self.at += 1
        return self.view[self.at - 1]

    def take(self, count: int) -> memoryview:
        if count < 0 or count > len(self.view) - self.at:
            raise DamagedFile(f"it ends {count - len(self.view) + self.at:,} bytes early")
        self.at += count
        return self.view[self.at - count : self.at]

    def number(self, form: str) -> Any:
        return unpack_from(form, self.take(calcsize(form)))[0]

    def line(self) -> bytes:
        # At most LINE bytes are searched: without a limit, many lines without an end would take quadratic
        # time.
        length = bytes(self.view[self.at : self.at + LINE]).find(b"\n")
        if length < 0:
            raise DamagedFile(f"a line has no end, or is longer than {LINE:,} bytes")
        return bytes(self.take(length + 1))[:-1]

    # --- the stack ---

    def push(self, value: Any) -> None:
        self.stack.append(value)

    def pop(self) -> Any:
        # Values below the last mark belong to an outer list.
        if len(self.stack) <= (self.marks[-1] if self.marks else 0):
            raise DamagedFile("it takes a value from an empty stack")
        return self.stack.pop()

    def top(self, kind: Any) -> Any:
        """Return the top value, which must have a type."""
        value = self.stack[-1] if len(self.stack) > (self.marks[-1] if self.marks else 0) else None
        if type(value) is not kind:
            raise DamagedFile(f"it treats a {type(value).__name__} as a {kind.__name__}")
        return value

    def pop_marked(self) -> list[Any]:
        """Return the values since the last mark."""
        if not self.marks:
            raise DamagedFile("a mark is missing")
        mark = self.marks.pop()
        # One slice and one delete: popping one by one would be slow for long lists.
        values = self.stack[mark:]
        del self.stack[mark:]
        return values

    def push_new(self, value: Any) -> None:
        """Push a value that takes memory without bytes of the file."""
        self.left -= 1
        if self.left < 0:
            raise DamagedFile("it creates too many lists for a file of its size")
        self.stack.append(value)

    def charge(self, argument: Any) -> None:
        """Count the cost of a call: one call takes three bytes of a file, and may use large values from the
        memo."""
        self.left -= CALL
        self.bytes_left -= (
            weight(argument) + sum(map(weight, argument)) if is_exact_tuple(argument) else weight(argument)
        )
        if self.left < 0 or self.bytes_left < 0:
            raise DamagedFile("it builds too many values for a file of its size")

    def keep(self, place: int) -> None:
        self.memo[place] = self.stack[-1]

    def recall(self, place: int) -> None:
        if place not in self.memo:
            raise DamagedFile(f"it recalls value {place}, not in its memo")
        self.stack.append(self.memo[place])

    # --- globals and calls ---

    def push_global(self, module: Any, name: Any) -> None:
        if type(module) is not str or type(name) is not str:
            raise DamagedFile("a name is not text")
        self.push(self.names.find(f"{module}.{name}"))

    def call(self, args: Any) -> None:
        # only a Global of the table can be called: never a value that the file built
        function = self.pop()
        if not isinstance(function, Global) or function.call is None or not is_exact_tuple(args):
            label = (
                shorten_name(function.name)
                if isinstance(function, Global)
                else f"a {type(function).__name__}"
            )
            raise DamagedFile(f"it calls {label}, which is not an allowed function")
        self.charge(args)
        self.push_new(function.call(*args))

    def set_state(self) -> None:
        """Set the state of an object that accepts one."""
        state = plain(self.pop())
        self.charge(state)
        target = self.stack[-1] if self.stack else None
        if isinstance(target, Unfinished):
            target.set(state)
        elif is_dict(target) and not is_exact_dict(target) and is_exact_dict(state):
            target.update(state)
        elif not is_exact_dict(target):  # an OrderedDict's _metadata is ignored
            raise DamagedFile(f"it sets the state of a {type(target).__name__}")


class Unfinished:
    """A value whose state follows later in the pickle."""

    value: Any = None

    def __init__(self, make: Callable[[Any], Any]):
        self.make, self.is_done = make, False

    def set(self, state: Any) -> None:
        self.value, self.is_done = self.make(state), True


def is_exact_tuple(value: Any) -> TypeGuard[tuple[Any, ...]]:
    """Whether a value is a tuple and not of a subclass."""
    return type(value) is tuple


def is_exact_list(value: Any) -> TypeGuard[list[Any]]:
    """Whether a value is a list and not of a subclass."""
    return type(value) is list


def is_exact_dict(value: Any) -> TypeGuard[dict[Any, Any]]:
    """Whether a value is a dict and not of a subclass."""
    return type(value) is dict


def weight(value: Any) -> int:
    """Return an estimate of the memory of a string or list."""
    return len(value) * (1 if isinstance(value, str | bytes) else 16) if hasattr(value, "__len__") else 0


def plain(value: Any) -> Any:
    """Return a plain value: a name is resolved, and an unfinished value is replaced by its result."""
    if isinstance(value, Unfinished):
        if not value.is_done:
            raise DamagedFile("an object has no state")
        return value.value
    if isinstance(value, Global):
        if value.call is not None:
            raise DamagedFile(f"{shorten_name(value.name)} occurs where data is expected")
        return value.value
    return value


def key(value: Any) -> Any:
    """Check a key of a dict; DamagedFile for types whose hashes a file could make collide."""
    value = plain(value)
    # Long integers with chosen hashes make a dict quadratic. Hashes of strings are randomised, those of
    # small ints are the ints.
    parts = value if is_exact_tuple(value) else (value,)
    if len(parts) > PARTS or not all(
        type(p) in WORDS or _is_small(p, 60 if p is value else 31) for p in parts
    ):
        raise DamagedFile(f"a {type(value).__name__} can't be a dict key here")
    return value


def _is_small(value: Any, bits: int) -> bool:
    return type(value) is float or (type(value) is int and value.bit_length() <= bits)


def _int(text: bytes) -> int:
    # protocol 0 writes bools as the integers 00 and 01
    return {b"00": False, b"01": True}[text] if text in (b"00", b"01") else int(text)


def _decode_long(raw: memoryview) -> int:
    return int.from_bytes(raw, "little", signed=True)


def _text(raw: memoryview) -> str:
    # Python's pickle writes lone surrogates too
    return str(raw, "utf-8", "surrogatepass")


def _old_text(raw: Any) -> str:
    """Decode a string of Python 2, which has no encoding."""
    return str(raw, "latin-1")


def _append(m: Unpickler) -> None:
    value = plain(m.pop())
    m.top(list).append(value)


def _appends(m: Unpickler) -> None:
    values = [plain(v) for v in m.pop_marked()]
    m.top(list).extend(values)


def _setitem(m: Unpickler) -> None:
    value = plain(m.pop())
    name = key(m.pop())
    m.top(dict)[name] = value


def _pairs(m: Unpickler) -> list[tuple[Any, Any]]:
    values = m.pop_marked()
    if len(values) % 2:
        raise DamagedFile("a key has no value")
    return [(key(k), plain(v)) for k, v in zip(values[::2], values[1::2], strict=True)]


def _setitems(m: Unpickler) -> None:
    pairs = _pairs(m)
    m.top(dict).update(pairs)


def _additems(m: Unpickler) -> None:
    values = [key(v) for v in m.pop_marked()]
    m.top(set).update(values)


def _mark(m: Unpickler) -> None:
    m.left -= 1
    if m.left < 0:
        raise DamagedFile("it creates too many lists for a file of its size")
    m.marks.append(len(m.stack))


def _tuple(count: int) -> Callable[[Unpickler], None]:
    def step(m: Unpickler) -> None:
        values = [plain(m.pop()) for _ in range(count)]
        m.push_new(tuple(reversed(values)))

    return step


def _reduce(m: Unpickler) -> None:
    args = m.pop()
    m.call(args)


def _global(m: Unpickler) -> None:
    module, name = m.line(), m.line()
    m.push_global(str(module, "utf-8"), str(name, "utf-8"))


def _stack_global(m: Unpickler) -> None:
    name = m.pop()
    m.push_global(m.pop(), name)


def _pop(m: Unpickler) -> None:
    if m.marks and m.marks[-1] == len(m.stack):
        m.marks.pop()
    else:
        m.pop()


def _pop_mark(m: Unpickler) -> None:
    m.pop_marked()


def _dup(m: Unpickler) -> None:
    value = m.pop()
    m.push(value)
    m.push(value)


def _protocol(m: Unpickler) -> None:
    number = m.byte()
    if number > 5:
        raise DamagedFile(f"it uses protocol {number}: only 0 to 5 are known")


def _persistent(m: Unpickler) -> None:
    m.push(m.persistent(plain(m.pop())))


def _frame(m: Unpickler) -> None:
    if m.number("<Q") > len(m.view) - m.at:
        raise DamagedFile("a frame ends early")


def _read_sized(form: str, read: Callable[[Any], Any]) -> Callable[[Unpickler], None]:
    """Read a length, then this many bytes."""
    return lambda m: m.push(read(m.take(m.number(form))))


def _read_fixed(form: str) -> Callable[[Unpickler], None]:
    return lambda m: m.push(m.number(form))


def _constant(value: Any) -> Callable[[Unpickler], None]:
    return lambda m: m.push(value)


def _line(read: Callable[[bytes], Any]) -> Callable[[Unpickler], None]:
    return lambda m: m.push(read(m.line()))


def _new_frozenset(m: Unpickler) -> None:
    m.push_new(frozenset([key(v) for v in m.pop_marked()]))


STOP = ord(".")
NAMED: dict[bytes, Callable[[Unpickler], None]] = {  # documented in pickletools.opcodes
    b"\x80": _protocol,
    b"\x95": _frame,
    b"(": _mark,
    b"0": _pop,
    b"1": _pop_mark,
    b"2": _dup,
    b"N": _constant(None),
    b"\x88": _constant(True),
    b"\x89": _constant(False),
    b"I": _line(_int),
    b"L": _line(lambda text: int(text.rstrip(b"L"))),
    b"F": _line(float),
    b"K": _read_fixed("<B"),
    b"M": _read_fixed("<H"),
    b"J": _read_fixed("<i"),
    b"G": _read_fixed(">d"),
    b"\x8a": _read_sized("<B", _decode_long),
    b"\x8b": _read_sized("<i", _decode_long),
    b"S": _line(lambda text: _old_text(escape_decode(text[1:-1])[0])),
    b"V": _line(lambda text: str(text, "raw-unicode-escape")),
    b"T": _read_sized("<i", _old_text),
    b"U": _read_sized("<B", _old_text),
    b"\x8c": _read_sized("<B", _text),
    b"X": _read_sized("<I", _text),
    b"\x8d": _read_sized("<Q", _text),
    b"C": _read_sized("<B", bytes),
    b"B": _read_sized("<I", bytes),
    b"\x8e": _read_sized("<Q", bytes),
    b"\x96": _read_sized("<Q", bytes),
    b")": _constant(()),
    b"\x85": _tuple(1),
    b"\x86": _tuple(2),
    b"\x87": _tuple(3),
    b"t": lambda m: m.push_new(tuple([plain(v) for v in m.pop_marked()])),
    b"]": lambda m: m.push_new([]),
    b"l": lambda m: m.push_new([plain(v) for v in m.pop_marked()]),
    b"a": _append,
    b"e": _appends,
    b"}": lambda m: m.push_new({}),
    b"d": lambda m: m.push_new(dict(_pairs(m))),
    b"s": _setitem,
    b"u": _setitems,
    b"\x8f": lambda m: m.push_new(set()),
    b"\x90": _additems,
    b"\x91": _new_frozenset,
    b"p": lambda m: m.keep(int(m.line())),
    b"q": lambda m: m.keep(m.byte()),
    b"r": lambda m: m.keep(m.number("<I")),
    b"\x94": lambda m: m.keep(len(m.memo)),
    b"g": lambda m: m.recall(int(m.line())),
    b"h": lambda m: m.recall(m.byte()),
    b"j": lambda m: m.recall(m.number("<I")),
    b"c": _global,
    b"\x93": _stack_global,
    b"R": _reduce,
    b"\x81": _reduce,  # NEWOBJ: cls.__new__(cls, *args), for a function of the table a plain call
    b"b": lambda m: m.set_state(),
    b"Q": _persistent,
    b"P": lambda m: m.push(m.persistent(str(m.line(), "ascii"))),
}
STEPS: list[Callable[[Unpickler], None] | None] = [NAMED.get(bytes([code])) for code in range(256)]
