# SPDX-License-Identifier: Apache-2.0
"""A GPU that is lost does not end a run that shrinks: the others go on, played by the stand-ins."""

import os
import re
import shutil

import dlc
import standins

STEPS = 12


class LostRank(standins.StandinTest):
    def train(self, ranks, fault, *words, code=dlc.OK, environment=()):
        self.artifact = self.compile_for_cuda("lenet", ddp=ranks, batch=8, optimizer="sgd")
        variables = {"DLC_STANDIN_NCCL_FAULT": fault, "DLC_STANDIN_DEVICES": str(ranks), **dict(environment)}
        _, err = self.run_on_standins(self.artifact, "--on-lost-rank=shrink", *words, code=code,
                                      environment=variables, data=dlc.data("mnist-train"), run=self.path("run"),
                                      steps=STEPS, seed=1, save_every=2, threads=1)
        return err

    def expect_as_resumed(self, step, ranks):
        """As a copy of the run, stopped at `step` and resumed by `ranks`."""
        copy = self.path("copy")
        shutil.copytree(self.path("run"), copy)
        for later in range(step + 2, STEPS + 1, 2):
            shutil.rmtree(os.path.join(copy, f"checkpoint-{later}"))
        self.run_on_standins("--resume=" + copy, f"--ranks={ranks}", environment={"DLC_STANDIN_DEVICES": "3"})
        self.assertBitwise(dlc.Run(self.path("run")).state(STEPS), dlc.Run(copy).state(STEPS), "resumed")

    def test_two_losses(self):
        """The rank whose reductions fail is left out, then its heir; each goes on with the GPU that it had."""
        trace = {"DLC_STANDIN_TRACE": self.path("trace-%p")}
        err = self.train(3, "1:5:run", "--no-graph", environment=trace)
        self.assertIn("rank 1 failed: a collective", err)
        self.assertIn("rank 1 is lost: 2 of 3 ranks go on", err)
        self.assertIn("rank 1 is lost: 1 of 2 ranks go on", err)
        self.assertEqual(int(dlc.Run(self.path("run")).state(STEPS)["step"]), STEPS)
        [_, step] = re.findall(r"go(?:es)? on from step (\d+):", err)
        gpus = sorted(self.gpu(name) for name in os.listdir(self.folder) if name.startswith("trace-"))
        self.assertEqual(gpus, [0, 0, 0, 1, 2, 2])
        self.expect_as_resumed(int(step), 1)

    def gpu(self, name):
        with open(self.path(name)) as file:
            return int(re.search(r"cuDevicePrimaryCtxRetain\D*(\d+)", file.read())[1])

    def test_a_reduction_that_hangs(self):
        """Nobody knows whose fault it is: all start again, until that is of no use."""
        err = self.train(2, "1:2:hang", "--timeout=1", "--max-restarts=1", code=dlc.PEER_LOST)
        self.assertIn("the ranks lost each other: 2 of 2 ranks go on", err)
        self.assertIn("the ranks lost each other: ranks have been restarted 1 times already (--max-restarts)", err)


if __name__ == "__main__":
    dlc.main()
