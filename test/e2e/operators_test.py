# SPDX-License-Identifier: Apache-2.0
"""Gradients of operators that the importer makes of others: against differences in f64 by onnx's reference evaluator."""

import dlc
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

node = helper.make_node
STEP = 1e-5


class Branch:
    """Nodes from parameters to "NAME.y", whose sum with fixed factors is a part of the loss."""

    def __init__(self, name, nodes, parameters, constants=None, formula=None):
        """`formula` of the parameters is what onnx's evaluator cannot give in f64."""
        self.name, self.parameters, self.constants, self.formula = name, parameters, constants or {}, formula
        self.nodes = []
        for i, n in enumerate(nodes):
            given = onnx.NodeProto()
            given.CopyFrom(n)
            given.input[:] = [name + "." + v if v else "" for v in n.input]
            given.output[:] = [name + "." + v for v in n.output]
            given.name = f"{name}/{i}"
            self.nodes.append(given)

    def model(self, kind, factors=None):
        tensors = [numpy_helper.from_array(np.asarray(v).astype(kind) if np.asarray(v).dtype.kind == "f" else np.asarray(v),
                                           f"{self.name}.{k}") for k, v in self.constants.items()]
        nodes = list(self.nodes)
        if factors is not None:
            tensors.append(numpy_helper.from_array(factors.astype(kind), self.name + ".factors"))
            nodes += [node("Mul", [self.name + ".y", self.name + ".factors"], [self.name + ".product"]),
                      node("ReduceSum", [self.name + ".product"], [self.name + ".sum"], keepdims=0)]
        return nodes, tensors

    def reference(self, opset, factors=None):
        if self.formula:
            return lambda values: self.formula(*values.values()) if factors is None else \
                (self.formula(*values.values()) * factors).sum()
        nodes, tensors = self.model(np.float64, factors)
        infos = [helper.make_tensor_value_info(f"{self.name}.{k}", TensorProto.DOUBLE, v.shape)
                 for k, v in self.parameters.items()]
        out = helper.make_tensor_value_info(self.name + (".y" if factors is None else ".sum"), TensorProto.DOUBLE, None)
        graph = helper.make_graph(nodes, "g", infos, [out], tensors)
        evaluator = ReferenceEvaluator(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)]))
        return lambda values: evaluator.run(None, {f"{self.name}.{k}": v for k, v in values.items()})[0]


