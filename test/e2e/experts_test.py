# SPDX-License-Identifier: Apache-2.0
"""A mixture of experts trains as PyTorch's loop over the experts does, without copies of their matrices."""

import os
import re

import dlc
import numpy as np

STEPS, BATCH = 6, 3  # of test/refs/make_experts.py
MODEL = os.path.join(dlc.REFS, "experts.onnx")


class Experts(dlc.TestCase):
    def setUp(self):
        super().setUp()
        self.ref = dict(np.load(os.path.join(dlc.REFS, "experts_ref.npz")))

    def compile(self, name="m.dlc", **options):
        return dlc.compile(MODEL, self.path(name), quiet=True, loss="cross_entropy",
                           **(dict(batch=BATCH, optimizer="sgd", lr=0.2, momentum=0.9, schedule="constant") | options))

    def train(self, artifact, name="run", **options):
        np.savez(self.path("data.npz"), **{k: np.concatenate(self.ref[k]) for k in "xy"})
        return dlc.train(artifact, self.path("data.npz"), self.path(name), shuffle="off", threads=1, quiet=True, steps=STEPS, **options)

    def check(self, artifact, run):
        np.testing.assert_allclose(run.metrics("loss"), self.ref["64/losses"], rtol=2e-6)
        first, last = run.initial(artifact), run.state(STEPS)
        names = [k[3:] for k in self.ref if k.startswith("64/") and k != "64/losses"]
        self.assertEqual(len(names), 21)
        for name in names:
            exact, noise = self.ref["64/" + name], np.abs(self.ref["32/" + name] - self.ref["64/" + name]).max()
            moved = np.abs(exact - first[name]).max()
            self.assertGreater(moved, 0, name)
            self.assertLess(np.abs(last[name] - exact).max(), max(2e-6 * np.abs(exact).max(), 30 * noise), name)

    def memory(self, artifact):
        number, unit = re.match(r"memory of a rank: ([0-9.]+) (\w+)", dlc.dlc("inspect", artifact, memory=True)[0]).groups()
        return float(number) * {"KiB": 1 << 10, "MiB": 1 << 20}[unit]

    def test_as_pytorch(self):
        artifact = self.compile()
        self.check(artifact, self.train(artifact))

    def test_copies_of_the_matrices_give_the_same(self):
        grouped, copied = self.compile(), self.compile("copied.dlc", place="grouped_matmul=decomposed")
        self.check(copied, self.train(copied))
        self.assertGreater(self.memory(copied), 1.5 * self.memory(grouped))

    def test_in_halves(self):
        losses = self.train(self.compile(amp=True, amp_dtype="bf16")).metrics("loss")
        np.testing.assert_allclose(losses, self.ref["64/losses"], rtol=2e-2)
        self.assertFalse(np.allclose(losses, self.ref["64/losses"], rtol=1e-6))

    def test_on_two_ranks_with_shards(self):
        whole = self.train(self.compile(batch=2), "whole")
        parts = self.train(self.compile("parts.dlc", batch=1, ddp=2, zero=3), "parts")
        np.testing.assert_allclose(parts.metrics("loss"), whole.metrics("loss"), rtol=2e-6)

    def test_step_as_onnx(self):
        """Standard operators have no grouped product: the matrices are looked up there."""
        import onnx

        artifact, step = self.compile(), self.path("step.onnx")
        dlc.dlc("export", artifact, "--step", "-o", step)
        onnx.checker.check_model(step, full_check=True)
        self.assertEqual({node.domain for node in onnx.load(step).graph.node}, {""})


if __name__ == "__main__":
    dlc.main()
