# SPDX-License-Identifier: Apache-2.0
"""Writes recurrent_NAME-EXPORTER.onnx and recurrent_ref.npz beside this file: two recurrent models, as both of torch's exporters
write them, and what PyTorch computes when it trains them.

    python make_recurrent.py     # needs torch and onnx; half a minute

NAME/inputs[4], NAME/labels[4]     four batches, used in turn
NAME/losses[20]                    before each of 20 steps of AdamW
"""

import os

import numpy as np
import onnx
import torch
from torch import nn
from torch.nn import functional as F

here = os.path.dirname(os.path.abspath(__file__))
ROWS, LENGTH, BATCHES, STEPS, TOKENS = 8, 12, 4, 20, 24


class Classifier(nn.Module):
    """[N,12,6] -> [N,5], by two bidirectional LSTM layers."""

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(6, 16, num_layers=2, batch_first=True, bidirectional=True)
        self.head = nn.Linear(64, 5)

    def forward(self, x):
        y, (h, _) = self.lstm(x)
        return self.head(torch.cat([y.mean(1), h[-2], h[-1]], 1))


class Language(nn.Module):
    """Tokens [N,12] -> logits [12 N,24], by a GRU."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(TOKENS, 10)
        self.gru = nn.GRU(10, 16, batch_first=True)
        self.head = nn.Linear(16, TOKENS)

    def forward(self, x):
        return self.head(self.gru(self.table(x))[0]).flatten(0, 1)


MODELS = {"lstm": Classifier, "gru": Language}


def make(name):
    torch.manual_seed(5)
    return MODELS[name]()


def data(name):
    random = np.random.RandomState(2)
    if name == "gru":
        return (random.randint(0, TOKENS, (BATCHES, ROWS, LENGTH)).astype(np.int64),
                random.randint(0, TOKENS, (BATCHES, ROWS * LENGTH)).astype(np.int64))
    return (random.randn(BATCHES, ROWS, LENGTH, 6).astype(np.float32),
            random.randint(0, 5, (BATCHES, ROWS)).astype(np.int64))


def export(name, x):
    names = dict(input_names=["input"], output_names=["logits"])
    path = os.path.join(here, f"recurrent_{name}-dynamo.onnx")
    torch.onnx.export(make(name), (x,), path, external_data=False, **names)
    model = onnx.load(path)
    for node in model.graph.node:  # where the exporter found it on its machine
        kept = [entry for entry in node.metadata_props if entry.key != "pkg.torch.onnx.stack_trace"]
        del node.metadata_props[:]
        node.metadata_props.extend(kept)
    onnx.save(model, path)
    torch.onnx.export(make(name), (x,), os.path.join(here, f"recurrent_{name}-old.onnx"), dynamo=False, opset_version=17,
                      training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False, **names)


def train(name, x, y):
    model, losses = make(name), []
    update = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=1e-2)
    for step in range(STEPS):
        loss = F.cross_entropy(model(torch.from_numpy(x[step % BATCHES])), torch.from_numpy(y[step % BATCHES]))
        update.zero_grad()
        loss.backward()
        update.step()
        losses.append(loss.item())
    return np.array(losses)


def main():
    torch.set_num_threads(1)
    out = {}
    for name in MODELS:
        x, y = data(name)
        export(name, torch.from_numpy(x[0]))
        out |= {f"{name}/inputs": x, f"{name}/labels": y, f"{name}/losses": train(name, x, y)}
        print(name, out[f"{name}/losses"][[0, 9, 19]].round(4).tolist())
    np.savez_compressed(os.path.join(here, "recurrent_ref.npz"), **out)


if __name__ == "__main__":
    main()
