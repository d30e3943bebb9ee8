# SPDX-License-Identifier: Apache-2.0
"""dlc debug diff: each kind of difference between two models, and the exit codes."""

import json

import dlc
import numpy as np
import onnx
from onnx import helper, numpy_helper


def model(path, change=lambda proto: None, external=None, **tensors):
    weights = {"w": np.arange(12, dtype=np.float32).reshape(4, 3), "b": np.ones(3, np.float32), **tensors}
    nodes = [helper.make_node("Gemm", ["x", "w", "b"], ["h"], name="fc", alpha=1.0), helper.make_node("Relu", ["h"], ["y"])]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", 1, [2, 4])],
                              [helper.make_tensor_value_info("y", 1, [2, 3])],
                              [numpy_helper.from_array(v, k) for k, v in weights.items()])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    change(proto)
    if external:
        onnx.save(proto, path, save_as_external_data=True, location=external, size_threshold=0)
    else:
        onnx.save(proto, path)
    return path


class Diff(dlc.TestCase):
    def setUp(self):
        super().setUp()
        self.a = model(self.path("a.onnx"))

    def diff(self, *args, code=1, **tensors):
        other = model(self.path("b.onnx"), *args, **tensors)
        self.text, _ = dlc.dlc("debug", "diff", self.a, other, code=code)
        out, _ = dlc.dlc("debug", "diff", self.a, other, "--json", code=code)
        return json.loads(out)

    def test_equal_models(self):
        def order(proto):
            tensors = list(proto.graph.initializer)[::-1]
            del proto.graph.initializer[:]
            proto.graph.initializer.extend(tensors)
            proto.doc_string = proto.graph.node[0].doc_string = "another"
        for change, external in [(lambda p: None, None), (order, None), (order, "b.data")]:
            found = self.diff(change, external, code=0)
            self.assertTrue(found["same"] and found["only_values"])
            self.assertIn("no difference in 2 initializers and the graph", self.text)

    def test_values(self):
        w = np.arange(12, dtype=np.float32).reshape(4, 3)
        w[1, 1] = 2
        w[0, 1] += 0.5
        found = self.diff(w=w)
        self.assertTrue(found["only_values"] and not found["same"])
        self.assertEqual(found["values"], [{"tensor": "w", "type": "FLOAT", "shape": [4, 3], "elements": 12, "differing": 2,
                                            "max_absolute": 2.0, "max_relative": 0.5, "not_finite": 0}])
        self.assertIn("w FLOAT [4, 3]: 2 of 12 elements, by at most 2 (relative 0.5)", self.text)
        self.assertIn("1 of 2 initializers differ", self.text)
        w[2, 2] = np.nan
        self.assertEqual(self.diff(w=w)["values"][0]["not_finite"], 1)

    def test_types_of_numbers(self):
        for kind in np.float16, np.float64, np.int64, np.int32, np.uint8, np.bool_, np.int8, np.uint16:
            self.a = model(self.path("a.onnx"), k=np.array([1, 0], kind))
            found = self.diff(k=np.array([0, 0], kind))["values"]
            self.assertEqual([(v["tensor"], v["differing"], v["max_absolute"]) for v in found], [("k", 1, 1.0)], kind)

    def test_names_types_and_shapes(self):
        found = self.diff(lambda p: None, None, w=np.zeros((4, 3), np.float64), b=np.ones((1, 3), np.float32),
                          more=np.ones(2, np.float32))
        self.assertEqual((found["only_first"], found["only_second"], found["only_values"]), ([], ["more"], False))
        self.assertEqual(found["layout"], ["'w' is FLOAT [4, 3] in the first, DOUBLE [4, 3] in the second",
                                           "'b' is FLOAT [3] in the first, FLOAT [1, 3] in the second"])

    def test_graph(self):
        def change(proto):
            proto.graph.node[0].attribute[0].f = 2
            proto.graph.node[0].attribute.add(name="transA", type=2, i=0)
            proto.graph.node[1].op_type = "Tanh"
            proto.graph.node[1].name = "act"
            proto.graph.node.append(helper.make_node("Neg", ["y"], ["z"], name="minus"))
            proto.graph.output.append(helper.make_tensor_value_info("z", 1, [2, 3]))
            proto.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "n"
            proto.opset_import[0].version = 18
        lines = self.diff(change)["graph"]
        for part in ["operator sets", "1 outputs in the first, 2 in the second", "input 'x' has another type: FLOAT [2, 4] in the first, FLOAT [n, 4]",
                     "Gemm 'fc': attribute alpha = 1 in the first, alpha = 2 in the second", "attribute transA = 0 is only in the second", "Relu 'y' is Tanh 'act' in the second",
                     "Neg 'minus' is only in the second"]:
            self.assertTrue(any(part in line for line in lines), (part, lines))

        def rewire(proto):
            proto.graph.node[0].name = "other"
            proto.graph.node[0].input[2] = ""
            proto.graph.output[0].name = proto.graph.node[1].output[0] = "out"
            del proto.graph.node[0].attribute[:]
        lines = self.diff(rewire)["graph"]
        for part in ["output 0 is 'y' in the first, 'out' in the second", "is named 'other' in the second",
                     "has inputs (x, w, b) in the first, (x, w, ) in the second", "is only in the first"]:
            self.assertTrue(any(part in line for line in lines), (part, lines))

    def test_what_is_no_model(self):
        with open(self.path("t.onnx"), "w") as file:
            file.write("text")
        for other, words, code in [("t.onnx", "not an ONNX model", 3), ("none.onnx", "no such file", 1)]:
            _, log = dlc.dlc("debug", "diff", self.a, self.path(other), code=code)
            self.assertIn(other, log)
            self.assertIn(words, log)
        dlc.dlc("debug", "diff", self.a, code=2)


if __name__ == "__main__":
    dlc.main()
