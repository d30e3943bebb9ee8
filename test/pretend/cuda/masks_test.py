# SPDX-License-Identifier: Apache-2.0
"""Attention with a mask of keys as cuDNN's call, over the stand-ins: the CPU's losses, also with rows without keys."""

from unittest import mock

import dlc
import numpy as np
import onnx
import standins
from onnx import TensorProto, helper, numpy_helper

ROWS, BATCH, LENGTH, HEADS, WIDTH = 8, 2, 24, 4, 32


def model():
    """x [N, T, W] and m [N, T], 1 where a key counts -> y: projections, ONNX's Attention, a projection."""
    random = np.random.default_rng(0)
    weights = {name: random.normal(0, 0.2, (WIDTH, WIDTH)).astype(np.float32) for name in ("wq", "wk", "wv", "wo")}
    weights["axes"] = np.array([1, 2])
    nodes = [helper.make_node("MatMul", ["x", "w" + letter], [letter]) for letter in "qkv"]
    nodes += [helper.make_node("Unsqueeze", ["m", "axes"], ["m4"]),
              helper.make_node("Cast", ["m4"], ["mask"], to=TensorProto.BOOL),
              helper.make_node("Attention", ["q", "k", "v", "mask"], ["z"], q_num_heads=HEADS, kv_num_heads=HEADS),
              helper.make_node("MatMul", ["z", "wo"], ["y"])]
    info = lambda name, shape, kind=TensorProto.FLOAT: helper.make_tensor_value_info(name, kind, shape)
    graph = helper.make_graph(nodes, "masked", [info("x", [BATCH, LENGTH, WIDTH]),
                                                info("m", [BATCH, LENGTH], TensorProto.INT64)],
                              [info("y", [BATCH, LENGTH, WIDTH])],
                              [numpy_helper.from_array(array, name) for name, array in weights.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=10)


class Masks(standins.StandinTest):
    def test_keys(self):
        random = np.random.default_rng(1)
        keys = np.arange(LENGTH) < random.integers(5, LENGTH, (ROWS, 1))
        keys[3] = False
        x, y = (random.normal(size=(ROWS, LENGTH, WIDTH)).astype(np.float32) for _ in range(2))
        np.savez(self.path("data.npz"), x=x, y=y, m=keys.astype(np.int64))
        onnx.save(model(), self.path("masked.onnx"))
        options = dict(batch=BATCH, loss="mse", lr=0.5, amp=True)
        training = dict(steps=8, seed=1, threads=1)
        on_cpu = dlc.compile(self.path("masked.onnx"), self.path("cpu.dlc"), **options)
        expected = dlc.train(on_cpu, self.path("data.npz"), self.path("cpu"), **training).metrics("loss")
        with mock.patch.object(dlc, "model", lambda name: self.path(name + ".onnx")):
            artifact = self.compile_for_cuda("masked", **options)
        self.run_on_standins(artifact, data=self.path("data.npz"), run=self.path("cuda"), **training)
        found = dlc.Run(self.path("cuda")).metrics("loss")
        self.assertTrue(np.isfinite(expected).all())
        np.testing.assert_allclose(found, expected, rtol=1e-3)
        with open(self.path("plan.mlir")) as file:
            self.assertIn('exec.call "attention_backward"', file.read())


if __name__ == "__main__":
    dlc.main()
