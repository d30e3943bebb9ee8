# SPDX-License-Identifier: Apache-2.0
"""Runs of two to four ranks to which something happens at any moment: ranks that are killed or stopped, links that break or
crawl, a full disk, samples that do not come, a launcher that is killed. What then ends does so in time and names who is to
blame, what can go on does; a resumed run has the bits of the undisturbed one, and nothing is left behind.

DLC_RANK_FAULTS=200 for more cases, DLC_RANK_FAULT_SEED=N for the first one's number (a case is given by its number alone),
DLC_RANK_FAULT_KINDS=kill,cut for some kinds. Links need root: each rank gets a network namespace.
"""
# processors: 2

import contextlib
import glob
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

import dlc
from ranks import Lateness, Network, Ranks, processes_of

CASES = int(os.environ.get("DLC_RANK_FAULTS", 5))
FIRST = int(os.environ.get("DLC_RANK_FAULT_SEED", 10))
AGAIN = [7085]  # that once did not end
STEPS = 40
MODELS = {"mlp": "digits-train", "lenet": "mnist-train"}
SILENCE, TIMEOUT = 3, 8  # seconds: --heartbeat and --timeout
AT_ONCE, GRACE = 1.0, 0.5  # until a death is known; beyond any deadline, to find out who is to blame
ENDING = 0.2  # of a process: its record, its memory
LOCAL = "kill", "stop", "kill launcher", "pause", "pause all", "full disk", "terminate"
APART = "kill", "kill two", "stop", "pause", "pause all", "cut", "blink", "slow", "part"
LINKS = "cut", "blink", "slow", "part"
STALL = "stall"  # of a program of samples: every tenth case, so that others stay what they were
HARMLESS = "pause", "pause all", "blink", "slow"


# Who a message blames.
ACCUSED = re.compile(r"rank (\d+)(?: \(process \d+\))? (?:is lost|does not answer|was ended by signal)"
                     r"|does not answer as rank (0) does")


def steps_of(run):
    """Those whose lines are written."""
    with contextlib.suppress(FileNotFoundError), open(run + "/metrics.jsonl") as file:
        return file.read().count("\n")
    return 0


def fill(folder):
    with contextlib.suppress(OSError), open(folder + "/filler", "wb", buffering=0) as file:
        while True:
            file.write(bytes(1 << 12))


def make_room(folder):
    with contextlib.suppress(FileNotFoundError):
        os.remove(folder + "/filler")


class Case:
    """What happens, drawn from the case's number."""

    def __init__(self, number, kinds, can_link):
        draw = random.Random(f"ranks {number}")
        self.number = number
        self.world = draw.randint(2, 4)
        self.zero = draw.randint(0, 3)
        self.save = draw.choice(("background", "sync", "sharded"))
        ways = [("local", kind) for kind in LOCAL] + [("apart", kind) for kind in APART]
        ways = [way for way in ways if way[1] in kinds and (can_link or way[1] not in LINKS)]
        self.way, self.kind = draw.choice(ways or [("apart", STALL)])
        if self.kind in ("kill two", "part"):
            self.world = max(3, self.world)
        self.model = draw.choice(list(MODELS))
        if self.kind == STALL or STALL in kinds and number % 10 == 9:
            self.way, self.kind, self.model = "apart", STALL, "lenet"
        self.early = draw.random() < 0.25 and self.kind != STALL  # while ranks meet and load, or before; else after a step
        self.moment = draw.random()
        self.victim, self.second = draw.sample(range(self.world), 2)
        self.inside = draw.randint(0, 1)  # which end of a link
        self.lasts = draw.uniform(0.1, 0.8)  # seconds, of what is harmless
        self.rate = draw.choice(("5mbit", "20mbit"))
        if self.kind == "part" and 0 in (self.victim, self.second):  # who is cut off from the store is to blame: that is "cut"
            self.victim, self.second = 1, 2

    def __str__(self):
        moment = f"start + {self.moment:.2f}" if self.early else f"step {self.step()}"
        return (f"{self.number}: {self.kind}, {self.way}, {self.world} ranks of {self.model}, victim {self.victim}, "
                f"zero {self.zero}, save {self.save}, {moment}")

    def step(self):
        return int(self.moment * (STEPS - 2))


