# SPDX-License-Identifier: Apache-2.0
"""Writes powersgd_ref.npz and powersgd_start_ref.npz beside this file: what PyTorch's powerSGD_hook computes when two ranks
train lenet over gloo, the second one after six updates of plain all-reduce.

    python make_powersgd.py DLC  # needs torch and onnx, and a dlc, whose first Q's both start from; some seconds

q/PARAM           Q as an artifact of seed 0 and rank 2 has it
losses[20]        the mean of the two before each step of SGD (0.05, momentum 0.9, weight decay 1e-4), on lenet_ref.npz's batches
final/STATE       parameters after them (f32), the first 2,000 elements of each
error/PARAM       the mean of the ranks' errors after them, as many

The hook needs two steps of plain all-reduce first, in which DDP settles its buckets; in the first file nothing is updated in
them.
"""

import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import torch
import torch.distributed as dist
from make_refs import OPTIMIZERS, STEPS, export, here, state
from torch.distributed.algorithms.ddp_comm_hooks.powerSGD_hook import PowerSGDState, powerSGD_hook
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel

RANK, SETTLE, KEPT = 2, 2, 2000


def first_factors(dlc):
    with tempfile.TemporaryDirectory() as folder:
        artifact = os.path.join(folder, "lenet.dlc")
        subprocess.run([dlc, "compile", os.path.join(here, "..", "..", "models", "lenet.onnx"), "-o", artifact, "--ddp=2",
                        f"--compress=powersgd:{RANK}", "--quiet"], check=True)
        with open(os.path.join(artifact, "state.safetensors"), "rb") as file:
            data = file.read()
    start = 8 + int.from_bytes(data[:8], "little")
    suffix, factors = ".powersgd_q", {}
    for name, tensor in json.loads(data[8:start]).items():
        if name.endswith(suffix):
            begin, end = (start + offset for offset in tensor["data_offsets"])
            factors[name[:-len(suffix)]] = np.frombuffer(data[begin:end], "f4").reshape(tensor["shape"])
    return factors


def compressed(state, bucket):
    """The gradients of a bucket that the hook compresses, in the order of its memory."""
    for p, gradient in zip(bucket.parameters(), bucket.gradients()):
        if gradient.dim() > 1:
            n, m = gradient.shape[0], gradient[0].numel()
            rank = min(n, m, RANK)
            if (n + m) * rank * state.min_compression_rate < n * m:
                yield p, n, m, rank


def train(rank, factors, init, out, start):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=init, rank=rank, world_size=2)
    arrays = np.load(os.path.join(here, "lenet_ref.npz"))
    x, y = arrays["inputs"], arrays["labels"]
    half = x.shape[1] // 2
    mine = slice(rank * half, (rank + 1) * half)
    model = export.make("lenet")
    names = {p: name for name, p in model.named_parameters()}
    ddp = DistributedDataParallel(model)
    power = PowerSGDState(None, matrix_approximation_rank=RANK, start_powerSGD_iter=start + SETTLE, batch_tensors_with_same_shape=False)
    places = {}

    def hook(power, bucket):
        at = bucket.index()
        if power.iter >= start + SETTLE and at not in power.q_memory_dict:
            parts = list(compressed(power, bucket))
            places[at] = [(names[p], p.shape) for p in bucket.parameters()]
            power.p_memory_dict[at] = torch.zeros(sum(n * r for _, n, _, r in parts))
            power.q_memory_dict[at] = torch.cat([torch.from_numpy(factors[names[p]].copy()).flatten() for p, *_ in parts])
        return powerSGD_hook(power, bucket)

    ddp.register_comm_hook(power, hook)
    update, losses = OPTIMIZERS["sgd"](ddp.parameters()), []
    for step in range(-SETTLE, STEPS):
        at = max(step, 0) % len(x)
        loss = F.cross_entropy(ddp(torch.from_numpy(x[at][mine])), torch.from_numpy(y[at][mine]))
        update.zero_grad()
        loss.backward()
        if step < 0:
            continue
        update.step()
        mean = loss.detach().clone()
        dist.all_reduce(mean)
        losses.append(mean.item() / 2)
    errors = {}
    for at, error in sorted(power.error_dict.items()):
        dist.all_reduce(error)
        begin = 0
        for name, shape in places[at]:
            end = begin + shape.numel()
            if name in factors:
                errors[f"error/{name}"] = (error[begin:end] / 2)[:KEPT].numpy()
            begin = end
    assert errors.keys() == {f"error/{name}" for name in factors}
    if rank == 0:
        final = {f"final/{k}": v.flatten()[:KEPT] for k, v in state(model).items()}
        np.savez_compressed(out, losses=np.array(losses), **final, **errors, **{f"q/{k}": v for k, v in factors.items()})
        print(np.round(losses, 4))
    dist.destroy_process_group()


def main():
    factors = first_factors(sys.argv[1])
    for name, start in ("powersgd_ref", 0), ("powersgd_start_ref", 6):
        with tempfile.TemporaryDirectory() as folder:
            torch.multiprocessing.spawn(train, (factors, f"file://{folder}/meet", os.path.join(here, name + ".npz"), start), nprocs=2)


if __name__ == "__main__":
    main()
