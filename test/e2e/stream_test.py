# SPDX-License-Identifier: Apache-2.0
"""Samples that another program gives train as the same ones in a .npz, also resumed and by several ranks."""

import contextlib
import os
import signal
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

    def test_a_signal_to_all_processes(self):
        """As Slurm's --signal=TERM@120 sends it, to the data's programs first: a checkpoint, and the run goes on."""
        for ranks, accumulate in (1, 1), (2, 1), (1, 4):
            with self.subTest(ranks=ranks, accumulate=accumulate):
                self.new_folder()
                options = dict(batch=16, ddp=ranks, accumulate=accumulate)
                artifact = dlc.compile(dlc.model("mlp"), self.path("m.dlc"), **options)
                run = self.path("run")
                process = dlc.start("train", artifact, data_command=self.command("endless"), steps=10**8, run=run, save_every=10**7)
                self.addCleanup(dlc.kill, process)
                end = time.monotonic() + 60
                while not os.path.exists(f"{run}/metrics.jsonl") or len(dlc.Run(run).metrics("loss")) < 20:
                    self.assertIsNone(process.poll(), "training ended early")
                    self.assertLess(time.monotonic(), end)
                    time.sleep(0.05)
                for pid in dlc.descendants(process.pid):  # children first
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGTERM)
                    time.sleep(0.2 / ranks / accumulate)
                process.terminate()
                code, _, err = dlc.finish(process, 30)
                self.assertEqual(code, 128 + signal.SIGTERM, err)
                last = len(dlc.Run(run).metrics("loss"))
                self.assertIn(f"stopped by signal 15 after step {last}", err)
                dlc.dlc("train", resume=run, steps=last + 4)
                whole = self.path("whole")
                dlc.dlc("train", artifact, data_command=self.command("endless"), steps=last + 4, run=whole)
                self.assertBitwise(dlc.Run(run).state(last + 4), dlc.Run(whole).state(last + 4), "goes on from the last step")
                self.starts()

    def test_a_signal_before_the_first_sample(self):
        run, slow = self.path("run"), self.path("slow")
        feed = self.command("endless")
        open(slow, "w").close()
        process = dlc.start("train", self.artifact, data_command=f"[ -e {slow} ] || exec {feed}; {feed} | (head -n 1; sleep 60)", steps=9, run=run)
        self.addCleanup(dlc.kill, process)
        end = time.monotonic() + 30
        while not os.path.exists(f"{run}/metrics.jsonl"):
            self.assertLess(time.monotonic(), end)
            time.sleep(0.05)
        time.sleep(0.2)
        for pid in (*dlc.descendants(process.pid), process.pid):
            with contextlib.suppress(ProcessLookupError):  # the feed ends by itself when head does
                os.kill(pid, signal.SIGTERM)
        code, _, err = dlc.finish(process, 30)
        self.assertEqual(code, 128 + signal.SIGTERM, err)
        self.assertIn("stopped by signal 15 after step 0", err)
        os.remove(slow)
        dlc.dlc("train", resume=run)
        self.assertEqual(len(dlc.Run(run).metrics("loss")), 9)

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
