# SPDX-License-Identifier: Apache-2.0
"""Several losses and several optimizers equal PyTorch's: see test/refs/make_several.py."""

import os

import dlc
import numpy as np

LOSSES = "kind:cross_entropy,size:mse"
GROUPS = ["^kind:adamw,lr=0.02,weight-decay=0.1", "^size:rmsprop,lr=0.005,alpha=0.9"]


class Several(dlc.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.arrays = np.load(os.path.join(dlc.REFS, "several_ref.npz"))
        cls.model = os.path.join(dlc.REFS, "several.onnx")

    def data(self):
        a = self.arrays
        np.savez(self.path("data.npz"), x=np.concatenate(a["images"]),
                 **{"y.kind": np.concatenate(a["classes"]), "y.size": np.concatenate(a["targets"])})
        return self.path("data.npz")

    def compile(self, groups=(), **options):
        options = dict(batch=16, optimizer="sgd", lr=0.05, momentum=0.9, schedule="constant") | options
        words = [f"--optimizer-group={group}" for group in groups]
        dlc.dlc("compile", self.model, "-o", self.path("m.dlc"), *words, **options)
        return self.path("m.dlc")

    def check(self, rule, artifact):
        run = dlc.train(artifact, self.data(), self.path("run"), steps=20, shuffle="off", threads=1)
        for key, name in ("total", "loss"), ("class", "loss.kind"), ("value", "loss.size"):
            np.testing.assert_allclose(run.metrics(name), self.arrays[f"{rule}/{key}"], rtol=1e-5)
        state, final = run.state(20), f"{rule}/final/"
        for key in self.arrays.files:
            if key.startswith(final):
                self.assertNear(state[key[len(final):]], self.arrays[key], 1e-5, key)
        return run

    def test_weighted_losses(self):
        self.check("weighted", self.compile(loss=LOSSES + ":0.25"))

    def test_two_ranks_and_micro_batches(self):
        """Each loss is the mean over ranks and micro-batches."""
        self.check("weighted", self.compile(loss=LOSSES + ":0.25", batch=4, ddp=2, accumulate=2))

    def test_one_scaler_for_all(self):
        self.check("weighted", self.compile(loss=LOSSES + ":0.25", loss_scale=1024))

    def test_optimizers(self):
        self.check("groups", self.compile(GROUPS, loss=LOSSES))

    def test_optimizers_on_two_ranks(self):
        self.check("groups", self.compile(GROUPS, loss=LOSSES, batch=8, ddp=2))

    def test_schedule_scales_every_rate(self):
        """A rate that is 0 from the second update on stops all groups."""
        artifact = self.compile(GROUPS, loss=LOSSES, schedule="step", decay_steps=1, decay_rate=0)
        run = dlc.train(artifact, self.data(), self.path("run"), steps=3, save_every=1)
        for key in "trunk.weight", "kind.weight", "size.weight":
            self.assertNotEqual(run.initial(artifact)[key].tobytes(), run.state(1)[key].tobytes(), key)
            self.assertEqual(run.state(1)[key].tobytes(), run.state(3)[key].tobytes(), key)

    def test_evaluation(self):
        artifact = self.compile(loss=LOSSES + ":0.25")
        result = dlc.evaluate(artifact, self.data())
        a = self.arrays
        x = np.concatenate(a["images"])
        w = {k: v for k, v in dlc.load_file(os.path.join(artifact, "state.safetensors")).items()}
        hidden = np.tanh(x @ w["trunk.weight"].T + w["trunk.bias"])
        kind = hidden @ w["kind.weight"].T + w["kind.bias"]
        size = hidden @ w["size.weight"].T + w["size.bias"]
        y, z = np.concatenate(a["classes"]), np.concatenate(a["targets"])
        lse = np.log(np.exp(kind).sum(1))
        loss = (lse - kind[np.arange(len(y)), y]).mean() + 0.25 * ((size - z) ** 2).mean()
        self.assertAlmostEqual(result["loss"], loss, places=5)
        self.assertAlmostEqual(result["accuracy"], (kind.argmax(1) == y).mean(), places=5)

    def test_errors(self):
        for options, message in [
            (dict(loss="kind:cross_entropy,kind:mse"), r"two losses are called 'kind'.*'kind:mse:as=NAME'"),
            (dict(loss="kind:entropy"), r"'entropy' for output 'kind' is not one of cross_entropy, nll, mse, l1, smooth_l1, huber, kl, bce, dice, focal, binary_focal, cosine_embedding, triplet_margin, ctc, graph"),
            (dict(loss="kinds:mse"), r"no output 'kinds' to compute a loss of, there are kind, size"),
            (dict(groups=["^kind:adamm"]), r"--optimizer-group: expected REGEX:NAME with one of sgd, .*'\^kind:adamm'"),
            (dict(groups=["^kind:sgd,beta1=1"]), r"expected arguments of sgd as KEY=VALUE, not 'beta1=1'"),
            (dict(groups=["^kind:sgd,lr=fast"]), r"expected arguments of sgd as KEY=VALUE, not 'lr=fast'"),
            (dict(groups=["none:sgd"]), r"--optimizer-group=none:sgd matches no trained parameter"),
            (dict(groups=["(:sgd"]), r"'\(' is not a regular expression"),
        ]:
            words = [f"--optimizer-group={group}" for group in options.pop("groups", [])]
            code = dlc.BAD_MODEL if options.get("loss") == "kinds:mse" else dlc.USAGE
            _, err = dlc.dlc("compile", self.model, "-o", self.path("e.dlc"), *words, batch=16, code=code,
                             **dict(loss=LOSSES) | options)
            self.assertRegex(err, message)


if __name__ == "__main__":
    dlc.main()
