# SPDX-License-Identifier: Apache-2.0
"""--last-batch=pad: what is left of an epoch makes a step whose loss and gradients are the mean over it, as a smaller batch's
are elsewhere: for any number of ranks and micro-batches, also those that have none of it. Judged by numpy in f64."""

import json
import os

import dlc
import numpy as np

SAMPLES, EPOCHS, RATE, IGNORED = 150, 2, 0.5, -1


def mean_loss(weights, x, y):
    """The cross entropy's mean over labels that count, and its gradients."""
    hidden = np.tanh(x @ weights["f1.weight"].T + weights["f1.bias"])
    logits = hidden @ weights["f2.weight"].T + weights["f2.bias"]
    logits -= logits.max(1, keepdims=True)
    logs = logits - np.log(np.exp(logits).sum(1, keepdims=True))
    counts = y != IGNORED
    hit = np.eye(10)[np.where(counts, y, 0)]
    d = (np.exp(logs) - hit) * counts[:, None] / counts.sum()
    dh = d @ weights["f2.weight"] * (1 - hidden**2)
    grads = {"f2.weight": d.T @ hidden, "f2.bias": d.sum(0), "f1.weight": dh.T @ x, "f1.bias": dh.sum(0)}
    return -(logs * hit).sum(1)[counts].mean(), grads


def train(weights, x, y, batch):
    """(weights, losses) of plain SGD in the order of the data; the last batch of an epoch is what is left."""
    weights, losses = {name: value.astype(np.float64) for name, value in weights.items()}, []
    for _ in range(EPOCHS):
        for first in range(0, len(x), batch):
            loss, grads = mean_loss(weights, x[first:first + batch], y[first:first + batch])
            losses.append(loss)
            weights = {name: value - RATE * grads[name] for name, value in weights.items()}
    return weights, losses


class LastBatch(dlc.TestCase):
    def setUp(self):
        super().setUp()
        with np.load(dlc.data("digits-train")) as data:
            self.x = data["x"][:SAMPLES].reshape(SAMPLES, 1, 8, 8).astype(np.float32) / 16
            self.y = data["y"][:SAMPLES].astype(np.int64)

    def compile(self, name="model.dlc", model="mlp", **options):
        return dlc.compile(dlc.model(model), self.path(name), **dlc.CONSTANT_SGD | dict(
            momentum=0, lr=RATE, last_batch="pad", quiet=True) | options)

    def run_of(self, artifact, run="run", **options):
        np.savez(self.path("data.npz"), x=self.x, y=self.y)
        options = dict(epochs=EPOCHS, shuffle="off", threads=1, quiet=True) | options
        return dlc.train(artifact, self.path("data.npz"), self.path(run), **options)

    def expect_mean(self, step, **options):
        artifact = self.compile(**options)
        run = self.run_of(artifact)
        initial = {name: value for name, value in run.initial(artifact).items() if name[0] == "f"}
        weights, losses = train(initial, self.x.reshape(SAMPLES, -1), self.y, step)
        np.testing.assert_allclose(run.metrics("loss"), losses, rtol=2e-6)
        for name, value in weights.items():
            self.assertNear(run.state(len(losses))[name], value, 1e-6, name)
        self.new_folder()

    def test_mean_over_what_is_left(self):
        """22 of 64 samples; 6 of 48, all of them rank 0's; 22 of 64, none of them in the second micro-batch."""
        self.expect_mean(64, batch=64)
        self.expect_mean(48, batch=16, ddp=3)
        self.expect_mean(64, batch=16, ddp=2, accumulate=2)
        self.expect_mean(1000, batch=1000)  # more than there are

    def test_rows_that_are_ignored(self):
        """The mean is over those that count, of those that are there, whoever has them."""
        self.y[::3] = IGNORED
        self.y[-4:-2] = IGNORED  # of the 6 in the last step of 48, which rank 0 has
        self.expect_mean(64, batch=64, ignore_index=IGNORED)
        self.expect_mean(48, batch=16, ddp=3, ignore_index=IGNORED)
        self.expect_mean(64, batch=16, ddp=2, accumulate=2, ignore_index=IGNORED)

    def test_samples_of_several_rows(self):
        """Each token of a text is a row of the loss: 6 texts are a batch of 6, whoever has them."""
        with np.load(dlc.data("text-train")) as data:
            self.x, self.y = data["x"][:6], data["y"][:6]

        def result(**options):
            artifact = self.compile(model="gpt_tiny", **options)
            run = self.run_of(artifact)
            self.new_folder()
            return run.metrics("loss"), run.state(EPOCHS)

        losses, weights = result(batch=6, last_batch="drop")
        teacher = dict(teacher=dlc.model("gpt_tiny"), distill="mse(weight=0)")
        for options in dict(batch=8), dict(batch=4, ddp=2), dict(batch=4, accumulate=2), dict(batch=8, **teacher):
            with self.subTest(options):
                found, state = result(**options)
                np.testing.assert_allclose(found, losses, rtol=2e-6)
                self.assertEqual(len(losses), EPOCHS)
                self.assertNear(state["head.weight"], weights["head.weight"], 1e-6, "head.weight")

    def test_resumed(self):
        """At any step, to the bits; with other ranks, the samples that are left once each."""
        artifact = self.compile(batch=16, ddp=3)
        whole = self.run_of(artifact, "whole").state(8)
        for steps in 3, 4, 5:
            run = self.run_of(artifact, f"run{steps}", epochs=None, steps=steps)
            dlc.dlc("train", resume=run.folder, steps=8)
            self.assertBitwise(run.state(8), whole, f"from step {steps}")
        run = self.run_of(artifact, "other", epochs=None, steps=2)
        dlc.dlc("train", resume=run.folder, ranks=2, steps=4)
        with open(os.path.join(run.folder, "checkpoint-4/trainer.json")) as file:
            place = json.load(file)
        self.assertEqual((place["epoch"], place["sample"]), (1, 0))  # 96, then 32 and 22 of 32

    def test_mixed(self):
        """Samples are mixed with others that are there."""
        artifact = self.compile(batch=16, ddp=3, soft_labels=True)
        run = self.run_of(artifact, mixup=0.4, workers=1)
        self.assertTrue(np.isfinite(run.metrics("loss")).all())
        self.assertEqual(len(run.metrics("loss")), 8)

    def test_of_a_table(self):
        """No column is looked for that only the loader has."""
        artifact = self.compile(batch=64)
        expected = self.run_of(artifact).state(6)
        rows = np.column_stack([self.x.reshape(SAMPLES, -1).astype(np.float64), self.y])
        np.savetxt(self.path("data.csv"), rows, "%.17g", ",", header=",".join([f"p{i}" for i in range(64)] + ["y"]), comments="")
        found = dlc.train(artifact, self.path("data.csv"), self.path("table"), epochs=EPOCHS, shuffle="off", threads=1)
        self.assertBitwise(found.state(6), expected, "of a table")

    def test_dropped_otherwise(self):
        artifact = self.compile(batch=64, last_batch="drop")
        self.assertEqual(len(self.run_of(artifact).metrics("loss")), 4)

    def test_refused(self):
        """Where samples that fill up a batch would count all the same."""
        _, err = dlc.dlc("compile", dlc.model("resnet8"), "-o", self.path("a.dlc"), last_batch="pad", code=dlc.BAD_MODEL)
        self.assertRegex(err, r"/.*: batch norm in training is by all samples of a batch, also those that would fill up the "
                         r"last one \(--last-batch=pad\); compile with --last-batch=drop")


if __name__ == "__main__":
    dlc.main()
