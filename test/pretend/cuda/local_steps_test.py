# SPDX-License-Identifier: Apache-2.0
"""--sync-every on the CUDA backend without a GPU: a meeting is a second recorded program, whose sums travel by NCCL's stand-in."""
# processors: 2

import dlc
import numpy as np
import standins

ADAMW = dict(optimizer="adamw", lr=1e-3, schedule="constant", weight_decay=0.01)
SGD = dict(dlc.CONSTANT_SGD, lr=0.05)


class LocalSteps(standins.StandinTest):
    def train(self, name, artifact, steps=10, **options):
        self.run_on_standins(artifact, data=dlc.data("mnist-train"), run=self.path(name), steps=steps, threads=1, quiet=True, shuffle="off",
                             **options)
        return dlc.Run(self.path(name))

    def compile(self, **options):
        return self.compile_for_cuda("lenet", **(dict(ddp=2, batch=8) | options))

    def test_as_on_cpus(self):
        """Losses and weights of three meetings in ten steps, by AdamW and Nesterov's momentum."""
        run = self.train("gpu", self.compile(sync_every=4, eps=1e-3, **ADAMW))
        artifact = dlc.compile(dlc.model("lenet"), self.path("cpu.dlc"), ddp=2, batch=8, sync_every=4, eps=1e-3, **ADAMW)
        other = dlc.train(artifact, dlc.data("mnist-train"), self.path("cpu"), steps=10, threads=1, shuffle="off")
        np.testing.assert_allclose(run.metrics("loss"), other.metrics("loss"), rtol=1e-5)
        found, expected = run.state(10), other.state(10)
        self.assertEqual(found.keys(), expected.keys())
        for name in expected:
            if expected[name].dtype == np.float32:
                self.assertNear(found[name], expected[name], 1e-4, name)
        self.assertGreater(np.abs(np.diff(found["c1.weight.m"], axis=0)).max(), 0)

    def test_every_step_is_data_parallelism(self):
        """With SGD and the plain average, but for the rounding of 10 steps; also without recording."""
        expected = self.train("ddp", self.compile(**SGD)).state(10)
        artifact = self.compile(sync_every=1, outer_optimizer="sgd(lr=1)", **SGD)
        for name, options in (("one", {}), ("plain", dict(no_graph=True))):
            found = self.train(name, artifact, **options).state(10)
            for key in (key[:-len(".sync_anchor")] for key in found if key.endswith(".sync_anchor")):
                self.assertLessEqual(np.abs(found[key] - expected[key]).max(), 10 * np.spacing(np.abs(expected[key]).max()), key)

    def test_resumes_bit_for_bit(self):
        artifact = self.compile(ddp=3, sync_every=4, accumulate=2, clip_grad=0.5, bucket_mb=0.02, **ADAMW)
        expected = self.train("once", artifact, steps=9, save_every=3, deterministic=True).state(9)
        first = self.train("first", artifact, steps=6, save_every=3, deterministic=True)
        self.run_on_standins("--resume=" + first.folder, steps=9, threads=1, quiet=True)
        self.assertBitwise(first.state(9), expected, "resumed")


if __name__ == "__main__":
    dlc.main()
