# SPDX-License-Identifier: Apache-2.0
"""Writes diloco_ref.npz beside this file: DiLoCo (arXiv 2311.08105, algorithm 1) of two workers, simulated in one process.

    python make_diloco.py  # needs torch and onnx; some seconds

Each worker trains lenet on its half of lenet_ref.npz's batches by AdamW (1e-3, weight decay 1e-2, eps 1e-3), whose moments stay its
own; every EVERY steps torch.optim.SGD (0.7, momentum 0.9, Nesterov) moves the common parameters by the mean of start - worker.

losses[20]     of the first worker, before each step
final/PARAM    the common parameters after them, computed in f64, the first 2,000 elements of each, as f32
noise/PARAM    how far the same in f32 is from that, relative to the movement of these elements

With a small eps elements move as far by gradients that are rounding errors as by others.
"""

import copy
import os

import numpy as np
import torch
from make_refs import STEPS, export, here
from torch.nn import functional as F

EVERY, WORKERS, KEPT = 4, 2, 2000


def train(dtype):
    arrays = np.load(os.path.join(here, "lenet_ref.npz"))
    x, y = torch.from_numpy(arrays["inputs"]).to(dtype), torch.from_numpy(arrays["labels"])
    common = export.make("lenet").to(dtype)
    outer = torch.optim.SGD(common.parameters(), lr=0.7, momentum=0.9, nesterov=True)
    workers = [copy.deepcopy(common) for _ in range(WORKERS)]
    inner = [torch.optim.AdamW(worker.parameters(), lr=1e-3, weight_decay=1e-2, eps=1e-3) for worker in workers]
    losses, rows = [], x.shape[1] // WORKERS
    for step in range(STEPS):
        for rank, (worker, update) in enumerate(zip(workers, inner)):
            mine = slice(rank * rows, (rank + 1) * rows)
            loss = F.cross_entropy(worker(x[step % len(x)][mine]), y[step % len(x)][mine])
            update.zero_grad()
            loss.backward()
            update.step()
            if rank == 0:
                losses.append(loss.item())
        if (step + 1) % EVERY:
            continue
        with torch.no_grad():
            for shared, *own in zip(common.parameters(), *(worker.parameters() for worker in workers)):
                shared.grad = shared - sum(own) / WORKERS
            outer.step()
            for worker in workers:
                for shared, own in zip(common.parameters(), worker.parameters()):
                    own.copy_(shared)
    return losses, {k: p.detach().double().flatten()[:KEPT].numpy() for k, p in common.named_parameters()}


def main():
    losses, exact = train(torch.float64)
    _, rounded = train(torch.float32)
    start = {k: p.detach().double().flatten()[:KEPT].numpy() for k, p in export.make("lenet").named_parameters()}
    noise = {f"noise/{k}": np.linalg.norm(rounded[k] - v) / np.linalg.norm(v - start[k]) for k, v in exact.items()}
    np.savez_compressed(os.path.join(here, "diloco_ref.npz"), losses=np.array(losses), **noise,
                        **{f"final/{k}": v.astype(np.float32) for k, v in exact.items()})
    print(np.round(losses, 4), noise)


if __name__ == "__main__":
    main()
