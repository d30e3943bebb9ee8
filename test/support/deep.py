# SPDX-License-Identifier: Apache-2.0
"""ResNet-50 and GPT-2 as ONNX files with random weights, at full depth and a width that tests can afford; or `hollow`,
at full width, with weights of zeros in a sparse file that uses no disk space."""

import os

import numpy as np
from onnx import TensorProto, helper, numpy_helper


class Graph:
    def __init__(self, seed=0, hollow=False):
        self.nodes, self.weights, self.random = [], [], np.random.default_rng(seed)
        self.hollow, self.bytes = hollow, 0

    def weight(self, name, *shape, value=None):
        """A parameter with small random values, or all `value`."""
        if self.hollow and value is None:
            self.weights.append(self.hole(name, shape))
            return name
        array = self.random.normal(0, 0.05, shape) if value is None else np.full(shape, value)
        self.weights.append(numpy_helper.from_array(array.astype(np.float32), name))
        return name

    def hole(self, name, shape):
        tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=shape, data_location=TensorProto.EXTERNAL)
        size = 4 * int(np.prod(shape))
        for key, value in (("location", "holes.bin"), ("offset", self.bytes), ("length", size)):
            tensor.external_data.add(key=key, value=str(value))
        self.bytes += (size + 4095) // 4096 * 4096
        return tensor

    def integers(self, name, *values):
        self.weights.append(numpy_helper.from_array(np.array(values, np.int64), name))
        return name

    def add(self, op, name, *inputs, outputs=1, **attributes):
        names = [name + "_y"] + [f"{name}_y{i}" for i in range(1, outputs)]
        self.nodes.append(helper.make_node(op, inputs, names, name, **attributes))
        return names[0] if outputs == 1 else names

    def save(self, path, name, input_type, input_shape, output, output_shape):
        graph = helper.make_graph(self.nodes, name, [helper.make_tensor_value_info("input", input_type, input_shape)],
                                  [helper.make_tensor_value_info(output, TensorProto.FLOAT, output_shape)],
                                  self.weights)
        with open(path, "wb") as file:
            model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
            file.write(model.SerializeToString())
        if self.hollow:
            with open(os.path.join(os.path.dirname(path), "holes.bin"), "wb") as file:
                file.truncate(self.bytes)
        return path


def resnet50(path, batch, size, width=64, classes=1000, hollow=False, stages=(3, 4, 6, 3)):
    """Images [batch,3,size,size] -> logits; He et al.'s bottleneck blocks, stride in the 3x3."""
    g = Graph(hollow=hollow)

    def convolve(name, x, inputs, outputs, kernel, stride, relu=True):
        x = g.add("Conv", name, x, g.weight(name + ".w", outputs, inputs, kernel, kernel), strides=[stride] * 2,
                  kernel_shape=[kernel] * 2, pads=[kernel // 2] * 4)
        statistics = [g.weight(f"{name}.{part}", outputs, value=value)
                      for part, value in (("scale", 1), ("bias", 0), ("mean", 0), ("var", 1))]
        x = g.add("BatchNormalization", name + ".bn", x, *statistics, outputs=3, training_mode=1)[0]
        return g.add("Relu", name + ".relu", x) if relu else x

    x = convolve("stem", "input", 3, width, 7, 2)
    x = g.add("MaxPool", "pool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    channels = width
    for stage, blocks in enumerate(stages):
        inner = width << stage
        for block in range(blocks):
            name, stride = f"s{stage}b{block}", 2 if stage and not block else 1
            y = convolve(name + "c1", x, channels, inner, 1, 1)
            y = convolve(name + "c2", y, inner, inner, 3, stride)
            y = convolve(name + "c3", y, inner, 4 * inner, 1, 1, relu=False)
            if block == 0:
                x = convolve(name + "down", x, channels, 4 * inner, 1, stride, relu=False)
            x = g.add("Relu", name + "out", g.add("Add", name + "sum", y, x))
            channels = 4 * inner
    x = g.add("Flatten", "flat", g.add("GlobalAveragePool", "mean", x))
    y = g.add("Gemm", "fc", x, g.weight("fc.w", classes, channels), g.weight("fc.b", classes, value=0), transB=1)
    return g.save(path, "resnet50", TensorProto.FLOAT, [batch, 3, size, size], y, [batch, classes])


def gpt2(path, batch, length, layers=12, width=768, heads=12, vocabulary=50257, hollow=False):
    """Tokens [batch,length] -> logits of the next; pre-norm, tanh GELU, tied embedding."""
    g = Graph(hollow=hollow)
    shape = g.integers("heads", batch, length, heads, width // heads)
    whole = g.integers("whole", batch, length, width)
    mask = np.triu(np.full((length, length), -np.inf, np.float32), 1)
    g.nodes.append(helper.make_node("Constant", [], ["mask"], "mask", value=numpy_helper.from_array(mask)))
    scale = np.float32((width // heads) ** -0.5)
    g.nodes.append(helper.make_node("Constant", [], ["scale"], "scale", value=numpy_helper.from_array(scale)))

    def norm(name, x):
        return g.add("LayerNormalization", name, x, g.weight(name + ".w", width, value=1),
                     g.weight(name + ".b", width, value=0), axis=-1)

    def linear(name, x, inputs, outputs):
        x = g.add("MatMul", name, x, g.weight(name + ".w", inputs, outputs))
        return g.add("Add", name + ".add", x, g.weight(name + ".b", outputs, value=0))

    table = g.weight("tok", vocabulary, width)
    x = g.add("Add", "embed", g.add("Gather", "tokens", table, "input"), g.weight("pos", length, width))
    for i in range(layers):
        n = f"h{i}."
        parts = g.add("Split", n + "split", linear(n + "qkv", norm(n + "ln1", x), width, 3 * width), outputs=3, axis=2,
                      num_outputs=3)
        q, k, v = (g.add("Transpose", f"{n}{part}t", g.add("Reshape", n + part, value, shape), perm=perm)
                   for part, value, perm in zip("qkv", parts, ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3])))
        scores = g.add("Add", n + "masked", g.add("Mul", n + "scaled", g.add("MatMul", n + "qk", q, k), "scale"),
                       "mask")
        y = g.add("MatMul", n + "av", g.add("Softmax", n + "softmax", scores, axis=-1), v)
        y = g.add("Reshape", n + "joined", g.add("Transpose", n + "back", y, perm=[0, 2, 1, 3]), whole)
        x = g.add("Add", n + "res1", x, linear(n + "proj", y, width, width))
        y = g.add("Gelu", n + "gelu", linear(n + "fc", norm(n + "ln2", x), width, 4 * width), approximate="tanh")
        x = g.add("Add", n + "res2", x, linear(n + "out", y, 4 * width, width))
    logits = g.add("MatMul", "head", norm("ln", x), g.add("Transpose", "tied", table, perm=[1, 0]))
    y = g.add("Reshape", "rows", logits, g.integers("flat", batch * length, vocabulary))
    return g.save(path, "gpt2", TensorProto.INT64, [batch, length], y, [batch * length, vocabulary])
