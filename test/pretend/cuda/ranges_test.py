# SPDX-License-Identifier: Apache-2.0
"""DLC_NVTX=1: a profiler sees each command of a step as a range; test/pretend/libraries/nvtx plays it."""

import os
import unittest

import dlc
import numpy as np
import standins

STEPS = 3


@unittest.skipUnless(os.path.exists(os.path.join(standins.STANDINS, "libnvtx.so")), "no NVTX in the CUDA Toolkit")
class Ranges(standins.StandinTest):
    def ranges(self, **environment):
        """The ranges of a run of LeNet, and its losses."""
        artifact = self.compile_for_cuda("lenet", batch=8, optimizer="sgd")
        path = self.path("ranges")
        variables = {"NVTX_INJECTION64_PATH": os.path.join(standins.STANDINS, "libnvtx.so"),
                     "DLC_STANDIN_RANGES": path, **environment}
        run = self.path("run" + environment.get("DLC_NVTX", ""))
        self.run_on_standins(artifact, data=dlc.data("mnist-train"), run=run, steps=STEPS, seed=1,
                             environment=variables)
        ranges = []
        if os.path.exists(path):
            with open(path) as file:
                ranges = file.read().splitlines()
            os.remove(path)
        return ranges, dlc.Run(run).metrics("loss")

    def test_of_commands(self):
        ranges, losses = self.ranges(DLC_NVTX="1")
        self.assertEqual(ranges.count("conv '/c1/Conv'"), STEPS)
        self.assertEqual(sum(name.startswith("conv_backward_filter ") for name in ranges), 2 * STEPS)
        self.assertFalse([name for name in ranges if name.startswith(" ")], "ranges in ranges")
        plain, expected = self.ranges()
        self.assertEqual(plain, [])
        np.testing.assert_array_equal(losses, expected)


if __name__ == "__main__":
    dlc.main()
