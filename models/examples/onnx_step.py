# SPDX-License-Identifier: Apache-2.0
"""Trains with ONNX Runtime alone. step.onnx is the training step that `dlc export --step` has written:

    python onnx_step.py step.onnx data.npz 200 trained.npz

data.npz has a column for each of the step's inputs, in their order; trained.npz gets the state after the last step.
"""

import sys

import numpy as np
import onnxruntime

NEXT = "next/"


class Step:
    """Call it with a batch by name; it gives the losses and the like. `state` is what the steps so far have changed."""

    def __init__(self, path, providers=("CPUExecutionProvider",)):
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3  # else it warns of each input that has a value
        self.session = onnxruntime.InferenceSession(path, options, providers=list(providers))
        self.inputs = self.session.get_inputs()  # a batch; the state's inputs have values in the file
        self.outputs = [output.name for output in self.session.get_outputs()]
        self.state = {}

    def __call__(self, batch):
        results = dict(zip(self.outputs, self.session.run(None, self.state | batch)))
        self.state = {name.removeprefix(NEXT): value for name, value in results.items() if name.startswith(NEXT)}
        return {name: value for name, value in results.items() if not name.startswith(NEXT)}


def main(path, data, steps, trained):
    step, random = Step(path), np.random.default_rng(0)
    with np.load(data) as file:
        columns = {info.name: file[key] for info, key in zip(step.inputs, file.files)}
    rows = len(next(iter(columns.values())))
    size = step.inputs[0].shape[0]
    for number in range(int(steps)):
        chosen = random.choice(rows, size, replace=False)
        results = step({info.name: columns[info.name][chosen].reshape(info.shape) for info in step.inputs})
        if number % 10 == 0:
            print(f"step {number + 1}: loss {results['loss']:.4f}")
    np.savez(trained, **step.state)


if __name__ == "__main__":
    main(*sys.argv[1:])
