# SPDX-License-Identifier: Apache-2.0
"""Parquet files that are refused: by file, row and column, before the first step."""

import os
import unittest

import dlc

FOLDER = os.path.join(dlc.REFS, "parquet")


class BadParquet(dlc.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.share_artifact()

    def refuse(self, message, data, code=dlc.FAILED, **options):
        _, err = dlc.dlc("train", self.artifact, data=data, run=self.path("run"), epochs=1, code=code, timeout=60, **options)
        self.assertRegex(err, message)
        self.assertFalse(os.path.exists(self.path("run")))

    def test_columns(self):
        odd = os.path.join(FOLDER, "odd.parquet")
        for columns, message in [
                ("x:number;y:label", r"odd\.parquet', row 1: column 'number': no value; --bad-samples=skip leaves such rows out"),
                ("x:ragged;y:label", r"odd\.parquet', row 2: column 'ragged': a list of another length, expected \[1\] as in the first row"),
                ("x:day;y:label", "column 'day' has dates, expected numbers: --columns says which are read"),
                ("x:name;y:label", "column 'name' has text, expected numbers"),
                ("x:whole;y:lable", "--columns: no column 'lable'; did you mean 'label'?"),
                ("x:label;y:number", "row 1: column 'number': no value"),
                ("x:place.x,place.y;y:label", r"a sample has shape \[2\], expected \[1, 8, 8\]")]:
            with self.subTest(columns):
                self.refuse(message, odd, columns=columns)
        self.refuse("column 'name' has text, expected numbers: --columns says which are read", odd, columns="y:label")
        self.refuse(r"column 'image\.bytes' has bytes, expected numbers: .*; the first that is there is no JPEG, PNG or WebP",
                    os.path.join(FOLDER, "pictures.parquet"), columns="x:image.bytes;y:label")

    def test_pictures(self):
        odd = os.path.join(FOLDER, "digits-odd.parquet")
        for columns, message in [
                ("", r"digits-odd\.parquet row 3': is not a picture, expected JPEG, PNG or WebP"),
                ("x:image.bytes;y:gap", r"digits-odd\.parquet row 5': column 'gap': no value"),
                ("x:image.bytes;y:real", "column 'real' has no classes, expected whole numbers or names; --columns=y:... names another"),
                ("x:image.bytes;z:gap", "--columns: pictures have the arrays x and y alone, a column each, found 'z'"),
                ("x:image.bytes;y:gap,label", "--columns: pictures have the arrays x and y alone, a column each, found 'y'"),
                ("x:image.bytes;y:lable", "--columns: no column 'lable'; did you mean 'label'?")]:
            with self.subTest(columns):
                _, err = dlc.dlc("train", self.artifact, data=odd, run=self.path("run" + columns[-3:]), epochs=1, code=dlc.FAILED, timeout=60, **dict(columns=columns) if columns else {})
                self.assertRegex(err, message)
        first, text = (os.path.join(FOLDER, f"digits-{name}.parquet") for name in ("1", "text"))
        _, err = dlc.dlc("train", self.artifact, data=f"{first},{text}", run=self.path("types"), epochs=1, code=dlc.FAILED)
        self.assertRegex(err, r"digits-text\.parquet': column 'label' has another type than in '.*digits-1\.parquet'")
        _, err = dlc.dlc("train", self.artifact, data=odd, run=self.path("skip"), epochs=1, bad_samples="skip")
        self.assertRegex(err, r"skipped: .*digits-odd\.parquet row 3': is not a picture")
        self.assertRegex(err, r"skipped: .*digits-odd\.parquet row 7': ")

    def test_names_of_classes(self):
        with open(os.path.join(FOLDER, "named.parquet"), "rb") as file:
            content = file.read()
        names = b'["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]'
        self.assertEqual(content.count(names), 1)

        def train(name, noted, *files):
            with open(self.path(name + ".parquet"), "wb") as file:
                file.write(content.replace(names, noted.ljust(len(names)))) # a footer of the same length
            data = ",".join([*files, self.path(name + ".parquet")])
            _, err = dlc.dlc("train", self.artifact, data=data, run=self.path(name), epochs=1, code=dlc.FAILED if files else 0)
            return err

        self.assertRegex(train("other", names.replace(b"nine", b"Nine"), os.path.join(FOLDER, "named.parquet")),
                         r"other\.parquet': the classes of column 'label' have other names than in '.*named\.parquet'")
        self.assertRegex(train("few", b'["zero", "one"]'),
                         r"few\.parquet': column 'label' has the label \d, but names for 0 to 1 alone: classes have numbers")
        for name, noted in ("twice", b'["zero", "zero"]'), ("numbers", b"[0, 1]"), ("none", b"7"), ("torn", b"["):
            self.assertNotIn("names", train(name, noted))
            with open(self.path(name + "/config.yaml")) as file:
                self.assertNotRegex(file.read(), r"\bzero\b")

    def test_files(self):
        with open(os.path.join(FOLDER, "none.parquet"), "rb") as file:
            whole = file.read()
        for name, content, message in [
                ("cut", whole[:-100], r"cut\.parquet': Parquet magic bytes not found in footer"),
                ("csv", b"x,y\n1,2\n" * 9, r"csv\.parquet': Parquet magic bytes not found"),
                ("empty", b"", r"empty\.parquet'"),
                ("damaged", whole[:200] + b"12345678" + whole[208:], r"damaged\.parquet': .*CRC checksum"),
                ("key", whole[:-4] + b"PARE", r"key\.parquet': ")]:
            with self.subTest(name):
                with open(self.path(name + ".parquet"), "wb") as file:
                    file.write(content)
                self.refuse(message, self.path(name + ".parquet"), columns="x:int8;y:uint8")
        self.refuse(r"parquet' has no pictures, .*; it has 'brotli\.parquet': name the file, or several as in .*parquet/a-\{000\.\.127\}\.parquet", FOLDER)
        self.refuse("no-such.parquet", self.path("no-such.parquet"))


if __name__ == "__main__":
    unittest.main()
