"""Compares dlc's training of zoo.py's models with PyTorch's: 20 steps in f32 from the same weights, on the same data.

    python compare.py unet gpt2 ...      # or all; needs torch (see zoo.py) and dlc (--dlc=PATH, default ../build/bin/dlc)

A line for each model, exporter and form: how far the loss of a step is from PyTorch's at most, the same of the running
statistics, PyTorch's own noise (one thread against two), seconds of dlc compile, and the verdict. A curve agrees within
1e-3, or within 10 times the noise where that is more.
"""

import argparse
import contextlib
import io
import json
import os
import subprocess
import tempfile
import time
import warnings

import numpy as np
import onnx
import torch
import zoo
from torch.nn import functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
STEPS = 20
RATES = {"sgd": 0.002, "adamw": 1e-3}


def settings(optimizer):
    """Of dlc compile."""
    own = dict(momentum=0.9, weight_decay=0) if optimizer == "sgd" else dict(weight_decay=1e-2)
    return dict(optimizer=optimizer, lr=RATES[optimizer], **own)


def torch_optimizer(optimizer, parameters):
    kind = torch.optim.SGD if optimizer == "sgd" else torch.optim.AdamW
    return kind(parameters, **{k: v for k, v in settings(optimizer).items() if k != "optimizer"})


def samples(name):
    """Inputs and labels of every step, [STEPS][...]; labels have the output's shape without its class axis."""
    row = zoo.entry(name)
    torch.manual_seed(7)
    inputs = [row.inputs() for _ in range(STEPS)]
    if not row.classes:
        return inputs, [torch.zeros(1)] * STEPS
    with torch.no_grad():
        out = zoo.make(name).eval()(*inputs[0])
    shape = [n for i, n in enumerate(out.shape) if i != class_axis(out)]
    return inputs, [torch.randint(0, row.classes, shape) for _ in range(STEPS)]


def class_axis(out):
    return out.dim() - 1 if out.dim() < 4 else 1


def loss_of(out, y):
    if not out.dim():
        return out
    return F.cross_entropy(out.movedim(class_axis(out), -1).flatten(0, -2), y.flatten())


def train_torch(name, optimizer, inputs, labels, threads, dtype=torch.float32):
    """Losses, and the state at the end."""
    torch.set_num_threads(threads)
    model = zoo.make(name).to(dtype)
    update, losses = torch_optimizer(optimizer, model.parameters()), []
    for x, y in zip(inputs, labels):
        loss = loss_of(model(*[v.to(dtype) if v.is_floating_point() else v for v in x]), y)
        update.zero_grad()
        loss.backward()
        update.step()
        losses.append(loss.item())
    return np.array(losses), {k: v.numpy() for k, v in model.state_dict().items()}


def dlc(tool, *words, **options):
    flags = [f"--{k.replace('_', '-')}={v}" for k, v in options.items()]
    done = subprocess.run([tool, *words, *flags], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"dlc {words[0]}: exit {done.returncode}: {done.stderr.strip()[-400:]}")
    return done.stderr


def load_file(path):
    """{name: array} of the f32 tensors of a safetensors file."""
    data = open(path, "rb").read()
    start = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:start])
    header.pop("__metadata__", None)
    return {k: np.frombuffer(data[start + t["data_offsets"][0]:start + t["data_offsets"][1]], "f4").reshape(t["shape"])
            for k, t in header.items() if t["dtype"] == "F32"}


def train_dlc(tool, path, folder, optimizer, inputs, labels):
    """Losses, the state at the end, seconds of compiling, warnings."""
    graph, arrays = onnx.load(path, load_external_data=False).graph, {}
    for i, value in enumerate(graph.input):
        arrays[value.name] = torch.cat([x[i] for x in inputs]).numpy()
    own = not graph.output[0].type.tensor_type.shape.dim
    if not own:
        arrays["y"] = torch.cat(labels).numpy()
    np.savez(folder + "/data.npz", **arrays)
    start = time.time()
    notes = dlc(tool, "compile", path, "-o", folder + "/m.dlc", batch=len(inputs[0][0]), schedule="constant",
                loss=graph.output[0].name + ":graph" if own else "cross_entropy", **settings(optimizer))
    seconds = time.time() - start
    dlc(tool, "train", folder + "/m.dlc", "--quiet", data=folder + "/data.npz", run=folder + "/run", steps=STEPS, shuffle="off",
        threads=1, save_every=STEPS)
    losses = [json.loads(line)["loss"] for line in open(folder + "/run/metrics.jsonl")]
    state = load_file(f"{folder}/run/checkpoint-{STEPS}/state.safetensors")
    return np.array(losses), state, seconds, notes