class RankFaults(dlc.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.share_folder()
        cls.known, cls.counts, cls.worst = {}, {}, {}

    @classmethod
    def tearDownClass(cls):
        counts = ", ".join(f"{kind} {cut}/{all}" for kind, (cut, all) in sorted(cls.counts.items()))
        worst = ", ".join(f"{kind} {seconds:.2f}" for kind, seconds in sorted(cls.worst.items()))
        print(f"\nfaults of ranks (in the middle of a run/all): {counts}\nlongest time to the end, s: {worst}")

    def setUp(self):
        super().setUp()
        os.makedirs(self.path("tmp"))

    def whole(self, case):
        """(artifact, the undisturbed run's weights) for as many ranks."""
        key = case.model, case.world, case.zero
        if key not in self.known:
            artifact, run = (os.path.join(self.shared, "-".join(map(str, (name, *key)))) for name in ("artifact", "run"))
            dlc.compile(dlc.model(case.model), artifact, ddp=case.world, zero=case.zero, ema=True, optimizer="adamw",
                        lr=1e-3, batch=8, quiet=True)
            dlc.dlc(*self.words(case, artifact, run))
            self.known[key] = artifact, dlc.Run(run).state(STEPS)
        return self.known[key]

    def words(self, case, artifact, run, samples=None):
        return ["train", artifact, samples or "--data=" + dlc.data(MODELS[case.model]), f"--steps={STEPS}", "--save-every=3", "--keep=2",
                "--save=" + case.save, "--threads=1", "--quiet", f"--timeout={TIMEOUT}", f"--heartbeat={SILENCE}", "--run=" + run]

    def feed(self, case, folder):
        """The option of a program whose samples take a second, until those of the victim do not come any more."""
        feed, stalls = self.path("feed.py"), os.path.join(folder, STALL)
        with open(feed, "w") as file:
            file.write("import os, sys, time\nsys.stdout.write('{\"dlc\": 1, \"arrays\": [{\"name\": \"x\", \"dtype\": \"uint8\", "
                       "\"shape\": [1, 28, 28]}, {\"name\": \"y\", \"dtype\": \"uint8\", \"shape\": []}]}\\n')\n"
                       f"while True:\n    while os.environ['DLC_RANK'] == '{case.victim}' and os.path.exists({stalls!r}): time.sleep(1)\n"
                       "    sys.stdout.write('\\0' * (28 * 28 + 1) * 8)\n    sys.stdout.flush()\n    time.sleep(0.025)\n")
        return f"--data-command={sys.executable} {feed}"

    def test_faults(self):
        can_link = Network.is_possible()
        kinds = os.environ.get("DLC_RANK_FAULT_KINDS", ",".join((*LOCAL, *APART, STALL))).split(",")
        again = AGAIN if can_link and "DLC_RANK_FAULTS" not in os.environ else []
        for number in [*range(FIRST, FIRST + CASES), *again]:
            case = Case(number, kinds, can_link)
            with self.subTest(case=str(case)):
                try:
                    self.run_case(case)
                finally:
                    self.clean()
        cut = sum(count[0] for count in self.counts.values())
        self.assertGreaterEqual(cut, CASES // 4)

    def run_case(self, case):
        artifact, expected = self.whole(case)
        folder = self.disk() if case.kind == "full disk" else self.path("runs")
        os.makedirs(folder, exist_ok=True)
        run = self.run_folder = os.path.join(folder, "run")
        samples = self.feed(case, folder) if case.kind == STALL else None
        self.job = Ranks(self.words(case, artifact, run, samples), case.world, self.path("tmp"), apart=case.way == "apart",
                         network=case.kind in LINKS)
        self.wait_for_moment(case, run)
        begun, ended = steps_of(run) > 0, self.job.has_ended()
        with Lateness() as late:
            self.happen(case, run)
            self.look(case, begun, late)
        self.assertFalse(processes_of(self.job.mark), "processes are left")
        count = self.counts.setdefault(case.kind, [0, 0])
        count[0] += begun and not ended
        count[1] += 1
        if os.path.exists(run) and case.kind != STALL:
            if case.way == "apart" and self.job.code(0) >= 0:  # else what was killed while it wrote
                self.check_strays(run)
            dlc.dlc("train", resume=run, quiet=True)
            self.assertBitwise(dlc.Run(run).state(STEPS), expected, "resumed")
            steps = dlc.Run(run).metrics("step").tolist()
            self.assertEqual(steps, list(range(1, STEPS + 1)))
            self.check_strays(run)
        elif case.kind != STALL:
            self.assertFalse(begun)
        left = os.listdir(self.path("tmp"))
        if case.kind == "full disk":  # records that the run has no room for
            left = [name for name in left if not name.startswith("dlc-flight-")]
        self.assertEqual(left, [])

    def wait_for_moment(self, case, run):
        if case.early:
            return time.sleep(case.moment)
        while steps_of(run) < case.step() + 1 and not self.job.has_ended():
            time.sleep(0.002)

    def happen(self, case, run):
        """Returns when it has."""
        job, kind, victim, network = self.job, case.kind, case.victim, self.job.network
        if kind == "kill":
            job.signal(signal.SIGKILL, victim)
        elif kind == "kill two":
            job.signal(signal.SIGKILL, victim, case.second)
        elif kind == "kill launcher":
            job.signal_launcher(signal.SIGKILL)
        elif kind == "terminate":
            job.signal_launcher(signal.SIGTERM)
        elif kind == "stop":
            job.signal(signal.SIGSTOP, victim)
        elif kind in ("pause", "pause all"):
            ranks, seconds = ([victim], case.lasts) if kind == "pause" else (range(case.world), SILENCE + 1)
            job.signal(signal.SIGSTOP, *ranks)
            time.sleep(seconds)
            job.signal(signal.SIGCONT, *ranks)
        elif kind == "full disk":
            fill(os.path.dirname(run))
            time.sleep(case.lasts)
            if case.inside:
                make_room(os.path.dirname(run))
        elif kind in ("cut", "blink"):
            network.cut(victim, case.inside)
            if kind == "blink":
                time.sleep(case.lasts)
                network.mend(victim, case.inside)
        elif kind == "slow":
            network.slow(victim, case.rate)
            time.sleep(2 * case.lasts)
            network.hurry(victim)
        elif kind == STALL:
            with open(os.path.join(os.path.dirname(run), STALL), "w"):
                pass
        elif kind == "part":
            network.part(victim, case.second)
        self.at = time.monotonic()

    def look(self, case, begun, late):
        """At how the ranks end."""
        job, kind = self.job, case.kind
        if kind in HARMLESS:
            job.wait(60)
            for rank in range(case.world):
                self.assertEqual(job.code(rank), 0, job.said())
            self.assertNotRegex(job.said(), r"is lost|does not answer")
        elif kind == "full disk":
            job.wait(60)
            self.assertIn(job.code(), (0, dlc.FAILED), job.said())
            make_room(self.path("disk"))
        elif kind == "terminate":
            job.wait(10 + late.seconds)
            self.assertIn(job.code(), (0, 128 + signal.SIGTERM), job.said())
        elif kind == "kill launcher":
            job.wait(AT_ONCE + GRACE + late.seconds)
        else:
            self.look_at_survivors(case, begun, late)

    def look_at_survivors(self, case, begun, late):
        job, kind = self.job, case.kind
        victims = {case.victim, case.second} if kind in ("kill two", "part") else {case.victim}
        survivors = [rank for rank in range(case.world) if rank not in victims or kind == "part"]
        deadline = TIMEOUT
        if begun and kind in ("kill", "kill two"):
            deadline = AT_ONCE
        elif begun and kind in ("stop", "cut"):
            deadline = SILENCE * 1.1  # it is looked for so often
        deadline += ENDING
        if job.launcher:  # which ends who was stopped, a moment later
            deadline += 0.3
        took = job.wait(60, survivors) - self.at
        if begun and any(job.code(rank) for rank in survivors):
            self.worst[kind] = max(self.worst.get(kind, 0), took)
        self.assertLess(took, deadline + GRACE + late.seconds, job.said())
        for rank in survivors:
            self.check_end(case, rank, victims, begun)
        if kind == "cut":
            job.network.mend(case.victim, case.inside)
        if kind == "stop" and not job.launcher:
            job.signal(signal.SIGCONT, case.victim)
        job.wait(TIMEOUT + GRACE + late.seconds)
        if kind == STALL and job.code(case.victim):
            self.assertRegex(job.said(case.victim), "this rank hangs: it waits for samples of '.*feed.py'")

    def told(self, rank):
        """On stderr or, if another rank of the host has told the same there, in the host's flight file."""
        said = self.job.said(rank)
        path = os.path.join(self.run_folder, f"flight-{socket.gethostname()}.jsonl")
        if "error: " in said or not os.path.exists(path):
            return said
        self.assertIn("error: ", self.job.said())
        with open(path) as file:
            return said + "".join(flight["error"] for flight in map(json.loads, file) if flight["rank"] == rank)

    def check_end(self, case, rank, victims, begun):
        code, said = self.job.code(rank), self.told(rank)
        if code == 0:  # it had ended before
            return
        self.assertEqual(code, dlc.PEER_LOST, said)
        if case.kind == "part":  # both are there, and all know it
            if begun:
                self.assertIn(f"ranks {min(victims)} and {max(victims)} do not reach each other", said)
            return
        accused = {int(one or other) for one, other in ACCUSED.findall(said)}
        self.assertTrue(accused, said)
        self.assertLessEqual(accused, victims, said)

    def check_strays(self, run):
        found = glob.glob(run + "/*tmp*") + glob.glob(run + "/*/*tmp*") + glob.glob(os.path.dirname(run) + "/*tmp*")
        self.assertFalse(found)

    def disk(self):
        folder = self.path("disk")
        os.makedirs(folder)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", folder], capture_output=True).returncode:
            self.skipTest("mounting a file system needs root")
        return folder

    def clean(self):
        self.job.close()
        if os.path.ismount(self.path("disk")):
            subprocess.run(["umount", "-l", self.path("disk")], check=True)
        for name in "runs", "disk", "tmp":
            shutil.rmtree(self.path(name), ignore_errors=True)
        os.makedirs(self.path("tmp"))


if __name__ == "__main__":
    dlc.main()
