# SPDX-License-Identifier: Apache-2.0
"""Compares dlc's training of zoo.py's models with PyTorch's: 20 steps in f32 from the same weights, on the same data.

    python compare.py unet gpt2 ...      # needs torch (see zoo.py) and dlc (--dlc=PATH, default ../build/bin/dlc)
    python compare.py --all --write      # every model, with both optimizers, into curves.md; hours on two cores
    python compare.py --write            # curves.md of the rows so far (--rows)

All models have the same settings: SGD of lr 0.002 and momentum 0.9, and AdamW of lr 0.001 and weight decay 0.01, constant. The noise
is PyTorch's own, the largest relative difference of a loss between one thread and two. While a model amplifies rounding so much
that it is above 1e-4, the lr is halved, at most 10 times. "moves" is the largest difference of a loss from an untrained model's. A
curve agrees within 1e-3, or within 10 times the noise where that is more; running statistics within 1e-3.

Where an exporter folded batch norms into convolutions, PyTorch trains the folded model.
"""

import argparse
import collections
import contextlib
import io
import json
import os
import re
import subprocess
import tempfile
import textwrap
import time
import warnings

import numpy as np
import onnx
import torch
import zoo
from torch import nn
from torch.nn import functional as F
from torch.nn.utils.fusion import fuse_conv_bn_eval, fuse_linear_bn_eval

HERE = os.path.dirname(os.path.abspath(__file__))
STEPS = 20
RATES = {"sgd": 0.002, "adamw": 1e-3}
NOISE, HALVINGS = 1e-4, 10
FILES = [(exporter, form) for form in ("train", "eval") for exporter in ("script", "dynamo")]


def settings(optimizer, rate=None):
    own = dict(momentum=0.9, weight_decay=0) if optimizer == "sgd" else dict(weight_decay=1e-2)
    return dict(optimizer=optimizer, lr=rate or RATES[optimizer], **own)


def dlc_options(momentum=None, **setting):
    return setting if momentum is None else dict(setting, optimizer=f"{setting['optimizer']}(momentum={momentum})")


def torch_optimizer(setting, parameters):
    kind = torch.optim.SGD if setting["optimizer"] == "sgd" else torch.optim.AdamW
    return kind(parameters, **{k: v for k, v in setting.items() if k != "optimizer"})


def samples(name):
    """Inputs and labels of every step, [STEPS][...]; labels have the output's shape without its class axis."""
    row = zoo.entry(name)
    torch.manual_seed(7)
    inputs = [row.inputs() for _ in range(STEPS)]
    if not row.classes:  # the losses need none
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


def train_torch(name, setting, inputs, labels, threads=1, dtype=torch.float32, folded=(), biases=True):
    """Losses, and the state at the end; `setting` is that of `settings`, or None to train nothing; see fold."""
    torch.set_num_threads(threads)
    model = zoo.make(name)
    fold(model, inputs[0], folded, biases)
    model.to(dtype)
    update, losses = setting and torch_optimizer(setting, model.parameters()), []
    several = zoo.entry(name).losses
    for x, y in zip(inputs, labels):
        out = model(*[v.to(dtype) if v.is_floating_point() else v for v in x])
        parts = several.of(*out) if several else [(loss_of(out, y), "")]
        if update:
            for loss, start in parts:  # all at the parameters before the step
                named = [p for n, p in model.named_parameters() if n.startswith(start) and p.requires_grad]
                for p, gradient in zip(named, torch.autograd.grad(loss, named, retain_graph=True, allow_unused=True)):
                    p.grad = gradient
            update.step()
        losses.append(sum(loss for loss, _ in parts).item())
    return np.array(losses), {k: v.numpy() for k, v in model.state_dict().items()}


def fold(model, inputs, norms, biases):
    """Puts the batch norms named into the convolutions before them, as an exporter of the inference form does; whether
    these train the biases that they get."""
    makers, before, handles = {}, {}, []
    for path, module in model.named_modules():
        if isinstance(module, (nn.modules.conv._ConvNd, nn.Linear)):
            handles.append(module.register_forward_hook(lambda m, x, y, path=path: makers.update({id(y): (path, y)})))
        elif path in norms:
            handles.append(module.register_forward_pre_hook(
                lambda m, x, path=path: before.update({path: makers.get(id(x[0]))})))
    if not norms:
        return
    with torch.no_grad():
        model.eval()(*inputs)
    for handle in handles:
        handle.remove()
    for path in norms:
        if not before.get(path):
            raise LookupError(f"no layer before {path}")
        norm, (layer, _) = model.get_submodule(path), before[path]
        before_norm = model.get_submodule(layer)
        fuse = fuse_linear_bn_eval if isinstance(before_norm, nn.Linear) else fuse_conv_bn_eval
        turned = dict(transpose=True) if isinstance(before_norm, nn.modules.conv._ConvTransposeNd) else {}
        fused = fuse(before_norm, norm, **turned)
        fused.bias.requires_grad = biases or before_norm.bias is not None
        model.set_submodule(layer, fused)
        model.set_submodule(path, getattr(norm, "act", None) or nn.Identity())
    model.train()


