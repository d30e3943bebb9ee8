# SPDX-License-Identifier: Apache-2.0
"""What signals do to a run: a checkpoint and on, a checkpoint and the end, the end at once; and what is ignored."""
# processors: 2

import os
import resource
import signal
import subprocess
import sys
import time

import dlc


class Signals(dlc.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.share_folder()
        cls.artifacts = {ranks: dlc.compile(dlc.model("mlp"), os.path.join(cls.shared, f"{ranks}.dlc"), batch=16,
                                            ddp=ranks) for ranks in (1, 2)}

    def start(self, ranks=1, ignored=(), limits=None, options=(), data=(), **popen):
        """A run that only ends when it is stopped, 20 steps on; returns its process."""
        self.run_folder = self.path("run")

        def prepare():
            for number in ignored:
                signal.signal(number, signal.SIG_IGN)
            if limits:
                resource.setrlimit(*limits)

        command = [dlc.DLC, "train", self.artifacts[ranks], *(data or ["--data=" + dlc.data("digits-train")]), "--steps=100000000",
                   "--save-every=100000000", "--run=" + self.run_folder, "--threads=1", *options]
        popen = dict(stdout=subprocess.PIPE, stderr=subprocess.PIPE) | popen
        self.process = subprocess.Popen(command, text=True, start_new_session=True, preexec_fn=prepare, **popen)
        self.addCleanup(dlc.kill, self.process)
        self.wait_until(lambda: self.steps() >= 20)
        return self.process

    def steps(self):
        try:
            with open(os.path.join(self.run_folder, "metrics.jsonl")) as file:
                return file.read().count("\n")
        except FileNotFoundError:
            return 0

    def wait_until(self, condition, seconds=60):
        end = time.monotonic() + seconds
        while not condition():
            self.assertIsNone(self.process.poll(), "training ended early")
            self.assertLess(time.monotonic(), end, "not in time")
            time.sleep(0.02)

    def checkpoints(self):
        names = (name.removeprefix("checkpoint-") for name in os.listdir(self.run_folder))
        return sorted(int(name) for name in names if name.isdigit())

    def ranks(self):
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children") as file:
            return [int(word) for word in file.read().split()]

    def expect(self, code):
        status, _, err = dlc.finish(self.process, 60)
        self.assertEqual(status, code, err)
        return err

    def test_a_checkpoint_and_on(self):
        for ranks in 1, 2:
            with self.subTest(ranks=ranks):
                self.new_folder()
                self.start(ranks)
                os.kill(self.process.pid, signal.SIGUSR1)
                self.wait_until(lambda: len(self.checkpoints()) == 1)
                [step] = self.checkpoints()
                self.wait_until(lambda: self.steps() > step + 20)
                os.kill(self.process.pid, signal.SIGTERM)
                self.assertIn(f"asked by a signal: wrote checkpoint-{step}", self.expect(128 + signal.SIGTERM))

    def test_a_checkpoint_and_the_end(self):
        for number in signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGXCPU, signal.SIGUSR2:
            for ranks in 1, 2:
                with self.subTest(number=number, ranks=ranks):
                    self.new_folder()
                    self.start(ranks)
                    os.kill(self.process.pid, number)
                    self.assertIn(f"stopped by signal {number:d} ", self.expect(128 + number))
                    self.assertEqual(self.checkpoints(), [self.steps()])

    def test_different_signals_on_two_ranks(self):
        """The one that comes first in the list counts, on both."""
        self.start(2)
        first, second = self.ranks()
        os.kill(self.process.pid, signal.SIGSTOP)  # else it tells of the first that ends
        os.kill(first, signal.SIGUSR2)
        os.kill(second, signal.SIGTERM)
        os.kill(self.process.pid, signal.SIGCONT)
        status, _, err = dlc.finish(self.process, 60)
        self.assertIn(status, (128 + signal.SIGTERM, 128 + signal.SIGUSR2), err)  # the step between may be agreed on
        self.assertRegex(err, r"stopped by signal 1[25] ")

    def test_before_training_begins(self):
        """Loading ends at once, with the shell's code; SIGUSR1 waits."""
        for ranks in 1, 2:
            self.run_folder = self.path(f"run{ranks}")
            self.process = dlc.start("train", self.artifacts[ranks], data=dlc.data("digits-train"), steps=100000000,
                                     run=self.run_folder, threads=1, save_every=100000000)
            self.addCleanup(dlc.kill, self.process)
            while ranks == 2 and len(self.ranks()) < 2:
                time.sleep(0.001)
            if ranks == 1:
                time.sleep(0.03)
            os.kill(self.process.pid, signal.SIGTERM)
            status, _, err = dlc.finish(self.process, 60)
            self.assertIn(status, (143, -15), err)

    def test_a_second_interrupt_ends_at_once(self):
        """Without the checkpoint, and nothing is left that the next run would trip over."""
        for ranks in 1, 2:
            with self.subTest(ranks=ranks):
                self.new_folder()
                slow = dlc.compile(dlc.model("lenet"), self.path("slow.dlc"), batch=4000 // ranks, ddp=ranks)
                self.process = dlc.start("train", slow, data=dlc.data("mnist-train"), steps=100000000, threads=1,
                                         run=self.path("run"), save_every=100000000)
                self.run_folder = self.path("run")
                self.addCleanup(dlc.kill, self.process)
                self.wait_until(lambda: self.steps() >= 1)
                os.killpg(self.process.pid, signal.SIGINT)
                time.sleep(0.05)
                os.killpg(self.process.pid, signal.SIGINT)
                self.expect(128 + signal.SIGINT)
                self.assertEqual(self.checkpoints(), [])

    def test_one_interrupt_of_a_terminal_is_one(self):
        """It goes to the whole group, and the launcher passes it on."""
        self.start(2)
        os.killpg(self.process.pid, signal.SIGINT)
        self.assertIn("stopped by signal 2 ", self.expect(130))
        self.assertEqual(self.checkpoints(), [self.steps()])

    def test_what_was_ignored_stays_so(self):
        for ranks in 1, 2:
            with self.subTest(ranks=ranks):
                self.new_folder()
                self.start(ranks, ignored=(signal.SIGHUP, signal.SIGINT, signal.SIGUSR1))
                for number in signal.SIGHUP, signal.SIGINT, signal.SIGUSR1:
                    os.killpg(self.process.pid, number)
                step = self.steps()
                self.wait_until(lambda: self.steps() > step + 20)
                self.assertEqual(self.checkpoints(), [])
                os.kill(self.process.pid, signal.SIGTERM)
                self.expect(128 + signal.SIGTERM)

    def test_ends_though_sigchld_was_ignored(self):
        """As some daemons pass it on: the system then forgets how children ended, and no wait for them returns a code."""
        self.start(2, ignored=(signal.SIGCHLD,))
        os.kill(self.ranks()[1], signal.SIGKILL)
        self.assertIn("rank 1 (process", self.expect(dlc.PEER_LOST))

    def test_a_stopped_job_goes_on(self):
        """Ctrl-Z or scontrol suspend, for longer than all deadlines."""
        feed = os.path.join(self.shared, "feed.py")
        with open(feed, "w") as file:
            file.write("import sys\nsys.stdout.write('{\"dlc\": 1, \"arrays\": [{\"name\": \"x\", \"dtype\": \"uint8\", \"shape\": [1, 8, 8]}, "
                       "{\"name\": \"y\", \"dtype\": \"uint8\", \"shape\": []}]}\\n')\nwhile True: sys.stdout.write('\\0' * 65)\n")
        for data in (), (f"--data-command={sys.executable} {feed}", "--data-timeout=2"):
            with self.subTest(data=data):
                self.new_folder()
                self.start(2, options=("--timeout=2", "--heartbeat=1"), data=data)
                processes = [self.process.pid, *dlc.descendants(self.process.pid)]
                for pid in processes:
                    os.kill(pid, signal.SIGSTOP)
                time.sleep(4)
                step = self.steps()
                for pid in processes:
                    os.kill(pid, signal.SIGCONT)
                self.wait_until(lambda: self.steps() > step + 20)
                self.process.terminate()
                self.assertNotRegex(self.expect(128 + signal.SIGTERM), "is lost|does not answer|nothing came")

    def test_time_limit(self):
        """RLIMIT_CPU sends SIGXCPU."""
        self.start(limits=(resource.RLIMIT_CPU, (1, 20)))
        self.assertIn("stopped by signal 24 ", self.expect(152))
        self.assertEqual(self.checkpoints(), [self.steps()])

    def test_nobody_reads_the_messages(self):
        """A closed pipe on stderr ends no run."""
        reader, writer = os.pipe()
        self.start(stderr=writer)
        os.close(reader)
        os.close(writer)
        os.kill(self.process.pid, signal.SIGUSR1)
        self.wait_until(lambda: self.checkpoints())
        step = self.steps()
        self.wait_until(lambda: self.steps() > step + 20)
        os.kill(self.process.pid, signal.SIGTERM)
        self.process.communicate(timeout=20)
        self.assertEqual(self.process.returncode, 143)


class Output(dlc.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.share_folder()
        artifact = dlc.compile(dlc.model("mlp"), os.path.join(cls.shared, "m.dlc"))
        cls.COMMANDS = (["inspect", artifact], ["inspect", artifact, "--json"],
                        ["compile", dlc.model("resnet8"), "--emit=mlir"], ["config"], ["--help"], ["train", "--help"])

    def run_into(self, words, out):
        with out:
            return subprocess.run([dlc.DLC, *words], stdout=out, stderr=subprocess.PIPE, text=True, timeout=60,
                                  cwd=self.folder)

    def test_a_reader_that_has_gone(self):
        for words in self.COMMANDS:
            with self.subTest(words=words):
                reader, writer = os.pipe()
                os.close(reader)
                result = self.run_into(words, os.fdopen(writer, "w"))
                self.assertEqual(result.returncode, 128 + signal.SIGPIPE, result.stderr)
                self.assertNotRegex(result.stderr, r"error|terminate")

    def test_a_full_device(self):
        for words in self.COMMANDS:
            with self.subTest(words=words):
                result = self.run_into(words, open("/dev/full", "w"))
                self.assertEqual(result.returncode, dlc.FAILED, result.stderr)
                self.assertIn("cannot write to stdout: No space left on device", result.stderr)

    def test_a_limit_of_file_size(self):
        """EFBIG, not SIGXFSZ; nothing is left."""
        result = subprocess.run([dlc.DLC, "compile", dlc.model("lenet"), "-o", self.path("big.dlc")], timeout=60,
                                stderr=subprocess.PIPE, text=True,
                                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000)))
        self.assertEqual(result.returncode, dlc.FAILED, result.stderr)
        self.assertIn("File too large", result.stderr)
        self.assertEqual(os.listdir(self.folder), [])


if __name__ == "__main__":
    dlc.main()
