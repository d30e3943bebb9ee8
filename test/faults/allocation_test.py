# SPDX-License-Identifier: Apache-2.0
"""An allocation that fails, anywhere: a documented exit code and a message, nothing lost, nothing left behind.

Each sample runs a command with the n-th allocation of a process failing (or that one and all after it), then sees
what is left: a run resumes to the bits of the undisturbed one, an artifact or a model is whole or not there.
DLC_FAULT_SAMPLES=500 takes as many; DLC_FAULT_SEED another choice; DLC_FAULT_SECONDS bounds the time.
"""

import filecmp
import os
import random
import re
import shutil
import subprocess
import time
import unittest

import dlc

LIBRARY = os.path.join(dlc.BUILD, "test", "libfail-allocation.so")
SAMPLES = int(os.environ.get("DLC_FAULT_SAMPLES", 48))
SEED = int(os.environ.get("DLC_FAULT_SEED", 1))
SECONDS = float(os.environ.get("DLC_FAULT_SECONDS", 20 if SAMPLES <= 48 else 3600))
DOCUMENTED = {dlc.OK, dlc.FAILED, dlc.BAD_MODEL, dlc.CORRUPT, dlc.LIMIT, dlc.PEER_LOST}
# libgomp prints its own.
MESSAGE = re.compile(r"^(\[rank \d+\] )?(error|libgomp): ", re.M)


class Failure:
    """One way to fail: where, and for how long."""

    def __init__(self, at, lasting, rank=None):
        self.environment = {"DLC_FAIL_AT": str(at)}
        if lasting:
            self.environment["DLC_FAIL_LASTING"] = "1"
        if rank is not None:
            self.environment["DLC_FAIL_RANK"] = rank

    def __str__(self):
        return " ".join(f"{key}={value}" for key, value in self.environment.items())


