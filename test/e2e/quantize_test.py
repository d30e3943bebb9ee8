# SPDX-License-Identifier: Apache-2.0
"""dlc export --quantize=int8: integers that onnxruntime and dlc predict read alike, and that lose little; what has them is said."""

import os

import dlc
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper


def evaluate(model, x):
    path = model if isinstance(model, str) else model.SerializeToString()
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return session.run(None, {session.get_inputs()[0].name: x})[0]


def arrays_of(path):
    return {tensor.name: numpy_helper.to_array(tensor) for tensor in onnx.load(path).graph.initializer}


def spread(samples, count):
    return samples[np.arange(count) * len(samples) // count]


def divergence(counts, end):
    """KL(P || Q) of the first bins, written from the description in Entropy.h."""
    inside = counts[:end]
    p, q = inside.copy(), np.zeros(end)
    p[-1] += counts[end:].sum()
    for level in range(128):
        part = slice(level * end // 128, (level + 1) * end // 128)
        holds = inside[part] > 0
        if holds.any():
            q[part] = np.where(holds, inside[part].sum() / holds.sum(), 0)
    p, q = p / p.sum(), q / q.sum()
    if (q[p > 0] == 0).any():
        return np.inf
    return (p[p > 0] * np.log(p[p > 0] / q[p > 0])).sum()


class Quantize(dlc.TestCase):
    def export(self, run, name, **options):
        path = self.path(name + ".onnx")
        _, self.err = dlc.dlc("export", run, "-o", path, **options)
        onnx.checker.check_model(path, full_check=True)
        return path

    def quantized(self, run, data, **options):
        return self.export(run, "int8", quantize="int8", calibration=data, **options)

    def accuracies(self, run, data, x, y):
        """Of f32 and of int8, by onnxruntime."""
        paths = self.export(run, "f32"), self.quantized(run, data)
        return [float((evaluate(path, x).argmax(1) == y).mean()) for path in paths]

    def check_predicts(self, path, x):
        """By dlc as by onnxruntime, whose integers may round otherwise."""
        artifact = dlc.compile(path, self.path("int8.dlc"), predict_only=True, batch=50)
        np.savez(self.path("x.npz"), x=x)
        dlc.dlc("predict", artifact, "-o", self.path("y.npz"), data=self.path("x.npz"))
        with np.load(self.path("y.npz")) as file:
            found = file["y"]
        expected = evaluate(path, x)
        self.assertNear(found.reshape(expected.shape), expected, 0.02, "logits")
        self.assertGreater((found.reshape(expected.shape).argmax(-1) == expected.argmax(-1)).mean(), 0.99)

    def test_lenet(self):
        artifact = dlc.compile(dlc.model("lenet"), self.path("m.dlc"), optimizer="adamw", lr=0.003)
        train = dlc.data("mnist-train")
        run = dlc.train(artifact, train, self.path("run"), epochs=2, threads=1).folder
        with np.load(dlc.data("mnist-test")) as data:
            x, y = data["x"].astype(np.float32) / 255, data["y"]
        f32, int8 = self.accuracies(run, train, x, y)
        self.assertGreater(f32, 0.9)
        self.assertLessEqual(abs(f32 - int8), 0.01)
        path = self.path("int8.onnx")
        for node in "Conv", "Gemm":
            self.assertRegex(self.err, rf"int8: .*{node}")
        self.assertRegex(self.err, r"stays f32, as it has no weight to multiply with: .*MaxPool")
        self.assertRegex(self.err, r"int8\.onnx: 5 of 5 Conv, Gemm and MatMul in int8, by 256 samples of '.*mnist-train\.npz'\n")
        self.check_predicts(path, x[:50])
        self.check_numbers(self.path("f32.onnx"), path, train)
        self.check_percentile(run, train)
        path = self.check_entropy(run, train)
        self.assertLessEqual(abs(f32 - float((evaluate(path, x).argmax(1) == y).mean())), 0.01)

    def check_numbers(self, source, path, data):
        """Scales, zero points and integers, from the weights and from what onnxruntime computes."""
        model, plain, arrays = onnx.load(source), arrays_of(source), arrays_of(path)
        self.assertFalse(set(arrays) & {name for name in plain if name.endswith("weight")})
        for name in (name for name in plain if name.endswith("weight")):
            w, q, s = plain[name], arrays[name + "_quantized"], arrays[name + "_scale"]
            self.assertEqual((q.dtype, q.shape), (np.int8, w.shape))
            shape = (-1,) + (1,) * (w.ndim - 1)
            np.testing.assert_array_equal(s, np.abs(w).reshape(len(w), -1).max(1) / np.float32(127))
            np.testing.assert_array_equal(q, np.clip(np.rint(w / s.reshape(shape)), -127, 127))
        with np.load(data) as file:
            x = spread(file["x"], 256).astype(np.float32) / 255
        nodes = [node for node in model.graph.node if node.op_type in ("Conv", "Gemm")]
        model.graph.output.extend(helper.make_tensor_value_info(node.input[0], TensorProto.FLOAT, None) for node in nodes[1:])
        session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        values = [x, *session.run([node.input[0] for node in nodes[1:]], {session.get_inputs()[0].name: x})]
        for node, value in zip(nodes, values):
            low, high = min(value.min(), 0), max(value.max(), 0)
            scale, zero = arrays[node.input[0] + "_scale"], arrays[node.input[0] + "_zero_point"]
            np.testing.assert_allclose(scale, (high - low) / 255, rtol=1e-5)
            self.assertLessEqual(abs(int(zero) - (-128 - low / scale)), 0.51)
            bias, weights = plain[node.input[2]], arrays[node.input[1] + "_scale"]
            self.assertEqual(arrays[node.input[2] + "_quantized"].dtype, np.int32)
            np.testing.assert_allclose(arrays[node.input[2] + "_quantized"] * (scale * weights), bias, atol=float((scale * weights).max()))
        self.values = {node.input[0]: value for node, value in zip(nodes, values)}

    def check_percentile(self, run, data):
        path = self.quantized(run, data, calibration_method="percentile", percentile=99)
        arrays = arrays_of(path)
        cut = 0
        for name, value in self.values.items():
            most = np.percentile(np.abs(value), 99)
            low, high = max(min(value.min(), 0), -most), min(max(value.max(), 0), most)
            cut += most < np.abs(value).max()
            np.testing.assert_allclose(arrays[name + "_scale"], (high - low) / 255, atol=2 * np.abs(value).max() / 4096 / 255)
        self.assertGreater(cut, 2)

    def check_entropy(self, run, data):
        """The range is one of the least divergence, found here by trying all."""
        path = self.quantized(run, data, calibration_method="entropy")
        arrays, cut = arrays_of(path), 0
        for name, value in self.values.items():
            low, high, most = min(value.min(), 0), max(value.max(), 0), np.abs(value).max()
            bins = np.minimum((np.abs(value) / most * 4096).astype(int), 4095)
            counts = np.bincount(bins.ravel(), minlength=4096).astype(float)
            counts[0] = counts[1]
            found = {end: divergence(counts, end) for end in range(128, 4097, 16) if counts[end:].sum() <= counts.sum() / 100}
            ranges = {end: min(high, most * end / 4096) - max(low, -most * end / 4096) for end in found}
            chosen = min(found, key=lambda end: abs(ranges[end] / 255 - arrays[name + "_scale"]))
            np.testing.assert_allclose(arrays[name + "_scale"], ranges[chosen] / 255, rtol=1e-4)
            self.assertLessEqual(found[chosen], min(found.values()) * 1.05 + 1e-9, name)
            cut += chosen < 4096
        self.assertGreater(cut, 0)
        return path

    def test_resnet(self):
        """Batch norms are folded into the convolutions, which keep their names."""
        sets = {}
        for part in "train", "test":
            with np.load(dlc.data("digits-" + part)) as data:
                x = np.kron(data["x"].astype(np.float32) / 16, np.ones((1, 3, 4, 4), np.float32))
                sets[part] = x, data["y"]
                np.savez(self.path(part + ".npz"), x=x, y=data["y"])
        artifact = dlc.compile(dlc.model("resnet8"), self.path("m.dlc"), batch=25, optimizer="adamw", lr=0.003)
        run = dlc.train(artifact, self.path("train.npz"), self.path("run"), epochs=2, threads=1).folder
        f32, int8 = self.accuracies(run, self.path("train.npz"), *sets["test"])
        self.assertGreater(f32, 0.8)
        self.assertLessEqual(abs(f32 - int8), 0.01)
        self.assertRegex(self.err, r"10 of 10 Conv, Gemm and MatMul in int8, by 256 samples of '.*train\.npz'; 9 batch norms folded")
        self.assertFalse([node for node in onnx.load(self.path("int8.onnx")).graph.node if node.op_type == "BatchNormalization"])
        self.assertIn("conv1.weight_quantized", arrays_of(self.path("int8.onnx")))
        self.check_predicts(self.path("int8.onnx"), sets["test"][0][:50])

    def test_text(self):
        """Weights behind a Transpose; products of two activations stay, and are said; tokens have no range."""
        artifact = dlc.compile(os.path.join(dlc.REFS, "generate.onnx"), self.path("m.dlc"), batch=4)
        path = self.quantized(artifact, dlc.data("text-train"), samples=40)
        self.assertRegex(self.err, r"stays f32: .* \(MatMul\): its second input is no weight of the model")
        self.assertRegex(self.err, r"int8: .*head.*MatMul")
        with np.load(dlc.data("text-test")) as data:
            x = data["x"][:20]
        expected = evaluate(self.export(artifact, "f32"), x)
        found = evaluate(path, x)
        self.assertNear(found, expected, 0.05, "logits")
        self.assertGreater(np.abs(found - expected).max(), 1e-4)

    def small(self, nodes, arrays, opset=17):
        graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 3])], [numpy_helper.from_array(a, n) for n, a in arrays.items()])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8), self.path("m.onnx"))
        np.savez(self.path("d.npz"), x=np.arange(12, dtype=np.float32).reshape(4, 3) - 5)
        return dlc.compile(self.path("m.onnx"), self.path(f"m{opset}{len(nodes)}.dlc"), predict_only=True)

    def test_biases(self):
        """A channel of next to no weight has a scale with which its bias fits into an i32; of another shape it stays f32; zeros have a scale."""
        w = np.array([[1e-30, 0, 1], [1e-30, 0, -2], [1e-30, 0, 3]], np.float32)
        gemm = [helper.make_node("Gemm", ["x", "w", "b"], ["h"], name="one"), helper.make_node("Gemm", ["h", "w2", "b2"], ["y"], name="two")]
        arrays = {"w": w, "b": np.array([1, 0, 1], np.float32), "w2": np.eye(3, dtype=np.float32), "b2": np.ones((1, 3), np.float32)}
        path = self.quantized(self.small(gemm, arrays), self.path("d.npz"))
        self.assertIn("stays f32: b2: it is no vector", self.err)
        found = arrays_of(path)
        np.testing.assert_allclose(found["w_scale"], np.array([127 / found["x_scale"] * 2.0**-30, 127, 3], np.float32) / 127, rtol=1e-6)
        np.testing.assert_array_equal(found["w_quantized"], [[0, 0, 42], [0, 0, -85], [0, 0, 127]])
        with np.load(self.path("d.npz")) as data:
            x = data["x"][:2]
        np.testing.assert_allclose(evaluate(path, x), evaluate(self.path("m.onnx"), x), atol=0.3)

    def refuse(self, artifact, message, code=dlc.FAILED, **options):
        options = dict(quantize="int8", calibration=self.path("d.npz")) | options
        _, err = dlc.dlc("export", artifact, "-o", self.path("out.onnx"), code=code, **options)
        self.assertRegex(err, message)
        self.assertFalse(os.path.exists(self.path("out.onnx")))

    def test_what_is_refused(self):
        w = np.ones((3, 3), np.float32)
        relu = self.small([helper.make_node("Relu", ["x"], ["y"])], {})
        self.refuse(relu, "the model has no Conv, Gemm or MatMul with a weight of its own to quantize")
        product = [helper.make_node("MatMul", ["x", "w"], ["y"])]
        old = self.small(product, {"w": w}, opset=12)
        self.refuse(old, "the model is of opset 12: int8 with a scale for each channel needs 13 or newer", dlc.BAD_MODEL)
        new = self.small(product, {"w": w})
        self.refuse(new, "--quantize=int8 needs --calibration=PATH", dlc.USAGE, calibration=None)
        self.refuse(new, "--calibration needs --quantize=int8", dlc.USAGE, quantize=None)
        self.refuse(new, "--percentile needs --calibration-method=percentile", dlc.USAGE, percentile=99)
        self.refuse(new, "--quantize is of a model, not of its adapters", dlc.USAGE, lora="adapters")
        np.savez(self.path("nan.npz"), x=np.full((2, 3), np.nan, np.float32))
        self.refuse(new, "x: it has nan", dlc.DIVERGED, calibration=self.path("nan.npz"))
        path = self.quantized(new, self.path("d.npz"))
        again = dlc.compile(path, self.path("again.dlc"), predict_only=True)
        self.refuse(again, "the model is quantized already", dlc.BAD_MODEL)


if __name__ == "__main__":
    dlc.main()