def dlc(tool, *words, **options):
    flags = [f"--{k.replace('_', '-')}={v}" for k, v in options.items()]
    done = subprocess.run([tool, *words, *flags], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"dlc {words[0]}: exit {done.returncode}: {done.stderr.strip()[-400:]}")
    return done.stderr


def load_file(path):
    """{name: array} of the floats of a safetensors file."""
    data = open(path, "rb").read()
    start = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:start])
    header.pop("__metadata__", None)
    types = {"F32": "f4", "F64": "f8"}
    return {k: np.frombuffer(data[start + t["data_offsets"][0]:start + t["data_offsets"][1]], types[t["dtype"]]).reshape(t["shape"])
            for k, t in header.items() if t["dtype"] in types}


def train_dlc(tool, path, folder, setting, inputs, labels, several=None):
    """Losses, the state at the end, seconds of compiling, warnings; `several` as in zoo.Losses."""
    graph, arrays = onnx.load(path, load_external_data=False).graph, {}
    for i, value in enumerate(graph.input):
        arrays[value.name] = torch.cat([x[i] for x in inputs]).numpy()
    own = not graph.output[0].type.tensor_type.shape.dim
    if not own and not several:
        arrays["y"] = torch.cat(labels).numpy()
    np.savez(folder + "/data.npz", **arrays)
    start = time.time()
    loss = several.flags if several else ["--loss=" + (graph.output[0].name + ":graph" if own else "cross_entropy")]
    notes = dlc(tool, "compile", path, "-o", folder + "/m.dlc", *loss, batch=len(inputs[0][0]), schedule="constant",
                **dlc_options(**setting))
    seconds = time.time() - start
    dlc(tool, "train", folder + "/m.dlc", "--quiet", data=folder + "/data.npz", run=folder + "/run", steps=STEPS, shuffle="off",
        threads=1, save_every=STEPS)
    losses = [json.loads(line)["loss"] for line in open(folder + "/run/metrics.jsonl")]
    state = load_file(f"{folder}/run/checkpoint-{STEPS}/state.safetensors")
    return np.array(losses), state, seconds, notes


def folded_norms(found, expected):
    """Names of the batch norms whose statistics the file lacks."""
    means = [name for name in expected if name.endswith("running_mean")]
    return tuple(name.rpartition(".")[0] for name in means if name not in found)


def statistics(found, expected):
    """The worst relative difference of running statistics, None if there are none. Means are numbers beside their
    deviation: where nothing but rounding moves one from zero, that is what it is compared with."""
    errors = []
    for name, value in expected.items():
        if name.endswith(("running_mean", "running_var")):
            size = np.linalg.norm(value)
            if name.endswith("mean"):
                size = max(size, np.sqrt(expected[name[:-4] + "var"].sum()))
            errors.append(float(np.linalg.norm(found[name] - value) / max(size, 1e-12)))
    return max(errors, default=None)


def worst(found, expected):
    return float(np.abs(found / expected - 1).max()) if np.isfinite(found).all() else np.inf


def draws(name, inputs):
    """Whether the model draws at random while it trains: then its curve is one of many, and a file has none of them."""
    outs = []
    for seed in 0, 1:
        model = zoo.make(name)
        torch.manual_seed(seed)
        with torch.no_grad():
            outs.append(model(*inputs))
    first, second = (out if isinstance(out, (tuple, list)) else (out,) for out in outs)
    return not all(torch.equal(a, b) for a, b in zip(first, second))


class Reference:
    """What PyTorch computes for one model and optimizer, at the first lr whose noise is small."""

    def __init__(self, name, optimizer, rate=None):
        self.name, self.setting, self.curves = name, settings(optimizer, rate), {}
        self.inputs, self.labels = samples(name)
        for self.halvings in range(HALVINGS + 1):
            self.curves = {}
            losses, _ = self.curve()
            self.noise = worst(self.train(threads=2)[0], losses)
            if self.noise <= NOISE or self.halvings == HALVINGS:
                break
            self.setting["lr"] /= 2
        self.moves = worst(train_torch(name, None, self.inputs, self.labels)[0], losses)

    def train(self, **options):
        return train_torch(self.name, self.setting, self.inputs, self.labels, **options)

    def curve(self, folded=(), biases=True):
        if (folded, biases) not in self.curves:
            self.curves[folded, biases] = self.train(folded=folded, biases=biases)
        return self.curves[folded, biases]


