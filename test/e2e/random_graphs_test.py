# SPDX-License-Identifier: Apache-2.0
"""Small random graphs, mostly on square tensors, compiled for the CPU and run: values and gradients against onnx's evaluator in f64.

Where all sizes are equal, shapes do not tell rows from columns: what joins by shapes alone reads the wrong ones.
    DLC_GRAPHS=300          that many of each kind, not the same few;   DLC_GRAPHS=40:300   those from the 40th on
"""

import os

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import dlc

OPSET = helper.make_opsetid("", 21)
FEW = 10
STEP = 1e-5  # of differences
GAP = 1e-3   # what is compared or sorted lies as far apart
MOST = 50    # of a value


class NotTaken(Exception):
    """A node whose operands do not fit, or whose value would be ambiguous or large."""


class Graph:
    """Nodes with the values that they have in f64."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        n = int(self.random.choice([3, 4, 8, 8, 16, 16, 17, 40]))
        self.n, self.nodes, self.constants, self.values = n, [], {}, {}
        depth = int(self.random.choice([2, n if n < 16 else 3]))
        shapes = {"a.weight": (n, n), "b.weight": (n,), "c.weight": (depth, n, n), "d.weight": (n, 1)}
        self.parameters = {name: self.draw(*shape) for name, shape in shapes.items()}
        self.inputs = {"x": self.draw(n, n)}
        self.values |= self.parameters | self.inputs
        for _ in range(int(self.random.integers(4, 20))):
            try:
                self.random.choice(KINDS)(self)
            except NotTaken:
                pass
        read = {name for node in self.nodes for name in node.input}
        # Some results are also read by others.
        self.results = [v for node in self.nodes for v in node.output
                        if v in self.values and (v not in read or self.random.random() < 0.1)]

    def draw(self, *shape):
        return self.random.standard_normal(shape).astype(np.float32).astype(np.float64)

    def pick(self, rank=0):
        """The name of a value of at least that rank; new ones are likelier."""
        names = [name for name, v in self.values.items() if v.ndim >= rank]
        return names[-1 - min(int(self.random.exponential(4)), len(names) - 1)]

    def axis(self, name):
        rank = self.values[name].ndim
        return int(self.random.integers(-rank, rank))

    def constant(self, array):
        name = f"k{len(self.constants)}"
        self.constants[name] = np.asarray(array)
        return name

    def add(self, kind, inputs, outputs=1, **attributes):
        """The names of its results."""
        made = {v: node for node in self.nodes for v in node.output}
        if kind in ("Add", "Sub") and any(v in made and made[v].op_type == "Sub" and set(made[v].input) & set(inputs) for v in inputs):
            raise NotTaken  # x + (q - x) is read as a straight-through estimator, with a warning
        names = [f"v{len(self.nodes)}.{i}" for i in range(outputs)]
        node = helper.make_node(kind, inputs, names, name=f"n{len(self.nodes)}", **attributes)
        known = {v: self.constants[v] if v in self.constants else self.values[v] for v in inputs if v}
        try:
            results = [np.asarray(r) for r in ReferenceEvaluator(node, opsets={"": OPSET.version}).run(None, known)]
        except (ValueError, TypeError):
            raise NotTaken from None
        if any(r.dtype.kind == "f" and not (np.abs(r) <= MOST).all() or r.size > 1 << 15 or 0 in r.shape for r in results):
            raise NotTaken
        self.nodes.append(node)
        self.values |= {name: r for name, r in zip(names, results) if r.dtype.kind == "f"}
        self.constants |= {name: r for name, r in zip(names, results) if r.dtype.kind != "f"}
        return names

    def part(self, name, axis=None):
        """Takes nothing where two numbers along the axis, or a number and zero, are near."""
        v = self.values[name]
        if (np.abs(v) if axis is None else np.diff(np.sort(v, axis), axis=axis)).min(initial=1) <= GAP:
            raise NotTaken

    def model(self, kind, results=None, factors=()):
        """Of the results, or of their sum with these factors, which then is a loss beside an output `rows`."""
        of = {np.float32: TensorProto.FLOAT, np.float64: TensorProto.DOUBLE}[kind]
        info = lambda name, shape=None: helper.make_tensor_value_info(name, of, shape)
        made = {v for node in self.nodes for v in node.output}
        tensors = {k: v.astype(kind) if v.dtype.kind == "f" else v for k, v in self.constants.items() if k not in made}
        nodes, inputs = list(self.nodes), {"x": (self.n, self.n)}
        if kind is np.float32:
            tensors |= {k: v.astype(kind) for k, v in self.parameters.items()}
        else:
            inputs |= {k: v.shape for k, v in self.parameters.items()}
        if factors:
            for i, (name, factor) in enumerate(zip(results, factors)):
                tensors[f"f{i}"] = factor.astype(kind)
                nodes += [helper.make_node("Mul", [name, f"f{i}"], [f"p{i}"]),
                          helper.make_node("ReduceSum", [f"p{i}"], [f"s{i}"], keepdims=0)]
            nodes += [helper.make_node("Sum", [f"s{i}" for i in range(len(factors))], ["total"]),
                      helper.make_node("Neg", ["x"], ["rows"])]
            results = ["total", "rows"]
        shape = lambda name: {"total": [], "rows": [self.n, self.n]}.get(name) if factors else self.values[name].shape
        graph = helper.make_graph(nodes, "g", [info(*i) for i in inputs.items()], [info(r, shape(r)) for r in results],
                                  [numpy_helper.from_array(np.asarray(v), k) for k, v in tensors.items()])
        return helper.make_model(graph, opset_imports=[OPSET], ir_version=10)


#===--- kinds of nodes ---------------------------------------------------===#

def unary(g):
    name = g.pick()
    kind = g.random.choice(["Tanh", "Sigmoid", "Neg", "Softplus", "Sin", "Relu", "Abs"])
    if kind in ("Relu", "Abs"):
        g.part(name)
    g.add(kind, [name])


def binary(g):
    g.add(g.random.choice(["Add", "Sub", "Mul"]), [g.pick(), g.pick()])


def quotient(g):
    a, b = g.pick(), g.pick()
    square = g.add("Mul", [b, b])
    more = g.add("Add", [*square, g.constant(np.array(0.5))])
    g.add("Div", [a, *g.add("Sqrt", more)])


def compare(g):
    a, b = g.pick(), g.pick()
    g.part(*g.add("Sub", [a, b]))
    if g.random.random() < 0.5:
        g.add("Max", [a, b])
    else:
        g.add("Where", [*g.add("Greater", [a, b]), a, b])


def transpose(g):
    name = g.pick(2)
    g.add("Transpose", [name], perm=[int(p) for p in g.random.permutation(g.values[name].ndim)])


def reduction(g):
    name = g.pick(1)
    rank = g.values[name].ndim
    count = int(g.random.integers(1, rank + 1)) if g.random.random() < 0.3 else 1
    axes = sorted(int(a) for a in g.random.choice(rank, count, False))
    kind = g.random.choice(["Sum", "Sum", "Mean", "Max", "Min", "LogSumExp", "SumSquare"])
    if kind in ("Max", "Min"):
        axes = axes[:1]
        g.part(name, axes[0])
    g.add("Reduce" + kind, [name, g.constant(np.array(axes))], keepdims=int(g.random.integers(2)))


def softmax(g):
    name = g.pick(1)
    g.add(g.random.choice(["Softmax", "LogSoftmax"]), [name], axis=g.axis(name))


def running(g):
    name = g.pick(1)
    g.add("CumSum", [name, g.constant(np.array(g.axis(name)))], exclusive=int(g.random.integers(2)), reverse=int(g.random.integers(2)))


def like(g, name):
    """A value of the same shape."""
    return str(g.random.choice([v for v in g.values if g.values[v].shape == g.values[name].shape]))


def order(g):
    """Sorted, or the largest few, and what stands at their places in another value."""
    name = g.pick(1)
    axis = g.axis(name)
    size = g.values[name].shape[axis]
    g.part(name, axis)
    k = size if g.random.random() < 0.6 else int(g.random.integers(1, size + 1))
    _, places = g.add("TopK", [name, g.constant(np.array([k]))], 2, axis=axis, largest=int(g.random.integers(2)))
    if g.random.random() < 0.5:
        g.add("GatherElements", [like(g, name), places], axis=axis)


def largest(g):
    name, other = g.pick(1), g.pick(1)
    axis = g.axis(name)
    g.part(name, axis)
    if g.values[name].shape[axis] <= g.values[other].shape[0]:
        g.add("Gather", [other, *g.add("ArgMax", [name], axis=axis, keepdims=int(g.random.integers(2)))], axis=0)


def gather(g):
    name = g.pick(1)
    axis = g.axis(name)
    rows = g.random.integers(0, g.values[name].shape[axis], int(g.random.choice([1, g.n])))
    g.add("Gather", [name, g.constant(rows)], axis=axis)


def product(g):
    """Of matrices, or of one and a vector on either side."""
    a, b = g.pick(1), g.pick(1)
    rank = g.values[b].ndim
    if g.random.random() < 0.3 and rank >= 2:
        [b] = g.add("Transpose", [b], perm=[*range(rank - 2), rank - 1, rank - 2])
    g.add("Mul", [*g.add("MatMul", [a, b]), g.constant(np.array(g.n**-0.5))])


def piece(g):
    name = g.pick(1)
    axis = g.axis(name)
    size = g.values[name].shape[axis]
    start = int(g.random.integers(size))
    end, step = int(g.random.integers(start, size)) + 1, int(g.random.integers(1, 3))
    g.add("Slice", [name] + [g.constant(np.array([v])) for v in (start, end, axis, step)])


def join(g):
    name = g.pick(1)
    g.add("Concat", [name, like(g, name)], axis=g.axis(name))


def pad(g):
    name = g.pick(1)
    g.add("Pad", [name, g.constant(g.random.integers(0, 2, 2 * g.values[name].ndim))])


def reshape(g):
    """One more dimension, two as one, or two that change their sizes."""
    name = g.pick(1)
    shape = list(g.values[name].shape)
    if g.random.random() < 0.5:
        shape.insert(int(g.random.integers(len(shape) + 1)), 1)
    elif len(shape) > 1:
        at = int(g.random.integers(len(shape) - 1))
        shape[at:at + 2] = [shape[at] * shape[at + 1]] if g.random.random() < 0.5 else shape[at:at + 2][::-1]
    g.add("Reshape", [name, g.constant(np.array(shape))])


def expand(g):
    g.add("Expand", [g.pick(), g.constant(np.array([g.n] * int(g.random.integers(1, 3))))])


def norm(g):
    name = g.pick(2)
    v = g.values[name]
    size = v.shape[-1]
    if v.std(-1).min() < 0.05 * np.abs(v).max():  # in f32 little would be left of the differences
        raise NotTaken
    g.add("LayerNormalization", [name, g.constant(g.draw(size)), g.constant(g.draw(size))], axis=-1)


def extreme(g):
    """Of sums of products that others read, too: an element that is compared must have the bits that it is stored with."""
    a = g.pick(1)
    axis = g.values[a].ndim - 1
    size = g.values[a].shape[axis]
    [p] = g.add("Mul", [a, like(g, a)])
    [x] = g.add("Add", [p, like(g, a)])
    g.part(x, axis)
    if g.random.random() < 0.5:
        g.add("ReduceMax", [x, g.constant(np.array([axis]))])
    else:
        g.add("TopK", [x, g.constant(np.array([size]))], 2, axis=axis)
    g.add("Tanh", [p])


def sums(g):
    """What networks on graphs do: rows and columns of a matrix by the roots of its sums."""
    square = [v for v in g.values if g.values[v].shape in ((g.n, g.n), (1, g.n, g.n))]
    positive = g.add("Sigmoid", [str(g.random.choice(square))])
    degree = g.add("ReduceSum", [*positive, g.constant(np.array([int(g.random.choice([-1, -2]))]))], keepdims=0)
    scale = g.add("Reciprocal", g.add("Sqrt", degree))
    column = g.add("Unsqueeze", [*scale, g.constant(np.array([-1]))])
    g.add("Mul", [*g.add("Mul", [*positive, *column]), *scale])


KINDS = [unary, unary, binary, binary, binary, quotient, compare, transpose, transpose, reduction, reduction, reduction, softmax,
         running, order, largest, gather, product, product, piece, join, pad, reshape, reshape, expand, norm, extreme,
         sums]


class RandomGraphs(dlc.TestCase):
    def seeds(self):
        first, _, count = os.environ.get("DLC_GRAPHS", f"0:{FEW}").rpartition(":")
        return range(int(first or 0), int(first or 0) + int(count))

    def write(self, g, *of):
        self.new_folder()
        onnx.save(g.model(np.float32, *of), self.path("m.onnx"))
        np.savez(self.path("d.npz"), **{k: v.astype(np.float32) for k, v in g.inputs.items()})

    def near(self, found, expected, what):
        scale = max(1, np.abs(expected).max(initial=0))
        np.testing.assert_allclose(found.reshape(expected.shape) / scale, expected / scale, 0, 2e-5, err_msg=what)

    def test_values(self):
        for seed in self.seeds():
            with self.subTest(seed=seed):
                g = Graph(seed)
                self.write(g, g.results)
                dlc.dlc("compile", self.path("m.onnx"), "--predict-only", "--quiet", "-o", self.path("m.dlc"))
                dlc.dlc("predict", self.path("m.dlc"), "-o", self.path("out.npz"), "--scale=1", data=self.path("d.npz"))
                found = np.load(self.path("out.npz"))
                for name in g.results:
                    self.near(found["y" if len(g.results) == 1 and "y" in found.files else name], g.values[name], name)

    def step(self, g, factors):
        """The loss, and what a step of SGD with rate 1 takes off each parameter that is trained."""
        self.write(g, g.results, factors)
        artifact = dlc.compile(self.path("m.onnx"), self.path("a.dlc"), loss="total:graph", optimizer="sgd", momentum=0, lr=1,
                               batch=g.n, quiet=True, train=".*weight$")
        run = dlc.train(artifact, self.path("d.npz"), self.path("run"), steps=1, quiet=True, save_every=1, shuffle="off")
        state = run.state(1)
        return run.metrics("loss")[0], {k: (v - state[k]).astype(np.float64) for k, v in g.parameters.items() if k in state}

    def test_gradients(self):
        for seed in self.seeds():
            with self.subTest(seed=seed):
                g = Graph(seed)
                g.results.append("a.weight")  # so that something is trained
                factors = [g.draw(*g.values[r].shape) for r in g.results]
                found, gradients = self.step(g, factors)
                evaluator = ReferenceEvaluator(g.model(np.float64, g.results, factors))
                loss = lambda values: evaluator.run(["total"], g.inputs | g.parameters | values)[0]
                size = sum(np.abs(f * g.values[r]).sum() for f, r in zip(factors, g.results))
                self.assertLess(abs(found - loss({})), 1e-4 * max(1, size))
                for name, value in g.parameters.items():
                    gradient = gradients.get(name, np.zeros(value.shape))
                    for _ in range(2):
                        way = g.random.standard_normal(value.shape)
                        slope = (loss({name: value + STEP * way}) - loss({name: value - STEP * way})) / (2 * STEP)
                        scale = (np.abs(gradient).max() + 1) * np.sqrt(way.size)
                        self.assertLess(abs((gradient * way).sum() - slope) / scale, 2e-4, name)

    def test_largest_of_sums_of_products(self):
        """The products are stored, too, which changed a sum's last bit in one of two loops: its row then had no maximum."""
        g = Graph(0)
        g.nodes, g.n = [], 64
        g.parameters = {f"{k}.weight": g.draw(64, 64) for k in "abc"}
        g.values, g.inputs = g.parameters | {"x": g.draw(64, 64)}, {"x": np.zeros((64, 64))}
        [p] = g.add("Mul", ["a.weight", "b.weight"])
        [m] = g.add("ReduceMax", [*g.add("Add", [p, "c.weight"]), g.constant(np.array([1]))], keepdims=0)
        g.results = [m, *g.add("Mul", [*g.add("Sin", [p]), p])]
        _, gradients = self.step(g, [np.ones(64), np.zeros((64, 64))])
        np.testing.assert_allclose(gradients["c.weight"].sum(1), 1, 1e-5)


if __name__ == "__main__":
    dlc.main()
