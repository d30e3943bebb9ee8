# SPDX-License-Identifier: Apache-2.0
"""Compares the time of training steps of dlc and PyTorch, which take turns, each in its own process.

    DLC_PEER_PYTHON=/path/to/python-with-torch  python test/bench/step_time.py [MODEL...]
        --rounds=3 --steps=50 --threads=2 --amp --peers=eager,channels_last,compile --json=FILE --busy

All train with SGD and momentum on the same random samples. Prints a line per side: milliseconds of a step (shortest,
median; spread: the interquartile range over the median; and of processor time after the first step, which other
programs disturb least, dlc's with its checkpoint at the end), seconds from the process's start to its first step's end,
seconds of dlc compile, peak memory (PyTorch's without its import), PyTorch's median over dlc's (above 1: dlc
is faster), and the share of the roofline that the shortest step reaches: the step's operations and bytes, convolutions in
direct form, at the rates that dlc doctor bench machine measures before each turn of dlc (-: its runs disagreed). Steps
that warm up are not counted. A peer that fails is reported and left out; if dlc fails, the exit code is 1. Not a ctest
test: without DLC_PEER_PYTHON the script prints a message and ends. If other programs use the processors before a model,
the script ends, unless --busy is given.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import namedtuple

import numpy as np

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, "..", "support"))
import dlc  # noqa: E402

os.environ["PYTHONDONTWRITEBYTECODE"] = "1"  # the peer imports from models/, whose size a test watches

# shape: of a sample; tokens below `classes` where it has one dimension. labels: shape of a sample's; None: as its tokens,
# or one of an image. steps: of a turn.
Row = namedtuple("Row", "shape classes batch steps labels", defaults=[None])
PICTURE = (3, 224, 224)
MODELS = {
    "mlp": Row((1, 8, 8), 10, 64, 200),
    "lenet": Row((1, 28, 28), 10, 64, 200),
    "resnet18": Row(PICTURE, 1000, 8, 15),
    "resnet50": Row(PICTURE, 1000, 8, 12),
    "mobilenet_v3_small": Row(PICTURE, 1000, 16, 20),
    "vit_tiny": Row(PICTURE, 1000, 8, 15),
    "gpt_mini": Row((256,), 96, 8, 15),
    "resnet8": Row((3, 32, 32), 10, 32, 100),
    "gpt_tiny": Row((32,), 96, 16, 100),
    "densenet121": Row(PICTURE, 1000, 8, 12),
    "efficientnet_b0": Row(PICTURE, 1000, 8, 12),
    "convnext_tiny": Row(PICTURE, 1000, 4, 12),
    "unet": Row((3, 128, 128), 4, 4, 15, (128, 128)),
    "bert_mini": Row((128,), 8192, 8, 15),
    "llama_mini": Row((256,), 4096, 4, 15),
    "lstm": Row((64,), 256, 32, 15, ()),
}
SETS = {
    "seven": ["mlp", "lenet", "resnet18", "resnet50", "mobilenet_v3_small", "vit_tiny", "gpt_mini"],
    "also": ["densenet121", "efficientnet_b0", "convnext_tiny", "unet", "bert_mini", "llama_mini", "lstm"],
    "small": ["mlp", "lenet", "resnet8", "gpt_tiny"],
}
PEERS = ["eager", "channels_last", "compile"]
WARM_UP = 5  # steps left out
MOST_BUSY = 0.1  # of all processors, for figures that say something
BATCHES = 4  # different ones


def write_data(path, name):
    row, random = MODELS[name], np.random.RandomState(0)
    n, tokens = row.batch * BATCHES, len(row.shape) == 1
    labels = (row.shape if tokens else ()) if row.labels is None else row.labels
    x = random.randint(0, row.classes, (n, *row.shape)) if tokens else random.randn(n, *row.shape).astype(np.float32)
    np.savez(path, x=x, y=random.randint(0, row.classes, (n, *labels)))


def model_file(name, folder, python):
    if os.path.exists(dlc.model(name)):
        return dlc.model(name)
    script = os.path.join(dlc.MODELS, "export.py")
    subprocess.run([python, script, name, "-o", folder], check=True, stdout=subprocess.DEVNULL)
    return os.path.join(folder, name + ".onnx")


def busy_share(seconds=1.0):
    """Of all processors: what programs, the host of a virtual machine included, take of them while this one waits."""
    def ticks():
        with open("/proc/stat") as file:
            numbers = [int(word) for word in file.readline().split()[1:9]]
        return sum(numbers), numbers[3] + numbers[4]  # idle, waiting for a disk
    all_before, idle_before = ticks()
    time.sleep(seconds)
    all_after, idle_after = ticks()
    return 1 - (idle_after - idle_before) / max(all_after - all_before, 1)


def refuse_if_busy(options):
    if not options.busy and (share := busy_share()) > MOST_BUSY:
        sys.exit(f"step_time: other programs take {100 * share:.0f} % of the processors: stop them, or give --busy")


def processor_seconds(pid):
    """Used so far, in ticks of 10 ms, by a process that nobody has waited for."""
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def peak_mib(pid):
    """Of a running process; wait4's figure includes the memory of the process that started it."""
    with open(f"/proc/{pid}/status") as file:
        peaks = [line.split()[1] for line in file if line.startswith("VmHWM")]
    return int(peaks[0]) / 1024 if peaks else 0  # none: it has ended


