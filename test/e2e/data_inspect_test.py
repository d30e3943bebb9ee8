# SPDX-License-Identifier: Apache-2.0
"""dlc data inspect: what is there, and what is broken, by name."""

import json
import os
import unittest

import dlc
import numpy as np
import pictures
import shards

X = np.zeros((6, 8, 8), np.uint8)


class Inspect(dlc.TestCase):
    def inspect(self, path, *words, code=dlc.OK):
        out, self.err = dlc.dlc("data", "inspect", path, *words, code=code)
        return out

    def test_folder(self):
        folder = self.path("images")
        pictures.write_folder(folder, X, [0, 0, 1, 1, 1, 0])
        pictures.write(os.path.join(folder, "class1", "large.png"), pictures.png(np.zeros((10, 30), np.uint8)))
        out = self.inspect(folder)
        for line in ("a folder of pictures", "7 pictures: 7 PNG", "width 8 to 30, median 8", "height 8 to 10", "class0: 3", "class1: 4"):
            self.assertIn(line, out)
        pictures.write(os.path.join(folder, "class0", "0001.png"), b"\x89PNG\r\n\x1a\n")
        self.assertRegex(self.inspect(folder, code=dlc.FAILED), r"broken: .*class0/0001\.png: damaged PNG")
        self.assertRegex(self.err, "images': 1 is broken; training ends at them")
        self.assertIn("broken: ", self.inspect(folder, "--bad-samples=skip"))
        found = json.loads(self.inspect(folder, "--json", code=dlc.FAILED))
        self.assertEqual((found["format"], found["samples"], found["kinds"]), ("folder", 7, {"PNG": 6}))
        self.assertEqual(found["width"], {"least": 8, "median": 8, "most": 30})
        self.assertEqual([one["name"] for one in found["broken"]], [os.path.join(folder, "class0", "0001.png")])

    def test_shards(self):
        png = pictures.png(X[0])
        shards.write(self.path("a.tar"), [("1.png", png), ("1.cls", b"4"), ("2.png", b"?"), ("2.cls", b"4")])
        out = self.inspect(self.path("a.tar"), code=dlc.FAILED)
        self.assertIn("1 class\n    4: 2", out)
        self.assertRegex(out, r"broken: .*a\.tar/2\.png: is not a picture")
        self.inspect(self.path("a.tar.gz"), code=dlc.FAILED)
        self.assertIn("is compressed: unpack it", self.err)

    def test_arrays(self):
        np.savez(self.path("a.npz"), x=np.array([[1, np.nan], [np.inf, 2]], np.float32), y=np.array([3, -1]), e=np.zeros((0, 4)))
        out = self.inspect(self.path("a.npz"), code=dlc.FAILED)
        for line in ("x: f32 [2, 2], 2 values that are not finite", "y: i64 [2], -1 to 3", "e: f64 [0, 4]"):
            self.assertIn(line, out)
        found = json.loads(self.inspect(self.path("a.npz"), "--json", code=dlc.FAILED))
        self.assertEqual(found["arrays"]["y"], {"dtype": "i64", "shape": [2], "least": -1, "most": 3})

    def test_tables(self):
        with open(self.path("a.csv"), "w") as file:
            file.write("age,\"name, first\",height,\n3,ann,1.5,\n-4,bob,NA,\n5,ann,inf,\n")
        out = self.inspect(self.path("a.csv"))
        for line in ("a table", "3 rows in 1 file", "age: whole numbers, -4 to 5", "name, first: 2 names: ann 2, bob 1",
                     "height: numbers, 1.5 to 1.5; 1 not finite; 1 missing", "(column 4): 3 missing"):
            self.assertIn(line, out)
        found = json.loads(self.inspect(self.path("a.csv"), "--json"))
        self.assertEqual(found["separator"], ",")
        self.assertEqual((found["format"], found["samples"], found["columns"]["name, first"]["names"]), ("table", 3, {"ann": 2, "bob": 1}))
        with open(self.path("a.csv"), "a") as file:
            file.write("1,2\n")
        self.inspect(self.path("a.csv"), code=dlc.FAILED)
        self.assertRegex(self.err, r"a\.csv', line 5: 2 fields, expected 4")
        self.assertIn("3 rows in 1 file", self.inspect(self.path("a.csv"), "--bad-samples=skip"))
        self.assertIn("1 of 4 rows are left out", self.err)

    def test_tables_of_other_separators(self):
        for name, separator, said in ("a.csv", ";", "semicolons"), ("b.csv", "\t", "tabs"), ("a.tsv", "\t", "tabs"):
            with open(self.path(name), "w") as file:
                file.write("age;\"a, b\"\n3;x\n-4;\"y;z\"\n".replace(";", separator))
            out = self.inspect(self.path(name))
            for line in (f"{said} between fields", "2 rows in 1 file", "age: whole numbers, -4 to 3", "a, b: 2 names: x 1, y"):
                self.assertIn(line, out)
            self.assertEqual(json.loads(self.inspect(self.path(name), "--json"))["separator"], separator)

    def test_tokens(self):
        np.arange(70000, dtype=np.uint32).tofile(self.path("a.bin"))
        self.assertIn("70000 tokens in 1 file, the largest is 69999", self.inspect(self.path("a.bin"), "--tokens=uint32"))
        self.inspect(self.path("a.bin"), code=dlc.FAILED)
        self.assertIn("no header that tells their type", self.err)

    def test_nothing_there(self):
        self.inspect(self.path("none"), code=dlc.FAILED)
        self.assertIn("none'", self.err)


if __name__ == "__main__":
    unittest.main()