def statistics(found, expected):
    """The worst relative difference of running statistics, and how many were not found. Means are numbers beside their
    deviation: where nothing but rounding moves one from zero, that is what it is compared with."""
    worst, missing = 0, 0
    for name, value in expected.items():
        if name.endswith(("running_mean", "running_var")):
            size = np.linalg.norm(value)
            if name.endswith("mean"):
                size = max(size, np.sqrt(expected[name[:-4] + "var"].sum()))
            if name in found:
                worst = max(worst, np.linalg.norm(found[name] - value) / max(size, 1e-12))
            else:
                missing += 1
    return worst, missing


def worst(found, expected):
    return float(np.abs(found / expected - 1).max()) if np.isfinite(found).all() else np.inf


def compare(name, options):
    row = zoo.entry(name)
    optimizer = options.optimizer or row.optimizer
    inputs, labels = samples(name)
    expected, final = train_torch(name, optimizer, inputs, labels, 1)
    noise = worst(train_torch(name, optimizer, inputs, labels, 2)[0], expected)
    exact = worst(train_torch(name, optimizer, inputs, labels, 1, torch.float64)[0], expected) if options.exact else None
    for form in options.forms.split(","):
        for exporter in options.exporters.split(","):
            report(name, optimizer, exporter, form, noise, exact,
                   *try_one(name, exporter, form, optimizer, inputs, labels, expected, final, max(1e-3, 10 * noise), options))


def try_one(name, exporter, form, optimizer, inputs, labels, expected, final, allowed, options):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(options.keep or folder, f"{name}-{exporter}-{form}.onnx")
        try:
            if not os.path.exists(path):
                with contextlib.redirect_stdout(io.StringIO()):
                    zoo.export(name, exporter, form, path)
        except Exception as error:  # an exporter raises whatever it likes
            return None, None, None, "no export: " + (str(error).strip() or repr(error)).splitlines()[0][:90]
        try:
            losses, state, seconds, notes = train_dlc(options.dlc, path, folder, optimizer, inputs, labels)
        except RuntimeError as error:
            return None, None, None, "REFUSED " + str(error).replace("\n", " ")
    difference = worst(losses, expected)
    moved, missing = statistics(state, final)
    if missing and form == "eval":
        verdict = f"no judgement: {missing} statistics were folded by the exporter"
    else:
        good = difference <= allowed and moved <= max(1e-3, allowed) and not missing
        verdict = "equal" if good else f"WRONG ({missing} statistics not found)" if missing else "WRONG"
    if options.verbose:
        print(notes, np.array([losses, expected, losses / expected - 1]).T)
    return difference, moved, seconds, verdict


def report(name, optimizer, exporter, form, noise, exact, difference, moved, seconds, verdict):
    number = lambda x: "-" if x is None else f"{x:.1e}"
    cells = [name, optimizer, exporter, form, number(difference), number(moved), number(noise)]
    if exact is not None:
        cells.append(number(exact))
    print("|", " | ".join([*cells, "-" if seconds is None else f"{seconds:.1f}", verdict]), "|", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="+", metavar="NAME")
    parser.add_argument("--dlc", default=os.path.join(HERE, "..", "build", "bin", "dlc"))
    parser.add_argument("--optimizer", choices=list(RATES), help="default: the model's own in zoo.py")
    parser.add_argument("--lr", type=float, help="default: 0.002 of sgd, 0.001 of adamw; less for models that amplify rounding")
    parser.add_argument("--forms", default="train,eval")
    parser.add_argument("--exporters", default="script,dynamo")
    parser.add_argument("--keep", metavar="FOLDER", help="of exported files, for the next time")
    parser.add_argument("--exact", action="store_true", help="a column more: PyTorch's f32 against its f64")
    parser.add_argument("--verbose", action="store_true", help="every loss")
    options = parser.parse_args()
    if options.lr:
        RATES.update(dict.fromkeys(RATES, options.lr))
    titles = ["model", "optimizer", "exporter", "form", "loss", "statistics", "noise", *(["f64"] if options.exact else []),
              "compile s", "verdict"]
    print("|", " | ".join(titles), "|\n" + "|---" * len(titles) + "|", flush=True)
    for name in options.names:
        compare(name, options)


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    main()
