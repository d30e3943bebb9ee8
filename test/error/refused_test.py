# SPDX-License-Identifier: Apache-2.0
"""What could not be trained, evaluated or predicted is refused when it is compiled."""

import os
import shutil

import dlc
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOAT = TensorProto.FLOAT


def value(name, shape, kind=FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def model(nodes, inputs, outputs, weights=None):
    tensors = [numpy_helper.from_array(np.asarray(v), k) for k, v in (weights or {}).items()]
    return helper.make_model(helper.make_graph(nodes, "g", inputs, outputs, tensors), ir_version=9,
                             opset_imports=[helper.make_opsetid("", 17)])


def linear(*others, inputs=(), outputs=(), weights=None, source="x"):
    """z = x w, with w of shape [8, 3], beside other nodes."""
    return model([helper.make_node("MatMul", [source, "w"], ["z"], name="product"), *others],
                 [value("x", [4, 8]), *inputs], [value("z", [4, 3]), *outputs],
                 {"w": np.ones([8, 3], np.float32), **(weights or {})})


class Refused(dlc.TestCase):
    def write(self, content):
        if not isinstance(content, bytes):
            content = content.SerializeToString()
        with open(self.path("m.onnx"), "wb") as file:
            file.write(content)
        return self.path("m.onnx")

    def refuse(self, content, message, **options):
        _, err = dlc.dlc("compile", self.write(content), "-o", self.path("m.dlc"), code=dlc.BAD_MODEL, timeout=60, batch=4, **options)
        self.assertRegex(err, message)
        self.assertFalse(os.path.exists(self.path("m.dlc")))

    def use(self, content, x="x", **options):
        """Compiles, trains, evaluates, predicts and exports; the predictions and the exported model."""
        dlc.dlc("compile", self.write(content), "-o", self.path("m.dlc"), batch=4, **options)
        np.savez(self.path("d.npz"), **{x: np.ones([8, 8], np.float32), "y": np.zeros(8, np.int64)})
        data, run = self.path("d.npz"), self.path("run")
        dlc.dlc("train", self.path("m.dlc"), data=data, run=run, steps=2, threads=1)
        dlc.dlc("eval", run, data=data)
        dlc.dlc("predict", run, "-o", self.path("z.npz"), data=data)
        dlc.dlc("export", run, "-o", self.path("out.onnx"))
        with open(self.path("out.onnx"), "rb") as file:
            return np.load(self.path("z.npz")), file.read()

    def test_names_that_are_not_utf8(self):
        parts = linear(helper.make_node("LeakyRelu", ["x"], ["MARK_value"], name="MARK_node", alpha=0.5),
                       helper.make_node("ReduceSum", ["MARK_value", "MARK_weight"], ["MARK_output"], keepdims=1),
                       inputs=[value("MARK_input", [4, 8])], outputs=[value("MARK_output", [4, 1])],
                       weights={"MARK_weight": np.array([1])}).SerializeToString()
        for what, kind in {"value": "a value", "node": "a node", "output": "a graph output", "input": "a graph input",
                           "weight": "an initializer"}.items():
            with self.subTest(what=what):
                self.refuse(parts.replace(b"MARK_" + what.encode(), b"MA\xff\xfe_" + what.encode()),
                            rf"m\.onnx: the name of {kind}, 'MA\\xff\\xfe_{what}', is not UTF-8")
        self.refuse(parts.replace(b"alpha", b"al\xc3(a"), r"the name of an attribute, 'al\\xc3\(a', is not UTF-8")

    def test_names_too_long_for_a_data_file(self):
        proto = linear(source="i" * 40000)
        proto.graph.input[0].name = "i" * 40000
        self.refuse(proto, r"the name of a graph input, 'iii[i.]*', has 40000 bytes, expected at most 1000")

    def test_metadata_that_is_not_utf8(self):
        proto = linear()
        proto.metadata_props.add(key="author", value="MARK")
        proto.doc_string = proto.graph.node[0].doc_string = "MARK"
        _, exported = self.use(proto.SerializeToString().replace(b"MARK", b"M\xe9\xff\0"))
        self.assertGreaterEqual(exported.count(b"M\xe9\xff\0"), 2)

    def test_labels_without_a_batch(self):
        """Those of an output that is of a batch as a whole."""
        proto = linear(helper.make_node("ReduceSum", ["z", "first"], ["columns"], keepdims=0),
                       outputs=[value("columns", [3])], weights={"first": np.array([0])})
        self.refuse(proto, r"m\.onnx: input 'y.columns' has shape \[3\], expected rows for each of 4 samples", loss="columns:mse")

    def test_no_inputs(self):
        proto = model([helper.make_node("MatMul", ["v.weight", "w.weight"], ["z"])], [], [value("z", [4, 3])],
                      {"v.weight": np.ones([4, 8], np.float32), "w.weight": np.ones([8, 3], np.float32)})
        self.refuse(proto, r"m\.onnx: the model's result does not depend on an input")

    def test_input_types(self):
        for kind in TensorProto.STRING, TensorProto.COMPLEX64, TensorProto.COMPLEX128, 77:
            self.refuse(linear(inputs=[value("i", [4, 2], kind)]), r"input 'i': data type \S+")

    def test_labels_and_inputs(self):
        proto = linear(helper.make_node("Add", ["x", "y"], ["sum"]), inputs=[value("y", [4, 8])], source="sum")
        self.refuse(proto, r"input 'y' has the name of the labels; rename it in the model")
        only = model([helper.make_node("MatMul", ["y", "w"], ["z"])], [value("y", [4, 8])], [value("z", [4, 3])],
                     {"w": np.ones([8, 3], np.float32)})
        found, _ = self.use(only)
        self.assertEqual(found["y"].shape, (8, 3))

    def test_random_shapes(self):
        for shape in [-5], [4, -1], [2**40, 2**40]:
            noise = helper.make_node("RandomNormal", [], ["r"], shape=shape, name="noise")
            proto = linear(noise, helper.make_node("Add", ["r", "x"], ["sum"]), source="sum")
            self.refuse(proto, r"noise.*(negative dimension|more than 2.40 elements)")

    def test_zero_sizes(self):
        empty = np.zeros([0, 3], np.float32)
        for nodes, weights in [
                ([helper.make_node("Concat", ["z", "e.weight"], ["c"], axis=0)], {"e.weight": empty}),
                ([helper.make_node("Slice", ["z", "from", "to"], ["c"])], {"from": np.array([2, 2]), "to": np.array([2, 2])})]:
            proto = linear(*nodes, outputs=[value("c", None)], weights=weights)
            code = dlc.start("compile", self.write(proto), "-o", self.path("m.dlc"), batch=4)
            status, _, err = dlc.finish(code)
            self.assertIn(status, (dlc.OK, dlc.BAD_MODEL), err)
            if status == dlc.OK:
                self.use(proto)
                shutil.rmtree(self.path("run"))


if __name__ == "__main__":
    dlc.main()
