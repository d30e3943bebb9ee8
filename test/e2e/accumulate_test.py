# SPDX-License-Identifier: Apache-2.0
"""--accumulate=N: an update of N micro-batches equals PyTorch's loop over them, and one of the whole batch.

References: test/refs/make_accumulate.py.
"""

import json
import os
from unittest import mock

import dlc
import numpy as np

OPTIMIZERS = {
    "sgd": dict(optimizer="sgd", lr=0.05, momentum=0.9, weight_decay=1e-4),
    "adamw": dict(optimizer="adamw", lr=1e-3, weight_decay=1e-2),
}
STEPS = 20


class Accumulate(dlc.TestCase):
    def train(self, name, data, steps, inject="", run="run", shuffle="off", **options):
        artifact = dlc.compile(dlc.model(name), self.path(run + ".dlc"), **options)
        with mock.patch.dict(os.environ, DLC_INJECT_INF=inject):
            return dlc.train(artifact, data, self.path(run), steps=steps, shuffle=shuffle, threads=1,
                             save_every=1, keep=99)

    def check_reference(self, optimizer, batch=16, **options):
        arrays = np.load(os.path.join(dlc.REFS, "accumulate_ref.npz"))
        data = self.path("data.npz")
        np.savez(data, x=np.concatenate(arrays["images"]), y=np.concatenate(arrays["classes"]))
        run = self.train("mlp", data, STEPS, batch=batch, grad_norm=True, **OPTIMIZERS[optimizer], **options)
        np.testing.assert_allclose(run.metrics("loss"), arrays[optimizer + "/losses"], rtol=1e-5)
        np.testing.assert_allclose(run.metrics("grad_norm"), arrays[optimizer + "/norm"], rtol=1e-5)
        final = optimizer + "/final/"
        for key in arrays.files:
            if key.startswith(final):
                self.assertNear(run.state(STEPS)[key[len(final):]], arrays[key], 1e-5, key)
        return run

    def test_sgd_as_torch(self):
        run = self.check_reference("sgd", accumulate=4)
        self.assertFalse([key for key in run.state(STEPS) if key.startswith("grad/")])

    def test_adamw_as_torch(self):
        self.check_reference("adamw", accumulate=4)

    def test_scaled_as_torch(self):
        self.check_reference("adamw", accumulate=4, loss_scale=1024)

    def test_two_ranks_as_torch(self):
        self.check_reference("sgd", accumulate=4, batch=8, ddp=2)

    def test_whole_batch(self):
        """Two micro-batches of lenet are one of twice the size; the schedule and epochs count updates."""
        data, options = dlc.data("mnist-train"), dict(schedule="cosine", warmup=1, schedule_per="epoch", ema=0.5)
        whole = self.train("lenet", data, 4, batch=32, run="whole", **options)
        parts = self.train("lenet", data, 4, batch=16, accumulate=2, run="parts", **options)
        for key in "loss", "lr":
            np.testing.assert_allclose(parts.metrics(key), whole.metrics(key), rtol=1e-5)
        expected, found = whole.state(4), parts.state(4)
        for key, value in expected.items():
            if value.dtype == np.float32:
                self.assertNear(found[key], value, 2e-5, key)
        self.assertEqual(int(found["schedule.epoch_steps"]), int(expected["schedule.epoch_steps"]))

    def test_half_life_counts_all_samples(self):
        data = dlc.data("digits-train")
        run = self.train("mlp", data, 1, batch=8, accumulate=2, ddp=2, ema=True, ema_halflife=32,
                         lr=0.5)
        before, after = run.initial(self.path("run.dlc")), run.state(1)
        w = before["f1.weight"]
        self.assertNear(after["ema/f1.weight"] - w, (after["f1.weight"] - w) * (1 - 0.5**1), 1e-4, "32 samples")

    def test_batch_norm_moves_with_every_micro_batch(self):
        data = dlc.Reference("resnet8").write(self.path("data.npz"))
        options = dict(batch=4, lr=0)
        one = self.train("resnet8", data, 2, run="one", **options).state(2)
        two = self.train("resnet8", data, 1, run="two", accumulate=2, **options).state(1)
        keys = [key for key in one if "running" in key]
        self.assertTrue(keys)
        self.assertBitwise({k: two[k] for k in keys}, {k: one[k] for k in keys}, "running statistics")

    def test_one_all_reduce_a_window(self):
        artifact = dlc.compile(dlc.model("lenet"), self.path("m.dlc"), ddp=2, batch=8, accumulate=4)
        programs = json.loads(dlc.dlc("inspect", artifact, json=True)[0])["programs"]
        self.assertEqual(programs["accumulate_step"]["collectives"]["buckets"], 0)
        self.assertEqual(programs["train_step"]["collectives"]["buckets"], 1)

    def check_skips(self, **options):
        """An infinite gradient of the first micro-batch is still seen at the end of its window."""
        run = self.train("mlp", dlc.data("digits-train"), 6, inject="2,3", batch=8, accumulate=3, ema=0.9,
                         loss_scale="dynamic", loss_scale_init=1024, **options)
        self.assertEqual(run.metrics("found_inf").tolist(), [0, 1, 1, 0, 0, 0])
        self.assertEqual(run.metrics("loss_scale").tolist(), [1024, 1024, 512, 256, 256, 256])
        for step in 2, 3:
            before, after = run.state(step - 1), run.state(step)
            changed = {k for k in after if after[k].tobytes() != before[k].tobytes()}
            self.assertLessEqual(changed, {"scaler.scale", "scaler.growth", "accumulate.loss"})
        self.assertNotEqual(run.state(3)["f1.weight"].tobytes(), run.state(4)["f1.weight"].tobytes())

    def test_infinite_micro_batch(self):
        self.check_skips()

    def test_infinite_micro_batch_of_two_ranks(self):
        self.check_skips(ddp=2)

    def test_what_is_printed(self):
        _, err = dlc.dlc("compile", dlc.model("mlp"), "-o", self.path("m.dlc"), batch=16, accumulate=4, ddp=2)
        self.assertIn("batch 16 a rank and micro-batch, 4 of these an update, 128 in all", err)
        _, err = dlc.dlc("train", self.path("m.dlc"), data=dlc.data("digits-train"), run=self.path("run"), steps=1)
        self.assertIn("1 steps of 128 samples (4 micro-batches of 16 a rank)", err)

    def test_too_few_samples(self):
        artifact = dlc.compile(dlc.model("mlp"), self.path("m.dlc"), batch=16, accumulate=999)
        _, err = dlc.dlc("train", artifact, data=dlc.data("digits-train"), run=self.path("run"), code=dlc.FAILED)
        self.assertRegex(err, r"expected at least 15984: one step of 999 micro-batches of 16 on 1 rank")


if __name__ == "__main__":
    dlc.main()
