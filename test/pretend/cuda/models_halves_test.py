# SPDX-License-Identifier: Apache-2.0
"""The models of models_test.py in fp16, with a scale that overflows first."""

import re

import deep
import dlc
import numpy as np
from gpu_models import STEPS, GpuModels


class Halves(GpuModels):
    def test_resnet8_fp16(self):
        self.check_half("resnet8")

    def check_half(self, name, ranks=1):
        """fp16 with a scale that overflows first: the same steps are skipped, if scores, products and sums are stored as
        the CPU stores them. cuBLASLt stores a bias's gradient in half."""
        cuda = dict(attention="off", matmul="library", matmul_epilogues="off")
        options = dict(amp=True, amp_dtype="fp16", loss_scale_init=2.0**22, cuda=cuda)
        self.check(name, ranks, tolerance=5e-4, **options)
        on_cpu, on_cuda = dlc.Run(self.path("cpu")), dlc.Run(self.path("cuda"))
        skipped = on_cpu.metrics("found_inf")
        self.assertGreater(skipped.sum(), 0)
        self.assertLess(skipped.sum(), STEPS / 2)
        for key in ("found_inf", "loss_scale"):
            np.testing.assert_array_equal(on_cuda.metrics(key), on_cpu.metrics(key))

    def test_mlp_fp16(self):
        self.check_half("mlp")

    def test_lenet_fp16(self):
        self.check_half("lenet")

    def test_gpt_tiny_fp16_two_ranks(self):
        self.check_half("gpt_tiny", 2)

    def test_lenet_fp16_two_ranks(self):
        self.check_half("lenet", 2)

    def test_resnet8_fp16_two_ranks(self):
        self.check_half("resnet8", 2)

    def test_gpt_tiny_fp16(self):
        self.check_half("gpt_tiny")

    def test_lenet_bf16_clipped(self):
        """Casts are joined: what lies between gradients counts as nothing in their norm."""
        cuda = dict(matmul="library", matmul_epilogues="off")
        self.check("lenet", 2, tolerance=5e-3, amp=True, amp_dtype="bf16", clip_grad=0.1, cuda=cuda)

    def test_gpt_tiny_bf16_in_pieces_of_the_loss(self):
        """Sums of the pieces' gradients take the place of the first."""
        cuda = dict(attention="off", matmul="library", matmul_epilogues="off")
        self.check("gpt_tiny", 2, tolerance=5e-3, amp=True, amp_dtype="bf16", loss_chunk=64, cuda=cuda)
        with open(self.path("plan.mlir")) as file:
            self.assertRegex(file.read(), r"exec.launch @\w+ ins\(%\d+, (%\d+) : memref<96x64xbf16>, memref<96x64xf32>\) outs\(\1 : ")

    def test_bottlenecks_bf16(self):
        """Convolutions of one tap as generated products, which also compute batch norm's sums, residual sums and masks."""
        model = deep.resnet50(self.path("model.onnx"), 8, 16, width=32, classes=10, stages=(2,))
        random = np.random.default_rng(1)
        data = self.path("data.npz")
        np.savez(data, x=random.standard_normal((32, 3, 16, 16), np.float32), y=random.integers(0, 10, 32))
        options = dict(batch=8, optimizer="sgd", lr=0.01, momentum=0.9, amp=True, amp_dtype="bf16")
        training = dict(steps=4, seed=1, threads=1)
        expected = dlc.train(dlc.compile(model, self.path("cpu.dlc"), **options), data, self.path("cpu"), **training)
        artifact = self.compile_for_cuda(model, matmul="generated", **options)
        with open(self.path("plan.mlir")) as file:
            kernels = re.findall(r"exec\.kernel @.*?\n  }", file.read(), re.S)
        self.assertGreaterEqual(len([k for k in kernels if "dlc.matmul" in k and "dlc.reduce_sum" in k]), 5)
        self.run_on_standins(artifact, data=data, run=self.path("cuda"), **training)
        np.testing.assert_allclose(dlc.Run(self.path("cuda")).metrics("loss"), expected.metrics("loss"), rtol=5e-3)

    def check_float8(self, ranks=1, **options):
        """cuBLASLt multiplies 8-bit floats where the CPU multiplies their values in bf16."""
        cuda = dict(attention="off", matmul="library", matmul_epilogues="off")
        self.check("gpt_tiny", ranks, tolerance=5e-3, amp=True, amp_dtype="fp8", cuda=cuda, **options)
        with open(self.path("plan.mlir")) as file:
            calls = re.findall(r'exec.call "scaled_matmul" .*format_a = "(e.m.)", format_b = "(e.m.)"', file.read())
        self.assertEqual(set(calls), {("e4m3", "e4m3"), ("e5m2", "e4m3")})
        self.assertEqual(len(calls) % 3, 0)  # a layer and its two gradients

    def test_gpt_tiny_fp8(self):
        self.check_float8()

    def test_gpt_tiny_fp8_delayed_two_ranks(self):
        self.check_float8(2, fp8_scaling="delayed(history=4)")

    def test_signal_bf16(self):
        """The first convolution, of 3 channels with stride 2, is one of 8 channels with stride 1: blocks of two, and zeros."""
        self.check("signal", tolerance=5e-3, amp=True, amp_dtype="bf16", cuda=dict(matmul="library", matmul_epilogues="off"))
        with open(self.path("plan.mlir")) as file:
            self.assertRegex(file.read(), r'exec.call "conv" .* memref<8x3x8xbf16>.* strides = array<i64: 1>')


if __name__ == "__main__":
    dlc.main()
