# SPDX-License-Identifier: Apache-2.0
"""Writes zoo_NAME-EXPORTER-FORM.onnx and zoo_ref.npz beside this file: small models of models/zoo.py, and what PyTorch
computes when it trains them.

    python make_zoo.py     # needs torch and onnx; half a minute

NAME/inputI[4], NAME/labels[4]     four batches, used in turn (inputs in half precision, exact)
NAME/losses[20]                    before each of 20 steps of the model's optimizer in models/compare.py
"""

import os
import sys
import warnings

import numpy as np
import torch

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(here)), "models"))
import compare
import zoo

BATCHES, STEPS = 4, 20
FILES = {"unet": ["script-train", "dynamo-eval"], "diffusion": ["dynamo-eval"], "graph": ["script-train", "dynamo-eval"],
         "rnn": ["dynamo-eval"], "experts": ["dynamo-eval"], "yolo": ["script-train"]}


def main():
    out = {}
    for name, files in FILES.items():
        for file in files:
            exporter, form = file.split("-")
            zoo.export(name, exporter, form, os.path.join(here, f"zoo_{name}-{file}.onnx"))
        inputs, labels = (kind[:BATCHES] for kind in compare.samples(name))
        inputs = [[v.half().float() if v.is_floating_point() else v for v in batch] for batch in inputs]
        turns = STEPS // BATCHES
        setting = compare.settings(zoo.entry(name).optimizer)
        losses, _ = compare.train_torch(name, setting, inputs * turns, labels * turns)
        for i in range(len(inputs[0])):
            values = np.stack([batch[i].numpy() for batch in inputs])
            out[f"{name}/input{i}"] = values.astype(np.float16) if values.dtype == np.float32 else values
        out |= {f"{name}/labels": np.stack([y.numpy() for y in labels]), f"{name}/losses": losses}
        print(name, losses[[0, 9, 19]].round(4).tolist())
    np.savez_compressed(os.path.join(here, "zoo_ref.npz"), **out)


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    main()
