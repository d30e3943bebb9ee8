# SPDX-License-Identifier: Apache-2.0
"""Masks and boxes as data: a U-Net and a detector in the manner of YOLO learn to find shapes that this draws."""

import json
import os

import dlc
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from PIL import Image, ImageDraw

SIDE, GRID, NAMES, MOST = 48, 6, ["disc", "bar"], 4
COLOURS = ["#e04030", "#4060f0"]


def draw_shapes(random, width=60, height=52):
    """A picture of one to three shapes that do not touch, its mask and its boxes."""
    noise = random.integers(90, 150, (height, width, 3), np.uint8)
    picture, mask, boxes = Image.fromarray(noise), Image.new("L", (width, height)), []
    for _ in range(random.integers(1, 4)):
        w, h = random.integers(10, 18, 2)
        left, top = random.integers(4, width - w - 4), random.integers(2, height - h - 2)
        if any(left < x + a + 2 and x < left + w + 2 and top < y + b + 2 and y < top + h + 2 for _, x, y, a, b in boxes):
            continue
        number = int(random.integers(2))
        for image, colour in (picture, COLOURS[number]), (mask, number + 1):
            shape = ImageDraw.Draw(image).ellipse if number == 0 else ImageDraw.Draw(image).rectangle
            shape([left, top, left + w - 1, top + h - 1], fill=colour)
        boxes.append((number, *(int(edge) for edge in (left, top, w, h))))
    return picture, mask, boxes


class Net:
    """A graph by function calls: each returns the name of its result."""

    def __init__(self):
        self.nodes, self.tensors, self.random = [], [], np.random.default_rng(1)

    def __call__(self, op, *inputs, **attributes):
        name = f"v{len(self.nodes)}"
        named = [self.tensor(value) if isinstance(value, np.ndarray) else value for value in inputs]
        self.nodes.append(helper.make_node(op, named, [name], name=f"n{len(self.nodes)}", **attributes))
        return name

    def tensor(self, value, name=None):
        name = name or f"c{len(self.tensors)}"
        self.tensors.append(numpy_helper.from_array(value, name))
        return name

    def conv(self, x, inner, outer, kernel=3, stride=1, op="Conv"):
        shape = (outer, inner, kernel, kernel) if op == "Conv" else (inner, outer, kernel, kernel)
        weight = self.random.normal(0, (2 / (inner * kernel**2)) ** 0.5, shape).astype(np.float32)
        name = f"conv{len(self.nodes)}"
        return self(op, x, self.tensor(weight, name + ".weight"), self.tensor(np.zeros(outer, np.float32), name + ".bias"), strides=[stride] * 2,
                    pads=[kernel // 2 if op == "Conv" else 0] * 4)

    def save(self, path, inputs, outputs):
        for name, made in outputs.items():
            self.nodes.append(helper.make_node("Identity", [made[0]], [name]))
        graph = helper.make_graph(self.nodes, "g", inputs, [helper.make_tensor_value_info(name, TensorProto.FLOAT, made[1])
                                                            for name, made in outputs.items()], self.tensors)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def save_unet(path):
    net = Net()
    wide = net("Relu", net.conv("x", 3, 8))
    deep = net("Relu", net.conv(net("MaxPool", wide, kernel_shape=[2, 2], strides=[2, 2]), 8, 16))
    up = net("Relu", net.conv(deep, 16, 8, 2, 2, "ConvTranspose"))
    last = net.conv(net("Relu", net.conv(net("Concat", wide, up, axis=1), 16, 8)), 8, 3, 1)
    net.save(path, [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 3, SIDE, SIDE])], {"logits": (last, ["N", 3, SIDE, SIDE])})


