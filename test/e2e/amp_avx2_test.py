# SPDX-License-Identifier: Apache-2.0
"""--amp on a CPU without bf16, which oneDNN has from AVX-512 on: products of halves are computed in f32 and rounded once."""

import os
from unittest import mock

import dlc
import numpy as np


class WithoutBf16(dlc.TestCase):
    def setUp(self):
        super().setUp()
        older = mock.patch.dict(os.environ, ONEDNN_MAX_CPU_ISA="AVX2")
        older.start()
        self.addCleanup(older.stop)

    def losses(self, artifact, data, name, **environment):
        with mock.patch.dict(os.environ, environment):
            return dlc.train(artifact, dlc.data(data), self.path(name), steps=10).metrics("loss")

    def test_curves(self):
        for model, data in ("lenet", "mnist-train"), ("gpt_tiny", "text-train"):
            with self.subTest(model=model):
                artifact = dlc.compile(dlc.model(model), self.path(model + ".dlc"), amp=True)
                native = self.losses(artifact, data, model + "-all", ONEDNN_MAX_CPU_ISA="ALL")
                np.testing.assert_allclose(self.losses(artifact, data, model + "-avx2"), native, rtol=5e-3)

    def test_said(self):
        out, _ = dlc.dlc("doctor")
        self.assertRegex(out, r"oneDNN +\d[\d.]+, uses AVX2, computes bf16 in f32\n")
        out, _ = dlc.dlc("doctor", "bench", "machine", threads=1, cache_dir=self.path("cache"))
        self.assertIn("computed in f32", out)

    def test_said_by_compile(self):
        slow = "so that a step takes longer than without --amp"

        def summary(**options):
            return dlc.dlc("compile", dlc.model("mlp"), output=self.path("mlp.dlc"), **options)[1]

        self.assertIn("a CPU without AVX-512 computes bf16 products in f32, " + slow, summary(amp=True, cpu="haswell"))
        self.assertIn("a CPU computes fp16 products in f32, " + slow, summary(amp=True, amp_dtype="fp16"))
        self.assertNotIn(slow, summary())


if __name__ == "__main__":
    dlc.main()
