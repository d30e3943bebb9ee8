# SPDX-License-Identifier: Apache-2.0
"""Writes moments_ref.npz beside this file: mlp trained by formulas of PyTorch whose moments are rounded to bf16
after each step, all else in f32.

    python make_moments.py       # needs torch and onnx; a few seconds

images[4], classes[4]       four batches, used in turn
RULE/losses[50]             before each of 50 steps; RULE is a key of RULES
RULE/final/STATE            parameters after them (f32)
RULE/moment/STATE.SUFFIX    moments after them, as the bits of bf16 (u16)

8bit/...                    lenet by adamw with moments in 8 bits, 20 steps on the batches of make_refs.py: losses, final
8bit/noise/STATE            how far the movement is from that with the rows of each batch in reverse order, by its norm
8bit/plain/STATE            how far it is from that with moments in f32
8bit/moment/NAME.SUFFIX, NAME.SUFFIX.absmax    of f2.weight: codes and the blocks' largest magnitudes

torch.optim's code cannot mix types; the formulas are those of its single-tensor functions, in their order. The
parameter moves by the moments before they are rounded, as in a kernel that does both.
"""

import os

import numpy as np
import torch
from make_refs import data, export, here, state
from torch.nn import functional as F

STEPS, BATCHES = 50, 4
OPTIONS_8BIT = dict(lr=1e-3, betas=(0.9, 0.95), eps=1e-8, decay=0.01)


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


def dynamic_map(signed):
    """The 256 values of Dettmers et al., 2022: 0, 1, and in each of seven decades the middles of equal parts."""
    values = [0.0, 1.0]
    for decade in range(7):
        parts = torch.linspace(0.1, 1, (1 if signed else 2) * 2 ** decade + 1, dtype=torch.float64)
        middles = 10.0 ** (decade - 6) * (parts[:-1] + parts[1:]) / 2
        values += middles.tolist() + (-middles if signed else middles[:0]).tolist()
    return torch.tensor(sorted(values), dtype=torch.float64)


class In8Bits:
    """A moment: codes of its blocks of 256 elements, and each block's largest magnitude. Unlike in the paper a mean of
    squares is not rounded to 0: where a gradient is 0, the update would be divided by eps."""

    def __init__(self, like, signed):
        self.map, self.blocks, self.signed = dynamic_map(signed), -(-like.numel() // 256), signed
        self.codes, self.absmax = torch.zeros(self.blocks, 256, dtype=torch.int64), torch.zeros(self.blocks, 1)
        self.like = like

    def get(self):
        return (self.map[self.codes].float() * self.absmax).flatten()[:self.like.numel()].view_as(self.like)

    def set(self, value):
        rows = torch.zeros(self.blocks * 256)
        rows[:value.numel()] = value.flatten()
        rows = rows.view(self.blocks, 256)
        self.absmax = rows.abs().amax(1, keepdim=True)
        share = rows / self.absmax if self.signed else (rows / self.absmax).clamp(min=2e-7)  # the lowest value above 0
        share = torch.where(self.absmax > 0, share, 0)
        self.codes = torch.searchsorted((self.map[1:] + self.map[:-1]) / 2, share.double())


def train_8bit(x, y, in_8_bits=True, steps=20):
    model, losses, moments = export.make("lenet"), [], {}
    for n, p in model.named_parameters():
        kept = in_8_bits and p.numel() >= 4096
        moments[n] = {k: In8Bits(p.detach(), k == "m") if kept else torch.zeros_like(p) for k in "mv"}
    for step in range(steps):
        loss = F.cross_entropy(model(torch.from_numpy(x[step % BATCHES])), torch.from_numpy(y[step % BATCHES]))
        model.zero_grad()
        loss.backward()
        with torch.no_grad():
            for name, p in model.named_parameters():
                now = {k: v.get() if isinstance(v, In8Bits) else v for k, v in moments[name].items()}
                p.copy_(adamw(p, p.grad, now, step + 1, **OPTIONS_8BIT))
                for k, v in moments[name].items():
                    if isinstance(v, In8Bits):
                        v.set(now[k])
                    else:
                        moments[name][k] = now[k]
        losses.append(loss.item())
    return losses, state(model), moments["f2.weight"]


def compare_8bit():
    x, y = data("lenet")
    first = state(export.make("lenet"))
    losses, final, moments = train_8bit(x, y)
    _, other, _ = train_8bit(x[:, ::-1].copy(), y[:, ::-1].copy())
    _, plain, _ = train_8bit(x, y, in_8_bits=False)
    out = dict(losses=losses)
    for k in final:
        if final[k].size > 11000:
            continue
        moved = np.linalg.norm(final[k] - first[k])
        out |= {f"final/{k}": final[k], f"noise/{k}": np.linalg.norm(other[k] - final[k]) / moved,
                f"plain/{k}": np.linalg.norm(plain[k] - final[k]) / moved}
    for k, v in moments.items():
        out |= {f"moment/f2.weight.{k}": v.codes.numpy().astype(np.uint8),
                f"moment/f2.weight.{k}.absmax": v.absmax.numpy()}
    return out


def main():
    torch.set_num_threads(1)
    x, y = data("mlp")
    out = dict(images=x, classes=y)
    for name, (rule, starts) in RULES.items():
        result = train(rule, starts, x, y)
        out |= {f"{name}/{k}": np.asarray(v) for k, v in result.items()}
        print(name, np.round(result["losses"][-1], 4))
    result = compare_8bit()
    out |= {f"8bit/{k}": np.asarray(v) for k, v in result.items()}
    print("8bit", {k: float(v) for k, v in result.items() if k.startswith(("noise", "plain"))})
    np.savez_compressed(os.path.join(here, "moments_ref.npz"), **out)


if __name__ == "__main__":
    main()
