# SPDX-License-Identifier: Apache-2.0
"""Augmented pictures: the same samples whoever decodes them, from a folder or an array, after kill -9 and by any number of
workers; evaluation sees none of it."""

import os
import time
import unittest

import dlc
import numpy as np
import pictures

COUNT = 160
EVERYTHING = dict(crop="random", crop_scale="0.3,1", hflip=True, vflip=0.2, color_jitter="0.4,0.4,0.4,0.1",
                  random_erase=True, mean=0.5, std=0.25)


class Augmented(dlc.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.share_artifact()
        cls.images = os.path.join(cls.shared, "images")
        cls.x, cls.y = pictures.write_digits(cls.images, dlc.data("digits-train"), COUNT)
        cls.arrays = os.path.join(cls.shared, "arrays.npz")
        np.savez(cls.arrays, x=cls.x, y=cls.y)
        cls.last = 2 * (COUNT // 16)
        cls.same = dlc.train(cls.artifact, cls.arrays, os.path.join(cls.shared, "same"), epochs=2, **EVERYTHING)

    def train(self, name, data, **options):
        return dlc.train(self.artifact, data, self.path(name), epochs=2, **options)

    def test_a_folder_or_an_array_by_any_workers(self):
        expected = self.same.state(self.last)
        for data, workers in ((self.images, 1), (self.images, 3), (self.arrays, 2)):
            run = self.train(f"run{workers}", data, workers=workers, **EVERYTHING)
            self.assertBitwise(run.state(self.last), expected, f"{data} by {workers} workers")

    def test_killed_and_resumed(self):
        run = self.path("run")
        process = dlc.start("train", self.artifact, data=self.images, run=run, epochs=2, save_every=1, workers=2, **EVERYTHING)
        while not os.path.isdir(os.path.join(run, "checkpoint-2")):
            self.assertIsNone(process.poll(), "it ended before it could be killed")
            time.sleep(0.002)
        dlc.kill(process)
        _, err = dlc.dlc("train", resume=run, hflip=0.1, code=dlc.USAGE)
        self.assertIn("--hflip cannot change in a run that is resumed", err)
        dlc.dlc("train", resume=run)
        self.assertBitwise(dlc.Run(run).state(self.last), self.same.state(self.last), "after kill -9")

    def test_ranks(self):
        two = dlc.compile(dlc.model("mlp"), self.path("two.dlc"), ddp=2, batch=8)
        run = dlc.train(two, self.images, self.path("run"), epochs=2, workers=1, **EVERYTHING)
        self.assertNear(run.metrics("loss"), self.same.metrics("loss"), 1e-4, "two ranks of 8 see what one of 16 does")
        ranks = [dlc.start("train", two, f"--rank={rank}", data=self.arrays, steps=3, world_size=2, hflip=rank / 2, timeout=20,
                           init="file://" + self.path("meet"), run=self.path("bad")) for rank in range(2)]
        errors = [dlc.finish(rank, 60)[2] for rank in ranks]
        self.assertRegex("".join(errors), r"rank 1 runs another job than rank 0: .*options of samples \[hflip 0\.5\]; expected "
                                          r".*options of samples \[\]")

    def test_each_option_changes_the_samples(self):
        plain = self.train("plain", self.arrays).state(self.last)
        cases = {
            "crop": dict(crop="random"), "padded": dict(crop="padded", crop_padding=2), "hflip": dict(hflip=True),
            "vflip": dict(vflip=True), "jitter": dict(color_jitter="0.4,0.4"), "erase": dict(random_erase=0.5), "middle": dict(crop_pct=0.7),
            "numbers": dict(mean=0.5, std=0.5),
        }
        for name, options in cases.items():
            state = self.train(name, self.arrays, **options).state(self.last)
            self.assertTrue(any((state[key] != plain[key]).any() for key in plain if state[key].dtype == np.float32), name)

    def test_numbers_are_normalized_as_by_hand(self):
        by_hand = self.path("by_hand.npz")
        x = self.x.astype(np.float32) / np.float32(255)
        np.savez(by_hand, x=(x - np.float32(0.5)) / np.float32(0.25), y=self.y)
        expected = self.train("expected", by_hand)
        run = self.train("run", self.arrays, mean=0.5, std=0.25)
        self.assertBitwise(run.state(self.last), expected.state(self.last), "normalized")
        loss = dlc.evaluate(expected.folder, by_hand)
        self.assertEqual(dlc.evaluate(run.folder, self.arrays), loss, "as the run was trained")
        self.assertEqual(dlc.evaluate(expected.folder, self.images, mean=0.5, std=0.25), loss, "as it is told")
        self.assertNotEqual(dlc.evaluate(run.folder, self.arrays, crop_pct=0.5), loss)

    def test_validation_is_not_augmented(self):
        run = self.train("val", self.arrays, val=self.arrays, hflip=1, random_erase=1)
        plain = dlc.evaluate(run.folder, self.arrays, scale=1 / 255)
        self.assertEqual(dlc.evaluate(run.folder, self.images), plain)

    def test_mixed(self):
        soft = dlc.compile(dlc.model("mlp"), self.path("soft.dlc"), batch=16, soft_labels=True)
        options = dict(mixup=0.2, cutmix=1, hflip=True, epochs=2)
        expected = dlc.train(soft, self.arrays, self.path("one"), workers=1, **options)
        run = dlc.train(soft, self.images, self.path("two"), workers=3, val=self.images, steps=9, mixup=0.2, cutmix=1, hflip=True)
        dlc.dlc("train", resume=run.folder, epochs=2)
        self.assertBitwise(run.state(self.last), expected.state(self.last), "mixed, and resumed in an epoch")
        self.assertLess(dlc.evaluate(run.folder, self.arrays)["loss"], 2.4)
        plain = self.path("shares.npz")  # the same labels as shares, which need no mixing
        np.savez(plain, x=self.x, y=np.eye(10, dtype=np.float32)[self.y])
        self.assertEqual(dlc.evaluate(run.folder, plain), dlc.evaluate(run.folder, self.arrays))
        wrong = self.path("wrong.npz")
        np.savez(wrong, x=self.x, y=self.y + 5)
        _, err = dlc.dlc("train", soft, data=wrong, run=self.path("bad"), epochs=1, code=dlc.FAILED, mixup=1)
        self.assertRegex(err, r"'y': label 1\d in row \d+ is out of range, expected 0 to 9")

    def refuse(self, message, data=None, **options):
        _, err = dlc.dlc("train", self.artifact, data=data or self.arrays, run=self.path("bad"), epochs=1, code=dlc.USAGE, **options)
        self.assertRegex(err, message)

    def test_errors(self):
        self.refuse("--mean and --std belong together, found only --mean", mean="imagenet")
        self.refuse("--mean and --std have 3 and 3 numbers, expected one or one for each channel.*'x' f32", mean="imagenet",
                    std="imagenet")
        self.refuse("--crop-padding needs --crop=padded", crop_padding=3)
        self.refuse("--crop-scale needs --crop=random", crop_scale="0.5,1")
        self.refuse(r"--mixup mixes labels, but 'y' takes classes \(i64 \[16\]\): compile the model with --soft-labels", mixup=0.2)
        floats = self.path("floats.npz")
        np.savez(floats, x=self.x.astype(np.float32), y=self.y)
        self.refuse(r"'x' is f32 \[160, 1, 8, 8\], which cannot be augmented: expected pictures, u8", data=floats, hflip=True)


class Waiting(dlc.TestCase):
    def test_data_wait_is_told(self):
        """Large pictures for a small model: one worker cannot keep up."""
        self.share_artifact()
        images = self.path("images")
        noise = np.random.default_rng(0).integers(0, 255, (32, 1800, 1800), dtype=np.uint8)
        pictures.write_folder(images, noise, np.arange(32) % 10)
        run = self.path("run")
        _, err = dlc.dlc("train", self.artifact, data=images, run=run, epochs=12, workers=1)
        self.assertRegex(err, r"data-bound: \d+ % of the time steps waited for samples; "
                              r"(try --workers=\d+|1 workers use all cores)")
        self.assertGreater(dlc.Run(run).metrics("data_wait").sum(), 0)


if __name__ == "__main__":
    unittest.main()
