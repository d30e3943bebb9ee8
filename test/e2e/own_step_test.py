# SPDX-License-Identifier: Apache-2.0
"""A model's own training form is the step that --training-info trains by: ONNX's formulas, by hand in numpy."""

import os

import dlc
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

DOMAIN = "ai.onnx.preview.training"
ROWS, WIDTH, CLASSES, STEPS, RATE = 4, 6, 3, 5, 0.1
random = np.random.RandomState(0)
X = random.randn(STEPS * ROWS, WIDTH).astype(np.float32)
T = random.randn(STEPS * ROWS, CLASSES).astype(np.float32)
W, B, C = (random.randn(*shape).astype(np.float32) for shape in ((WIDTH, CLASSES), (CLASSES,), (CLASSES,)))


def constant(value, name, kind=np.float32):
    return numpy_helper.from_array(np.array(value, kind), name)


def node(op, inputs, outputs, domain="", **attributes):
    return helper.make_node(op, inputs, outputs, op + outputs[0], domain=domain, **attributes)


def model(op, kept=1, change=None, **attributes):
    """y = (x W + B) C, whose loss, the mean of squares of y - t, is the algorithm's. C is in no optimizer. `change`: of the parts."""
    info = lambda name, shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    graph = helper.make_graph([node("MatMul", ["x", "W"], ["p"]), node("Add", ["p", "B"], ["q"]), node("Mul", ["q", "C"], ["y"])], "g",
                              [info("x", [ROWS, WIDTH])], [info("y", [ROWS, CLASSES])],
                              [numpy_helper.from_array(v, k) for k, v in (("W", W), ("B", B), ("C", C))])
    states = [f"{p}{k}" for k in range(kept) for p in "WB"]
    parts = dict(
        nodes=[node("Sub", ["y", "t"], ["d"]), node("Mul", ["d", "d"], ["s"]), node("ReduceMean", ["s"], ["loss"], keepdims=0),
               node("Gradient", ["W", "B", "x"], ["gW", "gB"], DOMAIN, xs=["W", "B"], zs=["x"], y="loss"),
               node(op, ["R", "N", "W", "B", "gW", "gB", *states], ["W'", "B'", *(s + "'" for s in states)], DOMAIN, **attributes),
               node("Add", ["N", "one"], ["N'"])],
        tensors=dict(R=constant(RATE, "R"), N=constant(0, "N", np.int64), one=constant(1, "one", np.int64),
                     **{s: numpy_helper.from_array(np.zeros_like({"W": W, "B": B}[s[0]]), s) for s in states}),
        updates={name: name + "'" for name in ["W", "B", "N", *states]}, start=(None, None))
    if change:
        change(parts)
    algorithm = helper.make_graph(parts["nodes"], "a", [info("t", [ROWS, CLASSES])], [info("loss", [])], list(parts["tensors"].values()))
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13), helper.make_opsetid(DOMAIN, 1)], ir_version=8)
    proto.training_info.append(helper.make_training_info(algorithm, list(parts["updates"].items()), *parts["start"]))
    return proto


def by_hand(update):
    """Losses and both tensors; `update` gives a new tensor from it, its gradient, the step and what it keeps."""
    tensors, kept, losses = {"W": W.astype(np.float64), "B": B.astype(np.float64)}, {"W": {}, "B": {}}, []
    for step in range(STEPS):
        x, t = (a[step * ROWS:(step + 1) * ROWS].astype(np.float64) for a in (X, T))
        d = (x @ tensors["W"] + tensors["B"]) * C - t
        losses.append((d**2).mean())
        d = 2 * d * C / d.size
        for name, g in (("W", x.T @ d), ("B", d.sum(0))):
            tensors[name] = update(tensors[name], g, step, kept[name])
    return losses, tensors


def adagrad(x, g, step, kept):
    g = g + 0.01 * x
    kept["h"] = kept.get("h", 0) + g * g
    return x - RATE * g / (np.sqrt(kept["h"]) + 1e-3)


def adam(x, g, step, kept):
    g = g + 0.01 * x
    kept["v"], kept["h"] = 0.8 * kept.get("v", 0) + 0.2 * g, 0.95 * kept.get("h", 0) + 0.05 * g * g
    rate = RATE * np.sqrt(1 - 0.95**step) / (1 - 0.8**step) if step else RATE
    return x - rate * kept["v"] / (np.sqrt(kept["h"]) + 1e-3)


def momentum(beta, nesterov=False, alpha=0.7):
    def update(x, g, step, kept):
        kept["v"] = alpha * kept.get("v", 0) + (beta if step else 1) * g
        return x - RATE * (g + alpha * kept["v"] if nesterov else kept["v"])
    return update


