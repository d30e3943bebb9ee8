# SPDX-License-Identifier: Apache-2.0
"""ai.onnx.preview.training: Gradient gives derivatives, and the optimizers' steps refuse what does not fit (conformance_test.py
has their values)."""

import glob
import os
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.backend.test.loader import load_model_tests
from onnx.reference import ReferenceEvaluator

sys.path.insert(0, os.path.dirname(__file__))
import dlc
from rows_test import Rows
from support import IMPORT, model, node, run, value

DOMAIN = "ai.onnx.preview.training"


def gradient(inputs, outputs, **attributes):
    return node("Gradient", inputs, outputs, name="slope", domain=DOMAIN, **attributes)


def stop(inputs, outputs):
    return node("StopGradient", inputs, outputs, domain="ai.dlc")


STOP = helper.make_function("ai.dlc", "StopGradient", ["a"], ["b"], [node("Identity", ["a"], ["b"])], [helper.make_opsetid("", 21)])


class Training(Rows):
    def of(self, nodes, inputs, outputs, weights=None, **more):
        infos = [value(k, v.shape, helper.np_dtype_to_tensor_dtype(v.dtype)) for k, v in inputs.items()]
        return model(nodes, infos, [value(o, None) for o in outputs], weights, opset=21, domains=[DOMAIN], **more)

    def results(self, nodes, inputs, outputs, weights=None, **more):
        found = self.imported(self.of(nodes, inputs, outputs, weights, **more), inputs)
        self.assertIsNotNone(found, self.error)
        return [found[o] for o in outputs]

    def refused(self, nodes, inputs, outputs, message, weights=None):
        self.assertIsNone(self.imported(self.of(nodes, inputs, outputs, weights), inputs), message)
        self.assertIn(message, self.error)

    def test_onnx_cases(self):
        cases = [c for c in load_model_tests(kind="simple") if "gradient" in c.name]
        self.assertEqual(len(cases), 2)
        for case in cases:
            load = lambda kind: [numpy_helper.to_array(onnx.load_tensor(path)) for path in sorted(
                glob.glob(os.path.join(case.model_dir, "test_data_set_0", kind + "_*.pb")))]
            proto = onnx.load(os.path.join(case.model_dir, "model.onnx"))
            found = self.imported(proto, dict(zip((i.name for i in proto.graph.input), load("input"))))
            self.assertIsNotNone(found, self.error)
            for output, expected in zip(proto.graph.output, load("output")):
                self.near(found[output.name], expected, f"{case.name}: {output.name}")

    def test_a_weight_a_value_between_and_the_second_derivative(self):
        """o = sum(h^3), h = x w"""
        x, w = self.floats(2, 3), self.floats(3, 4)
        nodes = [gradient(["w"], ["dw"], xs=["w"], y="o"), gradient(["h", "x"], ["dh", ""], xs=["h", "x"], y="o"),
                 gradient(["h"], ["ddh"], xs=["h"], y="dh"), node("MatMul", ["x", "w"], ["h"]), node("Mul", ["h", "h"], ["s"]),
                 node("Mul", ["s", "h"], ["c"]), node("ReduceSum", ["c"], ["o"], keepdims=0)]
        h = x @ w
        dw, dh, ddh = self.results(nodes, {"x": x}, ["dw", "dh", "ddh"], {"w": w})
        self.near(dw, x.T @ (3 * h * h), "dw")
        self.near(dh, 3 * h * h, "dh")
        self.near(ddh, 6 * h, "ddh")

    def test_other_values_than_those_named(self):
        """y = (x + 1) z at another x and z."""
        x, z, other = self.floats(3), self.floats(3), self.floats(3)
        nodes = [node("Add", ["x", "one"], ["a"]), node("Mul", ["a", "z"], ["y"]), node("Mul", ["y", "y"], ["q"]),
                 gradient(["other", "x"], ["d"], xs=["x"], zs=["z"], y="q")]
        q, d = self.results(nodes, {"x": x, "z": z, "other": other}, ["q", "d"], {"one": np.float32(1)})
        self.near(q, ((x + 1) * z) ** 2, "q")
        self.near(d, 2 * (other + 1) * x * x, "d")

    def test_in_a_function_and_a_branch(self):
        """Names in its attributes are those around it."""
        body = [node("Mul", ["a", "a"], ["b"]), gradient(["a"], ["r"], xs=["a"], y="b")]
        twice = helper.make_function("own", "Slope", ["a"], ["r"], body, [helper.make_opsetid("", 21), helper.make_opsetid(DOMAIN, 1)])
        branch = helper.make_graph([gradient(["x"], ["t"], xs=["x"], y="cube")], "then", [], [helper.make_empty_tensor_value_info("t")])
        nodes = [node("Slope", ["x"], ["y"], domain="own"), node("Mul", ["x", "x"], ["b"]), node("Mul", ["x", "b"], ["cube"]),
                 node("If", ["yes"], ["z"], then_branch=branch, else_branch=branch)]
        x = self.floats(4)
        proto = self.of(nodes, {"x": x}, ["y", "z"], {"yes": np.bool_(True)}, functions=[twice])
        proto.opset_import.append(helper.make_opsetid("own", 1))
        found = self.imported(proto, {"x": x})
        self.assertIsNotNone(found, self.error)
        self.near(found["y"], 2 * x, "y")
        self.near(found["z"], 3 * x * x, "z")

    def test_a_gradient_that_is_stopped(self):
        """y = x x', of which x' counts as a number, with or without a function for other tools."""
        x = self.floats(3)
        nodes = [gradient(["x"], ["d"], xs=["x"], y="y"), stop(["x"], ["x'"]), node("Mul", ["x", "x'"], ["y"])]
        for functions in [], [STOP]:
            proto = self.of(nodes, {"x": x}, ["y", "d"], functions=functions)
            proto.opset_import.append(helper.make_opsetid("ai.dlc", 1))
            found = self.imported(proto, {"x": x})
            self.assertIsNotNone(found, self.error)
            self.near(found["y"], x * x, "y")
            self.near(found["d"], x, "d")
        plain = self.of(nodes[1:], {"x": x}, ["y"], functions=[STOP])
        plain.opset_import.append(helper.make_opsetid("ai.dlc", 1))
        np.testing.assert_array_equal(ReferenceEvaluator(plain).run(None, {"x": x})[0], x * x)

    def test_gradients_that_are_refused(self):
        x = self.floats(3)
        add = node("Add", ["x", "one"], ["y"])
        one = {"one": np.float32(1)}
        for expected, more in (
                ("has 1 inputs and 1 outputs for 2 xs and 0 zs", gradient(["x"], ["d"], xs=["x", "one"], y="y")),
                ("has 1 inputs and 2 outputs for 1 xs and 0 zs", gradient(["x"], ["d", "e"], xs=["x"], y="y")),
                ("input 'none' is not defined by any node, input or initializer", gradient(["x"], ["d"], xs=["x"], y="none")),
                ("'y' does not depend on 'lost'", gradient(["lost"], ["d"], xs=["lost"], y="y")),
                ("y 'whole' holds no floats", gradient(["x"], ["d"], xs=["x"], y="whole")),
                ("input 'two' has shape [2], expected [3] as 'x'", gradient(["two"], ["d"], xs=["x"], y="y"))):
            nodes = [add, node("Cast", ["x"], ["whole"], to=TensorProto.INT64), node("Neg", ["x"], ["lost"]),
                     node("Slice", ["x", "from", "to"], ["two"]), more]
            weights = {**one, "from": np.array([0]), "to": np.array([2])}
            with self.subTest(expected=expected):
                self.refused(nodes, {"x": x}, ["d"], expected, weights)
        self.refused([gradient(["x"], ["d"], y="x")], {"x": x}, ["d"], "attribute 'xs' is missing")

    def test_steps_that_are_refused(self):
        inputs = {"r": np.float32(0.1), "t": np.array(0), "x": self.floats(2), "g": self.floats(2), "v": self.floats(2), "w": self.floats(3)}
        inputs = {k: np.asarray(v) for k, v in inputs.items()}
        numbers = dict(alpha=0.9, beta=1.0, norm_coefficient=0.0)
        step = lambda op, names, outputs="ab", **more: [node(op, list(names), list(outputs), domain=DOMAIN, **more)]
        for message, nodes in (
                ("has 4 inputs and 2 outputs, expected 2 + 3 and 2 for each tensor", step("Adagrad", "rtxg")),
                ("has 5 inputs and 1 outputs, expected 2 + 3 and 2 for each tensor", step("Adagrad", "rtxgv", "a")),
                ("input 4 has shape [3], expected [2] as 'x'", step("Adagrad", "rtxgw")),
                ("found shapes [2] and []", step("Adagrad", "xtxgv")),
                ("mode 'none' is not supported, expected standard or nesterov", step("Momentum", "rtxgv", mode="none", **numbers)),
                ("attribute 'mode' is missing", step("Momentum", "rtxgv", **numbers)),
                ("attribute 'decay' is not one of ai.onnx.preview.training.Adam", step("Adam", "rtxgvv", "abc", decay=1.0))):
            with self.subTest(message=message):
                self.refused(nodes, inputs, ["a"], message)

    def test_a_form_that_is_not_run(self):
        """A model's training_info is not the step that dlc trains by."""
        proto = self.of([node("Relu", ["x"], ["y"])], {"x": self.floats(2)}, ["y"])
        algorithm = helper.make_graph([gradient(["x"], ["d"], xs=["x"], y="y"), node("Adam", [], [], domain=DOMAIN)], "a", [], [])
        proto.training_info.append(helper.make_training_info(algorithm, [], None, None))
        with open(self.path("m.onnx"), "wb") as file:
            file.write(proto.SerializeToString())
        code, _, err = run(IMPORT, self.path("m.onnx"))
        self.assertEqual(code, dlc.OK, err)
        self.assertIn("warning: the model's training_info (Gradient of 'y', Adam) is ignored", err)

    def test_no_opset_of_the_core(self):
        proto = self.of([node("Relu", ["x"], ["y"])], {"x": self.floats(2)}, ["y"])
        del proto.opset_import[0]
        self.assertIsNone(self.imported(proto, {"x": self.floats(2)}))
        self.assertIn("no opset of ai.onnx is imported, expected 7 to 28", self.error)


if __name__ == "__main__":
    dlc.main()
