"""What pickles of data name beside tensors: containers, NumPy's numbers and arrays, paths, plain objects."""

from collections.abc import Callable
from typing import Any

from ..core.tree import is_dict, is_sequence
from .elements import DamagedFile
from .numpy_elements import kind_of, number_in_form
from .unpickler import Global, Unfinished, is_exact_list, is_exact_tuple, key, plain


class Fields(dict[str, Any]):
    """The attributes of an object, such as a namespace of arguments, by name."""


def _pairs(*given: Any) -> dict[Any, Any]:
    """A dict of pairs, as OrderedDict and Counter take them; a factory of default values is no matter."""
    if not given or given[0] is None or isinstance(given[0], Global):
        return {}
    (found,) = given
    if is_dict(found):
        return dict(found)
    if not is_exact_list(found) or not all(is_sequence(p) and len(p) == 2 for p in found):
        raise DamagedFile("a dict of it is made of no pairs")
    return {key(k): plain(v) for k, v in found}


def _values(*given: Any) -> list[Any]:
    if len(given) > 1 or not isinstance(given[0] if given else [], list | tuple | set | frozenset):
        raise DamagedFile("a list of it is made of no values")
    return list(given[0]) if given else []


def _keys(*given: Any) -> list[Any]:
    return [key(v) for v in _values(*given)]


def _encode(text: Any, encoding: Any = "latin1") -> bytes:
    """Bytes, which protocol 2 has not, as text."""
    if type(text) is not str or encoding not in ("latin1", "latin-1", "utf-8"):
        raise DamagedFile("bytes of it are no text")
    return text.encode(encoding)


def _bytearray(*given: Any) -> bytes:
    return _encode(*given) if len(given) == 2 else bytes(given[0] if type(given[0]) is bytes else b"")


def _complex(real: Any, imaginary: Any = 0.0) -> complex:
    if not isinstance(real, int | float) or not isinstance(imaginary, int | float):
        raise DamagedFile("a complex number of it is made of no numbers")
    return complex(real, imaginary)


def _device(kind: Any, index: Any = None) -> str:
    return str(kind) if index is None else f"{kind}:{index}"


def _path(*parts: Any) -> str:
    if not all(type(p) is str for p in parts):
        raise DamagedFile("a path of it has parts that are no texts")
    return "/".join(parts).replace("//", "/")


def _dtype(text: Any, *_: Any) -> Unfinished:
    """NumPy's dtype: the order of its bytes comes later, as a state."""

    def ordered(state: Any) -> Any:
        order = state[1] if is_exact_tuple(state) and len(state) > 1 else "<"
        return kind_of(f"{order if order in ('<', '>') else ''}{text}")

    return Unfinished(ordered)


def _scalar(dtype: Any, raw: Any = None) -> Any:
    return number_in_form(plain(raw), form_of(plain(dtype)))


def form_of(given: Any) -> Any:
    """A dtype of NumPy's as `kind_of` has it; DamagedFile for what is none."""
    if not is_exact_tuple(given) or len(given) != 2 or not isinstance(given[1], bool):
        raise DamagedFile("a dtype of NumPy's of it is none")
    return given


CALLS: dict[str, Callable[..., Any]] = {
    "collections.OrderedDict": _pairs,
    "collections.defaultdict": _pairs,
    "collections.Counter": _pairs,
    "builtins.set": lambda *given: set(_keys(*given)),
    "builtins.frozenset": lambda *given: frozenset(_keys(*given)),
    "builtins.list": lambda *given: [plain(v) for v in _values(*given)],
    "builtins.dict": _pairs,
    "builtins.bytearray": _bytearray,
    "builtins.complex": _complex,
    "_codecs.encode": _encode,
    "torch.Size": lambda *given: tuple(_values(*given)),
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
