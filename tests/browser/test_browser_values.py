"""Exported programs: what they take beside typed arrays, where files come from, what is said otherwise."""

import re
import shutil
import threading
from functools import partial
from pathlib import Path

import pytest
from helpers.paths import ROOT

import flambeau as fb
from flambeau.site import serve
from flambeau.site.server import address

from .slow import PIECES, Slow


def mixed(x, i, m, s):
    return {"y": x * s + i.unsqueeze(1), "twice": i * 2, "not": ~m, "long": i.long() + 2**40}


def pixels(rgb, rgba, grey):
    return [rgb * 255, rgba.int(), grey * 255]


PROGRAMS = {
    "mixed": (mixed, {"x": "f32[N, 3]", "i": "i32[N]", "m": "bool[N]", "s": "f32[]"}),
    "pixels": (pixels, {"rgb": "f32[N, 3, 2, 4]", "rgba": "u8[2, 4, 4]", "grey": "f32[2, 4]"}),
    "halves": (lambda h, b: [h * 2, b * 2], {"h": "f16[N, 2]", "b": "bf16[N]"}),
    "wide": (lambda k, b: [k + 1, b], {"k": "i64[N]", "b": "u8[N]"}),
    "rows": (lambda i: fb.nn.functional.embedding(i, fb.ones(3, 1)), {"i": "i32[N]"}),
    "noise": (lambda x: x + fb.rand(*x.shape), {"x": "f32[N, 2]"}),
}
WEIGHTS = 1 << 18  # of the program that comes in pieces


def served(folder):
    server = serve(folder, port=0, quiet=True)
    own = {"seen": set(), "more": threading.Semaphore(0), "left": threading.Event()}
    server.slow = type("Handler", (Slow,), own)  # type: ignore[attr-defined]
    server.RequestHandlerClass = partial(server.slow, directory=str(folder))  # type: ignore[assignment]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


@pytest.fixture(scope="module")
def server(tmp_path_factory, gpu):
    """A server of a folder of exported programs."""
    folder = tmp_path_factory.mktemp("values")
    for name, (fn, inputs) in PROGRAMS.items():
        fb.save_program(fn, inputs, folder / name, max_batch=3, target="web")
    table = (fb.arange(WEIGHTS) % 97).float().realize()
    fb.save_program(lambda x: x + table, {"x": f"f32[N, {WEIGHTS}]"}, folder / "large", 1, target="web")
    (folder / "page.html").write_text("<!doctype html><title>plain</title>")
    shutil.copy(Path(__file__).with_name("values_in_page.js"), folder / "checks.js")
    server = served(folder)
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def home(server):
    return address(server)


@pytest.fixture(scope="module")
def ask(browser, home):
    """Calls a function of values_in_page.js, in one page whose programs share a GPU."""
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{home}page.html")

    def call(name, *given):
        return page.evaluate(
            "async ([name, given]) => (await import('/checks.js'))[name](...given)", [name, list(given)]
        )

    call("begin", list(PROGRAMS))
    yield call
    context.close()


def test_plain_arrays_come_in_and_go_out(ask):
    """Nested, flat, rows that are typed arrays, with a shape, numbers alone; each dtype's own elements."""
    found = ask("arrays")
    assert found["first"] == (
        '{"y":{"data":[[3,5,7],[6,8,11]],"shape":[2,3],"dtype":"f32"},"twice":{"data":[2,-4],"shape":[2],'
        '"dtype":"i32"},"not":{"data":[false,true],"shape":[2],"dtype":"bool"},"long":{"data":'
        '["1099511627777n","1099511627774n"],"shape":[2],"dtype":"i64"}}'
    )
    assert found["again"] == found["first"]
    assert found["flat"] == [[3, 5, 7, 6, 8, 11], "1099511627777,1099511627774"]
    # 0.1 and 1e-7 as f16 has them; 1.00390625 is between two of bf16, of which 1 is even; infinity, NaN: null
    assert found["half"] == (
        '[{"data":[[0.199951171875,null],[2.384185791015625e-7,null]],"shape":[2,2],"dtype":"f16"},'
        '{"data":[2,null],"shape":[2],"dtype":"bf16"}]'
    )
    assert found["bits"] == [[0x3C00, 0x4000], [0x4000]]
    assert found["wide"] == (
        '[{"data":["1152921504606846977n","6n"],"shape":[2],"dtype":"i64"},'
        '{"data":[7,255],"shape":[2],"dtype":"u8"}]'
    )
    assert found["empty"] == "run: x is f32[1, 0], not f32[N, 3] with N = 1"


