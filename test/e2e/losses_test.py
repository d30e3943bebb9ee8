# SPDX-License-Identifier: Apache-2.0
"""Every kind of loss, its gradient and its value in evaluation equal PyTorch's: see test/refs/make_losses.py."""

import os

import dlc
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SGD = dict(optimizer="sgd", momentum=0, lr=1, quiet=True)
FLAGS = dict(class_weights="0.5,2,1,0,1.5")
GROUPS = {
    "plain": (dict(rows="cross_entropy", image="cross_entropy", logs="nll", share="kl", far="l1", mean="mse"), {}),
    "chosen": (dict(rows="cross_entropy", image="cross_entropy", logs="nll", curve="huber", smooth="smooth_l1", bits="bce"),
               dict(ignore_index=1, label_smoothing=0.1, loss_delta=0.5, pos_weight="2,0.5,3", **FLAGS)),
    "soft": (dict(image="cross_entropy", line="cross_entropy"),
             dict(soft_labels=True, label_smoothing=0.2, class_axis=1, **FLAGS)),
    "overlap": (dict(dice="dice", mask="dice", rows="focal", bits="binary_focal"), {}),
    "overlap_chosen": (dict(dice="dice", rows="focal", bits="binary_focal"),
                       dict(ignore_index=1, dice_smooth=1, focal_gamma=1.5, focal_alpha=0.3, **FLAGS)),
    "overlap_soft": (dict(dice="dice"), dict(soft_labels=True)),
    "sure": (dict(image="cross_entropy", line="cross_entropy"), dict(ignore_index=1, class_axis=1)),
}


