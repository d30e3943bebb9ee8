# SPDX-License-Identifier: Apache-2.0
"""dlc train --tune with cuDNN: its engines are measured once and used again, by all ranks the same.

The stand-in knows four engines: 7, its first choice; 3, whose sums have no fixed order; 12, which does not start;
5, which needs 64 MiB of scratch.
"""

import glob
import os
import re

import dlc
import standins

FAST = {"DLC_STANDIN_FAST_ENGINE": "3"}
CONVOLUTIONS = 5  # in a training step of lenet


class Engines(standins.StandinTest):
    def train(self, artifact, *words, cache="cache", **environment):
        """A short run: for each rank the engines of its convolutions and how often cuDNN was asked and given back."""
        for old in glob.glob(self.path("trace-*")):
            os.remove(old)
        if cache:
            words = (*words, "--cache-dir=" + self.path(cache))
        _, self.err = self.run_on_standins(
            artifact, *words, data=dlc.data("mnist-train"), steps=2, threads=1, seed=1,
            run=self.path("run"), environment={"DLC_STANDIN_TRACE": self.path("trace-%p"), **environment})
        self.losses = dlc.Run(self.path("run")).metrics("loss").tolist()
        os.rename(self.path("run"), self.path(f"old-{len(os.listdir(self.path('')))}"))
        ranks = []
        for trace in sorted(glob.glob(self.path("trace-*"))):
            with open(trace) as file:
                lines = file.read()
            step = lines[lines.rindex("cuStreamBeginCapture"):]
            engines = [int(e or 7) for e in re.findall(r"library cudnn \w+(?: engine (\d+))?", step)]
            ranks.append((engines, lines.count("plan cudnn"), re.findall(r"restore cudnn \w+ from (\w+)", lines)))
        return ranks

    def train_one(self, *words, **environment):
        return self.train(self.artifact, *words, **environment)[0]

    def setUp(self):
        super().setUp()
        self.artifact = self.compile_for_cuda("lenet", optimizer="sgd", batch=8)

    def test_measured_once(self):
        first = ([7] * CONVOLUTIONS, CONVOLUTIONS, [])
        self.assertEqual(self.train_one(**FAST), first)
        plain = self.losses
        fast = [3] * CONVOLUTIONS
        self.assertEqual(self.train_one("--tune=benchmark", **FAST), (fast, CONVOLUTIONS, []))
        self.assertEqual(self.losses, plain)
        # From now on cuDNN is given its plans back, whatever would be fastest.
        for words in ["--tune=benchmark"], []:
            self.assertEqual(self.train_one(*words), (fast, 0, ["blob"] * CONVOLUTIONS))
        for words in ["--tune=off"], ["--deterministic"], ["--deterministic", "--tune=benchmark"]:
            self.assertEqual(self.train_one(*words), first)

        with self.subTest("what cuDNN does not take back"):
            engines, asked, restored = self.train_one(DLC_STANDIN_CUDNN_REFUSE="blob")
            self.assertEqual((engines, asked, restored), (fast, 0, ["blob", "engine"] * CONVOLUTIONS))
            self.assertRegex(self.err, r"conv '/c1/Conv': cuDNN does not take its plan back: .*; it builds engine 3 again")
            engines, asked, _ = self.train_one(DLC_STANDIN_CUDNN_REFUSE="blob,engine")
            self.assertEqual((engines, asked), ([7] * CONVOLUTIONS, CONVOLUTIONS))
            self.assertRegex(self.err, r"warning: conv '/c1/Conv': the plan that was measured cannot be used: .*; cuDNN "
                                       r"chooses again")
        with self.subTest("another version"):
            self.assertEqual(self.train_one(DLC_STANDIN_CUDNN_VERSION="91901"), first)
        lines = dlc.dlc("doctor", "cache", "list", cache_dir=self.path("cache"))[0]
        self.assertRegex(lines, r"ms  conv_backward_filter  engine 3  Stand-in GPU sm_90")

    def test_limits(self):
        """Scratch, the number of candidates, and an engine that builds but does not start."""
        large, fails = {"DLC_STANDIN_FAST_ENGINE": "5"}, {"DLC_STANDIN_FAST_ENGINE": "12"}
        for cache, words, environment, expected in [("a", ["--workspace-mb=32"], large, {7, 3}), ("b", [], large, {5}),
                                                    ("c", ["--tune-candidates=1"], FAST, {7}),
                                                    ("d", [], fails, {7, 3, 5})]:
            with self.subTest(words=words, environment=environment):
                engines, _, _ = self.train_one("--tune=benchmark", *words, cache=cache, **environment)
                self.assertLessEqual(set(engines), expected)

    def test_more_scratch(self):
        """What no engine does within the limit is done all the same, and said."""
        self.assertEqual(self.train_one("--workspace-mb=0", **FAST)[0], [7] * CONVOLUTIONS)
        self.assertRegex(self.err, r"warning: conv '.*': cuDNN wants \d+\.\d MiB of scratch memory, more than --workspace-mb=0")

    def test_ranks_choose_the_same(self):
        """Rank 0 chooses for all; the others need no cache of their own."""
        two = self.compile_for_cuda("lenet", optimizer="sgd", batch=8, ddp=2)
        fast = [3] * CONVOLUTIONS
        ranks = sorted(self.train(two, "--tune=benchmark", **FAST), key=lambda rank: rank[1])
        self.assertEqual(ranks, [(fast, 0, ["blob"] * CONVOLUTIONS), (fast, CONVOLUTIONS, [])])
        with self.subTest("a cache that cannot be written"):
            with open(self.path("file"), "w"):
                pass
            ranks = sorted(self.train(two, "--tune=benchmark", cache="file", **FAST), key=lambda rank: rank[1])
            self.assertEqual(ranks, [(fast, 0, ["blob"] * CONVOLUTIONS), (fast, CONVOLUTIONS, [])])


if __name__ == "__main__":
    dlc.main()