COMES = (
    "f32 comes as Float32Array, as an array of numbers, as a picture, or as {data, shape} with one of the"
    " first two"
)
WRONG = {
    'x: "abc"': f"x is String: {COMES}",
    "x: null": f"x is null: {COMES}",
    "x: new Float64Array(3)": f"x is Float64Array: {COMES}",
    "x: [[1, 2, 3], [4, 5]]": "x[1] is of 2 elements, and those before it are of 3: give rows of one length",
    "x: [[1, 2, 3], 4]": "x[1] is 4, and those before it are of 3: give rows of one length",
    'x: [[1, 2, "3"]]': 'x[0][2] is "3", and f32 takes numbers',
    "x: [[1, 2, [3]]]": "x[0][2] is an Array, and f32 takes numbers",
    "x: [[1, 2, , 3]]": "x[0][2] is undefined, and f32 takes numbers",
    "x: [[1n, 2n, 3n]]": "x[0][0] is 1, and f32 takes numbers",
    "x: [1, 2, 3, 4]": "x has 4 elements, and f32[1, 3] has 3",
    "x: [[[1, 2, 3]]]": "x is f32[1, 1, 3], not f32[N, 3]",
    "i: [2.5]": "i[0] is 2.5, and i32 takes whole numbers from -2147483648 to 2147483647",
    "i: [2 ** 31]": "i[0] is 2147483648, and i32 takes whole numbers from -2147483648 to 2147483647",
    "m: [2]": "m[0] is 2, and bool takes booleans, 0 and 1",
    "s: [1, 2]": "s has 2 elements, and f32[] has 1",
    "x: picture": (
        "x is OffscreenCanvas, and f32[N, 3] has no places for pixels: give its elements, or export with"
        " [N, channels, rows, columns], channels 1, 3 or 4"
    ),
    "m: picture": (
        "m is OffscreenCanvas, and bool[N] takes no pictures: export it with f32, f16, bf16, u8, i32, u32"
    ),
    "x: buffer(16)": "x is a GPUBuffer without its shape: give {data, shape}",
    "x: { data: buffer(16), shape: [2, 3] }": (
        "x is a GPUBuffer of 16 bytes, and f32[2, 3] takes 24: give a larger one"
    ),
    "x: { data: buffer(16, 0x80), shape: [1, 3] }": (
        "x is a GPUBuffer without GPUBufferUsage.COPY_SRC: make it with that usage"
    ),
    "x: { data: buffer(16, 4, true), shape: [1, 3] }": "x is a GPUBuffer that is mapped: unmap it first",
    "x: { data: buffer(48), shape: [2, 6] }": "x is f32[2, 6], not f32[N, 3] with N = 2",
}


def test_each_wrong_value_is_said(ask):
    found, output, wide = ask("wrong", list(WRONG))
    assert found == {text: f"InputError: run: {told}" for text, told in WRONG.items()}
    assert output == 'InputError: run: output is "list": give "typed", "array" or "gpu"'
    assert wide == (
        "InputError: run: k[0] is 9007199254740992, and i64 takes whole numbers from -9223372036854775808 to"
        " 9223372036854775807"
    )


