# SPDX-License-Identifier: Apache-2.0
"""Writes NAME_ref.npz beside this file: what PyTorch computes when it trains the models of models/.

    python make_refs.py        # needs torch and onnx; about a minute

inputs[4], labels[4]     four batches of random data, used in turn
logits0, grad0/PARAM     of the first batch, at the initial weights
losses_OPT[20]           before each of 20 steps; OPT is sgd or adamw
final_OPT/STATE          parameters and running statistics after them (f32)
early_adamw/STATE        resnet8 only: the same after 2 steps

One thread. resnet8 under AdamW amplifies rounding: PyTorch's own losses with one and with two threads differ
by 6e-4 relative within 20 steps, parameters by 2e-2 within 4, so only its early state can be compared.
"""

import os
import sys

import numpy as np
import torch
from torch.nn import functional as F

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, "..", "..", "models"))
import export  # noqa: E402

STEPS, EARLY, BATCHES = 20, 2, 4
OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9, weight_decay=1e-4),
    "adamw": lambda p: torch.optim.AdamW(p, lr=1e-3, weight_decay=1e-2),
}


def data(name):
    """Random inputs of the exported shape and random labels, one for each row of logits."""
    shape, random = tuple(export.MODELS[name][1].shape), np.random.RandomState(1)
    if name.startswith("gpt"):
        classes, rows = 96, shape[0] * shape[1]
        x = [random.randint(0, classes, shape).astype(np.int64) for _ in range(BATCHES)]
    else:
        classes, rows = 10, shape[0]
        x = [random.randn(*shape).astype(np.float32) for _ in range(BATCHES)]
    y = [random.randint(0, classes, rows).astype(np.int64) for _ in range(BATCHES)]
    return np.stack(x), np.stack(y)


def state(model):
    return {k: v.numpy().copy() for k, v in model.state_dict().items() if v.dtype == torch.float32}


def train(name, optimizer, x, y):
    model, losses, first = export.make(name), [], {}
    update = OPTIMIZERS[optimizer](model.parameters())
    for step in range(STEPS):
        logits = model(torch.from_numpy(x[step % BATCHES]))
        loss = F.cross_entropy(logits, torch.from_numpy(y[step % BATCHES]))
        update.zero_grad()
        loss.backward()
        if step == 0:
            first["logits0"] = logits.detach().numpy().copy()
            first |= {f"grad0/{k}": p.grad.numpy().copy() for k, p in model.named_parameters()}
        update.step()
        losses.append(loss.item())
        if step + 1 == EARLY and name == "resnet8" and optimizer == "adamw":
            first |= {f"early_{optimizer}/{k}": v for k, v in state(model).items()}
    return np.array(losses), first, state(model)


def main():
    torch.set_num_threads(1)
    for name in export.HERE:
        x, y = data(name)
        out = dict(inputs=x, labels=y)
        for optimizer in OPTIMIZERS:
            out[f"losses_{optimizer}"], first, final = train(name, optimizer, x, y)
            out |= first | {f"final_{optimizer}/{k}": v for k, v in final.items()}
        np.savez_compressed(os.path.join(here, f"{name}_ref.npz"), **out)
        print(name, {o: out[f"losses_{o}"][[0, 9, 19]].round(4).tolist() for o in OPTIMIZERS})


if __name__ == "__main__":
    main()
