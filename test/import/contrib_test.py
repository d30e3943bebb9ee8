# SPDX-License-Identifier: Apache-2.0
"""Operators of com.microsoft, which exporters and optimizers write, mean what ONNX Runtime documents of them."""

import os
import sys
import unittest

import numpy as np
from onnx import TensorProto, helper

sys.path.insert(0, os.path.dirname(__file__))
import dlc
from contrib_cases import CASES, NUMBERS, Case, fed
from contrib_cases import model as model_of
from rows_test import Rows
from support import IMPORT, model, node, run, value

R = np.random.default_rng(0)
MS = "com.microsoft"


def floats(*shape):
    return R.standard_normal(shape).astype(np.float32)


class Contrib(Rows):
    def test_numbers(self):
        """Every case has ONNX Runtime's results, or those of a formula."""
        expected = np.load(NUMBERS)
        self.assertEqual({name.rsplit(".", 1)[0] for name in expected}, set(CASES))
        for name, case in CASES.items():
            with self.subTest(case=name):
                wide = lambda a: a.astype(np.int32) if a.dtype in (np.int8, np.uint16, np.int16) else a
                found = self.imported(model_of(case), {k: wide(a) for k, a in fed(case).items()})
                self.assertIsNotNone(found, self.error)
                for i in range(case.outputs):
                    result, wanted = found[f"out{i}"], expected[f"{name}.{i}"]
                    self.assertEqual(result.shape, wanted.shape, name)
                    for sample, end in enumerate(case.ends or []):
                        result[sample, end:] = wanted[sample, end:]
                    self.near(result.astype(np.float32), wanted.astype(np.float32), name, 1e-4, case.step or 1e-5)

    def test_refused(self):
        x, w, c = floats(2, 3, 8), floats(8, 24), floats(24)
        cache, ends, total, table = floats(2, 1, 4, 8), np.array([2, 2], np.int32), np.array(3, np.int32), floats(4, 4)
        groups = dict(num_heads=1, kv_num_heads=1)
        packed = np.zeros((5, 1, 8), np.uint8)
        for op, inputs, attributes, message in (
                ("MultiHeadAttention", [x], {"num_heads": 2}, "expected queries, keys and values, found no keys or values"),
                ("MultiHeadAttention", [x, x, x, None, None, None, None, None, total], {"num_heads": 2}, r"input 8 \('in8'\) is not"),
                ("MultiHeadAttention", [x, x, x, None, np.zeros(8, np.int32)], {"num_heads": 2},
                 r"a mask of shape \[8\] for 3 queries and 3 keys is not supported"),
                ("Attention", [x, w, c, None, None, None, total], {"num_heads": 2}, r"input 6 \('in6'\) is not supported"),
                ("Attention", [x, w, c], {"num_heads": 2, "do_rotary": 1}, "do_rotary is not supported"),
                ("Attention", [x, w, c], {"num_heads": 2, "qkv_hidden_sizes": [8, 16]}, "expected 3 qkv_hidden_sizes"),
                ("Attention", [x[0], w, c], {"num_heads": 2}, "expected an input of rank 3"),
                ("GroupQueryAttention", [x[0], x, x, None, None, ends, total], groups, "expected queries of rank 3"),
                ("GroupQueryAttention", [x, x, x, None, None, ends, total], {"num_heads": 2, "kv_num_heads": 0},
                 "expected num_heads and kv_num_heads of 1 or more, found 2 and 0"),
                ("GroupQueryAttention", [x, x, x, None, None, ends, total], {"k_quant_type": "PER_TENSOR", **groups},
                 "k_quant_type PER_TENSOR is not supported, expected NONE"),
                ("GroupQueryAttention", [x, x, x, None, None, ends, total], {"sliding_window_cache": 1, **groups},
                 "sliding_window_cache is not supported"),
                ("GroupQueryAttention", [x, x, x, cache, cache, ends, total], {"smooth_softmax": 1, **groups},
                 "a sink beside a cache, or without causality, is not supported"),
                ("RotaryEmbedding", [x, ends, table, table], {"is_packed_batching": 1}, "is_packed_batching and scale are not"),
                ("RelativePositionBias", [table[0], total, total], {}, r"a table of shape \[4\] for 3 queries and 3 keys"),
                ("EmbedLayerNormalization", [ends, None, table, table, None, table[0], table[0]], {}, "expected input_ids of rank 2"),
                ("FusedMatMul", [x[0, 0], x], {}, "expected operands of rank 2 or more"),
                ("MatMulNBits", [x, packed, c], {"K": 8, "N": 5, "bits": 3, "block_size": 16}, "bits is 3, expected 2, 4 or 8"),
                ("MatMulNBits", [x, packed, c], {"K": 8, "N": 0, "bits": 4, "block_size": 16}, "expected N, K and block_size of 1"),
                ("MatMulNBits", [x, packed, c], {"K": 8, "N": 5, "bits": 4, "block_size": 16, "weight_prepacked": 1},
                 "weight_prepacked is not supported"),
                ("MatMulBnb4", [x, packed, c], {"K": 8, "N": 5, "block_size": 16}, "N 5 and K 8 in blocks of 16 are not supported"),
                ("GatherBlockQuantized", [packed[0], ends, table], {"gather_axis": 1}, "expected gather_axis 0, quantize_axis the last"),
                ("GatherBlockQuantized", [packed[0], ends, table], {"bits": 5}, "bits is 5, expected 2, 4 or 8"),
                ("NoSuchOp", [x], {}, "com.microsoft.NoSuchOp in 1 node")):
            with self.subTest(op=op, message=message), open(self.path("m.onnx"), "wb") as file:
                case = Case(op, [None if a is None else np.asarray(a) for a in inputs], {6} if op == "GroupQueryAttention" else
                            {1, 2} if op == "RelativePositionBias" else set(), 1, attributes)
                file.write(model_of(case).SerializeToString())
                file.flush()
                code, _, err = run(IMPORT, file.name)
                self.assertEqual(code, dlc.BAD_MODEL, err)
                self.assertRegex(err, message)


    def test_says_why_others_are_refused(self):
        for op, domain, reason in (("BeamSearch", MS, "a search that calls a decoder"), ("RemovePadding", MS, "sizes depend on the data"),
                                   ("PagedAttention", MS, "attention of an inference server"), ("QOrderedMatMul", MS, "one kind of processor"),
                                   ("QLinearAdd", MS, "integers, which have no gradient: use the model from before it was quantized"),
                                   ("Conv", "com.microsoft.nchwc", "ORT_ENABLE_EXTENDED at most"),
                                   ("EPContext", MS, "machine code of another tool")):
            proto = model([node(op, ["x"], ["y"], domain=domain)], [value("x", [2])], [value("y", None)], domains=[domain])
            self.assertIsNone(self.imported(proto, {"x": np.zeros(2, np.float32)}))
            self.assertRegex(self.error, f"{domain}.{op} in 1 node: 'y' \\(.*{reason}", op)


