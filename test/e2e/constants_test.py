# SPDX-License-Identifier: Apache-2.0
"""Files that keep their weights in Constant nodes train as those that have the same weights as initializers."""

import json
import os
import re

import dlc
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

BATCH, STEPS = 4, 5
TRAINING = dict(loss="cross_entropy", schedule="constant", optimizer="sgd", lr=0.05, momentum=0.9, batch=BATCH)


def node(op, inputs, output, **attributes):
    return helper.make_node(op, inputs, [output], name=output + "_node", **attributes)


def constant(name, value, form="raw"):
    """One of the forms that a Constant may have."""
    if form == "floats":
        return node("Constant", [], name, value_floats=value.tolist())
    kind = helper.np_dtype_to_tensor_dtype(value.dtype)
    tensor = numpy_helper.from_array(value, "of no matter") if form == "raw" else helper.make_tensor(
        "of no matter", kind, value.shape, value.ravel())
    return node("Constant", [], name, value=tensor)


def save(path, nodes, weights, constants, x=(BATCH, 2, 5, 5), y=(BATCH, 3), forms=None, ir=9, opset=17, functions=(), kind=TensorProto.FLOAT):
    """A model whose weights named in `constants` are Constant nodes."""
    made = [constant(name, weights[name], (forms or {}).get(name, "raw")) for name in weights if name in constants]
    inputs = [helper.make_tensor_value_info("x", kind, x)]
    tensors = [numpy_helper.from_array(value, name) for name, value in weights.items() if name not in constants]
    if ir < 4:
        inputs += [helper.make_tensor_value_info(t.name, t.data_type, t.dims) for t in tensors]
    graph = helper.make_graph(made + nodes, "g", inputs, [helper.make_tensor_value_info("y", kind, y)], tensors)
    domains = [helper.make_opsetid("own", 1)] if functions else []
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset), *domains], ir_version=ir,
                                functions=list(functions)), path)
    return path


def network(names="{}"):
    """conv, norm and two layers, one of them a product and a sum; the names follow a pattern."""
    random = np.random.default_rng(0)
    shapes = {"k": (4, 2, 3, 3), "kb": (4,), "g": (2,), "h": (2,), "mean": (2,), "var": (2,), "w": (100, 6), "wb": (6,), "u": (6, 3), "ub": (3,)}
    weights = {names.format(n): (random.normal(0, 0.3, s) if n != "var" else random.uniform(0.5, 1, s)).astype(np.float32)
               for n, s in shapes.items()}
    n = names.format
    nodes = [node("BatchNormalization", ["x", n("g"), n("h"), n("mean"), n("var")], "b"),
             node("Conv", ["b", n("k"), n("kb")], "c", pads=[1, 1, 1, 1]), node("Relu", ["c"], "r"), node("Flatten", ["r"], "f"),
             constant("half", np.array(0.5, np.float32)), node("Mul", ["f", "half"], "s"),
             node("Gemm", ["s", n("w"), n("wb")], "d"), node("Tanh", ["d"], "t"), node("MatMul", ["t", n("u")], "p"),
             node("Add", ["p", n("ub")], "y")]
    return nodes, weights


