# SPDX-License-Identifier: Apache-2.0
"""dlc train --find-lr: its steps are those of a training at their rates, and the rate that it prints trains."""

import csv
import os

import dlc

LEVEL = dict(lr_min=0.02, lr_max=0.0200001, lr_steps=12)  # a rate that does not rise


class FindLr(dlc.TestCase):
    def compile(self, model="mlp", **options):
        name = self.path(f"{len(os.listdir(self.folder))}.dlc")
        return dlc.compile(dlc.model(model), name, loss="cross_entropy", **options)

    def find(self, artifact, code=dlc.OK, **options):
        """The rate that is printed, and the rows of the table."""
        options = dict(dict(run=self.path("rates"), data=dlc.data("digits-train")), **options)
        status, out, self.messages = dlc.finish(dlc.start("train", artifact, "--find-lr", **options))
        if code is not None: # else only the losses are looked at
            self.assertEqual(status, code, self.messages)
        if code != dlc.OK and not os.path.exists(self.path("rates/find-lr.csv")):
            return None, None
        with open(self.path("rates/find-lr.csv")) as file:
            rows = [{key: float(value) for key, value in row.items()} for row in csv.DictReader(file)]
        return (float(out) if out else None), rows

    def losses(self, artifact, steps, data="digits-train"):
        run = dlc.train(artifact, dlc.data(data), self.path("run"), steps=steps)
        losses = run.metrics("loss")
        dlc.shutil.rmtree(self.path("run"))
        return losses

    def test_steps_are_those_of_that_rate(self):
        """Compiled for another rate and schedule, it trains as if it had been compiled for the test's."""
        for optimizer in ("sgd", "adamw", "rmsprop", "adagrad", "lamb", "lion", "muon", "radam", "nadam", "lars"):
            with self.subTest(optimizer):
                own = dict(optimizer=optimizer, weight_decay=0.01)
                wanted = self.losses(self.compile(lr=0.02, schedule="constant", **own), LEVEL["lr_steps"])
                artifact = self.compile(lr=0.001, schedule="cosine", warmup=5, **own)
                _, rows = self.find(artifact, code=None, **LEVEL)
                for row, loss in zip(rows, wanted, strict=True):
                    self.assertAlmostEqual(row["loss"] / loss, 1, delta=2e-3)

    def test_half_precision_and_micro_batches(self):
        """Master weights are stretched, once an update; a step that the loss scale skips stretches nothing."""
        for own in dict(amp="O2"), dict(amp="O1", amp_dtype="fp16"), dict(accumulate=2), dict(ema=True, clip_grad=1.0):
            with self.subTest(own):
                own = dict(optimizer="sgd", momentum=0.9, **own)
                wanted = self.losses(self.compile(lr=0.02, schedule="constant", **own), LEVEL["lr_steps"])
                _, rows = self.find(self.compile(lr=0.001, **own), code=None, **LEVEL)
                for row, loss in zip(rows, wanted, strict=True):
                    self.assertAlmostEqual(row["loss"] / loss, 1, delta=5e-3)

    def test_suggested_rate_trains(self):
        artifact = self.compile("lenet", momentum=0.9)
        rate, rows = self.find(artifact, data=dlc.data("mnist-train"), lr_min=1e-4, lr_steps=400)
        self.assertGreater(rate, 1e-3)
        self.assertLess(rate, 2)
        self.assertAlmostEqual(rows[0]["lr"], 1e-4)
        self.assertRegex(self.messages, r"falls fastest at learning rate .*; a tenth of the rate of the smallest loss is .*find-lr\.csv")
        self.assertEqual(sorted(os.listdir(self.path("rates"))), ["find-lr.csv"])
        better = self.losses(self.compile("lenet", momentum=0.9, lr=rate, schedule="constant"), 100, "mnist-train")
        worse = self.losses(self.compile("lenet", momentum=0.9, lr=rate / 1000, schedule="constant"), 100, "mnist-train")
        self.assertLess(sum(better[-10:]), 0.5 * sum(worse[-10:]))

    def test_ends_where_it_diverges(self):
        _, rows = self.find(self.compile(optimizer="sgd"), code=None, lr_max=1e6)
        self.assertRegex(self.messages, r"diverged at step \d+, learning rate")
        self.assertLess(rows[-1]["lr"], 1e6)

    def test_ranks(self):
        """Two ranks of half the batch are one: the mean of their gradients moves both alike."""
        _, one = self.find(self.compile(optimizer="sgd", batch=16), shuffle=False, code=None, **LEVEL)
        _, two = self.find(self.compile(optimizer="sgd", batch=8, ddp=2), shuffle=False, code=None, **LEVEL)
        for a, b in zip(one, two, strict=True):
            self.assertAlmostEqual(a["loss"] / b["loss"], 1, delta=1e-4)

    def test_nothing_falls(self):
        rate, rows = self.find(self.compile(optimizer="sgd"), code=dlc.FAILED, lr_min=1e3, lr_max=5e3)
        self.assertIsNone(rate)
        self.assertRegex(self.messages, r"falls nowhere by more than its noise between the learning rates 1000 and 5000.*--lr-min")

    def test_refused(self):
        self.find(self.compile(optimizer="rmsprop_tf"), code=dlc.USAGE)
        self.assertRegex(self.messages, r"moments of rmsprop_tf hold the learning rate.*--optimizer=rmsprop")
        self.find(self.compile(optimizer="adafactor"), code=dlc.USAGE)
        self.assertRegex(self.messages, r"adafactor bounds the learning rate .* compile with another --optimizer")
        parts = self.compile("gpt_tiny", batch=8, ddp=2, zero=3)
        self.find(parts, code=dlc.USAGE, data=dlc.data("text-train"))
        self.assertRegex(self.messages, r"each rank has a part of state '.*--zero=2 or less")
        self.find(self.compile(optimizer="sgd"), code=dlc.USAGE, lr_min=1, lr_max=0.1)
        self.assertRegex(self.messages, r"--lr-min=1 is not below --lr-max=0.1")
        self.find(self.compile(optimizer="sgd", lr=0), code=dlc.USAGE)
        self.assertRegex(self.messages, r"compiled learning rate of step 1 is 0.*--schedule=constant")
        _, err = dlc.dlc("train", "--resume=x", "--find-lr", code=dlc.USAGE)
        self.assertRegex(err, r"--find-lr .*--resume and --state do not apply")
        _, err = dlc.dlc("train", "x.dlc", "--data=x", "--lr-max=1", code=dlc.USAGE)
        self.assertRegex(err, r"--lr-max needs --find-lr")


if __name__ == "__main__":
    dlc.main()
