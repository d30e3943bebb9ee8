# SPDX-License-Identifier: Apache-2.0
"""Each node is what ONNX says its operator is: inputs, attributes and types that are not are refused, with the node."""

import os
import sys

import numpy as np
from onnx import AttributeProto, TensorProto, helper, numpy_helper

sys.path.insert(0, os.path.dirname(__file__))
import dlc
from support import IMPORT, model, node, run, value

BOOL, INT = TensorProto.BOOL, TensorProto.INT64
IMAGE = [1, 3, 8, 8]


class Schema(dlc.TestCase):
    def run_import(self, proto):
        with open(self.path("m.onnx"), "wb") as file:
            file.write(proto.SerializeToString())
        return run(IMPORT, self.path("m.onnx"), "--quiet")

    def refuse(self, proto, message):
        code, _, err = self.run_import(proto)
        self.assertEqual(code, dlc.BAD_MODEL, err)
        self.assertRegex(err, message)

    def accept(self, proto):
        code, _, err = self.run_import(proto)
        self.assertEqual(code, dlc.OK, err)
        return err

    def one(self, op, inputs, output=TensorProto.FLOAT, shape=(2, 2), opset=17, outputs=("y",), weights=None, **attributes):
        """One node, named "tested", of graph inputs `inputs`: name -> type."""
        infos = [value(name, shape, kind) for name, kind in inputs.items()]
        names = list(inputs) + list(weights or {})
        return model([node(op, names, list(outputs), name="tested", **attributes)], infos,
                     [value(o, None, output) for o in outputs if o], weights, opset=opset)


class Form(Schema):
    def test_arity(self):
        f = TensorProto.FLOAT
        self.refuse(self.one("Add", {"a": f}), r"node 'tested' \(Add\): has 1 inputs, expected 2")
        self.refuse(self.one("Add", {"a": f, "b": f, "c": f}), r"\(Add\): has 3 inputs, expected 2")
        self.refuse(self.one("Concat", {}, axis=0), r"\(Concat\): has 0 inputs, expected at least 1")
        self.refuse(self.one("Relu", {"a": f}, outputs=("y", "z")), r"has 2 outputs, expected 1")
        self.refuse(self.one("Clip", dict.fromkeys("abcd", f)), r"has 4 inputs, expected 1 to 3")

    def test_left_out(self):
        for names, message in (["", "x"], r"input 0 \(A\) is left out, but it is required"), \
                              (["x", ""], r"input 1 \(B\) is left out"):
            proto = model([node("Add", names, ["y"], name="tested")], [value("x", [2])], [value("y", [2])])
            self.refuse(proto, r"node 'tested' \(Add\): " + message)
        self.accept(model([node("Clip", ["x", "", ""], ["y"])], [value("x", [2])], [value("y", [2])]))

    def test_attributes(self):
        f = {"a": TensorProto.FLOAT}
        self.refuse(self.one("Relu", f, alpha=1.0), r"'tested' \(Relu\): attribute 'alpha' is not one of Relu since opset 14")
        self.refuse(self.one("LeakyRelu", f, alpha=1), r"attribute 'alpha' has type INT, expected FLOAT")
        self.refuse(self.one("Cast", f), r"\(Cast\): attribute 'to' is missing")
        self.refuse(self.one("Concat", f), r"attribute 'axis' is missing")
        for op, attribute, opset in ("ReduceMean", "axes", 18), ("Split", "num_outputs", 17), ("Cast", "saturate", 18):
            content = {attribute: [0] if attribute == "axes" else 1}
            extra = {"to": 1} if op == "Cast" else {}
            self.refuse(self.one(op, f, opset=opset, **content, **extra), f"attribute '{attribute}' is not one of {op}")
        self.accept(self.one("ReduceMean", f, opset=17, axes=[0]))

    def test_attribute_twice(self):
        proto = self.one("LeakyRelu", {"a": TensorProto.FLOAT}, alpha=0.5)
        proto.graph.node[0].attribute.append(helper.make_attribute("alpha", 0.25))
        self.refuse(proto, r"attribute 'alpha' is given twice")

    def test_attribute_of_two_contents(self):
        proto = self.one("LeakyRelu", {"a": TensorProto.FLOAT}, alpha=0.5)
        proto.graph.node[0].attribute[0].ints.append(3)
        self.refuse(proto, r"attribute 'alpha' of type FLOAT holds INTS")

    def test_attribute_without_content_is_zero(self):
        proto = self.one("Concat", {"a": TensorProto.FLOAT}, axis=0)
        proto.graph.node[0].attribute[0].ClearField("i")  # as writers of proto3 do
        self.accept(proto)

    def test_reference_outside_of_a_function(self):
        proto = self.one("LeakyRelu", {"a": TensorProto.FLOAT})
        proto.graph.node[0].attribute.append(
            AttributeProto(name="alpha", type=AttributeProto.FLOAT, ref_attr_name="slope"))
        self.refuse(proto, r"attribute 'alpha' refers to 'slope' of a function")

    def test_inside_of_functions(self):
        def called(inner, given):
            inner.attribute.append(AttributeProto(name="alpha", type=AttributeProto.FLOAT, ref_attr_name="slope"))
            function = helper.make_function("own", "F", ["a"], ["b"], [inner],
                                            [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)], ["slope"])
            return model([node("F", ["x"], ["y"], domain="own", name="call", **given)], [value("x", [2])],
                         [value("y", [2])], functions=[function], domains=["own"])
        self.accept(called(node("LeakyRelu", ["a"], ["b"], name="inner"), {"slope": 0.5}))
        self.accept(called(node("LeakyRelu", ["a"], ["b"], name="inner"), {}))  # left out: the default
        self.refuse(called(node("LeakyRelu", ["a"], ["b"], name="inner"), {"slope": 5}),
                    r"node 'call#1/inner' \(LeakyRelu\): attribute 'alpha' has type INT")
        self.refuse(called(node("Relu", ["a"], ["b"], name="inner"), {"slope": 0.5}), r"attribute 'alpha' is not one of Relu")


