# SPDX-License-Identifier: Apache-2.0
"""Measures the autocast pass: ms on ResNet-50 by preset, and on chains of ResNet-50, whose time must grow linearly.

    PYTHONPATH=test/support .venv/bin/python test/bench/autocast_time.py [--rounds=5]
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import numpy_helper, version_converter

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import dlc  # noqa: E402

LIGHT = os.path.join(os.path.dirname(onnx.__file__), "backend", "test", "data", "light", "light_resnet50.onnx")
OPT = os.path.join(dlc.BUILD, "bin", "dlc-opt")


def program(folder):
    """ResNet-50 with its loss, before autocast."""
    model = version_converter.convert_version(onnx.load(LIGHT), 13)
    graph = model.graph
    known = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
    for node in [n for n in graph.node if n.op_type == "ConstantOfShape"]:  # weights must be initializers
        value = numpy_helper.to_array(node.attribute[0].t)[0]
        weight = np.full(known[node.input[0]], value, value.dtype)
        graph.initializer.append(numpy_helper.from_array(weight, node.output[0]))
        graph.node.remove(node)
    path = os.path.join(folder, "resnet50.onnx")
    onnx.save(model, path)
    text, _ = dlc.dlc("compile", path, stop_after="loss", batch=1)
    return text


def chain(layers):
    """As many residual blocks of a product, a norm's elementwise ops and an addition."""
    kind = "tensor<8x8xf32>"
    lines, x = [], "%x"
    for i in range(layers):
        lines += [f"%m{i} = dlc.matmul {x}, %w : ({kind}, {kind}) -> {kind}",
                  f"%e{i} = dlc.exp %m{i} : ({kind}) -> {kind}",
                  f"%r{i} = dlc.relu %e{i} : ({kind}) -> {kind}",
                  f"%a{i} = dlc.add %r{i}, {x} : ({kind}, {kind}) -> {kind}"]
        x = f"%a{i}"
    return f"func.func @f(%x: {kind}, %w: {kind}) -> {kind} {{\n" + "\n".join(lines) + f"\nreturn {x} : {kind}\n}}\n"


def milliseconds(text, options, rounds):
    """The least of some rounds, as MLIR's own timer has it."""
    found = []
    for _ in range(rounds):
        done = subprocess.run([OPT, f"--dlc-autocast={options}", "--mlir-timing", "--mlir-timing-display=list", "-o",
                               os.devnull], input=text, capture_output=True, text=True, check=True)
        found.append(float(re.search(r"([\d.]+) \(.*Autocast", done.stderr)[1]) * 1e3)
    return min(found)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5, help="rounds (default: 5)")
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        resnet = program(folder)
    for options in "amp-preset=dlc", "amp-preset=torch", "amp-preset=tf", "amp-preset=oneflow", "amp=O2", "amp=O3", "explain-amp":
        print(f"ResNet-50 {options:18} {milliseconds(resnet, options, rounds):6.1f} ms")
    for layers in 500, 1000, 2000, 4000:
        print(f"{4 * layers:6} ops {milliseconds(chain(layers), 'amp-dtype=fp16', rounds):6.1f} ms")


if __name__ == "__main__":
    main()
