# SPDX-License-Identifier: Apache-2.0
"""Builds the folder with which a machine that has a GPU, but neither a compiler nor LLVM, runs the tests of test/gpu
and the benchmarks: bash tools/gpu-package.sh calls it; test/device/README.md tells what to do with the folder.

It holds run.sh, tests.txt and payload.tar.xz: programs and the libraries that they want, compiled models and the
numbers that they must give (the CPU backend's, computed here, and PyTorch's of test/refs), packs of kernels, models for
benchmarks without their weights. Benchmarks of models that are not in models/ want a python with torch to export them:
DLC_PEER_PYTHON.
"""

import argparse
import glob
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from threading import Lock

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, "..", "support"))
import dlc  # noqa: E402

MOST_BYTES = 40 << 20  # where it travels: with the repository's own 22 MB it must stay under 64 MiB
STEPS = 20
PROGRAMS = ["gpu-device", "gpu-kernels", "gpu-training", "gpu-facts", "gpu-report", "gpu-bench"]
STANDINS = ["libcuda.so.1", "libcublasLt.so.13", "libcudnn.so.9", "libnccl.so.2", "libgpu_threads.so"]
# The system's own everywhere; libstdc++ and libgcc_s come along in case that they are too old.
SYSTEM = r"(linux-vdso|ld-linux-x86-64|libc|libm|libdl|libpthread|librt)\.so"
FALLBACK = r"(libstdc\+\+|libgcc_s)\.so"

# model: data (None: that of test/refs), options. The same as in test/support/gpu_models.py, which says why.
MODELS = {
    "mlp": ("digits-train", dict(batch=32, optimizer="sgd", lr=0.05, momentum=0.9)),
    "lenet": ("mnist-train", dict(batch=32, optimizer="sgd", lr=0.05, momentum=0.9)),
    "resnet8": (None, dict(batch=8, optimizer="sgd", lr=0.005, momentum=0.9)),
    "gpt_tiny": ("text-train", dict(batch=8, optimizer="adamw", lr=1e-3, weight_decay=0.01)),
}
PRECISIONS = {
    "f32": ({}, [1e-4] * 10 + [1e-3] * 10),
    "bf16": (dict(amp=True), [2e-2] * STEPS),
    "fp16": (dict(amp=True, amp_dtype="fp16", loss_scale_init=2.0**22), [2e-2] * STEPS),
}
CHECKS = {"mlp_f32": ["tuning"], "lenet_f32": ["graph", "deterministic", "tuning"], "resnet8_f32": ["graph"],
          "resnet8_bf16": ["graph", "deterministic"], "gpt_tiny_bf16": ["graph", "deterministic", "tuning"],
          "gpt_tiny_fp16": ["graph"]}
# As in test/e2e/refs_test.py; resnet8 amplifies rounding.
PYTORCH = {"sgd": dict(optimizer="sgd", lr=0.05, momentum=0.9, weight_decay=1e-4),
           "adamw": dict(optimizer="adamw", lr=1e-3, betas="0.9,0.999", eps=1e-8, weight_decay=1e-2)}
# Kernels of whole steps.
STEP_KERNELS = {
    "mlp-adamw": "mlp --optimizer=adamw --ema",
    "mlp-adagrad": "mlp --optimizer=adagrad --batch=7",
    "mlp-muon": "mlp --optimizer=muon",
    "lenet-bf16": "lenet --amp --optimizer=sgd --momentum=0.9 --ema --ddp=2",
    "resnet8-f32": "resnet8 --batch=4 --optimizer=sgd --momentum=0.9",
    "resnet8-bf16": "resnet8 --amp --batch=4 --optimizer=rmsprop",
    "resnet8-generated": "resnet8 --amp --batch=16 --matmul=generated",
    "resnet8-fp16": "resnet8 --amp --amp-dtype=fp16 --batch=4 --optimizer=lamb",
    "gpt_tiny-f32": "gpt_tiny --batch=2 --optimizer=adamw",
    "gpt_tiny-bf16": "gpt_tiny --amp --batch=2 --optimizer=lion",
    "gpt_tiny-fp16": "gpt_tiny --amp --amp-dtype=fp16 --batch=3 --optimizer=adam",
    "gpt_tiny-generated": "gpt_tiny --amp --batch=2 --matmul=generated --attention=generated",
}
MOST_ELEMENTS = 300000
SGD, ADAMW = dict(optimizer="sgd", lr=0.1, momentum=0.9), dict(optimizer="adamw", lr=1e-4, weight_decay=0.01)
# benchmark: model, options of dlc compile, and what PyTorch makes of it
BENCHMARKS = {
    "mlp": ("mlp", dict(batch=64, **SGD)),
    "lenet": ("lenet", dict(batch=64, **SGD)),
    "resnet50-bf16": ("resnet50", dict(batch=256, amp=True, **SGD)),
    "resnet50-library": ("resnet50", dict(batch=256, amp=True, matmul="library", **SGD)),
    "resnet50-fp16": ("resnet50", dict(batch=256, amp=True, amp_dtype="fp16", **SGD)),
    "gpt2-bf16": ("gpt2", dict(batch=32, amp=True, **ADAMW)),
    "gpt2-generated": ("gpt2", dict(batch=32, amp=True, attention="generated", **ADAMW)),
    "vit_b-bf16": ("vit_b", dict(batch=128, amp=True, **ADAMW)),
    "bert_large-bf16": ("bert_large", dict(batch=16, amp=True, **ADAMW)),
}
# Stand-ins get these with fewer and smaller layers, and a batch of 2.
LARGE = ["resnet50", "gpt2", "vit_b", "bert_large"]


