# SPDX-License-Identifier: Apache-2.0
"""Every kernel of whole training steps: the GPU's form in the emulator against the CPU's."""

import os
import re
import subprocess
import tempfile
import unittest

import dlc

EMULATE = os.path.join(dlc.BUILD, "bin", "dlc-emulate")
MOST_ELEMENTS = 300000
STEPS = {
    "mlp": "mlp --optimizer=adamw --ema",
    "lenet in bf16": "lenet --amp --optimizer=sgd --momentum=0.9 --ema --ddp=2",
    "resnet8 in bf16": "resnet8 --amp --batch=4 --optimizer=rmsprop",
    "resnet8 in fp16": "resnet8 --amp --amp-dtype=fp16 --batch=4 --optimizer=lamb",
    "gpt_tiny in bf16": "gpt_tiny --amp --batch=2 --optimizer=lion",
    "sums of columns beside rows": "gpt_tiny --batch=128 --optimizer=adamw",
    "gpt_tiny in fp16": "gpt_tiny --amp --amp-dtype=fp16 --batch=3 --optimizer=adam",
    "generated products in bf16": "gpt_tiny --amp --batch=2 --matmul=generated",
    "generated products in fp16": "gpt_tiny --amp --amp-dtype=fp16 --batch=1 --matmul=generated",
    "generated attention in bf16": "gpt_tiny --amp --batch=2 --attention=generated",
    "documents in a row": "pack_gpt --pack --amp --attention=generated --loss=cross_entropy",
    "documents in a row, attention as products": "pack_llama --pack --loss=cross_entropy",
    "norms of all gradients": "lenet --amp --amp-dtype=fp16 --optimizer=adamw --clip-grad=1 --ddp=2",
    "sums of parts": "lenet --optimizer=adamw --ddp=2 --zero=2 --clip-grad=1",
    "sums of parts in fp16": "lenet --amp --amp-dtype=fp16 --optimizer=sgd --ddp=2 --zero=3 --clip-grad=1",
    "adagrad": "mlp --optimizer=adagrad --batch=7",
    "muon": "mlp --optimizer=muon",
    "adafactor": "lenet --optimizer=adafactor --moments=bf16 --batch=4",
    "moments in 8 bits": "gpt_tiny --amp --batch=2 --optimizer=adamw --moments=8bit --clip-grad=1 --ema",
    "moments in 8 bits, with a last block that is shorter": "lenet --batch=4 --optimizer=adam --moments=8bit",
    "nadam and lars": "mlp --optimizer=nadam --optimizer-group=f1:lars",
    "a U-Net in bf16": "zoo_unet-script-train --amp",
    "experts in fp16": "zoo_experts-dynamo-eval --amp --amp-dtype=fp16",
    "rows of embedding tables": "pack_gpt --batch=2 --optimizer=adam --sparse-embeddings=lazy",
    "a detector's own loss": "zoo_yolo-script-train --loss=out:graph",
}


def plan_of(name):
    """The program of a step, down to its commands and kernels."""
    model, *options = STEPS[name].split()
    file = os.path.join(dlc.REFS, model + ".onnx") if model.startswith(("zoo_", "pack_")) else dlc.model(model)
    return dlc.dlc("compile", file, "-o", "-", "--stop-after=plan", "--target=cuda", *options)[0]


@unittest.skipUnless(os.path.exists(EMULATE), "the emulator is only built on x86-64")
class Models(unittest.TestCase):
    def test_kernels_equal_the_cpu(self):
        total = 0
        for name in STEPS:
            with self.subTest(name), tempfile.NamedTemporaryFile("w", suffix=".mlir") as program:
                program.write(plan_of(name))
                program.flush()
                run = subprocess.run([EMULATE, program.name, "90", str(MOST_ELEMENTS)],
                                     capture_output=True, text=True, timeout=120)
                self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
                kernels, runs = map(int, re.search(r"(\d+) kernels, (\d+) runs, 0 errors", run.stdout).groups())
                self.assertEqual(runs, 6 * kernels)
                total += kernels
        self.assertGreater(total, 100)
        print(f"{total} kernels")


if __name__ == "__main__":
    unittest.main()
