# SPDX-License-Identifier: Apache-2.0
"""dlc train on a GPU that fails, played by the stand-ins: the error, the exit code, and what is left of the run."""

import json
import os
import re
import socket
import time

import dlc
import standins


class Failures(standins.StandinTest):

    def artifact(self, ranks=1):
        if not hasattr(self, "compiled"):
            self.compiled = self.compile_for_cuda("lenet", ddp=ranks, batch=8, optimizer="sgd", momentum=0.9)
        return self.compiled

    def train(self, *words, code, environment, ranks=1):
        """A failing run of lenet: its stderr."""
        _, err = self.run_on_standins(self.artifact(ranks), *words, code=code, environment=environment,
                                      data=dlc.data("mnist-train"), run=self.path("run"), steps=6, seed=1,
                                      save_every=2, threads=1, quiet=True)
        return err

    def resumes(self):
        """What was saved before the failure goes on to the end."""
        self.run_on_standins("--resume=" + self.path("run"), quiet=True)
        self.assertEqual(int(dlc.Run(self.path("run")).state(6)["step"]), 6)

    def test_not_enough_memory(self):
        err = self.train(code=dlc.LIMIT, environment={"DLC_STANDIN_MEMORY_MIB": "1"})
        self.assertRegex(err, r"error: GPU 0 \(Stand-in GPU\) has not enough memory for [a-z ]+: .* wanted, .* free")
        self.assertRegex(err, r"the largest tensors:\n(.*MiB  .*\n)+.* of '/c1/Conv' in train_step")

    def test_not_enough_memory_for_scratch(self):
        """Found when the step is bound; a plan that wants less is taken where there is one."""
        _, err = self.run_on_standins(self.artifact(), data=dlc.data("mnist-train"), run=self.path("run"), steps=1,
                                      threads=1)
        held = re.search(r"memory of each GPU: ([\d.]+) MiB: param ([\d.]+) MiB, .*; pinned on the host ([\d.]+) MiB", err)
        self.assertGreater(float(held[1]), float(held[2]))
        enough = {"DLC_STANDIN_MEMORY_MIB": "48", "DLC_STANDIN_FAST_ENGINE": "5"}
        words = ["--tune=benchmark", "--workspace-mb=64", "--cache-dir=" + self.path("cache")]
        self.run_on_standins(self.artifact(), *words, data=dlc.data("mnist-train"), run=self.path("tuned"), steps=1,
                             threads=1, environment=enough)
        err = self.train(code=dlc.LIMIT, environment={"DLC_STANDIN_FAIL": "cuMemAlloc:8=2"})
        self.assertRegex(err, r"has not enough memory for scratch of library calls")
        self.assertRegex(err, r"the largest tensors:\n(.*MiB  .*\n)+")

    def test_an_epilogue_is_missing(self):
        _, err = self.run_on_standins(self.artifact(), environment={"DLC_STANDIN_NO_EPILOGUE": "512"}, code=dlc.INCOMPATIBLE,
                                      data=dlc.data("mnist-train"), run=self.path("run"), steps=2, threads=1)
        self.assertRegex(err, r"error: matmul_bias_backward '/f\d/Gemm.*': cuBLASLt \d+ has no algorithm for it with BGRADB on "
                              r"Stand-in GPU; compile with --matmul-epilogues=off")

    def fault_in_a_kernel(self):
        """An illegal address in the fifth step, of the kernel that ends with the loss."""
        self.artifact()
        with open(self.path("plan.mlir")) as plan:
            kernel = re.search(r"exec.kernel @(k\d+_reduce_mean)", plan.read())[1]
        return {"DLC_STANDIN_FAIL": f"work:{kernel}:5=700"}

    def test_a_kernel_fails(self):
        """An error comes later than its cause; waiting for every command finds it."""
        err = self.train(code=dlc.FAILED, environment=self.fault_in_a_kernel())
        self.assertRegex(err, r"error: a command that was started earlier failed \(DLC_SYNC=1 finds which\): .*"
                              r"CUDA_ERROR_ILLEGAL_ADDRESS")
        self.resumes()

    def test_the_command_is_named(self):
        err = self.train(code=dlc.FAILED, environment={**self.fault_in_a_kernel(), "DLC_SYNC": "1"})
        self.assertRegex(err, r"error: kernel '/f3/Gemm': CUDA_ERROR_ILLEGAL_ADDRESS")

    def test_a_launch_is_refused(self):
        with open(self.path("exp.yaml"), "w") as file:
            file.write("run:\n  no-graph: true\n")
        err = self.train("--config=" + self.path("exp.yaml"), code=dlc.FAILED, environment={"DLC_STANDIN_FAIL": "cuLaunchKernel:7=701"})
        self.assertRegex(err, r"error: kernel '.*': CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES")

    def test_a_reduction_fails(self):
        err = self.train("--no-graph", code=dlc.FAILED, ranks=2, environment={"DLC_STANDIN_NCCL_FAULT": "1:5:run"})
        self.assertRegex(err, r"rank 1 failed: a collective")
        self.resumes()

    def test_a_reduction_hangs(self):
        start = time.monotonic()
        err = self.train("--timeout=2", code=dlc.PEER_LOST, ranks=2, environment={"DLC_STANDIN_NCCL_FAULT": "1:2:hang"})
        self.assertRegex(err, r"a collective was not done in 2 s: all_reduce of bucket \d+, step \d+, gradients of '/f3/Gemm'")
        self.assertLess(time.monotonic() - start, 20)
        self.expect_steps(r"a collective was not done in 2 s: all_reduce of bucket \d+, step (\d+)", err)

    def expect_steps(self, text, err):
        """Of the step that is named, and of one that may have been enqueued behind it, the collectives wait; all before are done."""
        step = int(re.search(text, err)[1])
        path = os.path.join(self.path("run"), f"flight-{socket.gethostname()}.jsonl")
        with open(path) as file:
            flights = [json.loads(line) for line in file]
        self.assertEqual(sorted(flight["rank"] for flight in flights), [0, 1])
        for flight in flights:
            calls = [call for call in flight["collectives"] if call["channel"] == 255]
            self.assertEqual([call["sequence"] for call in calls], list(range(len(calls))))
            self.assertTrue(all(call["operation"] == "all_reduce" and call["bytes"] > 0 for call in calls))
            done = {call["step"] for call in calls if call["state"] == "done"}
            waits = {call["step"] for call in calls if call["state"] == "waits"}
            self.assertEqual(done, set(range(1, step)), flight["rank"])
            self.assertTrue(waits <= {step, step + 1} and step in waits, (step, waits))
        out, _ = dlc.dlc("debug", "flight", path)
        self.assertRegex(out, r"collective \d+ on the GPUs: all_reduce of bucket \d+")


if __name__ == "__main__":
    dlc.main()
