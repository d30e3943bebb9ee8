# SPDX-License-Identifier: Apache-2.0
"""A host that is a step ahead of the GPU decides as one that is not: what ends a run, what is left of it.

Over the stand-ins, which give the same bits in every run.
"""

import os

import dlc
import numpy as np
import standins


class Ahead(standins.StandinTest):
    def train(self, artifact, run, *words, code=dlc.OK, inject="", **options):
        options = dict(dict(data=dlc.data("mnist-train"), steps=12, seed=1, threads=1, quiet=True), **options)
        return self.run_on_standins(artifact, *words, code=code, run=self.path(run),
                                    environment={"DLC_INJECT_INF": inject}, **options)[1]

    def assertSameState(self, found, expected):
        found, expected = dlc.load_file(found), dlc.load_file(expected)
        self.assertEqual(set(found), set(expected))
        for name in expected:
            np.testing.assert_array_equal(found[name], expected[name], err_msg=name)

    def state(self, run, step):
        return self.path(f"{run}/checkpoint-{step}/state.safetensors")

    def scaled(self):
        return self.compile_for_cuda("lenet", batch=8, optimizer="sgd", amp=True, amp_dtype="fp16", loss_scale_init=8)

    def test_skips_in_a_row(self):
        """The third in a row ends the run: with the state before it, and no step after it in the metrics."""
        artifact = self.scaled()
        inject = "2,4,5,6,7,8"
        self.train(artifact, "all", inject=inject, steps=5, save_every=1)
        err = self.train(artifact, "run", code=dlc.DIVERGED, inject=inject, max_skips=3)
        self.assertRegex(err, r"step 6 was skipped, the 3\. in a row: training diverged")
        self.assertSameState(self.path("run/replay-6/state.safetensors"), self.state("all", 5))
        self.assertEqual(dlc.Run(self.path("run")).metrics("found_inf").tolist(), [0, 1, 0, 1, 1, 1])

    def test_skips_that_are_borne(self):
        inject = "2,4,5,8,9"
        self.train(self.scaled(), "run", inject=inject, max_skips=3)
        skipped = np.flatnonzero(dlc.Run(self.path("run")).metrics("found_inf")) + 1
        self.assertEqual(skipped.tolist(), [2, 4, 5, 8, 9])

    def test_a_loss_that_is_not_finite(self):
        """The step after it was started already; the run goes back to its checkpoint."""
        with np.load(dlc.data("mnist-train")) as file:
            x, y = file["x"][:96].astype(np.float32) / 255, file["y"][:96]
        x[45] = np.inf  # in step 6
        np.savez(self.path("bad.npz"), x=x, y=y)
        artifact = self.compile_for_cuda("lenet", batch=8, optimizer="sgd")
        options = dict(data=self.path("bad.npz"), shuffle="off")
        self.train(artifact, "all", steps=5, **options)
        err = self.train(artifact, "run", code=dlc.DIVERGED, save_every=4, **options)
        self.assertRegex(err, r"the loss is nan at step 6: the data has numbers that are not finite: .*: 'x' in row 45 \(1 of 96\)")
        self.assertSameState(self.path("run/replay-6/state.safetensors"), self.state("all", 5))
        self.assertEqual(len(dlc.Run(self.path("run")).metrics("loss")), 6)
        self.assertTrue(os.path.exists(self.path("run/checkpoint-4")))
        self.assertFalse(os.path.exists(self.path("run/checkpoint-8")))

    def test_two_ranks(self):
        artifact = self.compile_for_cuda("lenet", batch=4, ddp=2, optimizer="sgd", amp=True, amp_dtype="fp16",
                                         loss_scale_init=8)
        err = self.train(artifact, "run", code=dlc.DIVERGED, inject="3,4", max_skips=2)
        self.assertRegex(err, r"step 4 was skipped, the 2\. in a row")
        self.assertTrue(os.path.exists(self.path("run/replay-4/inputs-1.safetensors")))

    def test_checkpoints_are_of_their_step(self):
        """Saving and resuming at any step changes nothing, windows of micro-batches included."""
        artifact = self.compile_for_cuda("lenet", batch=4, accumulate=2, optimizer="adamw", clip_grad=1)
        self.train(artifact, "whole", steps=6)
        self.train(artifact, "parts", steps=6, save_every=2)
        self.assertSameState(self.state("parts", 6), self.state("whole", 6))
        self.train(artifact, "half", steps=3)
        self.run_on_standins("--resume=" + self.path("half"), steps=6, quiet=True)
        self.assertSameState(self.state("half", 6), self.state("whole", 6))
        np.testing.assert_array_equal(dlc.Run(self.path("half")).metrics("loss"),
                                      dlc.Run(self.path("whole")).metrics("loss"))


if __name__ == "__main__":
    dlc.main()
