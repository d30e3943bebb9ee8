# SPDX-License-Identifier: Apache-2.0
"""A model exported by itself is the same model: names, metadata, outputs; trained values go where they came from."""

import os
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

sys.path.insert(0, os.path.dirname(__file__))
import dlc
from support import ROUNDTRIP, linear, model, node, run, value


def arrays(proto, folder=""):
    return {t.name: numpy_helper.to_array(t, folder) for t in proto.graph.initializer}


class Roundtrip(dlc.TestCase):
    def export(self, proto, *limit, code=dlc.OK):
        path = proto
        if not isinstance(proto, str):
            path = self.path("m.onnx")
            onnx.save(proto, path)
        status, out, err = run(ROUNDTRIP, "export", path, self.path("out.onnx"), *limit)
        self.assertEqual(status, code, err)
        self.printed, self.errors = out, err
        return onnx.load(self.path("out.onnx")) if code == dlc.OK else None

    def test_references(self):
        for name in "mlp", "lenet", "resnet8", "gpt_tiny":
            with self.subTest(name=name):
                source = onnx.load(dlc.model(name))
                result = self.export(dlc.model(name))
                onnx.checker.check_model(result, full_check=True)
                before, after = arrays(source), arrays(result)
                self.assertEqual(list(before), list(after))
                for key, old in before.items():
                    moved = 0 if "running_" in key else 1
                    np.testing.assert_array_equal(after[key], old + np.float32(moved), key)
                self.assertEqual([n.name for n in source.graph.node], [n.name for n in result.graph.node])
                self.assertEqual(source.opset_import, result.opset_import)
                self.assertEqual(source.graph.input, result.graph.input)
                size = int(self.printed.split()[1])
                self.assertLess(size, os.path.getsize(dlc.model(name)) / 2, "the skeleton holds no weights")

    def test_metadata_stays(self):
        proto = linear()
        proto.metadata_props.add(key="classes", value="cat,dog")
        proto.graph.node[0].metadata_props.add(key="origin", value="layer 1")
        result = self.export(proto)
        self.assertEqual(result.metadata_props, proto.metadata_props)
        self.assertEqual(result.graph.node[0].metadata_props, proto.graph.node[0].metadata_props)

    def test_batch_norm_becomes_inference(self):
        ones = np.ones(3, np.float32)
        names = ["scale", "shift", "mean", "var"]
        proto = model([node("BatchNormalization", ["x", *names], ["y", "m", "v"], training_mode=1, epsilon=0.5)],
                      [value("x", [4, 3, 2])], [value("y", [4, 3, 2])], {n: ones * (i + 1) for i, n in enumerate(names)})
        result = self.export(proto)
        onnx.checker.check_model(result, full_check=True)
        self.assertEqual(list(result.graph.node[0].output), ["y"])
        x = np.ones((4, 3, 2), np.float32)
        y = ReferenceEvaluator(result).run(None, {"x": x})[0]
        np.testing.assert_allclose(y, (x - 3) / np.sqrt(4.5) * 2 + 3, rtol=1e-6)

    def test_dropout_becomes_inference(self):
        proto = model([node("Dropout", ["x", "ratio", "training"], ["d"]), node("MatMul", ["d", "w"], ["y"])],
                      [value("x", [4, 2])], [value("y", [4, 2])],
                      {"ratio": np.float32(0), "training": np.array(True), "w": np.eye(2, dtype=np.float32)})
        result = self.export(proto)
        onnx.checker.check_model(result, full_check=True)
        self.assertEqual(list(result.graph.node[0].input), ["x", "ratio"])

    def test_merged_initializers_are_parted(self):
        """resnet8-eval reaches equal biases through Identity nodes; each convolution gets its own."""
        result = self.export(os.path.join(dlc.REFS, "resnet8-eval.onnx"))
        onnx.checker.check_model(result, full_check=True)
        self.assertNotIn("Identity", [n.op_type for n in result.graph.node])
        biases = [n.input[2] for n in result.graph.node if n.op_type == "Conv"]
        self.assertEqual(len(set(biases)), 9)

    def data_file(self):
        """The one beside the model, whose name is of its content."""
        [name] = [name for name in os.listdir(self.folder) if name.endswith(".data")]
        return name

    def test_external_data_out(self):
        source = linear()
        result = self.export(source, 50)
        data = self.data_file()
        self.assertRegex(data, r"^out\.onnx\.[0-9a-f]{16}\.data$")
        plain = onnx.load(self.path("out.onnx"), load_external_data=False)
        keys = {e.key: e.value for e in plain.graph.initializer[0].external_data}
        self.assertEqual(keys, {"location": data, "offset": "0", "length": "96"})
        np.testing.assert_array_equal(arrays(result)["w"], arrays(source)["w"] + 1)

    def test_external_data_in(self):
        source = linear()
        expected = arrays(source)["w"] + 1
        onnx.save(source, self.path("in.onnx"), save_as_external_data=True, location="in.data", size_threshold=0)
        result = self.export(self.path("in.onnx"))
        np.testing.assert_array_equal(arrays(result)["w"], expected)
        self.assertEqual([name for name in os.listdir(self.folder) if name.endswith(".data")], ["in.data"])

    def test_weights_in_typed_fields(self):
        proto = linear()
        tensor = proto.graph.initializer[0]
        values = numpy_helper.to_array(tensor).flatten()
        tensor.CopyFrom(helper.make_tensor("w", TensorProto.FLOAT, [8, 3], values))
        np.testing.assert_array_equal(arrays(self.export(proto))["w"].flatten(), values + 1)

    def test_packed_types_stay(self):
        """What a program holds in wider types goes back into the file's, odd counts and NaN as well."""
        kinds = "INT2 UINT2 INT4 UINT4 FLOAT4E2M1 FLOAT8E4M3FN FLOAT8E4M3FNUZ FLOAT8E5M2 FLOAT8E5M2FNUZ FLOAT8E8M0".split()
        proto = linear()
        for kind in kinds:
            code = TensorProto.DataType.Value(kind)
            bits = 8 if "8" in kind else 2 if kind.endswith("T2") else 4
            count = 256 if bits == 8 else 7
            last = (1 << (count * bits - 1) % 8 + 1) - 1  # bits behind the last element are 0
            raw = bytearray(range(256)) if bits == 8 else bytearray([0xb4, 0x6d, 0x25, 0x7f][:(count * bits + 7) // 8])
            raw[-1] &= last
            proto.graph.initializer.append(helper.make_tensor(kind, code, [count], bytes(raw), raw=True))
            proto.graph.node.append(node("Cast", [kind], [f"{kind}#"], to=TensorProto.FLOAT))
            proto.graph.node.append(node("Identity", [f"{kind}#"], [f"{kind}/y"]))
            proto.graph.output.append(value(f"{kind}/y", [count]))
        proto.opset_import[0].version, proto.ir_version = 25, 13
        result = {t.name: t for t in self.export(proto).graph.initializer}
        for tensor in proto.graph.initializer[1:]:
            with self.subTest(kind=tensor.name):
                self.assertEqual(result[tensor.name].data_type, tensor.data_type)
                found, expected = (numpy_helper.to_array(t).astype(np.float32) for t in (result[tensor.name], tensor))
                np.testing.assert_array_equal(found, expected)
                if "8" not in tensor.name:
                    self.assertEqual(result[tensor.name].raw_data, tensor.raw_data)

    def test_unwritable(self):
        onnx.save(linear(), self.path("m.onnx"))
        status, _, err = run(ROUNDTRIP, "export", self.path("m.onnx"), self.path("none/out.onnx"))
        self.assertEqual(status, dlc.FAILED)
        self.assertIn("none/out.onnx", err)

    def test_nothing_is_left_behind(self):
        self.export(linear(), 50)
        self.assertEqual(sorted(os.listdir(self.folder)), ["m.onnx", "out.onnx", self.data_file()])


if __name__ == "__main__":
    dlc.main()
