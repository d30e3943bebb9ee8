# SPDX-License-Identifier: Apache-2.0
"""Every operator with every element type that ONNX allows it: dlc computes what ONNX's reference does, or refuses the
node at import by name and type. Nothing is left for a later phase to stumble over.

DLC_TYPES_ALONE=1 compiles each operator by itself (minutes)."""

import os
import re
import shutil
import sys

import numpy as np
import onnx
from onnx import TensorProto, defs, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

sys.path.insert(0, os.path.dirname(__file__))
import dlc
from support import IMPORT, node, run, value

TYPES = "FLOAT FLOAT16 BFLOAT16 DOUBLE INT64 INT32 UINT8 BOOL".split()
ROUNDING = {"FLOAT": 1e-4, "FLOAT16": 2e-2, "BFLOAT16": 8e-2, "DOUBLE": 1e-4}  # results are read as f32
OPSET = 24
ALONE = bool(os.environ.get("DLC_TYPES_ALONE"))


def ints(*numbers):
    return np.array(numbers, np.int64)


class State(tuple):
    """The shape of an input of the tested type that must be the model's own."""


def cases():
    """(operator, inputs, attributes): an input is a shape of the tested type, or an array known at compile time."""
    small, row, image = (2, 3), (3,), (1, 2, 4, 4)
    for op in """Neg Abs Sign Floor Ceil Round Exp Log Sqrt Reciprocal Tanh Sigmoid Relu Erf Sin Cos Softplus Not Identity
            IsNaN Gelu Clip HardSigmoid HardSwish Swish Mish LeakyRelu Elu Selu Softsign Shape Size Transpose Flatten
            Softmax LogSoftmax Dropout ReduceSum ReduceMean ReduceMax ReduceMin ReduceL1 ReduceL2
            ReduceSumSquare ArgMax Trilu Unsqueeze Squeeze""".split():
        extra = {"Unsqueeze": [ints(0)], "Trilu": [np.array(0)]}.get(op, [])
        yield op, [(1, 3) if op == "Squeeze" else small, *extra], {}
    for op in "Add Sub Mul Div And Or Pow Max Min Sum Mean Equal Less LessOrEqual Greater GreaterOrEqual PRelu".split():
        yield op, [small, row], {}
    yield "Pow", [small, np.array(2, np.int64)], {}
    yield "Pow", [small, np.array(3, np.float32)], {}
    yield "MatMul", [small, (3, 2)], {}
    yield "Gemm", [small, (3, 4), (4,)], {}
    yield "Gemm", [small, (3, 4), (4,)], {"alpha": 0.5, "beta": 2.0}
    yield "Where", [np.array([True, False, True]), small, row], {}
    for to in TYPES:
        yield "Cast", [small], {"to": TensorProto.DataType.Value(to)}
    yield "Clip", [small, (), ()], {}
    for mode in "constant", "edge", "reflect":
        yield "Pad", [small, ints(1, 1, 1, 1)], {"mode": mode}
    yield "Reshape", [small, ints(3, 2)], {}
    yield "Expand", [row, ints(2, 3)], {}
    yield "Tile", [small, ints(2, 1)], {}
    yield "Slice", [small, ints(0), ints(2), ints(1)], {}
    yield "Slice", [small, ints(2), ints(-9), ints(1), ints(-1)], {}
    yield "Concat", [small, small], {"axis": 1}
    yield "Split", [small], {"axis": 1, "num_outputs": 3}
    yield "Gather", [small, ints(1, 0)], {}
    yield "Conv", [image, (2, 2, 3, 3), (2,)], {}
    yield "MaxPool", [image], {"kernel_shape": [2, 2]}
    yield "AveragePool", [image], {"kernel_shape": [2, 2], "strides": [2, 2]}
    yield "GlobalAveragePool", [image], {}
    yield "GlobalMaxPool", [image], {}
    yield "BatchNormalization", [image, *[State([2])] * 4], {}
    yield "LayerNormalization", [small, row, row], {}
    yield "RMSNormalization", [small, row], {}
    yield "SoftmaxCrossEntropyLoss", [small, ints(1, 2)], {"reduction": "none"}
    yield "Attention", [(1, 2, 3, 4), (1, 2, 3, 4), (1, 2, 3, 4)], {}


def allowed(op, inputs, kind):
    """Whether ONNX takes `kind` for every input of the tested type."""
    formal = defs.get_schema(op, OPSET, "").inputs
    name = f"tensor({kind.lower()})"
    return all(name in formal[min(i, len(formal) - 1)].types for i, x in enumerate(inputs) if isinstance(x, tuple))


