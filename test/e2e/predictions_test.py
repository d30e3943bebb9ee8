# SPDX-License-Identifier: Apache-2.0
"""dlc report --data: pictures with what the model says of them."""

import base64
import io
import os

import dlc
import numpy as np
import pictures
import report_test
from PIL import Image


class Predictions(dlc.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.share_artifact()

    def page(self, run, data, **options):
        dlc.dlc("report", run, data=data, output=self.path("page.html"), **options)
        text, (found,) = report_test.page_data(self.path("page.html"))
        self.assertIn("img-src data:", text)
        return found["predictions"]

    def test_wrong_ones_come_first(self):
        run = dlc.train(self.artifact, dlc.data("digits-train"), self.path("run"), epochs=1, quiet=True).folder
        test = dlc.data("digits-test")
        found = self.page(run, test, pictures=297)
        dlc.dlc("predict", run, data=test, output=self.path("y.npz"))
        with np.load(self.path("y.npz")) as file, np.load(test) as data:
            best, x, y = file["y"].argmax(1), data["x"], data["y"]
        self.assertEqual((found["samples"], found["wrong"], len(found["shown"])), (297, int((best != y).sum()), 297))
        self.assertGreater(found["wrong"], 3)
        wrong = [one["class"] != one["label"] for one in found["shown"]]
        self.assertEqual(wrong, sorted(wrong, reverse=True))
        sure = [one["probability"] for one in found["shown"]]
        self.assertEqual(sure, sorted(sure[:found["wrong"]], reverse=True) + sorted(sure[found["wrong"]:]))
        for one in found["shown"]:
            number = int(one["name"].removeprefix("sample "))
            self.assertEqual((one["class"], one["label"]), (f"class {best[number]}", f"class {y[number]}"))
            shown = np.asarray(Image.open(io.BytesIO(base64.b64decode(one["picture"].removeprefix("data:image/png;base64,")))))
            np.testing.assert_array_equal(shown[..., 0], x[number, 0])
        self.assertEqual(self.page(run, test, pictures=5)["shown"], found["shown"][:5])

    def test_a_folder_and_pictures_without_labels(self):
        with np.load(dlc.data("digits-test")) as data:
            x, y = data["x"][:60, 0] * 15, data["y"][:60]
        pictures.write_folder(self.path("all"), x, y)
        run = dlc.train(self.artifact, self.path("all"), self.path("run"), epochs=2, quiet=True).folder
        found = self.page(run, self.path("all"), pictures=4)
        for one in found["shown"]:
            self.assertRegex(one["name"], one["label"] + r"/\d+\.png$")
        os.mkdir(self.path("new"))
        for i in range(4):
            pictures.write(self.path(f"new/{i}.png"), pictures.png(x[i]))
        found = self.page(run, self.path("new"))
        self.assertEqual((found["samples"], found["wrong"]), (4, None))
        sure = [one["probability"] for one in found["shown"]]
        self.assertEqual((sure, {one["label"] for one in found["shown"]}), (sorted(sure), {None}))
        shown = report_test.in_browser(self, self.path("page.html"))
        self.assertEqual(shown.count('<img src="data:image/png'), 4)

    def test_what_is_refused(self):
        run = dlc.train(self.artifact, dlc.data("digits-train"), self.path("run"), steps=1, quiet=True).folder
        np.savez(self.path("a.npz"), x=np.zeros((3, 1, 8, 8), np.float32), y=[0, 1, 2])
        for data, code, message in [(self.path("a.npz"), dlc.USAGE, r"--data: 'x' of .*a\.npz' is f32 \[3, 1, 8, 8\], expected pictures"),
                                    (self.path("none.npz"), dlc.FAILED, "none.npz")]:
            _, err = dlc.dlc("report", run, data=data, output=self.path("page.html"), code=code)
            self.assertRegex(err, message)
        self.assertFalse(os.path.exists(self.path("page.html")))


if __name__ == "__main__":
    dlc.main()
