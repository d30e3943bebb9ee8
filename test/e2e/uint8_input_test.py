# SPDX-License-Identifier: Apache-2.0
"""--uint8-input: pixels stay uint8 in memory, and steps compute what the run's --mean and --std compute from the same pixels."""

import os
import unittest

import dlc
import numpy as np
import pictures

COUNT = 160
NUMBERS = "mean=0.5,std=0.25"


class Uint8Input(dlc.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.share_folder()
        cls.images = os.path.join(cls.shared, "images")
        cls.x, cls.y = pictures.write_digits(cls.images, dlc.data("digits-train"), COUNT)
        cls.f32 = dlc.compile(dlc.model("lenet"), os.path.join(cls.shared, "f32.dlc"), batch=16)
        cls.u8 = dlc.compile(dlc.model("lenet"), os.path.join(cls.shared, "u8.dlc"), batch=16, uint8_input=f"input({NUMBERS})")

    def test_steps_are_those_of_floats(self):
        last = COUNT // 16
        expected = dlc.train(self.f32, self.images, self.path("f32"), epochs=1, mean=0.5, std=0.25)
        found = dlc.train(self.u8, self.images, self.path("u8"), epochs=1)
        self.assertBitwise(found.state(last), expected.state(last), "the same roundings in the same order")
        self.assertEqual(dlc.evaluate(self.path("u8"), self.images), dlc.evaluate(self.path("f32"), self.images))
        for run in "f32", "u8":
            dlc.dlc("predict", self.path(run), data=self.images, output=self.path(run + ".npz"))
            dlc.dlc("export", self.path(run), output=self.path(run + ".onnx"))
        with np.load(self.path("f32.npz")) as expected, np.load(self.path("u8.npz")) as found:
            self.assertEqual(sorted(found), sorted(expected))
            for name in expected:
                np.testing.assert_array_equal(found[name], expected[name], name)
        with open(self.path("f32.onnx"), "rb") as expected, open(self.path("u8.onnx"), "rb") as found:
            self.assertEqual(found.read(), expected.read(), "the exported model keeps the input of its file")

    def test_refused(self):
        floats = self.path("floats.npz")
        np.savez(floats, x=np.zeros((32, 1, 28, 28), np.float32), y=np.zeros(32, np.int64))
        for data, options, code, message in (
                (self.images, dict(mean=0.5, std=0.25), dlc.USAGE, r"--mean and --std .*of an input of floats: 'x' u8 \[16, 1, 28, 28\]"),
                (self.images, dict(random_erase=0.5), dlc.USAGE, "--random-erase needs an input of pictures, floats"),
                (self.images, dict(scale=0.5), dlc.USAGE, "--scale needs an input of floats"),
                (self.images, dict(cutmix=1), dlc.USAGE, "--cutmix mixes"),
                (floats, {}, dlc.FAILED, r"'x': has dtype f32, expected integers \(u8\)")):
            _, err = dlc.dlc("train", self.u8, data=data, run=self.path("run"), steps=1, code=code, **options)
            self.assertRegex(err, message)
        for text, code, message in (
                ("x", dlc.BAD_MODEL, "no input 'x' in the model, which has 'input'"),
                ("input(mean=[1,2],std=[1,2])", dlc.BAD_MODEL, "'input' .* has 2 means and 2 deviations"),
                ("input(mean=0.5)", dlc.USAGE, "mean and std need each other"),
                ("input(gamma=2)", dlc.USAGE, "has 'gamma', known are scale=X"),
                ("input(mean=0,std=0)", dlc.USAGE, "expected a number above 0"),
                ("input(scale=1/0)", dlc.USAGE, "expected a number above 0"),
                ("(scale=2)", dlc.USAGE, r"expected INPUT\[")):
            _, err = dlc.dlc("compile", dlc.model("lenet"), output=self.path("bad.dlc"), uint8_input=text, code=code)
            self.assertRegex(err, message)
            self.assertFalse(os.path.exists(self.path("bad.dlc")))

    def test_half_precision_normalizes_in_f32(self):
        out, _ = dlc.dlc("compile", dlc.model("lenet"), uint8_input=f"input({NUMBERS})", amp=True, stop_after="autocast", emit="mlir")
        self.assertRegex(out, r"dlc\.div .*f32")
        self.assertNotRegex(out, r"tensor<\w+xi8>\) -> tensor<\w+xbf16>")


if __name__ == "__main__":
    dlc.main()
