# SPDX-License-Identifier: Apache-2.0
"""--resume with another number of ranks than before: by the tool's own ranks and by another launcher's."""

import json
import os
import shutil
import socket
import subprocess

import dlc
import numpy as np


class ResumeRanks(dlc.TestCase):
    def begin(self, ranks, steps, **options):
        options = dict(dlc.CONSTANT_SGD, lr=0.05) | options
        shuffle = options.pop("shuffle", "on")
        artifact = dlc.compile(dlc.model("mlp"), self.path("model.dlc"), ddp=ranks, **options)
        return dlc.train(artifact, dlc.data("digits-train"), self.path("run"), steps=steps, threads=1, seed=4,
                         shuffle=shuffle)

    def resume(self, code=dlc.OK, **options):
        _, err = dlc.dlc("train", resume=self.path("run"), code=code, **options)
        return err

    def progress(self, step):
        with open(self.path(f"run/checkpoint-{step}/trainer.json")) as file:
            return json.load(file)

    def place(self, step):
        return tuple(self.progress(step)[key] for key in ("epoch", "sample", "world"))

    def test_samples_go_on(self):
        """1500 samples: three ranks of 50 take 10 steps of 150 an epoch, two take 15 of 100."""
        self.begin(3, steps=5, batch=50)
        self.assertEqual(self.place(5), (0, 750, 3))
        err = self.resume(ranks=2, steps=10)
        self.assertIn("2 ranks instead of 3 go on from step 5: 100 samples a step instead of 150; "
                      "steps and learning rates stay as they were", err)
        self.assertIn("(15 an epoch of 1500), 2 ranks, from step 5", err)
        self.assertEqual(self.place(10), (0, 1250, 2))
        err = self.resume(steps=11)  # two ranks, as it was
        self.assertNotIn("instead of", err)
        self.assertEqual(self.place(11), (0, 1350, 2))
        self.resume(ranks=4, steps=16)  # more than it was compiled for: the 150 samples that are left are too few
        self.assertEqual(self.place(16), (1, 1000, 4))
        self.resume(ranks=1, steps=19)
        self.assertEqual(self.place(19), (1, 1150, 1))
        self.assertEqual(dlc.Run(self.path("run")).metrics("step").tolist(), list(range(1, 20)))

    def test_no_checkpoint_yet(self):
        """Nothing says what ranks a run had before its first checkpoint: they are not claimed."""
        self.begin(3, steps=1, batch=50)
        shutil.rmtree(self.path("run/checkpoint-1"))
        err = self.resume(ranks=2, steps=2)
        self.assertIn("2 ranks instead of 3, which the model was compiled for, go on from step 0: 100 samples a step "
                      "instead of 150; ", err)

    def test_mean_over_the_ranks_that_are_there(self):
        """A step of two ranks is that of one rank with the rows of both, from the same weights."""
        run = self.begin(4, steps=3, batch=25, momentum=0, shuffle="off")
        dlc.dlc("export", run.folder, "-o", self.path("trained.onnx"))
        self.resume(ranks=2, steps=4)
        with np.load(dlc.data("digits-train")) as data:
            np.savez(self.path("rows.npz"), **{name: data[name][300:350] for name in data.files})
        whole = dlc.compile(self.path("trained.onnx"), self.path("whole.dlc"), batch=50, momentum=0,
                            **dict(dlc.CONSTANT_SGD, lr=0.05))
        one = dlc.train(whole, self.path("rows.npz"), self.path("one"), shuffle="off", steps=1, threads=1).state(1)
        two = run.state(4)
        moved = [name for name, value in one.items() if value.dtype == np.float32 and value.ndim > 0]
        self.assertGreater(len(moved), 2)
        for name in moved:
            self.assertNear(two[name], one[name], 1e-6, name)
        self.assertNear(run.metrics("loss")[3], dlc.Run(self.path("one")).metrics("loss")[0], 1e-6, "loss")

    def test_lengths_are_kept(self):
        """Two epochs are as many steps as with the ranks that began, and so is the schedule."""
        artifact = dlc.compile(dlc.model("mlp"), self.path("model.dlc"), ddp=3, batch=100, schedule="cosine",
                               schedule_per="epoch")
        run = dlc.train(artifact, dlc.data("digits-train"), self.path("run"), epochs=2, save_every=3, keep=9, threads=1)
        self.assertEqual([int(run.state(10)["schedule." + name]) for name in ("steps", "epoch_steps")], [10, 5])
        rates = run.metrics("lr")
        for step in 6, 9, 10:
            shutil.rmtree(self.path(f"run/checkpoint-{step}"))
        self.resume(ranks=1)
        np.testing.assert_array_equal(run.metrics("lr"), rates)
        self.assertEqual(self.place(10), (1, 100, 1))

    def test_another_launcher(self):
        """Started as by torchrun, with the number of ranks that it has now."""
        self.begin(3, steps=4, batch=10)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        ranks = []
        for rank in range(2):
            variables = dict(RANK=rank, WORLD_SIZE=2, MASTER_ADDR="127.0.0.1", MASTER_PORT=port)
            ranks.append(subprocess.Popen([dlc.DLC, "train", "--resume=" + self.path("run"), "--steps=8", "--timeout=20"],
                                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                          start_new_session=True,
                                          env=os.environ | {k: str(v) for k, v in variables.items()}))
            self.addCleanup(dlc.kill, ranks[-1])
        for rank in ranks:
            status, _, err = dlc.finish(rank, 60)
            self.assertEqual(status, dlc.OK, err)
        self.assertEqual(self.place(8), (0, 4 * 30 + 4 * 20, 2))

    def test_divergence_is_replayed_by_as_many(self):
        self.begin(3, steps=1, batch=20, lr=1e37)
        err = self.resume(ranks=2, steps=50, code=dlc.DIVERGED)
        bundle = [word for word in err.split() if "replay-" in word][0]
        out, _ = dlc.dlc("debug", "replay", bundle)
        self.assertIn("reproduced", out)

    def test_refused(self):
        self.begin(1, steps=1, batch=20)
        self.assertIn("compiled for 1 ranks, but 2 run it; start 1 or compile with --ddp=2",
                      self.resume(ranks=2, steps=2, code=dlc.INCOMPATIBLE))
        self.assertRegex(self.resume(ranks=0, code=dlc.USAGE), "--ranks")


if __name__ == "__main__":
    dlc.main()
