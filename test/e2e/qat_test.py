# SPDX-License-Identifier: Apache-2.0
"""--qat: the integers of a quantized file are trained as floats, and its scales with LSQ's gradients, as PyTorch does it."""

import os

import dlc
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

# Of test/refs/make_qat.py.
STEPS, BATCH, SIZE, CLASSES, LR = 5, 6, 5, 6, 0.005
TRAINED = ["conv.weight", "conv.bias", "fc.weight", "fc.bias"]
SCALES = ["x_scale", "conv.weight_scale", "h_scale", "fc.weight_scale"]


def pair(x, name):
    return [helper.make_node("QuantizeLinear", [x, name + "_scale", name + "_zero"], [name + "_q"]),
            helper.make_node("DequantizeLinear", [name + "_q", name + "_scale", name + "_zero"], [name + "_dq"])]


def stored(name, axis):
    parts = [name + "_" + part for part in ("quantized", "scale", "zero")]
    return helper.make_node("DequantizeLinear", parts, [name if name.endswith("bias") else name + "_dq"], name=name, axis=axis)


def nodes():
    return [*pair("x", "x"), stored("conv.weight", 0), stored("conv.bias", 0), stored("fc.weight", 1), stored("fc.bias", 0),
            helper.make_node("Conv", ["x_dq", "conv.weight_dq", "conv.bias"], ["c"], name="conv"),
            helper.make_node("Relu", ["c"], ["h"]), *pair("h", "h"), helper.make_node("Flatten", ["h_dq"], ["flat"]),
            helper.make_node("Gemm", ["flat", "fc.weight_dq", "fc.bias"], ["y"], transB=1, name="fc")]


