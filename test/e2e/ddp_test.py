# SPDX-License-Identifier: Apache-2.0
"""Two ranks with half the batch each take the steps of one rank with all of it.

The sums are rounded differently, so lenet takes few steps: sooner or later a ReLU's input is zero but for
rounding, one run takes its gradient and the other does not, and from there on the two part.
"""

import dlc
import numpy as np


class DataParallel(dlc.TestCase):
    def train(self, name, data, ranks, batch, steps, **options):
        options = dict(dlc.CONSTANT_SGD, lr=0.05, momentum=0.9, weight_decay=1e-4) | options
        artifact = dlc.compile(dlc.model(name), self.path(f"{ranks}.dlc"), ddp=ranks,
                               batch=batch // ranks, **options)
        return dlc.train(artifact, dlc.data(data), self.path(f"run{ranks}"), shuffle="off",
                         steps=steps, threads=1)

    def check(self, name, data, batch, steps, **options):
        one = self.train(name, data, 1, batch, steps, **options)
        two = self.train(name, data, 2, batch, steps, **options)
        np.testing.assert_allclose(two.metrics("loss"), one.metrics("loss"), rtol=2e-5)
        expected, found = one.state(steps), two.state(steps)
        self.assertEqual(found.keys(), expected.keys())
        for key, value in expected.items():
            if value.dtype == np.float32:
                self.assertNear(found[key], value, 2e-5, key)

    def test_mlp(self):
        self.check("mlp", "digits-train", 64, 20)

    def test_lenet(self):
        self.check("lenet", "mnist-train", 32, 8)

    def test_gpt_tiny(self):
        self.check("gpt_tiny", "text-train", 8, 20)

    def test_lenet_ema_clip(self):
        self.check("lenet", "mnist-train", 32, 8, ema=0.99, clip_grad=0.5)

    def test_small_buckets(self):
        """A bucket a tensor gives the same steps as one bucket for all."""
        self.check("lenet", "mnist-train", 32, 8, bucket_mb=0.001)


if __name__ == "__main__":
    dlc.main()
