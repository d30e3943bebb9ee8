# SPDX-License-Identifier: Apache-2.0
"""Compares the accuracy of an exported classifier in ONNX Runtime with that of dlc eval.

    check_export.py MODEL.onnx DATA.npz EVAL.json [--at-least=ACCURACY]
"""

import argparse
import json
import sys

import numpy as np
import onnxruntime


CLOSE = 0.005  # of the decisions, so close that bf16 may turn them


def accuracy(path, x, y, batch=100):
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    right = 0
    for begin in range(0, len(x), batch):
        logits = session.run(None, {name: x[begin : begin + batch]})[0]
        right += int((logits.argmax(1) == y[begin : begin + batch]).sum())
    return right / len(x)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("data")
    parser.add_argument("evaluation", help="output of dlc eval --json")
    parser.add_argument("--at-least", type=float, default=0.0)
    options = parser.parse_args()

    with np.load(options.data) as file:
        x, y = file["x"], file["y"]
    if x.dtype == np.uint8:
        x = x.astype(np.float32) / 255
    with open(options.evaluation) as file:
        expected = json.load(file)["accuracy"]
    found = accuracy(options.model, x, y)

    print(f"accuracy in dlc eval      {100 * expected:6.2f} %")
    print(f"accuracy in ONNX Runtime  {100 * found:6.2f} %   ({len(x)} images)")
    if abs(found - expected) > max(1.5 / len(x), CLOSE):
        sys.exit("check_export: the exported model does not give dlc's accuracy")
    if found < options.at_least:
        sys.exit(f"check_export: accuracy is below {100 * options.at_least:g} %")


if __name__ == "__main__":
    main()