def branches(random):
    f = lambda *shape: random.standard_normal(shape)
    image, ints = f(2, 4, 3, 5), lambda *v: np.array(v, np.int64)
    yield Branch("instance", [node("InstanceNormalization", ["x.weight", "s.weight", "b.weight"], ["y"])],
                 {"x.weight": image, "s.weight": f(4), "b.weight": f(4)})
    grouped = lambda x: (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    yield Branch("group", [node("GroupNormalization", ["x.weight", "s.weight", "b.weight"], ["y"], num_groups=2)],
                 {"x.weight": image, "s.weight": f(4), "b.weight": f(4)},
                 formula=lambda x, s, b: grouped(x.reshape(2, 2, 30)).reshape(x.shape) * s[:, None, None] + b[:, None, None])
    yield Branch("l2", [node("LpNormalization", ["x.weight"], ["y"], axis=1)], {"x.weight": image})
    yield Branch("l1", [node("LpNormalization", ["x.weight"], ["y"], p=1, axis=1)], {"x.weight": image},
                 formula=lambda x: x / np.abs(x).sum(1, keepdims=True))
    near = lambda x, c: (x[:, max(0, c - 1):c + 3]**2).sum(1, keepdims=True)
    yield Branch("lrn", [node("LRN", ["x.weight"], ["y"], size=4, alpha=0.3, beta=0.6, bias=1.5)], {"x.weight": image},
                 formula=lambda x: x / (1.5 + 0.075 * np.concatenate([near(x, c) for c in range(4)], 1))**0.6)
    spread = lambda x, **axes: (x - x.mean(**axes)) / (x.std(**axes) + 1e-9)
    yield Branch("mvn", [node("MeanVarianceNormalization", ["x.weight"], ["y"])], {"x.weight": image},
                 formula=lambda x: spread(x, axis=(0, 2, 3), keepdims=True))
    factors = f(3, 5, 2)
    factors[0, 1, 0] = factors[1, 2, 1] = factors[1, 4, 1] = 0
    for name, x in [("Prod", factors), ("LogSum", np.abs(f(3, 5, 2)) + 0.1), ("LogSumExp", 20 * f(3, 5, 2)),
                    ("L1", f(3, 5, 2)), ("L2", f(3, 5, 2)), ("SumSquare", f(3, 5, 2))]:
        yield Branch(name, [node("Reduce" + name, ["x.weight", "axes"], ["y"], keepdims=0)], {"x.weight": x},
                     {"axes": ints(-2, 0) if name == "LogSumExp" else ints(1)})
    labels, weights = random.integers(0, 4, (2, 3, 5)), np.array([0.5, 2, 0, 1.5])
    for op in "SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss":
        for reduction, options in ("none", {}), ("sum", {}), ("mean", dict(ignore_index=1)):
            yield Branch(f"{op}-{reduction}", [node(op, ["x.weight", "l", "w"], ["y"], reduction=reduction, **options)],
                         {"x.weight": image}, {"l": labels, "w": weights})


class Operators(dlc.TestCase):
    OPSET = 21

    def setUp(self):
        super().setUp()
        self.random = np.random.default_rng(0)

    def gradients(self, parts, opset=OPSET):
        """What one step of SGD with rate 1 takes off each branch's parameters, by branch."""
        nodes, tensors = [], []
        for branch, factors in parts:
            added, constants = branch.model(np.float32, factors)
            nodes += added
            tensors += constants + [numpy_helper.from_array(v.astype(np.float32), f"{branch.name}.{k}")
                                    for k, v in branch.parameters.items()]
        nodes += [node("Relu", ["x"], ["rows"]), node("ReduceSum", ["rows"], ["nothing"], keepdims=0),
                  node("Sum", [branch.name + ".sum" for branch, _ in parts] + ["nothing"], ["total"])]
        graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 1])],
                                  [helper.make_tensor_value_info("total", TensorProto.FLOAT, []),
                                   helper.make_tensor_value_info("rows", TensorProto.FLOAT, ["batch", 1])], tensors)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10),
                  self.path("m.onnx"))
        np.savez(self.path("d.npz"), x=np.zeros((2, 1), np.float32))
        artifact = dlc.compile(self.path("m.onnx"), self.path("a.dlc"), loss="total:graph", optimizer="sgd", momentum=0,
                               lr=1, batch=2, quiet=True, train=".*weight$")
        state = dlc.train(artifact, self.path("d.npz"), self.path("run"), steps=1, quiet=True, save_every=1).state(1)
        return {branch.name: {k: v.astype(np.float32) - state[f"{branch.name}.{k}"] for k, v in branch.parameters.items()}
                for branch, _ in parts}

    def test_by_differences(self):
        parts = [(b, self.random.standard_normal(b.reference(self.OPSET)(b.parameters).shape)) for b in branches(self.random)]
        found = self.gradients(parts)
        for branch, factors in parts:
            loss = branch.reference(self.OPSET, factors)
            for name, value in branch.parameters.items():
                for _ in range(3):
                    way = self.random.standard_normal(value.shape)
                    ends = [loss(branch.parameters | {name: value + sign * STEP * way}) for sign in (1, -1)]
                    slope = (ends[0] - ends[1]) / (2 * STEP)
                    gradient = found[branch.name][name]
                    with self.subTest(branch=branch.name, parameter=name):
                        scale = np.abs(gradient).max() * np.sqrt(way.size) + 1e-3
                        self.assertLess(abs(float((gradient * way).sum() - slope)) / scale, 2e-4)

    def test_kinks_are_finite(self):
        """Gradients at zero are PyTorch's: none."""
        parts = [(Branch("l2", [node("ReduceL2", ["x.weight", "axes"], ["y"], keepdims=0)],
                         {"x.weight": np.zeros((2, 3))}, {"axes": np.array([1])}), np.ones(2)),
                 (Branch("unit", [node("LpNormalization", ["x.weight"], ["y"])], {"x.weight": np.zeros((2, 3))}),
                  np.ones((2, 3)))]
        found = self.gradients(parts)
        np.testing.assert_array_equal(found["l2"]["x.weight"], 0)
        self.assertTrue(np.isfinite(found["unit"]["x.weight"]).all())

    def test_quantisation_is_straight_through(self):
        """Within the range, ends and all, the gradient is that of the result; beyond it is 0."""
        scale, zero = np.array([0.1, 0.5], np.float32), np.array([0, 100], np.uint8)
        x = np.array([[-0.3, 0.0, 0.04, 25.5, 25.6, 3.0], [-50.5, -50.0, 0.3, 77.5, 77.8, 3.3]])
        quantize = [node("QuantizeLinear", ["x.weight", "s", "z"], ["q"], axis=0),
                    node("DequantizeLinear", ["q", "s", "z"], ["y"], axis=0)]
        branch = Branch("q", quantize, {"x.weight": x}, {"s": scale, "z": zero})
        factors = self.random.standard_normal(x.shape)
        level = np.rint(x / scale[:, None]) + zero[:, None]
        inside = (level >= 0) & (level <= 255)
        self.assertEqual(inside.sum(), 8)
        found = self.gradients([(branch, factors)])["q"]["x.weight"]
        np.testing.assert_allclose(found, np.where(inside, factors, 0), 1e-4, 1e-5)


if __name__ == "__main__":
    dlc.main()
