# SPDX-License-Identifier: Apache-2.0
"""Compares training on the CUDA backend without a GPU with the CPU: base of test/pretend/cuda/models*_test.py."""

import os

import dlc
import numpy as np
import standins

STEPS = 20
TOLERANCE = 1e-4  # of losses in f32
MOST_APART = 5e-3  # states, of their movement
LEAST_MOVED = 1e-4  # a bias in front of a norm has a gradient of rounding errors

IMAGES = "signal", "volume"  # one and three dimensions: test/refs/make_images.py

# model: data, batch of all ranks, options
MODELS = {
    "mlp": ("digits-train", 32, dict(optimizer="sgd", lr=0.05, momentum=0.9)),
    "lenet": ("mnist-train", 32, dict(optimizer="sgd", lr=0.05, momentum=0.9)),
    # With larger steps some ReLU's input is soon zero but for rounding, and from there on the runs part: weights
    # another by 1.2e-7 give losses another by 8.5e-5 with 0.005, by 3e-6 with 0.002.
    "resnet8": (None, 8, dict(optimizer="sgd", lr=0.002, momentum=0.9)),
    "dropout_mlp": ("digits-train", 32, dict(optimizer="sgd", lr=0.05, momentum=0.9)),
    "gpt_tiny": ("text-train", 8, dict(optimizer="adamw", lr=1e-3, weight_decay=0.01)),
    "signal": (None, 8, dict(optimizer="sgd", lr=0.02, momentum=0.9)),
    "volume": (None, 8, dict(optimizer="sgd", lr=0.02, momentum=0.9)),
}


class GpuModels(standins.StandinTest):
    def reference(self, name):
        """The data file of a model with data in test/refs."""
        if name not in IMAGES:
            return dlc.Reference(name).write(self.path("data.npz"))
        with np.load(os.path.join(dlc.REFS, "images_ref.npz")) as file:
            np.savez(self.path("data.npz"), x=np.concatenate(file[f"{name}/inputs"]),
                     y=np.concatenate(file[f"{name}/labels"]))
        return self.path("data.npz")

    def losses(self, name, ranks, steps=STEPS, cuda=None, **options):
        """Losses on the CPU and on the CUDA backend; `cuda` are additional options of the latter."""
        data, batch, own = MODELS[name]
        options = dict(own, batch=batch // ranks, ddp=ranks, **options)
        path = dlc.data(data) if data else self.reference(name)
        source = os.path.join(dlc.REFS, name + ".onnx") if name in (*IMAGES, "dropout_mlp") else dlc.model(name)
        training = dict(steps=steps, seed=1, threads=1)
        on_cpu = dlc.compile(source, self.path("cpu.dlc"), **options)
        expected = dlc.train(on_cpu, path, self.path("cpu"), **training).metrics("loss")
        artifact = self.compile_for_cuda(source, **options, **(cuda or {}))
        self.run_on_standins(artifact, data=path, run=self.path("cuda"), **training)
        found = dlc.Run(self.path("cuda")).metrics("loss")
        self.assertEqual(len(found), steps)
        return expected, found

    def check(self, name, ranks=1, tolerance=TOLERANCE, **options):
        expected, found = self.losses(name, ranks, **options)
        np.testing.assert_allclose(found, expected, rtol=tolerance)
        if tolerance <= TOLERANCE and not options.get("amp"):
            self.check_states(len(found))

    def check_states(self, steps):
        """All that the checkpoints have: what a loss may not show, as averages and moments, has moved alike, too."""
        on_cpu, on_cuda = (dlc.Run(self.path(run)).state(steps) for run in ("cpu", "cuda"))
        initial = dlc.Run(self.path("cpu")).initial(self.path("cpu.dlc"))
        self.assertEqual(on_cuda.keys(), on_cpu.keys())
        for name, value in on_cpu.items():
            if value.dtype.kind != "f":
                np.testing.assert_array_equal(on_cuda[name], value, err_msg=name)
                continue
            moved = np.linalg.norm(value - initial.get(name, np.float64(0)))
            apart = np.linalg.norm(on_cuda[name].astype(np.float64) - value)
            self.assertLess(apart, MOST_APART * max(moved, LEAST_MOVED), name)
