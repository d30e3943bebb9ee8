# SPDX-License-Identifier: Apache-2.0
"""--check-ranks: ranks that train one model compare their weights; one that differs is named and ends the run."""

import os
from unittest import mock

import dlc
import numpy as np


class CheckRanks(dlc.TestCase):
    def run_ranks(self, ranks, wrong=None, code=dlc.OK, model="mlp", data="digits-train", compiled=None, **options):
        """What was said, and the run's folder; the first comparison finds a wrong bit on rank `wrong`."""
        artifact = dlc.compile(dlc.model(model), self.path("m.dlc"), ddp=ranks, batch=8, optimizer="adamw", lr=1e-3, quiet=True,
                               **(compiled or {}))
        data = dlc.data(data) if isinstance(data, str) else self.images()
        run = self.path(f"run{len(os.listdir(self.folder))}")
        with mock.patch.dict(os.environ, {} if wrong is None else {"DLC_INJECT_BIT": str(wrong)}):
            _, err = dlc.dlc("train", artifact, data=data, run=run, threads=1, code=code,
                             **(dict(steps=8, check_ranks=3) | options))
        return err, run

    def images(self):
        random = np.random.RandomState(0)
        np.savez(self.path("x.npz"), x=random.randn(64, 3, 32, 32).astype("f4"), y=random.randint(0, 10, 64))
        return self.path("x.npz")

    def checkpoints(self, run):
        return sorted(name for name in os.listdir(run) if name.startswith("checkpoint-"))

    def test_the_rank_that_differs_is_named(self):
        err, run = self.run_ranks(3, wrong=1, code=dlc.FAILED)
        self.assertRegex(err, r"error: step 3: rank 1 has other weights than the other 2 ranks, in 1 of \d+ tensors, '\S+' first; ")
        self.assertIn("`dlc train --resume=RUN` continues from the newest checkpoint, at which all ranks agreed", err)
        self.assertEqual(self.checkpoints(run), [])

    def test_of_two_ranks_neither_is_known_to_be_right(self):
        err, _ = self.run_ranks(2, wrong=0, code=dlc.FAILED)
        self.assertRegex(err, r"error: step 3: ranks 0, 1 have different weights, in 1 of \d+ tensors, ")

    def test_before_each_checkpoint(self):
        err, run = self.run_ranks(2, wrong=1, code=dlc.FAILED, check_ranks=1000, save_every=5)
        self.assertIn("error: step 5: ranks 0, 1 have different weights", err)
        self.assertEqual(self.checkpoints(run), [])

    def test_equal_ranks_train_on(self):
        """Also where batch norms' statistics differ, and moments are shards."""
        for compiled in {}, {"zero": 1}, {"zero": 2}:
            with self.subTest(compiled):
                err, run = self.run_ranks(2, model="resnet8", data=None, compiled=compiled, check_ranks=1, steps=4)
                self.assertNotIn("different weights", err)
                self.assertEqual(self.checkpoints(run), ["checkpoint-4"])

    def test_one_rank_has_nothing_to_compare(self):
        _, run = self.run_ranks(1, wrong=0)
        self.assertEqual(self.checkpoints(run), ["checkpoint-8"])

    def test_shards_of_all_parameters_are_refused(self):
        err, _ = self.run_ranks(2, model="gpt_tiny", data="text-train", compiled={"zero": 3}, code=dlc.USAGE)
        self.assertIn("--check-ranks: with --zero=3 each rank has its own part of every parameter, and there is nothing to compare", err)


if __name__ == "__main__":
    dlc.main()
