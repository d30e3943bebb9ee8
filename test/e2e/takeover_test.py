# SPDX-License-Identifier: Apache-2.0
"""dlc train --state=RUN: a new artifact goes on with another one's run, by the names of its states."""

import json
import os
import shutil

import dlc
import numpy as np

STEPS, MORE = 12, 20
ADAMW = dict(batch=16, optimizer="adamw", lr=1e-3, schedule="cosine", ema=0.9)


class Takeover(dlc.TestCase):
    @classmethod
    def setUpClass(cls):
        """A run that ended early: of 20 steps, stopped after 12."""
        cls.share_folder()
        cls.artifact = dlc.compile(dlc.model("lenet"), os.path.join(cls.shared, "old.dlc"), **ADAMW, steps=MORE)
        cls.old = os.path.join(cls.shared, "old")
        dlc.train(cls.artifact, dlc.data("mnist-train"), cls.old, steps=STEPS, threads=1)

    def go_on(self, state=None, run="new", steps=MORE, artifact=None, data=None, train=None, code=dlc.OK, **options):
        """With an artifact compiled anew; gives the run and what was said."""
        artifact = artifact or dlc.compile(dlc.model("lenet"), self.path("new.dlc"), **ADAMW | dict(steps=MORE) | options)
        _, said = dlc.dlc("train", artifact, data=data or dlc.data("mnist-train"), run=self.path(run), state=state or self.old, steps=steps,
                          threads=1, code=code, **train or {})
        return dlc.Run(self.path(run)), said

    def resumed(self):
        shutil.copytree(self.old, self.path("resumed"))
        dlc.dlc("train", resume=self.path("resumed"), steps=MORE)
        return dlc.Run(self.path("resumed"))

    def before(self):
        return dlc.Run(self.old).state(STEPS)

    def test_nothing_changed(self):
        """The bits of the resumed run, from the run's folder, its checkpoint, and through a run that was stopped, too."""
        expected = self.resumed()
        for state in self.old, f"{self.old}/checkpoint-{STEPS}":
            self.new_folder() if state != self.old else None
            run, said = self.go_on(state)
            self.assertIn(f"goes on from step {STEPS} with ", said)
            self.assertNotIn("warning", said)
            self.assertBitwise(run.state(MORE), expected.state(MORE), state)
            self.assertEqual(run.metrics("step").tolist(), list(range(STEPS + 1, MORE + 1)))
            np.testing.assert_array_equal(run.metrics("loss"), expected.metrics("loss")[STEPS:])
        with open(f"{run.folder}/checkpoint-{MORE}/trainer.json") as a, open(f"{expected.folder}/checkpoint-{MORE}/trainer.json") as b:
            self.assertEqual(json.load(a), json.load(b))
        self.assertEqual(dlc.evaluate(run.folder, dlc.data("mnist-test")), dlc.evaluate(expected.folder, dlc.data("mnist-test")))

    def test_a_run_that_ended_before_its_first_checkpoint(self):
        """It goes on from the same state, not from the artifact's."""
        run, _ = self.go_on()
        expected = run.state(MORE)
        shutil.rmtree(f"{run.folder}/checkpoint-{MORE}")
        dlc.dlc("train", resume=run.folder)
        self.assertBitwise(run.state(MORE), expected, "again")
        _, said = dlc.dlc("train", resume=run.folder, state=self.old, code=dlc.USAGE)
        self.assertIn("--state cannot change in a run that is resumed", said)
        shutil.rmtree(f"{run.folder}/checkpoint-{MORE}")
        with open(f"{run.folder}/config.yaml") as file:
            text = file.read()
        self.assertIn(f"state: {self.old}/checkpoint-{STEPS}\n", text)
        with open(f"{run.folder}/config.yaml", "w") as file:
            file.write(text.replace(self.old, self.path("gone")))
        _, said = dlc.dlc("train", resume=run.folder, code=dlc.FAILED)
        self.assertIn(self.path("gone"), said)

    def test_another_rate(self):
        """The first update is Adam's by the moments, the average and the step that were taken over."""
        run, _ = self.go_on(steps=STEPS + 1, lr=1e-4, schedule="constant")
        new, old, name = run.state(STEPS + 1), self.before(), "f2.weight"
        m, v = new[name + ".m"].astype(np.float64), new[name + ".v"].astype(np.float64)
        n = STEPS + 1
        expected = old[name] * (1 - 1e-4 * 0.01) - 1e-4 * (m / (1 - 0.9**n)) / (np.sqrt(v / (1 - 0.999**n)) + 1e-8)
        self.assertNear(new[name] - old[name], expected - old[name], 1e-3, name)
        self.assertNear(new["ema/" + name], 0.9 * old["ema/" + name] + 0.1 * new[name], 1e-6, "average")
        self.assertAlmostEqual(run.metrics("lr")[0], 1e-4, places=9)
        self.assertEqual(new["step"], n)

    def test_another_optimizer(self):
        """Its moments, steps and schedule begin; a run that resumes it has the same rates."""
        run, said = self.go_on(steps=MORE, optimizer="sgd", lr=0.1, momentum=0.9)
        self.assertIn(f"optimizer sgd instead of adamw: its moments, steps and schedule start anew after step {STEPS}", said)
        self.assertNotIn("f2.weight.m", said)
        self.assertNotIn("compiled for another", said)
        rates = 0.1 * (1 + np.cos(np.pi * np.arange(MORE - STEPS) / (MORE - STEPS))) / 2
        self.assertEqual(run.state(MORE)["step"], MORE - STEPS)
        artifact = dlc.compile(dlc.model("lenet"), self.path("free.dlc"), batch=16, optimizer="sgd", lr=0.1, schedule="cosine")
        run, _ = self.go_on(run="free", artifact=artifact, train=dict(save_every=4))
        np.testing.assert_allclose(run.metrics("lr"), rates, rtol=1e-4)
        expected = run.state(MORE)
        shutil.rmtree(f"{run.folder}/checkpoint-{MORE}")
        dlc.dlc("train", resume=run.folder, reschedule=True)
        self.assertBitwise(run.state(MORE), expected, "resumed")
        np.testing.assert_allclose(run.metrics("lr"), rates, rtol=1e-4)

    def test_a_product_of_momenta(self):
        """NAdam's: that of all updates so far, from 1 where another optimizer ran before."""
        def product(updates):
            return np.prod([0.9 * (1 - 0.5 * 0.96 ** (n * 4e-3)) for n in range(1, updates + 1)])
        run, _ = self.go_on(steps=STEPS + 2, optimizer="nadam")
        self.assertNear(run.state(STEPS + 2)["step.product"], product(2), 1e-6, "from 1")
        artifact = dlc.compile(dlc.model("lenet"), self.path("slow.dlc"), **ADAMW | dict(steps=MORE, optimizer="nadam", lr=1e-4))
        run, _ = self.go_on(run.folder, "again", STEPS + 5, artifact)
        self.assertNear(run.state(STEPS + 5)["step.product"], product(5), 1e-6, "taken over")

    def test_precision(self):
        """Loss scaling begins; half parameters are the rounded ones; and back."""
        run, said = self.go_on(run="amp", amp=True, amp_dtype="fp16", steps=STEPS + 1)
        self.assertRegex(said, "states that the checkpoint lacks start as compiled: .*scaler.scale")
        self.assertEqual(run.state(STEPS + 1)["step"], STEPS + 1)
        _, said = self.go_on(state=run.folder, run="back", steps=MORE)
        self.assertRegex(said, "tensors of the checkpoint that the artifact does not have: .*scaler.scale")
        run, said = self.go_on(run="half", amp="O3", steps=STEPS + 1)
        self.assertRegex(said, "states of another float type are rounded: .*c1.weight")
        bits = run.state(STEPS + 1)["f1.weight"].astype(np.uint32) << 16
        self.assertNear(bits.view(np.float32), self.before()["f1.weight"], 0.02, "f1.weight")

    def test_averages_that_begin(self):
        """They start with the parameters' values, not those of the artifact."""
        old = dlc.compile(dlc.model("lenet"), self.path("plain.dlc"), **ADAMW | dict(ema=None))
        dlc.train(old, dlc.data("mnist-train"), self.path("plain"), steps=STEPS, threads=1)
        run, _ = self.go_on(state=self.path("plain"), steps=STEPS + 1)
        new, old = run.state(STEPS + 1), dlc.Run(self.path("plain")).state(STEPS)
        self.assertNear(new["ema/f2.weight"], 0.9 * old["f2.weight"] + 0.1 * new["f2.weight"], 1e-6, "average")

    def test_batch_and_ranks(self):
        """The samples of the epoch that were not taken come next."""
        for options in dict(batch=32), dict(batch=8, ddp=2), dict(batch=8, ddp=2, zero=1), dict(batch=4, accumulate=4):
            with self.subTest(options):
                self.new_folder()
                run, said = self.go_on(**options)
                self.assertNotIn("warning", said)
                with open(f"{run.folder}/checkpoint-{MORE}/trainer.json") as file:
                    progress = json.load(file)
                each = options.get("batch") * options.get("ddp", 1) * options.get("accumulate", 1)
                self.assertEqual(progress["sample"], 16 * STEPS + each * (MORE - STEPS))
                if each == 16 and "accumulate" not in options:
                    for name, value in self.resumed_once().items():
                        self.assertNear(run.state(MORE)[name], value, 1e-3, name)

    def resumed_once(self):
        if not hasattr(type(self), "expected"):
            type(self).expected = self.resumed().state(MORE)
        return self.expected

    def test_parts_of_ranks(self):
        """A checkpoint of which each rank has written its part, of --zero, by one rank."""
        old = dlc.compile(dlc.model("lenet"), self.path("old.dlc"), **ADAMW | dict(batch=8), ddp=2, zero=3, steps=MORE)
        run = dlc.train(old, dlc.data("mnist-train"), self.path("old"), steps=STEPS, threads=1, save="sharded")
        new, said = self.go_on(state=run.folder)
        self.assertNotIn("warning", said)
        for name, value in self.resumed_once().items():
            self.assertNear(new.state(MORE)[name], value, 1e-3, name)

    def test_another_version(self):
        """A plan that this dlc does not run has states that it knows."""
        shutil.copytree(self.old, self.path("later"))
        with open(self.path("later/model.dlc/plan.pb"), "r+b") as file:
            self.assertEqual(file.read(1), b"\x08")  # the version
            file.seek(1)
            file.write(bytes([99]))
        dlc.rehash(self.path(f"later/checkpoint-{STEPS}"), artifact=dlc.rehash(self.path("later/model.dlc")))
        _, said = dlc.dlc("train", resume=self.path("later"), steps=MORE, code=dlc.INCOMPATIBLE)
        self.assertIn("plan version is 99", said)
        run, said = self.go_on(self.path("later"))
        self.assertNotIn("warning", said)
        self.assertBitwise(run.state(MORE), self.resumed_once(), "later")

    def test_other_data(self):
        _, said = self.go_on(data=dlc.data("mnist-test"), steps=STEPS + 2)
        self.assertIn(f"is not the data of '{self.old}/checkpoint-{STEPS}': the run begins with its first sample", said)
        with open(self.path(f"new/checkpoint-{STEPS + 2}/trainer.json")) as file:
            self.assertEqual(json.load(file)["sample"], 2 * 16)

    def test_another_model(self):
        """A new head, frozen layers, adapters: what fits is taken, what does not is named."""
        run, said = self.go_on(replace_head=5, freeze="^c", steps=STEPS + 1, loss="cross_entropy", data=self.five_classes())
        self.assertRegex(said, r"states of another shape or type start as compiled: .*'f3.bias' \(f32 \[5\], found f32 \[10\]\)")
        self.assertRegex(said, "tensors of the checkpoint that the artifact does not have: c1.bias.m, .*c1.weight.m")
        old = self.before()
        for step in STEPS + 1, STEPS + 2:  # they are no longer the artifact's, so that checkpoints have them
            for name in "c1.weight", "c1.bias", "c2.weight", "c2.bias":
                self.assertEqual(run.state(step)[name].tobytes(), old[name].tobytes(), name)
            dlc.dlc("train", resume=run.folder, steps=STEPS + 2)

    def five_classes(self):
        with np.load(dlc.data("mnist-train")) as data:
            chosen = data["y"] < 5
            np.savez(self.path("five.npz"), x=data["x"][chosen], y=data["y"][chosen])
        return self.path("five.npz")

    def test_refused(self):
        for state, code, message in (
                (self.artifact, dlc.USAGE, "expected a run or a checkpoint, found an artifact"),
                (self.path("none"), dlc.FAILED, self.path("none")),
                (f"{self.old}/checkpoint-7", dlc.FAILED, "has no checkpoint of step 7")):
            _, said = dlc.dlc("train", self.artifact, data=dlc.data("mnist-train"), run=self.path("r"), state=state, steps=MORE, code=code)
            self.assertIn(message, said)
            self.assertFalse(os.path.exists(self.path("r")))
        _, said = self.go_on(steps=STEPS, artifact=self.artifact, code=dlc.USAGE)
        self.assertIn(f"is of step {STEPS}, and the run ends with step {STEPS}: --steps and --epochs count from step 0 of the first run", said)
        other = dlc.compile(dlc.model("mlp"), self.path("mlp.dlc"), batch=16)
        _, said = dlc.dlc("train", other, data=dlc.data("digits-train"), run=self.path("o"), state=self.old, steps=MORE, code=dlc.INCOMPATIBLE)
        self.assertIn("it has none of the artifact's parameters", said)
        _, said = dlc.dlc("train", self.artifact, data=dlc.data("mnist-train"), state=self.old, find_lr=True, code=dlc.USAGE)
        self.assertIn("--resume and --state do not apply", said)


if __name__ == "__main__":
    dlc.main()
