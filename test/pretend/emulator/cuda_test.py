# SPDX-License-Identifier: Apache-2.0
"""dlc compile --target=cuda on a machine without a GPU: what it writes, its quality, its errors."""

import collections
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import unittest

import dlc

# 80 registers still let 24 warps of an SM run; the mean over an image, channels last, takes them where it also stores.
MOST_REGISTERS, MOST_SHARED = 80, 48 << 10
# A block of 256 threads with tiles of 128 x 64: two of them run on an SM.
MOST_REGISTERS_OF_PRODUCTS = 96
# Two blocks of 128 threads run on an SM.
MOST_REGISTERS_OF_ATTENTION = 240


def has_ptxas():
    """Whether dlc finds an assembler here."""
    run = subprocess.run([os.path.join(dlc.BUILD, "bin", "dlc-codegen"), "-", "--sm=90", "--emit=resources"],
                         input="module {}", capture_output=True, text=True)
    return run.returncode == 0


class Errors(dlc.TestCase):
    def refuse(self, words, message, code=dlc.USAGE, **environment):
        path = self.path("x.dlc")
        command = [dlc.DLC, "compile", dlc.model("mlp"), "-o", path, "--target=cuda", *words]
        run = subprocess.run(command, capture_output=True, text=True, env=dict(os.environ, **environment))
        self.assertEqual(run.returncode, code, run.stderr)
        self.assertRegex(run.stderr, message)
        self.assertFalse(os.path.exists(path))

    def test_unknown_sm(self):
        self.refuse(["--sm=80,95"], r"--sm: unknown SM '95', expected one of 80, .*90.*100")

    def test_no_toolkit(self):
        self.refuse([], r"no program '/nowhere/bin/ptxas', where CUDA_HOME points; install", CUDA_HOME="/nowhere")
        self.refuse(["--cuda-path=/none"], r"/none/bin/ptxas.*--cuda-path")

    def test_flags_of_the_other_target(self):
        self.refuse(["--cpu=native"], r"--cpu needs --target=cpu")
        _, err = dlc.dlc("compile", dlc.model("mlp"), "-o", self.path("y.dlc"), "--sm=90", code=dlc.USAGE)
        self.assertRegex(err, "--sm needs --target=cuda")


def disassembler():
    """nvdisasm beside ptxas (tools/requirements.txt), of a CUDA Toolkit or on the PATH; None where there is none."""
    beside = glob.glob(os.path.join(sys.prefix, "lib/python3*/site-packages/nvidia/cu*/bin/nvdisasm"))
    toolkit = [os.path.join(os.environ[v], "bin", "nvdisasm") for v in ("CUDA_HOME", "CUDA_PATH") if v in os.environ]
    return next(filter(os.path.exists, beside + toolkit), None) or shutil.which("nvdisasm")


@unittest.skipUnless(has_ptxas() and disassembler(), "no ptxas or no nvdisasm on this machine")
class MachineCode(dlc.TestCase):
    """What ptxas made of it: PTX only shows what was asked for."""

    def accesses(self, *words):
        """Of each kernel how often it has each kind of memory or matrix instruction."""
        path = self.path("x.dlc")
        dlc.dlc("compile", dlc.model("gpt_tiny"), "-o", path, "--target=cuda", "--sm=90", "--amp", *words)
        run = subprocess.run([disassembler(), "-c", path + "/kernels.sm_90.cubin"], capture_output=True, text=True)
        self.assertEqual(run.returncode, 0, run.stderr)
        kernels = re.split(r"\.section\s+\.text\.(\w+),", run.stdout)
        return {name: collections.Counter(re.findall(r"\b(?:LDG|STG|LDL|STL|LDGSTS|HMMA)\b[A-Z0-9.]*", code))
                for name, code in zip(kernels[1::2], kernels[2::2])}

    def test_memory(self):
        kernels = self.accesses("--optimizer=adamw", "--ema")
        total = sum(kernels.values(), collections.Counter())
        self.assertFalse([kind for kind in total if kind.startswith(("LDL", "STL"))])  # no local memory
        (update,) = [counts for name, counts in kernels.items() if "flat" in name]
        # A thread's four elements of weight, gradient, both moments and average; all but the gradient are written.
        self.assertEqual((update["LDG.E.128"], update["STG.E.128"]), (5, 4))
        self.assertFalse([kind for kind in update if kind.startswith("STG") and kind != "STG.E.128"])
        wide = total["LDG.E.128"] + total["STG.E.128"]
        self.assertGreater(wide, 2 * sum(n for kind, n in total.items() if kind.startswith(("LDG.", "STG."))) / 3)

    def test_products(self):
        kernels = self.accesses("--matmul=generated", "--attention=generated")
        products = {name: counts for name, counts in kernels.items() if re.search("matmul|attention", name)}
        self.assertGreater(len(products), 5)
        for name, counts in products.items():
            self.assertTrue(counts["HMMA.16816.F32.BF16"], name)
            self.assertFalse([kind for kind in counts if kind.startswith(("LDL", "STL"))], name)


