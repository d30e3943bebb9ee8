# SPDX-License-Identifier: Apache-2.0
"""What others compute in 8-bit floats: float8.txt and float8_ref.npz beside this file.

    python make_float8.py       # torch, and ml_dtypes, the number types of JAX and TensorFlow; seconds

float8.txt: a line is the bits of an f32 number, its code in E4M3 and in E5M2 by ml_dtypes. Numbers are saturated before
the cast, as hardware does with .satfinite: beyond the largest value, also infinity, is the largest value. NaN is code 127.

float8_ref.npz: a perceptron trained by PyTorch in bf16, whose layers multiply 8-bit floats: inputs and weights in E4M3,
gradients in E5M2, scaled by their own largest magnitude ("current") or by that of the last 4 steps, with a margin of 1
bit ("delayed").

x, y                             samples and classes of each step
first/NAME                       weights and biases before the first step
RECIPE/losses, RECIPE/NAME       by the steps, and after the last one; RECIPE is bf16, current or delayed
"""

import os

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

here = os.path.dirname(os.path.abspath(__file__))
STEPS, BATCH, SIZES, LR, MOMENTUM, HISTORY, MARGIN = 10, 32, (16, 32, 16), 0.05, 0.9, 4, 1
LARGEST = {torch.float8_e4m3fn: 448.0, torch.float8_e5m2: 57344.0}


def write_casts():
    """Every value of both formats, and what is halfway between neighbours, with the next numbers of f32 on both sides."""
    import ml_dtypes
    formats = ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2
    found = [np.array([np.inf, np.nan, 1e-45, 3e38], np.float32)]
    for kind in formats:
        values = np.arange(128, dtype=np.uint8).view(kind).astype(np.float32)
        values = values[np.isfinite(values)]
        middles = (values[1:] + values[:-1]) / 2
        found += [values, middles, np.nextafter(middles, np.float32(0)), np.nextafter(middles, np.float32(np.inf))]
        found.append(values[-1] * np.array([1.01, 1.04, 1.0625, 1.1, 1.125, 2], np.float32))
    x = np.unique(np.concatenate(found))
    x = np.concatenate([x, -x])

    def codes(kind):
        largest = np.float32(ml_dtypes.finfo(kind).max)
        cast = np.clip(x, -largest, largest).astype(kind).view(np.uint8)
        return np.where(np.isnan(x), 127, cast)

    with open(os.path.join(here, "float8.txt"), "w") as file:
        for row in zip(x.view(np.uint32), *map(codes, formats)):
            file.write("%08x %02x %02x\n" % row)


class Scales:
    """The scale of each tensor, by its name; one recipe."""

    def __init__(self, recipe):
        self.recipe, self.history = recipe, {}

    def quantized(self, name, x, kind):
        """The values of x in 8 bits, and what they are to be multiplied by."""
        x, largest = x.float(), LARGEST[kind]
        amax, margin = x.abs().max(), 0
        if self.recipe == "delayed":
            past = self.history.get(name, [torch.tensor(0.0)] * HISTORY)
            self.history[name] = [amax, *past[:-1]]
            amax, margin = torch.stack(past).max(), MARGIN
        scale = torch.tensor(largest) / amax * 2.0**-margin if amax > 0 else torch.tensor(1.0)
        return (x * scale).clamp(-largest, largest).to(kind).float(), 1 / scale


def multiply(a, b, scale_a, scale_b, bias=None):
    y = (a.double() @ b.double()).float() * scale_a * scale_b
    return (y if bias is None else y + bias.float()).bfloat16()


class Linear8(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w, b, name, scales):
        qx, sx = scales.quantized(name + ".x", x, torch.float8_e4m3fn)
        qw, sw = scales.quantized(name + ".w", w, torch.float8_e4m3fn)
        ctx.save_for_backward(qx, sx, qw, sw)
        ctx.name, ctx.scales = name, scales
        return multiply(qx, qw.T, sx, sw, b)

    @staticmethod
    def backward(ctx, dy):
        qx, sx, qw, sw = ctx.saved_tensors
        q, s = ctx.scales.quantized(ctx.name + ".dy", dy, torch.float8_e5m2)
        return multiply(q, qw, s, sw), multiply(q.T, qx, s, sx), dy.float().sum(0).bfloat16(), None, None


def train(recipe, x, y):
    torch.manual_seed(1)
    layers = nn.ModuleList(nn.Linear(n, m) for n, m in zip(SIZES, SIZES[1:]))
    first = {k: v.detach().clone().numpy() for k, v in layers.named_parameters()}
    update = torch.optim.SGD(layers.parameters(), lr=LR, momentum=MOMENTUM)
    scales, losses = Scales(recipe), []
    for samples, classes in zip(x, y):
        h = torch.from_numpy(samples).bfloat16()
        for i, layer in enumerate(layers):
            w, b = layer.weight.bfloat16(), layer.bias.bfloat16()
            h = F.linear(h, w, b) if recipe == "bf16" else Linear8.apply(h, w, b, str(i), scales)
            if i + 1 < len(layers):
                h = h.relu()
        loss = F.cross_entropy(h.float(), torch.from_numpy(classes))
        update.zero_grad()
        loss.backward()
        update.step()
        losses.append(loss.item())
    return first, {"losses": np.array(losses)} | {k: v.detach().numpy() for k, v in layers.named_parameters()}


if __name__ == "__main__":
    write_casts()
    generator = np.random.default_rng(3)
    x = (generator.normal(0, 1, (STEPS, BATCH, SIZES[0])) * 16).round().astype("f4") / 16
    x *= np.linspace(1, 3.25, STEPS, dtype="f4")[:, None, None]  # steps of growing magnitude, which delayed scales saturate
    centers = generator.normal(0, 1, (SIZES[0], SIZES[-1]))
    file = {"x": x, "y": (x @ centers).argmax(-1)}
    for recipe in ("bf16", "current", "delayed"):
        first, found = train(recipe, x, file["y"])
        file |= {f"{recipe}/{k}": v for k, v in found.items()}
    file |= {f"first/{k}": v for k, v in first.items()}
    np.savez_compressed(os.path.join(here, "float8_ref.npz"), **file)
    for recipe in ("bf16", "current", "delayed"):
        print(recipe, file[f"{recipe}/losses"].round(4))
