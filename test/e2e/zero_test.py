# SPDX-License-Identifier: Apache-2.0
"""--zero: each rank keeps a part of moments and averages (1), of gradients (2), of parameters (3). Not one bit of a run may change by it."""
# processors: 2

import json
import os
import re
import sys
import time
from unittest import mock

import dlc
import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "import"))
import onnx  # noqa: E402
from support import model, node, value  # noqa: E402

ADAMW = dict(optimizer="adamw", lr=1e-3, schedule="constant", weight_decay=0.01)
MOMENTUM = dict(dlc.CONSTANT_SGD, lr=0.05, momentum=0.9, weight_decay=1e-4)


class Zero(dlc.TestCase):
    def compile(self, name, zero, model="lenet", ranks=2, **options):
        parts = dict(zero_whole_mb=1e-6) if zero == 3 else {}
        return dlc.compile(dlc.model(model), self.path(f"{name}-{zero}.dlc"), ddp=ranks, zero=zero, **(dict(batch=8) | parts | options))

    def train(self, name, zero, steps=6, model="lenet", train=None, **options):
        artifact = self.compile(name, zero, model, **options)
        if model == "resnet8":
            data = dlc.Reference(model).write(self.path("data.npz"))
        else:
            data = dlc.data("mnist-train")
        return dlc.train(artifact, data, self.path(f"{name}-{zero}"), shuffle="off", steps=steps, threads=1, **(train or {}))

    def check(self, name, steps=6, levels=(1, 2, 3), **options):
        plain = self.train(name, 0, steps, **options)
        runs = [plain]
        for zero in levels:
            runs.append(self.train(name, zero, steps, **options))
            self.assertBitwise(runs[-1].state(steps), plain.state(steps), f"{name}, {zero}")
            for metric in ["loss"] + ["grad_norm"] * ("clip_grad" in options):
                np.testing.assert_array_equal(runs[-1].metrics(metric), plain.metrics(metric))
        return runs

    def test_momentum_small_buckets(self):
        """Some tensors are one item: a rank has nothing of them."""
        self.check("buckets", bucket_mb=0.01, **MOMENTUM)

    def test_adamw_three_ranks(self):
        self.check("three", ranks=3, accumulate=2, clip_grad=0.5, bucket_mb=0.05, **ADAMW)

    def test_four_ranks(self):
        self.check("four", ranks=4, levels=(2, 3), first_bucket_mb=0.001, bucket_mb=0.02, **MOMENTUM)

    def test_updates_are_the_same_kernels(self):
        """What ranks share out is computed by kernels of equal text, but for shapes: equal bits are no luck."""
        options = dict(ddp=2, batch=8, bucket_mb=0.05, emit="mlir", stop_after="plan", quiet=True) | ADAMW
        kernels = []
        for zero in 0, 1, 2, 3:
            parts = dict(zero_whole_mb=1e-6) if zero == 3 else {}
            text, _ = dlc.dlc("compile", dlc.model("lenet"), "-o", "-", zero=zero, **parts, **options)
            bodies = {name: re.sub(r"<(\d+x)+", "<nx", body)
                      for name, body in re.findall(r"exec\.kernel @(\S+) [^\n]*\n(.*?)\n  }", text, re.DOTALL)}
            shared = re.findall(r"exec\.launch @(\S+) .*shard = ", text)
            self.assertEqual(bool(shared), zero > 0)
            kernels.append({bodies[name] for name in shared or bodies})
        for zero in 1, 2, 3:
            self.assertLessEqual(kernels[zero], kernels[0])

    def test_no_moments(self):
        self.check("plain", levels=(2, 3), bucket_mb=0.05, **dict(dlc.CONSTANT_SGD, lr=0.05))

    def test_norms_of_whole_gradients(self):
        """At level 1 they are complete on each rank; only lars's momentum is in parts."""
        self.check("lars", levels=(1,), optimizer="lars", lr=0.1, schedule="constant", weight_decay=0.01)

    def test_a_product_beside_the_moments(self):
        self.check("nadam", optimizer="nadam", lr=1e-3, schedule="constant", clip_grad=1)

    def test_averages(self):
        """Two sets of averages of the parameters, evaluated on all ranks."""
        data = dlc.data("mnist-test")
        runs = self.check("ema", ema="0.9,0.99", clip_grad=1, bucket_mb=0.1, **ADAMW, train=dict(val=data))
        losses = []
        for run in runs:
            with open(run.folder + "/epochs.jsonl") as file:
                losses.append([{k: v for k, v in json.loads(line).items() if k.endswith("loss")} for line in file])
        self.assertIn("ema.2_loss", losses[0][0])
        evaluated = [dlc.evaluate(run.folder, data, ema=True)["loss"] for run in runs]
        for run in runs:
            dlc.dlc("export", run.folder, "-o", run.folder + ".onnx", ema=True)
        weights = [[t.SerializeToString() for t in onnx.load(run.folder + ".onnx").graph.initializer] for run in runs]
        for each in losses, evaluated, weights:
            self.assertTrue(all(one == each[0] for one in each), "the levels agree")

    def test_averages_by_the_host(self):
        self.check("host", ema=0.9, ema_device="cpu", **MOMENTUM)

    def test_norms_and_half(self):
        """Averages of buffers stay whole, as each rank's buffers are its own; a step with an overflow moves nothing."""
        with mock.patch.dict(os.environ, DLC_INJECT_INF="2"):
            *_, run = self.check("half", steps=3, model="resnet8", amp="O1", amp_dtype="fp16", ema=0.9, batch=4, **MOMENTUM)
        self.assertEqual(list(run.metrics("found_inf")), [0, 1, 0])

    def test_each_gradient_clipped(self):
        self.check("each", clip_param_grad=0.01, moments="bf16", **ADAMW)

    def test_each_gradient_and_their_norm_clipped(self):
        """Ten gradients of one norm each have sqrt(10) times that together."""
        for run in self.check("both", clip_param_grad=1e-3, clip_grad=2e-3, bucket_mb=0.05, **ADAMW):
            np.testing.assert_allclose(run.metrics("grad_norm"), 1e-3 * 10 ** 0.5, rtol=1e-2)

    def test_values_and_norm_clipped(self):
        """The norm is that of clamped elements, which are nowhere in memory."""
        exact = [run.metrics("grad_norm") for run in self.check("norm", clip_grad=0.5, bucket_mb=0.05, **ADAMW)]
        clamped = [run.metrics("grad_norm") for run in self.check("clamped", ranks=3, clip_value=0.001, clip_grad=0.02, bucket_mb=0.05, **ADAMW)]
        self.assertLess(clamped[0].max(), exact[0].min())

    def test_rounded_on_their_way(self):
        """Parts of halves, with all that reads gradients in another form."""
        self.check("bf16", compress="bf16", bucket_mb=0.05, **MOMENTUM)
        self.check("fp16", ranks=3, compress="fp16", clip_grad=0.5, accumulate=2, bucket_mb=0.02, ema=0.9, **ADAMW)
        self.check("both", ranks=3, compress="bf16", clip_value=0.001, clip_grad=0.02, bucket_mb=0.05, **ADAMW)
        self.check("each", compress="bf16", clip_param_grad=0.01, **ADAMW)
        *_, run = self.check("half", steps=3, model="resnet8", amp="O1", amp_dtype="fp16", loss_scale_init=2**30, compress="bf16", batch=4, clip_grad=1, **MOMENTUM)
        self.assertEqual(run.metrics("found_inf")[0], 1)

    def test_another_number_of_ranks(self):
        """A checkpoint is whole: 3 ranks go on from one of 2, and one rank alone."""
        runs = [self.train("resume", zero, ema=0.9, **ADAMW) for zero in (0, 1, 2, 3)]
        for ranks, steps in (3, 8), (1, 10), (2, 12):
            for run in runs:
                dlc.dlc("train", resume=run.folder, ranks=ranks, steps=steps, threads=1)
            for run in runs[1:]:
                self.assertBitwise(run.state(steps), runs[0].state(steps), f"{ranks} ranks")

    def test_refusals(self):
        """What cannot be in parts is said to be so, by its name."""
        for options, message in (
                (dict(optimizer="lamb", lr=1e-3), r"--zero: the update of '.*\.m' is not elementwise"),
                (dict(optimizer="adafactor"), r"--zero: the update of '.*\.vr' is not elementwise .*use another optimizer, or --zero=0"),
        ):
            _, err = dlc.dlc("compile", dlc.model("lenet"), "-o", self.path("no.dlc"), ddp=2, zero=1, code=dlc.BAD_MODEL, **options)
            self.assertRegex(err, message)
        for options, message in (
                (dict(clip_param_grad=0.1, clip_value=0.1, clip_grad=1), r"--zero=2: .* the gradients of '.*', which are sharded; use --zero=1"),
                (dict(optimizer="lars"), r"--zero=2: an op .*as of lars.* the gradients of 'f[123]\.\w+', which are sharded; use --zero=1"),
                (dict(optimizer="lamb", lr=1e-3), r"--zero: the update of '.*\.m' is not elementwise"),
        ):
            _, err = dlc.dlc("compile", dlc.model("lenet"), "-o", self.path("no.dlc"), ddp=2, zero=2, code=dlc.BAD_MODEL, **(ADAMW | options))
            self.assertRegex(err, message)
        for option in dict(zero=1), dict(compress="bf16"):
            _, err = dlc.dlc("compile", dlc.model("lenet"), "-o", self.path("one.dlc"), **ADAMW, **option)
            self.assertRegex(err, rf"warning: .*--{next(iter(option))} changes nothing for one rank: compile with --ddp=2")
        artifact = self.compile("debug", 1, **ADAMW)
        _, err = dlc.dlc("train", artifact, data=dlc.data("mnist-train"), run=self.path("debug"), debug_overflow=True, code=dlc.USAGE)
        self.assertRegex(err, r"--debug-overflow keeps a copy of all state, which --zero splits over ranks")

    def test_replay(self):
        """A run that diverges leaves whole state: one step of it can be done again by as many ranks."""
        for zero in 1, 2, 3:
            artifact = self.compile("diverge", zero, **dict(MOMENTUM, lr=1e30))
            run = self.path(f"diverge{zero}")
            dlc.dlc("train", artifact, data=dlc.data("mnist-train"), run=run, steps=20, threads=1, code=dlc.DIVERGED)
            bundle = next(name for name in os.listdir(run) if name.startswith("replay-"))
            out, err = dlc.dlc("debug", "replay", os.path.join(run, bundle))
            self.assertRegex(out + err, r"Gemm|Conv|step")

    def test_memory(self):
        """A rank's memory shrinks as dlc plan predicts, within 5 %."""
        random = np.random.RandomState(1)
        names = [f"w{i}" for i in range(6)]
        weights = {name: random.randn(1500, 1500).astype("f4") / 40 for name in names} | {"v": random.randn(10, 1500).astype("f4") / 40}
        nodes, last = [], "x"
        for name in names:
            nodes += [node("Gemm", [last, name], ["h" + name], transB=1), node("Relu", ["h" + name], ["r" + name])]
            last = "r" + name
        nodes.append(node("Gemm", [last, "v"], ["y"], transB=1))
        onnx.save(model(nodes, [value("x", [1, 1500])], [value("y", [1, 10])], weights, opset=17), self.path("wide.onnx"))
        np.savez(self.path("wide.npz"), x=random.randn(64, 1500).astype("f4"), y=random.randint(10, size=64))
        measured, predicted = [], []
        for zero in 0, 1, 2, 3:
            options = dict(ddp=2, zero=zero, ema=0.9, bucket_mb=4, **ADAMW)
            artifact = dlc.compile(self.path("wide.onnx"), self.path(f"wide{zero}.dlc"), **options)
            measured.append(self.memory(artifact, self.path("wide.npz"), self.path(f"wide{zero}")))
            profiled = dlc.train(artifact, self.path("wide.npz"), self.path(f"profiled{zero}"), steps=2, profile=True, threads=1)
            out, _ = dlc.dlc("plan", artifact, gpus=2, json=True, profile=profiled.folder + "/profile.json", net="10Gbps", node=1)
            predicted.append({row["mode"]: row["memory_bytes"] for row in json.loads(out)["rows"]})
        for zero in 1, 2, 3:
            for mode, memory in predicted[zero].items():
                self.assertAlmostEqual(memory / predicted[0][mode], 1, delta=0.01)
            saved = predicted[0]["ddp"] - predicted[0][f"zero {zero}"]
            for rank in 0, 1:
                self.assertAlmostEqual((measured[0][rank] - measured[zero][rank]) / saved, 1, delta=0.05)
        self.assertLess(predicted[0]["zero 3"], predicted[0]["zero 2"])
        self.assertLess(predicted[0]["zero 2"], predicted[0]["zero 1"])

    def memory(self, artifact, data, run):
        """Resident bytes of each rank while it trains; what is freed is given back at once."""
        with mock.patch.dict(os.environ, MALLOC_MMAP_THRESHOLD_="131072"):
            process = dlc.start("train", artifact, data=data, run=run, steps=100000, threads=1, save_every=0, shuffle="off")
        try:
            deadline = time.monotonic() + 60
            while self.steps(run) < 3:
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.05)
            with open(f"/proc/{process.pid}/task/{process.pid}/children") as file:
                ranks = sorted(map(int, file.read().split()))
            return [self.resident(rank) for rank in ranks]
        finally:
            dlc.kill(process)

    def steps(self, run):
        try:
            return len(dlc.Run(run).metrics("loss"))
        except (OSError, ValueError): # not there, or half a line
            return 0

    def resident(self, process):
        with open(f"/proc/{process}/status") as file:
            return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmRSS"))


if __name__ == "__main__":
    dlc.main()
