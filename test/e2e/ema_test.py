# SPDX-License-Identifier: Apache-2.0
"""Averages equal numpy's recomputation, in f64, from the parameters of every step."""

import json
import re

import dlc
import numpy as np
import onnx

STEPS = 50
DATA = {"mlp": "digits-train", "lenet": "mnist-train"}
STATISTICS = ("running_mean", "running_var")


def ramp(decay, tau, start=0):
    """ultralytics' ModelEMA"""
    return lambda n: decay * (1 - np.exp(-(n - start) / tau)) if n > start else 0


def timm(decay, start=0, warmup=False, gamma=1, power=2 / 3, least=0):
    """timm's ModelEmaV3.get_decay(step=n)"""

    def value(n):
        step = max(0, n - start - 1)
        if step <= 0:
            return 0
        return max(min(1 - (1 + step / gamma) ** -power, decay), least) if warmup else decay

    return value


def edm(halflife, share, batch=16):
    """EDM's training_loop.py: cur_nimg samples were seen before the n-th update."""

    def value(n):
        cur_nimg = (n - 1) * batch
        return 0.5 ** (batch / max(min(halflife, cur_nimg * share), 1e-8))

    return value


def swa(start):
    """torch's AveragedModel, first updated at step start + 1: the mean of what followed."""
    return lambda n: 1 - 1 / (n - start) if n > start else 0


class Averages(dlc.TestCase):
    def run_of(self, name, data=None, **options):
        """(states at the start, those after each step) of one run"""
        artifact = dlc.compile(dlc.model(name), self.path("model.dlc"), batch=16, lr=0.05,
                               **dlc.CONSTANT_SGD, **options)
        run = dlc.train(artifact, data or dlc.data(DATA[name]), self.path("run"), steps=STEPS,
                        save_every=1, keep=STEPS, shuffle="off", threads=1)
        return run.initial(artifact), [run.state(step) for step in range(1, STEPS + 1)]

    def follow(self, states, decay, prefix="ema/"):
        """The averages of that prefix, checked after each step."""
        first, rest = states
        averages = {k: first[k].astype(np.float64) for k in first if prefix + k in first}
        self.assertTrue(averages)
        for step, state in enumerate(rest, 1):
            d = decay(step)
            for key, average in averages.items():
                averages[key] = d * average + (1 - d) * state[key].astype(np.float64)
                self.assertNear(state[prefix + key], averages[key], 1e-6, f"{key}, step {step}")
        return averages


class Kinds(Averages):
    def check(self, decay, name="mlp", **options):
        return self.follow(self.run_of(name, **options), decay)

    def test_constant_decay(self):
        self.check(lambda n: 0.9, "lenet", ema=0.9)

    def test_ramp(self):
        """--ema alone: d(n) = 0.9999 (1 - exp(-n / 2000)), n from 1."""
        self.check(ramp(0.9999, 2000), ema=True)

    def test_ramp_by_name(self):
        self.check(ramp(0.99, 10), ema=0.99, ema_kind="ultralytics", ema_tau=10)

    def test_constant_from_a_start(self):
        self.check(lambda n: 0.9 if n > 20 else 0, ema=0.9, ema_start=20)

    def test_ramp_from_a_start(self):
        self.check(ramp(0.9999, 30, 7), ema=True, ema_tau=30, ema_start=7)

    def test_timm(self):
        self.check(timm(0.98), ema=0.98, ema_kind="timm")

    def test_timm_from_a_start(self):
        self.check(timm(0.9, 15), ema=0.9, ema_kind="timm", ema_start=15)

    def test_timm_warmup(self):
        """timm's defaults: gamma 1, power 2/3"""
        self.check(timm(0.9, warmup=True), ema=0.9, ema_kind="timm", ema_warmup=True)

    def test_timm_warmup_options(self):
        self.check(timm(0.95, 3, True, 4, 0.75, 0.3), ema=0.95, ema_kind="timm", ema_warmup=True, ema_start=3,
                   ema_gamma=4, ema_power=0.75, ema_min_decay=0.3)

    def test_swa(self):
        self.check(swa(0), ema=True, ema_kind="swa")

    def test_swa_from_a_start(self):
        states = self.run_of("mlp", ema=True, ema_kind="swa", ema_start=30)
        averages = self.follow(states, swa(30))
        for key, average in averages.items():
            mean = np.mean([state[key].astype(np.float64) for state in states[1][30:]], axis=0)
            self.assertNear(average, mean, 1e-12, key)

    def test_halflife(self):
        """After 160 samples, ten updates, half of a weight is left."""
        self.check(lambda n: 0.5 ** (16 / 160), ema=True, ema_halflife=160)


    def test_halflife_with_a_ramp(self):
        """In the first 20 updates the half-life is half of what was seen, then 160 samples."""
        self.check(edm(160, 0.5), ema=True, ema_halflife=160, ema_ramp=0.5)

    def test_ramp_that_never_ends(self):
        self.check(edm(1e6, 0.05), ema=True, ema_halflife=1e6, ema_ramp=0.05)