# A build of the tool alone has none of the tests' programs.
@unittest.skipIf(not os.path.exists(LIBRARY), "the library that fails allocations was not built")
class EveryAllocation(dlc.TestCase):
    def setUp(self):
        super().setUp()
        os.makedirs(self.path("tmp"))
        self.data = dlc.data("digits-train")
        self.artifact = self.path("model.dlc")
        self.artifacts = {1: self.artifact, 2: self.path("two.dlc")}
        for ranks, path in self.artifacts.items():
            dlc.compile(dlc.model("mlp"), path, ddp=ranks if ranks > 1 else None, ema=True, quiet=True)
        self.expected = {}
        for ranks, path in self.artifacts.items():
            whole = self.path(f"whole-{ranks}")
            dlc.dlc(*self.training(path, whole))
            self.expected[ranks] = dlc.Run(whole).state(3)
        dlc.dlc("export", self.path("whole-1"), "-o", self.path("whole.onnx"))
        self.codes = {}

    def training(self, artifact, run):
        return ["train", artifact, "--data=" + self.data, "--val=" + dlc.data("digits-test"), "--steps=3",
                "--save-every=1", "--keep=2", "--threads=1", "--quiet", "--timeout=5", "--run=" + run]

    def execute(self, words, **environment):
        """(exit code, stderr); ends what hangs."""
        environment = {**os.environ, "LD_PRELOAD": LIBRARY, "TMPDIR": self.path("tmp"), **environment}
        process = subprocess.Popen([dlc.DLC, *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                   errors="replace", env=environment, start_new_session=True)
        code, _, err = dlc.finish(process, timeout=60)
        return code, err

    def count(self, words, **environment):
        """{rank: allocations} of an undisturbed command; "" is the process that starts ranks, or the only one."""
        said = self.path("said")
        code, err = self.execute(words, DLC_FAIL_SAID=said, **environment)
        self.assertEqual(code, 0, err)
        counts = {}
        with open(said) as file:
            for line in file:
                rank, allocations, _ = line.split()
                counts[rank.replace("-", "")] = int(allocations)
        os.remove(said)
        return counts

    def sample(self, name, words, check, share):
        """`share` of all samples on this command; `check` looks at what it left."""
        counts = self.count(words)
        check(0)
        source = random.Random(f"{SEED} {name}")
        for number in range(max(4, round(SAMPLES * share))):
            if time.monotonic() > self.end:
                return
            rank = source.choice(sorted(counts))
            # Every scale: the first hundred, too.
            at = round(counts[rank] ** source.random()) if number % 2 else source.randint(1, counts[rank])
            failure = Failure(at, lasting=number % 4 == 3, rank=rank if len(counts) > 1 else None)
            with self.subTest(command=name, failure=str(failure)):
                code, err = self.execute(words, **failure.environment)
                self.codes.setdefault(name, {}).setdefault(code, 0)
                self.codes[name][code] += 1
                self.assertIn(code, DOCUMENTED, err)
                if code:
                    self.assertRegex(err, MESSAGE)
                check(code)
                strays = self.strays()
                self.assertFalse(strays, f"left behind after code {code}: {err}")

    def strays(self):
        found = [os.path.join(folder, name) for folder, folders, names in os.walk(self.folder)
                 for name in folders + names if ".tmp" in name or "dlc-" in name]
        for path in found:
            shutil.rmtree(path, ignore_errors=True) if os.path.isdir(path) else os.remove(path)
        return found

    def check_artifact(self, code):
        if os.path.exists(self.path("a.dlc")):
            dlc.dlc("inspect", self.path("a.dlc"))
            shutil.rmtree(self.path("a.dlc"))
        else:
            self.assertNotEqual(code, 0)

    def check_run(self, ranks):
        def check(code):
            run = self.path("run")
            if not os.path.exists(run):
                return self.assertNotEqual(code, 0)
            try:
                dlc.dlc("train", resume=run)
                self.assertBitwise(dlc.Run(run).state(3), self.expected[ranks], "resumed")
            finally:
                shutil.rmtree(run)
        return check

    def check_model(self, code):
        if os.path.exists(self.path("x.onnx")):
            self.assertTrue(filecmp.cmp(self.path("x.onnx"), self.path("whole.onnx"), shallow=False))
            os.remove(self.path("x.onnx"))
        else:
            self.assertNotEqual(code, 0)

    def test_fails_before_main(self):
        """An allocation of an initializer of LLVM's libraries: about 2,500 run before main()."""
        for at in range(3, 2600, 10):
            with self.subTest(at=at):
                code, err = self.execute(["check", "--help"], DLC_FAIL_AT=str(at), DLC_FAIL_LASTING="1")
                self.assertEqual(code, dlc.LIMIT, err)
                self.assertRegex(err, MESSAGE)

    def test_fails_in_library(self):
        """An allocation of a library that does not survive a failed one: all of dlopen()'s, the first of oneDNN's."""
        words = ["eval", self.path("whole-1"), "--data=" + self.data]
        for within, most in [("dlopen", 100),
                             ("dnnl_matmul_primitive_desc_create", 8), ("dnnl_primitive_create", 8)]:
            count = self.count(words, DLC_FAIL_WITHIN=within)[""]
            self.assertGreater(count, 2)
            for at in range(1, min(count, most) + 1):
                with self.subTest(within=within, at=at):
                    code, err = self.execute(words, DLC_FAIL_WITHIN=within, DLC_FAIL_AT=str(at))
                    if within == "dlopen":  # the second place for a library may do
                        self.assertIn(code, [dlc.OK, dlc.LIMIT], err)
                    else:
                        self.assertEqual(code, dlc.LIMIT, err)
                    self.assertEqual(bool(code), "out of memory" in err)

    def test_fails(self):
        self.end = time.monotonic() + SECONDS
        run, whole = self.path("run"), self.path("whole-1")
        commands = [
            ("compile", ["compile", dlc.model("mlp"), "-o", self.path("a.dlc"), "--ema"], self.check_artifact, 0.3),
            ("train", self.training(self.artifacts[1], run), self.check_run(1), 0.25),
            ("train 2 ranks", self.training(self.artifacts[2], run), self.check_run(2), 0.2),
            ("export", ["export", whole, "-o", self.path("x.onnx")], self.check_model, 0.1),
            ("eval", ["eval", whole, "--data=" + self.data], lambda code: None, 0.1),
            ("inspect", ["inspect", whole, "--json"], lambda code: None, 0.05)]
        for name, words, check, share in commands:
            self.sample(name, words, check, share)
        print("\nallocation failures, exit codes:", self.codes)
        self.assertGreater(sum(sum(codes.values()) for codes in self.codes.values()), 10)


if __name__ == "__main__":
    dlc.main()
