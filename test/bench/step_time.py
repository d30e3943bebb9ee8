"""Step time of dlc against PyTorch eager, in one run: the two take turns, a process each.

    DLC_PEER_PYTHON=/path/to/python-with-torch  python test/bench/step_time.py [MODEL...]
        --rounds=3 --steps=200 --threads=2 --amp

Both train with SGD and momentum on the same random batch shape; a line a model gives the minimum
and the median in milliseconds, and torch / dlc of each (above 1: dlc is faster). Not a ctest test:
without DLC_PEER_PYTHON it says so and ends.
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

# model: (shape of a sample, classes, batch)
MODELS = {
    "mlp": ((1, 8, 8), 10, 64),
    "lenet": ((1, 28, 28), 10, 64),
    "resnet8": ((3, 32, 32), 10, 32),
    "gpt_tiny": ((32,), 96, 16),
    "gpt_mini": ((256,), 96, 8),
    "resnet18": ((3, 224, 224), 1000, 8),
    "mobilenet_v3_small": ((3, 224, 224), 1000, 16),
    "efficientnet_b0": ((3, 224, 224), 1000, 8),
}
DEFAULT = ["mlp", "lenet", "resnet8", "gpt_tiny"]
WARM_UP = 5  # steps left out


def write_data(path, name, batches=4):
    shape, classes, batch = MODELS[name]
    random, n = np.random.RandomState(0), batch * batches
    if len(shape) == 1:
        x = random.randint(0, classes, (n, *shape))
        y = random.randint(0, classes, (n, *shape))
    else:
        x = random.randn(n, *shape).astype(np.float32)
        y = random.randint(0, classes, n)
    np.savez(path, x=x, y=y)


def model_file(name, folder, python):
    if os.path.exists(dlc.model(name)):
        return dlc.model(name)
    script = os.path.join(dlc.MODELS, "export.py")
    subprocess.run([python, script, name, "-o", folder], check=True, stdout=subprocess.DEVNULL)
    return os.path.join(folder, name + ".onnx")


def dlc_times(artifact, data, run, batch, options):
    dlc.dlc("train", artifact, data=data, run=run, steps=options.steps, threads=options.threads,
            shuffle="off", timeout=1200)
    return 1e3 * batch / dlc.Run(run).metrics("samples_per_second")[WARM_UP:]


def torch_times(name, data, batch, options, python):
    command = [python, os.path.join(here, "torch_step.py"), name, data, str(batch),
               str(options.steps), str(options.threads), "amp" if options.amp else "f32"]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return np.array(json.loads(out.splitlines()[-1]))[WARM_UP:]


def measure(name, options, python):
    batch = MODELS[name][2]
    with tempfile.TemporaryDirectory(prefix="dlc-bench-") as folder:
        data = os.path.join(folder, "data.npz")
        write_data(data, name)
        artifact = dlc.compile(model_file(name, folder, python), os.path.join(folder, "m.dlc"),
                               optimizer="sgd", lr=0.001, momentum=0.9, schedule="constant",
                               batch=batch, amp=options.amp, timeout=600)
        ours, theirs = [], []
        for number in range(options.rounds):
            run = os.path.join(folder, f"run{number}")
            ours.append(dlc_times(artifact, data, run, batch, options))
            theirs.append(torch_times(name, data, batch, options, python))
    ours, theirs = np.concatenate(ours), np.concatenate(theirs)
    best = ours.min(), theirs.min()
    middle = np.median(ours), np.median(theirs)
    print(f"{name:10s} {batch:5d} {best[0]:9.3f} {middle[0]:9.3f} {best[1]:9.3f} {middle[1]:9.3f}"
          f" {best[1] / best[0]:8.2f} {middle[1] / middle[0]:8.2f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="MODEL", help=" ".join(MODELS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--amp", action="store_true", help="bf16 on both sides")
    options = parser.parse_args()
    for name in options.names:
        if name not in MODELS:
            parser.error(f"unknown model {name}; there are {' '.join(MODELS)}")

    python = os.environ.get("DLC_PEER_PYTHON")
    if not python:
        sys.exit("step_time: skipped: set DLC_PEER_PYTHON to a python that has torch")
    print("                      dlc, ms           torch, ms          torch / dlc")
    print("model      batch       min    median       min    median      min   median")
    for name in options.names or DEFAULT:
        measure(name, options, python)


if __name__ == "__main__":
    main()
