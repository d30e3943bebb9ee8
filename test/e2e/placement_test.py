# SPDX-License-Identifier: Apache-2.0
"""--place and --explain-placement: who computes what, by whose choice."""

import os
import re
import sys

import dlc
import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "import"))
import onnx  # noqa: E402
from support import model, node, value  # noqa: E402


class Placement(dlc.TestCase):
    def notes(self, name, *words):
        """Of each op: node, kind, by, why."""
        out, _ = dlc.dlc("compile", dlc.model(name), "--emit=mlir", "--stop-after=fuse", "--explain-placement", *words)
        return [re.split(r"  +", line[3:], maxsplit=3) for line in out.splitlines() if line.startswith("// ")]

    def gpt(self, *words):
        return self.notes("gpt_tiny", "--target=cuda", "--sm=90", "--amp", "--batch=4", *words)

    def test_gpu(self):
        """Every kind of op has its lines, with predicted times where there are some."""
        notes = self.gpt()
        whys = {kind: {(by, why) for _, k, by, why in notes if k == kind} for kind in
                ("attention", "norm", "matmul", "matmul-epilogue", "gather", "scatter_add")}
        (by, why), = whys["attention"]
        self.assertEqual(by, "library")
        self.assertRegex(why, r"predicted to be the fastest \(library [\d.]+ us, decomposed [\d.]+ us, generated [\d.]+ us\)")
        self.assertEqual(whys["norm"], {("decomposed", "preferred (decomposed, library)")})
        self.assertEqual(whys["gather"], {("generated", "the only way")})
        self.assertEqual(whys["scatter_add"], {("decomposed", "the only way")})
        for kind, other in ("matmul", "generated"), ("matmul-epilogue", "decomposed"):
            times = rf"predicted to be the fastest \(library ([\d.]+) us, {other} ([\d.]+) us\)"
            found = [(by, re.fullmatch(times, why)) for by, why in whys[kind]]
            self.assertTrue(any(match for _, match in found), kind)
            for by, match in found:
                if match and match[1] != match[2]:
                    self.assertEqual(by, "library" if float(match[1]) < float(match[2]) else other)

    def test_wish(self):
        """For all ops of a kind, or those of a node; the first word that fits counts."""
        norms = [note for note in self.gpt("--place=norm=library") if note[1] == "norm"]
        self.assertEqual({(by, why) for _, _, by, why in norms}, {("library", "--place=norm=library (decomposed, library)")})
        node = norms[0][0]
        words = f"--place=^{re.escape(node)}$:norm=library,norm=decomposed"
        for name, kind, by, _ in self.gpt("--norm=library", words):
            if kind == "norm":
                is_node = name.removesuffix(" (gradient)") == node
                self.assertEqual(by, "library" if is_node else "decomposed", name)

    def test_general_options(self):
        """They are names for rows of the same mechanism."""
        for option, word in ("--norm=library", "norm=library"), ("--matmul=library", "matmul=library"), (
                "--attention=generated", "attention=generated"):
            with self.subTest(option):
                kind = word.split("=")[0]
                general, placed = ([(name, by) for name, k, by, _ in self.gpt(w) if k == kind] for w in (option, "--place=" + word))
                self.assertEqual(general, placed)

    def test_attention_that_stays(self):
        """It has a line, too, where somebody might have computed it as one op."""
        whys = {(by, why) for _, kind, by, why in self.gpt("--place=attention=decomposed") if kind == "attention"}
        self.assertEqual(whys, {("decomposed", "--place=attention=decomposed (library, decomposed, generated)")})

    def test_attention_on_cpu(self):
        """Causal attention of 32 tokens is short; one op is made of it on demand, as the only one of two ways."""
        ways = r"\(decomposed, library, generated: attention is not generated for CPUs\)"
        for words, by, why in (([], "decomposed", "preferred"),
                               (["--attention=library"], "library", "--attention=library")):
            placed = {(by, why) for _, kind, by, why in self.notes("gpt_tiny", *words) if kind == "attention"}
            (found, text), = placed
            self.assertEqual(found, by)
            self.assertRegex(text, f"{why} {ways}")
        err = dlc.dlc("compile", dlc.model("gpt_tiny"), "--attention=generated", code=dlc.BAD_MODEL)[1]
        self.assertIn("--attention=generated cannot be: attention is not generated for CPUs; use --attention=auto", err)

    def test_cpu(self):
        """There is no choice but for convolutions and attention, and the report changes nothing."""
        by = {kind: by for _, kind, by, _ in self.notes("lenet")}
        self.assertEqual(by["matmul"], "library")
        self.assertEqual(by["pool"], "library")
        self.assertEqual({by for _, kind, by, _ in self.notes("lenet") if kind == "conv"}, {"library"})  # one group
        plans = []
        for words in [], ["--explain-placement"]:
            out, _ = dlc.dlc("compile", dlc.model("mlp"), "-o", self.path(f"{len(plans)}.dlc"), *words)
            self.assertEqual(bool(re.search(r"^\S.*  matmul  library  the only way$", out, re.M)), bool(words))
            with open(os.path.join(self.path(f"{len(plans)}.dlc"), "plan.pb"), "rb") as file:
                plans.append(file.read())
        self.assertEqual(*plans)


# Node: channels of a group of its result and its operand, kernel, other attributes.
CONVS = {"point": (24, 6, 1, dict(kernel_shape=[1, 1])),
         "deep": (1, 1, 3, dict(kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2], group=24)),
         "wide": (1, 1, 5, dict(kernel_shape=[5, 5], pads=[4, 4, 4, 4], dilations=[2, 2], group=24)),
         "few": (3, 3, 3, dict(kernel_shape=[3, 3], pads=[0, 1, 1, 0], group=8))}