def train_dlc(artifact, data, run, row, options):
    """As torch_step.py prints it."""
    steps = options.steps or row.steps
    command = [dlc.DLC, "train", artifact, *dlc.flags(dict(data=data, run=run, steps=steps, save_every=steps,
                                                           threads=options.threads, shuffle="off"))]
    metrics, first, used, peak, began = os.path.join(run, "metrics.jsonl"), None, 0, 0, time.time()
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
        while True:
            if first is None and os.path.exists(metrics) and os.path.getsize(metrics):
                first, used = time.time() - began, processor_seconds(process.pid)
            peak = max(peak, peak_mib(process.pid))
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                break
            time.sleep(0.002 if first is None else 0.05)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            log.seek(0)
            raise AssertionError(log.read().decode(errors="replace")[-2000:])
    if first is None:
        raise AssertionError("the run had ended before its first step was seen")
    steps = 1e3 * row.batch / dlc.Run(run).metrics("samples_per_second")
    cpu = 1e3 * (usage.ru_utime + usage.ru_stime - used) / (steps.size - 1)
    return dict(steps=steps.tolist(), cpu_ms=cpu, first=first, import_mib=0, peak_mib=peak)


def train_torch(name, form, data, options, python):
    row = MODELS[name]
    command = [python, os.path.join(here, "torch_step.py"), name, data, row.batch, options.steps or row.steps,
               options.threads, "amp" if options.amp else "f32", form, time.time()]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode:
        raise AssertionError(done.stderr.strip()[-2000:])
    return json.loads(done.stdout.splitlines()[-1])


def peak_rates(options, folder):
    """What dlc doctor bench machine measures now: clocks change within minutes. None where its runs disagree."""
    done = subprocess.run([dlc.DLC, "doctor", "bench", "machine", "--json", f"--threads={options.threads}"], capture_output=True,
                          text=True, env=dict(os.environ, DLC_CACHE_DIR=folder))
    return json.loads(done.stdout) if done.returncode == 0 else None


def roofline_ms(artifact, rates, options):
    """The least that the step's operations, convolutions in direct form, and its bytes take at the best rates that were seen."""
    step = json.loads(dlc.dlc("inspect", artifact, json=True)[0])["programs"]["train_step"]
    best = lambda key: max(its[key] for its in rates)
    flops = best("bf16_flops" if options.amp and best("bf16_flops") else "f32_flops")
    return 1e3 * max(step["flops"] / flops, step["bytes"] / best("bandwidth"))


def summary(turns):
    """Of the turns of one side."""
    steps = np.array([step for turn in turns for step in turn["steps"][WARM_UP:]], float)
    low, median, high = np.percentile(steps, [25, 50, 75])
    return dict(least_ms=steps.min(), median_ms=median, spread=(high - low) / median,
                cpu_ms=np.median([turn["cpu_ms"] for turn in turns]),
                first_s=np.median([turn["first"] for turn in turns]),
                memory_mib=max(turn["peak_mib"] - turn["import_mib"] for turn in turns))


