# SPDX-License-Identifier: Apache-2.0
"""dlc train --profile times every command of a step."""

import json
import os
from unittest import mock

import dlc


class Profile(dlc.TestCase):
    def test_lenet(self):
        artifact = dlc.compile(dlc.model("lenet"), self.path("lenet.dlc"))
        _, err = dlc.dlc("train", artifact, data=dlc.data("mnist-train"), run=self.path("run"),
                         steps=6, profile=True)
        with open(self.path("run/profile.json")) as file:
            commands = json.load(file)
        out, _ = dlc.dlc("inspect", artifact, json=True)
        expected = json.loads(out)["programs"]["train_step"]
        self.assertEqual(len(commands), expected["commands"])
        for command in commands:
            self.assertEqual(command["calls"], 5, "all steps but the first, which binds")
            self.assertGreater(command["least"], 0)
            self.assertGreaterEqual(command["seconds"], 5 * command["least"])
        self.assertEqual(sum(c["flops"] for c in commands), expected["flops"])
        convolution = next(c for c in commands if c["kind"] == "conv_backward_filter")
        self.assertIn("Conv", convolution["nodes"])
        self.assertRegex(err, r"GFLOP/s")
        with open(self.path("run/trace.json")) as file:
            events = [e for e in json.load(file)["traceEvents"] if e["ph"] == "X"]
        self.assertEqual([e["name"] for e in events], [c["command"] for c in commands])
        for event, command in zip(events, commands):
            self.assertAlmostEqual(event["dur"], 1e6 * command["seconds"] / 5, delta=1e-3)
            self.assertAlmostEqual(event["ts"], 1e6 * command["begin"] / 5, delta=1e-3)
        self.assertRegex(err, r"all commands of a train_step")

    def test_roofline(self):
        with mock.patch.dict(os.environ, DLC_CACHE_DIR=self.path("cache")):
            self.judge()

    def judge(self):
        artifact = dlc.compile(dlc.model("lenet"), self.path("m.dlc"), amp=True)

        def profile(run, threads):
            _, err = dlc.dlc("train", artifact, data=dlc.data("mnist-train"), run=self.path(run), steps=3,
                             threads=threads, profile=True)
            with open(self.path(run + "/profile.json")) as file:
                return json.load(file), err

        commands, err = profile("unknown", 1)
        self.assertNotIn("roofline", commands[0])
        self.assertNotIn("roof %", err)
        self.assertIn("dlc doctor bench machine, once", err)

        out, _ = dlc.dlc("doctor", "bench", "machine", threads=1, json=True)
        machine = json.loads(out)
        self.assertEqual(machine["threads"], 1)
        for rate in ("f32_flops", "bandwidth"):
            self.assertGreater(machine[rate], 1e8)
        if machine["bf16_flops"]:  # else the CPU computes bf16 in f32
            self.assertGreater(machine["bf16_flops"], 1e8)
        half_flops = machine["bf16_flops"] or machine["f32_flops"]

        commands, err = profile("judged", 1)
        self.assertIn("roof %", err)
        self.assertRegex(err, r"all commands of a train_step, \d+ % at the machine's roofline of \d")
        products = 0
        for command in commands:
            bytes, flops = command["bytes"] / machine["bandwidth"], command["flops"]
            single, half = max(bytes, flops / machine["f32_flops"]), max(bytes, flops / half_flops)
            isProduct = command["kind"].startswith(("conv", "matmul"))
            products += isProduct
            # Figures are kept as whole numbers.
            expected = [half] if isProduct else [single] if command["kind"] == "kernel" else [single, half]
            self.assertLess(min(abs(command["roofline"] / x - 1) for x in expected), 1e-6, command)
        self.assertGreater(products, 10)

        # Of as many threads as were measured.
        commands, err = profile("other", 2)
        self.assertNotIn("roof %", err)
        out, _ = dlc.dlc("doctor", "cache", "list")
        self.assertRegex(out, r"^machine  .*  1 threads  20")
        if len(os.sched_getaffinity(0)) == 1:
            out, _ = dlc.dlc("inspect", artifact, "--costs")
            self.assertIn("CPU us", out)


if __name__ == "__main__":
    dlc.main()
