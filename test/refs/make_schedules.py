# SPDX-License-Identifier: Apache-2.0
"""Writes schedules_ref.npz beside this file: the learning rates, and the momenta where they move too, that
PyTorch's schedulers give SGD.

    python make_schedules.py       # needs torch; a second

NAME/lr[40], NAME/momentum[40]    of each update, from a rate of 0.1; `per epoch` of five updates each
"""

import os
import warnings

import numpy as np
import torch
from torch.optim import SGD, Adam, lr_scheduler

STEPS, EPOCH, LR, WARMUP = 40, 5, 0.1, 8


def warm(optimizer, schedule):
    """The recipe of torchvision's references: up from a hundredth, then the schedule."""
    rise = lr_scheduler.LinearLR(optimizer, 0.01, total_iters=WARMUP)
    return lr_scheduler.SequentialLR(optimizer, [rise, schedule], [WARMUP])


SCHEDULES = {
    "step": lambda o: lr_scheduler.StepLR(o, 7, 0.3),
    "multistep": lambda o: lr_scheduler.MultiStepLR(o, [5, 12, 12, 30], 0.5),
    "linear": lambda o: lr_scheduler.LinearLR(o, total_iters=STEPS),
    "linear_down": lambda o: lr_scheduler.LinearLR(o, 1, 0.05, STEPS),
    "cosine": lambda o: lr_scheduler.CosineAnnealingLR(o, STEPS, 0.01),
    "restarts": lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, 10),
    "restarts_double": lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, 3, 2, 0.01),
    "restarts_triple": lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, 1, 3),
    "warm_cosine": lambda o: warm(o, lr_scheduler.CosineAnnealingLR(o, STEPS - WARMUP)),
    "polynomial": lambda o: lr_scheduler.PolynomialLR(o, STEPS, 2),
    "onecycle": lambda o: lr_scheduler.OneCycleLR(o, LR, STEPS),
    "onecycle_short": lambda o: lr_scheduler.OneCycleLR(o, LR, STEPS, pct_start=0.125, div_factor=4,
                                                      final_div_factor=10),
}
# Stepped after each epoch, as most of PyTorch's recipes do.
PER_EPOCH = {
    "epoch_multistep": lambda o: lr_scheduler.MultiStepLR(o, [2, 5], 0.1),
    "epoch_cosine": lambda o: lr_scheduler.CosineAnnealingLR(o, STEPS // EPOCH),
    "epoch_restarts": lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, 3),
}


def rates(schedule, every=1, make=SGD, key="momentum", **options):
    optimizer = make([torch.zeros(1, requires_grad=True)], lr=LR, **options)
    rate = schedule(optimizer)
    lr, momentum = [], []
    for step in range(1, STEPS + 1):
        group = optimizer.param_groups[0]
        lr.append(group["lr"])
        momentum.append(group[key] if key == "momentum" else group[key][0])
        optimizer.step()
        if step % every == 0 and step < STEPS:
            rate.step()
    return np.array(lr), np.array(momentum)


def main():
    warnings.simplefilter("error")
    out = {}
    for name, schedule in SCHEDULES.items():
        out[name + "/lr"], momentum = rates(schedule, momentum=0.9)
        if len(set(momentum)) > 1:
            out[name + "/momentum"] = momentum
    for name, schedule in PER_EPOCH.items():
        out[name + "/lr"], _ = rates(schedule, EPOCH, momentum=0.9)
    out["onecycle/beta1"] = rates(SCHEDULES["onecycle"], make=Adam, key="betas")[1]
    for name, values in out.items():
        print(name, np.round(values[[0, 1, 5, 12, 20, -1]], 5))
    here = os.path.dirname(os.path.abspath(__file__))
    np.savez_compressed(os.path.join(here, "schedules_ref.npz"), **out)


if __name__ == "__main__":
    main()
