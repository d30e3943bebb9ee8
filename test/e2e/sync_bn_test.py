# SPDX-License-Identifier: Apache-2.0
"""--sync-bn: batch norm by the batches of all ranks. Any number of ranks takes the steps of one with the whole batch, and
those of PyTorch (whose own SyncBatchNorm needs GPUs, and is defined to equal its batch norm of the whole batch).

resnet8 amplifies rounding: from the same weights the first steps agree to rounding, then runs part (refs_test.py).
"""

import os
import sys

import dlc
import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "import"))
import onnx  # noqa: E402
from support import model, node, value  # noqa: E402

SGD = dict(dlc.CONSTANT_SGD, lr=0.02, momentum=0.9, weight_decay=0)


def network(batch):
    """Convolution, norm, and a norm of rows behind it."""
    random = np.random.RandomState(3)
    norm = lambda x, y, name: node("BatchNormalization", [x, *(name + p for p in (".weight", ".bias", ".running_mean", ".running_var"))],
                                   [y], name=name, momentum=0.9)
    nodes = [node("Conv", ["x", "c.weight"], ["a"], name="c", kernel_shape=[3, 3], pads=[1, 1, 1, 1]), norm("a", "b", "n"),
             node("Relu", ["b"], ["r"]), node("GlobalAveragePool", ["r"], ["g"]), node("Flatten", ["g"], ["f"]),
             norm("f", "h", "m"), node("Gemm", ["h", "d.weight"], ["y"], name="d", transB=1)]
    weights = {"c.weight": random.randn(6, 3, 3, 3).astype("f4") / 5, "d.weight": random.randn(4, 6).astype("f4") / 2}
    for name in "n", "m":
        weights |= {name + ".weight": random.rand(6).astype("f4") + 0.5, name + ".bias": random.randn(6).astype("f4"),
                    name + ".running_mean": np.zeros(6, "f4"), name + ".running_var": np.ones(6, "f4")}
    return model(nodes, [value("x", [batch, 3, 5, 5])], [value("y", [batch, 4])], weights, opset=17)


class SyncBatchNorm(dlc.TestCase):
    def data(self, batch, steps, mean=0.0):
        random = np.random.RandomState(5)
        rows = batch * steps
        # Each rank's samples have a mean of their own: what one rank knows is not what all know.
        x = random.randn(rows, 3, 5, 5) * 2 + mean + np.arange(rows).reshape(-1, 1, 1, 1) % batch
        np.savez(self.path("data.npz"), x=x.astype("f4"), y=random.randint(4, size=rows))
        return self.path("data.npz")

    def train(self, ranks, batch, steps, data, run="run", **options):
        proto = network(batch // ranks // options.get("accumulate", 1))
        onnx.save(proto, self.path("m.onnx"))
        artifact = dlc.compile(self.path("m.onnx"), self.path(f"{run}{ranks}.dlc"), ddp=ranks, **(SGD | options))
        return dlc.train(artifact, data, self.path(f"{run}{ranks}"), shuffle="off", steps=steps, threads=1)

    def check(self, one, other, steps, tolerance=1e-4):
        """The second norm leaves little of the first's bias gradient but rounding, which its moment shows."""
        np.testing.assert_allclose(other.metrics("loss"), one.metrics("loss"), rtol=tolerance)
        expected, found = one.state(steps), other.state(steps)
        self.assertEqual(found.keys(), expected.keys())
        for key, numbers in expected.items():
            if numbers.dtype == np.float32:
                self.assertNear(found[key], numbers, tolerance, key)

    def test_any_number_of_ranks(self):
        data = self.data(12, 8)
        one = self.train(1, 12, 8, data)
        for ranks in 2, 3, 4:
            with self.subTest(ranks=ranks):
                self.check(one, self.train(ranks, 12, 8, data, sync_bn=True), 8)
        apart = self.train(2, 12, 8, data, run="apart")
        self.assertGreater(np.abs(apart.metrics("loss") / one.metrics("loss") - 1).max(), 1e-3)

    def test_one_row_a_rank(self):
        """A single value a channel has a variance with the others'."""
        data = self.data(4, 3)
        self.check(self.train(1, 4, 3, data), self.train(4, 4, 3, data, sync_bn=True), 3)

    def test_large_mean(self):
        """f32 would lose the variance of values around 3000 in the difference of squares."""
        data = self.data(8, 1, mean=3000)
        one, two = self.train(1, 8, 1, data), self.train(2, 8, 1, data, sync_bn=True)
        for key in "n.running_var", "n.running_mean":
            self.assertNear(two.state(1)[key], one.state(1)[key], 1e-5, key)

    def test_accumulated(self):
        """Micro-batches of all ranks together: two ranks with micro-batches of 3 are one with 6."""
        data = self.data(12, 6)
        self.check(self.train(1, 12, 6, data, accumulate=2), self.train(2, 12, 6, data, accumulate=2, sync_bn=True), 6)

    def test_population_variance(self):
        data = self.data(12, 4)
        own = dict(bn_variance="population")
        self.check(self.train(1, 12, 4, data, **own), self.train(2, 12, 4, data, sync_bn=True, **own), 4)

    def test_half(self):
        data = self.data(12, 8)
        own = dict(amp=True, amp_dtype="bf16")
        one, two = self.train(1, 12, 8, data, **own), self.train(2, 12, 8, data, sync_bn=True, **own)
        np.testing.assert_allclose(two.metrics("loss"), one.metrics("loss"), rtol=1e-2)
        first = [self.train(ranks, 12, 1, data, run="first", sync_bn=ranks > 1, **own).state(1) for ranks in (1, 2)]
        for key in "n.running_mean", "n.running_var":
            self.assertNear(first[1][key], first[0][key], 1e-5, key)

    def test_other_number_of_ranks(self):
        """The count is the run's, not the artifact's: ranks that are left go on as so many."""
        data = self.data(12, 8)
        self.train(2, 12, 4, data, sync_bn=True)
        dlc.dlc("train", resume=self.path("run2"), ranks=3, steps=6)
        three = dlc.Run(self.path("run2")).state(6)
        self.assertTrue(all(np.isfinite(v).all() for k, v in three.items() if v.dtype == np.float32))

    def test_resnet8_as_torch(self):
        ref = dlc.Reference("resnet8")
        artifact = dlc.compile(dlc.model("resnet8"), self.path("m.dlc"), batch=ref.batch // 2, ddp=2, sync_bn=True,
                               loss="cross_entropy", schedule="constant", optimizer="adamw", lr=1e-3, betas="0.9,0.999",
                               eps=1e-8, weight_decay=1e-2)
        run = dlc.train(artifact, ref.write(self.path("data.npz")), self.path("run"), shuffle="off", steps=8, threads=1,
                        save_every=2, keep=9)
        np.testing.assert_allclose(run.metrics("loss")[:8], ref.arrays["losses_adamw"][:8], rtol=1e-4)
        for key, numbers in ref.group("early_adamw").items():
            self.assertNear(run.state(2)[key], numbers, 1e-3, key)


if __name__ == "__main__":
    dlc.main()