class OwnStep(dlc.TestCase):
    def compile(self, proto, *words, code=dlc.OK):
        onnx.save(proto, self.path("m.onnx"))
        self.count = getattr(self, "count", 0) + 1
        artifact = self.path(f"m{self.count}.dlc")
        _, self.log = dlc.dlc("compile", self.path("m.onnx"), "--training-info", *words, "-o", artifact, code=code)
        return artifact

    def test_steps(self):
        np.savez(self.path("d.npz"), x=X, t=T)
        zero = dict(norm_coefficient=0.0)
        for op, kept, attributes, update in (
                ("Adagrad", 1, dict(epsilon=1e-3, norm_coefficient=0.01), adagrad),
                ("Adam", 2, dict(epsilon=1e-3, norm_coefficient=0.01, alpha=0.8, beta=0.95), adam),
                ("Momentum", 1, dict(alpha=0.7, beta=0.4, mode="standard", **zero), momentum(0.4)),
                ("Momentum", 1, dict(alpha=0.7, beta=1.0, mode="nesterov", **zero), momentum(1, True)),
                ("Momentum", 1, dict(alpha=0.0, beta=1.0, mode="standard", **zero), momentum(1, alpha=0))):
            with self.subTest(op=op, **attributes):
                artifact = self.compile(model(op, kept, **attributes))
                self.assertRegex(self.log, "the step of the model's training_info: .*loss loss:graph.*lr 0.1")
                self.assertNotIn("warning", self.log)
                run = dlc.train(artifact, self.path("d.npz"), artifact + ".run", steps=STEPS, shuffle="off", save_every=STEPS)
                losses, tensors = by_hand(update)
                np.testing.assert_allclose(run.metrics("loss"), losses, rtol=1e-5)
                state = run.state(STEPS)
                for name, value in tensors.items():
                    np.testing.assert_allclose(state[name], value, rtol=1e-4, atol=1e-5)
                np.testing.assert_array_equal(run.initial(artifact).get("C", C), state.get("C", C))
        with open(os.path.join(artifact, "config.yaml")) as file:
            self.assertIn("lr: 0.1", file.read())

    def test_what_is_refused(self):
        settings = dict(alpha=0.7, beta=1.0, mode="standard", norm_coefficient=0.0)

        def refused(message, change=None, op="Momentum", kept=1, **attributes):
            attributes = (settings | attributes) if op == "Momentum" else attributes
            self.compile(model(op, kept, change, **attributes), code=dlc.BAD_MODEL)
            self.assertRegex(self.log, "m.onnx: --training-info: .*" + message)

        def put(part, key, value):
            return lambda parts: parts[part].__setitem__(key, value)
        step = "node 'MomentumW'' \\(ai.onnx.preview.training.Momentum\\)"
        refused(f"{step}: beta 0.5 is not supported, expected 1 without momentum", beta=0.5, mode="nesterov")
        refused("decay_factor 0.1.* is not supported, expected 0 \\(--schedule\\)", op="Adagrad", decay_factor=0.1)
        refused("norm_coefficient_post 0.1.* is not supported", op="Adam", kept=2, norm_coefficient_post=0.1)
        refused(f"{step}: 'W0' does not start as zeros", put("tensors", "W0", numpy_helper.from_array(W, "W0")))
        refused(f"{step}: the count of steps 'N' does not start at 0", put("tensors", "N", constant(1, "N", np.int64)))
        refused(f"{step}: the count of steps 'N' is not updated by adding 1", put("tensors", "one", constant(2, "one", np.int64)))
        refused(f"{step}: the lr 'R' is not a constant", put("updates", "R", "N'"))
        refused(f"{step}: 'W' is not updated by 'W''", put("updates", "W", "B'"))
        refused("the update of 'C' by 'y' is not an optimizer's", put("updates", "C", "y"))

        def clip(parts):
            parts["nodes"][3].output[0] = "raw"
            parts["nodes"].insert(4, node("Clip", ["raw"], ["gW"]))
        refused(f"{step}: 'gW' is not the result of a Gradient; use --clip-grad", clip)

        def swapped(parts):
            parts["nodes"][3].output[:] = ["gB", "gW"]
        refused(f"{step}: 'gW' is not the gradient of 'W'", swapped)

        def elsewhere(parts):
            parts["nodes"][3].input[2] = "y"
        refused("replaces the values of xs and zs", elsewhere)

        def without(parts):
            del parts["nodes"][4], parts["tensors"]["W0"], parts["tensors"]["B0"]
        refused("the training algorithm has no Adagrad, Adam or Momentum of ai.onnx.preview.training", without)
        proto = model("Momentum", **settings)
        proto.training_info[0].update_binding.append(proto.training_info[0].update_binding[0])
        self.compile(proto, code=dlc.BAD_MODEL)
        self.assertRegex(self.log, "m.onnx: --training-info: .*'[A-Z]' is updated twice")
        proto = model("Momentum", **settings)
        proto.training_info.append(proto.training_info[0])
        self.compile(proto, code=dlc.BAD_MODEL)
        self.assertIn("the model has 2 entries of training_info, expected one", self.log)
        del proto.training_info[:]
        self.compile(proto, code=dlc.BAD_MODEL)
        self.assertIn("the model has 0 entries of training_info, expected one", self.log)

    def test_an_initialization_is_said(self):
        first = helper.make_graph([node("ConstantOfShape", ["shape"], ["zeros"])], "i", [], [helper.make_tensor_value_info("zeros", 1, None)],
                                  [constant([WIDTH, CLASSES], "shape", np.int64)])
        change = lambda parts: parts.__setitem__("start", (first, [("W", "zeros")]))
        self.compile(model("Momentum", change=change, alpha=0.7, beta=1.0, mode="standard", norm_coefficient=0.0))
        self.assertIn("the initialization of the model's training_info is not run: weights start as they are, or by --init", self.log)


if __name__ == "__main__":
    dlc.main()
