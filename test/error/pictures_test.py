# SPDX-License-Identifier: Apache-2.0
"""Folders of pictures that must be refused: the message and the exit code."""

import os
import shutil
import struct
import unittest

import dlc
import numpy as np
import pictures

X = np.zeros((40, 8, 8), np.uint8)


class BadPictures(dlc.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.share_artifact()

    def setUp(self):
        super().setUp()
        self.images = self.path("images")
        pictures.write_folder(self.images, X, np.arange(40) % 10)

    def refuse(self, message, data=None, code=dlc.FAILED, **options):
        shutil.rmtree(self.path("run"), ignore_errors=True)
        _, err = dlc.dlc("train", self.artifact, data=data or self.images, run=self.path("run"), epochs=1, code=code,
                         timeout=60, **options)
        self.assertRegex(err, message)
        return err

    def test_files(self):
        grey = pictures.png(X[0])
        cases = {
            "cut off": (grey[:50], "damaged PNG"),
            "empty": (b"", "is not a picture, expected JPEG, PNG or WebP"),
            "text": (b"<html>not found</html>", "is not a picture"),
            "a bomb": (pictures.png(X[0], size=(30000, 30000)), "it claims 30000 x 30000 pixels, expected at most 90000000"),
            "a JPEG that ends": (b"\xff\xd8\xff\xe0\0\x10JFIF", "damaged JPEG"),
            "a WebP that ends": (b"RIFF\xff\xff\0\0WEBPVP8 ", "damaged WebP"),
            "larger rows": (pictures.png(X[0], size=(8, 9)), "damaged PNG"),
            "a chunk of 2 GiB": (grey[:33] + struct.pack(">I", 0x7fffffff) + grey[37:], "damaged PNG"),
        }
        for name, (content, message) in cases.items():
            with self.subTest(name):
                pictures.write(os.path.join(self.images, "class3", "0003.png"), content)
                self.refuse(rf"class3/0003\.png': {message}")

    def test_none_can_be_read(self):
        for folder, _, files in os.walk(self.images):
            for name in files:
                pictures.write(os.path.join(folder, name), b"?")
        self.refuse("none of 40 pictures can be decoded", bad_samples="skip")

    def test_folders(self):
        empty = self.path("empty")
        os.mkdir(empty)
        self.refuse(r"empty' has no pictures, expected a folder of \.jpg", data=empty)
        os.mkdir(os.path.join(self.images, "class99"))
        self.refuse("class99' has no pictures")
        pictures.write(os.path.join(self.images, "class99", "a.png"), pictures.png(X[0]))
        self.refuse(r"images': 'y': there are 11 classes, but the model has 10: dlc compile --replace-head=11")

    def test_pictures_that_are_not_read(self):
        """What torchvision's ImageFolder would have is not left out in silence."""
        for name in "a.BMP", "b.tiff", "c.gif":
            pictures.write(os.path.join(self.images, "class0", name), b"?")
        pictures.write(os.path.join(self.images, "class0", "notes.txt"), b"?")
        for command in ["train", self.artifact, "--run=" + self.path("run"), "--epochs=1", "--data"], ["data", "inspect"]:
            _, err = dlc.dlc(*command, self.images)
            self.assertRegex(err, r"warning: '.*images': 3 pictures that are not \.jpg, .* are skipped, the first: '.*class0/a\.BMP'; convert or remove them")

    def test_links(self):
        outside = self.path("outside.png")
        pictures.write(outside, pictures.png(X[0]))
        link = os.path.join(self.images, "class0", "link.png")
        os.symlink(outside, link)
        self.refuse(r"link\.png' is a link out of .*images', to .*outside\.png'")
        os.remove(link)
        os.symlink(os.path.join(self.images, "none"), link)
        self.refuse("cannot read the folder.*No such file.*none|link.png")
        os.remove(link)
        os.symlink("0000.png", link)  # inside
        dlc.train(self.artifact, self.images, self.path("inside"), epochs=1)
        os.mkfifo(os.path.join(self.images, "class0", "fifo.png"))
        self.refuse(r"fifo\.png' is no file")

    def test_another_folder_when_resumed(self):
        run = dlc.train(self.artifact, self.images, self.path("first"), epochs=1)
        os.remove(os.path.join(self.images, "class0", "0000.png"))
        _, err = dlc.dlc("train", resume=run.folder, epochs=2, code=dlc.FAILED)
        self.assertRegex(err, "is not the data that the run began with")
        os.rename(self.images, self.path("moved"))
        _, err = dlc.dlc("train", resume=run.folder, epochs=2, code=dlc.FAILED)
        self.assertRegex(err, r"run '.*first' reads '.*images', which does not exist: --data=PATH says where it is now")

    def test_models_without_pictures(self):
        artifact = dlc.compile(dlc.model("gpt_tiny"), self.path("gpt.dlc"))
        _, err = dlc.dlc("train", artifact, data=self.images, run=self.path("run"), code=dlc.FAILED)
        self.assertRegex(err, r"images': pictures cannot be samples of shape \[.*\], expected \[3, H, W\]")


if __name__ == "__main__":
    unittest.main()
