# SPDX-License-Identifier: Apache-2.0
"""Writes qat_ref.npz beside this file: what PyTorch computes when it trains a quantized model with learned scales (Esser et
al., Learned Step Size Quantization, 2020); in f32, fake_quantize of PyTorch itself must agree.

    python make_qat.py       # needs torch; a second

file/NAME                        the tensors of the quantized file: integers, scales, zero points
x, y                             samples and classes of each step
32/losses, 64/losses             before each step, in f32 and in f64
32/NAME, 64/NAME                 weights, biases and scales after the last step
"""

import os

import numpy as np
import torch

here = os.path.dirname(os.path.abspath(__file__))
STEPS, BATCH, CHANNELS, SIZE, CLASSES = 5, 6, 4, 5, 6


def draw():
    generator = np.random.default_rng(2)
    hidden = CHANNELS * (SIZE - 2) ** 2
    file = {
        "x_scale": np.float32(0.02), "x_zero": np.uint8(131),
        "conv.weight_quantized": generator.integers(-127, 128, (CHANNELS, 3, 3, 3), np.int8),
        "conv.weight_scale": generator.uniform(1e-3, 4e-3, CHANNELS).astype("f4"),
        "conv.weight_zero": np.zeros(CHANNELS, np.int8),
        "conv.bias_quantized": generator.integers(-2000, 2000, CHANNELS, np.int32),
        "conv.bias_scale": generator.uniform(2e-5, 8e-5, CHANNELS).astype("f4"),
        "conv.bias_zero": np.zeros(CHANNELS, np.int32),
        "h_scale": np.float32(0.012), "h_zero": np.uint8(0),
        "fc.weight_quantized": generator.integers(0, 256, (CLASSES, hidden), np.uint8),
        "fc.weight_scale": np.float32(7e-4), "fc.weight_zero": np.uint8(120),
        "fc.bias_quantized": generator.integers(-2000, 2000, CLASSES, np.int32),
        "fc.bias_scale": np.float32(1e-5), "fc.bias_zero": np.int32(0),
    }
    x = generator.normal(0, 1, (STEPS, BATCH, 3, SIZE, SIZE)).astype("f4")
    return file, x, generator.integers(0, CLASSES, (STEPS, BATCH))


def spread(scale, x):
    return scale.reshape(-1, *[1] * (x.dim() - 1)) if scale.dim() else scale


class Factor(torch.autograd.Function):
    """x, whose gradient is multiplied by a number."""

    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        return x.clone()

    @staticmethod
    def backward(ctx, dy):
        return dy * ctx.factor, None


class Round(torch.autograd.Function):
    """To the nearest whole number, whose gradient goes straight through: no x + (q - x), which is not whole in f32."""

    @staticmethod
    def forward(ctx, x):
        return torch.round(x)

    @staticmethod
    def backward(ctx, dy):
        return dy


def quantized(x, scale, zero, high, count):
    """As `high` positive levels, `count` elements a scale; the rounding has gradient 1, what is cut off 0. The seed is one with
    which no value of f32 is rounded to another level than in f64."""
    low, top = (0, 255) if high == 255 else (-128, 127)
    factor = 1 / (count * high) ** 0.5
    s = spread(Factor.apply(scale, factor), x)
    level = Round.apply(x / s) + zero
    level = torch.where(level < low, low, torch.where(level > top, top, level))  # clamp has no gradient at its ends
    y = (level - zero) * s
    if x.dtype == torch.float32:
        points = torch.full_like(scale.reshape(-1), zero)
        own = (torch._fake_quantize_learnable_per_channel_affine(x, scale, points, 0, low, top, factor) if scale.dim() else
               torch._fake_quantize_learnable_per_tensor_affine(x, scale.reshape(1), points, low, top, factor))
        weight = torch.linspace(-1, 1, y.numel()).reshape(y.shape)
        ours, = torch.autograd.grad((y * weight).sum(), [scale], retain_graph=True)
        theirs, = torch.autograd.grad((own * weight).sum(), [scale])
        # It rounds x * (1 / scale), so that a tie or two fall otherwise.
        assert ((own - y).abs() > 0.1 * scale.min()).sum() < 3
        torch.testing.assert_close(theirs, ours, rtol=1e-4, atol=3 * factor)
    return y


def train(file, x, y, dtype):
    state = {}
    for name in "conv", "fc":
        for part in "weight", "bias":
            of = lambda what: torch.from_numpy(np.asarray(file[f"{name}.{part}_{what}"])).to(torch.float32)
            whole = of("quantized")
            value = (whole - spread(of("zero"), whole)) * spread(of("scale"), whole)
            state[f"{name}.{part}"] = value.to(dtype).requires_grad_()
    for name in "x_scale", "conv.weight_scale", "h_scale", "fc.weight_scale":
        state[name] = torch.tensor(file[name], dtype=dtype, requires_grad=True)
    update = torch.optim.SGD(state.values(), lr=0.005, momentum=0.9)
    losses, hidden = [], CHANNELS * (SIZE - 2) ** 2
    for step in range(STEPS):
        h = quantized(torch.from_numpy(x[step]).to(dtype), state["x_scale"], 131, 255, 3 * SIZE**2)
        w = quantized(state["conv.weight"], state["conv.weight_scale"], 0, 127, 27)
        h = torch.relu(torch.nn.functional.conv2d(h, w, state["conv.bias"]))
        h = quantized(h, state["h_scale"], 0, 255, hidden)
        w = quantized(state["fc.weight"], state["fc.weight_scale"], 120, 255, CLASSES * hidden)
        h = h.flatten(1) @ w.T + state["fc.bias"]
        loss = torch.nn.functional.cross_entropy(h, torch.from_numpy(y[step]))
        update.zero_grad()
        loss.backward()
        update.step()
        losses.append(loss.item())
    return {"losses": np.array(losses)} | {k: v.detach().numpy() for k, v in state.items()}


if __name__ == "__main__":
    torch.set_num_threads(1)
    file, x, y = draw()
    result = {"x": x, "y": y} | {"file/" + k: v for k, v in file.items()}
    for bits, dtype in (32, torch.float32), (64, torch.float64):
        part = train(file, x, y, dtype)
        result |= {f"{bits}/{k}": v for k, v in part.items()}
        print(bits, part["losses"].round(5))
    for k in part:
        print(k, np.abs(result["32/" + k] - result["64/" + k]).max(), np.abs(result["64/" + k]).max())
    np.savez_compressed(os.path.join(here, "qat_ref.npz"), **result)
