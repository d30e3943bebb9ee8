# SPDX-License-Identifier: Apache-2.0
"""The tool as people and scripts meet it: what goes to stdout, to stderr and to a terminal; run folders."""

import contextlib
import json
import os
import shutil
import pty
import re
import signal
import subprocess
import time

import dlc


class Tool(dlc.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.share_artifact()

    def train(self, *words, **options):
        """Starts training in the test's folder."""
        command = [dlc.DLC, "train", self.artifact, "--data=" + dlc.data("digits-train"), "--threads=1", *words]
        options = dict(stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) | options
        process = subprocess.Popen(command, cwd=self.folder, start_new_session=True, **options)
        self.addCleanup(dlc.kill, process)
        return process

    def end(self, process):
        status, out, err = dlc.finish(process, 30)
        self.assertEqual(status, dlc.OK, err)
        return out, err

    def test_emit_without_a_phase(self):
        """The last program is printed, and nothing is written."""
        with contextlib.chdir(self.path(".")):
            out, _ = dlc.dlc("compile", dlc.model("mlp"), "--emit=mlir")
            self.assertIn("exec.program @train_step", out)
            self.assertEqual(os.listdir(), [])

    def test_stdout_is_the_run(self):
        """RUN=$(dlc train ...) works; messages are on stderr, plain lines without a terminal."""
        out, err = self.end(self.train("--steps=20", "--log-every=10"))
        self.assertEqual(out, "runs/mlp-1\n")
        self.assertRegex(err, r"(?m)^epoch 1  step 10/20 ")
        self.assertNotRegex(err, "[\r\x1b]")

    def test_quiet(self):
        out, err = self.end(self.train("--steps=20", "--quiet"))
        self.assertEqual((out, err), ("runs/mlp-1\n", ""))

    def test_terminal(self):
        """A bar that is drawn over itself, and whole at the end."""
        main, terminal = pty.openpty()
        process = self.train("--steps=200", stderr=terminal)
        os.close(terminal)
        text = b""
        try:
            while part := os.read(main, 4096):
                text += part
        except OSError:  # the terminal's other end was closed
            pass
        os.close(main)
        self.end(process)
        text = text.decode()
        self.assertIn("\r\x1b[K[", text)
        self.assertRegex(text.splitlines()[-1], r"\[=+\] epoch 3  step 200/200 .* loss \d")

    def test_runs_get_numbers(self):
        for number in 1, 2:
            self.assertEqual(self.end(self.train("--steps=1"))[0], f"runs/mlp-{number}\n")

    def test_two_runs_in_one_folder(self):
        """The second is refused before it changes anything."""
        self.end(self.train("--steps=3", "--run=mine"))
        before = {name: os.path.getmtime(self.path("mine/" + name)) for name in os.listdir(self.path("mine"))}
        status, _, err = dlc.finish(self.train("--steps=3", "--run=mine"))
        self.assertEqual(status, dlc.USAGE)
        self.assertRegex(err, r"'mine' exists already.*--resume=mine")
        after = {name: os.path.getmtime(self.path("mine/" + name)) for name in os.listdir(self.path("mine"))}
        self.assertEqual(after, before)

    def test_runs_at_the_same_time(self):
        """Started together without --run, each gets a folder of its own, whole."""
        processes = [self.train("--steps=5") for _ in range(4)]
        names = {self.end(process)[0] for process in processes}
        self.assertEqual(names, {f"runs/mlp-{n}\n" for n in range(1, 5)})
        for name in names:
            self.assertEqual(len(dlc.Run(self.path(name.strip())).metrics("loss")), 5)

    def test_one_name_at_the_same_time(self):
        """One gets it, the others are refused."""
        processes = [self.train("--steps=5", "--run=mine") for _ in range(4)]
        codes = sorted(dlc.finish(process)[0] for process in processes)
        self.assertEqual(codes, [dlc.OK, dlc.USAGE, dlc.USAGE, dlc.USAGE])
        self.assertEqual(dlc.Run(self.path("mine")).metrics("step").tolist(), [1, 2, 3, 4, 5])
        self.assertEqual(os.listdir(self.folder), ["mine"])

    def test_interrupted(self):
        process = self.train("--epochs=100000", "--run=mine")
        while not os.path.exists(self.path("mine/metrics.jsonl")):
            time.sleep(0.01)
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        status, out, err = dlc.finish(process, 10)
        self.assertEqual((status, out), (130, ""), err)
        last = int(re.search(r"stopped by signal 2 after step (\d+)", err)[1])
        self.assertEqual(int(dlc.Run(self.path("mine")).state(last)["step"]), last)

    def test_finished_run(self):
        self.end(self.train("--steps=5", "--run=mine"))
        out, err = dlc.dlc("train", resume=self.path("mine"))
        self.assertEqual(out, self.path("mine") + "\n")
        self.assertIn("5 of 5 steps: nothing is left", err)
        dlc.dlc("train", resume=self.path("mine"), steps=8)
        self.assertEqual(dlc.Run(self.path("mine")).metrics("step").tolist(), list(range(1, 9)))

    def test_moved_run(self):
        """A run holds its model: the artifact may go, the run may move."""
        artifact = self.path("gone.dlc")
        dlc.shutil.copytree(self.artifact, artifact)
        dlc.train(artifact, dlc.data("digits-train"), self.path("old"), steps=5)
        dlc.shutil.rmtree(artifact)
        os.rename(self.path("old"), self.path("new"))
        dlc.dlc("train", resume=self.path("new"), steps=6)
        self.assertIn("accuracy", dlc.evaluate(self.path("new"), dlc.data("digits-test")))

    def test_json(self):
        self.end(self.train("--steps=5", "--run=mine", "--val=" + dlc.data("digits-test")))
        run = self.path("mine")
        self.assertEqual(dlc.evaluate(run, dlc.data("digits-test")).keys(), {"loss", "accuracy", "samples"})
        for model in self.artifact, run, run + "/checkpoint-5", run + "/":
            summary = json.loads(dlc.dlc("inspect", model, json=True)[0])
            self.assertEqual(summary["parameters"], 3610)
            self.assertEqual(summary.get("step"), 5 if "mine" in model else None)
        latin = self.path(os.fsdecode(b"caf\xe9.dlc"))  # no UTF-8, which JSON must be
        shutil.copytree(self.artifact, latin)
        self.assertEqual(json.loads(dlc.dlc("inspect", latin, json=True)[0])["parameters"], 3610)
        for name in "metrics.jsonl", "epochs.jsonl":
            with open(os.path.join(run, name)) as file:
                for line in file:
                    self.assertIn("step", json.loads(line))


if __name__ == "__main__":
    dlc.main()