def measure(name, options, python):
    """{side: its figures, or its error}"""
    row, turns, errors, rates = MODELS[name], {"dlc": []}, {}, []
    with tempfile.TemporaryDirectory(prefix="dlc-bench-") as folder:
        data = os.path.join(folder, "data.npz")
        write_data(data, name)
        model = model_file(name, folder, python)
        began = time.time()
        artifact = dlc.compile(model, os.path.join(folder, "m.dlc"), loss="cross_entropy",
                               optimizer="sgd(momentum=0.9)", lr=0.001, schedule="constant", batch=row.batch,
                               amp=options.amp, timeout=600)
        compile_s = time.time() - began
        for number in range(options.rounds):
            rates.append(peak_rates(options, folder))
            turns["dlc"].append(train_dlc(artifact, data, os.path.join(folder, f"run{number}"), row, options))
            for form in options.peers:
                if form in errors or form == "channels_last" and len(row.shape) != 3:
                    continue
                try:
                    turns.setdefault(form, []).append(train_torch(name, form, data, options, python))
                except AssertionError as error:
                    errors[form] = str(error)
                    turns.pop(form, None)
        rates = list(filter(None, rates))
        bound = roofline_ms(artifact, rates, options) if rates else None
    found = {side: summary(its) for side, its in turns.items()}
    found["dlc"] |= dict(compile_s=compile_s, batch=row.batch)
    for form in found:
        found[form]["roofline"] = bound and bound / found[form]["least_ms"]
        found[form]["over_dlc"] = found[form]["median_ms"] / found["dlc"]["median_ms"]
        found[form]["cpu_over_dlc"] = found[form]["cpu_ms"] / found["dlc"]["cpu_ms"]
    return found | {form: dict(error=error) for form, error in errors.items()}


def show(name, found):
    for side, its in found.items():
        if "error" in its:
            print(f"{name:18s} {side:13s} fails: {(its['error'].splitlines() or ['?'])[-1]}", flush=True)
            continue
        compiled = f"{its['compile_s']:9.2f}" if "compile_s" in its else f"{'-':>9s}"
        share = f"{100 * its['roofline']:6.0f}" if its["roofline"] else f"{'-':>6s}"
        print(f"{name:18s} {side:13s} {its['least_ms']:9.3f} {its['median_ms']:9.3f} {100 * its['spread']:6.1f}"
              f" {its['cpu_ms']:9.3f} {its['first_s']:9.2f} {compiled} {its['memory_mib']:8.0f} {its['over_dlc']:8.2f}"
              f" {its['cpu_over_dlc']:8.2f} {share}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="MODEL", help="models or sets of them, of " + " ".join([*SETS, *MODELS]))
    parser.add_argument("--rounds", type=int, default=3, help="turns of each side (default: 3)")
    parser.add_argument("--steps", type=int, help="steps per turn, more than %d (default: the model's)" % WARM_UP)
    parser.add_argument("--threads", type=int, default=2, help="threads of each side (default: 2)")
    parser.add_argument("--amp", action="store_true", help="train in bf16 on both sides")
    parser.add_argument("--peers", type=lambda text: text.split(","), default=PEERS, help="forms of PyTorch, of " + ",".join(PEERS) + " (default: all)")
    parser.add_argument("--busy", action="store_true", help="measure even if other programs run")
    parser.add_argument("--json", metavar="FILE", help="file of the results as JSON, with complete error messages")
    options = parser.parse_args()
    names = [name for word in options.names or ["small"] for name in SETS.get(word, [word])]
    for name in names:
        if name not in MODELS:
            parser.error(f"unknown model {name}; there are {' '.join([*SETS, *MODELS])}")
    for form in options.peers:
        if form not in PEERS:
            parser.error(f"unknown peer {form}; there are {' '.join(PEERS)}")
    if options.steps is not None and options.steps <= WARM_UP:
        parser.error(f"--steps must be more than the {WARM_UP} that warm up")

    python = os.environ.get("DLC_PEER_PYTHON")
    if not python:
        sys.exit("step_time: skipped: set DLC_PEER_PYTHON to a python that has torch")
    print("                                             step, ms                s         s      MiB         / dlc's  roof-")
    print("model              side              least    median spread%      CPU     first   compile   memory   median      CPU line%")
    results, failed = {}, False
    for name in names:
        refuse_if_busy(options)
        try:
            results[name] = measure(name, options, python)
        except (AssertionError, subprocess.CalledProcessError) as error:
            results[name], failed = {"dlc": dict(error=str(error))}, True
        show(name, results[name])
        if options.json:  # what is known, should a later model be stopped
            with open(options.json, "w") as file:
                json.dump(dict(threads=options.threads, amp=options.amp, rounds=options.rounds, models=results), file, indent=1)
    best = [min(its["over_dlc"] for side, its in found.items() if side != "dlc" and "over_dlc" in its)
            for found in results.values() if sum("over_dlc" in its for its in found.values()) > 1]
    if best:
        print(f"geometric mean of the best peer's / dlc, {len(best)} models: {np.exp(np.mean(np.log(best))):.2f},"
              f" worst {min(best):.2f}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