def test_pictures_of_all_kinds_are_drawn_as_the_input_is(ask):
    """Each kind gives the pixels of the canvas that it is made of; other sizes are resized."""
    found = ask("pictures")
    rgba = found["wanted"]
    r, g, b = (rgba[c::4] for c in range(3))
    weighted = zip(r, g, b, strict=True)
    grey = [(19595 * r + 38470 * g + 7471 * b + 0x8000) >> 16 for r, g, b in weighted]  # as Pillow's
    frame = found["lists"].pop("frame")  # of another colour space, perhaps
    assert set(found["lists"]) == {"canvas", "off", "drawn", "image", "bitmap"}
    assert all(made == [[*r, *g, *b], rgba, grey, [1, 3, 2, 4]] for made in found["lists"].values())
    assert frame[3] == [1, 3, 2, 4]
    assert max(abs(a - b) for a, b in zip(frame[0], [*r, *g, *b], strict=True)) <= 2
    assert found["batch"] == [2, 3, 2, 4] and found["halves"] == [[*r, *g, *b]] * 2
    assert found["small"] == [[10] * 8 + [20] * 8 + [30] * 8] * 2
    rule = "without pixels: wait until it is loaded, and close it after the run"
    kinds = ("HTMLVideoElement", "VideoFrame", "ImageBitmap", "HTMLImageElement")
    assert found["said"] == [
        *(f"run: rgb is {kind} {rule}" for kind in kinds),
        "run: rgb[1] is Number, and those before it are pictures: give a list of pictures alone",
    ]


def test_a_picture_of_another_site_is_refused(ask):
    """Its pixels may be shown and not read; what comes after it is none of its business."""
    server = served(ROOT / "web" / "image")
    try:
        told, shape = ask("foreign", f"{address(server)}cat.jpg")
    finally:
        server.shutdown()
        server.server_close()
    assert told.startswith(
        "InputError: run: rgb is HTMLImageElement that can't be read (Failed to execute 'getImageData'"
    )
    assert told.endswith('): one of another site needs crossOrigin = "anonymous"')
    assert shape == [1, 3, 2, 4]


def test_buffers_of_the_gpu_come_in_and_go_out(ask):
    """A result goes into the next run without a way through the host, and other runs leave it as it is."""
    found = ask("buffers")
    assert found["kinds"] == [True, [2, 3], "f32", "bool"]
    assert found["kept"] == [[5, 7, 9, 12, 14, 16], [6, 8], [0, 1]]
    assert found["second"] == [[11, 13, 15, 20, 22, 24], [12, 16], [1, 0]]
    told = "embedding(dim 0 of size 3): index {} is out of range: give indices that are inside"
    assert found["outside"] == [told.format(7), told.format(6)]
    assert found["gone"].startswith("CommandError: ") and "destroyed" in found["gone"]
    assert found["after"] == found["kept"][0]
    assert found["more"] < 12  # two batch sizes of `rows`: none of a run stays


def test_a_program_runs_on_the_pages_own_device(ask):
    found = ask("ownDevice")
    assert all(5 + i <= v < 6 + i for i, v in enumerate(found["first"]))
    assert found["told"] == "CommandError"  # a buffer of another device
    assert found["again"] == [1, 2] and found["still"] == [1, 1] and "swiftshader" in found["name"].lower()
    assert found["seen"] == 1 and found["lost"] == "no"
    assert found["both"] == "InputError: load: executor and device are given: give one, the program's GPU"


def test_files_come_as_bytes_blobs_files_and_urls(ask):
    """All give the same program, and their bytes are counted as they come."""
    found = ask("sources")
    assert len(found["found"]) == 6 and len(set(found["found"].values())) == 1
    for kind, counts in found["counts"].items():
        if kind in ("buffers", "views"):  # there already
            assert counts == []
            continue
        assert counts[-1] == [found["total"]] * 2
        assert all(came <= whole for came, whole in counts)
        assert [came for came, _ in counts] == sorted(came for came, _ in counts)


