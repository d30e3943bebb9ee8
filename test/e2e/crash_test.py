"""A run killed in each system call that its checkpoints make resumes to the bits of the undisturbed run."""

import os
import shutil
import signal
import subprocess

import dlc


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

    def test_checkpoints(self):
        if not shutil.which("strace") or subprocess.run(["strace", "-qq", "true"], capture_output=True).returncode:
            self.skipTest("strace is missing or not allowed")
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


if __name__ == "__main__":
    dlc.main()
