# SPDX-License-Identifier: Apache-2.0
"""Cases of second_order_test.py: a function of "x" and weights, whose slope by x is trained to be small."""

import zlib

import numpy as np
from onnx import helper

node = helper.make_node


def dense(*middle, **weights):
    """x w, nodes from "h" to "t", t v."""
    return (3,), [node("MatMul", ["x", "w"], ["h"]), *middle, node("MatMul", ["t", "v"], ["y"])], {"w": (3, 8), "v": (8, 1), **weights}


def images(pool):
    return (3, 7, 7), [node("Conv", ["x", "w"], ["h"]), node(pool, ["h"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
                       node("Tanh", ["p"], ["y"])], {"w": (4, 3, 2, 2)}


# Shape of a sample; nodes from "x" to "y"; shapes of the weights.
CASES = {
    "relu": dense(node("Relu", ["h"], ["q"]), node("Mul", ["q", "q"], ["t"])),
    "gelu": dense(node("Gelu", ["h"], ["t"])),
    "gelu_tanh": dense(node("Gelu", ["h"], ["t"], approximate="tanh")),
    "softmax": dense(node("Softmax", ["h"], ["t"])),
    "log_softmax": dense(node("LogSoftmax", ["h"], ["t"])),
    "layer_norm": dense(node("LayerNormalization", ["h", "s", "b"], ["t"], axis=-1), s=(8,), b=(8,)),
    "conv_max_pool": images("MaxPool"),
    "conv_avg_pool": images("AveragePool"),
    "attention": ((5, 3), [node("MatMul", ["x", "w"], ["q"]), node("Transpose", ["q"], ["k"], perm=[0, 2, 1]),
                           node("MatMul", ["q", "k"], ["s"]), node("Softmax", ["s"], ["p"]), node("MatMul", ["p", "q"], ["y"])],
                  {"w": (3, 8)}),
    "lstm": ((6, 3), [node("Transpose", ["x"], ["xt"], perm=[1, 0, 2]), node("LSTM", ["xt", "w", "r"], ["", "y"], hidden_size=5)],
             {"w": (1, 20, 3), "r": (1, 20, 5)}),
}
BATCH = 4


def arrays(name):
    """The batch, and the weights by name."""
    random = np.random.default_rng(zlib.crc32(name.encode()))
    shape, _, weights = CASES[name]
    draw = lambda *s: random.normal(size=s).astype(np.float32)
    return draw(BATCH, *shape), {key: draw(*s) for key, s in weights.items()}
