# SPDX-License-Identifier: Apache-2.0
"""Writes several.onnx and several_ref.npz beside this file: what PyTorch computes for a model of two outputs
under several losses and several optimizers.

    python make_several.py     # needs torch and onnx; a few seconds

images[4], classes[4], targets[4]    four batches, used in turn
RULE/total[20], RULE/class[20], RULE/value[20]   the losses before each of 20 steps
RULE/final/PARAM                     parameters after them
"""

import os

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

here = os.path.dirname(os.path.abspath(__file__))
ROWS, BATCHES, STEPS = 16, 4, 20


class TwoHeads(nn.Module):
    """[N,12] -> class logits [N,5] and values [N,3]; a common hidden layer."""

    def __init__(self):
        super().__init__()
        self.trunk = nn.Linear(12, 16)
        self.kind = nn.Linear(16, 5)
        self.size = nn.Linear(16, 3)

    def forward(self, x):
        hidden = torch.tanh(self.trunk(x))
        return self.kind(hidden), self.size(hidden)


def make():
    torch.manual_seed(7)
    return TwoHeads()


# Weight of the second loss, and the optimizers of parameters by the start of their names.
RULES = {
    "weighted": (0.25, [("", lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9))]),
    "groups": (1.0, [("trunk", lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9)),
                     ("kind", lambda p: torch.optim.AdamW(p, lr=0.02, weight_decay=0.1)),
                     ("size", lambda p: torch.optim.RMSprop(p, lr=0.005, alpha=0.9))]),
}


def train(data, rule):
    weight, rows = RULES[rule]
    model = make()
    optimizers = [optimizer([p for n, p in model.named_parameters() if n.startswith(start)])
                  for start, optimizer in rows]
    losses = []
    for step in range(STEPS):
        x, y, z = (torch.from_numpy(data[k][step % BATCHES]) for k in ("images", "classes", "targets"))
        kind, size = model(x)
        first, second = F.cross_entropy(kind, y), F.mse_loss(size, z)
        total = first + weight * second
        for optimizer in optimizers:
            optimizer.zero_grad()
        total.backward()
        for optimizer in optimizers:
            optimizer.step()
        losses.append([total.item(), first.item(), second.item()])
    total, first, second = np.array(losses).T
    final = {f"final/{k}": v.numpy().copy() for k, v in model.state_dict().items()}
    return {"total": total, "class": first, "value": second} | final


def main():
    torch.set_num_threads(1)
    random = np.random.RandomState(4)
    out = dict(images=random.randn(BATCHES, ROWS, 12).astype(np.float32),
               classes=random.randint(0, 5, (BATCHES, ROWS)).astype(np.int64),
               targets=random.randn(BATCHES, ROWS, 3).astype(np.float32))
    for rule in RULES:
        result = train(out, rule)
        out |= {f"{rule}/{k}": v for k, v in result.items()}
        print(rule, result["total"][[0, -1]].round(4))
    np.savez_compressed(os.path.join(here, "several_ref.npz"), **out)
    torch.onnx.export(make(), (torch.zeros(ROWS, 12),), os.path.join(here, "several.onnx"), dynamo=False,
                      input_names=["x"], output_names=["kind", "size"],
                      dynamic_axes={"x": {0: "N"}, "kind": {0: "N"}, "size": {0: "N"}})


if __name__ == "__main__":
    main()
