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
        _, err = dlc.dlc("train", self.artifact, data=data, run=self.path("run"), epochs=1, code=code, timeout=30, **options)
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
        self.refuse(r"column 'image\.bytes' has bytes, expected numbers: .*; pictures are read from a folder for each class, or WebDataset's \.tar",
                    os.path.join(FOLDER, "pictures.parquet"), columns="x:image.bytes;y:label")

    def test_files(self):
        with open(os.path.join(FOLDER, "none.parquet"), "rb") as file:
            whole = file.read()
        for name, content, message in [
                ("cut", whole[:-100], r"cut\.parquet': is cut off: it does not end as a Parquet file"),
                ("csv", b"x,y\n1,2\n" * 9, r"csv\.parquet': is no Parquet file"),
                ("empty", b"", r"empty\.parquet'"),
                ("damaged", whole[:200] + b"12345678" + whole[208:], r"damaged\.parquet': column 'int8': a page is damaged"),
                ("key", whole[:-4] + b"PARE", r"key\.parquet': is encrypted")]:
            with self.subTest(name):
                with open(self.path(name + ".parquet"), "wb") as file:
                    file.write(content)
                self.refuse(message, self.path(name + ".parquet"), columns="x:int8;y:uint8")
        self.refuse(r"parquet' has no pictures, .*; it has 'brotli\.parquet': name the file, or several as in .*parquet/a-\{000\.\.127\}\.parquet", FOLDER)
        self.refuse("no-such.parquet", self.path("no-such.parquet"))
        self.refuse("its compression is Brotli: write it with Snappy, gzip or Zstandard", os.path.join(FOLDER, "brotli.parquet"), columns="x:int8;y:int8")


if __name__ == "__main__":
    unittest.main()
