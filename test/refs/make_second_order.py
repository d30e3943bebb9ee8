# SPDX-License-Identifier: Apache-2.0
"""Writes second_order.json: losses of slopes by their parameters, as PyTorch differentiates twice; needs torch.

    PYTHONPATH=test/support python test/refs/make_second_order.py
"""

import json
import os
import sys

import torch
from torch.nn import functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "import"))
from second_order_cases import CASES, arrays  # noqa: E402


def lstm(x, w, r):
    """ONNX's order of gates, i o f c, in torch's i f c o."""
    def order(t):
        i, o, f, c = t[0].chunk(4)
        return torch.cat([i, f, c, o])
    h = torch.zeros(x.shape[0], r.shape[2], dtype=x.dtype)
    c = torch.zeros_like(h)
    for step in x.unbind(1):
        i, f, g, o = (step @ order(w).T + h @ order(r).T).chunk(4, 1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        h = o.sigmoid() * c.tanh()
    return h


FORWARD = {
    "relu": lambda x, w, v: (x @ w).relu() ** 2 @ v,
    "gelu": lambda x, w, v: F.gelu(x @ w) @ v,
    "gelu_tanh": lambda x, w, v: F.gelu(x @ w, approximate="tanh") @ v,
    "softmax": lambda x, w, v: (x @ w).softmax(-1) @ v,
    "log_softmax": lambda x, w, v: (x @ w).log_softmax(-1) @ v,
    "layer_norm": lambda x, w, v, s, b: F.layer_norm(x @ w, (8,), s, b, 1e-5) @ v,
    "conv_max_pool": lambda x, w: F.max_pool2d(F.conv2d(x, w), 2).tanh(),
    "conv_avg_pool": lambda x, w: F.avg_pool2d(F.conv2d(x, w), 2).tanh(),
    "attention": lambda x, w: (x @ w @ (x @ w).transpose(1, 2)).softmax(-1) @ (x @ w),
    "lstm": lstm,
}

numbers = {}
for name in CASES:
    x, weights = arrays(name)
    leaves = [torch.tensor(w, dtype=torch.float64, requires_grad=True) for w in weights.values()]
    given = torch.tensor(x, dtype=torch.float64, requires_grad=True)
    slope, = torch.autograd.grad(FORWARD[name](given, *leaves).sum(), given, create_graph=True)
    loss = (slope ** 2).mean()
    loss.backward()
    numbers[name] = {"loss": loss.item(), "gradients": {
        key: [float(f"{g:.9g}") for g in (torch.zeros_like(leaf) if leaf.grad is None else leaf.grad).reshape(-1).tolist()]
        for key, leaf in zip(weights, leaves)}}
with open(os.path.join(HERE, "second_order.json"), "w") as file:
    file.write("{\n" + ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in numbers.items()) + "\n}\n")
