# SPDX-License-Identifier: Apache-2.0
"""Measures final accuracy in f32, bf16 and fp16 on real data, over several seeds, and draws loss curves.

    PYTHONPATH=test/support python test/bench/accuracy.py run [--models=lenet,resnet8] [--seeds=1,2,3]
    PYTHONPATH=test/support python test/bench/accuracy.py show

`run` trains what accuracy.json does not have yet and adds it there; a seed chooses the initial
weights and the order of the samples, the same for every precision. `show` writes accuracy.svg and
accuracy.md from it. LeNet reads the MNIST digits unchanged, resnet8 in three channels with a
border of 2. Not a ctest test: ten minutes on two idle cores.
"""

import argparse
import json
import os
import tempfile

import accuracy_plot
import dlc
import numpy as np
import onnx
from onnx import numpy_helper

HERE = os.path.dirname(os.path.abspath(__file__))
RESULTS = os.path.join(HERE, "accuracy.json")
WINDOW = 10  # steps whose mean loss is one point of a curve

PRECISIONS = {
    "f32": {},
    "bf16 O1": dict(amp=True, amp_dtype="bf16"),
    "bf16 O2": dict(amp="O2", amp_dtype="bf16"),
    "fp16 O1": dict(amp=True, amp_dtype="fp16", loss_scale="dynamic"),
}
MODELS = {
    "lenet": dict(epochs=15, lr=0.05, weight_decay=5e-3),
    "resnet8": dict(epochs=6, lr=0.1, weight_decay=5e-4),
}


def images(name, part, folder):
    """The data file of a model."""
    if name == "lenet":
        return dlc.data("mnist-" + part)
    path = os.path.join(folder, part + ".npz")
    with np.load(dlc.data("mnist-" + part)) as file:
        border = ((0, 0), (0, 0), (2, 2), (2, 2))
        x = np.pad(file["x"], border).repeat(3, axis=1)
        np.savez(path, x=x, y=file["y"])
    return path


def initialised(name, seed, folder):
    """The model with PyTorch's initial weights of this seed: uniform in 1 / sqrt(fan in); what
    BatchNorm has starts as it is."""
    random, model = np.random.RandomState(seed), onnx.load(dlc.model(name))
    tensors = {t.name: t for t in model.graph.initializer}
    for key, tensor in tensors.items():
        weight = tensors[key.rsplit(".", 1)[0] + ".weight"]
        if len(weight.dims) > 1:
            bound = np.prod(weight.dims[1:]) ** -0.5
            value = random.uniform(-bound, bound, tuple(tensor.dims)).astype(np.float32)
            tensor.CopyFrom(numpy_helper.from_array(value, key))
    path = os.path.join(folder, f"{name}.onnx")
    onnx.save(model, path)
    return path


def train(name, precision, seed):
    options = dict(MODELS[name])
    epochs = options.pop("epochs")
    with tempfile.TemporaryDirectory(prefix="dlc-bench-") as folder:
        artifact = dlc.compile(initialised(name, seed, folder), os.path.join(folder, "m.dlc"),
                               optimizer="sgd(momentum=0.9)", schedule="cosine", batch=64,
                               **options, **PRECISIONS[precision])
        run = dlc.train(artifact, images(name, "train", folder), os.path.join(folder, "run"),
                        epochs=epochs, seed=seed, threads=1, timeout=3600)
        result = dlc.evaluate(run.folder, images(name, "test", folder))
        losses = run.metrics("loss")
        skipped = run.metrics("found_inf").sum() if "scale" in str(PRECISIONS[precision]) else 0
    curve = losses[: len(losses) // WINDOW * WINDOW].reshape(-1, WINDOW).mean(axis=1)
    return dict(model=name, precision=precision, seed=seed, accuracy=result["accuracy"],
                loss=result["loss"], skipped=int(skipped), curve=[round(float(v), 5) for v in curve])


def load():
    if not os.path.exists(RESULTS):
        return []
    with open(RESULTS) as file:
        return json.load(file)


def save(results):
    with open(RESULTS, "w") as file:
        file.write("[\n" + ",\n".join(json.dumps(r) for r in results) + "\n]\n")


def run(options):
    results = load()
    for seed in map(int, options.seeds.split(",")):
        for name in options.models.split(","):
            for precision in options.precisions.split(","):
                key = (name, precision, seed)
                if any((r["model"], r["precision"], r["seed"]) == key for r in results):
                    continue
                found = train(*key)
                print(name, precision, seed, found["accuracy"], found["loss"], flush=True)
                results = load() + [found]
                save(results)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["run", "show"], help="run: train missing rows; show: write accuracy.svg and accuracy.md")
    parser.add_argument("--models", default=",".join(MODELS), help="models (default: all)")
    parser.add_argument("--precisions", default=",".join(PRECISIONS), help="precisions (default: all)")
    parser.add_argument("--seeds", default="1,2,3", help="seeds (default: 1,2,3)")
    options = parser.parse_args()
    if options.what == "run":
        run(options)
    results = load()
    accuracy_plot.write_table(results, os.path.join(HERE, "accuracy.md"))
    accuracy_plot.write_picture(results, WINDOW, os.path.join(HERE, "accuracy.svg"))


if __name__ == "__main__":
    main()
