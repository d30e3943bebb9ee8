# SPDX-License-Identifier: Apache-2.0
"""What an exporter made up beside a source's parameters is no parameter, and takes no parameter's place."""

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


class MadeUp(RestoreCase):
    def test_a_vector_as_long_as_the_batch_is_no_row(self):
        """Ones for each of 4 heads with a new dimension (Mamba-2's D), not one number for each of 4 samples."""
        nodes = [node("MatMul", ["x", "w"], ["p"]), call(node("Mul", ["unsqueeze_1", "p"], ["y"]), "mul", "%unsqueeze_1, %p", "mixer")]
        for numbers in np.ones((4, 1)), np.zeros((4, 1, 8)):
            trained = self.read(nodes, {"w": floats(8, 8), "unsqueeze_1": numbers.astype(np.float32)}, [value("x", [4, 4, 8])], [value("y", None)],
                                parameters=["w", "mixer.D", "mixer.b"])
            self.assertEqual(trained["unsqueeze_1"], "x".join(map(str, numbers.shape)))

    def test_norms_without_scale_and_shift(self):
        """What the exporter fills in where the source has none (elementwise_affine=False, affine=False) does not train."""
        ones, zeros, scale, flat = np.ones(8, np.float32), np.zeros(8, np.float32), floats(8), np.array([0, 2, -1])
        inner = [node("Reshape", ["x", "flat"], ["r"]), node("InstanceNormalization", ["r", "val_1", "val_2"], ["n"]), node("Reshape", ["n", "back"], ["s"])]
        groups = {"val_1": ones[:2], "val_2": zeros[:2], "flat": flat, "back": np.array([4, 8, 2]), "val_3": ones[:, None], "val_4": zeros[:, None]}
        scaled = [*inner, node("Mul", ["s", "val_3"], ["t"]), node("Add", ["t", "val_4"], ["z"])]
        two, three = (4, 8), (4, 8, 2)
        norms = {"layer_norm": (two, "%x, [8]", [node("LayerNormalization", ["x", "val_1"], ["z"])], {"val_1": ones}),
                 "layer_norm ": (two, "%x, [8], None, None", [node("LayerNormalization", ["x", "val_1", "val_2"], ["z"])], {"val_1": ones, "val_2": zeros}),
                 "instance_norm": (three, "%x, None, None, None, None, True, 0.1, 1e-05, True",
                                   [node("InstanceNormalization", ["x", "val_1", "val_2"], ["z"])], {"val_1": ones, "val_2": zeros}),
                 "group_norm": (three, "%x, 2", scaled, groups),
                 "group_norm ": (three, "%x, 2, %p_g, None", scaled, groups | {"val_3": scale[:, None], "g": scale}),
                 "_native_batch_norm_legit_no_training": (two, "%x, None, None, %b_m, %b_v, 0.1, 1e-05",
                                                          [node("BatchNormalization", ["x", "val_1", "val_2", "m", "v"], ["z"])],
                                                          {"val_1": ones, "val_2": zeros, "m": floats(8), "v": ones + 1}),
                 "_native_batch_norm_legit": (three, "%x, %p_g, None, True, 0.0, 1e-05",
                                              [node("ReduceMean", ["x"], ["a"], axes=[0, 2], keepdims=0), node("ReduceMean", ["q"], ["b"], axes=[0, 2], keepdims=0),
                                               node("BatchNormalization", ["x", "g", "val_2", "a", "b"], ["z"])], {"val_2": zeros, "g": floats(8)})}
        for kind, (shape, args, nodes, weights) in norms.items():
            with self.subTest(kind):
                first = [node("Mul", ["x", "x"], ["q"])]
                nodes = [node(n.op_type, n.input, n.output, **{a.name: onnx.helper.get_attribute_value(a) for a in n.attribute}) for n in nodes]
                for n in nodes:
                    call(n, kind.strip(), args, "norm")
                given = [k for k in weights if k == "g"]
                trained = self.read([*first, *nodes, node("Add", ["z", "c"], ["y"])], {"c": ones[:shape[-1]] + 1} | weights, [value("x", shape)], [value("y", None)],
                                    parameters=["c", *given], buffers=[k for k in weights if k in ("m", "v")])
                self.assertEqual(set(trained), {"c", *given}, self.text)

    def test_biases_of_batched_products_are_no_weights(self):
        """Of equal values, merged: a product's note names its weight, which the other's bias is not."""
        nodes = [call(node("MatMul", ["x", "a"], ["p"]), "baddbmm", "%unsqueeze, %x, %p_a"), call(node("Add", ["p", "unsqueeze"], ["q"]), "baddbmm", "%unsqueeze, %x, %p_a"),
                 call(node("MatMul", ["q", "b"], ["r"]), "baddbmm", "%unsqueeze_1, %q, %p_b"), call(node("Add", ["r", "unsqueeze"], ["y"]), "baddbmm", "%unsqueeze_1, %q, %p_b")]
        trained = self.read(nodes, {"a": floats(3, 8, 8), "b": floats(3, 8, 8), "unsqueeze": np.zeros((3, 1, 8), np.float32)}, [value("x", [3, 4, 8])],
                            [value("y", None)], parameters=["a", "b", "c", "d"], batch=3)
        self.assertEqual(trained, {"a": "3x8x8", "b": "3x8x8", "unsqueeze": "3x1x8", "unsqueeze_1": "3x1x8"})

    def test_parts_of_what_was_created_do_not_train(self):
        """Zeros that the source makes twice are one tensor in the file, of which a part without a note is no parameter."""
        nodes = [call(node("Mul", ["zeros_like", "x"], ["a"]), "mul", "%zeros_like, %x", "m"),
                 call(node("ScatterElements", ["zeros_like", "i", "a"], ["b"], axis=1), "select_scatter", "%zeros_like_1, %other, 1, 0", "n"),
                 node("Add", ["a", "b"], ["s"]), node("MatMul", ["s", "w"], ["y"])]
        index = np.tile(np.arange(8), (4, 1))
        trained = self.read(nodes, {"zeros_like": np.zeros((4, 8), np.float32), "i": index, "w": floats(8, 8)}, parameters=["w"])
        self.assertEqual(set(trained), {"w"})


if __name__ == "__main__":
    dlc.main()
