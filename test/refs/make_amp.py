# SPDX-License-Identifier: Apache-2.0
"""What PyTorch's autocast does: amp_ref.npz and amp_types.json.

amp_ref.npz: losses of 20 steps under torch.autocast("cpu", torch.bfloat16), on the batches and from the weights of
*_ref.npz (make_refs.py), SGD, one thread.

amp_types.json: the type of each op's result under the lists for CUDA, by the name of the ONNX operator, for a half
input ("half") and, of operators with two operands, for a half and an f32 tensor ("mixed") or scalar ("scalar"). Fake tensors carry the device
without needing one, and autocast decides by the device alone.

    python test/refs/make_amp.py        # torch 2.15
"""

import json
import os

import numpy as np
import torch
from make_refs import OPTIMIZERS, export, here
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn import functional as F

STEPS, MODELS = 20, ("mlp", "lenet", "resnet8")


def losses(name):
    ref = np.load(os.path.join(here, f"{name}_ref.npz"))
    x, y = torch.from_numpy(ref["inputs"]), torch.from_numpy(ref["labels"])
    model, found = export.make(name), []
    update = OPTIMIZERS["sgd"](model.parameters())
    for step in range(STEPS):
        with torch.autocast("cpu", torch.bfloat16):
            loss = F.cross_entropy(model(x[step % len(x)]), y[step % len(x)])
        update.zero_grad()
        loss.backward()
        update.step()
        found.append(loss.item())
    return np.array(found)


def channels(h):
    return torch.ones(h.shape[1], device=h.device)


UNARY = {
    "Relu": F.relu, "Sigmoid": torch.sigmoid, "Tanh": torch.tanh, "Gelu": F.gelu, "Erf": torch.erf,
    "Softplus": F.softplus, "Exp": torch.exp, "Log": torch.log, "Sqrt": torch.sqrt, "Reciprocal": torch.reciprocal,
    "Sin": torch.sin, "Cos": torch.cos, "Abs": torch.abs, "Neg": torch.neg, "Floor": torch.floor, "Ceil": torch.ceil,
    "Round": torch.round, "Sign": torch.sign, "HardSwish": F.hardswish, "HardSigmoid": F.hardsigmoid, "Swish": F.silu,
    "Mish": F.mish, "Elu": F.elu, "Selu": F.selu, "LeakyRelu": F.leaky_relu, "Softsign": F.softsign,
    "Clip": lambda h: h.clamp(-1, 1),
    "Pow": lambda h: h ** 2.5,
    "Softmax": lambda h: h.softmax(-1),
    "LogSoftmax": lambda h: h.log_softmax(-1),
    "LayerNormalization": lambda h: F.layer_norm(h, h.shape[-1:], channels(h), channels(h)),
    "RMSNormalization": lambda h: F.rms_norm(h, h.shape[-1:], channels(h)),
    "BatchNormalization": lambda h: F.batch_norm(h, channels(h), channels(h), channels(h), channels(h), training=True),
    "PRelu": lambda h: F.prelu(h, channels(h)),
    "ReduceMean": lambda h: h.mean(-1, keepdim=True),
    "ReduceSum": lambda h: h.sum(-1, keepdim=True),
    "ReduceMax": lambda h: h.amax(-1, keepdim=True),
    "ReduceMin": lambda h: h.amin(-1, keepdim=True),
    "ReduceL1": lambda h: torch.linalg.vector_norm(h, 1, -1, keepdim=True),
    "ReduceL2": lambda h: torch.linalg.vector_norm(h, 2, -1, keepdim=True),
    "MaxPool": lambda h: F.max_pool2d(h, 1),
    "AveragePool": lambda h: F.avg_pool2d(h, 1),
    "GlobalAveragePool": lambda h: F.adaptive_avg_pool2d(h, 1),
    "Transpose": lambda h: h.transpose(2, 3),
    "CumSum": lambda h: h.cumsum(-1),
    "CumProd": lambda h: h.cumprod(-1),
    "ReduceProd": lambda h: h.prod(-1, keepdim=True),
    "ReduceLogSumExp": lambda h: h.logsumexp(-1, keepdim=True),
    "LpNormalization": lambda h: F.normalize(h, dim=-1),
    "GroupNormalization": lambda h: F.group_norm(h, 2, channels(h), channels(h)),
    "Resize": lambda h: F.interpolate(h, size=(4, 5), mode="bilinear"),
    "Tan": torch.tan, "Sinh": torch.sinh, "Cosh": torch.cosh, "Acos": torch.acos, "Asin": torch.asin, "Atan": torch.atan,
}
BINARY = {
    "Add": torch.add, "Sub": torch.sub, "Mul": torch.mul, "Div": torch.div, "Max": torch.maximum, "Min": torch.minimum,
    "MatMul": torch.matmul,
    "Where": lambda a, b: torch.where(a.detach().bool(), a, b),
    "Concat": lambda a, b: torch.cat([a, b], 0),
}


def types(dtype):
    name = {dtype: "half", torch.float32: "f32"}
    torch.set_autocast_enabled("cuda", True)
    torch.set_autocast_dtype("cuda", dtype)
    try:
        with FakeTensorMode():
            x = torch.empty(4, 4, 4, 4, device="cuda")
            h = F.conv2d(x, torch.empty(4, 4, 1, 1, device="cuda"))
            found = {"Conv": {"half": name[h.dtype]}}
            for op, f in UNARY.items():
                found[op] = {"half": name[f(h).dtype]}
            for op, f in BINARY.items():
                found[op] = {"half": name[f(h, h).dtype], "mixed": name[f(h, x).dtype]}
            found["Mul"]["scalar"] = name[(h * 0.5).dtype]
    finally:
        torch.set_autocast_enabled("cuda", False)
    return found


def main():
    torch.set_num_threads(1)
    np.savez_compressed(os.path.join(here, "amp_ref.npz"), **{name: losses(name) for name in MODELS})
    found = types(torch.bfloat16)
    assert found == types(torch.float16), "the lists are the same for both"
    with open(os.path.join(here, "amp_types.json"), "w") as file:
        file.write("{\n" + ",\n".join(f' "{op}": {json.dumps(t)}' for op, t in found.items()) + "\n}\n")


if __name__ == "__main__":
    main()
