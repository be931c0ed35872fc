"""What keeps a process's start short: C types found by name, and templates kept as bytecode."""

import pickle
from pathlib import Path

import pytest

from flambeau.codegen import environment, render
from flambeau.device import cffi_header

TYPES = (
    "WGPUStringView *", "WGPUAdapter[]", "char []", "uint32_t[1]", "WGPUChainedStruct * ",
    "WGPUBindGroupEntry[]", "WGPUDeviceLostCallbackInfo *",
    "void(WGPUDevice const *, WGPUErrorType, WGPUStringView, void *, void *)",
)  # fmt: skip


def test_types_are_found_by_name(gpu):
    """The same types that cffi finds, which looks at the whole header for each."""
    from wgpu.backends import wgpu_native

    ffi = wgpu_native.ffi
    quick, parser = ffi._parser.parse_type, ffi._parser
    assert quick.__module__ == cffi_header.__name__
    seen = []

    def parse(text, names=parser._parse):
        seen.append(len(parser._declarations))
        return names(text)

    for text in TYPES:
        parser._parse = parse
        try:
            found = _pointed(quick(text))
        finally:
            del parser._parse
        whole = _pointed(type(parser).parse_type(parser, text))
        with ffi._lock:
            assert ffi._get_cached_btype(found) is ffi._get_cached_btype(whole), text
    assert len(seen) == len(TYPES) and max(seen) <= 8 < 400 < len(parser._declarations)


def _pointed(found):
    return found.as_function_pointer() if found.is_raw_function else found


def test_another_cffi_is_left_alone():
    class Other: ...

    cffi_header.name_types_quickly(Other())


HEADER = "typedef struct { int a; } S;\n" + "".join(f"int f{i}(S *);\n" for i in range(1000))


@pytest.mark.parametrize("kept", [None, b"", b"no pickle", pickle.dumps([1])])
def test_a_header_is_parsed_once(kept, tmp_path, monkeypatch):
    import cffi

    monkeypatch.setenv("FLAMBEAU_CACHE", str(tmp_path))
    usual, parsed = cffi.cparser._get_parser, []

    class Counted:
        def parse(self, text):
            parsed.append(len(text))
            return usual().parse(text)

    monkeypatch.setattr(cffi.cparser, "_get_parser", Counted)

    def names():
        ffi = cffi.FFI()
        with cffi_header.parsed_once():
            ffi.cdef(HEADER)
        assert cffi.cparser._get_parser is Counted
        return ffi.sizeof("S"), len(ffi._parser._declarations)

    found = [names()]
    (file,) = (tmp_path / "headers").iterdir()
    if kept is not None:
        file.write_bytes(kept)
    found += [names(), names()]
    assert found[0] == found[1] == found[2] == (4, 1002)
    assert len([n for n in parsed if n > cffi_header.LONG]) == (1 if kept is None else 2)


def test_a_header_that_cannot_be_kept_is_parsed(tmp_path, monkeypatch):
    import cffi

    (tmp_path / "file").write_text("")
    monkeypatch.setenv("FLAMBEAU_CACHE", str(tmp_path / "file"))
    ffi = cffi.FFI()
    with cffi_header.parsed_once():
        ffi.cdef(HEADER)
    assert ffi.sizeof("S") == 4
    with pytest.raises(ImportError), cffi_header.parsed_once():
        raise ImportError("no wgpu")


@pytest.fixture
def templates(monkeypatch, tmp_path):
    """A fresh environment whose cache is in a folder of the test's, and how many templates it compiled."""
    monkeypatch.setenv("FLAMBEAU_CACHE", str(tmp_path))
    compiled, fresh = [], render.environment.__wrapped__

    def start():
        compiled.clear()
        made = fresh()
        monkeypatch.setattr(made, "_compile", lambda *a, f=made._compile: compiled.append(a) or f(*a))
        monkeypatch.setattr(render, "environment", lambda: made)
        return made.get_template("lib/index.wgsl").module, len(compiled)

    return start


def test_templates_are_compiled_once(templates, tmp_path):
    assert templates()[1] == 1
    assert templates()[1] == 0
    assert len(list((tmp_path / "templates").iterdir())) == 1


@pytest.mark.parametrize("cut", [0, 10, 60])
def test_a_damaged_template_is_made_anew(templates, tmp_path, cut):
    templates()
    (file,) = (tmp_path / "templates").iterdir()
    whole = file.read_bytes()
    file.write_bytes(whole[:cut] + b"\x01" * 5)
    assert templates()[1] == 1
    assert file.read_bytes() == whole
    assert templates()[1] == 0


def test_no_folder_keeps_nothing(templates, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("FLAMBEAU_CACHE", str(tmp_path / "file"))
    assert environment.open_cache() is None
    assert [templates()[1] for _ in range(2)] == [1, 1]


def test_a_full_folder_keeps_nothing(templates, tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    assert [templates()[1] for _ in range(2)] == [1, 1]
    assert not list(Path(tmp_path / "templates").iterdir())
