# SPDX-License-Identifier: Apache-2.0
"""Writes moments_ref.npz beside this file: mlp trained by formulas of PyTorch whose moments are rounded to bf16
after each step, all else in f32.

    python make_moments.py       # needs torch and onnx; a few seconds

images[4], classes[4]       four batches, used in turn
RULE/losses[50]             before each of 50 steps; RULE is a key of RULES
RULE/final/STATE            parameters after them (f32)
RULE/moment/STATE.SUFFIX    moments after them, as the bits of bf16 (u16)

torch.optim's code cannot mix types; the formulas are those of its single-tensor functions, in their order. The
parameter moves by the moments before they are rounded, as in a kernel that does both.
"""

import os

import numpy as np
import torch
from make_refs import data, export, here, state
from torch.nn import functional as F

STEPS, BATCHES = 50, 4


def sgd(p, g, moments, step, lr=0.05, momentum=0.9, decay=1e-3):
    g = g + decay * p
    moments["m"] = momentum * moments["m"] + g
    return p - lr * moments["m"]


def adamw(p, g, moments, step, lr=1e-3, betas=(0.9, 0.95), eps=1e-8, decay=0.01):
    p = p * (1 - lr * decay)
    moments["m"] = torch.lerp(moments["m"], g, 1 - betas[0])
    moments["v"] = moments["v"] * betas[1] + g * g * (1 - betas[1])
    size = lr / (1 - betas[0] ** step)
    root = moments["v"].sqrt() / (1 - betas[1] ** step) ** 0.5
    return p - size * (moments["m"] / (root + eps))


def rmsprop_tf(p, g, moments, step, lr=1e-3, alpha=0.9, eps=1e-10):
    """timm's: the mean square starts at 1, and eps is under the root."""
    moments["v"] = moments["v"] + (g * g - moments["v"]) * (1 - alpha)
    return p - lr * g / (moments["v"] + eps).sqrt()


RULES = {"sgd": (sgd, {"m": 0}), "adamw": (adamw, {"m": 0, "v": 0}), "rmsprop_tf": (rmsprop_tf, {"v": 1})}


def train(rule, starts, x, y):
    model, losses = export.make("mlp"), []
    moments = {n: {k: torch.full_like(p, v, dtype=torch.bfloat16) for k, v in starts.items()}
               for n, p in model.named_parameters()}
    for step in range(STEPS):
        loss = F.cross_entropy(model(torch.from_numpy(x[step % BATCHES])), torch.from_numpy(y[step % BATCHES]))
        model.zero_grad()
        loss.backward()
        with torch.no_grad():
            for name, p in model.named_parameters():
                wide = {k: v.float() for k, v in moments[name].items()}
                p.copy_(rule(p, p.grad, wide, step + 1))
                moments[name] = {k: v.bfloat16() for k, v in wide.items()}
        losses.append(loss.item())
    kept = {f"moment/{n}.{k}": v.view(torch.uint16).numpy() for n, all_ in moments.items() for k, v in all_.items()}
    return dict(losses=losses) | {f"final/{k}": v for k, v in state(model).items()} | kept


def main():
    torch.set_num_threads(1)
    x, y = data("mlp")
    out = dict(images=x, classes=y)
    for name, (rule, starts) in RULES.items():
        result = train(rule, starts, x, y)
        out |= {f"{name}/{k}": np.asarray(v) for k, v in result.items()}
        print(name, np.round(result["losses"][-1], 4))
    np.savez_compressed(os.path.join(here, "moments_ref.npz"), **out)


if __name__ == "__main__":
    main()
