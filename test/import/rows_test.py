# SPDX-License-Identifier: Apache-2.0
"""Forms of operators that ONNX's node cases lack (conformance_test.py has those): the imported program, run by
compiler/reference, against onnx's reference evaluator and PyTorch's logits of the reference models."""

import os
import sys
import unittest

import ml_dtypes
import numpy as np
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

sys.path.insert(0, os.path.dirname(__file__))
import dlc
from support import IMPORT, ROUNDTRIP, model, node, run, value

DTYPES = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64, "i64": np.int64,
          "i32": np.int32, "u8": np.uint8, "bool": np.bool_}


class Rows(dlc.TestCase):
    def imported(self, proto, inputs, batch=0):
        """The results of the imported program, by name; None if it is refused."""
        path = proto
        if not isinstance(proto, str):
            path = self.path("m.onnx")
            with open(path, "wb") as file:
                file.write(proto.SerializeToString())
        for i, array in enumerate(inputs.values()):
            if array.dtype != object:  # strings are refused
                np.ascontiguousarray(array).tofile(self.path(f"in{i}"))
        code, out, err = run(ROUNDTRIP, "run", path, self.folder, batch, *inputs)
        self.error = err
        if code != dlc.OK:
            self.assertEqual(code, dlc.BAD_MODEL, err)
            return None
        results = {}
        for line in out.splitlines():
            index, dtype, rest = line.split(" ", 2)
            shape, name = rest[1:].split("] ", 1)
            dims = [int(d) for d in shape.split(",") if d.strip()]
            results[name] = np.fromfile(self.path(index), DTYPES[dtype]).reshape(dims)
        return results

    def near(self, found, expected, what, rtol=1e-4, atol=1e-5):
        self.assertEqual(found.dtype, expected.dtype, what)
        if expected.dtype.kind not in "fiub":  # bfloat16
            found, expected = found.astype(np.float32), expected.astype(np.float32)
        np.testing.assert_allclose(found, expected, rtol=rtol, atol=atol, err_msg=what)

    def setUp(self):
        super().setUp()
        self.random = np.random.default_rng(0)

    def floats(self, *shape):
        return self.random.standard_normal(shape).astype(np.float32)

    def compare(self, nodes, inputs, weights=None, opset=17, outputs=("y",)):
        infos = [value(k, v.shape, helper.np_dtype_to_tensor_dtype(v.dtype)) for k, v in inputs.items()]
        proto = model(nodes, infos, [value(o, None) for o in outputs], weights, opset=opset)
        expected = ReferenceEvaluator(proto).run(None, inputs)
        found = self.imported(proto, inputs)
        self.assertIsNotNone(found, self.error)
        for name, array in zip(outputs, expected):
            self.near(found[name], array, name)


class Scatters(dlc.TestCase):
    def test_warns_of_indices_that_may_repeat(self):
        for op, shape in ("ScatterElements", [2, 3]), ("ScatterND", [2, 1]):
            for known in False, True:
                for reduction in "none", "add":
                    scatter = node(op, ["x", "i", "u"], ["y"], name="put", reduction=reduction)
                    inputs = [value("x", [4, 3]), value("u", [2, 3])] + ([] if known else [value("i", shape, TensorProto.INT64)])
                    proto = model([scatter], inputs, [value("y", [4, 3])], {"i": np.arange(2)[:, None] + np.zeros(shape, int)} if known else {})
                    with open(self.path("m.onnx"), "wb") as file:
                        file.write(proto.SerializeToString())
                    code, _, err = run(IMPORT, self.path("m.onnx"))
                    self.assertEqual(code, dlc.OK, err)
                    self.assertEqual("warning: for equal indices" in err, not known and reduction == "none", (op, known, reduction))
                    self.assertTrue(known or reduction == "add" or "put" in err)


class LinearAttention(Rows):
    def test_compiles_the_same_for_any_number_of_steps(self):
        sizes = set()
        for steps in 4, 400:
            proto = model([node("LinearAttention", ["q", "k", "v"], ["y", "s"], update_rule="linear", q_num_heads=2, kv_num_heads=1)],
                          [value("q", [1, steps, 8]), value("k", [1, steps, 4]), value("v", [1, steps, 6])], [value("y", [1, steps, 12])],
                          opset=27)
            proto.ir_version = 13
            with open(self.path("m.onnx"), "wb") as file:
                file.write(proto.SerializeToString())
            code, out, err = run(IMPORT, file.name)
            self.assertEqual(code, dlc.OK, err)
            sizes.add(out.count("dlc."))
        self.assertEqual(len(sizes), 1, sizes)

    def test_grows_with_chunks_of_32_steps(self):
        """Step by step it was 20 operations each."""
        counts = []
        for steps in 32, 512, 1024:
            proto = model([node("LinearAttention", ["q", "k", "v", "", "d", "b"], ["y", "s"], q_num_heads=2, kv_num_heads=1)],
                          [value("q", [1, steps, 8]), value("k", [1, steps, 4]), value("v", [1, steps, 6]), value("d", [1, steps, 4]),
                           value("b", [1, steps, 1])], [value("y", [1, steps, 12])], opset=27)
            proto.ir_version = 13
            with open(self.path("m.onnx"), "wb") as file:
                file.write(proto.SerializeToString())
            code, out, err = run(IMPORT, file.name)
            self.assertEqual(code, dlc.OK, err)
            counts.append(out.count("dlc."))
        self.assertLess(counts[0], 250)
        self.assertLess(counts[2] - counts[1], 16 * 20)


