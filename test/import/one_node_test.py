# SPDX-License-Identifier: Apache-2.0
"""Calls of the source that an exporter made one node, as their operands and parameters were equal: two again, or warned of."""

import os
import re
import sys

import numpy as np

sys.path.insert(0, os.path.dirname(__file__))
import dlc
from support import RestoreCase, call, node, value

random = np.random.RandomState(0)


def floats(*shape):
    return random.randn(*shape).astype(np.float32)


class OneNode(RestoreCase):
    def parallel(self, names, other="layer_norm_1", target="matmul"):
        """y = a(norm(x)) + b(norm2(x)), as the exporter writes it where both norms have equal parameters."""
        nodes = [call(node("LayerNormalization", ["x", "l.norm.weight", "l.norm.bias"], ["layer_norm"], epsilon=0.25), "layer_norm",
                      "%x, [8], %p_l_norm_weight, %p_l_norm_bias, 0.25, False", "l.norm"),
                 call(node("MatMul", ["layer_norm", "a.weight"], ["p"]), target, "%layer_norm, %p_a_weight" + ", %p_a_bias" * (target == "linear"), "a"),
                 call(node("MatMul", ["layer_norm", "b.weight"], ["q"]), target, f"%{other}, %p_b_weight" + ", %p_b_bias" * (target == "linear"), "b"),
                 call(node("Add", ["p", "q"], ["y"]), "add", "%p, %q")]
        weights = {"a.weight": floats(8, 8), "b.weight": floats(8, 8), "l.norm.weight": np.ones(8, np.float32), "l.norm.bias": np.zeros(8, np.float32)}
        return set(self.read(nodes, weights, parameters=[*weights, *names])) - set(weights)

    def test_norms_of_equal_parameters_are_two(self):
        """A parallel residual's (GPT-NeoX). Which is meant must be certain."""
        names = ["l.second.weight", "l.second.bias"]
        self.assertEqual(self.parallel(names), set(names))
        self.assertEqual(self.text.count("dlc.layer_norm"), 2)
        self.assertEqual(self.parallel(names, target="linear"), set(names))
        self.assertEqual(len(re.findall("epsilon = 2.5", self.text)), 2)
        self.assertNotIn("does not have", self.errors)
        for lost, other in ([*names, "l.third.weight", "l.third.bias"], "layer_norm_1"), (names, "layer_norm"), (names[:1], "layer_norm_1"), \
                (["k.second.weight", "k.second.bias"], "layer_norm_1"), (names, "add_1"):
            self.assertEqual(self.parallel(lost, other), set())
            self.assertIn("parameters of the source that the file does not have", self.errors)

    def test_products_of_equal_weights_are_two(self):
        """Gates whose weights are zeros at first (xLSTM): x W + b and x V + c, of which the exporter kept one product."""
        args = "%x, %p_{0}_weight, %p_{0}_bias"
        nodes = [call(node("MatMul", ["x", "w"], ["val_0"]), "linear", args.format("a"), "a"),
                 call(node("Add", ["val_0", "a.bias"], ["linear"]), "linear", args.format("a"), "a"),
                 call(node("Add", ["val_0", "b.bias"], ["linear_1"]), "linear", args.format("b"), "b"),
                 call(node("Mul", ["linear", "linear_1"], ["y"]), "mul", "%linear, %linear_1")]
        nodes[0].metadata_props[0].value = nodes[0].metadata_props[0].value.replace("%val_0 ", "%linear ")
        names = ["a.weight", "a.bias", "b.weight", "b.bias"]
        weights = {"w": np.zeros((8, 6), np.float32), "a.bias": floats(6), "b.bias": floats(6)}
        found = self.read(nodes, weights, parameters=names, outputs=[value("y", [4, 6])])
        self.assertEqual(found, {"a.weight": "6x8", "a.bias": "6", "b.weight": "6x8", "b.bias": "6"})
        self.assertEqual(self.text.count("dlc.matmul"), 2)
        note = nodes[2].metadata_props[0]
        for unknown in "", "None":  # a note is a hint of an untrusted file
            note.value = re.sub(r"%p_b_weight|(?<=%x, )[^,]*(?=,)", unknown, note.value, count=1)
            self.read(nodes, weights, parameters=names, outputs=[value("y", [4, 6])])
            self.assertEqual(self.text.count("dlc.matmul"), 1)

    def test_norms_that_stay_one_are_warned_of(self):
        """One of the norms is called elsewhere, too, so that nothing says whose parameters were merged (Depth Anything)."""
        norm = "[8], %p_{0}_weight, %p_{0}_bias"
        own = node("LayerNormalization", ["x", "a.weight", "a.bias"], ["layer_norm"], name="node_layer_norm")
        nodes = [call(own, "layer_norm", "%x, " + norm.format("a"), "a"),
                 call(node("Relu", ["layer_norm"], ["relu"]), "relu", "%layer_norm"),
                 call(node("Sigmoid", ["layer_norm"], ["sigmoid"]), "sigmoid", "%layer_norm_1"),
                 call(node("LayerNormalization", ["relu", "b.weight", "b.bias"], ["layer_norm_2"]), "layer_norm", "%relu, " + norm.format("b"), "b"),
                 call(node("Add", ["layer_norm_2", "sigmoid"], ["y"]), "add", "%layer_norm_2, %sigmoid")]
        weights = {"a.weight": np.ones(8, np.float32), "a.bias": np.zeros(8, np.float32), "b.weight": floats(8), "b.bias": floats(8)}
        self.assertEqual(set(self.read(nodes, weights, parameters=list(weights))), set(weights))
        self.assertIn("equal parameters, train as one: 'node_layer_norm' (of 'a'). Unless the source calls one module twice", self.errors)
        nodes[2].metadata_props[0].value = nodes[2].metadata_props[0].value.replace("layer_norm_1", "layer_norm")
        self.read(nodes, weights, parameters=list(weights))
        self.assertNotIn("train as one", self.errors)

    def test_a_function_beside_its_parameter_is_warned_of(self):
        """x + sin(alpha x) / alpha (DAC), of which the exporter folded 1 / alpha and kept alpha."""
        nodes = [call(node("Mul", ["alpha", "x"], ["mul"]), "mul", "%p_snake_alpha, %x", "snake"),
                 call(node("Sin", ["mul"], ["sin"]), "sin", "%mul", "snake"),
                 call(node("Mul", ["reciprocal", "sin"], ["y"]), "mul", "%reciprocal, %sin", "snake")]
        alpha = np.abs(floats(8)) + 1
        for function, merged in (1 / alpha, False), (np.ones(8, np.float32), True):
            with self.subTest(merged=merged):
                weights = {"snake.alpha": function if merged else alpha} | ({} if merged else {"reciprocal": function})
                for made, slot in (nodes[0], 0), (nodes[2], 0):
                    made.input[slot] = "reciprocal" if made is nodes[2] and not merged else "snake.alpha"
                self.assertEqual(set(self.read(nodes, weights, parameters=["snake.alpha"])), {"snake.alpha"})
                self.assertRegex(self.errors, r"are not trained: 'reciprocal' \(of 'snake.alpha'\)\. .*optimize=False")


if __name__ == "__main__":
    dlc.main()
