# SPDX-License-Identifier: Apache-2.0
"""Tensors that are named as models name their buffers: which of them train, and what is said of it."""

import json
import os
import re
import sys

import numpy as np

sys.path.insert(0, os.path.dirname(__file__))
import dlc
import onnx
from support import IMPORT, SIGNATURE, model, node, reasons, run, value


class NamedBuffers(dlc.TestCase):
    def named(self, nodes, *flags, producer="pytorch", **tensors):
        """Each tensor's role (0 trains, 2 does not), with what is warned of it: "kept", "trained" or nothing."""
        tensors = {k.replace("_dot_", "."): np.asarray(v, np.float32) for k, v in tensors.items()}
        proto = model([node("Reshape", ["p", "flat"], ["q"]), node("MatMul", ["q", "w"], ["a"], name="/fc/MatMul"), node("Tanh", ["a"], ["b"]), *nodes],
                      [value("p", [4, 8]), value("x", [4, 8])], [value("y", None)],
                      {"w": np.eye(8, dtype=np.float32) + 1, "k": np.float32([[3, 1]] * 8), "flat": np.array([4, 8]), "row": np.array([1, 8])} | tensors)
        proto.producer_name = producer
        onnx.save(proto, self.path("m.onnx"))
        found = reasons(self.path("m.onnx"), *flags)
        _, _, self.errors = run(IMPORT, self.path("m.onnx"), *flags)
        kinds = {"kept": "named and used as models do with their buffers.*--train=REGEX", "trained": "are trained, as nothing but the name.*--freeze=REGEX"}
        warned = {kind: "".join(re.findall(f"warning: .*{text}.*", self.errors)) for kind, text in kinds.items()}
        return {k: (found[k][0], *[kind for kind, text in warned.items() if f"'{k}'" in text]) for k in tensors}

    def test_a_name_alone_freezes_nothing(self):
        """A parameter of a buffer's name trains, with a warning, wherever its values and its use are not a buffer's."""
        random = np.random.RandomState(0)
        for name in ("mean", "m.std", "m.var", "m.pixel_mean", "m.running_mean", "m.running_var", "m.running_scale", "m.mask", "attn_mask", "m.pe", "m.inv_freq",
                     "freqs", "m.cos", "sin_cached", "m.anchors", "m.relative_coords_table", "m.position_ids", "m.relative_position_index"):
            key = name.replace(".", "_dot_")
            for shape, op in ((8,), random.choice(["Add", "Sub"])), ((4, 8), random.choice(["Mul", "Div"])):
                with self.subTest(f"{name} {shape} {op}"):
                    self.assertEqual(self.named([node(op, ["b", name], ["y"])], **{key: random.randn(*shape)}), {name: (0, "trained")})
            tensor = {key: random.randn(8)}
            self.assertEqual(self.named([node("Mul", ["b", name], ["y"])], f"--train={name}", **tensor), {name: (0,)})
            self.assertEqual(self.named([node("Mul", ["b", name], ["y"])], f"--freeze={name}", **tensor), {name: (2,)})
            self.assertEqual(self.named([node("Mul", ["b", name], ["y"])], producer="other", **tensor), {name: (2,)})
        for name in "m.mean", "std", "m.embed_scale":
            self.assertEqual(self.named([node("Mul", ["b", name], ["y"])], **{name.replace(".", "_dot_"): 2.3}), {name: (0, "trained")})
        for name in "mask_token", "m.masked_spec_embed", "means", "stdev", "varied":
            self.assertEqual(self.named([node("Mul", ["b", name], ["y"])], **{name.replace(".", "_dot_"): random.randn(8)}), {name: (0,)})

    def test_statistics_of_the_input(self):
        """What an input is normalised by before any layer does not train, with a warning."""
        mean, std = np.linspace(0.4, 0.5, 8) ** 2, np.linspace(0.2, 0.3, 8) ** 2
        kept, both = (2, "kept"), [node("Sub", ["x", "m.mean"], ["s"]), node("Div", ["s", "m.std"], ["n"]), node("Add", ["n", "b"], ["y"])]
        self.assertEqual(self.named(both, m_dot_mean=mean, m_dot_std=std), {"m.mean": kept, "m.std": kept})
        self.assertEqual(self.named(both, "--train=m[.]", m_dot_mean=mean, m_dot_std=std), {"m.mean": (0,), "m.std": (0,)})
        self.assertEqual(self.named(both, "--freeze=m[.]", m_dot_mean=mean, m_dot_std=std), {"m.mean": (2,), "m.std": (2,)})
        self.assertEqual(self.named(both, m_dot_mean=0.13, m_dot_std=0.3), {"m.mean": kept, "m.std": kept})
        pixels = [node("Cast", ["x"], ["c"], to=1), node("Div", ["c", "full"], ["d"]), node("Sub", ["d", "pixel_mean"], ["s"]),
                  node("Add", ["var", "small"], ["v"]), node("Sqrt", ["v"], ["r"]), node("Reciprocal", ["r"], ["i"]),
                  node("Mul", ["s", "i"], ["n"]), node("Add", ["n", "b"], ["y"])]
        found = self.named(pixels, full=255.0, small=1e-5, pixel_mean=mean, var=std)
        self.assertEqual((found["pixel_mean"], found["var"]), (kept, kept))
        behind = [node(n.op_type, ["b" if i == "x" else i for i in n.input], n.output) for n in both]
        self.assertEqual(self.named(behind, m_dot_mean=mean, m_dot_std=std), {"m.mean": (0, "trained"), "m.std": (0, "trained")})

    def test_frozen_norms(self):
        """torchvision's FrozenBatchNorm2d has four buffers; a norm of a module's own, with parameters, is no other but for their use."""
        views = [node("Reshape", [f"m.{k}", "row"], [k]) for k in ("weight", "bias", "running_mean", "running_var")]
        scale = [*views, node("Add", ["running_var", "eps"], ["v"]), node("Sqrt", ["v"], ["r"])]
        frozen = [*scale, node("Reciprocal", ["r"], ["f"]), node("Mul", ["weight", "f"], ["g"]), node("Mul", ["running_mean", "g"], ["h"]),
                  node("Sub", ["bias", "h"], ["i"]),
                  node("Mul", ["b", "g"], ["c"]), node("Add", ["c", "i"], ["y"])]
        own = [*scale, node("Sub", ["b", "running_mean"], ["c"]), node("Div", ["c", "r"], ["d"]), node("Mul", ["d", "weight"], ["e"]),
               node("Add", ["e", "bias"], ["y"])]
        four = {f"m_dot_{k}": np.abs(np.random.RandomState(1).randn(8)) for k in ("weight", "bias", "running_mean", "running_var")}
        for nodes, role in (frozen, (2, "kept")), (own, (0,)):
            found = self.named(nodes, eps=1e-5, **four)
            self.assertEqual("and 1 more" in self.errors, role != (0,), self.errors)
            self.assertEqual({found[k][0] for k in ("m.running_mean", "m.running_var")}, {2})
            self.assertEqual({found[k][0] for k in ("m.weight", "m.bias")}, {role[0]})

    def test_vectors_of_spectral_norm(self):
        """What the power iteration keeps beside a weight is its buffer; without the weight a name alone is none."""
        random = np.random.RandomState(0)
        for whole, vector in ("m.weight_orig", "m.weight_{}"), ("m.parametrizations.weight.original", "m.parametrizations.weight.1._{}"):
            u, v = vector.format("u"), vector.format("v")
            nodes = [node("MatMul", [whole, v], ["wv"]), node("MatMul", [u, "wv"], ["sigma"]), node("Div", [whole, "sigma"], ["n"]),
                     node("Gemm", ["b", "n"], ["y"], transB=1)]
            tensors = {whole: random.randn(5, 8), u: random.randn(5), v: random.randn(8)}
            found = self.named(nodes, **{k.replace(".", "_dot_"): x for k, x in tensors.items()})
            self.assertEqual(found, {whole: (0,), u: (2,), v: (2,)})
        alone = self.named([node("MatMul", ["b", "m.weight_v"], ["y"])], m_dot_weight_v=random.randn(8, 8))
        self.assertEqual(alone, {"m.weight_v": (0,)})

    def test_buffers_by_values_and_use(self):
        """A mask's two values, a formula's numbers, a width's root (nothing is said); frequencies, and what a layer reads as data (said)."""
        random = np.random.RandomState(0)
        masks = {"zeros and ones": random.rand(4, 8) < 0.5, "penalties": np.where(random.rand(4, 8) < 0.5, -100, 0),
                 "infinite": np.where(random.rand(4, 8) < 0.5, -np.inf, 0)}
        for what, mask in masks.items():
            with self.subTest(what):
                self.assertEqual(self.named([node("Add", ["b", "attn_mask"], ["y"])], attn_mask=mask), {"attn_mask": (2,)})
        for mask in np.ones((4, 8)), np.zeros((4, 8)), np.where(random.rand(4, 8) < 0.5, 0.5, 0):
            self.assertEqual(self.named([node("Add", ["b", "attn_mask"], ["y"])], attn_mask=mask), {"attn_mask": (0, "trained")})
        progression = 100.0 ** -(np.arange(8) / 8)
        for name, numbers in ("inv_freq", progression), ("pe", np.sin(np.arange(8)[:, None] * progression)), ("position_ids", np.arange(8)):
            self.assertEqual(self.named([node("Mul", ["b", name], ["y"])] if numbers.ndim == 1 else [node("MatMul", ["b", name], ["y"])], **{name: numbers}),
                             {name: (2,)})
        self.assertEqual(self.named([node("Mul", ["b", "embed_scale"], ["y"])], embed_scale=np.sqrt(40)), {"embed_scale": (2,)})
        bias = [node("Add", ["b", "m.final_logits_bias"], ["y"])]
        self.assertEqual(self.named(bias, m_dot_final_logits_bias=np.zeros((1, 8))), {"m.final_logits_bias": (2, "kept")})
        self.assertEqual(self.named(bias, m_dot_final_logits_bias=np.zeros(8)), {"m.final_logits_bias": (0, "trained")})
        turned = [node("Mul", ["x", "inv_freq"], ["t"]), node("Sin", ["t"], ["s"]), node("Cos", ["t"], ["c"]), node("Add", ["s", "c"], ["d"]),
                  node("Add", ["d", "b"], ["y"])]
        self.assertEqual(self.named(turned, inv_freq=random.rand(8)), {"inv_freq": (2, "kept")})
        table = [node("MatMul", ["relative_coords_table", "k"], ["t"]), node("ReduceSum", ["t"], ["s"]), node("Add", ["b", "s"], ["y"])]
        self.assertEqual(self.named(table, relative_coords_table=random.randn(5, 8)), {"relative_coords_table": (2, "kept")})

    def roles(self, nodes, *flags, producer="pytorch", **tensors):
        """Of each tensor its role, and whether its reason and the one warning say that its role alone decided."""
        found = {k: v[0] for k, v in self.named(nodes, *flags, producer=producer, **tensors).items()}
        warned = re.findall("warning: tensors that the file does not call parameters or buffers are trained, .*--freeze=REGEX.*", self.errors)
        self.assertLess(len(warned), 2)
        alone = {k for k, (_, why) in reasons(self.path("m.onnx"), *flags).items() if "by its role alone; a buffer would be, too (--freeze)" in why}
        self.assertEqual(bool(alone - {"w", "k"}), bool([k for k in found if warned and (f"'{k}'" in warned[0] or "more" in warned[0])]))
        return {k: (role, k in alone) for k, role in found.items()}

    def test_what_a_product_or_sum_reads(self):
        """Torch's older exporter does not say whether it is a parameter: it trains, with a mark, and one warning for all."""
        random = np.random.RandomState(0)
        readers = {"MatMul": random.randn(8, 8), "Add": random.randn(8), "Mul": random.randn(4, 8), "Sub": random.randn(8)}
        for op, numbers in readers.items():
            with self.subTest(op):
                nodes = [node(op, ["b", "m.basis"], ["y"])]
                self.assertEqual(self.roles(nodes, m_dot_basis=numbers), {"m.basis": (0, True)})
                self.assertEqual(self.roles(nodes, producer="other", m_dot_basis=numbers), {"m.basis": (0 if op == "MatMul" else 2, False)})
        self.assertEqual(self.roles(nodes, "--train=basis", m_dot_basis=numbers), {"m.basis": (0, False)})
        self.assertEqual(self.roles(nodes, "--freeze=basis", m_dot_basis=numbers), {"m.basis": (2, False)})
        for name, op in (("m.weight_ih_l0", "MatMul"), ("experts", "MatMul"), ("class_token", "Add"), ("enc.pos_embedding", "Add"), ("pos", "Add"), ("gamma", "Mul")):
            with self.subTest(name):
                self.assertEqual(self.roles([node(op, ["b", name], ["y"])], **{name.replace(".", "_dot_"): readers[op]}), {name: (0, False)})
        many = [node("Add", ["b" if i == 0 else f"s{i}", f"m.part{i}"], [f"s{i + 1}" if i < 4 else "y"]) for i in range(5)]
        found = self.roles(many, **{f"m_dot_part{i}": random.randn(8) for i in range(5)})
        self.assertEqual(set(found.values()), {(0, True)})
        self.assertRegex(self.errors, "'m.part0', 'm.part1', 'm.part2' and [0-9] more")

    def test_sure_weights_are_not_marked(self):
        """What a convolution, a norm or a lookup reads, whatever its name."""
        random = np.random.RandomState(0)
        proto = model([node("Reshape", ["p", "image"], ["i"]), node("Conv", ["i", "kern", "off"], ["c"]), node("InstanceNormalization", ["c", "one", "two"], ["y"])],
                      [value("p", [4, 8])], [value("y", None)],
                      {"image": np.array([4, 8, 1, 1]), "kern": random.randn(8, 8, 1, 1).astype(np.float32), "off": random.randn(8).astype(np.float32),
                               "one": random.randn(8).astype(np.float32), "two": random.randn(8).astype(np.float32)})
        proto.producer_name = "pytorch"
        onnx.save(proto, self.path("m.onnx"))
        self.assertEqual({k: v for k, v in reasons(self.path("m.onnx")).items() if "role alone" in v[1] or (k != "image" and v[0])}, {})
        self.assertNotIn("does not call parameters", run(IMPORT, self.path("m.onnx"))[2])

    def test_what_the_newer_exporter_notes(self):
        """A parameter or a buffer that no call names, as it is split first, is what the file says."""
        for kind, role in ("PARAMETER", 0), ("BUFFER", 2):
            proto = model([node("Split", ["m.both"], ["a", "c"], axis=0), node("MatMul", ["x", "a"], ["d"]), node("Mul", ["d", "c1"], ["e"]),
                           node("ReduceSum", ["c"], ["c1"], keepdims=0), node("MatMul", ["e", "w"], ["y"])],
                          [value("x", [4, 8])], [value("y", None)],
                          {"m.both": np.random.RandomState(0).randn(16, 8).astype(np.float32), "w": np.eye(8, dtype=np.float32) + 1})
            proto.producer_name = "pytorch"
            proto.graph.metadata_props.add(key=SIGNATURE, value=f"p_w: PARAMETER target='w'\nm_both: {kind} target='m.both'\n")
            onnx.save(proto, self.path("m.onnx"))
            self.assertEqual(reasons(self.path("m.onnx"))["m.both"][0], role)
            self.assertNotIn("does not call parameters", run(IMPORT, self.path("m.onnx"))[2])

    def test_inspect_shows_the_mark(self):
        proto = model([node("MatMul", ["x", "basis"], ["a"], name="/m/MatMul"), node("Tanh", ["a"], ["b"]), node("MatMul", ["b", "fc.weight"], ["y"])],
                      [value("x", [4, 8])], [value("y", [4, 3])],
                      {"basis": np.random.RandomState(0).randn(8, 8).astype(np.float32), "fc.weight": np.ones((8, 3), np.float32)})
        proto.producer_name = "pytorch"
        onnx.save(proto, self.path("m.onnx"))
        _, err = dlc.dlc("compile", self.path("m.onnx"), "-o", self.path("m.dlc"), batch=4)
        self.assertRegex(err, "warning: .*: tensors that the file does not call parameters or buffers are trained, as products and sums read them: "
                              r"'basis'\. Those that are buffers need --freeze=REGEX, which they match")
        mark = "an operand of MatMul '/m/MatMul', by its role alone; a buffer would be, too (--freeze)"
        self.assertIn(mark, dlc.dlc("inspect", self.path("m.dlc"), "--tensors")[0])
        rows = json.loads(dlc.dlc("inspect", self.path("m.dlc"), "--json")[0])["tensors"]
        self.assertIn({"tensor": "basis", "decision": "trained", "reason": mark}, rows)
        _, err = dlc.dlc("compile", self.path("m.onnx"), "-o", self.path("m.dlc"), batch=4, freeze="basis")
        self.assertNotIn("does not call parameters", err)


if __name__ == "__main__":
    dlc.main()
