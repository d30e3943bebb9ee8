# SPDX-License-Identifier: Apache-2.0
"""dlc train --tune and dlc doctor cache: what is measured once is used again, on the same GPU and software alone.

The stand-in of cuBLASLt knows three algorithms; one of them, as the environment says, is faster than the others.
"""

import glob
import json
import os
import re

import dlc
import standins

FAST = {"DLC_STANDIN_FAST_ALGORITHM": "2"}
PRODUCTS = 5  # in a training step of mlp


class Tuning(standins.StandinTest):
    def setUp(self):
        super().setUp()
        self.artifact = self.compile_for_cuda("mlp", optimizer="sgd", batch=8)
        self.cache = self.path("cache")

    def train(self, *words, artifact=None, **environment):
        """A short run: for each rank the algorithms of its products, and how often the library was asked for some."""
        for old in glob.glob(self.path("trace-*")):
            os.remove(old)
        self.run_on_standins(artifact or self.artifact, *words, cache_dir=self.cache, data=dlc.data("digits-train"),
                             steps=2, quiet=True, threads=1, run=self.path("run"),
                             environment={"DLC_STANDIN_TRACE": self.path("trace-%p"), **environment})
        self.losses = dlc.Run(self.path("run")).metrics("loss").tolist()
        for name in glob.glob(self.path("run*")):
            self.last = self.path(f"old-{len(os.listdir(self.path('')))}")
            os.rename(name, self.last)
        ranks = []
        for trace in sorted(glob.glob(self.path("trace-*"))):
            with open(trace) as file:
                lines = self.trace = file.read()
            step = lines[lines.rindex("cuStreamBeginCapture"):]
            algorithms = re.findall(r"library cublasLtMatmul(?: algorithm (\d))?", step)
            ranks.append(([int(a or 0) for a in algorithms], lines.count("plan cublasLt")))
        return ranks if len(ranks) > 1 else ranks[0]

    def cache_command(self, *words, **options):
        out, _ = dlc.dlc("doctor", "cache", *words, cache_dir=self.cache, **options)
        return out

    def test_runs_measure(self):
        self.run_on_standins(self.artifact, tune=None, cache_dir=self.cache, data=dlc.data("digits-train"), steps=1, run=self.path("run"))
        self.assertIn("matmul", self.cache_command("list"))

    def test_measured_once(self):
        self.assertEqual(self.train(**FAST), ([0] * PRODUCTS, PRODUCTS))  # nothing was measured
        plain = self.losses
        self.assertFalse(os.path.exists(self.cache))
        self.assertEqual(self.train("--tune=benchmark", **FAST), ([2] * PRODUCTS, PRODUCTS))
        self.assertEqual(self.losses, plain)
        # From now on the library is not asked, whatever would be fastest.
        for words in ["--tune=benchmark"], []:
            self.assertEqual(self.train(*words), ([2] * PRODUCTS, 0))
        for words in ["--tune=off"], ["--deterministic"], ["--deterministic", "--tune=benchmark"]:
            self.assertEqual(self.train(*words), ([0] * PRODUCTS, PRODUCTS))

    def test_the_run_and_its_report_say_what_was_chosen(self):
        self.train("--tune=benchmark", **FAST)
        with open(os.path.join(self.last, "tuning.json")) as file:
            chosen = json.load(file)
        self.assertEqual({row["engine"] for row in chosen}, {"cublasLt"})
        self.assertGreaterEqual(sum(len(row["commands"]) for row in chosen), PRODUCTS)
        self.assertTrue(all(row["milliseconds"] > 0 and row["op"].startswith("matmul") and row["commands"] for row in chosen), chosen)
        dlc.dlc("report", self.last, output=self.path("page.html"))
        with open(self.path("page.html"), encoding="utf-8") as file:
            page = json.loads(re.search(r'<script id="data" type="application/json">(.*?)</script>', file.read(), re.DOTALL)[1])
        [run] = page["runs"]
        self.assertEqual({row["commands"] for row in run["tuning"]}, {", ".join(row["commands"]) for row in chosen})
        self.assertCountEqual([row["ms"] for row in run["tuning"]], [row["milliseconds"] for row in chosen])
        self.train("--tune=off")
        self.assertFalse(os.path.exists(os.path.join(self.last, "tuning.json")))
        self.cache = self.path("empty")
        self.train()
        with open(os.path.join(self.last, "tuning.json")) as file:
            self.assertEqual({row["engine"] for row in json.load(file)}, {None})

    def test_for_one_gpu_and_its_software(self):
        self.train("--tune=benchmark", **FAST)
        for variable, value in {"NAME": "Another GPU", "DRIVER_VERSION": "13010", "MEMORY_MIB": "4096",
                                "CUBLASLT_VERSION": "130200"}.items():
            with self.subTest(variable):
                algorithms, asked = self.train(**{"DLC_STANDIN_" + variable: value})
                self.assertEqual((algorithms, asked), ([0] * PRODUCTS, PRODUCTS))
        self.assertEqual(self.train("--workspace-mb=1"), ([0] * PRODUCTS, PRODUCTS))
        self.assertEqual(self.train(), ([2] * PRODUCTS, 0))

    def test_tf32_is_asked_for_and_measured_apart(self):
        self.train("--tune=benchmark", **FAST)
        self.assertNotIn("tf32", self.trace)
        self.assertEqual(self.train("--tf32"), ([0] * PRODUCTS, PRODUCTS))
        self.assertEqual(self.trace.count("plan cublasLt in tf32"), PRODUCTS)
        self.run_on_standins(f"--resume={self.last}", steps=3, cache_dir=self.cache, quiet=True,
                             environment={"DLC_STANDIN_TRACE": self.path("resumed")})
        with open(self.path("resumed")) as file:
            self.assertEqual(file.read().count("plan cublasLt in tf32"), PRODUCTS)

    def test_fewer_candidates(self):
        algorithms, _ = self.train("--tune=benchmark", "--tune-candidates=2", **FAST)
        self.assertEqual(set(algorithms) - {0, 1}, set())

    def test_ranks_choose_the_same(self):
        two = self.compile_for_cuda("mlp", optimizer="sgd", batch=8, ddp=2)
        ranks = self.train("--tune=benchmark", artifact=two, **FAST)
        self.assertEqual(sorted(ranks), [([2] * PRODUCTS, 0), ([2] * PRODUCTS, PRODUCTS)])

    def test_commands(self):
        self.train("--tune=benchmark", **FAST)
        lines = self.cache_command("list").splitlines()
        entries = lines[:-1]
        self.assertRegex(lines[-1], rf"^{len(entries)} entries, \d+ bytes in .*/cache")
        for line in entries:
            self.assertRegex(line, r"^\d+\.\d{4} ms  matmul\w*  engine cublasLt  Stand-in GPU sm_90  20\d\d-")
        listed = [json.loads(line) for line in self.cache_command("list", json=True).splitlines()]
        self.assertEqual(len(listed), len(entries))
        self.assertEqual(listed[0]["key"]["gpu"], "Stand-in GPU")
        self.cache_command("export", output=self.path("entries.jsonl"))
        with open(self.path("entries.jsonl")) as file:
            self.assertEqual([json.loads(line)["key"] for line in file], [entry["key"] for entry in listed])

        with open(listed[0]["path"], "r+b") as file:
            file.truncate(100)
        self.assertRegex(self.cache_command("list"), r"\.json: ignored: ")
        self.assertRegex(self.cache_command("prune"), r"^removed 1 entries from ")
        self.assertEqual(len(self.cache_command("list", json=True).splitlines()), len(entries) - 1)
        self.assertRegex(self.cache_command("prune", before="2020"), r"^removed 0 entries")
        self.assertRegex(self.cache_command("prune", before="2999"), rf"^removed {len(entries) - 1} entries")

    def test_a_cache_of_others_is_not_used(self):
        os.mkdir(self.cache, 0o777)
        os.chmod(self.cache, 0o777)
        _, err = self.run_on_standins(self.artifact, cache_dir=self.cache, data=dlc.data("digits-train"), steps=1,
                                      quiet=True, run=self.path("run"))
        self.assertRegex(err, r"warning: others may write to the cache .*: it is not used")


if __name__ == "__main__":
    dlc.main()
