"""Opens a path, an open file or bytes as a view of bytes, and reports damage as one error."""

from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from ..core.files import map_file
from ..errors import FlambeauError, MissingFile, suggest
from ..tensor import Tensor
from .elements import DamagedFile, RefusedFile
from .other_formats import foreign


def source_name(f: Any) -> str:
    """Return the name of a source in errors: its path, or its type."""
    is_path = isinstance(f, str) or hasattr(f, "__fspath__")
    return (
        repr(str(f)) if is_path else "..." if isinstance(f, bytes | bytearray | memoryview) else str(f)[:100]
    )


@contextmanager
def open_source(f: Any, call: str) -> Generator[memoryview]:
    """Yield the bytes of a path, an open file, or bytes; FlambeauError if a path can't be read."""
    if not isinstance(f, str) and not hasattr(f, "__fspath__"):
        source: Any = f.read() if hasattr(f, "read") else f
        if not isinstance(source, bytes | bytearray | memoryview):
            rule = "pass a path, bytes, or a file open in mode 'rb'"
            raise TypeError(f"{call}: {rule}")
        yield memoryview(cast("bytes", source)).cast("B")
        return
    with ExitStack() as stack:
        try:
            view = stack.enter_context(map_file(Path(f)))
        except FileNotFoundError:
            raise MissingFile(f"{call}: no such file: check the path") from None
        except (OSError, ValueError) as e:  # ValueError: a path with a zero byte
            reason = getattr(e, "strerror", None) or e
            raise FlambeauError(f"{call}: can't be read: {reason}") from None
        yield view


@contextmanager
def name_file_in_errors(call: str, kind: str, view: memoryview | None = None) -> Generator[None]:
    """Re-raise the errors of a damaged file as FlambeauError with the call. If the bytes have another format,
    the error names that format."""
    try:
        yield
    except RefusedFile as e:
        raise FlambeauError(f"{call}: {e}") from None
    except DamagedFile as e:
        # A wrong format is a more helpful message than the first damaged field.
        other = None if view is None else foreign(view)
        if other is not None and kind not in other.names:
            raise FlambeauError(f"{call}: is {other.description}") from None
        rule = f"it is truncated or not a {kind} file ({e}): get a complete copy"
        raise FlambeauError(f"{call}: {rule}") from None


@dataclass(frozen=True)
class TensorEntry:
    """A tensor of a file: its shape, the element kind in the file, and a function that reads it."""

    shape: tuple[int, ...]
    kind: str
    read: Callable[[], Tensor]


@dataclass(frozen=True)
class Entries:
    """The contents of a file: tensors by name, and metadata."""

    tensors: dict[str, TensorEntry]
    metadata: dict[str, Any]


class LazyWeights(Mapping[str, Tensor]):
    """Tensors of files by name, each read on access; a `with` block closes the files.

    entries: the contents of the files. call: their name in errors. kind: the file format. stack: closes the
    open files.
    """

    def __init__(self, entries: Entries, call: str, kind: str, stack: ExitStack):
        self.entries, self.metadata = entries.tensors, entries.metadata
        self.call, self.kind, self.stack = call, kind, stack

    def __getitem__(self, name: str) -> Tensor:
        """Read the tensor; KeyError suggests a similar name."""
        if name not in self.entries:
            raise KeyError(f"{self.call}: has no {name!r}{suggest(name, self.entries)}")
        with name_file_in_errors(self.call, self.kind):
            return self.entries[name].read()

    def __iter__(self) -> Iterator[str]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def __enter__(self) -> "LazyWeights":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        """Close the files; later reads raise an error."""
        self.entries = {}
        self.stack.close()

    def __repr__(self) -> str:
        return f"LazyWeights({len(self.entries)} tensors of {self.kind} files)"
