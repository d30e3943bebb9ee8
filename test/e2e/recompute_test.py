# SPDX-License-Identifier: Apache-2.0
"""Activations computed again are the same bits, so training is; and they take less memory."""

import json
import os
import re

import dlc

STEPS = 5
DATA = dict(mlp="digits-train", lenet="mnist-train", resnet8="images", gpt_tiny="text-train")


class Recompute(dlc.TestCase):
    def data(self, name):
        if DATA[name] != "images":
            return dlc.data(DATA[name])
        return dlc.Reference(name).write(self.path("data.npz"))

    def train(self, name, run, **options):
        artifact = dlc.compile(dlc.model(name), self.path(run + ".dlc"), batch=8, **options)
        trained = dlc.train(artifact, self.data(name), self.path(run), steps=STEPS, seed=3, threads=1)
        out, _ = dlc.dlc("inspect", artifact, json=True)
        return trained, json.loads(out)

    def check(self, name, *patterns, **options):
        """All patterns give the bits of the plan without; returns the inspections, the plain one first."""
        plain, about = self.train(name, "plain", **options)
        return [about] + [self.compare(name, f"again{i}", plain, about, recompute=pattern, **options)
                          for i, pattern in enumerate(patterns)]

    def compare(self, name, run, plain, before, **options):
        again, about = self.train(name, run, **options)
        what = f"{name} {options}"
        self.assertBitwise(again.state(STEPS), plain.state(STEPS), what)
        for key in "loss", "lr":
            self.assertEqual(again.metrics(key).tolist(), plain.metrics(key).tolist(), what)
        self.assertGreater(self.commands(about), self.commands(before), what)
        return about

    def commands(self, about):
        return about["programs"]["train_step"]["commands"]

    def scratch(self, about):
        return about["programs"]["train_step"]["scratch_bytes"]

    def test_mlp(self):
        self.check("mlp", "Tanh", ".", optimizer="adamw")

    def test_lenet(self):
        self.check("lenet", "Relu", "MaxPool|Conv", ema=0.9)

    def test_resnet8(self):
        """Batch norm moves its running statistics once. What is near it is computed again in any case, in its operand's place."""
        plain, relu, _ = self.check("resnet8", "Relu", ".")
        self.assertLess(self.scratch(relu), 1.05 * self.scratch(plain))

    def test_gpt_tiny(self):
        plain, attention, _ = self.check("gpt_tiny", "Softmax|Mul", ".", optimizer="adamw", clip_grad=1)
        self.assertLess(self.scratch(attention), 0.9 * self.scratch(plain))

    def test_half(self):
        """Halves are rounded where a cluster ends, so clusters must be the same."""
        for name in DATA:
            with self.subTest(name):
                self.new_folder()
                self.check(name, "Relu|Mul|Tanh", amp=True)

    def test_two_ranks_with_a_scale(self):
        self.check("lenet", "Relu", ddp=2, amp=True, loss_scale="dynamic")

    def test_budget(self):
        """The plan keeps to --memory, repeating more where less is allowed."""
        for name, shares in dict(resnet8=(0.9, 0.75), gpt_tiny=(0.9, 0.7)).items():
            self.new_folder()
            plain, before = self.train(name, "plain")
            last = self.commands(before)
            for i, share in enumerate(shares):
                state = before["memory"]["bytes"] - self.scratch(before)
                budget = int(state + share * self.scratch(before))
                about = self.compare(name, f"fit{i}", plain, before, memory=budget)
                self.assertLessEqual(about["memory"]["bytes"], budget)
                self.assertGreater(self.commands(about), last)
                last = self.commands(about)

    def test_enough_memory_changes_nothing(self):
        plain = dlc.compile(dlc.model("lenet"), self.path("plain.dlc"), batch=8)
        roomy = dlc.compile(dlc.model("lenet"), self.path("roomy.dlc"), batch=8, memory="1GiB")
        with open(plain + "/kernels.so", "rb") as a, open(roomy + "/kernels.so", "rb") as b:
            self.assertEqual(a.read(), b.read())

    def test_scratch_is_near_what_is_needed_at_once(self):
        for name in "lenet", "resnet8", "gpt_tiny":
            artifact = dlc.compile(dlc.model(name), self.path(name + ".dlc"))
            out, _ = dlc.dlc("inspect", artifact, json=True)
            program = json.loads(out)["programs"]["train_step"]
            self.assertLessEqual(program["live_bytes"], program["scratch_bytes"])
            self.assertGreater(program["live_bytes"], 0.99 * program["scratch_bytes"], name)

    def test_too_little_memory(self):
        """Exit code 6 and a table of what takes it, the largest activations by node."""
        _, err = dlc.dlc("compile", dlc.model("resnet8"), "-o", self.path("m.dlc"), momentum=0.9, memory="1MB",
                         code=dlc.LIMIT)
        self.assertRegex(err, r"step of 32 samples takes [\d.]+ MiB, --memory allows 977 KiB; use a smaller --batch, ")
        self.assertRegex(err, r"(?m)^  param +\d+ KiB$")
        self.assertRegex(err, r"(?m)^  moment +\d+ KiB$")
        self.assertRegex(err, r"(?m)^ +[\d.]+ MiB  f32 \[32, 32, 32, 16\] +/l/l.0/conv1/Conv$")
        self.assertFalse(os.path.exists(self.path("m.dlc")))

    def test_inspect_shows_what_takes_it(self):
        artifact = dlc.compile(dlc.model("resnet8"), self.path("m.dlc"))
        out, _ = dlc.dlc("inspect", artifact, "--memory")
        self.assertRegex(out, r"^memory of a rank: [\d.]+ MiB\n")
        self.assertRegex(out, r"scratch of train_step: (9\d|100)\.\d % of it needed at once, by \d+ tensors")
        sizes = [float(size) for size in re.findall(r"(?m)^ +([\d.]+) MiB  f32 \[", out)]
        self.assertGreater(len(sizes), 5)
        self.assertEqual(sizes, sorted(sizes, reverse=True))


if __name__ == "__main__":
    dlc.main()
