"""Made-up images: against SplitMix64 word by word in Python's integers; batches as items, bit for bit."""

import numpy as np
import pytest

import flambeau as fb
from flambeau import data
from flambeau.data import DataLoader

WORD = 2**64 - 1


def splitmix(state):
    """A word of the algorithm as it was published, whose state grows before."""
    z = state
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & WORD
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & WORD
    return z ^ (z >> 31)


def expected(number, channels, height, width, classes):
    count = channels * height * width
    first = splitmix(number & WORD)
    words = [splitmix((first + i * 0x9E3779B97F4A7C15) & WORD) for i in range(1 + -(-count // 8))]
    raw = b"".join(word.to_bytes(8, "little") for word in words[1:])[:count]
    return np.frombuffer(raw, np.uint8).reshape(height, width, channels), words[0] % classes


def test_splitmix_is_the_published_one():
    """The first words of seed 1234567, which other implementations are tested with."""
    state = 1234567
    words = [splitmix((state + (i + 1) * 0x9E3779B97F4A7C15) & WORD) for i in range(3)]
    assert words == [6457827717110365317, 3203168211198807973, 9817491932198370423]


@pytest.mark.parametrize("size, offset", [((3, 5, 7), 0), ((1, 2, 4), -3), ((2, 0, 3), 2**63)])
def test_items_and_batches(size, offset):
    fake = data.FakeData(9, size, 4, random_offset=offset)
    items = list(fake)
    assert len(fake) == len(items) == 9
    for i, (image, label) in enumerate(items):
        right, kind = expected(i + offset, *size, 4)
        assert np.array_equal(image, right) and image.dtype == np.uint8 and image.shape == right.shape
        assert label == kind and type(label) is int
    x, y = fake.gather(np.array([8, 0, 8]))
    assert np.array_equal(x, np.stack([items[i][0] for i in (8, 0, 8)]))
    assert y.tolist() == [items[i][1] for i in (8, 0, 8)]


def test_batches_by_threads():
    """The same with transforms as without, whose batches are made at once; dtypes too."""
    plain, changed = data.FakeData(10, (3, 4, 4)), data.FakeData(10, (3, 4, 4), 10, np.copy, lambda k: k)
    loaders = [DataLoader(d, 4, shuffle=True, seed=3, num_workers=2) for d in (plain, changed)]
    for (x, y), (x2, y2) in zip(*loaders, strict=True):
        assert x.dtype is x2.dtype is fb.uint8 and y.dtype is y2.dtype
        assert x.tolist() == x2.tolist() and y.tolist() == y2.tolist()
    scaled = data.FakeData(2, (1, 2, 2), 3, lambda image: image / 255.0, lambda kind: kind + 100)
    assert scaled[1][0].max() <= 1 and scaled[1][1] >= 100


def test_they_look_random():
    x, y = data.FakeData(4000, (1, 8, 8), 10).gather(np.arange(4000))
    assert abs(x.mean() - 127.5) < 0.6 and abs(x.std() - 73.9) < 0.5  # five sigma of 256,000 bytes
    assert np.bincount(y).min() > 300 and np.bincount(y).max() < 500


def test_errors():
    def told(**kwargs):
        with pytest.raises(ValueError) as e:
            data.FakeData(**kwargs)
        return str(e.value)

    rule = "invalid sizes: pass a size, (channels, height, width) of at least 0 and a number of classes"
    default = "image_size=(3, 224, 224), num_classes"
    assert told(size=-1) == f"FakeData(size=-1, {default}=10): {rule}"
    assert told(num_classes=0) == f"FakeData(size=1000, {default}=0): {rule}"
    assert told(image_size=(4, 4)) == f"FakeData(size=1000, image_size=(4, 4), num_classes=10): {rule}"
    assert len(data.FakeData(0)) == 0
    with pytest.raises(IndexError, match=r"^FakeData\[2\]: index is out of range: the length is 2$"):
        data.FakeData(2)[2]
