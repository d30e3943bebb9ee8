# SPDX-License-Identifier: Apache-2.0
"""An inference export gets back what only training has: dropout, and batch norms that were folded."""

import json
import os
import re
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "import"))
import dlc
import onnx
from onnx.reference import ReferenceEvaluator
from support import IMPORT, model, node, run, value

SIGNATURE = "pkg.torch.export.ExportedProgram.graph_signature"
random = np.random.RandomState(0)


def floats(*shape):
    return random.randn(*shape).astype(np.float32)


class Case(dlc.TestCase):
    def save(self, proto, name="m.onnx"):
        onnx.save(proto, self.path(name))
        return self.path(name)

    def read(self, proto, *flags, code=dlc.OK):
        status, self.text, self.errors = run(IMPORT, self.save(proto), *flags)
        self.assertEqual(status, code, self.errors)
        return self.text

    def predictions(self, path, x):
        np.savez(self.path("x.npz"), x=x)
        dlc.dlc("predict", path, data=self.path("x.npz"), output=self.path("y.npz"))
        return next(iter(np.load(self.path("y.npz")).values()))


class Dropout(Case):
    def proto(self, inputs=("r",), opset=17, op="Dropout", **attributes):
        nodes = [node("MatMul", ["x", "w"], ["a"], name="fc"), node("Relu", ["a"], ["b"], name="act"),
                 node(op, ["b", *inputs], ["c"], name="drop", **attributes), node("MatMul", ["c", "v"], ["y"], name="head")]
        weights = {"w": floats(8, 8), "v": floats(8, 3), "r": np.float32(0.25), "yes": np.array(True), "no": np.array(False)}
        return model(nodes, [value("x", [4, 8])], [value("y", [4, 3])],
                     {k: v for k, v in weights.items() if k in ("w", "v", *inputs)}, opset=opset)

    def ratios(self, *flags, **options):
        text = self.read(self.proto(**options), *flags)
        return [float(r) for r in re.findall(r"dlc\.dropout .*?ratio = (\S+) :", text)]

    def test_versions(self):
        """The ratio is an attribute until opset 11, then an input; training_mode came with it."""
        old = [dict(inputs=(), opset=opset, ratio=0.125) for opset in (7, 10, 11)]
        new = [dict(inputs=inputs, opset=opset) for opset in (12, 13, 22) for inputs in (("r",), ("r", "no"))]
        for options in old + new:
            own = options.get("ratio", 0.25)
            with self.subTest(options):
                self.assertEqual(self.ratios(**options), [])
                self.assertIn("1 Dropout node is in inference form and drops nothing; --dropout trains with its ratio", self.errors)
                self.assertEqual(self.ratios("--dropout=exported", **options), [own])
                self.assertNotIn("inference form", self.errors)
                self.assertEqual(self.ratios("--dropout=0.5", **options), [0.5])
                self.assertEqual(self.ratios("--dropout=0", **options), [])
        self.assertEqual(self.ratios("--dropout=exported", inputs=(), opset=13), [0.5], "ONNX's default")
        for opset in 12, 13, 22:
            self.assertEqual(self.ratios(inputs=("r", "yes"), opset=opset), [0.25])
            self.assertNotIn("inference form", self.errors)
            self.assertEqual(self.ratios("--dropout=0.5", inputs=("r", "yes"), opset=opset), [0.5])

    def test_nodes_by_name(self):
        self.assertEqual(self.ratios("--dropout=^act$:0.1"), [0.1])
        self.assertEqual(self.ratios("--dropout=act:0.1", "--dropout=exported"), [0.1, 0.25])
        self.assertEqual(self.ratios("--dropout=drop:0.1", "--dropout=0.5"), [0.1], "the first that fits")
        self.assertEqual(self.ratios("--dropout=act|fc:0.1", op="Abs", inputs=()), [0.1, 0.1])

    def test_what_does_not_fit(self):
        def usage(message, *flags, **options):
            self.read(self.proto(**options), *flags, code=dlc.USAGE)
            self.assertRegex(self.errors, message)
        usage("--dropout: the file has no Dropout node; .* --dropout=REGEX:RATIO", "--dropout=exported", op="Abs", inputs=())
        usage("--dropout: the file has no Dropout node", "--dropout=0.1", op="Abs", inputs=())
        usage("--dropout=relu:0.1 matches no node; there are 'fc', 'act'", "--dropout=relu:0.1")
        for word in "1", "-0.1", "x", ":0.1", "a:1.5":
            _, err = dlc.dlc("compile", dlc.model("mlp"), "--dropout=" + word, "-o", self.path("m.dlc"), code=dlc.USAGE)
            self.assertIn("expected exported, or RATIO or REGEX:RATIO with a RATIO from 0 to below 1, found '" + word, err)
        proto = self.proto(op="Abs", inputs=())
        proto.graph.node[2].CopyFrom(node("Cast", ["b"], ["i"], name="whole", to=7))
        proto.graph.node.insert(3, node("Cast", ["i"], ["c"], to=1))
        self.read(proto, "--dropout=whole:0.1", code=dlc.BAD_MODEL)
        self.assertIn("--dropout: expected a result of floats that depends on the model's data", self.errors)

    def test_trains_predicts_and_exports(self):
        """It drops in training alone, and the exported file is the source's."""
        path = self.save(self.proto(inputs=(), opset=9, ratio=0.5))
        x = floats(8, 8)
        np.savez(self.path("d.npz"), x=x, y=np.arange(8) % 3)
        plain = dlc.compile(path, self.path("plain.dlc"), optimizer="sgd", lr=0.0)
        dropping = dlc.compile(path, self.path("m.dlc"), optimizer="sgd", lr=0.0, dropout=True)
        losses = [dlc.train(artifact, self.path("d.npz"), artifact + ".run", steps=4, shuffle="off").metrics("loss")
                  for artifact in (plain, dropping)]
        np.testing.assert_allclose(losses[0][:2], losses[0][2:])
        self.assertGreater(np.abs(losses[1] - losses[0]).min(), 1e-3)
        self.assertGreater(abs(losses[1][0] - losses[1][2]), 1e-3, "new numbers each step")
        expected = ReferenceEvaluator(path).run(None, {"x": x[:4]})[0]
        np.testing.assert_allclose(self.predictions(dropping, x[:4]), expected, rtol=1e-5, atol=1e-5)
        dlc.dlc("export", dropping + ".run", "-o", self.path("out.onnx"))
        self.assertEqual([n.op_type for n in onnx.load(self.path("out.onnx")).graph.node], ["MatMul", "Relu", "Dropout", "MatMul"])
        onnx.checker.check_model(self.path("out.onnx"))
        with open(os.path.join(dropping, "config.yaml")) as file:
            self.assertRegex(file.read(), r"dropout: \[?(- )?\"?true")


