# SPDX-License-Identifier: Apache-2.0
"""Writes optimizers_ref.npz beside this file: what PyTorch and timm compute when they train mlp with each of their
optimizers, and resnet8 with one.

    python make_optimizers.py       # needs torch, timm and onnx; a few seconds

images[4], classes[4]       four batches of mlp, used in turn; resnet8's are those of make_refs.py
OPTIMIZER/losses[50]        before each of 50 steps; OPTIMIZER is a key of OPTIMIZERS or RESNET
OPTIMIZER/final/STATE       parameters after them (f32)

Of MOVED, 20 steps, and also
OPTIMIZER/noise/STATE       how far the movement is from that with the rows of each batch in reverse order, by its norm

One thread. torch's Muon iterates in bf16; here, as in dlc, it does so in f32, which is the same formula without
its rounding.
"""

import os

import numpy as np
import torch
from make_refs import data, export, here, state
from timm.optim.lamb import Lamb
from timm.optim.lars import Lars
from timm.optim.lion import Lion
from timm.optim.rmsprop_tf import RMSpropTF
from torch import optim
from torch.nn import functional as F
from torch.optim import _muon

STEPS, BATCHES = 50, 4


def grouped(make, options_of, **options):
    """A group for each parameter, with options_of(name, parameter)."""
    return lambda model: make([dict(params=[p], **options_of(n, p)) for n, p in model.named_parameters()], **options)


def newton_schulz(grad, coefficients, steps, eps):
    a, b, c = coefficients
    tall = grad.size(0) > grad.size(1)
    x = grad.T if tall else grad
    x = x / x.norm().clamp(min=eps)
    for _ in range(steps):
        gram = x @ x.T
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x.T if tall else x


def muon(model):
    """Matrices by Muon, all else by AdamW, with the rate and weight decay of Muon."""
    _muon._zeropower_via_newtonschulz = newton_schulz
    parameters = list(model.parameters())
    return [optim.Muon([p for p in parameters if p.ndim == 2], lr=1e-3, weight_decay=0.1),
            optim.AdamW([p for p in parameters if p.ndim != 2], lr=1e-3, weight_decay=0.1)]


def scales(name, _):
    """--lr-scale=^f1:0.1 --weight-decay-scale=weight:5 of lr 1e-3 and weight decay 0.01"""
    return dict(lr=1e-4 if name.startswith("f1") else 1e-3, weight_decay=0.05 if "weight" in name else 0.01)


def norm_bias(decay):
    return lambda name, p: dict(weight_decay=0 if p.ndim <= 1 or name.endswith(".bias") else decay)


def each(make, **options):
    return lambda model: make(model.parameters(), **options)


OPTIMIZERS = {
    "dampened": each(optim.SGD, lr=0.05, momentum=0.9, dampening=0.5, weight_decay=1e-3),
    "adam": each(optim.Adam, lr=1e-3, weight_decay=0.01),
    "adam_amsgrad": each(optim.Adam, lr=1e-3, amsgrad=True),
    "adamw_amsgrad": each(optim.AdamW, lr=1e-3, amsgrad=True),
    "radam": each(optim.RAdam, lr=5e-3, weight_decay=0.01),
    "rmsprop": each(optim.RMSprop, lr=1e-3, weight_decay=0.01),
    "rmsprop_momentum": each(optim.RMSprop, lr=1e-4, alpha=0.95, momentum=0.9),
    "rmsprop_tf": each(RMSpropTF, lr=1e-2, weight_decay=0.01),
    "rmsprop_tf_momentum": each(RMSpropTF, lr=1e-3, momentum=0.9, eps=1e-3),
    "adagrad": each(optim.Adagrad, lr=1e-2, weight_decay=1e-3),
    "lion": each(Lion, lr=1e-4, weight_decay=0.1),
    "lamb": each(Lamb, lr=1e-2, weight_decay=0.02),
    "muon": muon,
    "lamb_no_decay": grouped(Lamb, norm_bias(0.02), lr=1e-2),
    "no_decay": grouped(optim.AdamW, norm_bias(0.1), lr=1e-3),
    "scaled": grouped(optim.AdamW, scales),
}


