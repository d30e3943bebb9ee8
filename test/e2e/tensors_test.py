# SPDX-License-Identifier: Apache-2.0
"""Samples in a .safetensors file are those of the same arrays in a .npz, of every type that either has."""

import json
import os
import struct
import unittest

import dlc
import numpy as np
from safetensors.numpy import save_file

COUNT = 96


def write_by_hand(path, tensors):
    """{name: (type, shape, bytes)}"""
    header, at = {}, 0
    for name, (type, shape, content) in tensors.items():
        header[name] = {"dtype": type, "shape": shape, "data_offsets": [at, at + len(content)]}
        at += len(content)
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(content for _, _, content in tensors.values()))
    return path


class Tensors(dlc.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.share_artifact()
        with np.load(dlc.data("digits-train")) as data:
            cls.x, cls.y = data["x"][:COUNT], data["y"][:COUNT]
        np.savez(os.path.join(cls.shared, "same.npz"), x=cls.x, y=cls.y)
        cls.share_run(epochs=1)

    def evaluate(self, x, y):
        np.savez(self.path("a.npz"), x=x, y=y)
        return dlc.evaluate(self.run_folder, self.path("a.npz"))

    def test_training(self):
        save_file({"x": self.x, "y": self.y, "other": np.zeros(3)}, self.path("a.safetensors"))
        words = dict(data=self.path("a.safetensors"), epochs=4)
        expected = dlc.train(self.artifact, os.path.join(self.shared, "same.npz"), self.path("same"), epochs=4)
        process = dlc.start("train", self.artifact, run=self.path("run"), save_every=3, **words)
        while not os.path.isdir(self.path("run/checkpoint-3")):
            self.assertIsNone(process.poll(), "it ended before it could be killed")
        dlc.kill(process)
        dlc.dlc("train", resume=self.path("run"))
        self.assertBitwise(dlc.Run(self.path("run")).state(24), expected.state(24), "after kill -9")

    def test_every_type(self):
        for type in "f2", "f4", "f8", "u1", "u2", "u4", "i1", "i2", "i4", "i8":
            with self.subTest(type):
                x, y = self.x.astype(type), self.y.astype("i8" if type[0] == "f" else type)
                save_file({"x": x, "y": y}, self.path("a.safetensors"))
                self.assertEqual(dlc.evaluate(self.run_folder, self.path("a.safetensors")), self.evaluate(x, y))
        bits = (self.x.astype("f4").view("u4") >> 16).astype("u2")
        path = write_by_hand(self.path("b.safetensors"), {"x": ("BF16", self.x.shape, bits.tobytes()), "y": ("I64", [COUNT], self.y.tobytes())})
        self.assertEqual(dlc.evaluate(self.run_folder, path), self.evaluate((bits.astype("u4") << 16).view("f4"), self.y))
        out, _ = dlc.dlc("data", "inspect", path)
        self.assertIn("x: bf16 [96, 1, 8, 8]\n  y: i64 [96], 0 to 9", out)

    def test_files_that_are_refused(self):
        def refuse(message):
            _, err = dlc.dlc("train", self.artifact, data=self.path("a.safetensors"), run=self.path("refused"), code=dlc.FAILED)
            self.assertRegex(err, message)

        save_file({"x": self.x}, self.path("a.safetensors"))
        refuse(r"a\.safetensors' has no array 'y', found: x")
        write_by_hand(self.path("a.safetensors"), {"x": ("F8_E4M3", [COUNT], bytes(COUNT))})
        refuse(r"a\.safetensors': tensor 'x': dtype 'F8_E4M3' is not supported")
        with open(self.path("a.safetensors"), "r+b") as file:
            file.truncate(60)
        refuse(r"a\.safetensors'")


if __name__ == "__main__":
    unittest.main()
