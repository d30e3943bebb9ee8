# SPDX-License-Identifier: Apache-2.0
"""Small models that ask for much: builders of files under 2 MB whose numbers or repetitions stand for far more."""

import os

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from support import call, model, node, value

EXTERNAL = "data.bin"


def ints(values):
    return np.array(values, np.int64)


def graph(nodes, weights=None, outputs=("y",), **options):
    """y of x [2, 2] by `nodes`."""
    return model(nodes, [value("x", [2, 2])], [value(o, None) for o in outputs], weights, **options)


def chain(op, count, first="x", **attributes):
    """`count` nodes, each of the one before it, the last giving y."""
    names = [first] + [f"v{i}" for i in range(count - 1)] + ["y"]
    return [node(op, [names[i]], [names[i + 1]], **attributes) for i in range(count)]


def identities():
    """Each of 20,000 Identity nodes gives a splat of 250,000 numbers another name."""
    count = 20000
    nodes = [node("Identity", ["w"], [f"i{i}"]) for i in range(count)]
    return graph(nodes + [node("Add", ["x", "i7"], ["y"])], {"w": np.zeros(250_000, np.float32)})


def branches_of_one_name():
    """The branches of 6,000 nodes, all of one name, define the same names."""
    inner = [node("Constant", [], ["v"], value=numpy_helper.from_array(np.ones(2, np.float32))), node("Add", ["x", "v"], ["z"])]
    branch = helper.make_graph(inner, "g", [], [value("z", [2, 2])])
    nodes = [node("If", ["c"], [f"i{i}" if i else "y"], name="n", then_branch=branch, else_branch=branch) for i in range(6000)]
    return graph(nodes, {"c": np.array(True)})


def norms_of_one_splat():
    """Each of 5,000 norms owns its copy of one vector of 100,000 ones."""
    weights = {"s": np.ones(100_000, np.float32)}
    nodes = [node("LayerNormalization", [f"v{i}" if i else "x", "s", "s"], [f"v{i + 1}"]) for i in range(5000)]
    return model(nodes, [value("x", [1, 100_000])], [value("v5000", None)], weights)


def cast_like():
    nodes = [node("ConstantOfShape", ["s"], ["c"])] + [node("CastLike", ["c", "x"], [f"k{i}"]) for i in range(64)]
    nodes.append(node("Sum", ["x"] + [f"k{i}" for i in range(64)], ["y"]))
    return graph(nodes, {"s": ints([1 << 23])})


def shared_external(folder):
    """2,000 tensors are one range of 1 MiB of one file."""
    with open(os.path.join(folder, EXTERNAL), "wb") as file:
        file.write(np.arange(1 << 18, dtype=np.float32).tobytes())
    nodes, last = [], "x"
    proto = model([], [value("x", [512, 512])], [value("v2000", None)])
    for i in range(2000):
        tensor = proto.graph.initializer.add(name=f"t{i}", data_type=TensorProto.FLOAT, dims=[512, 512],
                                             data_location=TensorProto.EXTERNAL)
        for key, text in ("location", EXTERNAL), ("offset", "0"), ("length", str(1 << 20)):
            tensor.external_data.add(key=key, value=text)
        nodes.append(node("MatMul" if i % 2 else "Add", [last, f"t{i}"], [f"v{i + 1}"]))
        last = f"v{i + 1}"
    proto.graph.node.extend(nodes)
    return proto


def empty_concat():
    tensor = TensorProto(name="c", data_type=TensorProto.FLOAT, dims=[1 << 40, 0])
    nodes = [node("Constant", [], ["c"], value=tensor), node("Concat", ["c", "c"], ["d"], axis=1),
             node("Shape", ["d"], ["s"]), node("Cast", ["s"], ["f"], to=TensorProto.FLOAT),
             node("Add", ["x", "f"], ["y"])]
    return graph(nodes)


def big_chain(op="Neg", count=100, **attributes):
    return graph([node("ConstantOfShape", ["s"], ["c"]), *chain(op, count, "c", **attributes)], {"s": ints([1 << 23])})


