# SPDX-License-Identifier: Apache-2.0
"""dlc-data rows: the numbers of pyarrow, DuckDB, Polars and fastparquet, of text, and what is wrong by its place."""

import json
import os
import sys
import unittest

import dlc
import numpy as np

sys.path.insert(0, os.path.join(dlc.ROOT, "runtime", "python"))
from dlc_data import DataError  # noqa: E402
from dlc_data.__main__ import run  # noqa: E402

FOLDER = os.path.join(dlc.REFS, "parquet")


def parquet(name):
    return os.path.join(FOLDER, name + ".parquet")


class TableTest(dlc.TestCase):
    def write(self, name, text):
        with open(self.path(name), "wb") as file:
            file.write(text if isinstance(text, bytes) else text.encode())
        return self.path(name)

    def rows(self, *files, inputs=None, code=dlc.OK, **options):
        if inputs:
            options["inputs"] = json.dumps([{"key": key, "shape": shape, "label": key[0] == "y"} for key, shape in inputs.items()])
        words = ["rows", *files, *dlc.flags(dict(options, output=self.path("out.safetensors")))]
        found, self.err = dlc.OK, ""
        try:
            run(words)  # in this process: a thousand starts of Python take their time
        except DataError as error:
            found, self.err = error.code, f"error: {error}"
        self.assertEqual(found, code, self.err)
        if code != dlc.OK:
            self.assertEqual([name for name in os.listdir(self.path("")) if name.startswith("out.")], [], "something half written")
            return None
        self.metadata = dlc.metadata(self.path("out.safetensors"))
        self.classes, self.warnings = json.loads(self.metadata["classes"]), json.loads(self.metadata["warnings"])
        arrays = dlc.load_file(self.path("out.safetensors"))
        os.remove(self.path("out.safetensors"))
        return arrays

    def refuse(self, message, *files, **options):
        self.rows(*files, code=options.pop("code", dlc.FAILED), **options)
        self.assertRegex(self.err, r"^error: .*" + message)


