# SPDX-License-Identifier: Apache-2.0
"""--zero on the CUDA backend without a GPU: each rank runs its part of the update's kernels, and the parts travel by NCCL's stand-in.

The stand-in adds in the order of the ranks, as GPUs need not: here not one bit of a run may change.
"""
# processors: 2

import shutil

import dlc
import numpy as np
import standins

ADAMW = dict(optimizer="adamw", lr=1e-3, schedule="constant", weight_decay=0.01)
MOMENTUM = dict(optimizer="sgd", lr=0.05, momentum=0.9, schedule="constant")


class Zero(standins.StandinTest):
    def train(self, zero, ranks, model="lenet", steps=4, environment=(), code=dlc.OK, run="", more=(), accepts=None, **options):
        artifact = self.compile_for_cuda(model, ddp=ranks, zero=zero, **(dict(batch=4) | options))
        run = run or f"run{zero}-{ranks}"
        shutil.rmtree(self.path(run), ignore_errors=True)  # of another check of the test
        data = dict(lenet=dlc.data("mnist-train"), gpt_tiny=dlc.data("text-train")).get(model) or dlc.Reference(model).write(self.path("data.npz"))
        _, err = self.run_on_standins(artifact, data=data, run=self.path(run), steps=steps, seed=1, threads=1, quiet=True,
                                      shuffle="off", environment=environment, code=code, accepts=accepts, **dict(more))
        return dlc.Run(self.path(run)) if code == dlc.OK else err

    def check(self, ranks, levels=(1, 2, 3), steps=4, **options):
        plain = self.train(0, ranks, steps=steps, **options)
        for zero in levels:
            parts = dict(zero_whole_mb=1e-6) if zero == 3 else {}
            run = self.train(zero, ranks, steps=steps, **parts, **options)
            self.assertBitwise(run.state(steps), plain.state(steps), f"zero {zero}")
            np.testing.assert_array_equal(run.metrics("loss"), plain.metrics("loss"))

    def test_two_ranks(self):
        self.check(2, **ADAMW)

    def test_three_ranks(self):
        """Parts of which none is as large as the next, and averages."""
        self.check(3, ema=0.9, bucket_mb=0.05, **ADAMW)

    def test_momentum(self):
        self.check(2, levels=(1, 3), bucket_mb=0.01, accumulate=2, **MOMENTUM)

    def test_halves(self):
        self.check(2, model="gpt_tiny", amp=True, bucket_mb=0.1, **ADAMW)

    def test_one_rank_goes_on(self):
        """It has all of everything; its kernels count all elements."""
        states = []
        for zero in 0, 3:
            run = self.train(zero, 2, **ADAMW)
            self.run_on_standins("--resume=" + run.folder, "--ranks=1", steps=6, threads=1, quiet=True)
            states.append(run.state(6))
        self.assertBitwise(states[1], states[0], "1 rank")

    def test_groups(self):
        """Shards in pairs of four ranks: sums are added in another order, which changes last bits."""
        for options in (dict(ADAMW, ema=0.9, bucket_mb=0.05), dict(ADAMW, clip_grad=0.5)):
            plain = self.train(0, 4, **options)
            states = {zero: self.train(zero, 4, more=dict(zero_group=2), **(dict(zero_whole_mb=1e-6) if zero == 3 else {}), **options).state(4)
                      for zero in (1, 2, 3)}
            for zero, state in states.items():
                for name, tensor in plain.state(4).items():
                    self.assertNear(state[name], tensor, 1e-5 if name.endswith((".m", ".v")) else 2e-6, f"zero {zero}: {name}")

    def test_clipping(self):
        """A norm of parts is one of f64 sums in another order: the bits of what is made of it in f32 are those of whole gradients'."""
        self.check(2, levels=(2, 3), clip_grad=0.5, **ADAMW)
        self.check(3, levels=(2, 3), clip_grad=0.5, bucket_mb=0.05, accumulate=2, **MOMENTUM)
        self.check(2, levels=[2], clip_param_grad=0.1, **ADAMW)

    def test_loss_scales(self):
        """A scale that is too large at first is halved on all ranks alike; with a norm beside it."""
        for levels, options in ([3], dict(loss_scale=1024)), ([2], dict(clip_grad=0.5)):
            self.check(2, levels=levels, model="gpt_tiny", amp=True, amp_dtype="fp16", bucket_mb=0.1, **options, **ADAMW)

    def test_one_rank_clips_as_two(self):
        """All of a sum's elements are its own."""
        states = []
        for zero in 0, 2:
            run = self.train(zero, 2, clip_grad=0.5, **ADAMW)
            self.run_on_standins("--resume=" + run.folder, "--ranks=1", steps=6, threads=1, quiet=True)
            states.append(run.state(6))
        self.assertBitwise(states[1], states[0], "1 rank")

    def test_other_forms_of_gradients(self):
        for zero in 2, 3:
            _, err = dlc.dlc("compile", dlc.model("lenet"), "-o", self.path("no.dlc"), target="cuda", sm=90, ddp=2, zero=zero,
                             code=dlc.BAD_MODEL, clip_param_grad=0.1, clip_value=0.1, clip_grad=1, **ADAMW)
            self.assertRegex(err, rf"--zero={zero}: .* the gradients of '.*', which are sharded; use --zero=1")

    def test_a_rank_that_fails(self):
        """A gather that fails on one rank ends the others, by its name."""
        # What fails while it runs may be noticed while the next step is captured, which then ends without a join.
        unjoined = "capture ends, but nothing waits for nccl"
        for fault, what in ("1:1:call", "nccl(AllGather|Broadcast): "), ("1:1:run", ""):
            err = self.train(3, 2, environment={"DLC_STANDIN_NCCL_FAULT": fault}, code=1, run="failed" + fault[-4:], zero_whole_mb=1e-6,
                             accepts=unjoined, **ADAMW)
            self.assertRegex(err, "rank 1 failed: " + what)

    def test_a_rank_of_a_group_that_fails(self):
        """Ranks of the other group end, too: all communicators are aborted."""
        for fault in "3:1:call", "3:2:run":
            err = self.train(2, 4, environment={"DLC_STANDIN_NCCL_FAULT": fault}, code=1, run="failed" + fault[-4:],
                             accepts="capture ends, but nothing waits for nccl", more=dict(zero_group=2), **ADAMW)
            self.assertRegex(err, "rank 3 failed: ")


if __name__ == "__main__":
    dlc.main()
