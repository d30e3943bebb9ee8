# SPDX-License-Identifier: Apache-2.0
"""Ranks that others start: torchrun, Slurm, Open MPI, by hand; and the same command again after a restart."""

import contextlib
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import time

import dlc
import numpy as np
import tcpstore

SECONDS = 60


def torchrun():
    """A torchrun of the machine's, or the one that DLC_TORCHRUN names; the project does not need one."""
    return os.environ.get("DLC_TORCHRUN") or shutil.which("torchrun")


class Launchers(dlc.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.share_artifact(ddp=2)
        cls.share_run(steps=6, threads=1)
        cls.ours = dlc.Run(cls.run_folder)

    def words(self, *more, run="run", artifact=None, **options):
        options = dict(data=dlc.data("digits-train"), steps=6, threads=1, timeout=20, run=self.path(run)) | options
        return ["train", artifact or self.artifact, "--quiet", *more, *dlc.flags(options)]

    def rank(self, variables, *words, within=()):
        process = subprocess.Popen([*within, dlc.DLC, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   start_new_session=True, env=os.environ | {k: str(v) for k, v in variables.items()})
        self.addCleanup(dlc.kill, process)
        return process

    def end(self, ranks, codes=(0, 0), seconds=SECONDS):
        results = [dlc.finish(rank, seconds) for rank in ranks]
        self.assertEqual(tuple(code for code, _, _ in results), codes, results)
        return [err for _, _, err in results]

    def expect_ours(self, step=6, run="run"):
        """What dlc's own ranks have trained, bit for bit."""
        expected, found = self.ours.state(step), dlc.Run(self.path(run)).state(step)
        self.assertEqual({n: a.tobytes() for n, a in found.items()}, {n: a.tobytes() for n, a in expected.items()})

    def test_flags(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            places = f"tcp://127.0.0.1:{free.getsockname()[1]}", "file://" + self.path("meet")
        for number, place in enumerate(places):
            run = f"run{number}"
            words = self.words("--world-size=2", "--init=" + place, run=run)
            self.end([self.rank({}, *words, f"--rank={rank}") for rank in range(2)])
            self.expect_ours(run=run)
        self.assertFalse(os.path.exists(self.path("meet")))

    def test_ipv6(self):
        """The store and what goes between ranks, by --init, by MASTER_ADDR and by another store."""
        try:
            with socket.create_server(("::1", 0), family=socket.AF_INET6) as free:
                port = free.getsockname()[1]
        except OSError as error:
            self.skipTest(f"no IPv6 loopback here: {error}")
        words = self.words("--world-size=2", f"--init=tcp://[::1]:{port}", run="flags")
        self.end([self.rank({}, *words, f"--rank={rank}") for rank in range(2)])
        self.expect_ours(run="flags")
        with contextlib.closing(tcpstore.Store("::1")) as store:
            for place in port, store.port:
                words = self.words(run=f"run{place}")
                self.end([self.rank(dict(RANK=rank, WORLD_SIZE=2, MASTER_ADDR="::1", MASTER_PORT=place), *words)
                          for rank in range(2)])
                self.expect_ours(run=f"run{place}")
            self.assertEqual(store.values, {})

    def test_ipv6_alone(self):
        """Where there is no other: the first of two hosts that have addresses of IPv6 only."""
        host = f"dlc-{os.getpid()}-six"
        self.addCleanup(subprocess.run, ["ip", "netns", "del", host], capture_output=True)
        for words in (["netns", "add", host], ["-n", host, "link", "set", "lo", "up"],
                      ["-n", host, "addr", "del", "127.0.0.1/8", "dev", "lo"],
                      ["-n", host, "addr", "add", "fd00:77::1/64", "dev", "lo", "nodad"]):
            if not shutil.which("ip") or subprocess.run(["ip", *words], capture_output=True).returncode:
                self.skipTest("a network namespace with IPv6 needs root and ip")
        for number, place in enumerate(("tcp://[::1]:29500", "tcp://[fd00:77::1]:29501")):
            words = self.words("--world-size=2", "--init=" + place, run=f"run{number}")
            self.end([self.rank({}, *words, f"--rank={rank}", within=("ip", "netns", "exec", host)) for rank in range(2)])
            self.expect_ours(run=f"run{number}")

    def test_hosts(self):
        """Two ranks on each of two hosts, which are names here: sums of another order, in each run the same one. Other
        numbers of ranks on them are refused by all."""
        if not shutil.which("unshare") or subprocess.run(["unshare", "--uts", "true"], capture_output=True).returncode:
            self.skipTest("a host name of one's own needs root")
        artifact = dlc.compile(dlc.model("lenet"), self.path("four.dlc"), ddp=4, batch=8, lr=0.05, **dlc.CONSTANT_SGD)

        def train(run, hosts, *more, code=0):
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                place = f"--init=tcp://127.0.0.1:{free.getsockname()[1]}"
            words = self.words(f"--world-size={len(hosts)}", place, *more, run=run, artifact=artifact,
                               data=dlc.data("mnist-train"))
            ranks = [self.rank({}, *words, f"--rank={rank}",
                               within=("unshare", "--uts", "sh", "-c", 'hostname "$0" && exec "$@"', f"dlc-{host}"))
                     for rank, host in enumerate(hosts)]
            return self.end(ranks, codes=(code,) * len(hosts))

        asked = "--hierarchical-all-reduce"
        train("flat", "abab")
        for run in "once", "again":
            for said in train(run, "abab", asked):
                self.assertNotIn("warning", said)
        flat, once, again = (dlc.Run(self.path(run)) for run in ("flat", "once", "again"))
        np.testing.assert_allclose(once.metrics("loss"), flat.metrics("loss"), rtol=1e-5)
        bits = [{name: array.tobytes() for name, array in run.state(6).items()} for run in (flat, once, again)]
        self.assertEqual(bits[1], bits[2])
        self.assertNotEqual(bits[0], bits[1])
        for said in train("uneven", "aab", asked, code=dlc.USAGE):
            self.assertIn(f"{asked}: expected as many ranks on each host, found 2 on 'dlc-a' and 1 on 'dlc-b'", said)

    def test_slurm(self):
        """A step of srun's, as far as its variables say it."""
        job = random.randrange(10**6, 10**7)
        self.end([self.rank(dict(SLURM_JOB_ID=job, SLURM_STEP_ID=0, SLURM_PROCID=rank, SLURM_LOCALID=rank,
                                 SLURM_STEP_NUM_TASKS=2, SLURM_NTASKS=2, SLURM_STEP_NODELIST="node[7]", SLURM_NODEID=0,
                                 SLURM_STEP_TASKS_PER_NODE="2"), *self.words()) for rank in range(2)])
        self.expect_ours()

    def test_pods(self):
        """Of an indexed Job, as in a JobSet, and of Kubeflow's TrainJob, as far as their variables say it."""
        port = random.randrange(10000, 14000)
        kinds = {"job": dict(WORLD_SIZE=2, MASTER_ADDR="127.0.0.1", MASTER_PORT=port),
                 "train": dict(PET_NNODES=2, PET_NPROC_PER_NODE=1, PET_MASTER_ADDR="127.0.0.1", PET_MASTER_PORT=port + 1)}
        for kind, variables in kinds.items():
            self.end([self.rank(variables | {"JOB_COMPLETION_INDEX" if kind == "job" else "PET_NODE_RANK": rank}, *self.words(run=kind))
                      for rank in range(2)])
            self.expect_ours(run=kind)

    def test_open_mpi(self):
        mpirun = shutil.which("mpirun.openmpi")
        if not mpirun:
            self.skipTest("no mpirun.openmpi here (Debian: openmpi-bin)")
        process = subprocess.run([mpirun, "--allow-run-as-root", "--oversubscribe", "-n", "2", dlc.DLC, *self.words()],
                                 capture_output=True, text=True, timeout=SECONDS)
        self.assertEqual(process.returncode, 0, process.stderr)
        self.expect_ours()

    def test_open_mpi_on_several_hosts(self):
        """As far as the variables of one say it: ranks meet by what its PMIx server keeps."""
        mpirun = shutil.which("mpirun.openmpi")
        if not mpirun:
            self.skipTest("no mpirun.openmpi here (Debian: openmpi-bin)")
        words = [mpirun, "--allow-run-as-root", "--oversubscribe", "-n", "2", "env", "OMPI_COMM_WORLD_LOCAL_SIZE=1"]
        process = subprocess.run([*words, dlc.DLC, *self.words()], capture_output=True, text=True, timeout=SECONDS)
        self.assertEqual(process.returncode, 0, process.stderr)
        self.expect_ours()
        process = subprocess.run([*words, "PMIX_NAMESPACE=none", dlc.DLC, *self.words(run="none", timeout=3)], capture_output=True, text=True,
                                 timeout=SECONDS)
        self.assertNotEqual(process.returncode, 0)
        self.assertRegex(process.stderr, r"error: PMIx_Init gives error -\d+")

    def test_mpich(self):
        mpiexec = shutil.which("mpiexec.hydra")
        if not mpiexec:
            self.skipTest("no mpiexec.hydra here (Debian: mpich)")
        process = subprocess.run([mpiexec, "-n", "2", dlc.DLC, *self.words()], capture_output=True, text=True,
                                 timeout=SECONDS)
        self.assertEqual(process.returncode, 0, process.stderr)
        self.expect_ours()

    def test_torchrun(self):
        if not torchrun():
            self.skipTest("no torchrun here; DLC_TORCHRUN may name one")
        for number, variables in enumerate(({}, {"USE_LIBUV": "0"})):
            run = f"run{number}"
            process = subprocess.run([torchrun(), "--nproc-per-node=2", "--no-python", "--", dlc.DLC, *self.words(run=run)],
                                     capture_output=True, text=True, timeout=SECONDS, env=os.environ | variables)
            self.assertEqual(process.returncode, 0, process.stderr)
            self.expect_ours(run=run)

    def start_as_torchrun(self, port, restarts, words):
        return [self.rank(dict(RANK=rank, WORLD_SIZE=2, LOCAL_RANK=rank, LOCAL_WORLD_SIZE=2, MASTER_ADDR="127.0.0.1",
                               MASTER_PORT=port, TORCHELASTIC_RUN_ID="job", TORCHELASTIC_USE_AGENT_STORE="True",
                               TORCHELASTIC_RESTART_COUNT=restarts,
                               TORCHELASTIC_ERROR_FILE=self.path(f"error{rank}.json")), *words) for rank in range(2)]

    def test_restart_of_an_agent(self):
        """A rank dies; those that the agent starts again go on by themselves and end with the same numbers."""
        slow = dlc.compile(dlc.model("lenet"), self.path("slow.dlc"), ddp=2, batch=64)
        words = self.words(artifact=slow, data=dlc.data("mnist-train"), steps=60, save_every=5, keep=99)
        with contextlib.closing(tcpstore.Store()) as store:
            ranks = self.start_as_torchrun(store.port, 0, words)
            end = time.monotonic() + SECONDS
            while not os.path.exists(self.path("run/checkpoint-5")) and time.monotonic() < end:
                time.sleep(0.01)
            ranks[1].send_signal(signal.SIGKILL)
            began = time.time()
            self.end(ranks, (dlc.PEER_LOST, -signal.SIGKILL), 10)
            with open(self.path("error0.json")) as file:
                message = json.load(file)["message"]
            self.assertIn("rank 1 is lost", message["message"])
            self.assertEqual(message["errorCode"], dlc.PEER_LOST)
            # After what it is a consequence of, which torchrun names as the cause.
            self.assertLess(abs(int(message["extraInfo"]["timestamp"]) - began), 10)
            self.assertFalse(os.path.exists(self.path("error1.json")))
            self.end(self.start_as_torchrun(store.port, 1, words))
            self.assertFalse([key for key in store.values if b"dlc" in key])
        whole = dlc.train(slow, dlc.data("mnist-train"), self.path("whole"), steps=60, threads=1)
        expected, found = whole.state(60), dlc.Run(self.path("run")).state(60)
        self.assertEqual({n: a.tobytes() for n, a in found.items()}, {n: a.tobytes() for n, a in expected.items()})

    def start_at(self, port):
        return [self.rank(dict(RANK=rank, WORLD_SIZE=2, MASTER_ADDR="127.0.0.1", MASTER_PORT=port),
                          *self.words(timeout=3)) for rank in range(2)]

    def test_port_of_another_store(self):
        """A launcher's process serves at MASTER_PORT itself, as under Ray Train: twice the same ranks meet elsewhere."""
        with contextlib.closing(tcpstore.Store()) as store:
            for stale in {}, {b"/dlc/store": b"dlc-store-1 127.0.0.1 1 old\n"}:
                self.new_folder()
                store.values.update(stale)
                self.end(self.start_at(store.port))
                self.expect_ours()
                self.assertEqual(store.values, {})

    def test_port_of_another_program(self):
        with socket.create_server(("127.0.0.1", 0)) as other:
            port = other.getsockname()[1]
            errors = self.end(self.start_at(port), (dlc.FAILED, dlc.PEER_LOST), 15)
        self.assertIn(f"rank 0 cannot listen on 127.0.0.1:{port}: Address already in use", errors[0])
        self.assertIn(f"what listens at 127.0.0.1:{port} does not answer as rank 0 does", errors[1])

    def test_a_restart_needs_a_run(self):
        words = [word for word in self.words() if not word.startswith("--run=")]
        with contextlib.closing(tcpstore.Store()) as store:
            for err in self.end(self.start_as_torchrun(store.port, 1, words), (dlc.USAGE, dlc.USAGE)):
                self.assertIn("restart 1 of torchrun needs --run", err)
        with open(self.path("error1.json")) as file:
            self.assertIn("needs --run", json.load(file)["message"]["message"])

    def test_store_of_a_stranger(self):
        """What listens where the agent's store should be, and speaks otherwise or not at all, is left in time."""
        for answer in b"", b"\0" + b"\xff" * 8, b"\7", b"HTTP/1.1 400 Bad Request\r\n\r\n":
            with socket.create_server(("127.0.0.1", 0)) as stranger:
                rank = self.start_as_torchrun(stranger.getsockname()[1], 0, self.words(timeout=1))[1]
                stranger.settimeout(10)
                with contextlib.suppress(OSError):
                    for _ in range(2):  # both ranks
                        peer, _ = stranger.accept()
                        self.addCleanup(peer.close)
                        peer.sendall(answer)
                began = time.monotonic()
                status, _, err = dlc.finish(rank, 10)
                self.assertLess(time.monotonic() - began, 6)
                self.assertEqual(status, dlc.PEER_LOST, err)

    def test_resume_or_start(self):
        """The same command: begins, goes on, and has nothing left to do."""
        for steps in 3, 6, 6:
            dlc.dlc(*self.words("--resume-or-start", steps=steps))
        self.expect_ours()

    def test_resume_or_start_is_refused(self):
        dlc.dlc(*self.words(steps=1, seed=3))
        other = dlc.compile(dlc.model("mlp"), self.path("other.dlc"), ddp=2, batch=8)
        cases = [(self.words("--resume-or-start", artifact=other), "is of another artifact than"),
                 (self.words("--resume-or-start", seed=4), "--seed is 4, but the run '.*' was begun with 3"),
                 (self.words("--resume-or-start", shuffle="off"), "--shuffle is off, but the run"),
                 ([w for w in self.words("--resume-or-start") if not w.startswith("--run=")],
                  "--resume-or-start needs --run")]
        for words, message in cases:
            _, err = dlc.dlc(*words, code=dlc.USAGE)
            self.assertRegex(err, message)
        dlc.dlc(*self.words("--resume-or-start", steps=2, seed=3))

    def test_env(self):
        """What would be used and why; contradictions as train would refuse them."""
        def env(variables, *words, code=dlc.OK):
            process = subprocess.run([dlc.DLC, "doctor", "env", *words], capture_output=True, text=True,
                                     env=os.environ | variables)
            self.assertEqual(process.returncode, code, process.stderr)
            return process.stdout + process.stderr

        self.assertIn("launcher     none", env({}))
        self.assertEqual(json.loads(env({}, "--json"))["launcher"], None)
        slurm = dict(SLURM_JOB_ID="1234567", SLURM_STEP_ID="0", SLURM_PROCID="3", SLURM_STEP_NUM_TASKS="4",
                     SLURM_STEP_NODELIST="node[01-03,7]", SLURM_LOCALID="1")
        text = env(slurm)
        for line in ("launcher     Slurm", "rank         3  (SLURM_PROCID)", "world size   4  (SLURM_STEP_NUM_TASKS)",
                     "rendezvous   node01:22954  (SLURM_STEP_NODELIST, SLURM_JOB_ID)",
                     "GPU          1 of those visible"):
            self.assertIn(line, text)
        text = env(slurm | dict(GLOO_SOCKET_IFNAME="lo", NCCL_SOCKET_IFNAME="eth1"))
        for line in "interface    lo  (GLOO_SOCKET_IFNAME)", "NCCL         eth1  (NCCL_SOCKET_IFNAME)":
            self.assertIn(line, text)
        self.assertIn("--interface is 'none', which has no address here", env(slurm, "--interface=none", code=dlc.USAGE))
        torch = dict(RANK="0", WORLD_SIZE="4", MASTER_ADDR="a", MASTER_PORT="1", TORCHELASTIC_RUN_ID="x")
        found = json.loads(env(slurm | torch, "--json"))
        self.assertEqual((found["launcher"], found["rank"], found["world_size"]), ("torchrun", 0, 4))
        self.assertIn("SLURM_PROCID=3 of SLURM_STEP_NUM_TASKS=4 of Slurm: RANK is set", found["not_used"])
        del torch["TORCHELASTIC_RUN_ID"]
        self.assertRegex(env(slurm | torch, code=dlc.USAGE), "contradict each other: RANK=0 of WORLD_SIZE=4 .*"
                         "SLURM_PROCID=3 of SLURM_STEP_NUM_TASKS=4")
        self.assertIn("launcher     flags", env(slurm | torch, "--rank=1", "--world-size=2", "--init=tcp://b:5"))


if __name__ == "__main__":
    dlc.main()
