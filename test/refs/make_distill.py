# SPDX-License-Identifier: Apache-2.0
"""Writes distill_teacher.onnx and distill_ref.npz beside this file: what PyTorch computes when mlp learns from a teacher.

    python make_distill.py       # needs torch and onnx; a few seconds

The teacher has a batch norm and a dropout, tensors of the student's names, and is exported in training form. Batches are
those of optimizers_ref.npz. Of each key of CASES:
CASE/losses[20], CASE/distill[20]    the total and its first term by the teacher, before each of 20 steps
CASE/final/STATE                     parameters after them
CASE/noise/STATE                     how far the movement is from that with the rows of each batch in reverse order, by its norm

One thread.
"""

import os

import numpy as np
import torch
from make_refs import export, here, state
from torch import nn
from torch.nn import functional as F

STEPS, BATCHES = 20, 4


class Teacher(nn.Module):
    def __init__(self):
        super().__init__()
        self.f1, self.norm, self.tanh = nn.Linear(64, 48), nn.BatchNorm1d(48), nn.Tanh()
        self.drop, self.f2 = nn.Dropout(0.5), nn.Linear(48, 10)

    def hidden(self, images):
        return self.tanh(self.norm(self.f1(torch.flatten(images, 1))))

    def forward(self, images):
        return self.f2(self.drop(self.hidden(images)))


def teacher():
    torch.manual_seed(7)
    module = Teacher().train()
    for _ in range(5):
        module(torch.randn(32, 1, 8, 8))
    with torch.no_grad():
        module.f2.weight.mul_(8)
    return module


def hidden(model, x):
    return torch.tanh(model.f1(torch.flatten(x, 1))) if isinstance(model, export.Mlp) else model.hidden(x)


def kl(student, taught, x, t):
    p, q = (F.log_softmax(m(x) / t, 1) for m in (student, taught))
    return F.kl_div(p, q, reduction="batchmean", log_target=True) * t * t


# (optimizer, the weights and terms by the teacher)
CASES = {
    "kl": (lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9), [(0.5, lambda s, t, x: kl(s, t, x, 2))]),
    "hidden": (lambda p: torch.optim.AdamW(p, lr=1e-3), [(3, lambda s, t, x: F.mse_loss(hidden(s, x), hidden(t, x))),
                                                        (1, lambda s, t, x: kl(s, t, x, 1))]),
}


def train(taught, case, x, y):
    optimizer, terms = CASES[case]
    model, losses, first = export.make("mlp"), [], []
    update = optimizer(model.parameters())
    for step in range(STEPS):
        images, labels = (torch.from_numpy(a[step % BATCHES]) for a in (x, y))
        with torch.no_grad():
            taught.eval()
        parts = [(weight, term(model, taught, images)) for weight, term in terms]
        loss = F.cross_entropy(model(images), labels) + sum(weight * part for weight, part in parts)
        update.zero_grad()
        loss.backward()
        update.step()
        losses.append(loss.item())
        first.append(parts[0][1].item())
    return losses, first, state(model)


def main():
    torch.set_num_threads(1)
    taught = teacher()
    torch.onnx.export(taught, torch.randn(32, 1, 8, 8), os.path.join(here, "distill_teacher.onnx"), input_names=["images"],
                      output_names=["scores"], dynamo=False, training=torch.onnx.TrainingMode.TRAINING,
                      do_constant_folding=False, dynamic_axes={"images": {0: "batch"}, "scores": {0: "batch"}})
    for p in taught.parameters():
        p.requires_grad_(False)
    with np.load(os.path.join(here, "optimizers_ref.npz")) as file:
        x, y = file["images"], file["classes"]
    out, start = {}, state(export.make("mlp"))
    for case in CASES:
        losses, first, last = train(taught, case, x, y)
        other = train(taught, case, x[:, ::-1].copy(), y[:, ::-1].copy())[2]
        out |= {f"{case}/losses": np.asarray(losses), f"{case}/distill": np.asarray(first)}
        for k, v in last.items():
            noise = np.linalg.norm(other[k] - v) / np.linalg.norm(v - start[k])
            out |= {f"{case}/final/{k}": v, f"{case}/noise/{k}": noise}
            print(case, k, float(noise))
        print(case, losses[:2], losses[-1], first[:2])
    np.savez_compressed(os.path.join(here, "distill_ref.npz"), **out)


if __name__ == "__main__":
    main()
