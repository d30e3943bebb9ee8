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


if __name__ == "__main__":
    unittest.main()
