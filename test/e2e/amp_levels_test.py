# SPDX-License-Identifier: Apache-2.0
"""Models at levels O2 and O3, and by the presets of TensorFlow and OneFlow, from training to the exported file."""

import dlc
import numpy as np
import onnxruntime

SGD = dict(loss="cross_entropy", schedule="constant", optimizer="sgd", lr=0.02, momentum=0.9)
STEPS = 8
ROUNDING = dict(bf16=2e-2, fp16=3e-3)  # of logits, relative to the largest


class Levels(dlc.TestCase):
    def train(self, name, run="run", **options):
        self.reference = dlc.Reference(name)
        artifact = dlc.compile(dlc.model(name), self.path(run + ".dlc"), batch=self.reference.batch, **SGD | options)
        self.data = self.reference.write(self.path("data.npz"))
        return dlc.train(artifact, self.data, self.path(run), shuffle="off", steps=STEPS, threads=1)

    def predict(self, run, **choice):
        x = np.concatenate(self.reference.inputs)
        np.savez(self.path("x.npz"), x=x)
        dlc.dlc("predict", run.folder, "-o", self.path("y.npz"), data=self.path("x.npz"), **choice)
        with np.load(self.path("y.npz")) as file:
            return file["y"]

    def predict_onnx(self, run, **choice):
        """By the exported file, which is f32 whatever the level was."""
        dlc.dlc("export", run.folder, "-o", self.path("out.onnx"), **choice)
        session = onnxruntime.InferenceSession(self.path("out.onnx"), providers=["CPUExecutionProvider"])
        batches = [session.run(None, {session.get_inputs()[0].name: x})[0] for x in self.reference.inputs]
        return np.concatenate(batches)

    def check(self, run, half, **choice):
        """Predictions are those of the exported weights but for the half type's rounding, evaluation that of the
        predictions."""
        y, expected = self.predict(run, **choice), self.predict_onnx(run, **choice)
        self.assertEqual(y.dtype, np.float32)
        error = np.abs(y - expected).max() / np.abs(expected).max()
        self.assertLess(error, ROUNDING[half])
        self.assertGreater(error, 1e-5, "computed in f32")
        labels = np.concatenate(self.reference.labels)
        logits = y.astype(np.float64)
        loss = (np.log(np.exp(logits).sum(1)) - logits[np.arange(len(y)), labels]).mean()
        result = dlc.evaluate(run.folder, self.data, **choice)
        self.assertAlmostEqual(result["loss"], loss, delta=2 * ROUNDING[half] * loss)
        self.assertAlmostEqual(result["accuracy"], (y.argmax(1) == labels).mean(), delta=2 / len(y))

    def levels(self, name, pairs):
        for level, half in pairs:
            with self.subTest(level=level, half=half):
                self.new_folder()
                run = self.train(name, amp=level, amp_dtype=half, ema=0.5)
                self.check(run, half)
                self.check(run, half, ema=True)

    def test_levels_of_lenet(self):
        self.levels("lenet", [("O2", "bf16"), ("O2", "fp16"), ("O3", "bf16"), ("O3", "fp16")])

    def test_levels_of_resnet8(self):
        self.levels("resnet8", [("O2", "fp16"), ("O3", "bf16")])

    def test_presets(self):
        for name in "lenet", "resnet8":
            self.new_folder()
            losses = {None: self.train(name).metrics("loss")}
            for preset in "torch", "tf", "oneflow":
                with self.subTest(name, preset=preset):
                    run = self.train(name, preset, amp=True, amp_preset=preset)
                    losses[preset] = run.metrics("loss")
                    np.testing.assert_allclose(losses[preset], losses[None], rtol=2e-2)
                    self.assertFalse(np.array_equal(losses[preset], losses[None]), "computed in f32")
                    self.check(run, "bf16")
        self.assertFalse(np.array_equal(losses["tf"], losses["oneflow"]), "tf denies resnet8's mean")

    def test_refusals(self):
        for options, message in [
            (dict(amp=True, amp_preset="oneflw"), r"--amp-preset: 'oneflw' is not one of dlc, torch, tf, oneflow; "
                                                  r"did you mean 'oneflow'\?"),
            (dict(amp_preset="tf"), r"--amp-preset needs --amp=O1"),
            (dict(amp="O2", amp_preset="oneflow"), r"--amp-preset needs --amp=O1"),
            (dict(amp="O4"), r"--amp: expected O0, O1, O2 or O3, found 'O4'"),
            (dict(amp="O2", amp_dtype="fp4"), r"--amp-dtype: 'fp4' is not one of bf16, fp16, fp8"),
            (dict(amp_node="conv:f32"), r"--amp-node needs --amp=O1 or O2 or O3"),
        ]:
            _, err = dlc.dlc("compile", dlc.model("lenet"), "-o", self.path("m.dlc"), code=dlc.USAGE, **options)
            self.assertRegex(err, message)


if __name__ == "__main__":
    dlc.main()
