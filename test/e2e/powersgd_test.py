# SPDX-License-Identifier: Apache-2.0
"""--compress=powersgd: gradients travel as products of two thin matrices, as with torch's powerSGD_hook.

Reference: test/refs/make_powersgd.py.
"""

import json
import os

import dlc
import numpy as np

SGD = dict(dlc.CONSTANT_SGD, lr=0.05, momentum=0.9, weight_decay=1e-4)
ERROR, FACTOR = ".powersgd_error", ".powersgd_q"


class PowerSgd(dlc.TestCase):
    def compile(self, name, **options):
        return dlc.compile(dlc.model("lenet"), self.path(name + ".dlc"), **(dict(ddp=2, batch=16, compress="powersgd:2") | SGD | options))

    def train(self, name, artifact=None, data=None, train=None, **options):
        artifact = artifact or self.compile(name, **options)
        return dlc.train(artifact, data or dlc.data("mnist-train"), self.path(name), **(dict(shuffle="off", threads=1, steps=8) | (train or {})))

    def test_as_torch(self):
        """Losses, weights and errors follow the hook's from the same Q."""
        reference = dlc.Reference("lenet")
        arrays = np.load(os.path.join(dlc.REFS, "powersgd_ref.npz"))
        artifact = self.compile("torch", batch=reference.batch // 2)
        run = self.train("torch", artifact, reference.write(self.path("data.npz")), dict(steps=len(arrays["losses"])))
        initial, final = run.initial(artifact), run.state(len(arrays["losses"]))
        for key in arrays.files:
            kind, _, name = key.partition("/")
            if kind == "q":
                self.assertEqual(initial[name + FACTOR].tobytes(), arrays[key].tobytes(), "Q: make_powersgd.py is to run again")
            elif kind == "final":
                self.assertNear(final[name].flatten()[:len(arrays[key])], arrays[key], 1e-4, key)
            elif kind == "error":
                self.assertNear(final[name + ERROR].mean(0).flatten()[:len(arrays[key])], arrays[key], 1e-3, key)
        np.testing.assert_allclose(run.metrics("loss"), arrays["losses"], rtol=1e-4)
        self.assertEqual({k[:-len(FACTOR)] for k in initial if k.endswith(FACTOR)}, {k[2:] for k in arrays.files if k.startswith("q/")})

    def test_whole_gradients_at_first(self):
        """As the hook with start_powerSGD_iter, then as it with what it had; resumed on both sides of the change, too."""
        reference, arrays = dlc.Reference("lenet"), np.load(os.path.join(dlc.REFS, "powersgd_start_ref.npz"))
        steps = len(arrays["losses"])
        data = reference.write(self.path("data.npz"))
        artifact, plain, thin = (self.compile(name, batch=reference.batch // 2, compress=compress) for name, compress in
                                 (("late", "powersgd:2:2:6"), ("whole", "none"), ("thin", "powersgd:2")))
        run = self.train("late", artifact, data, dict(steps=steps))
        final = run.state(steps)
        np.testing.assert_allclose(run.metrics("loss"), arrays["losses"], rtol=1e-4)
        for key in arrays.files:
            kind, _, name = key.partition("/")
            if kind == "final":
                self.assertNear(final[name].flatten()[:len(arrays[key])], arrays[key], 1e-4, key)
            elif kind == "error":
                self.assertNear(final[name + ERROR].mean(0).flatten()[:len(arrays[key])], arrays[key], 1e-3, key)
        losses = [self.train(name, each, data, dict(steps=8)).metrics("loss") for name, each in (("whole", plain), ("thin", thin))]
        np.testing.assert_array_equal(run.metrics("loss")[:7], losses[0][:7])
        self.assertTrue((run.metrics("loss")[2:7] != losses[1][2:7]).all())
        for stop in 5, 6, 7:
            part = self.train(f"part{stop}", artifact, data, dict(steps=stop))
            errors = [np.abs(error).max() for name, error in part.state(stop).items() if name.endswith(ERROR)]
            self.assertEqual(all(error == 0 for error in errors), stop <= 6, stop)
            dlc.dlc("train", resume=part.folder, steps=steps, threads=1)
            self.assertBitwise(part.state(steps), final, str(stop))

    def test_start_with_other_options(self):
        """Windows, averages by the host, sizes, and the check of a step node by node."""
        options = dict(compress="powersgd:2:2:2", accumulate=2, batch=8)
        artifact = self.compile("windows", **options)
        first, whole = (self.train(name, each, train=dict(steps=3)).metrics("loss") for name, each in
                        (("windows", artifact), ("windows-whole", self.compile("windows-whole", **options | dict(compress="none")))))
        np.testing.assert_array_equal(first[:3], whole[:3])
        inside, host = (self.train(place, self.compile(place, **options | dict(ema=0.9, ema_device=place, batch="8,4"))).state(8)
                        for place in ("device", "cpu"))
        self.assertBitwise(host, inside, "ema")
        out, _ = dlc.dlc("inspect", artifact)
        self.assertIn("start_step", out)
        self.train("debug", artifact, train=dict(steps=3, debug_overflow=True))
        self.assertIn("no tensor differs", dlc.dlc("debug", "compare", artifact, artifact, data=dlc.data("mnist-train"), steps=3)[0])
        _, err = dlc.dlc("compile", dlc.model("mlp"), "-o", self.path("no.dlc"), ddp=2, compress="powersgd:1024:2:5")
        self.assertIn("--compress=powersgd has no effect", err)

    def test_converges_with_few_bytes(self):
        """Much less travels, and after some steps the loss is near that of whole gradients."""
        plain = self.compile("plain", compress="none")
        thin = self.compile("thin", compress="powersgd:4")
        sent = [json.loads(dlc.dlc("inspect", each, json=True)[0])["programs"]["train_step"]["collectives"]["bytes"] for each in (plain, thin)]
        self.assertLess(sent[1], 0.2 * sent[0])
        steps = dict(steps=150)
        losses = [self.train(name, artifact, train=steps).metrics("loss") for name, artifact in (("a", plain), ("b", thin))]
        self.assertLess(losses[0][-30:].mean(), 0.5 * losses[0][0])
        self.assertLess(losses[1][-30:].mean(), 1.3 * losses[0][-30:].mean())

    def test_error_is_fed_back(self):
        """What did not travel is the ranks' own, and is what gradients lack."""
        run = self.train("fed")
        state = run.state(8)
        errors = {k: v for k, v in state.items() if k.endswith(ERROR)}
        self.assertTrue(errors)
        for name, error in errors.items():
            self.assertEqual(error.shape, (2, *state[name[:-len(ERROR)]].shape))
            self.assertGreater(np.abs(error[0] - error[1]).max(), 0, name)

    def test_same_bits_again(self):
        """In any run, with whole or sharded checkpoints, resumed or not; three ranks with clipping, windows and averages, too."""
        options = dict(ddp=3, batch=8, compress="powersgd:3:1.5", clip_grad=0.5, accumulate=2, bucket_mb=0.02, ema=0.9)
        artifact = self.compile("bits", **options)
        expected = self.train("once", artifact).state(8)
        for save in "background", "sharded":
            first = self.train(save, artifact, train=dict(steps=4, save=save))
            for key, error in first.state(4).items():
                if key.endswith(ERROR):
                    self.assertEqual(len(error), 3)
            dlc.dlc("train", resume=first.folder, steps=8, threads=1)
            self.assertBitwise(first.state(8), expected, save)

    def test_another_number_of_ranks(self):
        """Each starts with the mean of the errors; a checkpoint of any number is read."""
        run = self.train("ranks", train=dict(steps=4))
        before = run.state(4)
        for ranks, steps in (3, 6), (1, 8), (2, 10):
            dlc.dlc("train", resume=run.folder, ranks=ranks, steps=steps, threads=1)
            after = run.state(steps)
            for name in before:
                if name.endswith(ERROR):
                    self.assertEqual(after[name].shape, (ranks, *before[name].shape[1:]))
        self.assertLess(dlc.evaluate(run.folder, dlc.data("mnist-test"))["loss"], 2.4)
        dlc.dlc("export", run.folder, "-o", self.path("trained.onnx"))

    def test_replay(self):
        """A step of a run that diverges is done again from all ranks' errors."""
        run = self.path("diverge")
        artifact = self.compile("diverge", lr=1e30)
        dlc.dlc("train", artifact, data=dlc.data("mnist-train"), run=run, steps=20, threads=1, code=dlc.DIVERGED)
        bundle = next(name for name in os.listdir(run) if name.startswith("replay-"))
        out, err = dlc.dlc("debug", "replay", os.path.join(run, bundle))
        self.assertRegex(out + err, r"Gemm|Conv|step")
        self.train("debug", self.compile("debug"), train=dict(steps=3, debug_overflow=True))

    def test_refusals(self):
        for options, flag in (
                (dict(zero=1), "--zero"), (dict(zero=3), "--zero"), (dict(target="cuda", sm=90), "--target=cuda"),
                (dict(amp=True, amp_dtype="fp16"), "--loss-scale")):
            _, err = dlc.dlc("compile", dlc.model("lenet"), "-o", self.path("no.dlc"), ddp=2, compress="powersgd:2", code=dlc.BAD_MODEL, **options)
            self.assertRegex(err, rf"--compress=powersgd does not support {flag}: .*use --compress=bf16")
        _, err = dlc.dlc("compile", dlc.model("lenet"), "-o", self.path("no.dlc"), compress="powersgd:2")
        self.assertIn("--compress changes nothing for one rank", err)
        _, err = dlc.dlc("compile", dlc.model("mlp"), "-o", self.path("no.dlc"), ddp=2, compress="powersgd:1024")
        self.assertIn("--compress=powersgd has no effect: no gradient", err)
        for word in "powersgd", "powersgd:0", "powersgd:x", "int8", "powersgd:1:2:x", "powersgd:1:2:-1", "powersgd:1:2:3:4":
            _, err = dlc.dlc("compile", dlc.model("lenet"), "-o", self.path("no.dlc"), ddp=2, compress=word, code=dlc.USAGE)
            self.assertIn("--compress", err)

    def test_plan(self):
        """dlc plan counts what travels, and the memory of the errors."""
        rows = []
        for compress in "none", "powersgd:2":
            artifact = self.compile("plan-" + compress[:4], compress=compress)
            profiled = self.train("profiled-" + compress[:4], artifact, train=dict(profile=True, steps=4))
            out, _ = dlc.dlc("plan", artifact, gpus=2, json=True, profile=profiled.folder + "/profile.json", net="100Mbps", node=1)
            rows.append(next(row for row in json.loads(out)["rows"] if row["mode"] == "ddp"))
        self.assertLess(rows[1]["communication_ms"], 0.5 * rows[0]["communication_ms"])
        self.assertGreater(rows[1]["memory_bytes"], rows[0]["memory_bytes"])


if __name__ == "__main__":
    dlc.main()
