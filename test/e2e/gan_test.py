# SPDX-License-Identifier: Apache-2.0
"""Two networks in one artifact, each trained by its own loss, as PyTorch trains them: see test/refs/make_gan.py."""

import os

import dlc
import numpy as np

LOSSES = "real:bce:label=1,fake:bce:label=0,fake:bce:label=1:as=fool"
PARAMS = "^d:real", "^d:fake", "^g:fool"
ADAM = dict(optimizer="adam", lr=4e-4, betas="0.5,0.999")
G = ["^g:adam,lr=1e-4"]


class Gan(dlc.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.arrays = np.load(os.path.join(dlc.REFS, "gan_ref.npz"))

    def data(self, **more):
        arrays = {k: np.concatenate(self.arrays[v]).astype(np.float32) for k, v in (("x", "pictures"), ("z", "noise"))}
        np.savez(self.path("data.npz"), **arrays, **more)
        return self.path("data.npz")

    def compile(self, file="gan-script", params=PARAMS, groups=G, code=0, **options):
        words = [f"--loss-params={row}" for row in params] + [f"--optimizer-group={group}" for group in groups]
        options = dict(batch=8, loss=LOSSES, schedule="constant") | (options or ADAM)
        _, self.notes = dlc.dlc("compile", os.path.join(dlc.REFS, file + ".onnx"), "-o", self.path("m.dlc"), *words, code=code,
                                **options)
        return self.path("m.dlc")

    def train(self, artifact, **options):
        self.runs = getattr(self, "runs", 0) + 1
        return dlc.train(artifact, self.data(), self.path(f"run{self.runs}"), **dict(steps=20, shuffle="off", threads=1) | options)

    def check(self, rule, artifact, bound=1e-5, **options):
        run = self.train(artifact, **options)
        state = run.state(20)
        for key in self.arrays.files:
            kind, _, name = key.partition("/")
            if kind == rule and name.startswith("final/"):
                self.assertNear(state[name[6:]], self.arrays[key], 10 * bound, name)
            elif kind == rule:
                np.testing.assert_allclose(run.metrics("loss." + name), self.arrays[key], rtol=bound, atol=bound, err_msg=name)
        return run

    def test_exporters(self):
        for exporter in "script", "dynamo":
            run = self.check("adam", self.compile(f"gan-{exporter}"))
            parts = [run.metrics("loss." + name) for name in ("real", "fake", "fool")]
            np.testing.assert_allclose(run.metrics("loss"), sum(parts), rtol=1e-6)
            self.assertNotIn("no loss trains", self.notes)

    def test_an_optimizer_each_and_a_weight(self):
        artifact = self.compile(loss=LOSSES.replace("bce:label=1:as", "bce:0.5:label=1:as"),
                                groups=["^g:rmsprop,lr=2e-4,alpha=0.9"], optimizer="sgd", lr=0.01, momentum=0.9)
        self.check("mixed", artifact)

    def test_losses_that_the_graph_computes(self):
        self.check("hinge", self.compile("gan_losses", ["^d:of_d", "^g:of_g"], loss="of_d:graph,of_g:graph", **ADAM))

    def test_a_scale(self):
        """The same numbers, whatever the gradients are scaled by on their way."""
        self.check("adam", self.compile(loss_scale="dynamic", **ADAM))

    def test_labels_of_the_data(self):
        """What label= says is what a data file would."""
        artifact = self.compile(loss="real:bce,fake:bce:label=0,fake:bce:as=fool", **ADAM)
        ones = np.ones((32, 1), np.float32)
        run = dlc.train(artifact, self.data(**{"y.real": ones, "y.fool": ones}), self.path("run"), steps=20, shuffle="off", threads=1)
        np.testing.assert_allclose(run.metrics("loss.fool"), self.arrays["adam/fool"], rtol=1e-5)

    def test_two_ranks(self):
        """Gradients, losses and statistics are those of both halves together."""
        self.check("adam", self.compile(batch=4, ddp=2, sync_bn=True, **ADAM))

    def test_micro_batches(self):
        """One update by two is the mean of the updates by either, of each network."""
        x, z = (self.arrays[k].astype(np.float32) for k in ("pictures", "noise"))
        states = []
        for rows, count in (slice(0, 1), 1), (slice(1, 2), 1), (slice(0, 2), 2):
            artifact = self.compile(groups=[], accumulate=count, optimizer="sgd", lr=0.1, momentum=0)
            np.savez(self.path("rows.npz"), x=np.concatenate(x[rows]), z=np.concatenate(z[rows]))
            run = dlc.train(artifact, self.path("rows.npz"), self.path(f"run{len(states)}"), steps=1, shuffle="off", threads=1)
            states.append(run.state(1))
        first, second, both = states
        for name, before in run.initial(artifact).items():
            if name.endswith((".weight", ".bias")):
                mean = (first[name] + second[name]) / 2
                self.assertNear(both[name] - before, mean - before, 1e-4, name)
                self.assertGreater(np.abs(both[name] - before).max(), 0, name)

    def test_resume_is_exact(self):
        artifact = self.compile()
        straight = self.train(artifact).state(20)
        dlc.train(artifact, self.data(), self.path("halves"), steps=9, shuffle="off", threads=1)
        dlc.dlc("train", resume=self.path("halves"), steps=20)
        self.assertBitwise(dlc.Run(self.path("halves")).state(20), straight, "state")

    def test_parameters_of_no_loss(self):
        """They are named, and keep their values."""
        artifact = self.compile(params=["^d:real", "^d:fake", "^g.7:fool"], **ADAM)
        self.assertIn("no loss trains 'g.1.weight', 'g.2.weight', 'g.2.bias' and 3 more (--loss-params)", self.notes)
        out, _ = dlc.dlc("inspect", artifact, "--tensors")
        self.assertRegex(out, r"g\.4\.weight +frozen +no loss gives it a gradient")
        run = self.train(artifact, steps=2)
        before, after = run.initial(artifact), run.state(2)
        self.assertEqual(before["g.4.weight"].tobytes(), after["g.4.weight"].tobytes())
        self.assertNotEqual(before["g.7.weight"].tobytes(), after["g.7.weight"].tobytes())
        self.assertNotIn("g.4.weight.m", after)

    def test_evaluation(self):
        """All losses by the statistics so far; hits are those of the first."""
        artifact, data = self.compile(), self.data()
        result = dlc.evaluate(artifact, data)
        dlc.dlc("predict", artifact, data=data, output=self.path("out.npz"))
        out = np.load(self.path("out.npz"))
        real, fake = out["real"].astype(float), out["fake"].astype(float)
        losses = np.log1p(np.exp(-real)) + np.log1p(np.exp(fake)) + np.log1p(np.exp(-fake))
        self.assertAlmostEqual(result["loss"], losses.mean(), places=5)
        self.assertAlmostEqual(result["accuracy"], (real > 0).mean(), places=6)

    def test_a_gradient_that_is_stopped(self):
        artifact = self.compile("stopped", [], [], loss="loss:graph", optimizer="sgd", lr=0.1, momentum=0.9)
        np.savez(self.path("noise.npz"), x=np.concatenate(self.arrays["noise"]).astype(np.float32))
        run = dlc.train(artifact, self.path("noise.npz"), self.path("run"), steps=20, shuffle="off", threads=1)
        np.testing.assert_allclose(run.metrics("loss"), self.arrays["stopped/loss"], rtol=1e-5)
        dlc.dlc("export", self.path("run"), output=self.path("out.onnx"))
        with open(self.path("out.onnx"), "rb") as file:
            self.assertIn(b"StopGradient", file.read())

    def test_errors(self):
        for options, message in [
            (dict(params=["^e:real"]), r"--loss-params=\^e:real matches no trained parameter; there are 'd\.0\.weight'"),
            (dict(params=["^d:rael"]), r"--loss-params: expected REGEX:LOSS with one of the losses real, fake, fool, found '\^d:rael'"),
            (dict(params=["(:real"]), r"--loss-params: '\(' is not a regular expression"),
            (dict(loss="bce", params=["^d:real"]), r"--loss-params needs losses with names"),
            (dict(loss="real:bce,real:mse", params=[]), r"two losses are called 'real'.*'real:mse:as=NAME'"),
            (dict(loss="real:bce:label=one", params=[]), r"'label=one' for output 'real:bce' is not one of"),
            (dict(loss="real:bce:label=inf", params=[]), r"expected OUTPUT:KIND\[:WEIGHT\]\[:label=NUMBER\]\[:as=NAME\]"),
        ]:
            self.compile(code=dlc.USAGE, **dict(ADAM, **options))
            self.assertRegex(self.notes, message)
        for options, message in [
            (dict(file="several", loss="kind:cross_entropy:label=1", params=[], groups=[]), "label=NUMBER needs a loss whose labels are numbers"),
            (dict(params=["^g:real"]), "no gradient reaches any parameter: the loss depends on none of them"),
        ]:
            self.compile(code=dlc.BAD_MODEL, **dict(ADAM, **options))
            self.assertRegex(self.notes, message)


if __name__ == "__main__":
    dlc.main()
