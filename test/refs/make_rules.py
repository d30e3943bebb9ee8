# SPDX-License-Identifier: Apache-2.0
"""Writes rules_ref.npz beside this file: what PyTorch computes when it trains mlp under other rules than those
of make_refs.py.

    python make_rules.py       # needs torch and onnx; a few seconds

images[4], classes[4], targets[4]    four batches, used in turn; targets are for mse and bce, in 0..1
RULE/losses[20]                      before each of 20 steps
RULE/lr[20], RULE/norm[20]           of each step; the norm is of the gradients before clipping
RULE/final/STATE                     parameters after them (f32)
"""

import os

import numpy as np
import torch
from make_refs import BATCHES, STEPS, data, export, here, state
from torch.nn import functional as F
from torch.optim import SGD, AdamW, lr_scheduler

CROSS_ENTROPY = (F.cross_entropy, "classes")
MSE = (F.mse_loss, "targets")
BCE = (F.binary_cross_entropy_with_logits, "targets")


def sgd(**options):
    return lambda p: SGD(p, lr=0.05, **options)


def adamw(**options):
    return lambda p: AdamW(p, lr=1e-3, **options)


# (loss, optimizer, norm that the gradients are clipped to, learning rate's schedule)
RULES = {
    "plain": (CROSS_ENTROPY, sgd(), None, None),
    "nesterov": (CROSS_ENTROPY, sgd(momentum=0.9, nesterov=True), None, None),
    "nesterov_decay": (CROSS_ENTROPY, sgd(momentum=0.5, nesterov=True, weight_decay=0.1), None, None),
    "betas": (CROSS_ENTROPY, adamw(betas=(0.8, 0.95), eps=1e-3, weight_decay=0.1), None, None),
    "clip_sgd": (CROSS_ENTROPY, sgd(momentum=0.9), 0.25, None),
    "clip_adamw": (CROSS_ENTROPY, adamw(eps=1e-3), 0.25, None),
    "step": (CROSS_ENTROPY, sgd(momentum=0.9), None, lambda o: lr_scheduler.StepLR(o, 6, 0.5)),
    "cosine": (CROSS_ENTROPY, sgd(momentum=0.9), None,
               lambda o: lr_scheduler.CosineAnnealingLR(o, STEPS, eta_min=0.01)),
    "mse": (MSE, sgd(momentum=0.9), None, None),
    "bce": (BCE, sgd(momentum=0.9), None, None),
}


def train(batches, rule):
    (loss_of, key), optimizer, limit, schedule = rule
    model, losses, rates, norms = export.make("mlp"), [], [], []
    update = optimizer(model.parameters())
    rate = schedule(update) if schedule else None
    for step in range(STEPS):
        x, y = (torch.from_numpy(batches[k][step % BATCHES]) for k in ("images", key))
        loss = loss_of(model(x), y)
        update.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), limit or torch.inf)
        rates.append(update.param_groups[0]["lr"])
        update.step()
        if rate:
            rate.step()
        losses.append(loss.item())
        norms.append(norm.item())
    return dict(losses=losses, lr=rates, norm=norms) | {f"final/{k}": v for k, v in state(model).items()}


def main():
    torch.set_num_threads(1)
    x, y = data("mlp")
    targets = np.random.RandomState(2).rand(BATCHES, x.shape[1], 10).astype(np.float32)
    out = dict(images=x, classes=y, targets=targets)
    for name, rule in RULES.items():
        result = train(out, rule)
        out |= {f"{name}/{k}": np.asarray(v) for k, v in result.items()}
        print(name, np.round(result["losses"][-1], 4), np.round(result["norm"][:2], 3))
    np.savez_compressed(os.path.join(here, "rules_ref.npz"), **out)


if __name__ == "__main__":
    main()
