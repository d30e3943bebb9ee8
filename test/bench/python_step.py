# SPDX-License-Identifier: Apache-2.0
"""Measures what a step through Python costs more than in `dlc train`, in microseconds.

    DLC_BUILD=build PYTHONPATH=build/python/site .venv/bin/python test/bench/python_step.py [MODEL DATA]

The wheel is installed in build/python/site by test/python/wheel_test.py. Each way trains the same artifact with one thread; a step's time
is the median of five differences of long and short runs, divided by the difference in steps. Through Python: Trainer with a callback that reads the
loss, and Session.train_step with a batch in memory, without a loader.
"""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import dlc
import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOOL = os.path.join(os.environ.get("DLC_BUILD", os.path.join(ROOT, "build")), "bin", "dlc")
FEW, MANY, RUNS = 1000, 21000, 5


def by_tool(artifact, data, run, steps):
    subprocess.run([TOOL, "train", artifact, f"--data={data}", f"--steps={steps}", f"--run={run}", "--threads=1", "--quiet"],
                   check=True, stdout=subprocess.DEVNULL)


def by_trainer(artifact, data, run, steps):
    losses = []
    dlc.Trainer(artifact, data=data, steps=steps, run=run, threads=1, quiet=True,
                on_step=lambda step: losses.append(step.metrics["loss"])).run()
    assert len(losses) == steps


def by_session(artifact, data, _, steps):
    session = dlc.Session(artifact, threads=1)
    with np.load(data) as file:
        x, y = (file[name][:port.shape[0]].astype(port.dtype) for name, port in zip("xy", session.inputs()))
    for _ in range(steps):
        session.train_step(x, y)


def seconds(way, artifact, data, folder, steps):
    run = f"{folder}/run"
    shutil.rmtree(run, ignore_errors=True)
    began = time.perf_counter()
    way(artifact, data, run, steps)
    return time.perf_counter() - began


def main(model, data):
    with tempfile.TemporaryDirectory() as folder:
        artifact = dlc.compile(model, f"{folder}/m.dlc", batch=16, quiet=True)
        ways = {"dlc train": by_tool, "Trainer": by_trainer, "Session": by_session}
        times = {name: [] for name in ways}
        for _ in range(RUNS):  # in turn, so that all see the same machine
            for name, way in ways.items():
                few, many = (seconds(way, artifact, data, folder, steps) for steps in (FEW, MANY))
                times[name].append((many - few) / (MANY - FEW) * 1e6)
        tool = statistics.median(times["dlc train"])
        for name, found in times.items():
            middle = statistics.median(found)
            print(f"{name:10} {middle:7.1f} us a step  {middle - tool:+6.1f} us")


if __name__ == "__main__":
    main(*(sys.argv[1:] or [f"{ROOT}/models/mlp.onnx", f"{ROOT}/models/digits-train.npz"]))