@unittest.skipUnless(has_ptxas(), "no ptxas on this machine")
class Artifacts(dlc.TestCase):
    def compile(self, model, *words):
        path = self.path(model + ".dlc")
        dlc.dlc("compile", dlc.model(model), "-o", path, "--target=cuda", *words)
        return path

    def test_files_and_quality(self):
        count = 0
        for model, *words in [("gpt_tiny", "--amp", "--optimizer=adamw", "--ema", "--matmul=generated",
                               "--attention=generated", "--sm=80,90,100"),
                              ("resnet8", "--amp", "--ddp=8", "--sm=90")]:
            path = self.compile(model, *words)
            sms = words[-1][5:].split(",")
            for sm in sms:
                with open(f"{path}/kernels.sm_{sm}.cubin", "rb") as file:
                    self.assertEqual(file.read(4), b"\x7fELF")
            for sm in sms: # drivers that are older than the assembler compile it
                with open(f"{path}/kernels.sm_{sm}.ptx") as file:
                    ptx = file.read()
                self.assertIn(".version 8.6" if sm == "100" else ".version 8.0", ptx)
                self.assertIn(f".target sm_{sm}", ptx)
            self.assertNotRegex(ptx, r"\.local|\.extern")
            self.assertRegex(ptx, r"ld\.global\.v4\.b32")
            with open(f"{path}/kernels.json") as file:
                resources = json.load(file)
            self.assertEqual(sorted(resources), sorted("sm_" + sm for sm in sms))
            for sm, kernels in resources.items():
                for name, r in kernels.items():
                    self.assertIn(f".entry {name}(", ptx)
                    self.assertEqual((r["spilled"], r["stack"]), (0, 0), f"{name} for {sm}")
                    most = MOST_REGISTERS_OF_PRODUCTS if "_matmul" in name else MOST_REGISTERS
                    self.assertLessEqual(r["registers"], most, f"{name} for {sm}")
                    self.assertLessEqual(r["shared"], MOST_SHARED, f"{name} for {sm}")
                    count += 1
        self.assertGreater(count, 100)

    def test_compiling_twice_gives_the_same(self):
        hashes = []
        for _ in range(2):
            path = self.compile("lenet", "--sm=90")
            with open(path + "/manifest.json") as file:
                hashes.append(json.load(file)["hash"])
        self.assertEqual(*hashes)

    def test_training_without_the_runtime_is_incompatible(self):
        path = self.compile("mlp", "--sm=90")
        _, err = dlc.dlc("train", path, "--data=" + dlc.data("digits-train"), code=dlc.INCOMPATIBLE)
        self.assertRegex(err, r"compiled for device 'cuda', which this (build|machine) cannot run.*--target=cpu")

    def test_attention(self):
        """Of the largest head dimension, too, nothing spills, and dk and dv leave room for two blocks on an SM."""
        for sm in ["80", "90", "100"]:
            run = subprocess.run([os.path.join(dlc.BUILD, "bin", "dlc-codegen"),
                                  os.path.join(dlc.ROOT, "test/codegen/cuda-attention.mlir"),
                                  "--sm=" + sm, "--emit=resources"], capture_output=True, text=True)
            found = re.findall(r"(\w+): registers=(\d+) shared=(\d+) stack=(\d+) spilled=(\d+)", run.stdout)
            self.assertEqual(len(found), 6, run.stdout + run.stderr)
            for name, registers, shared, stack, spilled in found:
                self.assertEqual((int(stack), int(spilled)), (0, 0), f"{name} for {sm}")
                self.assertLessEqual(int(registers), MOST_REGISTERS_OF_ATTENTION, f"{name} for {sm}")
                self.assertLessEqual(int(shared), MOST_SHARED, f"{name} for {sm}")

    def test_products(self):
        """Who multiplies is a setting; kernels that multiply have their FLOPs, and need fewer commands beside the sums."""
        commands = {}
        for who in ["auto", "library", "generated"]:
            path = self.compile("gpt_tiny", "--amp", "--sm=90", "--batch=4", "--matmul=" + who)
            rows = json.loads(dlc.dlc("inspect", path, "--costs", "--json")[0])["costs"]["train_step"]
            commands[who] = sum(row["calls"] for row in rows if "reduce_sum" not in row["name"])
            generated = [row for row in rows if "_matmul" in row["name"]]
            if who != "auto":  # which may choose one of both for all, as they are small
                self.assertEqual("matmul" in [row["name"] for row in rows], who == "library")
            self.assertEqual(bool(generated), who != "library")
            for row in generated:
                self.assertGreater(row["flops"], 0)
                self.assertAlmostEqual(row["h100_us"], 1e6 * max(row["bytes"] / (3.35e12 * 0.85),
                                                                 row["flops"] / (989e12 * 0.25)), places=3)
        self.assertLess(commands["generated"], commands["library"])
        # What is chosen by predicted time need not: a product that casts its gradient itself parts those that are cast together.
        _, err = dlc.dlc("compile", dlc.model("mlp"), "-o", self.path("z.dlc"), "--matmul=library", code=dlc.USAGE)
        self.assertRegex(err, "--matmul needs --target=cuda")

    def test_costs(self):
        path = self.compile("lenet", "--sm=90", "--optimizer=adamw")
        text, _ = dlc.dlc("inspect", path, "--costs")
        self.assertRegex(text, r"cuda for sm_90, batch 32")
        self.assertRegex(text, r"train_step: predicted cost")
        costs = json.loads(dlc.dlc("inspect", path, "--costs", "--json")[0])["costs"]["train_step"]
        update = [row for row in costs if re.search("adamw|sub_flat|flat", row["name"])]
        self.assertTrue(update, [row["name"] for row in costs])
        for row in costs:
            self.assertGreaterEqual(row["h100_us"], row["bytes"] / (3.35e12 * 0.85) * 1e6 * 0.999)
            if row["generated"]:
                self.assertEqual(row["grid"] > 0, row["bytes"] > 0)
                self.assertGreater(row["registers"], 0)


if __name__ == "__main__":
    unittest.main()
