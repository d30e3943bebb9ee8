# SPDX-License-Identifier: Apache-2.0
"""--log-json: everything on stderr is a JSON object a line; without it, the line of progress for people."""

import fcntl
import json
import os
import pty
import shutil
import struct
import subprocess
import termios
import unittest

import dlc
import numpy as np


class LogJson(dlc.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.share_artifact()

    def train(self, *words, code=dlc.OK, **options):
        return dlc.dlc("train", self.artifact, *words, data=options.pop("data", dlc.data("digits-train")), run=self.path("run"), code=code,
                       **options)[1]

    def test_objects(self):
        name = os.path.join(self.path("a\"b\\c"), "none.npz")
        lines = [json.loads(line) for line in self.train("--log-json", steps=20, log_every=10).splitlines()]
        progress = [line for line in lines if line.get("event") == "progress"]
        self.assertEqual([(line["step"], line["steps"]) for line in progress], [(10, 20), (20, 20)])
        for key in ("loss", "lr", "steps_per_second", "samples_per_second", "seconds_left", "data_wait", "memory_bytes"):
            self.assertIsInstance(progress[0][key], (int, float), key)
        self.assertAlmostEqual(progress[0]["samples_per_second"] / progress[0]["steps_per_second"], 16, delta=0.02)  # of four digits each
        self.assertIn("20 steps of 16 samples", "".join(line["message"] for line in lines if line.get("level") == "info"))
        error = json.loads(self.train("--log-json", steps=1, data=name, code=dlc.FAILED).splitlines()[-1])
        self.assertEqual(error["level"], "error")
        self.assertIn(name, error["message"])

    def test_validations(self):
        err = self.train("--log-json", epochs=2, val=dlc.data("digits-test"))
        lines = [json.loads(line) for line in err.splitlines()]
        epochs = [line for line in lines if line.get("event") == "epoch"]
        self.assertEqual([line["epoch"] for line in epochs], [1, 2])
        self.assertEqual(epochs[1]["step"], 2 * epochs[0]["step"])
        self.assertGreater(epochs[1]["values"]["val_accuracy"], 0)

    def test_memory_is_its_own(self):
        """Not that of the program which started it."""
        ballast = np.ones(100 << 20, np.float32)
        line = json.loads(self.train("--log-json", steps=1).splitlines()[-1])
        self.assertLess(line["memory_bytes"], ballast.nbytes // 2)
        self.assertGreater(line["memory_bytes"], 1 << 20)

    def test_fits_the_terminal(self):
        for columns, there, gone in ((200, ["[====", "it/s", "samples/s", "loss", " MB"], []), (80, ["20/20", "loss", "samples/s"], ["[="]),
                                     (30, ["20/20", "loss"], ["it/s", " MB"])):
            shutil.rmtree(self.path("run"), ignore_errors=True)
            main, side = pty.openpty()
            fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
            subprocess.run([dlc.DLC, "train", self.artifact, "--data=" + dlc.data("digits-train"), "--run=" + self.path("run"), "--steps=20"],
                           stderr=side, check=True)
            os.close(side)
            last = os.read(main, 1 << 16).decode().rstrip().replace("\x1b[K", "").split("\r")[-1]
            os.close(main)
            self.assertLess(len(last), columns, last)
            for text in there:
                self.assertIn(text, last, columns)
            for text in gone:
                self.assertNotIn(text, last, columns)

    def test_epochs_and_validations_have_bars(self):
        """Rates are those of training steps, however long validations take."""
        main, side = pty.openpty()
        fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 200, 0, 0))
        with subprocess.Popen([dlc.DLC, "train", self.artifact, "--data=" + dlc.data("digits-train"), "--val=" + dlc.data("digits-test"),
                               "--metrics=f1", "--run=" + self.path("run"), "--epochs=2"], stderr=side) as train:
            os.close(side)
            text = ""
            try:
                while part := os.read(main, 1 << 16):
                    text += part.decode()
            except OSError:  # the other side is closed
                pass
        os.close(main)
        self.assertEqual(train.returncode, 0, text)
        self.assertRegex(text, r"validation \[=* *\] \d+ %")
        for epoch in 1, 2:
            self.assertRegex(text, rf"epoch {epoch}/2  step \d+/186")
        shown = [line.split("\r")[-1].replace("\x1b[K", "") for line in text.replace("\r\n", "\n").split("\n")]
        self.assertFalse([line for line in shown if "validation [" in line], shown)  # it gives way to what it found
        self.assertEqual(sum(line.startswith("epoch ") and "val loss" in line for line in shown), 2, shown)

    def test_of_two_ranks(self):
        two = dlc.compile(dlc.model("mlp"), self.path("two.dlc"), batch=8, ddp=2)
        _, err = dlc.dlc("train", two, "--log-json", data=dlc.data("digits-train"), run=self.path("run"), steps=4)
        lines = [json.loads(line) for line in err.splitlines()]
        self.assertEqual([line["steps"] for line in lines if line.get("event") == "progress"], [4])

    def test_for_people(self):
        self.assertRegex(self.train(steps=20, log_every=10), r"epoch 1  step 10/20  00:00<00:00  [\d.]+ it/s  [\d.e+]+ samples/s  loss \S+  lr 0.01.*  [1-9]\d* MB\n")


if __name__ == "__main__":
    unittest.main()
