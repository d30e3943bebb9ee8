"""Every kind of loss, its gradient and its value in evaluation equal PyTorch's: see test/refs/make_losses.py."""

import os

import dlc
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FLAGS = dict(class_weights="0.5,2,1,0,1.5")
GROUPS = {
    "plain": (dict(rows="cross_entropy", image="cross_entropy", logs="nll", share="kl", far="l1", mean="mse"), {}),
    "chosen": (dict(rows="cross_entropy", image="cross_entropy", logs="nll", curve="huber", smooth="smooth_l1", bits="bce"),
               dict(ignore_index=1, label_smoothing=0.1, loss_delta=0.5, pos_weight="2,0.5,3", **FLAGS)),
    "soft": (dict(image="cross_entropy", line="cross_entropy"),
             dict(soft_labels=True, label_smoothing=0.2, class_axis=1, **FLAGS)),
    "sure": (dict(image="cross_entropy", line="cross_entropy"), dict(ignore_index=1, class_axis=1)),
}


class Losses(dlc.TestCase):
    def setUp(self):
        super().setUp()
        self.arrays = dict(np.load(os.path.join(dlc.REFS, "losses_ref.npz")))

    def save(self, name, nodes, inputs, outputs, weights):
        infos = [[helper.make_tensor_value_info(n, kind, shape) for n, kind, shape in side] for side in (inputs, outputs)]
        tensors = [numpy_helper.from_array(np.asarray(v), k) for k, v in weights.items()]
        graph = helper.make_graph(nodes, "g", *infos, tensors)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), self.path(name))
        return self.path(name)

    def outputs(self, group, names):
        """Outputs x + p, those of nll and kl behind a softmax."""
        nodes, inputs, outputs, weights, data = [], [], [], {}, {}
        kinds = GROUPS[group][0]
        for name in names:
            case = {what: self.arrays[f"{group}/{name}/{what}"] for what in ("x", "p", "y")}
            after = {"nll": "LogSoftmax", "kl": "Softmax"}.get(kinds[name])
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
        for group, (kinds, options) in GROUPS.items():
            loss = ",".join(f"{name}:{kind}" for name, kind in kinds.items())
            artifact = dlc.compile(self.outputs(group, kinds), self.path(group + ".dlc"), loss=loss, optimizer="sgd",
                                   momentum=0, lr=1, batch=4, quiet=True, **options)
            run = dlc.train(artifact, self.path("d.npz"), self.path(group), steps=1, quiet=True, save_every=1)
            state, total = run.state(1), 0
            for name in kinds:
                key = f"{group}/{name}/"
                with self.subTest(case=key):
                    expected = float(self.arrays[key + "loss"])
                    total += expected
                    self.assertAlmostEqual(run.metrics("loss." + name)[0] / expected, 1, places=4)
                    found = self.arrays[key + "p"] - state[name + ".weight"]
                    np.testing.assert_allclose(found, self.arrays[key + "gradient"], 1e-3, 2e-6)
            evaluated = dlc.evaluate(artifact, self.path("d.npz"))["loss"]
            self.assertAlmostEqual(evaluated / total, 1, places=4, msg=group)

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
        self.assertIn("a loss that the graph computes is one number, found tensor<2x3xf32>", log.replace("'", ""))

    def test_errors(self):
        source = self.outputs("plain", ["image"])
        for options, code, message in [
                (dict(class_weights="1,2"), dlc.BAD_MODEL, "--class-weights has 2 numbers, expected one for each of the 5"),
                (dict(class_axis=4), dlc.BAD_MODEL, "--class-axis=4 is not an axis of the output"),
                (dict(loss="bce", pos_weight="1,2"), dlc.BAD_MODEL, "--pos-weight has 2 numbers, expected one or one for"),
                (dict(loss="mse", ignore_index=1), dlc.USAGE, "--ignore-index is read by --loss=cross_entropy and nll alone"),
                (dict(soft_labels=True, ignore_index=1), dlc.USAGE, "--soft-labels have none"),
                (dict(class_weights="1,-2"), dlc.USAGE, "at least 0")]:
            with self.subTest(**options):
                _, log = dlc.dlc("compile", source, "-o", self.path("a.dlc"), batch=4, code=code, **options)
                self.assertIn(message, log)


if __name__ == "__main__":
    dlc.main()
