# SPDX-License-Identifier: Apache-2.0
"""dlc check: what would become of a model, before any work."""

import json

import numpy as np
from onnx import TensorProto, helper, numpy_helper

import dlc


def model(nodes, results=("y",), shape=(4, 3), functions=()):
    """A model of x and the square weights w and v; y must be [4, 3]."""
    weights = [numpy_helper.from_array(np.full((3, 3), 0.5, np.float32), name) for name in ("w", "v")]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                              [helper.make_tensor_value_info(r, TensorProto.FLOAT, [4, 3]) for r in results], weights)
    domains = sorted({n.domain for n in nodes} - {""})
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)] + [helper.make_opsetid(d, 1) for d in domains],
                             functions=list(functions), ir_version=9)


class Check(dlc.TestCase):
    def check(self, path, *words, code=dlc.OK):
        """The report, with its operators by name."""
        out, err = dlc.dlc("check", path, "--json", *words, code=code)
        report = json.loads(out)
        self.assertEqual(report["ok"], code == dlc.OK)
        return report, {op["op"]: op for op in report["ops"]}, err

    def of(self, nodes, *words, code=dlc.OK, **more):
        path = self.path("m.onnx")
        with open(path, "wb") as file:
            file.write(model(nodes, **more).SerializeToString())
        return self.check(path, "--batch=4", *words, code=code)

    def test_model_that_trains(self):
        report, ops, _ = self.check(dlc.model("lenet"), "--batch=8")
        self.assertEqual(ops["Conv"]["count"], 2)
        for name, amp in ("Conv", "half"), ("Gemm", "half"), ("Relu", "as inputs"):
            self.assertEqual({k: ops[name][k] for k in ("import", "gradient", "amp", "cpu", "cuda", "advice")},
                             {"import": "yes", "gradient": "yes", "amp": amp, "cpu": "yes", "cuda": "yes", "advice": ""})
        self.assertEqual(report["parameters"], 61706)  # LeNet-5's
        self.assertEqual(report["trainable_parameters"], 61706)
        self.assertGreater(min(report["memory"][t] for t in ("cpu", "cuda")), 61706 * 4 * 2)
        # conv1: 2 * 8 * 28 * 28 * 6 * 25, conv2: 2 * 8 * 10 * 10 * 16 * 150; a step has two gradients more of most.
        self.assertEqual(report["layers"][0]["flops"], 2 * 8 * 10 * 10 * 16 * 150)
        forward = sum(layer["flops"] for layer in report["layers"])
        self.assertTrue(2 * forward < report["flops"] < 4 * forward)
        self.assertEqual(self.check(dlc.model("lenet"), "--batch=16")[0]["layers"][0]["flops"], report["layers"][0]["flops"] * 2)

    def layers(self, path, *words):
        return self.check(path, "--layers", *words)[0]["layer_table"]

    def test_layers(self):
        """Every node in the model's order: LeNet-5's shapes, parameters and products, by hand."""
        found = self.layers(dlc.model("lenet"), "--batch=2")
        self.assertEqual([(r["node"], r["op"]) for r in found][:4],
                         [("/c1/Conv", "Conv"), ("/Relu", "Relu"), ("/MaxPool", "MaxPool"), ("/c2/Conv", "Conv")])
        rows = {r["node"]: r for r in found}
        for node, shape, parameters, products in (("/c1/Conv", [2, 6, 28, 28], 156, 2 * 6 * 28 * 28 * 25),
                                                  ("/c2/Conv", [2, 16, 10, 10], 2416, 2 * 16 * 10 * 10 * 150),
                                                  ("/f1/Gemm", [2, 120], 48120, 2 * 120 * 400),
                                                  ("/f3/Gemm", [2, 10], 850, 2 * 10 * 84)):
            self.assertEqual((rows[node]["outputs"], rows[node]["parameters"]), ([shape], parameters), node)
            self.assertTrue(2 * products <= rows[node]["flops"] <= 2 * products + shape[0] * parameters * 800, rows[node])
        self.assertEqual((rows["/c1/Conv"]["modules"], rows["/Relu"]["modules"]), (["c1"], []))
        self.assertEqual(sum(r["parameters"] for r in found), 61706)

    def test_layers_by_module(self):
        """Both of torch's exporters tell the modules: the same rows of depth 1 and 2, and all parameters in each."""
        script = self.layers(dlc.model("gpt_tiny"), "--batch=4", "--depth=2")
        newer = self.layers(dlc.REFS + "/gpt_tiny-dynamo.onnx", "--batch=4", "--depth=2")
        counts = [{r["node"]: (r["parameters"], r["outputs"]) for r in rows if not r["op"] and r["parameters"]} for rows in (script, newer)]
        self.assertEqual(counts[0]["b.0.qkv"], (192 * 64 + 192, [[4, 32, 192]]))
        self.assertEqual({k: v[0] for k, v in counts[0].items()}, {k: v[0] for k, v in counts[1].items()})
        one, = self.layers(dlc.model("gpt_tiny"), "--batch=4", "--depth=0")
        every = self.layers(dlc.model("gpt_tiny"), "--batch=4")
        for key in "parameters", "flops", "nodes":
            self.assertEqual(one[key], sum(r[key] for r in every))
            self.assertEqual(one[key], sum(r[key] for r in script))
        blocks = {r["node"]: r["parameters"] for r in self.layers(dlc.model("gpt_tiny"), "--batch=4", "--depth=1")}
        self.assertEqual(blocks["b.0"], blocks["b.1"])
        self.assertEqual(blocks["b.0"], 4 * 64 + 192 * 65 + 64 * 65 + 256 * 65 + 64 * 257)

    def test_layers_share(self):
        """A weight that two layers read is counted once, and named at the second; one that is transposed first is its reader's."""
        path = self.path("m.onnx")
        nodes = [helper.make_node("Transpose", ["w"], ["t"], name="t"), helper.make_node("MatMul", ["x", "t"], ["a"], name="first"),
                 helper.make_node("MatMul", ["a", "w"], ["b"], name="second"), helper.make_node("MatMul", ["b", "v"], ["y"], name="third")]
        with open(path, "wb") as file:
            file.write(model(nodes).SerializeToString())
        rows = {r["node"]: (r["parameters"], r["shared"]) for r in self.layers(path, "--batch=4")}
        self.assertEqual(rows, {"first": (9, []), "second": (0, ["w"]), "third": (9, [])})

    def test_layers_as_text(self):
        out, _ = dlc.dlc("check", dlc.model("lenet"), "--batch=2", "--layers")
        self.assertRegex(out, r"(?m)^layer +operator +output +parameters +MFLOP$")
        self.assertRegex(out, r"(?m)^/c1/Conv +Conv +\[2, 6, 28, 28\] +156 +0\.4704$")
        self.assertRegex(out, r"(?m)^total +61706 +[\d.]+$")
        out, _ = dlc.dlc("check", dlc.model("lenet"), "--batch=2", "--layers", "--depth=1")
        self.assertRegex(out, r"(?m)^c1 +1 nodes? +\[2, 6, 28, 28\] +156 ")
        dlc.dlc("check", dlc.model("lenet"), "--depth=1", code=dlc.USAGE)

    def test_table(self):
        out, _ = dlc.dlc("check", dlc.model("lenet"), "--freeze=^f3.weight")
        self.assertRegex(out, r"(?m)^operator +count +import +gradient +autocast +cpu +cuda$")
        self.assertRegex(out, r"(?m)^Conv +2 +yes +yes +half +yes +yes$")
        self.assertRegex(out, r"(?m)^61706 parameters, 60866 of them trained$")
        self.assertIn("  frozen: f3.weight: matches --freeze\n", out)

    def test_reasons(self):
        """check and inspect say of each tensor what becomes of it, and why."""
        report, _, _ = self.check(dlc.model("resnet8"), "--batch=4", "--freeze=^fc.bias")
        tensors = {t["tensor"]: (t["decision"], t["reason"]) for t in report["tensors"]}
        self.assertEqual(tensors["fc.bias"], ("frozen", "matches --freeze"))
        self.assertEqual(tensors["fc.weight"], ("trained", "named as a module's weight or bias"))
        running = next(t for t in tensors if t.endswith("running_mean"))
        self.assertEqual(tensors[running][0], "statistics")
        self.assertRegex(tensors[running][1], "^a running statistic of BatchNormalization '.+'$")
        dlc.compile(dlc.model("resnet8"), self.path("m.dlc"), batch=4, freeze="^fc.bias")
        out, _ = dlc.dlc("inspect", self.path("m.dlc"), "--json")
        self.assertEqual(json.loads(out)["tensors"], report["tensors"])
        out, _ = dlc.dlc("inspect", self.path("m.dlc"))
        self.assertRegex(out, r"(?m)^  fc.bias +frozen +matches --freeze$")
        self.assertRegex(out, r"(?m)^  \d+ more, trained or statistics of batch norm \(--tensors\)$")
        self.assertNotRegex(out, "(?m)^  fc.weight")
        out, _ = dlc.dlc("inspect", self.path("m.dlc"), "--tensors")
        self.assertRegex(out, r"(?m)^  fc.weight +trained +named as a module's weight or bias$")

    def test_reasons_with_adapters(self):
        dlc.compile(dlc.model("mlp"), self.path("m.dlc"), batch=4, lora=2, lora_targets="f1")
        out, _ = dlc.dlc("inspect", self.path("m.dlc"), "--json")
        decisions = {(t["decision"], t["reason"]) for t in json.loads(out)["tensors"]}
        self.assertEqual(decisions, {("frozen", "only adapters are trained, and what --train names")})
        shown = {t["tensor"] for t in json.loads(out)["tensors"]}
        self.assertEqual(shown, {"f1.weight", "f1.bias", "f2.weight", "f2.bias"})
        dlc.dlc("compile", dlc.model("mlp"), "-o", self.path("p.dlc"), "--predict-only")
        self.assertEqual(json.loads(dlc.dlc("inspect", self.path("p.dlc"), "--json")[0])["tensors"], [])

    def test_bodies(self):
        """Nodes of a loop's body count once, whatever the iterations, and have words; so does what one lacks."""
        scalar = lambda name, kind: helper.make_tensor_value_info(name, kind, [])
        wide = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [4, 3])
        def loop(op, name=""):
            body = helper.make_graph([helper.make_node("MatMul", ["h", "w"], ["p"], name="step"), helper.make_node(op, ["p"], ["q"]),
                                      helper.make_node("Identity", ["c"], ["d"])], "body",
                                     [scalar("i", TensorProto.INT64), scalar("c", TensorProto.BOOL), wide("h")],
                                     [scalar("d", TensorProto.BOOL), wide("q")])
            trips = helper.make_node("Constant", [], ["n"], value=numpy_helper.from_array(np.int64(3)))
            return [trips, helper.make_node("Loop", ["n", "", "x"], ["l"], name=name, body=body),
                    helper.make_node("MatMul", ["l", "v"], ["y"], name="last")]
        for name in "", "/rnn/Loop":
            report, ops, _ = self.of(loop("Tanh", name), "--loss=mse")
            self.assertEqual({k: ops["Tanh"][k] for k in ("count", "gradient", "amp", "cpu", "cuda")},
                             {"count": 1, "gradient": "yes", "amp": "as inputs", "cpu": "yes", "cuda": "yes"})
            self.assertEqual((ops["MatMul"]["count"], ops["MatMul"]["gradient"], ops["Loop"]["import"]), (2, "yes", "yes"))
            flops = {layer["node"]: layer["flops"] for layer in report["layers"]}
            self.assertEqual(flops[(name or "l") + "/step"], 3 * flops["last"])
            _, ops, _ = self.of(loop("StringNormalizer", name), code=dlc.BAD_MODEL)
            self.assertEqual(ops["StringNormalizer"]["import"], "no")

    def test_user_lists_count(self):
        _, ops, _ = self.check(dlc.model("lenet"), "--amp", "--amp-deny=Conv")
        self.assertEqual((ops["Conv"]["amp"], ops["Gemm"]["amp"]), ("f32", "half"))

    def test_no_gradient_to_have(self):
        _, ops, _ = self.of([helper.make_node("MatMul", ["x", "w"], ["a"]), helper.make_node("Floor", ["a"], ["f"]),
                             helper.make_node("Cast", ["f"], ["i"], to=TensorProto.INT64), helper.make_node("Neg", ["i"], ["n"]),
                             helper.make_node("Cast", ["n"], ["c"], to=TensorProto.FLOAT), helper.make_node("Add", ["a", "c"], ["y"])],
                            "--loss=mse")
        self.assertEqual({name: ops[name]["gradient"] for name in ("MatMul", "Floor", "Neg", "Add")},
                         {"MatMul": "yes", "Floor": "zero", "Neg": "none", "Add": "yes"})

    def test_norm_and_attention(self):
        """Results that are for the gradient alone get none."""
        _, ops, _ = self.check(dlc.model("gpt_tiny"), "--batch=4")
        self.assertEqual({op["gradient"] for op in ops.values() if op["op"] in ("LayerNormalization", "MatMul", "Softmax", "Gather")}, {"yes"})
        self.assertEqual({op[target] for op in ops.values() for target in ("cpu", "cuda")}, {"yes"})

    def test_missing_operator(self):
        report, ops, err = self.of([helper.make_node("MatMul", ["x", "w"], ["a"]),
                                    helper.make_node("Wobble", ["a"], ["b"], name="wob", domain="my.ops"),
                                    helper.make_node("MatMul", ["b", "v"], ["y"])], code=dlc.BAD_MODEL)
        self.assertEqual((ops["my.ops.Wobble"]["import"], ops["MatMul"]["import"]), ("no", "yes"))
        self.assertIn("by a function in the model", ops["my.ops.Wobble"]["advice"])
        self.assertEqual((ops["MatMul"]["count"], ops["MatMul"]["cuda"]), (2, "?"))
        self.assertIn("operator my.ops.Wobble is not supported (node 'wob')", err)
        _, ops, _ = self.of([helper.make_node("DynamicQuantizeLSTM", ["x", "w"], ["y"], domain="com.microsoft")], code=dlc.BAD_MODEL)
        self.assertIn("use the model from before it was quantized", ops["com.microsoft.DynamicQuantizeLSTM"]["advice"])

    def test_functions_count_as_what_calls_them(self):
        body = [helper.make_node("MatMul", ["a", "b"], ["t"]), helper.make_node("Tanh", ["t"], ["c"])]
        twice = helper.make_function("my.ops", "Dense", ["a", "b"], ["c"], body, [helper.make_opsetid("", 17)])
        report, ops, _ = self.of([helper.make_node("Dense", ["x", "w"], ["a"], name="d1", domain="my.ops"),
                                  helper.make_node("Dense", ["a", "v"], ["y"], domain="my.ops")], "--loss=mse", functions=[twice])
        self.assertEqual(set(ops), {"my.ops.Dense"})
        self.assertEqual({k: ops["my.ops.Dense"][k] for k in ("count", "gradient", "amp", "cpu")},
                         {"count": 2, "gradient": "yes", "amp": "half", "cpu": "yes"})
        self.assertEqual({layer["op"] for layer in report["layers"]}, {"my.ops.Dense"})

    def test_refused_node(self):
        """An operator that there is, with something that there is not."""
        _, ops, err = self.of([helper.make_node("Cast", ["x"], ["s"], to=TensorProto.INT64), helper.make_node("MatMul", ["x", "w"], ["a"]),
                               helper.make_node("Reshape", ["a", "s"], ["y"], name="shaped")], code=dlc.BAD_MODEL)
        self.assertEqual((ops["Reshape"]["import"], ops["MatMul"]["import"]), ("no", "yes"))
        self.assertIn("shaped", err)
        self.assertIn("shaped", ops["Reshape"]["advice"])

    def test_nothing_trains(self):
        report, _, err = self.check(dlc.model("lenet"), "--freeze=.", code=dlc.BAD_MODEL)
        self.assertEqual(report["trainable_parameters"], 0)
        self.assertIn("no trainable parameter", err)

    def test_step_of_the_model(self):
        """A model that is a training step itself trains nothing: it says how it is run."""
        training = "ai.onnx.preview.training"
        nodes = [helper.make_node("Mul", ["x", "x"], ["a"]), helper.make_node("ReduceSum", ["a"], ["l"], keepdims=0),
                 helper.make_node("Gradient", ["x"], ["y"], domain=training, xs=["x"], y="l")]
        _, ops, err = self.of(nodes, code=dlc.BAD_MODEL)
        self.assertIn(f"{training}.Gradient makes the model a training step of its own: --predict-only runs it as it is", err)
        self.assertIn("--predict-only", ops[training + ".Gradient"]["advice"])
        self.assertEqual(self.of(nodes, "--predict-only")[1][training + ".Gradient"]["advice"], "")

    def test_what_is_no_model(self):
        path = self.path("m.onnx")
        with open(path, "w") as file:
            file.write("no model")
        for words, code, text in ((path,), dlc.BAD_MODEL, path), ((self.path("none.onnx"),), dlc.FAILED, "none.onnx"), (
                (dlc.model("lenet"), "--batch=x"), dlc.USAGE, "--batch"):
            _, err = dlc.dlc("check", *words, code=code)
            self.assertIn(text, err)


if __name__ == "__main__":
    dlc.main()
