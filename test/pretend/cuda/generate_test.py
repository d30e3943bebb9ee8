# SPDX-License-Identifier: Apache-2.0
"""dlc generate with a cache of keys and values, by a GPU's compilation: the tokens of the CPU's whole passes."""

import os

import dlc
import standins


class Generate(standins.StandinTest):
    def test_as_on_a_cpu(self):
        source, words = os.path.join(dlc.REFS, "generate.onnx"), dict(prompt="33 34", tokens=40, temperature=1, seed=2)
        cpu = dlc.compile(source, self.path("cpu.dlc"), batch=2)
        expected, _ = dlc.dlc("generate", cpu, **words)
        found, err = self.run_on_standins(self.compile_for_cuda(source, batch=2, decode=True), command="generate", **words)
        self.assertEqual(found, expected)
        self.assertNotIn("--decode", err)


if __name__ == "__main__":
    dlc.main()
