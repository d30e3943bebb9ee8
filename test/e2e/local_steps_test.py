# SPDX-License-Identifier: Apache-2.0
"""--sync-every: ranks step by themselves, and meet every N steps by an outer optimizer, as in DiLoCo.

Reference: test/refs/make_diloco.py.
"""

import json
import os
import signal
import time

import dlc
import numpy as np

ADAMW = dict(dlc.CONSTANT_SGD, optimizer="adamw", lr=1e-3, weight_decay=1e-2)


class LocalSteps(dlc.TestCase):
    def compile(self, name, **options):
        return dlc.compile(dlc.model("lenet"), self.path(name + ".dlc"), **(dict(ddp=2, batch=16) | options))

    def train(self, name, artifact, data=None, **train):
        return dlc.train(artifact, data or dlc.data("mnist-train"), self.path(name), **(dict(shuffle="off", threads=1, steps=12) | train))

    def test_as_torch(self):
        """AdamW on two ranks, five meetings by Nesterov's momentum: PyTorch's parameters."""
        reference = dlc.Reference("lenet")
        arrays = np.load(os.path.join(dlc.REFS, "diloco_ref.npz"))
        artifact = self.compile("torch", batch=reference.batch // 2, sync_every=4, eps=1e-3, **ADAMW)
        run = self.train("torch", artifact, reference.write(self.path("data.npz")), steps=len(arrays["losses"]))
        initial, final = run.initial(artifact), run.state(len(arrays["losses"]))
        np.testing.assert_allclose(run.metrics("loss"), arrays["losses"], rtol=2e-6)
        for name in (key[len("final/"):] for key in arrays.files if key.startswith("final/")):
            expected = arrays["final/" + name].astype(np.float64)
            found, first = (state[name].astype(np.float64).flatten()[:len(expected)] for state in (final, initial))
            self.assertNear(found - first, expected - first, max(2e-6, 3 * arrays["noise/" + name]), name)
            self.assertEqual(final[name + ".sync_anchor"].tobytes(), final[name].tobytes())
            self.assertEqual(final[name + ".m"].shape, (2, *final[name].shape))
            self.assertGreater(np.abs(np.diff(final[name + ".m"], axis=0)).max(), 0)

    def test_every_step_is_data_parallelism(self):
        """With SGD and the plain average, but for the rounding of 12 steps; by default, every second step, it is not."""
        sgd = dict(dlc.CONSTANT_SGD, lr=0.05)
        expected, found, apart = (
            self.train(name, self.compile(name, **options, **sgd)).state(12)
            for name, options in (("ddp", {}), ("one", dict(sync_every=1, outer_optimizer="sgd(lr=1)")), ("two", dict(sync_every=2))))
        for name in (name[:-len(".sync_m")] for name in apart if name.endswith(".sync_m")):
            rounding = 12 * np.spacing(np.abs(expected[name]).max())
            self.assertLessEqual(np.abs(found[name] - expected[name]).max(), rounding, name)
            self.assertGreater(np.abs(apart[name] - expected[name]).max(), 100 * rounding, name)

    def sent(self, artifact, program):
        return json.loads(dlc.dlc("inspect", artifact, json=True)[0])["programs"][program].get("collectives", {}).get("bytes", 0)

    def test_bytes(self):
        """A step sends nothing, a meeting what a step of data parallelism does without its loss."""
        ddp, local = self.compile("ddp"), self.compile("local", sync_every=8)
        self.assertEqual(self.sent(local, "train_step"), 0)
        whole = self.sent(ddp, "train_step")
        self.assertTrue(0.99 * whole < self.sent(local, "sync_step") < whole)

    def test_resumes_bit_for_bit(self):
        """With each rank's moments, whole or in parts; ranks that meet at a checkpoint are together there, as in an evaluation."""
        artifact = self.compile("bits", ddp=3, sync_every=5, clip_grad=0.5, accumulate=2, bucket_mb=0.02, **ADAMW)
        expected = self.train("once", artifact, save_every=4).state(12)
        for save in "background", "sharded":
            first = self.train(save, artifact, save_every=4, steps=8, save=save)
            dlc.dlc("train", resume=first.folder, steps=12, threads=1)
            self.assertBitwise(first.state(12), expected, save)
        self.train("checked", artifact, check_ranks=3)
        dlc.dlc("train", resume=self.path("checked"), ranks=2, steps=14, threads=1)
        self.assertEqual(dlc.Run(self.path("checked")).state(14)["c1.weight.m"].shape[0], 2)

    def test_meetings_count(self):
        """A rank that waits for another one at a meeting says so in its next step's time."""
        artifact = self.compile("late", sync_every=4, **ADAMW)
        process = dlc.start("train", artifact, data=dlc.data("mnist-train"), run=self.path("late"), epochs=1000, threads=1)
        self.addCleanup(dlc.kill, process)
        metrics = self.path("late/metrics.jsonl")
        self.wait_for_steps(metrics, 300)  # at first ranks often ask each other for signals
        late = dlc.descendants(process.pid)[1]
        for _ in range(3):
            os.kill(late, signal.SIGSTOP)
            time.sleep(0.5)
            os.kill(late, signal.SIGCONT)
            self.wait_for_steps(metrics, 50)
        process.send_signal(signal.SIGTERM)
        dlc.finish(process, 30)
        seconds = 32 / dlc.Run(self.path("late")).metrics("samples_per_second")
        slowest = 1 + int(seconds[1:].argmax())
        self.assertGreater(seconds[slowest], 0.4)
        self.assertEqual(slowest % 4, 0, "the first step behind a meeting")

    def wait_for_steps(self, metrics, more):
        """Until so many more are written."""
        def written():
            if not os.path.exists(metrics):
                return 0
            with open(metrics) as file:
                return file.read().count("\n")
        begin, end = written(), time.monotonic() + 30
        while written() < begin + more:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)

    def test_refusals(self):
        for options, flag in (
                (dict(zero=1), "--zero"), (dict(compress="bf16"), "--compress"), (dict(sync_bn=True), "--sync-bn"), (dict(ema=True), "--ema"),
                (dict(amp=True, amp_dtype="fp16"), "--loss-scale"), (dict(optimizer="adamw", moments="bf16"), "--moments")):
            _, err = dlc.dlc("compile", dlc.model("lenet"), "-o", self.path("no.dlc"), ddp=2, sync_every=4, code=dlc.USAGE, **options)
            self.assertIn(f"--sync-every=4 conflicts with {flag}, as each rank updates locally: drop one of the two", err)
        _, err = dlc.dlc("compile", dlc.model("lenet"), "-o", self.path("no.dlc"), ddp=2, sync_every=4, amp="O3", code=dlc.BAD_MODEL)
        self.assertRegex(err, r"--sync-every needs parameters and moments of f32, but '.*' is 'bf16'")
        _, err = dlc.dlc("compile", dlc.model("lenet"), "-o", self.path("one.dlc"), sync_every=4)
        self.assertIn("--sync-every changes nothing for one rank", err)
        for outer in "adam", "sgd(beta1=1)", "sgd(dampening=0.1)", "sgd(nesterov=true)":
            _, err = dlc.dlc("compile", dlc.model("lenet"), "-o", self.path("no.dlc"), ddp=2, sync_every=4, outer_optimizer=outer, code=dlc.USAGE)
            self.assertIn("--outer-optimizer: ", err)


if __name__ == "__main__":
    dlc.main()
