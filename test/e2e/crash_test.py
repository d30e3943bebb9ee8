# SPDX-License-Identifier: Apache-2.0
"""Runs killed at any moment, in each system call that their checkpoints make or whenever it comes, resume to the bits of
the undisturbed run and leave nothing behind. DLC_KILLS=100 and DLC_KILL_SEED=N for more, and other, moments."""

import glob
import os
import random
import shutil
import signal
import subprocess
import time

import dlc

KILLS = int(os.environ.get("DLC_KILLS", 5))
SEED = int(os.environ.get("DLC_KILL_SEED", 1))


class EveryCall(dlc.TestCase):
    CALLS = "mkdir", "write", "fsync", "rename,renameat,renameat2", "unlink,unlinkat,rmdir"

    def train(self, run, call, number):
        """Whether it was killed in the number-th of these calls."""
        command = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={call}",
                   "-e", f"inject={call}:signal=SIGKILL:when={number}",
                   dlc.DLC, "train", self.artifact, "--data=" + dlc.data("digits-train"), "--steps=3",
                   "--save-every=1", "--keep=1", "--threads=1", "--quiet", "--run=" + run]
        status = subprocess.run(command, capture_output=True, timeout=60).returncode
        self.assertIn(status, (0, -signal.SIGKILL))
        return status != 0

    def expect_strace(self):
        if not shutil.which("strace") or subprocess.run(["strace", "-qq", "true"], capture_output=True).returncode:
            self.skipTest("strace is missing or not allowed")

    def test_checkpoints_that_cannot_be_removed(self):
        """A disk that fills although --keep=1 says why."""
        self.expect_strace()
        artifact = dlc.compile(dlc.model("mlp"), self.path("mlp.dlc"), quiet=True)
        result = subprocess.run(["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=unlink,unlinkat,rmdir",
                                 "-e", "inject=unlink,unlinkat,rmdir:error=EIO", dlc.DLC, "train", artifact,
                                 "--data=" + dlc.data("digits-train"), "--steps=3", "--save-every=1", "--keep=1",
                                 "--threads=1", "--quiet", "--run=" + self.path("run")],
                                capture_output=True, text=True, timeout=60)
        self.assertEqual(result.returncode, 0, result.stderr)
        for step in 1, 2:
            self.assertIn(f"checkpoint-{step}' cannot be removed: Input/output error", result.stderr)

    def test_checkpoints(self):
        self.expect_strace()
        self.artifact = dlc.compile(dlc.model("mlp"), self.path("mlp.dlc"), ema=True, quiet=True)
        self.assertFalse(self.train(self.path("whole"), "mkdir", 1000))
        expected, kills = dlc.Run(self.path("whole")).state(3), 0
        for call in self.CALLS:
            number, run = 1, self.path("run")
            while self.train(run, call, number):
                with self.subTest(call=call, number=number):
                    if os.path.exists(run):  # else killed before the run began
                        dlc.dlc("train", resume=run)
                        self.assertBitwise(dlc.Run(run).state(3), expected, "resumed")
                        self.assertFalse([name for name in os.listdir(run) if "tmp" in name])
                shutil.rmtree(run, ignore_errors=True)
                number, kills = number + 1, kills + 1
            shutil.rmtree(run)
        self.assertGreater(kills, 20)


class AnyMoment(dlc.TestCase):
    """Two ranks: all of the job, one rank, or the process that started them is killed."""

    STEPS = 40

    def setUp(self):
        super().setUp()
        os.makedirs(self.path("tmp"))
        self.environment = {**os.environ, "TMPDIR": self.path("tmp")}
        self.artifact = dlc.compile(dlc.model("mlp"), self.path("mlp.dlc"), ddp=2, ema=True, quiet=True)
        self.addCleanup(lambda: print(f"\n2 ranks: {self.kills} kills, {self.cut} in the middle of a run"))
        self.kills = self.cut = 0

    def start(self, run):
        command = [dlc.DLC, "train", self.artifact, "--data=" + dlc.data("digits-train"), f"--steps={self.STEPS}",
                   "--save-every=2", "--keep=2", "--threads=1", "--quiet", "--timeout=10", "--run=" + run]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
                                env=self.environment)

    def victim(self, process, source):
        """A way to end the job with SIGKILL."""
        try:
            with open(f"/proc/{process.pid}/task/{process.pid}/children") as file:
                ranks = [int(word) for word in file.read().split()]
        except FileNotFoundError:
            ranks = []
        return source.choice([lambda: os.killpg(process.pid, signal.SIGKILL),
                              lambda: os.kill(process.pid, signal.SIGKILL),
                              *[lambda rank=rank: os.kill(rank, signal.SIGKILL) for rank in ranks]])

    def end(self, process):
        """Waits for the whole group: ranks die with the process that started them."""
        process.wait(timeout=60)
        for _ in range(2000):
            try:
                os.killpg(process.pid, 0)
            except ProcessLookupError:
                return
            time.sleep(0.005)
        self.fail("ranks outlive the process that started them")

    def strays(self, run):
        found = [os.path.join(self.path("tmp"), name) for name in os.listdir(self.path("tmp"))]
        return found + glob.glob(self.path("*tmp-*")) + glob.glob(run + "/*tmp*") + glob.glob(run + "/*/*tmp*")

    def test_two_ranks(self):
        source, run = random.Random(SEED), self.path("run")
        start = time.monotonic()
        self.assertEqual(self.start(self.path("whole")).wait(timeout=120), 0)
        lasts = time.monotonic() - start
        expected = dlc.Run(self.path("whole")).state(self.STEPS)
        while self.kills < KILLS:
            with self.subTest(kill=self.kills):
                self.kills += 1
                process = self.start(run)
                time.sleep(source.random() * lasts)
                try:
                    self.victim(process, source)()
                except ProcessLookupError:
                    pass  # it has just ended
                self.end(process)
                if os.path.exists(run):  # else killed before the run began
                    self.cut += process.returncode != 0
                    resumed = subprocess.run([dlc.DLC, "train", "--resume=" + run, "--quiet"], capture_output=True,
                                             text=True, timeout=120, env=self.environment)
                    self.assertEqual(resumed.returncode, 0, resumed.stderr)
                    self.assertBitwise(dlc.Run(run).state(self.STEPS), expected, "resumed")
                    self.assertFalse(self.strays(run))
                shutil.rmtree(run, ignore_errors=True)
        self.assertGreater(self.cut, KILLS // 10)


if __name__ == "__main__":
    dlc.main()
