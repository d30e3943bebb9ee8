# SPDX-License-Identifier: Apache-2.0
"""What the host asks of the GPU in the steps of dlc train, as the stand-in driver records it.

Of ResNet-50 and GPT-2 nothing is computed, only recorded and checked. They have all of their layers: ResNet-50 at its
width with images of 64 pixels; GPT-2 with 12 layers of 12 heads, but 192 wide instead of 768, 1024 tokens in its
vocabulary and sequences of 64.
"""

import deep
import dlc
import numpy as np
import traces
from traces import STEPS


class Trace(traces.TraceTest):
    def check_ahead(self, name, data, metrics, launches=STEPS - 1, **options):
        """Of one rank."""
        lines, _, launched = self.trace(name, data, ranks=1, launches=launches, **options)
        self.check_steady(lines[launched[launches - STEPS + 2]:launched[-1] + 1], metrics)
        return dlc.Run(self.path("run"))

    def test_fp16_with_a_scaler(self):
        """The device decides what is skipped and how the scale moves: it overflows at first."""
        run = self.check_ahead("lenet", "mnist-train", metrics=4, batch=8, optimizer="sgd", amp=True, amp_dtype="fp16",
                               loss_scale_init=2.0**24)
        self.assertEqual(run.metrics("found_inf")[0], 1)
        self.assertEqual(len(run.metrics("loss")), STEPS)

    def test_micro_batches(self):
        """The host knows its place in a window without a look at the GPU's."""
        self.check_ahead("lenet", "mnist-train", metrics=2, batch=4, accumulate=3, optimizer="sgd",
                         launches=3 * STEPS - 2)

    def test_lenet(self):
        self.check("lenet", "mnist-train", batch=8, bucket_mb=0.01, optimizer="sgd")

    def data(self, **arrays):
        path = self.path("data.npz")
        np.savez(path, **arrays)
        return path

    def test_resnet50(self):
        random = np.random.default_rng(0)
        model = deep.resnet50(self.path("resnet50.onnx"), batch=2, size=64)
        data = self.data(x=random.normal(size=(24, 3, 64, 64)).astype(np.float32), y=random.integers(0, 1000, 24))
        work = self.check(model, data, computes=False, batch=2, bucket_mb=10, amp=True, optimizer="sgd", momentum=0.9,
                          matmul="library")
        for kind in ("conv", "conv_backward_filter"):
            self.assertEqual(work.count("library cudnn " + kind), 53)
        self.assertEqual(work.count("library cudnn conv_backward_data"), 52)

    def test_gpt2(self):
        random = np.random.default_rng(0)
        model = deep.gpt2(self.path("gpt2.onnx"), batch=2, length=64, width=192, vocabulary=1024)
        tokens = random.integers(0, 1024, (24, 65))
        work = self.check(model, self.data(x=tokens[:, :-1], y=tokens[:, 1:]), computes=False, batch=2, bucket_mb=2,
                          amp=True, optimizer="adamw", clip_grad=1, matmul="library")
        self.assertGreater(work.count("library cublasLtMatmul"), 4 * 12)
        for kind in "attention_joint", "attention_joint_backward":
            self.assertEqual(work.count("library cudnn " + kind), 12)

    def test_gpt_tiny(self):
        self.check("gpt_tiny", "text-train", batch=2, bucket_mb=0.05, optimizer="adamw")


if __name__ == "__main__":
    dlc.main()
