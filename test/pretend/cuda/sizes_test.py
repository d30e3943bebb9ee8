# SPDX-License-Identifier: Apache-2.0
"""Two sizes in one artifact over the stand-ins: each has a graph of its own and the numbers of the CPU; states and scratch
memory are allocated once.
"""

import json

import dlc
import numpy as np
import standins

SAMPLES = 27


class Sizes(standins.StandinTest):
    def setUp(self):
        super().setUp()
        with np.load(dlc.data("digits-train")) as file:
            x, y = file["x"][:SAMPLES], file["y"][:SAMPLES]
        np.savez(self.path("data.npz"), x=x, y=y)
        self.options = dict(optimizer="sgd")
        self.several = self.compile_for_cuda("mlp", batch="4,8", **self.options)

    def on_cpu(self, batch):
        return dlc.compile(dlc.model("mlp"), self.path(f"cpu-{batch}.dlc"), batch=batch, **self.options)

    def test_train(self):
        """In batches of 4 and of 8; no plan holds memory for both."""
        for batch in 4, 8:
            options = dict(data=self.path("data.npz"), steps=5, threads=1)
            self.run_on_standins(self.several, run=self.path(f"cuda-{batch}"), batch=batch, **options)
            expected = dlc.train(self.on_cpu(batch), run=self.path(f"run-{batch}"), **options)
            found = dlc.Run(self.path(f"cuda-{batch}"))
            np.testing.assert_allclose(found.metrics("loss"), expected.metrics("loss"), rtol=1e-5)
        regions = [json.loads(dlc.dlc("inspect", self.compile_for_cuda("mlp", computes=False, batch=batch, **self.options),
                                      "--json")[0])["memory"]["regions"] for batch in ("4,8", "8")]
        self.assertEqual(regions[0], regions[1])

    def test_eval_and_predict(self):
        """Three batches of 8, then one of 4 with three samples."""
        data = self.path("data.npz")
        out, _ = self.run_on_standins(self.several, command="eval", data=data, json=True, threads=1)
        expected = dlc.evaluate(self.on_cpu("4,8"), data, threads=1)
        self.assertEqual(json.loads(out)["accuracy"], expected["accuracy"])
        np.testing.assert_allclose(json.loads(out)["loss"], expected["loss"], rtol=1e-5)
        dlc.dlc("predict", self.on_cpu("4,8"), data=data, output=self.path("cpu.npz"), threads=1)
        self.run_on_standins(self.several, command="predict", data=data, output=self.path("cuda.npz"), threads=1)
        np.testing.assert_allclose(np.load(self.path("cuda.npz"))["y"], np.load(self.path("cpu.npz"))["y"], rtol=1e-4,
                                   atol=1e-5)


if __name__ == "__main__":
    dlc.main()
