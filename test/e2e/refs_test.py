# SPDX-License-Identifier: Apache-2.0
"""The first 20 f32 steps equal PyTorch's: losses, gradients, parameters, running statistics.

One exception: resnet8 amplifies rounding, under AdamW so much that PyTorch's own losses with one and with two
threads differ by 6e-4 within 20 steps; there the state is compared after 2 steps. How much it is on this CPU, a run
tells whose batches have their rows in the reverse order: 30 times its difference is allowed.
"""
# processors: 2

import dlc
import numpy as np

OPTIMIZERS = {
    "sgd": dict(optimizer="sgd", lr=0.05, momentum=0.9, weight_decay=1e-4),
    "adamw": dict(optimizer="adamw", lr=1e-3, betas="0.9,0.999", eps=1e-8, weight_decay=1e-2),
}


class References(dlc.TestCase):
    def train(self, name, steps, ref, save_every=None, reverse=False, **options):
        artifact = dlc.compile(dlc.model(name), self.path("model.dlc"), loss="cross_entropy",
                               schedule="constant", batch=ref.batch, **options)
        data = ref.write(self.path("data.npz"))
        if reverse:
            with np.load(data) as arrays:
                turned = {key: rows.reshape(-1, ref.batch, *rows.shape[1:])[:, ::-1].reshape(rows.shape) for key, rows in arrays.items()}
            np.savez(data, **turned)
        run = dlc.train(artifact, data, self.path(f"run-{reverse}"),
                        shuffle="off", steps=steps, threads=1, keep=99,
                        save_every=save_every or steps)
        return artifact, run

    def check_training(self, name, optimizer):
        ref = dlc.Reference(name)
        early = ref.group(f"early_{optimizer}")
        layout = "nchw" if (name, optimizer) == ("resnet8", "sgd") else "auto"
        runs = [self.train(name, 20, ref, save_every=2, reverse=reverse, layout=layout, **OPTIMIZERS[optimizer])[1]
                for reverse in ([False, True] if name == "resnet8" else [False])]
        losses = [run.metrics("loss") for run in runs]
        expected = ref.arrays[f"losses_{optimizer}"]
        self.assertEqual(losses[0].shape, expected.shape)
        difference, noise = (np.abs(other / losses[0] - 1) for other in (expected, losses[-1]))
        noise = np.maximum.accumulate(noise)  # doubles each step or so, from a step that chance decides
        tolerance = np.maximum(1e-4, 30 * np.append(noise[4:], noise[-1:].repeat(4)))
        self.assertLess(tolerance[:3].max(), 1e-2)
        self.assertTrue((difference < tolerance).all(), f"losses: relative differences {difference}, allowed {tolerance}")
        first, last = (run.state(2 if early else 20) for run in (runs[0], runs[-1]))
        for key, value in (early or ref.group(f"final_{optimizer}")).items():
            noise = np.linalg.norm(first[key] - last[key]) / max(np.linalg.norm(value), 1e-30)
            self.assertNear(first[key], value, max(1e-3, 30 * noise), key)

    def test_resnet8_sgd_channels_last(self):
        ref = dlc.Reference("resnet8")
        _, run = self.train("resnet8", 20, ref, layout="nhwc", **OPTIMIZERS["sgd"])
        difference = np.abs(run.metrics("loss") / ref.arrays["losses_sgd"] - 1)
        self.assertTrue((difference < np.where(np.arange(20) < 5, 1e-4, 2e-2)).all(), f"{difference}")

    def check_attention_as_one_op(self, optimizer):
        ref = dlc.Reference("gpt_tiny")
        _, run = self.train("gpt_tiny", 20, ref, attention="library", **OPTIMIZERS[optimizer])
        difference = np.abs(run.metrics("loss") / ref.arrays[f"losses_{optimizer}"] - 1)
        self.assertLess(difference.max(), 1e-4)
        for key, value in ref.group(f"final_{optimizer}").items():
            self.assertNear(run.state(20)[key], value, 1e-3, key)

    def test_attention_as_one_op_sgd(self):
        self.check_attention_as_one_op("sgd")

    def test_attention_as_one_op_adamw(self):
        self.check_attention_as_one_op("adamw")

    def test_attention_as_one_op_gradients(self):
        self.check_gradients("gpt_tiny", attention="library")

    def check_gradients(self, name, **options):
        """Plain SGD's first step subtracts lr * gradient; a large lr keeps the gradient's bits."""
        ref, lr = dlc.Reference(name), 1024
        artifact, run = self.train(name, 1, ref, optimizer="sgd", lr=lr, momentum=0, weight_decay=0, **options)
        before, after = run.initial(artifact), run.state(1)
        for key, value in ref.group("grad0").items():
            self.assertNear((before[key] - after[key]) / lr, value, 1e-3, key)


def add(name):
    for optimizer in OPTIMIZERS:
        setattr(References, f"test_{name}_{optimizer}",
                lambda self, o=optimizer: self.check_training(name, o))
    setattr(References, f"test_{name}_gradients", lambda self: self.check_gradients(name))


for name in "mlp", "lenet", "resnet8", "gpt_tiny":
    add(name)


if __name__ == "__main__":
    dlc.main()
