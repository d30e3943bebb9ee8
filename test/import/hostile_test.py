# SPDX-License-Identifier: Apache-2.0
"""Files made to hurt a reader: each is refused with exit code 3 and a message that names the culprit."""

import hashlib
import os
import resource
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper

sys.path.insert(0, os.path.dirname(__file__))
import dlc
from support import IMPORT, linear, model, node, run, value

MEMORY = 512 << 20


class Hostile(dlc.TestCase):
    def write(self, proto, name="m.onnx"):
        content = proto if isinstance(proto, bytes) else proto.SerializeToString()
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "wb") as file:
            file.write(content)
        return self.path(name)

    def refuse(self, proto, message, *flags, path=None, cwd=None, expected=dlc.BAD_MODEL):
        path = path or self.write(proto)
        code, out, err = run(IMPORT, path, "--quiet", *flags, cwd=cwd)
        self.assertEqual(code, expected, out + err)
        self.assertRegex(err, message)
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss << 10
        self.assertLess(peak, MEMORY, "memory of the importer")

    def accept(self, proto, *flags, path=None, cwd=None):
        code, out, err = run(IMPORT, path or self.write(proto), "--quiet", *flags, cwd=cwd)
        self.assertEqual(code, dlc.OK, err)


class Format(Hostile):
    def test_good_model(self):
        self.accept(linear())

    def test_missing(self):
        self.refuse(None, "none.onnx: no such file", path=self.path("none.onnx"), expected=dlc.FAILED)

    def test_not_a_file(self):
        self.refuse(None, "not a regular file", path=self.folder)
        os.mkfifo(self.path("pipe"))
        self.refuse(None, "not a regular file", path=self.path("pipe"))

    def test_empty(self):
        self.refuse(b"", "the file is empty")

    def test_text(self):
        self.refuse(b"hello, world\n" * 9, 'a text file that starts with "hello, world"')

    def test_truncated(self):
        content = linear().SerializeToString()
        for length in range(1, len(content) - 1, 7):
            with self.subTest(length=length):
                self.refuse(content[:length], r"m\.onnx: ")

    def test_sparse_file_of_3_gib(self):
        path = self.write(b"\x08\x09")
        os.truncate(path, 3 << 30)
        self.refuse(None, "2 GiB - 1; save the weights as external data", path=path)

    def nested(self, depth):
        """Subgraphs in each other, as bytes: Python's own encoder refuses such depth."""
        def field(number, content):
            length, prefix = len(content), b""
            while length >= 0x80:
                prefix, length = prefix + bytes([length & 0x7F | 0x80]), length >> 7
            return bytes([number << 3 | 2]) + prefix + bytes([length]) + content
        graph = b""
        for _ in range(depth):
            attribute = field(1, b"then_branch") + field(6, graph) + b"\xa0\x01\x05"
            graph = field(1, field(2, b"y") + field(4, b"If") + field(5, attribute)) + field(12, field(1, b"y"))
        return b"\x08\x08" + field(7, graph) + field(8, field(1, b"") + b"\x10\x11")

    def test_deep_nesting(self):
        self.refuse(self.nested(20), "graphs are nested deeper than 16")
        self.refuse(self.nested(40), "do not parse .truncated, corrupt, nested deeper than 100")
        self.refuse(self.nested(20000), "do not parse")
        self.refuse(self.nested(3), "node If -> 'y': has 0 inputs, expected 1")

    def test_versions(self):
        proto = linear()
        proto.ir_version = 99
        self.refuse(proto, "IR version 99, expected 3 to 14")
        for opset, message in (6, "opset 6 is older than 7"), (29, "opset 29 is newer than 28"):
            self.refuse(model([node("Relu", ["x"], ["y"])], [value("x", [2])], [value("y", [2])],
                              opset=opset), message)
        proto = linear()
        del proto.opset_import[:]
        self.refuse(proto, "no opset of ai.onnx is imported")
        proto.opset_import.extend([helper.make_opsetid("", 13), helper.make_opsetid("ai.onnx", 14)])
        self.refuse(proto, "opsets 13 and 14 of ai.onnx are both imported")


