# SPDX-License-Identifier: Apache-2.0
"""--batch=auto: the largest batch for which --memory is enough; a run stays below it, but for what it needs with any batch."""

import os
import re

import dlc
import numpy as np

MIB = 1 << 20


class AutoBatch(dlc.TestCase):
    def compile(self, memory, model="resnet8", **options):
        """The batch and the bytes of all regions of the plan."""
        self.artifact = self.path("auto.dlc")
        _, err = dlc.dlc("compile", dlc.model(model), output=self.artifact, memory=memory, batch="auto", **options)
        return self.batch_of(self.artifact), self.bytes_of(self.artifact), err

    def batch_of(self, artifact):
        with open(os.path.join(artifact, "config.yaml")) as file:
            return int(re.search(r"(?m)^ +batch: (\d+)$", file.read()).group(1))

    def bytes_of(self, artifact):
        out, _ = dlc.dlc("inspect", artifact, "--json", "--memory")
        return dlc.json.loads(out)["memory"]["bytes"]

    def test_fills_the_limit(self):
        for model, limit, options in [("resnet8", 40, {}), ("resnet8", 300, dict(optimizer="adamw")), ("lenet", 100, {}),
                                      ("gpt_tiny", 60, dict(amp=True)), ("lenet", 64, dict(accumulate=4, ddp=2))]:
            with self.subTest(model=model, limit=limit):
                batch, found, err = self.compile(f"{limit}MiB", model, **options)
                self.assertLessEqual(found, limit * MIB)
                self.assertGreater(found, 0.9 * limit * MIB)
                self.assertRegex(err, rf"--batch={batch}: a step takes .*, --memory allows ")
                self.assertIn(batch % 8, range(8) if batch < 64 else (0,))

    def test_nothing_fits(self):
        _, err = dlc.dlc("compile", dlc.model("lenet"), output=self.path("x.dlc"), memory="100kB", batch="auto", code=dlc.LIMIT)
        self.assertRegex(err, r"a step of one sample takes .*, --memory allows 97.7 KiB; see --recompute")
        self.assertFalse(os.path.exists(self.path("x.dlc")))

    def peak(self, artifact, batch):
        """Most bytes of memory that a run of three steps held."""
        samples = self.path(f"{batch}.npz")
        rng = np.random.default_rng(0)
        np.savez(samples, x=rng.random((3 * batch, 1, 28, 28), np.float32), y=rng.integers(0, 10, 3 * batch))
        process = dlc.start("train", artifact, data=samples, run=self.path(f"run{batch}"), steps=3, threads=1, save="sync")
        process.stdout.read(), process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        process.stdout.close(), process.stderr.close()
        self.assertEqual(process.returncode, dlc.OK)
        return usage.ru_maxrss << 10, os.path.getsize(samples)

    def test_a_run_takes_what_the_plan_says(self):
        """Beside the regions a run has libraries' scratch, which grows with the batch, too; here it is under a third of them,
        and without AVX-512, where oneDNN copies operands of a data gradient into its own layout, under a half."""
        # The small run first: a process counts what this one held when it was started.
        small = dlc.compile(dlc.model("lenet"), self.path("small.dlc"), batch=8)
        least, _ = self.peak(small, 8)
        batch, found, _ = self.compile("400MiB", "lenet")
        most, samples = self.peak(self.artifact, batch)
        # What the process has anyway, samples in memory (the mapped file and the batches on their way).
        beside = most - (least - self.bytes_of(small)) - 2 * samples
        self.assertGreater(beside, 0.9 * found)
        with open("/proc/cpuinfo") as file:
            self.assertLess(beside, (1.33 if "avx512f" in file.read() else 1.5) * found)


if __name__ == "__main__":
    dlc.main()
