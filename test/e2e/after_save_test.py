# SPDX-License-Identifier: Apache-2.0
"""--after-save: a program for each checkpoint that is on disk; a slow one holds up neither steps nor its checkpoint's files."""

import os
import re
import signal
import time

import dlc


class AfterSave(dlc.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.share_artifact(ddp=2)

    def train(self, command, **options):
        options = dict(data=dlc.data("digits-train"), run=self.path("run"), steps=6, save_every=2, threads=1, after_save=command) | options
        return dlc.dlc("train", *([] if "resume" in options else [self.artifact]), **options)[1]

    def copy(self):
        os.makedirs(self.path("store"), exist_ok=True)
        return f'cp -r "$DLC_CHECKPOINT" {self.path("store")}/checkpoint-$DLC_STEP'

    def stored(self):
        return sorted(int(name.removeprefix("checkpoint-")) for name in os.listdir(self.path("store")))

    def stored_or_left_out(self, err):
        left_out = re.findall(r"warning: --after-save is still running for '.*': '.*/checkpoint-(\d)' is left out", err)
        return sorted(self.stored() + [int(step) for step in left_out])

    def test_each_checkpoint_is_copied(self):
        """Whole, however it is written, but for those that a busy machine has no time for; a resumed run goes on with it."""
        for save in "sync", "background", "sharded":
            self.new_folder()
            err = self.train(self.copy(), save=save)
            self.assertEqual(self.stored_or_left_out(err), [2, 4, 6])
            err += dlc.dlc("train", resume=self.path("run"), steps=8, save=save)[1]
            self.assertEqual(self.stored_or_left_out(err), [2, 4, 6, 8])
            self.assertEqual((self.stored()[0], self.stored()[-1]), (2, 8))
            for step in sorted({6, 8} & set(self.stored())):
                self.assertBitwise(dlc.Run(self.path("store")).state(step), dlc.Run(self.path("run")).state(step), f"{save}, {step}")

    def test_a_slow_program(self):
        """Steps go on; of the checkpoints that wait the newest is next, and nothing that the program needs is removed."""
        begun = time.monotonic()
        err = self.train('sleep 2; test -f "$DLC_CHECKPOINT/manifest.json" && ' + self.copy(), save_every=1, steps=8, keep=1)
        self.assertLess(time.monotonic() - begun, 2 * 8)
        self.assertEqual((self.stored()[0], self.stored()[-1]), (1, 8))
        self.assertEqual(self.stored_or_left_out(err), list(range(1, 9)))

    def test_a_slow_program_after_a_signal(self):
        """As a job's that is preempted: the launcher waits for rank 0, which waits for the program."""
        process = dlc.start("train", self.artifact, data=dlc.data("digits-train"), run=self.path("run"), steps=10**8,
                            save_every=10**8, threads=1, after_save="sleep 5; " + self.copy())
        self.addCleanup(dlc.kill, process)
        metrics = self.path("run/metrics.jsonl")
        while not os.path.exists(metrics) or not os.path.getsize(metrics):  # a step has ended
            self.assertIsNone(process.poll())
            time.sleep(0.02)
        process.terminate()
        status, _, err = dlc.finish(process, 60)
        self.assertEqual(status, 128 + signal.SIGTERM, err)
        self.assertIn(f"stopped by signal 15 after step {self.stored()[0]}:", err)

    def test_failures_are_warnings(self):
        err = self.train("echo no bucket >&2; exit 3", steps=2)
        self.assertIn("--after-save: no bucket\n", err)
        self.assertIn(f"warning: --after-save for '{self.path('run/checkpoint-2')}' ended with code 3", err)
        self.assertIn("ended with code 127", self.train("/no/such/program", steps=2, run=self.path("other")))


if __name__ == "__main__":
    dlc.main()
