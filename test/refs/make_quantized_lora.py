# SPDX-License-Identifier: Apache-2.0
"""Writes quantized_lora_ref.npz beside this file: what PyTorch computes when it trains low-rank adapters beside weights
of 4 and 8 bits, which numpy dequantises by the formula of ONNX Runtime's MatMulNBits.

    python make_quantized_lora.py       # needs torch and xxhash; a second

weights/NAME                     codes, scales, zero points and a bias, as MatMulNBits has them
x, y                             samples and classes of each step
32/losses, 64/losses             before each step, in f32 and in f64
32/STATE, 64/STATE               adapters after the last step
"""

import os
import sys

import numpy as np
import torch
import xxhash

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, "..", "support"))
from philox import philox  # noqa: E402

STEPS, BATCH, RANK, ALPHA, SEED, BLOCK = 10, 16, 4, 8, 5, 16
# name: inputs, outputs, bits, whether there are zero points, a bias
LAYERS = {"up": (48, 40, 4, True, False), "mid": (40, 33, 8, False, True), "head": (33, 7, 4, False, False)}


def draw():
    generator = np.random.default_rng(3)
    weights = {}
    for name, (inputs, outputs, bits, zeros, bias) in LAYERS.items():
        blocks = -(-inputs // BLOCK)
        weights[name + ".codes"] = generator.integers(0, 256, (outputs, blocks, BLOCK * bits // 8), np.uint8)
        weights[name + ".scales"] = (generator.uniform(0.5, 1.5, (outputs, blocks)) / 2**bits).astype("f4")
        if zeros:
            weights[name + ".zeros"] = generator.integers(0, 256, (outputs, -(-blocks * bits // 8)), np.uint8)
        if bias:
            weights[name + ".bias"] = generator.normal(0, 0.1, outputs).astype("f4")
    x = generator.normal(0, 1, (STEPS, BATCH, LAYERS["up"][0])).astype("f4")
    return weights, x, generator.integers(0, LAYERS["head"][1], (STEPS, BATCH))


def unpacked(codes, bits):
    """Along the last dimension, the lowest bits first."""
    parts = [codes >> shift & 2**bits - 1 for shift in range(0, 8, bits)]
    return np.stack(parts, -1).reshape(*codes.shape[:-1], -1)


def dequantized(name, weights):
    inputs, outputs, bits, zeros, _ = LAYERS[name]
    codes, scales = unpacked(weights[name + ".codes"], bits), weights[name + ".scales"]
    zero = unpacked(weights[name + ".zeros"], bits)[:, : scales.shape[1]] if zeros else np.full(scales.shape, 2 ** (bits - 1))
    values = (codes.astype("f4") - zero.astype("f4")[..., None]) * scales[..., None]
    return values.reshape(outputs, -1)[:, :inputs]


def initial(name, inputs):
    key = xxhash.xxh3_64_intdigest(f"{name}.codes.lora_A.weight".encode())
    word = philox(SEED, np.arange(RANK * inputs), key)[0]
    bound = (6 / ((1 + 2.2360679775**2) * inputs)) ** 0.5
    return (bound * (2 * (word * 2.0**-32) - 1)).astype(np.float32).reshape(RANK, inputs)


def train(weights, x, y, dtype):
    frozen = {name: torch.from_numpy(dequantized(name, weights)).to(dtype) for name in LAYERS}
    adapters = {}
    for name, (inputs, outputs, *_) in LAYERS.items():
        adapters[name + ".codes.lora_A.weight"] = torch.from_numpy(initial(name, inputs)).to(dtype).requires_grad_()
        adapters[name + ".codes.lora_B.weight"] = torch.zeros(outputs, RANK, dtype=dtype).requires_grad_()
    update = torch.optim.SGD(adapters.values(), lr=0.1, momentum=0.9)
    losses = []
    for step in range(STEPS):
        h = torch.from_numpy(x[step]).to(dtype)
        for name in LAYERS:
            down, up = adapters[name + ".codes.lora_A.weight"], adapters[name + ".codes.lora_B.weight"]
            h = h @ frozen[name].T + h @ down.T @ up.T * (ALPHA / RANK)
            if name + ".bias" in weights:
                h = h + torch.from_numpy(weights[name + ".bias"]).to(dtype)
            if name != "head":
                h = torch.tanh(h)
        loss = torch.nn.functional.cross_entropy(h, torch.from_numpy(y[step]))
        update.zero_grad()
        loss.backward()
        update.step()
        losses.append(loss.item())
    return {"losses": np.array(losses)} | {k: v.detach().numpy() for k, v in adapters.items()}


if __name__ == "__main__":
    torch.set_num_threads(1)
    weights, x, y = draw()
    result = {"x": x, "y": y} | {"weights/" + k: v for k, v in weights.items()}
    for bits, dtype in (32, torch.float32), (64, torch.float64):
        part = train(weights, x, y, dtype)
        result |= {f"{bits}/{k}": v for k, v in part.items()}
        print(bits, part["losses"].round(5)[[0, -1]])
    np.savez_compressed(os.path.join(here, "quantized_lora_ref.npz"), **result)