class Constants(dlc.TestCase):
    def setUp(self):
        super().setUp()
        random = np.random.default_rng(1)
        self.x = random.normal(size=[STEPS * BATCH, 2, 5, 5]).astype(np.float32)
        np.savez(self.path("data.npz"), x=self.x, y=random.integers(0, 3, len(self.x)))

    def trained(self, label, source, data="data.npz", **options):
        """The run, the exported file's initializers and its path."""
        self.runs = getattr(self, "runs", 0) + 1
        artifact, run, out = (self.path(label + end) for end in (".dlc", f"-run{self.runs}", "-out.onnx"))
        _, self.errors = dlc.dlc("compile", source, "-o", artifact, **(TRAINING | options))
        run = dlc.train(artifact, self.path(data), run, steps=STEPS, shuffle="off", threads=1)
        dlc.dlc("export", run.folder, "-o", out)
        onnx.checker.check_model(out, full_check=True)
        return run, {t.name: numpy_helper.to_array(t) for t in onnx.load(out).graph.initializer}, out

    def same(self, nodes, weights, constants=None, trains=None, data="data.npz", forms=None, options=None, **words):
        """Trains with weights in Constants and as initializers; both are one model."""
        constants = set(weights) if constants is None else constants
        mine = self.trained("mine", save(self.path("mine.onnx"), nodes, weights, constants, forms=forms, **words), data, **(options or {}))
        self.assertRegex(self.errors, rf"the exporter merged or folded tensors: .*{len(constants)} of a node")
        plain = self.trained("plain", save(self.path("plain.onnx"), nodes, weights, (), **words), data, **(options or {}))
        self.assertNotIn("of a node", self.errors)
        for step in range(1, STEPS + 1):
            if os.path.isdir(os.path.join(plain[0].folder, f"checkpoint-{step}")):
                self.assertBitwise(mine[0].state(step), plain[0].state(step), f"step {step}")
        self.assertBitwise(mine[0].state(STEPS), plain[0].state(STEPS), "the last step")
        np.testing.assert_array_equal(mine[0].metrics("loss"), plain[0].metrics("loss"))
        self.assertEqual(mine[1].keys(), plain[1].keys())
        for name, value in plain[1].items():
            np.testing.assert_array_equal(mine[1][name], value, name)
            if trains is None or name in trains:
                self.assertFalse(np.array_equal(value, weights[name]), f"{name} was not trained")
        return mine

    def inspected(self, label="mine"):
        out, _ = dlc.dlc("inspect", self.path(label + ".dlc"), json=True)
        summary = json.loads(out)
        return {row["tensor"]: (row["decision"], row["reason"]) for row in summary["tensors"]}, summary["decisions"]

    def test_conv_norm_and_layers(self):
        run, _, out = self.same(*network())
        states, decisions = self.inspected()
        self.assertEqual(states["k"], ("trained", "a weight of Conv 'c_node'"))
        self.assertEqual(states["mean"], ("statistics", "a running statistic of BatchNormalization 'b_node'"))
        self.assertEqual(states["ub"], ("trained", "a weight of MatMul 'p_node'"))
        self.assertNotIn("half", states)
        self.assertEqual({d["tensor"] for d in decisions}, set(network()[1]))
        self.assertEqual({d["why"] for d in decisions}, {"is a weight, which the file has as a Constant node"})
        self.assertEqual([n.output[0] for n in onnx.load(out).graph.node if n.op_type == "Constant"], ["half"])
        np.savez(self.path("x.npz"), x=self.x[:BATCH])
        dlc.dlc("predict", run.folder, "-o", self.path("y.npz"), data=self.path("x.npz"))
        found = onnxruntime.InferenceSession(out, providers=["CPUExecutionProvider"]).run(None, {"x": self.x[:BATCH]})[0]
        np.testing.assert_allclose(np.load(self.path("y.npz"))["y"], found, rtol=1e-5, atol=1e-6)

    def test_names_as_spox_and_paddle_give_them(self):
        self.same(*network("Constant_{}_output"))
        self.same(*network("conv2d_0.w_{}@0"))

    def test_some_of_them(self):
        nodes, weights = network()
        self.same(nodes, weights, {"k", "wb", "var"})
        self.assertNotIn("by its role alone", str(self.inspected()[0]))

    def test_products_beside_initializers(self):
        """A file that has both may have a fixed matrix in a node: a warning names what a product reads."""
        nodes, weights = network()
        artifact = self.path("m.dlc")
        for constants, flags, warned in ({"u", "w"}, {}, True), ({"u", "w"}, {"freeze": "^u$"}, False), (set(weights), {}, False):
            _, err = dlc.dlc("compile", save(self.path("m.onnx"), nodes, weights, constants), "-o", artifact, **TRAINING, **flags)
            self.assertEqual(bool(re.search(r"are trained, as products and sums read them: 'u'\. .*--freeze=REGEX", err)), warned, err)
            self.assertEqual("by its role alone" in self.inspected("m")[0]["u"][1], warned)

    def test_a_choice_of_numbers_stays_known(self):
        """The factor of a Resize, chosen of some by an index."""
        nodes = [node("Gather", ["factors", "index"], "scales"), node("Resize", ["x", "", "scales"], "r"), node("Flatten", ["r"], "f"), node("MatMul", ["f", "w"], "y")]
        weights = {"factors": np.float32([3, 2, 1]), "index": np.array([2, 2, 1, 1]), "w": np.random.default_rng(0).normal(size=[200, 3]).astype(np.float32)}
        dlc.dlc("compile", save(self.path("m.onnx"), nodes, weights, {"factors", "index"}), "-o", self.path("m.dlc"), batch=BATCH)

    def test_forms(self):
        """Typed fields, lists of floats, old files whose initializers are inputs."""
        nodes, weights = network()
        self.same(nodes, weights, forms={"k": "typed", "w": "typed", "kb": "floats", "ub": "floats", "var": "typed"})
        self.same(nodes, weights, ir=3, forms={"g": "typed"}, opset=9)
        self.assertIn("k", [i.name for i in onnx.load(self.path("mine-out.onnx")).graph.input])

    def test_half_floats(self):
        for dtype, kind in (np.float16, TensorProto.FLOAT16), (np.float64, TensorProto.DOUBLE):
            with self.subTest(dtype.__name__):
                weights = {name: value.astype(dtype) for name, value in network()[1].items()}
                nodes = [node("Gemm", ["x", "w", "wb"], "d"), node("Tanh", ["d"], "t"), node("Gemm", ["t", "u", "ub"], "y")]
                weights = {name: weights[name] for name in ("w", "wb", "u", "ub")}
                np.savez(self.path("flat.npz"), x=np.tile(self.x.reshape(len(self.x), 50), 2).astype(dtype), y=np.arange(len(self.x)) % 3)
                self.same(nodes, weights, x=(BATCH, 100), kind=kind, forms={"w": "typed"}, data="flat.npz")

    def test_read_twice(self):
        """One weight of two layers is one weight."""
        random = np.random.default_rng(2)
        weights = {"w": random.normal(0, 0.3, [50, 50]).astype(np.float32), "u": random.normal(0, 0.3, [50, 3]).astype(np.float32),
                   "b": random.normal(0, 0.3, [50]).astype(np.float32)}
        nodes = [node("Gemm", ["x", "w", "b"], "a"), node("Tanh", ["a"], "t"), node("Gemm", ["t", "w", "b"], "c"),
                 node("Add", ["c", "x"], "s"), node("MatMul", ["s", "u"], "y")]
        np.savez(self.path("flat.npz"), x=self.x.reshape(len(self.x), 50), y=np.arange(len(self.x)) % 3)
        self.same(nodes, weights, x=(BATCH, 50), data="flat.npz")

    def test_options_name_them(self):
        nodes, weights = network()
        self.same(nodes, weights, trains={"w", "wb"}, options=dict(freeze="^k|^u|^[gh]$"))
        self.assertEqual(self.inspected()[0]["k"], ("frozen", "matches --freeze"))
        self.same(nodes, weights, trains=(), options=dict(lora=2, lora_targets="^w$"))
        dlc.dlc("compile", self.path("mine.onnx"), "-o", self.path("a.dlc"), weights=self.path("plain-out.onnx"), batch=BATCH)
        dlc.dlc("compile", self.path("plain.onnx"), "-o", self.path("b.dlc"), weights=self.path("mine.onnx"), batch=BATCH)
        found, expected = (dlc.load_file(os.path.join(self.path(name), "state.safetensors")) for name in ("a.dlc", "b.dlc"))
        self.assertFalse(np.array_equal(found["w"], weights["w"]))
        np.testing.assert_array_equal(expected["w"], weights["w"])

    def frozen(self, nodes, weights, constants, names=(), **words):
        """The Constants are what they were, nodes, and have no row in the list of tensors but as nodes."""
        _, tensors, out = self.trained("kept", save(self.path("kept.onnx"), nodes, weights, constants, **words), "flat.npz")
        self.assertNotIn("of a node", self.errors)
        left = {n.output[0]: n.attribute[0] for n in onnx.load(out).graph.node if n.op_type == "Constant"}
        before = {n.output[0]: n.attribute[0] for n in onnx.load(self.path("kept.onnx")).graph.node if n.op_type == "Constant"}
        self.assertEqual(left, before)
        self.assertFalse(set(tensors) & set(constants))
        self.assertFalse(set(self.inspected("kept")[0]) & set(constants))

    def test_what_is_no_weight_stays(self):
        """Operands of sums and products, limits, shapes, scales and zero points, integers behind a DequantizeLinear."""
        random = np.random.default_rng(3)
        np.savez(self.path("flat.npz"), x=self.x.reshape(len(self.x), 50), y=np.arange(len(self.x)) % 3)
        weights = {"w": random.normal(0, 0.3, [50, 3]).astype(np.float32), "table": random.normal(0, 0.3, [BATCH, 50]).astype(np.float32),
                   "factor": np.float32([2]), "shape": np.array([BATCH, 50]), "low": np.float32(-1.0),
                   "q": random.integers(-9, 9, [50, 50]).astype(np.int8), "scale": np.full(50, 0.1, np.float32), "zero": np.zeros(50, np.int8)}
        nodes = [node("Mul", ["x", "table"], "a"), node("Mul", ["a", "factor"], "b"), node("Reshape", ["b", "shape"], "c"),
                 node("Clip", ["c", "low"], "d"), node("DequantizeLinear", ["q", "scale", "zero"], "k", axis=1),
                 node("MatMul", ["d", "k"], "e"), node("MatMul", ["e", "w"], "y")]
        self.frozen(nodes, weights, set(weights) - {"w"}, x=(BATCH, 50))

    def test_four_bits_stay(self):
        np.savez(self.path("flat.npz"), x=self.x.reshape(len(self.x), 50), y=np.arange(len(self.x)) % 3)
        random = np.random.default_rng(3)
        nodes = [helper.make_node("Constant", [], ["q"], value=helper.make_tensor("q", TensorProto.INT4, [50, 50], random.integers(-8, 8, 2500))),
                 node("DequantizeLinear", ["q", "scale"], "k", axis=1), node("MatMul", ["x", "k"], "e"), node("MatMul", ["e", "w"], "y")]
        weights = {"w": random.normal(0, 0.3, [50, 3]).astype(np.float32), "scale": np.full(50, 0.1, np.float32)}
        self.frozen(nodes, weights, {"scale"}, x=(BATCH, 50), opset=21, ir=10)

    def test_a_weight_that_is_fake_quantized_trains(self):
        np.savez(self.path("flat.npz"), x=self.x.reshape(len(self.x), 50), y=np.arange(len(self.x)) % 3)
        weights = {"w": np.random.default_rng(3).normal(0, 0.3, [50, 3]).astype(np.float32), "scale": np.float32(0.01), "zero": np.int8(0)}
        nodes = [node("QuantizeLinear", ["w", "scale", "zero"], "q"), node("DequantizeLinear", ["q", "scale", "zero"], "d"),
                 node("MatMul", ["x", "d"], "y")]
        self.same(nodes, weights, {"w"}, trains={"w"}, x=(BATCH, 50), data="flat.npz")

    def test_ones_and_zeros_of_a_group_norm_stay(self):
        """A norm of groups that is written with a norm of instances, as paddle2onnx does; its own scale and shift train."""
        random = np.random.default_rng(4)
        weights = {"ones": np.ones(2, np.float32), "none": np.zeros(2, np.float32), "flat": np.array([0, 2, -1]), "shape": np.array([BATCH, 4, 5, 5]),
                   "g": random.normal(size=[4, 1, 1]).astype(np.float32), "h": random.normal(size=[4, 1, 1]).astype(np.float32),
                   "k": random.normal(0, 0.3, [4, 2, 1, 1]).astype(np.float32), "w": random.normal(0, 0.3, [100, 3]).astype(np.float32)}
        nodes = [node("Conv", ["x", "k"], "c"), node("Reshape", ["c", "flat"], "a"), node("InstanceNormalization", ["a", "ones", "none"], "b"),
                 node("Reshape", ["b", "shape"], "d"), node("Mul", ["d", "g"], "e"), node("Add", ["e", "h"], "f"), node("Flatten", ["f"], "i"),
                 node("MatMul", ["i", "w"], "y")]
        save(self.path("m.onnx"), nodes, weights, set(weights))
        self.trained("mine", self.path("m.onnx"))
        self.assertEqual({d["tensor"] for d in self.inspected()[1]}, {"g", "h", "k", "w"})

    def test_torch_has_parameters_as_initializers(self):
        """What its file has in a node is a number of the source's text, unless all weights are there: a frozen module's."""
        nodes, weights = network("/{}/Constant_output_0")
        for constants, taken in (set(weights), set(weights)), ({"/w/Constant_output_0"}, set()):
            proto = onnx.load(save(self.path("m.onnx"), nodes, weights, constants))
            proto.producer_name = "pytorch"
            onnx.save(proto, self.path("m.onnx"))
            self.trained("torch", self.path("m.onnx"))
            self.assertEqual({d["tensor"] for d in self.inspected("torch")[1] if d["kind"] == "of a node"}, taken)

    def test_functions(self):
        """A Constant of a function that is called twice is one weight; one that is read as a mask stays two nodes' one value."""
        random = np.random.default_rng(5)
        w, mask = random.normal(0, 0.3, [50, 50]).astype(np.float32), random.normal(size=[1, 50]).astype(np.float32)
        inner = [helper.make_node("Constant", [], ["w"], value=numpy_helper.from_array(w)),
                 helper.make_node("Constant", [], ["m"], value=numpy_helper.from_array(mask)),
                 helper.make_node("MatMul", ["a", "w"], ["p"]), helper.make_node("Mul", ["p", "m"], ["q"]), helper.make_node("Tanh", ["q"], ["b"])]
        function = helper.make_function("own", "F", ["a"], ["b"], inner, [helper.make_opsetid("", 17)])
        weights = {"u": random.normal(0, 0.3, [50, 3]).astype(np.float32)}
        nodes = [helper.make_node("F", ["x"], ["f"], domain="own", name="one"), helper.make_node("F", ["f"], ["g"], domain="own", name="two"),
                 node("MatMul", ["g", "u"], "y")]
        np.savez(self.path("flat.npz"), x=self.x.reshape(len(self.x), 50), y=np.arange(len(self.x)) % 3)
        mine = self.trained("mine", save(self.path("m.onnx"), nodes, weights, (), x=(BATCH, 50), functions=[function]), "flat.npz")
        plain = [node("MatMul", ["x", "w"], "p"), node("Mul", ["p", "m"], "q"), node("Tanh", ["q"], "f"), node("MatMul", ["f", "w"], "p2"),
                 node("Mul", ["p2", "m"], "q2"), node("Tanh", ["q2"], "g"), node("MatMul", ["g", "u"], "y")]
        other = self.trained("plain", save(self.path("p.onnx"), plain, weights | {"w": w, "m": mask}, (), x=(BATCH, 50)), "flat.npz")
        np.testing.assert_array_equal(mine[0].metrics("loss"), other[0].metrics("loss"))
        self.assertEqual(set(mine[1]), {"u", "one#1/w"})
        np.testing.assert_array_equal(mine[1]["one#1/w"], other[1]["w"])

    def test_read_by_a_body(self):
        """A Constant around an If that its branches read."""
        random = np.random.default_rng(6)
        weights = {"w": random.normal(0, 0.3, [50, 3]).astype(np.float32), "yes": np.array(True)}
        branches = [helper.make_graph([node("MatMul", ["x", "w"], n)], n, [], [helper.make_tensor_value_info(n, 1, [BATCH, 3])]) for n in ("a", "b")]
        nodes = [node("If", ["yes"], "y", then_branch=branches[0], else_branch=branches[1])]
        np.savez(self.path("flat.npz"), x=self.x.reshape(len(self.x), 50), y=np.arange(len(self.x)) % 3)
        self.same(nodes, weights, {"w"}, trains={"w"}, x=(BATCH, 50), data="flat.npz")

    def choosing(self, condition, path, inside):
        """x by the weights of one of two branches and by one that both share; `inside`: the branches hold theirs, under one name."""
        random = np.random.default_rng(7)
        form = lambda *shape: random.normal(0, 0.3, shape).astype(np.float32)
        yes, no, shared = {"w": form(50, 20), "b": form(20)}, {"w": form(50, 20), "v": form(20, 20)}, {"s": form(20, 3)}
        names = {("yes", "w"): "pick/then_branch/w", ("no", "w"): "pick/else_branch/w"}
        held = lambda key: (lambda n: n) if inside else lambda n: names.get((key, n), n)
        one, other = held("yes"), held("no")
        out = lambda n: [helper.make_tensor_value_info(n, 1, [BATCH, 3])]
        then = [node("Gemm", ["x", one("w"), one("b")], "d"), node("Tanh", ["d"], "t"), node("MatMul", ["t", "s"], "r")]
        inner = [helper.make_graph([n], "g", [], [helper.make_tensor_value_info(n.output[0], 1, None)])
                 for n in (node("MatMul", ["q", other("v")], "i"), node("Neg", ["q"], "j"))]
        if inside:
            inner[0].initializer.append(numpy_helper.from_array(no["v"], "v"))
        otherwise = [*([constant("w", no["w"])] if inside else []), node("MatMul", ["x", other("w")], "q"), node("Tanh", ["q"], "d"),
                     constant("always", np.array(True)), node("If", ["always"], "k", then_branch=inner[0], else_branch=inner[1]),
                     node("Add", ["k", "d"], "t"), node("MatMul", ["t", "s"], "r")]
        branches = [helper.make_graph(nodes, "g", [], out("r")) for nodes in (then, otherwise)]
        if inside:
            branches[0].initializer.append(numpy_helper.from_array(yes["w"], "w"))
            branches[0].node.insert(0, constant("b", yes["b"]))
        weights = shared if inside else shared | {"pick/then_branch/w": yes["w"], "b": yes["b"], "pick/else_branch/w": no["w"], "v": no["v"]}
        nodes = [*condition, helper.make_node("If", ["c"], ["y"], name="pick", then_branch=branches[0], else_branch=branches[1])]
        return save(path, nodes, weights, (), x=(BATCH, 50)), weights

    def test_in_a_branch(self):
        """They train as around the If, whichever branch is taken, and the exported branches have them."""
        x = self.x.reshape(len(self.x), 50)
        x[::BATCH] += np.tile([9, -9], STEPS)[:STEPS, None]  # the batches choose different branches
        np.savez(self.path("flat.npz"), x=x, y=np.arange(len(x)) % 3)
        np.savez(self.path("x.npz"), x=x[:BATCH])
        first, second = {"pick/then_branch/w", "b"}, {"pick/else_branch/w", "v"}
        by_data = [constant("none", np.array(0, np.float32)), node("ReduceSum", ["x"], "sum", keepdims=0), node("Greater", ["sum", "none"], "c")]
        for condition, moved in (by_data, first | second), ([constant("c", np.array(True))], first), ([constant("c", np.array(False))], second):
            with self.subTest(moved=moved):
                around = self.trained("plain", self.choosing(condition, self.path("plain.onnx"), False)[0], "flat.npz")
                weights = self.choosing(condition, self.path("plain.onnx"), False)[1]
                mine = self.trained("mine", self.choosing(condition, self.path("mine.onnx"), True)[0], "flat.npz")
                self.assertIn("2 of a body", self.errors)
                self.assertBitwise(mine[0].state(STEPS), around[0].state(STEPS), "states")
                np.testing.assert_array_equal(mine[0].metrics("loss"), around[0].metrics("loss"))
                for name, value in weights.items():
                    np.testing.assert_array_equal(mine[1][name], around[1][name], name)
                    self.assertEqual(np.array_equal(mine[1][name], value), name not in moved | {"s"}, name)
                dlc.dlc("predict", mine[0].folder, "-o", self.path("y.npz"), data=self.path("x.npz"))
                found = onnxruntime.InferenceSession(mine[2], providers=["CPUExecutionProvider"]).run(None, {"x": x[:BATCH]})[0]
                np.testing.assert_allclose(np.load(self.path("y.npz"))["y"], found, rtol=1e-5, atol=1e-6)

    def test_that_a_branch_gives(self):
        """A tensor that a branch gives as it is, by its name a weight, trains; the branch gives it still."""
        form = lambda n: helper.make_graph([], "g", [], [helper.make_tensor_value_info(n, 1, [50, 3])],
                                           [numpy_helper.from_array(np.full([50, 3], 0.5 if n[0] == "a" else 0.1, np.float32), n)])
        nodes = [constant("zero", np.array(0, np.float32)), node("ReduceSum", ["x"], "sum", keepdims=0), node("Greater", ["sum", "zero"], "c"),
                 node("If", ["c"], "w", then_branch=form("a.weight"), else_branch=form("b.weight")), node("MatMul", ["x", "w"], "y")]
        x = np.abs(self.x.reshape(len(self.x), 50))
        np.savez(self.path("flat.npz"), x=x, y=np.arange(len(x)) % 3)
        run, tensors, out = self.trained("mine", save(self.path("m.onnx"), nodes, {}, (), x=(BATCH, 50)), "flat.npz")
        self.assertFalse(np.array_equal(tensors["a.weight"], np.full([50, 3], 0.5, np.float32)))
        np.testing.assert_array_equal(tensors["b.weight"], np.full([50, 3], 0.1, np.float32))
        onnxruntime.InferenceSession(out, providers=["CPUExecutionProvider"]).run(None, {"x": x[:BATCH]})

    def test_joined_for_a_recurrent_layer(self):
        """Gates that are cut, put into another order and joined, as exporters of scripted modules do."""
        random = np.random.default_rng(8)
        form = lambda *shape: random.normal(0, 0.3, shape).astype(np.float32)
        cut = lambda name, k: node("Slice", [name, f"at{k}", f"at{k + 1}"], f"{name}{k}")
        weights = {"k": form(12, 5), "r": form(12, 3), "k_bias": form(12), "r_bias": form(12), "u": form(3, 3),
                   **{f"at{k}": np.array([6 * k]) for k in range(3)}, "zero": np.array([0]), "one": np.array([1])}
        names = ("k", "r", "k_bias", "r_bias")
        nodes = [*[cut(name, k) for name in names for k in range(2)],
                 *[node("Concat", [f"{name}1", f"{name}0"], f"{name}j", axis=0) for name in names],
                 node("Concat", ["k_biasj", "r_biasj"], "bj", axis=0),
                 *[node("Unsqueeze", [f"{name}j", "zero"], f"{name}u") for name in ("k", "r", "b")],
                 node("Reshape", ["x", "rows"], "s"), helper.make_node("LSTM", ["s", "ku", "ru", "bu"], ["", "h"], name="lstm", hidden_size=3),
                 node("Squeeze", ["h", "zero"], "q"), node("MatMul", ["q", "u"], "y")]
        weights["rows"] = np.array([10, BATCH, 5])
        self.same(nodes, weights, {*names, "u"}, trains={*names, "u"})


if __name__ == "__main__":
    dlc.main()
