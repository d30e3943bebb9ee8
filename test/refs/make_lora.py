# SPDX-License-Identifier: Apache-2.0
"""Writes lora_ref.npz beside this file: what PyTorch computes when it trains low-rank adapters on mlp and gpt_tiny,
by peft's formulas and from dlc's initial values. Data: the batches of NAME_ref.npz.

    python make_lora.py       # needs torch, onnx and xxhash; a few seconds

NAME/initial/STATE       adapters before the first step
NAME/losses[10]          before each of 10 steps
NAME/final/STATE         adapters after them
NAME/merged/STATE        weights with the adapters added
"""

import os
import sys

import numpy as np
import torch
import xxhash
from make_refs import BATCHES, data, export, here
from torch import nn
from torch.nn import functional as F

sys.path.insert(0, os.path.join(here, "..", "support"))
from philox import philox  # noqa: E402

STEPS, RANK, ALPHA, SEED = 10, 4, 16, 9


class LoraLinear(nn.Module):
    """W x + b + alpha / r B A x, with W and b frozen."""

    def __init__(self, name, base):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.lora_A = nn.Linear(base.in_features, RANK, bias=False)
        self.lora_B = nn.Linear(RANK, base.out_features, bias=False)
        a = self.lora_A.weight
        word = philox(SEED, np.arange(a.numel()), xxhash.xxh3_64_intdigest(f"{name}.lora_A.weight".encode()))[0]
        bound = (6 / ((1 + 2.2360679775**2) * base.in_features)) ** 0.5
        a.data = torch.from_numpy((bound * (2 * (word * 2.0**-32) - 1)).astype(np.float32).reshape(a.shape))
        nn.init.zeros_(self.lora_B.weight)

    def forward(self, x):
        return self.base(x) + self.lora_B(self.lora_A(x)) * (ALPHA / RANK)

    def merged(self):
        return self.base.weight + ALPHA / RANK * self.lora_B.weight @ self.lora_A.weight


def adapt(model):
    """Adapters on every Linear, by name."""
    model.requires_grad_(False)
    layers = {}
    for name, module in list(model.named_modules()):
        if isinstance(module, nn.Linear):
            layers[name] = LoraLinear(name, module)
            parent = model.get_submodule(name.rpartition(".")[0])
            setattr(parent, name.rpartition(".")[2], layers[name])
    return layers


def adapters(layers):
    return {f"{name}.lora_{part}.weight": getattr(layer, f"lora_{part}").weight.detach().numpy().copy()
            for name, layer in layers.items() for part in "AB"}


class Rows(nn.Module):
    """gpt_tiny without the reshape, which reads the head's weight."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, tokens):
        model = self.model
        x = model.tok(tokens) + model.pos.weight[: tokens.shape[1]]
        for layer in model.b:
            x = layer(x)
        return model.head(model.ln(x)).flatten(0, 1)


def train(name):
    model = export.make(name)
    layers = adapt(model)
    forward = Rows(model) if name.startswith("gpt") else model
    x, y = data(name)
    out, losses = {f"initial/{k}": v for k, v in adapters(layers).items()}, []
    update = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.1, momentum=0.9)
    for step in range(STEPS):
        loss = F.cross_entropy(forward(torch.from_numpy(x[step % BATCHES])), torch.from_numpy(y[step % BATCHES]))
        update.zero_grad()
        loss.backward()
        update.step()
        losses.append(loss.item())
    out |= {f"final/{k}": v for k, v in adapters(layers).items()}
    out |= {f"merged/{k}.weight": layer.merged().detach().numpy() for k, layer in layers.items()}
    return out | dict(losses=np.array(losses))


if __name__ == "__main__":
    torch.set_num_threads(1)
    result = {}
    for model_name in ["mlp", "gpt_tiny"]:
        part = train(model_name)
        result |= {f"{model_name}/{k}": v for k, v in part.items()}
        print(model_name, part["losses"].round(4)[[0, -1]])
    np.savez_compressed(os.path.join(here, "lora_ref.npz"), **result)
