# SPDX-License-Identifier: Apache-2.0
"""dlc debug compare with onnxruntime as its other side: a model's nodes agree, or part at the node that was made wrong."""

import importlib.util
import json
import os
import stat
import sys
import unittest

import dlc
import numpy as np

WRONG = "/Relu_3"
# LeNet's node gives 1 % too much.
PLANT = f"""
import sys, onnx
from onnx import helper
path = sys.argv[1] + "/model.onnx"
model = onnx.load(path)
node = next(node for node in model.graph.node if node.name == "{WRONG}")
node.op_type = "Selu"
node.attribute.extend([helper.make_attribute("alpha", 0.0), helper.make_attribute("gamma", 1.01)])
onnx.save(model, path)
"""


@unittest.skipUnless(importlib.util.find_spec("onnxruntime"), "this Python has no onnxruntime")
class OnnxRuntime(dlc.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.share_folder()
        cls.lenet = dlc.compile(dlc.model("lenet"), os.path.join(cls.shared, "lenet.dlc"))

    def compare(self, model, *words, data="mnist-test", code=dlc.OK, python=sys.executable, **options):
        path = data if os.path.exists(data) else dlc.data(data)
        out, self.messages = dlc.dlc("debug", "compare", model, *words, "--json", onnxruntime=python, data=path, code=code, **options)
        return json.loads(out) if out else None

    def script(self, name, text):
        path = self.path(name)
        with open(path, "w") as file:
            file.write("#!/bin/sh\n" + text)
        os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)
        return path

    def test_a_run_agrees(self):
        """With the weights that it has trained, on several batches."""
        run = dlc.train(self.lenet, dlc.data("mnist-train"), self.path("run"), steps=20).folder
        found = self.compare(run, steps=2)
        self.assertTrue(found["agree"])
        self.assertEqual(len(found["steps"]), 2)
        self.assertGreaterEqual(found["compared"], 7)
        self.assertEqual(found["results"][0], 12)

    def test_models_agree(self):
        """Training forms, whose batch norms are onnxruntime's of inference; attention; halves, and their roundings."""
        images = dlc.Reference("resnet8").write(self.path("images.npz"))
        for name, data, options in ("resnet8", images, {}), ("gpt_tiny", "text-train", {}), ("lenet", "mnist-test", dict(amp=True)):
            artifact = dlc.compile(dlc.model(name), self.path(name + ".dlc"), batch=8, **options)
            found = self.compare(artifact, data=data)
            self.assertTrue(found["agree"], found["first"])
            self.assertGreater(found["compared"], 6, name)

    def test_finds_the_wrong_node(self):
        plant = self.path("plant.py")
        with open(plant, "w") as file:
            file.write(PLANT)
        python = self.script("wrong", f'"{sys.executable}" "{plant}" "$3" && exec "{sys.executable}" "$@"\n')
        for words in [], ["--drift"]:
            first = self.compare(self.lenet, *words, python=python, code=1)["first"]
            self.assertIn(WRONG, first["name"].split("; "))
            self.assertEqual((first["phase"], first["operation_a"]), ("forward", "Selu"))
            self.assertLess(abs(first["error"] - 0.01), 0.003)
        self.compare(self.lenet, python=python, tolerance=0.02)

    def test_refuses(self):
        bare = self.script("bare", f'exec "{sys.executable}" -S "$@"\n')
        for python, message in [("no-such-python", "cannot run 'no-such-python': No such file or directory"),
                                (bare, r"bare' ended with exit code 1: No module named '\w+': install onnx and onnxruntime, or name another Python")]:
            self.compare(self.lenet, python=python, code=dlc.FAILED)
            self.assertRegex(self.messages, message)
        self.compare(self.lenet, program="train_step", code=dlc.USAGE)
        self.assertIn("--onnxruntime compares --program=predict, found train_step", self.messages)
        self.compare(self.lenet, self.lenet, code=dlc.USAGE)
        self.assertIn("expected either B or --onnxruntime", self.messages)
        np.savez(self.path("x.npz"), x=np.zeros((4, 1, 8, 8), np.float32))
        self.compare(self.lenet, data=self.path("x.npz"), code=dlc.FAILED)
        self.assertIn("a sample has shape [1, 8, 8], expected [1, 28, 28]", self.messages)


if __name__ == "__main__":
    unittest.main()
