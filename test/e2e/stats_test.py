# SPDX-License-Identifier: Apache-2.0
"""--stats: what a step reports of each parameter and its gradient is what numpy finds in checkpoints."""

import glob
import json
import os
import unittest

import dlc
import numpy as np

SGD = dict(optimizer="sgd", momentum=0, lr=0.05, weight_decay=0, schedule="constant", batch=16)


class Statistics(dlc.TestCase):
    def train(self, name, steps=6, model="lenet", data="mnist-train", compiled={}, **options):
        artifact = dlc.compile(dlc.model(model), self.path(f"{name}.dlc"), **{**SGD, "stats": True, **compiled})
        run = dlc.train(artifact, dlc.data(data), self.path(name), steps=steps, save_every=1, keep=100, quiet=True, **options)
        return artifact, run

    def lines(self, run):
        with open(os.path.join(run.folder, "stats.jsonl")) as file:
            return [json.loads(line) for line in file]

    def check(self, artifact, run, lines, gradient=True, tolerance=2e-3):
        for line in lines:
            step = line["step"]
            before = run.state(step - 1) if step > 1 else run.initial(artifact)
            after = run.state(step)
            for name, found in line["parameters"].items():
                w = after[name].astype(np.float64)
                moved = w - before[name].astype(np.float64)
                expected = dict(norm=np.linalg.norm(w), mean=w.mean(), std=w.std(), absmax=abs(w).max(),
                                update_ratio=np.linalg.norm(moved) / np.linalg.norm(w))
                if gradient:
                    g = -moved / 0.05
                    expected.update(gradient_norm=np.linalg.norm(g), gradient_mean=g.mean(), gradient_std=g.std(), gradient_absmax=abs(g).max())
                for key, value in expected.items():
                    scale = abs(expected["gradient_absmax" if "gradient" in key else "absmax"]) if key.endswith(("mean", "std")) else abs(value)
                    self.assertAlmostEqual(found[key], value, delta=tolerance * scale + 1e-7, msg=f"step {step}, {name}: {key}")

    def test_are_numpys(self):
        artifact, run = self.train("run", stats_every=2)
        lines = self.lines(run)
        self.assertEqual([line["step"] for line in lines], [2, 4, 6])
        trained = [name for name in run.state(6) if name in lines[0]["parameters"]]
        self.assertEqual(len(trained), 10)
        self.check(artifact, run, lines)

    def test_of_ranks_scaled_and_clipped(self):
        """The gradient is the mean over ranks, of the loss itself, before it is clipped."""
        clip = 0.01
        artifact, run = self.train("run", compiled=dict(ddp=2, amp=True, amp_dtype="fp16", clip_grad=clip), stats_every=1, steps=3)
        lines = self.lines(run)
        self.check(artifact, run, lines, gradient=False)
        for line, norm in zip(lines, run.metrics("grad_norm"), strict=True):
            found = np.sqrt(sum(p["gradient_norm"]**2 for p in line["parameters"].values()))
            self.assertAlmostEqual(found, norm, delta=1e-3 * norm)
            self.assertGreater(norm, 2 * clip)
            moved = np.sqrt(sum((p["update_ratio"] * p["norm"])**2 for p in line["parameters"].values()))
            self.assertAlmostEqual(moved, 0.05 * clip, delta=1e-2 * 0.05 * clip)

    def test_change_nothing_and_cost_no_state(self):
        _, run = self.train("run", steps=3, compiled=dict(optimizer="adamw", momentum=None))
        _, plain = self.train("plain", steps=3, compiled=dict(optimizer="adamw", momentum=None, stats=None))
        self.assertBitwise(run.state(3), plain.state(3), "with --stats")
        self.assertFalse(os.path.exists(os.path.join(plain.folder, "stats.jsonl")))
        self.assertEqual(run.metrics("loss").tolist(), plain.metrics("loss").tolist())
        self.assertEqual(self.lines(run), [], "every 10 steps")

    def test_skipped_steps_and_resume(self):
        os.environ["DLC_INJECT_INF"] = "2"
        self.addCleanup(os.environ.pop, "DLC_INJECT_INF")
        artifact, run = self.train("run", compiled=dict(amp=True, amp_dtype="fp16"), stats_every=1, steps=3)
        first, second, third = self.lines(run)
        infinite = [name for name, p in second["parameters"].items() if p["gradient_norm"] is None]
        self.assertTrue(infinite)
        self.assertTrue(all(p["update_ratio"] == 0 for p in second["parameters"].values()))
        self.assertTrue(all(p["update_ratio"] > 0 for p in third["parameters"].values()))
        dlc.dlc("train", resume=run.folder, checkpoint=2, steps=4, quiet=True)
        self.assertEqual([line["step"] for line in self.lines(run)], [1, 2, 3, 4])
        self.assertEqual(self.lines(run)[2], third)

    def test_tensorboard_and_report(self):
        artifact, run = self.train("run", stats_every=1, steps=2, tensorboard=True)
        path, = glob.glob(os.path.join(run.folder, "tensorboard", "*"))
        with open(path, "rb") as file:
            content = file.read()
        for tag in b"gradients/c1.weight/norm", b"parameters/f3.bias/std", b"update_ratio/c1.weight":
            self.assertEqual(content.count(tag), 2, tag)
        dlc.dlc("report", run.folder, output=self.path("page.html"))
        with open(self.path("page.html")) as file:
            self.assertIn('"stats":{"names":["c1.weight"', file.read().replace(" ", ""))

    def test_errors(self):
        artifact = dlc.compile(dlc.model("mlp"), self.path("m.dlc"), batch=16)
        _, err = dlc.dlc("train", artifact, data=dlc.data("digits-train"), run=self.path("run"), stats_every=5, code=dlc.USAGE)
        self.assertIn("--stats-every needs a model that was compiled with --stats", err)
        _, err = dlc.dlc("compile", dlc.model("mlp"), "-o", self.path("n.dlc"), stats=True, ddp=2, zero=1, code=dlc.USAGE)
        self.assertIn("--stats needs complete parameters on each rank", err)


if __name__ == "__main__":
    unittest.main(verbosity=2)