class References(Rows):
    def test_logits(self):
        for name in "mlp", "lenet", "gpt_tiny":
            for path in dlc.model(name), os.path.join(dlc.REFS, name + "-eval.onnx"), \
                    os.path.join(dlc.REFS, name + "-dynamo.onnx"):
                with self.subTest(path=os.path.basename(path)):
                    ref = dlc.Reference(name)
                    found = self.imported(path, {"input": ref.inputs[0]}, ref.batch)
                    self.near(found["logits"], ref.arrays["logits0"], path, 1e-4, 1e-5)

    def test_batch_norm_as_inference(self):
        x = dlc.Reference("resnet8").inputs[0]
        for variant in "-eval", "-dynamo":
            path = os.path.join(dlc.REFS, f"resnet8{variant}.onnx")
            expected = ReferenceEvaluator(path).run(None, {"input": x})[0]
            found = self.imported(path, {"input": x}, len(x))
            self.near(found["logits"], expected, path, 1e-3, 1e-4)


class Forms(Rows):
    def test_corners_of_a_fraction_are_warned_of(self):
        """ONNX's own cases have 4 * 1.3 - 1 places between corners; PyTorch has 5 - 1."""
        for scale, kind, warned in (1.3, "align_corners", True), (1.5, "align_corners", False), (1.3, "half_pixel", False):
            proto = model([node("Resize", ["x", "", "s"], ["y"], mode="linear", coordinate_transformation_mode=kind)],
                          [value("x", [1, 1, 4])], [value("y", None)], {"s": np.float32([1, 1, scale])}, opset=18)
            with open(self.path("m.onnx"), "wb") as file:
                file.write(proto.SerializeToString())
            code, _, err = run(IMPORT, self.path("m.onnx"))
            self.assertEqual(code, dlc.OK, err)
            self.assertEqual("warning: align_corners aligns corners of length 5.2" in err, warned, (scale, kind, err))

    """Forms that the node cases lack."""

    def test_tiles_of_many_dimensions(self):
        """Dimensions that are not repeated go together, so that a rank of 5 and more fits into 8."""
        for shape, repeats in (((2, 3, 1, 2, 4), (1, 1, 3, 1, 1)), ((2, 3, 1, 2, 2), (2, 1, 3, 1, 2)), ((1, 1, 2, 1, 3, 2), (1, 4, 1, 2, 1, 1)),
                               ((2, 2, 1, 1, 2, 3), (1, 3, 2, 2, 1, 1)), ((2,) * 5, (1, 1, 3, 1, 1)), ((3, 1, 2), (0, 2, 1)), ((), ())):
            x = self.floats(*shape)
            self.compare([node("Tile", ["x", "r"], ["y"])], {"x": x}, {"r": np.array(repeats, np.int64)})
        many = model([node("Tile", ["x", "r"], ["y"], name="tile")], [value("x", (2,) * 5)], [value("y", None)], {"r": np.full(5, 2)})
        self.assertIsNone(self.imported(many, {"x": self.floats(*(2,) * 5)}))
        self.assertIn('["tile"]): error: Tile of rank 5 by repeats [2, 2, 2, 2, 2] is not supported', self.error)

    def test_reduce_axes_as_attribute(self):
        for op in "ReduceMean", "ReduceMax", "ReduceL2":
            self.compare([node(op, ["x"], ["y"], axes=[-1, 0], keepdims=0)], {"x": self.floats(2, 3, 4)}, opset=13)

    def test_gemm_forms(self):
        a, b = self.floats(4, 5), self.floats(6, 5)
        for c in self.floats(6), self.floats(1, 6), self.floats(4, 1), self.floats(4, 6), self.floats():
            self.compare([node("Gemm", ["a", "b", "c"], ["y"], transB=1)], {"a": a}, {"b": b, "c": np.float32(c)})
        self.compare([node("Gemm", ["a", "b", "c"], ["y"], transB=1, alpha=0.5, beta=2.0)], {"a": a},
                     {"b": b, "c": self.floats(6)})
        self.compare([node("Gemm", ["a", "b"], ["y"], transA=1)], {"a": a}, {"b": self.floats(4, 3)})

    def test_matmul_of_vectors(self):
        m, v = self.floats(2, 4, 3), self.floats(3)
        self.compare([node("MatMul", ["x", "v"], ["y"])], {"x": m, "v": v})
        self.compare([node("MatMul", ["v", "x"], ["y"])], {"x": self.floats(2, 3, 5), "v": v})
        self.compare([node("MatMul", ["v", "x"], ["y"])], {"x": self.floats(3), "v": v})

    def test_conv_of_sequences(self):
        self.compare([node("Conv", ["x", "w", "b"], ["y"], pads=[2, 1], strides=[2], dilations=[2], group=2)],
                     {"x": self.floats(2, 4, 16)}, {"w": self.floats(6, 2, 3), "b": self.floats(6)})

    def test_conv_of_volumes(self):
        self.compare([node("Conv", ["x", "w", "b"], ["y"], pads=[2, 1, 0, 1, 0, 3], strides=[2, 1, 3], dilations=[2, 1, 1],
                           group=2)],
                     {"x": self.floats(2, 4, 7, 6, 8)}, {"w": self.floats(6, 2, 3, 2, 3), "b": self.floats(6)})
        self.compare([node("Conv", ["x", "w"], ["y"], auto_pad="SAME_LOWER", strides=[2, 1, 2])],
                     {"x": self.floats(1, 2, 5, 4, 6)}, {"w": self.floats(3, 2, 3, 2, 4)})

    def test_conv_whose_taps_only_read_padding(self):
        for pads in [9, 9, 9, 9], [12, 9, 6, 9]:
            self.compare([node("Conv", ["x", "w", "b"], ["y"], pads=pads, dilations=[9, 9])],
                         {"x": self.floats(2, 4, 8, 6)}, {"w": self.floats(6, 4, 3, 3), "b": self.floats(6)})

    def test_transposed_conv_of_volumes(self):
        self.compare([node("ConvTranspose", ["x", "w", "b"], ["y"], pads=[1, 0, 0, 0, 1, 1], strides=[2, 1, 3],
                           output_padding=[1, 0, 2])],
                     {"x": self.floats(2, 3, 3, 4, 2)}, {"w": self.floats(3, 2, 2, 3, 2), "b": self.floats(2)})

    def test_pools_of_volumes_and_signals(self):
        x, y = self.floats(2, 3, 5, 7, 6), self.floats(2, 3, 11)
        for ceil in 0, 1:
            self.compare([node("MaxPool", ["x"], ["y"], kernel_shape=[2, 3, 2], strides=[2, 2, 3], pads=[0, 1, 1, 1, 0, 0],
                               ceil_mode=ceil)], {"x": x})
            self.compare([node("MaxPool", ["x"], ["y"], kernel_shape=[3], strides=[2], ceil_mode=ceil)], {"x": y})
            for pad in 0, 1:
                options = dict(ceil_mode=ceil, count_include_pad=pad)
                self.compare([node("AveragePool", ["x"], ["y"], kernel_shape=[2, 3, 3], strides=[2, 3, 2],
                                   pads=[0, 1, 1, 1, 0, 0], **options)], {"x": x})
                self.compare([node("AveragePool", ["x"], ["y"], kernel_shape=[4], strides=[3], pads=[1, 1], **options)], {"x": y})
        self.compare([node("GlobalAveragePool", ["x"], ["y"])], {"x": x})
        # The reference evaluator reduces two dimensions, however many there are.
        proto = model([node("GlobalMaxPool", ["x"], ["y"])], [value("x", x.shape)], [value("y", None)])
        self.near(self.imported(proto, {"x": x})["y"], x.max((2, 3, 4), keepdims=True), "GlobalMaxPool")

    def test_max_over_windows_of_many_positions(self):
        """More than an index of a byte tells apart: a dimension at a time."""
        self.compare([node("MaxPool", ["x"], ["y"], kernel_shape=[20, 18], strides=[2, 1], pads=[3, 0, 1, 2])],
                     {"x": self.floats(1, 2, 24, 22)})
        self.compare([node("MaxPool", ["x"], ["y"], kernel_shape=[8, 8, 8])], {"x": self.floats(2, 2, 8, 9, 8)})

    def test_grouped_conv(self):
        self.compare([node("Conv", ["x", "w"], ["y"], pads=[1, 0, 2, 1], strides=[2, 1], group=3)],
                     {"x": self.floats(2, 3, 8, 9)}, {"w": self.floats(6, 1, 3, 3)})

    def test_split_to_sequence(self):
        for split in np.array(3), np.array([2, 4, 1]):
            self.compare([node("SplitToSequence", ["x", "s"], ["q"], axis=1), node("SequenceAt", ["q", "i"], ["y"])],
                         {"x": self.floats(2, 7)}, {"s": split, "i": np.array(-1)})
        self.compare([node("SplitToSequence", ["x"], ["q"], axis=0, keepdims=0), node("SequenceAt", ["q", "i"], ["y"])],
                     {"x": self.floats(3, 2)}, {"i": np.array(1)})

    def test_sequences(self):
        inputs = {name: self.floats(2, 3) for name in "abc"}
        weights = {str(i): np.array(i) for i in (-1, 0, 1)}
        made = [node("SequenceConstruct", ["a", "b"], ["ab"])]
        joined = [node("ConcatFromSequence", ["q"], ["y"], axis=1)]
        for place in [], ["-1"], ["0"], ["1"]:
            self.compare([*made, node("SequenceInsert", ["ab", "c", *place], ["q"]), *joined], inputs, weights)
        for place in [], ["-1"], ["0"]:
            self.compare([*made, node("SequenceErase", ["ab", *place], ["q"]), *joined], {k: inputs[k] for k in "ab"}, weights)
        for axis in -1, 0, 1, 2:
            self.compare([*made, node("ConcatFromSequence", ["ab"], ["y"], axis=axis, new_axis=1)], {k: inputs[k] for k in "ab"})
        self.compare([*made, node("SequenceLength", ["ab"], ["n"]), node("Cast", ["n"], ["f"], to=TensorProto.FLOAT),
                      node("Identity", ["ab"], ["q"]), node("SequenceAt", ["q", "1"], ["b1"]), node("Mul", ["b1", "f"], ["y"])],
                     {k: inputs[k] for k in "ab"}, weights)

    def test_a_sequence_that_a_loop_fills(self):
        """As torch's older exporter writes a split by a computed size."""
        infos = [value("i", [], TensorProto.INT64), value("c", [], TensorProto.BOOL),
                 helper.make_tensor_sequence_value_info("s", TensorProto.FLOAT, None)]
        body = helper.make_graph(
            [node("Gather", ["x", "i"], ["row"]), node("Identity", ["c"], ["d"]), node("SequenceInsert", ["s", "row"], ["t"])], "b",
            infos, [value("d", [], TensorProto.BOOL), helper.make_tensor_sequence_value_info("t", TensorProto.FLOAT, None)])
        self.compare([node("SequenceEmpty", [], ["none"]), node("Loop", ["n", "yes", "none"], ["q"], body=body),
                      node("SequenceAt", ["q", "1"], ["one"]), node("ConcatFromSequence", ["q"], ["all"], axis=0, new_axis=1),
                      node("Mul", ["all", "one"], ["y"])],
                     {"x": self.floats(3, 4)}, {"n": np.array(3), "yes": np.array(True), "1": np.array(1)})

    def test_slice_of_a_value(self):
        ints = lambda *v: np.array(v, np.int64)
        for bounds in [(ints(1), ints(2**62), ints(1)), (ints(-1, 0), ints(-99, 2), ints(1, 0), ints(-2, 1))]:
            names = ["s", "e", "a", "k"][:len(bounds)]
            self.compare([node("Slice", ["x", *names], ["y"])], {"x": self.floats(3, 7)}, dict(zip(names, bounds)))

    def test_gather_on_an_axis(self):
        self.compare([node("Gather", ["x", "i"], ["y"], axis=1)],
                     {"x": self.floats(3, 5), "i": np.array([[0, 4], [2, 2]], np.int32)})

    def test_mixed_power(self):
        self.compare([node("Pow", ["x", "p"], ["y"])], {"x": self.floats(3)}, {"p": np.array(2, np.int64)})

    def test_shape_chain(self):
        """Shape, Gather, Unsqueeze, Concat, Reshape as exporters write them, on a value of the model."""
        weights = {"zero": np.array(0), "one": np.array(1), "axis": np.array([0]), "rest": np.array([-1])}
        self.compare([node("Relu", ["x"], ["r"]), node("Shape", ["r"], ["s"]), node("Gather", ["s", "zero"], ["n"]),
                      node("Gather", ["s", "one"], ["m"]), node("Mul", ["n", "m"], ["p"]),
                      node("Unsqueeze", ["p", "axis"], ["u"]), node("Concat", ["u", "rest"], ["t"], axis=0),
                      node("Reshape", ["r", "t"], ["y"])], {"x": self.floats(2, 3, 4)}, weights)


if __name__ == "__main__":
    dlc.main()
