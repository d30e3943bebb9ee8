# SPDX-License-Identifier: Apache-2.0
"""Runs dlc on the CUDA backend without a GPU, for test/pretend/cuda."""

import os
import re
import subprocess
import unittest
from unittest import mock

import dlc

STANDINS = os.path.join(dlc.BUILD, "test", "pretend", "libraries")
HOST_KERNELS = os.path.join(dlc.BUILD, "bin", "dlc-host-kernels")


def can_run():
    """Whether this build has the backend, its stand-ins and the emulator, and an assembler is found."""
    if not (os.path.exists(HOST_KERNELS) and os.path.exists(os.path.join(STANDINS, "libcuda.so.1"))):
        return False
    run = subprocess.run([os.path.join(dlc.BUILD, "bin", "dlc-codegen"), "-", "--sm=90", "--emit=resources"],
                         input="module {}", capture_output=True, text=True)
    return run.returncode == 0


@unittest.skipUnless(can_run(), "no CUDA backend in this build, or no ptxas on this machine")
class StandinTest(dlc.TestCase):
    def compile_for_cuda(self, name, computes=True, **options):
        """Compiles models/NAME or a file; returns the artifact, its plan as text, and the library that emulates its kernels."""
        options = dict(options, target="cuda", sm="90")
        source = name if os.path.isabs(name) else dlc.model(name)
        artifact = dlc.compile(source, self.path("cuda.dlc"), **options)
        text, _ = dlc.dlc("compile", source, "-o", "-", stop_after="plan", **options)
        with open(self.path("plan.mlir"), "w") as file:
            file.write(text)
        if computes:
            subprocess.run([HOST_KERNELS, self.path("plan.mlir"), self.path("kernels.so"), "90"], check=True,
                           timeout=60)
        return artifact

    def run_on_standins(self, artifact, *words, command="train", code=dlc.OK, environment=(), accepts=None,
                        tune="heuristic", **options):
        """Runs dlc COMMAND on the stand-ins; returns (stdout, stderr). Incorrect use of CUDA fails the test, unless ACCEPTS matches it.

        Algorithms are not measured unless WORDS have --tune, or `tune` is None.
        """
        variables = {**os.environ, "LD_LIBRARY_PATH": STANDINS, "DLC_STANDIN_KERNELS": self.path("kernels.so"),
                     "DLC_STANDIN_DEVICES": "4", **dict(environment)} # a GPU for each rank
        if command == "train" and tune and not any(word.startswith("--tune=") for word in words):
            options["tune"] = tune
        with mock.patch.dict(os.environ, variables):
            out, err = dlc.dlc(*command.split(), artifact, *words, code=code, **options)
        complaints = [line for line in err.splitlines() if "stand-in driver:" in line]
        self.assertEqual([line for line in complaints if not (accepts and re.search(accepts, line))], [])
        return out, err
