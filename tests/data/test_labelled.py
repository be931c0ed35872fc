"""Images with several classes, with masks and with COCO's annotations, against what Pillow wrote."""

import json

import numpy as np
import pytest

import flambeau as fb
from flambeau import data
from flambeau.data import DataLoader

pillow = pytest.importorskip("PIL.Image")


def said(call, root):
    with pytest.raises(ValueError) as e:
        call()
    return str(e.value).replace(str(root), "T")


def draw(path, size=(3, 2), colour=(0, 0, 255), mode="RGB"):
    path.parent.mkdir(parents=True, exist_ok=True)
    pillow.new(mode, size, colour).save(path)
    return path


def test_several_classes(tmp_path):
    paths = [draw(tmp_path / f"{i}.png", colour=(i, 0, 9)) for i in range(3)]
    samples = [(paths[0], ["sea", "dog"]), (str(paths[1]), []), (paths[2], {"käfer"})]
    images = data.MultiLabelImages(samples)
    assert images.classes == ["dog", "käfer", "sea"] and images.class_to_idx["sea"] == 2
    ((x, y),) = DataLoader(images, 3, num_workers=2)
    assert x.shape == (3, 2, 3, 3) and x[:, 0, 0, 0].tolist() == [0, 1, 2] and y.dtype is fb.float32
    assert y.tolist() == [[1, 0, 1], [0, 0, 0], [0, 1, 0]]
    known = data.MultiLabelImages(samples, ["sea", "käfer", "cat", "dog"], lambda image: image[0, 0, 2])
    assert known[-3][0] == 9 and known[0][1].tolist() == [1, 0, 0, 1]
    call = "MultiLabelImages(sample 0): "
    assert said(lambda: data.MultiLabelImages(samples, ["sea"]), tmp_path) == (
        f"{call}'dog' is not in classes: add it"
    )
    assert said(lambda: data.MultiLabelImages([(paths[0], "dog")]), tmp_path) == (
        f"{call}'dog' is a single name: pass a list of names"
    )
    assert said(lambda: data.MultiLabelImages([], ["sea"]), tmp_path) == (
        "MultiLabelImages([]): the list is empty: pass pairs of a path and names"
    )


def test_masks(tmp_path):
    """Grey, palettes, 16 bit and 1 bit; folders in folders; other endings than the images'."""
    for name in ("a/ü.jpg", "a/two.png", "one.PNG", "three.bmp"):
        draw(tmp_path / "images" / name)
    draw(tmp_path / "masks" / "a" / "ü.png", colour=7, mode="L")
    draw(tmp_path / "masks" / "a" / "two.tif", colour=300, mode="I;16")
    draw(tmp_path / "masks" / "one.png", colour=True, mode="1")
    draw(tmp_path / "masks" / "more.png", colour=1, mode="L")  # of an image that is not there
    coloured = pillow.fromarray(np.array([[0, 1, 2], [2, 1, 0]], np.uint8), mode="P")
    coloured.putpalette([9, 9, 9, 200, 0, 0, 0, 200, 0])
    coloured.save(tmp_path / "masks" / "three.png")
    pairs = data.SegmentationFolder(tmp_path / "images", tmp_path / "masks")
    found = {path.stem: mask for (path, _), (_, mask) in zip(pairs.samples, pairs, strict=True)}
    assert {name: int(mask.max()) for name, mask in found.items()} == {
        "ü": 7,
        "two": 300,
        "one": 1,
        "three": 2,
    }
    assert found["two"].dtype == np.uint16 and {found[n].dtype.name for n in ("ü", "one", "three")} == {
        "uint8"
    }
    assert found["three"].tolist() == [[0, 1, 2], [2, 1, 0]]
    changed = data.SegmentationFolder(
        tmp_path / "images", tmp_path / "masks", lambda x: x / 255.0, lambda m: m.astype("i4")
    )
    ((x, y),) = DataLoader(changed, 4, num_workers=2)
    assert x.shape == (4, 2, 3, 3) and y.shape == (4, 2, 3) and x.numpy().max() <= 1 and y.dtype is fb.int32
    flipped = data.Mapped(pairs, lambda image, mask: (image[:, ::-1], mask[:, ::-1]))
    assert flipped[3][1].tolist() == [[2, 1, 0], [0, 1, 2]]


