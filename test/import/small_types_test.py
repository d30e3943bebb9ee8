# SPDX-License-Identifier: Apache-2.0
"""Number types of 8, 4 and 2 bits, over all their bit patterns and past their ends: casts and quantisation are ml_dtypes' and the standard's."""

import os
import sys

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, os.path.dirname(__file__))
import conformance_test as cases
import dlc
from support import node, value

FLOATS = {"FLOAT8E4M3FN": (ml_dtypes.float8_e4m3fn, 448), "FLOAT8E4M3FNUZ": (ml_dtypes.float8_e4m3fnuz, 240),
          "FLOAT8E5M2": (ml_dtypes.float8_e5m2, 57344), "FLOAT8E5M2FNUZ": (ml_dtypes.float8_e5m2fnuz, 57344),
          "FLOAT4E2M1": (ml_dtypes.float4_e2m1fn, 6)}
INTEGERS = {"INT4": ml_dtypes.int4, "UINT4": ml_dtypes.uint4, "INT2": ml_dtypes.int2, "UINT2": ml_dtypes.uint2}


def number(kind):
    return TensorProto.DataType.Value(kind)


def model(nodes, inputs, output, initializers=()):
    """`output` is a (name, ONNX type, shape); an initializer a TensorProto."""
    infos = [value(name, list(x.shape), helper.np_dtype_to_tensor_dtype(x.dtype)) for name, x in inputs.items()]
    graph = helper.make_graph(nodes, "g", infos, [value(output[0], output[2], output[1])], initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)], ir_version=11), inputs


def sweep(dtype, most):
    """Numbers, ties between them and their neighbours, both zeros, past the ends, infinities and NaN."""
    numbers = np.arange(16 if most == 6 else 256).astype(np.uint8).view(dtype)
    finite = np.unique(np.abs(numbers.astype(np.float32)))
    finite = finite[np.isfinite(finite)]
    ties = (finite[1:] + finite[:-1]) / 2
    past = np.float32([most * 1.01, most * 1.0625, most * 1.07, most * 1.2, most * 1.3, most * 100])
    sizes = np.concatenate([finite, ties, np.nextafter(ties, np.float32(0)), np.nextafter(ties, np.float32(np.inf)), past])
    no_numbers = np.float32([np.inf, -np.inf] if most == 6 else [np.inf, -np.inf, np.nan])  # FLOAT4E2M1 has none for NaN
    return np.concatenate([sizes, -sizes, no_numbers]).astype(np.float32)


def rounded(x, dtype, most, saturate):
    if saturate:
        x = np.where(np.isnan(x), x, np.clip(x, -most, most))
    return x.astype(dtype).astype(np.float32)


