# SPDX-License-Identifier: Apache-2.0
"""dlc report: one page, whatever names and numbers a run holds; results.csv, TensorBoard's and Prometheus' files say what the run said."""

import csv
import glob
import json
import os
import re
import shutil
import struct
import subprocess

import dlc
import onnx

HOSTILE = "</script><script>alert('x')</script><!--\u202e & \"'"


def page_data(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    found = re.search(r'<script id="data" type="application/json">(.*?)</script>', text, re.DOTALL)
    return text, json.loads(found[1])["runs"]


class Report(dlc.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.share_artifact()

    def report(self, *runs):
        out, _ = dlc.dlc("report", *runs, output=self.path("page.html"))
        self.assertEqual(out, self.path("page.html") + "\n")
        return page_data(self.path("page.html"))

    def test_says_what_the_runs_said(self):
        options = dict(val=dlc.data("digits-test"), epochs=2, metrics="f1", quiet=True)
        run = dlc.train(self.artifact, dlc.data("digits-train"), self.path("a"), profile=True, **options)
        dlc.train(self.artifact, dlc.data("digits-train"), self.path("b"), seed=5, **options)
        text, (a, b) = self.report(run.folder, self.path("b") + "/")
        self.assertEqual((a["name"], b["name"]), ("a", "b"))
        self.assertEqual(a["steps"]["loss"], run.metrics("loss").tolist())
        self.assertEqual(len(b["epochs"]["val_f1"]), 2)
        self.assertEqual([key for key in a["config"] if a["config"][key] != b["config"][key]], ["seed"])
        self.assertGreater(len(a["profile"]), 3)
        self.assertEqual(b["profile"], [])
        self.assertEqual(a["tuning"], [])
        self.assertGreater(max(a["memory"]["live"]), 0)
        nodes, edges = a["graph"]["nodes"], a["graph"]["edges"]
        self.assertTrue(all(0 <= i < j < len(nodes) for i, j in edges) and edges, edges)
        self.assertNotRegex(text, r"(src|href)=|https?://(?!www\.w3\.org/2000/svg)|@import|innerHTML|eval\(")

    def test_hostile_names_and_numbers(self):
        model = onnx.load(dlc.model("mlp"))
        for i, node in enumerate(model.graph.node):
            node.name = HOSTILE + str(i)
        onnx.save(model, self.path("m.onnx"))
        folder = self.path("<img src=x onerror=alert(1)>")
        dlc.train(dlc.compile(self.path("m.onnx"), self.path("m.dlc"), batch=16), dlc.data("digits-train"), folder, steps=5, quiet=True)
        with open(os.path.join(folder, "metrics.jsonl"), "a") as file:
            file.write('{"step": 6, "loss": null}\n{"step": 7, "loss": 1e999}\nnot a line\n{"step": 8, "<b>": 1}\n{"step": 9, "lo')
        with open(os.path.join(folder, "tuning.json"), "w") as file:
            json.dump([1, {"commands": 1}, {"commands": [HOSTILE, 2], "op": [], "engine": HOSTILE, "milliseconds": "x", "workspace": -1}], file)
        text, (run,) = self.report(folder)
        self.assertEqual(run["tuning"], [{"commands": HOSTILE, "op": "", "engine": HOSTILE, "ms": None, "workspace": None}])
        self.assertTrue(any(HOSTILE in node["name"] for node in run["graph"]["nodes"]))
        for bad in "<img src=x", "<script>alert", "\u202e", "<b>":
            self.assertNotIn(bad, text)
        self.assertEqual(run["name"], os.path.basename(folder))
        self.assertEqual(run["steps"]["step"][-1], 8)
        self.assertIsNone(run["steps"]["loss"][5])

    def test_a_run_that_has_just_begun_and_a_long_one(self):
        run = dlc.train(self.artifact, dlc.data("digits-train"), self.path("a"), steps=1, quiet=True)
        path = os.path.join(run.folder, "metrics.jsonl")
        os.remove(path)
        _, (empty,) = self.report(run.folder)
        self.assertEqual((empty["steps"], empty["done"]), ({}, 0))
        with open(path, "w") as file:
            file.writelines(f'{{"step": {i}, "loss": {i / 2}}}\n' for i in range(1, 50001))
        _, (long,) = self.report(run.folder)
        self.assertLessEqual(len(long["steps"]["step"]), 2001)
        self.assertEqual((long["steps"]["step"][0], long["done"]), (1, 50000))

    def test_in_a_browser(self):
        """Every section is drawn, and the console is silent."""
        browser = shutil.which("chromium")
        if not browser:
            self.skipTest("there is no Chromium")
        run = dlc.train(self.artifact, dlc.data("digits-train"), self.path("run"), val=dlc.data("digits-test"), epochs=2, profile=True, quiet=True)
        with open(os.path.join(run.folder, "tuning.json"), "w") as file:
            json.dump([{"commands": ["conv of 'c1'", "conv of 'c2'"], "op": "conv", "engine": "8", "milliseconds": 0.123, "workspace": 2048},
                       {"commands": ["matmul of 'fc'"], "op": "matmul", "engine": None}], file)
        measured = dlc.compile(dlc.model("mlp"), self.path("m.dlc"), batch=16, stats=True)
        dlc.train(measured, dlc.data("digits-train"), self.path("other"), steps=3, seed=3, stats_every=1, quiet=True)
        self.report(run.folder, self.path("other"))
        done = subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--dump-dom",
                               f"--user-data-dir={self.path('profile')}", "file://" + self.path("page.html")],
                              capture_output=True, text=True, timeout=120)
        self.assertNotIn("CONSOLE", done.stderr)
        for title in "Steps", "Validation", "Settings that differ", "Timeline of a step: run", "Time by node: run", "Algorithms of libraries: run", "Parameters over steps: other", "Memory over a step: run", "Graph: other":
            self.assertIn(f"<h2>{title}</h2>", done.stdout)
        self.assertIn("<td>conv of 'c1', conv of 'c2'</td><td>conv</td><td>8</td><td class=\"n\">0.123</td><td class=\"n\">2 KiB</td>", done.stdout)
        self.assertIn("the library's first choice", done.stdout)

    def test_at_a_phones_width_light_and_dark(self):
        """Nothing but tables and the timeline is wider than the page, and no number is broken into lines."""
        browser = shutil.which("chromium")
        if not browser:
            self.skipTest("there is no Chromium")
        for name in "a", "b":
            dlc.train(self.artifact, dlc.data("digits-train"), self.path(name), val=dlc.data("digits-test"), epochs=3, profile=True, quiet=True)
        text, _ = self.report(self.path("a"), self.path("b"))
        self.assertIn("x 1 rank)", text)
        with open(self.path("frame.html"), "w") as file:
            file.write("""<iframe id="f" width="360" height="800" src="page.html"></iframe><pre id="found"></pre><script>
f.onload = () => { const d = f.contentDocument, all = [...d.querySelectorAll('th, td.n')];
  found.textContent = JSON.stringify({wide: d.documentElement.scrollWidth, back: f.contentWindow.getComputedStyle(d.body).backgroundColor,
    titles: [...d.querySelectorAll('figcaption')].map(x => x.textContent), nodes: [...d.querySelectorAll('td:first-child')].map(x => x.textContent),
    broken: all.filter(x => x.textContent && !/\\s/.test(x.textContent) && x.clientHeight && (() => { const r = d.createRange(); r.selectNodeContents(x); return r.getClientRects().length > 1; })()).map(x => x.textContent)}); };
</script>""")
        for scheme, back in (1, "rgb(255, 255, 255)"), (0, "rgb(20, 23, 27)"):
            done = subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files", "--virtual-time-budget=5000", "--dump-dom",
                                   f"--blink-settings=preferredColorScheme={scheme}", f"--user-data-dir={self.path('profile')}", "file://" + self.path("frame.html")],
                                  capture_output=True, text=True, timeout=120)
            found = json.loads(re.search(r'<pre id="found">(.*?)</pre>', done.stdout)[1])
            self.assertLessEqual(found["wide"], 360)
            self.assertEqual((found["back"], found["broken"]), (back, []))
        self.assertEqual(found["titles"][0], "loss, and its mean around")
        self.assertIn("added by dlc", found["nodes"])
        self.assertFalse([name for name in found["nodes"] if name.endswith(".onnx")])

    def test_errors(self):
        os.mkdir(self.path("none"))
        for words, message in [((self.path("no"),), f"no run '{self.path('no')}': no such folder"),
                               ((self.path("none"),), "is not a run: it has no config.yaml and model.dlc")]:
            _, err = dlc.dlc("report", *words, code=dlc.FAILED)
            self.assertIn(message, err)
        dlc.dlc("report", code=dlc.USAGE)


