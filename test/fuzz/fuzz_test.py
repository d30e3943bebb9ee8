# SPDX-License-Identifier: Apache-2.0
"""A few mutants of everything that is read from files and sockets, always the same ones: none crashes, hangs, takes
more than it may, or ends with a code or a message that is not documented. tools/soak.sh does this for hours."""

import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(__file__))
import dlc
import make_corpus

FUZZ = os.path.join(dlc.BUILD, "test", "dlc-fuzz")
MUTANTS = {"model": 60, "import": 120, "plan": 60, "artifact": 40, "npz": 150, "safetensors": 150, "yaml": 100,
           "store": 40}


# A build of the tool alone has none of the tests' programs.
@unittest.skipIf(not os.path.exists(FUZZ), "dlc-fuzz was not built")
class Mutants(dlc.TestCase):
    def fuzz(self, *words):
        done = subprocess.run([FUZZ, *words, "--keep=" + self.path("kept")], capture_output=True, text=True, timeout=240)
        return done.returncode, done.stdout + done.stderr

    def test_survive(self):
        make_corpus.main(self.path("corpus"), 30)
        for target, count in MUTANTS.items():
            with self.subTest(target=target):
                code, out = self.fuzz(target, self.path("corpus"), f"--mutants={count}", "--seconds=10", "--jobs=2")
                self.assertEqual(code, 0, out)

    def test_notices_what_takes_too_much(self):
        os.makedirs(self.path("seeds"))
        make_corpus.models(self.path("seeds"))
        code, out = self.fuzz("import", self.path("seeds"), "--mutants=1", "--memory=1")
        self.assertEqual(code, 1, out)
        self.assertRegex(out, "import mutant 0: .*MiB: kept in ")


if __name__ == "__main__":
    dlc.main()
