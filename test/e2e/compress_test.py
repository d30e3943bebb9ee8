"""--compress: gradients are rounded to half on their way between ranks."""

import json

import dlc
import numpy as np

OPTIONS = dict(dlc.CONSTANT_SGD, lr=0.02, momentum=0.9)


class Compress(dlc.TestCase):
    def train(self, name, **options):
        artifact = dlc.compile(dlc.model("lenet"), self.path(name + ".dlc"), batch=16, ddp=2, **(OPTIONS | options))
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

    def sent(self, artifact):
        out, _ = dlc.dlc("inspect", artifact, json=True)
        return json.loads(out)["programs"]["train_step"]["collectives"]["bytes"]


if __name__ == "__main__":
    dlc.main()