def lars(**options):
    """Matrices by Lars, whose ratio holds without weight decay, too; vectors by SGD."""
    def make(model):
        parameters = list(model.parameters())
        return [Lars([p for p in parameters if p.ndim > 1], always_adapt=True, **options),
                optim.SGD([p for p in parameters if p.ndim <= 1], **options)]
    return make


MOVED = {
    "nadam": ("mlp", each(optim.NAdam, lr=2e-3)),
    "nadam_decay": ("mlp", each(optim.NAdam, lr=5e-3, weight_decay=0.05, momentum_decay=0.02, betas=(0.8, 0.95))),
    "nadamw": ("mlp", each(optim.NAdam, lr=5e-3, weight_decay=0.05, decoupled_weight_decay=True)),
    "nadam_groups": ("mlp", lambda model: [optim.NAdam(model.f1.parameters(), lr=1e-3, betas=(0.8, 0.999)),
                                           optim.NAdam(model.f2.parameters(), lr=2e-3)]),
    "adafactor": ("mlp", each(optim.Adafactor, lr=1e-2)),
    "adafactor_decay": ("mlp", each(optim.Adafactor, lr=0.5, beta2_decay=-0.5, eps=(1e-5, 1e-1), d=1.5, weight_decay=0.1)),
    "adafactor_lenet": ("lenet", each(optim.Adafactor, lr=1e-2)),
    "lars": ("lenet", lars(lr=0.5, momentum=0.9)),
    "lars_decay": ("mlp", lars(lr=0.1, momentum=0.5, weight_decay=0.01, nesterov=True)),
    "lars_plain": ("mlp", lars(lr=0.1)),
}
RESNET = {"resnet8": grouped(optim.SGD, norm_bias(1e-3), lr=0.01, momentum=0.5, dampening=0.5)}
SMALL = 10000  # elements; of resnet8 larger weights are not kept, nor biases, which start at 0 and are mostly rounding


def train(name, make, x, y, steps=STEPS):
    model, losses = export.make(name), []
    updates = make(model)
    updates = updates if isinstance(updates, list) else [updates]
    for step in range(steps):
        loss = F.cross_entropy(model(torch.from_numpy(x[step % BATCHES])), torch.from_numpy(y[step % BATCHES]))
        model.zero_grad()
        loss.backward()
        for update in updates:
            update.step()
        losses.append(loss.item())
    return dict(losses=losses) | {f"final/{k}": v for k, v in state(model).items()}


def moved(name, make):
    """20 steps, and their noise."""
    x, y = data(name)
    first = {k: v.copy() for k, v in state(export.make(name)).items()}
    result, other = train(name, make, x, y, 20), train(name, make, x[:, ::-1].copy(), y[:, ::-1].copy(), 20)
    kept = [k for k, v in first.items() if v.size < SMALL]
    out = dict(losses=result["losses"])
    for k in kept:
        last = result[f"final/{k}"]
        out |= {f"final/{k}": last,
                f"noise/{k}": np.linalg.norm(other[f"final/{k}"] - last) / np.linalg.norm(last - first[k])}
    return out


def main():
    torch.set_num_threads(1)
    x, y = data("mlp")
    out = dict(images=x, classes=y)
    for name, make in OPTIMIZERS.items():
        result = train("mlp", make, x, y)
        out |= {f"{name}/{k}": np.asarray(v) for k, v in result.items()}
        print(name, np.round(result["losses"][-1], 4))
    x, y = data("resnet8")
    for name, make in RESNET.items():
        result = train("resnet8", make, x, y)
        out |= {f"{name}/{k}": np.asarray(v) for k, v in result.items()
                if k == "losses" or k.endswith(".weight") and v.size < SMALL}
        print(name, np.round(result["losses"][-1], 4))
    for name, (model, make) in MOVED.items():
        result = moved(model, make)
        out |= {f"{name}/{k}": np.asarray(v) for k, v in result.items()}
        print(name, np.round(result["losses"][-1], 4), {k: float(v) for k, v in result.items() if k.startswith("noise")})
    np.savez_compressed(os.path.join(here, "optimizers_ref.npz"), **out)


if __name__ == "__main__":
    main()