class SmallTypes(dlc.TestCase):
    def check(self, models, expected):
        for key, verdict in cases.run_all(models).items():
            with self.subTest(key):
                self.assertIsNone(verdict.wrong)
                self.assertIsNone(verdict.refused)
                found = verdict.results["y"]
                np.testing.assert_array_equal(found, expected[key])
                if found.dtype.kind == "f":
                    numbers = ~np.isnan(found)
                    np.testing.assert_array_equal(np.signbit(found[numbers]), np.signbit(expected[key][numbers]))

    def test_every_bit_pattern_of_an_initializer(self):
        models, expected = {}, {}
        kinds = {k: d for k, (d, _) in FLOATS.items()} | INTEGERS | {"FLOAT8E8M0": ml_dtypes.float8_e8m0fnu}
        for kind, dtype in kinds.items():
            bits = ml_dtypes.iinfo(dtype).bits if kind in INTEGERS else 4 if kind == "FLOAT4E2M1" else 8
            # an odd count: the last byte of a packed tensor is not full
            codes = np.arange((1 << bits) + 1 if bits < 8 else 256).astype(np.uint8) & ((1 << bits) - 1)
            content = codes.astype(np.int8).astype(dtype) if kind in INTEGERS else codes.view(dtype)
            if kind in INTEGERS and kind[0] == "I":
                content = np.where(codes >= 1 << (bits - 1), codes.astype(int) - (1 << bits), codes).astype(dtype)
            packed = [sum(int(c) << (bits * j) for j, c in enumerate(codes[i:i + 8 // bits])) for i in range(0, len(codes), 8 // bits)]
            typed = TensorProto(name="w", data_type=number(kind), dims=[len(codes)], int32_data=packed)
            raw = TensorProto(name="w", data_type=number(kind), dims=[len(codes)], raw_data=bytes(packed))
            zero = np.zeros(len(codes), np.float32)
            for form, tensor in ("typed", typed), ("raw", raw):
                models[f"{kind}_{form}"] = model([node("Cast", ["w"], ["f"], to=1), node("Add", ["x", "f"], ["y"])], {"x": zero}, ("y", 1, [len(codes)]), [tensor])
                expected[f"{kind}_{form}"] = zero + content.astype(np.float32)
        self.check(models, expected)

    def test_casts_to_floats(self):
        models, expected = {}, {}
        for kind, (dtype, most) in FLOATS.items():
            x = sweep(dtype, most)
            for saturate in ([1] if kind == "FLOAT4E2M1" else [0, 1]):
                y = rounded(x, dtype, most, saturate)
                for known in False, True:
                    key = f"{kind}_{saturate}_{known}"
                    nodes = [node("Cast", ["c" if known else "x"], ["y"], to=number(kind), saturate=saturate)]
                    constant = [numpy_helper.from_array(x, "c")] if known else []
                    models[key], expected[key] = model(nodes, {"x": x}, ("y", number(kind), [len(x)]), constant), y
        self.check(models, expected)

    def test_f64_is_rounded_once(self):
        tie = 1 + 2.0**-4  # of FLOAT8E4M3FN; f32 loses what lies above it
        x = np.array([tie + 2.0**-40, -tie - 2.0**-40, tie, tie - 2.0**-40])
        for known in False, True:
            nodes = [node("Cast", ["c" if known else "x"], ["y"], to=number("FLOAT8E4M3FN"))]
            constant = [numpy_helper.from_array(x, "c")] if known else []
            self.check({"m": model(nodes, {"x": x}, ("y", number("FLOAT8E4M3FN"), [4]), constant)},
                       {"m": np.float32([1.125, -1.125, 1, 1])})

    def test_powers_of_two(self):
        least, most = 2.0**-127, 2.0**127
        x = np.array([0, least / 2, least, 1.25 * least, 1.5 * least, 2 * least, 2.0**-60, 1, 1.25, 1.5, 1.75, 3, 2.0**100 * 1.6,
                      most, 1.5 * most, np.inf, np.nan], np.float32)
        size = x[2:14].astype(np.float64)
        below = 2.0**np.floor(np.log2(size))
        inside = {"up": np.where(size > below, 2 * below, below), "down": below, "nearest": np.where(size >= 1.5 * below, 2 * below, below)}
        models, expected = {}, {}
        for mode, y in inside.items():
            for saturate in 0, 1:
                low, high = ([least] * 2, [most] * 2) if saturate else ([np.nan] * 2, [np.nan] * 2)
                for known in False, True:
                    key = f"{mode}_{saturate}_{known}"
                    nodes = [node("Cast", ["c" if known else "x"], ["y"], to=number("FLOAT8E8M0"), saturate=saturate, round_mode=mode)]
                    constant = [numpy_helper.from_array(x, "c")] if known else []
                    models[key] = model(nodes, {"x": x}, ("y", number("FLOAT8E8M0"), [len(x)]), constant)
                    expected[key] = np.array([*low, *y, *high, np.nan], np.float32)
        self.check(models, expected)

    def test_refuses_an_unknown_round_mode(self):
        x = np.ones(2, np.float32)
        made = model([node("Cast", ["x"], ["y"], to=number("FLOAT8E8M0"), round_mode="odd")], {"x": x}, ("y", number("FLOAT8E8M0"), [2]))
        verdict = cases.run_all({"m": made})["m"]
        self.assertIn("round_mode is 'odd', expected up, down or nearest", verdict.refused or "")

    def test_quantisation(self):
        x = np.concatenate([np.linspace(-9, 9, 145), [-1e6, 1e6]]).astype(np.float32)
        models, expected = {}, {}
        for kind, dtype in {**INTEGERS, "INT8": np.int8, "INT16": np.int16, "UINT16": np.uint16}.items():
            info = ml_dtypes.iinfo(dtype)
            models[kind] = model([node("QuantizeLinear", ["x", "s"], ["y"], output_dtype=number(kind))], {"x": x}, ("y", number(kind), [len(x)]),
                                 [numpy_helper.from_array(np.float32(0.5), "s")])
            expected[kind] = np.clip(np.rint(x / np.float32(0.5)), int(info.min), int(info.max)).astype(np.int32)
        for kind, (dtype, most) in FLOATS.items():
            models[kind] = model([node("QuantizeLinear", ["x", "s"], ["y"], output_dtype=number(kind))], {"x": x}, ("y", number(kind), [len(x)]),
                                 [numpy_helper.from_array(np.float32(0.5), "s")])
            expected[kind] = rounded(x / np.float32(0.5), dtype, most, True)
        self.check(models, expected)

    def test_half_scales_keep_zero_points(self):
        x = np.array([-40000, -3, 0.4, 2.5, 40000], np.float32).astype(np.float16)
        zero = numpy_helper.from_array(np.array(32769, np.uint16), "z")
        scale = numpy_helper.from_array(np.float16(1), "s")
        whole = np.array([0, 32766, 32769, 32771, 65535])
        self.check({"q": model([node("QuantizeLinear", ["x", "s", "z"], ["y"])], {"x": x}, ("y", number("UINT16"), [5]), [scale, zero])},
                   {"q": whole.astype(np.int32)})
        back = [node("QuantizeLinear", ["x", "s", "z"], ["q"]), node("DequantizeLinear", ["q", "s", "z"], ["y"])]
        self.check({"d": model(back, {"x": x}, ("y", number("FLOAT16"), [5]), [scale, zero])},
                   {"d": (whole - 32769).astype(np.float16)})

    def test_refuses_a_zero_point_of_another_shape(self):
        x, one = np.ones((2, 4), np.uint8), np.ones((), np.uint8)
        for shape in (0,), (5,):
            weights = {"s": np.float32(1), "z": one, "w": np.ones((4, 3), np.uint8), "yz": np.ones(shape, np.uint8)}
            made = model([node("QLinearMatMul", ["x", "s", "z", "w", "s", "z", "s", "yz"], ["y"])], {"x": x}, ("y", TensorProto.UINT8, [2, 3]),
                         [numpy_helper.from_array(v, k) for k, v in weights.items()])
            verdict = cases.run_all({"m": made})["m"]
            self.assertIn(f"a zero point of shape [{shape[0]}] for a result of shape [2, 3]", verdict.refused or "")

    def test_convolutions_of_integers(self):
        random = np.random.default_rng(3)
        x = random.integers(0, 256, (2, 4, 6, 5)).astype(np.uint8)
        w = random.integers(-128, 128, (6, 2, 3, 2)).astype(np.int8)
        zeros = np.array([0, 5, -7, 127, -128, 1], np.int8)
        names, arrays = ["w", "xz", "wz"], [w, np.array(131, np.uint8), zeros]
        attributes = {"pads": [1, 0, 2, 1], "strides": [2, 1], "dilations": [1, 2], "group": 2}
        whole = x.astype(np.int64) - 131, w.astype(np.int64) - zeros.astype(np.int64).reshape(6, 1, 1, 1)
        sums = convolved(*whole, **attributes)
        weights = [numpy_helper.from_array(a, n) for n, a in zip(names, arrays)]
        made = model([node("ConvInteger", ["x", *names], ["y"], **attributes)], {"x": x}, ("y", TensorProto.INT32, sums.shape), weights)
        self.check({"m": made}, {"m": sums.astype(np.int32)})
        scales, bias = np.float32([1, 2, 3, 4, 5, 6]) / 1024, random.integers(-3000, 3000, 6).astype(np.int32)
        more = {"xs": np.float32(0.25), "ws": scales, "ys": np.float32(0.5), "yz": np.array(9, np.uint8), "b": bias}
        weights += [numpy_helper.from_array(np.asarray(a), n) for n, a in more.items()]
        made = model([node("QLinearConv", ["x", "xs", "xz", "w", "ws", "wz", "ys", "yz", "b"], ["y"], **attributes)], {"x": x},
                     ("y", TensorProto.UINT8, sums.shape), weights)
        scaled = (sums + bias.reshape(1, 6, 1, 1)) * (np.float64(0.5) * scales.reshape(1, 6, 1, 1))
        self.check({"q": made}, {"q": np.clip(np.rint(scaled) + 9, 0, 255).astype(np.uint8)})

    def test_indices_of_a_pool(self):
        x = np.random.default_rng(4).integers(0, 9, (2, 3, 5, 6)).astype(np.float32)  # with ties: the first wins
        for order in 0, 1:
            places, (kh, kw) = np.zeros((2, 3, 3, 3), np.int64), (3, 2)
            for n, c, i, j in np.ndindex(*places.shape):
                taps = [(2 * i - 1 + a, 2 * j + b) for a in range(kh) for b in range(kw)]
                taps = [t for t in taps if 0 <= t[0] < 5 and 0 <= t[1] < 6]
                h, v = max(taps, key=lambda t: x[n, c, t[0], t[1]])
                places[n, c, i, j] = (n * 3 + c) * 30 + (h + v * 5 if order else h * 6 + v)
            made = model([node("MaxPool", ["x"], ["v", "y"], kernel_shape=[kh, kw], strides=[2, 2], pads=[1, 0, 1, 0], storage_order=order)],
                         {"x": x}, ("y", TensorProto.INT64, [2, 3, 3, 3]))
            self.check({"m": made}, {"m": places})


def convolved(x, w, pads, strides, dilations, group):
    x = np.pad(x, ((0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])))
    size = [(x.shape[2 + d] - dilations[d] * (w.shape[2 + d] - 1) - 1) // strides[d] + 1 for d in (0, 1)]
    y = np.zeros((x.shape[0], w.shape[0], *size), np.int64)
    each, outs = w.shape[1], w.shape[0] // group
    for m, a, b in np.ndindex(w.shape[0], w.shape[2], w.shape[3]):
        first = m // outs * each
        rows = slice(a * dilations[0], a * dilations[0] + (size[0] - 1) * strides[0] + 1, strides[0])
        columns = slice(b * dilations[1], b * dilations[1] + (size[1] - 1) * strides[1] + 1, strides[1])
        y[:, m] += np.einsum("nchw,c->nhw", x[:, first:first + each, rows, columns], w[m, :, a, b])
    return y


if __name__ == "__main__":
    dlc.main()
