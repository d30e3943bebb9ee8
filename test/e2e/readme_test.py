# SPDX-License-Identifier: Apache-2.0
"""The README's commands do what it says: those of each block, in the page's order, in one folder."""

import os
import re
import socket
import subprocess

import dlc

WITH_GPU = "# on a machine with two GPUs"


def blocks():
    """Those of commands, up to a line that asks for a GPU."""
    with open(os.path.join(dlc.ROOT, "README.md"), encoding="utf-8") as file:
        found = re.findall(r"^```\n(.*?)^```", file.read(), re.DOTALL | re.MULTILINE)
    return [block.split(WITH_GPU)[0] for block in found if re.match("(dlc|export) ", block)]


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Readme(dlc.TestCase):
    def setUp(self):
        super().setUp()
        os.symlink(dlc.MODELS, self.path("models"))

    def here(self, block):
        """The same in less time, and both machines are this one."""
        block = block.replace("node0", "127.0.0.1", 1).replace("29500", str(free_port()))
        block = re.sub(r"--epochs=\d+", "--epochs=1", block)
        return re.sub(r"^(RANK=\d [^#\n]*).*", r"\1 & ranks+=($!)", block, flags=re.MULTILINE)

    def test_every_command_works(self):
        self.assertEqual(len(blocks()), 4)
        environment = {**os.environ, "PATH": os.path.dirname(dlc.DLC) + ":" + os.environ["PATH"]}
        for block in blocks():
            script = f"set -e\nranks=()\n{self.here(block)}\nfor rank in ${{ranks[@]}}; do wait $rank; done"
            ran = subprocess.run(["bash", "-c", script], cwd=self.folder, env=environment, text=True, timeout=250,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            self.assertEqual(ran.returncode, 0, f"{script}\n{ran.stdout}")
        for name in "lenet-trained.onnx", "lenet-gpu.dlc", "several/model.dlc", "gpt-lora.safetensors":
            self.assertTrue(os.path.exists(self.path(name)), name)


if __name__ == "__main__":
    dlc.main()
