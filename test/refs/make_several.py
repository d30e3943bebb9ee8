# SPDX-License-Identifier: Apache-2.0
"""Writes several.onnx and several_ref.npz beside this file: what PyTorch computes for a model of two outputs
under several losses and several optimizers.

    python make_several.py     # needs torch and onnx; a few seconds

images[4], classes[4], targets[4]    four batches, used in turn
RULE/total[20], RULE/class[20], RULE/value[20]   the losses before each of 20 steps
RULE/final/PARAM                     parameters after them
scaled/scale[20,2], scaled/found[20,2], the same of parts   of each loss's GradScaler before each step; whether its gradients overflowed
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


INIT, INTERVAL = 2.0**121, 3


def train_scaled(data, parts=1):
    """A GradScaler for each loss, each loss's gradients unscaled by its own and added up, as apex.amp does with
    num_losses=2; the step is skipped if either overflows. Batches in `parts`: those of two ranks (the mean counts) and
    of micro-batches (the loss is divided by their number before it is scaled, the sum counts)."""
    weights, model = (64, 1024), make()
    ranks, micro = min(2, parts), max(1, parts // 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.00002, momentum=0.9)
    scalers = [torch.amp.GradScaler("cpu", init_scale=INIT, growth_interval=INTERVAL) for _ in weights]
    out = {"total": [], "class": [], "value": [], "scale": [], "found": []}
    for step in range(STEPS):
        out["scale"].append([scaler.get_scale() for scaler in scalers])
        found, values = [False, False], [0, 0]
        sums = [torch.zeros_like(p) for p in model.parameters()]
        for x, y, z in zip(*(torch.from_numpy(data[k][step % BATCHES]).chunk(parts)
                             for k in ("images", "classes", "targets"))):
            kind, size = model(x)
            losses = F.cross_entropy(kind, y), F.mse_loss(size, z)
            for i, (loss, weight, scaler) in enumerate(zip(losses, weights, scalers)):
                optimizer.zero_grad()
                scaler.scale(loss * weight / micro).backward(retain_graph=True)
                values[i] += loss.item() / parts
                gradients = [torch.zeros_like(p) if p.grad is None else p.grad for p in model.parameters()]
                found[i] |= not all(bool(torch.isfinite(g).all()) for g in gradients)
                for total, g in zip(sums, gradients):
                    total += g / scaler.get_scale() / ranks
        for p, total in zip(model.parameters(), sums):
            p.grad = total
        for scaler, overflow in zip(scalers, found):
            probe = torch.zeros(1, requires_grad=True)
            probe.grad = torch.full((1,), float("inf") if overflow else 0.0)
            scaler.scale(probe)
            scaler.unscale_(torch.optim.SGD([probe], lr=1))
            scaler.update()
        if not any(found):
            optimizer.step()
        out["found"].append(found)
        for key, value in zip(("total", "class", "value"), (np.dot(weights, values), *values)):
            out[key].append(value)
    return {k: np.array(v) for k, v in out.items()} | {
        f"final/{k}": v.numpy().copy() for k, v in model.state_dict().items()}


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
    for rule, parts in ("scaled", 1), ("parts", 4):
        scaled = train_scaled(out, parts)
        out |= {f"{rule}/{k}": v for k, v in scaled.items()}
        print(rule, np.log2(scaled["scale"]).T.astype(int).tolist(), scaled["found"].sum(0))
    np.savez_compressed(os.path.join(here, "several_ref.npz"), **out)
    torch.onnx.export(make(), (torch.zeros(ROWS, 12),), os.path.join(here, "several.onnx"), dynamo=False,
                      input_names=["x"], output_names=["kind", "size"],
                      dynamic_axes={"x": {0: "N"}, "kind": {0: "N"}, "size": {0: "N"}})


if __name__ == "__main__":
    main()
