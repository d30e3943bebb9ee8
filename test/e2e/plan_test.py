# SPDX-License-Identifier: Apache-2.0
"""dlc plan: its table and JSON, from data sheets and from a run's profile; what it refuses."""

import json
import os

import dlc


class Plan(dlc.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.share_folder()
        cls.gpu = dlc.compile(dlc.model("gpt_tiny"), os.path.join(cls.shared, "gpu.dlc"), quiet=True, target="cuda", sm=90, ddp=2, amp=True,
                              bucket_mb=0.1, momentum=0.9)
        cls.cpu = dlc.compile(dlc.model("mlp"), os.path.join(cls.shared, "cpu.dlc"), quiet=True, ddp=2)

    def rows(self, *words, **options):
        return json.loads(dlc.dlc("plan", *words, json=True, **options)[0])["rows"]

    def test_gpus(self):
        rows = self.rows(self.gpu, gpus="1,8,64")
        self.assertEqual([(row["ranks"], row["mode"]) for row in rows],
                         [(1, "ddp")] + [(n, mode) for n in (8, 64) for mode in ("ddp", "zero 1", "zero 2", "zero 3")])
        one, memory = rows[0], {row["mode"]: row["memory_bytes"] for row in rows[1:5]}
        self.assertEqual((one["efficiency"], one["exposed_ms"], one["communication_ms"]), (1, 0, 0))
        for row in rows[1:]:
            self.assertGreater(row["communication_ms"], 0)
            self.assertAlmostEqual(row["step_ms"], row["compute_ms"] + row["exposed_ms"], places=9)
            self.assertAlmostEqual(row["efficiency"], one["step_ms"] / row["step_ms"], places=9)
        self.assertGreater(memory["ddp"], memory["zero 1"])
        self.assertGreater(memory["zero 1"], memory["zero 2"])

    def test_groups(self):
        """Pairs need the memory of two ranks, and gather parameters within a node, whatever the network between nodes."""
        def rows(gpus, **options):
            return {row["mode"]: row for row in self.rows(self.gpu, gpus=gpus, node=2, net="1Gbps", **options)}
        pairs, two, eight = rows(8, zero_group=2), rows(2), rows(8)
        for mode in "zero 1", "zero 2", "zero 3":
            self.assertEqual(pairs[mode]["memory_bytes"], two[mode]["memory_bytes"])
            self.assertLess(pairs[mode]["communication_ms"], eight[mode]["communication_ms"])
        self.assertEqual(pairs["ddp"], eight["ddp"])
        self.assertEqual(rows(8, zero_group=8), eight)

    def test_a_step_that_was_measured(self):
        row, = self.rows(self.gpu, gpus=1, step=12.5)
        self.assertAlmostEqual(row["step_ms"], 12.5)

    def test_slow_ranks_and_input(self):
        """Of 1,000 ranks the slowest is 3.24144 standard deviations above the mean; one rank waits for none."""
        one, many = (row for row in self.rows(self.gpu, gpus="1,1000", jitter=0.05) if row["mode"] == "ddp")
        self.assertEqual(one["waiting_ms"], 0)
        self.assertAlmostEqual(many["waiting_ms"], 0.05 * 3.24144 * many["compute_ms"], places=5)
        self.assertAlmostEqual(many["step_ms"], many["compute_ms"] + many["exposed_ms"] + many["waiting_ms"], places=9)
        row, = self.rows(self.gpu, gpus=1, step=12.5, input=8)
        self.assertAlmostEqual(row["samples_per_second"], 8)

    def test_table(self):
        out, _ = dlc.dlc("plan", self.gpu, gpus="1,16")
        self.assertRegex(out, r"ranks +mode +step ms +exposed")
        self.assertRegex(out, r"\n +16 +zero 3 ")

    def test_cpus_by_a_profile(self):
        _, err = dlc.dlc("plan", self.cpu, code=dlc.USAGE)
        self.assertRegex(err, r"was compiled for CPUs, whose times are not predicted: give measured times by --profile")
        dlc.train(self.cpu, dlc.data("digits-train"), self.path("run"), steps=5, quiet=True, profile=True)
        profile = self.path("run/profile.json")
        rows = self.rows(self.cpu, profile=profile, gpus="1,2", node=1, net="1Mbps")
        self.assertGreater(rows[1]["exposed_ms"], 1)
        _, err = dlc.dlc("plan", self.gpu, profile=profile, code=dlc.CORRUPT)
        self.assertRegex(err, r"profile.json': no profile of this model: train_step has \d+ commands there, \d+ here")

    def test_local_steps(self):
        """A step has its share of the meeting's bytes, which nothing hides; --zero does not go with it."""
        four, eight = (dlc.compile(dlc.model("mlp"), self.path(f"{n}.dlc"), ddp=2, sync_every=n, quiet=True) for n in (4, 8))
        dlc.train(four, dlc.data("digits-train"), self.path("local"), steps=8, quiet=True, profile=True)
        more, less = (self.rows(each, profile=self.path("local/profile.json"), gpus="1,2", node=1, net="1Mbps") for each in (four, eight))
        self.assertEqual([(row["ranks"], row["mode"]) for row in more], [(1, "ddp"), (2, "ddp")])
        self.assertGreater(more[1]["exposed_ms"], 1)
        self.assertEqual(more[1]["exposed_ms"], more[1]["communication_ms"])
        self.assertAlmostEqual(more[1]["exposed_ms"], 2 * less[1]["exposed_ms"])

    def test_refused(self):
        alone = dlc.compile(dlc.model("mlp"), self.path("alone.dlc"), quiet=True)
        for words, said in (((self.gpu, "--gpus=12"), "12 ranks do not fill nodes of 8"),
                            ((self.gpu, "--gpus=8", "--zero-group=3"), "--zero-group=3 does not divide 8 ranks"),
                            ((self.gpu, "--gpus=24", "--zero-group=12"), "--zero-group=12 neither divides nodes of 8 nor fills them"),
                            ((self.gpu, "--gpus=0"), "--gpus: expected whole numbers from 1 to 1048576, found '0'"),
                            ((self.gpu, "--gpus=8x"), "found '8x'"),
                            ((self.gpu, "--net=10"), "--net: expected a bandwidth such as 400Gbps or 50GB/s, found '10'"),
                            ((self.gpu, "--link=fast"), "--link: expected a bandwidth"),
                            ((self.gpu, "--gpu=V1"), "unknown GPU 'V1'"),
                            ((alone,), "was compiled for one rank: compile it with --ddp=2"),
                            ((), "expected an artifact")):
            _, err = dlc.dlc("plan", *words, code=dlc.USAGE)
            self.assertIn(said, err)


if __name__ == "__main__":
    dlc.main()