class Losses(dlc.TestCase):
    half = None  # the type that outputs are rounded to before the loss
    tolerance = dict(rtol=1e-3, atol=2e-6)
    value_tolerance = 5e-5
    amp = {}
    groups = list(GROUPS)

    def setUp(self):
        super().setUp()
        self.arrays = dict(np.load(os.path.join(dlc.REFS, "losses_ref.npz")))

    def save(self, name, nodes, inputs, outputs, weights):
        if self.half:
            weights = {**weights, "one": np.ones((1, 1), np.float32), "column": np.array([-1, 1])}
            nodes = [*nodes, *(step for n, _, _ in outputs for step in self.through_half(nodes, n))]
        infos = [[helper.make_tensor_value_info(n, kind, shape) for n, kind, shape in side] for side in (inputs, outputs)]
        tensors = [numpy_helper.from_array(np.asarray(v), k) for k, v in weights.items()]
        graph = helper.make_graph(nodes, "g", *infos, tensors)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), self.path(name))
        return self.path(name)

    @staticmethod
    def through_half(nodes, output):
        """A product with 1 behind an output, which autocast computes in half."""
        maker = next(n for n in nodes if output in n.output)
        maker.output[0] = output + ".exact"
        steps = [("Shape", [output + ".exact"], "shape"), ("Reshape", [output + ".exact", "column"], "flat"),
                 ("MatMul", [output + ".flat", "one"], "product")]
        return [*(helper.make_node(op, inputs, [f"{output}.{to}"]) for op, inputs, to in steps),
                helper.make_node("Reshape", [output + ".product", output + ".shape"], [output])]

    def outputs(self, group, names):
        """Outputs x + p, those of nll and kl behind a softmax."""
        nodes, inputs, outputs, weights, data = [], [], [], {}, {}
        kinds = GROUPS[group][0]
        for name in names:
            case = {what: self.arrays[f"{group}/{name}/{what}"] for what in ("x", "p", "y")}
            after = {"nll": "LogSoftmax", "kl": "LogSoftmax" if self.half else "Softmax"}.get(kinds[name])
            nodes.append(helper.make_node("Add", ["x_" + name, name + ".weight"], ["sum_" + name if after else name]))
            if after:
                nodes.append(helper.make_node(after, ["sum_" + name], [name], axis=1))
            shape = ["batch", *case["p"].shape]
            inputs.append(("x_" + name, TensorProto.FLOAT, shape))
            outputs.append((name, TensorProto.FLOAT, shape))
            weights[name + ".weight"] = case["p"]
            data |= {"x_" + name: case["x"], "y." + name: case["y"] if case["y"].dtype == np.int64
                     else case["y"].astype(np.float32)}
        np.savez(self.path("d.npz"), **data)
        return self.save("m.onnx", nodes, inputs, outputs, weights)

    def test_values_and_gradients(self):
        for group, (kinds, options) in [(g, GROUPS[g]) for g in self.groups]:
            loss = ",".join(f"{name}:{kind}" for name, kind in kinds.items())
            artifact = dlc.compile(self.outputs(group, kinds), self.path(group + ".dlc"), loss=loss, optimizer="sgd",
                                   momentum=0, lr=1, batch=4, quiet=True, **options, **self.amp)
            run = dlc.train(artifact, self.path("d.npz"), self.path(group), steps=1, quiet=True, save_every=1)
            state, total = run.state(1), 0
            for name in kinds:
                key = f"{group}/{name}/"
                with self.subTest(case=key):
                    expected = float(self.arrays[key + "loss"])
                    total += expected
                    self.assertAlmostEqual(run.metrics("loss." + name)[0] / expected, 1, delta=self.value_tolerance, msg=key)
                    found = self.arrays[key + "p"] - state[name + ".weight"]
                    np.testing.assert_allclose(found, self.arrays[key + "gradient"], **self.tolerance)
            evaluated = dlc.evaluate(artifact, self.path("d.npz"))["loss"]
            self.assertAlmostEqual(evaluated / total, 1, delta=self.value_tolerance, msg=group)

    def sums(self, name, shapes):
        """A model of outputs x + p, each of a shape beside the batch, whose data is x."""
        names = list(shapes)
        nodes = [helper.make_node("Add", ["x_" + n, n + ".weight"], [n]) for n in names]
        inputs, outs = ([(prefix + n, TensorProto.FLOAT, shapes[n][0]) for n in names] for prefix in ("x_", ""))
        return self.save(name, nodes, inputs, outs, {n + ".weight": shapes[n][1] for n in names})

    def compare(self, key, artifact, data, gradients):
        """One step and an evaluation give PyTorch's loss, the step its gradient."""
        run = dlc.train(artifact, data, self.path(key.replace("/", "-")), steps=1, quiet=True, save_every=1)
        expected = float(self.arrays[key + "/loss"])
        self.assertAlmostEqual(run.metrics("loss")[0] / expected, 1, delta=self.value_tolerance)
        self.assertAlmostEqual(dlc.evaluate(artifact, data)["loss"] / expected, 1, delta=self.value_tolerance)
        state = run.state(1)
        for name, (before, gradient) in gradients.items():
            np.testing.assert_allclose(before - state[name + ".weight"], gradient, err_msg=name, **self.tolerance)

    def test_logits_far_from_0(self):
        if self.half:
            self.skipTest("halves have no such logits")
        x = 1e4 + np.random.RandomState(0).randint(-24, 24, (4, 5)) / 8
        labels = np.arange(4)
        np.savez(self.path("d.npz"), x_a=x.astype(np.float32), y=labels)
        source = self.sums("far.onnx", {"a": (["batch", 5], np.zeros((4, 5), np.float32))})
        artifact = dlc.compile(source, self.path("far.dlc"), loss="cross_entropy", batch=4, **SGD)
        state = dlc.train(artifact, self.path("d.npz"), self.path("far"), steps=1, shuffle="off", quiet=True,
                          save_every=1).state(1)
        p = np.exp(x - x.max(1, keepdims=True))
        gradient = (p / p.sum(1, keepdims=True) - np.eye(5)[labels]) / 4
        np.testing.assert_allclose(-state["a.weight"], gradient, rtol=0, atol=1e-7)

    def test_losses_of_several_outputs(self):
        cases = {"plain/cosine_embedding": {}, "plain/triplet_margin": {}, "chosen/cosine_embedding": dict(loss_margin=0.3),
                 "chosen/triplet_margin": dict(loss_margin=0.3, triplet_norm=3, triplet_swap=True),
                 "near/triplet_margin": dict(triplet_norm=1, loss_margin=2)}
        for key, options in cases.items():
            with self.subTest(case=key):
                case = {what: self.arrays[f"{key}/{what}"] for what in ("x", "p", "gradient")}
                names = ["a", "b", "c"][:len(case["p"])]
                source = self.sums("s.onnx", {n: (["batch", 6], p) for n, p in zip(names, case["p"])})
                data = {"x_" + n: x for n, x in zip(names, case["x"])}
                if key + "/y" in self.arrays:
                    data["y"] = self.arrays[key + "/y"].astype(np.int64)
                np.savez(self.path("d.npz"), **data)
                artifact = dlc.compile(source, self.path("s.dlc"), loss=key.split("/")[1], batch=4, **SGD, **options, **self.amp)
                self.compare(key, artifact, self.path("d.npz"), {n: (p, g) for n, p, g in
                                                                zip(names, case["p"], case["gradient"])})

    def test_several_outputs_beside_another_loss(self):
        key = "plain/cosine_embedding"
        x, y = self.arrays[key + "/x"], self.arrays[key + "/y"]
        source = self.sums("s.onnx", {n: (["batch", 6], p) for n, p in zip("ab", self.arrays[key + "/p"])})
        artifact = dlc.compile(source, self.path("s.dlc"), loss="a+b:cosine_embedding,a:mse:0", batch=4, **SGD)
        np.savez(self.path("d.npz"), **{"x_a": x[0], "x_b": x[1], "y.a+b": y.astype(np.float32), "y.a": x[0]})
        run = dlc.train(artifact, self.path("d.npz"), self.path("r"), steps=1, quiet=True)
        self.assertAlmostEqual(run.metrics("loss.a+b")[0], float(self.arrays[key + "/loss"]), places=4)

    def ctc(self, name, turned=False):
        """A model whose output is [rows, steps, classes], or turned, and its data."""
        case = {what: self.arrays[f"{name}/ctc/{what}"] for what in ("x", "p", "y", "steps", "count")}
        nodes = [helper.make_node("Add", ["x", "out.weight"], ["sum"]),
                 helper.make_node("Transpose", ["sum"], ["out"], perm=[1, 0, 2]) if turned else
                 helper.make_node("Identity", ["sum"], ["out"])]
        shape = [7, "batch", 5] if turned else ["batch", 7, 5]
        source = self.save("c.onnx", nodes, [("x", TensorProto.FLOAT, ["batch", 7, 5])], [("out", TensorProto.FLOAT, shape)],
                           {"out.weight": case["p"]})
        return source, case, dict(x=case["x"].transpose(1, 0, 2), y=case["y"])

    def test_ctc(self):
        for name, turned, options in [("plain", False, {}), ("last", True, dict(ctc_blank=4, ctc_layout="steps_first")),
                                      ("none", False, dict(ctc_zero_infinity=True)), ("padded", False, dict(ctc_padded=True))]:
            with self.subTest(case=name):
                source, case, data = self.ctc(name, turned)
                if name != "padded":
                    data |= dict(input_lengths=case["steps"], target_lengths=case["count"])
                np.savez(self.path("d.npz"), **data)
                artifact = dlc.compile(source, self.path("c.dlc"), loss="ctc", ctc_labels=3, batch=4, **SGD, **options, **self.amp)
                self.compare(name + "/ctc", artifact, self.path("d.npz"),
                             {"out": (case["p"], self.arrays[name + "/ctc/gradient"])})

    def test_ctc_that_cannot_be(self):
        """More labels than steps are infinite, or 0 if asked for; classes and lengths that are none are never a number."""
        source, case, data = self.ctc("plain")
        for options, of_infinity in [({}, None), (dict(ctc_zero_infinity=True), 0)]:
            artifact = dlc.compile(source, self.path("c.dlc"), loss="out:ctc", ctc_labels=3, batch=4, **SGD, **options)
            for change, expected in [(dict(steps=[1] * 4, count=[3] * 4), of_infinity), (dict(y=np.full_like(case["y"], 5)), None),
                                     (dict(steps=[8] * 4), None), (dict(count=[4] * 4), None)]:
                changed = case | {k: np.asarray(v, np.int64) for k, v in change.items()}
                np.savez(self.path("d.npz"), **{"x": data["x"], "y.out": changed["y"], "input_lengths.out": changed["steps"],
                                                "target_lengths.out": changed["count"]})
                self.assertEqual(dlc.evaluate(artifact, self.path("d.npz"))["loss"], expected, msg=str(change))

    def test_the_shape_of_labels_must_agree(self):
        y = self.arrays["plain/image/y"]
        source = self.outputs("plain", ["image"])
        artifact = dlc.compile(source, self.path("a.dlc"), loss="cross_entropy", batch=4, quiet=True)
        x = self.arrays["plain/image/x"]
        for labels, message in [(y.transpose(0, 2, 1), "labels of a sample have shape [3, 2], expected [2, 3]"),
                                (y[:, 0], "has 3 labels a sample, expected 6 of shape [2, 3]")]:
            np.savez(self.path("bad.npz"), x=x, y=labels)
            _, log = dlc.dlc("train", artifact, data=self.path("bad.npz"), run=self.path("r"), steps=1, code=dlc.FAILED)
            self.assertIn(message, log)
        np.savez(self.path("flat.npz"), x=x, y=y.reshape(4, 6))
        dlc.train(artifact, self.path("flat.npz"), self.path("flat"), steps=1, quiet=True)

    def test_a_loss_of_the_graph(self):
        """Any number that the graph computes, alone and beside another kind."""
        p = np.array([1.0, -2.0, 0.5], np.float32)
        nodes = [helper.make_node("Sub", ["x", "p.weight"], ["out"]), helper.make_node("Abs", ["out"], ["a"]),
                 helper.make_node("ReduceSum", ["a"], ["total"], keepdims=0)]
        source = self.save("g.onnx", nodes, [("x", TensorProto.FLOAT, ["batch", 3])],
                           [("out", TensorProto.FLOAT, ["batch", 3]), ("total", TensorProto.FLOAT, [])], {"p.weight": p})
        x = np.arange(6, dtype=np.float32).reshape(2, 3)
        np.savez(self.path("d.npz"), **{"x": x, "y.out": x * 0})
        options = dict(optimizer="sgd", momentum=0, lr=1, batch=2, quiet=True)
        distance = x - p
        alone = -np.sign(distance).sum(0)
        mse = -2 * distance.sum(0) / distance.size
        for loss, gradient, value in [("total:graph", alone, np.abs(distance).sum()),
                                      ("out:mse,total:graph:0.5", mse + alone / 2,
                                       (distance**2).mean() + np.abs(distance).sum() / 2)]:
            artifact = dlc.compile(source, self.path("a.dlc"), loss=loss, **options)
            run = dlc.train(artifact, self.path("d.npz"), self.path(loss.replace(":", "-")), steps=1, quiet=True, save_every=1)
            self.assertAlmostEqual(run.metrics("loss")[0], value, places=4)
            np.testing.assert_allclose(p - run.state(1)["p.weight"], gradient, 1e-5, 1e-6)
            self.assertAlmostEqual(dlc.evaluate(artifact, self.path("d.npz"))["loss"], value, places=4)
        _, log = dlc.dlc("compile", source, "-o", self.path("b.dlc"), loss="out:graph", batch=2, code=dlc.BAD_MODEL)
        self.assertIn("a loss that the graph computes is one number, found f32 [2, 3]", log)

    def test_errors_of_several_outputs(self):
        zeros = np.zeros(5, np.float32)
        for shapes, options, message in [
                ({"a": (["batch", 6], zeros[:1]), "b": (["batch", 5], zeros)}, dict(loss="cosine_embedding"),
                 "cosine_embedding expects outputs of one shape [rows, features], found f32 [4, 6] and f32 [4, 5]"),
                ({"a": (["batch", 7, 5], zeros)}, dict(loss="ctc", ctc_labels=3, ctc_blank=5),
                 "ctc(blank=5) is none of the 5 classes of the output")]:
            source = self.sums("e.onnx", shapes)
            _, log = dlc.dlc("compile", source, "-o", self.path("e.dlc"), batch=4, code=dlc.BAD_MODEL, **options)
            self.assertIn(message, log.replace("'", ""))

    def test_errors(self):
        source = self.outputs("plain", ["image"])
        for options, code, message in [
                (dict(class_weights="1,2"), dlc.BAD_MODEL, "--class-weights has 2 numbers, expected one for each of the 5"),
                (dict(class_axis=4), dlc.BAD_MODEL, "--class-axis=4 is not an axis of the output"),
                (dict(loss="triplet_margin"), dlc.BAD_MODEL, "triplet_margin is a loss of 3 outputs, found 1"),
                (dict(loss="image:cosine_embedding"), dlc.BAD_MODEL,
                 "cosine_embedding is a loss of 2 outputs, OUTPUT+OUTPUT..., found 'image'"),
                (dict(loss="image+image:cosine_embedding"), dlc.BAD_MODEL, "expects outputs of shape [rows, features]"),
                (dict(loss="ctc"), dlc.USAGE, "--loss=ctc expects its argument labels"),
                (dict(loss="ctc", ctc_labels=3), dlc.BAD_MODEL, "ctc expects an output of shape [rows, steps, classes]"),
                (dict(loss="mse", ctc_labels=3), dlc.USAGE, "--ctc-labels applies only to --loss=ctc"),
                (dict(loss="mse", loss_margin=3), dlc.USAGE,
                 "--loss-margin applies only to --loss=cosine_embedding and triplet_margin"),
                (dict(loss="mse", focal_gamma=3), dlc.USAGE, "--focal-gamma applies only to --loss=focal and binary_focal"),
                (dict(loss="bce", pos_weight="1,2"), dlc.BAD_MODEL, "pos_weight has 2 numbers, expected one or one for"),
                (dict(loss="mse", ignore_index=1), dlc.USAGE, "--ignore-index applies only to --loss=cross_entropy and nll and dice and focal"),
                (dict(soft_labels=True, ignore_index=1), dlc.USAGE, "which --soft-labels do not have"),
                (dict(class_weights="1,-2"), dlc.USAGE, "at least 0")]:
            with self.subTest(**options):
                _, log = dlc.dlc("compile", source, "-o", self.path("a.dlc"), batch=4, code=code, **options)
                self.assertIn(message, log)


if __name__ == "__main__":
    dlc.main()
