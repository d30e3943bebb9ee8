# SPDX-License-Identifier: Apache-2.0
"""Where the source detaches a value, no gradient goes back, though ONNX does not say so: by torch's notes, and by the form of
straight-through estimators, x + (q - x).detach()."""

import os
import re
import sys

import numpy as np

sys.path.insert(0, os.path.dirname(__file__))
import dlc
import onnx
from rows_test import Rows
from support import IMPORT, SIGNATURE, call, model, node, run, value

DOMAIN = "ai.onnx.preview.training"


def gradient(x):
    """dx = d sum(y^2) / dx"""
    return [node("Mul", ["y", "y"], ["s"]), node("ReduceSum", ["s"], ["o"], keepdims=0),
            node("Gradient", [x], ["d" + x], domain=DOMAIN, xs=[x], y="o")]


class Stops(Rows):
    def slope(self, nodes, of="x"):
        """The derivative by x, or another input, of sum(y^2); y is right in any case."""
        x, q = self.floats(5), self.floats(5) * 3
        inputs = {"x": x, "q": q}
        proto = model(nodes + gradient(of), [value(k, [5]) for k in inputs], [value("y", None), value("d" + of, None)], opset=21,
                      domains=[DOMAIN])
        found = self.imported(proto, inputs)
        if found is None:
            self.assertIn(f"does not depend on '{of}' in a way that has a derivative", self.error)
            del proto.graph.node[-1], proto.graph.output[-1]
            found = self.imported(proto, inputs) | {"d" + of: 0 * x}
        _, _, self.error = run(IMPORT, self.path("m.onnx"))
        return found["d" + of], x, q, found["y"]

    def test_straight_through_estimators(self):
        forms = {
            "x + (q - x)": [node("Sub", ["q", "x"], ["d"]), node("Add", ["x", "d"], ["y"], name="/vq/Add")],
            "(q - x) + x": [node("Sub", ["q", "x"], ["d"]), node("Add", ["d", "x"], ["y"], name="/vq/Add")],
            "x - (x - q)": [node("Sub", ["x", "q"], ["d"]), node("Sub", ["x", "d"], ["y"], name="/vq/Add")],
        }
        for form, nodes in forms.items():
            with self.subTest(form=form):
                found, x, q, y = self.slope(nodes)
                self.near(y, q, "y", atol=1e-6)
                self.near(found, 2 * q, "dx")
                self.assertRegex(self.error, r"sums x \+ \(q - x\).* nothing learns through q - x: '/vq/Add'\. .*ai\.dlc\.StopGradient")
                found, *_ = self.slope(nodes, "q")
                self.near(found, 0 * q, "dq")

    def test_rounded(self):
        found, x, _, y = self.slope([node("Round", ["x"], ["r"]), node("Sub", ["r", "x"], ["d"]), node("Add", ["x", "d"], ["y"]),
                                     node("Mul", ["q", "q"], ["unused"])])
        self.near(y, np.round(x), "y")
        self.near(found, 2 * np.round(x), "dx")

    def test_other_sums(self):
        """Neither a plain residual nor one whose gradient is stopped already."""
        for form, expected, nodes in (
                ("x + (x - q)", lambda x, q: 4 * (2 * x - q), [node("Sub", ["x", "q"], ["d"]), node("Add", ["x", "d"], ["y"])]),
                ("(q - x) - x", lambda x, q: -4 * (q - 2 * x), [node("Sub", ["q", "x"], ["d"]), node("Sub", ["d", "x"], ["y"])]),
                ("x + (x - x)", lambda x, q: 2 * x, [node("Sub", ["x", "x"], ["d"]), node("Add", ["x", "d"], ["y"])])):
            with self.subTest(form=form):
                found, x, q, _ = self.slope(nodes)
                self.near(found, expected(x, q), "dx")
                self.assertNotIn("q - x", self.error)

    def test_a_node_that_stops_is_enough(self):
        found, _, q, _ = self.slope([node("StopGradient", ["x"], ["c"], domain="ai.dlc"), node("Sub", ["q", "c"], ["d"]),
                                     node("Add", ["d", "x"], ["y"])], "q")
        self.near(found, 2 * q, "dq")
        self.assertNotIn("q - x", self.error)

    def test_sizes_are_no_estimators(self):
        nodes = [node("Shape", ["x"], ["n"]), node("Sub", ["two", "n"], ["d"]), node("Add", ["n", "d"], ["m"]), node("Reshape", ["x", "m"], ["y"])]
        proto = model(nodes, [value("x", [5])], [value("y", None)], {"two": np.array([5])}, opset=21)
        x = self.floats(5)
        found = self.imported(proto, {"x": x})
        self.assertIsNotNone(found, self.error)
        self.near(found["y"], x, "y")
        self.assertNotIn("q - x", self.error)

    def test_notes_of_a_call(self):
        """torch's newer exporter, unoptimized: an Identity that notes the call."""
        nodes = [call(node("Identity", ["x"], ["detach"]), "detach", "%x"), call(node("Mul", ["x", "detach"], ["y"]), "mul", "%x, %detach")]
        found, x, _, y = self.slope(nodes)
        self.near(y, x * x, "y")
        self.near(found, 2 * x ** 3, "dx")
        self.assertNotIn("warning", self.error)

    def test_notes_of_a_reader(self):
        """Optimized: the Identity is gone, and who read it calls what it reads so."""
        for op, args, expected in (
                ("Mul", ("%x, %detach", ["x", "x"]), lambda x, q: 2 * x ** 3),
                ("Sub", ("%detach_1, %q", ["x", "q"]), lambda x, q: 0 * x),
                ("Sub", ("%x, %q", ["x", "q"]), lambda x, q: 2 * (x - q)),
                ("Sigmoid", ("%detach_", ["x"]), lambda x, q: 0 * x)):
            with self.subTest(args=args):
                found, x, q, _ = self.slope([call(node(op, args[1], ["y"]), op.lower(), args[0]), node("Neg", ["x"], ["unused"])])
                self.near(found, expected(x, q), "dx")
                self.assertNotIn("warning", self.error)

    def test_what_notes_say_is_no_guess(self):
        """The source detaches x alone, so that q learns."""
        nodes = [call(node("Sub", ["q", "x"], ["sub"]), "sub", "%q, %detach"), call(node("Add", ["sub", "x"], ["y"]), "add", "%sub, %x")]
        found, _, q, _ = self.slope(nodes, "q")
        self.near(found, 2 * q, "dq")
        found, _, q, _ = self.slope(nodes)
        self.near(found, 2 * q, "dx")
        self.assertNotIn("warning", self.error)

    def test_a_reader_of_several_nodes(self):
        """Nodes of one call read values of its own, which nothing detaches."""
        nodes = [call(node("Sub", ["q", "x"], ["val_0"]), "mse_loss", "%q, %detach"), call(node("Mul", ["val_0", "val_0"], ["y"]), "mse_loss", "%q, %detach")]
        for made in nodes:  # one call has one name
            for note in made.metadata_props:
                note.value = note.value.replace("%" + made.output[0], "%mse_loss")
        found, x, q, _ = self.slope(nodes, "q")
        self.near(found, 4 * (q - x) ** 3, "dq", rtol=1e-3)
        found, *_ = self.slope(nodes)
        self.near(found, 0 * x, "dx")

    def test_notes_that_do_not_say(self):
        nodes = [call(node("Sum", ["x", "q"], ["y"]), "own", "%detach, %other")]
        found, x, q, _ = self.slope(nodes)
        self.near(found, 2 * (x + q), "dx")
        self.assertRegex(self.error, "values that the source detaches, which the file's notes do not place; gradients go through them: 'y'")

    def test_a_parameter_that_is_detached(self):
        """w learns by one of its two readers, and stays one tensor."""
        detach = call(node("Identity", ["w"], ["detach"]), "detach", "%p_w")
        nodes = [call(node("Mul", ["x", "w"], ["a"]), "mul", "%x, %p_w"), call(node("Mul", ["a", "detach"], ["y"]), "mul", "%a, %detach")]
        folded = [nodes[0], call(node("Mul", ["a", "w"], ["y"]), "mul", "%a, %detach")]
        for graph in [detach, *nodes], folded:
            for weights in np.ones(5, np.float32), self.floats(5):
                proto = model(graph, [value("x", [5])], [value("y", [5])], {"w": weights})
                proto.producer_name = "pytorch"
                proto.graph.metadata_props.add(key=SIGNATURE, value="p_w: PARAMETER target='w'\nx: USER_INPUT\n")
                onnx.save(proto, self.path("m.onnx"))
                code, text, err = run(IMPORT, self.path("m.onnx"))
                self.assertEqual(code, dlc.OK, err)
                self.assertEqual(text.count("dlc.stop_gradient"), 1, text)
                self.assertEqual(re.findall(r"dlc.state @(\S+) : \S+ (\w+)", text), [("w", "param")], text)

    def test_a_merged_bias_of_a_layer_that_reads_a_detached_value(self):
        """linear(h.detach()) is two nodes; the bias in the second, merged with an equal one, is not what is detached."""
        nodes = [call(node("Add", ["x", "a.bias"], ["h"]), "add", "%x, %p_a_bias", "a"),
                 call(node("MatMul", ["h", "b.weight"], ["val_0"]), "linear", "%detach, %p_b_weight, %p_b_bias", "b"),
                 call(node("Add", ["val_0", "a.bias"], ["y"]), "linear", "%detach, %p_b_weight, %p_b_bias", "b")]
        for made in nodes[1:]:  # one call has one name
            for note in made.metadata_props:
                note.value = note.value.replace("%" + made.output[0], "%linear")
        proto = model(nodes, [value("x", [2, 4])], [value("y", [2, 4])], {"a.bias": np.zeros(4, np.float32), "b.weight": self.floats(4, 4)})
        proto.producer_name = "pytorch"
        parameters = "".join(f"p_{name.replace('.', '_')}: PARAMETER target='{name}'\n" for name in ("a.bias", "b.weight", "b.bias"))
        proto.graph.metadata_props.add(key=SIGNATURE, value=parameters + "x: USER_INPUT\n")
        onnx.save(proto, self.path("m.onnx"))
        code, text, err = run(IMPORT, self.path("m.onnx"))
        self.assertEqual(code, dlc.OK, err)
        self.assertEqual(text.count("dlc.stop_gradient"), 1, text)
        self.assertEqual(sorted(re.findall(r"dlc.state @(\S+) : \S+ param", text)), ["a.bias", "b.bias", "b.weight"], text)

    def test_the_export_has_no_such_nodes(self):
        weights = {"w": self.floats(4, 4)}
        nodes = [node("MatMul", ["x", "w"], ["h"]), node("Round", ["h"], ["r"]), node("Sub", ["r", "h"], ["d"]), node("Add", ["h", "d"], ["y"])]
        onnx.save(model(nodes, [value("x", [8, 4])], [value("y", [8, 4])], weights), self.path("m.onnx"))
        np.savez(self.path("data.npz"), x=self.floats(8, 4), y=self.floats(8, 4))
        artifact = dlc.compile(self.path("m.onnx"), self.path("m.dlc"), batch=8, loss="mse", optimizer="sgd", lr=0.5, weight_decay=0)
        dlc.train(artifact, self.path("data.npz"), self.path("run"), steps=3)
        dlc.dlc("export", self.path("run"), output=self.path("out.onnx"))
        out = onnx.load(self.path("out.onnx"))
        self.assertEqual([n.op_type for n in out.graph.node], [n.op_type for n in nodes])
        self.assertEqual([list(n.input) for n in out.graph.node], [list(n.input) for n in nodes])
        self.assertTrue((onnx.numpy_helper.to_array(out.graph.initializer[0]) != weights["w"]).any())


if __name__ == "__main__":
    dlc.main()