def compare(name, optimizer, options):
    """A row: {model, optimizer, lr, halvings, noise, moves, cells: {exporter-form: cell}}."""
    ref = Reference(name, optimizer, options.lr)
    row = dict(model=name, optimizer=optimizer, lr=ref.setting["lr"], halvings=ref.halvings, noise=ref.noise, moves=ref.moves,
               commit=options.commit)
    if options.exact:
        row["exact"] = worst(ref.train(dtype=torch.float64)[0], ref.curve()[0])
    if draws(name, ref.inputs[0]):
        row["cells"] = {"-".join(file): dict(verdict="not judged", why="the model draws at random while it trains") for file in FILES}
        return row
    files = [f for f in FILES if f[0] in options.exporters.split(",") and f[1] in options.forms.split(",")]
    row["cells"] = {"-".join(file): try_one(name, *file, ref, options) for file in files}
    return row


def try_one(name, exporter, form, ref, options):
    """{loss, statistics, seconds, folded, warned, verdict}, or {verdict, why}."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(options.keep or folder, f"{name}-{exporter}-{form}.onnx")
        if os.path.exists(path + ".no"):
            return dict(verdict="no export", why=open(path + ".no").read())
        try:
            if not os.path.exists(path):
                with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                    zoo.export(name, exporter, form, path)
        except Exception as error:  # an exporter raises whatever it likes
            why = (str(error).strip() or repr(error)).splitlines()[0]
            if options.keep:
                open(path + ".no", "w").write(why)
            return dict(verdict="no export", why=why)
        try:
            losses, state, seconds, notes = train_dlc(options.dlc, path, folder, ref.setting, ref.inputs, ref.labels,
                                                      zoo.entry(name).losses)
        except RuntimeError as error:
            return dict(verdict="REFUSED", why=str(error).replace("\n", " "))
    warned = [line for line in notes.splitlines() if "warning" in line]
    cell = dict(seconds=seconds, warned=warned, folded=folded_norms(state, ref.curve()[1]))
    try:
        # the newer exporter drops biases of zeros, as these are at first
        expected, final = ref.curve(cell["folded"], biases=exporter == "script" or not cell["folded"])
    except LookupError as error:
        return cell | dict(verdict="not judged", why=str(error))
    if options.verbose:
        print(notes, np.array([losses, expected, losses / expected - 1]).T)
    cell |= dict(loss=worst(losses, expected), statistics=statistics(state, final))
    if cell["loss"] > max(1e-3, 10 * ref.noise) or (cell["statistics"] or 0) > max(1e-3, 10 * ref.noise):
        return cell | dict(verdict="WRONG")
    within = cell["loss"] <= 1e-3 and (cell["statistics"] or 0) <= 1e-3
    return cell | dict(verdict="equal" if within else "noise")


def text(cell):
    """A cell of the table."""
    if "loss" not in cell:
        return cell["verdict"]
    number = f"{cell['loss']:.0e}"
    if (cell["statistics"] or 0) > 1e-3:
        number += f" s{cell['statistics']:.0e}"
    marks = {"equal": "", "noise": " ~", "WRONG": " WRONG"}[cell["verdict"]]
    return number + marks + (" f" if cell["folded"] else "") + (" w" if cell["warned"] else "")


def line(row):
    cells = [text(row["cells"][key]) if (key := "-".join(file)) in row["cells"] else "" for file in FILES]
    exact = [f"{row['exact']:.0e}"] if "exact" in row else []
    rate = f"{row['lr']:.1e}" + (" <" if row["halvings"] else "")
    head = [row["model"], row["optimizer"], rate, f"{row['moves']:.0e}"]
    return "| " + " | ".join([*head, f"{row['noise']:.0e}", *cells, *exact]) + " |"


def table(rows):
    titles = ["model", "optimizer", "lr", "moves", "noise", *(f"{e} {f}" for e, f in FILES)]
    return ["| " + " | ".join(titles) + " |", "|---" * len(titles) + "|", *map(line, rows)]


def commit_here():
    """Of this checkout, as git names it; with -dirty where files differ."""
    done = subprocess.run(["git", "-C", HERE, "describe", "--always", "--dirty"], capture_output=True, text=True)
    return done.stdout.strip() or "an unknown commit"


def wrapped(item):
    return textwrap.fill(item, 120, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def commits(rows):
    """Which rows were computed at which commit."""
    at = collections.defaultdict(list)
    for row in rows:
        at[row.get("commit", "an unknown commit")].append(f"{row['model']} ({row['optimizer']})")
    if len(at) == 1:
        return [f"All at {next(iter(at))}."]
    return [wrapped(f"- at {commit}: {', '.join(found)}") for commit, found in at.items()]


def page(rows, version):
    """curves.md."""
    cells = [cell for row in rows for cell in row["cells"].values()]
    counts = collections.Counter(cell["verdict"] for cell in cells)
    reasons = collections.defaultdict(list)
    for row in rows:
        for file, cell in row["cells"].items():
            warned = [text for text in cell.get("warned", []) if cell["loss"] > 1e-6 and "folded batch norm" not in text]
            for why in [cell["why"]] if "why" in cell else warned:
                what = cell["verdict"] if "why" in cell else "warned"
                entry = f"{row['model']} {file}"
                if entry not in reasons[what, plain(why)]:
                    reasons[what, plain(why)].append(entry)
    told = [wrapped(f"- {what}: {', '.join(where)}: {why}") for (what, why), where in sorted(reasons.items())]
    return "\n".join([
        "# 20 steps as in PyTorch", "",
        "`compare.py --write` writes this page; the head of compare.py has the setting and the bounds. A cell is the largest",
        "relative difference of a loss. `<`: lr was halved until PyTorch's own noise was small; `~`: equal only within 10",
        "times that noise; `s`: the difference of running statistics; `f`: the exporter folded the batch norms, and they are",
        "folded in PyTorch, too; `w`: dlc compile warned. lr, the change of the loss by training, and the noise are PyTorch's.", "",
        f"{version}, torch {torch.__version__}: " + ", ".join(f"{n} {what}" for what, n in counts.most_common()) + ".",
        *commits(rows), "", *table(rows), "", "What was not trained, or not as PyTorch does:", "", *told, ""])


def plain(message):
    """Without places of this computer."""
    message = re.sub(r"\x1b\[\d+m|dlc \w+: exit \d+: |'?/tmp\S+|\S+\.onnx: ?", "", message)
    return message.partition("error: ")[2][:200].replace("|", "/") or message[:200].replace("|", "/").strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="models of zoo.py")
    parser.add_argument("--all", action="store_true", help="run every model of zoo.py")
    parser.add_argument("--dlc", default=os.path.join(HERE, "..", "build", "bin", "dlc"), help="the program dlc (default: ../build/bin/dlc)")
    parser.add_argument("--optimizer", choices=list(RATES), action="append", help="optimizer (default: the model's; with --all both)")
    parser.add_argument("--lr", type=float, help="learning rate (default: 0.002 for sgd, 0.001 for adamw)")
    parser.add_argument("--forms", default="train,eval", help="forms of the export (default: train,eval)")
    parser.add_argument("--exporters", default="script,dynamo", help="exporters (default: script,dynamo)")
    parser.add_argument("--keep", metavar="FOLDER", help="folder of exported files, which later runs reuse")
    parser.add_argument("--rows", metavar="FILE", help="JSON file of rows: new rows are added, existing ones are not computed again")
    parser.add_argument("--write", action="store_true", help="write the page curves.md beside this file")
    parser.add_argument("--exact", action="store_true", help="add a column: PyTorch's f32 against its f64")
    parser.add_argument("--verbose", action="store_true", help="print every loss")
    parser.add_argument("--commit", default=commit_here(), help="commit that dlc was built from (default: this checkout)")
    options = parser.parse_args()
    rows = [json.loads(text) for text in open(options.rows)] if options.rows and os.path.exists(options.rows) else []
    done = {(row["model"], row["optimizer"]) for row in rows}
    print(*table([]), sep="\n", flush=True)
    for name in zoo.names() if options.all else options.names:
        for optimizer in options.optimizer or (list(RATES) if options.all else [zoo.entry(name).optimizer]):
            if (name, optimizer) in done:
                continue
            rows.append(compare(name, optimizer, options))
            print(line(rows[-1]), flush=True)
            for cell in rows[-1]["cells"].items():
                if "why" in cell[1]:
                    print("   ", cell[0], cell[1]["verdict"], cell[1]["why"], flush=True)
            if options.rows:
                open(options.rows, "a").write(json.dumps(rows[-1]) + "\n")
    if options.write:
        version = subprocess.run([options.dlc, "--version"], capture_output=True, text=True).stdout.strip()
        open(os.path.join(HERE, "curves.md"), "w").write(page(rows, version))


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    main()
