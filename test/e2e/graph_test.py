# SPDX-License-Identifier: Apache-2.0
"""dlc graph: pictures of the program after a phase, of artifacts and of runs; modules that are closed; names that are no markup."""

import json
import os
import re
import shutil
import subprocess
import xml.dom.minidom

import dlc
import onnx

HOSTILE = "a\"];\\n\\\\ <b>&\n]} \u202e"


def nodes(dot):
    """{number: label} of a file of Graphviz's language."""
    with open(dot, encoding="utf-8") as file:
        return {int(number): label for number, label in re.findall(r'^n(\d+) \[label="((?:[^"\\]|\\.)*)"', file.read(), re.MULTILINE)}


def edges(dot):
    with open(dot, encoding="utf-8") as file:
        return {(int(a), int(b)): label for a, b, label in re.findall(r'^n(\d+) -> n(\d+) \[label="((?:[^"\\]|\\.)*)"\]', file.read(), re.MULTILINE)}


class Graph(dlc.TestCase):
    def draw(self, *words, **options):
        out, err = dlc.dlc("graph", *words, output=self.path("g.dot"), **options)
        self.assertEqual(out, self.path("g.dot") + "\n")
        return nodes(self.path("g.dot")), edges(self.path("g.dot"))

    def find(self, labels, text):
        found = [number for number, label in labels.items() if text in label]
        self.assertEqual(len(found), 1, (text, labels))
        return found[0]

    def test_phases_of_a_model(self):
        labels, links = self.draw(dlc.model("lenet"), phase="import")
        weight, conv = self.find(labels, "c1.weight"), next(n for n, label in sorted(labels.items()) if label.startswith("conv"))
        self.assertEqual(links[weight, conv], "f32 [6, 1, 5, 5]")
        self.assertNotIn("sgd", "".join(labels.values()))
        labels, links = self.draw(dlc.model("lenet"), phase="autodiff", amp=True)
        filters = next(n for n, label in labels.items() if "conv_backward_filter" in label)
        self.assertIn("bf16", " ".join(label for (a, b), label in links.items() if b == filters))
        simplified, _ = self.draw(dlc.model("lenet"))
        self.assertTrue(any(label.startswith("write") for label in simplified.values()))
        self.assertFalse(any(label.startswith("gradient") for label in simplified.values()))

    def test_modules_are_closed_below_the_depth(self):
        closed, _ = self.draw(dlc.model("gpt_tiny"), depth=0, program="predict")
        opened, _ = self.draw(dlc.model("gpt_tiny"), depth=9, program="predict")
        self.assertLess(3 * len(closed), len(opened))
        both, links = self.draw(dlc.model("gpt_tiny"), depth=0)
        self.assertTrue(any("(backward)" in label for label in both.values()), both)
        self.assertEqual([label.split("\\n")[0] for label in both.values()].count("optimizer"), 1, both)
        self.assertTrue(any(re.fullmatch(r"\d+ tensors", label) for label in links.values()))
        self.assertTrue(all(a in both and b in both and a != b for a, b in links), links)

    def test_of_an_artifact_and_a_run(self):
        artifact = dlc.compile(dlc.model("mlp"), self.path("m.dlc"), batch=16)
        run = dlc.train(artifact, dlc.data("digits-train"), self.path("run"), steps=2, quiet=True)
        shown, links = self.draw(artifact, colour="placement")
        self.assertTrue(any(label.startswith("matmul") for label in shown.values()))
        with open(self.path("g.dot")) as file:
            self.assertEqual(len(set(re.findall(r'^n\d+ .*fillcolor="([^"]+)"', file.read(), re.MULTILINE)) - {"#ffffff"}), 2)
        self.assertEqual(self.draw(run.folder), (shown, links))
        self.assertEqual(self.draw(dlc.model("mlp"), batch=16, phase="plan"), (shown, links))
        fewer, _ = self.draw(run.folder, program="predict")
        self.assertLess(len(fewer), len(shown))
        _, err = dlc.dlc("graph", artifact, phase="autodiff", code=dlc.USAGE)
        self.assertIn(f"dlc graph MODEL.onnx --config={artifact}/config.yaml --phase=autodiff", err)

    def test_hostile_names(self):
        model = onnx.load(dlc.model("mlp"))
        for i, node in enumerate(model.graph.node):
            node.name = f"/{HOSTILE}/{i}" + "/x" * 400
        onnx.save(model, self.path("m.onnx"))
        for depth in (0, 1, 1000):
            labels, links = self.draw(self.path("m.onnx"), depth=depth)
            self.assertTrue(labels and links)
            self.assertTrue(all(a in labels and b in labels for a, b in links))
        dlc.dlc("graph", self.path("m.onnx"), output=self.path("g.html"))
        with open(self.path("g.html"), encoding="utf-8") as file:
            page = file.read()
        self.assertNotIn("<b>&", page)
        self.assertNotIn("\u202e", page)

    def test_svg(self):
        if not shutil.which("dot"):
            self.skipTest("there is no Graphviz")
        out, _ = dlc.dlc("graph", dlc.model("gpt_tiny"), output=self.path("g.svg"), amp=True)
        self.assertEqual(out, self.path("g.svg") + "\n")
        text = xml.dom.minidom.parse(self.path("g.svg")).toxml()
        self.assertIn("cylinder" if "cylinder" in text else "<svg", text)
        self.assertGreater(text.count('class="node"'), 20)
        self.assertEqual(os.listdir(self.folder), ["g.svg"])

    def test_without_graphviz(self):
        done = subprocess.run([dlc.DLC, "graph", dlc.model("mlp"), "-o", self.path("g.svg")], env={**os.environ, "PATH": self.folder},
                              capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stdout), (0, self.path("g.dot") + "\n"))
        self.assertIn("warning: Graphviz (the program dot), which draws graphs, is not installed: install it and repeat the command; "
                      f"this is '{self.path('g.dot')}', for: dot -Tsvg", done.stderr)
        self.assertTrue(nodes(self.path("g.dot")))
        dot = self.path("dot")
        with open(dot, "w") as file:
            file.write("#!/bin/sh\necho no room >&2\nexit 3\n")
        os.chmod(dot, 0o755)
        done = subprocess.run([dlc.DLC, "graph", dlc.model("mlp"), "-o", self.path("g.svg")],
                              env={**os.environ, "PATH": f"{self.folder}:/usr/bin:/bin"}, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, dlc.FAILED)
        self.assertIn(f"'{dot}' ended with code 3: no room", done.stderr)

    def test_modules_that_torchs_newer_exporter_notes(self):
        model = onnx.load(dlc.model("lenet"))
        for i, node in enumerate(model.graph.node):
            scopes = ["", "body", f"body.{i // 2}", "call"]
            node.name = f"node_{i}"
            node.metadata_props.add(key="pkg.torch.onnx.name_scopes", value=str(scopes))
        onnx.save(model, self.path("m.onnx"))
        closed, _ = self.draw(self.path("m.onnx"), depth=0)
        self.find(closed, "body\\n")
        self.find(closed, "body (backward)\\n")
        opened, _ = self.draw(self.path("m.onnx"), depth=1)
        for i in range(len(model.graph.node) // 2 - 1):
            self.assertTrue(any(label.startswith(f"{i}\\n") for label in opened.values()), opened)

    def test_updates_are_beside_their_modules(self):
        labels, _ = self.draw(dlc.model("gpt_tiny"), optimizer="adamw", clip_grad=1)
        with open(self.path("g.dot")) as file:
            text = file.read()
        self.assertNotIn(os.path.dirname(dlc.model("gpt_tiny")), text)  # no folder of this machine
        closed, _ = self.draw(dlc.model("gpt_tiny"), optimizer="adamw", clip_grad=1, depth=1)
        self.assertLess(sum(label == "mul\\nadded by dlc" for label in closed.values()), 5, closed)
        resnet, _ = self.draw(dlc.model("resnet8"), depth=0, program="train_step")
        self.assertFalse([label for label in resnet.values() if label.startswith("write") and "running" in label], resnet)

    def test_a_page_has_what_was_drawn_in_time(self):
        """Each depth that is readable; of dot's that does not end what it did until then."""
        dot = self.path("dot")
        with open(dot, "w") as file:
            file.write(f"""#!/bin/sh
echo run >> {self.path("runs")}
[ $(wc -l < {self.path("runs")}) -lt 3 ] || exec sleep 60
echo "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 1 1'/>" > $4
""")
        os.chmod(dot, 0o755)
        done = subprocess.run([dlc.DLC, "graph", dlc.model("gpt_tiny"), "-o", self.path("g.html"), "--program=predict"],
                              env={**os.environ, "PATH": f"{self.folder}:/usr/bin:/bin"}, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r"warning: with 2 levels of modules expanded, \d+ nodes are not drawn within 10 s: use a smaller --depth")
        with open(self.path("g.html"), encoding="utf-8") as file:
            run, = json.loads(re.search(r'<script id="data" type="application/json">(.*?)</script>', file.read())[1])["runs"]
        self.assertEqual([drawing["depth"] for drawing in run["graph"]["drawings"]], [0, 1])

    def test_errors(self):
        for options, code, message in [(dict(phase="nothing"), dlc.USAGE, "unknown phase 'nothing', known are import, canonicalize"),
                                       (dict(program="nothing"), dlc.USAGE, "there is no program 'nothing', only "),
                                       (dict(output="g.png"), dlc.USAGE, "expected FILE.svg, FILE.dot or FILE.html, found 'g.png'"),
                                       (dict(depth=-1), dlc.USAGE, "--depth")]:
            _, err = dlc.dlc("graph", dlc.model("mlp"), code=code, **options)
            self.assertIn(message, err)
        _, err = dlc.dlc("graph", self.path("no.onnx"), code=dlc.FAILED)
        self.assertIn("no.onnx", err)


if __name__ == "__main__":
    dlc.main()
