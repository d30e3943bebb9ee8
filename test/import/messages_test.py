# SPDX-License-Identifier: Apache-2.0
"""Every error that the importer writes is in a test; and tests of those that no other file has.

Of each message in compiler/import some three words that follow each other must stand in test/. UNTESTED lists what cannot be
reached, each with the reason; it only shrinks."""

import os
import re
import sys
import unittest

import numpy as np
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, os.path.dirname(__file__))
import dlc
from support import IMPORT, model, node, run, value

CALL = re.compile(r"\b(?:fail|badModel|usageError|emitError|emitWarning)\(")
LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')
UNTESTED = {
    "input 0 is missing": "ONNX's schema asks for the input first",
    "input 1 is missing": "ONNX's schema asks for the input first",
    "no operands": "ONNX's schema asks for one first",
    "expected a tensor": "ONNX's schema takes no sequence there",
    "is a sequence": "ONNX's schema takes no sequence there",
}


def statements(text):
    """From each call that reports on, to the end of its statement."""
    for call in CALL.finditer(text):
        depth, at, inside = 0, call.start(), False
        while at < len(text):
            c = text[at]
            if inside:
                at += c == "\\"
                inside = c != '"'
            elif c == '"':
                inside = True
            elif c in "([{":
                depth += 1
            elif c in ")]}":
                depth -= 1
            elif c == ";" and depth <= 0:
                break
            at += 1
        yield re.sub(r'"\s*"', "", text[call.start():at])


def fragments(statement):
    """The words of a message between what is put in, of two or more each."""
    for literal in LITERAL.findall(statement):
        for part in re.split(r"\{[^}]*\}", literal):
            words = part.replace('\\"', '"').split()
            if len(words) > 1:
                yield words


def sources(folder, endings):
    for base, _, files in os.walk(os.path.join(dlc.ROOT, folder)):
        for name in sorted(files):
            if name.endswith(endings):
                with open(os.path.join(base, name), encoding="utf-8", errors="ignore") as file:
                    yield os.path.relpath(file.name, dlc.ROOT), file.read()


class Messages(unittest.TestCase):
    def test_each_is_in_a_test(self):
        text = "\n".join(re.sub(r'"\s*\n\s*[fr]*"', "", t.replace("\\", ""))
                         for _, t in sources("test", (".py", ".mlir", ".txt", ".cpp", ".yaml")))
        text = re.sub(r"\s+", " ", text)
        known = lambda words: any(" ".join(words[i:i + 3]) in text for i in range(max(1, len(words) - 2)))
        missing, checked, unused = [], 0, set(UNTESTED)
        for path, code in sources("compiler/import", ".cpp"):
            for statement in statements(code) if "/tool/" not in path else ():
                parts = list(fragments(statement))
                checked += bool(parts)
                reasons = {" ".join(words) for words in parts} & set(UNTESTED)
                unused -= reasons
                if parts and not reasons and not any(known(words) for words in parts):
                    missing.append(f"{path}: {' ... '.join(map(' '.join, parts))}")
        self.assertGreater(checked, 300)
        self.assertEqual(missing, [], "messages of the importer that no test has")
        self.assertEqual(unused, set(), "messages that are no more")


def ints(*values):
    return np.array(values, np.int64)


