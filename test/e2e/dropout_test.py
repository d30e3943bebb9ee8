# SPDX-License-Identifier: Apache-2.0
"""Dropout: the mask is Philox of seed, rank, draw and position, in every form that a model may have."""

import os

import dlc
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from philox import philox

WIDTH, RATIO = 4096, 0.3


def mask(draw, seed=0, rank=0, shape=(1, WIDTH), ratio=RATIO):
    """Which elements the draw keeps."""
    count = int(np.prod(shape))
    words = philox(seed + (rank << 32), np.arange(count), draw)[0]
    return ((words >> np.uint32(8)) * np.float32(2**-24) >= np.float32(ratio)).reshape(shape)


class Dropout(dlc.TestCase):
    def setUp(self):
        super().setUp()
        random = np.random.default_rng(0)
        self.w = (random.standard_normal((WIDTH, 1)) / WIDTH**0.5).astype(np.float32)
        self.x = random.uniform(0.5, 1.5, (6, WIDTH)).astype(np.float32)
        self.y = random.standard_normal((6, 1)).astype(np.float32)
        np.savez(self.path("d.npz"), x=self.x, y=self.y)

    def model(self, ratio=RATIO, training=True, outputs=1):
        """x -> Dropout -> times one column of weights."""
        tensors = [numpy_helper.from_array(self.w, "w.weight"),
                   numpy_helper.from_array(np.float32(ratio), "ratio"),
                   numpy_helper.from_array(np.bool_(training), "training")]
        nodes = [helper.make_node("Dropout", ["x", "ratio", "training"], ["dropped", "kept"][:outputs]),
                 helper.make_node("MatMul", ["dropped", "w.weight"], ["out"])]
        info = [helper.make_tensor_value_info(n, TensorProto.FLOAT, ["batch", d])
                for n, d in [("x", WIDTH), ("out", 1)]]
        if outputs == 2:
            info.append(helper.make_tensor_value_info("kept", TensorProto.BOOL, ["batch", WIDTH]))
        graph = helper.make_graph(nodes, "g", info[:1], info[1:], tensors)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.save(model, self.path("m.onnx"))
        return self.path("m.onnx")

    def run_steps(self, name, steps=1, threads=1, ranks=1, outputs=1, **options):
        options = dict(loss="mse", optimizer="sgd", momentum=0, lr=1, batch=1, quiet=True) | options
        artifact = dlc.compile(self.model(outputs=outputs), self.path(name + ".dlc"), ddp=ranks, **options)
        return dlc.train(artifact, self.path("d.npz"), self.path(name), steps=steps, shuffle="off",
                         threads=threads, quiet=True, save_every=1)

    def expected(self, w, row, kept):
        """Loss and gradient of one sample."""
        x = np.where(kept, self.x[row].astype(np.float64) / (1 - RATIO), 0)
        error = (x @ w - self.y[row]).item()
        return error**2, 2 * error * x.T

    def test_mask_and_gradient(self):
        """Loss, gradient and the share that is kept, for three steps, with a seed."""
        run = self.run_steps("run", steps=3, seed=11)
        w = self.w.astype(np.float64)
        for step in range(3):
            kept = mask(step, seed=11)
            self.assertLess(abs(kept.mean() - (1 - RATIO)), 4 * (RATIO * (1 - RATIO) / WIDTH) ** 0.5)
            loss, gradient = self.expected(w, step, kept)
            self.assertLess(abs(run.metrics("loss")[step] / loss - 1), 1e-3)
            found = run.state(step + 1)["w.weight"].astype(np.float64)
            np.testing.assert_array_equal(found != w, gradient != 0)
            self.assertNear(w - found, gradient, 1e-4, "gradient")
            w = found
        self.assertEqual(run.state(3)["rng.draw"], 3)

    def test_a_mask_that_is_used_changes_nothing(self):
        plain, seen = self.run_steps("plain"), self.run_steps("seen", outputs=2)
        np.testing.assert_allclose(seen.state(1)["w.weight"], plain.state(1)["w.weight"], 1e-5, 1e-6)

    def test_steps_and_seeds_are_independent(self):
        masks = [mask(0), mask(1), mask(2), mask(0, seed=1), mask(0, rank=1), mask(1 << 32)]
        for i, a in enumerate(masks):
            for b in masks[:i]:
                self.assertLess(abs(np.corrcoef(a.ravel(), b.ravel())[0, 1]), 0.07)

    def test_threads(self):
        """Any number of threads drops the same."""
        one, two = self.run_steps("one", threads=1), self.run_steps("two", threads=2)
        np.testing.assert_array_equal(one.state(1)["w.weight"] == self.w, two.state(1)["w.weight"] == self.w)

    def test_ranks_differ(self):
        """The program is one, its masks are the ranks' own; rank 0's state is saved."""
        run = self.run_steps("run", ranks=2)
        w = self.w.astype(np.float64)
        parts = [self.expected(w, rank, mask(0, rank=rank)) for rank in range(2)]
        gradient = (parts[0][1] + parts[1][1]) / 2
        found = run.state(1)
        self.assertNear(w - found["w.weight"].astype(np.float64), gradient, 1e-4, "mean of the gradients")
        self.assertEqual(found["rng.rank"], 0)

    def test_micro_batches_differ(self):
        """Each of an accumulated step draws anew."""
        run = self.run_steps("run", accumulate=2)
        w = self.w.astype(np.float64)
        gradient = sum(self.expected(w, i, mask(i))[1] for i in range(2)) / 2
        self.assertNear(w - run.state(1)["w.weight"].astype(np.float64), gradient, 1e-4, "mean of the gradients")
        self.assertEqual(run.state(1)["rng.draw"], 2)

    def test_eval_is_the_identity(self):
        artifact = dlc.compile(self.model(), self.path("a.dlc"), loss="mse", batch=2, quiet=True)
        found = dlc.evaluate(artifact, self.path("d.npz"))["loss"]
        self.assertAlmostEqual(found / ((self.x.astype(np.float64) @ self.w - self.y) ** 2).mean(), 1, places=4)
        dlc.dlc("export", artifact, "-o", self.path("e.onnx"))
        node = onnx.load(self.path("e.onnx")).graph.node[0]
        self.assertEqual(list(node.input), ["x", "ratio"])

    def test_inference_form_and_zero_add_nothing(self):
        for options in [dict(training=False), dict(ratio=0.0)]:
            artifact = dlc.compile(self.model(**options), self.path("a.dlc"), loss="mse", batch=2, quiet=True)
            self.assertNotIn("rng.draw", dlc.Run("").initial(artifact))

    def test_errors(self):
        _, log = dlc.dlc("compile", self.model(ratio=1.5), "-o", self.path("a.dlc"), loss="mse", code=3)
        self.assertIn("expected a ratio from 0 to 1, found 1.5", log)

    def exported(self, name, data, train_steps, **options):
        source = os.path.join(dlc.REFS, f"dropout_{name}.onnx")
        artifact = dlc.compile(source, self.path(name + ".dlc"), quiet=True, **options)
        return artifact, dlc.train(artifact, dlc.data(data), self.path(name), steps=train_steps, threads=1,
                                   quiet=True)

    def test_frameworks_models_train(self):
        """Exported by PyTorch in training form: the loss falls, and evaluation has no dropout."""
        for name, data, steps, rate, most in [("mlp", "digits", 1200, 0.1, 0.5), ("depth", "digits", 1200, 0.1, 0.5),
                                              ("gpt", "text", 300, 3e-3, 2.9)]:
            optimizer = dict(optimizer="adamw") if name == "gpt" else dict(optimizer="sgd", momentum=0.9)
            artifact, run = self.exported(name, data + "-train", steps, lr=rate, **optimizer)
            losses = run.metrics("loss")
            self.assertLess(losses[-50:].mean(), 0.75 * losses[:10].mean(), name)
            self.assertLess(dlc.evaluate(run.folder, dlc.data(data + "-test"))["loss"], most, name)
            with open(os.path.join(artifact, "model.mlir")) as file:
                text = file.read()
            train, rest = text.split("@train_step")[1].split("func.func", 1)[0], text.split("@eval_step")[1]
            self.assertEqual(train.count("dlc.uniform"), {"mlp": 1, "depth": 2, "gpt": 3}[name])
            self.assertNotIn("dlc.uniform", rest.split("func.func", 1)[0])

    def test_resume_is_exact(self):
        artifact, run = self.exported("gpt", "text-train", 12, lr=1e-3, optimizer="adamw", steps=12, amp=True)
        dlc.train(artifact, dlc.data("text-train"), self.path("part"), steps=5, threads=1, quiet=True)
        dlc.dlc("train", resume=self.path("part"), steps=12, quiet=True)
        self.assertBitwise(dlc.Run(self.path("part")).state(12), run.state(12), "resumed")


if __name__ == "__main__":
    dlc.main()