def save_detector(path):
    """One box per cell of a grid; the loss compares the cells in which targets have their centers."""
    net, cells = Net(), GRID * GRID
    number = lambda *values: np.array(values, np.float32)  # noqa: E731
    x = "x"
    for inner, outer in (3, 16), (16, 32), (32, 32):
        x = net("Relu", net.conv(x, inner, outer, 3, 2))
    x = net.conv(net("Relu", net.conv(x, 32, 32)), 32, 7, 1)
    rows = net("Reshape", net("Transpose", x, perm=[0, 2, 3, 1]), np.array([0, cells, 7]))
    place, size, sure, kind = (net("Slice", rows, np.array([a]), np.array([b]), np.array([2])) for a, b in ((0, 2), (2, 4), (4, 5), (5, 7)))
    corner = np.stack(np.meshgrid(np.arange(GRID), np.arange(GRID)), -1).reshape(1, cells, 2).astype(np.float32)
    boxes = net("Concat", net("Div", net("Add", net("Sigmoid", place), corner), number(GRID)), net("Sigmoid", size), axis=2)
    kinds = net("LogSoftmax", kind, axis=2)
    scores = net("Mul", net("Sigmoid", sure), net("Exp", kinds))

    center = net("Floor", net("Mul", net("Slice", "target_boxes", np.array([0]), np.array([2]), np.array([2])), number(GRID)))
    cell = net("ReduceSum", net("Mul", center, number(1, GRID)), np.array([2]), keepdims=1)
    classes = net("Unsqueeze", net("Cast", "target_classes", to=TensorProto.FLOAT), np.array([2]))
    real = net("Cast", net("GreaterOrEqual", classes, number(0)), to=TensorProto.FLOAT)
    here = net("Mul", net("Cast", net("Equal", cell, np.arange(cells, dtype=np.float32)), to=TensorProto.FLOAT), real)
    apart = net("Sub", net("MatMul", here, boxes), net("Mul", "target_boxes", real))
    right = net("Cast", net("Equal", classes, number(0, 1)), to=TensorProto.FLOAT)
    lost = net("Neg", net("Mul", net("MatMul", here, kinds), right))
    taken = net("Transpose", net("ReduceMax", here, axes=[1], keepdims=1), perm=[0, 2, 1])
    soft = net("Softplus", net("Mul", sure, net("Sub", number(1), net("Mul", taken, number(2)))))
    terms = [net("ReduceMean", net("ReduceSum", term, np.array([1, 2]), keepdims=0), keepdims=0)
             for term in (net("Mul", net("Mul", apart, apart), number(20)), lost, soft)]
    net.save(path, [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 3, SIDE, SIDE]),
                    helper.make_tensor_value_info("target_boxes", TensorProto.FLOAT, ["N", MOST, 4]),
                    helper.make_tensor_value_info("target_classes", TensorProto.INT64, ["N", MOST])],
             {"loss": (net("Sum", *terms), []), "boxes": (boxes, ["N", cells, 4]), "scores": (scores, ["N", cells, 2])})