class Optimized(Rows):
    """Files of torch's that ONNX Runtime's tools wrote again."""

    def roles(self, proto):
        with open(self.path("m.onnx"), "wb") as file:
            file.write(proto.SerializeToString())
        code, out, err = run(IMPORT, self.path("m.onnx"))
        self.assertEqual(code, dlc.OK, err)
        states = [line for line in out.splitlines() if "dlc.state" in line]
        return {line.split('@')[1].split(" ")[0].strip('"'): "trainable" in line for line in states}, err

    def proto(self, producer):
        """Two norms of one merged scale, a token without a dot in its name, and a folded lookup."""
        scale, token, places = np.ones(8, np.float32), floats(1, 1, 8), floats(1, 3, 8)
        steps = [node("Add", ["x", "token"], ["a"], name="/Add"), node("Add", ["a", "/places/Gather_output_0"], ["b"], name="/Add_1"),
                 node("SkipLayerNormalization", ["b", "b", "n.weight"], ["c"], name="Skip_0", domain=MS),
                 node("SkipLayerNormalization", ["c", "c", "n.weight"], ["d"], name="Skip_1", domain=MS),
                 node("Mul", ["d", "gamma"], ["e"], name="/m/Mul"), node("Mul", ["e", "gamma"], ["y"], name="/m2/Mul")]
        proto = model(steps, [value("x", [2, 3, 8])], [value("y", None)],
                      {"n.weight": scale, "token": token, "/places/Gather_output_0": places, "gamma": scale / 8}, domains=[MS])
        proto.producer_name = producer
        return proto

    def test_roles_are_those_of_torch(self):
        for producer in "pytorch", "onnxruntime.transformers":
            roles, err = self.roles(self.proto(producer))
            self.assertEqual(sorted(roles.values()), [False] + 5 * [True], roles)
            self.assertFalse(roles["/places/Gather_output_0"])
            self.assertRegex(err, "constants that the exporter computed, .*'/places/Gather_output_0'")
        self.assertNotIn("token", self.roles(self.proto("other"))[0])  # a number in the program


