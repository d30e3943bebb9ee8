# SPDX-License-Identifier: Apache-2.0
"""The PyTorch side of step_time.py: prints one JSON object of a training run.

    torch_step.py MODEL DATA.npz BATCH STEPS THREADS f32|amp eager|channels_last|compile BEGAN

steps: milliseconds of each; cpu_ms: of all processors, of one after the first; first: seconds from BEGAN (time.time() when
the process was started) to the end of the first step; import_mib, peak_mib: the most memory after importing PyTorch, and of all.
"""

import json
import os
import resource
import sys
import time

import numpy as np
import torch
from torch.nn import functional as F

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "models"))
import export  # noqa: E402


def peak_mib():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main():
    name, data, batch, steps, threads, precision, form, began = sys.argv[1:]
    batch, steps, imported = int(batch), int(steps), peak_mib()
    torch.set_num_threads(int(threads))
    with np.load(data) as file:
        x, y = torch.from_numpy(file["x"]), torch.from_numpy(file["y"])
    model = export.make(name)
    if form == "channels_last":
        model = model.to(memory_format=torch.channels_last)
        x = x.to(memory_format=torch.channels_last)
    forward = torch.compile(model) if form == "compile" else model
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001, momentum=0.9, fused=True)
    times, first, used = [], 0, 0
    for step in range(steps):
        begin = step * batch % len(x)
        inputs, labels = x[begin : begin + batch], y[begin : begin + batch]
        start = time.perf_counter()
        with torch.autocast("cpu", torch.bfloat16, enabled=precision == "amp"):
            logits = forward(inputs)
        loss = F.cross_entropy(logits.float(), labels.reshape(logits.shape[:1] + logits.shape[2:]))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        loss.item()
        times.append(1e3 * (time.perf_counter() - start))
        if not first:
            first, used = time.time() - float(began), time.process_time()
    cpu = 1e3 * (time.process_time() - used) / (steps - 1)
    print(json.dumps(dict(steps=times, cpu_ms=cpu, first=first, import_mib=imported, peak_mib=peak_mib())))


if __name__ == "__main__":
    main()