def crc(data):
    value = 0xFFFFFFFF
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
    value ^= 0xFFFFFFFF
    return ((value >> 15 | value << 17) + 0xA282EAD8) & 0xFFFFFFFF


def fields(data):
    """(number, value) of a Protobuf message."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at, value, shift = at + 1, value | (byte & 127) << shift, shift + 7
            if byte < 128:
                return value
    while at < len(data):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
            continue
        size = {1: 8, 5: 4}.get(key & 7) or varint()
        yield key >> 3, data[at:at + size]
        at += size


def events(path):
    """Of a file of TensorBoard's: messages as {field: value}, with values by tag."""
    with open(path, "rb") as file:
        data = file.read()
    while data:
        length, = struct.unpack("<Q", data[:8])
        assert struct.unpack("<I", data[8:12])[0] == crc(data[:8])
        message, data = data[12:12 + length], data[12 + length:]
        assert struct.unpack("<I", data[:4])[0] == crc(message)
        data = data[4:]
        event = dict(fields(message))
        values = [dict(fields(value)) for _, value in fields(event.pop(5, b""))]
        yield event | {"values": {v[1].decode(): struct.unpack("<f", v[2])[0] for v in values}}


class Records(dlc.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.share_artifact()

    def test_of_a_run_that_was_resumed(self):
        prometheus = self.path("dlc.prom")
        run = dlc.train(self.artifact, dlc.data("digits-train"), self.path("run"), val=dlc.data("digits-test"), epochs=2, save_every=60,
                        tensorboard=True, prometheus=prometheus, quiet=True)
        shutil.rmtree(os.path.join(run.folder, "checkpoint-186"))  # from step 180 on again
        shutil.rmtree(os.path.join(run.folder, "checkpoint-180"))  # from step 120 on again
        dlc.dlc("train", resume=run.folder, epochs=3, metrics="f1", quiet=True)
        with open(os.path.join(run.folder, "epochs.jsonl")) as file:
            epochs = [json.loads(line) for line in file]
        with open(os.path.join(run.folder, "results.csv")) as file:
            rows = list(csv.DictReader(file))
        self.assertEqual([int(row["step"]) for row in rows], [93, 186, 279])
        self.assertEqual(rows[0]["val_f1"], "")
        for row, line in zip(rows, epochs, strict=True):
            for key in line:
                self.assertEqual(float(row[key]), line[key])
        self.assertAlmostEqual(float(rows[0]["train_loss"]), run.metrics("loss")[:93].mean(), places=6)
        first, second = sorted(glob.glob(os.path.join(run.folder, "tensorboard", "events.out.tfevents.*")),
                               key=lambda path: any("val/f1" in event["values"] for event in events(path)))
        old, new = list(events(first)), list(events(second))
        self.assertEqual((old[0][3], new[0][3]), (b"brain.Event:2",) * 2)
        self.assertEqual((new[1][2], dict(fields(new[1][7]))), (121, {1: 1}))
        told = {event[2]: event["values"]["train/loss"] for event in old + new if "train/loss" in event["values"]}
        self.assertEqual(sorted(told), list(range(1, 280)))
        for step, loss in enumerate(run.metrics("loss"), 1):
            self.assertAlmostEqual(told[step], loss, places=5)
        self.assertEqual([e["values"]["val/f1"] > 0 for e in new if "val/f1" in e["values"]], [True] * 2)
        with open(prometheus) as file:
            lines = file.read().splitlines()
        self.assertIn(f'dlc_step{{run="{run.folder}"}} 279', lines)
        self.assertTrue(any(line.startswith(f'dlc_validation{{run="{run.folder}",metric="val_f1"}} 0.') for line in lines))
        for line in lines:
            self.assertRegex(line, r'^(# (HELP|TYPE) dlc_\w+ .+|dlc_\w+\{run="[^"]*"(,(metric|le)="[^"]*")?\} [-+\w.]+)$')

    def test_what_cannot_be_written_is_a_warning(self):
        _, err = dlc.dlc("train", self.artifact, data=dlc.data("digits-train"), run=self.path("run"), steps=3,
                         prometheus=self.path("no/dlc.prom"))
        self.assertRegex(err, "warning: .*no/dlc.prom.*; training continues")


if __name__ == "__main__":
    dlc.main()