F, I = np.float32, np.int64
LIST = np.zeros(4, F)
X = {"x": [2, 3]}
IMAGE = {"x": [1, 2, 5, 5]}
# (operator, inputs by name in order, known ones, attributes, message)
CASES = [
    ("Pad", X, {"p": ints(0, 1)}, {}, r"2 pads for"),
    ("Pad", X, {"p": ints(0, 1, 0, 1), "v": np.ones(2, F)}, {}, "the padding value has 2 elements, expected 1"),
    ("Pad", {}, {"x": np.zeros((2, 0), F), "p": ints(0, 1, 0, 1)}, {"mode": "edge"}, "cannot fill an empty dimension"),
    ("Gelu", X, {}, {"approximate": "sine"}, "approximate 'sine' is not supported, expected none or tanh"),
    ("Celu", X, {}, {"alpha": 0.0}, "alpha is 0"),
    ("Compress", X, {"c": np.ones(5, bool)}, {"axis": 0}, "the condition has 5 elements for a dimension of 2"),
    ("BitShift", {"x": ([2], TensorProto.UINT8)}, {"n": np.uint8(1)}, {"direction": "UP"}, "direction 'UP' is not supported, expected LEFT or RIGHT"),
    ("Gemm", {"x": [2, 3, 4]}, {"w": np.ones((4, 2), F)}, {}, r"expected matrices, found shapes \[2, 3, 4\] and \[4, 2\]"),
    ("LSTM", {"x": [3, 4]}, {"w": np.ones((1, 8, 4), F), "r": np.ones((1, 8, 2), F)}, {"hidden_size": 2},
     r"expected X and R of rank 3, found \[3, 4\]"),
    ("ReduceL2", {"x": ([4], TensorProto.INT64)}, {}, {}, "ReduceL2 of 'i64' is not supported; cast to a float type before it"),
    ("Resize", {"x": ([1, 1, 4], TensorProto.INT64)}, {"": None, "s": np.array([1, 1, 2], F)}, {"mode": "linear"},
     "mode linear of 'i64' is not supported; cast to a float type before it"),
    ("Resize", {"x": [1, 1, 4]}, {}, {}, "expected scales or sizes"),
    ("Expand", X, {"s": ints(-1, 3)}, {}, r"cannot expand to \[-1, 3\]"),
    ("ConvTranspose", IMAGE, {"w": np.ones((2, 1, 3, 3), F)}, {"output_padding": [1]},
     "expected 2 numbers in output_padding and output_shape, found"),
    ("Conv", IMAGE, {"w": np.ones((2, 2, 3, 3), F)}, {"strides": [1]}, "strides and dilations and 4 pads, found"),
    ("STFT", {"x": [1, 8, 1]}, {"step": ints(0).reshape(()), "w": LIST}, {}, "frames of 4 places, 0 apart, of a signal of 8"),
    ("STFT", {"x": [1, 1, 8, 1]}, {"step": ints(2).reshape(()), "w": LIST}, {}, r"expected a signal \[batch, length, 1 or 2\], found"),
    ("ReduceSum", X, {"a": ints(0, 0)}, {}, "repeat a dimension"),
    ("Reshape", X, {"s": ints(4, 2)}, {}, r"cannot reshape \[2, 3\]"),
    ("Slice", X, {"s": ints(0, 0), "e": ints(1), "a": ints(0, 1)}, {}, "expected as many of each"),
    ("Slice", X, {"s": ints(0, 0), "e": ints(1, 1), "a": ints(0, 0)}, {}, "slice names axis 0 twice"),
    ("Slice", X, {"s": ints(0), "e": ints(1), "a": ints(0), "k": ints(0)}, {}, "slice step 0 is not valid"),
    ("Squeeze", X, {"a": ints(0)}, {}, "cannot squeeze dimension 0"),
    ("Tile", X, {"r": ints(2)}, {}, "1 repeats for rank 2"),
    ("Tile", X, {"r": ints(2, -1)}, {}, "repeat -1 is not valid for dimension 3"),
    ("Split", X, {"s": ints(4)}, {"axis": 1}, r"split \[4\] does not divide dimension 3"),
    ("ConstantOfShape", {}, {"s": ints(2)}, {"value": LIST}, "value has 4 elements, expected 1"),
    ("Range", {}, {"a": F(0), "b": F(np.inf), "c": F(1)}, {}, "range from 0.* is not finite"),
    ("Trilu", {}, {"v": np.ones((2, 2), F), "k": ints(1, 2)}, {}, "k has 2 elements, expected 1"),
    ("Concat", {}, {"a": np.ones((2, 2), F), "b": LIST}, {"axis": 0}, r"operands \[2, 2\] and \[4\] do not concatenate along axis 0"),
    ("MelWeightMatrix", {}, {"n": ints(1).reshape(()), "d": ints(8).reshape(()), "r": ints(8000).reshape(()), "l": F(8000), "u": F(9000)}, {},
     "the edges 8000 to 9000 hertz lie outside of a transform of length 8 at 8000 samples a second"),
    ("Attention", {"x": [1, 2, 3, 4]}, {"k": np.ones((1, 2, 3, 4), F), "v": np.ones((1, 2, 3, 4), F), "": None, "p": np.ones((1, 2, 1, 4), F)},
     {}, "past_key and past_value must be given together"),
    ("ai.onnx.preview.FlexAttention", {"x": [2, 3, 4]}, {"k": np.ones((2, 3, 4), F), "v": np.ones((2, 3, 4), F)}, {},
     r"expected Q, K and V of rank 4, found \[2, 3, 4\]"),
    ("RandomNormalLike", X, {}, {"dtype": TensorProto.INT64}, "expected a float type of random numbers, found"),
]


class Refused(dlc.TestCase):
    def refused(self, proto, message):
        with open(self.path("m.onnx"), "wb") as file:
            file.write(proto.SerializeToString())
        code, _, err = run(IMPORT, file.name)
        self.assertEqual(code, dlc.BAD_MODEL, err)
        self.assertRegex(err, message)

    def test_operators(self):
        for op, inputs, known, attributes, message in CASES:
            with self.subTest(op=op, message=message):
                forms = {k: v if isinstance(v, tuple) else (v, TensorProto.FLOAT) for k, v in inputs.items()}
                domain, _, name = op.rpartition(".")
                attributes = {k: numpy_helper.from_array(v) if isinstance(v, np.ndarray) else v for k, v in attributes.items()}
                proto = model([node(name, [*inputs, *known], ["y"], domain=domain, **attributes)],
                              [value(k, *form) for k, form in forms.items()], [value("y", None)],
                              {k: v for k, v in known.items() if k}, opset=25, domains=[domain] if domain else [])
                proto.graph.output[0].ClearField("type")
                proto.ir_version = 11
                self.refused(proto, message)

    def test_scan_inputs_of_different_lengths(self):
        body = helper.make_graph([node("Add", ["a", "b"], ["c"])], "body", [value("a", []), value("b", [])], [value("c", [])])
        proto = model([node("Scan", ["x", "z"], ["y"], body=body, num_scan_inputs=2)], [value("x", [3]), value("z", [4])], [value("y", [3])])
        self.refused(proto, "scan inputs have 3 and 4 steps, expected one number")

    def test_results_of_a_loop_that_grow(self):
        body = helper.make_graph([node("Concat", ["a", "x"], ["b"], axis=0), node("Identity", ["go"], ["on"]), node("Identity", ["b"], ["s"])],
                                 "body", [value("i", [], TensorProto.INT64), value("go", [], TensorProto.BOOL), value("a", None)],
                                 [value("on", [], TensorProto.BOOL), value("b", None), value("s", None)])
        proto = model([node("Loop", ["n", "", "x"], ["last", "y"], body=body)], [value("x", [3])], [value("y", None)], {"n": ints(2).reshape(())})
        self.refused(proto, "differ in type or shape between iterations")


if __name__ == "__main__":
    dlc.main()
