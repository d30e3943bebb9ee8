"""A rank that dies is an error on the others, in time; nothing hangs and nothing is left behind."""

import os
import signal
import time

import dlc

DEADLINE = 10  # seconds


def descendants(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            children = [int(word) for word in file.read().split()]
    except FileNotFoundError:
        return []
    return children + [d for child in children for d in descendants(child)]


def running(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


class Peer(dlc.TestCase):
    def setUp(self):
        super().setUp()
        artifact = dlc.compile(dlc.model("lenet"), self.path("model.dlc"), ddp=2, batch=16)
        self.run_folder = self.path("run")
        self.process = dlc.start("train", artifact, data=dlc.data("mnist-train"), epochs=1000,
                                 run=self.run_folder, threads=1)
        self.addCleanup(dlc.kill, self.process)
        self.wait_for_steps(20)

    def wait_for_steps(self, count):
        end = time.monotonic() + 30
        metrics = os.path.join(self.run_folder, "metrics.jsonl")
        while time.monotonic() < end:
            self.assertIsNone(self.process.poll(), "training ended early")
            if os.path.exists(metrics) and len(dlc.Run(self.run_folder).metrics("step")) >= count:
                return
            time.sleep(0.05)
        self.fail(f"no {count} steps after 30 s")

    def wait_for_end(self, pids):
        end = time.monotonic() + DEADLINE
        while any(map(running, pids)):
            self.assertLess(time.monotonic(), end, f"still running {DEADLINE} s later")
            time.sleep(0.05)

    def test_killed_rank(self):
        ranks = descendants(self.process.pid)
        self.assertGreaterEqual(len(ranks), 1)
        os.kill(ranks[-1], signal.SIGKILL)
        status, _, err = dlc.finish(self.process, DEADLINE)
        self.assertEqual(status, dlc.PEER_LOST, err)
        self.assertRegex(err, r"rank \d")
        self.wait_for_end(ranks)

    def test_killed_starter(self):
        ranks = descendants(self.process.pid)
        os.kill(self.process.pid, signal.SIGKILL)
        self.wait_for_end(ranks)

    def test_interrupted(self):
        """Ctrl-C ends every rank, with the shell's exit code."""
        ranks = descendants(self.process.pid)
        os.killpg(self.process.pid, signal.SIGINT)
        status, _, err = dlc.finish(self.process, DEADLINE)
        self.assertIn(status, (130, -signal.SIGINT), err)
        self.wait_for_end(ranks)


if __name__ == "__main__":
    dlc.main()
