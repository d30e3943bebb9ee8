# SPDX-License-Identifier: Apache-2.0
"""--lora of a weight that is read in several ways: what trained is what the merged export computes in onnxruntime."""

import importlib.util
import os
import unittest

import dlc
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

WORDS, WIDTH, SAMPLES, LENGTH = 23, 8, 16, 6


def model(path, nodes, weights, output, shape=("batch", LENGTH, WORDS)):
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", TensorProto.INT64, ["batch", LENGTH])],
        [helper.make_tensor_value_info(output, TensorProto.FLOAT, list(shape))],
        [numpy_helper.from_array(value, name) for name, value in weights.items()])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.checker.check_model(proto)
    onnx.save(proto, path)
    return path


def node(op, inputs, output, **attributes):
    return helper.make_node(op, inputs.split(), [output], name="n_" + output, **attributes)


def draw(**shapes):
    generator = np.random.default_rng(7)
    return {name: generator.normal(0, 0.5, shape).astype("f4") for name, shape in shapes.items()}


# The head by Transpose and MatMul, as an exporter of today writes it, or by Gemm with transB.
HEADS = {
    "matmul": lambda x: [node("Transpose", "wte", "wteT", perm=[1, 0]), node("MatMul", f"{x} wteT", "logits")],
    "gemm": lambda x: [node("Reshape", f"{x} rows", "flat"), node("Gemm", "flat wte", "rowwise", transB=1),
                       node("Reshape", "rowwise back", "logits")],
}
SHAPES = {"rows": np.array([-1, WIDTH]), "back": np.array([-1, LENGTH, WORDS])}
LAYER = [node("MatMul", "h w", "m"), node("Tanh", "m", "t"), node("Add", "h t", "last")]


def gpt(head):
    return [node("Gather", "wte x", "e"), node("Add", "e wpe", "h"), *LAYER, *HEADS[head]("last")]


def gemma(head):
    return [node("Gather", "wte x", "e"), node("Mul", "e root", "h"), *LAYER, *HEADS[head]("last")]


def t5(head):
    return [node("Gather", "wte x", "e"), node("MatMul", "e enc", "h"), *LAYER,
            node("Gather", "wte x", "d"), node("Add", "d last", "both"), node("Mul", "both root", "scaled"),
            *HEADS[head]("scaled")]


def twice():
    """W and its transpose, both products."""
    return [node("Gather", "wpe2 x", "h"), node("MatMul", "h w", "m"), node("Tanh", "m", "t"),
            node("Gemm", "rowsT w", "u", transB=1), node("MatMul", "t u", "v"), node("MatMul", "v out", "logits")]


def elementwise():
    """W is a factor of two products, an operand of a sum, and of a product with itself."""
    return [node("Gather", "wpe2 x", "h"), node("MatMul", "h w", "m"), node("Add", "w other", "o"),
            node("MatMul", "m o", "t"), node("Transpose", "w", "wT", perm=[1, 0]), node("MatMul", "wT w", "square"),
            node("MatMul", "t square", "v"), node("MatMul", "v out", "logits")]


def left():
    """W on the left, and by Gemm with transA: no layers, but products."""
    return [node("Gather", "wpe2 x", "h"), node("MatMul", "h w", "m"), node("MatMul", "w other", "o"),
            node("Gemm", "other w", "p", transA=1), node("MatMul", "m o", "t"), node("MatMul", "t p", "v"),
            node("MatMul", "v out", "logits")]


def branch():
    """A body reads the outer weight."""
    body = helper.make_graph([node("Mul", "w other", "inner")], "body", [],
                             [helper.make_tensor_value_info("inner", TensorProto.FLOAT, [WIDTH, WIDTH])])
    other = helper.make_graph([node("Identity", "other", "same")], "else", [],
                              [helper.make_tensor_value_info("same", TensorProto.FLOAT, [WIDTH, WIDTH])])
    return [node("Gather", "wpe2 x", "h"), node("MatMul", "h w", "m"),
            node("If", "yes", "chosen", then_branch=body, else_branch=other),
            node("MatMul", "m chosen", "v"), node("MatMul", "v out", "logits")]


def convolutions():
    """A filter of two convolutions, one of which has groups, and of a penalty."""
    return [node("Gather", "wpe2 x", "h"), node("Transpose", "h", "hT", perm=[0, 2, 1]),
            node("Conv", "hT filter", "c", pads=[1, 1]), node("Concat", "hT c", "pair", axis=1),
            node("Conv", "pair filter", "d", pads=[1, 1], group=2), node("Mul", "filter filter", "squares"),
            node("ReduceMean", "squares", "penalty", keepdims=0), node("Add", "d penalty", "e"),
            node("Transpose", "e", "eT", perm=[0, 2, 1]), node("MatMul", "eT out", "logits")]