class Parquet(TableTest):
    def test_the_numbers_that_were_written(self):
        with np.load(os.path.join(dlc.REFS, "parquet_ref.npz")) as data:
            expected = dict(data)
        for name in "snappy", "gzip_v2", "zstd_encodings", "lz4_plain", "none", "duckdb", "polars", "fastparquet":
            out, _ = dlc.dlc_data("columns", parquet(name))
            keys = [key for key in json.loads(out)["keys"] if key not in ("x", "color")]
            self.assertGreater(len(keys), 12)
            found = self.rows(parquet(name), columns="y:color", inputs={**{key: [] for key in keys}, "y": []})
            for key in keys:
                with self.subTest(f"{name} {key}"):
                    whole = expected[key].dtype.kind in "iub" and key not in ("cents", "long")
                    self.assertEqual(found[key].dtype, np.int64 if whole else np.float64)
                    np.testing.assert_array_equal(found[key], expected[key].astype(found[key].dtype))
            np.testing.assert_array_equal(found["y"], expected["color"])
            self.assertEqual(self.classes, ["blue", "green", "red", "träume"])
        np.testing.assert_array_equal(self.rows(parquet("brotli"), columns="x:int8")["x"], expected["int8"][:, None])

    def test_lists(self):
        with np.load(os.path.join(dlc.REFS, "parquet_ref.npz")) as data:
            vector, matrix = data["vector"], data["matrix"]
        for name in "lists", "lists_v2":
            x = self.rows(parquet(name), columns="x:vector;y:label")["x"]
            self.assertEqual((x.shape, x.dtype), ((120, 5), np.float64))
            np.testing.assert_array_equal(x, vector)
            found = self.rows(parquet(name), inputs={"matrix": [2, 3], "vector": [5, 1]})
            np.testing.assert_array_equal(found["matrix"], matrix)
            self.assertEqual(found["vector"].shape, (120, 5, 1))
            both = self.rows(parquet(name), columns="x:vector,matrix;y:label")["x"]
            np.testing.assert_array_equal(both, np.concatenate([vector.astype(np.float64), matrix.reshape(120, 6)], axis=1))

    def test_several_files(self):
        both = self.rows(parquet("snappy"), parquet("gzip_v2"), columns="x:int32")["x"]
        np.testing.assert_array_equal(both, np.tile(self.rows(parquet("snappy"), columns="x:int32")["x"], (2, 1)))
        self.refuse(r"lists\.parquet': its columns are others than those of '.*snappy", parquet("snappy"), parquet("lists"), columns="x:int8")
        self.refuse("are no table: expected files of one format", parquet("snappy"), self.write("a.csv", "int8\n1\n"), columns="x:int8")

    def test_what_is_missing(self):
        odd = parquet("odd")
        for columns, message in [
                ("x:number", r"odd\.parquet', row 1: column 'number': no value; --bad-samples=skip leaves such rows out"),
                ("x:whole", "row 2: column 'whole': no value"), ("x:label;y:name", "row 3: column 'name': no value"),
                ("x:ragged", r"row 2: column 'ragged': a list of another length, expected \[1\] as in the first row"),
                ("x:day", "column 'day' has dates, expected numbers: --columns says which are read"),
                ("x:map.key_value.value", "column 'map.key_value.value' has maps"), ("x:name", "column 'name' has text"),
                ("x:lable", "--columns: no column 'lable'; did you mean 'label'?")]:
            with self.subTest(columns):
                self.refuse(message, odd, columns=columns)
        found = self.rows(odd, columns="x:number,whole;y:name", bad_samples="skip")
        np.testing.assert_array_equal(found["x"], [[1.5, 1], [2.5, 5]])
        np.testing.assert_array_equal(found["y"], [0, 1])
        self.assertEqual(self.classes, ["a", "b"])
        self.assertRegex(self.warnings[0], r"3 of 5 rows are left out, the first: .*row 1: column 'number': no value")
        np.testing.assert_array_equal(self.rows(odd, columns="x:ragged", bad_samples="skip")["x"], [[1], [2], [5]])
        np.testing.assert_array_equal(self.rows(odd, columns="x:place.x,place.y")["x"], np.tile([1.0, 2.0], (5, 1)))

    def test_classes(self):
        found = self.rows(parquet("snappy"), columns="x:int8;y:color", classes="träume,red,green,blue")
        np.testing.assert_array_equal(found["y"][:4], [1, 2, 3, 1])
        self.refuse("row 0: column 'color': 'red' is none of the 2 classes", parquet("snappy"), columns="x:int8;y:color", classes="blue,green")
        few = self.rows(parquet("snappy"), columns="x:int8;y:few", classes="0,0.25,0.5,0.75,1")["y"]
        np.testing.assert_array_equal(few, self.rows(parquet("snappy"), columns="x:few")["x"][:, 0] * 4)

    def test_pictures(self):
        found = self.rows(parquet("digits-0"), parquet("digits-1"), columns="x:image.bytes;y:digit")
        self.assertEqual(self.metadata["kind"], "pictures")
        self.assertEqual(json.loads(self.metadata["rows"]), [100, 92])
        self.assertEqual(len(found["offsets"]), 193)
        for i in range(192):
            self.assertEqual(found["pictures"][found["offsets"][i]:][:4].tobytes(), b"\x89PNG")
        self.assertEqual(self.classes, sorted("zero one two three four five six seven eight nine".split()))
        self.assertEqual(self.rows(parquet("named"))["labels"].max(), 9)
        self.assertEqual(self.classes[:3], ["zero", "one", "two"])
        self.refuse("columns 'a' and 'b' have pictures: --columns=x:b takes one", self.two_pictures())

    def two_pictures(self):
        import pyarrow as pa
        import pyarrow.parquet as pq
        png = b"\x89PNG\r\n\x1a\n"
        pq.write_table(pa.table({"a": [png], "b": [png]}), self.path("two.parquet"))
        return self.path("two.parquet")

    def test_types(self):
        """What pyarrow restores of its own: dictionaries, decimals, large strings, unsigned numbers."""
        import decimal

        import pyarrow as pa
        import pyarrow.parquet as pq
        pq.write_table(pa.table({
            "a": pa.array(["x", "y", "x"]).dictionary_encode(), "b": pa.array([2**64 - 1, 1, 2], pa.uint64()),
            "c": pa.array([decimal.Decimal("1.10"), None, decimal.Decimal("-0.07")], pa.decimal128(12, 2)),
            "d": pa.array(["l", "m", "l"], pa.large_string()), "e": pa.array([None] * 3), "f": pa.array([b"\xff", b"b", b"c"])}), self.path("a.parquet"))
        np.testing.assert_array_equal(self.rows(self.path("a.parquet"), columns="x:c;y:a", bad_samples="skip")["x"], [[1.1], [-0.07]])
        self.assertEqual(self.classes, ["x"])
        self.refuse("row 0: column 'b': '18446744073709551615' is too large", self.path("a.parquet"), columns="x:b")
        self.refuse("column 'e' has nothing but nulls", self.path("a.parquet"), columns="x:e")
        self.refuse("row 0: column 'f': a name that is no UTF-8", self.path("a.parquet"), columns="x:b;y:f", inputs={"y": []})

    def test_files(self):
        with open(parquet("none"), "rb") as file:
            whole = file.read()
        for name, content in ("cut", whole[:-100]), ("csv", b"x,y\n1,2\n" * 9), ("empty", b""), ("damaged", whole[:200] + b"12345678" + whole[208:]), ("key", whole[:-4] + b"PARE"):
            with self.subTest(name):
                self.refuse(name + r"\.parquet'", self.write(name + ".parquet", content), columns="x:int8;y:uint8")
        self.refuse("no-such.parquet", self.path("no-such.parquet"))

    def test_damage(self):
        """Whatever a file holds, an error is one line by the file's name."""
        random = np.random.default_rng(0)
        for name in "none", "lists", "digits-0":
            with open(parquet(name), "rb") as file:
                whole = file.read()
            for _ in range(4):
                other = bytearray(whole)
                for at in random.integers(4, len(whole), 3):
                    other[at] = random.integers(256)
                process = dlc.start_data("rows", self.write("a.parquet", bytes(other)), output=self.path("a.safetensors"))
                status, _, err = dlc.finish(process)
                self.assertIn(status, (dlc.OK, dlc.FAILED), err)
                self.assertNotIn("Traceback", err)