class Graph(Hostile):
    def graph(self, *nodes, outputs=("y",), opset=17):
        return model(list(nodes), [value("x", [2, 2])], [value(o, [2, 2]) for o in outputs],
                     {"w": np.ones((2, 2), np.float32)}, opset=opset)

    def test_duplicate_names(self):
        self.refuse(self.graph(node("Relu", ["x"], ["y"]), node("Tanh", ["x"], ["y"], name="second")),
                    "node 'second' .Tanh.: output 'y' is already defined")
        self.refuse(self.graph(node("Relu", ["x"], ["w"], name="r")), "output 'w' is already defined")
        proto = linear()
        proto.graph.initializer.append(proto.graph.initializer[0])
        self.refuse(proto, "initializer 'w' is defined twice")
        proto = linear()
        proto.graph.input.append(proto.graph.input[0])
        self.refuse(proto, "graph input 'x' is declared twice")

    def test_no_outputs(self):
        self.refuse(self.graph(node("Relu", ["x"], ["y"]), outputs=[]), "the graph has no outputs")

    def test_undefined(self):
        self.refuse(self.graph(node("Add", ["x", "nowhere"], ["y"], name="sum")),
                    "node 'sum' .Add.: input 'nowhere' is not defined")
        self.refuse(self.graph(node("Relu", ["x"], ["y"]), outputs=["y", "lost"]),
                    "graph output 'lost' is not defined")

    def test_cycle(self):
        self.refuse(self.graph(node("Add", ["x", "b"], ["a"], name="one"), node("Relu", ["a"], ["b"], name="two"),
                               node("Relu", ["b"], ["y"], name="three")),
                    "cycle: node 'one' .Add., node 'two' .Relu.")

    def test_unsorted_is_sorted(self):
        self.accept(self.graph(node("Relu", ["a"], ["y"]), node("Tanh", ["x"], ["a"])))

    def test_long_chain(self):
        nodes = [node("Relu", [f"v{i}" if i else "x"], [f"v{i + 1}"]) for i in range(20000)]
        self.accept(self.graph(*reversed(nodes), outputs=["v20000"]))

    def test_attribute_of_another_type(self):
        self.refuse(self.graph(node("Softmax", ["x"], ["y"], axis="last", name="s")),
                    "attribute 'axis' has type STRING, expected INT")

    def test_sizes_out_of_range(self):
        for proto, message in [
            (self.graph(node("Split", ["x"], ["y", "z"], axis=7, name="s")), "axis 7 is out of range"),
            (self.graph(node("Transpose", ["x"], ["y"], perm=[0, 0], name="t")), "not a permutation"),
            (self.graph(node("Softmax", ["x"], ["y"], axis=-3, name="s")), "axis -3 is out of range"),
        ]:
            self.refuse(proto, message)

    def image(self, **attributes):
        return model([node("Conv", ["x", "w"], ["y"], name="c", **attributes)], [value("x", [1, 1, 8, 8])],
                     [value("y", None)], {"w": np.ones((1, 1, 3, 3), np.float32)})

    def test_windows(self):
        self.accept(self.image())
        for attributes in [dict(strides=[0, 1]), dict(dilations=[0, 0]), dict(pads=[-9, 0, 0, 0]),
                           dict(strides=[2**62, 1]), dict(pads=[2**62] * 4), dict(group=0), dict(group=-1),
                           dict(kernel_shape=[9, 9]), dict(strides=[1]), dict(dilations=[7, 7]),
                           dict(auto_pad="NEAR")]:
            with self.subTest(**attributes):
                self.refuse(self.image(**attributes), r'loc.*"c"')

    def test_permutations(self):
        def transposed(perm, dtype):
            """Of a weight, or of a constant that is folded."""
            return model([node("Transpose", ["c"], ["t"], perm=perm), node("Cast", ["t"], ["f"], to=1),
                          node("MatMul", ["x", "f"], ["y"])], [value("x", [2, 3])], [value("y", [2, 2])],
                         {"c": np.arange(6, dtype=dtype).reshape(2, 3)})

        for dtype in np.float32, np.int64:
            for perm in [0, 0], [0], [0, 1, 2], [0, 2], [-3, 0], [2**62, 0], [-2**63, 0]:
                with self.subTest(perm=perm, dtype=dtype):
                    self.refuse(transposed(perm, dtype), "Transpose.*not a permutation")
            code, out, err = run(IMPORT, self.write(transposed([-1, -2], dtype)))  # from the end
            self.assertEqual(code, dlc.OK, err)
            self.assertIn("tensor<3x2xf32>", out)
            if dtype == np.int64:
                self.assertIn("[[0.000000e+00, 3.000000e+00], [1.000000e+00, 4.000000e+00], [2.0", out)

    def test_zero_and_negative_split(self):
        for split in [0, 0], [-1, 3], [2, 1], [2**62, 2**62]:
            with self.subTest(split=split):
                proto = model([node("Split", ["x", "s"], ["y", "z"], name="cut")], [value("x", [2, 2])],
                              [value("y", None)], {"s": np.array(split, np.int64)})
                self.refuse(proto, "split .* does not")

    def test_sequence_step(self):
        for step in 0, -1:
            proto = model([node("SplitToSequence", ["x", "s"], ["q"], name="cut"),
                           node("SequenceAt", ["q", "i"], ["y"])], [value("x", [2, 2])], [value("y", None)],
                          {"s": np.array(step, np.int64), "i": np.array(0, np.int64)})
            self.refuse(proto, "cannot split dimension 2 into parts of")

    def test_sequences(self):
        two = node("SequenceConstruct", ["x", "x"], ["q"])
        none = node("SequenceEmpty", [], ["q"])
        for nodes, message in [
            ([two, node("SequenceAt", ["q", "2"], ["y"])], "position 2 is outside of a sequence of 2"),
            ([two, node("SequenceAt", ["q", "-3"], ["y"])], "position -3 is outside of a sequence of 2"),
            ([two, node("SequenceAt", ["q", "many"], ["y"])], "the position has 2 numbers, expected one"),
            ([two, node("SequenceInsert", ["q", "x", "3"], ["r"]), node("SequenceAt", ["r", "0"], ["y"])],
             "position 3 is outside of a sequence of 2"),
            ([two, node("SequenceErase", ["q", "2"], ["r"]), node("SequenceAt", ["r", "0"], ["y"])],
             "position 2 is outside of a sequence of 2"),
            ([two, node("ConcatFromSequence", ["q"], ["y"], axis=2)], "axis 2"),
            ([node("Flatten", ["x"], ["f"]), node("Squeeze", ["x"], ["g"]), node("SequenceConstruct", ["f", "g"], ["q"]),
              node("ConcatFromSequence", ["q"], ["y"], axis=0)], "tensors of rank 2 and 1, expected one rank"),
            ([none, node("SequenceAt", ["q", "0"], ["y"])], "the sequence is empty"),
            ([none, node("SequenceErase", ["q"], ["r"]), node("ConcatFromSequence", ["r"], ["y"], axis=0)], "the sequence is empty"),
            ([none, node("ConcatFromSequence", ["q"], ["y"], axis=0)], "the sequence is empty"),
            ([node("SequenceAt", ["x", "0"], ["y"])], "input 0 .* is FLOAT|sequence"),
            ([two, node("Identity", ["q"], ["y"])], "declared as FLOAT, but has type sequence of FLOAT"),
        ]:
            with self.subTest(message):
                weights = {str(i): np.array(i) for i in (-3, 0, 2, 3)} | {"many": np.array([0, 1])}
                self.refuse(model(nodes, [value("x", [2, 1])], [value("y", None)], weights), message)


