"""Datasets from folders with one subfolder for each class: images, texts, sound."""

from __future__ import annotations

import os
import wave
from collections.abc import Callable, Sequence
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flambeau.data.dataset import Dataset, apply_if_any, check_index
from flambeau.data.files import import_package

if TYPE_CHECKING:
    import numpy as np  # imported where it is used: the browser has none

IMAGES = (".jpg", ".jpeg", ".png", ".gif", ".bmp", ".tif", ".tiff", ".webp", ".ppm", ".pgm")
WIDTHS = (1, 2, 3, 4)  # bytes of a sample
PCM = bytes.fromhex("0100000000001000800000aa00389b71")  # the GUID of PCM in the header of a .wav


class DatasetFolder(Dataset):
    """Files in one folder per class, as torchvision's: items are (content of a file, class number).

    root: contains the folders; their sorted names are `classes`; loader: reads the file of a path;
    extensions: of the files to use, such as (".npy",), None for all; transform: of the loader's result;
    target_transform: of the class number; is_valid_file: of a path (a string, as torchvision's), whether to
    use the file, instead of `extensions`. ValueError for both of these, and if no file matches.
    """

    holds = "files"  # their name in errors

    def __init__(
        self,
        root: str | os.PathLike[str],
        loader: Callable[[Path], Any],
        extensions: str | Sequence[str] | None = None,
        transform: Callable[[Any], Any] | None = None,
        target_transform: Callable[[int], Any] | None = None,
        is_valid_file: Callable[[str], bool] | None = None,
    ):
        if extensions is not None and is_valid_file is not None:
            rule = "both select files: pass one of them"
            raise ValueError(f"{type(self).__name__}(extensions=..., is_valid_file=...): {rule}")
        self.root, self.loader, self.transform = Path(root), loader, transform
        self.target_transform = target_transform
        # Sorted: the order of a directory differs between file systems, and class numbers follow from it.
        folders = sorted(filter(self._is_class, self.root.iterdir())) if self.root.is_dir() else []
        self.classes = [p.name for p in folders]
        self.class_to_idx = {name: i for i, name in enumerate(self.classes)}
        samples = [(p, i) for i, folder in enumerate(folders) for p in files_below(folder, extensions)]
        self.samples = [(p, i) for p, i in samples if is_valid_file is None or is_valid_file(str(p))]
        if not self.samples:
            reason = f"it contains no {self.holds}" if self.root.is_dir() else "no such folder"
            rule = f"{reason}: pass a folder with one subfolder for each class"
            raise ValueError(f"{type(self).__name__}('{root}'): {rule}")

    def _is_class(self, path: Path) -> bool:
        return path.is_dir()

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, index: int) -> tuple[Any, ...]:
        path, label = self.samples[check_index(self, index)]
        return apply_if_any(self.transform, self.loader(path)), apply_if_any(self.target_transform, label)


class ImageFolder(DatasetFolder):
    """Images in one folder per class, as torchvision's: items are (image, class number).

    root: contains the folders; their sorted names are `classes`; transform: of an image, uint8 [height,
    width, 3]; target_transform: of the number; loader: reads the file of a path, instead of Pillow;
    is_valid_file: of a path (a string, as torchvision's), whether to use the file, instead of the extensions
    of images. ValueError without images.
    """

    holds = "images"

    def __init__(
        self,
        root: str | os.PathLike[str],
        transform: Callable[[Any], Any] | None = None,
        target_transform: Callable[[int], Any] | None = None,
        loader: Callable[[Path], Any] | None = None,
        is_valid_file: Callable[[str], bool] | None = None,
    ):
        endings = IMAGES if is_valid_file is None else None
        super().__init__(root, loader or read_image, endings, transform, target_transform, is_valid_file)


class TextFolder(DatasetFolder):
    """Texts (.txt) in one folder per class: items are (text of a file, class number).

    root: contains the folders; their sorted names are `classes`; transform: of a text;
    encoding: of the files. ValueError without texts, and for an item of another encoding.
    """

    holds = "texts (.txt)"

    def __init__(
        self,
        root: str | os.PathLike[str],
        transform: Callable[[str], Any] | None = None,
        encoding: str = "utf-8",
    ):
        super().__init__(root, partial(_text, encoding=encoding), ".txt", transform)


