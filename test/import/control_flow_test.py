# SPDX-License-Identifier: Apache-2.0
"""If, Loop and Scan: branches and iterations become the nodes of their bodies, against onnxruntime."""

import dlc
import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from rows_test import Rows
from support import model, node, value

FLOAT, INT, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def constant(name, array):
    return node("Constant", [], [name], value=numpy_helper.from_array(np.asarray(array), name))


def body(nodes, inputs, outputs):
    """A graph; inputs are (name, shape, type)."""
    infos = [value(name, shape, kind) for name, shape, kind in inputs]
    return helper.make_graph(nodes, "body", infos, [value(name, shape, kind) for name, shape, kind in outputs])


def branch(*nodes, out="z"):
    return body(list(nodes), [], [(out, None, FLOAT)])


class ControlFlow(Rows):
    def compare(self, nodes, inputs, weights=None, outputs=("y",), kinds=None):
        infos = [value(k, v.shape, helper.np_dtype_to_tensor_dtype(v.dtype)) for k, v in inputs.items()]
        results = [value(o, None, (kinds or {}).get(o, FLOAT)) for o in outputs]
        proto = model(nodes, infos, results, weights)
        found = self.imported(proto, inputs)
        self.assertIsNotNone(found, self.error)
        session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
        for name, array in zip(outputs, session.run(None, inputs)):
            self.near(found[name], np.asarray(array), name)

    def refused(self, expected, nodes, inputs, weights=None, outputs=("y",)):
        infos = [value(k, v.shape, helper.np_dtype_to_tensor_dtype(v.dtype)) for k, v in inputs.items()]
        self.assertIsNone(self.imported(model(nodes, infos, [value(o, None) for o in outputs], weights), inputs))
        self.assertIn(expected, self.error)

    x = np.arange(6, dtype=np.float32).reshape(2, 3) - 2

    def choice(self, yes, no):
        return node("If", ["c"], ["y"], name="choice", then_branch=yes, else_branch=no)

    def test_if_known(self):
        shape = [node("Shape", ["x"], ["s"]), node("Size", ["s"], ["n"]), node("Greater", ["n", "one"], ["c"])]
        unknown = node("Nothing", ["x"], ["z"], domain="elsewhere")
        chosen = self.choice(branch(node("Abs", ["x"], ["z"])), branch(node("Neg", ["x"], ["z"])))
        self.compare([*shape, chosen], {"x": self.x}, {"one": np.array(1)})
        for flag in True, False:
            self.compare([chosen], {"x": self.x}, {"c": np.array(flag)})
        self.refused("the operator is not supported", [self.choice(branch(unknown), branch(node("Neg", ["x"], ["z"])))],
                     {"x": self.x}, {"c": np.array(True)})

    def test_if_of_data(self):
        for shape in (), (1,):
            for flag in True, False:
                self.compare([self.choice(branch(node("Exp", ["x"], ["t"]), node("Neg", ["t"], ["z"])),
                                          branch(node("Add", ["x", "w"], ["z"])))],
                             {"x": self.x, "c": np.full(shape, flag)}, {"w": np.ones(3, np.float32)})
        self.refused("output 0 is [2, 3] in one branch, [2] in the other",
                     [self.choice(branch(node("Neg", ["x"], ["z"])), branch(node("ReduceSum", ["x", "a"], ["z"], keepdims=0)))],
                     {"x": self.x, "c": np.array(True)}, {"a": np.array([1])})

    def counting(self, *more):
        """y, t = a + i, ..., for each iteration i."""
        nodes = [node("Cast", ["i"], ["f"], to=FLOAT), node("Add", ["a", "f"], ["b"]), node("Mul", ["b", "x"], ["t"]),
                 node("Identity", ["go"], ["on"]), *more]
        return body(nodes, [("i", [], INT), ("go", [], BOOL), ("a", None, FLOAT)],
                    [("on", [], BOOL), ("b", None, FLOAT), ("t", None, FLOAT)])

    def test_loop_by_count(self):
        self.compare([node("Loop", ["n", "", "a0"], ["y", "s"], name="loop", body=self.counting())],
                     {"x": self.x, "a0": self.x * 2}, {"n": np.array(3)}, ("y", "s"))
        self.compare([node("Loop", ["n", "c", "a0"], ["y", "u"], name="loop", body=self.counting())],
                     {"x": self.x, "a0": self.x}, {"n": np.array(0), "c": np.array(True)})

    def test_loop_until(self):
        """The condition is arithmetic on what is known, so iterations are, too."""
        nodes = [node("Add", ["k", "two"], ["k2"]), node("Less", ["k2", "end"], ["on"]), node("Tanh", ["a"], ["b"]),
                 node("Identity", ["k"], ["t"])]
        graph = body(nodes, [("i", [], INT), ("go", [], BOOL), ("k", [], INT), ("a", None, FLOAT)],
                     [("on", [], BOOL), ("k2", [], INT), ("b", None, FLOAT), ("t", [], INT)])
        self.compare([node("Loop", ["", "c", "k0", "x"], ["k", "y", "s"], body=graph)], {"x": self.x},
                     {"c": np.array(True), "k0": np.array(1), "two": np.array(2), "end": np.array(8)}, ("y", "s", "k"),
                     {"s": INT, "k": INT})

    def until(self, shape=()):
        """b = 2 a + x and c = b for as long as the sum before is below "end"; the steps are counted, too."""
        nodes = [constant("shape", np.array(shape, np.int64)), constant("one", np.int64(1)), node("Mul", ["a", "c"], ["d"]),
                 node("Add", ["a", "a"], ["a2"]), node("Add", ["a2", "x"], ["b"]), node("ReduceSum", ["b"], ["sum"], keepdims=0),
                 node("Less", ["sum", "end"], ["less"]), node("Reshape", ["less", "shape"], ["on"]), node("Add", ["k", "one"], ["k2"])]
        return body(nodes, [("i", [], INT), ("go", shape, BOOL), ("a", None, FLOAT), ("k", [], INT), ("c", None, FLOAT)],
                    [("on", shape, BOOL), ("b", None, FLOAT), ("k2", [], INT), ("d", None, FLOAT)])

    def test_loop_until_of_data(self):
        """The data decides when it ends: after one step, in between, by the trip count, or before it begins."""
        for shape in (), (1,):
            for end in 3.0, 40.0, 1e6:
                self.compare([node("Loop", ["n", "go0", "x", "k0", "x"], ["y", "k", "d"], name="loop", body=self.until(shape))],
                             {"x": np.abs(self.x) + 0.5, "end": np.array(end, np.float32)},
                             {"n": np.array(5), "go0": np.full(shape, True), "k0": np.array(0)}, ("y", "k", "d"), {"k": INT})
            for go in True, False:
                self.compare([node("Loop", ["n", "go0", "x", "k0", "x"], ["y", "k", "d"], name="loop", body=self.until(shape))],
                             {"x": np.abs(self.x), "end": np.array(40, np.float32), "go0": np.full(shape, go)},
                             {"n": np.array(4), "k0": np.array(0)}, ("y", "k", "d"), {"k": INT})

    def test_loop_in_a_loop_in_a_branch(self):
        inner = body([node("Add", ["b", "w"], ["b2"]), node("Mul", ["b2", "a"], ["b3"]), node("Identity", ["h"], ["h2"])],
                     [("j", [], INT), ("h", [], BOOL), ("b", None, FLOAT)], [("h2", [], BOOL), ("b3", None, FLOAT)])
        outer = body([node("Tanh", ["v"], ["a"]), node("Loop", ["two", "", "v"], ["v2"], name="inner", body=inner),
                      node("Identity", ["g"], ["g2"])],
                     [("i", [], INT), ("g", [], BOOL), ("v", None, FLOAT)], [("g2", [], BOOL), ("v2", None, FLOAT)])
        chosen = self.choice(branch(node("Loop", ["three", "", "x"], ["z"], name="outer", body=outer)),
                             branch(node("Neg", ["x"], ["z"])))
        self.compare([chosen], {"x": self.x, "c": np.array(True)},
                     {"w": np.ones(3, np.float32), "two": np.array(2), "three": np.array(3)})

    def test_loop_refusals(self):
        step = node("Loop", ["n", "", "a0"], ["y"], name="loop", body=self.counting())
        step.output.append("s")
        self.refused("the trip count, input 'n', depends on the model's data", [step],
                     {"x": self.x, "a0": self.x, "n": np.array(3)}, outputs=("y", "s"))
        graph = self.counting(node("ReduceMax", ["b"], ["m"], keepdims=0), node("Less", ["m", "w"], ["on2"]))
        graph.output[0].name = "on2"
        for name, expected in ("n", "the data decides when the loop ends, and so the size of its scan output 's'"), \
                ("", "the loop's condition, 'loop[0]/on2', depends on the model's data, and no trip count bounds its iterations"):
            self.refused(expected, [node("Loop", [name, "", "a0"], ["y", "s"], name="loop", body=graph)],
                         {"x": self.x, "a0": self.x}, {"n": np.array(3), "w": np.float32(9)}, ("y", "s"))
        grows = body([node("Concat", ["a", "a"], ["b"], axis=0), node("ReduceMax", ["b"], ["m"], keepdims=0), node("Less", ["m", "w"], ["on"])],
                     [("i", [], INT), ("go", [], BOOL), ("a", None, FLOAT)], [("on", [], BOOL), ("b", None, FLOAT)])
        self.refused("the data decides when the loop ends, and 'loop[1]/b' is a sequence or differs in type or shape between iterations",
                     [node("Loop", ["n", "", "x"], ["y"], name="loop", body=grows)], {"x": self.x}, {"n": np.array(3), "w": np.float32(9)})
        self.refused("the scan outputs of a loop without iterations",
                     [node("Loop", ["n", "", "a0"], ["y", "s"], name="loop", body=self.counting())],
                     {"x": self.x, "a0": self.x}, {"n": np.array(0)}, ("y", "s"))
        self.refused("expanding 'loop'", [node("Loop", ["n", "", "a0"], ["y", "s"], name="loop", body=self.counting())],
                     {"x": self.x, "a0": self.x}, {"n": np.array(1 << 40)}, ("y", "s"))
        lost = self.counting(node("Add", ["nowhere", "b"], ["q"]))
        self.refused("input 'nowhere' is not defined", [node("Loop", ["n", "", "a0"], ["y", "s"], name="loop", body=lost)],
                     {"x": self.x, "a0": self.x}, {"n": np.array(2)}, ("y", "s"))

    def test_scan(self):
        graph = body([node("Add", ["h", "s"], ["h2"]), node("Mul", ["h2", "w"], ["o"])],
                     [("h", None, FLOAT), ("s", None, FLOAT)], [("h2", None, FLOAT), ("o", None, FLOAT)])
        self.compare([node("Scan", ["h0", "x"], ["y", "o"], num_scan_inputs=1, body=graph)],
                     {"x": self.x, "h0": np.ones(3, np.float32)}, {"w": np.full(3, 2, np.float32)}, ("y", "o"))
        found = self.scanned_backward(graph)
        h, expected = np.ones(2, np.float32), []
        for column in self.x.T[::-1]:
            h = h + column
            expected.append(h * 2)
        self.near(found["o"], np.stack(expected[::-1], 1), "o")
        self.near(found["y"], h, "y")

    def scanned_backward(self, graph):
        """Over the columns from the last one, outputs joined at the axis in the columns' order."""
        nodes = [node("Scan", ["h0", "x"], ["y", "o"], num_scan_inputs=1, body=graph, scan_input_axes=[1],
                      scan_input_directions=[1], scan_output_axes=[-1], scan_output_directions=[1])]
        inputs = {"x": self.x, "h0": np.ones(2, np.float32)}
        proto = model(nodes, [value("x", [2, 3]), value("h0", [2])], [value("y", None), value("o", None)],
                      {"w": np.full(2, 2, np.float32)})
        found = self.imported(proto, inputs)
        self.assertIsNotNone(found, self.error)
        return found


if __name__ == "__main__":
    dlc.main()
