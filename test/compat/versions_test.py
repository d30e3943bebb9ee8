# SPDX-License-Identifier: Apache-2.0
"""What earlier versions of dlc left is opened, and gives what it gave then: docs/guide/compatibility.md.

test/compat/VERSION-planN, made by make.sh: a run that was killed after 10 of 20 steps, with its artifact; what evaluating it
gave then; what evaluating the whole run gave; the functions of libdlc.so."""

import json
import os
import re
import shutil
import subprocess

import dlc
import numpy as np
import onnxruntime

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDERS = sorted(name for name in os.listdir(HERE) if re.fullmatch(r"[\d.]+-plan\d+", name))


def constant(name):
    with open(f"{dlc.ROOT}/runtime/plan/Artifact.h") as file:
        return int(re.search(rf"{name} = (\d+);", file.read())[1])


def kept(folder, name):
    with open(f"{HERE}/{folder}/{name}") as file:
        return json.load(file)


class Versions(dlc.TestCase):
    def command(self, *words, code=dlc.OK):
        done = subprocess.run([dlc.DLC, *words], cwd=self.folder, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout if code == dlc.OK else done.stderr

    def version(self):
        return self.command("--version").split()[1]

    def loss(self, *words):
        return json.loads(self.command("eval", *words, f"--data={dlc.data('digits-test')}", "--json"))

    def expect_same(self, found, expected):
        """But for the order of sums, which differs between CPUs."""
        self.assertEqual(found["samples"], expected["samples"])
        self.assertAlmostEqual(found["loss"], expected["loss"], delta=1e-4)
        self.assertAlmostEqual(found["accuracy"], expected["accuracy"], delta=2 / found["samples"])

    def test_there_is_one_of_this_version(self):
        """A raised number needs a folder of its own: test/compat/make.sh."""
        self.assertIn(f"{self.version()}-plan{constant('kPlanVersion')}", FOLDERS)
        layouts = {kept(folder, "run/model.dlc/manifest.json")["version"] for folder in FOLDERS}
        self.assertIn(constant("kArtifactVersion"), layouts)

    def test_each_is_opened_or_refused_with_the_way_out(self):
        for folder in FOLDERS:
            with self.subTest(folder):
                shutil.rmtree(self.path("run"), ignore_errors=True)
                shutil.copytree(f"{HERE}/{folder}/run", self.path("run"))
                version, _, plan = folder.partition("-plan")
                minors = {of.rpartition(".")[0] for of in (version, self.version())}
                must = len(minors) == 1 and version != self.version()  # of a release that this one continues
                layout = kept(folder, "run/model.dlc/manifest.json")["version"]
                if must or (int(plan), layout) == (constant("kPlanVersion"), constant("kArtifactVersion")):
                    self.check_run(folder)
                else:
                    message = self.command("eval", "run", f"--data={dlc.data('digits-test')}", code=dlc.INCOMPATIBLE)
                    self.assertIn("compile", message)

    def check_run(self, folder):
        seen = json.loads(self.command("inspect", "run", "--json"))
        self.assertEqual((seen["step"], seen["cpu"], seen["parameters"]), (10, "x86-64", 3610))
        self.expect_same(self.loss("run"), kept(folder, "after-10.json"))
        self.check_export(kept(folder, "after-10.json")["loss"])
        self.command("train", "--resume=run", f"--data={dlc.data('digits-train')}", "--quiet")
        self.expect_same(self.loss("run"), kept(folder, "after-20.json"))

    def check_export(self, loss):
        self.command("export", "run", "-o", "out.onnx")
        with np.load(dlc.data("digits-test")) as arrays:
            x, y = arrays["x"], arrays["y"]
        x = x.astype(np.float32) / 255 if x.dtype == np.uint8 else x
        session = onnxruntime.InferenceSession(self.path("out.onnx"))
        name, size = session.get_inputs()[0].name, session.get_inputs()[0].shape[0]
        step = size if isinstance(size, int) else len(x)
        logits = []
        for at in range(0, len(x), step):
            rows = np.resize(x[at:at + step], (step, *x.shape[1:]))
            logits.append(session.run(None, {name: rows})[0][:len(x) - at])
        logits = np.concatenate(logits).astype(np.float64)
        logits -= np.log(np.exp(logits).sum(1, keepdims=True))
        self.assertAlmostEqual(-logits[np.arange(len(y)), y].mean(), loss, delta=1e-4)

    def test_no_function_is_gone(self):
        table = subprocess.run(["nm", "-D", "--defined-only", f"{dlc.BUILD}/lib/libdlc.so"], capture_output=True, text=True, check=True)
        names = {line.split()[-1].split("@")[0] for line in table.stdout.splitlines()}
        for folder in FOLDERS:
            with open(f"{HERE}/{folder}/functions.txt") as file:
                before = file.read().split()
            self.assertGreater(len(before), 28)
            self.assertEqual(sorted(set(before) - names), [])


if __name__ == "__main__":
    dlc.main()
