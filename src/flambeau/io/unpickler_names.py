"""The globals that pickles of data may use besides tensors: containers, NumPy's numbers and arrays, paths."""

from collections.abc import Callable
from typing import Any

from ..core.dtype import DTypeLike
from ..core.tree import is_dict, is_sequence
from .elements import DamagedFile
from .numpy_elements import kind_of, number_in_form
from .unpickler import Global, Unfinished, is_exact_list, is_exact_tuple, key, plain


class Fields(dict[str, Any]):
    """The attributes of an object, such as a namespace of arguments, by name."""


def _pairs(*args: Any) -> dict[Any, Any]:
    """Return a dict from pairs, for OrderedDict, Counter and defaultdict, whose factory is ignored."""
    # a defaultdict's factory is a Global: it is ignored, and the items follow as SETITEMS
    if not args or args[0] is None or isinstance(args[0], Global):
        return {}
    (pairs,) = args
    if is_dict(pairs):
        return dict(pairs)
    if not is_exact_list(pairs) or not all(is_sequence(p) and len(p) == 2 for p in pairs):
        raise DamagedFile("a dict is not built from pairs")
    return {key(k): plain(v) for k, v in pairs}


def _values(*args: Any) -> list[Any]:
    if len(args) > 1 or not isinstance(args[0] if args else [], list | tuple | set | frozenset):
        raise DamagedFile("a list is not built from values")
    return list(args[0]) if args else []


def _keys(*args: Any) -> list[Any]:
    return [key(v) for v in _values(*args)]


def _encode(text: Any, encoding: Any = "latin1") -> bytes:
    """Bytes from text: protocol 2 has no opcode for bytes."""
    if type(text) is not str or encoding not in ("latin1", "latin-1", "utf-8"):
        raise DamagedFile("bytes are not valid text")
    return text.encode(encoding)


def _bytearray(*args: Any) -> bytes:
    return _encode(*args) if len(args) == 2 else bytes(args[0] if type(args[0]) is bytes else b"")


def _complex(real: Any, imaginary: Any = 0.0) -> complex:
    if not isinstance(real, int | float) or not isinstance(imaginary, int | float):
        raise DamagedFile("a complex number is not built from numbers")
    return complex(real, imaginary)


def _device(kind: Any, index: Any = None) -> str:
    return str(kind) if index is None else f"{kind}:{index}"


def _path(*parts: Any) -> str:
    if not all(type(p) is str for p in parts):
        raise DamagedFile("a path has parts that are not strings")
    # a root "/" is a part itself: avoid "//"
    return "/".join(parts).replace("//", "/")


def _dtype(text: Any, *_: Any) -> Unfinished:
    """NumPy's dtype; its byte order follows as a state."""

    def ordered(state: Any) -> Any:
        # state: (version, byte order, ...); "|" means that the order does not matter
        order = state[1] if is_exact_tuple(state) and len(state) > 1 else "<"
        return kind_of(f"{order if order in ('<', '>') else ''}{text}")

    return Unfinished(ordered)


def _scalar(dtype: Any, raw: Any = None) -> Any:
    return number_in_form(plain(raw), form_of(plain(dtype)))


def form_of(dtype: DTypeLike) -> Any:
    """Return the descriptor of a NumPy dtype for `kind_of`; DamagedFile for other objects."""
    if not is_exact_tuple(dtype) or len(dtype) != 2 or not isinstance(dtype[1], bool):
        raise DamagedFile("a NumPy dtype is invalid")
    return dtype


CALLS: dict[str, Callable[..., Any]] = {
    "collections.OrderedDict": _pairs,
    "collections.defaultdict": _pairs,
    "collections.Counter": _pairs,
    "builtins.set": lambda *args: set(_keys(*args)),
    "builtins.frozenset": lambda *args: frozenset(_keys(*args)),
    "builtins.list": lambda *args: [plain(v) for v in _values(*args)],
    "builtins.dict": _pairs,
    "builtins.bytearray": _bytearray,
    "builtins.complex": _complex,
    "_codecs.encode": _encode,
    "torch.Size": lambda *args: tuple(_values(*args)),
    "torch.device": _device,
    "argparse.Namespace": Fields,
    "types.SimpleNamespace": Fields,
    "numpy.dtype": _dtype,
}
CALLS.update(
    {f"pathlib.{kind}": _path for kind in ("PosixPath", "WindowsPath", "PurePosixPath", "PureWindowsPath")}
)
CALLS.update({f"pathlib._local.{kind}": _path for kind in ("PosixPath", "WindowsPath")})
CALLS.update({f"numpy.{core}.multiarray.scalar": _scalar for core in ("core", "_core")})
CALLS.update(
    {name.replace("builtins", "__builtin__"): call for name, call in CALLS.items() if "builtins" in name}
)
VALUES: dict[str, Any] = {"numpy.ndarray": None}
