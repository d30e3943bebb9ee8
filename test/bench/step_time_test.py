# SPDX-License-Identifier: Apache-2.0
"""Tests the figures of step_time.py with a peer whose step times this test sets."""

import argparse
import importlib.util
import json
import os
import stat
import subprocess
import sys

import dlc

SCRIPT = os.path.join(dlc.ROOT, "test", "bench", "step_time.py")
# Words as torch_step.py's: 1 the script, 2 the model, 8 the form. Slow while it warms up.
PEER = """#!/bin/sh
case $8 in
compile) echo tried >> "$0.compile"; echo "no compiler here" >&2; exit 1 ;;
channels_last) ms=1000 ;;
*) ms=2000 ;;
esac
echo "{\\"steps\\": [9e6, 9e6, 9e6, 9e6, 9e6, $ms, $ms], \\"cpu_ms\\": 50, \\"first\\": 7, \\"import_mib\\": 400, \\"peak_mib\\": 450}"
"""


class StepTimeTest(dlc.TestCase):
    def run_script(self, *words, peer=PEER, flags=("--busy",)):
        python = self.path("peer")
        with open(python, "w") as file:
            file.write(peer)
        os.chmod(python, os.stat(python).st_mode | stat.S_IXUSR)
        done = subprocess.run([sys.executable, SCRIPT, *words, *flags], capture_output=True, text=True, timeout=240,
                              env=dict(os.environ, DLC_PEER_PYTHON=python))
        return done.returncode, done.stdout, done.stderr

    def test_figures_of_all_sides(self):
        path = self.path("found.json")
        code, out, err = self.run_script("mlp", "--rounds=2", "--steps=20", "--threads=1", "--json=" + path)
        self.assertEqual(code, 0, out + err)
        with open(path) as file:
            found = json.load(file)["models"]["mlp"]
        ours = found["dlc"]
        self.assertLess(0, ours["least_ms"])
        self.assertLessEqual(ours["least_ms"], ours["median_ms"])
        self.assertLess(0, ours["first_s"])
        self.assertLess(0, ours["compile_s"])
        self.assertLess(1, ours["memory_mib"])
        self.assertEqual(ours["over_dlc"], 1)
        if ours["roofline"]:  # else the machine's rates changed while they were measured
            self.assertLess(0, ours["roofline"])
            self.assertAlmostEqual(found["eager"]["roofline"], ours["roofline"] * ours["least_ms"] / 2000)
            self.assertRegex(out, r"mlp +dlc .* +%.0f\n" % (100 * ours["roofline"]))
        self.assertEqual({key: found["eager"][key] for key in ["least_ms", "median_ms", "spread", "first_s", "memory_mib"]},
                         dict(least_ms=2000, median_ms=2000, spread=0, first_s=7, memory_mib=50))
        self.assertAlmostEqual(found["eager"]["over_dlc"], 2000 / ours["median_ms"])
        self.assertAlmostEqual(found["channels_last"]["cpu_over_dlc"], 50 / ours["cpu_ms"])
        table = subprocess.run([sys.executable, os.path.join(os.path.dirname(SCRIPT), "speed_table.py"), path], capture_output=True,
                               text=True, check=True).stdout
        self.assertRegex(table, r"(?m)^\| mlp \| 64 \| \S+ \| 1000 \| \S+ \|")  # the faster form
        self.assertRegex(table, rf"Geometric mean of PyTorch / dlc: {1000 / ours['median_ms']:.2f}; least")
        self.assertEqual(found["compile"]["error"], "no compiler here")
        self.assertRegex(out, r"mlp +compile +fails: no compiler here\n")
        with open(self.path("peer.compile")) as file:
            self.assertEqual(file.read(), "tried\n")  # once, not in each round
        # The best peer's is judged.
        ratio = f"{1000 / ours['median_ms']:.2f}"
        self.assertIn(f"geometric mean of the best peer's / dlc, 1 models: {ratio}, worst {ratio}\n", out)

    def test_memory_is_that_of_the_run_alone(self):
        spec = importlib.util.spec_from_file_location("step_time", SCRIPT)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        held = b"x" * (300 << 20)  # of the process that starts the run
        data = self.path("data.npz")
        module.write_data(data, "mlp")
        artifact = dlc.compile(dlc.model("mlp"), self.path("m.dlc"), loss="cross_entropy", batch=module.MODELS["mlp"].batch)
        found = module.train_dlc(artifact, data, self.path("run"), module.MODELS["mlp"],
                                 argparse.Namespace(steps=20, threads=1))
        self.assertLess(1, found["peak_mib"])
        self.assertLess(found["peak_mib"], len(held) >> 20)

    def test_words_that_are_wrong(self):
        for words, text in [(["nothing"], "unknown model nothing; there are seven also small mlp"),
                            (["--peers=jax"], "unknown peer jax; there are eager channels_last compile"),
                            (["--steps=5"], "--steps must be more than the 5 that warm up")]:
            code, _, err = self.run_script(*words)
            self.assertEqual(code, 2, err)
            self.assertIn(text, err)

    def test_a_busy_machine_is_refused(self):
        others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count())]
        try:
            code, _, err = self.run_script("mlp", flags=())
        finally:
            for other in others:
                other.kill()
                other.wait()
        self.assertEqual(code, 1)
        self.assertRegex(err, r"other programs take \d+ % of the processors: stop them, or give --busy")

    def test_a_model_that_dlc_cannot_train(self):
        code, out, _ = self.run_script("unet", peer='#!/bin/sh\nwhile [ $# -gt 1 ]; do shift; done\necho no >"$1/unet.onnx"\n')
        self.assertEqual(code, 1)
        self.assertRegex(out, r"unet +dlc +fails: ")


if __name__ == "__main__":
    dlc.main()
