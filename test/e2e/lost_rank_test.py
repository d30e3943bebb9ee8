# SPDX-License-Identifier: Apache-2.0
"""A lost rank does not end a run that shrinks: the others go on, with the bits of a run that was resumed by so many, and so
where the lost one had a part of the state (--zero=1)."""

import json
import os
import re
import shutil
import signal
import time

import dlc
import numpy as np

EVERY = 20  # steps between checkpoints
DEADLINE = 60  # seconds, for all that is left of a run


class LostRank(dlc.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.share_folder()
        options = dict(ddp=3, batch=8, optimizer="adamw", lr=1e-3, schedule="cosine", ema=0.9)
        cls.artifact, cls.whole = (dlc.compile(dlc.model("lenet"), os.path.join(cls.shared, f"{zero}.dlc"), zero=zero, **options)
                                   for zero in (1, 0))

    def start(self, artifact=None, **options):
        """A run that only ends when it is stopped."""
        self.run_folder, self.seen = self.path("run"), set()
        options = dict(steps=100000, save_every=EVERY, keep=1000, on_lost_rank="shrink") | options
        self.process = dlc.start("train", artifact or self.artifact, data=dlc.data("mnist-train"), run=self.run_folder, threads=1,
                                 seed=3, **options)
        self.addCleanup(dlc.kill, self.process)

    def ranks(self):
        """Processes of ranks that were not there when they were waited for the last time."""
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children") as file:
            return [int(word) for word in file.read().split() if int(word) not in self.seen]

    def newest(self):
        """The step of the newest checkpoint."""
        names = os.listdir(self.run_folder) if os.path.exists(self.run_folder) else []
        return max([int(name[11:]) for name in names if re.fullmatch(r"checkpoint-\d+", name)], default=0)

    def wait_until(self, condition):
        end = time.monotonic() + DEADLINE
        while not condition():
            self.assertIsNone(self.process.poll(), "training ended early")
            self.assertLess(time.monotonic(), end, "not in time")
            time.sleep(0.01)

    def wait_for(self, count):
        """`count` new ranks, which have made two checkpoints."""
        self.wait_until(lambda: len(self.ranks()) == count)
        first, ranks = self.newest(), self.ranks()
        self.wait_until(lambda: self.newest() >= first + 2 * EVERY)
        self.seen.update(ranks)
        return ranks

    def finish(self, code):
        status, _, err = dlc.finish(self.process, DEADLINE)
        self.assertEqual(status, code, err)
        return err

    def stop(self):
        os.kill(self.process.pid, signal.SIGTERM)
        return self.finish(128 + signal.SIGTERM)

    def shrunk_at(self, err):
        """[(the step, ranks that went on, ranks before)] as the run tells it."""
        found = re.findall(r"(\d) ranks? instead of (\d) go(?:es)? on from step (\d+)", err)
        return [(int(step), int(now), int(before)) for now, before, step in found]

    def expect_as_resumed(self, step, ranks):
        """The run is that of a copy, stopped at `step` and resumed by `ranks`."""
        copy, last = self.path("copy"), self.newest()
        self.assertGreater(last, step)
        shutil.copytree(self.run_folder, copy)
        for name in os.listdir(copy):
            if name.startswith("checkpoint-") and int(name[11:]) > step:
                shutil.rmtree(os.path.join(copy, name))
        dlc.dlc("train", resume=copy, ranks=ranks, steps=last)
        self.assertBitwise(dlc.Run(self.run_folder).state(last), dlc.Run(copy).state(last), "resumed")
        for key in "step", "loss", "lr":
            np.testing.assert_array_equal(dlc.Run(self.run_folder).metrics(key), dlc.Run(copy).metrics(key))

    def world(self, step):
        with open(os.path.join(self.run_folder, f"checkpoint-{step}", "trainer.json")) as file:
            return json.load(file)["world"]

    def test_one_of_three(self):
        """Rank 0: what it did falls to the next. All ranks had all of the state."""
        self.start(self.whole)
        os.kill(self.wait_for(3)[0], signal.SIGKILL)
        self.wait_for(2)
        err = self.stop()
        self.assertRegex(err, r"rank 0 is lost: 2 of 3 ranks go on with .*run from its newest checkpoint")
        [(step, now, before)] = self.shrunk_at(err)
        self.assertEqual((now, before), (2, 3))
        self.assertEqual((self.world(step), self.world(step + EVERY)), (3, 2))
        self.assertEqual(dlc.Run(self.run_folder).metrics("step").tolist(), list(range(1, self.newest() + 1)))
        self.expect_as_resumed(step, 2)

    def test_a_second_loss(self):
        self.start()
        os.kill(self.wait_for(3)[1], signal.SIGKILL)
        os.kill(self.wait_for(2)[1], signal.SIGKILL)
        self.wait_for(1)
        [(_, *first), (step, *second)] = self.shrunk_at(self.stop())
        self.assertEqual((first, second), ([2, 3], [1, 2]))
        self.expect_as_resumed(step, 1)

    def test_fewer_than_the_least(self):
        self.start(min_ranks=2)
        os.kill(self.wait_for(3)[0], signal.SIGKILL)
        os.kill(self.wait_for(2)[0], signal.SIGKILL)
        err = self.finish(dlc.PEER_LOST)
        self.assertIn("rank 0 is lost: 1 left, expected at least 2 (--min-ranks)", err)
        _, err = dlc.dlc("train", resume=self.run_folder, steps=self.newest() + 1)  # with the two that it had
        self.assertIn("2 ranks, from step", err)
        self.assertEqual(self.shrunk_at(err), [])

    def test_restarts_are_counted(self):
        self.start(max_restarts=1)
        os.kill(self.wait_for(3)[2], signal.SIGKILL)
        os.kill(self.wait_for(2)[1], signal.SIGKILL)
        self.assertIn("rank 1 is lost: ranks have been restarted 1 times already (--max-restarts)",
                      self.finish(dlc.PEER_LOST))

    def test_a_silent_rank(self):
        """It is lost when the others have waited --timeout for it, and the launcher for them all."""
        self.start(timeout=1)
        os.kill(self.wait_for(3)[1], signal.SIGSTOP)
        self.wait_for(2)
        err = self.stop()
        self.assertIn("rank 1 is lost: 2 of 3 ranks go on", err)
        self.assertEqual([counts for _, *counts in self.shrunk_at(err)], [[2, 3]])

    def test_before_the_run_begins(self):
        while True:
            self.start()
            self.wait_until(lambda: len(self.ranks()) == 3)
            os.kill(self.ranks()[1], signal.SIGKILL)
            if not os.path.exists(self.run_folder):
                break
            dlc.kill(self.process)  # it was too late
            self.new_folder()
        self.assertIn("rank 1 is lost before the run began: the run ends", self.finish(dlc.PEER_LOST))

    def test_a_signal_ends_it(self):
        self.start()
        self.wait_for(3)
        self.assertNotIn("newest checkpoint", self.stop())


if __name__ == "__main__":
    dlc.main()