class Targets(dlc.TestCase):
    def draw(self, folder, count, seed):
        """pictures/, masks/, labels/ (YOLO's) and boxes.json (COCO's)."""
        random, root = np.random.default_rng(seed), self.path(folder)
        coco = {"images": [], "annotations": [], "categories": [{"id": 10 * i + 3, "name": name} for i, name in enumerate(NAMES)]}
        for name in "pictures", "masks", "labels":
            os.makedirs(os.path.join(root, name))
        for i in range(count):
            picture, mask, boxes = draw_shapes(random)
            picture.save(f"{root}/pictures/{i:04}.png")
            mask.save(f"{root}/masks/{i:04}.png")
            coco["images"].append({"id": 100 + i, "file_name": f"{i:04}.png"})
            with open(f"{root}/labels/{i:04}.txt", "w") as file:
                for number, left, top, w, h in boxes:
                    file.write(f"{number} {(left + w / 2) / picture.width} {(top + h / 2) / picture.height} {w / picture.width} {h / picture.height}\n")
                    coco["annotations"].append({"image_id": 100 + i, "category_id": 10 * number + 3, "bbox": [left, top, w, h], "iscrowd": 0})
        coco["annotations"].append({"image_id": 100, "category_id": 3, "bbox": [0, 0, 50, 50], "iscrowd": 1})
        with open(f"{root}/boxes.json", "w") as file:
            json.dump(coco, file)
        return root

    def write(self, command, root, source, **options):
        output = self.path(f"{os.path.basename(root)}-{command}.safetensors")
        most = {"most": MOST} if command == "boxes" else {}
        dlc.dlc_data(command, f"{root}/{source}", images=f"{root}/pictures", size=f"{SIDE},{SIDE}", output=output, **most, **options)
        return output

    def test_boxes_and_masks_stay_on_what_they_show(self):
        """Of every copy: a box is that of the pixels of its colour, a mask's classes are where the colours are."""
        root = self.draw("few", 12, 5)
        coco = dlc.load_file(self.write("boxes", root, "boxes.json", copies=4))
        yolo = dlc.load_file(self.write("boxes", root, "labels", copies=4))
        for name in coco:
            np.testing.assert_allclose(coco[name], yolo[name], atol=1e-6)
        masks = dlc.load_file(self.write("masks", root, "masks", copies=4))
        np.testing.assert_array_equal(masks["x"], coco["x"])
        self.assertEqual(coco["x"].shape, (48, 3, SIDE, SIDE))
        red, blue = (masks["x"][:, a].astype(int) - masks["x"][:, b] > 80 for a, b in ((0, 2), (2, 0)))
        for found, number in (red, 1), (blue, 2):
            own = masks["y"] == number
            self.assertGreater((found & own).sum() / (found | own).sum(), 0.9)
        judged = 0
        for mask, boxes, classes in zip(masks["y"], coco["target_boxes"], coco["target_classes"]):
            self.assertTrue((boxes[classes < 0] == 0).all())
            for number in range(2):
                own = boxes[classes == number]
                if len(own) != 1 or not (mask == number + 1).any():
                    continue
                y, x = np.nonzero(mask == number + 1)
                edges = np.array([x.min(), y.min(), x.max() + 1, y.max() + 1]) / SIDE
                np.testing.assert_allclose([*(own[0, :2] - own[0, 2:] / 2), *(own[0, :2] + own[0, 2:] / 2)], edges, atol=1.6 / SIDE)
                judged += 1
        self.assertGreater(judged, 25)

    def test_segmentation(self):
        save_unet(self.path("unet.onnx"))
        train = self.write("masks", self.draw("train", 120, 1), "masks", copies=2)
        val = self.write("masks", self.draw("val", 32, 2), "masks")
        dlc.dlc("compile", self.path("unet.onnx"), batch=16, optimizer="adamw", lr=0.005, output=self.path("unet.dlc"))
        run = dlc.train(self.path("unet.dlc"), train, self.path("run"), epochs=12).folder
        judged = dlc.evaluate(run, val, metrics="iou,accuracy")
        self.assertGreater(judged["iou"], 0.85)
        dlc.dlc("predict", run, data=val, output=self.path("y.npz"))
        with np.load(self.path("y.npz")) as found:
            best = found["y"].argmax(1)
        y = dlc.load_file(val)["y"]
        mean = np.mean([((best == c) & (y == c)).sum() / ((best == c) | (y == c)).sum() for c in range(3)])
        self.assertAlmostEqual(judged["iou"], mean, 6)

    def test_detection(self):
        save_detector(self.path("detector.onnx"))
        train = self.write("boxes", self.draw("train", 400, 1), "labels", copies=2)
        val = self.write("boxes", self.draw("val", 48, 2), "boxes.json")
        dlc.dlc("compile", self.path("detector.onnx"), batch=16, optimizer="adamw", lr=0.003, output=self.path("detector.dlc"))
        run = dlc.train(self.path("detector.dlc"), train, self.path("run"), epochs=20).folder
        dlc.dlc("predict", run, data=val, output=self.path("y.npz"))
        out, _ = dlc.dlc_data("map", val, self.path("y.npz"), draw=self.path("drawn"))
        judged = json.loads(out)
        self.assertGreater(judged["map_50"], 0.7, judged)
        self.assertEqual(list(judged["classes"]), NAMES)
        with Image.open(self.path("drawn") + "/00047.png") as picture:
            self.assertEqual(picture.size, (384, 384))
            drawn = np.asarray(picture)[::8, ::8] != dlc.load_file(val)["x"][47].transpose(1, 2, 0)
            self.assertTrue(0.005 < drawn.any(2).mean() < 0.3, drawn.any(2).mean())
        # Pictures without boxes: the same are found.
        new = self.path("new.safetensors")
        dlc.dlc_data("boxes", images=self.path("val/pictures"), size=f"{SIDE},{SIDE}", most=MOST, output=new)
        self.assertTrue((dlc.load_file(new)["target_classes"] == -1).all())
        dlc.dlc("predict", run, data=new, output=self.path("new.npz"))
        with np.load(self.path("y.npz")) as before, np.load(self.path("new.npz")) as found:
            for name in "boxes", "scores":
                np.testing.assert_array_equal(found[name], before[name])
        self.refuse("the targets have no boxes", "map", new, self.path("new.npz"), output=None)
        out, _ = dlc.dlc_data("map", new, self.path("new.npz"), draw=self.path("drawn-new"))
        self.assertEqual(json.loads(out), {"map": None, "map_50": None, "map_75": None, "classes": {}})
        self.assertEqual(len(os.listdir(self.path("drawn-new"))), 48)

    def test_precision(self):
        """The targets themselves have 1; without one class, that class 0; worse boxes beside them change nothing."""
        val = self.write("boxes", self.draw("val", 20, 2), "boxes.json")
        own = dlc.load_file(val)
        scores = np.eye(3, dtype=np.float32)[own["target_classes"]][:, :, :2] * 0.9
        for name, boxes, given, expected in [
                ("all", own["target_boxes"], scores, [1, 1]), ("one", own["target_boxes"], scores * np.float32([1, 0]), [1, 0]),
                ("twice", np.repeat(own["target_boxes"], 2, 1), np.repeat(scores, 2, 1) * np.tile(np.float32([1, 0.5]), MOST)[:, None], [1, 1]),
                ("none", own["target_boxes"], scores * 0, None)]:
            np.savez(self.path("y.npz"), boxes=boxes, scores=given)
            judged = json.loads(dlc.dlc_data("map", val, self.path("y.npz"))[0])
            self.assertEqual(list(judged["classes"].values()), expected or [], name)
            self.assertAlmostEqual(judged["map"], np.mean(expected or [0]), 6)

    def refuse(self, message, *words, code=dlc.FAILED, **options):
        _, err = dlc.dlc_data(*words, code=code, **{"output": self.path("out.safetensors"), **options})
        self.assertRegex(err, r"^error: .*" + message)
        self.assertFalse(os.path.exists(self.path("out.safetensors")))

    def test_errors(self):
        root = self.draw("few", 2, 5)
        given = dict(images=f"{root}/pictures", size="16,16")
        self.refuse(r"expected numbers from 1 on", "masks", f"{root}/masks", code=dlc.USAGE, **{**given, "size": "0,16"})
        self.refuse(r"--size", "masks", f"{root}/masks", code=dlc.USAGE, **{**given, "size": "16"})
        self.refuse(r"nowhere': is not a folder", "masks", self.path("nowhere"), **given)
        self.refuse(r"pictures': has no files \.txt", "boxes", f"{root}/pictures", **given)
        self.refuse(r"no\.json", "boxes", self.path("no.json"), **given)
        with open(f"{root}/labels/0001.txt", "w") as file:
            file.write("0 0.5 0.5 0.1 0.1\n\n1 30 20 5 5\n")
        self.refuse(r"0001\.txt' line 3: expected CLASS CX CY W H, shares of the picture from 0 to 1, found '1 30 20 5 5'",
                    "boxes", f"{root}/labels", **given)
        os.remove(f"{root}/pictures/0001.png")
        self.refuse(r"0001\.txt': '.*pictures' has no picture of that name", "boxes", f"{root}/labels", **given)
        self.refuse(r"masks/0001\.png': '.*pictures' has no file of that name", "masks", f"{root}/masks", **given)
        self.refuse(r"0001\.png': No such file", "boxes", f"{root}/boxes.json", **given)
        os.remove(f"{root}/masks/0001.png")
        Image.new("RGB", (60, 52)).save(f"{root}/masks/0000.png")
        self.refuse(r"0000\.png': has colours \(RGB\), expected class numbers", "masks", f"{root}/masks", **given)
        Image.new("L", (6, 5)).save(f"{root}/masks/0000.png")
        self.refuse(r"0000\.png': is 6 x 5, but '.*' 60 x 52", "masks", f"{root}/masks", **given)
        with open(f"{root}/boxes.json", "w") as file:
            file.write('{"images": []}')
        self.refuse(r"boxes\.json': is not COCO's JSON of boxes \(images, annotations, categories\): KeyError: 'categories'",
                    "boxes", f"{root}/boxes.json", **given)
        with open(f"{root}/pictures/0000.png", "wb") as file:
            file.write(b"no picture")
        os.remove(f"{root}/labels/0001.txt")
        self.refuse(r"0000\.png': is not a picture that Pillow reads", "boxes", f"{root}/labels", **given)


if __name__ == "__main__":
    dlc.main()
