"""Activations computed again are the same bits, so training is; and they take less memory."""

import json

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
        found = [about]
        for i, pattern in enumerate(patterns):
            again, about = self.train(name, f"again{i}", recompute=pattern, **options)
            what = f"{name} --recompute={pattern} {options}"
            self.assertBitwise(again.state(STEPS), plain.state(STEPS), what)
            for key in "loss", "lr":
                self.assertEqual(again.metrics(key).tolist(), plain.metrics(key).tolist(), what)
            found.append(about)
            commands = [a["programs"]["train_step"]["commands"] for a in found]
            self.assertGreater(commands[-1], commands[0], what)
        return found

    def scratch(self, about):
        return about["programs"]["train_step"]["scratch_bytes"]

    def test_mlp(self):
        self.check("mlp", "Tanh", ".", optimizer="adamw")

    def test_lenet(self):
        self.check("lenet", "Relu", "MaxPool|Conv", ema=0.9)

    def test_resnet8(self):
        """Batch norm moves its running statistics once."""
        plain, relu, _ = self.check("resnet8", "Relu", ".")
        self.assertLess(self.scratch(relu), 0.9 * self.scratch(plain))

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


if __name__ == "__main__":
    dlc.main()
