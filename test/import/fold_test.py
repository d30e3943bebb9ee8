# SPDX-License-Identifier: Apache-2.0
"""Values that the importer folds equal those of onnx's reference evaluator."""

import os
import sys

import numpy as np
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

sys.path.insert(0, os.path.dirname(__file__))
import dlc
from support import ROUNDTRIP, model, node, run, value

DTYPES = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "i64": np.int64, "i32": np.int32,
          "u8": np.uint8, "bool": np.bool_}
RNG = np.random.default_rng(0)
F = RNG.standard_normal((2, 3, 4)).astype(np.float32)
G = RNG.standard_normal((3, 1)).astype(np.float32)
I = np.arange(-12, 12, dtype=np.int64).reshape(2, 3, 4)
J = np.array([[3], [-5], [7]], np.int64)
B = I % 3 == 0


def ints(*values):
    return np.array(values, np.int64)


class Fold(dlc.TestCase):
    def check(self, op, *inputs, opset=18, outputs=1, **attributes):
        """All inputs are constants, so all outputs fold; a long tail keeps them from becoming dlc.constants."""
        names, weights = [], {}
        for i, x in enumerate(inputs):
            names.append("" if x is None else f"c{i}")
            if x is not None:
                weights[f"c{i}"] = x
        results = [f"r{i}" for i in range(outputs)]
        nodes = [node(op, names, results, name="tested", **attributes)]
        plain = model(nodes, [], [value(r, None) for r in results], weights, opset=opset)
        expected = ReferenceEvaluator(plain).run(None, {})
        for i, r in enumerate(results):
            tail = (np.arange(20) % (2 + i)).astype(expected[i].dtype)
            weights[f"tail{i}"] = tail
            weights["flat"] = ints(-1)
            nodes += [node("Reshape", [r, "flat"], [f"f{i}"]), node("Concat", [f"f{i}", f"tail{i}"], [f"out{i}"], axis=0)]
            nodes += [node("Shape", [r], [f"s{i}"]), node("Cast", [f"tail{i}"], [f"t{i}"], to=TensorProto.INT64),
                      node("Concat", [f"s{i}", f"ramp{i}"], [f"shape{i}"], axis=0)]
            weights[f"ramp{i}"] = np.arange(20) + i  # equal constants would be kept once
        wanted = [value(f"out{i}", None, helper.np_dtype_to_tensor_dtype(expected[i].dtype)) for i in range(outputs)]
        wanted += [value(f"shape{i}", None, TensorProto.INT64) for i in range(outputs)]
        found = self.fold(model(nodes, [], wanted, weights, opset=opset))
        for i in range(outputs):
            shape = tuple(found[f"shape{i}"][:-20])
            self.assertEqual(shape, expected[i].shape, op)
            got = found[f"out{i}"][:-20].reshape(shape)
            self.assertEqual(got.dtype, expected[i].dtype, op)
            np.testing.assert_allclose(got, expected[i], rtol=1e-6, atol=1e-7, err_msg=op)

    def fold(self, proto):
        with open(self.path("m.onnx"), "wb") as file:
            file.write(proto.SerializeToString())
        code, out, err = run(ROUNDTRIP, "fold", self.path("m.onnx"), self.folder)
        self.assertEqual(code, dlc.OK, err)
        found = {}
        for line in out.splitlines():
            index, dtype, rest = line.split(" ", 2)
            found[rest.split("] const/")[1]] = np.fromfile(self.path(index), DTYPES[dtype])
        return found

    def test_binary(self):
        for op in "Add", "Sub", "Mul":
            self.check(op, F, G)
            self.check(op, I, J)
        self.check("Div", F, G)
        self.check("Div", I, np.array([[4], [3], [5]], np.int64))
        self.check("Pow", np.abs(F), G)
        self.check("Pow", F, np.array(2, np.int64))
        self.check("Mod", I, J)
        self.check("Mod", I, J, fmod=1)
        self.check("Mod", F, G, fmod=1)
        self.check("Add", F.astype(np.float16), G.astype(np.float16))
        self.check("Mul", I.astype(np.int32) * 2**28, J.astype(np.int32))
        for op in "And", "Or", "Xor":
            self.check(op, B, B[:, ::-1])

    def test_compare(self):
        for op in "Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual":
            self.check(op, F, np.float32(0.1))
            self.check(op, I, J)
        for op in "Min", "Max":
            self.check(op, F, G, np.float32(0.2))
            self.check(op, I, J)

    def test_unary(self):
        for op in "Sqrt", "Log", "Reciprocal":
            self.check(op, np.abs(F))
        for op in "Exp", "Sin", "Cos", "Floor", "Ceil", "Neg", "Abs", "IsNaN":
            self.check(op, F)
        self.check("Round", np.array([0.5, 1.5, 2.5, -0.5, 1.2], np.float32))
        self.check("Neg", I)
        self.check("Abs", I)
        self.check("Not", B)

    def test_cast(self):
        for to in TensorProto.INT64, TensorProto.INT32, TensorProto.BOOL, TensorProto.FLOAT16, TensorProto.DOUBLE:
            self.check("Cast", F * 10, to=to)
            self.check("Cast", I, to=to)
        self.check("Cast", B, to=TensorProto.FLOAT)
        self.check("CastLike", I, F, opset=19)

    def test_choice(self):
        self.check("Where", B, F, np.float32(7))
        self.check("Where", G > 0, I, np.int64(0))

    def test_bounds(self):
        """As padding by a layer's stride is computed ("same")."""
        for x, low, high in (F, np.float32(-0.5), np.float32(1)), (I, np.int64(-2), np.int64(3)):
            self.check("Clip", x, low)
            self.check("Clip", x, None, high)
            self.check("Clip", x, low, high)
            self.check("Clip", x, high, low)

    def test_reduce(self):
        for op in "ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd":
            self.check(op, F, ints(1))
            self.check(op, F, ints(-1, 0), keepdims=0)
            self.check(op, F)
        self.check("ReduceSum", I, ints(2))
        self.check("ReduceSum", F, noop_with_empty_axes=1)
        self.check("ReduceMax", F, axes=[0], opset=13)

    def test_cumulate(self):
        for x in I, F, I.astype(np.int32), F.astype(np.float64):
            for axis in 0, 2, -2:
                self.check("CumSum", x, np.array(axis, np.int64))
                self.check("CumSum", x, np.array(axis, np.int64), exclusive=1, reverse=1)

    def test_gather_nd(self):
        for x in F, I:
            self.check("GatherND", x, ints([[0, 1], [1, -1]], [[-2, 2], [0, 0]]))
            self.check("GatherND", x, ints([1], [0]))
            self.check("GatherND", x, ints([[2], [0]], [[-1], [1]]), batch_dims=1)
            self.check("GatherND", x, np.zeros((2, 3, 1, 1), np.int64), batch_dims=2)

    def test_gather(self):
        """Of numbers that are no table of a layer: those are states, also where they are frozen."""
        self.check("Gather", I, ints(1, -1, 0), axis=1)
        self.check("Gather", I, np.array(-1), axis=2)
        self.check("Gather", B, np.array([[0, 1], [1, 0]]))

    def test_slice(self):
        self.check("Slice", F, ints(1), ints(2**62), ints(1))
        self.check("Slice", F, ints(-1, 0), ints(-99, 2), ints(2, 1), ints(-2, 1))
        self.check("Slice", F, ints(0, 3), ints(1, 1))
        self.check("Slice", I, ints(3), ints(0), ints(-1), ints(-1))

    def test_movement(self):
        self.check("Transpose", F)
        self.check("Transpose", F, perm=[1, 2, 0])
        self.check("Expand", G, ints(2, 1, 4))
        self.check("Expand", F, ints(1))
        self.check("Tile", F, ints(2, 1, 3))
        self.check("Concat", F, F[:, :1], axis=-2)
        self.check("Concat", I, I, axis=0)
        self.check("Split", F, ints(1, 2), axis=1, outputs=2)
        self.check("Split", F, axis=2, num_outputs=3, outputs=3)
        self.check("Split", F, axis=-1, outputs=2, opset=13)
        self.check("Trilu", F, upper=0)
        self.check("Trilu", F, np.array(1), upper=1)
        self.check("Trilu", I, np.array(-1), upper=0)

    def test_shape_changes(self):
        self.check("Reshape", F, ints(0, -1))
        self.check("Reshape", F, ints(4, 6), allowzero=1)
        self.check("Unsqueeze", F, ints(0, -1))
        self.check("Squeeze", F[:, :1], ints(1))
        self.check("Squeeze", F[:1, :1])
        self.check("Flatten", F, axis=2)
        self.check("Flatten", F, axis=-3)
        self.check("Identity", F)

    def test_made_from_shapes(self):
        self.check("ConstantOfShape", ints(2, 3))
        self.check("ConstantOfShape", ints(4), value=helper.make_tensor("v", TensorProto.INT64, [1], [7]))
        self.check("Range", np.array(3), np.array(-9), np.array(-2))
        self.check("Range", np.float32(0), np.float32(1), np.float32(0.25))

    def test_sizes_of_values(self):
        for axis in -1, 0, 1:
            self.check("OneHot", np.array([[1, -1, 7], [0, 3, -5]]), np.array(5), np.array([0.5, -2], np.float32), axis=axis)
        self.check("OneHot", np.array(2), np.array(3), np.array([0, 1]))
        self.check("NonZero", (I % 3).astype(np.int64))
        self.check("NonZero", np.array([0.0, np.nan, -0.0, 2.0], np.float32))

    def test_bits(self):
        self.check("BitCast", F, opset=26, to=TensorProto.INT32)
        self.check("BitCast", np.array([1 << 30, -7], np.int32), opset=26, to=TensorProto.FLOAT)
        self.check("BitCast", F.astype(np.float64), opset=26, to=TensorProto.INT64)

    def test_mel_weights(self):
        numbers = [np.array(n) for n in (8, 64, 8000)] + [np.float32(0), np.float32(4000)]
        self.check("MelWeightMatrix", *numbers)


if __name__ == "__main__":
    dlc.main()
