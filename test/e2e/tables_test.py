# SPDX-License-Identifier: Apache-2.0
"""Tables train and evaluate as the same numbers in a .npz; classes by name keep their numbers."""

import csv
import os
import unittest

import dlc
import numpy as np

COUNT = 192
NAMES = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
ORDER = sorted(NAMES)


class Tables(dlc.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.share_artifact()
        with np.load(dlc.data("digits-train")) as data:
            digits, cls.y = data["x"][:COUNT].reshape(COUNT, -1), data["y"][:COUNT]
        # As many digits as a double needs.
        cls.x = digits * 0.1 + np.random.default_rng(0).normal(size=digits.shape)
        cls.npz = cls.same(cls.x, cls.y, "same.npz")
        cls.run_of_npz = dlc.train(cls.artifact, cls.npz, os.path.join(cls.shared, "same"), epochs=2)
        cls.last = 2 * (COUNT // 16)

    @classmethod
    def same(cls, x, y, name):
        path = os.path.join(cls.shared, name)
        np.savez(path, x=x.reshape(-1, 1, 8, 8), y=y)
        return path

    def write(self, name, rows, header=None, dialect="excel"):
        with open(self.path(name), "w", newline="") as file:
            writer = csv.writer(file, dialect)
            writer.writerow(header or [f"p{i}" for i in range(64)] + ["y"])
            writer.writerows(rows)
        return self.path(name)

    def rows(self, labels):
        return [[*map(repr, x.tolist()), y] for x, y in zip(self.x, labels)]

    def test_numbers(self):
        rows = self.rows(self.y)
        csv.register_dialect("semicolons", delimiter=";", quoting=csv.QUOTE_ALL)
        for name, dialect in (("a.csv", "excel"), ("unix.csv", "unix"), ("a.tsv", "excel-tab"), ("german.csv", "semicolons"), ("tabs.csv", "excel-tab")):
            with self.subTest(name):
                run = dlc.train(self.artifact, self.write(name, rows, dialect=dialect), self.path(name + "-run"), epochs=2)
                self.assertBitwise(run.state(self.last), self.run_of_npz.state(self.last), name)
        self.assertEqual(dlc.evaluate(self.run_of_npz.folder, self.path("a.csv")), dlc.evaluate(self.run_of_npz.folder, self.npz))

    def test_columns_by_name(self):
        """Columns in another order, others between them, in two files, after kill -9."""
        header = ["digit", "comment"] + [f"p{i}" for i in range(64)]
        rows = [[y, "a \"b\",\nc", *row[:-1]] for y, row in zip(self.y, self.rows(self.y))]
        self.write("part-0.csv", rows[:100], header)
        self.write("part-1.csv", rows[100:], header)
        words = dict(data=self.path("part-{0..1}.csv"), columns="x:p0..p63;y:digit", epochs=2)
        process = dlc.start("train", self.artifact, run=self.path("run"), save_every=3, **words)
        while not os.path.isdir(self.path("run/checkpoint-3")):
            self.assertIsNone(process.poll(), "it ended before it could be killed")
        dlc.kill(process)
        dlc.dlc("train", resume=self.path("run"))
        self.assertBitwise(dlc.Run(self.path("run")).state(self.last), self.run_of_npz.state(self.last), "after kill -9")
        expected = dlc.evaluate(self.run_of_npz.folder, self.npz)
        self.assertEqual(dlc.evaluate(self.path("run"), self.path("part-0.csv") + "," + self.path("part-1.csv")), expected)

    def test_classes_by_name(self):
        """Numbers are those of the names in order, also where other data has fewer of them."""
        numbers = np.array([ORDER.index(NAMES[y]) for y in self.y])
        table = self.write("names.csv", self.rows([NAMES[y] for y in self.y]))
        some = np.flatnonzero(numbers > 4)
        part = self.write("part.csv", [self.rows([NAMES[y] for y in self.y])[i] for i in some])
        run = dlc.train(self.artifact, table, self.path("run"), epochs=2, val=part)
        expected = dlc.train(self.artifact, self.same(self.x, numbers, "numbers.npz"), self.path("expected"), epochs=2,
                             val=self.same(self.x[some], numbers[some], "some.npz"))
        self.assertBitwise(run.state(self.last), expected.state(self.last), "numbers of classes")
        for name in "val_loss", "val_accuracy":
            with open(self.path("run/epochs.jsonl")) as found, open(self.path("expected/epochs.jsonl")) as other:
                self.assertEqual(found.read(), other.read(), name)
        with open(self.path("run/config.yaml")) as file:
            self.assertIn(f"classes: [{', '.join(ORDER)}]", file.read())
        self.assertEqual(dlc.evaluate(run.folder, part), dlc.evaluate(run.folder, os.path.join(self.shared, "some.npz")))

    def test_bad_rows_are_left_out(self):
        rows = self.rows(self.y)
        rows[5][7], rows[9][64], rows[20][0] = "", "NA", "abc"
        table = self.write("a.csv", rows)
        good = [i for i in range(COUNT) if i not in (5, 9, 20)]
        _, err = dlc.dlc("train", self.artifact, data=table, run=self.path("run"), epochs=1, bad_samples="skip")
        self.assertRegex(err, r"a\.csv': 3 of 192 rows are left out, the first: .*a\.csv', line 7: column 'p7': no value")
        expected = dlc.train(self.artifact, self.same(self.x[good], self.y[good], "good.npz"), self.path("good"), epochs=1)
        self.assertBitwise(dlc.Run(self.path("run")).state(11), expected.state(11), "the others")

    def test_predict_without_labels(self):
        table = self.write("x.csv", [row[:-1] for row in self.rows(self.y)], [f"p{i}" for i in range(64)])
        for name, data in ("table", table), ("npz", self.npz):
            dlc.dlc("predict", self.run_of_npz.folder, data=data, output=self.path(name + "-y.npz"))
        with np.load(self.path("table-y.npz")) as found, np.load(self.path("npz-y.npz")) as expected:
            np.testing.assert_array_equal(found["y"], expected["y"])


if __name__ == "__main__":
    unittest.main()
