# SPDX-License-Identifier: Apache-2.0
"""Parquet files, as pyarrow and DuckDB wrote them, train as the same numbers in a .npz."""

import os
import unittest

import dlc
import numpy as np

FOLDER = os.path.join(dlc.REFS, "parquet")


class Parquet(dlc.TestCase):
    def file(self, name):
        return os.path.join(FOLDER, name + ".parquet")

    def test_inspect(self):
        out, _ = dlc.dlc("data", "inspect", self.file("lists"))
        self.assertIn("120 rows in 1 file", out)
        self.assertRegex(out, r"vector: lists of 5; numbers, -\d\.\d+ to \d\.\d+")
        self.assertRegex(out, r"matrix: lists of 2 x 3; whole numbers, \d+ to \d+")
        self.assertIn("label: whole numbers, 0 to 9", out)
        out, _ = dlc.dlc("data", "inspect", self.file("snappy") + "," + self.file("gzip_v2"))
        self.assertIn("240 rows in 2 files", out)
        self.assertIn("color: 4 names: blue 72, green 72, red 72, träume 24", out)
        out, _ = dlc.dlc("data", "inspect", self.file("odd"))
        for line in ("number: numbers, 1.5 to 2.5; 1 not finite; 2 missing", "whole: whole numbers, 1 to 5; 1 missing", "day: dates"):
            self.assertIn(line, out)


class Training(dlc.TestCase):
    def setUp(self):
        super().setUp()
        import onnx
        from onnx import TensorProto, helper, numpy_helper
        random = np.random.default_rng(0)
        w = numpy_helper.from_array(random.normal(size=(5, 10)).astype(np.float32), "w")
        graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["logits"])], "g",
                                  [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 5])],
                                  [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["N", 10])], [w])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), self.path("model.onnx"))
        self.artifact = dlc.compile(self.path("model.onnx"), self.path("model.dlc"), batch=20, ddp=2)

    def test_lists(self):
        """Of two files, on two ranks, killed and gone on: the numbers of the .npz, bit by bit."""
        with np.load(os.path.join(dlc.REFS, "parquet_ref.npz")) as data:
            x, y = np.tile(data["vector"], (2, 1)), np.tile(np.arange(120) % 10, 2)
        np.savez(self.path("same.npz"), x=x.astype(np.float64), y=y)
        expected = dlc.train(self.artifact, self.path("same.npz"), self.path("expected"), epochs=4)
        files = os.path.join(FOLDER, "lists.parquet") + "," + os.path.join(FOLDER, "lists_v2.parquet")
        process = dlc.start("train", self.artifact, data=files, columns="x:vector;y:label", run=self.path("run"), epochs=4, save_every=7)
        while not os.path.isdir(self.path("run/checkpoint-7")):
            self.assertIsNone(process.poll(), "it ended before it could be killed")
        dlc.kill(process)
        dlc.dlc("train", resume=self.path("run"))
        run = dlc.Run(self.path("run"))
        self.assertBitwise(run.state(24), expected.state(24), "after kill -9")
        self.assertEqual(dlc.evaluate(self.path("run"), files), dlc.evaluate(expected.folder, self.path("same.npz")))


class Pictures(dlc.TestCase):
    """A column of PNGs trains as the same pixels in a .npz, whatever wrote it."""

    @classmethod
    def setUpClass(cls):
        cls.share_artifact()
        with np.load(dlc.data("digits-train")) as data:
            cls.x, cls.y = data["x"][:192] * 15, data["y"][:192]
        cls.files = os.path.join(FOLDER, "digits-{0..1}.parquet")

    def same(self, name, y):
        np.savez(self.path(name + ".npz"), x=self.x, y=y)
        return dlc.train(self.artifact, self.path(name + ".npz"), self.path(name), epochs=2).state(24)

    def test_as_datasets_writes_them(self):
        run = dlc.train(self.artifact, self.files, self.path("run"), epochs=2, workers=2)
        self.assertBitwise(run.state(24), self.same("same", self.y), "two files, workers")
        out, _ = dlc.dlc("predict", run.folder, data=os.path.join(FOLDER, "digits-1.parquet"), top=1)
        self.assertIn("digits-1.parquet row 91", out)

    def test_classes_by_name(self):
        """Killed and gone on; evaluated on a file alone, by the run's numbers."""
        names = "zero one two three four five six seven eight nine".split()
        process = dlc.start("train", self.artifact, data=self.files, columns="x:image.bytes;y:digit", run=self.path("run"), epochs=2, save_every=5)
        while not os.path.isdir(self.path("run/checkpoint-5")):
            self.assertIsNone(process.poll(), "it ended before it could be killed")
        dlc.kill(process)
        dlc.dlc("train", resume=self.path("run"))
        run = dlc.Run(self.path("run"))
        y = np.array([sorted(names).index(names[i]) for i in self.y])
        self.assertBitwise(run.state(24), self.same("same", y), "after kill -9")
        with open(self.path("run/config.yaml")) as file:
            self.assertIn(f"classes: [{', '.join(sorted(names))}]", file.read())
        np.savez(self.path("last.npz"), x=self.x[100:], y=y[100:])
        self.assertEqual(dlc.evaluate(run.folder, os.path.join(FOLDER, "digits-1.parquet")), dlc.evaluate(run.folder, self.path("last.npz")))

    def test_numbers_that_have_names(self):
        """Classes keep their numbers, and predict says their names; other data are read by names."""
        named = os.path.join(FOLDER, "named.parquet")
        names = "zero one two three four five six seven eight nine".split()
        run = dlc.train(self.artifact, named, self.path("run"), epochs=2)
        np.savez(self.path("same.npz"), x=self.x[:20], y=self.y[:20])
        self.assertBitwise(run.state(2), dlc.train(self.artifact, self.path("same.npz"), self.path("same"), epochs=2).state(2), "names or not")
        with open(self.path("run/config.yaml")) as file:
            self.assertIn(f"classes: [{', '.join(names)}]", file.read())
        out, _ = dlc.dlc("predict", run.folder, data=os.path.join(FOLDER, "named.parquet"), top=10)
        for name in names:
            self.assertIn(name, out)
        y = np.where((self.y == 1) | (self.y == 2), 3 - self.y, self.y)[:20]
        self.assertTrue((y != self.y[:20]).any())
        np.savez(self.path("other.npz"), x=self.x[:20], y=y)
        with open(os.path.join(FOLDER, "named.parquet"), "rb") as file:
            content = file.read()
        other = self.path("other.parquet") # the same numbers, two of them with each other's names
        self.assertEqual(content.count(b'["zero", "one", "two"'), 1)
        with open(other, "wb") as file:
            file.write(content.replace(b'["zero", "one", "two"', b'["zero", "two", "one"'))
        self.assertEqual(dlc.evaluate(run.folder, other), dlc.evaluate(run.folder, self.path("other.npz")))

    def test_inspect(self):
        out, _ = dlc.dlc("data", "inspect", self.files)
        for line in ("a table of pictures", "192 pictures: 192 PNG"):
            self.assertIn(line, out)
        out, _ = dlc.dlc("data", "inspect", os.path.join(FOLDER, "digits-odd.parquet"), code=dlc.FAILED)
        for row in 3, 7:
            self.assertRegex(out, rf"broken: .*digits-odd\.parquet row {row}: ")


if __name__ == "__main__":
    unittest.main()
