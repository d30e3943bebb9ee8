# SPDX-License-Identifier: Apache-2.0
"""WebDataset shards: the samples are those of the same pixels in a .npz, whatever wrote the archives."""

import os
import tarfile
import unittest

import dlc
import numpy as np
import pictures
import shards

COUNT, SHARDS = 192, 3


class Shards(dlc.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.share_artifact()
        with np.load(dlc.data("digits-train")) as data:
            cls.x, cls.y = data["x"][:COUNT] * 15, data["y"][:COUNT]
        np.savez(os.path.join(cls.shared, "same.npz"), x=cls.x, y=cls.y)
        cls.same = dlc.train(cls.artifact, os.path.join(cls.shared, "same.npz"), os.path.join(cls.shared, "same"), epochs=2)
        cls.last = 2 * (COUNT // 16)

    def write(self, folder, format, key="{:04}", classes=True):
        """The samples in order, divided among the archives; as writers do, with other members beside them."""
        os.mkdir(folder)
        for shard in range(SHARDS):
            members = []
            for i in range(shard * COUNT // SHARDS, (shard + 1) * COUNT // SHARDS):
                name = key.format(i)
                members += [(name + ".json", b"{}"), (name + ".png", pictures.png(self.x[i, 0]))]
                members += [(name + ".cls", b"%d\n" % self.y[i])] * classes
            shards.write(os.path.join(folder, f"train-{shard:03}.tar"), members, format)
        return folder

    def test_every_writer(self):
        for name, format, key in (("ustar", tarfile.USTAR_FORMAT, "a/" * 70 + "{:04}"), ("gnu", tarfile.GNU_FORMAT, "b" * 200 + "{:04}"),
                                  ("pax", tarfile.PAX_FORMAT, "\u00e4" * 120 + "{:04}")):
            with self.subTest(name):
                folder = self.write(self.path(name), format, key)
                run = dlc.train(self.artifact, folder + "/train-{000..002}.tar", self.path(name + "-run"), epochs=2, workers=2)
                self.assertBitwise(run.state(self.last), self.same.state(self.last), name)

    def test_a_folder_and_one_archive(self):
        folder = self.write(self.path("shards"), tarfile.USTAR_FORMAT)
        expected = dlc.evaluate(self.same.folder, os.path.join(self.shared, "same.npz"))
        self.assertEqual(dlc.evaluate(self.same.folder, folder), expected)
        flat = self.write(self.path("flat"), tarfile.USTAR_FORMAT, classes=False)
        dlc.dlc("predict", self.same.folder, data=flat + "/train-001.tar", output=self.path("y.npz"))
        dlc.dlc("predict", self.same.folder, data=os.path.join(self.shared, "same.npz"), output=self.path("all.npz"))
        with np.load(self.path("y.npz")) as found, np.load(self.path("all.npz")) as whole:
            np.testing.assert_array_equal(found["y"], whole["y"][COUNT // SHARDS:2 * COUNT // SHARDS])


if __name__ == "__main__":
    unittest.main()
