# SPDX-License-Identifier: Apache-2.0
"""Kernels of losses under --amp: the GPU's form in the emulator against the CPU's."""

import os
import subprocess
import sys
import unittest

import dlc

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "e2e"))
import losses_test as losses

EMULATE = os.path.join(dlc.BUILD, "bin", "dlc-emulate")
MOST_ELEMENTS = 300000
SEVERAL = {"cosine_embedding": 2, "triplet_margin": 3}


@unittest.skipUnless(os.path.exists(EMULATE), "the emulator is only built on x86-64")
class LossKernels(dlc.TestCase):
    def setUp(self):
        super().setUp()
        self.models = losses.Losses()
        self.models.setUp()
        self.addCleanup(self.models.doCleanups)

    def check(self, source, dtype, **options):
        text, _ = dlc.dlc("compile", source, "-o", "-", stop_after="plan", target="cuda", batch=4, amp=True, amp_dtype=dtype, **options)
        with open(self.path("p.mlir"), "w") as file:
            file.write(text)
        run = subprocess.run([EMULATE, file.name, "90", str(MOST_ELEMENTS)], capture_output=True, text=True, timeout=120)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        self.assertRegex(run.stdout, r"[1-9]\d* kernels, \d+ runs, 0 errors")

    def test_kernels_equal_the_cpu(self):
        for dtype in "bf16", "fp16":
            self.models.half = dtype
            kinds, options = losses.GROUPS["overlap_chosen"]
            with self.subTest(dtype, loss="dice, focal, binary_focal"):
                self.check(self.models.outputs("overlap_chosen", kinds), dtype, loss=",".join(map(":".join, kinds.items())), **options)
            with self.subTest(dtype, loss="kl"):
                self.check(self.models.outputs("plain", ["share"]), dtype, loss="kl")
            for loss, count in SEVERAL.items():
                with self.subTest(dtype, loss=loss):
                    tensors = self.models.arrays[f"plain/{loss}/p"]
                    source = self.models.sums("s.onnx", {n: (["batch", 6], p) for n, p in zip("abc"[:count], tensors)})
                    self.check(source, dtype, loss=loss)
            with self.subTest(dtype, loss="of rows with weights, all ranks' and micro-batches'"):
                self.check(dlc.model("mlp"), dtype, ignore_index=0, ddp=2, accumulate=2)
            with self.subTest(dtype, loss="ctc"):
                self.check(self.models.ctc("plain")[0], dtype, loss="ctc", ctc_labels=3)


if __name__ == "__main__":
    dlc.main()
