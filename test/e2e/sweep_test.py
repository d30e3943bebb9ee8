# SPDX-License-Identifier: Apache-2.0
"""dlc sweep: grid, random and halving; a table and a page; no trial is lost or repeated, whoever is killed."""

import csv
import json
import os
import signal
import time
from unittest import mock

import dlc

RANDOM = """
sweep: {{model: {model}, data: {data}, val: {val}, method: random, trials: 12, seed: 3, metric: accuracy, epochs: {epochs}}}
compile: {{optimizer: sgd, loss: cross_entropy}}
search:
  compile.lr: loguniform(1e-3, 1)
  compile.momentum: uniform(0, 0.9)
  train.seed: integers(0, 5)
"""


class Sweep(dlc.TestCase):
    whole = None

    def write(self, text, **values):
        path = self.path("try.yaml")
        values = dict(dict(model=dlc.model("mlp"), data=dlc.data("digits-train"), val=dlc.data("digits-test"), epochs=1), **values)
        with open(path, "w") as file:
            file.write(text.format(**values))
        return path

    def sweep(self, text, *words, code=dlc.OK, folder="out", **values):
        out, self.messages = dlc.dlc("sweep", self.write(text, **values), "--json", *words, code=code, output=self.path(folder))
        return json.loads(out)["trials"] if out else None

    def test_grid(self):
        text = """
sweep: {{model: {model}, data: {data}, val: {val}, epochs: 2}}
compile: {{optimizer: sgd, loss: cross_entropy}}
search: {{compile.lr: [0.1, 1e-6], train.seed: [1, 2]}}
"""
        found = self.sweep(text, "--slots=2")
        self.assertEqual(sorted((t["values"]["compile.lr"], t["values"]["train.seed"]) for t in found),
                         [("0.1", "1"), ("0.1", "2"), ("1e-6", "1"), ("1e-6", "2")])
        self.assertEqual([t["values"]["compile.lr"] for t in found], ["0.1", "0.1", "1e-6", "1e-6"], "the best first")
        self.assertEqual(len(os.listdir(self.path("out/artifacts"))), 2, "each compiled once")
        for trial in found:
            self.assertEqual((trial["state"], trial["epochs"]), ("done", 2))
            own = dlc.Run(trial["run"])
            with open(os.path.join(own.folder, "epochs.jsonl")) as file:
                self.assertEqual(min(json.loads(line)["val_loss"] for line in file), trial["value"])
        # A trial is what the two commands give by hand.
        artifact = dlc.compile(dlc.model("mlp"), self.path("own.dlc"), optimizer="sgd", loss="cross_entropy", lr=0.1)
        run = dlc.train(artifact, dlc.data("digits-train"), self.path("own"), val=dlc.data("digits-test"), epochs=2, seed=1, threads=1)
        same = next(t for t in found if t["values"] == {"compile.lr": "0.1", "train.seed": "1"})
        self.assertEqual(list(run.metrics("loss")), list(dlc.Run(same["run"]).metrics("loss")))
        with open(self.path("out/sweep.csv")) as file:
            rows = list(csv.DictReader(file))
        self.assertEqual([int(row["trial"]) for row in rows], [t["trial"] for t in found])
        with open(self.path("out/report.html")) as file:
            page = file.read()
        for trial in found:
            self.assertIn(f"trial-{trial['trial']}", page)
        out, _ = dlc.dlc("sweep", self.path("try.yaml"), "--resume", output=self.path("out"))
        self.assertRegex(out, r"(?m)^trial +state +loss +epochs +compile.lr +train.seed$")

    def test_random_depends_on_the_seed(self):
        first = self.sweep(RANDOM)
        again = self.sweep(RANDOM, "--slots=2", folder="again")
        self.assertEqual({t["trial"]: t["values"] for t in first}, {t["trial"]: t["values"] for t in again})
        for trial in first:
            self.assertTrue(1e-3 <= float(trial["values"]["compile.lr"]) <= 1)
            self.assertTrue(0 <= float(trial["values"]["compile.momentum"]) <= 0.9)
            self.assertIn(trial["values"]["train.seed"], map(str, range(6)))
        self.assertEqual(len({t["values"]["compile.lr"] for t in first}), 12)
        self.assertEqual(first[0]["value"], max(t["value"] for t in first), "more accuracy is better")

    def test_halving(self):
        text = RANDOM.replace("method: random", "method: halving, eta: 3, least-epochs: 1")
        found = self.sweep(text, "--slots=2", epochs=9)
        self.assertEqual(sorted((t["epochs"] for t in found), reverse=True), [9] + 3 * [3] + 8 * [1])
        with open(self.path("out/results.json")) as file:
            self.assertEqual(sorted(one["rungs"] for one in json.load(file)), 8 * [1] + 3 * [2] + [3])

        def after(trial, epochs):
            with open(os.path.join(trial["run"], "epochs.jsonl")) as file:
                return max(one["val_accuracy"] for one in map(json.loads, file) if one["epoch"] <= epochs)
        first = {t["trial"]: after(t, 1) for t in found}
        kept = {t["trial"] for t in found if t["epochs"] > 1}
        self.assertGreaterEqual(min(first[t] for t in kept), max(v for t, v in first.items() if t not in kept))

    def test_asha(self):
        """Whoever goes on was among the best third of those that had come as far, by then; none waits for the others; all draws begin."""
        text = RANDOM.replace("method: random", "method: asha, eta: 3, least-epochs: 1")
        found = self.sweep(text, "--slots=2", epochs=9)
        with open(self.path("out/results.json")) as file:
            rungs = [one["rungs"] for one in json.load(file)]
        self.assertGreaterEqual(min(rungs), 1)
        for rung in 1, 2:  # all that are due, and no more than could ever be
            reached, further = (sum(n >= k for n in rungs) for k in (rung, rung + 1))
            self.assertGreaterEqual(further, reached // 3)
        self.assertLess(sum(n > 1 for n in rungs), 9)
        lines = [line for line in self.messages.splitlines() if line.startswith("trial ")]
        values, begun = {}, False
        for line in lines:
            words = line.split()
            if "goes on until epoch 3" in line:
                begun = begun or len(values) < 12
                self.assertEqual(words[-3:], [str(len(values) // 3), "of", str(len(values)) ])
                above = sum(value > values[words[1]] for value in values.values())
                self.assertLess(above, len(values) // 3, line)
            elif "after 1 epochs" in line:
                values[words[1].rstrip(":")] = float(words[3])
        self.assertTrue(begun, "all waited for the whole first rung")
        again = self.sweep(text, "--slots=2", "--resume", epochs=9)
        self.assertEqual([t["run"] for t in again], [t["run"] for t in found])
        self.assertNotIn("after", self.messages)

    def wait_for(self, condition, process):
        end = time.monotonic() + 60
        while not condition():
            self.assertIsNone(process.poll(), "it ended too early")
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)

    def done(self, folder="out"):
        try:
            with open(self.path(f"{folder}/results.json")) as file:
                return [i for i, one in enumerate(json.load(file)) if one["rungs"]]
        except FileNotFoundError:
            return []

    def trials_running(self):
        return [pid for pid in filter(str.isdigit, os.listdir("/proc")) if self.is_trial(pid)]

    def is_trial(self, pid):
        try:
            with open(f"/proc/{pid}/cmdline") as file:
                return f"--run={self.path('out')}/trial-" in file.read() and dlc.is_alive(int(pid))
        except OSError:
            return False

    def check_whole(self, epochs):
        """All 12 are done, with the bits of a sweep that nobody disturbed, and no step was done twice."""
        found = self.sweep(RANDOM, "--resume", epochs=epochs)
        self.assertEqual({t["state"] for t in found}, {"done"})
        self.assertEqual(sorted(t["trial"] for t in found), list(range(1, 13)))
        for trial in found:
            steps = list(dlc.Run(trial["run"]).metrics("step"))
            self.assertEqual(steps, list(range(1, len(steps) + 1)))
        self.assertEqual({t["trial"]: t["value"] for t in found}, self.undisturbed(epochs))

    def undisturbed(self, epochs):
        """The values of such a sweep, which is made once."""
        if not Sweep.whole:
            whole = self.sweep(RANDOM, "--slots=2", folder="whole", epochs=epochs)
            Sweep.whole = {t["trial"]: t["value"] for t in whole}
        return Sweep.whole

    def test_driver_killed(self):
        path = self.write(RANDOM, epochs=3)
        process = dlc.start("sweep", path, slots=2, threads=1, output=self.path("out"))
        self.wait_for(lambda: len(self.done()) >= 3 and self.trials_running(), process)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        times = {i: os.stat(self.path(f"out/trial-{i + 1}/epochs.jsonl")).st_mtime_ns for i in self.done()}
        self.check_whole(3)
        for i, before in times.items():
            self.assertEqual(os.stat(self.path(f"out/trial-{i + 1}/epochs.jsonl")).st_mtime_ns, before, "repeated")

    def test_trial_killed(self):
        path = self.write(RANDOM, epochs=3)
        process = dlc.start("sweep", path, slots=1, threads=1, output=self.path("out"))
        self.wait_for(lambda: len(self.done()) >= 2 and self.trials_running(), process)
        for pid in self.trials_running():
            os.kill(int(pid), signal.SIGKILL)
        code, out, err = dlc.finish(process)
        self.assertEqual(code, dlc.OK, err)
        self.assertRegex(err, r"trial \d+ was ended by signal 9: it goes on")
        self.check_whole(3)

    def test_interrupted(self):
        path = self.write(RANDOM, epochs=3)
        process = dlc.start("sweep", path, slots=2, threads=1, output=self.path("out"))
        self.wait_for(lambda: len(self.done()) >= 2, process)
        os.kill(process.pid, signal.SIGINT)
        code, out, err = dlc.finish(process)
        self.assertEqual(code, 130)
        self.assertRegex(err, r"stopped by signal 2: go on with dlc sweep .*--resume")
        self.assertEqual(self.trials_running(), [])
        self.assertIn("not done", out)
        self.check_whole(3)

    def test_failures(self):
        """Each trial's third step gets an infinite gradient: all end with code 8, and none is tried again."""
        text = """
sweep: {{model: {model}, data: {data}, val: {val}}}
search: {{train.seed: [1, 2]}}
"""
        with mock.patch.dict(os.environ, {"DLC_INJECT_INF": "3"}):
            found = self.sweep(text, code=dlc.FAILED)
        self.assertEqual([(t["state"], t["code"]) for t in found], 2 * [("failed", dlc.DIVERGED)])
        self.assertRegex(self.messages, r"trial 2 ended with code 8: error: .*is no longer finite.*trial-2\.log")
        found = self.sweep(text, "--resume", code=dlc.FAILED)
        self.assertEqual([(t["state"], t["code"]) for t in found], 2 * [("failed", dlc.DIVERGED)])

    def test_refused(self):
        plain = "sweep: {{model: {model}, data: {data}, val: {val}{more}}}\n{rest}"
        cases = [
            ("", "search:\n  compile.lr: loguniform(1, 2)", r"try.yaml:3:15: a grid needs a list"),
            (", method: random", "search:\n  compile.lr: loguniform(0, 2)", r"expected loguniform\(LOW, HIGH\) above 0"),
            (", method: random", "search:\n  compile.lr: uniform(3, 2)", r"expected uniform\(LOW, HIGH\), found 'uniform\(3, 2\)'"),
            ("", "", r"expected a section search"),
            ("", "search: {lr: [1]}", r"expected compile.FLAG or train.FLAG, found 'lr'"),
            ("", "search: {train.run: [a]}", r"train.run is the sweep's own"),
            ("", "serach: {train.seed: [1]}", r"'serach': expected a section"),
            (", methd: grid", "search: {train.seed: [1]}", r"methd.*did you mean"),
            (", metric: speed", "search: {train.seed: [1]}", r"sweep.metric.*speed"),
            (", least-epochs: 3", "search: {train.seed: [1]}", r"least-epochs=3 is more than sweep.epochs=1"),
            ("", "search: {compile.lrr: [1, 2]}", r"trial 1 ended with code 2: .*--lr"),
        ]
        for i, (more, rest, message) in enumerate(cases):
            with self.subTest(rest=rest, more=more):
                self.sweep(plain, code=dlc.USAGE, folder=f"out{i}", more=more, rest=rest)
                self.assertRegex(self.messages, message)

    def test_one_sweep_a_folder(self):
        text = "sweep: {{model: {model}, data: {data}, val: {val}}}\nsearch: {{train.seed: [{seed}]}}\n"
        self.sweep(text, seed=1)
        self.sweep(text, seed=1, code=dlc.USAGE)
        self.assertRegex(self.messages, r"holds a sweep already.*--resume")
        self.sweep(text, "--resume", seed=2, code=dlc.USAGE)
        self.assertRegex(self.messages, r"is a sweep of another file")


if __name__ == "__main__":
    dlc.main()
