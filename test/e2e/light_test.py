# SPDX-License-Identifier: Apache-2.0
"""The onnx package's own light models, whose weights are ConstantOfShape of a number, compile for training; the small ones train."""

import glob
import os

import numpy as np
import onnx

import dlc

MODELS = sorted(glob.glob(os.path.join(os.path.dirname(onnx.__file__), "backend", "test", "data", "light", "*.onnx")))
TRAINED = "squeezenet", "shufflenet"


class Light(dlc.TestCase):
    def test_all_compile(self):
        """Up to the plan of a step; weights are no constants of the program."""
        self.assertEqual(len(MODELS), 9)
        for path in MODELS:
            with self.subTest(model=os.path.basename(path)):
                program, _ = dlc.dlc("compile", path, stop_after="plan", emit="mlir")
                weights = [line for line in program.splitlines() if 'exec.state' in line and '"param" in' in line]
                self.assertGreater(len(weights), 15)
                self.assertLess(max(map(len, program.splitlines())), 10_000)

    def test_small_ones_train(self):
        for name in TRAINED:
            with self.subTest(model=name):
                path = next(path for path in MODELS if name in path)
                source = onnx.load(path)
                made = {n.output[0] for n in source.graph.node if n.op_type == "ConstantOfShape"}
                image = next(i.name for i in source.graph.input if "data" in i.name and len(i.type.tensor_type.shape.dim) == 4)
                artifact = self.path(name + ".dlc")
                dlc.dlc("compile", path, "-o", artifact, quiet=True)
                random = np.random.default_rng(0)
                np.savez(self.path(name + ".npz"), **{image: random.standard_normal((2, 3, 224, 224)).astype(np.float32),
                                                      "y": np.array([1, 2])})
                run = dlc.train(artifact, self.path(name + ".npz"), self.path(name), steps=2, quiet=True)
                self.assertTrue(np.isfinite(run.metrics("loss")).all())
                trained = self.path(name + ".onnx")
                dlc.dlc("export", run.folder, "-o", trained)
                onnx.checker.check_model(trained, full_check=True)
                found = onnx.load(trained).graph
                self.assertLess({n.output[0] for n in found.node if n.op_type == "ConstantOfShape"}, made)
                weights = {t.name: onnx.numpy_helper.to_array(t) for t in found.initializer if t.name in made}
                self.assertTrue(any(np.ptp(w) > 0 for w in weights.values()), "something has moved")


if __name__ == "__main__":
    dlc.main()