class AudioFolder(DatasetFolder):
    """Sound (.wav) in one folder per class: items are (samples, samples per second, class number).

    root: contains the folders; their sorted names are `classes`, without names that begin with _, such as
    _background_noise_ of Speech Commands; transform: of the samples, float32 [channels, samples] in -1 to 1.
    ValueError without sounds, and for an item that `read_audio` can't read.
    """

    holds = "sound (.wav)"

    def __init__(self, root: str | os.PathLike[str], transform: Callable[[Any], Any] | None = None):
        super().__init__(root, read_audio, ".wav", transform)

    def _is_class(self, path: Path) -> bool:
        return path.is_dir() and not path.name.startswith("_")

    def __getitem__(self, index: int) -> tuple[Any, int, int]:
        path, label = self.samples[check_index(self, index)]
        sound, rate = self.loader(path)
        return apply_if_any(self.transform, sound), rate, label


def files_below(folder: Path, extensions: str | Sequence[str] | None) -> list[Path]:
    """List the files below a folder, sorted; all, or those with one of the extensions."""
    suffixes = (extensions,) if isinstance(extensions, str) else extensions
    suffix_list = "" if suffixes is None else tuple(end.lower() for end in suffixes)
    return sorted(p for p in folder.rglob("*") if p.name.lower().endswith(suffix_list) and p.is_file())


def read_image(path: str | os.PathLike[str]) -> np.ndarray:
    """Read an image file (`path`) with Pillow as uint8 [height, width, 3]. FlambeauError without Pillow."""
    import numpy as np

    image = import_package("PIL.Image", f"read_image('{path}')", "pillow")
    with image.open(path) as opened:
        return np.array(opened.convert("RGB"))


def read_audio(path: str | os.PathLike[str]) -> tuple[np.ndarray, int]:
    """Read a .wav file (`path`): its samples, float32 [channels, samples] in -1 to 1, and the samples per
    second.

    It must be PCM of 8, 16, 24 or 32 bits; a truncated file gives the samples it has. ValueError for other
    files.
    """
    try:
        with wave.open(BytesIO(_plain(Path(path).read_bytes())), "rb") as file:
            channels, width, rate = file.getnchannels(), file.getsampwidth(), file.getframerate()
            raw = file.readframes(file.getnframes())
        if width not in WIDTHS:
            raise wave.Error(f"samples of {8 * width} bit")
    except (wave.Error, EOFError) as error:
        rule = "only PCM .wav of 8, 16, 24 or 32 bits is supported: convert the file"
        raise ValueError(f"read_audio('{path}'): {str(error) or 'it ends too early'}: {rule}") from None
    # A truncated file may end inside of a frame (one sample for each channel).
    complete = len(raw) - len(raw) % (channels * width)
    # samples are interleaved by channel: [samples, channels] -> [channels, samples]
    return _floats(raw[:complete], width).reshape(-1, channels).T.copy(), rate


def _plain(content: bytes) -> bytes:
    """Rewrite a header of WAVE_FORMAT_EXTENSIBLE, which most files of 24 bits have, as plain PCM: before
    Python 3.12, `wave` reads only that."""
    offset = content.find(b"fmt ") + 8
    # 0xFFFE is WAVE_FORMAT_EXTENSIBLE: the actual format is a GUID 24 bytes into the chunk.
    is_long = content[offset : offset + 2] == b"\xfe\xff" and content[offset + 24 : offset + 40] == PCM
    return content[:offset] + b"\1\0" + content[offset + 2 :] if is_long else content


def _floats(raw: bytes, width: int) -> np.ndarray:
    """Convert samples of `width` bytes to float32 in -1 to 1, through the upper bytes of an int32."""
    import numpy as np

    samples = np.frombuffer(raw, np.uint8).reshape(-1, width)
    wide = np.zeros((len(samples), 4), np.uint8)
    # samples of 8 bits are unsigned, all others signed
    wide[:, 4 - width :] = samples ^ 0x80 if width == 1 else samples
    return wide.view("<i4")[:, 0].astype("f4") / 2.0**31


def _text(path: Path, encoding: str) -> str:
    try:
        return path.read_text(encoding)
    except UnicodeDecodeError as error:
        rule = f"it is not {encoding} at byte {error.start}: pass its encoding"
        raise ValueError(f"TextFolder('{path}'): {rule}") from None
