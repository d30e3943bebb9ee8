# SPDX-License-Identifier: Apache-2.0
"""Notes of torch's exporter are hints of an untrusted file: hostile ones neither change what a model computes nor cost much."""

import os
import resource
import sys

import numpy as np

sys.path.insert(0, os.path.dirname(__file__))
import dlc
import onnx
from support import FX, IMPORT, SCOPES, model, node, run, value

RULE = "pkg.onnxscript.rewriter.rule_name"
SIGNATURE = "pkg.torch.export.ExportedProgram.graph_signature"
SECONDS = 6  # of CPU on a busy machine
random = np.random.RandomState(0)


def floats(*shape):
    return random.randn(*shape).astype(np.float32)


def note(proto_node, target, args, scope=""):
    proto_node.metadata_props.add(key=FX, value=f"%y = call_function[target=torch.ops.aten.{target}](args = ({args}))")
    proto_node.metadata_props.add(key=SCOPES, value=f"['', '{scope}', 'y']")
    return proto_node


def without_bias(x, y, target, weight="k"):
    """A Conv whose notes say that the exporter dropped the zero bias `target`."""
    conv = note(node("Conv", [x, weight], [y]), "conv2d.default", f"%{x}, %p_k, %p_b")
    conv.metadata_props.add(key=RULE, value="RemoveOptionalBiasFromConv")
    return conv


class Notes(dlc.TestCase):
    def read(self, nodes, weights, parameters=(), x=(4, 8), signature=None, raw=None, output="y"):
        """Exit code; the text and messages are kept."""
        proto = model(nodes, [value("x", x)], [value(output, None)], weights)
        proto.producer_name = "pytorch"
        if signature is None:
            signature = "\n".join(f"{v}: PARAMETER target='{t}'" for v, t in parameters)
        proto.graph.metadata_props.add(key=SIGNATURE, value=signature)
        content = proto.SerializeToString()
        for old, new in raw or []:
            self.assertIn(old, content)
            content = content.replace(old, new)
        self.assertLess(len(content), 2 << 20)
        with open(self.path("m.onnx"), "wb") as file:
            file.write(content)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        code, self.text, self.errors = run(IMPORT, self.path("m.onnx"), "--batch=4", "--weights", timeout=60)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.assertLess(after.ru_utime - before.ru_utime, SECONDS)
        return code

    def test_a_dropped_bias_is_zero(self):
        """No other tensor becomes it, whatever its name."""
        weights = {"k": floats(6, 3, 1, 1), "b": floats(6)}
        nodes = [without_bias("x", "c", "b"), node("Mul", ["b", "b"], ["m"]), node("ReduceSum", ["m"], ["r"]),
                 node("Add", ["c", "r"], ["y"])]
        names = [("p_k", "k"), ("p_b", "b")]
        self.assertEqual(self.read(nodes, weights, names, x=(4, 3, 2, 2)), dlc.OK, self.errors)
        self.assertNotRegex(self.text, r"dlc\.conv %\S+, %\S+, %")
        weights["b"] = np.zeros(6, np.float32)
        self.assertEqual(self.read(nodes, weights, names, x=(4, 3, 2, 2)), dlc.OK, self.errors)
        self.assertRegex(self.text, r"dlc\.conv %\S+, %\S+, %")
        for target in "x", "c", "y":  # a value that nodes make is none either
            self.assertEqual(self.read(nodes, weights, [("p_k", "k"), ("p_b", target)], x=(4, 3, 2, 2)), dlc.OK, self.errors)

    def test_dropped_biases_ask_the_budget(self):
        nodes = [without_bias(f"v{i}" if i else "x", f"v{i + 1}", "b", f"k{i}") for i in range(1000)]
        for i, n in enumerate(nodes):
            n.attribute.add(name="group", type=onnx.AttributeProto.INT, i=100_000)
            n.op_type = "ConvTranspose"
            n.metadata_props[0].value = f"%y = call_function[target=torch.ops.aten.conv2d](args = (%x, %k, %p{i}))"
        names = [(f"p{i}", f"b{i}") for i in range(1000)]
        weights = {f"k{i}": np.ones((1, 10, 1, 1), np.float32) for i in range(1000)}
        self.assertEqual(self.read(nodes, weights, names, x=(4, 1, 1, 1), output="v1000"), dlc.BAD_MODEL)
        self.assertRegex(self.errors, "the dropped bias 'b[0-9]+' needs .* --import-budget=SIZE")

    def test_names_that_no_tensor_may_have(self):
        weights = {"w": floats(8, 8), "v": floats(8)}
        for target in "@" * 8, "n" * 300_000, "", "x", "y", "w", "v", "p":
            for raw in [None] if target[:1] != "@" else [[(b"@" * 8, b"\xff" * 8)], [(b"@" * 8, b"\0" * 8)]]:
                nodes = [note(node("Mul", ["x", "v"], ["p"]), "mul", f"%x, %p_v, %{target[:9]}", target[:400]),
                         note(node("MatMul", ["p", "w"], ["y"]), "matmul", "%p, %p_w")]
                self.assertEqual(self.read(nodes, weights, [("p_v", target), ("p_w", "w")], raw=raw), dlc.OK, self.errors)
                self.assertNotIn("nnnnnnnnnn", self.text)
                self.assertEqual(self.text.count("dlc.read"), 2)

    def test_long_notes_are_read_once(self):
        """Uses times words, uses times bytes and words times bytes stay below the budget."""
        count = 40_000
        words = ", ".join(f"%a{i}" for i in range(120_000))
        for args, scope in (words, ""), ("%" + "a" * 900_000, ""), (", ".join(["%p_a"] * 100_000), "s" * 900_000):
            nodes = [note(node("Concat", ["v"] * count, ["c"], axis=0), "cat", args, scope), node("ReduceMax", ["c"], ["r"]),
                     node("Add", ["x", "r"], ["y"])]
            code = self.read(nodes, {"v": floats(1)}, [("p_a", "a"), ("p_b", "b.c")])
            self.assertIn(code, (dlc.OK, dlc.BAD_MODEL), self.errors)

    def test_signatures_that_are_none(self):
        nodes = [note(node("Mul", ["x", "add_1"], ["p"]), "mul", "%x, %add_1", "n"), node("MatMul", ["p", "w"], ["y"])]
        for signature in ["PARAMETER target='" * 1000, "a: PARAMETER target='b\na: BUFFER target='b'", ": PARAMETER target=''",
                          "\n" * 1_000_000, "a: PARAMETER target='w'\n" * 50_000, "a: PARAMETER target='n.w'\nb: BUFFER target='n.w'"]:
            self.assertEqual(self.read(nodes, {"w": floats(8, 8), "add_1": floats(8)}, signature=signature), dlc.OK, self.errors)


if __name__ == "__main__":
    dlc.main()
