# SPDX-License-Identifier: Apache-2.0
"""The rank for which others wait is named: one that computes longer, one whose samples come late, and none if all are alike.
Other programs that take a processor from a rank make it slow as well: a run whose times they changed is repeated."""
# processors: 2

import functools
import json
import os
import shutil
import signal
import sys
import threading
import time

import dlc
import numpy as np
from ranks import Ranks

FEEDER = """
import json, os, sys, time
rank = os.environ["DLC_RANK"]
out = sys.stdout.buffer
out.write(json.dumps({"dlc": 1, "arrays": [{"name": "input", "dtype": "float32", "shape": [1, 28, 28]},
                                           {"name": "y", "dtype": "int64", "shape": []}]}).encode() + b"\\n")
while True:
    if rank in sys.argv[1:]:
        time.sleep(0.03)
    out.write((bytes(4 * 28 * 28) + bytes(8)) * 8)
    out.flush()
"""


RUNS = 6


def repeated(test):
    """One of some runs is as the test says."""
    @functools.wraps(test)
    def run(self):
        for left in reversed(range(RUNS)):
            shutil.rmtree(self.path("run"), ignore_errors=True)
            try:
                return test(self)
            except AssertionError:
                if not left:
                    raise
    return run


class SlowRank(dlc.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.share_folder()
        cls.artifact = dlc.compile(dlc.model("lenet"), os.path.join(cls.shared, "m.dlc"), ddp=3, batch=8, quiet=True)

    def start(self, artifact=None, apart=False, **options):
        options = dict(steps=60, run=self.path("run"), threads=1, log_every=20) | options
        ranks = Ranks(["train", artifact or self.artifact, *dlc.flags(options)], 3, self.path(""), apart=apart)
        self.addCleanup(ranks.close)
        return ranks

    def lines(self, ranks):
        ranks.wait(120)
        self.assertEqual(ranks.code(), dlc.OK, ranks.said())
        with open(self.path("run/ranks.jsonl")) as file:
            lines = [json.loads(line) for line in file]
        self.assertEqual([line["step"] for line in lines], [20, 40, 60])
        for line in lines:
            parts = np.array([line["data_wait"], line["computes"], line["blocked"]])
            self.assertEqual(parts.shape, (3, 3))
            self.assertGreaterEqual(parts.min(), 0)
            np.testing.assert_allclose(parts.sum(0), line["seconds"], rtol=1e-5)
        return lines

    def fed(self, *slow):
        with open(self.path("feeder.py"), "w") as file:
            file.write(FEEDER)
        return self.start(data_command=" ".join([sys.executable, self.path("feeder.py"), *slow]))

    @repeated
    def test_one_that_computes_longer(self):
        """It is stopped for more than half of the time."""
        artifact = dlc.compile(dlc.model("lenet"), self.path("large.dlc"), ddp=3, batch=128, quiet=True)
        ranks = self.start(artifact, apart=True, data=dlc.data("mnist-train"))
        done = threading.Event()

        def disturb():
            while not done.wait(0.02):
                ranks.signal(signal.SIGSTOP, 1)
                time.sleep(0.03)
                ranks.signal(signal.SIGCONT, 1)
        thread = threading.Thread(target=disturb)
        thread.start()
        try:
            lines = self.lines(ranks)
        finally:
            done.set()
            thread.join()
        for line in lines:
            self.assertRegex(line["slow"], r"^rank 1 computes \d(\.\d)? times as long as the median rank: "
                                           r"the others wait \d+(\.\d+)? of \d+(\.\d+)? ms a step for it$")
            self.assertEqual(np.argmin(line["blocked"]), 1)
        self.assertEqual(ranks.said().count("the others wait"), 1)

    @repeated
    def test_one_whose_samples_come_late(self):
        ranks = self.fed("2")
        for line in self.lines(ranks):
            self.assertRegex(line["slow"], r"^rank 2 waits \d+(\.\d+)? ms a step for samples, the median rank .* ms: "
                                           r"the others wait \d+(\.\d+)? of \d+(\.\d+)? ms a step for it$")
            self.assertGreater(line["data_wait"][2], 0.02)
            self.assertGreater(min(line["blocked"][:2]), 0.015)
        self.assertEqual(ranks.said().count("the others wait"), 1)
        self.assertIn(f"step 20: {self.lines(ranks)[0]['slow']}\n", ranks.said())

    @repeated
    def test_ranks_that_are_alike(self):
        ranks = self.start(data=dlc.data("mnist-train"))
        self.assertEqual([line["slow"] for line in self.lines(ranks)], ["", "", ""])
        self.assertNotIn("wait", ranks.said())

    def test_one_rank_waits_for_none(self):
        artifact = dlc.compile(dlc.model("mlp"), self.path("one.dlc"), batch=16, quiet=True)
        dlc.train(artifact, dlc.data("digits-train"), self.path("run"), steps=20, log_every=10)
        self.assertFalse(os.path.exists(self.path("run/ranks.jsonl")))


if __name__ == "__main__":
    dlc.main()
