# SPDX-License-Identifier: Apache-2.0
"""Dynamic loss scaling follows PyTorch's GradScaler: a step whose gradients overflow changes nothing but the
scale (and BatchNorm's running statistics, as the forward pass does there too).

The CPU's half is bf16, which has f32's range, so only a huge scale overflows.
"""

import dlc
import numpy as np
import onnx
from onnx import numpy_helper

STEPS, INTERVAL, INIT = 40, 3, 2.0**120


class Scaler(dlc.TestCase):
    def run_steps(self, model, data, scale, **options):
        """Returns (metrics, the states before the first step and after each)."""
        options = dict(loss="cross_entropy", schedule="constant", lr=1e-6, batch=8, ema=0.5, amp=True,
                       loss_scale="dynamic", loss_scale_init=INIT, loss_scale_interval=INTERVAL) | options
        artifact = dlc.compile(model, self.path("model.dlc"), **options)
        run = dlc.train(artifact, data, self.path("run"), steps=STEPS, save_every=1, keep=STEPS,
                        threads=1, scale=scale)
        self.assertEqual(len(run.metrics("loss")), STEPS)
        states = [run.state(n) for n in range(1, STEPS + 1)]
        initial = run.initial(artifact)  # without moments, which are 0
        return run, [{k: initial.get(k, np.zeros_like(v)) for k, v in states[0].items()}] + states

    def check(self, model, data, scale, **options):
        run, states = self.run_steps(model, data, scale, **options)
        expected, good, skips = INIT, 0, 0
        reported, overflows = run.metrics("loss_scale"), run.metrics("found_inf")
        for number in range(STEPS):
            before, after = states[number], states[number + 1]
            self.assertEqual(reported[number], expected, "the scale that the step used")
            skipped = bool(overflows[number])
            self.assertEqual(int(after["step"]) - int(before["step"]), 0 if skipped else 1)
            if skipped:
                expected, good, skips = expected / 2, 0, skips + 1
            else:
                good += 1
                if good == INTERVAL:
                    expected, good = expected * 2, 0
            self.assertEqual(float(after["scaler.scale"]), expected, f"scale after step {number + 1}")
            self.assertEqual(int(after["scaler.growth"]), good, f"good steps after step {number + 1}")
            self.compare(before, after, skipped, number + 1)
        self.assertGreater(skips, 5)
        self.assertGreater(STEPS - skips, 5)
        self.assertTrue(np.all(np.isfinite(run.metrics("loss"))))
        return states

    def compare(self, before, after, skipped, step):
        changed = {k for k in after if after[k].tobytes() != before[k].tobytes()}
        changed = {k for k in changed if "running" not in k or k.startswith("ema/")}
        if skipped:
            self.assertLessEqual(changed, {"scaler.scale", "scaler.growth"}, f"skipped step {step}")
        else:
            self.assertIn("step", changed)
            self.assertTrue(any(k.endswith(".m") for k in changed), f"step {step}")
            self.assertTrue(any(k.startswith("ema/") for k in changed), f"step {step}")

    def test_sgd(self):
        self.check(dlc.model("lenet"), dlc.data("mnist-train"), 10, optimizer="sgd", momentum=0.9)

    def test_adamw_ramp(self):
        states = self.check(dlc.model("lenet"), dlc.data("mnist-train"), 10, optimizer="adamw", ema=True)
        self.assertEqual(int(states[-1]["ema.updates"]), int(states[-1]["step"]))

    def test_two_ranks(self):
        self.check(dlc.model("lenet"), dlc.data("mnist-train"), 10, optimizer="sgd", momentum=0.9, ddp=2)

    def test_f32(self):
        self.check(dlc.model("lenet"), dlc.data("mnist-train"), 10, optimizer="sgd", momentum=0.9, amp=False)

    def test_clip_with_a_huge_norm(self):
        """Each scaled gradient is finite, the norm of all is beyond f32; the true norm is not."""
        artifact = dlc.compile(dlc.model("lenet"), self.path("model.dlc"), batch=8, optimizer="adamw",
                               amp=True, loss_scale="dynamic", loss_scale_init=1.3e36, clip_grad=1)
        run = dlc.train(artifact, dlc.data("mnist-train"), self.path("run"), steps=3, scale=10)
        self.assertTrue(np.isfinite(run.metrics("grad_norm")).all())
        self.assertEqual(run.metrics("found_inf").tolist(), [0, 0, 0])
        self.assertGreater(np.abs(run.state(3)["f3.weight.m"]).max(), 0)

    def test_running_statistics_go_on(self):
        """A last layer with large weights makes the gradients of BatchNorm overflow."""
        model = onnx.load(dlc.model("resnet8"))
        weight = next(t for t in model.graph.initializer if t.name == "fc.weight")
        weight.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(weight) * np.float32(1e4), weight.name))
        onnx.save(model, self.path("steep.onnx"))
        data = dlc.Reference("resnet8").write(self.path("data.npz"))
        states = self.check(self.path("steep.onnx"), data, 1, optimizer="sgd", momentum=0.9)
        for before, after in zip(states, states[1:]):
            if int(before["step"]) == int(after["step"]):
                for key in "bn1.running_mean", "bn1.running_var":
                    self.assertFalse(np.array_equal(before[key], after[key]), key)
                    self.assertEqual(before["ema/" + key].tobytes(), after["ema/" + key].tobytes(), key)


if __name__ == "__main__":
    dlc.main()
