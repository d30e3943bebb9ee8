"""The learning rate of every step equals its closed form; clipping equals PyTorch's formula."""

import dlc
import numpy as np

STEPS, WARMUP, LR = 40, 8, 0.1


def constant(t):
    return LR


def cosine(t):
    return LR * (1 + np.cos(np.pi * t / STEPS)) / 2


def warm(schedule):
    """Linear up to the base rate at step WARMUP, then the schedule over the steps that remain."""
    return lambda t: LR * (t + 1) / WARMUP if t < WARMUP else schedule(t - WARMUP)


def cosine_after_warmup(t):
    return LR * (1 + np.cos(np.pi * t / (STEPS - WARMUP))) / 2


def step(t):
    return LR * 0.3 ** (t // 7)


def cosine_to(floor):
    return lambda t: floor + (LR - floor) * (1 + np.cos(np.pi * t / (STEPS - WARMUP))) / 2


class Schedule(dlc.TestCase):
    def rates(self, **options):
        artifact = dlc.compile(dlc.model("mlp"), self.path("model.dlc"), loss="cross_entropy",
                               optimizer="sgd", lr=LR, batch=32, **options)
        run = dlc.train(artifact, dlc.data("digits-train"), self.path("run"), steps=STEPS, threads=1)
        return run.metrics("lr")

    def check(self, formula, **options):
        expected = [formula(t) for t in range(STEPS)]
        np.testing.assert_allclose(self.rates(**options), expected, rtol=1e-5, atol=1e-7)

    def test_constant(self):
        self.check(constant, schedule="constant")

    def test_constant_warmup(self):
        self.check(warm(constant), schedule="constant", warmup=WARMUP)

    def test_cosine(self):
        self.check(cosine, schedule="cosine", steps=STEPS)

    def test_cosine_warmup(self):
        self.check(warm(cosine_after_warmup), schedule="cosine", steps=STEPS, warmup=WARMUP)

    def test_cosine_warmup_floor(self):
        self.check(warm(cosine_to(0.02)), schedule="cosine", steps=STEPS, warmup=WARMUP, min_lr=0.02)

    def test_step(self):
        self.check(step, schedule="step", decay_steps=7, decay_rate=0.3)

    def test_step_warmup(self):
        self.check(warm(step), schedule="step", decay_steps=7, decay_rate=0.3, warmup=WARMUP)

    def test_cosine_length_from_training(self):
        """Compiled without --steps, the schedule lasts as long as the training."""
        self.check(cosine, schedule="cosine")


class Clip(dlc.TestCase):
    def step(self, name, limit):
        """One plain SGD step: (gradient norm reported, change of each parameter / lr, reference)."""
        ref, lr = dlc.Reference(name), 1024
        artifact = dlc.compile(dlc.model(name), self.path("model.dlc"), loss="cross_entropy",
                               optimizer="sgd", schedule="constant", lr=lr, momentum=0,
                               weight_decay=0, batch=ref.batch, clip_grad=limit)
        run = dlc.train(artifact, ref.write(self.path("data.npz")), self.path("run"),
                        shuffle="off", steps=1)
        before, after = run.initial(artifact), run.state(1)
        gradients = ref.group("grad0")
        changes = {k: (before[k] - after[k]) / lr for k in gradients}
        return run.metrics("grad_norm")[0], changes, gradients

    def check(self, name, share):
        """A limit of `share` times the norm: coefficient min(1, limit / (norm + 1e-6))."""
        gradients = dlc.Reference(name).group("grad0")
        norm = np.sqrt(sum(np.sum(np.square(g, dtype=np.float64)) for g in gradients.values()))
        limit = norm * share
        found, changes, _ = self.step(name, limit)
        self.assertAlmostEqual(found / norm, 1, delta=1e-5)
        for key, gradient in gradients.items():
            expected = gradient * min(1, limit / (norm + 1e-6))
            self.assertNear(changes[key], expected, 1e-3, key)

    def test_clipped(self):
        self.check("mlp", 0.5)

    def test_clipped_lenet(self):
        self.check("lenet", 0.1)

    def test_within_the_limit(self):
        self.check("mlp", 10)


if __name__ == "__main__":
    dlc.main()