WRONG_SOURCES = {
    "new ArrayBuffer(4)": "InputError: load: there is no program.txt in ArrayBuffer (): {rule}",
    "null": "InputError: load: there is no program.txt in null (): {rule}",
    "[new File([], 'program.txt'), new File([], 'notes.txt')]": (
        "InputError: load: there is no kernels.wgsl in Array (program.txt, notes.txt): {rule}"
    ),
    "{ 'program.txt': '/noise/program.txt' }": (
        "InputError: load: there is no kernels.wgsl in Object (program.txt): {rule}"
    ),
    "'/noise/', { files: { 'kernels.wgsl': 5 } }": (
        "InputError: load: kernels.wgsl is Number: give its bytes (ArrayBuffer or a typed array), a Blob or a"
        " URL"
    ),
    "'/noise/', { files: { 'kernels.wgsl': '/page.html' } }": (
        "LoadError: kernels.wgsl is a web page at {home}page.html, this server's answer for what it lacks:"
        " put the folder's files there"
    ),
    "'/noise/', { files: { 'weights.safetensors': new Uint8Array(5) } }": (
        "LoadError: weights.safetensors is cut short or no .safetensors file: get a whole copy"
    ),
    "'/noise/', { files: { 'weights.safetensors': new Uint8Array(9).fill(255) } }": (
        "LoadError: weights.safetensors is cut short or no .safetensors file: get a whole copy"
    ),
    "'/noise/', { ondownload() { throw new RangeError('its own') } }": "RangeError: its own",
    "'/noise/', { ondownload(a, b) { if (a === b) throw new RangeError('late') } }": "RangeError: late",
    "'/noise/', { files: { 'program.txt': new Blob(['{}']) } }": (
        "LoadError: program.txt is of something else: name a folder of save_program"
    ),
}  # fmt: skip


def test_each_wrong_source_is_said(ask, home):
    rule = "give the URL of a folder, or program.txt, kernels.wgsl, weights.safetensors by name or as Files"
    found = ask("wrongSources", list(WRONG_SOURCES))
    assert found == {
        text: told.replace("{rule}", rule).replace("{home}", home) for text, told in WRONG_SOURCES.items()
    }


def test_a_download_that_is_aborted_ends_with_the_reason(ask, home):
    """Before it begins and while files come; what was opened for it is given back; later it means nothing."""
    assert ask("aborted") == [
        "AbortError: signal is aborted without reason",
        "the visitor left",
        "destroyed",
        f"LoadError: kernels.wgsl can't be had from {home}nothing (404): name a folder of save_program,"
        " whole",
        [1, 2],
    ]


def test_weights_that_come_in_pieces_are_counted_to_the_last(ask):
    """A piece is sent when the one before was told."""
    counts, ends, total = ask("inPieces")
    assert counts[0] == [0, total] and counts[-1] == [total, total]
    came = [bytes for bytes, _ in counts]
    assert came == sorted(came) and len(set(came)) > PIECES
    assert {most for _, most in counts} == {total} and total > 4 * WEIGHTS
    assert ends == [0, 1, (WEIGHTS - 1) % 97]


def test_a_download_that_breaks_off_is_one_error_and_comes_whole_the_next_time(ask):
    found, left, strays = ask("broken")
    found = {
        how: [re.sub(r"network error|Failed to fetch", "WHY", told), again]  # Chromium's words vary
        for how, (told, again) in found.items()
    }
    broken = "LoadError: weights.safetensors breaks off (WHY): load it again"
    short = "LoadError: weights.safetensors is cut short or no .safetensors file: get a whole copy"
    assert found == {
        how: [told, "loaded"]
        for kind, told in (("cut", broken), ("chunked", broken), ("short", short))
        for how in (f"{kind}-counted", f"{kind}-plain")
    }
    assert left == 0, "buffers of programs that were not loaded"
    assert strays == []


def test_stopping_a_download_closes_its_connection_and_the_file_loads_again(ask, server):
    before, during, timed, again, left, strays = ask("stopped")
    assert before == "AbortError: signal is aborted without reason"
    assert "once=stall-before" not in server.slow.seen
    assert during == "the signal's own reason"
    assert server.slow.left.wait(60)
    assert timed == "TimeoutError: signal timed out"
    assert again == ["loaded"] * 3
    assert left == 0
    assert strays == []
