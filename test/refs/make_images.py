# SPDX-License-Identifier: Apache-2.0
"""Writes what PyTorch computes for images of one and three dimensions: ../ops/images_pytorch.mlir, single ops in f64;
and beside this file signal.onnx, volume.onnx and images_ref.npz, two models and their training.

    python make_images.py     # needs torch and onnx; a few seconds

NAME/inputs[4], NAME/labels[4]     four batches, used in turn
NAME/losses[20], NAME/final/STATE  the losses before each of 20 steps, parameters and running statistics after them
"""

import os
import sys
import warnings

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, "..", "..", "models"))
import export  # noqa: E402

HEADER = """// RUN: dlc-gradcheck %s
// Numbers of PyTorch in f64 for images of one and three dimensions; refs/make_images.py writes this file.
"""
CONVS = {1: (F.conv1d, F.conv_transpose1d), 3: (F.conv3d, F.conv_transpose3d)}
POOLS = {1: (F.max_pool1d, F.avg_pool1d), 3: (F.max_pool3d, F.avg_pool3d)}
# name: dimensions, layout, shapes of x and weights or the kernel, and what PyTorch is told
CASES = {
    "conv_1d": (1, "nchw", (2, 4, 7), (4, 2, 3), dict(stride=(2,), padding=(2,), dilation=(2,), groups=2)),
    "conv_1d_last": (1, "nhwc", (2, 2, 5), (3, 2, 2), dict(stride=(1,), padding=(1,), dilation=(1,), groups=1)),
    "conv_3d": (3, "nchw", (1, 2, 3, 4, 3), (2, 1, 2, 3, 2),
                dict(stride=(1, 2, 1), padding=(1, 1, 0), dilation=(2, 1, 1), groups=2)),
    "conv_3d_last": (3, "nhwc", (1, 2, 3, 3, 4), (2, 2, 2, 1, 3),
                     dict(stride=(2, 1, 3), padding=(0, 1, 2), dilation=(1, 1, 1), groups=1)),
    "transposed_1d": (1, "nchw", (2, 3, 4), (3, 2, 3), dict(stride=(2,), padding=(1,), dilation=(1,), groups=1)),
    "transposed_3d": (3, "nhwc", (1, 2, 2, 3, 2), (2, 2, 2, 2, 3),
                      dict(stride=(2, 1, 2), padding=(0, 1, 1), dilation=(1, 1, 1), groups=1)),
    "max_1d": (1, "nchw", (2, 2, 7), (3,), dict(stride=(2,), padding=(1,), dilation=(1,))),
    "max_3d": (3, "nchw", (1, 2, 4, 3, 5), (2, 2, 3), dict(stride=(2, 1, 2), padding=(1, 0, 1), dilation=(1, 2, 1))),
    "max_3d_last": (3, "nhwc", (2, 2, 3, 3, 3), (3, 2, 2), dict(stride=(1, 1, 1), padding=(1, 1, 0), dilation=(1, 1, 1))),
    "avg_1d": (1, "nhwc", (1, 3, 6), (4,), dict(stride=(2,), padding=(2,), count_include_pad=False)),
    "avg_3d": (3, "nchw", (1, 2, 3, 4, 3), (2, 3, 2), dict(stride=(1, 2, 1), padding=(1, 1, 0), count_include_pad=False)),
    "avg_3d_padded": (3, "nhwc", (1, 2, 3, 4, 3), (2, 3, 2), dict(stride=(2, 2, 1), padding=(1, 1, 0), count_include_pad=True)),
    "batch_norm_1d": (1, "nhwc", (3, 2, 3), (), {}),
    "batch_norm_3d": (3, "nchw", (2, 2, 2, 3, 1), (), {}),
    "batch_norm_3d_last": (3, "nhwc", (2, 2, 2, 1, 3), (), {}),
}


def kind_of(tensor, element="f64"):
    return f"tensor<{'x'.join(map(str, tensor.shape))}x{element}>"


