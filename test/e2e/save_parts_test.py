# SPDX-License-Identifier: Apache-2.0
"""--save=sharded: each rank writes its part of a checkpoint, and any number of ranks, or another command, reads them all."""

import glob
import json
import os
import random
import re
import resource
import shutil
import signal
import socket
import subprocess
import time

import dlc
import numpy as np

CHANGES = (0, 2, 1), (0, 2, 3), (0, 3, 2), (1, 2, 3), (1, 3, 2), (2, 3, 1), (3, 2, 3), (3, 3, 1)  # --zero, ranks before and after


def parts_of(checkpoint):
    return sorted(name for name in os.listdir(checkpoint) if name.startswith("state"))


class SaveParts(dlc.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.share_folder()
        cls.made = {}

    def artifact(self, zero, ranks):
        key = zero, ranks
        if key not in self.made:
            self.made[key] = dlc.compile(dlc.model("lenet"), os.path.join(self.shared, f"{zero}-{ranks}.dlc"), ddp=ranks, zero=zero,
                                         batch=8, optimizer="adamw", lr=1e-3, ema=0.9, bucket_mb=0.05)
        return self.made[key]

    def train(self, run, zero=0, ranks=2, steps=6, **options):
        options = dict(save_every=3, threads=1, save="sharded") | options
        return dlc.train(self.artifact(zero, ranks), dlc.data("mnist-train"), self.path(run), steps=steps, **options)

    def checkpoint(self, step, run="run"):
        return self.path(f"{run}/checkpoint-{step}")

    def test_bits(self):
        """Those of whole checkpoints, and of runs that go on from them with another number of ranks."""
        for zero, before, after in CHANGES:
            with self.subTest(zero=zero, before=before, after=after):
                self.new_folder()
                parts, whole = self.train("run", zero, before), self.train("whole", zero, before, save="sync")
                for step in 3, 6:
                    self.assertEqual(parts_of(self.checkpoint(step)),
                                     [f"state-{rank + 1:05}-of-{before:05}.safetensors" for rank in range(before)])
                    self.assertBitwise(parts.state(step), whole.state(step), f"step {step}")
                for run, save in (parts, "sharded"), (whole, "background"):
                    dlc.dlc("train", resume=run.folder, ranks=after, save=save, steps=9)
                self.assertEqual(len(parts_of(self.checkpoint(9))), after)
                self.assertBitwise(parts.state(9), whole.state(9), "resumed")
                np.testing.assert_array_equal(parts.metrics("loss"), whole.metrics("loss"))

    def test_each_writes_as_much(self):
        for zero, most in (0, 1.1), (3, 1.3):  # small tensors are few items
            self.train(f"run{zero}", zero, ranks=3, steps=3)
            folder = self.checkpoint(3, f"run{zero}")
            sizes = [os.path.getsize(os.path.join(folder, name)) for name in parts_of(folder)]
            self.assertLess(max(sizes), most * min(sizes), zero)

    def test_what_reads_checkpoints(self):
        parts, whole = self.train("run", 1, val=dlc.data("mnist-test"), best="loss"), self.train("whole", 1, save="sync")
        test = dlc.data("mnist-test")
        self.assertEqual(dlc.evaluate(parts.folder, test), dlc.evaluate(whole.folder, test))
        self.assertEqual(dlc.evaluate(parts.folder + "/best", test), dlc.evaluate(whole.folder, test))
        for flags in {}, {"ema": True}:
            files = []
            for run in parts, whole:
                dlc.dlc("export", run.folder, "-o", self.path("out.onnx"), *dlc.flags(flags))
                with open(self.path("out.onnx"), "rb") as file:
                    files.append(file.read())
            self.assertEqual(*files)
        outputs = []
        for run in parts, whole:
            dlc.dlc("predict", run.folder, "--data=" + test, "-o", self.path("out.npz"))
            with np.load(self.path("out.npz")) as file:
                outputs.append({name: file[name] for name in file.files})
        self.assertBitwise(*outputs, "predict")
        self.assertEqual(json.loads(dlc.dlc("inspect", parts.folder, json=True)[0])["step"], 6)

    def test_pruned(self):
        self.train("run", steps=12, save_every=2, keep=2)
        left = sorted(name for name in os.listdir(self.path("run")) if name.startswith("checkpoint"))
        self.assertEqual(left, ["checkpoint-10", "checkpoint-12"])

    def test_one_rank_writes_one_file(self):
        self.train("run", ranks=2)
        dlc.dlc("train", resume=self.path("run"), ranks=1, save="sharded", steps=9)
        self.assertEqual(parts_of(self.checkpoint(9)), ["state.safetensors"])

    def test_missing_and_damaged(self):
        """The one before is used; where there is none the file is named, and what to do."""
        run = self.train("run")
        second = os.path.join(self.checkpoint(6), "state-00002-of-00002.safetensors")
        dlc.flip(second)
        _, err = dlc.dlc("eval", run.folder, data=dlc.data("mnist-test"))
        self.assertRegex(err, r"state-00002-of-00002.safetensors' has changed since it was written.*checkpoint-3' is used instead")
        os.remove(second)
        _, err = dlc.dlc("eval", run.folder, data=dlc.data("mnist-test"))
        self.assertRegex(err, r"state-00002-of-00002.safetensors' is missing: each rank has written a part .*checkpoint-3' is used")
        _, err = dlc.dlc("train", resume=run.folder, checkpoint=6, code=dlc.CORRUPT)
        self.assertIn("into this folder, which hosts must share; copy the file there, or use another checkpoint", err)
        shutil.rmtree(self.checkpoint(3))
        _, err = dlc.dlc("train", resume=run.folder, code=dlc.CORRUPT)
        self.assertRegex(err, r"state-00002-of-00002.safetensors' is missing.*no checkpoint .* is intact")

    def test_parts_that_contradict(self):
        """With hashes that fit, as after a wrong repair."""
        self.train("run", steps=3)
        folder = self.checkpoint(3)
        first, second = (os.path.join(folder, name) for name in parts_of(folder))
        shutil.copy(first, second)
        with open(os.path.join(folder, "manifest.json")) as file:
            manifest = json.load(file)
        manifest["files"][os.path.basename(second)] = manifest["files"][os.path.basename(first)]
        dlc.write_manifest(os.path.join(folder, "manifest.json"), manifest)
        _, err = dlc.dlc("eval", self.path("run"), data=dlc.data("mnist-test"), code=dlc.CORRUPT)
        self.assertRegex(err, r"state-00002-of-00002.safetensors': '.*' contradicts another part of '")

    def test_killed_at_any_moment(self):
        """All ranks at once: the newest checkpoint is whole, and the resumed run has the bits of the undisturbed one."""
        expected = self.train("whole", 1, ranks=3, steps=40, save_every=2).state(40)
        chance = random.Random(11)
        for number in range(6):
            run = self.path(f"run{number}")
            process = dlc.start("train", self.artifact(1, 3), data=dlc.data("mnist-train"), run=run, steps=40, threads=1, save_every=2,
                                save="sharded", keep=3)
            self.addCleanup(dlc.kill, process)
            while not os.path.exists(run + "/checkpoint-2"):
                self.assertIsNone(process.poll())
                time.sleep(0.002)
            time.sleep(chance.random() * 0.3)
            dlc.kill(process)
            newest = max(int(name[11:]) for name in os.listdir(run) if re.fullmatch(r"checkpoint-\d+", name))
            _, err = dlc.dlc("train", resume=run, save="sharded")
            self.assertNotIn("damaged", err)
            if newest < 40:
                self.assertIn(f"from step {newest}", err)
            self.assertBitwise(dlc.Run(run).state(40), expected, "resumed")
            self.assertEqual([name for name in os.listdir(run) if ".tmp-" in name], [])

    def test_time_between_checkpoints(self):
        """Rank 0's clock says when: the others save with it."""
        run = self.train("run", steps=600, save_every="0.2s", keep=100)
        steps = [int(name[11:]) for name in os.listdir(run.folder) if re.fullmatch(r"checkpoint-\d+", name)]
        self.assertGreater(len(steps), 1)
        self.assertEqual(max(steps), 600)
        for step in steps:
            self.assertEqual(len(parts_of(self.checkpoint(step))), 2)

    def lowest_priorities(self, save):
        """Of each rank's threads while it trains and saves."""
        process = dlc.start("train", self.artifact(0, 2), data=dlc.data("mnist-train"), run=self.path(save), steps=24, save_every=1, keep=2,
                            threads=1, save=save)
        lowest = {}
        while process.poll() is None:
            for rank in dlc.descendants(process.pid):
                for stat in glob.glob(f"/proc/{rank}/task/*/stat"):
                    try:
                        with open(stat) as file:
                            nice = int(file.read().rsplit(")", 1)[1].split()[16])
                    except OSError: # it has ended
                        continue
                    lowest[rank] = max(lowest.get(rank, 0), nice)
            time.sleep(0.001)
        self.assertEqual(dlc.finish(process)[0], dlc.OK)
        return sorted(lowest.values())

    def test_priority(self):
        """Who saves alone lets the step go first. Who talks to ranks holds locks that threads of the step spin for."""
        self.assertEqual(self.lowest_priorities("background"), [0, 19])
        self.assertEqual(self.lowest_priorities("sharded"), [0, 0])

    def start_each(self, ranks, within=None, **start):
        """Ranks started one by one; `within` and `start` for the last of them."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            place = f"tcp://127.0.0.1:{free.getsockname()[1]}"
        os.makedirs(self.path("runs"), exist_ok=True)
        processes = []
        for rank in range(ranks):
            last = rank == ranks - 1
            words = [dlc.DLC, "train", self.artifact(0, ranks), "--data=" + dlc.data("mnist-train"), "--steps=6", "--save-every=3",
                     "--threads=1", "--save=sharded", "--run=" + self.path("runs/run"), f"--rank={rank}",
                     f"--world-size={ranks}", "--init=" + place]
            processes.append(subprocess.Popen([*(within or [] if last else []), *words], stdout=subprocess.PIPE,
                                              stderr=subprocess.PIPE, text=True, start_new_session=True, **(start if last else {})))
            self.addCleanup(dlc.kill, processes[-1])
        return [dlc.finish(process) for process in processes]

    def test_full_disk_of_one_rank(self):
        """Its part cannot be written: no half of a checkpoint is left, training goes on, and the end says how to go on."""
        most = os.path.getsize(self.artifact(0, 2) + "/kernels.so") + 4096  # of which it makes a copy
        self.assertLess(most, os.path.getsize(self.artifact(0, 2) + "/state.safetensors"))

        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

        ends = self.start_each(2, preexec_fn=limit, restore_signals=False)
        self.assertEqual([code for code, _, _ in ends], [dlc.FAILED] * 2, ends)
        said = ends[0][2]
        self.assertRegex(said, r"no checkpoint of step 3: rank 1: cannot write .*state-00002-of-00002.safetensors'.*File too large.*"
                               r"training continues")
        self.assertRegex(said, r"no checkpoint of step 6: rank 1: .*go on with it by --resume=")
        run = self.path("runs/run")
        self.assertEqual([name for name in os.listdir(run) if "checkpoint" in name or ".tmp-" in name], [])
        dlc.dlc("train", resume=run, save="sharded", steps=6)
        self.assertBitwise(dlc.Run(run).state(6), self.train("same").state(6), "resumed")

    def test_disks_of_their_own(self):
        """Said before the first step."""
        if subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode:
            self.skipTest("a mount namespace needs root")
        hide = ["unshare", "-m", "sh", "-c", f"mount -t tmpfs none {self.path('runs')} && exec \"$0\" \"$@\""]
        ends = self.start_each(2, within=hide)
        self.assertEqual([code for code, _, _ in ends], [dlc.FAILED] * 2, ends)
        self.assertRegex(ends[0][2], r"rank 1 \(its host: .*\) does not see '.*', which rank 0 has made: --save=sharded needs a folder that "
                                     r"all hosts share; --save=background lets rank 0 write all of it")
        self.assertFalse(os.path.exists(self.path("runs/run/metrics.jsonl")))


if __name__ == "__main__":
    dlc.main()
