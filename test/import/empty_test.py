# SPDX-License-Identifier: Apache-2.0
"""Tensors without elements have ONNX's results, in programs that run and in ones that train."""

import copy
import os
import subprocess
import sys
import unittest

import numpy as np
import onnx
from onnx import TensorProto
from onnx.reference import ReferenceEvaluator

sys.path.insert(0, os.path.dirname(__file__))
import dlc
from support import model, node, value


def ints(*values):
    return np.array(values, np.int64)


def floats(*shape):
    return (np.arange(int(np.prod(shape))) % 7 - 3).astype(np.float32).reshape(shape)


# What each begins with: from x [2, 3] no row, no column, an image less.
ROWS = [node("Slice", ["x", "zero", "zero"], ["e"])]
COLUMNS = [node("Slice", ["x", "zero", "zero", "one"], ["e"])]
IMAGES = ROWS + [node("Reshape", ["e", "as_image"], ["i"], allowzero=1)]
KNOWN = {"zero": ints(0), "one": ints(1), "as_image": ints(0, 3, 4, 4), "w": floats(3, 4), "v": floats(3), "k": floats(0, 4),
         "c": floats(4), "row": floats(1, 3), "none": ints(), "u": floats(0, 3), "filter": floats(2, 3, 2, 2), "n": ints(2)}
NONE_ND = {"places": np.zeros((0, 1), np.int64)}
NONE_2D = {"places": np.zeros((0, 3), np.int64)}


def cases():
    """{name: (nodes to y, more that is known, what numpy says where the evaluator fails)}"""
    found = {}

    def case(name, before, op, inputs, known=(), expected=None, **attributes):
        found[name] = ([*map(copy.deepcopy, before), node(op, inputs, ["y"], **attributes)], dict(known), expected)

    for op in "ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceLogSumExp", "ReduceSumSquare":
        case(f"{op} over nothing", ROWS, op, ["e", "zero"])
        case(f"{op} of nothing", ROWS, op, ["e"], keepdims=0)
        case(f"{op} to nothing", ROWS, op, ["e", "one"])
    case("ReduceMean over nothing", ROWS, "ReduceMean", ["e", "zero"], expected=np.full((1, 3), np.nan, np.float32))
    for op in "ReduceMax", "ReduceMin":
        for kind in TensorProto.INT64, TensorProto.BOOL:
            case(f"{op} {kind}", ROWS + [node("Cast", ["e"], ["whole"], to=kind)], op, ["whole", "zero"])
    case("Concat", ROWS, "Concat", ["e", "x", "e"], axis=0)
    case("Concat of nothing", ROWS, "Concat", ["e", "e"], axis=1)
    case("MatMul over nothing", COLUMNS + [node("Transpose", ["e"], ["t"])], "MatMul", ["e", "t"])
    case("MatMul of nothing", ROWS, "MatMul", ["e", "w"])
    case("Gemm over nothing", COLUMNS, "Gemm", ["e", "k", "c"])
    case("Gemm of nothing", ROWS, "Gemm", ["e", "w", "c"])
    case("Einsum over nothing", COLUMNS, "Einsum", ["e", "k"], equation="ij,jk->ik")
    case("Gather none", [], "Gather", ["x", "none"])
    case("Gather from nothing", COLUMNS, "Gather", ["e", "one"])
    case("GatherND", [], "GatherND", ["x", "places"], NONE_ND)
    case("GatherElements", [], "GatherElements", ["x", "places"], NONE_2D)
    case("ScatterND", [], "ScatterND", ["x", "places", "u"], NONE_ND)
    case("ScatterElements", [], "ScatterElements", ["x", "places", "u"], NONE_2D, reduction="add")
    for op in "Relu", "Exp", "Sigmoid", "Gelu", "Softmax", "LogSoftmax", "Hardmax", "Erf":
        case(op, ROWS, op, ["e"])
    case("Softmax over nothing", COLUMNS, "Softmax", ["e"])
    for op in "Add", "Mul", "Pow", "Max", "PRelu":
        case(op, ROWS, op, ["e", "row"])
    case("Reshape", ROWS, "Reshape", ["e", "to"], {"to": ints(3, 0)}, allowzero=1)
    case("Transpose", ROWS, "Transpose", ["e"])
    case("Expand", ROWS, "Expand", ["e", "to"], {"to": ints(2, 1, 3)})
    case("Expand to nothing", [node("Slice", ["x", "zero", "one"], ["r"])], "Expand", ["r", "to"], {"to": ints(0, 3)})
    case("Tile", [], "Tile", ["x", "to"], {"to": ints(0, 2)})
    case("Pad", ROWS, "Pad", ["e", "p", "fill"], {"p": ints(1, 0, 1, 0), "fill": np.float32(2.5)})
    case("TopK", [], "TopK", ["x", "zero"])
    found["TopK"][0][-1].output.append("at")
    case("CumSum", ROWS, "CumSum", ["e", "axis"], {"axis": np.array(0)})
    case("LayerNormalization", ROWS, "LayerNormalization", ["e", "v", "v"], expected=floats(0, 3))
    case("LayerNormalization over nothing", COLUMNS, "LayerNormalization", ["e", "u2", "u2"], {"u2": floats(0)}, floats(2, 0))
    case("RMSNormalization", ROWS, "RMSNormalization", ["e", "v"])
    case("Conv", IMAGES, "Conv", ["i", "filter"], expected=floats(0, 2, 3, 3))
    case("MaxPool", IMAGES, "MaxPool", ["i"], kernel_shape=[2, 2], expected=floats(0, 3, 3, 3))
    case("AveragePool", IMAGES, "AveragePool", ["i"], kernel_shape=[2, 2], expected=floats(0, 3, 3, 3))
    case("InstanceNormalization", IMAGES, "InstanceNormalization", ["i", "v", "v"], expected=floats(0, 3, 4, 4))
    case("BatchNormalization", IMAGES, "BatchNormalization", ["i", "v", "v", "v", "ones"], {"ones": np.ones(3, np.float32)},
         floats(0, 3, 4, 4))
    case("Resize", IMAGES, "Resize", ["i", "", "s"], {"s": np.array([1, 1, 2, 2], np.float32)}, floats(0, 3, 8, 8))
    case("Attention", ROWS + [node("Reshape", ["e", "to"], ["q"], allowzero=1)], "Attention", ["q", "q", "q"], {"to": ints(1, 2, 0, 3)},
         floats(1, 2, 0, 3))
    case("TensorScatter", [node("Reshape", ["x", "cache"], ["past"]), node("Slice", ["past", "zero", "zero", "one"], ["e"])], "TensorScatter",
         ["past", "e"], {"cache": ints(1, 2, 3)}, floats(1, 2, 3), axis=1)
    case("SoftmaxCrossEntropyLoss", ROWS, "SoftmaxCrossEntropyLoss", ["e", "none"], expected=np.float32(np.nan))
    return found