class Bombs(Hostile):
    """Small files that ask for much memory or time."""

    def folded(self, *nodes, **weights):
        return model(list(nodes), [value("x", [1])], [value("y", None)],
                     {k: np.array(v, np.int64) for k, v in weights.items()})

    def test_constant_of_shape(self):
        self.refuse(self.folded(node("ConstantOfShape", ["s"], ["y"], name="big"), s=[2**20, 2**15]),
                    "folding a value of shape .* needs 274877906944 bytes")
        self.refuse(self.folded(node("ConstantOfShape", ["s"], ["y"], name="big"), s=[2**40, 2**40]), "2.40 elements")
        self.refuse(self.folded(node("ConstantOfShape", ["s"], ["y"], name="big"), s=[-1]), "negative dimension")

    def test_expand_tile_range(self):
        self.refuse(self.folded(node("Expand", ["s", "s"], ["y"], name="big"), s=[2**30]), "folding a value")
        self.refuse(self.folded(node("Tile", ["s", "s"], ["y"], name="big"), s=[2**62]), "repeat|elements")
        self.refuse(self.folded(node("Range", ["a", "b", "c"], ["y"], name="big"), a=0, b=2**62, c=1), "range")
        self.refuse(self.folded(node("Range", ["a", "b", "c"], ["y"], name="big"), a=0, b=5, c=0), "range")

    def test_tile_of_an_input(self):
        self.refuse(self.folded(node("Tile", ["x", "s"], ["y"], name="big"), s=[2**62]), "elements|out of range")

    def test_many_folds(self):
        nodes = [node("ConstantOfShape", ["s"], [f"c{i}"]) for i in range(64)]
        nodes.append(node("Sum", ["x"] + [f"c{i}" for i in range(64)], ["y"]))
        self.refuse(self.folded(*nodes, s=[1 << 20]), "left of the import's budget")

    def test_folds_that_do_not_overlap(self):
        nodes, last = [], "s"
        for i in range(200):
            nodes += [node("Add", [last, last], [f"c{i}"])]
            last = f"c{i}"
        nodes.append(node("Cast", [last], ["y"], to=TensorProto.FLOAT))
        self.accept(self.folded(*nodes, s=np.arange(1 << 18)))

    def function(self, name, *calls):
        body = [node(c, ["a"], [f"t{i}"], domain="f") for i, c in enumerate(calls)]
        body.append(node("Relu", ["a"], ["b"]))
        return helper.make_function("f", name, ["a"], ["b"], body,
                                    [helper.make_opsetid("", 17), helper.make_opsetid("f", 1)])

    def calling(self, name, functions):
        return model([node(name, ["x"], ["y"], domain="f", name="call")], [value("x", [2])], [value("y", [2])],
                     functions=functions, domains=["f"])

    def test_function_is_inlined(self):
        self.accept(self.calling("outer", [self.function("outer", "inner"), self.function("inner")]))

    def test_recursion(self):
        self.refuse(self.calling("a", [self.function("a", "b"), self.function("b", "a")]),
                    "function 'f::a' calls itself")

    def test_recursion_through_a_subgraph(self):
        branch = helper.make_graph([node("a", ["a"], ["q"], domain="f")], "g", [], [value("q", [2])])
        body = [node("If", ["a"], ["b"], then_branch=branch, else_branch=branch)]
        function = helper.make_function("f", "a", ["a"], ["b"], body,
                                        [helper.make_opsetid("", 17), helper.make_opsetid("f", 1)])
        self.refuse(self.calling("a", [function]), "function 'f::a' calls itself")

    def test_chain_of_3000(self):
        chain = [self.function(f"f{i}", f"f{i + 1}") for i in range(3000)] + [self.function("f3000")]
        self.refuse(self.calling("f0", chain), "more than 64 calls deep")

    def test_exponential_calls(self):
        chain = [self.function(f"f{i}", *[f"f{i + 1}"] * 8) for i in range(30)] + [self.function("f30")]
        self.refuse(self.calling("f0", chain), "inlining function .* needs")


