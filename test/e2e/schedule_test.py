# SPDX-License-Identifier: Apache-2.0
"""The learning rate of every step equals its closed form and PyTorch's (test/refs/make_schedules.py); clipping
equals PyTorch's formula."""

import json
import os

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


class Rates(dlc.TestCase):
    data = dlc.data("digits-train")

    def rates(self, **options):
        self.new_folder()
        artifact = dlc.compile(dlc.model("mlp"), self.path("model.dlc"), loss="cross_entropy",
                               optimizer="sgd", lr=LR, batch=32, **options)
        run = dlc.train(artifact, self.data, self.path("run"), steps=STEPS, threads=1)
        return run.metrics("lr")


class Schedule(Rates):
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

    def test_restarts_that_decay(self):
        """Cycle i starts at t = 5 (2^i - 1), is 5 2^i long and peaks at 0.5^i of the rate."""
        def rate(t):
            i = int(np.log2(t / 5 + 1))
            done = (t - 5 * (2**i - 1)) / (5 * 2**i)
            return LR * 0.5**i * (1 + np.cos(np.pi * done)) / 2
        self.check(rate, schedule="cosine", cycle_steps=5, cycle_mult=2, cycle_decay=0.5)

    def test_linear_warmup(self):
        self.check(warm(lambda t: LR * (1 - t / (STEPS - WARMUP))), schedule="linear", start_factor=1,
                   end_factor=0, warmup=WARMUP)

    def test_polynomial_to_a_floor(self):
        self.check(lambda t: 0.02 + (LR - 0.02) * (1 - t / STEPS) ** 3, schedule="polynomial", power=3,
                   min_lr=0.02)

    def test_exponential(self):
        """As torch's ExponentialLR."""
        self.check(lambda t: LR * 0.9**t, schedule="exponential(decay_rate=0.9)")
        _, said = dlc.dlc("compile", dlc.model("mlp"), "-o", self.path("m.dlc"), schedule="exponential", code=dlc.USAGE)
        self.assertIn("--schedule=exponential needs its argument decay_rate", said)

    def test_inverse_square_root(self):
        """As get_inverse_sqrt_schedule of transformers: 1 / sqrt((t + shift) / timescale), shift = timescale - warmup."""
        self.check(warm(lambda t: LR / np.sqrt((t + WARMUP) / WARMUP)), schedule="inverse_sqrt", warmup=WARMUP)
        self.check(lambda t: LR / np.sqrt((t + 5) / 5), schedule="inverse_sqrt(timescale=5)")
        self.check(lambda t: LR / np.sqrt((t + 10000) / 10000), schedule="inverse_sqrt")

    def test_stable_then_decay(self):
        """As get_wsd_schedule of transformers, with its three curves."""
        curves = dict(cosine=lambda x: (1 + np.cos(np.pi * x)) / 2, linear=lambda x: 1 - x, sqrt=lambda x: 1 - np.sqrt(x))
        for name, curve in curves.items():
            for warmup in 0, WARMUP:
                rate = lambda t: LR if t < STEPS - warmup - 10 else 0.01 + (LR - 0.01) * curve((t - (STEPS - warmup - 10)) / 10)
                self.check(warm(rate) if warmup else rate, schedule=f"wsd(decay_steps=10,decay={name},min_lr=0.01)", warmup=warmup or None)

    def test_cosine_length_from_training(self):
        """Compiled without --steps, the schedule lasts as long as the training."""
        self.check(cosine, schedule="cosine")


class TorchRates(Rates):
    def setUp(self):
        super().setUp()
        self.reference = np.load(os.path.join(dlc.REFS, "schedules_ref.npz"))

    def like(self, name, **options):
        expected = self.reference[name + "/lr"]
        np.testing.assert_allclose(self.rates(**options), expected, rtol=2e-6, atol=1e-9)


class LikeTorch(TorchRates):
    def test_step(self):
        self.like("step", schedule="step", decay_steps=7, decay_rate=0.3)

    def test_multistep(self):
        self.like("multistep", schedule="multistep", milestones="5,12,12,30", decay_rate=0.5)

    def test_warmup_from_a_factor(self):
        self.like("warm_cosine", schedule="cosine", warmup=WARMUP, warmup_start_factor=0.01)

    def test_linear(self):
        """torch's defaults: from a third to the whole."""
        self.like("linear", schedule="linear")

    def test_linear_down(self):
        self.like("linear_down", schedule="linear", start_factor=1, end_factor=0.05, steps=STEPS)

    def test_cosine(self):
        self.like("cosine", schedule="cosine", min_lr=0.01)

    def test_restarts(self):
        self.like("restarts", schedule="cosine", cycle_steps=10)

    def test_longer_cycles(self):
        self.like("restarts_double", schedule="cosine", cycle_steps=3, cycle_mult=2, min_lr=0.01)
        self.new_folder()
        self.like("restarts_triple", schedule="cosine", cycle_steps=1, cycle_mult=3)

    def test_polynomial(self):
        self.like("polynomial", schedule="polynomial", power=2)

    def test_onecycle(self):
        self.like("onecycle", schedule="onecycle")

    def test_onecycle_options(self):
        self.like("onecycle_short", schedule="onecycle", pct_start=0.125, div_factor=4,
                  final_div_factor=10)


