# SPDX-License-Identifier: Apache-2.0
"""Folders of pictures: the samples are those of the same pixels in a .npz, whoever decodes them and however often the run
is killed."""

import os
import shutil
import time
import unittest

import dlc
import numpy as np
import pictures

COUNT = 200


class Pictures(dlc.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.share_artifact()
        cls.images = os.path.join(cls.shared, "images")
        cls.x, cls.y = pictures.write_digits(cls.images, dlc.data("digits-train"), COUNT)
        np.savez(os.path.join(cls.shared, "same.npz"), x=cls.x, y=cls.y)
        cls.same = dlc.train(cls.artifact, os.path.join(cls.shared, "same.npz"), os.path.join(cls.shared, "same"), epochs=2)
        cls.last = 2 * (COUNT // 16)

    def test_any_number_of_workers(self):
        expected = self.same.state(self.last)
        for workers in (1, 3):
            run = dlc.train(self.artifact, self.images, self.path(f"run{workers}"), epochs=2, workers=workers)
            self.assertBitwise(run.state(self.last), expected, f"{workers} workers")

    def test_killed_and_resumed(self):
        run = self.path("run")
        process = dlc.start("train", self.artifact, data=self.images, run=run, epochs=2, save_every=1, workers=2)
        while not os.path.isdir(os.path.join(run, "checkpoint-2")):
            self.assertIsNone(process.poll(), "it ended before it could be killed")
            time.sleep(0.002)
        dlc.kill(process)
        dlc.dlc("train", resume=run)
        self.assertBitwise(dlc.Run(run).state(self.last), self.same.state(self.last), "after kill -9")

    def test_larger_pictures_are_scaled(self):
        large = self.path("large")
        pictures.write_folder(large, [np.kron(x, np.ones((4, 4), np.uint8)) for x in self.x[:, 0]], self.y)
        found, expected = (dlc.evaluate(self.same.folder, path) for path in (large, self.images))
        self.assertNear(found["loss"], expected["loss"], 0.05, "loss")

    def test_eval_and_predict(self):
        expected = dlc.evaluate(self.same.folder, os.path.join(self.shared, "same.npz"))
        self.assertEqual(dlc.evaluate(self.same.folder, self.images), expected)
        flat = self.path("flat")  # without classes
        os.mkdir(flat)
        for i in range(3):
            pictures.write(os.path.join(flat, f"{i}.PNG"), pictures.png(self.x[i, 0]))
        dlc.dlc("predict", self.same.folder, data=flat, output=self.path("y.npz"))
        dlc.dlc("predict", self.same.folder, data=os.path.join(self.shared, "same.npz"), output=self.path("all.npz"))
        with np.load(self.path("y.npz")) as found, np.load(self.path("all.npz")) as whole:
            np.testing.assert_array_equal(found["y"], whole["y"][:3])

    def test_other_folders_have_the_classes_of_training(self):
        """Numbers are those of the names, also where a folder has fewer, in training or later."""
        some = np.flatnonzero(self.y > 4)
        part, known = self.path("part"), os.path.join(self.shared, "same.npz")
        shutil.copytree(self.images, part)
        for label in range(5):
            shutil.rmtree(os.path.join(part, f"class{label}"))
        np.savez(self.path("some.npz"), x=self.x[some], y=self.y[some])
        run = dlc.train(self.artifact, self.images, self.path("run"), epochs=1, val=part)
        expected = dlc.train(self.artifact, known, self.path("expected"), epochs=1, val=self.path("some.npz"))
        with open(self.path("run/epochs.jsonl")) as found, open(self.path("expected/epochs.jsonl")) as other:
            self.assertEqual(found.read(), other.read())
        found = dlc.evaluate(run.folder, part)
        self.assertEqual(found.pop("class_names"), [f"class{label}" for label in range(10)])
        self.assertEqual(found, dlc.evaluate(expected.folder, self.path("some.npz")))
        with open(self.path("run/config.yaml")) as file:
            self.assertIn("classes: [class0, class1, ", file.read())
        # A class that training does not know; without labels nobody asks.
        os.rename(os.path.join(part, "class7"), os.path.join(part, "tulip"))
        message = r"part': 'tulip' is none of the 10 classes \(class0, class1, "
        for words in (["train", self.artifact], dict(data=self.images, val=part, run=self.path("none"))), (["eval", run.folder], dict(data=part)):
            _, err = dlc.dlc(*words[0], code=dlc.FAILED, **words[1])
            self.assertRegex(err, message)
        dlc.dlc("predict", run.folder, data=part, output=self.path("y.npz"))
        # Side by side they must be named.
        _, err = dlc.dlc("train", self.artifact, data=f"{self.images},{part}", run=self.path("none"), epochs=1, code=dlc.FAILED)
        self.assertIn("has other classes than", err)

    def test_bad_samples_are_skipped(self):
        bad = self.path("bad")
        shutil.copytree(self.images, bad)
        broken = os.path.join(bad, "class0", "0003.png")
        pictures.write(broken, pictures.png(self.x[3, 0])[:60])
        _, err = dlc.dlc("train", self.artifact, data=bad, run=self.path("error"), epochs=1, code=dlc.FAILED)
        self.assertRegex(err, r"class0/0003\.png.*damaged PNG")
        _, err = dlc.dlc("train", self.artifact, data=bad, run=self.path("run"), epochs=2, bad_samples="skip")
        self.assertEqual(err.count("0003.png"), 1, err)
        self.assertRegex(err, r"skipped: .*class0/0003\.png': damaged PNG")
        x, y = self.x.copy(), self.y.copy()
        x[3], y[3] = x[4], y[4]
        np.savez(self.path("next.npz"), x=x, y=y)
        expected = dlc.train(self.artifact, self.path("next.npz"), self.path("next"), epochs=2)
        self.assertBitwise(dlc.Run(self.path("run")).state(self.last), expected.state(self.last), "the next one instead")
        expected = dlc.evaluate(self.same.folder, self.path("next.npz"))
        self.assertEqual(dlc.evaluate(self.same.folder, bad, bad_samples="skip"), expected)
        dlc.dlc("eval", self.same.folder, data=bad, code=dlc.FAILED)


if __name__ == "__main__":
    unittest.main()
