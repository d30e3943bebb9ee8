# SPDX-License-Identifier: Apache-2.0
"""docs/tour.md shows what dlc prints today: every listing of it is made again, and must be the same.

A listing follows a comment of the page: `<!-- PHASE FUNCTION: LINES ; LINES -->`, lines that `dlc compile` prints after a
phase (test/support/excerpt.py), or `<!-- NAME -->` for `Tour.show_NAME` below. To write the page's listings anew:

    PYTHONPATH=test/support .venv/bin/python test/layout/tour_test.py --write
"""

import json
import os
import re
import shlex
import shutil
import sys
import tempfile
import unittest

import numpy as np
import onnx

import dlc
import excerpt

PAGE = os.path.join(dlc.ROOT, "docs", "tour.md")
LISTING = re.compile(r"<!-- ([\w-]+) ?(\w*):? ?(.*?) ?-->\n```(\w*)\n(.*?)```", re.DOTALL)
COMMAND = re.compile(r"^dlc compile models/lenet.onnx (.*?) -o lenet.dlc$", re.MULTILINE | re.DOTALL)
MOST_LINES = 280


def entries(path, pattern):
    """The tensors of a safetensors file whose names match."""
    arrays = dlc.load_file(path)
    return [f"{name:16} {array.dtype} {list(array.shape)}" for name, array in sorted(arrays.items())
            if re.search(pattern, name)]


def initializer(path, name):
    model = onnx.load(path)
    tensor, = (t for t in model.graph.initializer if t.name == name)
    return model, onnx.numpy_helper.to_array(tensor)


def options(page):
    return shlex.split(COMMAND.search(page).group(1).replace("\\\n", " "))


class Tour:
    """The program that the page follows, compiled as the page says, and trained for four steps."""

    def __init__(self, page, folder):
        self.words = options(page)
        self.folder = folder
        self.artifact = os.path.join(folder, "lenet.dlc")
        self.run = os.path.join(folder, "run")
        self.exported = os.path.join(folder, "trained.onnx")
        self.programs = {}
        dlc.dlc("compile", dlc.model("lenet"), *self.words, "-o", self.artifact)
        dlc.train(self.artifact, dlc.data("mnist-train"), self.run, steps=4, quiet=True)
        dlc.dlc("export", self.run, "-o", self.exported, ema=True)

    def show(self, name, function, patterns):
        own = getattr(self, "show_" + name, None)
        if own:
            return "\n".join(own()) + "\n"
        if name not in self.programs:
            self.programs[name], _ = dlc.dlc("compile", dlc.model("lenet"), *self.words, "--emit=mlir", stop_after=name)
        lines = excerpt.function(self.programs[name], function or None)
        return excerpt.Program(lines).excerpt(patterns)

    def show_onnx(self):
        model, array = initializer(dlc.model("lenet"), "c1.weight")
        yield f"initializer c1.weight: {array.dtype} {list(array.shape)}"
        for node in model.graph.node:
            if "c1.weight" in node.input:
                yield f"node {node.op_type}: {', '.join(node.input)} -> {', '.join(node.output)}"

    def show_files(self):
        yield ", ".join(sorted(os.listdir(self.artifact)))

    def show_state(self):
        return entries(os.path.join(self.artifact, "state.safetensors"), r"^(ema/)?c1\.weight")

    def show_metrics(self):
        with open(os.path.join(self.run, "metrics.jsonl")) as file:
            steps = [json.loads(line) for line in file]
        yield f"{len(steps)} lines; each has " + ", ".join(steps[0])

    def show_checkpoint(self):
        folder = os.path.join(self.run, "checkpoint-4")
        yield "checkpoint-4: " + ", ".join(sorted(os.listdir(folder)))
        with open(os.path.join(folder, "trainer.json")) as file:
            trainer = json.load(file)
        yield "trainer.json: " + ", ".join(f"{key} {trainer[key]}" for key in ("step", "epoch", "sample", "world"))
        yield from entries(os.path.join(folder, "state.safetensors"), r"^(ema/)?c1\.weight|^s|^ema\.")

    def show_export(self):
        _, before = initializer(dlc.model("lenet"), "c1.weight")
        _, after = initializer(self.exported, "c1.weight")
        average = dlc.load_file(os.path.join(self.run, "checkpoint-4", "state.safetensors"))["ema/c1.weight"]
        yield f"initializer c1.weight: {after.dtype} {list(after.shape)}"
        yield f"equal to the initial value: {np.array_equal(before, after)}"
        yield f"equal to the checkpoint's ema/c1.weight: {np.array_equal(average, after)}"

    def rewritten(self, page):
        def anew(found):
            name, function, patterns, _, old = found.groups()
            return found.group().replace(f"\n{old}```", "\n" + self.show(name, function, re.split(r" ;\s", patterns)) + "```")
        return LISTING.sub(anew, page)


def read_page():
    with open(PAGE, encoding="utf-8") as file:
        return file.read()


def rewrite():
    folder = tempfile.mkdtemp(prefix="dlc-tour-")
    try:
        page = Tour(read_page(), folder).rewritten(read_page())
    finally:
        shutil.rmtree(folder)
    with open(PAGE, "w", encoding="utf-8") as file:
        file.write(page)


class TourTest(dlc.TestCase):
    maxDiff = None

    def test_listings_are_what_dlc_prints(self):
        page = read_page()
        self.assertGreater(len(LISTING.findall(page)), 20)
        self.assertEqual(len(LISTING.findall(page)), page.count("<!-- "), "a comment without a listing")
        self.assertMultiLineEqual(Tour(page, self.folder).rewritten(page), page,
                                  "docs/tour.md is stale; tour_test.py --write mends it, then read it once")

    def test_names_every_phase(self):
        page = read_page()
        words = options(page)
        _, message = dlc.dlc("compile", dlc.model("lenet"), *words, "--emit=mlir", stop_after="nowhere", code=dlc.USAGE)
        phases = re.search(r"known are (.*)", message).group(1).split(", ")
        self.assertGreater(len(phases), 15)
        for phase in phases:
            self.assertTrue(f"**{phase}**" in page, f"docs/tour.md does not tell of phase {phase}")

    def test_is_short(self):
        self.assertLessEqual(read_page().count("\n"), MOST_LINES)


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        rewrite()
    else:
        dlc.main()