def test_errors_of_masks(tmp_path):
    images, masks = tmp_path / "i", tmp_path / "m"
    call = "SegmentationFolder('T/i', 'T/m'): "

    def told():
        return said(lambda: data.SegmentationFolder(images, masks)[0], tmp_path)

    assert told() == f"{call}the first folder contains no images: pass one that does"
    draw(images / "a.png")
    assert told() == f"{call}'a.png' has no mask: there must be one mask of the same name for each image"
    draw(masks / "a.png", (2, 2), 1, "L")
    assert told() == "SegmentationFolder('T/i/a.png'): its mask is [2, 2], the image [2, 3]: make them equal"
    draw(masks / "a.png")
    assert told() == (
        "read_mask('T/m/a.png'): its mode is RGB: a mask has one channel: pass a grayscale or palette image"
    )
    draw(masks / "a.bmp")
    assert told() == f"{call}'a.png' has 2 masks: there must be one mask of the same name for each image"


def write_coco(path, **parts):
    path.write_text(json.dumps(parts, ensure_ascii=False), encoding="utf-8")
    return path


def test_coco(tmp_path):
    """torchvision's: ids in order, an image without annotations, annotations of images that are not there."""
    for i, name in ((7, "b/sieben.png"), (3, "drei.png"), (5, "fünf.png")):
        draw(tmp_path / name, (i, 2))
    images = [{"id": i, "file_name": f} for i, f in ((7, "b/sieben.png"), (3, "drei.png"), (5, "fünf.png"))]
    boxes = [
        {"id": 1, "image_id": 7, "category_id": 2, "bbox": [0, 0, 3, 1.5], "area": 4.5, "iscrowd": 0},
        {
            "id": 2,
            "image_id": 3,
            "category_id": 1,
            "bbox": [1, 0, 1, 1],
            "segmentation": [[1, 0, 2, 0, 2, 1]],
        },
        {"id": 3, "image_id": 7, "category_id": 1, "bbox": [1, 1, 1, 1]},
        {"id": 4, "image_id": 99, "category_id": 1, "bbox": [1, 1, 1, 1]},
    ]
    kinds = [{"id": 1, "name": "Käfer"}, {"id": 2, "name": "dog"}]
    told = write_coco(tmp_path / "a.json", images=images, annotations=boxes, categories=kinds)
    coco = data.CocoDetection(tmp_path, told)
    assert coco.ids == [3, 5, 7] and coco.categories == {1: "Käfer", 2: "dog"} and len(coco) == 3
    assert [image.shape for image, _ in coco] == [(2, 3, 3), (2, 5, 3), (2, 7, 3)]
    assert [list_ for _, list_ in coco] == [[boxes[1]], [], [boxes[0], boxes[2]]]
    coco[0][1][0]["category_id"] = "changed"
    assert coco[0][1] == [boxes[1]]
    sized = data.CocoDetection(tmp_path, told, lambda image: image.shape[1], len)
    batches = [[p.tolist() for p in batch] for batch in DataLoader(sized, 2, num_workers=2)]
    assert batches == [[[3, 5], [1, 0]], [[7], [2]]]
    (batch,) = DataLoader(coco, 3, collate_fn=lambda items: tuple(zip(*items, strict=True)), num_workers=1)
    assert [len(annotations) for annotations in batch[1]] == [1, 0, 2]


def test_errors_of_coco(tmp_path):
    rule = "pass a COCO .json file with images and annotations"
    path = tmp_path / "a.json"

    def told():
        return said(lambda: data.CocoDetection(tmp_path, path), tmp_path)

    path.write_text("")
    assert told() == f"CocoDetection('T/a.json'): Expecting value: line 1 column 1 (char 0): {rule}"
    write_coco(path, images=[])
    assert told() == f"CocoDetection('T/a.json'): no 'annotations': {rule}"
    write_coco(path, images=[{"id": 1}], annotations=[])
    assert told() == f"CocoDetection('T/a.json'): no 'file_name': {rule}"
    path.write_text("[]")
    assert told() == (f"CocoDetection('T/a.json'): list indices must be integers or slices, not str: {rule}")
    assert len(data.CocoDetection(tmp_path, write_coco(path, images=[], annotations=[]))) == 0
