# SPDX-License-Identifier: Apache-2.0
"""Indices that the samples bring may count from the end, however they come to what they index: losses and parameters are equal."""

import dlc
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

node = helper.make_node
ROWS, STEPS, BATCH = 5, 3, 4


def model():
    """logits [BATCH, 4] of indices i (i64) and j (i32), both [BATCH, 2], into tables of ROWS rows."""
    random = np.random.default_rng(5)
    table = lambda: (random.integers(-8, 9, (ROWS, 4)) / 8).astype(np.float32)
    tensors = {f"{name}.weight": table() for name in ("gather", "cast", "where", "add", "elements", "nd")}
    tensors |= {"across.weight": table().T.copy(), "base": np.ones((ROWS, 4), np.float32), "one": np.array(1), "last": np.array([-1]),
                "zero": np.array(0), "pair": np.array([1])}
    nodes = [node("Gather", ["gather.weight", "i"], ["a"]),
             node("Cast", ["j"], ["j64"], to=TensorProto.INT64), node("Gather", ["cast.weight", "j64"], ["b"]),
             node("Gather", ["across.weight", "i"], ["c0"], axis=1), node("Transpose", ["c0"], ["c"], perm=[1, 2, 0]),
             node("Less", ["i", "j64"], ["less"]), node("Where", ["less", "i", "j64"], ["chosen"]),
             node("Gather", ["where.weight", "chosen"], ["d"]),
             node("Add", ["i", "one"], ["next"]), node("Gather", ["add.weight", "next"], ["e"]),
             node("GatherElements", ["elements.weight", "i"], ["f0"], axis=0), node("Unsqueeze", ["f0", "last"], ["f"]),
             node("Unsqueeze", ["i", "last"], ["tuples"]), node("GatherND", ["nd.weight", "tuples"], ["g"]),
             node("Sum", list("abcdefg"), ["parts"]), node("ReduceMean", ["parts", "pair"], ["mean"], keepdims=0),
             node("ScatterElements", ["base", "i", "f0"], ["s"], axis=0, reduction="add"),
             node("ScatterElements", ["base", "i", "f0"], ["m"], axis=0, reduction="mul"),
             node("ScatterND", ["base", "tuples", "g"], ["t"], reduction="add"),
             node("Sum", ["s", "m", "t"], ["tables"]), node("ReduceMean", ["tables", "zero"], ["row"], keepdims=0),
             node("Add", ["mean", "row"], ["logits"])]
    info = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "g", [info("i", TensorProto.INT64, [BATCH, 2]), info("j", TensorProto.INT32, [BATCH, 2])],
                              [info("logits", TensorProto.FLOAT, [BATCH, 4])], [numpy_helper.from_array(v, k) for k, v in tensors.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


class Indices(dlc.TestCase):
    def compile(self, *words):
        onnx.save(model(), self.path("m.onnx"))
        dlc.dlc("compile", self.path("m.onnx"), "--optimizer=sgd", "--lr=0.5", "-o", self.path("m.dlc"), *(words or ["--loss=cross_entropy"]))

    def save(self, name, i, j, labels):
        np.savez(self.path(name + ".npz"), i=i, j=j.astype(np.int32), y=labels)

    def train(self, name, code=dlc.OK):
        _, err = dlc.dlc("train", self.path("m.dlc"), f"--data={self.path(name)}.npz", f"--run={self.path(name)}", f"--steps={STEPS}",
                         "--shuffle=off", code=code)
        if code != dlc.OK:
            return err
        self.messages = err
        dlc.dlc("export", self.path(name), "-o", self.path(name + ".onnx"))
        weights = {t.name: numpy_helper.to_array(t) for t in onnx.load(self.path(name + ".onnx")).graph.initializer}
        return dlc.Run(self.path(name)).metrics("loss").tolist(), weights

    def test_counted_from_the_end(self):
        self.compile()
        random = np.random.default_rng(6)
        # i + 1 is an index, too; places differ within the batch, where a sum of floats would depend on its order
        i, j = random.integers(0, ROWS - 1, (STEPS * BATCH, 2)), random.integers(0, ROWS, (STEPS * BATCH, 2))
        labels, back = random.integers(0, 4, STEPS * BATCH), random.random((2, STEPS * BATCH, 2)) < 0.5
        self.save("plain", i, j, labels)
        (losses, weights), start = self.train("plain"), {t.name: numpy_helper.to_array(t) for t in model().graph.initializer}
        for name in [n for n in weights if n.endswith(".weight")]:
            self.assertGreater(abs(weights[name] - start[name]).max(), 1e-3, name)
        # Where compares i with j, so both sides count from one end
        for name, signs in ("all", np.ones((2, STEPS * BATCH, 2), bool)), ("some", np.stack([back[0], back[0]])):
            self.save(name, i - ROWS * signs[0], j - ROWS * signs[1], labels)
            found, trained = self.train(name)
            self.assertEqual(found, losses)
            self.assertRegex(self.messages, "'i': -[0-9]+ in row [0-9]+ counts from the end, like all values below 0: 4 is the last")
            for key in weights:
                np.testing.assert_array_equal(trained[key], weights[key], key)

    def test_out_of_range(self):
        self.compile()
        good, labels = np.ones((BATCH, 2), int), np.zeros(BATCH, int)
        for value, message in ((-ROWS - 1, r"'i': value -6 in row 2 is out of range, expected -5 to 4"),
                               (ROWS, r"'i': value 5 in row 2 is out of range, expected 0 to 4")):
            wrong = good.copy()
            wrong[2, 1] = value
            self.save(f"i{value}", wrong, good, labels)
            self.assertRegex(self.train(f"i{value}", dlc.FAILED), message)
            # what a node computes is known in the step alone
            self.save(f"j{value}", good, wrong, labels)
            self.assertRegex(self.train(f"j{value}", dlc.FAILED), rf"index {value} at position 5 is out of range, expected -5 to 4")

    def refused(self, nodes, shape, index, message, dtype=np.int64, opset=24):
        """What predict says of the indices k, that `nodes` read beside x [BATCH, ROWS]; of ones alone nothing."""
        info = helper.make_tensor_value_info
        # as a node gives them, that the data file's own check does not find them first
        nodes = [node("Add", ["i", "j"], ["k"]), *nodes]
        tensors = dict(ones=np.ones((BATCH, ROWS), np.float32), row=np.ones((BATCH, 2), np.float32))
        kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        graph = helper.make_graph(nodes, "g", [info("x", TensorProto.FLOAT, [BATCH, ROWS]), *[info(k, kind, [BATCH, *shape]) for k in "ij"]],
                                  [info("y", TensorProto.FLOAT, None)], [numpy_helper.from_array(v, k) for k, v in tensors.items()])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10), self.path("p.onnx"))
        dlc.dlc("compile", self.path("p.onnx"), "--predict-only", "-o", self.path("p.dlc"))
        data = np.full((BATCH, *shape), 1, dtype)
        results = []
        for value in (data, index):
            np.savez(self.path("p.npz"), x=np.ones((BATCH, ROWS), np.float32), i=np.broadcast_to(np.asarray(value, dtype), data.shape), j=0 * data)
            code = dlc.OK if value is data else dlc.FAILED
            results.append(dlc.dlc("predict", self.path("p.dlc"), f"--data={self.path('p.npz')}", "-o", self.path("y.npz"), code=code)[1])
        self.assertRegex(results[1], message)

    def test_reductions_refuse(self):
        """Whatever the reduction is: an index outside of its dimension is not left out without a word."""
        wrong = np.ones((BATCH, 2), int)
        wrong[2, 1] = ROWS
        for reduction in "add", "mul", "max", "min", "none":
            with self.subTest(reduction):
                scatter = node("ScatterElements", ["x", "k", "row"], ["y"], name="scatter", axis=1, reduction=reduction)
                self.refused([scatter], [2], wrong, r"'scatter': index \d+ at position 5 is out of range")
                self.refused([scatter], [2], wrong - 2 * ROWS - 1, r"'scatter': index -?\d+ at position \d is out of range")
                # tuples (b, 1): sample and column
                scatter = node("ScatterND", ["x", "k", "row"], ["y"], name="scatter", reduction=reduction)
                tuples = np.ones((BATCH, 2, 2), int)
                tuples[3, 0] = 1, ROWS
                self.refused([scatter], [2, 2], tuples, r"'scatter': index \d+ at position 6 is out of range")

    def test_lengths_and_places_refuse(self):
        """Lengths of sequences and places of a cache that the dimension does not have took what is beside it."""
        turn = node("ReverseSequence", ["x", "k"], ["y"], name="turn", batch_axis=0, time_axis=1)
        for value in ROWS + 1, -1:
            self.refused([turn], [], value, r"'turn': index -?\d+ at position \d is out of range")
        put = node("TensorScatter", ["x", "row", "k"], ["y"], name="put", axis=1)
        for value in ROWS - 1, -1:
            self.refused([put], [], value, r"'put': index -?\d+ at position \d is out of range")

    def test_labels_are_classes(self):
        """Though their class's weight is looked up by them."""
        self.compile("--loss=nll", "--class-weights=1,2,1,2")
        good = np.ones((BATCH, 2), int)
        self.save("y", good, good, np.array([0, 3, -1, 0]))
        self.assertRegex(self.train("y", dlc.FAILED), "'y': label -1 in row 2 is out of range, expected 0 to 3")


if __name__ == "__main__":
    dlc.main()
