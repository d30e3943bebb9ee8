# SPDX-License-Identifier: Apache-2.0
"""Measures seconds from a process's start to a given accuracy: dlc, and PyTorch eager with the same settings.

    DLC_PEER_PYTHON=/path/to/python-with-torch  python test/bench/wall_time.py [lenet] [gpt_mini]
        --seconds=600 --threads=2 --rounds=3

lenet (f32): until 97.5 % of the MNIST test digits are right, checked after each epoch. gpt_mini (bf16): PyTorch trains
for --seconds, including its import; dlc until its mean loss of 50 steps is PyTorch's last. Both sides see the same samples in
the same order, from the same weights; the time of dlc compile is printed, too. Each round of lenet has another
order, since rounding alone changes the number of epochs. Not a ctest test: without DLC_PEER_PYTHON the script prints
a message and ends. Nothing else may run meanwhile.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

import numpy as np

here = os.path.dirname(os.path.abspath(__file__))
os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
GOAL, WINDOW = 0.975, 50
LENET = dict(batch=64, lr=0.05, epochs=40)
GPT = dict(batch=8, lr=6e-4, length=256)


def write_text(path, source):
    """gpt_mini's rows: the text in pieces of 256 characters, and the characters behind them."""
    with np.load(source) as file:
        x, y = (file[key].reshape(-1) for key in "xy")
    rows = x.size // GPT["length"]
    np.savez(path, **{key: values[:rows * GPT["length"]].reshape(rows, -1) for key, values in (("x", x), ("y", y))})


def window_mean(losses):
    return float(np.mean(losses[-WINDOW:]))


# --- PyTorch, in a process of its own: wall_time.py peer TASK TRAIN TEST SECONDS THREADS BEGAN prints a line of JSON

def peer(task, train, test, seconds, threads, began):
    import torch
    from torch.nn import functional as F
    sys.path.insert(0, os.path.join(here, "..", "..", "models"))
    import export

    torch.manual_seed(0)
    torch.set_num_threads(int(threads))
    data = [np.load(path) for path in (train, test)]
    model, elapsed = export.make(task), lambda: time.time() - float(began)
    if task == "lenet":
        (x, y), (tx, ty) = [(torch.from_numpy(d["x"]).float() / 255, torch.from_numpy(d["y"])) for d in data]
        optimizer = torch.optim.SGD(model.parameters(), LENET["lr"], momentum=0.9, fused=True)
        for epoch in range(LENET["epochs"]):
            for i in range(0, len(x) - LENET["batch"] + 1, LENET["batch"]):
                optimizer.zero_grad()
                F.cross_entropy(model(x[i:i + LENET["batch"]]), y[i:i + LENET["batch"]]).backward()
                optimizer.step()
            with torch.no_grad():
                right = (model(tx).argmax(1) == ty).float().mean().item()
            if right >= GOAL:
                return dict(seconds=elapsed(), epochs=epoch + 1, reached=right)
        return dict(seconds=None, epochs=epoch + 1, reached=right)
    x, y = (torch.from_numpy(data[0][key]) for key in "xy")
    optimizer = torch.optim.AdamW(model.parameters(), GPT["lr"], weight_decay=0.01, fused=True)
    losses, batches = [], len(x) // GPT["batch"]
    while elapsed() < float(seconds):
        at = len(losses) % batches * GPT["batch"]
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16):
            logits = model(x[at:at + GPT["batch"]])
        loss = F.cross_entropy(logits.float().reshape(-1, logits.shape[-1]), y[at:at + GPT["batch"]].flatten())
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return dict(seconds=elapsed(), steps=len(losses), reached=window_mean(losses))


def run_peer(python, task, train, test, options):
    command = [python, os.path.abspath(__file__), "peer", task, train, test, options.seconds, options.threads, time.time()]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"wall_time: PyTorch failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


# --- dlc

def lines_of(path):
    if not os.path.exists(path):
        return []
    with open(path) as file:
        return [json.loads(line) for line in file if line.endswith("\n")]


