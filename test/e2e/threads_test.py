# SPDX-License-Identifier: Apache-2.0
"""Whether the number of threads changes numbers: not where there are no convolutions; docs/guide/limits.md says where it does."""

# processors: 2
import dlc


class Threads(dlc.TestCase):
    def train(self, model, data, threads, name):
        artifact = self.path(f"{model}.dlc")
        dlc.compile(dlc.model(model), artifact)
        return dlc.train(artifact, dlc.data(data), self.path(name), steps=10, threads=threads).state(10)

    def test_products_are_equal_by_any_number(self):
        for model, data in ("mlp", "digits-train"), ("gpt_tiny", "text-train"):
            with self.subTest(model=model):
                first = self.train(model, data, 1, f"{model}-1")
                for threads in 2, 3:
                    self.assertBitwise(first, self.train(model, data, threads, f"{model}-{threads}"), f"{threads} threads")

    def test_convolutions_are_equal_by_one_number(self):
        for threads in 1, 2:
            self.assertBitwise(*(self.train("lenet", "mnist-train", threads, f"lenet-{threads}-{i}") for i in range(2)), f"{threads} threads")


if __name__ == "__main__":
    dlc.main()
