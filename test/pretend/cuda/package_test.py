# SPDX-License-Identifier: Apache-2.0
"""The package for machines with a GPU (tools/gpu-package.sh): it is small, brings its libraries along, and run.sh tells
tests that pass, fail, hang and cannot run apart. The GPU is a stand-in; a part of the package is built.
"""

import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

import dlc
import standins

MAKER = os.path.join(dlc.ROOT, "tools", "gpu-package.sh")
MOST_BYTES = 64 << 20
# Takes its options as run.sh gives them, and runs the program.
FAKE_SANITIZER = """#!/bin/bash
[[ $1 == --version ]] && echo "Version 0" && exit
[[ $1 == --tool && $3 == --error-exitcode && $5 == --target-processes ]] || exit 3
[[ $8 == --gtest_filter=-* ]] || echo "$2 $7" >> "$OUT/checked"
exec "${@:7}"
"""


@unittest.skipUnless(standins.can_run(), "no CUDA backend in this build, or no ptxas on this machine")
class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="dlc-test-")
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.package = os.path.join(cls.folder, "there", "package")
        os.mkdir(os.path.dirname(cls.package))
        subprocess.run(["bash", MAKER, "--no-build", "--standins", "--quick", "-o", cls.package], check=True,
                       timeout=200)

    def start(self, *words, code=0, package=None, work="work", path="/usr/bin:/bin"):
        """run.sh in an empty environment, as on a machine that knows nothing of this one: its output."""
        command = ["env", "-i", "PATH=" + path, "bash", os.path.join(package or self.package, "run.sh"), *words]
        if words[:1] not in (("--list",), ("--help",)):
            command += ["--work", os.path.join(self.folder, work), "-o", os.path.join(self.folder, "out")]
        run = subprocess.run(command, capture_output=True, text=True, timeout=200, cwd="/")
        self.assertEqual(run.returncode, code, run.stdout + run.stderr)
        return run.stdout + run.stderr

    def results(self):
        with open(os.path.join(self.folder, "out", "results.json")) as file:
            return {result["name"]: result for result in json.load(file)}

    def with_tests(self, *rows):
        """A package with the same payload and other tests."""
        package = os.path.join(self.folder, "other")
        shutil.rmtree(package, ignore_errors=True)
        shutil.copytree(self.package, package, copy_function=os.link)
        os.remove(os.path.join(package, "tests.txt"))
        with open(os.path.join(package, "tests.txt"), "w") as file:
            file.writelines(row + "\n" for row in rows)
        return package

    def test_1_every_command_runs(self):
        out = self.start("--standins", "--skip=check")
        results = self.results()
        for name in ["facts", "device", "losses-f32", "losses-half", "losses-pytorch", "kernels-ops", "kernels-steps",
                     "tuning",
                     "bench-copy", "bench-kernels", "bench-mlp", "deterministic-mlp", "start-mlp"]:
            self.assertEqual(results[name]["status"], "PASS", results[name])
        for name, result in results.items():
            self.assertIn(result["status"], ["PASS", "SKIP"], result)
            if result["status"] == "SKIP":
                self.assertRegex(result["end_of_log"], r"skipped: \S", name)
        self.assertRegex(out, r"\d+ passed, 0 failed, \d+ skipped in \d+ s")
        kept = set(os.listdir(os.path.join(self.folder, "out")))
        self.assertEqual(kept, {"summary.txt", "results.json", "junit.xml", "logs.tar.gz", "facts.json", "bench.json",
                                "bench.md"})
        with open(os.path.join(self.folder, "out", "bench.md")) as file:
            text = file.read()
        self.assertRegex(text, r"\| mlp \| dlc \| \d+\.\d+ \| ")
        self.assertRegex(text, r"\| mlp \| dlc --deterministic \| \d+\.\d+ \| ")
        self.assertRegex(text, r"\| mlp \| dlc train \|.*\| \d+\.\d+ \| \d+\.\d+ \|\n")

        with open(os.path.join(self.folder, "out", "facts.json")) as file:
            self.check_facts(json.load(file))

    def check_facts(self, facts):
        """Each question has an answer, or why there is none."""
        every = {(dtype, columns) for dtype in ("F32", "BF16", "F16") for columns in (64, 255, 264)}
        for engines in facts["engines"], facts["deterministic_engines"]:
            products = engines["products"]
            for kind, of in ("matmul_activation", "gelu_tanh"), ("matmul_bias_backward", "a"), ("matmul_bias_backward", "b"):
                asked = {(e["type"], e["columns"]) for e in products if e["kind"] == kind and e["of"] == of}
                self.assertEqual(asked, every, f"{kind} of {of}")
            self.assertEqual(sum("summed" in e for e in products), 3, "sums that libraries split")
            for kind in "convolutions", "products", "attention", "norms":
                for entry in engines[kind]:
                    if "missing" not in entry:
                        self.assertGreater(entry["us"], 0, entry)
                        self.assertTrue(entry["same_bytes"] and entry["recorded_same_bytes"], entry)
                self.assertTrue(any("missing" not in entry for entry in engines[kind]), kind)
        same = [(e["kind"], e["filters"]) for e in facts["engines"]["convolutions"]
                if (e["type"], e["channels"], e["outputs"]) == ("BF16", 64, 64)]
        self.assertEqual(len(set(same)), 6, "three kinds, two layouts of filters")
        self.assertEqual([e["kind"] for e in facts["reopened"]["again"]], ["conv", "matmul"])
        self.assertEqual(sorted(facts["chosen_by_flush"]), ["2", "4", "8"])
        for rows in facts["chosen_by_flush"].values():
            self.assertEqual([row["op"] for row in rows],
                             ["conv", "conv_backward_data", "conv_backward_filter", "matmul"])
            for row in rows:
                times = [candidate["milliseconds"] for candidate in row["measured"]]
                self.assertGreater(len(times), 1, row)
                self.assertEqual(times, sorted(times))
                self.assertEqual(len({candidate["number"] for candidate in row["measured"]}), len(times))

    def test_2_sanitizer(self):
        out = self.start("--standins", "--only=check", code=77)
        self.assertEqual(len(re.findall(r"SKIP +\w+check-.*no compute-sanitizer in PATH, ", out)), 5)
        path = os.path.join(self.folder, "sanitizer")
        os.mkdir(path)
        with open(path + "/compute-sanitizer", "w") as file:
            file.write(FAKE_SANITIZER)
        os.chmod(path + "/compute-sanitizer", 0o755)
        out = self.start("--standins", "--only=^memcheck", path=path + ":/usr/bin:/bin")
        self.assertEqual(len(re.findall(r"^PASS +memcheck-", out, re.MULTILINE)), 3, out)
        with open(os.path.join(self.folder, "out", "checked")) as file:
            self.assertEqual(file.read(), "memcheck gpu-device\nmemcheck gpu-kernels\nmemcheck dlc\n")
        os.remove(os.path.join(self.folder, "out", "checked"))
        with open(os.path.join(self.folder, "out", "summary.txt")) as file:
            self.assertRegex(file.read(), r"(?s)kernel: Linux .*NVIDIA's kernel module: \S.*CUDA runtime: \S")

    def test_2_sanitizer_that_cannot_run(self):
        """Not even with a program that does nothing: no fault of dlc."""
        path = os.path.join(self.folder, "barred")
        os.mkdir(path)
        with open(path + "/compute-sanitizer", "w") as file:
            file.write("#!/bin/bash\necho '========= Error: no device'\nexit 1\n")
        os.chmod(path + "/compute-sanitizer", 0o755)
        out = self.start("--standins", "--only=^racecheck", path=path + ":/usr/bin:/bin", code=77)
        self.assertRegex(out, r"SKIP +racecheck-kernels .*cannot run here, it says: ========= Error: no device")

    def test_3_wrong_numbers_fail(self):
        path = os.path.join(self.folder, "work", "package", "cases.json")
        with open(path) as file:
            cases = json.load(file)
        for case in cases:
            for expected in case["expected"]:
                expected["values"][7] *= 1.1
        with open(path, "w") as file:
            json.dump(cases, file)
        out = self.start("--standins", "--only=^losses-f32$", code=1)
        self.assertRegex(out, r"FAIL +losses-f32 .*loss of step 8 is .* they differ by ")
        self.assertRegex(self.results()["losses-f32"]["end_of_log"], r"loss of step 8 is .*the CPU backend has")

    def test_4_hangs_and_limits(self):
        package = self.with_tests("hangs | 1 | a hang | sleep 60", "works | 10 | more | true",
                                  "late | 60 | too late | sleep 60")
        out = self.start("--standins", "--time-limit=8", code=1, package=package)
        statuses = {name: result["status"] for name, result in self.results().items()}
        self.assertEqual(statuses, {"hangs": "TIMEOUT", "works": "PASS", "late": "TIMEOUT"}, out)
        self.start("--standins", "--time-limit=2", code=77, package=package)
        self.assertEqual({result["status"] for result in self.results().values()}, {"NOT RUN"})

    def test_4_logs_of_libraries_are_kept(self):
        package = self.with_tests(
            """log | 10 | levels | logged bash -c 'echo $NCCL_DEBUG $CUBLASLT_LOG_LEVEL $CUDNN_LOGLEVEL_DBG > """
            """$CUDNN_LOGDEST_DBG; dirname $NCCL_DEBUG_FILE $CUBLASLT_LOG_FILE'""")
        self.start("--standins", package=package)
        tar = os.path.join(self.folder, "out", "logs.tar.gz")
        read = lambda name: subprocess.run(["tar", "-xzOf", tar, name], check=True, capture_output=True, text=True).stdout
        self.assertEqual(read("logs/libraries/cudnn.%i.log"), "INFO 1 2\n")
        self.assertRegex(read("logs/log.log"), r"^(\S+/logs/libraries\n){2}$")

    def test_5_without_a_gpu(self):
        out = self.start("--only=^(device|losses-f32|bench-mlp|kernels-steps)$", code=77)
        self.assertEqual(len(re.findall(r"SKIP .* skipped: no GPU: cannot load libcuda\.so\.1", out)), 4, out)
        self.assertRegex(out, r"libcudnn\.so\.9: ")

    def test_6_options(self):
        self.assertRegex(self.start("--list", "--only=^loss"), r"^losses-f32 +\d+ s +20 steps")
        self.assertIn("--time-limit SEC", self.start("--help"))
        self.assertIn("unknown option --fast", self.start("--fast", code=2))
        self.assertIn("no test matches", self.start("--only=nothing", code=2))

    def test_7_libraries_come_along(self):
        """Nothing but glibc is this machine's."""
        root = os.path.join(self.folder, "work", "package")
        system = re.compile(r"/(libc|libm|libdl|libpthread|librt)\.so|ld-linux|linux-vdso")
        for name in os.listdir(root + "/bin"):
            out = subprocess.run(["ldd", f"{root}/bin/{name}"], check=True, capture_output=True, text=True,
                                 env=dict(LD_LIBRARY_PATH=f"{root}/lib:{root}/fallback")).stdout
            strange = [line for line in out.splitlines() if root not in line and not system.search(line)]
            self.assertEqual(strange, [], name)

    def test_8_is_small(self):
        total = sum(os.path.getsize(os.path.join(self.package, name)) for name in os.listdir(self.package))
        files = subprocess.run(["git", "-C", dlc.ROOT, "ls-files", "-z"], check=True, capture_output=True, text=True)
        names = [os.path.join(dlc.ROOT, name) for name in files.stdout.split("\0") if name]
        repository = sum(os.path.getsize(name) for name in names if os.path.isfile(name))
        self.assertLess(total + repository, MOST_BYTES)


if __name__ == "__main__":
    dlc.main()
