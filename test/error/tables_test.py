# SPDX-License-Identifier: Apache-2.0
"""Tables that are refused: by file, line and column."""

import gzip
import unittest

import dlc

HEADER = ",".join([f"p{i}" for i in range(64)] + ["y"])


def line(value="1", label="1"):
    return ",".join([value] * 64 + [label])


class BadTables(dlc.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.share_artifact()

    def refuse(self, message, lines, name="a.csv", code=dlc.FAILED, **options):
        content = lines if isinstance(lines, bytes) else "\n".join(lines).encode()
        with open(self.path(name), "wb") as file:
            file.write(content)
        _, err = dlc.dlc("train", self.artifact, data=self.path(name), run=self.path("run"), epochs=1, code=code, timeout=60, **options)
        self.assertRegex(err, message)
        return err

    def test_rows(self):
        good = [line()] * 20
        for lines, options, message in [
                ([HEADER, *good, line("", "1")], {}, r"a\.csv', line 22: column 'p0': no value; --bad-samples=skip leaves such rows out"),
                ([HEADER, *good, line(label="NA")], {}, "line 22: column 'y': no value"),
                ([HEADER, *good, line("nan")], {}, "line 22: column 'p0': no value"),
                ([HEADER, *good, line("1e999")], {}, "line 22: column 'p0': '1e999' is not finite"),
                ([HEADER, line(), "", line("red")], {}, "line 4: column 'p0': 'red' is no number"),
                ([HEADER, line(), line() + ",1"], {}, "line 3: 66 fields, expected 65 as in the header"),
                ([HEADER, line(), "1,2"], {}, "line 3: 2 fields, expected 65"),
                ([HEADER, line(), line('"1"2')], {}, "line 3: there is more behind a quoted field"),
                ([HEADER, line(), line('1"')], {}, "line 3: column 'p0': '1\"' is no number"),
                ([HEADER, line(), line('"1')], {}, "line 3: "),
                ([HEADER, line(label="cat"), line(label="7")], {}, r"column 'y' has a number in .*a\.csv', line 3 and none in .*line 2: labels are numbers, or names"),
                ([HEADER, line(label="cat"), line(label="cow")], dict(classes="cat,dog"), "line 3: column 'y': 'cow' is none of the 2 classes"),
                ([HEADER.replace(",", ";"), line().replace(",", ";"), line("2.5").replace(",", ";").replace(".", ",")], {}, "line 3: column 'p0': '2,5' is no number: its decimal comma has to be a point"),
                ([HEADER, *good, line(label="10")], {}, "label 10 in row 20 is out of range, expected 0 to 9"),
                ([HEADER, *good, line(label="1.5")], {}, r"'y': has dtype f64, expected integers"),
                ([HEADER], {}, "has no samples")]:
            with self.subTest(message):
                self.refuse(message, lines, **options)

    def test_headers(self):
        for lines, options, message in [
                (["a,b,a", "1,2,3"], {}, "two columns are named 'a'"),
                (["5.1;3.5;0", "4.9;3.0;0"], {}, r"its first line has only numbers \('5\.1', \.\.\.\), expected the names of columns"),
                (["sep=,", "a,y", "1,2"], {}, "begins with Excel's line 'sep=': remove it"),
                (["5.1,3.5,0", "4.9,3.0,0"], {}, r"its first line has only numbers \('5\.1', \.\.\.\), expected the names of columns"),
                (["0,1,1", "4,3,0"], {}, "its first line has only numbers"),
                (["0,1,2", "4,3,0"], {}, "has no array 'y'"),
                (b"a,y\r1,2\r", {}, "its lines end in carriage returns alone"),
                ([HEADER, line()], dict(columns="x:p0..p63;y:lable"), r"a\.csv': --columns: no column 'lable'"),
                ([HEADER, line()], dict(columns="x:p0..p62"), r"a sample has shape \[63\], expected \[1, 8, 8\]"),
                (["," + HEADER, "1," + line()], {}, "column 1 has no name and would be one of x: say by --columns=x:... which are"),
                (["a,b", "1,2"], {}, "has no array 'y'"),
                ([""], {}, r"a\.csv"),
                ("\ufeffa,b\n1,2\n".encode("utf-16"), {}, "is no text in UTF-8"),
                ("ä,b\n1,2\n".encode("latin-1"), {}, "its header is no UTF-8"),
                (b"\xef\xbb\xbf", {}, "has no header")]:
            with self.subTest(message):
                self.refuse(message, lines, **options)
        self.refuse("expected arrays and their columns, as in x:a,b,c;y:label, found 'x'", [HEADER, line()], columns="x", code=dlc.USAGE)
        self.refuse("is compressed: unpack it", gzip.compress(b"a,b\n1,2\n"), name="a.csv.gz")

    def test_rows_that_are_no_utf8(self):
        """One message, without a traceback."""
        rows = lambda *more: "\n".join([HEADER, *[line()] * 4, *more]).encode("latin-1")
        for content, message in [
                (rows(line("1\xac2")), r"line 6: column 'p0': '1\\xac2' is no number"),
                (rows(line() + ",\xff"), "line 6: 66 fields, expected 65 as in the header")]:
            with self.subTest(message):
                self.assertEqual(self.refuse(message, content).count("\n"), 1)

    def test_files_of_one_table(self):
        with open(self.path("b.csv"), "w") as file:
            file.write("other,y\n1,2\n")
        with open(self.path("c.csv"), "w") as file:
            file.write(HEADER + "\n" + line() + "\n")
        _, err = dlc.dlc("train", self.artifact, data=self.path("c.csv") + "," + self.path("b.csv"), run=self.path("run"), code=dlc.FAILED)
        self.assertRegex(err, r"b\.csv': its header is another than that of '.*c\.csv'")

    def test_pictures_in_tables_are_not_augmented(self):
        self.refuse("cannot be augmented", [HEADER] + [line()] * 20, hflip=True, code=dlc.USAGE)


if __name__ == "__main__":
    unittest.main()
