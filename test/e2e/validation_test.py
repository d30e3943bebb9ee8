# SPDX-License-Identifier: Apache-2.0
"""The validation of a run is that of `dlc eval` on its checkpoint, bit by bit: also with statistics of batch norms
that each rank gathers from samples of its own, which differ much here."""

import json
import os
import shutil

import dlc
import numpy as np

BATCH, SAMPLES = 4, 24


def skewed(path):
    """Every other batch is brighter and has more contrast: without shuffling it is always the second rank's."""
    random = np.random.default_rng(3)
    x = random.normal(size=(SAMPLES, 3, 32, 32)).astype(np.float32)
    bright = np.arange(SAMPLES) // BATCH % 2 == 1
    x[bright] = 4 * x[bright] + 5
    np.savez(path, x=x, y=random.integers(0, 10, SAMPLES))
    np.savez(path.replace("data", "few"), x=x[:15], y=random.integers(0, 10, 15))  # the last batch is not full
    return path


class Validation(dlc.TestCase):
    def compile(self, name="model.dlc", **options):
        return dlc.compile(dlc.model("resnet8"), self.path(name), **dict(ddp=2, batch=BATCH, lr=0.01) | options)

    def train(self, artifact, run="run", **options):
        data = skewed(self.path("data.npz"))
        return dlc.train(artifact, data, self.path(run), **dict(val=self.path("few.npz"), shuffle="off", steps=3) | options)

    def check(self, run):
        """The last line of epochs.jsonl against dlc eval, for the weights and for each set of averages."""
        with open(os.path.join(run.folder, "epochs.jsonl")) as file:
            line = json.loads(file.readlines()[-1])
        checkpoint = os.path.join(run.folder, f"checkpoint-{line['step']}")
        for name, flags in ("val", {}), ("ema", dict(ema=1)), ("ema.2", dict(ema=2)):
            if f"{name}_loss" in line:
                found = dlc.evaluate(checkpoint, self.path("few.npz"), **flags)
                self.assertEqual((line[f"{name}_loss"], line[f"{name}_accuracy"]), (found["loss"], found["accuracy"]), name)
        return line

    def test_of_several_ranks(self):
        artifact = self.compile(ema="0.9,0.5")
        modes = {}
        for mode in "broadcast", "mean":
            with self.subTest(mode):
                run = self.train(artifact, mode, bn_buffers=mode, save_every=2)
                modes[mode] = self.check(run)
                with open(os.path.join(run.folder, "config.yaml")) as file:
                    self.assertIn(f"bn_buffers: {mode}\n", file.read())
                whole = run.state(3)
                shutil.rmtree(os.path.join(run.folder, "checkpoint-3"))
                dlc.dlc("train", resume=run.folder)  # as the run was begun
                self.assertBitwise(run.state(3), whole, "resumed")
                self.assertEqual(self.check(run), modes[mode])
        for key in "val_loss", "ema_loss", "ema.2_loss":
            self.assertNotEqual(modes["broadcast"][key], modes["mean"][key])

    def test_accumulated_and_with_other_ranks(self):
        run = self.train(self.compile(ddp=3, accumulate=2, ema=0.9), steps=2)
        self.check(run)
        for ranks in 2, 1:
            _, err = dlc.dlc("train", resume=run.folder, ranks=ranks, steps=5 - ranks, bn_buffers="mean")
            self.assertNotIn("older version", err)
            self.assertEqual(self.check(run)["step"], 5 - ranks)

    def test_means_are_those_of_all_samples(self):
        """The mean of a batch is the mean over ranks of the means of their parts."""
        together = self.train(self.compile("one.dlc", ddp=1, batch=2 * BATCH), "one", steps=1).state(1)
        artifact = self.compile()
        mean, own = (self.train(artifact, mode, steps=1, bn_buffers=mode).state(1) for mode in ("mean", "broadcast"))
        name = "bn1.running_mean"
        self.assertNear(mean[name], together[name], 1e-5, name)
        self.assertGreater(np.linalg.norm(own[name] - mean[name]), 0.1 * np.linalg.norm(mean[name]))
        for key in mean:
            if "running" not in key:
                self.assertEqual(mean[key].tobytes(), own[key].tobytes(), key)

    def test_of_one_rank(self):
        for options in dict(ddp=1), dict(ddp=1, ema=0.9, amp=True):
            with self.subTest(options):
                shutil.rmtree(self.path("run"), ignore_errors=True)
                self.check(self.train(self.compile(**options), steps=2))


if __name__ == "__main__":
    dlc.main()
