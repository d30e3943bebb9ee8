# SPDX-License-Identifier: Apache-2.0
"""Which tensors train in files of other frameworks' exporters, which use fewer of ONNX's operators and other names."""

import os
import sys

import numpy as np
import onnx

sys.path.insert(0, os.path.dirname(__file__))
import dlc
from support import IMPORT, model, node, reasons, run, value


class OtherTools(dlc.TestCase):
    def trained(self, proto):
        onnx.save(proto, self.path("m.onnx"))
        self.errors = run(IMPORT, self.path("m.onnx"))[2]
        return {name for name, (role, _) in reasons(self.path("m.onnx")).items() if role == 0}

    def test_layers_of_other_tools(self):
        """Biases of a sum of two products and in rows of a matrix; a group norm's ones and zeros; weights that a loop carries."""
        floats = lambda *shape: np.random.RandomState(0).randn(*shape).astype(np.float32)
        weights = {"w": floats(4, 4), "r": floats(4, 4), "b": floats(4), "both": floats(2, 4), "one": np.ones(2, np.float32), "zero": np.zeros(2, np.float32),
                   "gamma": floats(4, 1), "u": floats(4, 4), "c": floats(4), "apart": np.array([2, 2, 8]), "again": np.array([2, 4, 4]), "n": np.array(3)}
        step = [node("MatMul", ["h", "v"], ["p"]), node("Add", ["p", "d"], ["g"])]
        scalars = [value("i", [], onnx.TensorProto.INT64), value("k", [], onnx.TensorProto.BOOL)]
        carried = [value(name, None) for name in "vd"]
        body = onnx.helper.make_graph(step, "body", [*scalars, value("h", None), *carried], [scalars[1], value("g", None), *carried])
        nodes = [node("MatMul", ["x", "w"], ["a1"]), node("MatMul", ["x", "r"], ["a2"]), node("Add", ["a1", "a2"], ["a"]), node("Add", ["a", "b"], ["e"]),
                 node("Split", ["both"], ["s1", "s2"], axis=0), node("Squeeze", ["s1"], ["t1"]), node("Squeeze", ["s2"], ["t2"]),
                 node("MatMul", ["e", "w"], ["f1"]), node("Add", ["f1", "t1"], ["f2"]), node("Mul", ["f2", "t2"], ["f"]),
                 node("Reshape", ["f", "apart"], ["g1"]), node("InstanceNormalization", ["g1", "one", "zero"], ["g2"]),
                 node("Reshape", ["g2", "again"], ["g3"]), node("Mul", ["g3", "gamma"], ["o"]), node("Loop", ["n", "", "o", "u", "c"], ["y", "", ""], body=body)]
        proto = model(nodes, [value("x", [2, 4, 4])], [value("y", [2, 4, 4])], weights)
        self.assertEqual(self.trained(proto), {"w", "r", "b", "both", "gamma", "u", "c"})

    def test_numbers_that_tensorflow_and_paddle_call_variables(self):
        weights = {"w": np.ones((4, 4), np.float32), "att/Mul/ReadVariableOp:0": np.float32(2), "att/mul/x:0": np.float32(3), "gain_0.w_0": np.float32([5])}
        nodes = [node("MatMul", ["x", "w"], ["a"]), node("Mul", ["a", "att/Mul/ReadVariableOp:0"], ["b"]), node("Mul", ["b", "att/mul/x:0"], ["c"]),
                 node("Mul", ["c", "gain_0.w_0"], ["y"])]
        self.assertEqual(self.trained(model(nodes, [value("x", [4, 4])], [value("y", [4, 4])], weights)), {"w"})
        self.assertIn("but no layer, are not trained: 'att/Mul/ReadVariableOp:0', 'gain_0.w_0'. ", self.errors)


if __name__ == "__main__":
    dlc.main()
