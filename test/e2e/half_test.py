# SPDX-License-Identifier: Apache-2.0
"""Operators between products under --amp: in half, or pinned to f32, each is as near to its f32 form as its type allows.

All cases are one program: each input is a parameter that half holds exactly, through a product with 1; so is the result. What is
worse than the tolerance is named in WORSE, and nothing that is not worse."""

import os
import sys
import unittest

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import dlc

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "import"))
from composed_test import renamed
import losses_test
from gradient_cases import CASES, rename_inputs, Case, floats, ints

# Of the largest number of a result: four roundings by half a unit in the last place.
TOLERANCE = {"bf16": 4 * 2.0**-9, "fp16": 4 * 2.0**-12}
TYPES = {"bf16": ml_dtypes.bfloat16, "fp16": np.float16}
# Cases that round or choose by their inputs, which a last place changes.
SKIPPED = {"int", "quantize", "cast_", "round", "float8", "until"}
# States that many steps multiply in half.
WORSE = {"linear_attention_37_gated_delta": ("bf16",), "linear_attention_37_head_gated": ("bf16",),
         "linear_attention_gated_delta": ("fp16",), "linear_attention_37_delta": ("fp16",)}


def one(op, *shapes, low=-2.0, high=2.0, known=None, **attributes):
    inputs = {name: floats(*shape, low=low, high=high) for name, shape in zip("xuv", shapes)}
    return Case([helper.make_node(op, [*inputs, *(known or {})], ["y"], **attributes)], inputs, None, known or {})


def core():
    """Operators that are one op of dlc."""
    found = {op: one(op, (3, 5)) for op in "Exp Tanh Sigmoid Erf Softplus Sin Cos Atan Gelu Abs Neg Relu Elu Selu Celu HardSwish "
             "HardSigmoid LeakyRelu Softsign Mish Softmax LogSoftmax GlobalMaxPool".split() if not op.startswith("Global")}
    found |= {op: one(op, (3, 5), low=0.2) for op in "Log Sqrt Reciprocal".split()}
    found |= {op: one(op, (3, 5), (5,)) for op in "Add Sub Mul Max Min".split()}
    found |= {"Div": one("Div", (3, 5), (5,), low=0.3), "Pow": one("Pow", (3, 5), (5,), low=0.3)}
    for op in "Sum Mean Max Min Prod L1 L2 LogSum LogSumExp SumSquare".split():
        found["Reduce" + op] = one("Reduce" + op, (3, 40), low=0.1, known={"a": ints(1)})
    image = (2, 4, 6, 6)
    found |= {op: one(op, image, **k) for op, k in {"AveragePool": {"kernel_shape": [3, 3]}, "MaxPool": {"kernel_shape": [2, 2]}, "LRN": {
        "size": 3}, "GlobalAveragePool": {}, "LpPool": {"kernel_shape": [2, 2]}, "MeanVarianceNormalization": {}, "LpNormalization": {}}.items()}
    found |= {"LayerNormalization": one("LayerNormalization", (3, 64), (64,), (64,)), "RMSNormalization": one("RMSNormalization", (3, 64), (64,)),
              "InstanceNormalization": one("InstanceNormalization", image, (4,), (4,)),
              "GroupNormalization": one("GroupNormalization", image, (4,), (4,), num_groups=2),
              "Conv": one("Conv", image, (3, 4, 3, 3)), "ConvTranspose": one("ConvTranspose", image, (4, 3, 3, 3)),
              "MatMul": one("MatMul", (3, 40), (40, 5)), "CumSum of many": one("CumSum", (2, 2000), low=0.0, known={"a": np.array(1)})}
    return found


def cases():
    found = {name: case for name, case in CASES.items() if not any(part in name for part in SKIPPED) and not case.kink}
    return found | core()


