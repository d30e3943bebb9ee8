# SPDX-License-Identifier: Apache-2.0
"""Samples that another program gives train as the same ones in a .npz, also resumed and by several ranks."""

import os
import subprocess
import sys
import time
import unittest

import dlc
import numpy as np

FEEDER = """
import json, os, sys, time
import numpy as np

data = np.load(sys.argv[1])
x, y = data["x"], data["y"]
endless = "endless" in sys.argv
header = {"dlc": 1, "arrays": [{"name": "y", "dtype": str(y.dtype), "shape": y.shape[1:]},
                               {"name": "x", "dtype": str(x.dtype), "shape": x.shape[1:]}]}
if not endless:
    header["samples"] = len(x)
out = sys.stdout.buffer
out.write(json.dumps(header).encode() + b"\\n")
out.flush()
rank, world = int(os.environ.get("DLC_RANK", 0)), int(os.environ.get("DLC_WORLD_SIZE", 1))
batch = 16
i = int(os.environ.get("DLC_DATA_SKIP", 0)) + rank * batch
with open(sys.argv[2], "a") as log:
    print(os.getpid(), rank, world, os.environ.get("DLC_DATA_EPOCH"), os.environ.get("DLC_DATA_SKIP"), file=log)
while endless or i < len(x):
    for k in range(i, i + batch):
        out.write(y[k % len(x)].tobytes() + x[k % len(x)].tobytes())
    out.flush()
    i += world * batch
"""


class Stream(dlc.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.share_artifact()
        with np.load(dlc.data("digits-train")) as data:
            x, y = data["x"][:192], data["y"][:192]
        cls.npz = os.path.join(cls.shared, "same.npz")
        np.savez(cls.npz, x=x, y=y)
        cls.feeder = os.path.join(cls.shared, "feeder.py")
        with open(cls.feeder, "w") as file:
            file.write(FEEDER)
        cls.expected = dlc.train(cls.artifact, cls.npz, os.path.join(cls.shared, "same"), epochs=3, shuffle="off")

    def command(self, *words):
        return " ".join([sys.executable, self.feeder, self.npz, self.path("log"), *words])

    def starts(self):
        """(rank, world, epoch, skipped) of each start, in order; no program that was started is left."""
        with open(self.path("log")) as file:
            rows = [line.split() for line in file]
        for _ in range(50):
            left = [row[0] for row in rows if dlc.is_alive(row[0])]
            if not left:
                break
            time.sleep(0.1)
        self.assertEqual(left, [], "programs that are left")
        return [tuple(row[1:]) for row in rows]

    def test_epochs(self):
        run = self.path("run")
        dlc.dlc("train", self.artifact, data_command=self.command(), epochs=3, run=run, val=self.npz)
        self.assertBitwise(dlc.Run(run).state(36), self.expected.state(36), "three epochs")
        self.assertEqual(self.starts(), [("0", "1", str(epoch), "0") for epoch in range(3)])

    def test_without_end(self):
        run = self.path("run")
        dlc.dlc("train", self.artifact, data_command=self.command("endless"), steps=36, run=run)
        self.assertBitwise(dlc.Run(run).state(36), self.expected.state(36), "36 steps")
        self.assertEqual(self.starts(), [("0", "1", "0", "0")])

    def test_killed_and_resumed(self):
        for words, step, place in (["endless"], 20, ("0", "320")), ([], 16, ("1", "64")):
            with self.subTest(words):
                self.new_folder()
                run = self.path("run")
                process = dlc.start("train", self.artifact, data_command=self.command(*words), steps=36, run=run, save_every=step, keep=9)
                while not os.path.isdir(f"{run}/checkpoint-{step}"):
                    self.assertIsNone(process.poll(), "it ended before it could be killed")
                dlc.kill(process)
                self.starts()
                dlc.dlc("train", resume=run, checkpoint=step)
                self.assertBitwise(dlc.Run(run).state(36), self.expected.state(36), "after kill -9")
                self.assertIn(("0", "1", *place), self.starts())

    def test_ranks(self):
        artifact = dlc.compile(dlc.model("mlp"), self.path("ddp.dlc"), batch=16, ddp=2)
        expected = dlc.train(artifact, self.npz, self.path("same"), epochs=2, shuffle="off")
        run = self.path("run")
        dlc.dlc("train", artifact, data_command=self.command(), epochs=2, run=run)
        self.assertBitwise(dlc.Run(run).state(12), expected.state(12), "two ranks")
        self.assertEqual(sorted(self.starts()), [(rank, "2", epoch, "0") for rank in "01" for epoch in "01"])

    def test_standard_input(self):
        run = self.path("run")
        words = [sys.executable, self.feeder, self.npz, self.path("log"), "endless"]

        def train(*arguments):
            with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as feeder:
                subprocess.run([dlc.DLC, "train", *arguments], stdin=feeder.stdout, check=True, timeout=60, stderr=subprocess.PIPE)
                feeder.stdout.close()

        train(self.artifact, "--data=-", "--steps=20", f"--run={run}")
        train(f"--resume={run}", "--steps=36")
        self.assertBitwise(dlc.Run(run).state(36), self.expected.state(36), "what was taken is passed over")


if __name__ == "__main__":
    unittest.main()
