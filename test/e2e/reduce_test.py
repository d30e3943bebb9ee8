# SPDX-License-Identifier: Apache-2.0
"""dlc debug reduce finds the few nodes of a large model on which a command fails, as a model that fails alike."""

import os
import shutil
import signal
import subprocess
import time

import dlc
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

# Fails, with code 9, on files that have every one of these words.
HAS_ALL = 'for word in %s; do grep -q "$word" "$1" || exit 0; done; echo "has %s" >&2; exit 9'


def chain(length, planted=None, width=8):
    """Branches that meet again, of `length` nodes; `planted`: {place: (operator, its other inputs, attributes)}."""
    nodes, at, side = [], "x", "x"
    for i in range(length):
        name, planned = f"node{i}", (planted or {}).get(i)
        if planned:
            op, others, attributes = planned
            nodes.append(helper.make_node(op, [at, *others], [f"t{i}"], name=name, **attributes))
        elif i % 5 == 3:
            nodes.append(helper.make_node("Add", [at, side], [f"t{i}"], name=name))
            side = at
        elif i % 5 == 1:
            nodes.append(helper.make_node("MatMul", [at, "w"], [f"t{i}"], name=name))
        else:
            nodes.append(helper.make_node(["Relu", "Sigmoid", "Tanh"][i % 3], [at], [f"t{i}"], name=name))
        at = f"t{i}"
    random = np.random.default_rng(1)
    weights = [numpy_helper.from_array(random.normal(size=(width, width)).astype(np.float32), "w"),
               numpy_helper.from_array(np.ones((width - 1, width), np.float32), "wrong")]
    info = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", width]) for name in ("x", at)]
    graph = helper.make_graph(nodes, "g", info[:1], info[1:], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("my.ops", 1)], ir_version=8)


