# SPDX-License-Identifier: Apache-2.0
"""Writes the corpus of dlc-fuzz: make_corpus.py FOLDER. Small models of every operator (ONNX's own cases, with a weight
put in front), the models of the tests, artifacts, data, states and settings."""

import collections
import json
import os
import shutil
import subprocess
import sys
import warnings

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import dlc

IMPORT = os.path.join(dlc.BUILD, "bin", "dlc-import")
LARGEST = 40_000  # bytes of a seed: a change should mean something


def trainable(model):
    """The model with its first float input multiplied by a weight of its own; None if there is no such input."""
    for given in model.graph.input:
        tensor = given.type.tensor_type
        shape = [d.dim_value for d in tensor.shape.dim]
        if tensor.elem_type == TensorProto.FLOAT and shape and all(shape):
            weight = np.linspace(0.5, 1.5, int(np.prod(shape)), dtype=np.float32).reshape(shape)
            for node in model.graph.node:
                for i, name in enumerate(node.input):
                    if name == given.name:
                        node.input[i] = "fuzz/weighted"
            model.graph.initializer.append(numpy_helper.from_array(weight, "fuzz.weight"))
            model.graph.node.insert(0, helper.make_node("Mul", [given.name, "fuzz.weight"], ["fuzz/weighted"]))
            return model
    return None


def operators(folder, most):
    from onnx.backend.test.loader import load_model_tests
    taken = collections.Counter()
    with warnings.catch_warnings():  # of numpy, about the cases' infinities
        warnings.simplefilter("ignore")
        cases = load_model_tests(kind="node")
    for case in cases:
        model = onnx.load(os.path.join(case.model_dir, "model.onnx")) if case.model_dir else case.model
        if model is None or "training" in case.name:
            continue
        kinds = " ".join(node.op_type for node in model.graph.node)
        if len(taken) >= most:
            return
        if taken[kinds] == 3 or not (model := trainable(model)):
            continue
        if len(model.graph.node) < 12 and model.ByteSize() < LARGEST:
            path = os.path.join(folder, case.name + ".onnx")
            onnx.save(model, path)
            # Of those that are refused as they are, one for each kind.
            refused = subprocess.run([IMPORT, path, "--batch=2", "--quiet"], capture_output=True).returncode != 0
            taken[kinds] += 3 if refused else 1


def models(folder):
    for source in (dlc.MODELS, dlc.REFS):
        for name in sorted(os.listdir(source)):
            path = os.path.join(source, name)
            if name.endswith(".onnx") and os.path.getsize(path) < LARGEST:
                shutil.copy(path, folder)
    model = onnx.load(dlc.model("mlp"))
    onnx.save(model, os.path.join(folder, "external.onnx"), save_as_external_data=True, location="weights.bin",
              size_threshold=0)


def artifacts(folder):
    options = {"plain": {}, "all": dict(ema=True, amp=True, optimizer="adamw", clip_grad=1, schedule="cosine",
                                        accumulate=2)}
    for name, flags in options.items():
        dlc.compile(dlc.model("mlp"), os.path.join(folder, name + ".dlc"), batch=4, quiet=True, **flags)
    conv = os.path.join(dlc.REFS, "dropout_mlp.onnx")
    dlc.compile(conv, os.path.join(folder, "dropout.dlc"), batch=4, quiet=True)


def files(folder):
    x, y = np.arange(64, dtype=np.float32).reshape(8, 8), np.arange(8)
    np.savez(os.path.join(folder, "plain.npz"), x=x, y=y)
    np.savez_compressed(os.path.join(folder, "deflated.npz"), x=x.astype(np.uint8), y=y, z=x)
    for kind in ("f4", "f8", "f2", "u1", "i2", "u4", "?"):
        np.save(os.path.join(folder, kind.replace("?", "b") + ".npy"), x.astype(kind))
    shutil.copy(os.path.join(folder, "all.dlc", "state.safetensors"), os.path.join(folder, "state.safetensors"))
    header = json.dumps({"__metadata__": {"format": "pt"}, "a": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]},
                         "b": {"dtype": "I64", "shape": [], "data_offsets": [16, 24]}}).encode()
    with open(os.path.join(folder, "small.safetensors"), "wb") as file:
        file.write(len(header).to_bytes(8, "little") + header + bytes(24))
    shutil.copy(os.path.join(folder, "all.dlc", "config.yaml"), os.path.join(folder, "all.yaml"))
    with open(os.path.join(folder, "run.yaml"), "w") as file:
        file.write("_BASE_: all.yaml\ntrain:\n  lr: 0.1\n  optimizer: sgd\nrun:\n  epochs: 3\n  data: x.npz\n")


def main(folder, most=10_000):
    """At most so many kinds of operators."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    operators(folder, most)
    models(folder)
    artifacts(folder)
    files(folder)
    return len(os.listdir(folder))


if __name__ == "__main__":
    print(f"{sys.argv[1]}: {main(sys.argv[1])} seeds")
