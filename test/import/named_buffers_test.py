# SPDX-License-Identifier: Apache-2.0
"""Tensors that are named as models name their buffers: which of them train, and what is said of it."""

import os
import re
import sys

import numpy as np

sys.path.insert(0, os.path.dirname(__file__))
import dlc
import onnx
from support import IMPORT, model, node, reasons, run, value


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
        turned = [node("Mul", ["x", "inv_freq"], ["t"]), node("Sin", ["t"], ["s"]), node("Cos", ["t"], ["c"]), node("Add", ["s", "c"], ["d"]),
                  node("Add", ["d", "b"], ["y"])]
        self.assertEqual(self.named(turned, inv_freq=random.rand(8)), {"inv_freq": (2, "kept")})
        table = [node("MatMul", ["relative_coords_table", "k"], ["t"]), node("ReduceSum", ["t"], ["s"]), node("Add", ["b", "s"], ["y"])]
        self.assertEqual(self.named(table, relative_coords_table=random.randn(5, 8)), {"relative_coords_table": (2, "kept")})


if __name__ == "__main__":
    dlc.main()
