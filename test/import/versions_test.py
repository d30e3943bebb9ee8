# SPDX-License-Identifier: Apache-2.0
"""Models of old opsets mean what they meant: attributes that became inputs, operators that got other names or rules. And operators
that ONNX defines by others."""

import os
import sys
import unittest

import numpy as np
from onnx import TensorProto, helper

sys.path.insert(0, os.path.dirname(__file__))
import dlc
from rows_test import Rows
from support import IMPORT, model, node, run, value

X = np.random.default_rng(0).standard_normal((2, 4, 3)).astype(np.float32)


def softmax(x, axis):
    flat = x.reshape(int(np.prod(x.shape[:axis])), -1)
    grown = np.exp(flat - flat.max(1, keepdims=True))
    return (grown / grown.sum(1, keepdims=True)).reshape(x.shape)


class Versions(Rows):
    def check(self, op, opset, expected, x=X, weights=None, outputs=("y",), **attributes):
        with self.subTest(op=op, opset=opset, **attributes):
            kinds = [value(o, None, helper.np_dtype_to_tensor_dtype(e.dtype)) for o, e in zip(outputs, expected)]
            proto = model([node(op, ["x", *(weights or {})], list(outputs), **attributes)],
                          [value("x", x.shape, helper.np_dtype_to_tensor_dtype(x.dtype))], kinds, weights, opset=opset)
            found = self.imported(proto, {"x": x})
            self.assertIsNotNone(found, self.error)
            for name, array in zip(outputs, expected):
                self.near(found[name], array, f"{op} of opset {opset}")

    def test_attributes_that_became_inputs(self):
        self.check("Clip", 7, [X.clip(-0.5, 0.25)], min=-0.5, max=0.25)
        self.check("Clip", 10, [X.clip(None, 0.25)], max=0.25)
        self.check("Clip", 7, [X.astype(np.float16).clip(-0.5)], X.astype(np.float16), min=-0.5)
        self.check("Slice", 9, [X[:, 1:-1]], axes=[1], starts=[1], ends=[-1])
        self.check("Slice", 7, [X[:1, 2:]], starts=[0, 2], ends=[1, 99])
        self.check("Pad", 10, [np.pad(X, ((0, 1), (0, 0), (2, 0)), constant_values=1.5)], pads=[0, 0, 2, 1, 0, 0], value=1.5)
        self.check("Squeeze", 11, [X[:, 0:1][:, 0]], X[:, 0:1], axes=[1])
        self.check("Unsqueeze", 12, [X[None, :, None]], axes=[0, 2])
        self.check("Split", 12, [X[:, :1], X[:, 1:]], outputs=("a", "b"), axis=1, split=[1, 3])
        self.check("Split", 7, [X[:, :2], X[:, 2:]], outputs=("a", "b"), axis=1)
        self.check("ReduceSum", 11, [X.sum((0, 2))], axes=[0, 2], keepdims=0)
        self.check("ReduceMean", 17, [X.mean(1, keepdims=True)], axes=[1])
        self.check("ReduceMax", 7, [X.max(keepdims=True)])
        self.check("ReduceLogSum", 13, [np.log(np.abs(X).sum(1))], np.abs(X), axes=[1], keepdims=0)
        self.check("Dropout", 7, [X], ratio=0.3)

    def test_regions_of_pixels_without_the_half(self):
        """Of a linear function the mean over a region is the value at its middle, 1.5 and 2."""
        r, c = np.indices((5, 5)).astype(np.float32)
        regions = {"regions": np.float32([[0.5, 0.5, 3.5, 2.5]]), "images": np.array([0])}
        for opset, middle in (10, 1.5 + 20), (15, 1.5 + 20), (16, 1 + 15):
            self.check("RoiAlign", opset, [np.float32([[[[middle]]]])], (r + 10 * c)[None, None], regions, sampling_ratio=2)

    def test_softmax_of_all_that_follows_an_axis(self):
        for opset in 7, 11:
            self.check("Softmax", opset, [softmax(X, 1)])
            self.check("Softmax", opset, [softmax(X, 2)], axis=2)
            self.check("LogSoftmax", opset, [np.log(softmax(X, 1))])
        self.check("Softmax", 13, [softmax(X, 2)])

    def test_batch_norm(self):
        weights = {k: np.abs(X[0, :, i % 3]) for i, k in enumerate("sbmv")}
        s, b, m, v = (w[:, None] for w in weights.values())
        self.check("BatchNormalization", 7, [(X - m) / np.sqrt(v + 1e-5) * s + b], weights=weights)

    def test_group_norm_of_groups(self):
        """Deprecated since it exists, as its scale and bias are those of groups; runtimes execute it."""
        x = np.random.RandomState(3).randn(2, 4, 5).astype(np.float32)
        flat = x.reshape(2, 2, 10)
        normal = ((flat - flat.mean(2, keepdims=True)) / np.sqrt(flat.var(2, keepdims=True) + 1e-5)).reshape(x.shape)
        weights = {"s": np.float32([0.5, -2]), "b": np.float32([1, 3])}
        scale, bias = (w.repeat(2)[:, None] for w in weights.values())
        for opset in 18, 20:
            self.check("GroupNormalization", opset, [normal * scale + bias], x, weights, num_groups=2)

    def test_refused(self):
        weights = {k: np.ones((4, 3), np.float32) for k in "sbmv"}
        for opset, op, given, attributes, message in (
                (8, "BatchNormalization", weights, {"spatial": 0}, r"statistics of each pixel \(spatial = 0\)"),
                (7, "Upsample", {}, {"mode": "nearest"}, "attribute 'scales' is missing"),
                (9, "Celu", {}, {}, r"Celu \(in opset 9 only from 12\)"),
                (6, "Add", {"b": X}, {"axis": 0, "broadcast": 1}, "opset 6 is older than 7")):
            with self.subTest(op=op):
                proto = model([node(op, ["x", *given], ["y"], **attributes)], [value("x", X.shape)], [value("y", None)],
                              given, opset=opset)
                path = self.path("m.onnx")
                with open(path, "wb") as file:
                    file.write(proto.SerializeToString())
                code, _, err = run(IMPORT, path)
                self.assertEqual(code, dlc.BAD_MODEL, err)
                self.assertRegex(err, message)


