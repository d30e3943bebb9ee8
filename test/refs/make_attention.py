# SPDX-License-Identifier: Apache-2.0
"""Writes ../ops/attention_pytorch.mlir: what PyTorch's scaled_dot_product_attention and its gradients are in f64.

    python make_attention.py       # needs torch; a second

A query that sees no key is left out: PyTorch gives NaN or 0 for it, as its kernel likes (see attention.mlir).
"""

import os

import torch
from torch.nn import functional as F

BATCH, HEADS, QUERIES, KEYS, DEPTH = 2, 2, 3, 3, 2
HEADER = """// RUN: dlc-gradcheck %s
// Numbers of PyTorch's scaled_dot_product_attention in f64; refs/make_attention.py writes this file.
"""
# name: layout, scale, arguments of PyTorch's function, the mask as dlc has it
CASES = {
    "plain": ("bhtd", None, {}, None),
    "length_first": ("bthd", 0.3, {}, None),
    "causal": ("bthd", None, dict(is_causal=True), None),
    "bias": ("bhtd", None, "bias", "f64"),
    "keys": ("bthd", 0.7, "keys", "i1"),
}


def text(tensor):
    def part(values):
        if isinstance(values, list):
            return "[" + ", ".join(part(v) for v in values) + "]"
        return str(values).lower() if isinstance(values, bool) else f"{values:.12g}" if values % 1 else f"{values:.1f}"
    kind = "i1" if tensor.dtype == torch.bool else "f64"
    shape = "x".join(map(str, tensor.shape)) + "x" + kind
    return f"dense<{part(tensor.tolist())}> : tensor<{shape}>", f"tensor<{shape}>"


def case(name, layout, scale, arguments, mask):
    torch.manual_seed(len(name))
    make = lambda length: torch.randn(BATCH, HEADS, length, DEPTH, dtype=torch.float64).round(decimals=2)
    q, k, v = (make(n).requires_grad_() for n in (QUERIES, KEYS, KEYS))
    weight = make(QUERIES)
    if mask == "f64":
        mask = torch.randn(1, HEADS, QUERIES, KEYS, dtype=torch.float64).round(decimals=2)
    elif mask:
        mask = torch.tensor([[True, False, True], [True, True, False]]).view(BATCH, 1, 1, KEYS)
    arguments = dict(attn_mask=mask) if mask is not None else arguments
    y = F.scaled_dot_product_attention(q, k, v, scale=scale, **arguments)
    y.backward(weight)
    out = (lambda x: x.transpose(1, 2)) if layout == "bthd" else (lambda x: x)
    operands = []
    for letter, x in zip("qkv", (q, k, v)):
        value, kind = text(out(x.detach()))
        operands.append(f"%{letter}: {kind} {{dlc.value = {value},\n    dlc.gradient = {text(out(x.grad))[0]}}}")
    value, result = text(out(y.detach()))
    sums = f"tensor<{BATCH}x{HEADS}x{QUERIES}x1xf64>"
    lines = [f"func.func @{name}({(','+chr(10)+'  ').join(operands)})",
             f"  -> ({result} {{dlc.weight = {text(out(weight))[0]},\n    dlc.value = {value}}}) {{"]
    names, kinds = ["%q", "%k", "%v"], [result] * 3
    if mask is not None:
        lines.append(f"  %m = dlc.constant {text(mask)[0]}")
        names.append("%m")
        kinds.append(text(mask)[1])
    causal = ", causal" if arguments.get("is_causal") else ""
    lines.append(f"  %y, %lse = dlc.attention {', '.join(names)} {{scale = {scale or DEPTH ** -0.5} : f64{causal}, "
                 f'layout = "{layout}"}} : ({", ".join(kinds)}) -> ({result}, {sums})')
    return "\n".join([*lines, f"  return %y : {result}", "}", ""])


def main():
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "ops", "attention_pytorch.mlir")
    with open(path, "w") as file:
        file.write(HEADER)
        for name, how in CASES.items():
            file.write("\n" + case(name, *how))


if __name__ == "__main__":
    main()
