"""Which initializers are trained: the same as PyTorch's parameters, whichever way the model was exported."""

import os
import re
import sys

import numpy as np

sys.path.insert(0, os.path.dirname(__file__))
import dlc
import onnx
from support import IMPORT, model, node, run, value


class Roles(dlc.TestCase):
    def states(self, path, *flags):
        code, self.text, err = run(IMPORT, path, *flags)
        self.assertEqual(code, dlc.OK, err)
        self.errors = err
        states = re.findall(r'dlc\.state @"?([^" ]+)"? : \S+ (\w+) init', self.text)
        return {role: {name for name, r in states if r == role} for role in ("param", "buffer", "const")}

    def save(self, proto):
        onnx.save(proto, self.path("m.onnx"))
        return self.path("m.onnx")

    def test_references(self):
        for name in "mlp", "lenet", "resnet8", "gpt_tiny":
            ref = dlc.Reference(name)
            params = set(ref.group("grad0"))
            buffers = set(ref.group("final_sgd")) - params
            for path in dlc.model(name), os.path.join(dlc.REFS, name + "-dynamo.onnx"):
                with self.subTest(path=os.path.basename(path)):
                    states = self.states(path, f"--batch={ref.batch}")
                    self.assertEqual(states["param"], params)
                    self.assertEqual(states["buffer"], buffers)

    def test_folded_exports_have_as_many(self):
        for name, count in ("mlp", 4), ("lenet", 10), ("gpt_tiny", 29), ("resnet8", 20):
            states = self.states(os.path.join(dlc.REFS, name + "-eval.onnx"), "--batch=4")
            self.assertEqual(len(states["param"]), count, name)

    def test_folded_batch_norm_is_reported(self):
        for op in "Conv", "Gemm":
            proto = onnx.load(dlc.model("lenet"))
            into = next(node for node in proto.graph.node if node.op_type == op)
            into.metadata_props.add(key="pkg.onnxscript.rewriter.rule_name", value="FuseBatchNormInto" + op)
            self.states(self.save(proto), "--batch=2")
            self.assertIn(f"warning: the exporter folded batch norm into 1 nodes (the first is '{into.name}')", self.errors)

    def folded_names(self, conv, scale, producer="pytorch", flags=()):
        """Warnings of a Conv and a scale with such names of their weights."""
        weights = {conv: np.ones((2, 3, 1, 1)), scale: np.arange(2).reshape(2, 1, 1)}
        proto = model([node("Conv", ["x", conv], ["a"], name="/c/Conv"), node("Mul", ["a", scale], ["y"])],
                      [value("x", [4, 3, 2, 2])], [value("y", [4, 2, 2, 2])], {k: v.astype(np.float32) for k, v in weights.items()})
        proto.producer_name = producer
        self.states(self.save(proto), *flags)
        return self.errors

    def test_folds_of_the_older_exporter_are_reported(self):
        norm = "warning: the exporter folded batch norm into 1 nodes (the first is '/c/Conv')"
        untrained = r"warning: values that the exporter computed before, .* are not trained: 'onnx::Mul_7'\. .*optimize=False"
        self.assertIn(norm, self.folded_names("onnx::Conv_5", "c.scale"))
        self.assertNotIn("not trained", self.errors)
        self.assertRegex(self.folded_names("c.weight", "onnx::Mul_7"), untrained)
        self.assertNotIn("batch norm", self.errors)
        for options in (dict(producer="other"), dict(flags=["--train=Mul"]), dict(flags=["--freeze=Mul"])):
            self.assertNotIn("not trained", self.folded_names("c.weight", "onnx::Mul_7", **options), options)
        self.assertEqual(self.folded_names("c.weight", "c.scale"), "")

    def test_masks_are_kept_once(self):
        self.assertEqual(len(self.states(dlc.model("gpt_tiny"), "--batch=4")["const"]), 1)

    def names(self, producer, *flags):
        """A model with a weight, a learned token, a table of sines, an integer and a scalar."""
        weights = {"w": np.ones((4, 4)) * np.arange(4), "token": np.arange(20).reshape(5, 4), "enc.pe": np.arange(20).reshape(5, 4),
                   "val_3": np.array(2.0), "k": np.arange(20).reshape(5, 4)}
        weights = {k: v.astype(np.int64 if k == "k" else np.float32) for k, v in weights.items()}
        proto = model([node("MatMul", ["x", "w"], ["a"]), node("Add", ["a", "token"], ["b"]),
                       node("Add", ["b", "enc.pe"], ["c"]), node("Mul", ["c", "val_3"], ["d"]),
                       node("Cast", ["k"], ["kf"], to=1), node("Add", ["d", "kf"], ["y"])],
                      [value("x", [5, 4])], [value("y", [5, 4])], weights)
        proto.producer_name = producer
        return self.states(self.save(proto), *flags)["param"]

    def test_names(self):
        self.assertEqual(self.names("pytorch"), {"w", "token"})
        self.assertEqual(self.names("other"), {"w"})

    def test_overrides(self):
        self.assertEqual(self.names("other", "--train=^enc"), {"w", "enc.pe"})
        self.assertEqual(self.names("pytorch", "--freeze=tok|w"), set())
        self.assertEqual(self.names("pytorch", "--train=k"), {"w", "token"}, "integers are never trained")
        code, _, err = run(IMPORT, self.path("m.onnx"), "--freeze=(")
        self.assertIn("'(' is not a regular expression", err)

    def test_triangles_are_masks(self):
        """Whatever a causal mask is called, it is not trained, and the passes are told what it is."""
        def weights(mask):
            proto = model([node("MatMul", ["x", "w"], ["a"]), node("Mul", ["a", "attn.bias"], ["y"])],
                          [value("x", [1, 5, 4])], [value("y", [1, 5, 5])],
                          {"w": np.arange(20, dtype=np.float32).reshape(4, 5), "attn.bias": mask.astype(np.float32)})
            proto.producer_name = "pytorch"
            return self.states(self.save(proto), "--batch=1")
        mask = np.tril(np.ones((1, 5, 5)))
        self.assertEqual(weights(mask)["param"], {"w"})
        self.assertIn("{dlc.triangle = [1.000000e+00, 0.000000e+00]}", self.text)
        weights(np.where(mask, 0, -np.inf))
        self.assertIn("{dlc.triangle = [0.000000e+00, 0xFFF0000000000000 : f64]}", self.text)
        mask[0, 2, 0] = 0.5
        self.assertEqual(weights(mask)["param"], {"w", "attn.bias"})
        self.assertNotIn("triangle", self.text)

    def test_loss_in_the_graph(self):
        proto = model([node("MatMul", ["x", "w"], ["logits"]), node("SoftmaxCrossEntropyLoss", ["logits", "t"], ["loss"])],
                      [value("x", [5, 4]), value("t", [5], 7)], [value("loss", []), value("logits", [5, 3])],
                      {"w": np.arange(12, dtype=np.float32).reshape(4, 3)})
        self.states(self.save(proto))
        self.assertRegex(self.text, r'tensor<f32> \{dlc.loss, dlc.name = "loss"\}, tensor<5x3xf32> \{dlc.name = "logits"\}')

    def test_settings_are_not_trained(self):
        """Weights of classes and scales of quantisation, though torch's names are a module's; the weights behind them are."""
        numbers = np.linspace(0.1, 1, 12, dtype=np.float32)
        for op in "SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss":
            proto = model([node("QuantizeLinear", ["w", "q.weight", "zero"], ["levels"], axis=1),
                           node("DequantizeLinear", ["levels", "q.weight", "zero"], ["rounded"], axis=1),
                           node("MatMul", ["x", "rounded"], ["logits"]),
                           node(op, ["logits", "t", "loss.weight"], ["loss"])],
                          [value("x", [5, 4]), value("t", [5], 7)], [value("loss", []), value("logits", [5, 3])],
                          {"w": numbers.reshape(4, 3), "q.weight": numbers[:3], "zero": np.zeros(3, np.uint8),
                           "loss.weight": numbers[:3]})
            proto.producer_name = "pytorch"
            self.assertEqual(self.states(self.save(proto))["param"], {"w"})
            self.assertIn('dlc.loss, dlc.name = "loss"', self.text)


if __name__ == "__main__":
    dlc.main()