class PerEpoch(TorchRates):
    """Epochs of five updates: lengths count them, and the rate stays within each."""

    def setUp(self):
        super().setUp()
        samples = np.load(self.data)
        self.data = self.path("data.npz")
        np.savez(self.data, **{key: samples[key][: 5 * 32 + 7] for key in ("x", "y")})

    def rates(self, **options):
        return super().rates(schedule_per="epoch", **options)

    def test_multistep(self):
        self.like("epoch_multistep", schedule="multistep", milestones="2,5")

    def test_cosine(self):
        self.like("epoch_cosine", schedule="cosine")

    def test_restarts(self):
        self.like("epoch_restarts", schedule="cosine", cycle_steps=3)

    def test_warmup(self):
        """Two epochs of warm-up, six of the cosine."""
        expected = [LR / 2, LR] + [LR * (1 + np.cos(np.pi * t / 6)) / 2 for t in range(6)]
        found = self.rates(schedule="cosine", warmup=2)
        np.testing.assert_allclose(found, np.repeat(expected, 5), rtol=2e-6)


class LongerRun(Rates):
    """A run of more steps than its schedule has keeps the last rate, says so, and can stretch the schedule."""

    WARNING = r"schedule has {} steps: steps {} to {} keep its last rate; --reschedule stretches it"

    def begin(self, **options):
        return dlc.compile(dlc.model("mlp"), self.path("model.dlc"), loss="cross_entropy", optimizer="sgd", lr=LR,
                           schedule="cosine", batch=32, **options)

    def go(self, *words, **options):
        return dlc.dlc("train", *words, threads=1, **options)[1]

    def check(self, expected):
        np.testing.assert_allclose(dlc.Run(self.path("run")).metrics("lr"), expected, rtol=1e-5, atol=1e-7)

    def test_resumed_for_longer(self):
        said = self.go(self.begin(), data=self.data, run=self.path("run"), steps=STEPS // 2)
        self.assertNotIn("schedule", said)
        first = [LR * (1 + np.cos(np.pi * t / (STEPS // 2))) / 2 for t in range(STEPS // 2)]
        said = self.go(resume=self.path("run"), steps=STEPS)
        self.assertRegex(said, self.WARNING.format(STEPS // 2, STEPS // 2 + 1, STEPS))
        self.check(first + [0] * (STEPS // 2))
        said = self.go(resume=self.path("run"), checkpoint=STEPS // 2, steps=STEPS, reschedule=True)
        self.assertNotIn("schedule has", said)
        self.check(first + [cosine(t) for t in range(STEPS // 2, STEPS)])

    def test_compiled_for_less(self):
        artifact = self.begin(steps=10)
        said = self.go(artifact, data=self.data, run=self.path("run"), steps=STEPS)
        self.assertRegex(said, self.WARNING.format(10, 11, STEPS))
        said = self.go(artifact, data=self.data, run=self.path("other"), steps=STEPS, reschedule=True)
        np.testing.assert_allclose(dlc.Run(self.path("other")).metrics("lr"), [cosine(t) for t in range(STEPS)],
                                   rtol=1e-5, atol=1e-7)


class Plateau(dlc.TestCase):
    """A lower rate where validations get no better; the rule's numbers are in test/unit/rate_test.cpp."""

    def run_(self, schedule, **options):
        artifact = dlc.compile(dlc.model("mlp"), self.path("model.dlc"), lr=0.5, batch=64, schedule=schedule)
        return dlc.train(artifact, dlc.data("digits-train"), self.path("run"), val=dlc.data("digits-test"), epochs=8, keep=10,
                         threads=1, **options)

    def values(self, run, key):
        with open(os.path.join(run.folder, "epochs.jsonl")) as file:
            return [json.loads(line)[key] for line in file]

    def expected(self, values, more, factor, patience, threshold, least):
        rate, best, waited, rates = 0.5, None, 0, []
        for value in values:
            rates.append(rate)
            bound = best and best * (1 + threshold if more else 1 - threshold)
            if best is None or (value > bound if more else value < bound):
                best, waited = value, 0
            else:
                waited += 1
            if waited > patience:
                rate, waited = max(rate * factor, least), 0
        return rates

    def check(self, run, key, more, *rule):
        values = self.values(run, key)
        self.assertEqual(len(values), 8)
        steps = len(run.metrics("lr")) // 8
        rates = self.expected(values, more, *rule)
        self.assertGreater(len(set(rates)), 2)
        np.testing.assert_allclose(run.metrics("lr"), np.repeat(rates, steps), rtol=1e-6)

    def test_by_loss(self):
        run = self.run_("plateau(factor=0.5,patience=0,threshold=0.2,min_lr=0.1)")
        self.check(run, "val_loss", False, 0.5, 0, 0.2, 0.1)

    def test_by_the_metric_that_decides_about_the_best(self):
        run = self.run_("plateau(factor=0.3,patience=0,threshold=0.1)", best="accuracy")
        self.check(run, "val_accuracy", True, 0.3, 0, 0.1, 0)

    def test_a_resumed_run_has_the_same_bits(self):
        run = self.run_("plateau(factor=0.5,patience=1,threshold=0.3)")
        steps = len(run.metrics("lr"))
        expected, rates = run.state(steps), run.metrics("lr").tolist()
        self.assertGreater(expected["plateau"][0], 1, "reductions")
        _, err = dlc.dlc("train", resume=run.folder, checkpoint=steps // 8 * 3)
        again = dlc.Run(run.folder)
        self.assertEqual(again.metrics("lr").tolist(), rates)
        self.assertBitwise(again.state(steps), expected, "after a resume at an epoch of which the rate was waiting")
        self.assertRegex(err, r"lr 0\.\d+ from step \d+ on: val_loss has not improved")

    def test_needs_validations(self):
        artifact = dlc.compile(dlc.model("mlp"), self.path("model.dlc"), schedule="plateau")
        _, err = dlc.dlc("train", artifact, data=dlc.data("digits-train"), run=self.path("run"), steps=2, code=dlc.USAGE)
        self.assertRegex(err, r"compiled with --schedule=plateau, which lowers the learning rate by validations: give --val")
        self.assertFalse(os.path.exists(self.path("run")))


class CycledMomentum(dlc.TestCase):
    """At a rate of 0 and with one batch the gradient stays what it is, and each moment says what its momentum was."""

    def moments(self, **options):
        samples = np.load(dlc.data("digits-train"))
        np.savez(self.path("data.npz"), **{key: samples[key][:32] for key in ("x", "y")})
        artifact = dlc.compile(dlc.model("mlp"), self.path("model.dlc"), schedule="onecycle", lr=0, batch=32,
                               **options)
        run = dlc.train(artifact, self.path("data.npz"), self.path("run"), steps=STEPS, save_every=1, keep=STEPS,
                        shuffle="off", threads=1)
        states = [run.state(step) for step in range(1, STEPS + 1)]
        name = next(key for key in states[0] if key.endswith("weight.m"))
        return [state[name].ravel().astype(np.float64) for state in states]

    def expected(self, key):
        return np.load(os.path.join(dlc.REFS, "schedules_ref.npz"))["onecycle/" + key][1:]

    def of_sgd(self, **options):
        """m' = momentum m + g from m = 0"""
        m = self.moments(optimizer="sgd", **options)
        return [np.dot(after - m[0], before) / np.dot(before, before) for before, after in zip(m, m[1:])]

    def test_sgd(self):
        np.testing.assert_allclose(self.of_sgd(), self.expected("momentum"), rtol=1e-5)

    def test_range(self):
        """Straight between other ends: (momentum - 0.85) / 0.1 is the same share."""
        expected = 0.5 + (self.expected("momentum") - 0.85) / 0.1 * 0.3
        found = self.of_sgd(base_momentum=0.5, max_momentum=0.8)
        np.testing.assert_allclose(found, expected, rtol=1e-5)

    def test_left_alone(self):
        np.testing.assert_allclose(self.of_sgd(momentum=0.7, cycle_momentum="false"), 0.7, rtol=1e-5)

    def test_adam(self):
        """m' = m + (g - m) (1 - beta1) from m = 0"""
        m = self.moments(optimizer="adamw")
        g = m[0] / (1 - 0.95)
        found = [1 - np.dot(after - before, g - before) / np.dot(g - before, g - before)
                 for before, after in zip(m, m[1:])]
        np.testing.assert_allclose(found, self.expected("beta1"), rtol=1e-4)


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
