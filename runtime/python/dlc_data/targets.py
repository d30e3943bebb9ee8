# SPDX-License-Identifier: Apache-2.0
"""Pictures with detection or segmentation targets, as arrays: class masks, and boxes (COCO's JSON, YOLO's folders)."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

from dlc_data import DataError
from dlc_data.output import Bytes, Progress, Workplace, write_safetensors

ENDINGS = (".jpg", ".jpeg", ".png", ".webp")
LEAST_SHARE = 0.25  # boxes with less of their area in a crop are dropped


@dataclass
class Boxes:
    """The boxes of one picture: left, top, width and height in pixels, and class numbers."""

    corners: list[list[float]] = field(default_factory=list)
    classes: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Frame:
    """The part of a picture, in pixels, that a sample shows, and whether it is mirrored."""

    left: float
    top: float
    width: float
    height: float
    mirror: bool = False

    def cut(self, picture: Image.Image, size: tuple[int, int], filter: Image.Resampling) -> np.ndarray:
        box = (self.left, self.top, self.left + self.width, self.top + self.height)
        cut = picture.resize((size[1], size[0]), filter, box)
        return np.asarray(ImageOps.mirror(cut) if self.mirror else cut)

    def move(self, boxes: Boxes) -> tuple[np.ndarray, np.ndarray]:
        """Center x, center y, width and height relative to the sample, and classes, without boxes that it does not show."""
        corners = np.array(boxes.corners, np.float64).reshape(-1, 4)
        scale = [self.width, self.height]
        low = (corners[:, :2] - [self.left, self.top]) / scale
        high = low + corners[:, 2:] / scale
        area = (high - low).prod(1)
        low, high = low.clip(0, 1), high.clip(0, 1)
        shown = (high - low).prod(1)
        keep = (shown > 0) & (shown >= LEAST_SHARE * area)
        moved = np.concatenate([(low + high) / 2, high - low], 1)[keep]
        if self.mirror:
            moved[:, 0] = 1 - moved[:, 0]
        return moved, np.array(boxes.classes, np.int64)[keep]


def frames(picture: tuple[int, int], size: tuple[int, int], copies: int, random: np.random.Generator) -> Iterator[Frame]:
    """First the central crop of `dlc predict`, then random crops of 0.3 to 1 of the area, half of them mirrored."""
    width, height = picture
    scale = min(width / size[1], height / size[0])
    largest = np.array([size[1] * scale, size[0] * scale])
    yield Frame(*((picture - largest) / 2), *largest)
    for _ in range(copies - 1):
        part = largest * np.sqrt(random.uniform(0.3, 1))
        yield Frame(*random.uniform(0, picture - part), *part, mirror=bool(random.integers(2)))


def open_picture(path: str, mode: str | None) -> Image.Image:
    """Opens a picture upright, converted to `mode` if given."""
    try:
        with Image.open(path) as file:
            return ImageOps.exif_transpose(file.convert(mode) if mode else file.copy())
    except (UnidentifiedImageError, SyntaxError) as error:
        raise DataError(f"'{path}': is not a picture that Pillow reads: {error}") from None
    except OSError as error:
        raise DataError(f"'{path}': {error.strerror or error}") from None


def files_of(folder: str, endings: tuple[str, ...]) -> dict[str, str]:
    """Paths by name without extension, sorted."""
    if not os.path.isdir(folder):
        raise DataError(f"'{folder}': is not a folder")
    found: dict[str, str] = {}
    for name in sorted(os.listdir(folder)):
        stem, ending = os.path.splitext(name)
        if ending.lower() not in endings:
            continue
        if stem in found:
            raise DataError(f"'{folder}': '{os.path.basename(found[stem])}' and '{name}' have one name")
        found[stem] = os.path.join(folder, name)
    if not found:
        raise DataError(f"'{folder}': has no files {', '.join(endings)}")
    return found


def read_coco(path: str, images: str) -> tuple[list[tuple[str, Boxes]], list[str]]:
    """Returns each picture's file and boxes, without crowds, and class names in the order of their ids."""
    try:
        with open(path, encoding="utf-8") as file:
            content = json.load(file)
        categories = sorted(content["categories"], key=lambda category: category["id"])
        number = {category["id"]: i for i, category in enumerate(categories)}
        found = {image["id"]: (os.path.join(images, image["file_name"]), Boxes()) for image in content["images"]}
        for one in content["annotations"]:
            if not one.get("iscrowd"):
                found[one["image_id"]][1].corners.append([float(edge) for edge in one["bbox"]])
                found[one["image_id"]][1].classes.append(number[one["category_id"]])
        return list(found.values()), [category["name"] for category in categories]
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"'{path}': is not COCO's JSON of boxes (images, annotations, categories): {type(error).__name__}: {error}") from None