class Probe:
    """One node on values that only the step knows, its results read as f32."""

    def __init__(self, index, kind, op, inputs, attributes):
        self.name, self.kind, self.op, self.attributes = f"probe{index}", kind, op, attributes
        random = np.random.default_rng(index)
        self.inputs = []
        for i, x in enumerate(inputs):
            if isinstance(x, tuple):
                floats = kind in ROUNDING
                x = random.integers(1, 9, x) / 4 if floats else random.integers(
                    0 if op == "Not" else 1, 256 if kind == "UINT8" else 4, x)
                if isinstance(inputs[i], State):
                    dtype = helper.tensor_dtype_to_np_dtype(TensorProto.DataType.Value(kind))
                    self.inputs.append((f"{self.name}_in{i}", x.astype(dtype), False))
                    continue
                self.inputs.append((f"{self.name}_in{i}", np.asarray(x, np.float32), True))
            else:
                self.inputs.append((f"{self.name}_in{i}", x, False))
        self.outputs = [f"{self.name}_y{i}" for i in range(attributes.get("num_outputs", 1))]

    def tested(self, names):
        return node(self.op, names, self.outputs, name=self.name, **self.attributes)

    def add(self, nodes, weights, outputs):
        names, number = [], TensorProto.DataType.Value(self.kind)
        for name, content, varies in self.inputs:
            weights[name + ".weight" if varies else name] = content
            if varies:
                nodes += [node("Add", [name + ".weight", "nothing"], [name + "_f"]),
                          node("Cast", [name + "_f"], [name], to=number)]
            names.append(name)
        nodes.append(self.tested(names))
        for y in self.outputs:
            nodes += [node("Cast", [y], [y + "_f"], to=1), node("Reshape", [y + "_f", "flat"], [y + "_r"]),
                      node("ReduceSum", [y + "_f"], [y + "_s"], keepdims=0)]
            outputs.append(y + "_r")

    def expected(self):
        number = TensorProto.DataType.Value(self.kind)
        nodes, weights = [], {}
        for name, content, varies in self.inputs:
            weights[name + "_f" if varies else name] = content
            if varies:
                nodes.append(node("Cast", [name + "_f"], [name], to=number))
        nodes.append(self.tested([name for name, _, _ in self.inputs]))
        nodes += [node("Cast", [y], [y + "_f"], to=1) for y in self.outputs]
        graph = helper.make_graph(nodes, "g", [], [value(y + "_f", None) for y in self.outputs],
                                  [numpy_helper.from_array(v, k) for k, v in weights.items()])
        plain = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)
        with np.errstate(all="ignore"):
            return [np.ravel(y) for y in ReferenceEvaluator(plain).run(None, {})]


def build(probes, path):
    nodes = [node("ReduceSum", ["x"], ["sum"], keepdims=0), node("Mul", ["sum", "zero"], ["nothing"])]
    weights = {"zero": np.float32(0), "flat": ints(1, -1), "w.weight": np.ones([4, 3], np.float32)}
    outputs, total = [], "nothing"
    for probe in probes:
        probe.add(nodes, weights, outputs)
    for i, y in enumerate(outputs):  # all of it is trained
        nodes.append(node("Add", [total, y[:-2] + "_s"], [f"total{i}"]))
        total = f"total{i}"
    nodes += [node("MatMul", ["x", "w.weight"], ["own"]), node("Add", ["own", total], ["logits"])]
    graph = helper.make_graph(nodes, "g", [value("x", [1, 4])], [value("logits", [1, 3])] + [
        value(y, None) for y in outputs], [numpy_helper.from_array(np.asarray(v), k) for k, v in weights.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10), path)


class Types(dlc.TestCase):
    def imported(self, probes):
        """Those that the importer takes, and what it says of each other."""
        refused = {}
        while True:
            build(probes, self.path("m.onnx"))
            code, _, err = run(IMPORT, self.path("m.onnx"), "--quiet", timeout=60)
            if code == dlc.OK:
                return probes, refused
            found = re.search(r"probe\d+\b(?!_)", err)
            self.assertTrue(code == dlc.BAD_MODEL and found, err)
            refused[found[0]] = err.strip()
            probes = [p for p in probes if p.name != found[0]]

    def sweep(self, kind):
        wanted, others = [], []
        for i, case in enumerate(cases()):
            (wanted if allowed(case[0], case[1], kind) else others).append(Probe(i, kind, *case))
        for probe in others if ALONE else others[::8]:
            build([probe], self.path("m.onnx"))
            code, _, err = run(IMPORT, self.path("m.onnx"), "--quiet")
            self.assertEqual(code, dlc.BAD_MODEL, f"{probe.op} of {kind}: {err}")
            self.assertRegex(err, f"{probe.name}\\b.*{kind}")
        taken, refused = self.imported(wanted)
        by_name = {p.name: p for p in wanted}
        for name, error in refused.items():
            if os.environ.get("DLC_TEST_VERBOSE"):
                print(by_name[name].op, kind, error[:160])
            self.assertRegex(error.lower(), kind.lower() + r"|[fiu]\d+|bf16|bool|element type|not supported", name)
        return taken

    def check(self, kind):
        taken = self.sweep(kind)
        for probes in [[p] for p in taken] if ALONE else [taken]:
            build(probes, self.path("m.onnx"))
            with self.subTest(ops=" ".join(sorted({p.op for p in probes})), kind=kind):
                self.compare(probes)

    def compare(self, probes):
        artifact, data = self.path("m.dlc"), self.path("x.npz")
        shutil.rmtree(self.path("run"), ignore_errors=True)
        np.savez(data, x=np.ones([1, 4], np.float32), y=np.zeros(1, np.int64))
        dlc.dlc("compile", self.path("m.onnx"), "-o", artifact, batch=1, timeout=280)
        dlc.dlc("train", artifact, data=data, run=self.path("run"), steps=1, threads=1)
        dlc.dlc("predict", artifact, "-o", self.path("y.npz"), data=data)
        found = np.load(self.path("y.npz"))
        for p in probes:
            tolerance = ROUNDING.get(p.kind, 1e-4)
            for y, expected in zip(p.outputs, p.expected()):
                np.testing.assert_allclose(found[y + "_r"][0], expected, tolerance, tolerance,
                                           err_msg=f"{p.name} {p.op} of {p.kind}")


for name in TYPES:
    setattr(Types, "test_" + name.lower(), lambda self, name=name: self.check(name))

if __name__ == "__main__":
    dlc.main()
