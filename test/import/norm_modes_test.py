# SPDX-License-Identifier: Apache-2.0
"""Batch norms in inference mode in a file whose other batch norms train keep their running statistics."""

import os
import sys

import numpy as np

sys.path.insert(0, os.path.dirname(__file__))
import dlc
import onnx
from support import SIGNATURE, call, model, node, value

random = np.random.RandomState(0)
LR, STEPS, BATCH = 0.1, 3, 4
PARTS = "weight", "bias", "running_mean", "running_var"


class NormModes(dlc.TestCase):
    def file(self, modes, opset=17, notes=False):
        """y = b(a(x w)): each norm trains where its mode is 1."""
        weights = {"w": random.randn(8, 8) * 0.5}
        for n in "ab":
            weights |= dict(zip((f"{n}.{p}" for p in PARTS), (random.rand(8) + 0.5, random.randn(8), random.randn(8), random.rand(8) + 0.5)))
        weights = {k: v.astype(np.float32) for k, v in weights.items()}
        nodes = [node("MatMul", ["x", "w"], ["h"])]
        for n, mode, x, y in ("a", modes[0], "h", "g"), ("b", modes[1], "g", "y"):
            attributes = {"training_mode": mode} if opset >= 14 and not notes else {}
            results = [y, *[f"{n}.{k}" for k in range(4 if opset < 14 else 2)]] if mode and not notes else [y]
            norm = node("BatchNormalization", [x, *[f"{n}.{p}" for p in PARTS]], results, name=f"/{n}/norm", momentum=0.9, **attributes)
            kind = "functional" if mode else "no_training"
            nodes.append(call(norm, f"_native_batch_norm_legit_{kind}", f"%{x}, %p_{n}_weight, %p_{n}_bias, %b_{n}_running_mean, %b_{n}_running_var", n)
                         if notes else norm)
        proto = model(nodes, [value("x", [BATCH, 8])], [value("y", [BATCH, 8])], weights, opset=opset)
        proto.producer_name = "pytorch"
        if notes:
            lines = [f"{'b' if 'running' in k else 'p'}_{k.replace('.', '_')}: {'BUFFER' if 'running' in k else 'PARAMETER'} target='{k}'" for k in weights]
            proto.graph.metadata_props.add(key=SIGNATURE, value="\n# inputs\n" + "\n".join(lines) + "\nx: USER_INPUT\n")
        onnx.save(proto, self.path("m.onnx"))
        return weights

    @staticmethod
    def step(s, x, t, trains):
        """One step of SGD on the mean square, in f64; updates s."""
        kept, h = [], x @ s["w"]
        for n, batch in zip("ab", trains):
            mean, var = (h.mean(0), h.var(0)) if batch else (s[n + ".running_mean"], s[n + ".running_var"])
            z = (h - mean) / np.sqrt(var + 1e-5)
            if batch:
                s[n + ".running_mean"] = 0.9 * s[n + ".running_mean"] + 0.1 * mean
                s[n + ".running_var"] = 0.9 * s[n + ".running_var"] + 0.1 * var * BATCH / (BATCH - 1)
            kept.append((n, batch, z, np.sqrt(var + 1e-5), s[n + ".weight"]))
            h = z * s[n + ".weight"] + s[n + ".bias"]
        d, moves = 2 * (h - t) / h.size, {}
        for n, batch, z, deviation, weight in reversed(kept):
            moves[n + ".weight"], moves[n + ".bias"] = (d * z).sum(0), d.sum(0)
            d = d * weight
            d = (d - d.mean(0) - z * (d * z).mean(0) if batch else d) / deviation
        moves["w"] = x.T @ d
        for name, move in moves.items():
            s[name] = s[name] - LR * move

    def check_training(self, modes, trains, *flags, **form):
        self.new_folder()
        weights = self.file(modes, **form)
        x, t = (random.randn(STEPS * BATCH, 8).astype(np.float32) for _ in range(2))
        np.savez(self.path("d.npz"), x=x, y=t)
        _, self.said = dlc.dlc("compile", self.path("m.onnx"), "--loss=mse", f"--lr={LR}", *flags, "-o", self.path("m.dlc"))
        run = dlc.train(self.path("m.dlc"), self.path("d.npz"), self.path("run"), steps=STEPS, shuffle="off", save_every=STEPS)
        s, found = {k: v.astype(np.float64) for k, v in weights.items()}, run.state(STEPS)
        for i in range(STEPS):
            self.step(s, *(v[i * BATCH:(i + 1) * BATCH].astype(np.float64) for v in (x, t)), trains)
        for name, expected in s.items():
            np.testing.assert_allclose(found[name], expected, rtol=1e-4, atol=1e-5, err_msg=name)
        for n, batch in zip("ab", trains):
            self.assertEqual(np.array_equal(found[n + ".running_mean"], weights[n + ".running_mean"]), not batch)

    def test_each_as_the_file_says(self):
        for form in dict(opset=17), dict(opset=11), dict(notes=True):
            for modes in (1, 0), (0, 1), (1, 1):
                with self.subTest(form=form, modes=modes):
                    self.check_training(modes, modes, **form)
                    self.assertEqual("keeps in inference mode" in self.said, 0 in modes, self.said)

    def test_a_file_of_the_inference_form_trains_all(self):
        for form in dict(opset=17), dict(opset=11), dict(notes=True):
            with self.subTest(form=form):
                self.check_training((0, 0), (1, 1), **form)

    def test_an_option_trains_all(self):
        self.check_training((1, 0), (1, 1), "--no-repair=keep-statistics")

    def test_an_option_freezes_some(self):
        for form in dict(opset=17), dict(opset=11), dict(notes=True):
            for modes in (0, 0), (1, 1):
                with self.subTest(form=form, modes=modes):
                    self.check_training(modes, (1, 0), "--freeze-bn=^b$", **form)
                    self.assertIn("batch norms whose running statistics do not change, by --freeze-bn: 1", self.said)
        self.check_training((0, 0), (0, 0), "--freeze-bn=^a", "--freeze-bn=^b")

    def test_momenta_that_do_not_average(self):
        """torch's exporters write momentum=None as 0 in training form, else as 1."""
        self.file((1, 0))
        proto = onnx.load(self.path("m.onnx"))
        for momentum, flag, warns in (0.9, "", ""), (0, "", "'/a/norm'"), (1, "", "'/a/norm'"), (0, "--freeze-bn=a", ""), (1, "--predict-only", ""):
            for norm in (n for n in proto.graph.node if n.op_type == "BatchNormalization"):
                next(a for a in norm.attribute if a.name == "momentum").f = momentum
            onnx.save(proto, self.path("n.onnx"))
            _, said = dlc.dlc("compile", self.path("n.onnx"), *filter(None, [flag]), "-o", self.path("n.dlc"))
            self.assertEqual("momentum=None, a cumulative average: " + warns in said, bool(warns), (momentum, flag, said))

    def test_a_pattern_that_freezes_none_is_refused(self):
        self.file((1, 1))
        usage = lambda path, flag: dlc.dlc("compile", path, flag, "-o", self.path("m.dlc"), code=dlc.USAGE)[1]
        self.assertRegex(usage(self.path("m.onnx"), "--freeze-bn=bn1"), r"--freeze-bn=bn1 matches no batch norm; did you mean 'b'\?")
        folded = os.path.join(dlc.REFS, "resnet8-eval.onnx")
        self.assertRegex(usage(folded, "--freeze-bn=."), r"matches no batch norm; the file has none \(--unfold-bn: ")


if __name__ == "__main__":
    dlc.main()