class Tensors(Hostile):
    def changed(self, change):
        proto = linear()
        change(proto.graph.initializer[0])
        return proto

    def test_shapes(self):
        def dims(*values):
            def change(tensor):
                tensor.dims[:] = values
            return change
        self.refuse(self.changed(dims(-8, -3)), "tensor 'w' has a negative dimension -8")
        self.refuse(self.changed(dims(2**62, 4)), "tensor 'w' has more than 2.40 elements")
        self.refuse(self.changed(dims(2**32, 2**32)), "tensor 'w' has more than 2.40 elements")
        self.refuse(self.changed(dims(*[1] * 9)), "tensor 'w' has rank 9, expected at most 8")
        self.refuse(self.changed(dims(9, 3)), "tensor 'w': raw_data has 96 bytes, expected 108")

    def test_two_payloads(self):
        def change(tensor):
            tensor.float_data.extend(range(24))
        self.refuse(self.changed(change), "tensor 'w': both raw_data and float_data are set")

    def test_no_payload(self):
        self.refuse(self.changed(lambda t: t.ClearField("raw_data")), "tensor 'w': no data, expected 96 bytes")

    def test_ragged_payload(self):
        def change(tensor):
            tensor.raw_data = tensor.raw_data[:-1]
        self.refuse(self.changed(change), "raw_data has 95 bytes, expected 96")

    def test_data_types(self):
        for kind, name in (TensorProto.COMPLEX64, "COMPLEX64"), (TensorProto.STRING, "STRING"), (77, "type 77"), (0, "UNDEFINED"):
            with self.subTest(name=name):
                def change(tensor):
                    tensor.data_type = kind
                self.refuse(self.changed(change), f"tensor 'w': data type {name} is not supported")

    def test_packed_elements(self):
        def change(tensor):
            tensor.data_type = TensorProto.INT4
        self.refuse(self.changed(change), "raw_data has 96 bytes, expected 12 for its shape and type")

    def test_payload_in_the_wrong_field(self):
        def change(tensor):
            tensor.ClearField("raw_data")
            tensor.int64_data.extend(range(24))
        self.refuse(self.changed(change), "float_data has 0 elements, expected 24")

    def test_bool_of_2(self):
        proto = model([node("Where", ["c", "x", "x"], ["y"])], [value("x", [2])], [value("y", [2])],
                      {"c": np.array([True, False])})
        proto.graph.initializer[0].raw_data = b"\x02\x00"
        self.refuse(proto, "tensor 'c': a BOOL is neither 0 nor 1")

    def test_constant_node(self):
        tensor = helper.make_tensor("t", TensorProto.FLOAT, [4], bytes(16), raw=True)
        tensor.raw_data = bytes(12)
        self.refuse(model([node("Constant", [], ["c"], value=tensor, name="k"), node("Add", ["x", "c"], ["y"])],
                          [value("x", [4])], [value("y", [4])]), "raw_data has 12 bytes, expected 16")


