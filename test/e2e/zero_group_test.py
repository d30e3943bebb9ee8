# SPDX-License-Identifier: Apache-2.0
"""--zero-group: shards within groups of ranks, means over all. Weights are those of data parallelism, and memory that of a group alone."""
# processors: 2

import os
import re
import shutil
import subprocess
import sys
import time
from unittest import mock

import dlc
import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "import"))
import onnx  # noqa: E402
from ranks import free_port  # noqa: E402
from support import model, node, value  # noqa: E402

ADAMW = dict(optimizer="adamw", lr=1e-3, schedule="constant", weight_decay=0.01)
MOMENTUM = dict(dlc.CONSTANT_SGD, lr=0.05, momentum=0.9, weight_decay=1e-4)


class ZeroGroup(dlc.TestCase):
    def compile(self, zero, ranks=4, **options):
        parts = dict(zero_whole_mb=1e-6) if zero == 3 else {}
        path = self.path(f"{len(os.listdir(self.folder))}.dlc")
        return dlc.compile(dlc.model("lenet"), path, ddp=ranks, zero=zero, quiet=True, **(dict(batch=8, bucket_mb=0.05) | parts | options))

    def train(self, artifact, steps=6, code=dlc.OK, **options):
        run = self.path(f"run{len(os.listdir(self.folder))}")
        out = dlc.dlc("train", artifact, data=dlc.data("mnist-train"), run=run, steps=steps, code=code, **(dict(shuffle="off", threads=1) | options))
        return dlc.Run(run) if code == dlc.OK else out[1]

    def check(self, steps=6, levels=(1, 2, 3), ranks=4, group=2, batch=8, train=None, **options):
        """Each parameter moves as without shards, within max(2e-6, 30 times what another number of ranks with the same samples changes)."""
        artifact = self.compile(0, ranks, batch=batch, **options)
        runs = [self.train(artifact, steps, **(train or {}))]
        expected, initial = runs[0].state(steps), runs[0].initial(artifact)
        other = self.train(self.compile(0, 2, batch=batch * ranks // 2, **options), steps, **(train or {})).state(steps)
        names = [name for name in initial if re.fullmatch(r"[cf]\d\.(weight|bias)", name)]
        self.assertEqual(len(names), 10)
        bounds = {"final/" + name: expected[name] for name in names}
        for name in names:
            moved = np.linalg.norm(expected[name] - initial[name])
            bounds["noise/" + name] = min(1e-5, np.linalg.norm(other[name] - expected[name]) / moved)
        for zero in levels:
            runs.append(self.train(self.compile(zero, ranks, batch=batch, **options), steps, zero_group=group, **(train or {})))
            found = runs[-1].state(steps)
            self.assertEqual(set(found), set(expected))
            self.assertEqual(self.assertMoved(found, initial, bounds), len(names))
            for name, tensor in expected.items():
                self.assertNear(found[name], tensor, 1e-5 if name.endswith((".m", ".v")) else 2e-6, name)
            for metric in ["loss"] + ["grad_norm"] * ("clip_grad" in options):
                np.testing.assert_allclose(runs[-1].metrics(metric), runs[0].metrics(metric), rtol=2e-6)
        return runs

    def test_momentum(self):
        self.check(**MOMENTUM)

    def test_clipped_averages_micro_batches(self):
        """A norm counts each shard once."""
        self.check(clip_grad=0.1, ema=0.9, accumulate=2, **ADAMW, train=dict(val=dlc.data("mnist-test")))

    def test_clamped(self):
        self.check(clip_value=0.001, clip_grad=0.02, levels=(2, 3), **MOMENTUM)

    def test_groups_of_three(self):
        self.check(ranks=6, group=3, steps=3, levels=(2, 3), clip_grad=0.1, **MOMENTUM)

    def test_loss_scale(self):
        """A step with an overflow on one rank moves nothing."""
        with mock.patch.dict(os.environ, DLC_INJECT_INF="2"):
            for run in self.check(steps=3, amp="O1", amp_dtype="fp16", ema=0.9, **MOMENTUM):
                self.assertEqual(list(run.metrics("found_inf")), [0, 1, 0])

    def test_one_group_is_all_ranks(self):
        """Bit for bit."""
        artifact = self.compile(2, clip_grad=0.1, **ADAMW)
        self.assertBitwise(self.train(artifact, zero_group=4).state(6), self.train(artifact).state(6), "one group")

    def test_resumed(self):
        for zero in 1, 2, 3:
            for save in "background", "sharded":
                artifact = self.compile(zero, clip_grad=0.1, ema=0.9, **ADAMW)
                whole = self.train(artifact, steps=6, zero_group=2)
                part = self.train(artifact, steps=3, zero_group=2, save=save)
                dlc.dlc("train", resume=part.folder, steps=6, threads=1, save=save)
                self.assertBitwise(part.state(6), whole.state(6), f"{zero}, {save}")
            for ranks, group in (2, 2), (3, 0), (6, 3):
                steps = 6 + ranks
                dlc.dlc("train", resume=part.folder, ranks=ranks, zero_group=group, steps=steps, threads=1)
                self.assertTrue(all(np.isfinite(v).all() for v in part.state(steps).values() if v.dtype == np.float32))

    def test_replay(self):
        """With the groups of its run, to the last bit."""
        artifact = self.compile(2, clip_grad=1, **dict(MOMENTUM, lr=1e20))
        self.train(artifact, steps=20, zero_group=2, code=dlc.DIVERGED)
        run = self.path(sorted(os.listdir(self.folder))[-1])
        bundle = os.path.join(run, next(name for name in os.listdir(run) if name.startswith("replay-")))
        self.assertIn("reproduced: ", dlc.dlc("debug", "replay", bundle)[0])
        with open(bundle + "/manifest.json") as file:
            self.assertIn('"zero_group": 2', file.read())

    def test_memory_is_that_of_a_group(self):
        """In groups of two, four ranks save as much as two ranks do, where one group of four saves half as much again."""
        random = np.random.RandomState(1)
        weights = {f"w{i}": random.randn(1000, 1000).astype("f4") / 30 for i in range(6)} | {"v": random.randn(10, 1000).astype("f4") / 30}
        nodes, last = [], "x"
        for i in range(6):
            nodes += [node("Gemm", [last, f"w{i}"], [f"h{i}"], transB=1), node("Relu", [f"h{i}"], [f"r{i}"])]
            last = f"r{i}"
        nodes.append(node("Gemm", [last, "v"], ["y"], transB=1))
        onnx.save(model(nodes, [value("x", [1, 1000])], [value("y", [1, 10])], weights, opset=17), self.path("wide.onnx"))
        np.savez(self.path("wide.npz"), x=random.randn(4000, 1000).astype("f4"), y=random.randint(10, size=4000))

        def memory(zero, ranks, group=0):
            artifact = dlc.compile(self.path("wide.onnx"), self.path(f"{ranks}-{zero}.dlc"), ddp=ranks, zero=zero, ema=0.9, bucket_mb=4, quiet=True, **ADAMW)
            return self.resident(artifact, ranks, self.path(f"wide-{zero}-{ranks}-{group}"), zero_group=group)
        whole = {ranks: memory(0, ranks) for ranks in (2, 4)}
        for zero in 1, 3:
            pairs, two, four = whole[4] - memory(zero, 4, 2), whole[2] - memory(zero, 2), whole[4] - memory(zero, 4)
            # At level 3 the room for what arrives depends on the number of ranks, too.
            self.assertAlmostEqual(pairs / two, 1, delta=0.05 if zero == 1 else 0.2)
            self.assertAlmostEqual(four / pairs, 1.5, delta=0.05 if zero == 1 else 0.3)

    def resident(self, artifact, ranks, run, **options):
        """Bytes of the smallest rank while it trains; what is freed is given back at once."""
        with mock.patch.dict(os.environ, MALLOC_MMAP_THRESHOLD_="131072", MALLOC_PERTURB_="0"):
            process = dlc.start("train", artifact, data=self.path("wide.npz"), run=run, steps=100000, threads=1, save_every=0, **options)
        try:
            deadline = time.monotonic() + 60
            while not os.path.exists(run + "/metrics.jsonl") or os.path.getsize(run + "/metrics.jsonl") < 500:
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.05)
            found = []
            with open(f"/proc/{process.pid}/task/{process.pid}/children") as file:
                pids = file.read().split()
            for pid in pids:
                with open(f"/proc/{pid}/status") as file:
                    found += [int(line.split()[1]) * 1024 for line in file if line.startswith("VmRSS")]
            self.assertEqual(len(found), ranks)
            return min(found)
        finally:
            dlc.kill(process)

    def test_of_hosts(self):
        """The ranks of a host, by its name, are a group; ranks of hosts in turns are refused by all."""
        if not shutil.which("unshare") or subprocess.run(["unshare", "--uts", "true"], capture_output=True).returncode:
            self.skipTest("a host name of one's own needs root")
        artifact = self.compile(2, clip_grad=0.1, **ADAMW)

        def train(name, hosts):
            words = ["train", artifact, *dlc.flags(dict(data=dlc.data("mnist-train"), run=self.path(name), steps=6, shuffle="off", threads=1,
                                                        zero_group="host", world_size=4, init=f"tcp://127.0.0.1:{free_port()}"))]
            ranks = [subprocess.Popen(["unshare", "--uts", "sh", "-c", 'hostname "$0" && exec "$@"', f"dlc-{host}", dlc.DLC, *words, f"--rank={rank}"],
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for rank, host in enumerate(hosts)]
            for rank in ranks:
                self.addCleanup(dlc.kill, rank)
            return [dlc.finish(rank, 90) for rank in ranks]
        ends = train("hosts", "aabb")
        self.assertEqual([code for code, _, _ in ends], [dlc.OK] * 4, ends)
        self.assertIn("--zero-group=host: groups of 2 of 4 ranks", ends[0][2])
        self.assertBitwise(dlc.Run(self.path("hosts")).state(6), self.train(artifact, zero_group=2).state(6), "hosts")
        with open(self.path("hosts/config.yaml")) as file:
            self.assertIn("zero_group: host\n", file.read())
        dlc.dlc("train", resume=self.path("hosts"), steps=7, threads=1)  # on one host
        ends = train("turns", "abab")
        self.assertEqual([code for code, _, _ in ends], [dlc.USAGE] * 4, ends)
        self.assertIn("--zero-group=host: rank 2 (host 'dlc-a') is not of 1 consecutive ranks of a host, as rank 0 (host 'dlc-a') is: give a number",
                      ends[0][2])

    def test_refusals(self):
        artifact = self.compile(1, **ADAMW)
        self.assertIn("error: --zero-group=3 does not divide 4 ranks: use a divisor, or --zero-group=0, which shards over all ranks",
                      self.train(artifact, zero_group=3, code=dlc.USAGE))
        self.assertIn("error: --on-lost-rank=shrink conflicts with --zero-group=2: fewer ranks may not divide into groups of this size; leave out one of the two",
                      self.train(artifact, zero_group=2, on_lost_rank="shrink", code=dlc.USAGE))
        whole = self.compile(0, **ADAMW)
        for given in (2, "host"):
            self.assertIn(f"error: --zero-group={given}: no state of '{whole}' has shards: compile it with --zero=1 and an optimizer that has "
                          "moments, or with --zero=3", self.train(whole, zero_group=given, code=dlc.USAGE))
        run = self.train(artifact, zero_group=2, steps=2)
        _, err = dlc.dlc("train", resume=run.folder, ranks=3, steps=4, code=dlc.USAGE)
        self.assertIn("error: --zero-group=2 does not divide 3 ranks", err)
        self.assertEqual(len(re.findall("error:", err)), 1)


if __name__ == "__main__":
    dlc.main()
