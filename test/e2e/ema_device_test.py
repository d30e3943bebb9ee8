# SPDX-License-Identifier: Apache-2.0
"""Averages that the host keeps beside the next step have the bits of those in the step."""

import os
import json

import dlc
import numpy as np


class Host(dlc.TestCase):
    def train(self, device, name, data, steps=30, ranks=1, training=None, **options):
        options = dict(loss="cross_entropy", lr=0.02, ema_device=device) | options
        artifact = dlc.compile(dlc.model(name), self.path(device + ".dlc"), ddp=ranks, **options)
        return dlc.train(artifact, data, self.path(device), steps=steps, seed=1, threads=1, save_every=steps // 2,
                         **(training or {}))

    def check(self, name, data, steps=30, **options):
        inside, host = (self.train(device, name, data, steps, **options) for device in ("device", "cpu"))
        self.assertEqual(host.metrics("loss").tolist(), inside.metrics("loss").tolist())
        for step in steps // 2, steps:
            expected, found = inside.state(step), host.state(step)
            self.assertEqual(found.keys() - {"ema.moves"}, expected.keys())
            self.assertTrue(any(key.startswith("ema/") for key in expected))
            for key, value in expected.items():
                self.assertEqual(found[key].tobytes(), value.tobytes(), f"{key} after step {step}")
        return inside, host

    def test_constant(self):
        self.check("mlp", dlc.data("digits-train"), batch=16, ema=0.9, optimizer="adamw")

    def test_sets_with_a_start(self):
        self.check("lenet", dlc.data("mnist-train"), batch=8, ema="0.9,0.99", ema_start=10, momentum=0.9)

    def test_running_statistics(self):
        """The forward pass writes them early in the next step."""
        data = dlc.Reference("resnet8").write(self.path("data.npz"))
        self.check("resnet8", data, steps=10, batch=8, ema=True, ema_tau=5)

    def test_skipped_steps(self):
        run, _ = self.check("lenet", dlc.data("mnist-train"), batch=16, ema=0.9, amp=True, amp_dtype="fp16",
                            loss_scale_init=2.0**24)
        self.assertGreater(run.metrics("found_inf").sum(), 0)

    def test_two_ranks(self):
        self.check("mlp", dlc.data("digits-train"), batch=8, ranks=2, ema=True, ema_tau=10)

    def test_validation_sees_them(self):
        """Averages are exchanged with the weights while none is under way."""
        runs = self.check("mlp", dlc.data("digits-train"), steps=60, batch=50, ema=0.9,
                          training=dict(val=dlc.data("digits-test")))
        lines = []
        for run in runs:
            with open(os.path.join(run.folder, "epochs.jsonl")) as file:
                lines.append([json.loads(line) for line in file])
        self.assertEqual(*lines)
        self.assertIn("ema_loss", lines[0][0])

    def test_the_step_has_no_averages(self):
        out, _ = dlc.dlc("compile", dlc.model("mlp"), stop_after="plan", ema=0.9, ema_device="cpu")
        step, follower = out.split("exec.program @ema_step")
        self.assertIn("dlc.after = @train_step", follower)
        self.assertNotIn("@ema", step.split("exec.program @train_step")[1])
        self.assertIn("@ema", follower)


if __name__ == "__main__":
    dlc.main()
