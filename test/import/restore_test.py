# SPDX-License-Identifier: Apache-2.0
"""What an exporter merged and folded becomes the source model's parameters again: each decision on a small file."""

import os
import re
import sys

import numpy as np

sys.path.insert(0, os.path.dirname(__file__))
import dlc
import onnx
from onnx import helper
from support import RestoreCase, call, node, value

TRACE = "pkg.torch.onnx.stack_trace"
random = np.random.RandomState(0)


def floats(*shape):
    return random.randn(*shape).astype(np.float32)


class Restore(RestoreCase):
    # (a) merged by accident

    def test_biases_of_matmul_are_parted(self):
        nodes = [node("MatMul", ["x", "a"], ["p"], name="m1"), node("Add", ["p", "fc1.bias"], ["q"], name="n1"),
                 node("MatMul", ["q", "b"], ["r"], name="m2"), node("Add", ["r", "fc1.bias"], ["y"], name="n2")]
        weights = {"a": floats(8, 8), "b": floats(8, 8), "fc1.bias": np.zeros(8, np.float32)}
        self.assertEqual(set(self.read(nodes, weights)), {"a", "b", "fc1.bias", "n2/input1"})
        args = {"m1": "%x, %p_fc1_weight, %p_fc1_bias", "m2": "%q, %p_fc2_weight, %p_fc2_bias"}
        for n in nodes:
            call(n, "linear", args["m" + n.name[1]], "fc" + n.name[1])
        names = ["fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"]
        self.assertEqual(set(self.read(nodes, weights, parameters=names)), set(names))

    def test_batch_norms_of_the_inference_form_get_their_names(self):
        """The exporter merged each layer's scale with its variance, and its shift with its mean."""
        names = [f"n{i}.{part}" for i in (1, 2) for part in ("weight", "bias", "running_mean", "running_var")]
        inputs = ["n1.weight", "n1.bias", "n1.bias", "n1.weight"]
        for kind in ("batch_norm", "_native_batch_norm_legit_no_training"):
            nodes = [node("BatchNormalization", [x, *inputs], [y]) for x, y in (("x", "p"), ("p", "y"))]
            for i, n in enumerate(nodes):
                args = [f"%{'b' if 'running' in name else 'p'}_{name.replace('.', '_')}" for name in names[4 * i:4 * i + 4]]
                call(n, kind, ", ".join([f"%{n.input[0]}", *args, "0.1", "1e-05"]), f"n{i + 1}")
            weights = {"n1.weight": np.ones(8, np.float32), "n1.bias": np.zeros(8, np.float32)}
            parameters = [name for name in names if "running" not in name]
            trained = self.read(nodes, weights, parameters=parameters, buffers=[name for name in names if "running" in name])
            self.assertEqual(set(trained), set(parameters), kind)
            for name in names:
                self.assertIn(f'dlc.state @{name} ', self.text.replace('"', ""), kind)

    def test_layer_scales_are_parted(self):
        nodes = [node("MatMul", ["x", "w"], ["p"], name="m"), node("Mul", ["b.0.gamma", "p"], ["q"], name="n1"),
                 node("Mul", ["b.0.gamma", "q"], ["y"], name="n2")]
        weights = {"w": floats(8, 8), "b.0.gamma": np.full(8, 0.1, np.float32)}
        self.assertEqual(set(self.read(nodes, weights)), {"w", "b.0.gamma", "n2/input0"})

    def test_a_gate_that_its_module_compares_stays_one(self):
        """torch.lerp(x, 2 x, q) of the older exporter; also if the module of a second gate, merged with it, comes first."""
        nodes = [node("Less", ["m.q", "x"], ["c"], name="/m/Less"), node("Mul", ["m.q", "x"], ["p"], name="/m/Mul"),
                 node("Sub", ["x", "m.q"], ["s"], name="/m/Sub"), node("Where", ["c", "p", "s"], ["y"], name="/m/Where")]
        weights = {"m.q": np.full(8, 0.7, np.float32)}
        self.assertEqual(set(self.read(nodes, weights)), {"m.q"})
        other = [node("Mul", ["x", "m.q"], ["z"], name="/n/Mul"), node("Less", ["m.q", "z"], ["c"], name="/m/Less"), *nodes[1:]]
        self.assertEqual(set(self.read(other, weights)), {"m.q", "/n/Mul/input1"})

    def test_a_module_called_twice_stays_one(self):
        nodes = [call(node("Mul", ["x", "s"], ["p"]), "mul", "%x, %p_s", "norm"),
                 call(node("Mul", ["p", "s"], ["y"]), "mul", "%p, %p_s", "norm")]
        self.assertEqual(set(self.read(nodes, {"s": np.ones(8, np.float32)}, parameters=["s"])), {"s"})
        nodes = [node("LayerNormalization", ["x", "ln.weight"], ["p"], name="/ln/LayerNormalization"),
                 node("LayerNormalization", ["p", "ln.weight"], ["y"], name="/ln_1/LayerNormalization")]
        self.assertEqual(set(self.read(nodes, {"ln.weight": np.ones(8, np.float32)})), {"ln.weight"})

    def test_layers_with_equal_values_are_parted(self):
        """Copies of a layer (torch.nn.TransformerEncoder's) are equal in all their weights."""
        nodes = [call(node("MatMul", ["x", "w"], ["p"]), "matmul", "%x, %p_a_w"),
                 call(node("MatMul", ["p", "w"], ["y"]), "matmul", "%p, %p_b_w")]
        self.assertEqual(set(self.read(nodes, {"w": floats(8, 8)}, parameters=["a.w", "b.w"])), {"a.w", "b.w"})

    def test_graphs_inside_of_nodes_keep_what_they_read(self):
        """Norms of equal parameters beside an If, whose branches read those of the first."""
        nodes = [node("Identity", ["a.weight"], ["b.weight"]), node("Identity", ["a.bias"], ["b.bias"]),
                 node("LayerNormalization", ["x", "a.weight", "a.bias"], ["p"]),
                 node("LayerNormalization", ["p", "b.weight", "b.bias"], ["q"]),
                 node("ReduceMax", ["q"], ["m"], keepdims=0), node("Cast", ["m"], ["c"], to=9)]
        branches = {f"{name}_branch": helper.make_graph([node(op, ["q", "a.weight"], [name])], name, [], [value(name, None)])
                    for name, op in (("then", "Mul"), ("else", "Add"))}
        nodes.append(node("If", ["c"], ["y"], **branches))
        trained = self.read(nodes, {"a.weight": np.ones(8, np.float32), "a.bias": np.zeros(8, np.float32)})
        self.assertEqual(set(trained), {"a.weight", "a.bias", "b.weight", "b.bias"})

    def test_real_ties_stay(self):
        nodes = [node("Gather", ["tok.weight", "i"], ["p"]), node("Transpose", ["tok.weight"], ["t"]),
                 node("MatMul", ["p", "t"], ["y"])]
        self.assertEqual(set(self.read(nodes, {"tok.weight": floats(5, 8)}, [value("i", [4], 7)], [value("y", [4, 5])])),
                         {"tok.weight"})

    def test_dropped_label_smoothing_is_named(self):
        for smoothing, warns in ("0.1", True), ("0.0", False):
            loss = call(node("SoftmaxCrossEntropyLoss", ["x", "t"], ["y"]), "cross_entropy_loss", f"%x, %t, None, 1, -100, {smoothing}")
            self.read([loss], {}, [value("x", [4, 8]), value("t", [4], onnx.TensorProto.INT64)], [value("y", [])])
            self.assertEqual("label_smoothing that the source gives them, which the exporter dropped: 'y'" in self.errors, warns)

    def test_dropped_biases_come_back(self):
        conv = call(node("Conv", ["x", "c.weight"], ["y"], name="conv"), "conv2d", "%x, %p_c_weight, %p_c_bias", "c")
        conv.metadata_props.add(key="pkg.onnxscript.rewriter.rule_name", value="RemoveOptionalBiasFromConv")
        trained = self.read([conv], {"c.weight": floats(6, 3, 1, 1)}, [value("x", [4, 3, 2, 2])], [value("y", [4, 6, 2, 2])],
                            parameters=["c.weight", "c.bias"])
        self.assertEqual(trained, {"c.weight": "6x3x1x1", "c.bias": "6"})

    def test_dropped_biases_below_a_folded_norm_come_back(self):
        """The note is the norm's then; a convolution without a bias in the source gets none."""
        norm = "%conv, %p_n_weight, %p_n_bias, %b_n_running_mean, %b_n_running_var, 0.1, 1e-05"
        conv = call(node("Conv", ["x", "c.weight"], ["y"], name="conv"), "_native_batch_norm_legit_no_training", norm, "n")
        conv.metadata_props.add(key="pkg.onnxscript.rewriter.rule_name", value="RemoveOptionalBiasFromConv, FuseBatchNormIntoConv, RemoveOptionalBiasFromConv")
        names, buffers = ["c.weight", "n.weight", "n.bias"], ["n.running_mean", "n.running_var"]
        for parameters, expected in (["c.bias", *names], {"c.weight": "6x3x1x1", "c.bias": "6"}), (names, {"c.weight": "6x3x1x1"}):
            trained = self.read([conv], {"c.weight": floats(6, 3, 1, 1)}, [value("x", [4, 3, 2, 2])], [value("y", [4, 6, 2, 2])],
                                parameters=parameters, buffers=buffers)
            self.assertEqual(trained, expected)
            self.assertNotIn("c.bias'", self.errors)

    # (b) lost ties

    def head(self, copy, name="val_252", **options):
        table = floats(5, 8)
        nodes = [node("Gather", ["lm_head.weight", "i"], ["p"]), node("MatMul", ["p", name], ["y"])]
        return self.read(nodes, {"lm_head.weight": table, name: copy(table)}, [value("i", [4], 7)], [value("y", [4, 5])],
                         **options)

    def test_a_transposed_copy_is_tied(self):
        self.assertEqual(self.head(lambda t: t.T.copy()), {"lm_head.weight": "5x8"})
        self.assertIn("dlc.transpose", self.text)
        self.assertEqual(self.head(lambda t: t.T.copy(), "head_t", producer="other"), {"lm_head.weight": "5x8"})
        self.assertEqual(set(self.head(lambda t: t.T + 1)), {"lm_head.weight", "val_252"})

    def test_a_copy_is_found_among_tables_with_its_corners(self):
        tables = {f"t{i}": floats(8, 8) for i in range(3)}
        for table in tables.values():
            table[0, 0], table[7, 7] = 1, 2
        for source in tables:
            nodes = [node("MatMul", [a, t], [b]) for a, t, b in [("x", "t0", "a"), ("a", "t1", "b"), ("b", "t2", "c")]]
            nodes.append(node("MatMul", ["c", "val_9"], ["y"]))
            self.assertEqual(set(self.read(nodes, tables | {"val_9": tables[source].T.copy()})), set(tables))
            self.assertIn(f'loc("{source}/transposed")', self.text)
            self.assertEqual(set(self.read(nodes, tables | {"val_9": tables[source][::-1].T.copy()})), {*tables, "val_9"})

    def test_reshaped_and_sliced_and_gathered_copies_are_tied(self):
        table = floats(12, 8)
        for copy, expected in [(table.reshape(1, 12, 8), "dlc.reshape"), (table[2:6], "dlc.slice"),
                               (table[[3, 3, 7, 1]], "dlc.gather")]:
            nodes = [node("Gather", ["pos.weight", "i"], ["p"]), node("MatMul", ["p", "w"], ["q"]),
                     node("Add", ["q", "val_9"], ["y"])]
            shape = [1, 12, 8] if copy.ndim == 3 else [4, 8]
            rows = 12 if copy.ndim == 3 else 4
            trained = self.read(nodes, {"pos.weight": table, "w": floats(8, 8), "val_9": copy},
                                [value("i", [rows], 7)], [value("y", shape)], batch=rows)
            self.assertEqual(set(trained), {"pos.weight", "w"}, expected)
            self.assertIn(expected, self.text)

    # (c) masks

    def scores(self, mask, name="where", **options):
        nodes = [node("MatMul", ["x", "w"], ["s"]), node("Add", ["s", name], ["m"]), node("Softmax", ["m"], ["y"], axis=-1)]
        self.read(nodes, {"w": floats(8, 8), name: np.broadcast_to(mask, (4, 1, 8, 8)).astype(np.float32)},
                  [value("x", [4, 1, 8, 8])], [value("y", [4, 1, 8, 8])], **options)
        return name in self.trained

    def test_masks_are_constants(self):
        self.assertFalse(self.scores(np.zeros(8)))
        self.assertFalse(self.scores(np.where(random.rand(4, 1, 8, 8) < 0.5, 0, -np.inf)))
        self.assertFalse(self.scores(floats(8, 8), "val_7"), "a table of slopes")
        self.assertRegex(self.errors, "that the exporter computed, .* not trained: 'val_7'")
        for mask in np.zeros(8), np.where(random.rand(4, 1, 8, 8) < 0.5, 0, -np.inf):
            self.scores(mask, "val_7")
            self.assertNotIn("not trained", self.errors)
        self.assertFalse(self.scores(np.zeros(8), parameters=["w"]))

    def test_learned_biases_of_scores_train(self):
        bias = floats(1, 8, 8)
        self.assertTrue(self.scores(bias, "attn.rel_bias"))
        self.assertTrue(self.scores(np.zeros((8, 8)), "attn.rel_bias", parameters=["w", "attn.rel_bias"]))

    def test_a_gathered_bias_is_its_table(self):
        table = floats(15, 4)
        index = np.arange(8)[:, None] - np.arange(8)[None] + 7
        nodes = [node("MatMul", ["x", "w"], ["s"]),
                 call(node("Add", ["s", "unsqueeze_3"], ["m"]), "add", "%s, %unsqueeze_3", "attn"),
                 node("Softmax", ["m"], ["y"], axis=-1)]
        trained = self.read(nodes, {"w": floats(8, 8), "unsqueeze_3": table[index].transpose(2, 0, 1)[None]},
                            [value("x", [2, 4, 8, 8])], [value("y", [2, 4, 8, 8])], parameters=["w", "attn.table"], batch=2)
        self.assertEqual(trained, {"w": "8x8", "unsqueeze_3": "15x4"})

    # (d) folded expressions

    def token(self, rows, name="expand", parameters=None, batch=4, free=False, scope=""):
        nodes = [call(node("Concat", [name, "x"], ["c"], axis=1), "cat", f"[%{name}, %x], 1", scope),
                 node("MatMul", ["c", "w"], ["y"])]
        first = "n" if free else 4
        return self.read(nodes, {"w": floats(8, 8), name: rows}, [value("x", [first, 3, 8])], [value("y", [first, 4, 8])],
                         parameters=parameters, batch=batch)

    def test_an_expanded_token_is_one_row(self):
        rows = np.broadcast_to(floats(1, 1, 8), (4, 1, 8)).copy()
        self.assertEqual(self.token(rows, parameters=["w", "cls"]), {"w": "8x8", "cls": "1x1x8"})
        self.assertEqual(self.token(rows), {"w": "8x8", "expand": "1x1x8"})
        self.assertEqual(self.token(np.zeros_like(rows), parameters=["w", "cls"]), {"w": "8x8", "cls": "1x1x8"})
        self.assertEqual(self.token(rows, free=True, batch=6), {"w": "8x8", "expand": "1x1x8"})
        self.assertIn("tensor<6x4x8xf32>", self.text)

    def test_without_a_parameter_behind_it_is_constant(self):
        rows = floats(4, 1, 8)
        self.assertEqual(self.token(rows, parameters=["w"]), {"w": "8x8"})
        self.assertEqual(self.token(rows, "stack"), {"w": "8x8"})
        self.assertEqual(self.token(np.zeros_like(rows), "zeros", parameters=["w", "cls"]), {"w": "8x8"})

    def test_equal_parameters_behind_an_identity_are_parted(self):
        """Copies of a new layer; a parameter that is used twice has one name, and no Identity."""
        for copy in "enc.layers.1.w", "head.w":
            nodes = [node("Identity", ["enc.layers.0.w"], [copy]), node("MatMul", ["x", "enc.layers.0.w"], ["a"]),
                     node("MatMul", ["a", copy], ["y"])]
            self.assertEqual(set(self.read(nodes, {"enc.layers.0.w": floats(8, 8)})), {"enc.layers.0.w", copy})

    def test_weights_folded_to_zeros_are_parted(self):
        """Of batch norms that start with a scale of zero; products with it have either sign."""
        zeros = floats(8, 8, 1, 1) * np.float32(0)
        self.assertEqual(set(np.signbit(zeros).flat), {True, False})
        nodes = [node("Identity", ["onnx::Conv_5"], ["onnx::Conv_8"]), node("Conv", ["x", "onnx::Conv_5"], ["a"], name="/a/Conv"),
                 node("Conv", ["a", "onnx::Conv_8"], ["y"], name="/b/Conv")]
        trained = self.read(nodes, {"onnx::Conv_5": zeros}, [value("x", [4, 8, 2, 2])], [value("y", [4, 8, 2, 2])])
        self.assertEqual(set(trained.values()), {"8x8x1x1"})
        self.assertEqual(len(trained), 2)

    def test_equal_tokens_in_one_node_are_two(self):
        """The exporter reads one tensor twice in place of two equal ones (a class token and another)."""
        nodes = [call(node("Concat", ["expand", "expand", "x"], ["c"], axis=1), "cat", "[%expand, %expand_1, %x], 1"),
                 call(node("MatMul", ["c", "w"], ["y"]), "matmul", "%c, %p_w")]
        trained = self.read(nodes, {"expand": np.zeros((4, 1, 8), np.float32), "w": floats(8, 8)}, [value("x", [4, 3, 8])],
                            [value("y", [4, 5, 8])], parameters=["a", "b", "w"])
        self.assertEqual(sorted(trained.values()), ["1x1x8", "1x1x8", "8x8"])

    def test_gathered_rows_are_one_row(self):
        rows = np.broadcast_to(floats(8), (4, 3, 8)).copy()
        nodes = [call(node("Add", ["x", "embedding_1"], ["s"]), "add", "%x, %embedding_1"), node("MatMul", ["s", "w"], ["y"])]
        trained = self.read(nodes, {"w": floats(8, 8), "embedding_1": rows}, [value("x", [4, 3, 8])], [value("y", [4, 3, 8])],
                            parameters=["w", "types.weight"])
        self.assertEqual(trained, {"w": "8x8", "embedding_1": "1x1x8"})

    def test_rows_that_are_looked_up_twice_are_one(self):
        """Corners of a box, in tables of a LayoutLM: both read one row of one table. What other modules look up, or compute, is theirs."""
        rows = np.broadcast_to(floats(8), (4, 3, 8)).copy()
        for second, scope, shapes in (("embedding_2", "e", ["1x1x8", "8x8"]), ("embedding_2", "f", ["1x1x8", "1x1x8", "8x8"]),
                                      ("neg_2", "e", ["1x1x8", "1x1x8", "8x8"])):
            nodes = [call(node("Add", ["x", "embedding_1"], ["s"]), "add", "%x, %embedding_1", "e"),
                     call(node("Add", ["s", second], ["t"]), "add", f"%s, %{second}", scope), node("MatMul", ["t", "w"], ["y"])]
            trained = self.read(nodes, {"w": floats(8, 8), "embedding_1": rows, second: rows}, [value("x", [4, 3, 8])],
                                [value("y", [4, 3, 8])], parameters=["w", "e.x.weight", "e.y.weight", "f.x.weight"])
            self.assertEqual(sorted(trained.values()), shapes)

    def folded(self, name, values, parameters, op="Mul", line=None):
        nodes = [call(node(op, ["x", name], ["p"]), op.lower(), f"%x, %{name}", "norm"), node("MatMul", ["p", "w"], ["y"])]
        if line:
            nodes[0].metadata_props.add(key=TRACE, value='File "a.py", line 9, in forward\n    return self.norm(x + 3)\n  '
                                        f'File "a.py", line 5, in forward\n    {line}')
        return self.read(nodes, {"w": floats(8, 8), name: values}, parameters=["w", *parameters])

    def test_sliced_positions_train_as_they_are(self):
        self.assertEqual(self.folded("slice_1", floats(4, 8), ["pos.weight"], "Add"), {"w": "8x8", "slice_1": "4x8"})
        self.assertNotIn("cannot be inverted", self.errors)

    def test_what_a_layer_gave_is_no_parameter(self):
        """Positions that a projection of sines made, moved and repeated (XCiT): they train as they are, with a warning."""
        rows = np.broadcast_to(floats(1, 3, 8), (4, 3, 8)).copy()
        nodes = [call(node("Add", ["x", "permute"], ["s"]), "add", "%x, %permute"),
                 call(node("Concat", ["expand", "s"], ["c"], axis=1), "cat", "[%expand, %s], 1"),
                 call(node("MatMul", ["c", "w"], ["y"]), "matmul", "%c, %p_w")]
        weights = {"w": floats(8, 8), "permute": rows, "expand": np.broadcast_to(floats(1, 1, 8), (4, 1, 8)).copy()}
        def read(*parameters):
            return self.read(nodes, weights, [value("x", [4, 3, 8])], [value("y", [4, 4, 8])], parameters=["w", "cls", *parameters])
        self.assertEqual(read("pos.weight", "pos.bias"), {"w": "8x8", "cls": "1x1x8", "permute": "1x3x8"})
        self.assertRegex(self.errors, "folded functions of parameters that cannot be inverted; .* train instead: 'permute'")
        self.assertEqual(read("pos.weight"), {"w": "8x8", "expand": "1x1x8", "permute": "1x3x8"})
        self.assertNotIn("cannot be inverted", self.errors)
        self.assertEqual(set(read()), {"w", "cls"})

    def test_number_plus_weight(self):
        """As the source's text says it, and where the sum is the folded value."""
        for line, number in [("return y * (1.0 + self.weight.float())", "1"), ("return y * (0.5 + s.weight)", "0.5"),
                             ("y = (self.norm.weight + 2) * y", "2")]:
            self.assertEqual(self.folded("add_1", float(number) + floats(8), ["norm.weight"], line=line),
                             {"w": "8x8", "norm.weight": "8"}, line)
            self.assertIn("dlc.add", self.text)
            self.assertIn(f"dense<{float(number):.6e}>", self.text)
        self.assertEqual(self.folded("add_1", np.float32([1.25]), ["norm.eps"], line="return y * (1 + self.eps)"), {"w": "8x8", "norm.eps": "1"})

    def test_what_was_added_is_not_guessed(self):
        for line in [None, "return y * scale", "return y * (1 + self.weight_2)", "return y * (1 + self.weight) + b",
                     "return y * (1e3 + self.weight)", "return y * ((1 + self.weight) + self.b)",
                     "return y * (-1 + self.weight)", "return y * (2 * 1 + self.weight)",
                     f"return y * ({10**39} + self.weight)", "return y * (1000000000 + self.weight)"]:
            self.assertEqual(self.folded("add_1", 1 + floats(8), ["norm.weight"], line=line), {"w": "8x8", "add_1": "8"}, line)
            self.assertEqual(self.errors.count("cannot be inverted"), 1)
            self.assertIn("optimize=False", self.errors)

    def test_minus_exp(self):
        self.assertEqual(self.folded("neg", -np.exp(floats(8)), ["norm.A_log"]), {"w": "8x8", "norm.A_log": "8"})
        self.assertIn("dlc.exp", self.text)
        self.assertIn("dlc.neg", self.text)
        soft = np.log1p(np.exp(floats(8)))
        self.assertEqual(self.folded("softplus", soft, ["norm.bias", "norm.recurrent_param"]), {"w": "8x8", "norm.recurrent_param": "8"})
        self.assertIn("dlc.softplus", self.text)

    def test_a_scale_among_parameters_that_are_gone(self):
        """CLIP's exp(logit_scale), beside tables that the exporter cut; SigLIP's mask of zeros is none of them."""
        nodes = [call(node("Mul", ["x", "exp"], ["p"]), "mul", "%x, %exp"), call(node("Add", ["p", "embedding_1"], ["q"]), "add", "%p, %embedding_1"),
                 node("MatMul", ["q", "w"], ["y"])]
        trained = self.read(nodes, {"w": floats(8, 8), "exp": np.full(1, 14.3, np.float32), "embedding_1": floats(4, 8)},
                            parameters=["w", "logit_scale", "a.weight", "b.weight"])
        self.assertEqual(trained, {"w": "8x8", "logit_scale": "1", "embedding_1": "4x8"})
        nodes = [call(node("MatMul", ["x", "k"], ["s"]), "matmul", "%x, %p_k"), call(node("Add", ["s", "expand"], ["t"]), "add", "%s, %expand"),
                 node("Softmax", ["t"], ["u"]), call(node("Mul", ["u", "exp"], ["y"]), "mul", "%u, %exp")]
        trained = self.read(nodes, {"k": floats(8, 8), "expand": np.zeros((4, 1, 8, 8), np.float32), "exp": np.ones(1, np.float32)},
                            [value("x", [4, 1, 8, 8])], [value("y", [4, 1, 8, 8])], parameters=["k", "logit_scale"])
        self.assertEqual(trained, {"k": "8x8", "logit_scale": "1"})

    def test_a_row_for_each_sample_that_was_moved(self):
        """SigLIP's probe, repeated for the batch and transposed; other rows that were moved are the parameter's own."""
        probe = floats(1, 1, 8)
        for rows, kept in (np.repeat(probe, 4, 1), "1x1x8"), (np.repeat(probe, 3, 1), "1x3x8"), (floats(1, 4, 8), "1x4x8"):
            nodes = [call(node("MatMul", ["transpose", "w"], ["p"]), "matmul", "%transpose, %p_w"), call(node("Add", ["x", "p"], ["y"]), "add", "%x, %p")]
            shape = [1, rows.shape[1], 8]
            trained = self.read(nodes, {"transpose": rows, "w": floats(8, 8)}, [value("x", [4, *shape[1:]])], [value("y", [4, *shape[1:]])],
                                parameters=["w", "probe", "other"])
            self.assertEqual(trained, {"w": "8x8", "transpose": kept})

    def test_what_cannot_be_undone_is_one_warning(self):
        self.assertEqual(set(self.folded("sigmoid", floats(8), ["norm.gate"])), {"w", "sigmoid"})
        self.assertEqual(self.errors.count("cannot be inverted"), 1)
        self.assertRegex(self.errors, r"warning: .*'sigmoid'.*torch.onnx.export\(..., dynamo=True, optimize=False\)")

    def test_tables_that_may_have_been_resized(self):
        """An exporter that folds an interpolation notes what came after it alone: a movement, or parts of one table joined."""
        said = "resized where the source interpolates them; they train in the size that the file has: '{}'"
        for op, parameters, warned in (("cat", ["pos_embed"], True), ("transpose", ["m.position_embeddings"], True), ("transpose", ["m.table"], False),
                                       ("slice_1", ["pos.weight"], False), ("cat", ["pos_embed", "cls"], False)):
            with self.subTest((op, parameters)):
                self.folded(op, floats(4, 8), parameters, "Add")
                self.assertEqual(said.format(op) in self.errors, warned, self.errors)

    def test_joined_parameters_train_as_one_without_a_warning(self):
        for op in "cat", "stack":
            self.assertEqual(self.folded(op, floats(4, 8), ["norm.a", "norm.b"]), {"w": "8x8", op: "4x8"})
            self.assertNotIn("warning", self.errors.replace("warning: the exporter merged or folded tensors: 1 joined", ""))

    def test_lost_parameters_are_one_warning(self):
        nodes = [call(node("MatMul", ["x", "w"], ["y"]), "matmul", "%x, %p_w")]
        self.read(nodes, {"w": floats(8, 8)}, parameters=["w", "a.b", "a.c", "d", "e\x1b"])
        self.assertEqual(self.errors.count("that the file does not have"), 1)
        self.assertRegex(self.errors, r"does not have: 'a.b', 'a.c', 'd' and 1 more\. They cannot be trained\. "
                                      r".*torch.onnx.export\(..., dynamo=True, optimize=False\)")
        self.read(nodes, {"w": floats(8, 8)}, parameters=["w"])
        self.assertNotIn("does not have", self.errors)

    def test_tensors_of_nodes_that_a_tool_fused_are_not_lost(self):
        nodes = [call(node("MatMul", ["x", "w"], ["p"]), "linear", "%x, %p_w", "fc"),
                 node("SkipLayerNormalization", ["p", "x", "n.weight", "n.bias"], ["y"], domain="com.microsoft")]
        tensors = {"w": floats(8, 8), "n.weight": floats(8), "n.bias": floats(8)}
        trained = self.read(nodes, tensors, [value("x", [4, 4, 8])], [value("y", [4, 4, 8])], parameters=["w", "n.weight", "n.bias", "m.bias"])
        self.assertEqual(set(trained), {"w", "n.weight", "n.bias"})
        self.assertRegex(self.errors, "parameters of the source that no node names: 'm.bias'. A tool fused nodes after the export")
        self.assertNotIn("They cannot be trained", self.errors)

    def test_zero_scale_and_shift_of_one_module_are_parted(self):
        """addcmul of two parameters, both zeros (ConvNeXt V2's response norm)."""
        nodes = [node("Mul", ["view", "x"], ["p"]), node("Add", ["view", "p"], ["q"]), node("MatMul", ["q", "w"], ["y"])]
        for n in nodes[:2]:
            call(n, "addcmul", "%view, %view_1, %x", "grn")
        trained = self.read(nodes, {"w": floats(8, 8), "view": np.zeros((1, 8), np.float32)},
                            parameters=["w", "grn.weight", "grn.bias"])
        self.assertEqual(sorted(trained.values()), ["1x8", "1x8", "8x8"])

    # the file says what a value was folded from

    def folded_from(self, name, weight, sources, parameters, read="%q"):
        nodes = [call(node("MatMul", ["x", "fc.weight"], ["p"]), "linear", "%x, %p_fc_weight, %p_fc_bias", "fc"),
                 call(node("Add", ["p", "fc.bias"], ["q"]), "linear", "%x, %p_fc_weight, %p_fc_bias", "fc"),
                 call(node("Add", ["q", name], ["y"]), "norm", read, "norm")]
        weights = {"fc.weight": floats(8, 8), "fc.bias": weight[0] if weight.ndim > 1 else floats(8), name: weight}
        return self.noting(name, weight, sources, nodes, weights, parameters=["fc.weight", "fc.bias", *parameters])

    def noting(self, name, weight, sources, *graph, **more):
        """What trains where the file says what a value was folded from."""
        noted = value(name, weight.shape)
        noted.metadata_props.add(key="pkg.onnxscript.optimizer.folded_from", value=str(sources))
        load, onnx.save = onnx.save, lambda proto, path: (proto.graph.value_info.append(noted), load(proto, path))
        try:
            return set(self.read(*graph, **more))
        finally:
            onnx.save = load

    def test_values_folded_from_no_parameter_do_not_train(self):
        """A group norm's inner scale of ones, a table of sines."""
        own = {"fc.weight", "fc.bias"}
        for weight in np.ones(8, np.float32), floats(8):
            self.assertEqual(self.folded_from("wave", weight, ["arange", "val_1"], []), own)
            self.assertEqual(self.folded_from("wave", weight, ["fc.scale", "val_1"], ["fc.scale"]), own | {"wave"})
        self.assertEqual(self.folded_from("wave", floats(8), [], []), own | {"wave"})

    def test_statistics_of_a_module_that_is_called_twice(self):
        """The exporter's second batch norm reads what the first made of the statistics, an Identity in the file, whatever they hold."""
        target = "_native_batch_norm_legit_functional"
        for mean in np.zeros(8, np.float32), floats(8):
            nodes = [call(node("BatchNormalization", ["x", "n.weight", "n.bias", "n.running_mean", "n.running_var"], ["getitem"]), target,
                          "%x, %p_n_weight, %p_n_bias, %b_n_running_mean, %b_n_running_var, True, 0.1, 1e-05", "n"),
                     node("Identity", ["n.running_mean"], ["getitem_3"]), node("Identity", ["n.running_var"], ["getitem_4"]),
                     call(node("BatchNormalization", ["getitem", "n.weight", "n.bias", "getitem_3", "getitem_4"], ["y"]), target,
                          "%getitem, %p_n_weight, %p_n_bias, %getitem_3, %getitem_4, True, 0.1, 1e-05", "n")]
            weights = {"n.weight": floats(8), "n.bias": floats(8), "n.running_mean": mean, "n.running_var": np.ones(8, np.float32)}
            self.read(nodes, weights, parameters=["n.weight", "n.bias"], buffers=["n.running_mean", "n.running_var"])
            self.assertEqual(set(re.findall(r"dlc\.state @(\S+) : \S+ buffer", self.text)), {"n.running_mean", "n.running_var"})

    def test_a_view_of_a_function_is_no_view(self):
        """NFNet's standardised weights: a view of batch_norm(weight) * gain. Without a function between, the view trains."""
        names = ["norm.weight", "norm.gain"]
        self.assertIn("view_2", self.folded_from("view_2", floats(8), ["view", "mul", "getitem", "val_1", *names], names, "%q, %view_2"))
        self.assertIn("functions of parameters that cannot be inverted; their results train instead: 'view_2' (of 'norm.gain' and 1 more)", self.errors)
        self.assertIn("optimize=False", self.errors)
        self.folded_from("view_2", floats(8), ["view", "val_1", "norm.weight"], names[:1], "%q, %view_2")
        self.assertNotIn("cannot be inverted", self.errors)
        # Only numbers tell BiT's, view(batch_norm(weight)), from a part of a weight: each row has mean zero.
        part, image = floats(3, 3, 2, 2), value("x", [4, 3, 5, 5])
        for weight, undone in (part, True), (part - part.mean((1, 2, 3), keepdims=True), False):
            conv = call(node("Conv", ["x", "view_2"], ["y"]), "conv2d", "%x, %view_2", "norm")
            self.noting("view_2", weight, ["view", "getitem", "val_1", "norm.weight"], [conv], {"view_2": weight}, inputs=[image],
                        outputs=[value("y", [4, 3, 4, 4])], parameters=names[:1])
            (self.assertNotIn if undone else self.assertIn)("cannot be inverted; their results train instead: 'view_2'", self.errors)

    def test_a_norm_of_groups_has_vectors(self):
        """torch's exporter multiplies by its scale as [C, 1, 1]; the module has [C]."""
        shape = [4, 4, 3, 3]
        for numbers, norms in (floats, "n"), (lambda *shape: np.ones(shape, np.float32), "nm"):
            nodes = [call(node(op, [a, f"val_{i + 1}"], [b]), "group_norm", f"%x, 2, %p_{n}_weight, %p_{n}_bias, 1e-05", n)
                     for n, *values in zip(norms, ["x", "z"], ["val_3", "val_4"], ["z" if len(norms) > 1 else "y", "y"])
                     for i, (op, a, b) in enumerate((("Mul", *values[:2]), ("Add", *values[1:])))]
            names = [f"{n}.{leaf}" for n in norms for leaf in ("weight", "bias")]
            weights = {"val_1": numbers(4, 1, 1), "val_2": numbers(4, 1, 1) * 2}
            self.assertEqual(self.read(nodes, weights, [value("x", shape)], [value("y", shape)], parameters=names), dict.fromkeys(names, "4"))

    def test_equal_numbers_may_be_a_merged_parameter(self):
        ones = np.ones(8, np.float32)
        self.assertEqual(len(self.folded_from("wave", ones, ["ones"], ["norm.weight"])), 3)
        self.assertEqual(len(self.folded_from("wave", ones, ["ones"], ["norm.weight"], "%q, %wave")), 2)
        self.assertEqual(len(self.folded_from("wave", floats(8), ["arange"], ["norm.weight"])), 2)

    def test_rows_of_a_bias_are_the_bias(self):
        """The first step of a recurrent layer: zeros x + b."""
        rows, sources = np.tile(floats(8), (4, 1)), ["fc.weight", "fc.bias", "zeros"]
        self.assertEqual(self.folded_from("linear_1", rows, sources, []), {"fc.weight", "fc.bias"})
        self.assertIn("dlc.broadcast", self.text)
        self.assertNotIn("cannot be inverted", self.errors)
        for changed, names in [(rows, sources[:2]), (rows + floats(4, 8), sources)]:
            self.assertEqual(self.folded_from("linear_1", changed, names, []), {"fc.weight", "fc.bias", "linear_1"})
            self.assertIn("cannot be inverted", self.errors)

    def test_many_candidates_cost_no_more_than_the_budget(self):
        nodes = [call(node("Mul", ["x" if i == 0 else f"p{i - 1}", f"mul_{i}"], [f"p{i}"]), "mul", f"%x, %mul_{i}", f"m{i}")
                 for i in range(1500)]
        weights = {f"mul_{i}": floats(8) for i in range(1500)}
        names = [f"m{i % 3}.a{i}" for i in range(12000)]
        self.read(nodes, weights, outputs=[value("p1499", [4, 8])], parameters=names, code=dlc.BAD_MODEL)
        self.assertIn("finding the parameters behind what an exporter folded", self.errors)

    def test_notes_that_lie_break_nothing(self):
        for args in "", "(((", "%", "%p_norm_weight" * 50, "%x, %x, %x", "[[[", "%p_w":
            for scope in "", "'", "norm', 'norm":
                nodes = [call(node("Mul", ["x", "add_1"], ["p"]), "mul", args, scope), node("MatMul", ["p", "w"], ["y"])]
                self.read(nodes, {"w": floats(8, 8), "add_1": floats(8)}, parameters=["w", "norm.weight", "p"])


if __name__ == "__main__":
    dlc.main()
