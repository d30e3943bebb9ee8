# SPDX-License-Identifier: Apache-2.0
"""Whether the number of threads changes numbers: docs/guide/limits.md says where it does."""

# processors: 2
import dlc

with open("/proc/cpuinfo") as cpus:
    HAS_AVX512 = " avx512f " in cpus.read()


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
                    found = self.train(model, data, threads, f"{model}-{threads}")
                    if HAS_AVX512:
                        self.assertBitwise(first, found, f"{threads} threads")
                    else:
                        for key, value in first.items():
                            self.assertNear(found[key], value, 1e-4, f"{threads} threads: {key}")

    def test_convolutions_are_equal_by_one_number(self):
        for threads in 1, 2:
            self.assertBitwise(*(self.train("lenet", "mnist-train", threads, f"lenet-{threads}-{i}") for i in range(2)), f"{threads} threads")


if __name__ == "__main__":
    dlc.main()
