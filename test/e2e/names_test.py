# SPDX-License-Identifier: Apache-2.0
"""Any name that a model may have is kept: training gives the numbers of the same model with plain names, and export
writes them back under the model's own."""

import os

import dlc
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

ROWS, WIDTH, CLASSES = 4, 6, 3
# Names that dlc makes up itself, or that could be taken for one: states, programs, regions, kernels, file keys.
NAMES = """plateau cache/0 prefill decode step rng.draw rng.rank schedule.steps schedule.epoch_steps scaler.scale scaler.growth ema.moves
ema.updates accumulate.position accumulate.loss predict train_step eval_step accumulate_step ema_step param buffer const
ema ema.2 accumulator scalar scratch gradient marker moment.m __metadata__ k0 k0_matmul k1_add ema/w ema.2/w grad/w w w.m
w.v w.m.absmax w.m.m model/step/ model/w model/ step.m step/ step/.m w.weight w.lora_A.weight w.lora_B.weight const/t y x
loss lr a\\b a"b a'b a/../b . é \t
""".split(" ")
NAMES = [name for words in NAMES for name in ([words] if words in ("\t\n",) else words.split())] + ["\t", " ", "nul\0l", "n\nl"]


def tower(names):
    """y = x + sum of tanh(x w) over all names, then a layer of classes: each of them matters and is trained."""
    random = np.random.default_rng(0)
    weights, nodes, total = {}, [], "input"
    for i, name in enumerate(names):
        weights[name] = random.normal(0, 0.1, [WIDTH, WIDTH]).astype(np.float32)
        nodes += [helper.make_node("MatMul", ["input", name], [f"p{i}"], name=f"product{i}"),
                  helper.make_node("Tanh", [f"p{i}"], [f"q{i}"]),
                  helper.make_node("Add", [total, f"q{i}"], [f"s{i}"])]
        total = f"s{i}"
    mask = numpy_helper.from_array(np.arange(ROWS * WIDTH, dtype=np.float32).reshape(ROWS, WIDTH) / 100, "t")
    nodes += [helper.make_node("Constant", [], ["t"], value=mask), helper.make_node("Mul", [total, "t"], ["scaled"]),
              helper.make_node("MatMul", ["scaled", "head.weight"], ["logits"], name="head")]
    weights["head.weight"] = random.normal(0, 0.1, [WIDTH, CLASSES]).astype(np.float32)
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("input", TensorProto.FLOAT, [ROWS, WIDTH])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [ROWS, CLASSES])],
        [numpy_helper.from_array(value, name) for name, value in weights.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


class Names(dlc.TestCase):
    def trained(self, names, label, **options):
        """The exported model's weights, in the order of `names`, and its path."""
        source, artifact, run, out = (self.path(label + end) for end in (".onnx", ".dlc", "-run", "-out.onnx"))
        onnx.save(tower(names), source)
        dlc.dlc("compile", source, "-o", artifact, batch=ROWS, optimizer="adamw",
                amsgrad=True, lr=0.01, **options)
        dlc.dlc("train", artifact, data=self.path("data.npz"), run=run, steps=4, threads=1)
        dlc.dlc("export", run, "-o", out, ema="ema" in options)
        dlc.dlc("eval", run, data=self.path("data.npz"))
        tensors = {t.name: numpy_helper.to_array(t) for t in onnx.load(out).graph.initializer}
        self.assertEqual(sorted(tensors), sorted([*names, "head.weight"]))
        return [tensors[name] for name in names], out, tensors

    def setUp(self):
        super().setUp()
        random = np.random.default_rng(1)
        self.x = random.normal(size=[8 * ROWS, WIDTH]).astype(np.float32)
        np.savez(self.path("data.npz"), x=self.x, y=random.integers(0, CLASSES, len(self.x)))

    def compare(self, **options):
        plain = [f"plain{i}.weight" for i in range(len(NAMES))]
        expected, _, _ = self.trained(plain, "plain", **options)
        found, path, _ = self.trained(NAMES, "odd", train=".", **options)
        start = {t.name: numpy_helper.to_array(t) for t in tower(NAMES).graph.initializer}
        for name, a, b in zip(NAMES, found, expected):
            np.testing.assert_array_equal(a, b, repr(name))
            if not options.get("lora"):
                self.assertFalse(np.array_equal(a, start[name]), f"{name!r} was not trained")
        ReferenceEvaluator(path).run(None, {"input": self.x[:ROWS]})

    def test_training(self):
        self.compare(ema=True, accumulate=2, clip_grad=1.0)

    def test_scaler_and_several_averages(self):
        self.compare(ema="0.9,0.99", amp=True, amp_dtype="fp16")

    def test_adapters(self):
        names = ["w", "w.weight", "w.lora_A.weight", "step", "predict"]
        _, _, tensors = self.trained(names, "lora", lora=2, lora_targets="^w$|^w.weight$")
        start = {t.name: numpy_helper.to_array(t) for t in tower(names).graph.initializer}
        for name in names:  # merged into the two that were adapted, and only those
            self.assertEqual(np.array_equal(tensors[name], start[name]), name not in ("w", "w.weight"), name)

    def test_weights_of_a_checkpoint(self):
        _, _, tensors = self.trained(NAMES, "odd", train=".")
        state = next(os.path.join(folder, "state.safetensors") for folder, _, files in os.walk(self.path("odd-run"))
                     if "state.safetensors" in files and "checkpoint" in folder)
        source = self.path("odd.onnx")
        _, err = dlc.dlc("compile", source, "-o", self.path("again.dlc"), weights=state, weights_partial=True,
                         batch=ROWS, train=".")
        self.assertRegex(err, rf"{len(NAMES) + 1} matched")


class Inlined(dlc.TestCase):
    def test_values_of_functions(self):
        """A value of a function's body does not become one of the main graph that happens to have its new name."""
        function = helper.make_function(
            "own", "F", ["a"], ["b"], [helper.make_node("Neg", ["a"], ["t"]), helper.make_node("Neg", ["t"], ["b"])],
            [helper.make_opsetid("", 17)])
        nodes = [helper.make_node("F", ["x"], ["f"], domain="own", name="call"),
                 helper.make_node("Exp", ["x"], ["call#1/t"]),
                 helper.make_node("Add", ["f", "call#1/t"], ["h"]), helper.make_node("MatMul", ["h", "w"], ["z"])]
        weight = np.eye(3, dtype=np.float32)
        graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])],
                                  [helper.make_tensor_value_info("z", TensorProto.FLOAT, [2, 3])],
                                  [numpy_helper.from_array(weight, "w")])
        onnx.save(helper.make_model(graph, functions=[function], ir_version=9, opset_imports=[
            helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]), self.path("m.onnx"))
        dlc.dlc("compile", self.path("m.onnx"), "-o", self.path("m.dlc"), batch=2)
        x = np.arange(6, dtype=np.float32).reshape(2, 3) / 10
        np.savez(self.path("x.npz"), x=x)
        dlc.dlc("predict", self.path("m.dlc"), "-o", self.path("z.npz"), data=self.path("x.npz"))
        np.testing.assert_allclose(np.load(self.path("z.npz"))["y"], x + np.exp(x), rtol=1e-6)


if __name__ == "__main__":
    dlc.main()