class Norms(Case):
    def proto(self, bias=True, op="Conv", noted=True, weight="c.weight", rows=("n.weight", "n.bias"), own_bias=False, producer="pytorch"):
        """A layer with a batch norm folded into it, a Relu, and another layer."""
        shape = {"Conv": (6, 3, 1, 1), "ConvTranspose": (3, 6, 1, 1), "Gemm": (6, 3)}[op]
        own = "onnx::Conv_6" if weight == "onnx::Conv_5" else "c.bias"
        first = node(op, ["x", weight, *([own] if bias else [])], ["a"], name="/c/" + op, **({"transB": 1} if op == "Gemm" else {}))
        if noted:
            first.metadata_props.add(key="pkg.onnxscript.rewriter.rule_name", value="FuseBatchNormInto" + op)
            first.metadata_props.add(key="pkg.torch.onnx.fx_node", value=(
                "%bn : [num_users=1] = call_function[target=torch.ops.aten._native_batch_norm_legit_no_training.default](args = (%conv2d, "
                "%p_n_weight, %p_n_bias, %b_n_running_mean, %b_n_running_var, 0.2, 0.001), kwargs = {})"))
        image = [] if op == "Gemm" else [2, 2]
        nodes = [first, node("Relu", ["a"], ["y"], name="act")]
        weights = {weight: floats(*shape)}
        if bias:
            weights[own] = floats(6)
        proto = model(nodes, [value("x", [4, 3, *image])], [value("y", [4, 6, *image])], weights)
        proto.producer_name = producer
        if noted:
            lines = ["p_c_weight: PARAMETER target='c.weight'", "p_n_weight: PARAMETER target='n.weight'", "p_n_bias: PARAMETER target='n.bias'",
                     "b_n_running_mean: BUFFER target='n.running_mean' persistent=True",
                     "b_n_running_var: BUFFER target='n.running_var' persistent=True"]
            lines += ["p_c_bias: PARAMETER target='c.bias'"] * own_bias
            proto.graph.metadata_props.add(key=SIGNATURE, value="\n# inputs\n" + "\n".join(lines) + "\nx: USER_INPUT\n")
        return proto

    def states(self, proto, *flags):
        text = self.read(proto, "--unfold-bn", *flags)
        found = re.findall(r'dlc\.state @(?:"([^"]+)"|(\S+)) : \S+ (\w+) init', text)
        return {a or b: role for a, b, role in found}

    def test_names_of_the_source(self):
        """The exporter's notes say what the norm was called, and its numbers."""
        for op in "Conv", "ConvTranspose", "Gemm":
            states = self.states(self.proto(op=op))
            self.assertEqual(states, {"c.weight": "param", "n.weight": "param", "n.bias": "param", "n.running_mean": "buffer",
                                      "n.running_var": "buffer"}, op)
            self.assertRegex(self.text, r"dlc.batch_norm_infer .*epsilon = 0.00100\d+ : f64, momentum = 0.800\d+ : f64")
            self.assertNotRegex(self.errors, "lost|trains without it")
            self.assertIn("new batch norms: 1; outside of training they start as identities", self.errors)
        self.assertIn("c.bias", self.states(self.proto(own_bias=True)), "the source has both")
        self.assertIn("n.bias", self.states(self.proto(bias=False)))

    def test_names_after_the_layer(self):
        states = self.states(self.proto(noted=False, weight="onnx::Conv_5"))
        self.assertEqual({k for k in states if ".bn." in k}, {"c.bn.weight", "c.bn.bias", "c.bn.running_mean", "c.bn.running_var"})
        states = self.states(self.proto(noted=False, producer="other"), "--unfold-bn-at=^/c/")
        self.assertIn("c.bn.running_var", states)

    def test_what_does_not_fit(self):
        def usage(message, proto, *flags, code=dlc.USAGE):
            self.read(proto, "--unfold-bn", *flags, code=code)
            self.assertRegex(self.errors, message)
        plain = self.proto(noted=False, producer="other")
        usage("--unfold-bn: nothing in the file says that a batch norm was folded; --unfold-bn-at=REGEX names", plain)
        usage("--unfold-bn-at=conv9 matches no Conv, ConvTranspose or Gemm; there .*'/c/Conv'", plain, "--unfold-bn-at=conv9")
        normed = self.proto(noted=False)
        normed.graph.node[1].CopyFrom(node("BatchNormalization", ["a", *"bcde"], ["y"]))
        for name in "bcde":
            normed.graph.initializer.append(onnx.numpy_helper.from_array(np.ones(6, np.float32), name))
        usage("--unfold-bn: each layer that matches has a batch norm behind it", normed, "--unfold-bn-at=.")
        taken = self.proto()
        taken.graph.initializer.append(onnx.numpy_helper.from_array(np.ones(6, np.float32), "n.running_var"))
        usage("the model already has 'n.running_var', which the batch norm behind '/c/Conv' would be called", taken, code=dlc.BAD_MODEL)
        dynamic = self.proto(noted=False, producer="other")
        dynamic.graph.node.insert(0, node("Abs", ["c.weight"], ["w"]))
        dynamic.graph.node[1].input[1] = "w"
        usage("the weight 'w' of node '/c/Conv' .* is not an initializer", dynamic, "--unfold-bn-at=.", code=dlc.BAD_MODEL)
        half = self.proto(noted=False, producer="other")
        for tensor in half.graph.initializer:
            tensor.CopyFrom(onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(tensor).astype(np.float16), tensor.name))
        for v in half.graph.input[0], half.graph.output[0]:
            v.type.tensor_type.elem_type = 10
        usage("the weight of node '/c/Conv' .* is f16, expected f32", half, "--unfold-bn-at=.", code=dlc.BAD_MODEL)

    def test_starts_as_identity_trains_and_exports(self):
        """A file of torch's own: what it computes stays until a step, then it trains as what has batch norms."""
        folded = os.path.join(dlc.REFS, "resnet8-eval.onnx")
        artifact = dlc.compile(folded, self.path("m.dlc"), batch=4, unfold_bn=True, optimizer="sgd", lr=0.01, momentum=0.5)
        x = floats(4, 3, 32, 32)
        feed = {onnx.load(folded).graph.input[0].name: x}
        np.testing.assert_allclose(self.predictions(artifact, x), ReferenceEvaluator(folded).run(None, feed)[0], rtol=1e-4, atol=1e-5)
        np.savez(self.path("d.npz"), x=np.concatenate([x, x]), y=np.arange(8) % 10)
        run = dlc.train(artifact, self.path("d.npz"), self.path("run"), steps=4, save_every=4)
        before, after = run.initial(artifact), run.state(4)
        moved = [name for name in before if ".bn." in name and np.abs(after[name] - before[name]).max() > 1e-6]
        self.assertEqual({name.rsplit(".", 1)[1] for name in moved}, {"weight", "bias", "running_mean", "running_var"})
        dlc.dlc("export", self.path("run"), "-o", self.path("out.onnx"))
        onnx.checker.check_model(self.path("out.onnx"))
        exported = ReferenceEvaluator(self.path("out.onnx")).run(None, feed)[0]
        np.testing.assert_allclose(self.predictions(self.path("run"), x), exported, rtol=1e-4, atol=1e-4)
        shown = json.loads(dlc.dlc("inspect", artifact, "--json")[0])["decisions"]
        self.assertRegex([d["why"] for d in shown if d["kind"] == "fresh"][0], "a new batch norm behind '.*Conv', .* scale 1, mean 0")


if __name__ == "__main__":
    dlc.main()
