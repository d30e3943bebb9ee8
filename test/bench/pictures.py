# SPDX-License-Identifier: Apache-2.0
"""Compares the decoding of a folder of JPEGs to training batches by dlc with PIL and torchvision's DataLoader, in turns.

    DLC_PEER_PYTHON=/path/to/python-with-torchvision  python test/bench/pictures.py
        --count=10000 --size=500x375 --workers=2 --rounds=2 [--folder=/tmp/pictures]

Both crop (RandomResizedCrop to 224), flip and normalize; dlc also trains a linear model on the pictures' means, in one
thread. Prints pictures per second of both, their ratio (above 1: dlc is faster), processor time per picture, which a
busy machine changes less, and dlc's peak memory, also with a tenth of the pictures. --folder keeps the pictures for another run.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time

here = os.path.dirname(os.path.abspath(__file__))
BATCH, SIDE, WARM_UP = 64, 224, 5
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def make(folder, count, width, height):
    """Smooth shapes and some noise, which compress as photographs do."""
    import numpy as np
    from PIL import Image

    random = np.random.default_rng(0)
    y, x = np.mgrid[:height, :width].astype(np.float32)
    noise = random.normal(0, 6, (height * 2, width * 2, 1)).astype(np.float32)
    for i in range(count):
        a = random.uniform(0.005, 0.06, (3, 4)).astype(np.float32)
        waves = [np.sin(x * a[c, 0] + a[c, 2] * 99) + np.cos(y * a[c, 1] + x * a[c, 3]) for c in range(3)]
        top, left = random.integers(0, height), random.integers(0, width)
        pixels = 128 + 55 * np.stack(waves, -1) + noise[top:top + height, left:left + width]
        path = os.path.join(folder, f"class{i % 10}", f"{i:05}.jpg")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8)).save(path, quality=90)


def peer(folder, workers):
    import torch
    from torchvision import datasets, transforms as T

    torch.set_num_threads(1)
    steps = [T.RandomResizedCrop(SIDE), T.RandomHorizontalFlip(), T.ToTensor(), T.Normalize(MEAN, STD)]
    data = datasets.ImageFolder(folder, T.Compose(steps))
    loader = torch.utils.data.DataLoader(data, BATCH, shuffle=True, num_workers=workers, drop_last=True)
    before = used()
    for step, (x, _) in enumerate(loader):
        if step == WARM_UP:
            begin = time.perf_counter()
    rate = (len(loader) - 1 - WARM_UP) * BATCH / (time.perf_counter() - begin)
    print(json.dumps((rate, 1000 * (used() - before) / (len(loader) * BATCH))))


def used():
    """Seconds of processors, of this process and the workers that have ended."""
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in both)


def model(path):
    import onnx
    from onnx import TensorProto, helper, numpy_helper
    import numpy as np

    nodes = [helper.make_node("GlobalAveragePool", ["x"], ["mean"]), helper.make_node("Flatten", ["mean"], ["flat"]),
             helper.make_node("Gemm", ["flat", "w", "b"], ["logits"])]
    graph = helper.make_graph(
        nodes, "means", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 3, SIDE, SIDE])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["N", 10])],
        [numpy_helper.from_array(np.zeros((3, 10), np.float32), "w"), numpy_helper.from_array(np.zeros(10, np.float32), "b")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def train(dlc, artifact, data, folder, workers):
    """Pictures a second, ms of processors for each, MiB at most."""
    run = tempfile.mkdtemp(dir=folder)
    process = subprocess.Popen(
        [dlc.DLC, "train", artifact, f"--data={data}", f"--run={run}/run", "--epochs=1", f"--workers={workers}", "--threads=1",
         "--crop=random", "--hflip", "--mean=imagenet", "--std=imagenet", "--quiet"], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"dlc train ended with {status}")
    found = dlc.Run(run + "/run")
    seconds = BATCH / found.metrics("samples_per_second")
    waited = found.metrics("data_wait")[WARM_UP:].sum()
    rates = (seconds[WARM_UP:].size * BATCH) / (seconds[WARM_UP:].sum() + waited)
    return rates, 1000 * (usage.ru_utime + usage.ru_stime) / (BATCH * seconds.size), usage.ru_maxrss / 1024


def compare(options):
    sys.path.insert(0, os.path.join(here, "..", "support"))
    import dlc

    python = os.environ["DLC_PEER_PYTHON"]
    with tempfile.TemporaryDirectory() as folder:
        pictures = options.folder or os.path.join(folder, "pictures")
        few = os.path.join(folder, "few")
        script = os.path.abspath(__file__)
        if not os.path.isdir(pictures):
            subprocess.run([python, script, "make", pictures, str(options.count), *options.size.split("x")], check=True)
        subprocess.run([python, script, "make", few, str(max(BATCH, options.count // 10)), *options.size.split("x")], check=True)
        model(os.path.join(folder, "means.onnx"))
        artifact = dlc.compile(os.path.join(folder, "means.onnx"), os.path.join(folder, "means.dlc"), batch=BATCH, lr=0.01)
        _, _, small = train(dlc, artifact, few, folder, options.workers)
        for _ in range(options.rounds):
            rate, ms, memory = train(dlc, artifact, pictures, folder, options.workers)
            theirs, their_ms = json.loads(subprocess.run([python, script, "peer", pictures, str(options.workers)], check=True,
                                               stdout=subprocess.PIPE, text=True).stdout)
            print(f"dlc {rate:.0f} pictures/s, PIL and torchvision {theirs:.0f}: {rate / theirs:.2f}; {ms:.2f} ms of processors each, "
                  f"theirs {their_ms:.2f}: {their_ms / ms:.2f}; dlc's memory {memory:.0f} MiB, with a tenth of them {small:.0f} MiB",
                  flush=True)


def main():
    if sys.argv[1:2] == ["make"]:
        return make(sys.argv[2], *map(int, sys.argv[3:]))
    if sys.argv[1:2] == ["peer"]:
        return peer(sys.argv[2], int(sys.argv[3]))
    if "DLC_PEER_PYTHON" not in os.environ:
        sys.exit("pictures.py: set DLC_PEER_PYTHON to a Python that has torchvision")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("count", 10000), ("workers", 2), ("rounds", 2)):
        parser.add_argument(f"--{name}", type=int, default=default, help=f"number of {name.replace('count', 'pictures')} (default: {default})")
    parser.add_argument("--size", default="500x375", help="size of the pictures that are made (default: 500x375)")
    parser.add_argument("--folder", help="folder of the pictures, kept for another run")
    compare(parser.parse_args())


main()