class Types(Schema):
    def test_input_types(self):
        f = TensorProto.FLOAT
        for op, kind, count, message in [
                ("And", f, 2, r"input 'a' \(A\) has type FLOAT, but And takes BOOL there"),
                ("Not", f, 1, r"\(X\) has type FLOAT, but Not takes BOOL"), ("Tanh", INT, 1, r"has type INT64, but Tanh"),
                ("Sqrt", TensorProto.INT32, 1, r"has type INT32"), ("Softmax", INT, 1, "has type INT64"),
                ("Neg", BOOL, 1, "has type BOOL"), ("Less", BOOL, 2, "has type BOOL"), ("IsNaN", INT, 1, "has type INT64")]:
            with self.subTest(op=op):
                proto = self.one(op, dict.fromkeys("ab"[:count], kind), output=BOOL if count == 2 else kind)
                self.refuse(proto, "tested.*" + message)

    def test_one_type_for_all(self):
        f = TensorProto.FLOAT
        self.refuse(self.one("Add", {"a": f, "b": INT}), r"input 'b' \(B\) has type INT64, expected FLOAT as 'a' has")
        self.refuse(self.one("Concat", {"a": f, "b": f, "c": TensorProto.FLOAT16}, axis=0),
                    r"input 'c' \(inputs\) has type FLOAT16, expected FLOAT as 'a' has")
        self.refuse(self.one("Where", {"c": BOOL, "a": f, "b": INT}), r"input 'b' \(Y\) has type INT64")
        self.accept(self.one("Pow", {"a": f, "b": INT}))
        self.refuse(self.one("Gather", {"a": f, "b": f}), r"input 'b' \(indices\) has type FLOAT")

    def test_values_known_at_import(self):
        zero = np.zeros(2, np.int64)
        proto = model([node("Tanh", ["c"], ["t"], name="tested"), node("Add", ["x", "t"], ["y"])],
                      [value("x", [2])], [value("y", [2])], {"c": zero})
        self.refuse(proto, r"tested.*has type INT64, but Tanh")
        proto = model([node("Slice", ["x", "start", "end"], ["y"], name="tested")], [value("x", [2])], [value("y", None)],
                      {"start": np.zeros(1, np.float32), "end": np.ones(1, np.float32)})
        self.refuse(proto, r"tested.*input 'start' \(starts\) has type FLOAT")

    def test_declared(self):
        f = TensorProto.FLOAT
        self.refuse(self.one("Less", {"a": f, "b": f}), r"tested.*value 'y' is declared as FLOAT, but has type BOOL")
        self.refuse(self.one("Shape", {"a": f}), r"'y' is declared as FLOAT, but has type INT64")
        nodes = [node("Relu", ["x"], ["h"], name="tested"), node("Relu", ["h"], ["y"])]
        for name in "h", "x":
            proto = model(nodes, [value("x", [2])], [value("y", [2])])
            proto.graph.value_info.append(value(name, [2], TensorProto.DOUBLE))
            self.refuse(proto, f"value '{name}' is declared as DOUBLE, but has type FLOAT")
        proto = model(nodes, [value("x", [2])], [value("y", [2])])
        proto.graph.value_info.append(value("h", [3]))
        self.assertRegex(self.accept(proto), "1 value is of another shape than the file declares .the first is 'h'")

    def test_initializer_that_is_an_input(self):
        def declared(kind, shape):
            return model([node("MatMul", ["x", "w"], ["y"])], [value("x", [2, 3]), value("w", shape, kind)],
                         [value("y", None)], {"w": np.ones((3, 3), np.float32)})
        self.accept(declared(TensorProto.FLOAT, [3, 3]))
        self.accept(declared(TensorProto.FLOAT, ["a", 3]))
        for kind, shape in (INT, [3, 3]), (TensorProto.FLOAT, [3, 4]), (TensorProto.FLOAT, [9]):
            self.refuse(declared(kind, shape), r"initializer 'w' is FLOAT \[3, 3\], but the graph input")

    def test_tensors_out_of_range(self):
        for kind, number, message in (BOOL, 300, r"holds 300, but BOOL has 0 to 1"), (BOOL, -1, "holds -1"), \
                (TensorProto.UINT8, 256, r"holds 256, but UINT8 has 0 to 255"), \
                (TensorProto.FLOAT16, 65536, r"FLOAT16 has 0 to 65535"), (TensorProto.BFLOAT16, -1, "holds -1"):
            tensor = TensorProto(name="w", data_type=kind, dims=[2], int32_data=[0, number])
            for named in True, False:
                proto = model([node("Cast", ["w"], ["c"], to=1), node("Add", ["x", "c"], ["y"])], [value("x", [2])],
                              [value("y", [2])])
                if named:
                    proto.graph.initializer.append(tensor)
                else:
                    proto.graph.node.insert(0, node("Constant", [], ["w"], value=tensor))
                self.refuse(proto, message)
        raw = numpy_helper.from_array(np.array([0, 7], np.uint8), "w")
        raw.data_type = BOOL
        proto = model([node("Not", ["w"], ["y"])], [], [value("y", [2], BOOL)])
        proto.graph.initializer.append(raw)
        self.refuse(proto, "a BOOL is neither 0 nor 1")


class Names(Schema):
    def test_outputs(self):
        proto = self.one("Relu", {"a": TensorProto.FLOAT})
        proto.graph.output.append(proto.graph.output[0])
        self.refuse(proto, r"graph output 'y' is declared twice")


if __name__ == "__main__":
    dlc.main()
