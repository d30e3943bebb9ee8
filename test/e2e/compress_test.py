# SPDX-License-Identifier: Apache-2.0
"""--compress: gradients are rounded to half on their way between ranks."""

import json

import dlc
import numpy as np

OPTIONS = dict(dlc.CONSTANT_SGD, lr=0.02, momentum=0.9)


class Compress(dlc.TestCase):
    def train(self, name, **options):
        artifact = dlc.compile(dlc.model("lenet"), self.path(name + ".dlc"), ddp=2, **(dict(batch=16) | OPTIONS | options))
        return artifact, dlc.train(artifact, dlc.data("mnist-train"), self.path(name), shuffle="off", steps=8, threads=1)

    def test_half_on_the_wire(self):
        """Losses follow those of f32 within half's rounding, and half the bytes travel."""
        plain, exact = self.train("f32")
        for wire, tolerance in ("bf16", 1e-2), ("fp16", 1e-3):
            artifact, run = self.train(wire, compress=wire)
            losses = run.metrics("loss")
            np.testing.assert_allclose(losses, exact.metrics("loss"), rtol=tolerance)
            self.assertGreater(np.abs(losses - exact.metrics("loss")).max(), 0, "nothing was rounded")
            self.assertLess(self.sent(artifact), 0.51 * self.sent(plain))

    def test_norm_of_what_was_sent(self):
        """What reads all gradients before the update reads them when all have come."""
        for i, options in enumerate((dict(clip_grad=0.5), dict(clip_param_grad=0.1, accumulate=2, batch=8), dict(clip_value=0.01, ema=0.9))):
            _, exact = self.train(f"exact{i}", **options)
            _, run = self.train(f"bf16-{i}", compress="bf16", **options)
            np.testing.assert_allclose(run.metrics("loss"), exact.metrics("loss"), rtol=2e-2)

    def test_memory(self):
        """Gradients between ranks are halves, and no other form of them is in memory."""
        options = dict(clip_value=0.01, clip_grad=0.5)
        plain, rounded = (dlc.compile(dlc.model("lenet"), self.path(f"{wire}.dlc"), ddp=2, batch=1, compress=wire, **OPTIONS, **options) for wire in ("none", "bf16"))
        regions = [self.regions(artifact) for artifact in (plain, rounded)]
        self.assertLess(regions[1]["gradient"], 0.51 * regions[0]["gradient"])
        parameters = regions[0]["param"]
        for each in regions:
            self.assertLess(each["scratch"], parameters, "a copy of gradients is in scratch memory")

    def regions(self, artifact):
        out, _ = dlc.dlc("inspect", artifact, json=True)
        return json.loads(out)["memory"]["regions"]

    def sent(self, artifact):
        out, _ = dlc.dlc("inspect", artifact, json=True)
        return json.loads(out)["programs"]["train_step"]["collectives"]["bytes"]


if __name__ == "__main__":
    dlc.main()
