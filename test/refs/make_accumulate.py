# SPDX-License-Identifier: Apache-2.0
"""Writes accumulate_ref.npz beside this file: what PyTorch computes when it trains mlp with the gradients of
four backward passes of loss / 4 in each update.

    python make_accumulate.py  # needs torch and onnx; a few seconds

images[8], classes[8]    eight micro-batches of 16, used in turn
OPT/losses[20]           the mean of the four before each update; OPT is sgd or adamw
OPT/norm[20]             of the gradients of each
OPT/final/STATE          parameters after them (f32)
"""

import os

import numpy as np
import torch
from make_refs import OPTIMIZERS, STEPS, export, here, state
from torch.nn import functional as F

WINDOW, MICRO_BATCHES, ROWS = 4, 8, 16


def train(optimizer, x, y):
    model, losses, norms = export.make("mlp"), [], []
    update = OPTIMIZERS[optimizer](model.parameters())
    for step in range(STEPS):
        update.zero_grad()
        total = 0.0
        for i in range(WINDOW):
            at = (step * WINDOW + i) % MICRO_BATCHES
            loss = F.cross_entropy(model(torch.from_numpy(x[at])), torch.from_numpy(y[at])) / WINDOW
            loss.backward()
            total += loss.item()
        norms.append(torch.nn.utils.clip_grad_norm_(model.parameters(), torch.inf).item())
        update.step()
        losses.append(total)
    return dict(losses=losses, norm=norms) | {f"final/{k}": v for k, v in state(model).items()}


def main():
    torch.set_num_threads(1)
    random = np.random.RandomState(3)
    out = dict(images=random.randn(MICRO_BATCHES, ROWS, 1, 8, 8).astype(np.float32),
               classes=random.randint(0, 10, (MICRO_BATCHES, ROWS)).astype(np.int64))
    for optimizer in OPTIMIZERS:
        result = train(optimizer, out["images"], out["classes"])
        out |= {f"{optimizer}/{k}": np.asarray(v) for k, v in result.items()}
        print(optimizer, np.round(result["losses"][-1], 4), np.round(result["norm"][:2], 3))
    np.savez_compressed(os.path.join(here, "accumulate_ref.npz"), **out)


if __name__ == "__main__":
    main()