def dense(tensor):
    def part(values):
        if isinstance(values, list):
            return "[" + ", ".join(part(v) for v in values) + "]"
        return f"{values:.12g}" if values % 1 else f"{values:.1f}"
    return f"dense<{part(tensor.tolist())}> : {kind_of(tensor)}"


def numbers(values):
    return f"array<i64: {', '.join(map(str, values))}>"


def window(arguments, kernel=None):
    names = {"strides": "stride", "dilations": "dilation"}
    lists = {k: arguments.get(v, (1,) * len(arguments["stride"])) for k, v in names.items()}
    lists["pads"] = arguments["padding"] * 2
    if kernel:
        lists["kernel"] = kernel
    words = [f"{k} = {numbers(v)}" for k, v in lists.items()]
    if "groups" in arguments:
        words.append(f"group = {arguments['groups']} : i64")
    return words + ["count_include_pad"] * bool(arguments.get("count_include_pad"))


def compute(name, dims, shapes, arguments):
    """Operands by name, the result, and the op: its name, attributes, and further results' types."""
    make = lambda shape: torch.randn(shape, dtype=torch.float64).round(decimals=3).requires_grad_()
    x = make(shapes[0])
    what = name.split("_")[0]
    if what in ("max", "avg"):
        y = POOLS[dims][what == "avg"](x, shapes[1], **arguments)
        return {"x": x}, y, f"{what}_pool", window(arguments, shapes[1]), ["i8"] * (what == "max")
    if what == "batch":
        scale, bias, mean = (make(x.shape[1]) for _ in range(3))
        var = make(x.shape[1]).detach().abs().add(0.5).requires_grad_()
        y = F.batch_norm(x, mean.detach().clone(), var.detach().clone(), scale, bias, training=True, eps=1e-3)
        mean.grad, var.grad = torch.zeros_like(mean), torch.zeros_like(var)
        return dict(x=x, s=scale, b=bias, m=mean, v=var), y, "batch_norm", \
            ["epsilon = 1.0e-3 : f64", "momentum = 0.9 : f64", "unbiased"], [mean] * 4
    w = make(shapes[1])
    if what == "transposed":
        return dict(x=x, w=w), CONVS[dims][1](x, w, **arguments), "conv_backward_data", window(arguments), []
    b = make(w.shape[0])
    return dict(x=x, w=w, b=b), CONVS[dims][0](x, w, b, **arguments), "conv", window(arguments), []


def case(name, dims, layout, x, w, arguments):
    torch.manual_seed(len(name))
    operands, y, op, attributes, more = compute(name, dims, (x, w), arguments)
    weight = torch.randn(y.shape, dtype=torch.float64).round(decimals=2)
    y.backward(weight)
    last = lambda t: t.movedim(1, -1) if layout == "nhwc" else t
    y, weight = last(y.detach()), last(weight)
    words, kinds = [], []
    for letter, operand in operands.items():
        place = last if letter == "x" else lambda t: t
        value, gradient = place(operand.detach()), place(operand.grad)
        kinds.append(kind_of(value))
        words.append(f"%{letter}: {kinds[-1]} {{dlc.value = {dense(value)},\n    dlc.gradient = {dense(gradient)}}}")
    results = [kind_of(y)] + [kind_of(y, m) if m == "i8" else kind_of(m) for m in more]
    made = ", ".join(["%y"] + [f"%r{i}" for i in range(len(more))])
    types = results[0] if len(results) == 1 else f"({', '.join(results)})"
    text = ", ".join([*attributes, f'layout = "{layout}"'])
    return "\n".join([
        f"func.func @{name}({(',' + chr(10) + '  ').join(words)})",
        f"  -> ({results[0]} {{dlc.weight = {dense(weight)},\n    dlc.value = {dense(y)}}}) {{",
        f"  {made} = dlc.{op} {', '.join('%' + k for k in operands)} {{{text}}} : ({', '.join(kinds)}) -> {types}",
        f"  return %y : {results[0]}", "}", ""])