class Package:
    def __init__(self, options):
        self.options = options
        self.root = tempfile.mkdtemp(prefix="dlc-gpu-package-")
        self.jobs = ThreadPoolExecutor(options.jobs)
        self.exporting = Lock()
        self.cases, self.notes = [], []

    def path(self, *parts):
        path = os.path.join(self.root, *parts)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return path

    def run(self, program, *words):
        run = subprocess.run([program, *words], capture_output=True, text=True)
        if run.returncode:
            raise RuntimeError(f"{program} {' '.join(words)}: exit code {run.returncode}\n{run.stdout}{run.stderr}")

    def tool(self, folder, name):
        return os.path.join(dlc.BUILD, folder, name)

    # Programs.

    def add_programs(self):
        programs = [dlc.DLC] + [self.tool("test", name) for name in PROGRAMS]
        libraries = {}
        for program in programs:
            self.copy_stripped(program, self.path("bin", os.path.basename(program)))
            libraries |= self.libraries_of(program)
        for name, path in libraries.items():
            self.copy_stripped(path, self.path("fallback" if re.match(FALLBACK, name) else "lib", name))
        if self.options.standins:
            for name in STANDINS:
                self.copy_stripped(self.tool("test/pretend/libraries", name), self.path("standins", name))

    def libraries_of(self, program):
        out = subprocess.run(["ldd", program], check=True, capture_output=True, text=True).stdout
        found = dict(re.findall(r"^\s*(\S+) => (/\S+)", out, re.MULTILINE))
        if "not found" in out:
            raise RuntimeError(f"{program} lacks libraries:\n{out}")
        return {name: path for name, path in found.items() if not re.match(SYSTEM, name)}

    def copy_stripped(self, source, target):
        shutil.copyfile(source, target)
        shutil.copymode(source, target)
        subprocess.run(["strip", "--strip-unneeded", target], check=True)
        # Libraries are those of the package, by LD_LIBRARY_PATH, not of where it was built.
        subprocess.run(["cmake", f"-DFILE={target}", "-P", os.path.join(dlc.ROOT, "tools", "cmake", "RemoveRpath.cmake")],
                       check=True)

    # Compiled models.

    def compile(self, model, target, **options):
        dlc.dlc("compile", model, "-o", target, timeout=1200, quiet=True, target="cuda", sm=self.options.sm, **options)

    def program_text(self, model, **options):
        text, _ = dlc.dlc("compile", model, "-o", "-", stop_after="plan", target="cuda", sm=self.options.sm, **options)
        path = tempfile.mktemp(prefix="plan-", suffix=".mlir", dir=self.path("tmp", ""))
        with open(path, "w") as file:
            file.write(text)
        return path

    def add_host_kernels(self, model, artifact, **options):
        if self.options.standins:
            self.run(self.tool("bin", "dlc-host-kernels"), self.program_text(model, **options), artifact + ".host.so",
                     self.options.sm.split(",")[0])

    # Training runs and their numbers.

    def add_case(self, name, model, data, options, words, expected):
        """expected: (key, from, values, tolerances), and True if values are counted: Cases.h."""
        artifact = f"artifacts/{name}.dlc"
        self.compile(dlc.model(model), self.path(artifact), **options)
        self.add_host_kernels(dlc.model(model), self.path(artifact), **options)
        keys = ["key", "from", "values", "tolerances", "counts"]
        self.cases.append(dict(name=name, artifact=artifact, data=data, steps=STEPS, words=words,
                               expected=[dict(zip(keys, [*e, False])) for e in expected], checks=CHECKS.get(name, [])))

    def add_trained_case(self, model, precision, variant="", both={}, **for_cuda):
        name = f"{model}{variant}_{precision}"
        data, options = MODELS[model]
        extra, tolerances = PRECISIONS[precision]
        options, file = dict(options, **extra, **both), f"data/{name}.npz"
        if data:
            shutil.copyfile(dlc.data(data), self.path(file))
        else:
            dlc.Reference(model).write(self.path(file))
        with tempfile.TemporaryDirectory(prefix="dlc-cpu-") as folder:
            artifact = dlc.compile(dlc.model(model), folder + "/cpu.dlc", **options)
            run = dlc.train(artifact, self.path(file), folder + "/run", steps=STEPS, seed=1, threads=1, quiet=True)
            expected = [("loss", "the CPU backend", run.metrics("loss").tolist(), tolerances)]
            if precision == "fp16":
                # A fused kernel may keep in f32 what overflows on the CPU: one step may be skipped or not.
                expected.append(("found_inf", "the CPU backend", run.metrics("found_inf").tolist(), [1], True))
        self.add_case(name, model, file, dict(options, **for_cuda), ["--seed=1"], expected)

    def add_generated_case(self, precision):
        """Products and attention by kernels of our own instead of libraries."""
        self.add_trained_case("gpt_tiny", precision, "_generated", matmul="generated", attention="generated")

    def add_rows_case(self, precision):
        """Rows of an embedding table, found by comparing pairs."""
        self.add_trained_case("gpt_tiny", precision, "_rows", both=dict(sparse_embeddings="lazy"))

    def add_norm_case(self, model):
        """Norms by cuDNN instead of kernels of our own."""
        self.add_trained_case(model, "bf16", "_norms", norm="library")

    def add_pytorch_case(self, model, optimizer):
        reference, name = dlc.Reference(model), f"{model}_{optimizer}_pytorch"
        file = reference.write(self.path("data", f"{model}_refs.npz"))
        tolerances = [1e-4] * STEPS
        if model == "resnet8":
            tolerances = [1e-4] * 5 + [2e-2] * 15
        losses = reference.arrays[f"losses_{optimizer}"].tolist()
        self.add_case(name, model, os.path.relpath(file, self.root), dict(PYTORCH[optimizer], batch=reference.batch),
                      ["--shuffle=off"], [("loss", "PyTorch", losses, tolerances)])

    def add_large_case(self):
        """Wants gigabytes: for a GPU that is full."""
        shutil.copyfile(dlc.data("text-train"), self.path("data/gpt_tiny_large.npz"))
        CHECKS["gpt_tiny_large"] = ["memory"]
        self.add_case("gpt_tiny_large", "gpt_tiny", "data/gpt_tiny_large.npz", dict(batch=8192, optimizer="sgd"), [], [])

    # Kernels alone.

    def add_patterns(self):
        self.run(self.tool("bin", "dlc-kernel-pack"), "patterns", self.path("packs/patterns"),
                 self.options.sm.split(",")[0])

    def add_attention(self):
        self.run(self.tool("bin", "dlc-kernel-pack"), "attention", self.path("packs/patterns/attention"),
                 self.options.sm.split(",")[0])

    def add_ops(self, file, dtype):
        name = os.path.basename(file).removesuffix(".mlir")
        self.run(self.tool("bin", "dlc-kernel-pack"), f"ops:{dtype}:{file}", self.path("packs/ops", f"{name}-{dtype}"),
                 self.options.sm.split(",")[0])

    def add_matrix_kernels(self):
        """To be timed: too large for a GPU's cache."""
        size = "16x512" if self.options.standins else "16384x4096"
        self.run(self.tool("bin", "dlc-kernel-pack"), "matrix:" + size, self.path("packs/matrix"),
                 self.options.sm.split(",")[0])

    def add_step_kernels(self, name):
        model, *words = STEP_KERNELS[name].split()
        text, _ = dlc.dlc("compile", dlc.model(model), "-o", "-", "--stop-after=plan", "--target=cuda", *words)
        path = self.path("tmp", name + ".mlir")
        with open(path, "w") as file:
            file.write(text)
        self.run(self.tool("bin", "dlc-kernel-pack"), path, self.path("packs/steps", name),
                 self.options.sm.split(",")[0], str(MOST_ELEMENTS))

    # Benchmarks.

    def model_file(self, model):
        """The ONNX file; None if nothing here can make it."""
        kept = os.path.join(self.options.models or self.path("onnx", ""), model + ".onnx")
        python = os.environ.get("DLC_PEER_PYTHON")
        if os.path.exists(dlc.model(model)):
            return dlc.model(model)
        with self.exporting:  # several benchmarks are of one model
            if not os.path.exists(kept) and python:
                self.run(python, os.path.join(dlc.MODELS, "export.py"), model, "-o", os.path.dirname(kept))
        return kept if os.path.exists(kept) else None

    def add_benchmark(self, name):
        model, options = BENCHMARKS[name]
        if self.options.standins:
            model, options = model + "_small" * (model in LARGE), dict(options, batch=2)
        source = self.model_file(model)
        if not source:
            self.notes.append(f"no benchmark of {name}: DLC_PEER_PYTHON names no python with torch")
            return
        artifact = self.path("bench", name + ".dlc")
        self.compile(source, artifact, **options)
        self.add_host_kernels(source, artifact, **options)
        self.run(self.tool("test", "gpu-bench"), "shrink", artifact)
        os.remove(os.path.join(artifact, "model.mlir"))
        with open(self.path("bench", name + ".json"), "w") as file:
            json.dump(dict(options, name=name, model=model), file)

    # All of it.

    def fill(self):
        quick = self.options.quick
        self.add_programs()
        models = ["mlp"] if quick else list(MODELS)
        todo = [(self.add_matrix_kernels,)] + ([] if quick else [(self.add_patterns,), (self.add_attention,)])
        todo += [(self.add_ops, file, dtype) for dtype in ("f32", "bf16", "f16")
                 for file in sorted(glob.glob(os.path.join(here, "..", "ops", "*.mlir")))
                 if not quick or (dtype == "bf16" and file.endswith("kinks.mlir"))]
        todo += [(self.add_step_kernels, name) for name in STEP_KERNELS if not quick or name == "mlp-adamw"]
        todo += [(self.add_trained_case, m, p) for m in models for p in PRECISIONS if not quick or p != "bf16"]
        todo += [(self.add_pytorch_case, m, o) for m in models for o in PYTORCH if not quick or o == "sgd"]
        todo += [(self.add_benchmark, name) for name in BENCHMARKS if not quick or name == "mlp"]
        if not quick:
            todo += [(self.add_large_case,), (self.add_generated_case, "bf16"), (self.add_generated_case, "fp16"),
                     (self.add_norm_case, "resnet8"), (self.add_norm_case, "gpt_tiny"),
                     (self.add_rows_case, "f32"), (self.add_rows_case, "bf16")]
        try:
            for job in [self.jobs.submit(function, *words) for function, *words in todo]:
                job.result()
        finally:
            self.jobs.shutdown(cancel_futures=True)
        self.cases.sort(key=lambda case: case["name"])
        with open(self.path("cases.json"), "w") as file:
            json.dump(self.cases, file)
        shutil.copyfile(os.path.join(here, "package", "commands.sh"), self.path("commands.sh"))
        shutil.copyfile(os.path.join(here, "..", "bench", "gpu_torch.py"), self.path("bench_torch.py"))
        shutil.copyfile(os.path.join(dlc.MODELS, "export.py"), self.path("export.py"))
        if not self.options.standins:
            for path in glob.glob(self.root + "/packs/**/host.so", recursive=True):
                os.remove(path)
        for folder in "tmp", "onnx":
            shutil.rmtree(self.path(folder), ignore_errors=True)

    def write(self):
        """The folder, complete or not at all: (bytes, notes)."""
        target = os.path.abspath(self.options.output)
        new = target + ".new"
        shutil.rmtree(new, ignore_errors=True)
        os.makedirs(new)
        payload = os.path.join(new, "payload.tar.xz")
        level = "-0" if self.options.quick else "-6"
        subprocess.run(["tar", "-C", self.root, "--owner=0", "--group=0", "-I", f"xz -T0 {level}", "-cf", payload, "."],
                       check=True)
        with open(payload, "rb") as file:
            number = hashlib.file_digest(file, "sha256").hexdigest()[:16]
        with open(os.path.join(new, "payload.id"), "w") as file:
            file.write(number + "\n")
        for name in "run.sh", "tests.txt":
            shutil.copyfile(os.path.join(here, "package", name), os.path.join(new, name))
        size = sum(os.path.getsize(os.path.join(new, name)) for name in os.listdir(new))
        if size > MOST_BYTES and not self.options.standins:
            shutil.rmtree(new)
            raise RuntimeError(f"the package has {size} bytes, at most {MOST_BYTES} expected: {new}")
        shutil.rmtree(target, ignore_errors=True)
        os.rename(new, target)
        return size


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--output", default=os.path.join(dlc.ROOT, "gpu-package"), metavar="FOLDER")
    parser.add_argument("--sm", default="90", help="compute capabilities, as --sm of dlc compile (default 90)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--models", metavar="FOLDER", help="where exported models are kept and looked for")
    parser.add_argument("--standins", action="store_true", help="include stand-ins for the GPU, to try the package without one")
    parser.add_argument("--quick", action="store_true", help="a small part, to test this script")
    package = Package(parser.parse_args())
    try:
        package.fill()
        size = package.write()
    finally:
        shutil.rmtree(package.root, ignore_errors=True)
    for note in package.notes:
        print("note:", note)
    print(f"{package.options.output}: {size / 2**20:.1f} MiB, {len(package.cases)} training runs")


if __name__ == "__main__":
    main()
