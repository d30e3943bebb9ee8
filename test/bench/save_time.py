# SPDX-License-Identifier: Apache-2.0
"""Measures steps around checkpoints of about 500 MB, written in the background or while steps wait.

By hand: PYTHONPATH=test/support .venv/bin/python test/bench/save_time.py [--width=4096] [--batch=512]. Prints, for each --save, the
median step and the longest one around a checkpoint, in seconds, and their ratio; that of background must be below 1.2. The writer shares
two busy cores with the steps and takes 4 to 5 s; checkpoints are ten steps apart, so that none waits for the previous one.
"""

import argparse
import os
import tempfile
import time

import dlc
import numpy as np
import onnx
from onnx import helper, numpy_helper

STEPS, EVERY = 30, 10


def make_model(path, width, layers):
    """Products of width x width with Relu between them, and ten classes."""
    chance = np.random.default_rng(0)
    nodes, weights, name = [], [], "x"
    for i, size in enumerate([width] * layers + [10]):
        weights.append(numpy_helper.from_array(chance.normal(0, 0.02, (width, size)).astype(np.float32), f"w{i}"))
        nodes.append(helper.make_node("MatMul", [name, f"w{i}"], [f"p{i}" if i < layers else "logits"]))
        if i < layers:
            nodes.append(helper.make_node("Relu", [f"p{i}"], [f"a{i}"]))
        name = f"a{i}"
    value = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "wide", [value("x", onnx.TensorProto.FLOAT, ["N", width])],
                              [value("logits", onnx.TensorProto.FLOAT, ["N", 10])], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def step_ends(process, metrics):
    """When each line of the metrics appears: what a checkpoint holds up counts, which a step's own time does not."""
    ends = []
    while process.poll() is None and len(ends) < STEPS:
        if os.path.exists(metrics):
            with open(metrics) as file:
                ends += [time.monotonic()] * (file.read().count("\n") - len(ends))
        time.sleep(0.005)
    return ends


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--width", type=int, default=4096, help="width of the layers (default: 4096)")
    parser.add_argument("--layers", type=int, default=4, help="number of layers (default: 4)")
    parser.add_argument("--batch", type=int, default=512, help="rows of a batch (default: 512)")
    parser.add_argument("--save", nargs="*", default=["background", "sync"], help="values of --save (default: background sync)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=os.environ.get("DLC_BENCH_DIR")) as folder:
        model, data = os.path.join(folder, "wide.onnx"), os.path.join(folder, "data.npz")
        make_model(model, arguments.width, arguments.layers)
        chance = np.random.default_rng(1)
        samples = arguments.batch * 2
        np.savez(data, x=chance.normal(size=(samples, arguments.width)).astype(np.float32), y=chance.integers(0, 10, samples))
        artifact = dlc.compile(model, os.path.join(folder, "wide.dlc"), batch=arguments.batch, loss="cross_entropy",
                               optimizer="sgd(momentum=0.9)", lr=1e-4)
        for save in arguments.save:
            run = os.path.join(folder, save)
            process = dlc.start("train", artifact, data=data, run=run, steps=STEPS, save_every=EVERY, keep=1, save=save)
            seconds = np.diff(step_ends(process, os.path.join(run, "metrics.jsonl")))
            assert process.wait() == 0, process.stderr.read()
            state = os.path.getsize(os.path.join(run, f"checkpoint-{STEPS}", "state.safetensors"))
            median, longest = np.median(seconds), seconds[EVERY - 1:].max()
            print(f"{save}: checkpoint {state / 1e6:.0f} MB, median {median:.3f} s, longest from the first checkpoint on "
                  f"{longest:.3f} s, ratio {longest / median:.2f}")


if __name__ == "__main__":
    main()
