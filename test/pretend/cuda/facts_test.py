# SPDX-License-Identifier: Apache-2.0
"""What gpu-facts found on an H200 (cuDNN 9.19, cuBLASLt 13.1) is what the compiler, the runtime and the stand-ins assume."""

import json
import os

import dlc

HERE = os.path.join(dlc.ROOT, "test", "gpu")


class Facts(dlc.TestCase):
    def setUp(self):
        super().setUp()
        with open(os.path.join(HERE, "h200-facts.json")) as file:
            self.facts = json.load(file)

    def test_conventions(self):
        """dlc's running variance is of the sample, as PyTorch's; only GELU's tanh form is asked of cuBLASLt."""
        self.assertTrue(self.facts["cudnn_running_variance"]["form"].startswith("unbiased"))
        self.assertEqual({form["form"] for form in self.facts["cublaslt_gelu"].values()}, {"tanh"})

    def test_engines(self):
        """Placement asks for nothing that has no engine; results have the same bytes each time, also in a recording."""
        for mode in "engines", "deterministic_engines":
            for kind, entries in self.facts[mode].items():
                self.assertGreater(len(entries), 15, kind)
                for entry in entries:
                    self.assertNotIn("missing", entry, f"{mode}: {kind}")
                    self.assertTrue(entry["same_bytes"] and entry["recorded_same_bytes"], entry)

    def test_device_properties(self):
        """Plans are made without a GPU from what cuDNN said of this one."""
        with open(os.path.join(HERE, "h200.json")) as file:
            given = json.load(file)
        given.pop("version", None)
        self.assertEqual(given, self.facts["cudnn_device_properties"])


if __name__ == "__main__":
    dlc.main()
