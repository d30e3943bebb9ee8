# SPDX-License-Identifier: Apache-2.0
"""--lora: ten steps as PyTorch takes them with peft's formulas, and both exports."""

import os

import dlc
import numpy as np
import onnx
from onnx import numpy_helper
from safetensors import safe_open
from safetensors.numpy import load_file

RANK, ALPHA, SEED, STEPS = 4, 16, 9, 10  # of test/refs/make_lora.py


def weights(path):
    return {t.name: numpy_helper.to_array(t) for t in onnx.load(path).graph.initializer}


class Lora(dlc.TestCase):
    def setUp(self):
        super().setUp()
        self.ref = np.load(os.path.join(dlc.REFS, "lora_ref.npz"))

    def group(self, prefix):
        return {k[len(prefix):]: self.ref[k] for k in self.ref.files if k.startswith(prefix)}

    def train(self, name, **options):
        reference = dlc.Reference(name)
        artifact = dlc.compile(dlc.model(name), self.path(name + ".dlc"), batch=reference.batch, quiet=True,
                               lora=RANK, lora_alpha=ALPHA, seed=SEED, lr=0.1, momentum=0.9,
                               **dlc.CONSTANT_SGD, **options)
        run = dlc.train(artifact, reference.write(self.path("data.npz")), self.path(name), steps=STEPS,
                        shuffle="off", threads=1, quiet=True)
        return artifact, run

    def check(self, name):
        artifact, run = self.train(name)
        first, last = run.initial(artifact), run.state(STEPS)
        for key, value in self.group(f"{name}/initial/").items():
            np.testing.assert_array_equal(first[key], value, key)
        np.testing.assert_allclose(run.metrics("loss"), self.ref[f"{name}/losses"], rtol=1e-4)
        for key, value in self.group(f"{name}/final/").items():
            self.assertNear(last[key], value, 1e-4, key)
        # The weights have not moved, and nothing is kept for them.
        for key, value in weights(dlc.model(name)).items():
            if key in last:
                np.testing.assert_array_equal(last[key], value, key)
            self.assertNotIn(key + ".m", last)
        dlc.dlc("export", run.folder, "-o", self.path("merged.onnx"))
        merged = weights(self.path("merged.onnx"))
        for key, value in self.group(f"{name}/merged/").items():
            self.assertNear(merged[key], value, 1e-5, key)
        self.assertEqual(merged.keys(), weights(dlc.model(name)).keys())
        return run

    def test_mlp(self):
        run = self.check("mlp")
        dlc.dlc("export", run.folder, "--lora=adapters", "-o", self.path("a.safetensors"))
        found, state = load_file(self.path("a.safetensors")), run.state(STEPS)
        self.assertEqual(sorted(found), sorted(self.group("mlp/final/")))
        self.assertBitwise(found, {k: state[k] for k in found}, "adapters")
        with safe_open(self.path("a.safetensors"), "np") as file:
            self.assertEqual(file.metadata(), {"format": "pt", "r": "4", "lora_alpha": "16"})

    def test_gpt(self):
        self.check("gpt_tiny")

    def test_merged_model_computes_the_same(self):
        _, run = self.train("lenet", lora_targets="c2|f1|f2", train="f3")
        dlc.dlc("export", run.folder, "-o", self.path("merged.onnx"))
        merged = dlc.compile(self.path("merged.onnx"), self.path("merged.dlc"), quiet=True)
        found = dlc.evaluate(merged, dlc.data("mnist-test"))["loss"]
        self.assertAlmostEqual(found / dlc.evaluate(run.folder, dlc.data("mnist-test"))["loss"], 1, places=4)
        state = run.state(STEPS)
        self.assertIn("c2.lora_A.weight", state)
        self.assertNotIn("c1.lora_A.weight", state)
        self.assertNotIn("f3.lora_A.weight", state)
        self.assertFalse(np.array_equal(state["f3.weight"], weights(dlc.model("lenet"))["f3.weight"]))

    def test_averages_of_adapters(self):
        _, run = self.train("mlp", ema=0.5)
        dlc.dlc("export", run.folder, "--ema", "-o", self.path("merged.onnx"))
        state, base = run.state(STEPS), weights(dlc.model("mlp"))
        a, b = state["ema/f1.lora_A.weight"], state["ema/f1.lora_B.weight"]
        self.assertNear(weights(self.path("merged.onnx"))["f1.weight"], base["f1.weight"] + ALPHA / RANK * b @ a,
                        1e-6, "merged averages")

    def test_resume_and_precision(self):
        """Exact with half precision and adapters together."""
        options = dict(lora=2, amp=True, optimizer="adamw", steps=8, quiet=True)
        artifact = dlc.compile(dlc.model("mlp"), self.path("a.dlc"), **options)
        whole = dlc.train(artifact, dlc.data("digits-train"), self.path("whole"), steps=8, threads=1, quiet=True)
        dlc.train(artifact, dlc.data("digits-train"), self.path("part"), steps=3, threads=1, quiet=True)
        dlc.dlc("train", resume=self.path("part"), steps=8, quiet=True)
        self.assertBitwise(dlc.Run(self.path("part")).state(8), whole.state(8), "resumed")

    def test_errors(self):
        for words, code, message in [
            (["--lora=-1"], 2, "expected a whole number from 0"),
            (["--lora-alpha=8"], 2, "--lora-alpha needs --lora"),
            (["--lora=4", "--lora-targets=("], 2, "'(' is not a regular expression"),
            (["--lora=4", "--lora-targets=xyz"], 2, "--lora-targets=xyz matches no weight of the model"),
        ]:
            _, log = dlc.dlc("compile", dlc.model("mlp"), *words, "-o", self.path("e.dlc"), code=code)
            self.assertIn(message, log)
        plain = dlc.compile(dlc.model("mlp"), self.path("plain.dlc"), quiet=True)
        _, log = dlc.dlc("export", plain, "--lora=merged", "-o", self.path("e.onnx"), code=2)
        self.assertIn("has no adapters: compile with --lora=RANK", log)


if __name__ == "__main__":
    dlc.main()
