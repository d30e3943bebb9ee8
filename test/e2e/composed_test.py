# SPDX-License-Identifier: Apache-2.0
"""A step on the CPU through operators that the importer makes of others: results and gradients are PyTorch's (test/import/gradients.json).

All cases are one program. Its parameters are the cases' inputs, its labels such that the loss has the gradient of the cases' weights."""

import json
import os
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import dlc

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "import"))
from gradient_cases import CASES, rename_inputs, NUMBERS, losses

RATE = 0.125  # a power of two, so that the weights' difference tells the gradient


def renamed(case, prefix):
    """The case's nodes with names of their own, its parameters and its known tensors."""
    parameters = {k: f"{prefix}.{k}.weight" for k in case.inputs}
    names = parameters | {k: f"{prefix}_{k}" for k in [*case.known, *(o for n in case.nodes for o in n.output)]}
    nodes = []
    for node in case.nodes:
        copy = onnx.NodeProto()
        copy.CopyFrom(node)
        rename_inputs(copy, names)
        copy.output[:] = [names.get(o, o) for o in node.output]
        for attribute in copy.attribute:
            if (copy.op_type, attribute.name, attribute.i) == ("Cast", "to", TensorProto.DOUBLE):
                attribute.i = TensorProto.FLOAT
        nodes.append(copy)
    single = lambda v: v.astype(np.float32) if v.dtype == np.float64 else v
    tensors = {names[k]: single(v) for k, v in [*case.inputs.items(), *case.known.items()]}
    return nodes, tensors, parameters, names["y"]


class Composed(dlc.TestCase):
    def model(self, cases):
        nodes, tensors, flat = [], {"row": np.array([1, -1])}, []
        for i, case in enumerate(cases.values()):
            more, own, _, y = renamed(case, f"c{i}")
            flat.append(y + "_flat")
            nodes += [*more, helper.make_node("Reshape", [y, "row"], [flat[-1]])]
            tensors |= own
        nodes += [helper.make_node("Concat", flat, ["all"], axis=1), helper.make_node("Mul", ["all", "s"], ["out"])]
        values = [helper.make_tensor_value_info(n, TensorProto.FLOAT, ["N", k]) for n, k in (("s", 1), ("out", None))]
        graph = helper.make_graph(nodes, "g", values[:1], values[1:],
                                  [numpy_helper.from_array(np.asarray(v), k) for k, v in tensors.items()])
        with open(self.path("m.onnx"), "wb") as file:
            file.write(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 27)], ir_version=13).SerializeToString())

    def test_step(self):
        with open(NUMBERS, encoding="utf-8") as file:
            numbers = json.load(file)
        cases = {k: c for k, c in CASES.items() if k in os.environ.get("DLC_CASES", k)}
        self.model(cases)
        dlc.dlc("compile", self.path("m.onnx"), "--batch=1", "--loss=mse", "--optimizer=sgd", f"--lr={RATE}", "--momentum=0",
                "-o", self.path("m.dlc"))
        expected = [np.array(numbers[name]["y"]) for name in cases]
        weights = np.concatenate([losses(e) for e in expected])
        expected = np.concatenate(expected)
        labels = expected - weights * len(weights) / 2
        np.savez(self.path("d.npz"), s=np.ones((1, 1), np.float32), y=labels[None].astype(np.float32))
        dlc.dlc("predict", self.path("m.dlc"), "-o", self.path("out.npz"), data=self.path("d.npz"))
        found = dict(np.load(self.path("out.npz")))["y"][0]
        at = 0
        for name in cases:
            size = len(numbers[name]["y"])
            with self.subTest(value=name):
                np.testing.assert_allclose(found[at:at + size], expected[at:at + size], rtol=1e-5, atol=1e-5)
            at += size
        dlc.dlc("train", self.path("m.dlc"), data=self.path("d.npz"), run=self.path("run"), steps=1)
        dlc.dlc("export", self.path("run"), "-o", self.path("after.onnx"))
        after = {t.name: numpy_helper.to_array(t) for t in onnx.load(self.path("after.onnx")).graph.initializer}
        for i, (name, case) in enumerate(cases.items()):
            for (key, before), gradient in zip(case.inputs.items(), numbers[name]["gradients"]):
                with self.subTest(gradient=name, of=key):
                    moved = (before - after[f"c{i}.{key}.weight"]) / RATE
                    np.testing.assert_allclose(moved.reshape(-1), gradient, rtol=2e-3, atol=2e-3)


if __name__ == "__main__":
    dlc.main()
