# SPDX-License-Identifier: Apache-2.0
"""Moments in bf16 and in 8 bits: what PyTorch's formulas give when moments are rounded after each step
(test/refs/make_moments.py)."""

import os
from unittest import mock

import dlc
import numpy as np


def wide(bits):
    """bf16 as f32"""
    return (bits.astype(np.uint32) << 16).view(np.float32)


class Moments(dlc.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.arrays = np.load(os.path.join(dlc.REFS, "moments_ref.npz"))

    def run_(self, steps=50, **options):
        images, classes = self.arrays["images"], self.arrays["classes"]
        np.savez(self.path("data.npz"), x=np.concatenate(images), y=np.concatenate(classes))
        artifact = dlc.compile(dlc.model("mlp"), self.path("model.dlc"), loss="cross_entropy",
                               batch=images.shape[1], **options)
        return dlc.train(artifact, self.path("data.npz"), self.path("run"), shuffle="off", threads=1, steps=steps)

    def check(self, rule, tolerance=1e-5, **options):
        run = self.run_(optimizer=rule, moments="bf16", **options)
        np.testing.assert_allclose(run.metrics("loss"), self.arrays[rule + "/losses"], rtol=1e-4)
        state = run.state(50)
        for key in self.arrays.files:
            if key.startswith(rule + "/final/"):
                self.assertNear(state[key.split("/")[-1]], self.arrays[key], tolerance, key)
            elif key.startswith(rule + "/moment/"):
                found, expected = state[key.split("/")[-1]], self.arrays[key]
                self.assertEqual(found.dtype, np.uint16, "bits of bf16")
                # A sum in another order may turn a tie.
                self.assertGreater(np.mean(found == expected), 0.93, key)
                self.assertNear(wide(found), wide(expected), 2e-3, key)

    def test_sgd(self):
        """A tie that turns moves a weight by lr / (1 - momentum) of it; without the rounding of all it is 1.5e-3."""
        self.check("sgd", tolerance=2e-4, lr=0.05, momentum=0.9, weight_decay=1e-3)

    def test_adamw(self):
        """A tie that turns changes the update of a small gradient; of 3072 weights 41 differ by more than 1e-5."""
        self.check("adamw", tolerance=1e-4, lr=1e-3, weight_decay=0.01, betas="0.9,0.95")

    def test_rmsprop_tf(self):
        """The mean square starts at 1."""
        self.check("rmsprop_tf", lr=1e-3, eps=1e-10)

    def run_lenet(self, steps, **options):
        lenet = dlc.Reference("lenet")
        np.savez(self.path("data.npz"), x=np.concatenate(lenet.inputs), y=np.concatenate(lenet.labels))
        artifact = dlc.compile(dlc.model("lenet"), self.path("model.dlc"), batch=lenet.inputs.shape[1], optimizer="adamw",
                               moments="8bit", lr=1e-3, betas="0.9,0.95", weight_decay=0.01, **options)
        return dlc.train(artifact, self.path("data.npz"), self.path("run"), shuffle="off", threads=1, steps=steps)

    def test_8bit(self):
        """Parameters move as by the published definition; with moments in f32 they move 40 times the bounds apart."""
        reference = {k[len("8bit/"):]: self.arrays[k] for k in self.arrays.files if k.startswith("8bit/")}
        run = self.run_lenet(20)
        np.testing.assert_allclose(run.metrics("loss"), reference["losses"], rtol=1e-5)
        state = run.state(20)
        self.assertEqual(self.assertMoved(state, run.initial(self.path("model.dlc")), reference), 9)
        for suffix in "m", "v":
            codes, absmax = state[f"f2.weight.{suffix}"], state[f"f2.weight.{suffix}.absmax"]
            self.assertEqual((codes.dtype, codes.shape), (np.uint8, (40, 256)), "84 * 120 elements are 39.4 blocks")
            same = np.mean(codes == reference[f"moment/f2.weight.{suffix}"])
            self.assertGreater(same, 0.998, "a sum in another order may turn a tie")
            self.assertNear(absmax, reference[f"moment/f2.weight.{suffix}.absmax"], 1e-3, suffix)
            self.assertEqual(state[f"f1.bias.{suffix}"].dtype, np.float32, "of less than 4096 elements")

    def test_an_overflow_keeps_codes(self):
        with mock.patch.dict(os.environ, DLC_INJECT_INF="1"):
            run = self.run_lenet(1, loss_scale="dynamic")
        state = run.state(1)
        self.assertEqual(run.metrics("found_inf").tolist(), [1])
        self.assertFalse(any(v.any() for k, v in state.items() if k.endswith((".m", ".v", ".absmax"))))

    def test_less_memory(self):
        sizes = {}
        for moments in "f32", "bf16", "8bit":
            artifact = dlc.compile(dlc.model("lenet"), self.path(moments), optimizer="adamw", moments=moments, warmup=20, schedule="cosine",
                                   lr=0.002)
            self.assertRegex(dlc.dlc("inspect", artifact)[0], r"optimizer: adamw, lr: 0.002,.* warmup: 20\b[^.]")
            out, _ = dlc.dlc("inspect", artifact, json=True)
            sizes[moments] = sum(v for k, v in dlc.json.loads(out)["memory"]["regions"].items() if k.startswith("moment.m"))
        self.assertAlmostEqual(sizes["bf16"] / sizes["f32"], 0.5, places=2)
        # f1.weight and f2.weight are 58080 of 61706 parameters.
        self.assertLess(sizes["8bit"] / sizes["f32"], 0.31)

    def test_a_skipped_step_keeps_them(self):
        with mock.patch.dict(os.environ, DLC_INJECT_INF="1"):
            run = self.run_(optimizer="adamw", moments="bf16", loss_scale="dynamic", steps=1)
        self.assertEqual(run.metrics("found_inf").tolist(), [1])
        for key, value in run.state(1).items():
            if key.endswith((".m", ".v")):
                self.assertFalse(value.any(), key)


if __name__ == "__main__":
    dlc.main()
