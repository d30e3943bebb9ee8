# SPDX-License-Identifier: Apache-2.0
"""The script and the notebook of docs/guide/pictures.md, in a new environment with the wheel, torch and torchvision.

What the environment DLC_TORCH_PYTHON has is linked, not installed; the notebook's server is that of .venv-wheel.
"""

import glob
import os
import re
import subprocess
import sys
import tempfile
import unittest

import wheel

EXAMPLES = f"{wheel.MODELS}/examples"
MAKE = """
import os, sys
import numpy as np
from PIL import Image
for part, name, count in ("train", "train", 180), ("test", "val", 60):
    digits = np.load(f"{sys.argv[1]}/mnist-{part}.npz")
    for i in np.flatnonzero(digits["y"] < 3)[:count]:
        folder = f"pictures/{name}/{digits['y'][i]}"
        os.makedirs(folder, exist_ok=True)
        Image.fromarray(digits["x"][i, 0]).resize((64, 64)).convert("RGB").save(f"{folder}/{i}.jpg")
"""
NOTEBOOK = """
import sys
import nbclient, nbformat
notebook = nbformat.read(sys.argv[1], 4)
nbclient.NotebookClient(notebook, timeout=400, kernel_name="python3").execute()
nbformat.write(notebook, "done.ipynb")
"""


def site_of(python):
    return subprocess.run([python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], check=True, text=True,
                          capture_output=True).stdout.strip()


class Pictures(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="dlc-test-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        venv = f"{cls.folder}/venv"
        subprocess.run([TORCH, "-m", "venv", "--without-pip", venv], check=True)
        cls.python = f"{venv}/bin/python"
        file, = glob.glob(f"{wheel.HOME}/*-cp311-cp311-*.whl")
        subprocess.run([f"{wheel.TOOLS}/python", "-m", "pip", "--python", cls.python, "install", "--quiet", "--no-deps", "--no-index",
                        "--disable-pip-version-check", file], check=True)
        with open(f"{site_of(cls.python)}/others.pth", "w") as links:
            links.write(f"{site_of(TORCH)}\n{site_of(f'{wheel.TOOLS}/python')}\n")

    def run_python(self, *words):
        ended = subprocess.run([self.python, *words], cwd=self.folder, text=True, capture_output=True, timeout=500,
                               env={key: value for key, value in os.environ.items() if key != "PYTHONPATH"})
        self.assertEqual(ended.returncode, 0, ended.stdout + ended.stderr)
        return ended.stdout

    def test_the_script(self):
        with open(f"{EXAMPLES}/pictures.py") as file:
            self.assertLessEqual(len(file.read().splitlines()), 12)
        self.run_python("-c", MAKE, wheel.MODELS)
        said = self.run_python(f"{EXAMPLES}/pictures.py")
        accuracy = re.fullmatch(r"accuracy (\d\.\d+), see report.html\n", said)
        self.assertTrue(accuracy, said)
        self.assertGreater(float(accuracy[1]), 0.8)
        self.assertGreater(os.path.getsize(f"{self.folder}/report.html"), 100_000)

    def test_the_notebook(self):
        import json

        self.run_python("-c", NOTEBOOK, f"{EXAMPLES}/pictures.ipynb")
        with open(f"{self.folder}/done.ipynb") as file:
            cells = [cell["outputs"] for cell in json.load(file)["cells"] if cell["cell_type"] == "code"]
        bars = [output["data"] for output in cells[2] if "text/html" in output.get("data", {})]
        self.assertEqual(len(bars), 1, cells[2])
        self.assertIn("<progress", "".join(bars[0]["text/html"]))
        self.assertRegex("".join(bars[0]["text/plain"]), r"step (\d+)/\1 ")
        streams = "".join("".join(output["text"]) for output in cells[2] if output["output_type"] == "stream")
        self.assertNotRegex(streams, r"step \d+/")
        self.assertRegex(streams, r"epoch 4: val loss \d")
        self.assertIn("report.html", "".join(cells[3][0]["data"]["text/html"]))


if __name__ == "__main__":
    TORCH = os.environ.get("DLC_TORCH_PYTHON", "DLC_TORCH_PYTHON")
    if not glob.glob(f"{wheel.HOME}/*-cp311-cp311-*.whl"):
        wheel.skip("no wheel is made: run test/python/wheel_test.py")
    packages = "import torch, torchvision, onnx, onnxscript, sys; sys.exit(sys.version_info[:2] != (3, 11))"
    if not os.path.exists(TORCH) or subprocess.run([TORCH, "-c", packages], capture_output=True).returncode:
        wheel.skip("DLC_TORCH_PYTHON is no Python 3.11 with torch, torchvision, onnx and onnxscript")
    unittest.main(verbosity=2)
