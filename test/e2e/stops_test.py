# SPDX-License-Identifier: Apache-2.0
"""Models with detach() train as in PyTorch, from files that have none; make_stops.py's files and numbers."""

import os

import dlc
import numpy as np


class Stops(dlc.TestCase):
    def check(self, name, form, warning=None):
        with np.load(os.path.join(dlc.REFS, "stops_ref.npz")) as ref:
            arrays = {key.split("/", 1)[1]: ref[key] for key in ref.files if key.startswith(name + "/")}
        np.savez(self.path("data.npz"), x=np.concatenate(arrays["x"]).astype(np.float32))
        model = os.path.join(dlc.REFS, f"stops_{name}-{form}.onnx")
        artifact = self.path("m.dlc")
        _, notes = dlc.dlc("compile", model, output=artifact, batch=16, loss="loss:graph", optimizer="sgd(momentum=0.9)", lr=0.1,
                           weight_decay=0, schedule="constant")
        (self.assertNotIn if warning is None else self.assertIn)(warning or "warning", notes)
        run = dlc.train(artifact, self.path("data.npz"), self.path(form), shuffle="off", steps=20, threads=1, save_every=20)
        np.testing.assert_allclose(run.metrics("loss"), arrays["losses"], rtol=1e-5)
        state = run.state(20)
        for key, expected in arrays.items():
            if key.startswith("final/"):
                np.testing.assert_allclose(state[key[len("final/"):]], expected, rtol=1e-4, atol=1e-5, err_msg=key)

    def test_notes_of_the_newer_exporter(self):
        self.check("vq", "dynamo")
        self.check("vq", "plain")

    def test_a_straight_through_estimator_without_notes(self):
        self.check("fsq", "script", "nothing learns through q - x: '/Add'")


if __name__ == "__main__":
    dlc.main()
