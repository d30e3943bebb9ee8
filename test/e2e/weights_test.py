# SPDX-License-Identifier: Apache-2.0
"""A model of torch's older exporter trains and loads by the source's names and layouts, and is exported under its own."""

import hashlib
import json
import os

import dlc
import numpy as np
import onnx
from onnx import helper, numpy_helper
from safetensors.numpy import save_file

ROWS, WIDTH, CLASSES = 4, 6, 3


def floats(*shape, seed=0):
    return np.random.RandomState(seed).randn(*shape).astype(np.float32)


def state_dict(seed=0):
    """Of a module with two linear layers: `a` is square, so that no shape tells how it is stored."""
    return {"a.weight": floats(WIDTH, WIDTH, seed=seed), "a.bias": floats(WIDTH, seed=seed + 1),
            "b.weight": floats(CLASSES, WIDTH, seed=seed + 2), "b.bias": floats(CLASSES, seed=seed + 3)}


def forward(s, x):
    return np.tanh(x @ s["a.weight"].T + s["a.bias"]) @ s["b.weight"].T + s["b.bias"]


def old_export(path, s, named=True, external=None):
    """As the exporter folds it; `named`: nodes have scopes."""
    title = (lambda m, op: f"/{m}/{op}") if named else (lambda m, op: "")
    bias = (lambda m: f"{m}.bias") if named else (lambda m: f"onnx::Add_{m}")
    nodes = [helper.make_node("MatMul", ["x", "onnx::MatMul_1"], ["p"], name=title("a", "MatMul")),
             helper.make_node("Add", [bias("a"), "p"], ["q"], name=title("a", "Add")),
             helper.make_node("Tanh", ["q"], ["h"]),
             helper.make_node("MatMul", ["h", "onnx::MatMul_2"], ["r"], name=title("b", "MatMul")),
             helper.make_node("Add", [bias("b"), "r"], ["y"], name=title("b", "Add"))]
    tensors = {"onnx::MatMul_1": s["a.weight"].T, "onnx::MatMul_2": s["b.weight"].T, bias("a"): s["a.bias"], bias("b"): s["b.bias"]}
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", 1, [ROWS, WIDTH])],
                              [helper.make_tensor_value_info("y", 1, [ROWS, CLASSES])],
                              [numpy_helper.from_array(np.ascontiguousarray(v), k) for k, v in tensors.items()])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9, producer_name="pytorch")
    if external:
        onnx.save(proto, path, save_as_external_data=True, location=external, size_threshold=0)
    else:
        onnx.save(proto, path)
    return path


def sign(manifest, file):
    """Makes a manifest agree with a file that has changed."""
    with open(manifest) as opened:
        fields = json.load(opened)
    with open(file, "rb") as opened:
        content = opened.read()
    fields["files"][os.path.basename(file)] = {"size": len(content), "hash": hashlib.sha256(content).hexdigest()}
    dlc.write_manifest(manifest, fields)


