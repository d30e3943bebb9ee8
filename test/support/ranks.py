# SPDX-License-Identifier: Apache-2.0
"""A job of ranks that tests disturb, started by dlc train or rank by rank, optionally in separate network namespaces."""

import os
import signal
import socket
import subprocess
import threading
import time
import uuid

import dlc

MARK = "DLC_TEST_JOB"


def ip(*words, check=True):
    return subprocess.run(["ip", *map(str, words)], check=check, capture_output=True, text=True)


def environment_of(pid):
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return dict(entry.split(b"=", 1) for entry in file.read().split(b"\0") if b"=" in entry)
    except OSError:  # it has ended
        return {}


def state_of(pid):
    """R, S, T (stopped), Z (zombie); empty if it does not exist."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0]
    except OSError:
        return ""


def processes_of(mark):
    """Processes with this in their environment."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and state_of(name) not in ("", "Z", "X")
            and environment_of(name).get(MARK.encode()) == mark.encode()]


class Lateness:
    """Seconds by which this machine has delayed a thread so far, which deadlines of tests must exclude."""

    def __enter__(self):
        self.seconds, self.done = 0.0, threading.Event()
        self.thread = threading.Thread(target=self.measure)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.done.set()
        self.thread.join()

    def measure(self):
        pause, before = 0.01, time.monotonic()
        while not self.done.wait(pause):
            now = time.monotonic()
            self.seconds += max(0.0, now - before - 2 * pause)
            before = now


class Network:
    """A network namespace per rank, connected to a switch in another one."""

    count = 0

    @staticmethod
    def is_possible():
        try:
            Network(1).close()
            return True
        except (OSError, subprocess.CalledProcessError):
            return False

    def __init__(self, ranks):
        Network.count += 1
        name = f"dlc-{os.getpid()}-{Network.count}"
        self.switch, self.hosts = f"{name}-s", [f"{name}-{rank}" for rank in range(ranks)]
        try:
            ip("netns", "add", self.switch)
            ip("-n", self.switch, "link", "add", "bridge", "type", "bridge")
            ip("-n", self.switch, "link", "set", "bridge", "up")
            for rank, host in enumerate(self.hosts):
                ip("netns", "add", host)
                ip("link", "add", "eth", "netns", host, "type", "veth", "peer", "name", f"port{rank}", "netns", self.switch)
                ip("-n", self.switch, "link", "set", f"port{rank}", "master", "bridge", "up")
                ip("-n", host, "addr", "add", f"{self.address(rank)}/24", "dev", "eth")
                for device in "eth", "lo":
                    ip("-n", host, "link", "set", device, "up")
        except (OSError, subprocess.CalledProcessError):
            self.close()
            raise

    def close(self):
        for host in (*self.hosts, self.switch):
            ip("netns", "del", host, check=False)

    def address(self, rank):
        return f"10.77.0.{rank + 1}"

    def inside(self, rank):
        return ["ip", "netns", "exec", self.hosts[rank]]

    def link(self, rank, inside, state):
        where, device = (self.hosts[rank], "eth") if inside else (self.switch, f"port{rank}")
        ip("-n", where, "link", "set", device, state)

    def cut(self, rank, inside=False):
        """Cuts the cable of a rank, at the host or at the switch."""
        self.link(rank, inside, "down")

    def mend(self, rank, inside=False):
        self.link(rank, inside, "up")

    def part(self, one, other):
        """Disconnects two ranks from each other only."""
        ip("-n", self.hosts[one], "route", "add", "blackhole", self.address(other))
        ip("-n", self.hosts[other], "route", "add", "blackhole", self.address(one))

    def slow(self, rank, rate):
        subprocess.run(["tc", "-n", self.switch, "qdisc", "replace", "dev", f"port{rank}", "root", "tbf", "rate", rate,
                        "burst", "64kb", "latency", "100ms"], check=True, capture_output=True)

    def hurry(self, rank):
        subprocess.run(["tc", "-n", self.switch, "qdisc", "del", "dev", f"port{rank}", "root"], check=True,
                       capture_output=True)


class Ranks:
    """The processes of a job, their output and exit codes. close() ends all of them."""

    def __init__(self, words, world, temporary, apart=False, network=False):
        self.mark, self.world, self.launcher, self.network = uuid.uuid4().hex, world, None, None
        self.ends, self.codes, self.errors, self.threads, self.processes = {}, {}, {}, [], []
        environment = os.environ | {MARK: self.mark, "TMPDIR": temporary}
        if not apart:
            self.launcher = self.start("launcher", words, environment)
            return
        if network:
            self.network = Network(world)
        address = self.network.address(0) if self.network else "127.0.0.1"
        port = 29500 if self.network else free_port()
        for rank in range(world):
            words_of = [*words, f"--rank={rank}", f"--world-size={world}", f"--init=tcp://{address}:{port}"]
            self.start(rank, words_of, environment | {"DLC_JOB_TOKEN": self.mark}, self.network.inside(rank) if network else [])

    def start(self, name, words, environment, within=()):
        process = subprocess.Popen([*within, dlc.DLC, *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                   errors="replace", start_new_session=True, env=environment)
        thread = threading.Thread(target=self.follow, args=(name, process))
        thread.start()
        self.threads.append(thread)
        self.processes.append(process)
        return process

    def follow(self, name, process):
        lines = self.errors[name] = []
        for line in process.stderr:  # until all its processes have ended
            lines.append(line)
        self.codes[name] = process.wait()
        self.ends[name] = time.monotonic()

    def has_ended(self):
        return len(self.ends) == len(self.processes)

    def pid(self, rank):
        """Blocks until the rank has started; None if the job has ended."""
        if not self.launcher:
            return self.processes[rank].pid
        while not self.has_ended():
            for pid in processes_of(self.mark):
                if environment_of(pid).get(b"RANK") == str(rank).encode():
                    return pid
            time.sleep(0.002)
        return None

    def signal(self, number, *ranks):
        """Sends the signal to these ranks at once."""
        for pid in [self.pid(rank) for rank in ranks]:
            if pid:
                self.signal_process(pid, number)

    def signal_launcher(self, number):
        self.signal_process(self.launcher.pid, number)

    @staticmethod
    def signal_process(pid, number):
        try:
            os.kill(pid, number)
        except ProcessLookupError:  # it has just ended
            pass

    def names(self, ranks):
        return ["launcher"] if self.launcher else list(ranks)

    def wait(self, seconds, ranks=None):
        """Waits until these (or all) ranks have ended; AssertionError after the timeout."""
        names = self.names(range(self.world) if ranks is None else ranks)
        until = time.monotonic() + seconds
        while not set(names) <= set(self.ends):
            if time.monotonic() > until:
                raise AssertionError(f"still running after {seconds:.1f} s: {set(names) - set(self.ends)}\n{self.said()}")
            time.sleep(0.002)
        return max(self.ends[name] for name in names)

    def code(self, rank=0):
        """The rank's exit code, or its launcher's."""
        return self.codes[self.names([rank])[0]]

    def said(self, *ranks):
        """stderr of these ranks or of all; ranks of one launcher share it."""
        names = self.names(ranks or range(self.world))
        return "".join(f"--- {name}, exit code {self.codes.get(name)}\n" + "".join(self.errors[name]) for name in names)

    def close(self):
        for pid in processes_of(self.mark):
            self.signal_process(pid, signal.SIGKILL)
        for thread in self.threads:
            thread.join()
        for process in self.processes:
            process.stderr.close()
        if self.network:
            self.network.close()


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]
