# SPDX-License-Identifier: Apache-2.0
"""Inputs and outputs without a row for each sample, models of a fixed batch, and programs that only predict."""

import json
import os

import numpy as np
from onnx import TensorProto, helper, numpy_helper

import dlc

FLOAT = TensorProto.FLOAT
node = helper.make_node


def value(name, *shape):
    return helper.make_tensor_value_info(name, FLOAT, shape)


def numbers(*shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


class Shapes(dlc.TestCase):
    def compile(self, nodes, inputs, outputs, *words, code=dlc.OK, **weights):
        tensors = [numpy_helper.from_array(array, name) for name, array in weights.items()]
        proto = helper.make_model(helper.make_graph(nodes, "g", inputs, outputs, tensors),
                                  opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
        with open(self.path("m.onnx"), "wb") as file:
            file.write(proto.SerializeToString())
        return dlc.dlc("compile", self.path("m.onnx"), "-o", self.path("m.dlc"), *words, code=code)

    def compile_file(self, name, *words):
        return dlc.dlc("compile", self.path(name), "-o", self.path("m.dlc"), "--predict-only", *words)

    def predict(self, model="m.dlc", code=dlc.OK, **arrays):
        np.savez(self.path("in.npz"), **arrays)
        _, self.err = dlc.dlc("predict", self.path(model), "-o", self.path("out.npz"), data=self.path("in.npz"), code=code)
        return dict(np.load(self.path("out.npz"))) if code == dlc.OK else None

    def batch(self):
        out, _ = dlc.dlc("inspect", self.path("m.dlc"), "--json")
        return json.loads(out)["batch"]

    def test_shared_input(self):
        """y = x w + m trains with one m for all samples as numpy does; other batches give the same."""
        x, w, m, y = numbers(8, 3), numbers(3, 2), numbers(1, 2), numbers(8, 2) + 1
        nodes = [node("MatMul", ["x", "w"], ["t"]), node("Add", ["t", "m"], ["z"])]
        _, err = self.compile(nodes, [value("x", "N", 3), value("m", 1, 2)], [value("z", "N", 2)], "--batch=4", "--loss=mse",
                              "--optimizer=sgd", "--lr=0.1", "--momentum=0", w=w)
        self.assertIn("an input is the same for all samples: 'm'", err)
        np.savez(self.path("d.npz"), x=x, m=m, y=y)
        dlc.dlc("train", self.path("m.dlc"), data=self.path("d.npz"), run=self.path("run"), steps=2, shuffle="off")
        expected = w.astype(np.float64)
        for rows in slice(0, 4), slice(4, 8):
            expected = expected - 0.1 * x[rows].T @ (x[rows] @ expected + m - y[rows]) * 2 / 8
        found = self.predict("run", x=x[:5], m=m)["y"]  # five: a last batch that is filled up
        np.testing.assert_allclose(found, x[:5] @ expected + m, rtol=1e-5, atol=1e-6)
        self.predict("run", x=x, m=x, code=dlc.FAILED)
        self.assertIn("'m': is the same for all samples and has shape [8, 3], expected [1, 2]", self.err)

    def test_samples_are_whole_graphs(self):
        """Atoms [atoms, 3] and their residues [atoms] in, [residues, 2] out: an update of two graphs, as numpy's."""
        graphs, atoms, residues = 6, 5, 3
        x, w, y = numbers(graphs, atoms, 3), numbers(3, 2), numbers(graphs, residues, 2)
        of = np.sort(np.random.default_rng(1).integers(0, residues, (graphs, atoms)), axis=1)
        nodes = [node("MatMul", ["x", "w"], ["h"]), node("OneHot", ["of", "depth", "ends"], ["member"], axis=0), node("MatMul", ["member", "h"], ["z"])]
        inputs = [value("x", "atoms", 3), helper.make_tensor_value_info("of", TensorProto.INT64, ["atoms"])]
        given = dict(depth=np.int64(residues), ends=np.array([0, 1], np.float32), w=w)
        wrong = ("compile", self.path("m.onnx"), "-o", self.path("m.dlc"), "--loss=mse", "--dim", f"atoms={atoms}")
        _, err = self.compile(nodes, inputs, [value("z", "residues", 2)], "--batch=1", "--dim", f"atoms={atoms}", "--loss=mse", "--lr=0.1",
                              "--accumulate=2", **given)
        self.assertIn("a sample is all of the inputs: 'x', 'of'", err)
        np.savez(self.path("d.npz"), x=x, of=of, y=y)
        dlc.dlc("train", self.path("m.dlc"), data=self.path("d.npz"), run=self.path("run"), steps=graphs // 2, shuffle="off")
        members, expected = (of[:, None] == np.arange(residues)[:, None]).astype(np.float64), w.astype(np.float64)
        for rows in slice(0, 2), slice(2, 4), slice(4, 6):
            sums = members[rows] @ x[rows]
            expected = expected - 0.1 * np.einsum("nra,nrb->ab", sums, sums @ expected - y[rows]) * 2 / y[rows].size
        found = self.predict("run", x=x[:5], of=of[:5])["y"]
        np.testing.assert_allclose(found.reshape(5, residues, 2), members[:5] @ x[:5] @ expected, rtol=1e-5, atol=1e-6)
        _, err = dlc.dlc(*wrong, code=dlc.BAD_MODEL)
        self.assertIn("input 'y' has shape [3, 2], expected rows for each of 5 samples; if all rows are one sample, such as a graph: --batch=1", err)

    def test_scalar_input(self):
        self.compile([node("Mul", ["x", "s"], ["y"])], [value("x", "N", 3), value("s")], [value("y", "N", 3)], "--predict-only")
        x = numbers(40, 3)
        np.testing.assert_array_equal(self.predict(x=x, s=np.float32(2.5))["y"], x * np.float32(2.5))

    def test_fixed_batch_is_the_default(self):
        """Of the first input; --batch may name another input's."""
        nodes, inputs = [node("MatMul", ["a", "b"], ["y"])], [value("a", 2, 5), value("b", 5, 5)]
        a, b = numbers(2, 5), numbers(5, 5)
        for words, batch in ([], 2), (["--batch=2"], 2), (["--batch=5"], 5):
            self.compile(nodes, inputs, [value("y", 2, 5)], "--predict-only", *words)
            self.assertEqual(self.batch(), batch)
            np.testing.assert_allclose(self.predict(a=a, b=b)["y"], a @ b, rtol=1e-5)
        _, err = self.compile(nodes, inputs, [value("y", 2, 5)], "--predict-only", "--batch=3")
        self.assertIn("the file fixes the batch at 2, --batch=3 changes it", err)
        a = numbers(3, 5)
        np.testing.assert_allclose(self.predict(a=a, b=b)["y"], a @ b, rtol=1e-5)

    def test_another_batch_than_the_fixed_one(self):
        """Numbers in shapes follow it, what has a row for all is repeated; each sample is as it was alone."""
        w, cls, h0 = numbers(8, 6), numbers(1, 1, 4), np.zeros((1, 1, 5), np.float32)
        nodes = [node("Reshape", ["x", "flat"], ["f"]), node("MatMul", ["f", "w"], ["p"]), node("Reshape", ["p", "rows"], ["q"]),
                 node("Slice", ["q", "s0", "s1", "s2"], ["r"]), node("Expand", ["cls", "one"], ["c"]), node("Concat", ["c", "r", "cls"], ["t"], axis=1),
                 node("Transpose", ["t"], ["u"], perm=[1, 0, 2]), node("GRU", ["u", "gw", "gr", "", "", "h0"], ["", "y"], hidden_size=5),
                 node("Squeeze", ["y", "zero"], ["z"])]
        weights = dict(flat=np.array([1, -1]), w=numbers(8, 8), rows=np.array([1, 2, 4]), s0=np.array([0]), s1=np.array([2]), s2=np.array([1]), cls=cls,
                       one=np.array([1, 1, 4]), gw=numbers(1, 15, 4), gr=numbers(1, 15, 5), h0=h0, zero=np.array([0]))
        x, alone = numbers(4, 2, 4), []
        self.compile(nodes, [value("x", 1, 2, 4)], [value("z", 1, 5)], "--predict-only", **weights)
        for row in x:
            alone.append(self.predict(x=row[None])["y"][0])
        self.compile(nodes, [value("x", 1, 2, 4)], [value("z", 1, 5)], "--predict-only", "--batch=4", **weights)
        self.assertEqual(self.batch(), 4)
        np.testing.assert_allclose(self.predict(x=x)["y"], alone, rtol=1e-5, atol=1e-6)
        dlc.dlc("export", self.path("m.dlc"), "-o", self.path("back.onnx"))
        self.compile_file("back.onnx")
        np.testing.assert_allclose(self.predict(x=x[:1])["y"], alone[:1], rtol=1e-5, atol=1e-6)

    def test_what_takes_one_sample_keeps_the_batch(self):
        cases = {
            "first": ([node("Gather", ["x", "at"], ["g"], axis=0, name="first"), node("Unsqueeze", ["g", "at0"], ["y"])],
                      dict(at=np.array(0), at0=np.array([0])), "node 'first' (Gather) takes one sample of the batch"),
            "noise": ([node("RandomNormal", [], ["r"], shape=[1, 3], name="noise"), node("Add", ["x", "r"], ["y"])], {},
                      "node 'noise' (RandomNormal) makes numbers for a batch of 1"),
            "shape": ([node("Reshape", ["x", "to"], ["f"], name="flat"), node("Unsqueeze", ["f", "at0"], ["y"])],
                      dict(to=np.array([3]), at0=np.array([0])), "flat: cannot reshape"),
            "sum": ([node("ReduceSum", ["x", "at0"], ["y"], keepdims=1, name="sum")], dict(at0=np.array([0])),
                    "output 'y' has no row for each sample"),
        }
        for name, (nodes, weights, message) in cases.items():
            with self.subTest(name):
                self.compile(nodes, [value("x", 1, 3)], [value("y", 1, 3)], "--predict-only", **weights)
                _, err = self.compile(nodes, [value("x", 1, 3)], [value("y", 1, 3)], "--predict-only", "--batch=4", code=dlc.BAD_MODEL, **weights)
                self.assertIn(message, err)
                self.assertRegex(err, r"--batch=4 cannot change it: .*--batch=1, or export with an open one.*export\.md")

    def test_symbolic_batch_has_a_default(self):
        self.compile([node("Neg", ["x"], ["y"])], [value("x", "N", 3)], [value("y", "N", 3)], "--predict-only")
        self.assertEqual(self.batch(), 32)

    def test_batch_of_any_name(self):
        """Exporters number their symbols: that of a first dimension is the batch wherever it stands."""
        self.compile([node("MatMul", ["m", "x"], ["y"])], [value("x", "s77", 3), value("m", "s77", "s77")],
                     [value("y", "s77", 3)], "--predict-only", "--batch=4")
        x, m = numbers(4, 3), numbers(4, 4)
        np.testing.assert_allclose(self.predict(x=x, m=m)["y"], m @ x, rtol=1e-5)
        _, err = self.compile([node("MatMul", ["x", "m"], ["y"])], [value("x", "s77", "s4"), value("m", "s4", "s9")],
                              [value("y", "s77", "s9")], "--predict-only", "--batch=4", code=dlc.BAD_MODEL)
        self.assertIn("input 'x': dimension 1 ('s4') is symbolic; bind it with --dim s4=N", err)

    def test_outputs_of_a_whole_batch(self):
        """They are there for exactly one batch; else a warning says so, or an error where nothing is left."""
        self.compile([node("Transpose", ["x"], ["t"]), node("Neg", ["x"], ["n"]), node("ReduceMean", ["x"], ["r"], keepdims=0)],
                     [value("x", 4, 3)], [value("t", 3, 4), value("n", 4, 3), value("r")], "--predict-only")
        x = numbers(8, 3)
        one = self.predict(x=x[:4])
        np.testing.assert_array_equal(one["t"], x[:4].T)
        np.testing.assert_allclose(one["r"], x[:4].mean(), rtol=1e-5)
        two = self.predict(x=x)
        self.assertEqual(set(two), {"y"})  # n, as the only one
        np.testing.assert_array_equal(two["y"], -x)
        self.assertIn("warning: output 't' has no row for each sample and is left out", self.err)
        self.compile([node("Transpose", ["x"], ["t"])], [value("x", 4, 3)], [value("t", 3, 4)], "--predict-only")
        self.predict(x=x, code=dlc.USAGE)
        self.assertIn("expected one whole batch, 4 samples, found 8", self.err)

    def test_nothing_but_shared_inputs(self):
        self.compile([node("Exp", ["s"], ["y"])], [value("s")], [value("y")], "--predict-only")
        np.testing.assert_allclose(self.predict(s=np.float32(1.5))["y"], np.exp(1.5), rtol=1e-6)

    def test_predict_only(self):
        """Needs no parameters, can't train, and gives what a trained program's predict does."""
        model, x = dlc.model("lenet"), np.load(dlc.data("mnist-test"))["x"][:40]
        found = []
        for name, words in ("whole", ["--optimizer=sgd"]), ("only", ["--predict-only"]), ("half", ["--predict-only", "--amp"]):
            dlc.dlc("compile", model, *words, "-o", self.path(name + ".dlc"))
            found.append(self.predict(name + ".dlc", x=x)["y"])
        np.testing.assert_array_equal(found[0], found[1])
        self.assertFalse(np.array_equal(found[0], found[2]))
        np.testing.assert_allclose(found[0], found[2], rtol=0.1, atol=0.1)
        with open(os.path.join(self.path("only.dlc"), "model.mlir")) as file:
            self.assertNotIn("train_step", file.read())
        for words, message in (["train"], "has no training program: it was compiled with --predict-only"), (
                ["eval"], "was it compiled with --predict-only?"):
            _, err = dlc.dlc(*words, self.path("only.dlc"), data=dlc.data("mnist-test"), code=dlc.FAILED)
            self.assertIn(message, err)
        dlc.dlc("check", model, "--predict-only", "--freeze=.")


if __name__ == "__main__":
    dlc.main()
