# SPDX-License-Identifier: Apache-2.0
"""Losses, norms, rates and final weights under each update rule equal PyTorch's: see test/refs/make_rules.py."""

import os

import dlc
import numpy as np

SGD = dict(optimizer="sgd", lr=0.05, momentum=0.9, weight_decay=0)
ADAMW = dict(optimizer="adamw", lr=1e-3, weight_decay=0.01)


class Rules(dlc.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.arrays = np.load(os.path.join(dlc.REFS, "rules_ref.npz"))
        cls.images = cls.arrays["images"]

    def reference(self, rule):
        start = rule + "/"
        return {k[len(start):]: self.arrays[k] for k in self.arrays.files if k.startswith(start)}

    def write(self, key):
        y = np.concatenate(self.arrays[key])
        np.savez(self.path("data.npz"), x=np.concatenate(self.images), y=y)
        return self.path("data.npz")

    def check(self, rule, labels="classes", **options):
        options = dict(loss="cross_entropy", schedule="constant", batch=self.images.shape[1]) | options
        expected = self.reference(rule)
        artifact = dlc.compile(dlc.model("mlp"), self.path("model.dlc"), **options)
        run = dlc.train(artifact, self.write(labels), self.path("run"), shuffle="off", threads=1,
                        steps=len(expected["losses"]))
        np.testing.assert_allclose(run.metrics("loss"), expected["losses"], rtol=1e-5)
        np.testing.assert_allclose(run.metrics("lr"), expected["lr"], rtol=1e-6)
        if "clip_grad" in options:
            np.testing.assert_allclose(run.metrics("grad_norm"), expected["norm"], rtol=1e-4)
        state = run.state(len(expected["losses"]))
        for key, value in expected.items():
            if key.startswith("final/"):
                self.assertNear(state[key[len("final/"):]], value, 1e-4, key)

    def test_without_momentum(self):
        self.check("plain", **SGD | dict(momentum=0))

    def test_nesterov(self):
        self.check("nesterov", **SGD, nesterov=True)

    def test_nesterov_with_weight_decay(self):
        self.check("nesterov_decay", **SGD | dict(momentum=0.5, weight_decay=0.1), nesterov=True)

    def test_betas_and_epsilon(self):
        self.check("betas", **ADAMW | dict(weight_decay=0.1), betas="0.8,0.95", eps=1e-3)

    def test_clipped_sgd(self):
        self.check("clip_sgd", **SGD, clip_grad=0.25)

    def test_clipped_adamw(self):
        self.check("clip_adamw", **ADAMW, eps=1e-3, clip_grad=0.25)

    def test_step_schedule(self):
        self.check("step", **SGD, schedule="step", decay_steps=6, decay_rate=0.5)

    def test_cosine_schedule(self):
        self.check("cosine", **SGD, schedule="cosine", min_lr=0.01)

    def test_mean_squared_error(self):
        self.check("mse", labels="targets", loss="mse", **SGD)

    def test_binary_cross_entropy(self):
        self.check("bce", labels="targets", loss="bce", **SGD)

    def test_constant_loss_scale_changes_nothing(self):
        """A power of two goes through f32 without rounding."""
        self.check("clip_sgd", **SGD, clip_grad=0.25, loss_scale=4096)


if __name__ == "__main__":
    dlc.main()