def empty_concats():
    """No element to move, but rows to walk."""
    tensor = TensorProto(name="c", data_type=TensorProto.FLOAT, dims=[1 << 20, 0])
    nodes = [node("Constant", [], ["c"], value=tensor), node("ConstantOfShape", ["s"], ["o"]),
             node("Concat", ["o"] + ["c"] * 5000, ["d"], axis=1), node("ReduceSum", ["d"], ["r"], keepdims=0),
             node("Add", ["x", "r"], ["y"])]
    return graph(nodes, {"s": ints([1 << 20, 1])})


def one_name(count=4000):
    """Nodes of one name that each need a copy of the splat."""
    nodes = [node("LayerNormalization", [f"v{i}" if i else "x", "s", "s"], [f"v{i + 1}"], name="n")
             for i in range(count)]
    return model(nodes, [value("x", [2, 2])], [value(f"v{count}", None)], {"s": np.ones(2, np.float32)})


def long_axes():
    """Each of many nodes reads a list of 8 million numbers."""
    nodes = [node("ConstantOfShape", ["s"], ["a"], value=numpy_helper.from_array(ints([0])))]
    nodes += [node("Reshape", [f"v{i}" if i else "x", "a"], [f"v{i + 1}"]) for i in range(5000)]
    return graph(nodes, {"s": ints([1 << 23])}, outputs=["v5000"])


def split_outputs(count=2**63 - 1):
    return graph([node("Split", ["x"], ["y", "z"], num_outputs=count)], opset=18)


def folded_split_outputs():
    return graph([node("Split", ["w"], ["a", "b"], num_outputs=2**63 - 1), node("Add", ["x", "a"], ["y"])],
                 {"w": np.ones((2, 2), np.float32)}, opset=18)


def sequences():
    """Each node splits into 4,096 parts."""
    count = 20000
    nodes = [node("SplitToSequence", ["x"], [f"q{i}"]) for i in range(count)]
    nodes += [node("SequenceAt", [f"q{i}", "i"], [f"p{i}"]) for i in range(count)]
    nodes.append(node("Sum", [f"p{i}" for i in range(count)], ["y"]))
    return model(nodes, [value("x", [4096, 4])], [value("y", None)], {"i": ints(0)})


def inserts(op="SequenceInsert", count=30_000):
    """A sequence of as many parts as there are nodes before."""
    nodes = [node("SequenceConstruct", ["x"] * (count if op == "Identity" else 1), ["q0"])]
    nodes += [node(op, [f"q{i}", "x"][:1 if op == "Identity" else 2], [f"q{i + 1}"]) for i in range(count)]
    return graph(nodes + [node("SequenceAt", [f"q{count}", "i"], ["y"])], {"i": ints(0)})


def functions(width, depth, body=()):
    """Each of `depth` functions calls the next `width` times."""
    def define(i):
        calls = [node(f"f{i + 1}", ["a" if k == 0 else f"t{k - 1}"], [f"t{k}" if k < width - 1 else "b"], domain="f")
                 for k in range(width)]
        last = [*body, node("Relu", ["a"], ["b"])]
        return helper.make_function("f", f"f{i}", ["a"], ["b"], calls if i < depth else last,
                                    [helper.make_opsetid("", 17), helper.make_opsetid("f", 1)])
    return model([node("f0", ["x"], ["y"], domain="f")], [value("x", [2, 2])], [value("y", None)],
                 functions=[define(i) for i in range(depth + 1)], domains=["f"])


def heavy_function():
    """A body with an attribute of 1.5 MB, called 2,000 times."""
    heavy = node("Constant", [], ["c"], value=numpy_helper.from_array(np.zeros(375_000, np.float32)))
    function = helper.make_function("f", "g", ["a"], ["b"], [heavy, node("Relu", ["a"], ["b"])],
                                    [helper.make_opsetid("", 17)])
    nodes = [node("g", [f"v{i}" if i else "x"], [f"v{i + 1}"], domain="f") for i in range(2000)]
    return model(nodes, [value("x", [2, 2])], [value("v2000", None)], functions=[function], domains=["f"])


