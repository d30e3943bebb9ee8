# SPDX-License-Identifier: Apache-2.0
"""ONNX's Attention trains on the CPU as the same attention written out does."""

import re

import dlc
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

BATCH, LENGTH, HEADS, DEPTH = 4, 6, 2, 8
WIDTH = HEADS * DEPTH


def model(nodes, weights, length=LENGTH):
    info = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [BATCH, length, WIDTH])
    graph = helper.make_graph(nodes, "attention", [info("x")], [info("y")],
                              [numpy_helper.from_array(array, name) for name, array in weights.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=10)


def projections():
    random = np.random.default_rng(0)
    weights = {name: random.normal(0, 0.3, (WIDTH, WIDTH)).astype(np.float32) for name in ("wq", "wk", "wv", "wo")}
    return [helper.make_node("MatMul", ["x", "w" + letter], [letter]) for letter in "qkv"], weights


def as_one_op(length=LENGTH, causal=1):
    nodes, weights = projections()
    nodes.append(helper.make_node("Attention", ["q", "k", "v"], ["z"], is_causal=causal, q_num_heads=HEADS,
                                  kv_num_heads=HEADS))
    return model([*nodes, helper.make_node("MatMul", ["z", "wo"], ["y"])], weights, length)


def mask_of_positions(weights):
    """[batch, 1, queries, keys] as transformers makes it: positions are counted, and looked up at [batch, time]."""
    place = np.stack(np.meshgrid(np.arange(BATCH), np.arange(LENGTH), indexing="ij"), -1)
    weights.update(ones=np.ones((BATCH, LENGTH), np.int64), axis=np.array(1), rows=place[:, None, :, None], columns=place[:, None, None],
                   seen=np.float32(0), unseen=np.finfo(np.float32).min)
    return [helper.make_node(op, ins, [out], **attributes) for op, ins, out, attributes in [
        ("CumSum", ["ones", "axis"], "position", {}), ("GatherND", ["position", "rows"], "query", {}), ("GatherND", ["position", "columns"], "key", {}),
        ("LessOrEqual", ["key", "query"], "sees", {}), ("Where", ["sees", "seen", "unseen"], "causal", {})]]


def mask_of_input(weights):
    """Of the data, by an expression that is longer than any layer's."""
    weights.update(every=np.array([2]), none=np.float32(0), length=np.array([BATCH, 1, 1, LENGTH]))
    nodes = [helper.make_node("ReduceMean", ["x", "every"], ["m0"], keepdims=0)]
    nodes += [helper.make_node("Tanh", [f"m{i}"], [f"m{i + 1}"]) for i in range(80)]
    return [*nodes, helper.make_node("Reshape", ["m80", "length"], ["causal"])]


def written_out(mask=None):
    nodes, weights = projections()
    weights["heads"] = np.array([BATCH, LENGTH, HEADS, DEPTH])
    weights["joined"] = np.array([BATCH, LENGTH, WIDTH])
    weights["factor"] = np.float32(DEPTH**-0.5)
    if mask:
        nodes += mask(weights)
    else:
        weights["causal"] = np.where(np.tril(np.ones((LENGTH, LENGTH))), 0, -np.inf).astype(np.float32)
    for letter, perm in ("q", [0, 2, 1, 3]), ("k", [0, 2, 3, 1]), ("v", [0, 2, 1, 3]):
        nodes.append(helper.make_node("Reshape", [letter, "heads"], [letter + "4"]))
        nodes.append(helper.make_node("Transpose", [letter + "4"], [letter + "t"], perm=perm))
    for op, ins, out in [("MatMul", ["qt", "kt"], "s"), ("Mul", ["s", "factor"], "t"), ("Add", ["t", "causal"], "u"),
                         ("Softmax", ["u"], "p"), ("MatMul", ["p", "vt"], "z4")]:
        nodes.append(helper.make_node(op, ins, [out]))
    nodes.append(helper.make_node("Transpose", ["z4"], ["zt"], perm=[0, 2, 1, 3]))
    nodes.append(helper.make_node("Reshape", ["zt", "joined"], ["z"]))
    return model([*nodes, helper.make_node("MatMul", ["z", "wo"], ["y"])], weights)


class Attention(dlc.TestCase):
    def losses(self, name, proto):
        onnx.save(proto, self.path(name + ".onnx"))
        artifact = dlc.compile(self.path(name + ".onnx"), self.path(name + ".dlc"), batch=BATCH, loss="mse", lr=0.5)
        return dlc.train(artifact, self.path("data.npz"), self.path(name), steps=10, seed=1).metrics("loss")

    def test_losses(self):
        random = np.random.default_rng(1)
        shape = (4 * BATCH, LENGTH, WIDTH)
        np.savez(self.path("data.npz"), x=random.normal(size=shape).astype(np.float32),
                 y=random.normal(size=shape).astype(np.float32))
        expected = self.losses("written", written_out())
        self.assertLess(expected[-1], expected[0])
        np.testing.assert_allclose(self.losses("op", as_one_op()), expected, rtol=1e-5)

    def test_masks_that_are_computed(self):
        for mask, expected in (mask_of_positions, (True, 3)), (mask_of_input, (False, 4)):
            onnx.save(written_out(mask), self.path("masked.onnx"))
            out, _ = dlc.dlc("compile", self.path("masked.onnx"), "--loss=mse", "--attention=library", "-o-", "--stop-after=attention")
            operands, attributes = re.search(r"dlc.attention ([^{]*)({[^}]*})", out).groups()
            self.assertEqual(("causal" in attributes, operands.count("%")), expected)

    def test_who_computes_bf16(self):
        """Where the CPU multiplies bf16 so do the runtime's own products: it computes attention of 200 keys, else products do."""
        onnx.save(as_one_op(200, causal=0), self.path("long.onnx"))
        for cpu, by in ("sapphirerapids", "library"), ("znver4", "library"), ("x86-64-v4", "decomposed"):
            out, _ = dlc.dlc("compile", self.path("long.onnx"), "--amp", "--loss=mse", "--cpu=" + cpu, "--emit=mlir",
                             "--stop-after=fuse", "--explain-placement")
            found = [line.split()[-1] for line in re.findall(r"attention  +\w+", out)]
            self.assertEqual(set(found), {by}, out[:500])


if __name__ == "__main__":
    dlc.main()