def read_yolo(labels: str, images: str) -> list[tuple[str, Boxes]]:
    """Lines of NAME.txt are CLASS CX CY W H, relative to the picture; a picture without a file has no boxes."""
    files, pictures = files_of(labels, (".txt",)), files_of(images, ENDINGS)
    files.pop("classes", None)  # class names written by labelling programs
    for stem in files.keys() - pictures.keys():
        raise DataError(f"'{files[stem]}': '{images}' has no picture of that name")
    found = []
    for stem, path in pictures.items():
        boxes = Boxes()
        if stem in files:
            width, height = open_picture(path, None).size
            with open(files[stem], encoding="utf-8") as file:
                for row, line in enumerate(file, 1):
                    add_line(boxes, line, width, height, f"'{files[stem]}' line {row}")
        found.append((path, boxes))
    return found


def add_line(boxes: Boxes, line: str, width: int, height: int, place: str) -> None:
    if not line.strip():
        return
    try:
        number, x, y, w, h = line.split()
        center = [float(x), float(y), float(w), float(h)]
        if int(number) < 0 or not all(0 <= share <= 1 for share in center):
            raise ValueError
    except ValueError:
        raise DataError(f"{place}: expected CLASS CX CY W H, shares of the picture from 0 to 1, found '{line.strip()}'") from None
    boxes.classes.append(int(number))
    boxes.corners.append([(center[0] - center[2] / 2) * width, (center[1] - center[3] / 2) * height, center[2] * width, center[3] * height])


def write_masks(images: str, masks: str, size: tuple[int, int], copies: int, seed: int, output: str) -> None:
    """Writes x u8 [N, 3, H, W] and y i64 [N, H, W]: a mask's pixels are class numbers (or palette entries)."""
    pictures, labels = files_of(images, ENDINGS), files_of(masks, (".png",))
    for stem in pictures.keys() ^ labels.keys():
        raise DataError(f"'{pictures.get(stem) or labels[stem]}': '{masks if stem in pictures else images}' has no file of that name")
    random, progress, count = np.random.default_rng(seed), Progress(images), 0
    with Workplace(output) as place:
        x, y = Bytes(place.open("x")), Bytes(place.open("y"))
        for stem, path in pictures.items():
            picture, mask = open_picture(path, "RGB"), open_picture(labels[stem], None)
            if mask.mode not in ("L", "P", "1", "I", "I;16"):
                raise DataError(f"'{labels[stem]}': has colours ({mask.mode}), expected class numbers: one channel, or a palette")
            if mask.size != picture.size:
                raise DataError(f"'{labels[stem]}': is {mask.width} x {mask.height}, but '{path}' {picture.width} x {picture.height}")
            for frame in frames(picture.size, size, copies, random):
                x.add(frame.cut(picture, size, Image.Resampling.BILINEAR).transpose(2, 0, 1).tobytes())
                y.add(frame.cut(mask, size, Image.Resampling.NEAREST).astype(np.int64).tobytes())
                count += 1
            progress.say(f"{count} samples")
        write_safetensors(place, [("x", "U8", [count, 3, *size], x), ("y", "I64", [count, *size], y)], {})


def read_boxes(source: str | None, images: str) -> tuple[list[tuple[str, Boxes]], list[str]]:
    """As read_coco; with no source, pictures without boxes."""
    if source is None:
        return [(path, Boxes()) for path in files_of(images, ENDINGS).values()], []
    return (read_yolo(source, images), []) if os.path.isdir(source) else read_coco(source, images)


def write_boxes(source: str | None, images: str, size: tuple[int, int], most: int, copies: int, seed: int, output: str) -> list[str]:
    """Writes x u8 [N, 3, H, W], target_boxes f32 [N, most, 4] and target_classes i64 [N, most], padded with 0 and -1. Gives warnings."""
    read, names = read_boxes(source, images)
    random, progress, dropped = np.random.default_rng(seed), Progress(source or images), 0
    boxes, classes = [], []
    with Workplace(output) as place:
        x = Bytes(place.open("x"))
        for path, own in read:
            picture = open_picture(path, "RGB")
            for frame in frames(picture.size, size, copies, random):
                x.add(frame.cut(picture, size, Image.Resampling.BILINEAR).transpose(2, 0, 1).tobytes())
                moved, numbers = frame.move(own)
                dropped += max(0, len(moved) - most)
                pad = max(0, most - len(moved))
                boxes.append(np.pad(moved[:most], ((0, pad), (0, 0))).astype(np.float32))
                classes.append(np.pad(numbers[:most], (0, pad), constant_values=-1))
            progress.say(f"{len(boxes)} samples")
        if not boxes:
            raise DataError(f"'{source or images}': has no pictures")
        write_safetensors(place, [("x", "U8", [len(boxes), 3, *size], x), ("target_boxes", "F32", [len(boxes), most, 4], np.stack(boxes)),
                                  ("target_classes", "I64", [len(boxes), most], np.stack(classes))], {"names": json.dumps(names)})
    return [f"{dropped} boxes are left out: samples with more than --most={most}"] if dropped else []