def masks():
    """Each node makes another constant of 4 MiB that stays a state."""
    nodes = [node("Range", ["zero", "many", "one"], ["r"])]
    for i in range(400):
        nodes += [node("Add", ["r", f"k{i}"], [f"m{i}"]), node("Add", [f"v{i}" if i else "x", f"m{i}"], [f"v{i + 1}"])]
    weights = {f"k{i}": np.float32(i) for i in range(400)}
    weights.update(zero=np.float32(0), one=np.float32(1), many=np.float32(1 << 20))
    return model(nodes, [value("x", [1 << 20])], [value("v400", None)], weights)


def gathers():
    """A gather of a gather: each squares the number of rows."""
    nodes = [node("Gather", ["i", "i"], ["a0"])] + [node("Gather", ["i", f"a{k}"], [f"a{k + 1}"]) for k in range(6)]
    nodes += [node("Cast", ["a6"], ["f"], to=TensorProto.FLOAT), node("Add", ["x", "f"], ["y"])]
    return graph(nodes, {"i": np.zeros((64, 64), np.int64)})


def noted_concat(count=150_000):
    """A node of many inputs, with torch's note of as many tensors."""
    one = call(node("Concat", ["w"] * count, ["y"], axis=0), "cat", ",".join(["%a"] * count))
    return graph([one], {"w": np.ones((2, 2), np.float32)})


def of_torch(proto):
    proto.producer_name = "pytorch"
    return proto


def read_often(name, op, count=100_000, **attributes):
    """One node reads a tensor that is named as a buffer, many times."""
    return of_torch(graph([node(op, [name] * count + ["x"], ["y"], **attributes)], {name: np.eye(2, dtype=np.float32)}))


def one_operand(count=8000, width=60_000):
    """Tensors that are named as statistics, each beside one value that is made of many."""
    nodes, last = [node("Sum", ["k"] * width, ["all"])], "x"
    for i in range(count):
        nodes += [node("Add", [f"m{i}.mean", "all"], [f"a{i}"]), node("Add", [last, f"a{i}"], [f"v{i}"])]
        last = f"v{i}"
    weights = {f"m{i}.mean": np.ones(2, np.float32) for i in range(count)}
    return of_torch(graph(nodes, {**weights, "k": np.ones(2, np.float32)}, outputs=[last]))


def ways_of_a_number(layers=8, width=60):
    """A number behind which the ways multiply: many negations, their sum, and again."""
    nodes, last = [], "onnx::Mul_1"
    for i in range(layers):
        nodes += [node("Neg", [last], [f"n{i}.{k}"]) for k in range(width)]
        nodes.append(node("Sum", [f"n{i}.{k}" for k in range(width)], [f"s{i}"]))
        last = f"s{i}"
    return of_torch(graph([*nodes, node("Mul", ["x", last], ["y"])], {"onnx::Mul_1": np.float32(1.5)}))


