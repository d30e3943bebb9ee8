# SPDX-License-Identifier: Apache-2.0
"""Names that torch's older exporter folded away come back from the scopes of nodes and from biases; nothing is guessed."""

import os
import re
import sys

import numpy as np

sys.path.insert(0, os.path.dirname(__file__))
import dlc
import onnx
from support import IMPORT, model, node, run, value

random = np.random.RandomState(0)


def floats(*shape):
    return random.randn(*shape).astype(np.float32)


def linear(path, x, y, weight, bias=None):
    """The nodes of a torch.nn.Linear at `path`, as the exporter writes them for inputs of three dimensions."""
    if bias is None:
        return [node("MatMul", [x, weight], [y], name=f"/{path}/MatMul")]
    return [node("MatMul", [x, weight], [y + "p"], name=f"/{path}/MatMul"),
            node("Add", [bias, y + "p"], [y], name=f"/{path}/Add")]


class Scopes(dlc.TestCase):
    def read(self, nodes, weights, inputs=None, outputs=None, producer="pytorch"):
        """Shapes of what is trained, by name."""
        proto = model(nodes, inputs or [value("x", [4, 2, 8])], outputs or [value("y", [4, 2, 8])], weights)
        proto.producer_name = producer
        onnx.save(proto, self.path("m.onnx"))
        status, self.text, self.errors = run(IMPORT, self.path("m.onnx"), "--batch=4")
        self.assertEqual(status, 0, self.errors)
        found = re.findall(r'dlc\.state @(?:"([^"]+)"|(\S+)) : tensor<(\S+)xf32> (\w+) init', self.text)
        return {a or b: shape for a, b, shape, role in found if role == "param"}

    def test_linear_by_its_bias(self):
        nodes = linear("2/linear1", "x", "h", "onnx::MatMul_1", "2.linear1.bias") + \
            linear("2/attn", "h", "y", "onnx::MatMul_2", "2.attn.in_proj_bias")
        weights = {"onnx::MatMul_1": floats(8, 6), "2.linear1.bias": floats(6),
                   "onnx::MatMul_2": floats(6, 8), "2.attn.in_proj_bias": floats(8)}
        self.assertEqual(self.read(nodes, weights), {"2.linear1.weight": "6x8", "2.linear1.bias": "6",
                                                     "2.attn.in_proj_weight": "8x6", "2.attn.in_proj_bias": "8"})
        for n in nodes:  # as torch named nodes before it had scopes
            n.name = n.name.split("/")[-1]
        self.assertIn("2.linear1.weight", self.read(nodes, weights))

    def test_linear_without_bias_is_alone_in_its_module(self):
        weights = {"onnx::MatMul_1": floats(8, 8)}
        nodes = linear("layers/layers.0/q_proj", "x", "y", "onnx::MatMul_1")
        self.assertEqual(self.read(nodes, weights), {"layers.0.q_proj.weight": "8x8"})
        other = [node("Tanh", ["h"], ["y"], name="/layers/layers.0/q_proj/Tanh")]
        nodes = linear("layers/layers.0/q_proj", "x", "h", "onnx::MatMul_1") + other
        self.assertEqual(self.read(nodes, weights), {"onnx::MatMul_1": "8x8"})
        nodes = [node("MatMul", ["x", "onnx::MatMul_1"], ["y"], name="/MatMul")]
        self.assertEqual(self.read(nodes, weights), {"onnx::MatMul_1": "8x8"})

    def test_a_bias_of_another_module_names_nothing(self):
        nodes = linear("a", "x", "y", "onnx::MatMul_1", "b.bias") + [node("Tanh", ["x"], ["z"], name="/a/Tanh")]
        weights = {"onnx::MatMul_1": floats(8, 8), "b.bias": floats(8)}
        self.assertEqual(set(self.read(nodes, weights)), {"onnx::MatMul_1", "b.bias"})

    def test_two_claims_to_a_name_settle_nothing(self):
        nodes = linear("fc", "x", "h", "onnx::MatMul_1", "fc.bias") + linear("fc", "h", "y", "onnx::MatMul_2", "fc.bias")
        weights = {"onnx::MatMul_1": floats(8, 8), "onnx::MatMul_2": floats(8, 8), "fc.bias": floats(8)}
        self.assertEqual(set(self.read(nodes, weights)), set(weights))
        weights["onnx::MatMul_2"] = weights["onnx::MatMul_1"]
        self.assertEqual(set(self.read(nodes, weights)), {"fc.weight", "fc.bias"})

    def test_a_module_called_twice_is_one(self):
        weights = {"onnx::MatMul_1": floats(8, 8)}
        nodes = [node("Identity", ["onnx::MatMul_1"], ["onnx::MatMul_2"])] + linear("c", "x", "h", "onnx::MatMul_1") + \
            linear("c_1", "h", "y", "onnx::MatMul_2")
        self.assertEqual(self.read(nodes, weights), {"c.weight": "8x8"})

    def test_equal_layers_are_parted(self):
        """The exporter merges what is equal; parameters that are one have one name."""
        weights = {"onnx::MatMul_1": floats(8, 8), "a.bias": floats(8)}
        nodes = [node("Identity", ["onnx::MatMul_1"], ["onnx::MatMul_2"]), node("Identity", ["a.bias"], ["b.bias"])] + \
            linear("a", "x", "h", "onnx::MatMul_1", "a.bias") + linear("b", "h", "y", "onnx::MatMul_2", "b.bias")
        self.assertEqual(set(self.read(nodes, weights)), {"a.weight", "a.bias", "b.weight", "b.bias"})

    def test_a_tied_head_stays_tied(self):
        table = floats(5, 8)
        nodes = [node("Gather", ["wte.weight", "i"], ["h"], name="/wte/Gather")] + linear("lm_head", "h", "y", "onnx::MatMul_9")
        found = self.read(nodes, {"wte.weight": table, "onnx::MatMul_9": table.T.copy()}, [value("i", [4], 7)],
                          [value("y", [4, 5])])
        self.assertEqual(found, {"wte.weight": "5x8"})

    def test_convolution_with_a_norm_in_it(self):
        nodes = [node("Conv", ["x", "onnx::Conv_1", "onnx::Conv_2"], ["y"], name="/b/b.0/Conv")]
        found = self.read(nodes, {"onnx::Conv_1": floats(6, 3, 1, 1), "onnx::Conv_2": floats(6)},
                          [value("x", [4, 3, 2, 2])], [value("y", [4, 6, 2, 2])])
        self.assertEqual(found, {"b.0.weight": "6x3x1x1", "b.0.bias": "6"})

    def test_second_call_of_a_convolution_with_a_norm_in_it(self):
        """Its bias is a copy by another name, its weight the same tensor."""
        nodes = [node("Conv", ["x", "onnx::Conv_1", "onnx::Conv_2"], ["h"], name="/d/d.2/Conv"),
                 node("Conv", ["h", "onnx::Conv_1", "onnx::Conv_3"], ["y"], name="/d/d.2_1/Conv")]
        bias, shapes = floats(3), ([value("x", [4, 3, 2, 2])], [value("y", [4, 3, 2, 2])])
        weights = {"onnx::Conv_1": floats(3, 3, 1, 1), "onnx::Conv_2": bias, "onnx::Conv_3": bias.copy()}
        self.assertEqual(self.read(nodes, weights, *shapes), {"d.2.weight": "3x3x1x1", "d.2.bias": "3"})
        weights["onnx::Conv_3"] = floats(3)  # then nobody's claim holds
        self.assertEqual(set(self.read(nodes, weights, *shapes)), {"d.2.weight", "onnx::Conv_2", "onnx::Conv_3"})

    def test_convolution_by_its_bias(self):
        """Its weight was folded, but not with a norm, which would have changed the bias, too."""
        nodes = [node("Conv", ["x", "onnx::Conv_1", "b.conv1d.bias"], ["h"], name="/b/Conv"), node("Relu", ["h"], ["y"], name="/b/Relu")]
        weights = {"onnx::Conv_1": floats(6, 3, 1, 1), "b.conv1d.bias": floats(6)}
        shapes = [value("x", [4, 3, 2, 2])], [value("y", [4, 6, 2, 2])]
        self.assertEqual(self.read(nodes, weights, *shapes), {"b.conv1d.weight": "6x3x1x1", "b.conv1d.bias": "6"})
        self.assertNotIn("batch norm", self.errors)

    def test_vectors_that_got_more_dimensions(self):
        """Scale and shift of a group norm, which trained as in PyTorch only where nothing was folded; slopes."""
        nodes = [node("Reshape", ["x", "shape"], ["r"], name="/n/Reshape"),
                 node("InstanceNormalization", ["r", "/n/Constant_output_0", "/n/Constant_1_output_0"], ["i"], name="/n/InstanceNormalization"),
                 node("Reshape", ["i", "back"], ["h"], name="/n/Reshape_1"),
                 node("Mul", ["h", "onnx::Mul_1"], ["m"], name="/n/Mul"),
                 node("Add", ["m", "onnx::Add_2"], ["a"], name="/n/Add"),
                 node("PRelu", ["a", "onnx::PRelu_3"], ["y"], name="/act/PRelu")]
        weights = {"shape": np.array([0, 2, -1]), "back": np.array([4, 6, 2, 2]), "/n/Constant_output_0": np.ones(2, np.float32),
                   "/n/Constant_1_output_0": np.zeros(2, np.float32), "onnx::Mul_1": floats(6, 1, 1), "onnx::Add_2": floats(6, 1, 1),
                   "onnx::PRelu_3": floats(6, 1, 1)}
        found = self.read(nodes, weights, [value("x", [4, 6, 2, 2])], [value("y", [4, 6, 2, 2])])
        self.assertEqual({k: v for k, v in found.items() if len(v) == 1},
                         {"n.weight": "6", "n.bias": "6", "act.weight": "6"})

    def recurrent(self, kind, gates, directions, biased=True):
        h, d = 3, directions
        weights = {f"onnx::{kind}_1": floats(d, gates * h, 4), f"onnx::{kind}_2": floats(d, gates * h, h)}
        if biased:
            weights[f"onnx::{kind}_3"] = floats(d, 2 * gates * h)
        nodes = [node(kind, ["x", *weights], ["s"], name=f"/rnn/{kind}_1", hidden_size=h,
                      direction="bidirectional" if d == 2 else "forward")]
        return weights, self.read(nodes, weights, [value("x", [4, 5, 4])], [value("s", [4, d, 5, h])])

    def test_recurrent_packs(self):
        self.assertEqual(self.recurrent("LSTM", 4, 2)[1],
                         {f"rnn.{kind}_l1{way}": shape for way in ("", "_reverse")
                          for kind, shape in [("weight_ih", "12x4"), ("weight_hh", "12x3"), ("bias_ih", "12"), ("bias_hh", "12")]})
        self.assertEqual(self.recurrent("GRU", 3, 1, False)[1], {"rnn.weight_ih_l1": "9x4", "rnn.weight_hh_l1": "9x3"})
        self.assertEqual(set(self.recurrent("RNN", 1, 1)[1]),
                         {f"rnn.{kind}_l1" for kind in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")})

    def test_names_that_no_tensor_may_have(self):
        bias = "a" * 994 + ".bias"  # with "weight" it is too long
        nodes = linear("a", "x", "y", "onnx::MatMul_1", bias)
        for n in nodes:
            n.name = ""
        weights = {"onnx::MatMul_1": floats(8, 8), bias: floats(8)}
        self.assertEqual(set(self.read(nodes, weights)), set(weights))


if __name__ == "__main__":
    dlc.main()
