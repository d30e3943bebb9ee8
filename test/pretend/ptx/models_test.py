# SPDX-License-Identifier: Apache-2.0
"""The PTX of every kernel of whole training steps, interpreted, against the CPU's kernels."""

import importlib.util
import os
import re
import subprocess
import tempfile
import unittest

import dlc

SPEC = importlib.util.spec_from_file_location(
    "emulated", os.path.join(dlc.ROOT, "test", "pretend", "emulator", "models_test.py"))
EMULATED = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(EMULATED)

MOST_ELEMENTS = 300000
# Other SMs get other code for 16-bit floats: 80 lacks instructions of 90, and 100 has more.
HALVES = "lenet in bf16", "gpt_tiny in fp16", "generated attention in bf16", "experts in fp16"


@unittest.skipUnless(os.path.exists(EMULATED.EMULATE), "the emulator is only built on x86-64")
class Models(unittest.TestCase):
    def test_kernels_equal_the_cpu(self):
        kernels = instructions = 0
        opcodes = set()
        cases = [(name, "90") for name in EMULATED.STEPS] + [(name, sm) for name in HALVES for sm in ("80", "100")]
        for name, sm in cases:
            with self.subTest(name, sm=sm), tempfile.NamedTemporaryFile("w", suffix=".mlir") as program:
                program.write(EMULATED.plan_of(name))
                program.flush()
                run = subprocess.run([EMULATED.EMULATE, program.name, sm, str(MOST_ELEMENTS)], capture_output=True,
                                     text=True, timeout=200, env=dict(os.environ, DLC_GPU_CODE="ptx"))
                self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
                found = re.search(r"(\d+) instructions, opcodes: (.*)\n(\d+) kernels, (\d+) runs, 0 errors", run.stdout)
                self.assertEqual(int(found[4]), 6 * int(found[3]))
                kernels += int(found[3])
                instructions += int(found[1])
                opcodes.update(found[2].split())
        self.assertGreater(kernels, 1000)
        print(f"{kernels} kernels, {len(opcodes)} opcodes, {instructions} instructions")


if __name__ == "__main__":
    dlc.main()
