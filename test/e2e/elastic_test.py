# SPDX-License-Identifier: Apache-2.0
"""An elastic range of torchrun's: agents come and go, the run goes on with the ranks that there are, its steps and learning
rates as they were. Needs a torchrun (the project does not): one in PATH, or DLC_TORCHRUN names it."""

import json
import os
import re
import signal
import shutil
import socket
import subprocess
import time
import unittest

import dlc
import numpy as np

TORCHRUN = os.environ.get("DLC_TORCHRUN") or shutil.which("torchrun")
STEPS, EVERY, SECONDS = 2500, 10, 120


@unittest.skipUnless(TORCHRUN, "no torchrun here; DLC_TORCHRUN may name one")
class Elastic(dlc.TestCase):
    def agent(self, words):
        """One of one or two, with a rank each, in a process group of its own."""
        command = [TORCHRUN, "--nnodes=1:2", "--nproc-per-node=1", "--max-restarts=3", "--rdzv-backend=c10d", "--rdzv-id=elastic",
                   f"--rdzv-endpoint=127.0.0.1:{self.port}", "--rdzv-conf=last_call_timeout=1,keep_alive_interval=1",
                   "--monitor-interval=0.5", "--no-python", "--", dlc.DLC, *words]
        with open(self.path("said"), "a") as said:
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=said, start_new_session=True,
                                       env=os.environ | {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"})
        self.addCleanup(self.end, process)
        return process

    def end(self, agent):
        if agent.poll() is None:
            self.kill(agent)
        agent.wait()

    def kill(self, agent):
        """And its rank, which is in a session of its own."""
        with open(f"/proc/{agent.pid}/task/{agent.pid}/children") as file:
            for pid in [agent.pid, *map(int, file.read().split())]:
                os.kill(pid, signal.SIGKILL)

    def said(self):
        with open(self.path("said")) as file:
            return file.read()

    def world(self, after):
        """(step, ranks) of the newest checkpoint that is later than this step; None if there is none."""
        run = self.path("run")
        names = os.listdir(run) if os.path.exists(run) else []
        steps = [int(found[1]) for found in (re.fullmatch(r"checkpoint-(\d+)", name) for name in names) if found]
        if max(steps, default=0) <= after:
            return None
        try:
            with open(f"{run}/checkpoint-{max(steps)}/trainer.json") as file:
                return max(steps), json.load(file)["world"]
        except FileNotFoundError:  # a newer one is there
            return None

    def wait_for_world(self, ranks, agents, after=0):
        """A checkpoint by so many; gives its step."""
        end = time.monotonic() + SECONDS
        while True:
            found = self.world(after)
            if found and found[1] == ranks:
                return found[0]
            for agent in agents:
                self.assertIsNone(agent.poll(), self.said()[-3000:])
            self.assertLess(time.monotonic(), end, self.said()[-3000:])
            time.sleep(0.05)

    def test_agents_come_and_go(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        options = dict(ddp=2, batch=64, schedule="cosine", lr=0.05, momentum=0.9)
        artifact = dlc.compile(dlc.model("lenet"), self.path("model.dlc"), **options)
        words = ["train", artifact, *dlc.flags(dict(
            data=dlc.data("mnist-train"), steps=STEPS, save_every=EVERY, keep=9999, threads=1, timeout=20, quiet=True,
            run=self.path("run"), resume_or_start=True))]
        first = self.agent(words)
        alone = self.wait_for_world(1, [first])  # it does not wait for the other, nor is it refused
        second = self.agent(words)
        both = self.wait_for_world(2, [first, second], alone)
        self.kill(second)
        again = self.wait_for_world(1, [first], both)
        third = self.agent(words)
        self.wait_for_world(2, [first, third], again)
        self.assertEqual([agent.wait(timeout=SECONDS) for agent in (first, third)], [0, 0], self.said()[-3000:])
        told = re.findall(r"(\d) ranks? instead of (\d) go(?:es)? on from step (\d+)", self.said())
        self.assertEqual([(now, before) for now, before, _ in told][-3:], [("2", "1"), ("1", "2"), ("2", "1")])
        run = dlc.Run(self.path("run"))
        np.testing.assert_array_equal(run.metrics("step"), np.arange(1, STEPS + 1))
        rates = 0.05 * (1 + np.cos(np.pi * np.arange(STEPS) / STEPS)) / 2
        np.testing.assert_allclose(run.metrics("lr"), rates, rtol=1e-4, atol=1e-8)
        print("\nelastic:", told)


if __name__ == "__main__":
    dlc.main()
