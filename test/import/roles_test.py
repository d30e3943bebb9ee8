# SPDX-License-Identifier: Apache-2.0
"""Which initializers are trained: the same as PyTorch's parameters, whichever way the model was exported."""

import os
import re
import sys

import numpy as np

sys.path.insert(0, os.path.dirname(__file__))
import dlc
import onnx
from support import IMPORT, SIGNATURE, model, node, reasons, run, value


class Roles(dlc.TestCase):
    def states(self, path, *flags):
        code, self.text, err = run(IMPORT, path, *flags)
        self.assertEqual(code, dlc.OK, err)
        self.errors = err
        states = re.findall(r'dlc\.state @"?([^" ]+)"? : \S+ (\w+) init', self.text)
        return {role: {name for name, r in states if r == role} for role in ("param", "buffer", "const")}

    def save(self, proto):
        onnx.save(proto, self.path("m.onnx"))
        return self.path("m.onnx")

    def test_references(self):
        for name in "mlp", "lenet", "resnet8", "gpt_tiny":
            ref = dlc.Reference(name)
            params = set(ref.group("grad0"))
            buffers = set(ref.group("final_sgd")) - params
            for path in dlc.model(name), os.path.join(dlc.REFS, name + "-dynamo.onnx"):
                with self.subTest(path=os.path.basename(path)):
                    states = self.states(path, f"--batch={ref.batch}")
                    self.assertEqual(states["param"], params)
                    self.assertEqual(states["buffer"], buffers)

    def test_folded_exports_have_as_many(self):
        for name, count in ("mlp", 4), ("lenet", 10), ("gpt_tiny", 29), ("resnet8", 20):
            states = self.states(os.path.join(dlc.REFS, name + "-eval.onnx"), "--batch=4")
            self.assertEqual(len(states["param"]), count, name)

    def test_folded_batch_norm_is_reported(self):
        for op in "Conv", "Gemm":
            proto = onnx.load(dlc.model("lenet"))
            into = next(node for node in proto.graph.node if node.op_type == op)
            into.metadata_props.add(key="pkg.onnxscript.rewriter.rule_name", value="FuseBatchNormInto" + op)
            self.states(self.save(proto), "--batch=2")
            self.assertIn(f"warning: the exporter folded batch norm into 1 nodes (the first is '{into.name}')", self.errors)

    def folded_names(self, conv, scale, producer="pytorch", flags=(), bias="c.bias"):
        """Warnings of a Conv and a scale with such names of their weights."""
        weights = {conv: np.ones((2, 3, 1, 1)), bias: np.ones(2), scale: np.arange(2).reshape(2, 1, 1)}
        proto = model([node("Conv", ["x", conv, bias], ["a"], name="/c/Conv"), node("Mul", ["a", scale], ["y"])],
                      [value("x", [4, 3, 2, 2])], [value("y", [4, 2, 2, 2])], {k: v.astype(np.float32) for k, v in weights.items()})
        proto.producer_name = producer
        self.states(self.save(proto), *flags)
        return self.errors

    def test_folds_of_the_older_exporter_are_reported(self):
        norm = "warning: the exporter folded batch norm into 1 nodes (the first is '/c/Conv')"
        untrained = r"warning: constants that the exporter computed, .* are not trained: 'onnx::Mul_7'\. .*optimize=False"
        self.assertIn(norm, self.folded_names("onnx::Conv_5", "c.scale", bias="onnx::Conv_6"))
        self.assertNotIn("not trained", self.errors)
        # A norm leaves no bias its name: a cast of the weight was folded.
        self.assertNotIn("batch norm", self.folded_names("onnx::Conv_5", "c.scale"))
        self.assertRegex(self.folded_names("c.weight", "onnx::Mul_7"), untrained)
        self.assertNotIn("batch norm", self.errors)
        for options in (dict(producer="other"), dict(flags=["--train=Mul"]), dict(flags=["--freeze=Mul"])):
            self.assertNotIn("not trained", self.folded_names("c.weight", "onnx::Mul_7", **options), options)
        self.assertEqual(self.folded_names("c.weight", "c.scale"), "")

    def test_folds_of_onnxruntime_are_reported(self):
        """Its optimizer's names; a scale that it multiplied into a convolution trains as a part of it."""
        for producer in "pytorch", "other":
            errors = self.folded_names("ConvBnFusion_W_c.weight", "c.scale", producer)
            self.assertIn("warning: the exporter folded batch norm into 1 nodes (the first is '/c/Conv')", errors)
        self.assertRegex(self.folded_names("ConvMulFusion_W_c.weight", "c.scale"),
                         "folded functions of parameters that cannot be inverted; .* train instead: 'ConvMulFusion_W_c.weight'")

    def test_a_new_norm_needs_a_layer_of_its_own(self):
        proto = model([node("FusedConv", ["x", "ConvBnFusion_W_k"], ["y"], name="f", domain="com.microsoft", activation="Relu")],
                      [value("x", [4, 3, 2, 2])], [value("y", [4, 2, 2, 2])],
                      {"ConvBnFusion_W_k": np.ones((2, 3, 1, 1), np.float32)}, domains=["com.microsoft"])
        code, _, err = run(IMPORT, self.save(proto), "--unfold-bn")
        self.assertEqual(code, dlc.BAD_MODEL, err)
        self.assertIn("--unfold-bn: 'f' is a FusedConv, which has more in it than", err)

    def test_lost_notes_are_reported(self):
        """A tool that optimizes a file of torch's newer exporter drops what says which parameters are gone."""
        for noted, domains, said in (True, [], None), (False, [], "a tool after it"), (False, ["com.microsoft.nchwc"], "onnxruntime's optimizer"):
            proto = model([node("Relu", ["x"], ["y"], name="node_relu")], [value("x", [4, 3])], [value("y", [4, 3])], {}, domains=domains)
            proto.producer_name = "pytorch"
            if noted:
                proto.graph.node[0].metadata_props.add(key="pkg.torch.onnx.name_scopes", value="['']")
            self.states(self.save(proto))
            self.assertEqual("dropped the notes that say what was merged" in self.errors, not noted, self.errors)
            self.assertIn(said or "", self.errors)

    def test_masks_are_kept_once(self):
        self.assertEqual(len(self.states(dlc.model("gpt_tiny"), "--batch=4")["const"]), 1)

    def names(self, producer, *flags):
        """A model with a weight, a learned token, a table of sines, an integer and a scalar."""
        weights = {"w": np.ones((4, 4)) * np.arange(4), "token": np.arange(32).reshape(8, 4), "enc.pe": np.sin(np.arange(8)[:, None] / 10.0 ** np.arange(4)),
                   "val_3": np.array(2.0), "k": np.arange(32).reshape(8, 4)}
        weights = {k: v.astype(np.int64 if k == "k" else np.float32) for k, v in weights.items()}
        proto = model([node("MatMul", ["x", "w"], ["a"]), node("Add", ["a", "token"], ["b"]),
                       node("Add", ["b", "enc.pe"], ["c"]), node("Mul", ["c", "val_3"], ["d"]),
                       node("Cast", ["k"], ["kf"], to=1), node("Add", ["d", "kf"], ["y"])],
                      [value("x", [8, 4])], [value("y", [8, 4])], weights)
        proto.producer_name = producer
        return self.states(self.save(proto), *flags)["param"]

    def test_names(self):
        self.assertEqual(self.names("pytorch"), {"w", "token"})
        self.assertEqual(self.names("other"), {"w"})

    def fixed(self, numbers, name, *flags, lookup=False, producer="pytorch"):
        """Whether a tensor does not train that a result is multiplied by, or whose rows are looked up and added to it."""
        numbers = np.asarray(numbers, np.float32)
        rows, columns = numbers.shape if numbers.ndim == 2 else (8, *numbers.shape)
        nodes = [node("MatMul", ["x", "w"], ["a"]), node("Tanh", ["a"], ["b"]), node("Mul", ["b", name], ["y"])]
        inputs = [value("x", [rows, 4])]
        if lookup:
            nodes[2:] = [node("Gather", [name, "i"], ["c"]), node("Add", ["b", "c"], ["y"])]
            inputs.append(value("i", [rows], 7))
        proto = model(nodes, inputs, [value("y", [rows, columns])],
                      {"w": np.random.RandomState(0).randn(4, columns).astype(np.float32), name: numbers})
        proto.producer_name = producer
        return name not in self.states(self.save(proto), *flags)["param"]

    def test_formulas_are_not_trained(self):
        """Tables of sines, progressions and windows, which torch's files call as they call parameters; with a warning."""
        n, d = np.arange(24), np.arange(8)
        angles = n[:, None] / 10000 ** (d / 8)
        tables = {"sines": np.concatenate([np.sin(angles), np.cos(angles)], 1), "waves": np.sin(angles), "slopes": 2.0 ** -np.arange(1, 9),
                  "inverse": 10000.0 ** -(d / 8), "range": np.arange(8), "line": np.linspace(-1, 1, 8),
                  "hann": np.hanning(24)[:-1], "hamming": np.hamming(16)}
        sines = np.concatenate([np.sin(angles), np.cos(angles)], 1)[:, ::2]
        plane = np.concatenate([np.repeat(sines[:4], 6, 0), np.tile(sines[:6], (4, 1))], 1)  # 4 lines of 6 places
        tables |= {"plane": plane, "plane_behind_token": np.concatenate([np.zeros((1, 16)), plane]), "turned_plane": plane[:, ::-1]}
        for name, table in tables.items():
            name = "enc." + name
            with self.subTest(name):
                self.assertTrue(self.fixed(table, name))
                self.assertRegex(self.errors, f"warning: tensors that are named as parameters contain values .* not trained: '{name}'.*--train=REGEX")
                self.assertFalse(self.fixed(table, name, "--train=" + name))
                self.assertNotIn("named as parameters", self.errors)
                self.assertTrue(self.fixed(table, name, "--freeze=" + name))
                self.assertNotIn("named as parameters", self.errors)
        self.assertTrue(self.fixed(tables["sines"], "embed_positions.weight", lookup=True))
        self.assertFalse(self.fixed(tables["sines"], "embed_positions.weight", lookup=True, producer="other"))
        learned = {"sines": tables["sines"] + 0.01 * np.random.RandomState(0).randn(24, 16), "ones": np.ones(8), "zeros": np.zeros((24, 16)),
                   "token": np.random.RandomState(0).randn(4), "rows": np.broadcast_to(np.log(np.arange(1, 17)), (24, 16)),
                   "rows_later": np.log(np.arange(1, 17)) + 1e-5 * np.random.RandomState(0).randn(24, 16),
                   "steps": np.arange(24 * 16).reshape(24, 16), "logs": np.log(np.arange(1, 9)), "sides": np.concatenate([np.repeat(np.random.RandomState(0).randn(4, 8), 6, 0), plane[:, 8:]], 1)}
        for name, table in learned.items():
            with self.subTest(name):
                self.assertFalse(self.fixed(table, "enc." + name))

    def test_progressions_that_the_exporter_calls_parameters_train(self):
        """Equal steps, as of torch.linspace; what else a formula makes is seldom learned, and its requires_grad is not in the file."""
        for table, trains in ((np.linspace(-1, 1, 8), True), (10000.0 ** -(np.arange(8) / 8), False), (np.hanning(25)[:-1], False)):
            proto = model([node("Add", ["x", "enc.line"], ["y"])], [value("x", [4, len(table)])], [value("y", [4, len(table)])],
                          {"enc.line": table.astype(np.float32)})
            proto.producer_name = "pytorch"
            proto.graph.metadata_props.add(key=SIGNATURE, value="\n# inputs\np_enc_line: PARAMETER target='enc.line'\nx: USER_INPUT\n")
            self.assertEqual("enc.line" in self.states(self.save(proto))["param"], trains)

    def test_weights_may_be_progressions(self):
        """Of a layer only what no training leaves: 0, 1, 2, ... (a distribution's bins), not a norm's scale or a bias."""
        for weight, trains in (np.arange(8), False), (np.linspace(0, 1, 8), True):
            proto = model([node("Conv", ["x", "dfl.conv.weight"], ["y"])], [value("x", [4, 8, 2, 2])], [value("y", [4, 1, 2, 2])],
                          {"dfl.conv.weight": weight.astype(np.float32).reshape(1, 8, 1, 1)})
            proto.producer_name = "pytorch"
            self.assertEqual("dfl.conv.weight" in self.states(self.save(proto))["param"], trains)

    def test_learned_numbers(self):
        """A temperature of torch's trains; numbers elsewhere, and bounds that must be known, do not."""
        for name, producer, op, trains in (("logit_scale", "pytorch", "Mul", True), ("logit_scale", "other", "Mul", False),
                                           ("val_1", "pytorch", "Mul", False), ("act.max_val", "pytorch", "Clip", False)):
            proto = model([node("MatMul", ["x", "w"], ["a"]), node(op, ["a", *[""] * (op == "Clip"), name], ["y"])], [value("x", [4, 4])],
                          [value("y", [4, 4])], {"w": np.eye(4, dtype=np.float32), name: np.array(2.5, np.float32)})
            proto.producer_name = producer
            self.assertEqual(name in self.states(self.save(proto))["param"], trains, (name, producer, op))

    def numbers(self, nodes, flags=(), producer="pytorch", **numbers):
        """The roles of one-element tensors behind x, a = Relu(x w) and b = Tanh(a), as (role, whether it is warned about)."""
        first = [node("MatMul", ["x", "w"], ["p"], name="/fc/MatMul"), node("Relu", ["p"], ["a"], name="/Relu"), node("Tanh", ["a"], ["b"])]
        names = {k.replace("__", "::").replace("_of_", "/").replace("_dot_", "."): np.asarray(v, np.float32) for k, v in numbers.items()}
        proto = model([*first, *nodes], [value("x", [4, 4])], [value("y", [4, 4])], {"w": np.eye(4, dtype=np.float32) + 1} | names)
        proto.producer_name = producer
        found = self.reasons(proto, *flags)
        _, _, self.errors = run(IMPORT, self.path("m.onnx"), *flags)
        warning = re.search("scalars that are not trained, as the file does not say .*--train=REGEX.*--freeze=REGEX.*", self.errors)
        return {k: (found[k][0], bool(warning and f"'{k}'" in warning.group())) for k in names}

    def test_numbers_of_folded_exports(self):
        """The older exporter gives parameters that it cast or reshaped names of its own: their use says whether they are learned."""
        trained, unsure, given = (0, False), (2, True), (2, False)
        cast = [node("Exp", ["onnx::Exp_8"], ["e"]), node("Mul", ["a", "e"], ["m"])]
        siglip = [*cast, node("Identity", ["onnx::Exp_8"], ["onnx::Add_9"]), node("Add", ["m", "onnx::Add_9"], ["y"])]
        self.assertEqual(self.numbers(siglip, onnx__Exp_8=[0]), {"onnx::Exp_8": trained})
        self.assertIn("onnx::Add_9", self.states(self.path("m.onnx"))["param"])
        one = {"clamped": (trained, [node("Clip", ["k", "", "most"], ["c"]), node("Exp", ["c"], ["e"]), node("Mul", ["e", "a"], ["y"])]),
               "gate": (trained, [node("Sigmoid", ["k"], ["s"]), node("Mul", ["s", "a"], ["y"])]),
               "softplus": (trained, [node("Reshape", ["k", "shape"], ["r"]), node("Softplus", ["r"], ["s"]), node("Div", ["a", "s"], ["y"])]),
               "residual": (trained, [node("Mul", ["k", "b"], ["m"]), node("Add", ["x", "m"], ["y"])]),
               "other side": (trained, [node("Mul", ["k", "x"], ["m"]), node("Add", ["b", "m"], ["y"])]),
               "scale": (unsure, [node("Mul", ["k", "a"], ["y"])]), "bias": (unsure, [node("Add", ["a", "k"], ["y"])]),
               "negated": (unsure, [node("Neg", ["k"], ["n"]), node("Mul", ["n", "a"], ["y"])]),
               "no branch": (unsure, [node("Mul", ["k", "b"], ["m"]), node("Add", ["m", "a2"], ["y"]), node("Neg", ["x"], ["a2"])]),
               "limit": (given, [node("Clip", ["a", "k"], ["y"])]), "fill": (unsure, [node("Where", ["mask", "a", "k"], ["y"])]),
               "both": (given, [node("Clip", ["a", "k"], ["c"]), node("Mul", ["c", "k"], ["y"])])}
        for name, (role, nodes) in one.items():
            for n in nodes:
                n.input[:] = ["onnx::Any_5" if i == "k" else i for i in n.input]
            if name == "fill":
                nodes.insert(0, node("Greater", ["a", "b"], ["mask"]))
            if name == "clamped":
                nodes.insert(0, node("Constant", [], ["most"], value_float=4.6))
            if name == "softplus":
                nodes.insert(0, node("Constant", [], ["shape"], value_ints=[1, 1]))
            if name == "no branch":
                nodes[1], nodes[2] = nodes[2], nodes[1]
            with self.subTest(name):
                self.assertEqual(self.numbers(nodes, onnx__Any_5=0.5), {"onnx::Any_5": role})
                if role is unsure:
                    self.assertEqual(self.numbers(nodes, ["--train=Any"], onnx__Any_5=0.5), {"onnx::Any_5": trained})
                    self.assertEqual(self.numbers(nodes, ["--freeze=Any"], onnx__Any_5=0.5), {"onnx::Any_5": given})
                self.assertEqual(self.numbers(nodes, producer="other", onnx__Any_5=0.5), {"onnx::Any_5": given})

    def test_folded_norms_of_branches(self):
        """conv(x) * v + w in a residual branch is a norm by fixed statistics, if the convolution has no bias, and neither is
        trained; v alone is a layer scale."""
        def roles(bias, shift, v="onnx::Mul_7"):
            ends = [node("Conv", ["x", "k"] + ["b"] * bias, ["c"], kernel_shape=[1, 1]), node("Mul", ["c", v], ["m"]),
                    *([node("Add", ["onnx::Add_8", "m"], ["s"])] if shift else []), node("Add", ["s" if shift else "m", "x"], ["y"])]
            weights = {"k": np.ones((4, 4, 1, 1)), "b": np.ones(4), v: np.array([3, 1, 4, 2]).reshape(4, 1, 1),
                       "onnx::Add_8": np.array([2, 7, 1, 8]).reshape(4, 1, 1)}
            used = {i for n in ends for i in n.input}
            proto = model(ends, [value("x", [1, 4, 3, 3])], [value("y", [1, 4, 3, 3])],
                          {k: w.astype(np.float32) for k, w in weights.items() if k in used})
            proto.producer_name = "pytorch"
            found = self.reasons(proto)
            _, _, errors = run(IMPORT, self.path("m.onnx"))
            warned = "--train=REGEX" in errors and v in errors
            return found[v][0], found.get("onnx::Add_8", (None,))[0], warned
        trained, kept = 0, 2
        self.assertEqual(roles(bias=False, shift=True), (kept, kept, True))
        self.assertEqual(roles(bias=False, shift=False), (trained, None, False))
        self.assertEqual(roles(bias=True, shift=True)[0], trained)
        self.assertEqual(roles(bias=False, shift=True, v="gamma")[0], trained)

    def test_numbers_that_a_tool_folded(self):
        """What maps any number to a scale was probably of a learned one; roots and quotients are the source's numbers."""
        for name, warned in ("_of_m_of_Exp_output_0", True), ("_of_Sigmoid_2_output_0", True), ("_of_m_of_Sqrt_output_0", False), \
                ("_of_Constant_1_output_0", False):
            own = name.replace("_of_", "/")
            self.assertEqual(self.numbers([node("Mul", [own, "a"], ["y"])], **{name: 2}), {own: (2, warned)})

    def test_numbers_of_a_module(self):
        """Under its own name one is trained wherever it is computed with, also where torch calls an operator so (t, norm)."""
        trained, unsure, given = (0, False), (2, True), (2, False)
        limit = node("Constant", [], ["least"], value_float=0.1)
        one = {"inverse": (trained, [node("Reciprocal", ["k"], ["r"]), node("Mul", ["r", "a"], ["y"])]),
               "clamped": (trained, [limit, node("Clip", ["k", "least"], ["c"]), node("Div", ["a", "c"], ["y"])]),
               "power": (trained, [node("Pow", ["a", "k"], ["y"])]), "root": (trained, [node("Sqrt", ["k"], ["r"]), node("Div", ["a", "r"], ["y"])]),
               "at least": (trained, [limit, node("Max", ["k", "least"], ["c"]), node("Mul", ["a", "c"], ["y"])]),
               "floor": (unsure, [node("Max", ["a", "k"], ["y"])]), "limit": (given, [node("Clip", ["a", "k"], ["y"])]),
               "ratio": (given, [node("Dropout", ["a", "k"], ["y"])])}
        for own in "temp", "t", "norm_1", "b.view":
            for what, (role, nodes) in one.items():
                renamed = [node(n.op_type, [own if i == "k" else i for i in n.input], n.output) for n in nodes]
                for n, old in zip(renamed, nodes):
                    n.attribute.extend(old.attribute)
                with self.subTest(own + " " + what):
                    self.assertEqual(self.numbers(renamed, **{own.replace(".", "_dot_"): 0.5}), {own: role})
        score = [node("Greater", ["a", "b"], ["m"]), node("Where", ["m", "a", "fill"], ["y"])]
        self.assertEqual(self.numbers(score, fill=-1e9), {"fill": given})
        self.assertEqual(self.numbers(score, fill=0.5), {"fill": unsure})

    def test_weights_of_one_element(self):
        """Of a layer from one channel to one."""
        weights = {"onnx::MatMul_5": np.ones((1, 1), np.float32), "onnx::Conv_6": np.ones((1, 1, 1, 1), np.float32)}
        proto = model([node("MatMul", ["x", "onnx::MatMul_5"], ["a"]), node("Conv", ["a", "onnx::Conv_6"], ["y"])],
                      [value("x", [4, 1, 3, 1])], [value("y", [4, 1, 3, 1])], weights)
        proto.producer_name = "pytorch"
        self.assertEqual(self.states(self.save(proto))["param"], set(weights))

    def test_biases_of_one_channel(self):
        """In files of any tool: a layer's own bias, and one that is added to its only channel, but no number."""
        weights = {"w": np.ones((4, 1)), "bias": np.ones(1), "half": np.array(0.5), "k": np.ones((1, 1, 1, 1)), "c": np.ones(1),
                   "two": np.ones((1, 2)), "shift": np.ones(1)}
        nodes = [node("MatMul", ["x", "w"], ["a"]), node("Add", ["a", "bias"], ["b"]), node("Mul", ["b", "half"], ["s"]),
                 node("Reshape", ["s", "image"], ["i"]), node("Conv", ["i", "k", "c"], ["j"]), node("Reshape", ["j", "rows"], ["r"]),
                 node("MatMul", ["r", "two"], ["t"]), node("Add", ["t", "shift"], ["y"])]
        shapes = {"image": np.array([4, 1, 1, 1]), "rows": np.array([4, 1])}
        proto = model(nodes, [value("x", [4, 4])], [value("y", [4, 2])], {k: v.astype(np.float32) for k, v in weights.items()} | shapes)
        proto.producer_name = "tf2onnx"
        self.assertEqual(self.states(self.save(proto))["param"], {"w", "bias", "k", "c", "two"})

    def test_operands_in_files_of_other_tools_are_warned_of(self):
        """Positions and scales; not a mask, a progression, what normalizes the input, or what --train or --freeze names."""
        weights = {"mean": np.arange(8), "w": np.ones((8, 8)), "pos": np.random.RandomState(0).randn(1, 4, 8), "gain": np.arange(8) ** 2,
                   "mask": np.where(np.arange(32).reshape(4, 8) % 3, 0, -1e9), "line": np.linspace(-1, 1, 8)}
        nodes = [node("Add", ["x", "mean"], ["n"]), node("MatMul", ["n", "w"], ["a"]), node("Add", ["a", "pos"], ["b"]),
                 node("Mul", ["b", "gain"], ["c"]), node("Add", ["c", "mask"], ["d"]), node("Add", ["d", "line"], ["y"])]
        proto = model(nodes, [value("x", [2, 4, 8])], [value("y", [2, 4, 8])], {k: v.astype(np.float32) for k, v in weights.items()})
        proto.producer_name = "tf2onnx"
        self.assertEqual(self.states(self.save(proto))["param"], {"w"})
        text = "tensors that sums or products read, but no layer, are not trained: "
        self.assertIn(text + "'gain', 'pos'. Those that are parameters", self.errors)
        self.assertEqual(self.states(self.save(proto), "--train=pos", "--freeze=gain")["param"], {"w", "pos"})
        self.assertNotIn(text, self.errors)

    def test_gains_of_weight_norm(self):
        """torch.nn.utils.parametrizations' names are of parameters, also of a gain of one number, which a layer to one channel has."""
        names = ["c.parametrizations.weight.original0", "c.parametrizations.weight.original1", "d.weight_g", "d.weight_v"]
        weights = dict(zip(names, [np.full((1, 1), 0.7, np.float32), np.arange(4, dtype=np.float32).reshape(4, 1) + 2] * 2))
        nodes = [node("MatMul", ["x", names[1]], ["a"]), node("Mul", ["a", names[0]], ["b"]),
                 node("MatMul", ["x", names[3]], ["c"]), node("Mul", ["c", names[2]], ["d"]), node("Add", ["b", "d"], ["y"])]
        proto = model(nodes, [value("x", [4, 4])], [value("y", [4, 1])], weights)
        proto.producer_name = "pytorch"
        self.assertEqual(self.states(self.save(proto))["param"], set(names))

    def reasons(self, proto, *flags):
        return reasons(self.save(proto), *flags)

    def test_reasons(self):
        weights = {"w": np.ones((4, 4)) * np.arange(4), "b": np.ones(4), "mask": np.tril(np.ones((4, 4))), "k": np.arange(4), "s": np.array(2.0),
                   "g": np.ones(4), "h": np.zeros(4), "mean": np.zeros(4), "var": np.ones(4), "table": np.eye(4)}
        weights = {k: v.astype(np.int64 if k == "k" else np.float32) for k, v in weights.items()}
        proto = model([node("MatMul", ["x", "w"], ["a"], name="fc"), node("Add", ["a", "b"], ["c"]), node("Mul", ["c", "mask"], ["d"]),
                       node("Cast", ["k"], ["kf"], to=1), node("Add", ["d", "kf"], ["e"]), node("Mul", ["e", "s"], ["f"], name="by"),
                       node("BatchNormalization", ["f", "g", "h", "mean", "var"], ["z"], name="bn"), node("Sub", ["z", "table"], ["y"], name="less")],
                      [value("x", [4, 4])], [value("y", [4, 4])], weights)
        self.assertEqual(self.reasons(proto), {
            "w": (0, "a weight of MatMul 'fc'"), "b": (0, "a weight of MatMul 'fc'"), "mask": (2, "a triangular mask"),
            "k": (2, "holds i64, which have no gradient"), "s": (2, "a scalar operand of Mul 'by'"), "g": (0, "a weight of BatchNormalization 'bn'"),
            "h": (0, "a weight of BatchNormalization 'bn'"),
            "mean": (1, "a running statistic of BatchNormalization 'bn'"), "var": (1, "a running statistic of BatchNormalization 'bn'"),
            "table": (2, "not a weight of a layer, but an operand of Sub 'less'")})
        self.assertEqual(self.reasons(proto, "--train=table", "--freeze=^w")["table"], (0, "matches --train"))
        self.assertEqual(self.reasons(proto, "--train=table", "--freeze=^w")["w"], (2, "matches --freeze"))

    def test_norms_of_several_nodes(self):
        """Scale and shift of a group norm and of a layer norm that are products and sums, whatever the exporter called them."""
        weights = {"one": np.ones(2), "none": np.zeros(2), "onnx::Mul_1": np.ones((4, 1, 1)), "onnx::Add_2": np.ones((4, 1, 1)),
                   "shape": np.array([2, 4, 2, 2]), "flat": np.array([2, 2, -1]), "val_7": np.ones((4, 1, 1)), "axis": np.array([1])}
        weights = {k: v.astype(np.int64 if v.dtype == int else np.float32) for k, v in weights.items()}
        norm = [node("Reshape", ["x", "flat"], ["a"]), node("InstanceNormalization", ["a", "one", "none"], ["b"], name="gn"),
                node("Reshape", ["b", "shape"], ["c"]), node("Mul", ["c", "onnx::Mul_1"], ["d"]), node("Add", ["d", "onnx::Add_2"], ["e"]),
                node("Sub", ["e", "val_7"], ["y"])]
        proto = model(norm, [value("x", [2, 4, 2, 2])], [value("y", [2, 4, 2, 2])], weights)
        found = self.reasons(proto)
        self.assertEqual({k: found[k][0] for k in found if ":" in k or k == "val_7"}, {"onnx::Mul_1": 0, "onnx::Add_2": 0, "val_7": 2})
        self.assertEqual(found["onnx::Add_2"][1], "a weight of InstanceNormalization 'gn'")
        two = lambda op, *names, **more: node(op, [*names[:-1]], [names[-1]], **more)
        layer = [two("ReduceMean", "x", "m", axes=[1]), two("Sub", "x", "m", "s"), two("Mul", "s", "s", "q"), two("ReduceMean", "q", "v", axes=[1]),
                 two("Sqrt", "v", "r"), two("Div", "s", "r", "n", name="ln"), two("Mul", "g", "n", "o"), two("Add", "o", "h", "p"), two("Mul", "p", "k", "y")]
        proto = model(layer, [value("x", [3, 4])], [value("y", [3, 4])], {k: np.ones(4, np.float32) for k in ("g", "h", "k")})
        self.assertEqual({k: r for k, (r, _) in self.reasons(proto).items()}, {"g": 0, "h": 0, "k": 2})

    def branch(self, scale, tail=(), start="x", scaled="onnx::Mul_1", width=4, reader="Mul"):
        """The role of a vector behind y = x + scale(W x): of 0 (trained) or 2."""
        weights = {"w": np.ones((4, 4)), "b": np.ones(4), scaled: scale, "onnx::Add_9": np.ones(4), "onnx::Div_8": np.array(2.0)}
        nodes = [node("Tanh", ["z"], ["x"]), node("MatMul", ["x", "w"], ["a"]), node("Add", ["a", "b"], ["c"]), node("Relu", ["c"], ["d"]),
                 node(reader, ["d", scaled], ["e"], name="scale"), *tail, node("Add", [start, tail[-1].output[0] if tail else "e"], ["y"], name="join")]
        proto = model(nodes, [value("z", [3, 4]), value("other", [3, 4])], [value("y", [3, 4])],
                      {k: np.asarray(v, np.float32) for k, v in weights.items()})
        proto.producer_name = "pytorch"
        return self.reasons(proto)[scaled]

    def test_scales_of_branches(self):
        """A value per channel of what a branch gives, where it is added to what the branch comes from, is learnt; nothing else is."""
        why = "a value per channel of the residual branch that Add 'join' adds to its input"
        self.assertEqual(self.branch(np.full(4, 1e-6)), (0, why))
        self.assertEqual(self.branch(np.ones(4), reader="Add"), (0, why))
        tail = [node("Div", ["e", "onnx::Div_8"], ["f"]), node("Add", ["onnx::Add_9", "f"], ["g"]), node("Identity", ["g"], ["h"])]
        self.assertEqual(self.branch(np.ones(4), tail), (0, why))
        unlike = {"added to something else": self.branch(np.ones(4), start="other"),
                  "a mask": self.branch(np.array([0, 1, 1, 0])),
                  "a function of the branch": self.branch(np.ones(4), [node("Exp", ["e"], ["f"])]),
                  "not of the layer's channels": self.branch(np.array([[1], [5], [2]]))}
        self.assertEqual({k: v[0] for k, v in unlike.items()}, dict.fromkeys(unlike, 2))

    def test_scales_of_what_a_branch_comes_from(self):
        """MetaFormer's: x v + f(x). The exporter merged those of ones, which hides none of them from the warning."""
        def roles(first, second, other="c"):
            weights = {"w": np.ones((4, 4)), "onnx::Mul_1": first, "onnx::Mul_2": second}
            nodes = [node("MatMul", ["z", "w"], ["x"]), node("Tanh", ["x"], ["a"]), node("MatMul", ["a", "w"], ["b"]), node("Relu", ["b"], ["c"]),
                     node("Mul", ["x", "onnx::Mul_1"], ["d"], name="scale"), node("Add", ["d", other], ["e"], name="join"),
                     node("Exp", ["e"], ["f"]), node("Mul", ["f", "onnx::Mul_2"], ["g"], name="after"), node("Exp", ["g"], ["y"])]
            proto = model(nodes, [value("z", [3, 4]), value("other", [3, 4])], [value("y", [3, 4])],
                          {k: np.asarray(v, np.float32) for k, v in weights.items()})
            proto.producer_name = "pytorch"
            found = self.reasons(proto)
            return [found[name][0] for name in ("onnx::Mul_1", "onnx::Mul_2")]

        for scale in np.ones(4), np.arange(1, 5) ** 0.3:
            self.assertEqual(roles(scale, scale), [0, 2])
            self.assertEqual(roles(scale, scale, "other"), [2, 2])
        self.assertEqual(roles(np.array([0, 1, 1, 0]), np.ones(4)), [2, 2])
        self.assertEqual(roles(np.array([[1], [5], [2]]), np.ones(4)), [2, 2])

    def test_equal_tensors_are_warned_of(self):
        """That they were one in the file does not say that they are no parameters."""
        weights = {"w": np.ones((4, 4), np.float32), "onnx::Mul_1": np.full(4, 1.5, np.float32)}
        nodes = [node("MatMul", ["x", "w"], ["a"], name="/a/fc/MatMul"), node("Exp", ["a"], ["b"], name="/a/Exp"),
                 node("Mul", ["b", "onnx::Mul_1"], ["c"], name="/a/Mul"), node("Exp", ["c"], ["d"], name="/b/Exp"),
                 node("Mul", ["d", "onnx::Mul_1"], ["y"], name="/b/Mul")]
        proto = model(nodes, [value("x", [3, 4])], [value("y", [3, 4])], weights)
        proto.producer_name = "pytorch"
        _, _, errors = run(IMPORT, self.save(proto))
        self.assertRegex(errors, "not trained: 'onnx::Mul_1'")

    def test_what_only_looks_like_samples_is_warned_of(self):
        """Funnel's bias of each head, where there are as many samples as heads."""
        for numbers, warned in (np.random.RandomState(0).randn(4, 8), True), (np.arange(32).reshape(4, 8) % 2, False), (np.ones((4, 8)), False):
            proto = model([node("Reshape", ["x", "shape"], ["a"]), node("Add", ["a", "onnx::Add_1"], ["b"]), node("Exp", ["b"], ["y"])],
                          [value("x", [4, 2, 32])], [value("y", [4, 2, 4, 8])], {"shape": np.array([4, 2, 4, 8]), "onnx::Add_1": numbers.astype(np.float32)})
            proto.producer_name = "pytorch"
            _, _, errors = run(IMPORT, self.save(proto), "--batch=4")
            self.assertEqual("not trained: 'onnx::Add_1'" in errors, warned, errors)

    def test_biases_before_a_softmax(self):
        """A layer's, though it is added to scores (EfficientViM); what is added to the scores of two values is not known to be learned."""
        vector = np.array([[0.5, 2, 1]], np.float32)
        for weight, role in (["x", "w"], 0), (["x", "z"], 2):
            nodes = [node("MatMul", weight, ["p"], name="fc"), node("Split", ["p", "parts"], ["s", "t"], axis=1), node("Add", ["s", "onnx::Add_1"], ["a"]),
                     node("Softmax", ["a"], ["b"], axis=1), node("Mul", ["b", "t"], ["y"])]
            proto = model(nodes, [value("x", [4, 4]), value("z", [4, 6])], [value("y", [4, 3])],
                          {"w": np.ones((4, 6), np.float32), "parts": np.array([3, 3]), "onnx::Add_1": vector})
            proto.producer_name = "pytorch"
            self.assertEqual(self.reasons(proto)["onnx::Add_1"][0], role)
            _, _, errors = run(IMPORT, self.path("m.onnx"))
            self.assertEqual("not trained: 'onnx::Add_1'" in errors, role == 2)

    def test_biases_of_products_from_the_left(self):
        """W x + b with a column b, as Mamba writes its step."""
        for rows, role in (4, 0), (5, 2):
            proto = model([node("MatMul", ["w", "x"], ["p"], name="dt"), node("Add", ["p", "onnx::Add_1"], ["y"])],
                          [value("x", [2, 3, rows if rows == 5 else 6])], [value("y", None)],
                          {"w": np.ones((4, 3), np.float32), "onnx::Add_1": np.ones((4, 1) if rows == 4 else (1, 5), np.float32)})
            self.assertEqual(self.reasons(proto)["onnx::Add_1"][0], role)

    def test_overrides(self):
        self.assertEqual(self.names("other", "--train=^enc"), {"w", "enc.pe"})
        self.assertEqual(self.names("pytorch", "--freeze=tok|w"), set())
        self.assertEqual(self.names("pytorch", "--train=k"), {"w", "token"}, "integers are never trained")
        code, _, err = run(IMPORT, self.path("m.onnx"), "--freeze=(")
        self.assertIn("'(' is not a regular expression", err)

    def test_triangles_are_masks(self):
        """Whatever a causal mask is called, it is not trained, and the passes are told what it is."""
        def weights(mask):
            proto = model([node("MatMul", ["x", "w"], ["a"]), node("Mul", ["a", "attn.bias"], ["y"])],
                          [value("x", [1, 5, 4])], [value("y", [1, 5, 5])],
                          {"w": np.arange(20, dtype=np.float32).reshape(4, 5), "attn.bias": mask.astype(np.float32)})
            proto.producer_name = "pytorch"
            return self.states(self.save(proto), "--batch=1")
        mask = np.tril(np.ones((1, 5, 5)))
        self.assertEqual(weights(mask)["param"], {"w"})
        self.assertIn("{dlc.triangle = [1.000000e+00, 0.000000e+00]}", self.text)
        weights(np.where(mask, 0, -np.inf))
        self.assertIn("{dlc.triangle = [0.000000e+00, 0xFFF0000000000000 : f64]}", self.text)
        mask[0, 2, 0] = 0.5
        self.assertEqual(weights(mask)["param"], {"w", "attn.bias"})
        self.assertNotIn("triangle", self.text)

    def test_loss_in_the_graph(self):
        proto = model([node("MatMul", ["x", "w"], ["logits"]), node("SoftmaxCrossEntropyLoss", ["logits", "t"], ["loss"])],
                      [value("x", [5, 4]), value("t", [5], 7)], [value("loss", []), value("logits", [5, 3])],
                      {"w": np.arange(12, dtype=np.float32).reshape(4, 3)})
        self.states(self.save(proto))
        self.assertRegex(self.text, r'tensor<f32> \{dlc.loss, dlc.name = "loss"\}, tensor<5x3xf32> \{dlc.name = "logits"\}')

    def test_settings_are_not_trained(self):
        """Weights of classes and scales of quantisation, though torch's names are a module's; the weights behind them are."""
        numbers = np.linspace(0.1, 1, 12, dtype=np.float32)
        for op in "SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss":
            proto = model([node("QuantizeLinear", ["w", "q.weight", "zero"], ["levels"], axis=1),
                           node("DequantizeLinear", ["levels", "q.weight", "zero"], ["rounded"], axis=1),
                           node("MatMul", ["x", "rounded"], ["logits"]),
                           node(op, ["logits", "t", "loss.weight"], ["loss"])],
                          [value("x", [5, 4]), value("t", [5], 7)], [value("loss", []), value("logits", [5, 3])],
                          {"w": numbers.reshape(4, 3), "q.weight": numbers[:3], "zero": np.zeros(3, np.uint8),
                           "loss.weight": numbers[:3]})
            proto.producer_name = "pytorch"
            self.assertEqual(self.states(self.save(proto))["param"], {"w"})
            self.assertIn('dlc.loss, dlc.name = "loss"', self.text)


if __name__ == "__main__":
    dlc.main()