def folded_twice(count=12_000):
    """A tensor of many readers, of which the file says as often what it was folded from."""
    names = ["x"] + [f"v{i}" for i in range(count // 2)]
    proto = graph([call(node("Add", [a, "w"], [b]), "add", "%v, %w") for a, b in zip(names, names[1:])],
                  {"w": np.ones(2, np.float32)}, outputs=names[-1:])
    for _ in range(count):
        info = proto.graph.value_info.add()
        info.CopyFrom(value("w", [2]))
        info.metadata_props.add(key="pkg.onnxscript.optimizer.folded_from", value="['q']")
    return proto


def nearly_zeros(count=10_000, width=300_000):
    """Many nodes read a tensor whose last number alone is none like the others."""
    names, weight = ["x"] + [f"v{i}" for i in range(count)], np.zeros(width, np.float32)
    weight[-1] = 1
    return model([node("Add", [a, "w"], [b]) for a, b in zip(names, names[1:])], [value("x", [width])],
                 [value(names[-1], None)], {"w": weight})


def second_calls(count=15_000):
    """Modules that are named as second calls, of one convolution's weight."""
    names = ["x"] + [f"v{i}" for i in range(count)]
    nodes = [node("Conv", [a, "onnx::Conv_1"], [b], name=f"/m{i}_1/Conv") for i, (a, b) in enumerate(zip(names, names[1:]))]
    return of_torch(model(nodes, [value("x", [1, 1, 2, 2])], [value(names[-1], None)],
                          {"onnx::Conv_1": np.ones((1, 1, 1, 1), np.float32)}))


def empty_iterations(op):
    """A body without a node, 2^40 times."""
    kind, times = TensorProto.INT64, 1 << 40
    if op == "Loop":
        ends = [value("c", [], TensorProto.BOOL), value("s", None)]
        body = helper.make_graph([], "b", [value("i", [], kind), *ends], ends)
        return graph([node("Loop", ["n", "", "x"], ["y"], body=body)], {"n": np.int64(times)})
    body = helper.make_graph([], "b", [value("s", None), value("e", None)], [value("s", None)])
    proto = graph([node("Scan", ["x", "z"], ["y"], body=body, num_scan_inputs=1)])
    proto.graph.initializer.add(name="z", data_type=TensorProto.FLOAT, dims=[times, 0])
    return proto


def sum_of_dimensions(count=150_000):
    proto = graph(chain("Relu", 1))
    proto.graph.input[0].type.tensor_type.shape.dim[1].dim_param = "+".join(f"a{i}" for i in range(count))
    return proto


def wire(number, content):
    """A length-delimited field as bytes."""
    length, prefix = len(content), b""
    while length >= 0x80:
        prefix, length = prefix + bytes([length & 0x7F | 0x80]), length >> 7
    return bytes([number << 3 | 2]) + prefix + bytes([length]) + content


def wire_model(content):
    """A model whose graph is `content`."""
    return b"\x08\x08" + wire(7, content) + wire(8, wire(1, b"") + b"\x10\x11")


def repeated(number, count=900_000):
    """As many empty messages in a field of the graph."""
    return wire_model(wire(number, b"") * count)


def empty_attributes(count=900_000):
    return wire_model(wire(1, wire(1, b"x") + wire(2, b"y") + wire(4, b"Relu") + wire(5, b"") * count) + wire(12, wire(1, b"y")))


def empty_tensors(count=900_000):
    """In the `tensors` of an attribute."""
    attribute = wire(1, b"t") + wire(10, b"") * count
    return wire_model(wire(1, wire(1, b"x") + wire(2, b"y") + wire(4, b"Relu") + wire(5, attribute)) + wire(12, wire(1, b"y")))


def many_ints(count=1_900_000):
    attribute = wire(1, b"value_ints") + wire(8, b"\x01" * count) + b"\xa0\x01\x07"
    return wire_model(wire(1, wire(2, b"c") + wire(4, b"Constant") + wire(5, attribute)) +
                      wire(1, wire(1, b"c") + wire(2, b"y") + wire(4, b"Identity")) + wire(12, wire(1, b"y")))


def many_outputs(count=60_000):
    return graph(chain("Relu", 1), outputs=["y"] * count)


def many_inputs(count=50_000):
    return model([node("Relu", ["i0"], ["y"])], [value(f"i{i}", [2]) for i in range(count)], [value("y", None)])


def one_node_of_many(op="Sum", count=400_000):
    return graph([node(op, ["x"] * count, ["y"], **({"axis": 0} if op == "Concat" else {}))])


def long_name(length=1_000_000):
    return model([node("MatMul", ["x", "w" * length], ["y"])], [value("x", [2, 2])], [value("y", None)],
                 {"w" * length: np.ones((2, 2), np.float32)})


def long_names(count=10, length=100_000):
    nodes = [node("Relu", [f"v{i}" if i else "x"], [f"v{i + 1}"], name="n" * length + str(i)) for i in range(count)]
    return graph(nodes, outputs=[f"v{count}"])


def many_declared(count=50_000):
    proto = graph(chain("Relu", 1))
    proto.graph.value_info.extend(value(f"d{i}", [f"n{i}"]) for i in range(count))
    return proto


def unknown_operators(count=50_000):
    names = ["x"] + [f"v{i}" for i in range(count - 1)] + ["y"]
    return graph([node(f"Op{i}", [names[i]], [names[i + 1]]) for i in range(count)])


def tall(rows=1 << 20, columns=1 << 20, layers=3):
    """Products of 2^40 numbers each."""
    nodes = [node("MatMul", [f"v{i}" if i else "x", "w"], [f"v{i + 1}"]) for i in range(layers)]
    return model(nodes, [value("x", [rows, columns])], [value(f"v{layers}", None)],
                 {"w": np.ones((columns, columns), np.float32)} if columns <= 64 else None)
