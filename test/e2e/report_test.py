# SPDX-License-Identifier: Apache-2.0
"""dlc report: one page, whatever names and numbers a run holds; results.csv, TensorBoard's and Prometheus' files say what the run said."""

import csv
import glob
import html
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


def in_browser(test, page, script="", *flags):
    """What the page is in Chromium once `script` has run in it, and what the console said."""
    browser = shutil.which("chromium")
    if not browser:
        test.skipTest("there is no Chromium")
    with open(page, encoding="utf-8") as file:
        text = file.read()
    with open(test.path("shown.html"), "w", encoding="utf-8") as file:
        file.write(text.replace("</body>", f"<script>{script}</script></body>"))
    done = subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--dump-dom",
                           "--allow-file-access-from-files", "--virtual-time-budget=5000", *flags, f"--user-data-dir={test.path('profile')}",
                           "file://" + test.path("shown.html")], capture_output=True, text=True, timeout=120)
    test.assertEqual([line for line in done.stderr.splitlines() if "CONSOLE" in line], [])
    return done.stdout


def found_in(shown):
    """What a script has put into <pre id="found">."""
    return json.loads(html.unescape(re.search(r'<pre id="found">(.*?)</pre>', shown)[1]))


class Report(dlc.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.share_artifact()

    def report(self, *runs):
        out, _ = dlc.dlc("report", *runs, output=self.path("page.html"))
        self.assertEqual(out, self.path("page.html") + "\n")
        return page_data(self.path("page.html"))

    def test_says_what_the_runs_said(self):
        options = dict(val=dlc.data("digits-test"), epochs=2, metrics="f1,confusion", quiet=True)
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
        inspected = json.loads(dlc.dlc("inspect", self.artifact, json=True)[0])
        self.assertEqual(max(a["memory"]["live"]), inspected["programs"]["train_step"]["live_bytes"])
        self.assertIsNone(b["graph"])  # the same model
        with open(os.path.join(run.folder, "classes.json")) as file:
            self.assertEqual(a["confusion"], json.load(file)["confusion"])
        with open(os.path.join(run.folder, "results.csv")) as file:
            rows = list(csv.DictReader(file))
        self.assertEqual(a["seconds"], float(rows[-1]["time"]))
        for best, (key, choose) in zip(a["best"], [("val_accuracy", max), ("val_f1", max), ("val_loss", min)], strict=True):
            row = choose(rows, key=lambda row, key=key: float(row[key]))
            self.assertEqual((best["name"], best["value"], best["epoch"]), (key, float(row[key]), int(row["epoch"])))
        self.assertNotIn(self.folder, text)  # what one shows to others
        self.assertEqual((a["config"]["data"], a["config"]["artifact"]), ("digits-train.npz", os.path.basename(self.artifact)))
        self.assertIn("Released under the MIT License", text)
        own = re.sub(r"<script>/\*!\s+\* Chart\.js .*?</script>", "", text, flags=re.DOTALL)
        self.assertLess(len(own), len(text))
        self.assertNotRegex(own, r"(src|href)=|https?://(?!www\.w3\.org/)|@import|innerHTML|eval\(")

    def test_what_ranks_did(self):
        run = dlc.train(self.artifact, dlc.data("digits-train"), self.path("a"), steps=1, quiet=True)
        _, (alone,) = self.report(run.folder)
        self.assertIsNone(alone["ranks"])
        line = {"step": 20, "slow": f"rank 1 {HOSTILE} is slow", "hosts": [HOSTILE, "b"], "seconds": [0.1, 0.1], "data_wait": [0, 0.02],
                "computes": [0.03, None], "blocked": [0.07, None]}
        bad = [line | {"step": 30, "computes": ["<b>", 1]}, line | {"step": 30, "blocked": [1]}, line | {"step": 30, "hosts": [1, 2]}]
        for lines, expected in ([line | {"step": 10}, line], line), *(([one], None) for one in bad):
            with open(os.path.join(run.folder, "ranks.jsonl"), "w") as file:
                file.writelines(json.dumps(one) + "\n" for one in lines)
            text, (found,) = self.report(run.folder)
            self.assertEqual(found["ranks"], expected)
            self.assertNotIn("<script>alert", text)
        with open(os.path.join(run.folder, "ranks.jsonl"), "w") as file:
            file.write(json.dumps(line) + "\n")
        self.report(run.folder)
        shown = in_browser(self, self.path("page.html"))
        self.assertIn("<h2>Ranks</h2>", shown)
        self.assertIn('<td class="n">1</td><td>b</td><td class="n">100</td><td class="n">20.0</td><td class="n">-</td><td class="n">-</td>', shown)

    def test_the_graph_of_the_model(self):
        run = dlc.train(self.artifact, dlc.data("digits-train"), self.path("a"), steps=1, quiet=True)
        if shutil.which("dot"):
            _, (a,) = self.report(run.folder)
            self.assertIn("matmul", a["graph"]["drawings"][-1]["svg"])
        done = subprocess.run([dlc.DLC, "report", run.folder, "-o", self.path("page.html")], env={**os.environ, "PATH": self.folder},
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        _, (a,) = page_data(self.path("page.html"))
        self.assertEqual(a["graph"], {"drawings": [], "said": "Graphviz (the program dot), which draws graphs, is not installed: "
                                                              "install it and repeat the command"})

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
        if shutil.which("dot"):
            self.assertIn("alert(", run["graph"]["drawings"][-1]["svg"])
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
        run = dlc.train(self.artifact, dlc.data("digits-train"), self.path("run"), val=dlc.data("digits-test"), epochs=2, profile=True, quiet=True)
        with open(os.path.join(run.folder, "tuning.json"), "w") as file:
            json.dump([{"commands": ["conv of 'c1'", "conv of 'c2'"], "op": "conv", "engine": "8", "milliseconds": 0.123, "workspace": 2048},
                       {"commands": ["matmul of 'fc'"], "op": "matmul", "engine": None}], file)
        measured = dlc.compile(dlc.model("mlp"), self.path("m.dlc"), batch=16, stats=True)
        dlc.train(measured, dlc.data("digits-train"), self.path("other"), steps=3, seed=3, stats_every=1, quiet=True)
        self.report(run.folder, self.path("other"))
        shown = in_browser(self, self.path("page.html"))
        for title in "Training", "Validation", "Timeline of a step", "Time by node", "Algorithms of libraries", "Parameters over steps", "Memory over a step":
            self.assertIn(f"<h2>{title}</h2>", shown)
        for cell in "best validation accuracy", "samples per second", "seed":
            self.assertIn(f"<td>{cell}</td>", shown)
        self.assertIn("<td>conv of 'c1', conv of 'c2'</td><td>conv</td><td>8</td><td class=\"n\">0.123</td><td class=\"n\">2 KiB</td>", shown)
        self.assertIn("the library's first choice", shown)

    def test_a_single_validation_is_shown(self):
        run = dlc.train(self.artifact, dlc.data("digits-train"), self.path("a"), val=dlc.data("digits-test"), epochs=1, quiet=True)
        self.report(run.folder)
        found = found_in(in_browser(self, self.path("page.html"), """add(document.body, 'pre', {id: 'found'}, JSON.stringify(charts.filter(
  c => c.canvas.closest('figure').querySelector('span').textContent === 'validation loss').map(c => [c.getDatasetMeta(0).data[0].x, c.chartArea.right])));"""))
        (at, right), = found
        self.assertAlmostEqual(at, right, delta=2)

    def test_charts_are_read_zoomed_and_switched(self):
        half = dlc.compile(dlc.model("lenet"), self.path("h.dlc"), batch=16, amp=True, amp_dtype="fp16")
        for seed, name in enumerate("ab"):
            dlc.train(half, dlc.data("mnist-train"), self.path(name), val=dlc.data("mnist-test"), epochs=1, seed=seed, metrics="confusion", quiet=True)
        self.report(self.path("a"), self.path("b"))
        found = found_in(in_browser(self, self.path("page.html"), """
const named = c => c.canvas.closest('figure').querySelector('span').textContent, state = () => charts.map(c => ({title: named(c), x: [c.scales.x.min, c.scales.x.max],
  type: c.scales.y.type, ticks: c.scales.y.ticks.map(t => [t.value, t.label]), across: c.scales.x.ticks.map(t => t.value),
  colours: [...new Set(c.data.datasets.map(d => d.borderColor().slice(0, 7)))], shown: c.data.datasets.map((d, i) => c.isDatasetVisible(i))}));
const all = state(), canvas = charts[0].canvas, box = canvas.getBoundingClientRect(), area = charts[0].chartArea;
canvas.setPointerCapture = () => {};
canvas.dispatchEvent(new KeyboardEvent('keydown', {key: 'Home'}));
const said = canvas.closest('figure').querySelector('.said').textContent;
for (const [type, at] of [['pointerdown', .25], ['pointermove', .5], ['pointerup', .5]])
  canvas.dispatchEvent(new PointerEvent(type, {clientX: box.left + area.left + at * area.width, clientY: box.top + 80, pointerId: 1}));
document.querySelectorAll('.runs button')[1].click();
const zoomed = state();
canvas.dispatchEvent(new MouseEvent('dblclick'));
add(document.body, 'pre', {id: 'found'}, JSON.stringify({all, said, zoomed, back: state()}));""", "--window-size=1200,900"))
        steps = [chart for chart in found["all"] if chart["x"][0] == 0 and "memory" not in chart["title"]]
        self.assertEqual((steps[0]["title"], steps[0]["type"]), ("loss", "linear"))
        self.assertRegex(found["said"], r"^step 1, a: 2\.\d+, b: 2\.\d+$")
        for chart in steps:
            self.assertLessEqual(3, len(chart["across"]), chart)
            self.assertLessEqual(len(chart["across"]), 7, chart)
            self.assertEqual(len(chart["colours"]), 2)
            self.assertEqual(chart["colours"], steps[0]["colours"])
            if chart["type"] == "linear":
                self.assertTrue(3 <= len(chart["ticks"]) <= 7, chart["ticks"])
                self.assertTrue(all(len(label.strip(" %/smµnk")) <= 5 for _, label in chart["ticks"]), chart["ticks"])
        end = steps[0]["x"][1]
        for chart in found["zoomed"]:
            if chart["title"] in [step["title"] for step in steps]:
                self.assertAlmostEqual(chart["x"][0], end / 4, delta=end / 50)
                self.assertAlmostEqual(chart["x"][1], end / 2, delta=end / 50)
        self.assertEqual(set(found["zoomed"][0]["shown"]), {True, False})
        self.assertEqual(found["back"][0]["x"], [0, end])

    def test_axes_of_what_spans_decades_are_logarithmic(self):
        run = dlc.train(self.artifact, dlc.data("digits-train"), self.path("a"), steps=1, quiet=True)
        with open(os.path.join(run.folder, "metrics.jsonl"), "w") as file:
            file.writelines(f'{{"step": {i + 1}, "loss": {1 + i / 200}, "loss_scale": {2 ** (16 - i // 20)}, "lr": {10 ** -(i // 25)}}}\n' for i in range(200))
        self.report(run.folder)
        found = found_in(in_browser(self, self.path("page.html"), """add(document.body, 'pre', {id: 'found'}, JSON.stringify(Object.fromEntries(charts.map(c =>
  [c.canvas.closest('figure').querySelector('span').textContent, [c.scales.y.type, c.scales.y.ticks.map(t => t.label)]]))));"""))
        self.assertEqual(found["loss"][0], "linear")
        self.assertEqual(found["loss scale (▲ skipped)"], ["logarithmic", ["128", "512", "2¹¹", "2¹³", "2¹⁵"]])
        self.assertEqual(found["lr"], ["logarithmic", ["1e-7", "1e-5", "0.001", "0.1"]])

    def test_at_a_phones_width_light_and_dark(self):
        """Nothing but tables and the timeline is wider than the page, and no number is broken into lines."""
        for name in "a", "b":
            dlc.train(self.artifact, dlc.data("digits-train"), self.path(name), val=dlc.data("digits-test"), epochs=3, profile=True, quiet=True)
        text, _ = self.report(self.path("a"), self.path("b"))
        self.assertIn("x 1 rank)", text)
        os.rename(self.path("page.html"), self.path("report.html"))
        with open(self.path("page.html"), "w") as file:
            file.write("""<body><iframe id="f" width="360" height="800" src="report.html"></iframe></body>""")
        script = """
f.onload = () => { const d = f.contentDocument, all = [...d.querySelectorAll('th, td.n')];
  const pre = document.createElement('pre'); pre.id = 'found'; document.body.append(pre);
  pre.textContent = JSON.stringify({wide: d.documentElement.scrollWidth, back: f.contentWindow.getComputedStyle(d.body).backgroundColor,
    titles: [...d.querySelectorAll('figcaption span')].map(x => x.textContent), nodes: [...d.querySelectorAll('td:first-child')].map(x => x.textContent),
    broken: all.filter(x => x.textContent && !/\\s/.test(x.textContent) && x.clientHeight && (() => { const r = d.createRange(); r.selectNodeContents(x); return new Set([...r.getClientRects()].map(x => Math.round(x.top / 9))).size > 1; })()).map(x => x.textContent)}); };"""
        for scheme, back in (1, "rgb(255, 255, 255)"), (0, "rgb(20, 23, 27)"):
            found = found_in(in_browser(self, self.path("page.html"), script, f"--blink-settings=preferredColorScheme={scheme}"))
            self.assertLessEqual(found["wide"], 360)
            self.assertEqual((found["back"], found["broken"]), (back, []))
        self.assertEqual(found["titles"][0], "loss")
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
