# SPDX-License-Identifier: Apache-2.0
"""eval, predict, export and inspect with models and data that they cannot use."""

import os

import dlc
import numpy as np


class Commands(dlc.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.share_artifact()
        cls.share_run(steps=4, save_every=2)

    def commands(self, model, data=dlc.data("digits-test")):
        """Every command that uses a model, as words."""
        return {
            "eval": ["eval", model, "--data=" + data],
            "predict": ["predict", model, "--data=" + data, "-o", self.path("y.npz")],
            "export": ["export", model, "-o", self.path("out.onnx")],
            "inspect": ["inspect", model],
        }

    def refuse(self, words, message, code=dlc.FAILED):
        out, err = dlc.dlc(*words, code=code, timeout=20)
        self.assertRegex(err, message)
        self.assertEqual(out, "", "an error on stdout")
        self.assertNotIn("y.npz", os.listdir(self.folder))
        self.assertNotIn("out.onnx", os.listdir(self.folder))

    def refuse_all(self, model, message, code=dlc.FAILED):
        for name, words in self.commands(model).items():
            with self.subTest(name):
                self.refuse(words, message, code)

    def test_no_such_model(self):
        self.refuse_all(self.path("none"), r"none'.*no such file")

    def test_onnx_file_as_model(self):
        self.refuse_all(dlc.model("mlp"), r"mlp\.onnx.*dlc compile")

    def test_folder_of_something_else(self):
        os.mkdir(self.path("else"))
        self.refuse_all(self.path("else"), r"else' is not an artifact, run or checkpoint", dlc.CORRUPT)

    def test_no_such_checkpoint(self):
        self.refuse_all(self.run_folder + "/checkpoint-3", r"run' has no checkpoint of step 3")

    def test_run_without_checkpoint(self):
        dlc.shutil.copytree(self.run_folder, self.path("young"))
        for step in 2, 4:
            dlc.shutil.rmtree(self.path(f"young/checkpoint-{step}"))
        self.refuse_all(self.path("young"), r"young' has no checkpoint yet")

    def test_no_averages(self):
        for name, words in self.commands(self.run_folder).items():
            if name != "inspect":
                with self.subTest(name):
                    code = dlc.USAGE if name == "export" else dlc.FAILED
                    self.refuse(words + ["--ema"], r"averages.*--ema", code)

    def test_data(self):
        x = np.zeros((20, 1, 8, 8), np.float32)
        cases = {
            "another size": (dict(x=x[..., :5], y=np.zeros(20, np.int64)), r"x.*\[1, 8, 5\].*\[1, 8, 8\]", True),
            "no x": (dict(z=x), r"x", True),
            "complex": (dict(x=x.astype(np.complex64), y=np.zeros(20, np.int64)), r"x", True),
            "no samples": (dict(x=x[:0], y=np.zeros(0, np.int64)), r"data\.npz", True),
            "no labels": (dict(x=x), r"y", False),
            "label out of range": (dict(x=x, y=np.full(20, 10)), r"label", False),
        }
        for name, (arrays, message, predicts) in cases.items():
            np.savez(self.path("data.npz"), **arrays)
            words = self.commands(self.run_folder, self.path("data.npz"))
            with self.subTest(name, command="eval"):
                self.refuse(words["eval"], message)
            if predicts:
                with self.subTest(name, command="predict"):
                    self.refuse(words["predict"], message)

    def test_no_data(self):
        self.refuse(self.commands(self.run_folder, self.path("none.npz"))["eval"], r"none\.npz")
        for command in "eval", "predict":
            self.refuse([command, self.run_folder], r"--data", dlc.USAGE)

    def test_no_output(self):
        self.refuse(["export", self.run_folder], r"--output", dlc.USAGE)

    def test_output_is_a_folder(self):
        for command in "export", "predict":
            words = self.commands(self.run_folder)[command]
            with self.subTest(command):
                self.refuse(words[:-1] + [self.folder], r"(?i)is a directory|a folder")

    def test_predict_needs_no_labels(self):
        """Also from a bare array, and one sample alone."""
        x = np.load(dlc.data("digits-test"))["x"][:1]
        np.save(self.path("x.npy"), x)
        dlc.dlc(*self.commands(self.run_folder, self.path("x.npy"))["predict"])
        self.assertEqual(np.load(self.path("y.npz"))["y"].shape, (1, 10))

    def test_a_run_is_no_artifact_and_no_replay(self):
        run = self.run_folder
        self.refuse(["train", run, "--data=" + dlc.data("digits-train")], f"'{run}' is a run, expected .*'{run}/model.dlc'; dlc train --resume={run}", dlc.FAILED)
        self.refuse(["debug", "replay", run], f"'{run}' is a run, expected '{run}/replay-N'", dlc.FAILED)

    def test_resume(self):
        cases = {
            "a checkpoint": (["--resume=" + self.run_folder + "/checkpoint-4"], r"not a run: it is a checkpoint of '.*'", dlc.FAILED),
            "an artifact alone": (["--resume=" + self.artifact], r"not a run: it is an artifact: dlc train \S+ starts one", dlc.FAILED),
            "an artifact too": ([self.artifact, "--resume=" + self.run_folder], r"artifact", dlc.USAGE),
            "another seed": (["--resume=" + self.run_folder, "--seed=3"], r"--seed", dlc.USAGE),
            "other data": (["--resume=" + self.run_folder, "--data=" + dlc.data("digits-test"), "--steps=6"],
                           r"digits-test\.npz.*not the data", dlc.FAILED),
        }
        for name, (words, message, code) in cases.items():
            with self.subTest(name):
                self.refuse(["train", *words], message, code)


if __name__ == "__main__":
    dlc.main()
