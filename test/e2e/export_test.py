# SPDX-License-Identifier: Apache-2.0
"""The exported ONNX file gives the outputs of dlc predict, keeps its names, and passes the checker."""

import dlc
import numpy as np
import onnx
import onnxruntime


def names(path):
    return {tensor.name for tensor in onnx.load(path).graph.initializer}


class Export(dlc.TestCase):
    def train(self, name, **options):
        ref = dlc.Reference(name)
        options = dict(dlc.CONSTANT_SGD, lr=0.05) | options
        artifact = dlc.compile(dlc.model(name), self.path("model.dlc"), batch=ref.batch, **options)
        return dlc.train(artifact, ref.write(self.path("data.npz")), self.path("run"),
                         shuffle="off", steps=8, threads=2)

    def predict(self, run, x, **options):
        np.savez(self.path("x.npz"), x=x)
        dlc.dlc("predict", run.folder, "-o", self.path("y.npz"), data=self.path("x.npz"), **options)
        with np.load(self.path("y.npz")) as file:
            return file["y"]

    def export(self, run, **options):
        path = self.path("trained.onnx")
        dlc.dlc("export", run.folder, "-o", path, **options)
        onnx.checker.check_model(path, full_check=True)
        return path

    def evaluate_onnx(self, path, x):
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        return session.run(None, {session.get_inputs()[0].name: x})[0]

    def check(self, name, **options):
        run = self.train(name, **options)
        x = dlc.Reference(name).inputs[1]
        for choice in [{}, {"ema": True}] if "ema" in options else [{}]:
            found, path = self.predict(run, x, **choice), self.export(run, **choice)
            expected = self.evaluate_onnx(path, x)
            np.testing.assert_allclose(found.reshape(expected.shape), expected, rtol=1e-5, atol=1e-5)
            self.assertEqual(names(path), names(dlc.model(name)))
        return path

    def test_mlp(self):
        self.check("mlp")

    def test_lenet_ema(self):
        self.check("lenet", ema=0.5)

    def test_resnet8(self):
        """BatchNorm with running statistics, in the inference form."""
        path = self.check("resnet8", ema=0.5)
        for node in onnx.load(path).graph.node:
            if node.op_type == "BatchNormalization":
                self.assertNotIn("training_mode", [a.name for a in node.attribute if a.i])
                self.assertEqual(len(node.output), 1)

    def test_gpt_tiny(self):
        self.check("gpt_tiny")

    def test_initial_logits(self):
        """Before any change of the weights the outputs are PyTorch's."""
        for name in "mlp", "lenet", "gpt_tiny":
            self.new_folder()
            run = self.train(name, lr=0)
            ref = dlc.Reference(name)
            found = self.predict(run, ref.inputs[0])
            expected = ref.arrays["logits0"]
            self.assertNear(found.reshape(expected.shape), expected, 1e-5, name)

    def test_odd_number_of_samples(self):
        """Samples that do not fill the last batch are predicted too."""
        run = self.train("mlp")
        x = np.concatenate(dlc.Reference("mlp").inputs)[:37]
        expected = self.evaluate_onnx(self.export(run), x)
        np.testing.assert_allclose(self.predict(run, x), expected, rtol=1e-5, atol=1e-5)

    def test_trained_file_trains_again(self):
        run = self.train("lenet")
        path = self.export(run)
        again = dlc.compile(path, self.path("again.dlc"), batch=16, **dlc.CONSTANT_SGD)
        for key, value in dlc.load_file(again + "/state.safetensors").items():
            if key in names(path):
                np.testing.assert_array_equal(value, run.state(8)[key], key)


if __name__ == "__main__":
    dlc.main()
