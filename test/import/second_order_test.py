# SPDX-License-Identifier: Apache-2.0
"""Losses of slopes, which ONNX's Gradient computes in the model, and their gradients are PyTorch's (test/refs/make_second_order.py)."""

import json
import os
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, os.path.dirname(__file__))
import dlc
from second_order_cases import BATCH, CASES, arrays

DOMAIN = "ai.onnx.preview.training"


class SecondOrder(dlc.TestCase):
    def check(self, name):
        """One step at rate 1 moves each weight by minus its gradient."""
        shape, nodes, _ = CASES[name]
        x, weights = arrays(name)
        nodes = [*nodes, helper.make_node("Gradient", ["x"], ["slope"], domain=DOMAIN, xs=["x"], y="y"),
                 helper.make_node("Mul", ["slope", "slope"], ["square"]), helper.make_node("ReduceMean", ["square"], ["penalty"], keepdims=0)]
        graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", *shape])],
                                  [helper.make_tensor_value_info("penalty", TensorProto.FLOAT, [])],
                                  [numpy_helper.from_array(w, key) for key, w in weights.items()])
        opsets = [helper.make_opsetid("", 20), helper.make_opsetid(DOMAIN, 1)]
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), self.path("m.onnx"))
        np.savez(self.path("d.npz"), x=x)
        artifact = dlc.compile(self.path("m.onnx"), self.path("m.dlc"), batch=BATCH, loss="penalty:graph", optimizer="sgd", lr=1,
                               schedule="constant", train=".")
        run = dlc.train(artifact, self.path("d.npz"), self.path("run"), steps=1, shuffle="off")
        with open(os.path.join(dlc.REFS, "second_order.json")) as file:
            expected = json.load(file)[name]
        np.testing.assert_allclose(run.metrics("loss"), [expected["loss"]], rtol=1e-5, err_msg=name)
        first, last = run.initial(artifact), run.state(1)
        for key, gradient in expected["gradients"].items():
            self.assertNear(first[key].reshape(-1) - last[key].reshape(-1), gradient, 2e-5, f"{name}: {key}")

    def test_all(self):
        for name in CASES:
            with self.subTest(case=name):
                self.new_folder()
                self.check(name)


if __name__ == "__main__":
    dlc.main()