class Signal(nn.Module):
    """[N,3,32] signals -> [N,5] logits: what a speech model's front end does, and a way back up."""

    def __init__(self):
        super().__init__()
        self.c1 = nn.Conv1d(3, 8, 5, stride=2, padding=2)
        self.bn = nn.BatchNorm1d(8)
        self.each = nn.Conv1d(8, 8, 3, padding=2, dilation=2, groups=8, bias=False)
        self.up = nn.ConvTranspose1d(8, 6, 4, stride=2, padding=1)
        self.fc = nn.Linear(6, 5)

    def forward(self, x):
        x = F.max_pool1d(F.gelu(self.bn(self.c1(x))), 3, stride=2, padding=1)
        x = torch.tanh(self.each(x) + x)
        x = torch.tanh(self.up(F.avg_pool1d(x, 3, stride=2, ceil_mode=True)))
        return self.fc(x.mean(2))


class Volume(nn.Module):
    """[N,2,6,10,12] volumes -> [N,5] logits: stages, a residual and a way back up as of a 3-D U-Net."""

    def __init__(self):
        super().__init__()
        self.c1 = nn.Conv3d(2, 8, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm3d(8)
        self.c2 = nn.Conv3d(8, 8, (1, 3, 3), padding=(0, 1, 1), groups=2)
        self.bn2 = nn.BatchNorm3d(8)
        self.c3 = nn.Conv3d(8, 12, 3, stride=(1, 2, 2), padding=1)
        self.up = nn.ConvTranspose3d(12, 8, 2, stride=(1, 2, 2))
        self.fc = nn.Linear(16, 5)

    def forward(self, x):
        x = F.max_pool3d(F.relu(self.bn1(self.c1(x))), (2, 3, 3), stride=2, padding=(0, 1, 1))
        x = F.relu(self.bn2(self.c2(x)) + x)
        y = F.avg_pool3d(torch.tanh(self.c3(x)), 2, stride=1)
        y = torch.tanh(self.up(y))[:, :, :, :4, :4]
        both = torch.cat([F.adaptive_max_pool3d(x, 1), F.adaptive_avg_pool3d(y, 1)], 1)
        return self.fc(both.flatten(1))


MODELS = {"signal": (Signal, (3, 32)), "volume": (Volume, (2, 6, 10, 12))}
ROWS, BATCHES, STEPS = 8, 4, 20


def train(name, random):
    make, shape = MODELS[name]
    torch.manual_seed(3)
    model, path = make().train(), os.path.join(here, name + ".onnx")
    fresh = {k: v.numpy().copy() for k, v in model.state_dict().items()}
    x = random.randn(BATCHES, ROWS, *shape).astype(np.float32)
    y = random.randint(0, 5, (BATCHES, ROWS)).astype(np.int64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(model, (torch.zeros(ROWS, *shape),), path, dynamo=False,
                          training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False,
                          input_names=["input"], output_names=["logits"],
                          dynamic_axes={"input": {0: "N"}, "logits": {0: "N"}})
    export.clean(path, fresh)
    torch.manual_seed(3)
    model = make().train()
    optimizer, losses = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9), []
    for step in range(STEPS):
        loss = F.cross_entropy(model(torch.from_numpy(x[step % BATCHES])), torch.from_numpy(y[step % BATCHES]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print(name, losses[0], losses[-1])
    final = {f"{name}/final/{k}": v.numpy().copy() for k, v in model.state_dict().items() if v.dtype == torch.float32}
    return {f"{name}/inputs": x, f"{name}/labels": y, f"{name}/losses": np.array(losses)} | final


def main():
    torch.set_num_threads(1)
    with open(os.path.join(here, "..", "ops", "images_pytorch.mlir"), "w") as file:
        file.write("\n".join([HEADER, *(case(name, *c) for name, c in CASES.items())]))
    random, out = np.random.RandomState(5), {}
    for name in MODELS:
        out |= train(name, random)
    np.savez_compressed(os.path.join(here, "images_ref.npz"), **out)


if __name__ == "__main__":
    main()
