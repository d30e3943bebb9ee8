# SPDX-License-Identifier: Apache-2.0
"""Writes sparse_ref.npz: PyTorch's training of a small model whose embedding has sparse gradients.

    python make_sparse.py         # needs torch

The model is built again, from these weights, by test/e2e/sparse_embeddings_test.py: the mean of a sample's rows, a linear
layer, cross entropy. OPT is sgd, adagrad, or adam (SparseAdam for the table, Adam for the layer); MODEL is all, or padding,
whose row PADDING gets no gradient:

table[ROWS,W] weight[CLASSES,W] bias[CLASSES]   initial weights
inputs[4,N,T] labels[4,N]                       batches, used in turn; many tokens occur several times, some never
MODEL/OPT/losses[20]                            before each step
MODEL/OPT/table, weight, bias                   after them
MODEL/OPT/m, v                                  the table's moments after them, where there are some
"""

import os

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

ROWS, WIDTH, CLASSES, PADDING, STEPS = 64, 6, 7, 3, 20
OPTIMIZERS = {
    "sgd": lambda table, rest: [torch.optim.SGD([table, *rest], lr=0.5)],
    "adagrad": lambda table, rest: [torch.optim.Adagrad([table, *rest], lr=0.1)],
    "adam": lambda table, rest: [torch.optim.SparseAdam([table], lr=0.01), torch.optim.Adam(rest, lr=0.01)],
}
MOMENTS = {"v": ("sum", "exp_avg_sq"), "m": ("exp_avg",)}


class Model(nn.Module):
    def __init__(self, weights, padding):
        super().__init__()
        self.embed = nn.Embedding(ROWS, WIDTH, sparse=True, padding_idx=padding)
        self.head = nn.Linear(WIDTH, CLASSES)
        with torch.no_grad():
            self.embed.weight.copy_(torch.from_numpy(weights["table"]))
            self.head.weight.copy_(torch.from_numpy(weights["weight"]))
            self.head.bias.copy_(torch.from_numpy(weights["bias"]))

    def forward(self, tokens):
        return self.head(self.embed(tokens).mean(1))


def train(ref, name, padding):
    model, losses = Model(ref, padding), []
    optimizers = OPTIMIZERS[name](model.embed.weight, list(model.head.parameters()))
    for step in range(STEPS):
        x, y = (torch.from_numpy(ref[key][step % 4]) for key in ("inputs", "labels"))
        loss = F.cross_entropy(model(x), y)
        model.zero_grad()
        loss.backward()
        assert model.embed.weight.grad.is_sparse
        for optimizer in optimizers:
            optimizer.step()
        losses.append(loss.item())
    result = {"losses": np.array(losses, np.float32), "table": model.embed.weight, "weight": model.head.weight, "bias": model.head.bias}
    state = optimizers[0].state[model.embed.weight]
    result |= {key: state[each] for key, names in MOMENTS.items() for each in names if each in state}
    return {key: value if isinstance(value, np.ndarray) else value.detach().numpy().copy() for key, value in result.items()}


def main():
    torch.set_num_threads(1)
    random = np.random.RandomState(0)
    ref = {"table": random.randn(ROWS, WIDTH), "weight": random.randn(CLASSES, WIDTH) / 2, "bias": random.randn(CLASSES) / 10}
    ref = {name: value.astype(np.float32) for name, value in ref.items()}
    tokens = random.randint(0, ROWS // 2, (4, 6, 5)).astype(np.int64) * 2  # odd rows are never looked up, but for the padding
    tokens[:, :, 0] = PADDING
    tokens[:, 1:4, 2] = 10
    ref |= {"inputs": tokens, "labels": random.randint(0, CLASSES, (4, 6)).astype(np.int64), "padding": np.int64(PADDING)}
    for model, padding in (("all", None), ("padding", PADDING)):
        for name in OPTIMIZERS:
            ref |= {f"{model}/{name}/{key}": value for key, value in train(ref, name, padding).items()}
    np.savez_compressed(os.path.join(os.path.dirname(os.path.abspath(__file__)), "sparse_ref.npz"), **ref)


if __name__ == "__main__":
    main()
