"""EMA states equal numpy's recomputation from the parameters of every step."""

import dlc
import numpy as np

STEPS = 12


class Ema(dlc.TestCase):
    def check(self, name, data, decay, **options):
        artifact = dlc.compile(dlc.model(name), self.path("model.dlc"), batch=16, lr=0.05,
                               **dlc.CONSTANT_SGD, **options)
        averages = dlc.load_file(artifact + "/state.safetensors")
        averages = {k: averages[k].astype(np.float64) for k in averages if "ema/" + k in averages}
        self.assertTrue(averages)
        for step in range(1, STEPS + 1):
            run = dlc.train(artifact, dlc.data(data), self.path(f"run{step}"), steps=step,
                            shuffle="off", threads=1)
            state, d = run.state(step), decay(step)
            for key, average in averages.items():
                averages[key] = d * average + (1 - d) * state[key]
                self.assertNear(state["ema/" + key], averages[key], 1e-5, f"{key}, step {step}")
        return averages

    def test_constant_decay(self):
        self.check("lenet", "mnist-train", lambda n: 0.9, ema=0.9)

    def test_ramp(self):
        """--ema alone: d(n) = 0.9999 (1 - exp(-n / 2000)), n from 1."""
        self.check("mlp", "digits-train", lambda n: 0.9999 * (1 - np.exp(-n / 2000)), ema=True)

    def test_buffers(self):
        """Running statistics are averaged too."""
        ref = dlc.Reference("resnet8")
        path = ref.write(self.path("data.npz"))[: -len(".npz")]
        averages = self.check("resnet8", path, lambda n: 0.5, ema=0.5)
        self.assertIn("bn1.running_var", averages)


if __name__ == "__main__":
    dlc.main()
