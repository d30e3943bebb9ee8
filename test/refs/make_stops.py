# SPDX-License-Identifier: Apache-2.0
"""Writes stops_vq-dynamo.onnx, stops_vq-plain.onnx, stops_fsq-script.onnx and stops_ref.npz beside this file: small models that
quantize what they learn, with detach(), and what PyTorch computes when it trains them.

    python make_stops.py     # needs torch and onnx; a few seconds

NAME/x[4], NAME/final/STATE            four batches, used in turn (in half precision, exact); parameters after the last step
NAME/losses[20]                        before each of 20 steps of SGD
"""

import contextlib
import io
import os
import sys
import warnings

import numpy as np
import onnx
import torch
from torch import nn
from torch.nn import functional as F

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(here)), "models"))
from export import clean  # noqa: E402

ROWS, BATCHES, STEPS = 16, 4, 20


class Vq(nn.Module):
    """[N,8] -> the loss of an autoencoder: rows of a table in between, the nearest ones, and both of VQ-VAE's own terms."""

    def __init__(self):
        super().__init__()
        self.encode, self.decode, self.table = nn.Linear(8, 4), nn.Linear(4, 8), nn.Parameter(torch.randn(6, 4))

    def forward(self, x):
        z = torch.tanh(self.encode(x))
        q = self.table[(z[:, None] - self.table.detach()).pow(2).sum(-1).argmin(1)]
        own = F.mse_loss(q, z.detach()) + 0.25 * F.mse_loss(z, q.detach())
        return F.mse_loss(self.decode(z + (q - z).detach()), x) + own


class Fsq(nn.Module):
    """[N,8] -> the loss of an autoencoder with whole numbers in between."""

    def __init__(self):
        super().__init__()
        self.encode, self.decode = nn.Linear(8, 4), nn.Linear(4, 8)

    def forward(self, x):
        z = 3 * torch.tanh(self.encode(x))
        return F.mse_loss(self.decode(z + (z.round() - z).detach()), x)


FILES = {"vq": (Vq, {"dynamo": dict(dynamo=True, optimize=True), "plain": dict(dynamo=True, optimize=False)}),
         "fsq": (Fsq, {"script": dict(dynamo=False)})}


def shorten(path):
    """Without notes that nothing reads."""
    proto = onnx.load(path)
    for node in proto.graph.node:
        for note in [n for n in node.metadata_props if n.key == "namespace" or n.key.endswith("class_hierarchy")]:
            node.metadata_props.remove(note)
    onnx.save(proto, path)


def main():
    out = {}
    for name, (kind, files) in FILES.items():
        torch.manual_seed(5)
        model, xs = kind(), torch.randn(BATCHES, ROWS, 8).half().float()
        fresh = {k: v.numpy().copy() for k, v in model.state_dict().items()}
        for form, options in files.items():
            path = os.path.join(here, f"stops_{name}-{form}.onnx")
            more = dict(external_data=False, verbose=False) if options["dynamo"] else {}
            with contextlib.redirect_stdout(io.StringIO()):
                torch.onnx.export(model, (xs[0],), path, input_names=["x"], output_names=["loss"], **options, **more)
            clean(path, fresh)
            shorten(path)
        optimizer, losses = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9), []
        for step in range(STEPS):
            loss = model(xs[step % BATCHES])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        out |= {f"{name}/x": xs.numpy().astype(np.float16), f"{name}/losses": np.array(losses)}
        out |= {f"{name}/final/{k}": v.numpy().copy() for k, v in model.state_dict().items()}
        print(name, np.array(losses)[[0, 9, 19]].round(4).tolist())
    np.savez_compressed(os.path.join(here, "stops_ref.npz"), **out)


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    main()
