# SPDX-License-Identifier: Apache-2.0
"""What a run's folder bears: damaged and strange checkpoints, a second process, being removed, a full disk."""

import json
import os
import resource
import shutil
import signal
import socket
import subprocess
import time

import dlc


class RunFolder(dlc.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.share_artifact()
        cls.whole = dlc.train(cls.artifact, dlc.data("digits-train"), os.path.join(cls.shared, "whole"), steps=8,
                              save_every=2, keep=9)

    def begun(self, step=6):
        """A copy of a run that got so far."""
        run = self.path("run")
        shutil.rmtree(run, ignore_errors=True)
        shutil.copytree(self.whole.folder, run)
        for later in range(step + 2, 10, 2):
            shutil.rmtree(f"{run}/checkpoint-{later}")
        return dlc.Run(run)

    def checkpoints(self, run):
        return sorted(name for name in os.listdir(run.folder) if name.startswith("checkpoint"))

    def content(self, path):
        with open(path, "rb") as file:
            return file.read()

    def start(self, *words, **options):
        process = dlc.start(*words, **options)
        self.addCleanup(dlc.kill, process)
        return process

    def until(self, condition, what, seconds=60):
        end = time.monotonic() + seconds
        while not condition():
            self.assertLess(time.monotonic(), end, what)
            time.sleep(0.02)


class NamedCheckpoint(RunFolder):
    def steps(self, run):
        with open(f"{run.folder}/metrics.jsonl") as file:
            return [json.loads(line)["step"] for line in file]

    def test_newer_ones_are_set_aside(self):
        """The run ends as it did before, by the same numbers."""
        run = self.begun(step=8)
        before = self.content(f"{run.folder}/checkpoint-6/state.safetensors")
        _, err = dlc.dlc("train", resume=run.folder, checkpoint=4, keep=9)
        for step in 6, 8:
            self.assertRegex(err, f"going back to step 4 from .*checkpoint-{step}': "
                                  f"set aside as '.*checkpoint-{step}.newer'")
        self.assertEqual(self.checkpoints(run), ["checkpoint-2", "checkpoint-4", "checkpoint-6", "checkpoint-6.newer",
                                                 "checkpoint-8", "checkpoint-8.newer"])
        self.assertEqual(self.content(f"{run.folder}/checkpoint-6.newer/state.safetensors"), before)
        self.assertBitwise(run.state(8), self.whole.state(8), "gone back and on")
        self.assertEqual(self.steps(run), list(range(1, 9)))

    def test_the_newest_is_what_it_was_without(self):
        run = self.begun()
        _, err = dlc.dlc("train", resume=run.folder, checkpoint=6, keep=9)
        self.assertNotIn("set aside", err)
        self.assertBitwise(run.state(8), self.whole.state(8), "gone on")

    def test_refusals_change_nothing(self):
        run = self.begun(step=8)
        all_of_them = self.checkpoints(run)
        _, err = dlc.dlc("train", resume=run.folder, checkpoint=5, code=dlc.FAILED)
        self.assertIn("has no checkpoint of step 5: it has 2, 4, 6, 8", err)
        dlc.flip(f"{run.folder}/checkpoint-4/state.safetensors")
        _, err = dlc.dlc("train", resume=run.folder, checkpoint=4, code=dlc.CORRUPT)
        self.assertIn("checkpoint-4/state.safetensors' has changed", err)
        _, err = dlc.dlc("train", resume=run.folder, checkpoint=6, data=dlc.data("digits-test"), code=dlc.FAILED)
        self.assertIn("is not the data that the run began with", err)
        self.assertEqual(self.checkpoints(run), all_of_them)
        for words in (["train", self.artifact, "--data=x.npz", "--checkpoint=2"],
                      ["train", "--resume=" + run.folder, "--checkpoint=-1"],
                      ["train", "--resume=" + run.folder, "--checkpoint=new"]):
            _, err = dlc.dlc(*words, code=dlc.USAGE)
            self.assertIn("--checkpoint", err)


class Checkpoints(RunFolder):
    def strange(self, run):
        """{what: makes checkpoint-9999 from the newest}"""
        newest, path = f"{run.folder}/checkpoint-6", f"{run.folder}/checkpoint-9999"
        other = os.path.join(self.shared, "other.dlc")
        if not os.path.exists(other):
            dlc.compile(dlc.model("mlp"), other, batch=15)
            dlc.train(other, dlc.data("digits-train"), os.path.join(self.shared, "other"), steps=1)
        def damaged():
            shutil.copytree(newest, path)
            dlc.flip(path + "/state.safetensors")
        return {
            "renamed": lambda: shutil.copytree(newest, path),
            "damaged": damaged,
            "of another artifact": lambda: shutil.copytree(os.path.join(self.shared, "other/checkpoint-1"), path),
            "empty": lambda: os.mkdir(path),
            "a file": lambda: open(path, "w").close(),
            "a broken link": lambda: os.symlink("nowhere", path),
        }

    def test_keep_counts_what_is_whole(self):
        for what in self.strange(self.begun()):
            with self.subTest(what):
                run = self.begun()
                self.strange(run)[what]()
                _, err = dlc.dlc("train", resume=run.folder, steps=8, keep=1, timeout=60)
                self.assertRegex(err, "checkpoint-9999.*going back to .*checkpoint-6.*set aside as .*checkpoint-9999.damaged")
                self.assertEqual(self.checkpoints(run), ["checkpoint-8", "checkpoint-9999.damaged"])
                self.assertBitwise(run.state(8), self.whole.state(8), "resumed")
                dlc.evaluate(run.folder, dlc.data("digits-test"))

    def test_older_ones_that_are_damaged_are_not_counted(self):
        run = self.begun()
        dlc.flip(f"{run.folder}/checkpoint-4/trainer.json")
        _, err = dlc.dlc("train", resume=run.folder, steps=8, keep=3)  # the run has 9
        self.assertIn("checkpoint-4' is damaged: set aside", err)
        self.assertEqual(self.checkpoints(run), ["checkpoint-2", "checkpoint-4.damaged", "checkpoint-6", "checkpoint-8"])

    def test_a_flag_wins_also_with_its_default(self):
        run = self.begun(8)
        dlc.dlc("train", resume=run.folder, steps=10, keep=3)
        self.assertEqual(self.checkpoints(run), [f"checkpoint-{step}" for step in (10, 6, 8)])
        with open(self.path("exp.yaml"), "w") as file:
            file.write("run:\n  keep: 3\n")
        run = self.begun(8)
        dlc.dlc("train", resume=run.folder, steps=10, config=self.path("exp.yaml"))
        self.assertEqual(len(self.checkpoints(run)), 3)

    def test_use_goes_back(self):
        run = self.begun()
        dlc.flip(f"{run.folder}/checkpoint-6/state.safetensors")
        x = dlc.data("digits-test")
        uses = {"eval": (["--data=" + x, "--json"], None), "predict": (["--data=" + x, "-o"], "y.npz"),
                "export": (["-o"], "y.onnx")}
        for command, (words, output) in uses.items():
            with self.subTest(command):
                found = []
                for model in run.folder, run.folder + "/checkpoint-4":
                    path = [self.path(output)] if output else []
                    out, err = dlc.dlc(command, model, *words, *path)
                    found.append(self.content(path[0]) if path else out)
                    warned = "checkpoint-6" in err and f"'{run.folder}/checkpoint-4' is used instead" in err
                    self.assertEqual(warned, model == run.folder, err)
                self.assertEqual(found[0], found[1])
        self.assertIn("checkpoint-6", self.checkpoints(run))  # reading changes nothing

    def test_none_is_whole(self):
        run = self.begun()
        for step in 2, 4, 6:
            dlc.flip(f"{run.folder}/checkpoint-{step}/state.safetensors")
        for words in ["eval", run.folder, "--data=" + dlc.data("digits-test")], ["export", run.folder, "-o", "x"], \
                ["train", "--resume=" + run.folder]:
            _, err = dlc.dlc(*words, code=dlc.CORRUPT)
            self.assertRegex(err, r"checkpoint-6/.*no checkpoint of '.*' is intact \(3 found\).*model\.dlc")
        self.assertEqual(len(self.checkpoints(run)), 3)

    def test_leftovers_of_a_removal(self):
        run = self.begun()
        os.rename(f"{run.folder}/checkpoint-2", f"{run.folder}/checkpoint-2.removed")
        shutil.copytree(f"{run.folder}/checkpoint-4", f"{run.folder}/mine.removed")
        dlc.dlc("train", resume=run.folder, steps=8)
        self.assertEqual(self.checkpoints(run), [f"checkpoint-{step}" for step in (4, 6, 8)])
        self.assertTrue(os.path.exists(f"{run.folder}/mine.removed"))


class InUse(RunFolder):
    ENDLESS = 100_000_000

    def steps(self, folder):
        try:
            with open(folder + "/metrics.jsonl") as file:
                return sum(1 for _ in file)
        except FileNotFoundError:
            return 0

    def refused(self, folder):
        _, err = dlc.dlc("train", resume=folder, code=dlc.FAILED)
        self.assertRegex(err, rf"run '{folder}' is in use by process \d+ on {socket.gethostname()}")
        return int(err.split("process ")[1].split()[0])

    def test_by_a_run_that_goes_on(self):
        artifact = dlc.compile(dlc.model("mlp"), self.path("two.dlc"), batch=16, ddp=2)
        run = self.path("run")
        first = self.start("train", artifact, data=dlc.data("digits-train"), run=run, steps=self.ENDLESS,
                           save_every=20, keep=1000, threads=1)
        self.until(lambda: os.path.exists(run + "/checkpoint-20") or self.steps(run) > 60, "steps")
        self.assertNotEqual(self.refused(run), 0)
        dlc.evaluate(run, dlc.data("digits-test"))
        dlc.kill(first)  # the launcher and its ranks
        second = self.start("train", resume=run, threads=1)
        before = self.steps(run)
        self.until(lambda: self.steps(run) > before + 20, "steps of the second")
        process = self.refused(run)
        os.kill(process, signal.SIGKILL)
        dlc.finish(second)
        dlc.dlc("train", resume=run, steps=20 * (self.steps(run) // 20 + 2))

    def remove(self, folder):
        """While a run writes into it."""
        while os.path.exists(folder):
            shutil.rmtree(folder, ignore_errors=True)

    def test_folder_that_goes_away(self):
        cases = {
            "removed": (self.remove, r"run folder '.*run' was removed or moved away"),
            "moved": (lambda run: os.rename(run, run + ".moved"), r"run folder '.*run' was removed or moved away"),
            "replaced": (lambda run: (os.rename(run, run + ".old"), os.mkdir(run)), r"was replaced by another"),
            "without a file": (lambda run: os.remove(run + "/model.dlc/plan.pb"), r"plan\.pb' was removed or moved"),
            "without settings": (lambda run: os.rename(run + "/config.yaml", run + "/c.yaml"), r"config\.yaml' was"),
        }
        for what, (change, message) in cases.items():
            with self.subTest(what):
                run = self.path(what + "/run")
                process = self.start("train", self.artifact, data=dlc.data("digits-train"), run=run,
                                     steps=self.ENDLESS, save_every=self.ENDLESS)
                self.until(lambda: self.steps(run) > 5, "steps")
                change(run)
                code, _, err = dlc.finish(process, 30)
                self.assertEqual(code, dlc.FAILED, err)
                self.assertRegex(err, message)
                if what == "replaced":
                    self.assertEqual(os.listdir(run), [])
                else:
                    self.assertEqual(os.path.exists(run), "without" in what)

    def test_lock_that_goes_away(self):
        run = self.path("run")
        process = self.start("train", self.artifact, data=dlc.data("digits-train"), run=run, steps=self.ENDLESS)
        self.until(lambda: self.steps(run) > 5, "steps")
        os.remove(run + "/lock")
        self.until(lambda: os.path.exists(run + "/lock"), "the lock again")
        self.refused(run)
        process.send_signal(signal.SIGTERM)
        dlc.finish(process)


class FullDisk(RunFolder):
    def limited(self, size, *words, **options):
        """Runs dlc with no file beyond so many bytes."""
        done = subprocess.run([dlc.DLC, *words, *dlc.flags(options)], capture_output=True, text=True, timeout=120,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)))
        return done.returncode, done.stderr

    def size(self, step):
        return os.path.getsize(f"{self.whole.folder}/checkpoint-{step}/state.safetensors")

    def test_lines_are_not_worth_the_steps(self):
        options = dict(data=dlc.data("digits-train"), steps=2000, save_every=500, threads=1)
        expected = dlc.train(self.artifact, run=self.path("free"), **options).state(2000)
        size = 2 * self.size(8)
        self.assertGreater(os.path.getsize(self.path("free/metrics.jsonl")), size)
        code, err = self.limited(size, "train", self.artifact, run=self.path("run"), **options)
        self.assertEqual(code, dlc.OK, err)
        self.assertEqual(err.count("cannot write to"), 1, err)
        self.assertRegex(err, r"metrics\.jsonl': File too large.*training continues")
        self.assertRegex(err, r"metrics\.jsonl' lacks \d+ lines")
        self.assertBitwise(dlc.Run(self.path("run")).state(2000), expected, "trained")

    def test_checkpoint_too_large(self):
        run = self.begun()
        code, err = self.limited(self.size(6) - 1, "train", resume=run.folder, steps=12, save_every=2)
        self.assertEqual(code, dlc.FAILED, err)
        for step in 8, 10:
            self.assertRegex(err, rf"no checkpoint of step {step}: .*File too large; '.*/checkpoint-6' is the newest intact "
                                  "one; training continues")
        self.assertRegex(err, r"error:.* no checkpoint of step 12: .*checkpoint-6' is the newest.*--resume")
        self.assertEqual(self.checkpoints(run), [f"checkpoint-{step}" for step in (2, 4, 6)])
        dlc.dlc("train", resume=run.folder, steps=8)
        self.assertBitwise(run.state(8), self.whole.state(8), "later")

    def test_no_room_for_a_run(self):
        code, err = self.limited(2000, "train", self.artifact, data=dlc.data("digits-train"), run="/dev/shm/dlc-run", steps=2)
        self.assertEqual(code, dlc.FAILED, err)  # the copy of the artifact does not fit
        self.assertRegex(err, "File too large")
        self.assertEqual([name for name in os.listdir("/dev/shm") if "dlc-run" in name], [])

    def test_divergence_without_room_for_a_replay(self):
        artifact = dlc.compile(dlc.model("mlp"), self.path("wild.dlc"), batch=16, lr=1e37, schedule="constant")
        limit = os.path.getsize(artifact + "/state.safetensors") - 1
        code, err = self.limited(limit, "train", artifact, data=dlc.data("digits-train"), run=self.path("run"), steps=50)
        self.assertEqual(code, dlc.DIVERGED, err)
        self.assertRegex(err, r"training diverged.*it cannot be replayed \(.*File too large\)")

    def test_of_two_ranks(self):
        """All ranks go on when one cannot write, and end as one."""
        artifact = dlc.compile(dlc.model("mlp"), self.path("two.dlc"), batch=16, ddp=2)
        options = dict(data=dlc.data("digits-train"), steps=6, save_every=2, threads=1)
        expected = dlc.train(artifact, run=self.path("free"), **options).state(6)
        limit = os.path.getsize(self.path("free/checkpoint-2/state.safetensors")) - 1
        code, err = self.limited(limit, "train", artifact, run=self.path("run"), **options)
        self.assertEqual(code, dlc.FAILED, err)
        self.assertRegex(err, "no checkpoint of step 2: .*' has none; training continues")
        self.assertIn("no checkpoint of step 6: ", err)
        dlc.dlc("train", resume=self.path("run"))
        self.assertBitwise(dlc.Run(self.path("run")).state(6), expected, "from the start")

    def disk(self, size):
        folder = self.path("disk")
        os.makedirs(folder, exist_ok=True)
        command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder]
        if subprocess.run(command, capture_output=True).returncode:
            self.skipTest("mounting a file system needs root")
        self.addCleanup(subprocess.run, ["umount", folder], check=True)
        return folder

    def fill(self, disk, leave):
        space = os.statvfs(disk)
        with open(disk + "/filler", "wb") as file:
            file.write(bytes(space.f_bavail * space.f_frsize - leave))

    def test_room_is_made(self):
        """Older checkpoints than --keep will keep go first if the new one then fits; the newest never does."""
        disk = self.disk("4m")
        run = dlc.Run(shutil.copytree(self.begun().folder, disk + "/run"))
        before = self.checkpoints(run)
        self.fill(disk, 24 << 10)
        _, err = dlc.dlc("train", resume=run.folder, steps=8, keep=3)
        self.assertEqual([line for line in err.splitlines() if "warning" in line], [])
        self.assertEqual(self.checkpoints(run), ["checkpoint-4", "checkpoint-6", "checkpoint-8"])
        self.assertBitwise(run.state(8), self.whole.state(8), "saved")
        self.assertEqual(before, ["checkpoint-2", "checkpoint-4", "checkpoint-6"])

    def test_no_room(self):
        disk = self.disk("4m")
        run = dlc.Run(shutil.copytree(self.begun().folder, disk + "/run"))
        for step in 2, 4:
            shutil.rmtree(f"{run.folder}/checkpoint-{step}")
        self.fill(disk, 0)
        for keep in 1, 3:
            _, err = dlc.dlc("train", resume=run.folder, steps=8, keep=keep, code=dlc.FAILED)
            self.assertRegex(err, "no checkpoint of step 8: .*(?i:no space).*checkpoint-6' is the newest intact one")
            self.assertEqual(self.checkpoints(run), ["checkpoint-6"])
        os.remove(disk + "/filler")
        dlc.dlc("train", resume=run.folder, steps=8)
        self.assertBitwise(run.state(8), self.whole.state(8), "when there was room again")
        self.assertEqual(run.metrics("step").tolist(), list(range(1, 9)))


if __name__ == "__main__":
    dlc.main()
