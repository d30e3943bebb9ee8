# SPDX-License-Identifier: Apache-2.0
"""The programs of models/examples do what their comments say."""

import os
import re
import shutil
import signal
import subprocess
import time
import unittest

import dlc


def example(name):
    return os.path.join(dlc.BUILD, "test", "example-" + name)


class Examples(dlc.TestCase):
    def run_example(self, name, *words, code=0, **variables):
        done = subprocess.run([example(name), *words], capture_output=True, text=True, timeout=120, cwd=self.folder,
                              env={**os.environ, **variables})
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout, done.stderr

    def mlp(self, **flags):
        return dlc.compile(dlc.model("mlp"), self.path("mlp.dlc"), quiet=True, **flags)

    def test_embed_stops_when_it_is_good_enough(self):
        model = self.mlp(optimizer="adamw", lr=0.01, batch=32)
        out, _ = self.run_example("embed", model, dlc.data("digits-train"), dlc.data("digits-test"))
        accuracy = [float(text) for text in re.findall(r"^epoch \d+: accuracy ([\d.]+)", out, re.M)]
        self.assertGreaterEqual(accuracy[-1], 0.95)
        self.assertTrue(all(a < 0.95 for a in accuracy[:-1]), accuracy)
        self.assertLess(len(accuracy), 10, out)
        self.assertIn("step 50 of ", out)
        self.assertRegex(out, rf"steps, accuracy {accuracy[-1]}")

    def test_embed_says_what_is_wrong_with_the_tools_code(self):
        _, err = self.run_example("embed", self.path("none.dlc"), dlc.data("digits-train"), dlc.data("digits-test"), code=dlc.FAILED)
        self.assertRegex(err, r"^error: .*none\.dlc")
        _, err = self.run_example("embed", self.mlp(), self.path("none.npz"), dlc.data("digits-test"), code=dlc.FAILED)
        self.assertIn("none.npz", err)

    def test_from_onnx_to_onnx(self):
        shutil.copy(dlc.model("mlp"), self.path("-m.onnx"))  # no flag is taken for a path
        out, _ = self.run_example("from_onnx", "-m.onnx", dlc.data("digits-train"), self.path("t.onnx"))
        self.assertRegex(out, r"t.onnx: after \d+ steps, loss \d\.\d+")
        self.assertTrue(os.path.exists(self.path("t.onnx")))
        _, err = self.run_example("from_onnx", self.path("no.onnx"), dlc.data("digits-train"), self.path("u.onnx"), code=dlc.FAILED)
        self.assertRegex(err, r"^error: .*no\.onnx: no such file$")

    def test_a_compiler_that_is_not_there_or_dies(self):
        words = "from_onnx", dlc.model("mlp"), dlc.data("digits-train"), self.path("t.onnx")
        killed = self.path("killed.sh")
        with open(killed, "w") as file:
            file.write("#!/bin/sh\necho 'warning: going' >&2\nkill -9 $$\n")
        os.chmod(killed, 0o755)
        for compiler, said in ((self.path("none"), r"^error: cannot run '.*none': No such file"),
                               (killed, r"warning: going\nerror: '.*killed.sh' ended with code 137$")):
            _, err = self.run_example(*words, code=dlc.FAILED, DLC_COMPILER=compiler)
            self.assertRegex(err.rstrip(), said)

    def test_a_programs_own_samples(self):
        model = self.mlp(optimizer="adamw", lr=0.003, batch=50)
        out, _ = self.run_example("own_dataset", model, self.path("waves"))
        self.assertGreater(float(out.split()[1]), 0.9)
        # The run knows what it was trained on.
        _, err = dlc.dlc("train", resume=self.path("waves"), data=dlc.data("digits-train"), val=dlc.data("digits-test"), steps=900, code=dlc.FAILED)
        self.assertIn("not the data that the run began with", err)

    def test_personalise_goes_on_where_it_was_killed(self):
        model = dlc.compile(dlc.model("mlp"), self.path("lora.dlc"), quiet=True, lora=4, memory="64MiB", batch=16,
                            optimizer="adamw", lr=0.01)
        whole, _ = self.run_example("personalise", model, dlc.data("digits-test"), self.path("whole"), "200")
        self.assertRegex(whole, r"^200 steps, loss [\d.]+, \d+ bytes of adapters")
        words = [example("personalise"), model, dlc.data("digits-test"), self.path("killed"), "200"]
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, cwd=self.folder)
        metrics = self.path("killed/metrics.jsonl")
        while process.poll() is None and not (os.path.exists(metrics) and os.path.getsize(metrics) > 2000):
            time.sleep(0.001)
        process.send_signal(signal.SIGKILL)
        process.wait()
        again, _ = self.run_example("personalise", *words[1:])
        self.assertEqual(again, whole)

    def test_c(self):
        model = self.mlp(optimizer="adamw", lr=0.003, batch=64)
        out, _ = self.run_example("embed_c", model, "60")
        right, of = map(int, re.search(r"(\d+) of (\d+) right", out).groups())
        self.assertEqual(of, 64)
        self.assertGreater(right, 60)
        self.run_example("embed_c", code=dlc.USAGE)
        _, err = self.run_example("embed_c", self.path("none.dlc"), "1", code=dlc.FAILED)
        self.assertIn("none.dlc", err)

    @unittest.skipUnless(os.path.exists(example("onnx_step")), "ONNX Runtime's headers are not here")
    def test_onnx_runtime_alone(self):
        dlc.dlc("export", self.mlp(optimizer="adamw", lr=0.003, batch=64), "--step", "-o", self.path("step.onnx"))
        out, _ = self.run_example("onnx_step", self.path("step.onnx"), "60")
        losses = [float(text) for text in re.findall(r"^step \d+: loss ([\d.]+)", out, re.M)]
        self.assertEqual(len(losses), 6)
        self.assertLess(losses[-1], 0.1)
        _, err = self.run_example("onnx_step", self.path("none.onnx"), "1", code=dlc.FAILED)
        self.assertRegex(err, r"^error: .*none\.onnx")

    def test_c_table(self):
        import numpy as np
        model = self.mlp(optimizer="adamw", lr=0.003, batch=64)
        dlc.train(model, dlc.data("digits-train"), self.path("run"), epochs=1)
        with np.load(dlc.data("digits-test")) as data, open(self.path("digits.csv"), "w") as file:
            print("digit," + ",".join(f"p{i}" for i in range(64)), file=file)
            for x, y in zip(data["x"].reshape(-1, 64) / 255, data["y"]):
                print(",".join(map(repr, [int(y), *map(float, x)])), file=file)
            print("4" + ",unknown" * 64, file=file)
        expected = dlc.evaluate(self.path("run"), dlc.data("digits-test"))
        out, err = self.run_example("table_c", self.path("run"), self.path("digits.csv"), "x:p0..p63;y:digit")
        self.assertEqual(out, f"{expected['samples']} rows, loss {expected['loss']:.4f}, accuracy {expected['accuracy']:.4f}\n")
        self.assertIn("1 of ", err)
        _, err = self.run_example("table_c", self.path("run"), self.path("digits.csv"), "x:p0..p64;y:digit", code=dlc.FAILED)
        self.assertIn("no column 'p64'", err)


if __name__ == "__main__":
    dlc.main()