class Bodies(Rows):
    def test_attributes_and_defaults(self):
        shrink = lambda x, bias, lambd: np.where(x < -lambd, x + bias, np.where(x > lambd, x - bias, 0)).astype(np.float32)
        for attributes in {}, {"bias": 0.25}, {"lambd": 1.0, "bias": 0.5}:
            for opset in 9, 17, 28:
                proto = model([node("Shrink", ["x"], ["y"], "s", **attributes)], [value("x", X.shape)], [value("y", X.shape)],
                              opset=opset)
                found = self.imported(proto, {"x": X})
                self.assertIsNotNone(found, self.error)
                self.near(found["y"], shrink(X, attributes.get("bias", 0), attributes.get("lambd", 0.5)), "Shrink")

    def test_names_say_where_a_node_comes_from(self):
        proto = model([node("ThresholdedRelu", ["x"], ["y"], "gate")], [value("x", [2])], [value("y", [2])], opset=22)
        with open(self.path("m.onnx"), "wb") as file:
            file.write(proto.SerializeToString())
        code, out, err = run(IMPORT, self.path("m.onnx"))
        self.assertEqual(code, dlc.OK, err)
        self.assertIn('"gate/', out)

    def test_a_body_that_does_not_fit(self):
        """Types are checked inside of a body, too."""
        proto = model([node("Shrink", ["x"], ["y"], "s")], [value("x", [2], TensorProto.BOOL)],
                      [value("y", [2], TensorProto.BOOL)], opset=17)
        with open(self.path("m.onnx"), "wb") as file:
            file.write(proto.SerializeToString())
        code, _, err = run(IMPORT, self.path("m.onnx"))
        self.assertEqual(code, dlc.BAD_MODEL, err)
        self.assertRegex(err, "s/.*type BOOL")


if __name__ == "__main__":
    dlc.main()