# What Winograd's products can compute, with few channels and with many.
WINOGRADS = {"first": (32, 16, 3, dict(kernel_shape=[3, 3], pads=[1, 1, 1, 1])),
             "second": (208, 32, 3, dict(kernel_shape=[3, 3], pads=[0, 2, 1, 0])),
             "third": (16, 208, 3, dict(kernel_shape=[3, 3], pads=[1, 1, 1, 1]))}


def chain(convs, channels, last):
    """A convolution behind the other, on images of odd sizes."""
    random = np.random.RandomState(3)
    nodes, weights, at = [], {}, "x"
    for name, (outputs, inputs, kernel, attributes) in convs.items():
        shape = (outputs * attributes.get("group", 1), inputs, kernel, kernel)
        weights |= {name + ".weight": (random.randn(*shape) / np.sqrt(inputs * kernel * kernel)).astype("f4"),
                    name + ".bias": random.randn(shape[0]).astype("f4") / 4}
        nodes += [node("Conv", [at, name + ".weight", name + ".bias"], [name + "0"], name=name, **attributes),
                  node("Tanh", [name + "0"], [name + "1"], name=name + "_tanh")]
        at = name + "1"
    weights["d.weight"] = random.randn(4, last).astype("f4") / 4
    nodes += [node("GlobalAveragePool", [at], ["g"]), node("Flatten", ["g"], ["f"]),
              node("Gemm", ["f", "d.weight"], ["y"], name="d", transB=1)]
    return model(nodes, [value("x", [6, channels, 13, 11])], [value("y", [6, 4])], weights, opset=17)


class ConvCase(dlc.TestCase):
    def prepare(self, convs, channels, last):
        onnx.save(chain(convs, channels, last), self.path("m.onnx"))
        random = np.random.RandomState(5)
        np.savez(self.path("data.npz"), x=random.randn(24, channels, 13, 11).astype("f4"), y=random.randint(4, size=24))

    def steps(self, name, **options):
        artifact = dlc.compile(self.path("m.onnx"), self.path(name + ".dlc"), lr=0.1, momentum=0.9, optimizer="sgd",
                               schedule="constant", **options)
        return dlc.train(artifact, self.path("data.npz"), self.path(name), steps=8, shuffle="off", threads=2)


class ConvPlacement(ConvCase):
    def setUp(self):
        super().setUp()
        self.prepare(CONVS, 6, 24)

    def test_who(self):
        """Kernels of our own where a group has few channels; elsewhere they are a wish."""
        def notes(*words):
            out, _ = dlc.dlc("compile", self.path("m.onnx"), "--emit=mlir", "--stop-after=fuse", "--explain-placement", *words)
            lines = [re.split(r"  +", line[3:], maxsplit=3) for line in out.splitlines() if line.startswith("// ")]
            return [(node, (by, why)) for node, kind, by, why in lines if kind == "conv"]

        def by(*words):
            return dict(notes(*words))

        chosen = by()
        for suffix in "", " (gradient)":
            window = "winograd{}: the window is not 3x3 with stride and dilation 1"
            whys = f"{window.format(2)}, {window.format(4)}"
            self.assertEqual(chosen["deep" + suffix], ("generated", f"preferred (generated, library, {whys})"))
            self.assertEqual(chosen["wide" + suffix][0], "generated")
            self.assertRegex(chosen["few" + suffix][1], r"preferred \(library, generated, winograd2: it has groups, ")
        self.assertEqual(chosen["point"][0], "library")
        halves = sorted(by for name, (by, _) in notes("--amp") if name == "few (gradient)")
        self.assertEqual(halves, ["generated", "library"])  # the filter's, the data's
        placed = by("--place=deep:conv=library,few:conv=generated")
        self.assertEqual([placed[name][0] for name in CONVS], ["library", "library", "generated", "generated"])

    def test_same_steps(self):
        """As the library takes, in f32 and bf16."""
        for amp, tolerance in (False, 1e-5), (True, 0.02):
            with self.subTest(amp=amp):
                library, ours = (self.steps(f"{amp}{place}", amp=amp, place=f"deep|wide|few:conv={place}")
                                 for place in ("library", "generated"))
                np.testing.assert_allclose(ours.metrics("loss"), library.metrics("loss"), rtol=tolerance)
                for key, numbers in ours.state(8).items():
                    if numbers.dtype == np.float32 and not amp:
                        self.assertNear(numbers, library.state(8)[key], 1e-4, key)


class WinogradPlacement(ConvCase):
    def setUp(self):
        super().setUp()
        self.prepare(WINOGRADS, 16, 16)

    def test_same_steps(self):
        """As the library takes."""
        library = self.steps("library", place="conv=library")
        for way in "winograd2", "winograd4":
            with self.subTest(way):
                ours = self.steps(way, place="conv=" + way)
                np.testing.assert_allclose(ours.metrics("loss"), library.metrics("loss"), rtol=1e-5)
                for key, numbers in ours.state(8).items():
                    if numbers.dtype == np.float32:
                        self.assertNear(numbers, library.state(8)[key], 1e-4, key)

    def test_plan(self):
        """A command says which tiles it has."""
        places = "first:conv=winograd2,second:conv=winograd4,conv=library"
        out, _ = dlc.dlc("compile", self.path("m.onnx"), "--emit=mlir", "--stop-after=launches", "--place=" + places)
        found = re.findall(r'call "(conv\w*)" .* winograd = (\d)', out)
        self.assertEqual(set(found), {("conv", "2"), ("conv", "4"), ("conv_backward_data", "4"),
                                      ("conv_backward_filter", "2"), ("conv_backward_filter", "4")})


if __name__ == "__main__":
    dlc.main()