class Csv(TableTest):
    def test_numbers(self):
        """Rounded to nearest; whole if neither point nor exponent is there."""
        for words in (["0.1", "-1.5e-3", ".5", "5.", "1e5", "1e-400", "5e-324", "9223372036854775808", "0.1000000000000000055511151231257827"],
                      ["+2.5", "1E3", "-0.0"]):
            found = self.rows(self.write("a.csv", "x\n" + "\n".join(words) + "\n"))["x"]
            np.testing.assert_array_equal(found[:, 0], np.array([float(word) for word in words]))
            self.assertEqual(found.dtype, np.float64)
        for words in ["0", "-7", "007", "9223372036854775807", "-9223372036854775808"], ["+7", "3"]:
            found = self.rows(self.write("a.csv", "x\n" + "\n".join(words) + "\n"))["x"]
            np.testing.assert_array_equal(found[:, 0], np.array([int(word) for word in words]))
            self.assertEqual(found.dtype, np.int64)
        for word, message in [*((word, "no value") for word in ("NA", "N/A", "nan", "NaN", "null", "None")),
                              *((word, f"'{word}' is no number".replace("+", r"\+").replace(".", r"\.")) for word in ("a", "1a", "1 2", "0x10", "0X1f", "--1", "+-1", "+", "-", "e5", ".", "1e", "true", "1_000", "１")),
                              *((word, f"'{word}' is not finite") for word in ("inf", "-inf", "1e400", "-Infinity"))]:
            with self.subTest(word):
                self.refuse(rf"a\.csv', line 4: column 'x': {message}", self.write("a.csv", f"x,y\n1.5,1\n2.5,2\n{word},0\n"))

    def test_records(self):
        text = "\ufeffheight, width,y\r\n1.5,2,dog\r\n\r\n\"3\",-4e2,\"a \"\"cat\"\"\"\r\n0,7,dog"
        found = self.rows(self.write("a.csv", text))
        np.testing.assert_array_equal(found["x"], [[1.5, 2], [3, -400], [0, 7]])
        np.testing.assert_array_equal(found["y"], [1, 0, 1])
        self.assertEqual(self.classes, ['a "cat"', "dog"])
        found = self.rows(self.write("b.csv", "a,b,c,d,y\n1,2,3,4,5\n6,7,8,9,0\n"), inputs={"x": [2, 2], "y": []})
        self.assertEqual((found["x"].shape, found["x"].dtype), ((2, 2, 2), np.int64))
        # By their own names; what nobody takes may be text.
        found = self.rows(self.write("c.csv", "a,city,b\n1,Oslo,2\n3,Rom,4.5\n"), inputs={"b": [1], "a": []})
        np.testing.assert_array_equal(found["b"], [[2], [4.5]])
        np.testing.assert_array_equal(found["a"], [1, 3])

    def test_larger_than_a_block(self):
        """Whole numbers first, others behind them; line ends in quotes on the borders of blocks, and a field of 9 MB."""
        rows = [f'{i},{i if i < 190_000 else i + 0.5},"' + "\n,"[i % 3 == 0] * (i % 97) + ("\n" * (9 << 20) if i == 5000 else "") + '"' for i in range(200_000)]
        text = "n,m,comment\n" + "\n".join(rows) + "\n"
        self.assertGreater(len(text), 20 << 20)
        found = self.rows(self.write("a.csv", text), columns="x:n;mask:m")
        np.testing.assert_array_equal(found["x"][:, 0], np.arange(200_000))
        np.testing.assert_array_equal(found["mask"][:, 0], np.arange(200_000) + 0.5 * (np.arange(200_000) >= 190_000))

    def test_rows_that_are_left_out(self):
        found = self.rows(self.write("a.csv", "a,b,y\n1,2,u\n3,NA,zebra\n4,5\n6,7,8,u\n9,0,v\n"), bad_samples="skip")
        np.testing.assert_array_equal(found["x"], [[1, 2], [9, 0]])
        self.assertEqual(self.classes, ["u", "v"])
        self.assertRegex(self.warnings[0], "3 of 5 rows are left out, the first: ")
        self.refuse("line 4: 2 fields, expected 3 as in the header", self.path("a.csv"))
        self.refuse("line 4: there is more behind a quoted field", self.write("b.csv", 'a,y\n1,2\n3,4\n"5"6,7\n'), bad_samples="skip")
        self.refuse("line 3: a quote is not closed", self.write("c.csv", 'a,y\n1,2\n"3,4\n'))

    def test_labels(self):
        found = self.rows(self.write("a.csv", "a,y\n1,cat\n2,10\n3,cat\n"), classes="10,dog,cat")
        np.testing.assert_array_equal(found["y"], [2, 0, 2])
        self.refuse(r"column 'y' has a number in .*line 3 and none in .*line 2: labels are numbers, or names", self.path("a.csv"))
        self.refuse("'y' is a second label of names|'y.b' is a second label of names", self.write("b.csv", "a,y,y.b\n1,u,v\n"))


class Stream(TableTest):
    def read(self, process):
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, err)
        header, _, rest = out.partition(b"\n")
        self.header = json.loads(header)
        return np.frombuffer(rest, [(a["name"], a["dtype"], tuple(a["shape"])) for a in self.header["arrays"]])

    def test_ranks_and_resume(self):
        """Ranks divide the samples; a run that goes on misses none."""
        words = ["rows", parquet("lists"), parquet("lists_v2"), "--columns=x:vector;y:label", "--shape=x:5,1", "--stream"]
        whole = self.read(dlc.start_data(*words, binary=True))
        self.assertEqual(self.header["samples"], 240)
        self.assertEqual(whole["x"].shape, (240, 5, 1))
        np.testing.assert_array_equal(whole["y"], np.arange(240) % 120 % 10)
        for skip in 0, 7, 130:
            for world in 1, 3:
                for rank in range(world):
                    environment = {"DLC_DATA_SKIP": str(skip), "DLC_RANK": str(rank), "DLC_WORLD_SIZE": str(world)}
                    found = self.read(dlc.start_data(*words, binary=True, environment=environment))
                    np.testing.assert_array_equal(found, whole[skip + rank::world])


if __name__ == "__main__":
    unittest.main()
