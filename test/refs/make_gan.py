# SPDX-License-Identifier: Apache-2.0
"""Writes gan-script.onnx, gan-dynamo.onnx, gan_losses.onnx, stopped.onnx and gan_ref.npz beside this file: what PyTorch computes when
it trains a small DCGAN, both networks at once from one forward pass, and a model with a detach().

    python make_gan.py     # needs torch and onnx; a few seconds

pictures[4], noise[4]                  four batches, used in turn (in half precision, exact)
RULE/real[20], RULE/fake[20], RULE/fool[20]   the losses before each of 20 steps
RULE/final/STATE                       parameters and running statistics after them
stopped/loss[20]                       of the model with a detach()

A step: real = D(x) and fake = D(G(z)); D's parameters follow the gradient of bce(real, 1) + bce(fake, 0) and G's that of
bce(fake, 1), both taken at the parameters before the step. That is a loop that makes G's pictures once, takes
autograd.grad of either loss by its network's parameters (which is what fake.detach() is for), and steps both optimizers.
"""

import contextlib
import io
import os
import sys
import warnings

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(here)), "models"))
from export import clean  # noqa: E402
from zoo import Gan  # noqa: E402

ROWS, BATCHES, STEPS = 8, 4, 20
ROWS_OF = "x", "z", "real", "fake"  # have one for each sample


class Losses(nn.Module):
    """The pair with its losses in the graph: hinge, which dlc has no kind for."""

    def __init__(self, pair):
        super().__init__()
        self.g, self.d = pair.g, pair.d

    def forward(self, x, z):
        real, fake = self.d(x), self.d(self.g(z))
        return F.relu(1 - real).mean() + F.relu(1 + fake).mean(), -fake.mean()


class Stop(torch.autograd.Function):
    """detach(), which an exporter would drop."""

    @staticmethod
    def forward(ctx, x):
        return x.detach()

    @staticmethod
    def backward(ctx, dy):
        return None

    @staticmethod
    def symbolic(g, x):
        return g.op("ai.dlc::StopGradient", x).setType(x.type())


class Pull(nn.Module):
    """What is learnt of x is pulled to what is made of it, which is not pulled back: one number."""

    def __init__(self):
        super().__init__()
        self.make, self.learn = nn.Linear(16, 8), nn.Linear(8, 8)

    def forward(self, x):
        made = torch.tanh(self.make(x))
        return ((self.learn(made) - Stop.apply(made)) ** 2).mean()


def make():
    torch.manual_seed(3)
    return Gan()


def bce(model, x, z):
    real, fake = model(x, z)
    ones, zeros = torch.ones_like(real), torch.zeros_like(real)
    loss = F.binary_cross_entropy_with_logits
    parts = dict(real=loss(real, ones), fake=loss(fake, zeros), fool=loss(fake, ones))
    return parts, parts["real"] + parts["fake"], parts["fool"]


def hinge(model, x, z):
    of_d, of_g = Losses(model)(x, z)
    return dict(of_d=of_d, of_g=of_g), of_d, of_g


ADAM = (lambda p: torch.optim.Adam(p, lr=4e-4, betas=(0.5, 0.999)), lambda p: torch.optim.Adam(p, lr=1e-4, betas=(0.5, 0.999)))
# Losses; the optimizers of D and G; what G's loss counts.
RULES = {
    "adam": (bce, *ADAM, 1),
    "mixed": (bce, lambda p: torch.optim.SGD(p, lr=0.01, momentum=0.9), lambda p: torch.optim.RMSprop(p, lr=2e-4, alpha=0.9), 0.5),
    "hinge": (hinge, *ADAM, 1),
}


def train(data, rule):
    losses, of_d, of_g, weight = RULES[rule]
    model, curves = make(), []
    parameters = [list(m.parameters()) for m in (model.d, model.g)]
    optimizers = [of_d(parameters[0]), of_g(parameters[1])]
    for step in range(STEPS):
        x, z = (torch.from_numpy(data[k][step % BATCHES]).float() for k in ("pictures", "noise"))
        parts, *minimised = losses(model, x, z)
        gradients = [torch.autograd.grad(loss * w, p, retain_graph=True) for loss, w, p in zip(minimised, (1, weight), parameters)]
        for ps, gs, optimizer in zip(parameters, gradients, optimizers):
            for p, g in zip(ps, gs):
                p.grad = g
            optimizer.step()
        curves.append([value.item() for value in parts.values()])
    final = {f"final/{k}": v.numpy().copy() for k, v in model.state_dict().items() if v.is_floating_point()}
    return dict(zip(parts, np.array(curves).T)) | final


def train_stopped(data):
    torch.manual_seed(3)
    model, curve = Pull(), []
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for step in range(STEPS):
        loss = model(torch.from_numpy(data["noise"][step % BATCHES]).float())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        curve.append(loss.item())
    return np.array(curve)


def export(model, path, exporter, outputs, names=("x", "z")):
    fresh = {k: v.numpy().copy() for k, v in model.state_dict().items()}
    inputs = (torch.zeros(ROWS, 1, 16, 16), torch.zeros(ROWS, 16)) if len(names) > 1 else (torch.zeros(ROWS, 16),)
    options = dict(input_names=list(names), output_names=outputs)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        if exporter == "dynamo":
            torch.onnx.export(model, inputs, path, dynamo=True, external_data=False, optimize=False, **options)
        else:
            torch.onnx.export(model, inputs, path, dynamo=False, training=torch.onnx.TrainingMode.TRAINING,
                              do_constant_folding=False, dynamic_axes={k: {0: "N"} for k in [*names, *outputs] if k in ROWS_OF},
                              **options)
    clean(path, fresh)


def main():
    torch.set_num_threads(1)
    random = np.random.RandomState(5)
    out = dict(pictures=np.tanh(random.randn(BATCHES, ROWS, 1, 16, 16)).astype(np.float16),
               noise=random.randn(BATCHES, ROWS, 16).astype(np.float16))
    for rule in RULES:
        result = train(out, rule)
        out |= {f"{rule}/{k}": v for k, v in result.items()}
        print(rule, {k: v[[0, 9, 19]].round(4).tolist() for k, v in result.items() if "/" not in k})
    out["stopped/loss"] = train_stopped(out)
    print("stopped", out["stopped/loss"][[0, 9, 19]].round(4).tolist())
    np.savez_compressed(os.path.join(here, "gan_ref.npz"), **out)
    torch.manual_seed(3)
    export(Pull(), os.path.join(here, "stopped.onnx"), "script", ["loss"], ["x"])
    for exporter in "script", "dynamo":
        export(make(), os.path.join(here, f"gan-{exporter}.onnx"), exporter, ["real", "fake"])
    export(Losses(make()), os.path.join(here, "gan_losses.onnx"), "script", ["of_d", "of_g"])


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    main()