class Sets(Averages):
    """Several averages of one run."""

    def test_two(self):
        states = self.run_of("mlp", ema="0.8,0.95")
        first = self.follow(states, lambda n: 0.8)
        second = self.follow(states, lambda n: 0.95, "ema.2/")
        for number, averages in (1, first), (2, second):
            path = self.path(f"{number}.onnx")
            dlc.dlc("export", self.path("run"), "-o", path, ema=number)
            for tensor in onnx.load(path).graph.initializer:
                self.assertNear(onnx.numpy_helper.to_array(tensor), averages[tensor.name], 1e-6, tensor.name)

    def test_cost(self):
        """The update's kernel writes all sets: at most one more command, for the counter and the weights."""

        def commands(**options):
            out, err = dlc.dlc("compile", dlc.model("resnet8"), "-o", self.path("m.dlc"), batch=4, **options)
            self.new_folder()
            return int(re.search(r"(\d+) commands a step", out + err)[1])

        none = commands()
        for options in dict(ema=0.9, ema_buffers="exclude"), dict(ema="0.9,0.99", ema_buffers="exclude"):
            self.assertLessEqual(commands(**options), none + 1, options)

    def test_eval_of_either(self):
        """A decay of 0 copies the last weights, a decay near 1 keeps the first."""
        self.run_of("mlp", ema="0,0.99999999")
        data, run = dlc.data("digits-test"), self.path("run")
        first, last = dlc.evaluate(self.path("model.dlc"), data), dlc.evaluate(run, data)
        self.assertGreater(first["loss"], last["loss"])
        self.assertEqual(dlc.evaluate(run, data, ema=True), last)
        self.assertAlmostEqual(dlc.evaluate(run, data, ema=2)["loss"] / first["loss"], 1, delta=1e-4)
        for words in ["eval"], ["predict", "-o", self.path("y.npz")]:
            _, err = dlc.dlc(*words, run, data=data, ema=3, code=dlc.FAILED)
            self.assertIn("no set of averages 3, expected 1 to 2", err)
        _, err = dlc.dlc("export", run, "-o", self.path("x.onnx"), ema=3, code=dlc.USAGE)
        self.assertIn("2 sets of moving averages", err)

    def test_validation(self):
        """An epoch's line has the loss and the accuracy under each."""
        artifact = dlc.compile(dlc.model("mlp"), self.path("model.dlc"), ema="0,0.999999")
        dlc.train(artifact, dlc.data("digits-train"), self.path("run"), val=dlc.data("digits-test"), epochs=1)
        with open(self.path("run/epochs.jsonl")) as file:
            line = json.loads(file.readline())
        for value in "loss", "accuracy":
            self.assertEqual(line["ema_" + value], line["val_" + value])
            self.assertIn("ema.2_" + value, line)
        self.assertGreater(line["ema.2_loss"], line["ema_loss"])


class Buffers(Averages):
    def run_of(self, **options):
        reference = dlc.Reference("resnet8")
        return super().run_of("resnet8", reference.write(self.path("data.npz")), **options)

    def test_average(self):
        """Running statistics are averaged too."""
        averages = self.follow(self.run_of(ema=0.5), lambda n: 0.5)
        self.assertIn("bn1.running_var", averages)

    def test_copy(self):
        first, rest = self.run_of(ema=0.5, ema_buffers="copy")
        self.assertIn("ema/bn1.running_var", first)
        for state in rest:
            for key in state:
                if key.endswith(STATISTICS) and not key.startswith("ema/"):
                    self.assertEqual(state["ema/" + key].tobytes(), state[key].tobytes(), key)
        parameters = {k: v for k, v in first.items() if not k.endswith(STATISTICS)}
        self.follow((parameters, rest), lambda n: 0.5)

    def test_exclude(self):
        states = self.run_of(ema=0.5, ema_buffers="exclude")
        averages = self.follow(states, lambda n: 0.5)
        self.assertIn("conv1.weight", averages)
        self.assertFalse([k for k in averages if k.endswith(STATISTICS)])


if __name__ == "__main__":
    dlc.main()
