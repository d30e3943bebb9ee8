# SPDX-License-Identifier: Apache-2.0
"""--zero=3: parameters are gathered bucket by bucket around their use, in training and without; the same bits come out."""

import json

import dlc
import numpy as np

SMALL = dict(optimizer="adamw", lr=1e-3, schedule="constant", ddp=2, batch=8)
PARTS = dict(zero=3, zero_whole_mb=1e-6)


class Gathered(dlc.TestCase):
    def compile(self, name, model, **options):
        return dlc.compile(dlc.model(model), self.path(name + ".dlc"), quiet=True, **(SMALL | options))

    def train(self, artifact, data, steps=4, **options):
        return dlc.train(artifact, data, artifact.replace(".dlc", ".run"), shuffle="off", steps=steps, threads=1, **options)

    def both(self, model, data, steps=4, train=None, name="", **options):
        """The runs without parts and with them, of the same losses and state."""
        runs = [self.train(self.compile(f"{model}{name}-{len(parts)}", model, **options, **parts), data, steps, **(train or {}))
                for parts in ({}, PARTS)]
        self.assertBitwise(runs[1].state(steps), runs[0].state(steps), model)
        np.testing.assert_array_equal(runs[1].metrics("loss"), runs[0].metrics("loss"))
        return runs

    def inspect(self, artifact):
        return json.loads(dlc.dlc("inspect", artifact, json=True)[0])

    def test_transformer(self):
        """Its table of words is first and last; halves of weights are made from what was gathered."""
        for i, options in enumerate((dict(zero_prefetch=0), dict(zero_prefetch=2, accumulate=2, no_decay="norm_bias"))):
            parts = {key: options.pop(key) for key in ("zero_prefetch",)}
            plain = self.train(self.compile(f"plain{i}", "gpt_tiny", amp=True, bucket_mb=0.05, **options), dlc.data("text-train"))
            run = self.train(self.compile(f"parts{i}", "gpt_tiny", amp=True, bucket_mb=0.05, **options, **PARTS, **parts), dlc.data("text-train"))
            self.assertBitwise(run.state(4), plain.state(4), str(parts))
            np.testing.assert_array_equal(run.metrics("loss"), plain.metrics("loss"))

    def test_batch_norm_of_all_ranks(self):
        """Statistics of the ranks travel between the gathers."""
        data = dlc.Reference("resnet8").write(self.path("data.npz"))
        self.both("resnet8", data, batch=4, sync_bn=True, bucket_mb=0.05, ema=0.9, ema_device="cpu")

    def test_validation_in_step(self):
        """A rank that has no batch left gathers with the others; what it computes counts for nothing."""
        test = np.load(dlc.data("mnist-test"))
        for samples in 7, 20, 33:
            np.savez(self.path("few.npz"), **{key: test[key][:samples] for key in test})
            for batch in 8, "8,2":
                runs = self.both("lenet", dlc.data("mnist-train"), batch=batch, bucket_mb=0.05, name=f"{samples},{batch}",
                                 train=dict(val=self.path("few.npz"), metrics="accuracy,f1"))
                lines = []
                for run in runs:
                    with open(run.folder + "/epochs.jsonl") as file:
                        lines.append(file.read())
                    self.assertIn('"val_loss"', lines[-1])
                self.assertEqual(lines[1], lines[0])

    def test_what_stays_whole(self):
        """Small parameters, which inspect tells; a look at parameters in parts says so, too."""
        artifact = self.compile("some", "gpt_tiny", zero=3, zero_whole_mb=0.02, bucket_mb=0.05, no_decay="norm_bias")
        report = self.inspect(artifact)
        parameters, programs = report["parameter_bytes"], report["programs"]
        self.assertEqual(parameters["parts"] + parameters["whole"], 4 * report["parameters"])
        self.assertGreater(parameters["whole"], 0)
        self.assertGreater(parameters["parts"], 20 * parameters["whole"])
        step, look = (programs[name]["collectives"] for name in ("train_step", "eval_step"))
        self.assertEqual(look["gathered_bytes"], parameters["parts"])
        self.assertGreater(step["gathered_bytes"], look["gathered_bytes"])
        self.assertLess(step["gathered_bytes"], 2 * look["gathered_bytes"] + 1)
        out, _ = dlc.dlc("inspect", artifact)
        self.assertRegex(out, r"\n  parameters: \d+ gathers, ")
        self.assertRegex(out, r"\nparameters: .* in parts, .* whole on each rank\n")
        run = self.train(artifact, dlc.data("text-train"))
        plain = self.train(self.compile("none", "gpt_tiny", bucket_mb=0.05, no_decay="norm_bias"), dlc.data("text-train"))
        self.assertBitwise(run.state(4), plain.state(4), "some in parts")

    def test_a_bucket_ahead(self):
        """A gather is under way while the bucket before is computed with."""
        artifact = self.compile("ahead", "gpt_tiny", bucket_mb=0.05, **PARTS)
        self.train(artifact, dlc.data("text-train"), 6, profile=True)
        with open(self.path("ahead.run/profile.json")) as file:
            commands = [command for command in json.load(file) if command["program"] == "train_step"]
        gathers = [i for i, c in enumerate(commands) if c["kind"] == "all_gather"]
        beside = []
        for i in gathers:
            wait = next(k for k in range(i, len(commands)) if commands[k]["kind"] == "wait" and commands[k]["bucket"] == commands[i]["bucket"])
            beside.append(sum(c["kind"] in ("kernel", "matmul") for c in commands[i:wait]))
        self.assertGreater(len(gathers), 6)
        self.assertGreater(np.median(beside), 2, "commands that a gather goes on beside")

    def test_predict(self):
        """One rank alone has all parameters: predictions are those of the model without parts."""
        runs = self.both("lenet", dlc.data("mnist-train"), bucket_mb=0.05)
        results = []
        for run in runs:
            dlc.dlc("predict", run.folder, data=dlc.data("mnist-test"), output=run.folder + ".npz")
            results.append(dict(np.load(run.folder + ".npz")))
        for name in results[0]:
            np.testing.assert_array_equal(results[1][name], results[0][name])

    def test_halves_are_not_kept(self):
        """Halves of weights are made again in the backward pass: scratch memory shrinks, though two buckets are gathered there."""
        live = {}
        for zero in (2, 3):
            artifact = self.compile(f"half{zero}", "gpt_tiny", amp=True, bucket_mb=0.02, batch=1, zero=zero)
            live[zero] = self.inspect(artifact)["programs"]["train_step"]["live_bytes"]
        self.assertLess(live[3], live[2])

    def test_flags(self):
        for flag in "--zero-prefetch=2", "--zero-whole-mb=1":
            _, err = dlc.dlc("compile", dlc.model("lenet"), flag, "-o", self.path("no.dlc"), ddp=2, zero=2, code=dlc.USAGE)
            self.assertIn(flag.split("=")[0], err)


if __name__ == "__main__":
    dlc.main()
