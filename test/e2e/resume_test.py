"""A run killed at any moment and resumed ends with the bits of the undisturbed run."""

import os
import random
import time

import dlc

STEPS = 120


class Resume(dlc.TestCase):
    def setUp(self):
        super().setUp()
        self.random = random.Random(20)

    def begin(self, artifact, data, run):
        return dlc.start("train", artifact, data=dlc.data(data), run=run, steps=STEPS, seed=7,
                         save_every=10, threads=1)

    def go_on(self, run):
        return dlc.start("train", resume=run)

    def end(self, process):
        status, _, err = dlc.finish(process)
        self.assertEqual(status, dlc.OK, err)

    def steps(self, run):
        """How many steps the run has reported so far."""
        try:
            with open(os.path.join(run, "metrics.jsonl")) as file:
                return sum(1 for _ in file)
        except FileNotFoundError:
            return 0

    def kill_at(self, process, run, step):
        """Kills soon after the run has come `step` steps further than it was."""
        goal = self.steps(run) + step
        while process.poll() is None and self.steps(run) < goal:
            time.sleep(0.002)
        time.sleep(self.random.random() * 0.02)
        alive = process.poll() is None
        dlc.kill(process)
        return alive

    def check(self, name, data, rounds, **options):
        artifact = dlc.compile(dlc.model(name), self.path("model.dlc"), steps=STEPS, **options)
        undisturbed = self.path("undisturbed")
        self.end(self.begin(artifact, data, undisturbed))
        expected = dlc.Run(undisturbed).state(STEPS)

        again = self.path("again")
        self.end(self.begin(artifact, data, again))
        self.assertBitwise(dlc.Run(again).state(STEPS), expected, "the same run twice")

        for number in range(rounds):
            run, kills = self.path(f"run{number}"), 0
            process = self.begin(artifact, data, run)
            while self.kill_at(process, run, 12 + self.random.randrange(40)):
                kills += 1
                process = self.go_on(run)
            self.assertGreater(kills, 0)
            self.end(self.go_on(run))  # a finished run stays as it is
            self.assertBitwise(dlc.Run(run).state(STEPS), expected, f"after {kills} kills")
            losses = dlc.Run(run).metrics("step")
            self.assertEqual(len(set(losses)), len(losses), "steps reported twice")

    def test_sgd_ema(self):
        self.check("lenet", "mnist-train", 3, batch=16, optimizer="sgd", momentum=0.9,
                   schedule="cosine", ema=True)

    def test_adamw_amp(self):
        self.check("gpt_tiny", "text-train", 2, batch=8, optimizer="adamw", lr=1e-3, amp=True,
                   clip_grad=1.0, schedule="cosine", warmup=10)

    def test_two_ranks(self):
        self.check("lenet", "mnist-train", 2, batch=16, ddp=2, optimizer="adamw", lr=1e-3, ema=0.99)

    def test_longer_than_an_epoch(self):
        """The order of the samples goes on where it was, also in later epochs."""
        self.check("mlp", "digits-train", 2, batch=50, optimizer="sgd")


if __name__ == "__main__":
    dlc.main()
