# SPDX-License-Identifier: Apache-2.0
"""What a GPU's step of large models moves and launches: nobody makes it worse unseen. Compiled up to the plan, with weights of
holes; bytes are those of each kernel's schedule and each library call's buffers."""

import os
import re

import deep
import dlc

SIZES = {"f64": 8, "i64": 8, "f32": 4, "i32": 4, "f16": 2, "bf16": 2, "i8": 1, "i1": 1}


def bytes_of(memrefs):
    """Of all buffers in a list of types."""
    total = 0
    for shape in re.findall(r"memref<([^>]*)>", memrefs):
        *dims, element = shape.split("x")
        size = SIZES[element]
        for dim in dims:
            size *= int(dim)
        total += size
    return total


def costs(plan, program):
    """Bytes, launches and calls of one program of a plan's text."""
    kernels = dict(re.findall(r"exec\.kernel @(\S+) schedule = #exec\.schedule<[^>]*\bbytes = (\d+)>", plan))
    body = re.search(rf"exec\.program @{program} .*?\n  }}", plan, re.S).group(0)
    launches = re.findall(r"exec\.launch @(\S+) ", body)
    calls = re.findall(r'exec\.call "\w+" ins\((.*?)\) outs\((.*?)\)', body)
    moved = sum(int(kernels[name]) for name in launches) + sum(bytes_of(i) + bytes_of(o) for i, o in calls)
    return moved, len(launches), len(calls)


class Budgets(dlc.TestCase):
    def check(self, model, batch, gigabytes, launches, calls, *options):
        plan, _ = dlc.dlc("compile", model, "-o", "-", "--stop-after=plan", "--target=cuda", "--sm=90", f"--batch={batch}",
                          "--amp", "--amp-dtype=bf16", *options)
        found = costs(plan, "train_step")
        print(f"{os.path.basename(model)}: {found[0] / 1e9:.2f} GB, {found[1]} launches, {found[2]} calls")
        self.assertLessEqual(found[0], gigabytes * 1e9)
        self.assertLessEqual(found[1], launches)
        self.assertLessEqual(found[2], calls)
        # Who needs less lowers the budget, so that what was won stays.
        self.assertGreaterEqual(found[0], 0.98 * gigabytes * 1e9)
        self.assertGreaterEqual(found[1], 0.95 * launches)

    def test_resnet50(self):
        model = deep.resnet50(self.path("resnet50.onnx"), 256, 224, hollow=True)
        self.check(model, 256, 78.8, 240, 138)

    # Sums of bias gradients read more than products that have them too, and made a step 2 to 3 % shorter on an H200.
    def test_gpt2(self):
        model = deep.gpt2(self.path("gpt2.onnx"), 16, 1024, hollow=True)
        self.check(model, 16, 43.9, 101, 171, "--optimizer=adamw")

    def test_gpt2_clipped(self):
        """On several ranks, whose buckets part the gradients: one launch adds up the squares of all."""
        model = deep.gpt2(self.path("clipped.onnx"), 16, 1024, hollow=True)
        self.check(model, 16, 46.1, 150, 171, "--optimizer=adamw", "--ddp=8", "--clip-grad=1")

    def test_decoder_as_large_as_bert(self):
        model = deep.gpt2(self.path("decoder.onnx"), 32, 512, 24, 1024, 16, 30522, hollow=True)
        self.check(model, 32, 99.6, 188, 339, "--optimizer=adamw")


if __name__ == "__main__":
    dlc.main()
