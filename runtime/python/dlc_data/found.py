# SPDX-License-Identifier: Apache-2.0
"""Evaluates detected boxes: COCO's mean average precision (pycocotools), and pictures of them."""

from __future__ import annotations

import contextlib
import io
import json
import os
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageOps

from dlc_data import DataError

COLOURS = ("#e6194b", "#3cb44b", "#4363d8", "#f58231", "#911eb4", "#008080", "#9a6324", "#808000")


def read_targets(path: str) -> tuple[dict[str, np.ndarray], list[str]]:
    """Reads arrays written by `dlc-data boxes`, and the class names."""
    with open(path, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        try:
            header = json.loads(file.read(size))
            names = json.loads(header.pop("__metadata__")["names"])
            wanted = {key: header[key] for key in ("x", "target_boxes", "target_classes")}
        except (ValueError, KeyError):
            raise DataError(f"'{path}': is not a file of dlc-data boxes") from None
    types = {"U8": np.uint8, "F32": np.float32, "I64": np.int64}
    return {key: np.memmap(path, types[tensor["dtype"]], "r", 8 + size + tensor["data_offsets"][0], tuple(tensor["shape"]))
            for key, tensor in wanted.items()}, names


def read_outputs(path: str, samples: int) -> tuple[np.ndarray, np.ndarray]:
    """Reads boxes [N, K, 4] (relative center and size) and class scores [N, K, C], written by `dlc predict -o`."""
    with np.load(path, allow_pickle=False) as file:
        if not {"boxes", "scores"} <= set(file.files):
            raise DataError(f"'{path}': expected outputs 'boxes' [N, K, 4] and 'scores' [N, K, C], found {', '.join(file.files)}")
        boxes, scores = file["boxes"], file["scores"]
    if boxes.ndim != 3 or scores.ndim != 3 or boxes.shape[2] != 4 or boxes.shape[:2] != scores.shape[:2]:
        raise DataError(f"'{path}': expected boxes [N, K, 4] and scores [N, K, C], found {list(boxes.shape)} and {list(scores.shape)}")
    if len(boxes) != samples:
        raise DataError(f"'{path}': has {len(boxes)} samples, but the targets {samples}")
    return boxes, scores


def overlaps(one: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Intersection over union of boxes [4] and [N, 4], given by corners."""
    inner = (np.minimum(one[2:], others[:, 2:]) - np.maximum(one[:2], others[:, :2])).clip(0).prod(1)
    return inner / np.maximum((one[2:] - one[:2]).prod() + (others[:, 2:] - others[:, :2]).prod(1) - inner, 1e-12)


def choose(boxes: np.ndarray, scores: np.ndarray, least: float, overlap: float) -> list[tuple[int, float, np.ndarray]]:
    """Non-maximum suppression: class, score and corners of the selected boxes, the best first."""
    corners = np.concatenate([boxes[:, :2] - boxes[:, 2:] / 2, boxes[:, :2] + boxes[:, 2:] / 2], 1).astype(np.float64)
    found = []
    for number in range(scores.shape[1]):
        order = np.argsort(-scores[:, number], kind="stable")
        order = order[scores[order, number] >= least]
        while len(order):
            best, order = order[0], order[1:]
            found.append((number, float(scores[best, number]), corners[best]))
            order = order[overlaps(corners[best], corners[order]) <= overlap]
    return sorted(found, key=lambda one: -one[1])


def precision(targets: dict[str, np.ndarray], names: list[str], found: list[list[tuple[int, float, np.ndarray]]]) -> dict[str, Any]:
    """COCO's mAP over IoU 0.5 to 0.95, at 0.5, at 0.75, and per class that has boxes."""
    from pycocotools.coco import COCO
    from pycocotools.cocoeval import COCOeval

    height, width = targets["x"].shape[2:]
    scale = np.array([width, height] * 2)
    last = max([int(targets["target_classes"].max()), *(one[0] for some in found for one in some)])
    truth, results = [], []
    for i, (boxes, classes) in enumerate(zip(targets["target_boxes"], targets["target_classes"])):
        for box, number in zip(boxes[classes >= 0], classes[classes >= 0]):
            edges = np.concatenate([box[:2] - box[2:] / 2, box[2:]]) * scale
            truth.append({"id": len(truth) + 1, "image_id": i, "category_id": int(number), "bbox": edges.tolist(),
                          "area": float(edges[2] * edges[3]), "iscrowd": 0})
        for number, score, corners in found[i]:
            edges = np.concatenate([corners[:2], corners[2:] - corners[:2]]) * scale
            results.append({"image_id": i, "category_id": number, "bbox": edges.tolist(), "score": score})
    if not truth:
        raise DataError("the targets have no boxes")
    if not results:
        return {"map": 0.0, "map_50": 0.0, "map_75": 0.0, "classes": {}}
    with contextlib.redirect_stdout(io.StringIO()):
        coco = COCO()
        coco.dataset = {"images": [{"id": i, "height": height, "width": width} for i in range(len(found))], "annotations": truth,
                        "categories": [{"id": c} for c in range(last + 1)]}
        coco.createIndex()
        judged = COCOeval(coco, coco.loadRes(results), "bbox")
        judged.evaluate()
        judged.accumulate()
        judged.summarize()
    each = judged.eval["precision"][:, :, :, 0, 2]  # IoU, recall, class; boxes of all areas; 100 per picture
    return {"map": float(judged.stats[0]), "map_50": float(judged.stats[1]), "map_75": float(judged.stats[2]),
            "classes": {names[c] if c < len(names) else str(c): float(each[:, :, c].mean()) for c in range(last + 1) if (each[:, :, c] >= 0).any()}}


def draw(targets: dict[str, np.ndarray], names: list[str], found: list[list[tuple[int, float, np.ndarray]]], least: float, folder: str) -> None:
    """Writes each sample as a .png, enlarged if small, with boxes of at least the given score."""
    os.makedirs(folder, exist_ok=True)
    for i, some in enumerate(found):
        picture = Image.fromarray(targets["x"][i].transpose(1, 2, 0))
        picture = ImageOps.scale(picture, max(1, 384 // max(picture.size)), Image.Resampling.NEAREST)
        pen, scale = ImageDraw.Draw(picture), np.array(picture.size * 2)
        for number, score, corners in reversed([one for one in some if one[1] >= least]):
            edges, colour = (corners * scale).tolist(), COLOURS[number % len(COLOURS)]
            pen.rectangle([*np.minimum(edges[:2], edges[2:]), *np.maximum(edges[:2], edges[2:])], outline=colour, width=3)
            place = (edges[0], edges[1] - 22 if edges[1] > 22 else edges[3] + 2)
            pen.text(place, f"{names[number] if number < len(names) else number} {score:.2f}", fill="white", font_size=18, stroke_width=1, stroke_fill=colour)
        picture.save(os.path.join(folder, f"{i:05}.png"))


def judge(path: str, outputs: str, overlap: float, shown: float, folder: str | None) -> dict[str, Any]:
    targets, names = read_targets(path)
    boxes, scores = read_outputs(outputs, len(targets["x"]))
    found = [choose(some, own, 0.001, overlap) for some, own in zip(boxes, scores)]
    if folder:
        draw(targets, names, found, shown, folder)
        if (targets["target_classes"] < 0).all():
            return {"map": None, "map_50": None, "map_75": None, "classes": {}}
    return precision(targets, names, found)
