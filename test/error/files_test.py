"""Damaged, foreign and unwritable folders: every changed byte is found before anything is used."""

import json
import os
import random
import shutil
import subprocess

import dlc


def flip(path, offset):
    with open(path, "r+b") as file:
        file.seek(offset)
        byte = file.read(1)[0]
        file.seek(offset)
        file.write(bytes([byte ^ 0x10]))


class Files(dlc.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.shared = dlc.tempfile.mkdtemp(prefix="dlc-test-")
        cls.addClassCleanup(shutil.rmtree, cls.shared, ignore_errors=True)
        cls.artifact = dlc.compile(dlc.model("mlp"), os.path.join(cls.shared, "mlp.dlc"), batch=16)
        cls.run_folder = os.path.join(cls.shared, "run")
        dlc.train(cls.artifact, dlc.data("digits-train"), cls.run_folder, steps=6, save_every=3)

    def copy(self, folder):
        target = self.path("copy" + os.path.splitext(folder)[1])
        shutil.rmtree(target, ignore_errors=True)
        return shutil.copytree(folder, target)

    def places(self, path):
        size, chance = os.path.getsize(path), random.Random(path.rsplit("/", 1)[-1])
        return {0, size // 2, size - 1} | {chance.randrange(size) for _ in range(5)}

    def train(self, artifact, code):
        return dlc.dlc("train", artifact, data=dlc.data("digits-train"), run=self.path("run"),
                       steps=1, code=code, timeout=20)

    def test_artifact_with_a_changed_byte(self):
        for name in sorted(os.listdir(self.artifact)):
            for offset in sorted(self.places(os.path.join(self.artifact, name))):
                with self.subTest(file=name, offset=offset):
                    copy = self.copy(self.artifact)
                    flip(os.path.join(copy, name), offset)
                    _, err = self.train(copy, dlc.CORRUPT)
                    self.assertIn(name, err)

    def test_artifact_without_a_file(self):
        for name in sorted(os.listdir(self.artifact)):
            with self.subTest(file=name):
                copy = self.copy(self.artifact)
                os.remove(os.path.join(copy, name))
                _, err = self.train(copy, dlc.CORRUPT)
                self.assertIn(name, err)

    def test_artifact_with_a_truncated_file(self):
        for name in sorted(os.listdir(self.artifact)):
            with self.subTest(file=name):
                copy = self.copy(self.artifact)
                path = os.path.join(copy, name)
                os.truncate(path, os.path.getsize(path) // 2)
                _, err = self.train(copy, dlc.CORRUPT)
                self.assertIn(name, err)

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
        """The newest checkpoint is refused with its name: exit code 4, never a wrong weight."""
        newest = os.path.join("checkpoint-6")
        for name in sorted(os.listdir(os.path.join(self.run_folder, newest))):
            for offset in sorted(self.places(os.path.join(self.run_folder, newest, name))):
                with self.subTest(file=name, offset=offset):
                    copy = self.copy(self.run_folder)
                    flip(os.path.join(copy, newest, name), offset)
                    _, err = dlc.dlc("eval", copy, data=dlc.data("digits-test"), code=dlc.CORRUPT,
                                     timeout=20)
                    self.assertIn(name, err)

    def test_resume_goes_back_to_the_last_good_checkpoint(self):
        copy = self.copy(self.run_folder)
        flip(os.path.join(copy, "checkpoint-6", "state.safetensors"), 5000)
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
        _, err = dlc.dlc("eval", copy, data=dlc.data("digits-test"), code=dlc.INCOMPATIBLE, timeout=20)
        self.assertRegex(err, r"checkpoint-6")


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

    def test_full_disk(self):
        """Writing a checkpoint to a full disk fails by name and keeps the earlier ones whole."""
        mount = self.path("small")
        os.mkdir(mount)
        command = ["mount", "-t", "tmpfs", "-o", "size=700k", "tmpfs", mount]
        if subprocess.run(command, capture_output=True).returncode != 0:
            self.skipTest("mounting a small tmpfs needs root")
        self.addCleanup(subprocess.run, ["umount", mount], check=True)
        artifact = dlc.compile(dlc.model("lenet"), self.path("lenet.dlc"), batch=16)
        run = os.path.join(mount, "run")
        _, err = dlc.dlc("train", artifact, data=dlc.data("mnist-train"), run=run, steps=20,
                         save_every=1, code=dlc.FAILED, timeout=60)
        self.assertRegex(err, r"checkpoint-\d+")
        self.assertRegex(err, r"(?i)no space")


if __name__ == "__main__":
    dlc.main()
