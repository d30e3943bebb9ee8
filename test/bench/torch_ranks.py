# SPDX-License-Identifier: Apache-2.0
"""Compares ranks of dlc and PyTorch: two ranks of one core each over a link of 1000 Mbit/s between two network namespaces.

    torch_ranks.py [MODEL] [DATA.npz] [BATCH] [STEPS] [MBIT]     needs root; DLC_PEER_PYTHON names PyTorch's Python

Prints a line for data parallelism, sharded parameters (--zero=3, FSDP2) and low-rank gradients (powersgd:4, powerSGD_hook): MB that
a rank sends per step, the median step in ms, peak memory in MiB (PyTorch's without its import), the loss of the last step.
"""

import json
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
FORMS = {"ddp": ("--zero=0",), "shards": ("--zero=3", "--zero-whole-mb=0.001"), "powersgd": ("--compress=powersgd:4",)}


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def torch_rank(form, name, data, batch, steps, rank, init):
    import numpy as np
    import torch
    import torch.distributed as dist
    from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook
    from torch.distributed.fsdp import fully_shard
    from torch.nn import functional as F

    sys.path.insert(0, os.path.join(ROOT, "models"))
    import export

    batch, steps, rank, imported = int(batch), int(steps), int(rank), peak()
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=init, rank=rank, world_size=2)
    with np.load(data) as file:
        x, y = torch.from_numpy(file["x"]), torch.from_numpy(file["y"])
    model = export.make(name)
    if form == "shards":
        fully_shard(model, mesh=dist.device_mesh.init_device_mesh("cpu", (2,)))
    else:
        model = torch.nn.parallel.DistributedDataParallel(model)
    if form == "powersgd":
        model.register_comm_hook(powerSGD_hook.PowerSGDState(None, matrix_approximation_rank=4, start_powerSGD_iter=2), powerSGD_hook.powerSGD_hook)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, fused=form != "shards")
    times, losses = [], []
    for step in range(steps):
        begin = (2 * step + rank) * batch % (len(x) - batch)
        start = time.perf_counter()
        logits = model(x[begin:begin + batch])
        loss = F.cross_entropy(logits.float(), y[begin:begin + batch].reshape(logits.shape[:1] + logits.shape[2:]))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach().clone())
        times.append(1e3 * (time.perf_counter() - start))
    dist.all_reduce(losses[-1])
    print(json.dumps(dict(ms=statistics.median(times[5:]), mib=peak() - imported, loss=losses[-1].item() / 2)), flush=True)
    dist.barrier()
    os._exit(0)  # destroy_process_group() ends some processes by std::terminate


def dlc_rank(artifact, data, batch, steps, run, rank, init):
    """In a process of its own, whose child's memory is known."""
    subprocess.run([f"{ROOT}/build/bin/dlc", "train", artifact, f"--data={data}", f"--steps={steps}", "--shuffle=off", f"--rank={rank}",
                    "--world-size=2", f"--init={init}", "--threads=1", "--quiet", f"--run={run}"], check=True, stdout=subprocess.DEVNULL)
    with open(f"{run}/metrics.jsonl") as file:
        rows = [json.loads(line) for line in file]
    ms = statistics.median(2e3 * int(batch) / row["samples_per_second"] for row in rows[5:])
    print(json.dumps(dict(ms=ms, mib=resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024, loss=rows[-1]["loss"])))


def main(model="gpt_tiny", data="models/text-train.npz", batch="16", steps="60", rate="1000"):
    sys.path.insert(0, os.path.join(ROOT, "test", "support"))
    from ranks import Network

    os.chdir(ROOT)
    peer, network = os.environ["DLC_PEER_PYTHON"], Network(2)

    def sent():
        out = subprocess.run([*network.inside(0), "cat", "/sys/class/net/eth/statistics/tx_bytes"], capture_output=True, text=True, check=True)
        return int(out.stdout)

    def both(name, words):
        before = sent()
        ranks = [subprocess.Popen([*network.inside(rank), "taskset", "-c", str(rank), *words, str(rank), "tcp://10.77.0.1:29999"],
                                  stdout=subprocess.PIPE, text=True, env=os.environ | {"GLOO_SOCKET_IFNAME": "eth", "TORCH_CPP_LOG_LEVEL": "ERROR", "PYTHONWARNINGS": "ignore"}) for rank in range(2)]
        said = [rank.communicate()[0] for rank in ranks]
        assert all(rank.returncode == 0 for rank in ranks), name
        found = json.loads(re.findall(r"\{.*\}", said[0])[-1])
        print(f"{name:>14} {(sent() - before) / int(steps) / 1e6:9.3f} {found['ms']:8.1f} {found['mib']:8.0f} {found['loss']:9.5f}", flush=True)

    try:
        for rank in range(2):
            network.slow(rank, f"{rate}mbit")
        print(f"{'':>14} {'MB sent':>9} {'ms':>8} {'MiB':>8} {'loss':>9}")
        with tempfile.TemporaryDirectory() as folder:
            for form, flags in FORMS.items():
                artifact = f"{folder}/{form}.dlc"
                subprocess.run([f"{ROOT}/build/bin/dlc", "compile", f"models/{model}.onnx", "--ddp=2", f"--batch={batch}", "--lr=0.01",
                                "--optimizer=sgd(momentum=0.9)", "--schedule=constant", "--bucket-mb=0.2", "--first-bucket-mb=0.1", *flags, "--quiet", "-o", artifact], check=True)
                both(f"dlc {form}", [sys.executable, __file__, "dlc", artifact, data, batch, steps, f"{folder}/{form}"])
                both(f"torch {form}", [peer, __file__, "torch", form, model, data, batch, steps])
    finally:
        network.close()


if __name__ == "__main__":
    {"torch": torch_rank, "dlc": dlc_rank}[sys.argv[1]](*sys.argv[2:]) if sys.argv[1:2] in (["torch"], ["dlc"]) else main(*sys.argv[1:])
