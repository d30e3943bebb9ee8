# SPDX-License-Identifier: Apache-2.0
"""The models of models_test.py with the libraries' epilogues, attention and norms, and with generated products."""

import json
import re

import dlc
import numpy as np
from gpu_models import MODELS, STEPS, GpuModels


class ByLibrary(GpuModels):
    def check_epilogues(self, name, kinds, **options):
        """Activations and sums in the products' calls, as without further options in f32."""
        self.check(name, **options)
        with open(self.path("plan.mlir")) as file:
            step = file.read().split("exec.program @train_step")[1].split("\n  }\n")[0]
        for kind, count in kinds.items():
            self.assertEqual(step.count(f'exec.call "{kind}"'), count, kind)

    def check_gpt_tiny_epilogues(self, tolerance, **options):
        self.check_epilogues("gpt_tiny", dict(matmul_activation=2, matmul_bias_backward=8),
                             tolerance=tolerance, **options)

    def test_gpt_tiny_epilogues_bf16(self):
        self.check_gpt_tiny_epilogues(1e-3, steps=10, amp=True, cuda=dict(matmul="library", attention="off"))

    def test_gpt_tiny_epilogues_fp16(self):
        self.check_gpt_tiny_epilogues(1e-4, steps=10, amp=True, amp_dtype="fp16", loss_scale=1024,
                                      cuda=dict(matmul="library", attention="off"))

    def test_mlp_epilogues_fp16(self):
        self.check_epilogues("mlp", dict(matmul_bias_backward=1), tolerance=5e-4, amp=True, amp_dtype="fp16",
                             loss_scale=1024, cuda=dict(matmul="library"))

    def test_lenet_epilogues(self):
        self.check_epilogues("lenet", dict(matmul_activation=0, matmul_bias_backward=2),
                             steps=10, cuda=dict(matmul_epilogues="all"))

    def test_no_epilogues(self):
        self.check_epilogues("gpt_tiny", dict(matmul_activation=0, matmul_bias_backward=0), steps=3,
                             cuda=dict(matmul_epilogues="off"))

    def check_attention(self, tolerance, **options):
        """As cuDNN's calls; the CPU rounds scores and weights to half as well."""
        self.check("gpt_tiny", tolerance=tolerance, steps=10, amp=True, **options)
        with open(self.path("plan.mlir")) as file:
            plan = file.read()
        step = plan[plan.index("exec.program @train_step"):]
        step = step[:step.index("\n  }\n")]
        self.assertEqual(step.count('exec.call "attention_joint"'), 2)
        self.assertEqual(step.count('exec.call "attention_joint_backward"'), 2)

    def test_attention(self):
        self.check_attention(5e-4)

    def test_attention_fp16(self):
        self.check_attention(1e-4, amp_dtype="fp16", loss_scale=1024)

    def check_norms(self, name, kind, calls, tolerance=1e-4, **options):
        """Norms as cuDNN's calls: so many and as many backward, none generated."""
        self.check(name, tolerance=tolerance, cuda=dict(norm="library"), **options)
        with open(self.path("plan.mlir")) as file:
            plan = file.read()
        step = plan[plan.index("exec.program @train_step"):]
        step = step[:step.index("\n  }\n")]
        self.assertEqual([step.count(f'exec.call "{kind}{way}"') for way in ("", "_backward")], [calls, calls])

    def test_resnet8_norms(self):
        self.check_norms("resnet8", "fused_batch_norm", 9)
        # Three norms at each of three sizes, one with a residual; x is read twice. Four vectors of each norm's channels.
        text, _ = dlc.dlc("inspect", self.path("cuda.dlc"), "--costs", "--json")
        rows = {row["name"]: row for row in json.loads(text)["costs"]["train_step"]}
        images = 4 * 8 * sum(size * size * channels for size, channels in [(32, 16), (16, 32), (8, 64)])
        self.assertEqual(rows["fused_batch_norm"]["bytes"], 10 * images + 3 * 4 * 4 * (16 + 32 + 64))

    def test_resnet8_norms_bf16(self):
        self.check_norms("resnet8", "fused_batch_norm", 9, tolerance=2e-2, steps=10, amp=True)

    def test_gpt_tiny_norms(self):
        self.check_norms("gpt_tiny", "fused_layer_norm", 5)

    def test_norm_without_engine(self):
        """A GPU that lacks an engine: the node and the way out are said when training starts."""
        artifact = self.compile_for_cuda("resnet8", norm="library", batch=8)
        path = dlc.Reference("resnet8").write(self.path("data.npz"))
        _, err = self.run_on_standins(artifact, data=path, steps=1, run=self.path("cuda"), code=dlc.INCOMPATIBLE,
                                      environment={"DLC_STANDIN_CUDNN_LACKS": "fused_batch_norm"})
        self.assertRegex(err, r"fused_batch_norm '.*BatchNormalization.*': no engine; compile with --norm=generated to "
                              r"do without cuDNN's norms")

    def check_generated(self, dtype, tolerance):
        """Products and attention on the emulator's tensor cores."""
        self.check("gpt_tiny", steps=3, tolerance=tolerance, amp=True, amp_dtype=dtype,
                   cuda=dict(matmul="generated", attention="generated"))

    def test_gpt_tiny_generated_bf16(self):
        self.check_generated("bf16", 5e-3)

    def test_gpt_tiny_generated_fp16(self):
        self.check_generated("fp16", 5e-4)


if __name__ == "__main__":
    dlc.main()
