# SPDX-License-Identifier: Apache-2.0
"""The README's commands do what it says: those of its block of dlc's commands, in the page's order, in one folder."""

import os
import re
import subprocess

import dlc


def blocks():
    with open(os.path.join(dlc.ROOT, "README.md"), encoding="utf-8") as file:
        found = re.findall(r"^```\n(.*?)^```", file.read(), re.DOTALL | re.MULTILINE)
    return [block for block in found if block.startswith("dlc ")]


class Readme(dlc.TestCase):
    def setUp(self):
        super().setUp()
        os.symlink(dlc.MODELS, self.path("models"))

    def test_every_command_works(self):
        self.assertEqual(len(blocks()), 1)
        environment = {**os.environ, "PATH": os.path.dirname(dlc.DLC) + ":" + os.environ["PATH"]}
        script = "set -e\n" + re.sub(r"--epochs=\d+", "--epochs=1", blocks()[0])  # the same in less time
        ran = subprocess.run(["bash", "-c", script], cwd=self.folder, env=environment, text=True, timeout=250,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(ran.returncode, 0, f"{script}\n{ran.stdout}")
        for name in "lenet.dlc", "report.html", "trained.onnx":
            self.assertTrue(os.path.exists(self.path(name)), name)


if __name__ == "__main__":
    dlc.main()
