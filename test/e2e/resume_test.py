# SPDX-License-Identifier: Apache-2.0
"""A run killed at any moment and resumed ends with the bits of the undisturbed run."""

import os
import random
import time

import dlc

STEPS = 120


class Resume(dlc.TestCase):
    def setUp(self):
        super().setUp()
        self.random = random.Random(20)

    def begin(self, artifact, data, run, **options):
        options = dict(steps=STEPS, save_every=10) | options
        return dlc.start("train", artifact, data=dlc.data(data), run=run, seed=7, threads=1, **options)

    def go_on(self, run):
        return dlc.start("train", resume=run)

    def end(self, process):
        status, _, err = dlc.finish(process)
        self.assertEqual(status, dlc.OK, err)

    def steps(self, run):
        """How many steps the run has reported so far."""
        try:
            with open(os.path.join(run, "metrics.jsonl")) as file:
                return sum(1 for _ in file)
        except FileNotFoundError:
            return 0

    def kill_at(self, process, run, step):
        """Kills soon after the run has come `step` steps further than it was."""
        goal = self.steps(run) + step
        while process.poll() is None and self.steps(run) < goal:
            time.sleep(0.002)
        time.sleep(self.random.random() * 0.02)
        alive = process.poll() is None
        dlc.kill(process)
        return alive

    def check(self, name, data, rounds, steps=STEPS, save_every=10, scale=None, **options):
        artifact = dlc.compile(dlc.model(name), self.path("model.dlc"), steps=steps, **options)
        training = dict(steps=steps, save_every=save_every, scale=scale)
        undisturbed = self.path("undisturbed")
        self.end(self.begin(artifact, data, undisturbed, **training))
        expected = dlc.Run(undisturbed).state(steps)

        again = self.path("again")
        self.end(self.begin(artifact, data, again, **training | dict(save_every=steps)))
        self.assertBitwise(dlc.Run(again).state(steps), expected, "the same run twice")

        for number in range(rounds):
            run, kills = self.path(f"run{number}"), 0
            process = self.begin(artifact, data, run, **training)
            while self.kill_at(process, run, 12 + self.random.randrange(40)):
                kills += 1
                process = self.go_on(run)
            self.assertGreater(kills, 0)
            self.end(self.go_on(run))  # a finished run stays as it is
            self.assertBitwise(dlc.Run(run).state(steps), expected, f"after {kills} kills")
            reported = dlc.Run(run).metrics("step").tolist()
            self.assertEqual(reported, list(range(1, steps + 1)))
        return dlc.Run(undisturbed)

    def test_sgd_ema(self):
        self.check("lenet", "mnist-train", 3, batch=16, optimizer="sgd", momentum=0.9,
                   schedule="cosine", ema=True)

    def test_onecycle_and_two_averages(self):
        self.check("lenet", "mnist-train", 2, batch=16, optimizer="adamw", lr=1e-3, schedule="onecycle",
                   ema="0.9,0.99", ema_kind="timm", ema_warmup=True, ema_start=25)

    def test_adamw_amp(self):
        self.check("gpt_tiny", "text-train", 2, batch=8, optimizer="adamw", lr=1e-3, amp=True,
                   clip_grad=1.0, schedule="cosine", warmup=10)

    def test_muon_beside_adamw(self):
        self.check("lenet", "mnist-train", 1, batch=16, optimizer="muon", no_decay="norm_bias", lr_scale="^c1:0.5")

    def test_nadam(self):
        """The product of its momenta is a state, which a skipped step leaves alone."""
        self.check("lenet", "mnist-train", 1, batch=16, optimizer="nadam", lr=1e-3, loss_scale="dynamic", schedule="onecycle")

    def test_adafactor_on_two_ranks(self):
        self.check("lenet", "mnist-train", 1, batch=16, ddp=2, optimizer="adafactor", moments="bf16", ema=0.99)

    def test_lars(self):
        self.check("lenet", "mnist-train", 1, batch=16, optimizer="lars", accumulate=2, no_decay="norm_bias", weight_decay=0.01)

    def test_moments_that_start_at_one(self):
        self.check("lenet", "mnist-train", 1, batch=16, optimizer="rmsprop_tf", lr=1e-4, momentum=0.9)

    def test_moments_in_half(self):
        self.check("lenet", "mnist-train", 1, batch=16, optimizer="adamw", lr=1e-3, moments="bf16", ema=0.99)

    def test_moments_in_8_bits_on_two_ranks(self):
        self.check("lenet", "mnist-train", 1, batch=16, ddp=2, optimizer="adamw", lr=1e-3, moments="8bit", ema=0.99,
                   loss_scale="dynamic")

    def test_averages_on_the_host(self):
        self.check("lenet", "mnist-train", 1, batch=16, optimizer="adamw", lr=1e-3, ema="0.9,0.99",
                   ema_device="cpu", ema_start=20, loss_scale="dynamic")

    def test_lamb_on_two_ranks(self):
        self.check("lenet", "mnist-train", 1, batch=16, ddp=2, optimizer="lamb", no_decay="norm_bias", ema=0.99)

    def test_two_ranks(self):
        self.check("lenet", "mnist-train", 2, batch=16, ddp=2, optimizer="adamw", lr=1e-3, ema=0.99)

    def test_two_ranks_with_everything(self):
        """The loss scale grows to where gradients overflow, so its state matters too."""
        run = self.check("lenet", "mnist-train", 2, batch=16, ddp=2, scale=10, optimizer="sgd", lr=1e-5,
                         momentum=0.9, nesterov=True, amp=True, ema=True, loss_scale="dynamic", loss_scale_init=2.0**115,
                         loss_scale_interval=7, schedule="cosine", warmup=10)
        self.assertGreater(sum(run.metrics("found_inf")), 5)

    def test_accumulated_on_two_ranks(self):
        """Kills fall into windows, too; the data has 22 updates an epoch."""
        self.check("mlp", "digits-train", 2, batch=8, accumulate=4, ddp=2, optimizer="adamw", lr=1e-3, ema=0.9,
                   loss_scale="dynamic", loss_scale_interval=9)

    def test_longer_than_an_epoch(self):
        """The order of the samples goes on where it was, also in later epochs."""
        self.check("mlp", "digits-train", 2, steps=400, batch=50, optimizer="sgd")

    def test_while_checkpoints_are_written(self):
        self.check("lenet", "mnist-train", 1, batch=16, save_every=1, ema=True)


if __name__ == "__main__":
    dlc.main()
