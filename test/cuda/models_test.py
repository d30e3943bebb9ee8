"""Training on the CUDA backend without a GPU: NVIDIA's libraries are stand-ins, generated kernels run in the
emulator, products and convolutions by the CPU's code. Losses are those of the CPU backend.

What this proves: the compiled step, its kernels, the order of its work, and all of the host's side. Nothing about a GPU.
"""

import dlc
import numpy as np
import standins

STEPS = 20

# model: data, batch of all ranks, options
MODELS = {
    "mlp": ("digits-train", 32, dict(optimizer="sgd", lr=0.05, momentum=0.9)),
    "lenet": ("mnist-train", 32, dict(optimizer="sgd", lr=0.05, momentum=0.9)),
    # With larger steps some ReLU's input is soon zero but for rounding, and from there on the runs part.
    "resnet8": (None, 8, dict(optimizer="sgd", lr=0.005, momentum=0.9)),
    "gpt_tiny": ("text-train", 8, dict(optimizer="adamw", lr=1e-3, weight_decay=0.01)),
}


class Models(standins.StandinTest):
    def losses(self, name, ranks, steps=STEPS, cuda=None, **options):
        """The losses of the CPU and of the CUDA backend, which `cuda` are further options of."""
        data, batch, own = MODELS[name]
        options = dict(own, batch=batch // ranks, ddp=ranks, **options)
        path = dlc.data(data) if data else dlc.Reference(name).write(self.path("data.npz"))
        training = dict(steps=steps, seed=1, threads=1)
        on_cpu = dlc.compile(dlc.model(name), self.path("cpu.dlc"), **options)
        expected = dlc.train(on_cpu, path, self.path("cpu"), **training).metrics("loss")
        artifact = self.compile_for_cuda(name, **options, **(cuda or {}))
        self.run_on_standins(artifact, data=path, run=self.path("cuda"), **training)
        found = dlc.Run(self.path("cuda")).metrics("loss")
        self.assertEqual(len(found), steps)
        return expected, found

    def check(self, name, ranks=1, tolerance=1e-4, **options):
        expected, found = self.losses(name, ranks, **options)
        np.testing.assert_allclose(found, expected, rtol=tolerance)

    def test_mlp(self):
        self.check("mlp")

    def test_mlp_two_ranks(self):
        self.check("mlp", ranks=2)

    def test_lenet(self):
        self.check("lenet")

    def test_lenet_two_ranks(self):
        self.check("lenet", ranks=2)

    def test_resnet8(self):
        self.check("resnet8")

    def test_resnet8_two_ranks(self):
        self.check("resnet8", ranks=2)

    def test_resnet8_fp16(self):
        self.check_half("resnet8")

    def test_gpt_tiny(self):
        self.check("gpt_tiny")

    def test_gpt_tiny_two_ranks(self):
        self.check("gpt_tiny", ranks=2)

    def check_half(self, name, ranks=1):
        """fp16 with a scale that overflows first: the same steps are skipped, if scores and products are stored as the
        CPU stores them."""
        cuda = dict(attention="off", matmul="library")
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

    def check_attention(self, tolerance, **options):
        """As cuDNN's calls; the CPU rounds scores and weights to half as well."""
        self.check("gpt_tiny", tolerance=tolerance, steps=10, amp=True, **options)
        with open(self.path("plan.mlir")) as file:
            plan = file.read()
        step = plan[plan.index("exec.program @train_step"):]
        step = step[:step.index("\n  }\n")]
        self.assertEqual(step.count('exec.call "attention"'), 2)
        self.assertEqual(step.count('exec.call "attention_backward"'), 2)

    def test_attention(self):
        self.check_attention(5e-4)

    def test_attention_fp16(self):
        self.check_attention(1e-4, amp_dtype="fp16", loss_scale=1024)

    def check_generated(self, dtype, tolerance):
        """Products and attention on the emulator's tensor cores."""
        self.check("gpt_tiny", steps=3, tolerance=tolerance, amp=True, amp_dtype=dtype,
                   cuda=dict(matmul="generated", attention="generated"))

    def test_gpt_tiny_generated_bf16(self):
        self.check_generated("bf16", 5e-3)

    def test_gpt_tiny_generated_fp16(self):
        self.check_generated("fp16", 5e-4)

    def test_lenet_clip(self):
        self.check("lenet", clip_grad=0.5)


if __name__ == "__main__":
    dlc.main()
