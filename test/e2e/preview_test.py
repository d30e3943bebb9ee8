# SPDX-License-Identifier: Apache-2.0
"""dlc data preview shows pictures as training sees them."""

import base64
import io
import os
import re

import dlc
import numpy as np
import pictures
from PIL import Image

RANDOM = np.random.default_rng(0)
X = RANDOM.integers(0, 256, (9, 8, 8), np.uint8)
Y = [0, 1, 0, 1, 0, 1, 0, 1, 1]


def decode(png):
    return np.asarray(Image.open(io.BytesIO(png)))


class Preview(dlc.TestCase):
    def page(self, path, *words, **options):
        dlc.dlc("data", "preview", path, *words, output=self.path("page.html"), **options)
        with open(self.path("page.html")) as file:
            found = re.findall(r'base64,([^"]*)".*?<figcaption>sample (\d+): (.*?)</figcaption>', file.read())
        return [(decode(base64.b64decode(png)), int(row), label) for png, row, label in found]

    def test_arrays(self):
        np.savez(self.path("a.npz"), x=X[:, None], y=Y)
        shown = self.page(self.path("a.npz"), hflip=1.0, vflip=1.0, count=7)
        self.assertEqual(len({row for _, row, _ in shown}), 7)
        for picture, row, label in shown:
            np.testing.assert_array_equal(picture, np.repeat(X[row, ::-1, ::-1, None], 3, 2))
            self.assertEqual(label, f"class {Y[row]}")
        again = self.page(self.path("a.npz"), hflip=1.0, vflip=1.0, count=7)
        self.assertEqual([row for _, row, _ in again], [row for _, row, _ in shown])

    def test_folder(self):
        folder = self.path("images")
        pictures.write_folder(folder, X, Y)
        for picture, _, label in self.page(folder, size=8):
            number = next(i for i in range(9) if np.array_equal(picture[..., 0], X[i]))
            self.assertIn(str(Y[number]), label)

    def test_grid(self):
        np.savez(self.path("a.npz"), x=X[:, None], y=Y)
        dlc.dlc("data", "preview", self.path("a.npz"), size=8, count=9, output=self.path("grid.png"))
        with open(self.path("grid.png"), "rb") as file:
            grid = decode(file.read())
        self.assertEqual(grid.shape, (20, 68, 3))
        cells = [grid[12 * (i // 6):, 12 * (i % 6):][:8, :8, 0] for i in range(9)]
        self.assertEqual(sorted(c.tobytes() for c in cells), sorted(x.tobytes() for x in X))

    def test_what_is_refused(self):
        np.savez(self.path("a.npz"), x=np.zeros((3, 4)), y=np.zeros(3, int))
        for words, code, message in [
                ((self.path("a.npz"), "-o", self.path("p.html")), dlc.USAGE, "cannot be augmented: expected pictures"),
                ((self.path("a.npz"), "-o", self.path("p.jpg")), dlc.USAGE, "expected a name that ends in .html or .png"),
                ((self.path("none"), "-o", self.path("p.png")), dlc.FAILED, "none'"),
                ((self.path("a.npz"), "-o", self.path("p.png"), "--mixup=1"), dlc.USAGE, "which combine two samples")]:
            with self.subTest(message):
                _, err = dlc.dlc("data", "preview", *words, code=code)
                self.assertIn(message, err)
        self.assertFalse(os.path.exists(self.path("p.png")))


if __name__ == "__main__":
    dlc.main()