class External(Hostile):
    def external(self, *entries, name="in/m.onnx"):
        proto = linear()
        tensor = proto.graph.initializer[0]
        tensor.ClearField("raw_data")
        tensor.data_location = TensorProto.EXTERNAL
        for key, text in entries:
            tensor.external_data.add(key=key, value=text)
        return self.write(proto, name)

    def canary(self):
        """A file of the right size that must not be read."""
        self.write(bytes(96), "canary.bin")
        return self.path("canary.bin")

    def refuse_at(self, location, message, *entries):
        self.refuse(None, message, path=self.external(("location", location), *entries))

    def test_good(self):
        self.write(bytes(200), "in/sub/w.bin")
        self.accept(None, path=self.external(("location", "sub/w.bin"), ("offset", "100"), ("length", "96")))
        self.accept(None, path="m.onnx", cwd=self.path("in"))  # a model path without a folder
        self.accept(None, path="in/m.onnx", cwd=self.folder)

    def test_checksum(self):
        self.write(b"a" * 96, "in/w.bin")
        digest = hashlib.sha1(b"a" * 96).hexdigest()
        self.accept(None, path=self.external(("location", "w.bin"), ("checksum", digest)))
        self.refuse_at("w.bin", "SHA-1 of 'w.bin' is", ("checksum", "0" * 40))

    def test_outside(self):
        canary = self.canary()
        for location, message in [("../canary.bin", "contains '..'"), (canary, "is absolute"),
                                  ("x/../../canary.bin", "contains '..'"), ("", "is missing"),
                                  ("./../canary.bin", "contains '..'")]:
            with self.subTest(location=location):
                self.refuse_at(location, message)

    def test_outside_with_a_bare_model_path(self):
        self.canary()
        self.external(("location", "../canary.bin"))
        self.refuse(None, "contains '..'", path="m.onnx", cwd=self.path("in"))

    def test_links(self):
        canary = self.canary()
        path = self.external(("location", "w.bin"))
        os.symlink(canary, self.path("in/w.bin"))
        self.refuse(None, "symbolic link", path=path)
        os.remove(self.path("in/w.bin"))
        os.link(canary, self.path("in/w.bin"))
        self.refuse(None, "hard link", path=path)
        os.symlink(self.folder, self.path("in/sub"))
        self.refuse_at("sub/canary.bin", "symbolic link")
        os.symlink("/proc/self", self.path("in/proc"))
        self.refuse_at("proc/environ", "symbolic link")

    def test_special_files(self):
        path = self.external(("location", "w.bin"))
        os.mkfifo(self.path("in/w.bin"))
        self.refuse(None, "not a regular file", path=path)
        self.refuse_at(".", "not a regular file|cannot open")

    def test_missing(self):
        self.refuse_at("none.bin", "cannot open external data 'none.bin'")

    def test_ranges(self):
        self.write(bytes(100), "in/w.bin")
        for entries in [[("offset", "5")], [("offset", str(2**64 - 1))], [("offset", str(2**63))]]:
            with self.subTest(entries=entries):
                self.refuse_at("w.bin", "outside 'w.bin' of 100 bytes", *entries)
        self.refuse_at("w.bin", "length is 95, expected 96", ("length", "95"))
        self.refuse_at("w.bin", "length is 1152921504606846976, expected 96", ("length", str(2**60)))
        for text in "-4", "4x", "", "0x10", str(2**64):
            self.refuse_at("w.bin", "is not a number of bytes", ("offset", text))

    def test_keys(self):
        self.write(bytes(100), "in/w.bin")
        self.refuse_at("w.bin", "unknown external data key '__class__'", ("__class__", "x"))
        self.refuse_at("w.bin", "key 'location' is given twice", ("location", "w.bin"))

    def test_external_constant(self):
        self.write(bytes(96), "in/w.bin")
        tensor = TensorProto(name="t", data_type=TensorProto.FLOAT, dims=[24], data_location=TensorProto.EXTERNAL)
        tensor.external_data.add(key="location", value="w.bin")
        proto = model([node("Constant", [], ["c"], value=tensor), node("Add", ["x", "c"], ["y"])],
                      [value("x", [24])], [value("y", [24])])
        self.refuse(None, "Constant with external data", path=self.write(proto, "in/m.onnx"))