def run_dlc(artifact, train, run, options, isEnough, **more):
    """Stops it when isEnough(run's folder) gives something, which is returned with the seconds."""
    command = [dlc.DLC, "train", artifact, *dlc.flags(dict(data=train, run=run, threads=options.threads, shuffle="off") | more)]
    began = time.time()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    while process.poll() is None:
        found, seconds = isEnough(run), time.time() - began
        if found:
            process.send_signal(signal.SIGTERM)
            process.wait()
            return dict(seconds=seconds) | found
        time.sleep(0.01)
    if process.returncode:
        sys.exit(f"wall_time: dlc failed:\n{process.stderr.read()[-2000:]}")
    return (dict(seconds=time.time() - began) | found) if (found := isEnough(run)) else dict(seconds=None)


def accurate(run):
    epochs = lines_of(os.path.join(run, "epochs.jsonl"))
    for number, epoch in enumerate(epochs):
        if (right := epoch["val_accuracy"]) >= GOAL:
            return dict(epochs=number + 1, reached=right)
    return None


def as_low(loss):
    def isEnough(run):
        losses = [line["loss"] for line in lines_of(os.path.join(run, "metrics.jsonl")) if "loss" in line]
        if len(losses) >= WINDOW and window_mean(losses) <= loss:
            return dict(steps=len(losses), reached=window_mean(losses))
        return None
    return isEnough


def compiled(task, folder, python, **options):
    sys.path.insert(0, here)
    import step_time
    model, began = step_time.model_file(task, folder, python), time.time()
    artifact = dlc.compile(model, os.path.join(folder, task + ".dlc"), loss="cross_entropy", schedule="constant", timeout=600, **options)
    return artifact, time.time() - began


def show(task, side, found, compile_s=None):
    rest = " ".join(f"{key} {value:.4g}" for key, value in found.items() if key != "seconds" and value is not None)
    seconds = "never" if found["seconds"] is None else f"{found['seconds']:8.2f} s"
    print(f"{task:9s} {side:8s} {seconds} {rest}" + (f" (compile {compile_s:.2f} s)" if compile_s is not None else ""), flush=True)


def permuted(path, source, seed):
    with np.load(source) as file:
        order = np.random.RandomState(seed).permutation(len(file["y"]))
        np.savez(path, **{key: file[key][order] for key in "xy"})
    return path


def lenet(folder, python, options):
    test = dlc.data("mnist-test")
    artifact, compile_s = compiled("lenet", folder, python, batch=LENET["batch"], optimizer="sgd(momentum=0.9)", lr=LENET["lr"])
    for number in range(options.rounds):
        train = permuted(os.path.join(folder, f"mnist{number}.npz"), dlc.data("mnist-train"), number)
        show("lenet", "dlc", run_dlc(artifact, train, os.path.join(folder, f"l{number}"), options, accurate, val=test,
                                     epochs=LENET["epochs"]), compile_s)
        show("lenet", "PyTorch", run_peer(python, "lenet", train, test, options))


def gpt_mini(folder, python, options):
    train = os.path.join(folder, "text.npz")
    write_text(train, dlc.data("text-train"))
    artifact, compile_s = compiled("gpt_mini", folder, python, batch=GPT["batch"], optimizer="adamw", lr=GPT["lr"],
                                   weight_decay=0.01, amp=True, amp_dtype="bf16")
    theirs = run_peer(python, "gpt_mini", train, train, options)
    show("gpt_mini", "PyTorch", theirs)
    show("gpt_mini", "dlc", run_dlc(artifact, train, os.path.join(folder, "g"), options, as_low(theirs["reached"]), steps=100000,
                                    save_every=100000), compile_s)


def main():
    if sys.argv[1:2] == ["peer"]:
        print(json.dumps(peer(*sys.argv[2:])))
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tasks", nargs="*", metavar="TASK", help="lenet, gpt_mini (default: both)")
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    python = os.environ.get("DLC_PEER_PYTHON")
    if not python:
        sys.exit("wall_time: skipped: set DLC_PEER_PYTHON to a python that has torch")
    tasks = dict(lenet=lenet, gpt_mini=gpt_mini)
    for task in options.tasks or tasks:
        if task not in tasks:
            parser.error(f"unknown task {task}; there are {' '.join(tasks)}")
    with tempfile.TemporaryDirectory(prefix="dlc-bench-") as folder:
        for task in options.tasks or tasks:
            tasks[task](folder, python, options)


if __name__ == "__main__":
    sys.path.insert(0, os.path.join(here, "..", "support"))
    if sys.argv[1:2] != ["peer"]:
        import dlc
    main()