class Weights(dlc.TestCase):
    def setUp(self):
        super().setUp()
        self.x = floats(ROWS, WIDTH, seed=9)
        self.model = old_export(self.path("m.onnx"), state_dict())
        np.savez(self.path("x.npz"), x=self.x)

    def fresh(self):
        self.count = getattr(self, "count", 0) + 1
        return self.path(f"out{self.count}")

    def compile(self, tensors, *words, model=None, code=dlc.OK):
        """What dlc compile says with --weights of these tensors."""
        save_file(tensors, self.path("w.safetensors"))
        _, log = dlc.dlc("compile", model or self.model, "--predict-only", "--weights=" + self.path("w.safetensors"), *words,
                         "-o", self.fresh(), code=code)
        return log

    def predict(self, tensors, *words, model=None):
        save_file(tensors, self.path("w.safetensors"))
        artifact = self.fresh()
        _, log = dlc.dlc("compile", model or self.model, "--predict-only", "--weights=" + self.path("w.safetensors"), *words,
                         "-o", artifact)
        dlc.dlc("predict", artifact, "-o", self.path("y.npz"), data=self.path("x.npz"))
        with np.load(self.path("y.npz")) as file:
            return file["y"], log

    def test_a_state_dict_goes_in_as_it_is(self):
        other = state_dict(seed=20)
        found, log = self.predict(other)
        np.testing.assert_allclose(found, forward(other, self.x), rtol=1e-5, atol=1e-5)
        self.assertIn("4 matched", log)
        # Under the file's own names, in its layout, too.
        own = {"onnx::MatMul_1": other["a.weight"].T.copy(), "onnx::MatMul_2": other["b.weight"].T.copy()}
        found, log = self.predict(own | {k: v for k, v in other.items() if "bias" in k})
        np.testing.assert_allclose(found, forward(other, self.x), rtol=1e-5, atol=1e-5)

    def test_prefixes_are_said(self):
        other = state_dict(seed=20)
        found, log = self.predict({"module." + k: v for k, v in other.items()})
        np.testing.assert_allclose(found, forward(other, self.x), rtol=1e-5, atol=1e-5)
        self.assertIn("4 matched, 'module.' left out of the file's names", log)
        deep = {f"net.{k}": v for k, v in state_dict().items()}
        graph = onnx.load(self.model)
        for tensor in graph.graph.initializer:
            if "bias" in tensor.name:
                for n in graph.graph.node:
                    n.input[:] = ["net." + i if i == tensor.name else i for i in n.input]
                tensor.name = "net." + tensor.name
        for n in graph.graph.node:
            n.name = n.name and "/net" + n.name
        onnx.save(graph, self.path("deep.onnx"))
        self.assertIn("4 matched", self.compile(deep, model=self.path("deep.onnx")))
        found, log = self.predict(other, model=self.path("deep.onnx"))
        self.assertIn("4 matched, 'net.' put before the file's names", log)
        both = {f"{p}.{k}": v for p in ("one", "two") for k, v in other.items()}
        self.assertIn("several prefixes fit as well ('one.' and 'two.'), none was taken", self.compile(both, code=3))

    def test_what_is_no_weight_is_ignored_with_a_word(self):
        other = state_dict(seed=20)
        extra = {"bn.num_batches_tracked": np.array(3), "rope.inv_freq": floats(4), "tied.weight": other["a.weight"]}
        log = self.compile(other | extra)
        self.assertIn("2 ignored, as they are no weights: bn.num_batches_tracked, rope.inv_freq", log)
        self.assertIn("1 the same as others (tied): tied.weight", log)
        log = self.compile(other | {"ones.weight": np.ones(9, np.float32)}, code=3)
        self.assertIn("1 unknown to the model: ones.weight", log)

    def test_a_transpose_is_said(self):
        log = self.compile(state_dict() | {"b.weight": floats(WIDTH, CLASSES)}, code=3)
        self.assertIn("b.weight [6, 3], expected [3, 6], the transpose", log)

    def conv(self, layers, noted=False, biased=True):
        """Convolutions [path, weight, bias] one after the other, into each of which an exporter folded a norm. `noted`: by torch's newer
        one, whose notes say the norm's name, momentum and epsilon."""
        nodes, weights, lines, x = [], {}, [], "x"
        for i, (path, w, b, *norm) in enumerate(layers):
            names = [f"{path}.weight", f"{path}.bias"] if noted else [f"onnx::Conv_{i}", f"onnx::Conv_{i}b"]
            weights |= {names[0]: w} | ({names[1]: b} if biased else {})
            title = "" if noted else f"/{path.replace('.', '/')}/Conv"
            n = helper.make_node("Conv", [x, names[0], *([names[1]] if biased else [])], [f"y{i}"], name=title)
            if noted:
                parts = "".join(f"%{'b' if 'running' in k else 'p'}_{norm[0]}_{k}, " for k in ("weight", "bias", "running_mean", "running_var"))
                n.metadata_props.add(key="pkg.onnxscript.rewriter.rule_name", value="FuseBatchNormIntoConv")
                n.metadata_props.add(key="pkg.torch.onnx.fx_node", value=(
                    "%bn : [num_users=1] = call_function[target=torch.ops.aten._native_batch_norm_legit_no_training.default]"
                    f"(args = (%conv2d, {parts}0.1, 0.001), kwargs = {{}})"))
                lines += [f"p_{path}_weight: PARAMETER target='{path}.weight'"]
                lines += [f"p_{norm[0]}_{k}: PARAMETER target='{norm[0]}.{k}'" for k in ("weight", "bias")]
                lines += [f"b_{norm[0]}_running_{k}: BUFFER target='{norm[0]}.running_{k}' persistent=True" for k in ("mean", "var")]
            nodes.append(n)
            x = f"y{i}"
        graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", 1, [4, 3, 2, 2])],
                                  [helper.make_tensor_value_info(x, 1, [4, len(layers[-1][1]), 2, 2])],
                                  [numpy_helper.from_array(v, k) for k, v in weights.items()])
        proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10, producer_name="pytorch")
        if noted:
            proto.graph.metadata_props.add(key="pkg.torch.export.ExportedProgram.graph_signature",
                                           value="\n# inputs\n" + "\n".join(lines) + "\nx: USER_INPUT\n")
        onnx.save(proto, self.path("c.onnx"))
        return self.path("c.onnx")

    def normed(self, name, n, seed):
        return {f"{name}.weight": floats(n, seed=seed), f"{name}.bias": floats(n, seed=seed + 1),
                f"{name}.running_mean": floats(n, seed=seed + 2), f"{name}.running_var": 0.1 + np.abs(floats(n, seed=seed + 3))}

    def through(self, x, weights, steps, epsilon):
        """Of images: each layer with its norm, in f64."""
        w = {k: v.astype(np.float64) for k, v in weights.items()}
        for layer, norm in steps:
            x = np.einsum("nchw,oc->nohw", x, w[layer + ".weight"][:, :, 0, 0]) + w.get(layer + ".bias", np.zeros(1))[:, None, None]
            scale = w[norm + ".weight"] / np.sqrt(w[norm + ".running_var"] + epsilon)
            x = (x - w[norm + ".running_mean"][:, None, None]) * scale[:, None, None] + w[norm + ".bias"][:, None, None]
        return x

    def test_norms_that_were_folded(self):
        """--unfold-bn makes room for them, by the exporter's notes, which drops biases of zeros; else they are refused."""
        x = floats(4, 3, 2, 2, seed=9)
        np.savez(self.path("x.npz"), x=x)
        given = {"a.weight": floats(5, 3, 1, 1, seed=3), "b.weight": floats(5, 5, 1, 1, seed=6)}
        given |= self.normed("n", 5, 20) | self.normed("m", 5, 40)
        for biased in True, False:
            noted = self.conv([("a", floats(5, 3, 1, 1), floats(5), "n"), ("b", floats(5, 5, 1, 1), floats(5), "m")], noted=True, biased=biased)
            found, log = self.predict(given, "--unfold-bn", model=noted)
            np.testing.assert_allclose(found, self.through(x, given, [("a", "n"), ("b", "m")], 1e-3), rtol=1e-4, atol=1e-4)
            log = self.compile(given, model=noted, code=3)
            self.assertRegex(log, r"left alone, as the model's file has batch norms folded into them that this one has apart \(--unfold-bn, ")
        own = [("p.pw", floats(5, 3, 1, 1), floats(5)), ("p.dw", floats(2, 5, 1, 1), floats(2))]
        given = {f"{path}.{part}": w for path, *values in own for part, w in zip(("weight", "bias"), values)}
        self.assertIn("4 matched", self.compile(given, model=self.conv(own)))
        apart = {k: v for k, v in given.items() if "weight" in k} | self.normed("p.bn1", 5, 2) | self.normed("p.bn2", 2, 4)
        log = self.compile(apart, model=self.conv(own), code=3)
        self.assertIn("4 left alone, ", log)
        self.assertIn("unknown to the model: p.bn1.bias", log)
        self.assertIn("0 matched", self.compile(apart, "--weights-partial", model=self.conv(own), code=3))

    def test_names_by_value(self):
        source = state_dict()
        model = old_export(self.path("bare.onnx"), source, named=False)
        save_file(source, self.path("n.safetensors"))
        other = state_dict(seed=20)
        few = {k: v for k, v in other.items() if v.size >= 8}
        found, log = self.predict(few | {f"onnx::Add_{m}": other[f"{m}.bias"] for m in "ab"},
                                  "--names=" + self.path("n.safetensors"), model=model)
        np.testing.assert_allclose(found, forward(other, self.x), rtol=1e-5, atol=1e-5)
        self.assertIn("2 given by value", log)
        self.assertIn("2 not found in the model", log)  # biases of few numbers

    def names(self, tensors, weights, code=dlc.OK, name="n.safetensors"):
        """x w0 w1 ... with names by value of `tensors`: what is said, and the states."""
        nodes, last = [], "x"
        for i, key in enumerate(weights):
            nodes.append(helper.make_node("MatMul", [last, key], [f"h{i}"]))
            last = f"h{i}"
        graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", 1, [ROWS, WIDTH])],
                                  [helper.make_tensor_value_info(last, 1, [ROWS, WIDTH])],
                                  [numpy_helper.from_array(np.ascontiguousarray(v), k) for k, v in weights.items()])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), self.path("v.onnx"))
        save_file({k: np.ascontiguousarray(v) for k, v in tensors.items()}, self.path(name))
        artifact = self.fresh()
        _, log = dlc.dlc("compile", self.path("v.onnx"), "--predict-only", "--names=" + self.path(name), "-o", artifact, code=code)
        return log, dlc.load_file(artifact + "/state.safetensors") if code == dlc.OK else None

    def test_ties_are_kept_and_ambiguity_is_said(self):
        w, v = floats(WIDTH, WIDTH), floats(WIDTH, WIDTH, seed=1)
        log, states = self.names({"p.weight": w, "q.weight": w, "r.weight": v}, {"1": w.T, "2": v, "3": v.T})
        self.assertEqual({k: s.tobytes() for k, s in states.items()}, {"p.weight": w.tobytes(), "r.weight": v.tobytes()})
        log, states = self.names({"p.weight": w, "q.weight": w, "r.weight": v}, {"1": w.T, "2": w, "3": v})
        self.assertIn("2 left alone, as several have the same values: 1, 2", log)
        self.assertEqual(set(states), {"1", "2", "r.weight"})
        # Its name is right, its layout is the other one: only values tell.
        log, states = self.names({"p.weight": w}, {"p.weight": w.T})
        np.testing.assert_array_equal(states["p.weight"], w)

    def test_errors_of_names(self):
        w = floats(WIDTH, WIDTH)
        log, _ = self.names({"p": floats(WIDTH, WIDTH, seed=3)}, {"1": w}, code=3)
        self.assertIn("no tensor of the model has the values of one of its 1 tensors; expected the weights that the model was "
                      "exported with", log)
        log, _ = self.names({"p": w}, {"1": w}, code=2, name="n.bin")
        self.assertIn("--names: expected a .safetensors file, found", log)

    def test_tables_that_an_exporter_cut(self):
        """Rows of a table of positions: with the weights of the export they are the table's again, and any other table fits."""
        table, other, w = floats(9, WIDTH + 2, seed=3), floats(9, WIDTH + 2, seed=5), floats(WIDTH + 2, WIDTH + 2)
        rows = [2, 3, 4, 5]
        nodes = [helper.make_node("Add", ["x", "embedding_2"], ["a"]), helper.make_node("MatMul", ["a", "w.weight"], ["y"])]
        nodes[0].metadata_props.add(key="pkg.torch.onnx.fx_node", value=(
            "%add : [num_users=1] = call_function[target=torch.ops.aten.add.Tensor](args = (%x, %embedding_2), kwargs = {})"))
        graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", 1, [2, 4, WIDTH + 2])],
                                  [helper.make_tensor_value_info("y", 1, [2, 4, WIDTH + 2])],
                                  [numpy_helper.from_array(table[None, rows], "embedding_2"), numpy_helper.from_array(w, "w.weight")])
        graph.metadata_props.add(key="pkg.torch.export.ExportedProgram.graph_signature", value=(
            "\n# inputs\np_w_weight: PARAMETER target='w.weight'\np_pos_weight: PARAMETER target='pos.weight'\nx: USER_INPUT\n"))
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10, producer_name="pytorch"),
                  self.path("cut.onnx"))
        x = floats(2, 4, WIDTH + 2, seed=7)
        np.savez(self.path("x.npz"), x=x)
        save_file({"pos.weight": table, "w.weight": w}, self.path("n.safetensors"))
        given, names = {"pos.weight": other, "w.weight": w}, "--names=" + self.path("n.safetensors")
        log = self.compile(given, model=self.path("cut.onnx"), code=3)
        self.assertIn("1 cut from the file's tensors when the model was exported (--names=FILE, with the weights that it was exported "
                      "with, finds their rows): embedding_2 of pos.weight", log)
        found, log = self.predict(given, names, model=self.path("cut.onnx"))
        np.testing.assert_allclose(found, (x + other[rows]) @ w, rtol=1e-4, atol=1e-4)
        self.assertIn("2 given by value", log)
        self.assertNotIn("does not have", log)
        # Rows that it does not read stay; the export has the file's form.
        artifact = self.fresh()
        dlc.dlc("compile", self.path("cut.onnx"), names, "-o", artifact, loss="mse", lr=0.1, optimizer="sgd", momentum=0)
        np.savez(self.path("d.npz"), x=x, y=np.zeros_like(x))
        run = dlc.train(artifact, self.path("d.npz"), self.fresh(), steps=1, threads=1)
        after = run.state(1)["pos.weight"]
        gradient = 2 / x.size * (((x + table[rows]) @ w) @ w.T).sum(0)
        np.testing.assert_allclose(after[rows], table[rows] - 0.1 * gradient, rtol=1e-4, atol=1e-5)
        np.testing.assert_array_equal(np.delete(after, rows, 0), np.delete(table, rows, 0))
        dlc.dlc("export", run.folder, "-o", self.path("t.onnx"))
        out, _ = dlc.dlc("debug", "diff", self.path("cut.onnx"), self.path("t.onnx"), "--json", code=1)
        self.assertTrue(json.loads(out)["only_values"], out)
        tensors = {t.name: numpy_helper.to_array(t) for t in onnx.load(self.path("t.onnx")).graph.initializer}
        np.testing.assert_array_equal(tensors["embedding_2"], after[None, rows])

    def test_an_export_differs_in_values_only(self):
        for external in None, "m.data":
            source = old_export(self.path("s.onnx"), state_dict(), external=external)
            np.savez(self.path("d.npz"), x=np.tile(self.x, (4, 1)), y=np.arange(4 * ROWS) % CLASSES)
            artifact = dlc.compile(source, self.fresh(), lr=0.1)
            run = dlc.train(artifact, self.path("d.npz"), self.fresh(), steps=4, threads=1)
            self.assertEqual({k for k in run.state(4) if "/" not in k and not k.endswith(".m") and "weight" in k},
                             {"a.weight", "b.weight"})
            dlc.dlc("export", run.folder, "-o", self.path("t.onnx"))
            out, _ = dlc.dlc("debug", "diff", source, self.path("t.onnx"), "--json", code=1)
            diff = json.loads(out)
            self.assertTrue(diff["only_values"], diff)
            self.assertEqual({v["tensor"] for v in diff["values"]}, {"onnx::MatMul_1", "onnx::MatMul_2", "a.bias", "b.bias"})
            trained = {t.name: numpy_helper.to_array(t) for t in onnx.load(self.path("t.onnx")).graph.initializer}
            np.testing.assert_array_equal(trained["onnx::MatMul_1"].T, run.state(4)["a.weight"])

    def test_damaged_layouts(self):
        artifact = dlc.compile(self.model, self.fresh())
        file, manifest = os.path.join(artifact, "layout.json"), os.path.join(artifact, "manifest.json")
        with open(file) as opened:
            whole = json.load(opened)
        piece = whole[0]["pieces"][0]
        for change, message in [
                ({}, "layout.json: expected a list"),
                ([1], "'tensor'"),
                ([whole[0] | {"shape": 3}], "has no list 'shape'"),
                ([whole[0] | {"perm": [0.5, 0]}], "has a number that is no integer"),
                ([whole[0] | {"perm": [0, 0]}], "which do not fit its shape"),
                ([whole[0] | {"pieces": 1}], "has no list 'pieces'"),
                ([whole[0] | {"pieces": [["a.weight"]]}], "has a part that is no name and two numbers"),
                ([whole[0] | {"pieces": [["none", 0, 36]]}], "no value for tensor 'none', which 'onnx::MatMul_1' of the source"),
                ([whole[0] | {"pieces": [[piece[0], 1, piece[2]]]}], "does not hold its part of 'onnx::MatMul_1'"),
                ([whole[0] | {"pieces": [[piece[0], 0, 1]]}], "which do not fit its shape")]:
            with open(file, "w") as opened:
                json.dump(change, opened)
            sign(manifest, file)
            _, log = dlc.dlc("export", artifact, "-o", self.path("o.onnx"), code=4)
            self.assertIn(message, log)


if __name__ == "__main__":
    dlc.main()
