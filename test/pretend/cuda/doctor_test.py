# SPDX-License-Identifier: Apache-2.0
"""dlc doctor over the stand-ins: GPUs and their libraries are found, or missed."""

import json
import os
from unittest import mock

import dlc
import standins


class Gpus(standins.StandinTest):
    def examine(self, **environment):
        variables = {**os.environ, "LD_LIBRARY_PATH": standins.STANDINS, **environment}
        with mock.patch.dict(os.environ, variables):
            _, out, _ = dlc.finish(dlc.start("doctor", "--json"), timeout=60)
        return {one["what"]: one for one in json.loads(out)["sections"]["cuda"]}

    def test_libraries(self):
        found = self.examine(DLC_STANDIN_DEVICES="2")
        self.assertRegex(found["driver"]["value"], r"for CUDA \d+\.\d")
        for gpu in "GPU 0", "GPU 1":
            self.assertRegex(found[gpu]["value"], r"--sm=\d+, [\d.]+ [GM]iB")
        for library in "cuBLASLt", "cuDNN", "NCCL":
            self.assertTrue(found[library]["value"], found[library])
            self.assertFalse(found[library]["warns"])

    def test_missing_library(self):
        """Only the driver is there: a GPU without its libraries is to be mended."""
        folder = self.path("driver-only")
        os.mkdir(folder)
        for name in os.listdir(standins.STANDINS):
            if name.startswith("libcuda.so"):
                os.symlink(os.path.join(standins.STANDINS, name), os.path.join(folder, name))
        found = self.examine(LD_LIBRARY_PATH=folder, DLC_STANDIN_DEVICES="2")
        for library in "cuBLASLt", "cuDNN", "NVRTC", "NCCL":
            if found[library]["value"] is None: # the machine may have its own
                self.assertTrue(found[library]["warns"])
                self.assertRegex(found[library]["problem"], r"lib\w+\.so")


if __name__ == "__main__":
    dlc.main()
