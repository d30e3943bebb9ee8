"""Operators of com.microsoft, which exporters and optimizers write, mean what ONNX Runtime documents of them."""

import math
import os
import sys
import unittest

import numpy as np
from onnx import TensorProto, helper

sys.path.insert(0, os.path.dirname(__file__))
import dlc
from rows_test import Rows
from support import IMPORT, model, node, run, value

R = np.random.default_rng(0)
MS = "com.microsoft"


def floats(*shape):
    return R.standard_normal(shape).astype(np.float32)


def exact(x):
    return 0.5 * x * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


def norm(x, scale, bias=0, epsilon=1e-12, center=True):
    x = x - x.mean(-1, keepdims=True) if center else x
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon) * scale + bias


def attend(q, k, v, heads, mask=0.0, causal=False):
    b, t, d = q.shape
    q, k, v = (a.reshape(b, a.shape[1], heads, -1).transpose(0, 2, 1, 3) for a in (q, k, v))
    s = q @ k.transpose(0, 1, 3, 2) / np.sqrt(d / heads) + mask
    if causal:
        s = np.where(np.tri(*s.shape[-2:], dtype=bool), s, -np.inf)
    p = np.exp(s - s.max(-1, keepdims=True))
    return (p / p.sum(-1, keepdims=True) @ v).transpose(0, 2, 1, 3).reshape(b, t, -1)


