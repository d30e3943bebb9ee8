# SPDX-License-Identifier: Apache-2.0
"""Writes dropout_{mlp,gpt,depth}.onnx beside this file: models in training form with dropout and stochastic depth.

    python make_dropout.py       # needs torch and onnx; a few seconds
"""

import os
import sys
import warnings

import torch
from torch import nn
from torch.nn import functional as F

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, "..", "..", "models"))
import export  # noqa: E402


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.f1, self.f2 = nn.Linear(64, 48), nn.Linear(48, 10)
        self.drop = nn.Dropout(0.3)

    def forward(self, images):
        return self.f2(self.drop(F.relu(self.f1(torch.flatten(images, 1)))))


class Layer(export.Layer):
    """With dropout of the attention's weights and of both branches, where GPT-2 has it."""

    def __init__(self, width, heads):
        super().__init__(width, heads)
        self.drop = nn.Dropout(0.1)

    def attend(self, x):
        n, t, d = x.shape
        q, k, v = (p.reshape(n, t, self.heads, d // self.heads).transpose(1, 2)
                   for p in self.qkv(x).split(d, dim=2))
        scores = q @ k.transpose(2, 3) * (d // self.heads) ** -0.5
        scores = scores + torch.full((t, t), float("-inf")).triu(1)
        y = self.drop(scores.softmax(-1)) @ v
        return self.drop(self.proj(y.transpose(1, 2).reshape(n, t, d)))

    def forward(self, x):
        x = x + self.attend(self.ln1(x))
        return x + self.drop(self.out(F.gelu(self.fc(self.ln2(x)), approximate="tanh")))


class Gpt(export.Gpt):
    def __init__(self):
        super().__init__(96, layers=0, width=32, heads=4, length=32)
        self.b = nn.ModuleList([Layer(32, 4)])


class Depth(nn.Module):
    """Residual branches of which each sample skips some."""

    def __init__(self):
        super().__init__()
        self.f1, self.f3 = nn.Linear(64, 32), nn.Linear(32, 10)
        self.branches = nn.ModuleList(nn.Linear(32, 32) for _ in range(2))

    def skip(self, x, keep=0.75):
        noise = torch.empty([x.shape[0], 1], dtype=x.dtype).bernoulli_(keep)
        return x * noise.div_(keep)

    def forward(self, images):
        x = F.relu(self.f1(torch.flatten(images, 1)))
        for branch in self.branches:
            x = x + self.skip(F.relu(branch(x)))
        return self.f3(x)


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    for name, maker, example in [("mlp", Mlp, export.images(32, 1, 8, 8)), ("gpt", Gpt, export.tokens(4, 32)),
                                 ("depth", Depth, export.images(32, 1, 8, 8))]:
        export.MODELS[name] = (maker, example)
        export.export(name, "train", os.path.join(here, f"dropout_{name}.onnx"))
