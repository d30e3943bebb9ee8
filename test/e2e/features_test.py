# SPDX-License-Identifier: Apache-2.0
"""`--features`: inner tensors as outputs of predict and of the export, with the same training."""

import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "import"))
import dlc
import onnx
from onnx.reference import ReferenceEvaluator
from support import model, node, value

random = np.random.RandomState(0)
x = random.randn(4, 6).astype(np.float32)


def proto():
    nodes = [node("MatMul", ["x", "w"], ["a"], name="fc"), node("Relu", ["a"], ["b"], name="/body/act"),
             node("Split", ["b"], ["left", "right"], name="parts", axis=1, num_outputs=2),
             node("Add", ["left", "right"], ["c"], name="sum"), node("MatMul", ["c", "v"], ["y"], name="head")]
    weights = {"w": random.randn(6, 8).astype(np.float32), "v": random.randn(4, 3).astype(np.float32)}
    return model(nodes, [value("x", [4, 6])], [value("y", [4, 3])], weights, opset=18)


class Features(dlc.TestCase):
    def setUp(self):
        super().setUp()
        self.source = proto()
        onnx.save(self.source, self.path("m.onnx"))
        np.savez(self.path("x.npz"), x=x)
        np.savez(self.path("train.npz"), x=np.tile(x, (4, 1)), y=np.arange(16) % 3)

    def compile(self, name, *flags, **options):
        return dlc.dlc("compile", self.path("m.onnx"), *flags, "--quiet", "-o", self.path(name), **options)

    def predict(self, artifact):
        dlc.dlc("predict", self.path(artifact), data=self.path("x.npz"), output=self.path("y.npz"))
        return dict(np.load(self.path("y.npz")))

    def expected(self, path, names):
        """By ONNX's own evaluator."""
        changed = onnx.load(path)
        del changed.graph.output[:]
        changed.graph.output.extend(value(name, None) for name in names)
        return dict(zip(names, ReferenceEvaluator(changed).run(None, {"x": x})))

    def check(self, artifact, path, names):
        found = self.predict(artifact)
        self.assertEqual(list(found), names)
        for name, array in self.expected(path, names).items():
            self.assertNear(found[name], array, 1e-6, name)

    def test_predict(self):
        """By a node's name, a tensor's, one of a node's several, an output's own; alone and in training."""
        for flags in ["--predict-only"], []:
            with self.subTest(flags):
                self.compile("f.dlc", "--features=/body/act,right", "--features=head", *flags)
                self.check("f.dlc", self.path("m.onnx"), ["y", "b", "right"])

    def test_training_and_export(self):
        """Losses, weights and checkpoints are those of the model without features; the export has the outputs, too."""
        losses, exports = [], []
        for name, flags in ("plain", []), ("features", ["--features=b,parts"]):
            self.compile(name + ".dlc", *flags)
            run = dlc.train(self.path(name + ".dlc"), self.path("train.npz"), self.path(name), epochs=2)
            losses.append(run.metrics("loss"))
            exports.append(self.path(name + ".onnx"))
            dlc.dlc("export", self.path(name), "-o", exports[-1])
        np.testing.assert_array_equal(*losses)
        onnx.checker.check_model(exports[1], full_check=True)
        plain, exported = map(onnx.load, exports)
        self.assertEqual([o.name for o in exported.graph.output], ["y", "b", "left"])
        self.assertEqual([t.raw_data for t in exported.graph.initializer], [t.raw_data for t in plain.graph.initializer])
        self.check("features", exports[1], ["y", "b", "left"])

    def test_losses_of_features(self):
        """A feature is an output as others are: a loss can be made of it."""
        np.savez(self.path("two.npz"), x=x, **{"y.y": np.arange(4) % 3, "y.b": np.zeros((4, 8), np.float32)})
        self.compile("two.dlc", "--features=b", "--loss=y:cross_entropy,b:mse:0.5")
        run = dlc.train(self.path("two.dlc"), self.path("two.npz"), self.path("two"), steps=1)
        b = self.expected(self.path("m.onnx"), ["b"])["b"]
        self.assertNear(run.metrics("loss.b")[:1], [np.mean(b**2)], 1e-5, "mean of squares")

    def test_errors(self):
        for name, message in ("/body/atc", "did you mean '/body/act'"), ("x", "no node of .* makes a tensor"):
            with self.subTest(name):
                _, error = self.compile("e.dlc", "--features=" + name, code=dlc.USAGE)
                self.assertRegex(error, f"--features={name}: no node .*{message}" if name != "x" else message)


if __name__ == "__main__":
    dlc.main()
