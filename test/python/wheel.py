# SPDX-License-Identifier: Apache-2.0
"""Where the wheel is installed for tests, by wheel_test.py, and how a test runs there.

A test's first lines are `import wheel; wheel.enter()`; what it imports then is the package `dlc`, not test/support/dlc.py.
"""

import os
import shutil
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.abspath(os.environ.get("DLC_BUILD", os.path.join(ROOT, "build")))
HOME = os.path.join(BUILD, "python")
SITE = os.path.join(HOME, "site")
TOOLS = os.path.join(ROOT, ".venv-wheel", "bin")
MODELS = os.path.join(ROOT, "models")
SKIPPED = 77


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


def enter(python=None, why=""):
    """Runs this script again by an interpreter (this one, if None) that finds the wheel; `why`: what it would test."""
    if os.environ.get("DLC_IN_WHEEL"):
        return
    if not os.path.isdir(os.path.join(SITE, "dlc")):
        skip("no wheel is installed: run test/python/wheel_test.py")
    python = python or sys.executable
    if not os.path.exists(python):
        skip(f"no {python}{why}")
    environment = {**os.environ, "PYTHONPATH": SITE, "DLC_IN_WHEEL": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    os.execve(python, [python, *sys.argv], environment)


def enter_torch(packages="torch, onnx and onnxscript"):
    """The same by the interpreter DLC_TORCH_PYTHON, which has `packages`."""
    enter(os.environ.get("DLC_TORCH_PYTHON", "DLC_TORCH_PYTHON"), f": set it to an interpreter that has {packages}")


class TorchCase(unittest.TestCase):
    """A folder of its own, torch's numbers from one seed, and no messages."""

    def setUp(self):
        import dlc
        import torch

        self.folder = tempfile.mkdtemp(prefix="dlc-test-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        torch.manual_seed(0)
        dlc.set_log(lambda level, line: None)