class Qat(dlc.TestCase):
    def setUp(self):
        super().setUp()
        self.ref = dict(np.load(os.path.join(dlc.REFS, "qat_ref.npz")))
        self.file = {k[5:]: v for k, v in self.ref.items() if k.startswith("file/")}

    def model(self, name="m.onnx", graph=None, **changed):
        graph = helper.make_graph(graph or nodes(), "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 3, SIZE, SIZE])],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", CLASSES])],
                                  [numpy_helper.from_array(v, k) for k, v in (self.file | changed).items()])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), self.path(name))
        return self.path(name)

    def compile(self, model, **options):
        return dlc.compile(model, self.path("m.dlc"), loss="cross_entropy", batch=BATCH, quiet=True,
                           **(dict(qat=True, optimizer="sgd", lr=LR, momentum=0.9, schedule="constant") | options))

    def train(self, artifact, name="run", **options):
        np.savez(self.path("data.npz"), x=self.ref["x"].reshape(STEPS * BATCH, 3, SIZE, SIZE), y=self.ref["y"].reshape(-1))
        return dlc.train(artifact, self.path("data.npz"), self.path(name), shuffle="off", threads=1, quiet=True,
                         **(dict(steps=STEPS) | options))

    def test_as_pytorch(self):
        artifact = self.compile(self.model())
        run = self.train(artifact)
        np.testing.assert_allclose(run.metrics("loss"), self.ref["64/losses"], rtol=2e-6)
        first, last = run.initial(artifact), run.state(STEPS)
        for name in TRAINED + SCALES:
            exact = self.ref["64/" + name]
            noise = np.abs(self.ref["32/" + name] - exact).max()
            self.assertFalse(np.array_equal(first[name], last[name]), name)
            moved = np.abs(exact - first[name]).max()
            self.assertLess(np.abs(last[name] - exact).max(), max(2e-6 * np.abs(exact).max(), 30 * noise, 1e-5 * moved), name)

    def test_starts_as_the_file_and_exports_that_form(self):
        """The trained model is the quantized file until it is trained, and its export has the file's nodes."""
        model, x = self.model(), self.ref["x"][0]
        np.savez(self.path("x.npz"), x=x)
        found = {}
        for name, options in ("trained", {}), ("file", dict(qat=False, predict_only=True, optimizer=None, lr=None, momentum=None,
                                                            schedule=None, loss=None)):
            artifact = self.compile(model, **options) if name == "trained" else dlc.compile(
                model, self.path("p.dlc"), batch=BATCH, predict_only=True, quiet=True)
            dlc.dlc("predict", artifact, "-o", self.path("y.npz"), data=self.path("x.npz"))
            found[name] = np.load(self.path("y.npz"))["y"]
        np.testing.assert_allclose(found["trained"], found["file"], rtol=1e-5, atol=1e-5)
        run = self.train(self.compile(model))
        dlc.dlc("export", run.folder, "-o", self.path("out.onnx"))
        proto = onnx.load(self.path("out.onnx"))
        onnx.checker.check_model(proto, full_check=True)
        self.assertEqual({node.domain for node in proto.graph.node}, {""})
        kinds = [node.op_type for node in proto.graph.node]
        self.assertEqual((kinds.count("QuantizeLinear"), kinds.count("DequantizeLinear")), (4, 4))
        tensors = {t.name: numpy_helper.to_array(t) for t in proto.graph.initializer}
        for name in TRAINED + SCALES:
            np.testing.assert_array_equal(tensors[name].reshape(-1), run.state(STEPS)[name].reshape(-1), name)
        for name in tensors:
            self.assertFalse(name.endswith("_quantized") or name.startswith("conv.bias_") or name.startswith("fc.bias_"), name)

    def test_quantizes_in_f32_with_amp(self):
        """A scale of 16 bits would be another one than the file's that is exported."""
        text, _ = dlc.dlc("compile", self.model(), "--qat", "--amp", "--stop-after=autocast", loss="cross_entropy", batch=BATCH)
        lines = [line for line in text.splitlines() if "dlc.round" in line or "dlc.scale_gradient" in line]
        self.assertGreater(len(lines), 12)
        for line in lines:
            self.assertNotIn("bf16", line)
        self.assertIn("xbf16>", text)

    def test_integers_of_two_layers_are_one_weight(self):
        weights = {"w_quantized": np.random.RandomState(2).randint(-99, 99, (CLASSES, CLASSES)).astype("i1"),
                   "w_scale": np.float32(0.01), "w_zero": np.int8(0), "other": np.float32(0.02)}

        def graph(scale):
            products = [stored("w", 0), helper.make_node("MatMul", ["y1", "w_dq"], ["y2"], name="a"), helper.make_node(
                "DequantizeLinear", ["w_quantized", scale, "w_zero"], ["again"], name="again"),
                helper.make_node("MatMul", ["y2", "again"], ["y"], name="b")]
            first = nodes()
            first[-1].output[0] = "y1"
            return first + products

        artifact = self.compile(self.model("tied.onnx", graph("w_scale"), **weights))
        self.assertEqual(sorted(name for name in self.train(artifact, "tied").initial(artifact) if name in ("w", "w_scale", "again")
                                or name.startswith("w'")), ["w", "w_scale"])
        _, err = dlc.dlc("compile", self.model("two.onnx", graph("other"), **weights), "--qat", "-o", self.path("m.dlc"),
                         code=dlc.BAD_MODEL)
        self.assertIn("node 'again' (DequantizeLinear) reads 'w_quantized' with another scale or zero point than node 'w'", err)

    def test_fixed_scales(self):
        run = self.train(self.compile(self.model(), freeze="_scale$"))
        for name in SCALES:
            self.assertNotIn(name + ".m", run.state(STEPS))
        self.assertFalse(np.array_equal(run.state(STEPS)["conv.weight"], self.ref["64/conv.weight"]))

    def test_weights_before_they_were_rounded(self):
        weights = {name: np.random.RandomState(1).randn(*self.ref["64/" + name].shape).astype("f4") for name in TRAINED}
        float_model = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "g", [], [],
                                        [numpy_helper.from_array(v, k) for k, v in weights.items()])
        float_model.input.append(helper.make_tensor_value_info("x", TensorProto.FLOAT, [1]))
        float_model.output.append(helper.make_tensor_value_info("y", TensorProto.FLOAT, [1]))
        onnx.save(helper.make_model(float_model, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), self.path("f.onnx"))
        artifact = self.compile(self.model(), weights=self.path("f.onnx"), weights_partial=True)
        first = self.train(artifact, steps=1).initial(artifact)
        for name, value in weights.items():
            np.testing.assert_array_equal(first[name], value, name)

    def test_said_without_it(self):
        model = self.model()
        self.assertIn("no trainable parameter; --train=REGEX trains initializers that match, and --qat the integer weights",
                      dlc.dlc("compile", model, "-o", self.path("m.dlc"), code=dlc.BAD_MODEL)[1])
        graph = nodes() + [helper.make_node("Mul", ["y", "gain"], ["z"])]
        graph[-1].output[0], graph[-2].output[0], graph[-1].input[0] = "y", "logits", "logits"
        _, err = dlc.dlc("compile", self.model("gain.onnx", graph, gain=np.ones(CLASSES, "f4")), "-o", self.path("m.dlc"), train="gain")
        self.assertIn("2 weights are integers of a quantized file, and are not trained; --qat trains them", err)

    def test_refused(self):
        def refused(code, *said, **changed):
            graph = changed.pop("graph", None)
            _, err = dlc.dlc("compile", self.model("r.onnx", graph, **changed), "--qat", "-o", self.path("m.dlc"), code=code)
            for text in said:
                self.assertIn(text, err)

        plain = [helper.make_node("Flatten", ["x"], ["flat"]), helper.make_node("Gemm", ["flat", "w"], ["y"])]
        refused(dlc.USAGE, "--qat: the model has no DequantizeLinear node", "quantize_static", graph=plain, w=np.ones((75, CLASSES), "f4"))
        unknown = nodes()
        unknown[2].input.pop()
        refused(dlc.BAD_MODEL, "--qat: node 'conv.weight' (DequantizeLinear) needs a scale of type FLOAT and a zero point", graph=unknown)
        old = nodes()
        wide = self.file["fc.weight_quantized"].astype(np.int16)
        other = nodes()
        other[4].attribute[0].i = 0
        refused(dlc.BAD_MODEL, "--qat: node 'fc.weight' (DequantizeLinear) reads 'fc.weight_quantized' of type INT16", graph=old,
                **{"fc.weight_quantized": wide, "fc.weight_zero": np.int16(120)})
        refused(dlc.BAD_MODEL, "--qat: node 'fc.weight' (DequantizeLinear) has a scale or zero point of 5 numbers", graph=other,
                **{"fc.weight_scale": np.full(5, 7e-4, "f4"), "fc.weight_zero": np.full(5, 120, "u1")})


if __name__ == "__main__":
    dlc.main()
