# SPDX-License-Identifier: Apache-2.0
"""Makes generate.onnx, a small model of characters that dlc has trained, and generate_ref.npz: how PyTorch goes on with texts,
by its most probable character each time.

    DLC_BUILD=build python test/refs/make_generate.py      (needs the packages torch, onnx, onnxscript and numpy)

PyTorch reads the last 32 characters, and no more than there are.
PROMPT/ids    the prompt's characters, and those after it
margin        how far the most probable one was before the next, at the least
"""

import os
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import onnx
import torch

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "models"))
from export import Gpt, clean  # noqa: E402

PROMPTS = ["In the beginning God created", "And", "thou shalt not, and he that hath said unto them"]
COUNT, LENGTH = 60, 32


def train(model, folder):
    path = os.path.join(folder, "small.onnx")
    fresh = {key: value.numpy().copy() for key, value in model.state_dict().items()}
    torch.onnx.export(model, (torch.zeros((4, LENGTH), dtype=torch.int64),), path, dynamo=False, opset_version=17, do_constant_folding=False,
                      training=torch.onnx.TrainingMode.TRAINING, input_names=["input"], output_names=["logits"], dynamic_axes={"input": {0: "batch"}})
    clean(path, fresh)
    dlc = os.path.join(os.environ["DLC_BUILD"], "bin", "dlc")
    data = os.path.join(ROOT, "models", "text-train.npz")
    for words in ["compile", path, "--batch=32", "--optimizer=adamw", "--lr=0.004", "--schedule=cosine", "-o", "small.dlc"], [
            "train", "small.dlc", "--data=" + data, "--steps=3000", "--run=run"], ["export", "run", "-o", os.path.join(HERE, "generate.onnx")]:
        subprocess.run([dlc, *words], cwd=folder, check=True)


def go_on(model, ids):
    margin = np.inf
    for _ in range(COUNT):
        with torch.no_grad():
            best = model(torch.tensor([ids[-LENGTH:]]))[-1].topk(2)
        margin = min(margin, float(best.values[0] - best.values[1]))
        ids = [*ids, int(best.indices[0])]
    return ids, margin


def main():
    torch.manual_seed(0)
    model = Gpt(96, layers=1, width=32, heads=2, length=LENGTH)
    with tempfile.TemporaryDirectory() as folder:
        train(model, folder)
    weights = {t.name: torch.from_numpy(onnx.numpy_helper.to_array(t).copy()) for t in onnx.load(os.path.join(HERE, "generate.onnx")).graph.initializer}
    model.load_state_dict({name: weights[name] for name in model.state_dict()})
    result, margins = {}, []
    for prompt in PROMPTS:
        ids, margin = go_on(model.eval(), [ord(c) - 32 for c in prompt])
        print("".join(chr(c + 32) for c in ids).replace("\x7f", "/"), margin)
        result[prompt + "/ids"] = np.array(ids, np.uint8)
        margins.append(margin)
    np.savez_compressed(os.path.join(HERE, "generate_ref.npz"), margin=min(margins), **result)


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    main()
