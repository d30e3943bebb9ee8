# SPDX-License-Identifier: Apache-2.0
"""--skip-loss-zscore and --skip-grad-zscore skip what llm.c's outlier detector would (llmc/outlier_detector.h)."""

import dlc
import numpy as np

WINDOW, STEPS, BAD = 128, 150, (136, 141)


def outliers(values, limit):
    """Whether each value is an outlier; the window holds it already."""
    found, window = [], []
    for value in np.float32(values).astype(np.float64):
        full = len(window) == WINDOW
        window = (window + [value])[-WINDOW:]
        found.append(bool(full and value - np.mean(window) > limit * np.std(window)))
    return found


class ZScore(dlc.TestCase):
    def train(self, ranks=1, run="run", **options):
        random = np.random.RandomState(5)
        x = random.randn(STEPS * 4, 1, 8, 8).astype(np.float32)
        y = random.randint(0, 10, STEPS * 4)
        for step in BAD:  # far from the others
            x[(step - 1) * 4:step * 4] *= 300
        np.savez(self.path("data.npz"), x=x, y=y)
        artifact = dlc.compile(dlc.model("mlp"), self.path(f"{run}.dlc"), batch=4 // ranks, ddp=ranks,
                               optimizer="adamw", lr=1e-4, schedule="constant", ema=0.9, **options)
        return dlc.train(artifact, self.path("data.npz"), self.path(run), steps=STEPS, shuffle="off", threads=1,
                         save_every=1, keep=STEPS)

    def check(self, run, key, limit):
        expected = outliers(run.metrics(key), limit)
        self.assertEqual([bool(s) for s in run.metrics("skipped")], expected)
        self.assertTrue(set(BAD) <= {i + 1 for i, skip in enumerate(expected) if skip})
        self.assertLess(sum(expected), 8)
        for step in BAD:
            self.unchanged(run.state(step - 1), run.state(step), step)
        self.assertEqual(int(run.state(STEPS)["step"]), STEPS - sum(expected))

    def unchanged(self, before, after, step):
        for key in before:
            if not key.startswith("outlier."):
                self.assertEqual(before[key].tobytes(), after[key].tobytes(), f"{key} in step {step}")

    def test_gradient(self):
        self.check(self.train(skip_grad_zscore=4), "grad_norm", 4)

    def test_gradient_on_two_ranks(self):
        self.check(self.train(ranks=2, skip_grad_zscore=4), "grad_norm", 4)

    def test_loss_and_scaler(self):
        run = self.train(skip_loss_zscore=2.5, loss_scale=8)
        expected = outliers(run.metrics("loss"), 2.5)
        self.assertEqual([bool(s) for s in run.metrics("skipped")], expected)
        self.assertTrue(any(expected))
        step = expected.index(True) + 1
        self.unchanged(run.state(step - 1), run.state(step), step)


if __name__ == "__main__":
    dlc.main()
