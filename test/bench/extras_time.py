# SPDX-License-Identifier: Apache-2.0
"""Measures what EMA, clipping and loss scaling add to a step of gpt_mini (6 layers, width 384, AdamW).

    DLC_PEER_PYTHON=/path/to/python-with-torch  python test/bench/extras_time.py
        --rounds=3 --steps=12 --threads=2 --amp

The model without and with all of these takes turns, in separate processes; the Python with torch only
writes the model. Prints the shortest step, and the sum of each command's shortest call
(`dlc train --profile`), which other programs on the machine disturb least. Not a ctest test.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, "..", "support"))
import dlc  # noqa: E402
import step_time  # noqa: E402

BATCH = 8
EXTRAS = dict(ema=0.999, clip_grad=1.0, loss_scale="dynamic")


def measure(artifact, data, folder, options):
    """(milliseconds of the shortest step, {command: milliseconds of its shortest call, summed})"""
    run = os.path.join(folder, "run")
    subprocess.run(["rm", "-rf", run], check=True)
    dlc.dlc("train", artifact, data=data, run=run, steps=options.steps, threads=options.threads,
            shuffle="off", save_every=options.steps, profile=True, timeout=1800)
    rates = dlc.Run(run).metrics("samples_per_second")[2:]
    with open(os.path.join(run, "profile.json")) as file:
        commands = json.load(file)
    least = {}
    for number, c in enumerate(commands):
        least[number, c["command"]] = 1e3 * c["least"]
    return 1e3 * BATCH / rates.max(), least


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3, help="turns of each side (default: 3)")
    parser.add_argument("--steps", type=int, default=12, help="steps per turn (default: 12)")
    parser.add_argument("--threads", type=int, default=2, help="threads (default: 2)")
    parser.add_argument("--amp", action="store_true", help="train in bf16")
    options = parser.parse_args()
    python = os.environ.get("DLC_PEER_PYTHON")
    if not python:
        sys.exit("extras_time: skipped: set DLC_PEER_PYTHON to a python that has torch")
    with tempfile.TemporaryDirectory(prefix="dlc-bench-") as folder:
        data = os.path.join(folder, "data.npz")
        step_time.write_data(data, "gpt_mini")
        model = step_time.model_file("gpt_mini", folder, python)
        found = {}
        for name, extras in ("without", {}), ("with", EXTRAS):
            dlc.compile(model, os.path.join(folder, name), optimizer="adamw", lr=3e-4, batch=BATCH,
                        amp=options.amp, timeout=600, **extras)
            found[name] = []
        for _ in range(options.rounds):
            for name, results in found.items():
                results.append(measure(os.path.join(folder, name), data, folder, options))
                print(f"{name:8s} shortest step {results[-1][0]:9.2f} ms", flush=True)
    steps = {name: min(step for step, _ in results) for name, results in found.items()}
    sums, parts = {}, {}
    for name, results in found.items():
        least = {key: min(commands[key] for _, commands in results) for key in results[0][1]}
        sums[name] = sum(least.values())
        parts[name] = least
    print("                  without      with      more")
    for what, values in ("shortest step, ms", steps), ("sum of commands", sums):
        a, b = values["without"], values["with"]
        print(f"{what:17s} {a:8.2f}  {b:8.2f}  {100 * (b / a - 1):7.2f} %")
    for name, least in parts.items():
        top = [f"{command} {ms:.2f}" for (_, command), ms in list(least.items())[-16:] if ms > 0.2]
        print(f"last commands {name}: " + ", ".join(top))


if __name__ == "__main__":
    main()
