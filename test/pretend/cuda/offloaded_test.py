# SPDX-License-Identifier: Apache-2.0
"""Activations that leave for the host's memory and come back are the same bits, on the CUDA backend without a GPU.

The stand-in driver copies in any order that streams and events allow, and reports what is used before it has arrived."""
# processors: 2

import json

import dlc
import numpy as np
import standins

STEPS = 3
ADAMW = dict(optimizer="adamw", lr=1e-3, schedule="constant")


class Offload(standins.StandinTest):
    def train(self, model, run, environment=(), artifact=None, **options):
        artifact = artifact or self.compile_for_cuda(model, **options)
        data = dlc.data("text-train" if model == "gpt_tiny" else "mnist-train")
        self.run_on_standins(artifact, data=data, run=self.path(run), steps=STEPS, seed=1, threads=1, quiet=True,
                             shuffle="off", environment=environment)
        about, _ = dlc.dlc("inspect", artifact, json=True)
        return dlc.Run(self.path(run)), json.loads(about)

    def check(self, model, share, **options):
        """A step that is given SHARE of the memory has the bits of the plan that takes all."""
        options = dict(ADAMW, loss_chunk="off", **options) # --memory would split the logits, whose sums have another order
        plain, before = self.train(model, "plain", **options)
        memory = int(before["memory"]["bytes"] * share)
        for seed in "1", "2":
            again = dict(artifact=self.path("cuda.dlc")) if seed != "1" else dict(memory=memory, offload="only", **options)
            run, about = self.train(model, "offloaded" + seed, environment=dict(DLC_STANDIN_SEED=seed), **again)
            self.assertBitwise(run.state(STEPS), plain.state(STEPS), f"{model}, seed {seed}")
            np.testing.assert_array_equal(run.metrics("loss"), plain.metrics("loss"))
        kinds = about["programs"]["train_step"]["kinds"]
        self.assertGreater(kinds["offload"], 0)
        self.assertEqual(kinds["fetch"], kinds["offload"])
        self.assertEqual(kinds["wait_copy"], 2 * kinds["offload"])
        self.assertLessEqual(about["memory"]["bytes"], memory)
        self.assertGreater(about["memory"]["host_bytes"], 0)
        self.assertNotIn("host", before["memory"]["regions"])
        return about

    def test_gpt_tiny(self):
        self.check("gpt_tiny", 0.88, batch=64, amp=True)

    def test_two_ranks(self):
        """Collectives and copies are on streams of their own; two programs share the host's memory."""
        self.check("gpt_tiny", 0.88, batch=64, ddp=2, accumulate=2, bucket_mb=0.1)

    def test_probes(self):
        """A comparison reads values behind their copies; one step finds no difference from the plan without."""
        options = dict(ADAMW, loss_chunk="off", batch=64)
        cpu = dlc.compile(dlc.model("gpt_tiny"), self.path("cpu.dlc"), **options)
        about, _ = dlc.dlc("inspect", self.compile_for_cuda("gpt_tiny", computes=False, **options), json=True)
        memory = int(json.loads(about)["memory"]["bytes"] * 0.88)
        gpu = self.compile_for_cuda("gpt_tiny", memory=memory, offload="only", **options)
        out, _ = self.run_on_standins(cpu, gpu, "--json", command="debug compare", data=dlc.data("text-train"))
        found = json.loads(out)
        self.assertGreater(found["compared"], found["results"][0] / 2)
        self.assertIsNone(found["first"])

    def test_shown(self):
        """inspect tells what is copied, and what is not hidden."""
        options = dict(ADAMW, batch=64, target="cuda", sm="90", offload="only")
        plain, _ = dlc.dlc("inspect", self.compile_for_cuda("gpt_tiny", computes=False, **ADAMW, batch=64), json=True)
        memory = int(json.loads(plain)["memory"]["bytes"] * 0.88)
        artifact = dlc.compile(dlc.model("gpt_tiny"), self.path("shown.dlc"), memory=memory, **options)
        out, _ = dlc.dlc("inspect", artifact, "--memory")
        self.assertRegex(out, r"on the host +[\d.]+ MiB  pinned, not counted: \d+ tensors of [\d.]+ MiB are copied there and back")
        out, _ = dlc.dlc("inspect", artifact, "--costs")
        self.assertRegex(out, r"offload and fetch copy [\d.]+ MB beside the others, in [\d.]+ us \(H100\) and [\d.]+ us \(H200\)")
        report, _ = dlc.dlc("inspect", artifact, "--costs", json=True)
        rows = {row["name"]: row for row in json.loads(report)["costs"]["train_step"]}
        self.assertTrue(rows["offload"]["beside"] and rows["fetch"]["beside"])
        self.assertNotIn("beside", rows["wait_copy"])

    def test_too_little_memory(self):
        """Copies alone do not meet every limit."""
        _, err = dlc.dlc("compile", dlc.model("gpt_tiny"), "-o", self.path("a.dlc"), target="cuda", sm="90", memory="2MiB",
                         offload="only", code=dlc.LIMIT)
        self.assertRegex(err, r"--memory allows 2.00 MiB; use --offload=auto, or a smaller --batch")

    def test_no_pinned_memory(self):
        options = dict(ADAMW, batch=64)
        plain, _ = dlc.dlc("inspect", self.compile_for_cuda("gpt_tiny", computes=False, **options), json=True)
        memory = int(json.loads(plain)["memory"]["bytes"] * 0.88)
        artifact = self.compile_for_cuda("gpt_tiny", memory=memory, offload="only", **options)
        _, err = self.run_on_standins(artifact, data=dlc.data("text-train"), run=self.path("run"), steps=1, quiet=True, code=dlc.LIMIT,
                                      environment=dict(DLC_STANDIN_FAIL="cuMemHostAlloc:2=2"))
        self.assertRegex(err, r"cannot allocate [\d.]+ MiB of pinned host memory for offloaded activations: .*"
                              r"a larger --memory, or --offload=off, needs less")


if __name__ == "__main__":
    dlc.main()