def alone(steps, known):
    used = {n for step in steps for n in step.input}
    proto = model(steps, [value("x", [2, 3])], [value("y", None)], {k: v for k, v in {**KNOWN, **known}.items() if k in used}, opset=24)
    proto.graph.output[0].ClearField("type")
    return proto


class Empty(dlc.TestCase):
    def dlc(self, *words):
        return subprocess.run([os.path.join(dlc.BUILD, "bin", "dlc"), *map(str, words)], capture_output=True, text=True, timeout=60)

    def run_dlc(self, *words):
        done = self.dlc(*words)
        self.assertEqual(done.returncode, 0, done.stderr)

    def write(self, proto):
        with open(self.path("m.onnx"), "wb") as file:
            file.write(proto.SerializeToString())
        return file.name

    def test_results(self):
        """All in one program."""
        x, nodes, known, expected = floats(2, 3), [], dict(KNOWN), {}
        for i, (name, (steps, more, result)) in enumerate(cases().items()):
            known |= {f"{k}.{i}": v for k, v in more.items()}
            if result is None:
                result = ReferenceEvaluator(alone(steps, more)).run(None, {"x": x})[0]
            own = {o for step in steps for o in step.output} | set(more)
            for step in steps:
                for names in step.input, step.output:
                    names[:] = [f"{n}.{i}" if n in own else n for n in names]
                nodes.append(step)
            expected[f"y.{i}"] = (name, np.asarray(result))
        used = {n for step in nodes for n in step.input}
        proto = model(nodes, [value("x", [2, 3])], [value(o, None) for o in expected], {k: v for k, v in known.items() if k in used}, opset=24)
        for info in proto.graph.output:
            info.ClearField("type")
        np.savez(self.path("d.npz"), x=x)
        self.run_dlc("compile", self.write(proto), "--predict-only", "-o", self.path("m.dlc"))
        self.run_dlc("predict", self.path("m.dlc"), "--data=" + self.path("d.npz"), "-o", self.path("o.npz"))
        found = np.load(self.path("o.npz"))
        for key, (name, result) in expected.items():
            with self.subTest(case=name):
                self.assertEqual(found[key].shape, result.shape)
                np.testing.assert_array_equal(found[key].astype(result.dtype), result)

    def test_training(self):
        """Empty tensors between a layer and the loss, and a parameter without elements."""
        hidden = [node("Gemm", ["x", "w", "b"], ["h"]), node("Slice", ["h", "zero", "zero"], ["rows"]),
                  node("Slice", ["h", "zero", "zero", "one"], ["columns"])]
        tail = [node("MatMul", ["columns", "k.weight"], ["p"]), node("Add", ["p", "h"], ["s"]), node("ReduceSum", ["rows", "zero"], ["r"]),
                node("Add", ["s", "r"], ["t"]), node("LayerNormalization", ["rows", "g", "b"], ["n"]),
                node("Concat", ["n", "t"], ["c"], axis=0), node("ScatterND", ["c", "places", "u"], ["d"]), node("Softmax", ["rows"], ["q"]),
                node("Concat", ["q", "d"], ["logits"], axis=0)]
        known = {"w": floats(3, 4) / 8, "b": floats(4) * 0, "g": floats(4) * 0 + 1, "k.weight": floats(0, 4), "zero": ints(0), "one": ints(1),
                 "u": floats(0, 4), **NONE_ND}
        plain = [node("Gemm", ["x", "w", "b"], ["logits"])]
        np.savez(self.path("d.npz"), x=np.tile(floats(2, 3), (4, 1)), y=np.arange(8) % 4)
        losses = []
        for steps in hidden + tail, plain:
            used = {n for step in steps for n in step.input}
            proto = model(steps, [value("x", [2, 3])], [value("logits", [2, 4])], {k: v for k, v in known.items() if k in used})
            self.run_dlc("compile", self.write(proto), "--loss=cross_entropy", "-o", self.path("m.dlc"))
            run = self.path(f"run{len(losses)}")
            self.run_dlc("train", self.path("m.dlc"), "--data=" + self.path("d.npz"), "--run=" + run, "--steps=4", "--quiet", "--shuffle=off")
            with open(run + "/metrics.jsonl") as file:
                losses.append([line.split('"loss":')[1].split(",")[0] for line in file])
            self.run_dlc("export", run, "-o", self.path("trained.onnx"))
        self.assertEqual(*losses)

    def test_inputs(self):
        """An input without elements is none of the data's, as the past of a decoder that begins; the batch is another's."""
        nodes = [node("Concat", ["past", "x"], ["k"], axis=1), node("MatMul", ["k", "w"], ["h"]), node("ReduceSum", ["h", "one"], ["logits"], keepdims=0),
                 node("Concat", ["none", "x"], ["all"], axis=0), node("ReduceMax", ["all"], ["most"], keepdims=0)]
        proto = model(nodes, [value("none", [0, 2, 3]), value("past", ["batch", "past_length", 3]), value("x", ["batch", 2, 3])],
                      [value("logits", ["batch", 4]), value("most", [])], {"w": floats(3, 4), "one": ints(1)})
        x = floats(4, 2, 3)
        np.savez(self.path("d.npz"), x=x, y=np.arange(4))
        for length, words in ((0, ["--dim", "past_length=0"]), (2, ["--dim", "past_length=2"])):
            done = self.dlc("compile", self.write(proto), "--batch=4", "--predict-only", *words, "-o", self.path("m.dlc"))
            self.assertEqual(done.returncode, 0, done.stderr)
            names = "inputs without elements are none of the data's: 'none', 'past'" if length == 0 else "an input without elements is none of the data's: 'none'"
            self.assertIn(names, done.stderr)
        self.run_dlc("compile", self.write(proto), "--batch=4", "--dim", "past_length=0", "--loss=logits:cross_entropy", "-o", self.path("m.dlc"))
        self.run_dlc("predict", self.path("m.dlc"), "--data=" + self.path("d.npz"), "-o", self.path("o.npz"))
        expected = ReferenceEvaluator(proto).run(None, {"x": x, "past": floats(4, 0, 3), "none": floats(0, 2, 3)})
        found = np.load(self.path("o.npz"))
        np.testing.assert_allclose(found["logits"], expected[0])
        self.assertEqual(found["most"], expected[1])
        self.run_dlc("train", self.path("m.dlc"), "--data=" + self.path("d.npz"), "--run=" + self.path("run"), "--steps=2", "--quiet")
        self.run_dlc("export", self.path("run"), "-o", self.path("trained.onnx"))
        inputs = onnx.load(self.path("trained.onnx")).graph.input
        self.assertEqual([i.name for i in inputs], ["none", "past", "x"])

    def test_refused(self):
        for op, inputs, message in (("ArgMax", ["e"], "ArgMax -> y.*: dimension 0 is empty"),
                                    ("NonZero", ["e"], "NonZero is not supported here")):
            done = self.dlc("compile", self.write(alone(ROWS + [node(op, inputs, ["y"])], {})), "--predict-only", "-o", self.path("m.dlc"))
            self.assertEqual(done.returncode, dlc.BAD_MODEL, done.stderr)
            self.assertRegex(done.stderr, message)


if __name__ == "__main__":
    dlc.main()