class Contrib(Rows):
    def proto(self, op, inputs, weights, outputs, domain, **attributes):
        names = [i for i in inputs]
        infos = [value(k, v.shape, helper.np_dtype_to_tensor_dtype(v.dtype)) for k, v in inputs.items() if v is not None]
        names = ["" if inputs[i] is None else i for i in inputs]
        given = node(op, names + list(weights), list(outputs), domain=domain, **attributes)
        return model([given], infos, [value(o, None) for o in outputs if o], weights, domains=[MS])

    def check(self, op, inputs, expected, weights=(), outputs=("y",), domain=MS, **attributes):
        weights = dict(weights)
        with self.subTest(op=op):
            proto = self.proto(op, inputs, weights, outputs, domain, **attributes)
            found = self.imported(proto, {k: v for k, v in inputs.items() if v is not None})
            self.assertIsNotNone(found, self.error)
            for name, array in zip([o for o in outputs if o], expected):
                self.near(found[name], array.astype(np.float32), op, 1e-4, 1e-5)

    def test_activations(self):
        x, b = floats(3, 4), floats(4)
        tanh = lambda x: 0.5 * x * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x**3)))
        self.check("Gelu", {"x": x}, [exact(x)])
        self.check("BiasGelu", {"x": x}, [exact(x + b)], {"b": b})
        self.check("FastGelu", {"x": x}, [tanh(x)])
        self.check("FastGelu", {"x": x}, [tanh(x + b)], {"b": b})
        self.check("QuickGelu", {"x": x}, [x / (1 + np.exp(-1.702 * x))])
        self.check("QuickGelu", {"x": x}, [x / (1 + np.exp(-2 * x))], alpha=2.0)

    def test_products(self):
        a, b, c = floats(2, 3, 4), floats(2, 4, 5), floats(5)
        self.check("FusedMatMul", {"a": a, "b": b}, [0.5 * (a @ b)], alpha=0.5)
        self.check("FusedMatMul", {"a": a.swapaxes(1, 2), "b": b.swapaxes(1, 2)}, [a @ b], transA=1, transB=1)
        self.check("FusedGemm", {"a": a[0]}, [np.maximum(2 * (a[0] @ b[0]) + c, 0)], {"b": b[0], "c": c},
                   alpha=2.0, activation="Relu")
        y = a[0] @ b[0] + c
        self.check("FusedGemm", {"a": a[0]}, [np.where(y < 0, 0.25 * y, y)], {"b": b[0], "c": c},
                   activation="LeakyRelu", activation_alpha=0.25)

    def test_norms(self):
        x, s, g, b, c = floats(2, 3, 8), floats(2, 3, 8), floats(8), floats(8), floats(8)
        self.check("SkipLayerNormalization", {"x": x, "s": s}, [norm(x + s, g, b)], {"g": g, "b": b})
        self.check("SkipLayerNormalization", {"x": x, "s": s}, [norm(x + s + c, g, b, 1e-3), x + s + c],
                   {"g": g, "b": b, "c": c}, ("y", "", "", "sum"), epsilon=1e-3)
        self.check("SkipSimplifiedLayerNormalization", {"x": x, "s": s}, [norm(x + s, g, 0, 1e-5, False)], {"g": g},
                   epsilon=1e-5)
        for domain in "", MS:
            self.check("SimplifiedLayerNormalization", {"x": x}, [norm(x, g, 0, 1e-6, False)], {"g": g}, domain=domain,
                       axis=-1, epsilon=1e-6)

    def test_attention(self):
        x, w, c = floats(2, 3, 8), floats(8, 24), floats(24)
        parts = np.split(x @ w + c, 3, -1)
        self.check("Attention", {"x": x}, [attend(*parts, 2)], {"w": w, "c": c}, num_heads=2)
        self.check("Attention", {"x": x}, [attend(*parts, 2, causal=True)], {"w": w, "c": c}, num_heads=2, unidirectional=1)
        keys = np.array([[1, 1, 0], [1, 0, 1]], np.int32)
        self.check("Attention", {"x": x}, [attend(*parts, 2, np.where(keys, 0, -1e30)[:, None, None])],
                   {"w": w, "c": c, "m": keys}, num_heads=2)

    def test_multi_head_attention(self):
        q, k, v, c = floats(2, 3, 8), floats(2, 5, 8), floats(2, 5, 8), floats(24)
        bias, keys = floats(1, 2, 3, 5), np.array([[1, 1, 0, 1, 1], [1, 0, 1, 1, 0]], np.int32)
        shifted = [a + b for a, b in zip((q, k, v), np.split(c, 3))]
        inputs = {"q": q, "k": k, "v": v}
        self.check("MultiHeadAttention", inputs, [attend(q, k, v, 2)], num_heads=2)
        self.check("MultiHeadAttention", inputs, [attend(*shifted, 2, np.where(keys, 0, -1e30)[:, None, None])],
                   {"c": c, "m": keys}, num_heads=2)
        self.check("MultiHeadAttention", {**inputs, "none": None, "m": None, "bias": bias}, [attend(q, k, v, 2, bias)],
                   num_heads=2)

    def test_rotary(self):
        x, cos, sin = floats(2, 2, 3, 4), floats(10, 2), floats(10, 2)
        at = np.array([[0, 1, 2], [5, 4, 9]])
        c, s = cos[at][:, None], sin[at][:, None]
        a, b = x[..., :2], x[..., 2:]
        self.check("RotaryEmbedding", {"x": x}, [np.concatenate([c * a - s * b, s * a + c * b], -1)],
                   {"p": at, "cos": cos, "sin": sin})

    def test_refused(self):
        x = floats(2, 3, 8)
        for op, inputs, attributes, message in (
                ("MultiHeadAttention", {"x": x}, {"num_heads": 2}, "packed queries, keys and values are not supported"),
                ("Attention", {"x": x, "w": floats(8, 24), "c": floats(24), "m": None, "past": x}, {"num_heads": 2},
                 r"input 4 \('past'\) is not supported"),
                ("FusedMatMul", {"x": x, "w": x}, {"transBatchA": 1}, "transBatchA and transBatchB are not supported"),
                ("NoSuchOp", {"x": x}, {}, "com.microsoft.NoSuchOp in 1 node")):
            with self.subTest(op=op), open(self.path("m.onnx"), "wb") as file:
                file.write(self.proto(op, inputs, {}, ("y",), MS, **attributes).SerializeToString())
                file.flush()
                code, _, err = run(IMPORT, file.name)
                self.assertEqual(code, dlc.BAD_MODEL, err)
                self.assertRegex(err, message)


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
