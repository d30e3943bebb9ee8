# SPDX-License-Identifier: Apache-2.0
"""Models that must be refused: the message, the exit code, and nothing left behind."""

import os

import dlc
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def save(path, nodes, inputs, outputs, weights=(), opset=17):
    graph = helper.make_graph(nodes, "g", inputs, outputs, [
        numpy_helper.from_array(value, name) for name, value in dict(weights).items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    with open(path, "wb") as file:
        file.write(model.SerializeToString())


def floats(name, *shape):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


class BadModel(dlc.TestCase):
    def refuse(self, source, message, code=dlc.BAD_MODEL, **options):
        artifact = self.path("out.dlc")
        out, err = dlc.dlc("compile", source, "-o", artifact, code=code, timeout=20, **options)
        self.assertRegex(err, message)
        self.assertFalse(os.path.exists(artifact), "a refused model left an artifact")
        return err

    def write(self, content, name="model.onnx"):
        with open(self.path(name), "wb") as file:
            file.write(content)
        return self.path(name)

    def lenet(self):
        with open(dlc.model("lenet"), "rb") as file:
            return file.read()

    def test_missing_file(self):
        self.refuse(self.path("none.onnx"), r"none\.onnx.*(not found|no such file)", code=dlc.FAILED)

    def test_folder(self):
        self.refuse(self.folder, r"directory|folder|not a regular file")

    def test_empty_file(self):
        self.refuse(self.write(b""), r"model\.onnx.*")

    def test_text_file(self):
        self.refuse(self.write(b"this is not a model\n" * 50), r"model\.onnx.*not .*ONNX")

    def test_no_gradient(self):
        """Nothing would be trained: refused, with the node where the way back ends; clipping changes nothing."""
        w = dict(w=np.ones((3, 2), np.float32))
        product = helper.make_node("MatMul", ["x", "w"], ["a"])
        ends = {
            "cast": ([product, helper.make_node("Cast", ["a"], ["i"], to=TensorProto.INT64),
                      helper.make_node("Cast", ["i"], ["y"], to=TensorProto.FLOAT, name="back")],
                     r"Cast -> i.*: no gradient reaches any parameter: the path back from the loss ends at this dlc.cast"),
            "step": ([product, helper.make_node("Floor", ["a"], ["y"], name="steps")],
                     r"steps.*: no gradient .* ends at this dlc.floor"),
            "apart": ([helper.make_node("Slice", ["x", "zero", "two", "one"], ["y"]), product],
                      r"no gradient reaches any parameter: the loss depends on none of them"),
        }
        numbers = {name: np.array([i], np.int64) for i, name in enumerate(["zero", "one", "two"])}
        for name, (nodes, message) in ends.items():
            outputs = [floats("y", 4, 2)] + ([floats("a", 4, 2)] if name == "apart" else [])
            save(self.path("m.onnx"), nodes, [floats("x", 4, 3)], outputs, {**w, **numbers})
            for options in dict(loss="mse"), dict(loss="mse", clip_grad=1):
                with self.subTest(name, **options):
                    self.refuse(self.path("m.onnx"), message, batch=4, **options)

    def test_memory_of_no_machine(self):
        """More than 64 TiB: the exit code of a limit, and the tensors that take it."""
        nodes = [helper.make_node("MatMul", [f"v{i}" if i else "x", "w"], [f"v{i + 1}"]) for i in range(400)]
        save(self.path("m.onnx"), nodes, [floats("x", 1 << 30, 64)], [floats("v400", 1 << 30, 64)],
             dict(w=np.ones((64, 64), np.float32)))
        self.refuse(self.path("m.onnx"), r"takes .* TiB, a plan can describe at most 64.0 TiB.*(\n.*)*v\d+", code=dlc.LIMIT,
                    batch=1 << 30, loss="mse")

    def test_head(self):
        save(self.path("m.onnx"), [helper.make_node("MatMul", ["x"], ["y"], name="half")], [floats("x", 4, 3)],
             [floats("y", 4, 2)])
        self.refuse(self.path("m.onnx"), r"half.*input", replace_head=5)
        save(self.path("m.onnx"), [helper.make_node("MatMul", ["x", "w"], ["y"])], [floats("x", 4, 3)],
             [floats("y", 4, 2)], dict(w=np.ones((3, 2), np.float32)))
        self.refuse(self.path("m.onnx"), r"--replace-head: the new 'w' needs 1200000000000 bytes, .*--import-budget",
                    replace_head=10**11)
        self.refuse(self.path("m.onnx"), r"--replace-head: the new 'w' has more than 2.40 elements",
                    replace_head=2**62)

    def test_npz_as_model(self):
        self.refuse(dlc.data("digits-test"), r"digits-test\.npz.*ONNX")

    def test_truncated(self):
        content = self.lenet()
        for share in 0.1, 0.5, 0.9, 0.999:
            with self.subTest(share=share):
                self.refuse(self.write(content[: int(len(content) * share)]), r"model\.onnx")

    def test_unsupported_ops_are_all_listed(self):
        nodes = [helper.make_node("StringNormalizer", ["x"], ["a"], name="first"),
                 helper.make_node("StringConcat", ["a", "a"], ["b"], name="second"),
                 helper.make_node("Relu", ["b"], ["c"], name="fine")]
        save(self.path("m.onnx"), nodes, [floats("x", 2, 2)], [floats("c", 2, 2)])
        err = self.refuse(self.path("m.onnx"), r"StringNormalizer")
        for word in "first", "StringConcat", "second":
            self.assertIn(word, err)
        self.assertNotIn("fine", err)

    def test_many_unsupported_nodes_are_counted(self):
        nodes = [helper.make_node("StringNormalizer", ["x"], [f"y{i}"], name=f"node{i}") for i in range(9)]
        nodes.append(helper.make_node("Sum", [f"y{i}" for i in range(9)], ["y"]))
        save(self.path("m.onnx"), nodes, [floats("x", 2, 2)], [floats("y")])
        err = self.refuse(self.path("m.onnx"), r"StringNormalizer in 9 nodes: 'node0'.* and 5 more")
        self.assertNotIn("node4", err)

    def test_cycle(self):
        nodes = [helper.make_node("Add", ["x", "b"], ["a"], name="one"),
                 helper.make_node("Relu", ["a"], ["b"], name="two")]
        save(self.path("m.onnx"), nodes, [floats("x", 2)], [floats("b", 2)])
        self.refuse(self.path("m.onnx"), r"cycl|before|order|undefined")

    def test_undefined_output(self):
        nodes = [helper.make_node("Relu", ["x"], ["a"])]
        save(self.path("m.onnx"), nodes, [floats("x", 2)], [floats("missing", 2)])
        self.refuse(self.path("m.onnx"), r"missing")

    def test_wrong_shapes(self):
        nodes = [helper.make_node("MatMul", ["x", "w"], ["y"], name="product")]
        save(self.path("m.onnx"), nodes, [floats("x", 4, 8)], [floats("y", 4, 3)],
             {"w": np.ones((9, 3), np.float32)})
        self.refuse(self.path("m.onnx"), r"product", batch=4)

    def test_opset_too_new(self):
        nodes = [helper.make_node("Relu", ["x"], ["y"])]
        save(self.path("m.onnx"), nodes, [floats("x", 2, 2)], [floats("y", 2, 2)], opset=999)
        self.refuse(self.path("m.onnx"), r"opset.*999|999.*opset")

    def test_weight_shorter_than_its_shape(self):
        model = onnx.load(dlc.model("mlp"))
        tensor = next(t for t in model.graph.initializer if t.name == "f1.weight")
        tensor.raw_data = tensor.raw_data[:-4]
        self.refuse(self.write(model.SerializeToString()), r"f1\.weight")

    def test_weight_of_overflowing_shape(self):
        model = onnx.load(dlc.model("mlp"))
        tensor = next(t for t in model.graph.initializer if t.name == "f1.weight")
        tensor.dims[:] = [2**40, 2**40]
        self.refuse(self.write(model.SerializeToString()), r"f1\.weight")

    def test_weight_of_negative_shape(self):
        model = onnx.load(dlc.model("mlp"))
        tensor = next(t for t in model.graph.initializer if t.name == "f1.weight")
        tensor.dims[:] = [-48, -64]
        self.refuse(self.write(model.SerializeToString()), r"f1\.weight")

    def test_nothing_to_train(self):
        nodes = [helper.make_node("Relu", ["x"], ["y"])]
        save(self.path("m.onnx"), nodes, [floats("x", 2, 2)], [floats("y", 2, 2)])
        self.refuse(self.path("m.onnx"), r"parameter|trainable", batch=2)

    def external(self, location):
        model = onnx.load(dlc.model("mlp"))
        tensor = next(t for t in model.graph.initializer if t.name == "f1.weight")
        tensor.ClearField("raw_data")
        tensor.data_location = TensorProto.EXTERNAL
        tensor.external_data.add(key="location", value=location)
        os.makedirs(self.path("in"), exist_ok=True)
        return self.write(model.SerializeToString(), "in/model.onnx")

    def test_external_data_outside_the_folder(self):
        self.write(bytes(48 * 64 * 4), "canary.bin")
        for location in "../canary.bin", self.path("canary.bin"), "x/../../canary.bin":
            with self.subTest(location=location):
                self.refuse(self.external(location), r"f1\.weight|canary\.bin")

    def test_external_data_by_symlink(self):
        self.write(bytes(48 * 64 * 4), "canary.bin")
        source = self.external("data.bin")
        os.symlink(self.path("canary.bin"), self.path("in/data.bin"))
        self.refuse(source, r"data\.bin")

    def test_external_data_too_short(self):
        source = self.external("data.bin")
        self.write(bytes(100), "in/data.bin")
        self.refuse(source, r"f1\.weight|data\.bin")

    def test_external_data_missing(self):
        self.refuse(self.external("none.bin"), r"none\.bin")


if __name__ == "__main__":
    dlc.main()