@unittest.skipUnless(importlib.util.find_spec("onnxruntime"), "this Python has no onnxruntime")
class LoraReaders(dlc.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.share_folder()
        generator = np.random.default_rng(3)
        cls.x = generator.integers(0, WORDS, (SAMPLES, LENGTH))
        cls.y = generator.integers(0, WORDS, (SAMPLES, LENGTH))
        cls.data = os.path.join(cls.shared, "data.npz")
        np.savez(cls.data, x=cls.x, y=cls.y)

    def logits(self, path, name="logits"):
        import onnxruntime
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        return session.run([name], {"x": self.x})[0].astype("f8")

    def loss(self, path):
        logits = self.logits(path).reshape(-1, WORDS)
        top = logits.max(1, keepdims=True)
        chosen = np.take_along_axis(logits - top, self.y.reshape(-1, 1), 1)
        return float((np.log(np.exp(logits - top).sum(1)) - chosen[:, 0]).mean())

    def check(self, nodes, weights, message="is added wherever that is read", **options):
        """Adapters have moved, and eval, predict and the export in onnxruntime agree."""
        source = model(self.path("m.onnx"), nodes, weights, "logits")
        _, log = dlc.dlc("compile", source, "-o", self.path("m.dlc"), batch=SAMPLES, lora=4, lora_alpha=8, lr=0.1,
                         seed=5, loss="cross_entropy", class_axis=2, optimizer="adamw", schedule="constant", **options)
        (self.assertIn if message else self.assertNotIn)(message or "is added wherever", log)
        run = dlc.train(self.path("m.dlc"), self.data, self.path("run"), steps=12, threads=1, quiet=True).folder
        found = dlc.evaluate(run, self.data)["loss"]
        dlc.dlc("export", run, "-o", self.path("merged.onnx"))
        self.assertGreater(abs(self.loss(source) - found), 0.05)
        self.assertAlmostEqual(self.loss(self.path("merged.onnx")), found, delta=1e-5 * found)
        dlc.dlc("predict", run, data=self.data, output=self.path("p.npz"))
        self.assertNear(next(iter(np.load(self.path("p.npz")).values())), self.logits(self.path("merged.onnx")), 1e-4, "predict")
        names = {t.name for t in onnx.load(self.path("merged.onnx")).graph.initializer}
        self.assertEqual(names, set(weights))
        return log

    def check_tied(self, build):
        for head in HEADS:
            with self.subTest(head):
                self.new_folder()
                weights = draw(wte=(WORDS, WIDTH), wpe=(LENGTH, WIDTH), w=(WIDTH, WIDTH), enc=(WIDTH, WIDTH))
                weights |= SHAPES | {"root": np.array(WIDTH ** 0.5, "f4")}
                nodes = build(head)
                read = {name for n in nodes for name in n.input}
                log = self.check(nodes, {k: v for k, v in weights.items() if k in read})
                self.assertIn("'wte' is added wherever that is read, also by 'n_", log)

    def test_gpt(self):
        self.check_tied(gpt)

    def test_gemma(self):
        self.check_tied(gemma)

    def test_t5(self):
        self.check_tied(t5)

    def square(self, **more):
        return draw(wpe2=(WORDS, WIDTH), w=(WIDTH, WIDTH), other=(WIDTH, WIDTH), out=(WIDTH, WORDS),
                    rowsT=(WIDTH, WIDTH), **more)

    def part(self, nodes, **more):
        read = {name for n in nodes for name in n.input} | {"other"}
        return {k: v for k, v in self.square(**more).items() if k in read}

    def test_transposed_too(self):
        weights = self.part(twice())
        weights.pop("other")
        self.check(twice(), weights, message=None)

    def test_elementwise_too(self):
        self.check(elementwise(), self.part(elementwise()), lora_targets="^w$|^out$")

    def test_left(self):
        self.check(left(), self.part(left()), lora_targets="^w$|^out$")

    def test_body(self):
        weights = self.part(branch()) | {"yes": np.array(True)}
        self.check(branch(), weights)

    def test_convolutions(self):
        weights = draw(wpe2=(WORDS, WIDTH), filter=(WIDTH, WIDTH, 3), out=(WIDTH, WORDS))
        self.check(convolutions(), weights, lora_targets="filter|out")

    def test_a_part_of_its_own(self):
        """--untie: the head alone has the adapter."""
        weights = draw(wte=(WORDS, WIDTH), wpe=(LENGTH, WIDTH), w=(WIDTH, WIDTH))
        source = model(self.path("m.onnx"), gpt("matmul"), weights, "logits")
        _, log = dlc.dlc("compile", source, "-o", self.path("m.dlc"), batch=SAMPLES, lora=4, untie="wte", class_axis=2,
                         loss="cross_entropy")
        self.assertNotIn("is added wherever", log)
        self.assertIn("adapters of rank 4 on 2 weights", log)

    def test_averages_and_parts(self):
        """Moving averages of the adapters, which two ranks keep in parts."""
        weights = draw(wte=(WORDS, WIDTH), wpe=(LENGTH, WIDTH), w=(WIDTH, WIDTH))
        source = model(self.path("m.onnx"), gpt("matmul"), weights, "logits")
        artifact = dlc.compile(source, self.path("m.dlc"), batch=4, ddp=2, zero=1, ema=0.5, lora=4, lr=0.1,
                               class_axis=2, loss="cross_entropy", optimizer="adamw", schedule="constant", quiet=True)
        run = dlc.train(artifact, self.data, self.path("run"), steps=6, threads=1, quiet=True).folder
        dlc.dlc("export", run, "--ema", "-o", self.path("merged.onnx"))
        found = dlc.evaluate(run, self.data, ema=True)["loss"]
        self.assertAlmostEqual(self.loss(self.path("merged.onnx")), found, delta=1e-5 * found)

    def test_constants_have_no_adapters(self):
        """A frozen matrix that the importer folds is not in the export; it gets none."""
        weights = self.part(twice())
        source = model(self.path("m.onnx"), twice(), weights, "logits")
        dlc.compile(source, self.path("m.dlc"), batch=SAMPLES, lora=4, freeze="^out$", class_axis=2,
                    loss="cross_entropy", quiet=True)
        out, _ = dlc.dlc("inspect", self.path("m.dlc"), "--tensors")
        self.assertNotIn("out.lora_A", str(dlc.load_file(os.path.join(self.path("m.dlc"), "state.safetensors")).keys()))
        self.assertIn("out ", out)


if __name__ == "__main__":
    dlc.main()
