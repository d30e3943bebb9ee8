# SPDX-License-Identifier: Apache-2.0
"""mypy --strict takes the package and a program that uses it, and refuses wrong options: their types are in the stubs."""

import wheel

wheel.enter(f"{wheel.TOOLS}/python", ", which has mypy: run tools/setup.sh")

import subprocess
import sys
import tempfile
import unittest

RIGHT = """
import numpy as np
import dlc

artifact: str = dlc.compile("m.onnx", "m.dlc", amp=True, optimizer="adamw", lr=1e-3, betas=[0.9, 0.99], batch=8)
amp_level = dlc.compile("m.onnx", "m.dlc", amp="O2", freeze="^c")
trainer = dlc.Trainer(artifact, data={"x": np.zeros(3), "y": np.zeros(3)}, epochs=3, on_step=lambda s: s.metrics["loss"] > 0)
run = trainer.run()
session = dlc.Session(run.folder, threads=2)
loss: float | None = session.train_step(np.zeros(3), np.zeros(3))
accuracy: float | None = session.evaluate("test.npz").accuracy
try:
    dlc.export(run.folder, "out.onnx", ema=True)
except dlc.BadModel as error:
    code: int = error.code
"""
WRONG = {
    'dlc.compile("m.onnx", "m.dlc", amp="O9")': "amp",
    'dlc.compile("m.onnx", "m.dlc", optimiser="adam")': "optimiser",
    'dlc.Trainer("m.dlc", epochs="three")': "epochs",
    'dlc.Session("m.dlc", quiet=True)': "quiet",
    'dlc.Session("m.dlc").evaluate(7)': "evaluate",
}


def check(text, *flags):
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/program.py", "w") as file:
            file.write(text)
        ended = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", f"{folder}/cache",
                                *(flags or ["program.py"])],
                               cwd=folder, capture_output=True, text=True)
        return ended.returncode, ended.stdout + ended.stderr


class Typing(unittest.TestCase):
    def test_a_program(self):
        self.assertEqual(check(RIGHT)[0], 0, check(RIGHT)[1])

    def test_the_package_itself(self):
        code, said = check("", "--ignore-missing-imports", "--package", "dlc")
        self.assertEqual(code, 0, said)

    def test_wrong_options(self):
        code, said = check("import dlc\n" + "\n".join(WRONG))
        self.assertEqual(code, 1, said)
        for line, word in enumerate(WRONG.values(), 2):
            found = [text for text in said.splitlines() if text.startswith(f"program.py:{line}: error")]
            self.assertTrue(found and word in found[0], said)

    def test_every_option_is_explained(self):
        import dlc.options
        with open(dlc.options.__file__) as file:
            text = file.read()
        for name in ("CompileOptions", "TrainerOptions"):
            keys = getattr(dlc.options, name).__annotations__
            self.assertGreater(len(keys), 30)
            for key in keys:
                self.assertRegex(text, rf'    {key}: .*\n    """[^"]+"""')


if __name__ == "__main__":
    unittest.main(verbosity=2)
