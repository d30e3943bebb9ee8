# SPDX-License-Identifier: Apache-2.0
"""Recurrent models of both of torch's exporters train to PyTorch's losses; the models and the losses are make_recurrent.py's."""

import os

import dlc
import numpy as np


class Recurrent(dlc.TestCase):
    def train(self, name, exporter, **options):
        with np.load(os.path.join(dlc.REFS, "recurrent_ref.npz")) as ref:
            inputs, labels, losses = (ref[f"{name}/{key}"] for key in ("inputs", "labels", "losses"))
        x, y = np.concatenate(inputs), np.concatenate(labels)
        np.savez(self.path("data.npz"), x=x, y=y.reshape(len(x), -1) if len(y) > len(x) else y)
        artifact = dlc.compile(os.path.join(dlc.REFS, f"recurrent_{name}-{exporter}.onnx"), self.path("model.dlc"),
                               batch=inputs.shape[1], loss="cross_entropy", schedule="constant", optimizer="adamw", lr=1e-2,
                               weight_decay=1e-2, **options)
        run = dlc.train(artifact, self.path("data.npz"), self.path(f"{name}-{exporter}"), shuffle="off", steps=20, threads=1)
        return run.metrics("loss"), losses

    def check(self, name):
        for exporter in "old", "dynamo":
            found, expected = self.train(name, exporter)
            np.testing.assert_allclose(found, expected, rtol=1e-4, err_msg=f"{name} {exporter}")

    def test_lstm(self):
        self.check("lstm")

    def test_gru(self):
        self.check("gru")

    def test_half_precision(self):
        for name in "lstm", "gru":
            found, expected = self.train(name, "old", amp=True)
            np.testing.assert_allclose(found, expected, rtol=2e-2, err_msg=name)
            self.assertGreater(np.abs(found - expected).max(), 0, "the products are rounded to halves")


if __name__ == "__main__":
    dlc.main()
