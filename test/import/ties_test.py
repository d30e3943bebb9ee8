# SPDX-License-Identifier: Apache-2.0
"""A weight that modules of the source share has several names, of which the newer exporter keeps the last: options know all."""

import os
import sys

import numpy as np

sys.path.insert(0, os.path.dirname(__file__))
import dlc
import onnx
from support import RestoreCase, call, node, value

random = np.random.RandomState(0)


def floats(*shape):
    return random.randn(*shape).astype(np.float32)


class Ties(RestoreCase):
    def test_a_tie_is_frozen_by_either_name(self):
        """The file has the last one, and the module of the first reads it."""
        nodes = [call(node("Gather", ["head.weight", "i"], ["e"]), "embedding", "%p_head_weight, %i", "table"),
                 call(node("MatMul", ["e", "head.weight"], ["y"]), "matmul", "%e, %p_head_weight", "head")]
        inputs = [value("i", [4], onnx.TensorProto.INT64)]
        for pattern, trained in ("^table", set()), ("^head", set()), ("none", {"head.weight"}):
            flags = [] if pattern == "none" else [f"--freeze={pattern}"]
            read = self.read(nodes, {"head.weight": floats(8, 8)}, inputs, parameters=["table.weight", "head.weight"], flags=flags)
            self.assertEqual(set(read), trained, pattern)
            self.assertIn("weights with two names in the source: 'table.weight' is 'head.weight'; options know both, ", self.errors)

    def test_options_know_a_tie_by_either_name(self):
        """The move of a table that two modules share: none with a factor of 0, of its adapters alone, for one loss of two."""
        nodes = [call(node("Gather", ["head.weight", "i"], ["e"]), "embedding", "%p_head_weight, %i", "table"),
                 call(node("MatMul", ["e", "head.weight"], ["y"]), "matmul", "%e, %p_head_weight", "head"), node("ReduceMean", ["y"], ["l"], keepdims=0)]
        self.read(nodes, {"head.weight": floats(8, 8)}, [value("i", [4], onnx.TensorProto.INT64)], [value("y", [4, 8]), value("l", [])],
                  parameters=["table.weight", "head.weight"])
        np.savez(self.path("d.npz"), i=np.arange(4), y=np.zeros((4, 8), np.float32))
        others, moved = [], {}
        for flags in ("--lr-scale={}:0", "--weight-decay-scale={}:0", "--optimizer-group={}:sgd", "--init={}:zeros", "--lora=2 --lora-targets={}",
                      "--loss=y:mse,l:graph --loss-params={}:l"):
            for name in "^table", "^head":
                loss = [] if "--loss=" in flags else ["--loss=y:mse"]
                dlc.dlc("compile", self.path("m.onnx"), "--lr=0.1", "--optimizer=adamw", "--weight-decay=0.5", *loss,
                        *flags.format(name).split(), "-o", self.path("m.dlc"))
                run = dlc.train(self.path("m.dlc"), self.path("d.npz"), self.path(f"run{len(others)}{name}"), steps=1)
                moved[name] = {k: v.tobytes() for k, v in run.state(1).items()}
            self.assertEqual(moved["^table"], moved["^head"], flags)
            self.assertNotIn(moved["^head"], others, flags)
            others.append(moved["^head"])


if __name__ == "__main__":
    dlc.main()
