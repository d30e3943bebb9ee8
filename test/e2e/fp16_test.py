# SPDX-License-Identifier: Apache-2.0
"""fp16, which the CPU emulates, trains as f32 does, and gradients beyond 65504 are real overflows."""

import os
from unittest import mock

import dlc
import numpy as np

# model: (data, batch, options)
MODELS = {
    "lenet": ("mnist-train", 64, dict(optimizer="sgd", lr=0.05, momentum=0.9)),
    "resnet8": (None, 16, dict(optimizer="sgd", lr=0.02, momentum=0.9)),
    "gpt_tiny": ("text-train", 16, dict(optimizer="adamw", lr=1e-3, clip_grad=1.0)),
}
STEPS = 20


class Fp16(dlc.TestCase):
    def train(self, name, ranks=1, **options):
        data, batch, own = MODELS[name]
        path = dlc.data(data) if data else dlc.Reference(name).write(self.path("data.npz"))
        artifact = dlc.compile(dlc.model(name), self.path("m.dlc"), batch=batch // ranks, ddp=ranks,
                               **own, **options)
        return dlc.train(artifact, path, self.path("run"), steps=STEPS, seed=1, threads=2 // ranks,
                         save_every=2, keep=STEPS)

    def follows_f32(self, name, ranks, tolerance):
        full = self.train(name, ranks).metrics("loss")
        self.new_folder()
        run = self.train(name, ranks, amp=True, amp_dtype="fp16", loss_scale_init=4096)
        half = run.metrics("loss")
        np.testing.assert_allclose(half, full, rtol=tolerance)
        self.assertFalse(np.array_equal(half, full), "--amp-dtype=fp16 changed nothing")
        self.assertEqual(run.metrics("found_inf").tolist(), [0] * len(half))
        return half

    def test_lenet(self):
        self.follows_f32("lenet", 1, 5e-3)

    def test_lenet_two_ranks(self):
        self.follows_f32("lenet", 2, 5e-3)

    def test_resnet8(self):
        self.follows_f32("resnet8", 1, 2e-2)

    def test_resnet8_two_ranks(self):
        self.follows_f32("resnet8", 2, 2e-2)

    def test_gpt_tiny(self):
        self.follows_f32("gpt_tiny", 1, 5e-3)

    def test_gpt_tiny_two_ranks(self):
        self.follows_f32("gpt_tiny", 2, 5e-3)

    def backs_off(self, name, ranks):
        """The scale halves until the scaled gradients fit, then training goes on."""
        run = self.train(name, ranks, amp=True, amp_dtype="fp16", loss_scale_init=2.0**24)
        skipped, scales = run.metrics("found_inf").astype(bool), run.metrics("loss_scale")
        skips = int(skipped.sum())
        self.assertGreater(skips, 1)
        self.assertLess(skips, 12)
        self.assertTrue(skipped[:2].all())
        np.testing.assert_array_equal(scales, 2.0 ** (24 - np.cumsum(skipped) + skipped))
        self.assertTrue(np.isfinite(run.metrics("loss")).all())
        after = run.state(2)
        for key, value in run.initial(self.path("m.dlc")).items():
            if "running" not in key and not key.startswith(("scaler.", "const/")):  # constants are the artifact's
                self.assertEqual(value.tobytes(), after[key].tobytes(), key)
        self.assertEqual(int(run.state(STEPS)["step"]), 20 - skips)

    def test_lenet_overflows(self):
        self.backs_off("lenet", 1)

    def test_lenet_overflows_on_two_ranks(self):
        self.backs_off("lenet", 2)

    def test_resnet8_overflows(self):
        self.backs_off("resnet8", 1)

    def test_gpt_tiny_overflows(self):
        self.backs_off("gpt_tiny", 1)

    def test_injected(self):
        with mock.patch.dict(os.environ, DLC_INJECT_INF="2,5"):
            run = self.train("lenet", amp=True, amp_dtype="fp16", loss_scale_init=1024)
        self.assertEqual(np.flatnonzero(run.metrics("found_inf")).tolist(), [1, 4])
        self.assertEqual(run.metrics("loss_scale").tolist(), [1024] * 2 + [512] * 3 + [256] * 15)


if __name__ == "__main__":
    dlc.main()
