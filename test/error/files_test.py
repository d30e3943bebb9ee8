# SPDX-License-Identifier: Apache-2.0
"""Damaged, foreign and unwritable folders: every changed byte is found before anything is used."""

import json
import os
import random
import shutil
import subprocess

import dlc
import numpy as np

PLACES = int(os.environ.get("DLC_TEST_PLACES", 40))  # in each file


class Files(dlc.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.share_artifact()
        cls.share_run(steps=6, save_every=3)

    def copy(self, folder):
        target = self.path("copy" + os.path.splitext(folder)[1])
        shutil.rmtree(target, ignore_errors=True)
        return shutil.copytree(folder, target)

    def places(self, path):
        """Both ends, the middle, and PLACES more, the same in every run."""
        size, chance = os.path.getsize(path), random.Random(os.path.basename(path))
        return sorted({0, size // 2, size - 1} | {chance.randrange(size) for _ in range(PLACES)})

    def lengths(self, path):
        size = os.path.getsize(path)
        return 0, 1, size // 2, size - 1, size + 1  # the last is a byte too many

    def evaluate(self, run, code):
        return dlc.dlc("eval", run, data=dlc.data("digits-test"), code=code, timeout=20)

    def evaluate_newest(self, run, code):
        """By its name: of the run, an older one would be used."""
        return self.evaluate(run + "/checkpoint-6", code)

    def damage_all(self, folder, inside, damages, apply, use):
        """Uses a copy with each damage of each file: exit code 4 and the file's name."""
        for name in sorted(os.listdir(os.path.join(folder, inside))):
            whole = os.path.join(folder, inside, name)
            for damage in damages(whole):
                with self.subTest(file=name, damage=damage):
                    copy = self.copy(folder)
                    apply(os.path.join(copy, inside, name), damage)
                    _, err = use(copy, dlc.CORRUPT)
                    self.assertIn(name, err)

    def train(self, artifact, code):
        return dlc.dlc("train", artifact, data=dlc.data("digits-train"), run=self.path("run"),
                       steps=1, code=code, timeout=20)

    def test_artifact_with_a_changed_byte(self):
        self.damage_all(self.artifact, "", self.places, dlc.flip, self.train)

    def test_artifact_of_a_run_with_a_changed_byte(self):
        self.damage_all(self.run_folder, "model.dlc", lambda path: self.places(path)[::8], dlc.flip, self.evaluate)

    def test_artifact_without_a_file(self):
        for name in sorted(os.listdir(self.artifact)):
            with self.subTest(file=name):
                copy = self.copy(self.artifact)
                os.remove(os.path.join(copy, name))
                _, err = self.train(copy, dlc.CORRUPT)
                self.assertIn(name, err)

    def test_artifact_with_a_truncated_file(self):
        self.damage_all(self.artifact, "", self.lengths, os.truncate, self.train)

    def test_artifact_of_another_version(self):
        copy = self.copy(self.artifact)
        path = os.path.join(copy, "manifest.json")
        with open(path) as file:
            manifest = json.load(file)
        self.assertIn("version", manifest)
        manifest["version"] += 1000
        with open(path, "w") as file:
            json.dump(manifest, file)
        _, err = self.train(copy, dlc.INCOMPATIBLE)
        self.assertRegex(err, r"version")

    def test_no_artifact(self):
        _, err = self.train(self.path("none.dlc"), dlc.FAILED)
        self.assertRegex(err, r"none\.dlc")

    def test_checkpoint_with_a_changed_byte(self):
        """The newest checkpoint is refused with its name, never a wrong weight."""
        self.damage_all(self.run_folder, "checkpoint-6", self.places, dlc.flip, self.evaluate_newest)

    def test_checkpoint_with_a_truncated_file(self):
        self.damage_all(self.run_folder, "checkpoint-6", self.lengths, os.truncate, self.evaluate_newest)

    def test_checkpoint_without_a_file(self):
        self.damage_all(self.run_folder, "checkpoint-6", lambda path: [None],
                        lambda path, _: os.remove(path), self.evaluate_newest)

    def test_damaged_settings(self):
        """config.yaml is the user's to read, so it is no binary with a hash: a message with line and column."""
        for content in "", "steps: [", "- a list", "steps: many\n", "\0\xff" * 100, "a: &b [*b, *b]\n":
            with self.subTest(content=content):
                copy = self.copy(self.run_folder)
                with open(os.path.join(copy, "config.yaml"), "w") as file:
                    file.write(content)
                _, err = dlc.dlc("train", resume=copy, code=dlc.CORRUPT, timeout=20)
                self.assertIn("config.yaml", err)

    def test_settings_of_another_version(self):
        """What an older version did not know has its default; what none knows is refused."""
        copy = self.copy(self.run_folder)
        path = os.path.join(copy, "config.yaml")
        with open(path) as file:
            lines = [line for line in file if not line.startswith("max_skips")]
        with open(path, "w") as file:
            file.writelines(lines)
        _, err = dlc.dlc("train", resume=copy, steps=7, timeout=20)
        self.assertIn(f"'{path}' is of an older version, without max_skips: defaults are used", err)
        self.assertEqual(len(dlc.Run(copy).metrics("loss")), 7)
        with open(path, "a") as file:
            file.write("max_skip: 3\n")
        _, err = dlc.dlc("train", resume=copy, code=dlc.CORRUPT, timeout=20)
        self.assertRegex(err, r"config.yaml', line \d+, column 1: unknown key 'max_skip'; did you mean 'max_skips'")

    def test_resume_goes_back_to_the_last_good_checkpoint(self):
        copy = self.copy(self.run_folder)
        dlc.flip(os.path.join(copy, "checkpoint-6", "state.safetensors"), 5000)
        _, err = dlc.dlc("train", resume=copy, timeout=20)
        self.assertRegex(err, r"checkpoint-6")
        expected = dlc.Run(self.run_folder).state(6)
        self.assertBitwise(dlc.Run(copy).state(6), expected, "retrained")

    def test_resume_of_no_run(self):
        _, err = dlc.dlc("train", resume=self.path("none"), code=dlc.FAILED, timeout=20)
        self.assertRegex(err, r"none")

    def test_checkpoint_of_another_model(self):
        other = dlc.compile(dlc.model("lenet"), self.path("lenet.dlc"), batch=16)
        run = dlc.train(other, dlc.data("mnist-train"), self.path("other"), steps=1)
        copy = self.copy(self.run_folder)
        shutil.rmtree(os.path.join(copy, "checkpoint-6"))
        shutil.copytree(os.path.join(run.folder, "checkpoint-1"), os.path.join(copy, "checkpoint-6"))
        _, err = self.evaluate_newest(copy, dlc.CORRUPT)
        self.assertRegex(err, r"checkpoint-6' was written by another compilation of a model")


class ReadOnly(dlc.TestCase):
    """Outputs that cannot be written. Root ignores permissions, so the folder is /proc."""

    def test_compile(self):
        _, err = dlc.dlc("compile", dlc.model("mlp"), "-o", "/proc/out.dlc", code=dlc.FAILED, timeout=20)
        self.assertRegex(err, r"/proc/out\.dlc")

    def test_compile_into_a_file(self):
        with open(self.path("file"), "w") as file:
            file.write("keep me")
        for out in self.path("file"), self.path("file/out.dlc"):
            _, err = dlc.dlc("compile", dlc.model("mlp"), "-o", out, code=dlc.FAILED, timeout=20)
            self.assertIn(self.path("file"), err)
        with open(self.path("file")) as file:
            self.assertEqual(file.read(), "keep me")

    def test_train_predict_export(self):
        artifact = dlc.compile(dlc.model("mlp"), self.path("mlp.dlc"), batch=16)
        _, err = dlc.dlc("train", artifact, data=dlc.data("digits-train"), steps=1, run="/proc/run",
                         code=dlc.FAILED, timeout=20)
        self.assertRegex(err, r"/proc/run")
        run = dlc.train(artifact, dlc.data("digits-train"), self.path("run"), steps=1)
        _, err = dlc.dlc("export", run.folder, "-o", "/proc/out.onnx", code=dlc.FAILED, timeout=20)
        self.assertRegex(err, r"/proc/out\.onnx")
        _, err = dlc.dlc("predict", run.folder, "-o", "/proc/y.npz", data=dlc.data("digits-test"),
                         code=dlc.FAILED, timeout=20)
        self.assertRegex(err, r"/proc/y\.npz")


class SmallDisk(dlc.TestCase):
    """On a file system of a few megabytes, in memory."""

    def setUp(self):
        super().setUp()
        self.disk = self.path("disk")
        os.mkdir(self.disk)
        if not self.mount("size=10m"):
            self.skipTest("mounting a file system needs root")
        self.addCleanup(subprocess.run, ["umount", self.disk], check=True)

    def mount(self, options):
        command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", self.disk]
        return subprocess.run(command, capture_output=True).returncode == 0

    def test_full_disk(self):
        """A checkpoint that does not fit fails by name; the earlier ones are whole, and the run goes on later."""
        artifact = dlc.compile(dlc.model("lenet"), self.path("lenet.dlc"), batch=16, momentum=0.9)
        options = dict(steps=20, save_every=1, threads=1)
        expected = dlc.train(artifact, dlc.data("mnist-train"), self.path("whole"), **options).state(20)

        run = os.path.join(self.disk, "run")
        self.assertTrue(self.mount("remount,size=1800k"))
        _, err = dlc.dlc("train", artifact, data=dlc.data("mnist-train"), run=run, code=dlc.FAILED,
                         timeout=60, **options)
        self.assertRegex(err, r"checkpoint-\d+")
        self.assertRegex(err, r"(?i)no space")
        checkpoints = [name for name in os.listdir(run) if name.startswith("checkpoint-")]
        self.assertGreaterEqual(len(checkpoints), 1)
        for name in checkpoints:
            self.assertNotIn("tmp", name)
            dlc.evaluate(os.path.join(run, name), dlc.data("mnist-test"))

        self.assertTrue(self.mount("remount,size=10m"))
        dlc.dlc("train", resume=run)
        self.assertBitwise(dlc.Run(run).state(20), expected, "gone on after the disk was full")

    def test_compile_and_export_to_a_full_disk(self):
        artifact = dlc.compile(dlc.model("lenet"), self.path("lenet.dlc"), batch=16)
        self.assertTrue(self.mount("remount,size=100k"))
        commands = {
            "out.dlc": ["compile", dlc.model("lenet")],
            "out.onnx": ["export", artifact],
            "out.npz": ["predict", artifact, "--data=" + self.large()],
        }
        for name, words in commands.items():
            with self.subTest(words[0]):
                path = os.path.join(self.disk, name)
                _, err = dlc.dlc(*words, "-o", path, code=dlc.FAILED, timeout=20)
                self.assertRegex(err, r"(?i)no space")
                self.assertIn(name, err)
                self.assertEqual(os.listdir(self.disk), [], "something half written is left")

    def large(self):
        np.savez(self.path("x.npz"), x=np.zeros((4000, 1, 28, 28), np.uint8))
        return self.path("x.npz")

    def test_read_only(self):
        artifact = dlc.compile(dlc.model("mlp"), self.path("mlp.dlc"), batch=16)
        run = os.path.join(self.disk, "run")
        dlc.train(artifact, dlc.data("digits-train"), run, steps=2)
        self.assertTrue(self.mount("remount,ro"))
        commands = {
            "new.dlc": ["compile", dlc.model("mlp"), "-o"],
            "new": ["train", artifact, "--data=" + dlc.data("digits-train"), "--run"],
            "run": ["train", "--steps=4", "--resume"],
            "new.onnx": ["export", run, "-o"],
            "new.npz": ["predict", run, "--data=" + dlc.data("digits-test"), "-o"],
        }
        for name, words in commands.items():
            with self.subTest(words[0]):
                _, err = dlc.dlc(*words, os.path.join(self.disk, name), code=dlc.FAILED, timeout=20)
                self.assertRegex(err, r"(?i)read-only")
                self.assertIn(os.path.join(self.disk, name), err)
        self.assertIn("accuracy", dlc.evaluate(run, dlc.data("digits-test")))


if __name__ == "__main__":
    dlc.main()
