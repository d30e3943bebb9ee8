# SPDX-License-Identifier: Apache-2.0
"""Writes graphs.txt: every command of cuDNN's in the training steps of eight models, each once, and forms of attention
that no model here has. Answers of lines that stay are kept; CudnnPlans.cpp finds the others (README.md).

    python make_graphs.py FOLDER    # with NAME.onnx, as models/export.py NAME -o FOLDER writes them
"""

import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
DLC = os.path.join(os.environ.get("DLC_BUILD", os.path.join(ROOT, "build")), "bin", "dlc")
BATCHES = {"gpt2": 8, "bert_large": 8, "vit_b": 16, "resnet50": 32, "resnet18": 32, "mobilenet_v3_small": 32,
           "unet": 8, "llama_mini": 8}
# Batch, heads, queries, keys, head size, causal, mask: what test/device/AttentionCases.h has, and large heads.
FORMS = [
    (2, 3, 64, 64, 32, 0, ()), (1, 2, 128, 128, 128, 0, ()), (1, 1, 64, 64, 8, 0, ()), (1, 2, 64, 96, 40, 0, ()),
    (1, 2, 96, 96, 96, 1, ()), (2, 2, 37, 53, 64, 0, ()), (2, 3, 67, 67, 32, 1, ()), (1, 2, 40, 129, 64, 1, ()),
    (1, 2, 129, 40, 64, 1, ()), (2, 2, 2, 70, 64, 0, ()), (2, 2, 1, 70, 64, 0, ()), (2, 2, 1, 1, 64, 0, ()),
    (2, 2, 64, 64, 64, 0, (2, 1, 64, 64)), (2, 3, 64, 128, 32, 0, (1, 3, 64, 128)),
    (2, 2, 37, 53, 64, 0, (1, 1, 37, 53)), (2, 2, 65, 65, 64, 1, (2, 1, 65, 65)),
    (2, 2, 64, 64, 128, 0, (2, 2, 64, 64)),
    (2, 4, 256, 256, 136, 1, ()), (2, 4, 256, 256, 192, 1, ()), (2, 4, 256, 256, 256, 0, ()),
    (2, 4, 256, 256, 256, 1, ()), (2, 4, 250, 250, 256, 1, ()), (2, 4, 256, 256, 256, 0, (2, 1, 256, 256)),
    (2, 4, 256, 256, 264, 1, ())]


def type_of(memref):
    *shape, element = memref.split("x")
    return f"{element}[{','.join(shape)}]"


def value_of(text):
    if text.startswith("array"):
        return "[" + ",".join(re.findall(r"-?\d+", text.split(":", 1)[-1])) + "]" if ":" in text else "[]"
    if text.startswith('"'):
        return text.strip('"')
    number, _, kind = text.partition(" : ")
    return f"{float(number):.9g}" if kind.startswith("f") else number


def attributes_of(text):
    found = re.findall(r'(\w+)(?: = (array<[^>]*>|"[^"]*"|[^,]+))?(?:, |$)', text)
    return [f"{name}={value_of(value) if value else 1}" for name, value in found]


def graphs_of(program):
    """The commands of conv, attention and norms in it."""
    call = re.compile(r'exec\.call "((?:conv|attention|fused_\w+_norm)\w*)" ins\([^:]*: ([^)]*)\) '
                      r"outs\([^:]*: ([^)]*)\) \{([^}]*)\}")
    for kind, inputs, outputs, attributes in call.findall(program):
        ins, outs = ([type_of(t) for t in re.findall(r"memref<([^>]*)>", side)] for side in (inputs, outputs))
        yield " ".join([kind, *ins, "->", *outs, *attributes_of(attributes)])


def plan(model, *options):
    command = [DLC, "compile", model, "--target=cuda", "--sm=80,90,100", "--stop-after=plan", "--emit=mlir", *options]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def forms():
    for batch, heads, queries, keys, depth, causal, mask in FORMS:
        for dtype in ["bf16", "f16"] if depth == 64 else ["bf16"]:
            q, k = (f"{dtype}[{batch},{length},{heads},{depth}]" for length in (queries, keys))
            sums = f"f32[{batch},{heads},{queries},1]"
            added = [f"{dtype}[{','.join(map(str, mask))}]"] if mask else []
            options = [f"causal={causal}"] * causal + [f"has_mask={int(bool(mask))}", "layout=bthd",
                                                       f"scale={depth ** -0.5:.9g}"]
            yield " ".join(["attention", q, k, k, *added, "->", q, sums, *options])
            yield " ".join(["attention_backward", q, q, k, k, q, sums, *added, "->", q, k, k, *options])


def main():
    models = {}  # of each graph
    for name, batch in BATCHES.items():
        path = os.path.join(sys.argv[1], name + ".onnx")
        for options in [["--amp"], ["--amp", "--norm=library"], ["--amp", "--amp-dtype=fp16"]]:
            # f16: convolutions and norms are as those of bf16.
            only = "attention" if options[-1].endswith("fp16") else ""
            for graph in graphs_of(plan(path, f"--batch={batch}", *options)):
                if graph.startswith(only):
                    models.setdefault(graph, {})[name] = None
    for graph in forms():
        models.setdefault(graph, {"forms": None})
    path = os.path.join(HERE, "graphs.txt")
    known = {}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            known = {line.split(" | ")[1]: line.rstrip("\n").split(" | ")[2:] for line in file}
    with open(path, "w", encoding="utf-8") as file:
        for graph, names in models.items():
            file.write(" | ".join([" ".join(names), graph, *known.get(graph, ["?"] * 3)]) + "\n")
    print(f"{len(models)} graphs")


if __name__ == "__main__":
    main()
