# SPDX-License-Identifier: Apache-2.0
"""Writes padding_ref.npz: PyTorch's losses of small models whose embedding has a padding_idx.

    python make_padding.py         # needs torch

The models are built again, from these weights, by test/e2e/padding_test.py. MODEL is tied (the head is the table, which
the head's gradient reaches in the padding row, too) or apart:

table[ROWS,W] hidden[W,W] head[ROWS,W]   initial weights; PADDING is the row
inputs[4,N,T] labels[4,N]                batches, used in turn; every fourth token is the padding
MODEL/losses_OPT[20]                     before each step; OPT is sgd or adamw
MODEL/rows_OPT[ROWS,W]                   the table after them
"""

import os

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

ROWS, WIDTH, PADDING, STEPS = 12, 8, 3, 20
OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
    "adamw": lambda p: torch.optim.AdamW(p, lr=1e-2, weight_decay=0.1),
}


class Model(nn.Module):
    def __init__(self, weights, tied):
        super().__init__()
        self.embed = nn.Embedding(ROWS, WIDTH, padding_idx=PADDING)
        self.hidden = nn.Linear(WIDTH, WIDTH, bias=False)
        self.head = nn.Linear(WIDTH, ROWS, bias=False)
        with torch.no_grad():
            self.embed.weight.copy_(torch.from_numpy(weights["table"]))
            self.hidden.weight.copy_(torch.from_numpy(weights["hidden"]))
            self.head.weight.copy_(torch.from_numpy(weights["head"]))
        if tied:
            self.head.weight = self.embed.weight

    def forward(self, tokens):
        return self.head(torch.tanh(self.hidden(self.embed(tokens).mean(1))))


def main():
    random = np.random.RandomState(0)
    ref = {"table": random.randn(ROWS, WIDTH), "hidden": random.randn(WIDTH, WIDTH) / 2, "head": random.randn(ROWS, WIDTH)}
    ref = {name: value.astype(np.float32) for name, value in ref.items()}
    tokens = random.randint(0, ROWS, (4, 6, 8)).astype(np.int64)
    tokens[:, :, ::4] = PADDING
    ref |= {"inputs": tokens, "labels": random.randint(0, ROWS, (4, 6)).astype(np.int64), "padding": np.int64(PADDING)}
    for tied in (True, False):
        for name, make in OPTIMIZERS.items():
            model, losses = Model(ref, tied), []
            optimizer = make(model.parameters())
            for step in range(STEPS):
                x, y = (torch.from_numpy(ref[key][step % 4]) for key in ("inputs", "labels"))
                loss = F.cross_entropy(model(x), y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
            key = "tied" if tied else "apart"
            ref[f"{key}/losses_{name}"] = np.array(losses, np.float32)
            ref[f"{key}/rows_{name}"] = model.embed.weight.detach().numpy().copy()
    np.savez_compressed(os.path.join(os.path.dirname(os.path.abspath(__file__)), "padding_ref.npz"), **ref)


if __name__ == "__main__":
    main()