class Half(dlc.TestCase):
    def model(self, cases, dtype):
        nodes, tensors, flat = [], {"row": np.array([1, -1]), "one": np.ones((1, 1), np.float32)}, []
        for i, case in enumerate(cases.values()):
            more, own, parameters, y = renamed(case, f"c{i}")
            inner = {}
            for key, name in parameters.items():
                inner[name] = name + ".half"
                exact = own.pop(name).astype(TYPES[dtype]).astype(np.float32)
                tensors |= {name: exact.reshape(-1, 1), name + ".shape": np.array(exact.shape, np.int64)}
                nodes += [helper.make_node("MatMul", [name, "one"], [name + ".product"]),
                          helper.make_node("Reshape", [name + ".product", name + ".shape"], [inner[name]])]
            for node in more:
                rename_inputs(node, inner)
            flat.append(f"y{i}")
            tensors |= own | {"column": np.array([-1, 1])}
            nodes += [*more, helper.make_node("Reshape", [y, "column"], [f"f{i}"]), helper.make_node("MatMul", [f"f{i}", "one"], [f"p{i}"]),
                      helper.make_node("Reshape", [f"p{i}", "row"], [f"y{i}"])]
        infos = [helper.make_tensor_value_info("s", TensorProto.FLOAT, [1, 1])]
        nodes.append(helper.make_node("Mul", ["y0", "s"], ["all0"]))
        outputs = [onnx.ValueInfoProto(name=n) for n in ["all0", *flat[1:]]]
        graph = helper.make_graph(nodes, "g", infos, outputs, [numpy_helper.from_array(np.asarray(v), k) for k, v in tensors.items()])
        path = self.path(dtype + ".onnx")
        with open(path, "wb") as file:
            opsets = [helper.make_opsetid(*p) for p in (("", 27), ("com.microsoft", 1), ("ai.onnx.preview", 1))]
            file.write(helper.make_model(graph, opset_imports=opsets, ir_version=13).SerializeToString())
        return path

    def results(self, path, *flags):
        dlc.dlc("compile", path, "--predict-only", *flags, "-o", self.path("m.dlc"))
        np.savez(self.path("d.npz"), s=np.ones((1, 1), np.float32))
        dlc.dlc("predict", self.path("m.dlc"), "-o", self.path("out.npz"), data=self.path("d.npz"))
        found = np.load(self.path("out.npz"))
        return [found[n].reshape(-1) for n in sorted(found, key=lambda n: int(n.lstrip("aly")))]

    def errors(self, cases, dtype, *flags):
        """{case: error by the tolerance}."""
        path = self.model(cases, dtype)
        expected = self.results(path)
        found = self.results(path, "--amp", f"--amp-dtype={dtype}", *flags)
        return {name: np.abs(a - b).max() / max(np.abs(b).max(), 1e-3) / TOLERANCE[dtype] for name, a, b in zip(cases, found, expected)}

    def test_values(self):
        for dtype in TOLERANCE:
            worse = {name: error for name, error in self.errors(cases(), dtype).items() if not error <= 1}
            self.assertEqual(set(worse), {n for n, types in WORSE.items() if dtype in types}, f"{dtype}: {worse}")

    def test_what_is_pinned_would_be_worse(self):
        few = {name: case for name, case in core().items() if name in ("CumSum of many", "LayerNormalization")}
        pinned, half = self.errors(few, "bf16"), self.errors(few, "bf16", "--amp-infer=CumSum")
        self.assertGreater(half["CumSum of many"], 1.5 * pinned["CumSum of many"])
        self.assertEqual(half["LayerNormalization"], pinned["LayerNormalization"])


class Bf16Losses(dlc.TestCase):
    """Losses of outputs that half has rounded are computed in f32, as PyTorch's autocast computes them."""

    half, unit, groups = "bf16", 2.0**-9, ["plain", "chosen", "overlap"]

    def test_losses(self):
        case = losses_test.Losses()
        case.half, case.amp = self.half, dict(amp=True, amp_dtype=self.half, loss_scale=1)
        case.tolerance, case.value_tolerance = dict(rtol=8 * self.unit, atol=4 * self.unit), 4 * self.unit
        case.groups = self.groups
        case.setUp()
        self.addCleanup(case.doCleanups)
        case.test_values_and_gradients()
        case.test_losses_of_several_outputs()
        case.test_ctc()


class Fp16Losses(Bf16Losses):
    half, unit = "fp16", 2.0**-12


if __name__ == "__main__":
    dlc.main()