class Options(Hostile):
    def test_unsupported_operators_in_one_error(self):
        proto = model([node("Multinomial", ["x"], ["a"], name="first"), node("Multinomial", ["a"], ["b"], name="second"),
                       node("Foo", ["b"], ["c"], name="third", domain="com.x"), node("Relu", ["c"], ["y"]),
                       node("STFT", ["x", "x"], ["dead"], name="unused")],
                      [value("x", [2, 2])], [value("y", [2, 2])], domains=["com.x"])
        self.refuse(proto, r"(?s)2 operators.*Multinomial in 2 nodes: 'first', 'second'.*com\.x\.Foo in 1 node: 'third'")

    def test_operator_newer_than_the_opset(self):
        self.refuse(model([node("Gelu", ["x"], ["y"])], [value("x", [2])], [value("y", [2])], opset=17),
                    r"Gelu \(in opset 17 only from 20\)")

    def test_dimensions(self):
        def shaped(*dims):
            return model([node("Relu", ["x"], ["y"])], [value("x", dims)], [value("y", None)])
        self.refuse(shaped("batch", 4), "input 'x': dimension 0 .'batch'. is symbolic; bind it with --batch=N")
        self.accept(shaped("batch", 4), "--batch=2")
        self.accept(shaped("batch", "time"), "--batch=2", "--dim=time=7")
        self.refuse(shaped("batch", "time"), "'time'. is symbolic; bind it with --dim time=N", "--batch=2")
        self.accept(shaped(16, 4), "--batch=2")
        self.refuse(shaped(None, None), "dimension 1 is neither a number nor named", "--batch=2")
        self.refuse(shaped("batch"), "--dim time=3: no input has", "--batch=2", "--dim=time=3",
                    expected=dlc.USAGE)
        self.refuse(shaped("batch", 2**50), "more than 2.40 elements", "--batch=2")


if __name__ == "__main__":
    dlc.main()
