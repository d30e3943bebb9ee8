# SPDX-License-Identifier: Apache-2.0
"""A rank that dies or stops is an error on the others, in time; nothing hangs and nothing is left behind."""
# processors: 2

import json
import os
import random
import re
import signal
import socket
import struct
import subprocess
import sys
import time

import dlc

DEADLINE = 10  # seconds


def running(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


class Peer(dlc.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.share_folder()
        cls.artifact = dlc.compile(dlc.model("lenet"), os.path.join(cls.shared, "model.dlc"), ddp=2,
                                   batch=16, ema=0.9)

    def start(self, **options):
        self.run_folder = self.path("run")
        self.process = dlc.start("train", self.artifact, data=dlc.data("mnist-train"), epochs=1000,
                                 run=self.run_folder, threads=1, **options)
        self.addCleanup(dlc.kill, self.process)
        self.wait_for_steps(20)
        ranks = dlc.descendants(self.process.pid)
        self.assertEqual(len(ranks), 2)
        return ranks

    def wait_for_steps(self, count):
        end = time.monotonic() + 30
        while time.monotonic() < end:
            self.assertIsNone(self.process.poll(), "training ended early")
            if self.steps() >= count:
                return
            time.sleep(0.05)
        self.fail(f"no {count} steps after 30 s")

    def flights(self):
        """A line for each rank of this host."""
        return os.path.join(self.run_folder, f"flight-{socket.gethostname()}.jsonl")

    def steps(self):
        """Whole lines of the metrics."""
        metrics = os.path.join(self.run_folder, "metrics.jsonl")
        if not os.path.exists(metrics):
            return 0
        with open(metrics) as file:
            return file.read().count("\n")

    def wait_for_end(self, pids):
        end = time.monotonic() + DEADLINE
        while any(map(running, pids)):
            self.assertLess(time.monotonic(), end, f"still running {DEADLINE} s later")
            time.sleep(0.05)

    def expect_peer_lost(self, ranks, seconds=DEADLINE):
        began = time.monotonic()
        status, _, err = dlc.finish(self.process, DEADLINE)
        self.assertEqual(status, dlc.PEER_LOST, err)
        self.assertRegex(err, r"rank \d")
        self.assertLess(time.monotonic() - began, seconds)
        self.wait_for_end(ranks)

    def test_killed_rank(self):
        for rank in 0, 1:
            self.new_folder()
            ranks = self.start()
            os.kill(ranks[rank], signal.SIGKILL)
            self.expect_peer_lost(ranks)

    def test_killed_at_any_moment(self):
        """Also while ranks meet, load, or write a checkpoint."""
        chance = random.Random(5)
        for number in range(6):
            self.run_folder = self.path(f"run{number}")
            self.process = dlc.start("train", self.artifact, data=dlc.data("mnist-train"), epochs=1000,
                                     run=self.run_folder, threads=1, save_every=2, timeout=3)
            self.addCleanup(dlc.kill, self.process)
            while len(dlc.descendants(self.process.pid)) < 2:
                time.sleep(0.002)
            time.sleep(chance.random() * 0.3)
            ranks = dlc.descendants(self.process.pid)
            os.kill(chance.choice(ranks), signal.SIGKILL)
            self.expect_peer_lost(ranks)

    def test_stopped_rank(self):
        """A rank that is silent longer than --timeout is lost; it is ended too."""
        for rank in 0, 1:
            self.new_folder()
            ranks = self.start(timeout=2)
            os.kill(ranks[rank], signal.SIGSTOP)
            self.expect_peer_lost(ranks, seconds=6)

    def test_stopped_rank_is_silent(self):
        """Long before --timeout, by its missing signs of life; who waited for it, where and for whom, is known."""
        for rank in 0, 1:
            self.new_folder()
            ranks = self.start(heartbeat=1, timeout=60)
            os.kill(ranks[rank], signal.SIGSTOP)
            began = time.monotonic()
            status, _, err = dlc.finish(self.process, DEADLINE)
            self.assertEqual(status, dlc.PEER_LOST, err)
            self.assertLess(time.monotonic() - began, 5)
            self.assertRegex(err, rf"rank {rank} does not answer in \w+( of bucket 0)?, step \d+.*\(its host: ")
            self.wait_for_end(ranks)
            out, _ = dlc.dlc("debug", "flight", self.flights())
            self.assertRegex(out, rf"rank {1 - rank} waited for rank {rank}, since \d\d:\d\d")
            found = re.search(r"all_reduce of bucket 0, step \d+, gradients of (.*) \(its host", err)
            if found:
                self.assertIn("'/f3/Gemm', '/f2/Gemm', '/f1/Gemm' and 2 more", found[1])

    def test_a_rank_that_hangs_in_its_reading(self):
        """No launcher ends it: it is named, says where it hangs, writes its record and leaves; so does one that reads, too."""
        feed = self.path("feed.py")
        with open(feed, "w") as file:
            file.write("import os, sys, time\nsys.stdout.write('{\"dlc\": 1, \"arrays\": [{\"name\": \"x\", \"dtype\": \"uint8\", \"shape\": [1, 28, 28]}, "
                       "{\"name\": \"y\", \"dtype\": \"uint8\", \"shape\": []}]}\\n')\n"
                       "sys.stdout.write('\\0' * (28 * 28 + 1) * 16 * 30)\nsys.stdout.flush()\n"
                       "while os.environ['DLC_RANK'] != '0': time.sleep(1)\nwhile True: sys.stdout.write('\\0' * 1000)\n")
        self.artifact = dlc.compile(dlc.model("lenet"), self.path("three.dlc"), ddp=3, batch=16)
        ranks = self.start_each(2, tokens=(None,) * 3, data=f"--data-command={sys.executable} {feed}", heartbeat=1, steps=1000)
        began = time.monotonic()
        errors = []
        for rank, process in enumerate(ranks):
            status, _, err = dlc.finish(process, 30)
            self.assertEqual(status, dlc.PEER_LOST, err)
            errors.append(err)
        self.assertLess(time.monotonic() - began, 20)
        self.assertRegex(errors[0], r"rank [12] does not answer in all_reduce, step \d+")
        for rank in 1, 2:
            self.assertRegex(errors[rank], r"the job, step 30.*; this rank hangs: it waits for samples of '.*feed.py'")
        with open(self.flights()) as file:
            lines = {line["rank"]: line["error"] for line in map(json.loads, file)}
        self.assertEqual(sorted(lines), [0, 1, 2])
        for rank in 1, 2:
            self.assertIn("it waits for samples", lines[rank])

    def test_no_room_for_the_record(self):
        """The last collectives go to the folder for temporary files, and a warning says so."""
        with dlc.tempfile.TemporaryDirectory() as folder:
            os.environ["TMPDIR"] = folder
            self.addCleanup(os.environ.pop, "TMPDIR", None)
            ranks = self.start()
            os.mkdir(self.flights())
            os.kill(ranks[1], signal.SIGKILL)
            _, _, err = dlc.finish(self.process, DEADLINE)
            name, = os.listdir(folder)
            self.assertRegex(err, rf"flight-.*jsonl.*: the last collectives are in '.*{name}'")
            self.assertIn("no record of rank 1", dlc.dlc("debug", "flight", os.path.join(folder, name))[0])

    def start_rank(self, rank, world, token, timeout, data=None, **length):
        """A rank, started as by torchrun."""
        variables = dict(RANK=rank, WORLD_SIZE=world, MASTER_ADDR="127.0.0.1", MASTER_PORT=self.store_port)
        if token:
            variables["DLC_JOB_TOKEN"] = token
        command = [dlc.DLC, "train", self.artifact, data or "--data=" + dlc.data("mnist-train"), "--run=" + self.run_folder,
                   "--threads=1", f"--timeout={timeout}", "--quiet", *dlc.flags(length)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   start_new_session=True,
                                   env=os.environ | {k: str(v) for k, v in variables.items()})
        self.addCleanup(dlc.kill, process)
        return process

    def start_each(self, timeout, tokens=(None, None), world=None, data=None, **length):
        """Ranks with these tokens, of two or of `world`."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.store_port = free.getsockname()[1]
        self.run_folder = self.path("run")
        ranks = [self.start_rank(rank, world or len(tokens), token, timeout, data, **(length or dict(epochs=1000)))
                 for rank, token in enumerate(tokens)]
        self.process = ranks[0]
        return ranks

    def test_rank_without_starter(self):
        """Started as by torchrun, the rank that is left ends by itself, long before its deadline."""
        chance = random.Random(7)
        for number in range(int(os.environ.get("DLC_TEST_KILLS", 4))):
            self.new_folder()
            ranks = self.start_each(60, tokens=("a secret of the job",) * 2)
            self.wait_for_steps(5)
            time.sleep(chance.random() * 0.1)
            ranks[number % 2].kill()
            began = time.monotonic()
            status, _, err = dlc.finish(ranks[1 - number % 2], DEADLINE)
            self.assertLess(time.monotonic() - began, 5)  # most of it is the machine's load
            self.assertEqual(status, dlc.PEER_LOST, err)
            self.assertRegex(err, rf"rank {number % 2} is lost")

    def test_another_secret(self):
        for tokens in (("a secret of the job", "a secret of another"), ("a secret of the job", None),
                       (None, "a secret of the job")):
            with self.subTest(tokens=tokens):
                self.new_folder()
                ranks = self.start_each(3, tokens)
                status, _, err = dlc.finish(ranks[1], DEADLINE)
                self.assertEqual(status, dlc.PEER_LOST, err)
                self.assertIn("refuses rank 1: DLC_JOB_TOKEN differs", err)
                self.assertEqual(dlc.finish(ranks[0], DEADLINE)[0], dlc.PEER_LOST)

    def listeners(self, process):
        """Ports of 127.0.0.1 on which it listens, but for the store's: Gloo's."""
        try:
            folder = f"/proc/{process.pid}/fd"
            own = {os.readlink(os.path.join(folder, name)) for name in os.listdir(folder)}
        except OSError:
            return []
        with open("/proc/net/tcp") as file:
            rows = [line.split() for line in file.read().splitlines()[1:]]
        ports = [int(row[1].split(":")[1], 16) for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in own]
        return [port for port in ports if port != self.store_port]

    def wait_for_listeners(self, process):
        end = time.monotonic() + DEADLINE
        while process.poll() is None and time.monotonic() < end and not self.listeners(process):
            time.sleep(0.005)

    def test_stranger_in_place_of_a_rank(self):
        """Gloo takes whoever connects first for the rank: no step is made with it, and the error comes in time."""
        def message(opcode, slot, payload=b"", length=64):
            return struct.pack("<6Q", 48 + len(payload), opcode, slot, 0, length, 0) + payload

        proof = 0x646c63
        attacks = [message(2, proof) + message(3, proof) + message(1, proof, b"x" * 64),  # as Gloo sends 64 bytes
                   os.urandom(5000), b"\0" * 20]
        for attack in attacks:
            self.new_folder()
            first, = self.start_each(2, tokens=("a secret of the job",), world=2, steps=2)
            self.wait_for_listeners(first)
            strangers = [socket.create_connection(("127.0.0.1", port)) for port in self.listeners(first)]
            self.assertTrue(strangers)
            for stranger in strangers:
                self.addCleanup(stranger.close)
                stranger.sendall(attack)
            began = time.monotonic()
            second = self.start_rank(1, 2, "a secret of the job", 2, steps=2)
            codes, errors = zip(*[(code, err) for code, _, err in (dlc.finish(r, DEADLINE) for r in (first, second))])
            self.assertLess(time.monotonic() - began, 9)
            if codes != (0, 0):  # it was rank 0 that was to connect: nobody hears the stranger
                self.assertEqual(codes, (dlc.PEER_LOST, dlc.PEER_LOST), errors)
                self.assertFalse(os.path.exists(self.path("run")))

    def test_a_connection_that_is_reset(self):
        """As by a rank that gave up on one that was stopped: the system then accepts a connection that has no peer."""
        rank, = self.start_each(3, tokens=("a secret of the job",), world=2, steps=2)
        self.wait_for_listeners(rank)
        rank.send_signal(signal.SIGSTOP)
        for port in self.listeners(rank):
            with socket.create_connection(("127.0.0.1", port)) as peer:
                peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        rank.send_signal(signal.SIGCONT)
        status, _, err = dlc.finish(rank, DEADLINE)
        self.assertEqual(status, dlc.PEER_LOST, err)
        self.assertIn("a connection between ranks failed", err)

    def test_nothing_is_left(self):
        """Of a job whose processes were all killed, in the folder for temporary files."""
        with dlc.tempfile.TemporaryDirectory() as folder:
            process = subprocess.Popen([dlc.DLC, "train", self.artifact, "--data=" + dlc.data("mnist-train"),
                                        "--run=" + self.path("run"), "--threads=1"], start_new_session=True,
                                       env=os.environ | {"TMPDIR": folder}, stderr=subprocess.PIPE, text=True)
            self.addCleanup(dlc.kill, process)
            self.run_folder, self.process = self.path("run"), process
            self.wait_for_steps(5)
            ranks = dlc.descendants(process.pid)
            process.kill()
            self.wait_for_end(ranks)
            self.assertEqual(os.listdir(folder), [])

    def test_missing_rank(self):
        """A rank that never comes is waited for no longer than --timeout."""
        environment = os.environ | dict(RANK="0", WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT="29571")
        command = [dlc.DLC, "train", self.artifact, "--data=" + dlc.data("mnist-train"), "--timeout=1",
                   "--run=" + self.path("run")]
        result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=DEADLINE)
        self.assertEqual(result.returncode, dlc.PEER_LOST, result.stderr)
        self.assertRegex(result.stderr, r"rank")
        self.assertFalse(os.path.exists(self.path("run")))

    def test_killed_starter(self):
        ranks = self.start()
        os.kill(self.process.pid, signal.SIGKILL)
        self.wait_for_end(ranks)

    def stop(self, number, send):
        """A signal ends every rank after a last checkpoint, with the shell's exit code."""
        ranks = self.start()
        send(self.process.pid, number)
        status, _, err = dlc.finish(self.process, DEADLINE)
        self.assertEqual(status, 128 + number, err)
        self.wait_for_end(ranks)
        self.assertIn("--resume=" + self.run_folder, err)
        last = self.steps()
        run = dlc.Run(self.run_folder)
        self.assertEqual(int(run.state(last)["step"]), last)
        _, err = dlc.dlc("train", resume=self.run_folder, steps=last + 3)
        self.assertEqual(self.steps(), last + 3)
        self.assertIn(f"from step {last}", err)

    def test_interrupted(self):
        """Ctrl-C goes to the whole group."""
        self.stop(signal.SIGINT, os.killpg)

    def test_terminated(self):
        """Slurm and others signal the process that they started."""
        self.stop(signal.SIGTERM, os.kill)


if __name__ == "__main__":
    dlc.main()
