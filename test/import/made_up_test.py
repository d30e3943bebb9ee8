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

    def test_tensors_of_the_source_text_do_not_train(self):
        """torch.tensor([...]) in a forward, or a plain attribute: a CONSTANT_TENSOR, whatever it is called and reads it."""
        for name in "lifted_tensor_0", "weight", "m.gamma":
            nodes = [call(node("MatMul", ["x", "w"], ["p"]), "matmul", "%x, %p_w"), node("Identity", [name], ["clone"]),
                     call(node("Mul", ["p", "clone"], ["y"]), "mul", "%p, %clone")]
            for reads in name, "clone":
                nodes[2].input[1] = reads
                tensors = {"w": floats(8, 8), name: floats(8)}
                self.assertEqual(set(self.read(nodes, tensors, parameters=["w"], constants=[name])), {"w"})
                self.assertEqual(set(self.read(nodes, tensors, parameters=["w", name])), {"w", name})

    def test_a_result_is_no_second_parameter(self):
        """view_as_complex of w is w, as the notes list no parameter of that name."""
        for result in "view_as_complex", "clone":
            nodes = [call(node("Identity", ["w"], [result]), result, "%p_w"), call(node("MatMul", ["x", result], ["q"]), "matmul", f"%x, %{result}"),
                     call(node("MatMul", ["q", "w"], ["y"]), "matmul", "%q, %p_w")]
            for read in nodes, nodes[:1] + [call(node("MatMul", ["x", result], ["y"]), "matmul", f"%x, %{result}")]:
                for w in floats(8, 8), np.zeros((8, 8), np.float32):  # zeros, as a new layer's bias
                    self.assertEqual(self.read(read, {"w": w}, parameters=["w"]), {"w": "8x8"})

    def test_instance_norms_of_running_statistics(self):
        """track_running_stats=True: the file in training form has no statistics, and the warning names the module."""
        nodes = [call(node("MatMul", ["x", "w"], ["p"]), "matmul", "%x, %p_w"), node("Reshape", ["p", "image"], ["i"]),
                 call(node("InstanceNormalization", ["i", "m.n.weight", "m.n.bias"], ["y"]), "instance_norm", "%i, %p_m_n_weight, %p_m_n_bias", "m.n")]
        tensors = {"w": floats(8, 8), "m.n.weight": floats(2), "m.n.bias": floats(2), "image": np.array([4, 2, 2, 2])}
        for buffers, warned in ((), 0), (["m.n.running_mean", "m.n.running_var"], 1), (["m.o.running_mean"], 0):
            self.read(nodes, tensors, parameters=["w", "m.n.weight", "m.n.bias"], buffers=buffers, outputs=[value("y", [4, 2, 2, 2])])
            self.assertEqual(self.errors.count("keep running statistics for evaluation, which the file does not have: 'm.n'"), warned)

    def test_a_backward_that_no_file_has(self):
        """A torch.autograd.Function, as stack traces of the newer exporter show it; not a checkpoint, or a module's forward."""
        frame = lambda where, line, function, text: f'File "{where}", line {line}, in {function}\n    {text}\n  '
        module, called = frame("/a/m.py", 7, "forward", "h = self.f(x)"), frame("/a/m.py", 7, "forward", "h = Reverse.apply(self.f(x), 1.0)")
        own = frame("/a/f.py", 3, "forward", "return x * y")
        layer, checkpoint = (frame(f"/t/torch/{where}.py", 3, "forward", "return f(x)") for where in ("nn/modules/linear", "utils/checkpoint"))
        for trace, warned in (called + own, 1), (module + own, 0), (called + checkpoint, 0), (called + layer, 0), (called, 0):
            nodes = [call(node("MatMul", ["x", "w"], ["y"], name="product"), "matmul", "%x, %p_w")]
            nodes[0].metadata_props.add(key="pkg.torch.onnx.stack_trace", value=trace)
            self.read(nodes, {"w": floats(8, 8)}, parameters=["w"])
            _, said = dlc.dlc("compile", self.path("m.onnx"), "--loss=mse", "-o", self.path("m.dlc"))
            self.assertEqual(said.count("whose backward() the file does not have; they get the gradients of its forward(): 'product' (m.py:7)"), warned)

    def test_divisors_of_pools(self):
        """divisor_override, which both exporters drop; only the newer one's notes have it."""
        tensors = {"w": floats(8, 8), "image": np.array([4, 2, 2, 2])}
        for given, warned in ("", 0), (", None", 0), (", 3", 1):
            nodes = [call(node("MatMul", ["x", "w"], ["p"]), "matmul", "%x, %p_w"), node("Reshape", ["p", "image"], ["i"]),
                     call(node("AveragePool", ["i"], ["y"], name="pool", kernel_shape=[2, 2]), "avg_pool2d", f"%i, [2, 2], [1, 1], [0, 0], False, True{given}")]
            self.read(nodes, tensors, parameters=["w"], outputs=[value("y", [4, 2, 1, 1])])
            self.assertEqual(self.errors.count("a divisor_override, which the exporter dropped: 'pool'"), warned, given)

    def test_buffers_that_a_forward_updates(self):
        """Power iterations and moving codebooks: a warning, as the file has their values but no updates."""
        nodes = [call(node("MatMul", ["x", "w"], ["p"]), "matmul", "%x, %p_w"), call(node("Mul", ["p", "m.u"], ["y"]), "mul", "%p, %b_m_u")]
        tensors = {"w": floats(8, 8), "m.u": floats(8)}
        for updated, warns in ((), False), (["m.u"], True), (["m.other"], False):
            self.read(nodes, tensors, parameters=["w"], buffers=["m.u"], updated=updated)
            self.assertEqual("updates buffers in training, and the file does not say how" in self.errors, warns, updated)
        self.assertNotIn("'w'", self.errors)
        norm = node("BatchNormalization", ["p", "s", "b", "m.u", "m.v"], ["y"])
        chained = [nodes[0], call(norm, "_native_batch_norm_legit_functional", "%p, %p_s, %p_b, %b_m_u, %b_m_v, True, 0.1, 1e-05"),
                   node("Neg", ["m.u"], ["unused"])]
        statistics = {"w": floats(8, 8), "s": floats(8), "b": floats(8), "m.u": floats(8), "m.v": np.ones(8, np.float32)}
        self.read(chained, statistics, parameters=["w", "s", "b"], buffers=["m.u", "m.v"], updated=["m.u", "m.v"])
        self.assertNotIn("updates buffers", self.errors)


if __name__ == "__main__":
    dlc.main()
