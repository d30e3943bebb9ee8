# SPDX-License-Identifier: Apache-2.0
"""--amp-dtype=fp8: layers' products in 8-bit floats as PyTorch computes them (test/refs/make_float8.py), and their scales."""

import os
import re

import dlc
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

# Of test/refs/make_float8.py.
STEPS, BATCH, SIZES, LR, MOMENTUM = 10, 32, (16, 32, 16), 0.05, 0.9
DELAYED = "delayed(history=4,margin=1)"


class Float8(dlc.TestCase):
    def setUp(self):
        super().setUp()
        self.ref = dict(np.load(os.path.join(dlc.REFS, "float8_ref.npz")))
        self.names = [k[6:] for k in self.ref if k.startswith("first/")]

    def model(self):
        nodes, name = [], "x"
        for i in range(len(SIZES) - 1):
            last = i == len(SIZES) - 2
            nodes.append(helper.make_node("Gemm", [name, f"{i}.weight", f"{i}.bias"], ["y" if last else f"h{i}"], transB=1, name=f"fc{i}"))
            if not last:
                nodes.append(helper.make_node("Relu", [f"h{i}"], [f"r{i}"], name=f"act{i}"))
            name = f"r{i}"
        graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", SIZES[0]])],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", SIZES[-1]])],
                                  [numpy_helper.from_array(self.ref["first/" + k], k) for k in self.names])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), self.path("m.onnx"))
        return self.path("m.onnx")

    def compile(self, name="m.dlc", **options):
        return dlc.compile(self.model(), self.path(name), **self.options() | options)

    def options(self):
        return dict(loss="cross_entropy", batch=BATCH, optimizer="sgd", lr=LR, momentum=MOMENTUM, schedule="constant", quiet=True,
                    amp=True, amp_dtype="fp8")

    def train(self, artifact, run="run", **options):
        np.savez(self.path("data.npz"), x=self.ref["x"].reshape(-1, SIZES[0]), y=self.ref["y"].reshape(-1))
        return dlc.train(artifact, self.path("data.npz"), self.path(run), shuffle="off", threads=1, quiet=True,
                         **(dict(steps=STEPS) | options))

    def distance(self, state, recipe):
        """Of the parameters from those of a recipe, relative to what the recipe moved them by."""
        parts = [(state[k] - self.ref[f"{recipe}/{k}"], self.ref[f"{recipe}/{k}"] - self.ref["first/" + k]) for k in self.names]
        error, moved = (np.linalg.norm(np.concatenate([p[i].ravel() for p in parts]).astype("f8")) for i in (0, 1))
        return error / moved

    def test_as_pytorch(self):
        """Sums in another order round a few results to another number of bf16; other recipes are much farther away."""
        for recipe, scaling in ("current", "current"), ("delayed", DELAYED):
            with self.subTest(recipe):
                run = self.train(self.compile(recipe + ".dlc", fp8_scaling=scaling), recipe)
                np.testing.assert_allclose(run.metrics("loss"), self.ref[recipe + "/losses"], rtol=1e-3)
                state = run.state(STEPS)
                near = self.distance(state, recipe)
                self.assertLess(near, 0.01)
                for other in {"bf16", "current", "delayed"} - {recipe}:
                    self.assertGreater(self.distance(state, other), 3 * near, other)

    def test_only_the_training_step(self):
        """A prediction does not depend on the batch's other rows."""
        artifact = self.compile()
        self.train(artifact, steps=1)
        found, x = [], self.ref["x"][0].copy()
        for factor in 1, 100:
            x[16:] *= factor
            np.savez(self.path("p.npz"), x=x)
            dlc.dlc("predict", self.path("run"), data=self.path("p.npz"), output=self.path("y.npz"))
            with np.load(self.path("y.npz")) as file:
                found.append(file[file.files[0]][:16])
        np.testing.assert_array_equal(*found)

    def test_resumes_with_the_same_bits(self):
        artifact = self.compile(fp8_scaling=DELAYED)
        whole = self.train(artifact, "whole").state(STEPS)
        self.train(artifact, "first", steps=STEPS // 2)
        dlc.dlc("train", resume=self.path("first"), data=self.path("data.npz"), threads=1, quiet=True, steps=STEPS)
        self.assertBitwise(dlc.Run(self.path("first")).state(STEPS), whole, "resumed")
        self.assertEqual(whole["scaler.amax"].shape, (6, 4))  # an input, a weight and a gradient of each layer
        self.assertTrue((whole["scaler.amax"] > 0).all())

    def test_ranks_scale_alike(self):
        """Magnitudes are the largest of both ranks, whose batches differ by a factor in this data."""
        artifact = self.compile(fp8_scaling=DELAYED, ddp=2, batch=BATCH)
        state = self.train(artifact, steps=3, check_ranks=1).state(3)
        bits = self.ref["x"].reshape(-1, 2 * BATCH * SIZES[0]).view(np.uint32)  # a row: what both ranks read in a step
        rounded = (bits + 0x7FFF + (bits >> 16 & 1) & 0xFFFF0000).astype(np.uint32).view(np.float32)  # to bf16
        np.testing.assert_array_equal(state["scaler.amax"][0, :3], np.abs(rounded).max(-1)[2::-1])

    def test_micro_batches(self):
        """The last one of an update is remembered."""
        found = {}
        for scaling in None, "current", DELAYED:
            options = dict(fp8_scaling=scaling) if scaling else dict(amp_dtype="bf16")
            run = self.train(self.compile(accumulate=2, **options), f"run{len(found)}", steps=3)
            found[scaling], state = run.metrics("loss"), run.state(3)
        for scaling in "current", DELAYED:
            np.testing.assert_allclose(found[scaling], found[None], rtol=1e-2)
        last = np.abs(self.ref["x"].reshape(-1, 2, BATCH * SIZES[0])[:3, 1]).max(-1)[::-1]
        np.testing.assert_allclose(state["scaler.amax"][0, :3], last, rtol=2**-8)

    def test_trains_as_bf16(self):
        losses = {}
        for dtype in "bf16", "fp8":
            artifact = dlc.compile(dlc.model("gpt_tiny"), self.path(dtype + ".dlc"), batch=4, optimizer="adamw", lr=2e-3, seed=1,
                                   amp=True, amp_dtype=dtype, quiet=True)
            losses[dtype] = dlc.train(artifact, dlc.data("text-train"), self.path(dtype), steps=60, seed=1, threads=1,
                                      quiet=True).metrics("loss")
        first, last = (losses["fp8"][part].mean() for part in (slice(0, 5), slice(-10, None)))
        self.assertLess(last, first - 0.5)
        np.testing.assert_allclose(last, losses["bf16"][-10:].mean(), rtol=0.02)
        self.assertGreater(np.abs(losses["fp8"] - losses["bf16"]).max(), 1e-4)

    def test_says_what_a_cpu_does(self):
        _, err = dlc.dlc("compile", self.model(), "-o", self.path("m.dlc"), **self.options() | dict(quiet=False))
        self.assertIn("a CPU has no products of 8-bit floats and multiplies their values in 16 bits", err)

    def refused(self, **options):
        _, err = dlc.dlc("compile", self.model(), "-o", self.path("m.dlc"), code=2, **self.options() | options)
        return err

    def test_refuses(self):
        self.assertIn("--amp-dtype=fp8 needs GPUs of compute capability 8.9 or newer, but kernels are compiled for "
                      "--sm=80,90,100: use --sm=90,100, or --amp-dtype=bf16", self.refused(target="cuda"))
        self.assertIn("use --sm=90, or --amp-dtype=bf16", self.refused(target="cuda", sm="86"))
        self.assertIn("use --fp8-scaling=current", self.refused(ddp=2, sync_every=4, fp8_scaling="delayed"))
        self.assertIn("--fp8-scaling", self.refused(amp_dtype="bf16", fp8_scaling="delayed"))

    def test_explains(self):
        out, _ = dlc.dlc("compile", dlc.model("gpt_tiny"), "-o", self.path("m.dlc"), explain_amp=True, batch=4, amp=True, amp_dtype="fp8")
        self.assertRegex(out, r"matmul +fp8 +\d casts? +allow list\n")
        self.assertRegex(out, r"matmul +bf16 +\d casts? +allow list; no FP8: its second operand is no weight of two dimensions\n")
        self.assertTrue(re.search(r"ops in bf16, \d+ of them in fp8", out), out)


if __name__ == "__main__":
    dlc.main()
