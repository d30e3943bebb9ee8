# SPDX-License-Identifier: Apache-2.0
"""BitCast between all types of one width, of what is known and of what runs, gives numpy's views."""

import itertools
import os
import re
import subprocess
import sys
import unittest

import ml_dtypes
import numpy as np
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, os.path.dirname(__file__))
import conformance_test as cases
import dlc
from support import node, value

EMULATE = os.path.join(dlc.BUILD, "bin", "dlc-emulate")
COUNT = 256
FLOATS = {"DOUBLE": np.float64, "FLOAT": np.float32, "FLOAT16": np.float16, "BFLOAT16": ml_dtypes.bfloat16,
          "FLOAT8E4M3FN": ml_dtypes.float8_e4m3fn, "FLOAT8E4M3FNUZ": ml_dtypes.float8_e4m3fnuz, "FLOAT8E5M2": ml_dtypes.float8_e5m2,
          "FLOAT8E5M2FNUZ": ml_dtypes.float8_e5m2fnuz, "FLOAT8E8M0": ml_dtypes.float8_e8m0fnu, "FLOAT4E2M1": ml_dtypes.float4_e2m1fn}
INTEGERS = {"INT64": np.int64, "INT32": np.int32, "UINT32": np.uint32, "INT16": np.int16, "UINT16": np.uint16, "INT8": np.int8,
            "UINT8": np.uint8, "INT4": ml_dtypes.int4, "UINT4": ml_dtypes.uint4, "INT2": ml_dtypes.int2, "UINT2": ml_dtypes.uint2}


def width(kind):
    return int(re.search(r"\d+", {"DOUBLE": "64", "FLOAT": "32", "BFLOAT16": "16"}.get(kind, kind))[0])


def codes(bits):
    """Bit patterns, each of a type of so many bits: all of the small ones, infinities, both zeros, numbers below the normal ones."""
    if bits <= 8:
        return (np.arange(COUNT) % (1 << bits)).astype(np.uint8)
    unsigned = np.dtype(f"u{bits // 8}")
    some = np.random.default_rng(bits).integers(0, 1 << bits, COUNT, dtype=unsigned, endpoint=False)
    one = {64: 0x3FF << 52, 32: 0x3F800000, 16: 0x3C00}[bits]
    some[:9] = [0, 1, 5, 1 << (bits - 1), one, one + 1, (1 << bits) - one, {64: 0x7FF << 52, 32: 0x7F800000, 16: 0x7C00}[bits], 0x7F80]
    return some


def values(kind, bits):
    if kind in FLOATS:
        return bits.view(FLOATS[kind])
    whole, size = bits.astype(np.uint64), width(kind)
    if kind[0] == "U":
        return whole.astype(INTEGERS[kind])
    signed = np.where(whole >> np.uint64(size - 1), whole.astype(np.int64) - (0 if size == 64 else 1 << size), whole.astype(np.int64))
    return signed.astype(INTEGERS[kind])


def numbers(array):
    return array.astype(np.float64) if array.dtype.kind not in "iub" else array


PAIRS = [(a, b) for a, b in itertools.permutations([*FLOATS, *INTEGERS], 2) if width(a) == width(b)]


def program(known, pairs=PAIRS):
    """A node for each pair; inputs or initializers by the types' names."""
    used = sorted({a for a, _ in pairs})
    arrays = {a: values(a, codes(width(a))) for a in used}
    kinds = {a: TensorProto.DataType.Value(a) for a in [*FLOATS, *INTEGERS]}
    nodes = [node("BitCast", [a], [f"{a}.{b}"], name=f"{a}.{b}", to=kinds[b]) for a, b in pairs]
    outputs = [value(f"{a}.{b}", [COUNT], kinds[b]) for a, b in pairs]
    inputs = [] if known else [value(a, [COUNT], kinds[a]) for a in used]
    tensors = [numpy_helper.from_array(arrays[a], a) for a in used] if known else []
    graph = helper.make_graph(nodes, "g", inputs, outputs, tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 26)], ir_version=13), {} if known else arrays