class Reduce(dlc.TestCase):
    def reduce(self, model, *command, code=dlc.OK, **options):
        if not isinstance(model, str):
            onnx.save(model, self.path("m.onnx"))
            model = self.path("m.onnx")
        words = [dlc.DLC, "debug", "reduce", model, "-o", self.path("small.onnx"), *dlc.flags(options), "--", *command]
        ran = subprocess.run(words, capture_output=True, text=True, timeout=100)
        self.out, self.err = ran.stdout, ran.stderr
        self.assertEqual(ran.returncode, code, self.out + self.err)
        return onnx.load(self.path("small.onnx")).graph if code == dlc.OK else None

    def grep(self, *words):
        return "sh", "-c", HAS_ALL % (" ".join(words), " ".join(words)), "_", "{}"

    def names(self, graph):
        return [node.name for node in graph.node]

    def test_an_operator_that_is_refused(self):
        """400 nodes become one, that dlc refuses alike; what it reads has the type and shape that it had."""
        proto = chain(400, {251: ("Frobnicate", [], dict(domain="my.ops"))})
        graph = self.reduce(proto, dlc.DLC, "check", "{}", match="Frobnicate")
        self.assertEqual(self.names(graph), ["node251"])
        (value,) = graph.input
        shape = [dim.dim_param or dim.dim_value for dim in value.type.tensor_type.shape.dim]
        self.assertEqual((value.name, value.type.tensor_type.elem_type, shape), ("t250", TensorProto.FLOAT, ["batch", 8]))
        self.assertRegex(self.out, r"^.*small\.onnx: 1 of 400 nodes, by \d+ runs\n  Frobnicate 'node251'\n")
        self.assertRegex(self.err, r"exit code 3; its last line is '.*Frobnicate")
        _, err = dlc.dlc("check", self.path("small.onnx"), code=dlc.BAD_MODEL)
        self.assertIn("Frobnicate", err)

    def test_shapes_that_do_not_fit(self):
        graph = self.reduce(chain(120, {77: ("MatMul", ["wrong"], {})}), dlc.DLC, "check", "{}", match="node77")
        self.assertEqual(self.names(graph), ["node77"])
        self.assertEqual([tensor.name for tensor in graph.initializer], ["wrong"])

    def test_norms_in_training_form(self):
        """Their statistics are results that nobody reads."""
        proto = onnx.load(dlc.model("resnet8"))
        next(node for node in proto.graph.node if node.op_type == "Relu").op_type = "Rellu"
        graph = self.reduce(proto, dlc.DLC, "check", "{}", match="Rellu")
        self.assertEqual(self.names(graph), ["/Relu"])

    def test_nodes_far_from_each_other(self):
        """Both are needed: no half fails. Of each other two, none is."""
        graph = self.reduce(chain(400), *self.grep("node37", "node333"))
        self.assertEqual(self.names(graph), ["node37", "node333"])
        self.assertIn("any failure with exit code 9 counts", self.err)
        onnx.checker.check_model(onnx.load(self.path("small.onnx")), full_check=True)

    def test_what_comes_along(self):
        """Constants, functions and what inner graphs read; external data lies in the file."""
        proto = chain(30)
        node = proto.graph.node
        inner = helper.make_graph([helper.make_node("Inside", ["t4"], ["i"], name="inner", domain="my.ops")], "inner", [],
                                  [helper.make_tensor_value_info("i", TensorProto.FLOAT, None)])
        node.insert(0, helper.make_node("Constant", [], ["yes"], value=helper.make_tensor("v", TensorProto.BOOL, [], [True])))
        node.append(helper.make_node("If", ["yes"], ["choice"], name="choose", then_branch=inner, else_branch=inner))
        node.append(helper.make_node("MatMul", ["choice", "w"], ["end"], name="last"))
        proto.graph.output[0].name = "end"
        for name in "Inside", "Other":
            proto.functions.append(helper.make_function("my.ops", name, ["a"], ["b"], [helper.make_node("Relu", ["a"], ["b"])],
                                                        [helper.make_opsetid("", 17)]))
        onnx.save(proto, self.path("m.onnx"), save_as_external_data=True, location="m.data", size_threshold=0)
        graph = self.reduce(self.path("m.onnx"), *self.grep("choose", "last"))
        self.assertEqual([node.op_type for node in graph.node], ["Constant", "If", "MatMul"])
        self.assertEqual([value.name for value in graph.input], ["t4"])
        self.assertEqual([f.name for f in onnx.load(self.path("small.onnx")).functions], ["Inside"])
        os.remove(self.path("m.data"))
        (weight,) = onnx.load(self.path("small.onnx")).graph.initializer
        np.testing.assert_array_equal(numpy_helper.to_array(weight), numpy_helper.to_array(chain(1).graph.initializer[0]))

    def test_a_part_that_hangs_does_not_fail(self):
        """It is killed with what it has started."""
        script = 'grep -q node3 "$1" || { sleep 77 & wait; }; exit 9'
        began = time.monotonic()
        graph = self.reduce(chain(8), "sh", "-c", script, "_", "{}", timeout=0.3)
        self.assertEqual(self.names(graph), ["node3"])
        self.assertLess(time.monotonic() - began, 30)

    def test_what_leaves_the_group_is_not_waited_for(self):
        """It holds the command's standard output, which is read, open."""
        script = 'setsid sleep 20 & grep -q node3 "$1" || exit 0; exit 9'
        began = time.monotonic()
        graph = self.reduce(chain(5), "sh", "-c", script, "_", "{}")
        self.assertEqual(self.names(graph), ["node3"])
        self.assertLess(time.monotonic() - began, 15)

    def test_interrupted(self):
        onnx.save(chain(400), self.path("m.onnx"))
        script = f'echo >> {self.path("runs")}; sleep 0.1; {self.grep("node37", "node333")[2]}'
        process = dlc.start("debug", "reduce", self.path("m.onnx"), "-o", self.path("small.onnx"), "--", "sh", "-c", script, "_", "{}")
        while not os.path.exists(self.path("runs")) or os.path.getsize(self.path("runs")) < 6:
            self.assertIsNone(process.poll())
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 130)
        self.assertRegex(err, r"stopped: '.*small\.onnx' has the smallest part so far, \d+ nodes")
        names = self.names(onnx.load(self.path("small.onnx")).graph)
        self.assertTrue({"node37", "node333"} <= set(names) and len(names) < 400, len(names))
        self.assertEqual(sorted(os.listdir(self.folder)), ["m.onnx", "runs", "small.onnx"])

    def test_refused(self):
        proto = chain(5)
        for command, options, code, message in [
                (["true", "{}"], {}, 1, r"the command does not fail on '.*m\.onnx': exit code 0, nothing to reduce"),
                (self.grep("node1"), dict(match="segfault"), 1, r"exit code 9, but no line of its standard error has 'segfault'; its last line is 'has node1'"),
                (["sh", "-c", "sleep 30", "{}"], dict(timeout=0.1), 1, r"still runs after 0\.1 s on '.*m\.onnx': raise --timeout"),
                (["false"], {}, 2, r"has no word with \{\}"), (["no-such-program", "{}"], {}, 1, r"cannot run 'no-such-program': No such file"),
                (["false", "{}"], dict(dim="n"), 2, r"--dim: expected NAME=N, found 'n'"),
                (["sh", "-c", 'cmp -s "$1" ' + self.path("m.onnx") + " && exit 9", "_", "{}"], {}, 1, "a copy of the model does not fail")]:
            with self.subTest(command=command):
                self.reduce(proto, *command, code=code, **options)
                self.assertRegex(self.err, message)
                self.assertFalse(os.path.exists(self.path("small.onnx")))
        _, err = dlc.dlc("debug", "reduce", self.path("m.onnx"), "--", "false", "{}", code=dlc.USAGE)
        self.assertIn('output', err)
        shutil.copy(__file__, self.path("text.onnx"))
        self.reduce(self.path("text.onnx"), "false", "{}", code=dlc.BAD_MODEL)
        self.assertIn("not an ONNX model", self.err)
        del proto.graph.node[:]
        proto.graph.output[0].CopyFrom(proto.graph.input[0])
        self.reduce(proto, "false", "{}", code=dlc.BAD_MODEL)
        self.assertIn("no nodes to leave out", self.err)


if __name__ == "__main__":
    import unittest
    unittest.main()
