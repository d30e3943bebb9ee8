"""The PyTorch side of step_time.py: prints the milliseconds of each training step as JSON.

    torch_step.py MODEL DATA.npz BATCH STEPS THREADS f32|amp
"""

import json
import os
import sys
import time

import numpy as np
import torch
from torch.nn import functional as F

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "models"))
import export  # noqa: E402


def main():
    name, data, batch, steps, threads, precision = sys.argv[1:]
    batch, steps = int(batch), int(steps)
    torch.set_num_threads(int(threads))
    with np.load(data) as file:
        x, y = torch.from_numpy(file["x"]), torch.from_numpy(file["y"])
    model = export.make(name)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001, momentum=0.9, fused=True)
    times = []
    for step in range(steps):
        begin = step * batch % len(x)
        inputs, labels = x[begin : begin + batch], y[begin : begin + batch].reshape(-1)
        start = time.perf_counter()
        with torch.autocast("cpu", torch.bfloat16, enabled=precision == "amp"):
            logits = model(inputs)
        loss = F.cross_entropy(logits.float(), labels)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        loss.item()
        times.append(1e3 * (time.perf_counter() - start))
    print(json.dumps(times))


if __name__ == "__main__":
    main()
