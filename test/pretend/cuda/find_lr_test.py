# SPDX-License-Identifier: Apache-2.0
"""dlc train --find-lr over the stand-ins: parameters on a GPU are stretched as on the CPU, by one rank and by two."""

import csv

import dlc
import numpy as np
import standins

TEST = dict(lr_min=1e-3, lr_max=0.2, lr_steps=20, threads=1, seed=1)


class FindLr(standins.StandinTest):
    def losses(self, folder):
        with open(self.path(f"{folder}/find-lr.csv")) as file:
            return np.array([float(row["loss"]) for row in csv.DictReader(file)])

    def test_as_on_the_cpu(self):
        for ranks in 1, 2:
            with self.subTest(ranks=ranks):
                options = dict(optimizer="sgd", momentum=0.9, lr=0.01, schedule="cosine", batch=32 // ranks, ddp=ranks)
                data = dlc.data("mnist-train")
                on_cpu = dlc.compile(dlc.model("lenet"), self.path("cpu.dlc"), **options)
                # Whether so short a test suggests a rate is not asked.
                code, _, err = dlc.finish(dlc.start("train", on_cpu, "--find-lr", data=data, run=self.path(f"cpu{ranks}"), **TEST))
                self.assertIn(code, (dlc.OK, dlc.FAILED), err)
                artifact = self.compile_for_cuda("lenet", **options)
                self.run_on_standins(artifact, "--find-lr", data=data, run=self.path(f"cuda{ranks}"), code=code, **TEST)
                expected, found = self.losses(f"cpu{ranks}"), self.losses(f"cuda{ranks}")
                self.assertEqual(len(expected), TEST["lr_steps"])
                np.testing.assert_allclose(found, expected, rtol=1e-4)


if __name__ == "__main__":
    dlc.main()
