# SPDX-License-Identifier: Apache-2.0
"""tools/wheel.sh makes wheels that need nothing but NumPy: in an empty environment they compile, train, evaluate, export.

That of this Python stays installed in the build folder for the other tests of this folder.
"""

import glob
import json
import os
import shutil
import subprocess
import sys
import unittest

import dlc
import wheel

NEWER = f"{wheel.ROOT}/.venv-abi3"
PROGRAM = """
import sys
import dlc
models, folder = dlc.SAMPLES, sys.argv[1]
train, test = f"{models}/mnist-train.npz", f"{models}/mnist-test.npz"
artifact = dlc.compile(f"{models}/lenet.onnx", f"{folder}/lenet.dlc", optimizer="adamw", lr=0.003, schedule="cosine",
                       ema=0.99, batch=32, quiet=True)
run = dlc.Trainer(artifact, data=train, val=test, epochs=6, run=f"{folder}/run", quiet=True).run()
print(dlc.Session(run.folder).evaluate(test).accuracy)
dlc.export(run.folder, f"{folder}/trained.onnx")
assert not [name for name in sys.modules if name.split(".")[0] in ("onnx", "torch")]
maps = open("/proc/self/maps").read()
assert "libdlc.so" in maps and "LLVM" not in maps and "dlc-compile" not in maps
"""


class Wheel(dlc.TestCase):
    @classmethod
    def setUpClass(cls):
        os.makedirs(wheel.HOME, exist_ok=True)
        made = subprocess.run(["bash", f"{wheel.ROOT}/tools/wheel.sh", "--no-build", wheel.HOME], text=True, capture_output=True,
                              env={**os.environ, "DLC_BUILD": wheel.BUILD})
        cls.has_newer = "abi3 needs a Python 3.12 or newer" not in made.stderr
        assert made.returncode == (0 if cls.has_newer else 1), made.stdout + made.stderr
        cls.said = made.stdout
        cls.file, = glob.glob(f"{wheel.HOME}/*-cp311-cp311-*.whl")
        cls.newer, = glob.glob(f"{wheel.HOME}/*-cp312-abi3-*.whl") if cls.has_newer else (None,)
        shutil.rmtree(wheel.SITE, ignore_errors=True)
        cls.install("--target", wheel.SITE)

    @classmethod
    def install(cls, *where, python=sys.executable, file=None):
        subprocess.run([f"{wheel.TOOLS}/python", "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index",
                        "--disable-pip-version-check", *where, file or cls.file], check=True)

    def test_it_says_what_it_is(self):
        for file in filter(None, (self.file, self.newer)):
            self.assertIn("-manylinux_2_36_x86_64.whl", file)
            mebibytes = os.path.getsize(file) >> 20
            self.assertIn(f"{file}, {mebibytes} MiB", self.said)
            self.assertLess(mebibytes, 90)

    def test_it_has_the_licences_of_what_is_inside(self):
        documents = f"{wheel.SITE}/dlc/share/doc"
        with open(f"{documents}/sbom.cdx.json") as file:
            components = {component["name"]: component for component in json.load(file)["components"]}
        self.assertEqual(sorted(os.listdir(f"{documents}/licenses")), sorted(["README.txt", *components]))
        self.assertLess({"nanobind", "robin-map", "libnl3", "onednn-cpu-gomp", "llvm-toolchain-22"}, set(components))
        known = [entry["value"] for component in components.values() for entry in component["properties"] if entry["name"] == "dlc:file"]
        inside = [os.path.basename(file) for file in glob.glob(f"{wheel.SITE}/**/*.so*", recursive=True)]
        self.assertEqual([name for name in inside if not name.startswith(("libdlc.so", "_dlc.")) and name not in known], [])

    def test_an_unknown_flag(self):
        ended = subprocess.run(["bash", f"{wheel.ROOT}/tools/wheel.sh", "--fast"], text=True, capture_output=True)
        self.assertEqual((ended.returncode, ended.stderr), (2, "wheel: unknown option --fast; see --help\n"))

    def test_a_python_that_is_no_newer(self):
        """Nothing is made, and the environment that is there stays."""
        ended = subprocess.run(["bash", f"{wheel.ROOT}/tools/wheel.sh", "--no-build", "--only=abi3", self.folder], text=True,
                               capture_output=True, env={**os.environ, "DLC_BUILD": wheel.BUILD, "DLC_WHEEL_PYTHON": "/usr/bin/python3.11"})
        self.assertEqual((ended.returncode, ended.stderr), (1, "wheel: error: /usr/bin/python3.11 is not Python 3.12 or newer\n"))
        self.assertEqual(os.path.exists(f"{NEWER}/made-of.txt"), self.has_newer)

    def environment(self, of, file):
        """A virtual environment beside `of`'s with the wheel and NumPy."""
        venv = self.path("venv")
        subprocess.run([f"{of}/bin/python", "-m", "venv", "--without-pip", venv], check=True)
        self.install(python=f"{venv}/bin/python", file=file)
        site, = glob.glob(f"{venv}/lib/python3*/site-packages")
        of_site, = glob.glob(f"{of}/lib/python3*/site-packages")
        for name in ("numpy", "numpy.libs"):
            os.symlink(f"{of_site}/{name}", f"{site}/{name}")
        return venv, {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}

    def test_the_guide_begins_there(self):
        """"Ten minutes" with the tools, the models and the data of the wheel."""
        venv, clean = self.environment(f"{wheel.ROOT}/.venv-wheel", self.file)
        page = [sys.executable, f"{wheel.ROOT}/test/docs/page.py", f"{wheel.ROOT}/docs/guide/start.md", f"{venv}/bin"]
        ended = subprocess.run(page, text=True, capture_output=True, timeout=600,
                               env={**clean, "DLC_BUILD": wheel.BUILD, "PYTHONPATH": f"{wheel.ROOT}/test/support"})
        self.assertEqual(ended.returncode, 0, ended.stdout + ended.stderr)

    def test_an_empty_environment(self):
        self.check_environment(f"{wheel.ROOT}/.venv-wheel", self.file)

    def test_an_empty_environment_of_a_newer_python(self):
        if not self.has_newer:
            self.skipTest("Debian 13's Python is out of reach, and DLC_WHEEL_PYTHON names no other")
        self.check_environment(NEWER, self.newer)

    def check_environment(self, of, file):
        venv, clean = self.environment(of, file)
        ended = subprocess.run([f"{venv}/bin/python", "-c", PROGRAM, self.folder], text=True, capture_output=True,
                               timeout=600, env=clean, cwd=self.folder)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertGreaterEqual(float(ended.stdout), 0.97)
        self.assertGreater(os.path.getsize(self.path("trained.onnx")), 100_000)
        for command in ([f"{venv}/bin/dlc"], [f"{venv}/bin/python", "-m", "dlc"]):
            tool = subprocess.run([*command, "inspect", self.path("run")], text=True, capture_output=True, env=clean)
            self.assertEqual(tool.returncode, 0, tool.stderr)
            self.assertIn("61706 parameters", tool.stdout)


if __name__ == "__main__":
    if not os.path.exists(f"{wheel.TOOLS}/scikit-build"):
        wheel.skip("no environment to make it with: run tools/setup.sh")
    dlc.main()
