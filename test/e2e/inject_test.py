# SPDX-License-Identifier: Apache-2.0
"""Gradients made infinite at chosen steps (DLC_INJECT_INF) move the loss scale as PyTorch's GradScaler does."""

import os
from unittest import mock

import dlc
import numpy as np

# torch.amp.GradScaler("cpu", init_scale=1024, growth_interval=4), a gradient made infinite at STEPS:
# get_scale() before each of 24 steps, and after the last (torch 2.15).
STEPS = (3, 4, 11, 16, 20)
TORCH = [1024] * 3 + [512] + [256] * 4 + [512] * 3 + [256] * 4 + [512] + [256] * 4 + [128] * 4
LAST = 256


class Inject(dlc.TestCase):
    def train(self, steps=STEPS, ranks=1, count=24, **options):
        options = dict(loss_scale="dynamic", loss_scale_init=1024, loss_scale_interval=4, ema=0.9,
                       **dlc.CONSTANT_SGD) | options
        artifact = dlc.compile(dlc.model("mlp"), self.path(f"{ranks}.dlc"), ddp=ranks, batch=16 // ranks,
                               **options)
        with mock.patch.dict(os.environ, DLC_INJECT_INF=",".join(map(str, steps))):
            return dlc.train(artifact, dlc.data("digits-train"), self.path(f"run{ranks}"), steps=count,
                             save_every=1, keep=99, threads=1)

    def check(self, run):
        self.assertEqual(run.metrics("loss_scale").tolist(), TORCH)
        self.assertEqual((np.flatnonzero(run.metrics("found_inf")) + 1).tolist(), list(STEPS))
        self.assertEqual(float(run.state(24)["scaler.scale"]), LAST)
        self.assertEqual(int(run.state(24)["step"]), 24 - len(STEPS))
        for step in STEPS:
            before, after = run.state(step - 1), run.state(step)
            for key in before:
                if not key.startswith("scaler."):
                    self.assertEqual(before[key].tobytes(), after[key].tobytes(), f"{key} in step {step}")

    def test_as_torch(self):
        self.check(self.train())

    def test_two_ranks(self):
        """Rank 0's gradient is infinite; all ranks skip."""
        self.check(self.train(ranks=2))

    def test_floor_and_ceiling(self):
        run = self.train(loss_scale_min=512, loss_scale_max=1024)
        self.assertEqual(run.metrics("loss_scale").tolist(),
                         [1024] * 3 + [512] * 5 + [1024] * 3 + [512] * 4 + [1024] + [512] * 8)

    def test_growth_and_backoff(self):
        run = self.train(steps=(2,), count=8, loss_scale_growth=4, loss_scale_backoff=0.25)
        self.assertEqual(run.metrics("loss_scale").tolist(), [1024] * 2 + [256] * 4 + [1024] * 2)

    def test_hysteresis(self):
        """Megatron's rule: the second overflow backs off; growth forgives all."""
        run = self.train(steps=(1, 2, 3, 9, 10), count=12, loss_scale_hysteresis=2)
        self.assertEqual(run.metrics("loss_scale").tolist(),
                         [1024] * 2 + [512] + [256] * 4 + [512] * 3 + [256] * 2)

    def test_without_a_loss_scale(self):
        """The gradient is infinite before its norm is taken."""
        artifact = dlc.compile(dlc.model("mlp"), self.path("m.dlc"), batch=16, grad_norm=True, lr=0, momentum=0)
        with mock.patch.dict(os.environ, DLC_INJECT_INF="2"):
            _, err = dlc.dlc("train", artifact, data=dlc.data("digits-train"), run=self.path("run"), steps=3,
                             code=dlc.DIVERGED)
        self.assertEqual([norm is None for norm in dlc.Run(self.path("run")).metrics("grad_norm")],
                         [False, True, True])
        self.assertIn("the loss is nan at step 3", err)


class Clip(dlc.TestCase):
    """Plain SGD: the step is lr times the clipped gradient."""

    def step(self, **options):
        artifact = dlc.compile(dlc.model("mlp"), self.path("m.dlc"), batch=16, optimizer="sgd", lr=1,
                               momentum=0, schedule="constant", **options)
        run = dlc.train(artifact, dlc.data("digits-train"), self.path("run"), steps=1, shuffle="off")
        before, after = run.initial(artifact), run.state(1)
        return run, {k: before[k] - after[k] for k in after if "." in k and k in before}

    def norm(self, gradients):
        return np.sqrt(sum(np.square(g, dtype=np.float64).sum() for g in gradients.values()))

    def test_by_value(self):
        _, whole = self.step()
        self.new_folder()
        run, clipped = self.step(clip_value=0.01, grad_norm=True)
        for key, gradient in whole.items():
            self.assertNear(clipped[key], np.clip(gradient, -0.01, 0.01), 1e-5, key)
        self.assertAlmostEqual(run.metrics("grad_norm")[0], self.norm(clipped), places=5)
        self.assertGreater(self.norm(whole), 1.5 * self.norm(clipped))

    def test_norm_is_reported(self):
        run, whole = self.step(grad_norm=True)
        self.assertAlmostEqual(run.metrics("grad_norm")[0], self.norm(whole), places=5)


if __name__ == "__main__":
    dlc.main()