class Bits(dlc.TestCase):
    def check(self, found, runs):
        for a, b in PAIRS:
            with self.subTest(f"{a} to {b}"):
                bits = codes(width(a))
                expected = cases.held(values(b, bits))
                self.assertEqual((found[f"{a}.{b}"].dtype, found[f"{a}.{b}"].shape), (expected.dtype, expected.shape))
                kept = ~np.isnan(numbers(values(a, bits)))  # which NaN it is is not kept
                self.assertGreater(kept.sum(), 200)
                exact = np.asarray if runs or width(a) < 64 else lambda x: x.astype(np.float64)  # compiler/reference has doubles
                np.testing.assert_array_equal(exact(numbers(found[f"{a}.{b}"]))[kept], exact(numbers(expected))[kept])
                if b in FLOATS:
                    kept &= ~np.isnan(numbers(expected))
                    np.testing.assert_array_equal(np.signbit(numbers(found[f"{a}.{b}"]))[kept], np.signbit(numbers(expected))[kept])

    def test_known(self):
        verdict = cases.run_all({"m": program(True)})["m"]
        self.assertIsNone(verdict.refused)
        self.assertIsNone(verdict.wrong)
        self.check(verdict.results, False)

    def write(self, proto):
        with open(self.path("m.onnx"), "wb") as file:
            file.write(proto.SerializeToString())
        return file.name

    def test_running(self):
        proto, arrays = program(False)
        # numpy's files have no bfloat16, so it comes as bits, and goes out as the f32 that it is: processors cast to it without
        # numbers below its normal ones
        for info in [o for o in proto.graph.output if o.name.endswith(".BFLOAT16")]:
            proto.graph.node.append(node("Cast", [info.name], [info.name + ".wide"], to=TensorProto.FLOAT))
            info.name += ".wide"
            info.type.tensor_type.elem_type = TensorProto.FLOAT
        narrow = next(i for i in proto.graph.input if i.name == "BFLOAT16")
        narrow.name, narrow.type.tensor_type.elem_type = "word", TensorProto.INT32
        proto.graph.node.insert(0, node("Cast", ["word"], ["half"], to=TensorProto.INT16))
        proto.graph.node.insert(1, node("BitCast", ["half"], ["BFLOAT16"], to=TensorProto.BFLOAT16))
        arrays["word"] = arrays.pop("BFLOAT16").view(np.int16).astype(np.int32)
        dlc.dlc("compile", self.write(proto), "--predict-only", "--quiet", "-o", self.path("m.dlc"))
        np.savez(self.path("d.npz"), **{k: cases.held(a) for k, a in arrays.items()})
        dlc.dlc("predict", self.path("m.dlc"), "--data=" + self.path("d.npz"), "--scale=1", "-o", self.path("o.npz"))
        with np.load(self.path("o.npz")) as file:
            found = {k.removesuffix(".wide"): file[k].astype(ml_dtypes.bfloat16) if k.endswith(".wide") else file[k] for k in file.files}
        self.check(found, True)

    @unittest.skipUnless(os.path.exists(EMULATE), "the emulator is only built on x86-64")
    def test_on_a_gpu(self):
        pairs = [p for p in PAIRS if "BFLOAT16" not in p]
        text, _ = dlc.dlc("compile", self.write(program(False, pairs)[0]), "--predict-only", "-o", "-", "--stop-after=plan", "--target=cuda")
        with open(self.path("p.mlir"), "w") as file:
            file.write(text)
        run = subprocess.run([EMULATE, file.name, "90", "10000"], capture_output=True, text=True, timeout=120)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        self.assertRegex(run.stdout, r"[1-9]\d* kernels, \d+ runs, 0 errors")

    def test_refused(self):
        for kind, to, message in (("FLOAT", "INT64", "BitCast of FLOAT to INT64, which has another size"),
                                  ("INT64", "UINT64", "BitCast of INT64 to UINT64 is not supported where it is not known")):
            graph = helper.make_graph([node("BitCast", ["x"], ["y"], to=TensorProto.DataType.Value(to))], "g",
                                      [value("x", [2], TensorProto.DataType.Value(kind))], [value("y", None, TensorProto.DataType.Value(to))])
            proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 26)], ir_version=13)
            _, err = dlc.dlc("compile", self.write(proto), "--predict-only", "-o", self.path("m.dlc"), code=dlc.BAD_MODEL)
            self.assertIn(message, err)


if __name__ == "__main__":
    dlc.main()