class Masks(Rows):
    def test_a_mask_that_is_trained_gets_a_gradient(self):
        """The op of attention gives its mask none, so that a relative bias would silently stay as it is."""
        for name, is_op in ("bias.weight", False), ("mask", True):
            proto = model([node("Attention", ["q", "q", "q", name], ["y"])], [value("q", [1, 2, 40, 4])],
                          [value("y", [1, 2, 40, 4])], {name: floats(2, 40, 40)}, opset=24)
            with open(self.path("m.onnx"), "wb") as file:
                file.write(proto.SerializeToString())
            code, out, err = run(IMPORT, file.name, *([] if name != "mask" else ["--freeze=mask"]))
            self.assertEqual(code, dlc.OK, err)
            self.assertEqual("dlc.attention" in out, is_op, name)

    def test_a_sink_that_is_trained_gets_a_gradient(self):
        case = CASES["gqa_sink"]
        for frozen in False, True:
            with open(self.path("m.onnx"), "wb") as file:
                file.write(model_of(case).SerializeToString())
            code, out, err = run(IMPORT, file.name, *["--freeze=in11"] * frozen)
            self.assertEqual(code, dlc.OK, err)
            self.assertEqual("dlc.attention" in out, frozen)


class Narrow(Rows):
    """Number types that a program holds in wider ones."""

    def test_arithmetic_stays_in_range(self):
        for dtype in np.int8, np.int16, np.uint8, np.uint16, np.uint32:
            info = np.iinfo(dtype)
            a, b = np.array([info.max, info.min, 7, 100], dtype), np.array([2, 1, 9, 3], dtype)
            kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
            for op, run_ in ("Add", np.add), ("Sub", np.subtract), ("Mul", np.multiply), ("Div", lambda a, b: a // b):
                with self.subTest(op=op, dtype=dtype), np.errstate(all="ignore"):
                    proto = model([node(op, ["a", "b"], ["y"])], [value("a", [4], kind)], [value("y", [4], kind)], {"b": b})
                    wide = {"a": a if dtype == np.uint8 else a.astype(np.int64 if dtype == np.uint32 else np.int32)}
                    found = self.imported(proto, wide)
                    self.assertIsNotNone(found, self.error)
                    expected = run_(a, b) if op != "Div" else np.trunc(a / b.astype(np.float64)).astype(dtype)
                    np.testing.assert_array_equal(found["y"], expected.astype(found["y"].dtype))

    def test_initializers_in_every_field(self):
        for dtype in np.int8, np.int16, np.uint16, np.uint32, np.uint64:
            kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
            a = np.array([np.iinfo(dtype).min, 1, 120], dtype)
            for raw in False, True:
                tensor = helper.make_tensor("w", kind, a.shape, a.tobytes() if raw else a.tolist(), raw)
                proto = model([node("Cast", ["w"], ["f"], to=TensorProto.FLOAT), node("Add", ["x", "f"], ["y"])],
                              [value("x", [3])], [value("y", [3])])
                proto.graph.initializer.append(tensor)
                found = self.imported(proto, {"x": np.zeros(3, np.float32)})
                self.assertIsNotNone(found, self.error)
                self.near(found["y"], a.astype(np.float32), str(dtype))

    def test_too_large(self):
        proto = model([node("Cast", ["w"], ["f"], to=TensorProto.FLOAT), node("Add", ["x", "f"], ["y"])],
                      [value("x", [1])], [value("y", [1])], {"w": np.array([2**63], np.uint64)})
        self.assertIsNone(self.imported(proto, {"x": np.zeros(1, np.float32)}))
        self.assertRegex(self.error, r"tensor 'w': a value of UINT64 is above 2\^63 - 1")


if __name__ == "__main__":
    dlc.main()
