"""Training on the CUDA backend without a GPU: NVIDIA's libraries are stand-ins, generated kernels run in the
emulator, products and convolutions by the CPU's code. Losses are those of the CPU backend.

What this proves: the compiled step, its kernels, the order of its work, and all of the host's side. Nothing about a GPU.
"""

import json
import os

import dlc
import numpy as np
import standins

STEPS = 20

IMAGES = "signal", "volume"  # of one and three dimensions: test/refs/make_images.py

# model: data, batch of all ranks, options
MODELS = {
    "mlp": ("digits-train", 32, dict(optimizer="sgd", lr=0.05, momentum=0.9)),
    "lenet": ("mnist-train", 32, dict(optimizer="sgd", lr=0.05, momentum=0.9)),
    # With larger steps some ReLU's input is soon zero but for rounding, and from there on the runs part.
    "resnet8": (None, 8, dict(optimizer="sgd", lr=0.005, momentum=0.9)),
    "gpt_tiny": ("text-train", 8, dict(optimizer="adamw", lr=1e-3, weight_decay=0.01)),
    "signal": (None, 8, dict(optimizer="sgd", lr=0.02, momentum=0.9)),
    "volume": (None, 8, dict(optimizer="sgd", lr=0.02, momentum=0.9)),
}


class Models(standins.StandinTest):
    def reference(self, name):
        """The data file of a model that has its data in test/refs."""
        if name not in IMAGES:
            return dlc.Reference(name).write(self.path("data.npz"))
        with np.load(os.path.join(dlc.REFS, "images_ref.npz")) as file:
            np.savez(self.path("data.npz"), x=np.concatenate(file[f"{name}/inputs"]),
                     y=np.concatenate(file[f"{name}/labels"]))
        return self.path("data.npz")

    def losses(self, name, ranks, steps=STEPS, cuda=None, **options):
        """The losses of the CPU and of the CUDA backend, which `cuda` are further options of."""
        data, batch, own = MODELS[name]
        options = dict(own, batch=batch // ranks, ddp=ranks, **options)
        path = dlc.data(data) if data else self.reference(name)
        source = os.path.join(dlc.REFS, name + ".onnx") if name in IMAGES else dlc.model(name)
        training = dict(steps=steps, seed=1, threads=1)
        on_cpu = dlc.compile(source, self.path("cpu.dlc"), **options)
        expected = dlc.train(on_cpu, path, self.path("cpu"), **training).metrics("loss")
        artifact = self.compile_for_cuda(source, **options, **(cuda or {}))
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

    def test_resnet8_sync_bn(self):
        """Statistics of all ranks: collectives between the kernels of one step."""
        self.check("resnet8", ranks=2, sync_bn=True)

    def test_statistics(self):
        """What --stats reports of each parameter: vectors travel with the scalars of a step."""
        self.losses("lenet", 2, steps=10, stats=True)

        def lines(name):
            with open(self.path(f"{name}/stats.jsonl")) as file:
                return [json.loads(line)["parameters"] for line in file]
        (expected,), (found,) = lines("cpu"), lines("cuda")
        self.assertEqual(list(found), list(expected))
        for name, numbers in expected.items():
            for key, value in numbers.items():
                scale = expected[name]["gradient_absmax" if "gradient" in key else "absmax"] if key.endswith(("mean", "std")) else value
                self.assertAlmostEqual(found[name][key], value, delta=1e-3 * scale, msg=f"{name}: {key}")

    def test_lenet_compressed(self):
        self.check("lenet", ranks=2, tolerance=1e-3, compress="bf16")

    def test_signal(self):
        self.check("signal")

    def test_volume(self):
        self.check("volume")

    def test_volume_by_library_norms(self):
        self.check("volume", cuda=dict(norm="library"))
        with open(self.path("plan.mlir")) as file:
            self.assertEqual(file.read().count('exec.call "fused_batch_norm_backward"'), 2)

    def test_resnet8_fp16(self):
        self.check_half("resnet8")

    def test_gpt_tiny(self):
        self.check("gpt_tiny")

    def test_gpt_tiny_two_ranks(self):
        self.check("gpt_tiny", ranks=2)

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

    def check_epilogues(self, name, kinds, **options):
        """Activations, their gradients and sums in the products' calls, as without further options in f32."""
        self.check(name, **options)
        with open(self.path("plan.mlir")) as file:
            step = file.read().split("exec.program @train_step")[1].split("\n  }\n")[0]
        for kind, count in kinds.items():
            self.assertEqual(step.count(f'exec.call "{kind}"'), count, kind)

    def check_gpt_tiny_epilogues(self, tolerance, **options):
        self.check_epilogues("gpt_tiny", dict(matmul_activation=2, matmul_activation_backward=2, matmul_bias_backward=6),
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
        self.check_epilogues("lenet", dict(matmul_activation=1, matmul_activation_backward=1, matmul_bias_backward=1),
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
        self.assertEqual(step.count('exec.call "attention"'), 2)
        self.assertEqual(step.count('exec.call "attention_backward"'), 2)

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

    def test_lenet_clip(self):
        self.check("lenet", clip_grad=0.5)


if __name__ == "__main__":
    dlc.main()
