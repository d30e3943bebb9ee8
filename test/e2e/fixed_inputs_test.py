# SPDX-License-Identifier: Apache-2.0
"""dlc compile --fix-input: a number in place of an input, which decides at compile time what depends on it alone."""

import os

import dlc
import numpy as np
from onnx import TensorProto, helper, numpy_helper

node = helper.make_node
RATE = 16000


def audio_model():
    """relu(x w) scale at the one rate, and an operator that dlc does not have at others."""
    tensors = [numpy_helper.from_array(np.arange(9, dtype=np.float32).reshape(3, 3) / 8 - 0.3, "w"), numpy_helper.from_array(np.int64(RATE), "known")]
    branches = [helper.make_graph([node(op, ["h"], ["z"], domain=domain)], "branch", [], [helper.make_tensor_value_info("z", 1, None)])
                for op, domain in (("Relu", ""), ("Resampled", "elsewhere"))]
    nodes = [node("MatMul", ["x", "w"], ["h"]), node("Equal", ["rate", "known"], ["c"]),
             node("If", ["c"], ["i"], then_branch=branches[0], else_branch=branches[1]), node("Mul", ["i", "scale"], ["y"])]
    inputs = [helper.make_tensor_value_info("x", 1, ["N", 3]), helper.make_tensor_value_info("rate", TensorProto.INT64, []),
              helper.make_tensor_value_info("scale", 1, [3])]
    graph = helper.make_graph(nodes, "g", inputs, [helper.make_tensor_value_info("y", 1, ["N", 3])], tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("elsewhere", 1)], ir_version=9)


class FixedInputs(dlc.TestCase):
    def setUp(self):
        super().setUp()
        with open(self.path("m.onnx"), "wb") as file:
            file.write(audio_model().SerializeToString())
        self.x = np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32)
        np.savez(self.path("x.npz"), x=self.x, y=self.x + 1)

    def compiled(self, *fixed, code=dlc.OK, **options):
        words = [word for text in fixed for word in ("--fix-input", text)]
        _, self.err = dlc.dlc("compile", self.path("m.onnx"), *words, "-o", self.path("m.dlc"), loss="mse", batch=4, code=code, **options)
        return self.path("m.dlc")

    def test_predictions_and_steps(self):
        artifact = self.compiled(f"rate={RATE}", "scale=0.5")
        self.assertIn("inputs are fixed, and none of the data's: 'rate', 'scale'", self.err)
        dlc.dlc("predict", artifact, "-o", self.path("y.npz"), data=self.path("x.npz"))
        with np.load(self.path("y.npz")) as found:
            w = np.arange(9, dtype=np.float32).reshape(3, 3) / 8 - 0.3
            np.testing.assert_allclose(found["y"], np.maximum(self.x @ w, 0) * 0.5, rtol=1e-5, atol=1e-6)
        losses = dlc.train(artifact, self.path("x.npz"), self.path("run"), epochs=3).metrics("loss")
        self.assertLess(losses[-1], losses[0])
        with open(os.path.join(artifact, "config.yaml")) as file:
            self.assertIn("fix-input: [rate=16000, scale=0.5]", file.read())

    def test_what_is_refused(self):
        for fixed, code, message in [
                ([f"rate={RATE + 1}", "scale=1"], dlc.BAD_MODEL, "Resampled"),
                (["scale=1"], dlc.BAD_MODEL, "Resampled"),
                (["rates=1"], dlc.USAGE, "--fix-input rates=1: the model has no input of that name, found x, rate, scale"),
                (["rate=1.5"], dlc.USAGE, "--fix-input rate=1.5: the input has integers"),
                (["rate"], dlc.USAGE, "expected NAME=NUMBER, found 'rate'"),
                (["rate=fast"], dlc.USAGE, "fast")]:
            with self.subTest(message):
                self.compiled(*fixed, code=code)
                self.assertIn(message, self.err)
                self.assertFalse(os.path.exists(self.path("m.dlc")))

    def test_what_is_large(self):
        model = audio_model()
        model.graph.input[2].type.tensor_type.shape.dim[0].dim_value = 1 << 17
        with open(self.path("m.onnx"), "wb") as file:
            file.write(model.SerializeToString())
        self.compiled("scale=1", code=dlc.USAGE)
        self.assertIn("the input has 131072 elements, expected at most 65536", self.err)

    def test_booleans(self):
        inputs = [helper.make_tensor_value_info("x", 1, [4, 3]), helper.make_tensor_value_info("flag", TensorProto.BOOL, [])]
        graph = helper.make_graph([node("MatMul", ["x", "w"], ["h"]), node("Where", ["flag", "h", "x"], ["y"])], "g", inputs,
                                  [helper.make_tensor_value_info("y", 1, [4, 3])], [numpy_helper.from_array(np.eye(3, dtype=np.float32) * 2, "w")])
        with open(self.path("m.onnx"), "wb") as file:
            file.write(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9).SerializeToString())
        self.compiled("flag=2", code=dlc.USAGE)
        self.assertIn("--fix-input flag=2: the input has booleans, expected 0 or 1", self.err)
        for flag, factor in (1, 2), (0, 1):
            dlc.dlc("predict", self.compiled(f"flag={flag}", predict_only=True), "-o", self.path("y.npz"), data=self.path("x.npz"))
            with np.load(self.path("y.npz")) as found:
                np.testing.assert_array_equal(found["y"], self.x * factor)


if __name__ == "__main__":
    dlc.main()
