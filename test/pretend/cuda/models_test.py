# SPDX-License-Identifier: Apache-2.0
"""Training on the CUDA backend without a GPU: NVIDIA's libraries are stand-ins, generated kernels run in the
emulator, products and convolutions by the CPU's code. Losses are those of the CPU backend.

What this proves: the compiled step, its kernels, the order of its work, and all of the host's side. Nothing about a GPU.
"""

import json

import dlc
from gpu_models import GpuModels


class Models(GpuModels):
    def test_mlp(self):
        self.check("mlp", ema="swa(start=3)")

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
        """Statistics of all ranks: collectives between the kernels of one step. Averages have them, too."""
        self.check("resnet8", ranks=2, sync_bn=True, ema=0.9)

    def test_rows_with_weights(self):
        """Ranks and micro-batches divide by the weights of all rows: a collective beside the forward pass."""
        self.check("mlp", ranks=2, accumulate=2, ignore_index=3, class_weights="1,2,3,0,0.5,1,1,2,1,4")

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

    def test_gpt_tiny(self):
        self.check("gpt_tiny")

    def test_gpt_tiny_two_ranks(self):
        self.check("gpt_tiny", ranks=2)

    def test_gpt_tiny_rows_two_ranks(self):
        """Kernels update rows of the table of tokens, which the ranks exchange."""
        self.check("gpt_tiny", ranks=2, sparse_embeddings="lazy")
        with open(self.path("plan.mlir")) as file:
            self.assertIn("dlc.put_rows", file.read())

    def test_dropout_two_ranks(self):
        """Each rank has its own mask."""
        self.check("dropout_mlp", ranks=2)

    def test_gpt_tiny_each_gradient_clipped(self):
        """Each parameter has a factor of its own, so updates are not one kernel, and what is joined has many buffers."""
        self.check("gpt_tiny", steps=4, clip_param_grad=0.01, optimizer="adam(amsgrad=true)", weight_decay=0,
                   ema="0.9,0.99,0.999,0.9999")

    def test_lenet_clip(self):
        self.check("lenet", clip_grad=0.5)


if __name__ == "__main__":
    dlc.main()
