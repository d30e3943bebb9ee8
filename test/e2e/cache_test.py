# SPDX-License-Identifier: Apache-2.0
"""dlc generate with a cache of keys and values (--decode): the same tokens as by whole passes, and as PyTorch's."""

import hashlib
import json
import os
import re
import unittest

import dlc
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

TEXT = os.path.join(dlc.MODELS, "text-tokenizer.json")
T, V, WIDTH, HEADS, GROUPS = 16, 11, 12, 4, 2
SIZE = WIDTH // HEADS + 1  # of a head: even, for rotary positions


def node(op, inputs, output, **attributes):
    return helper.make_node(op, inputs.split(), [output], name="/" + output, **attributes)


def llama(opset, batch):
    """One layer as transformers writes it: RMS norm, rotary positions by position_ids, two heads of keys for four of queries, a mask by attention_mask."""
    rng = np.random.default_rng(7)
    draw = lambda *shape: (rng.normal(size=shape) / np.sqrt(shape[0])).astype(np.float32)  # noqa: E731
    angles = np.outer(np.arange(T), 1 / 10 ** np.arange(0, 1, 2 / SIZE))
    arrays = dict(table=draw(V, WIDTH) * 3, wq=draw(WIDTH, HEADS * SIZE), wk=draw(WIDTH, GROUPS * SIZE), wv=draw(WIDTH, GROUPS * SIZE), wo=draw(HEADS * SIZE, WIDTH),
                  scale=draw(WIDTH), head=draw(WIDTH, V) * 9, gate=draw(WIDTH, 20), up=draw(WIDTH, 20), down=draw(20, WIDTH))
    arrays["wq"] *= 3
    arrays |= {"cos": np.cos(np.hstack([angles, angles])).astype(np.float32), "sin": np.sin(np.hstack([angles, angles])).astype(np.float32),
               "q4": np.array([0, 0, HEADS, SIZE]), "k4": np.array([0, 0, GROUPS, SIZE]), "flat": np.array([0, 0, HEADS * SIZE]), "repeated": np.array([batch, GROUPS, 2, T, SIZE]),
               "joined": np.array([batch, HEADS, T, SIZE]), "two": np.array(2, np.float32), "eps": np.array(1e-6, np.float32), "root": np.array(SIZE**-0.5, np.float32),
               "axis1": np.array([1]), "axis2": np.array([2]), "axes12": np.array([1, 2]), "low": np.array([0]), "half": np.array([SIZE // 2]), "end": np.array([SIZE]), "last": np.array([3]),
               "causal": np.triu(np.full((1, 1, T, T), -1e9, np.float32), 1), "none": np.array(-1e9, np.float32), "zero": np.array(0, np.float32)}
    nodes = [node("Gather", "table tokens", "x"), node("Gather", "cos position_ids", "c3"), node("Gather", "sin position_ids", "s3"), node("Unsqueeze", "c3 axis1", "c"),
             node("Unsqueeze", "s3 axis1", "s"), node("Pow", "x two", "squared"), node("ReduceMean", "squared", "mean", axes=[-1]), node("Add", "mean eps", "more"), node("Sqrt", "more", "rms"),
             node("Div", "x rms", "normal"), node("Mul", "normal scale", "n")]
    for name, heads in ("q", "q4"), ("k", "k4"), ("v", "k4"):
        nodes += [node("MatMul", "n w" + name, name + "2"), node("Reshape", f"{name}2 {heads}", name + "3"), node("Transpose", name + "3", name + "t", perm=[0, 2, 1, 3])]
    for name in "qk":
        nodes += [node("Slice", f"{name}t low half last", name + "a"), node("Slice", f"{name}t half end last", name + "b"), node("Neg", name + "b", name + "n"),
                  node("Concat", f"{name}n {name}a", name + "r", axis=3), node("Mul", f"{name}t c", name + "c"), node("Mul", f"{name}r s", name + "s"), node("Add", f"{name}c {name}s", name)]
    for name, source in ("K", "k"), ("W", "vt"):
        nodes += [node("Unsqueeze", source + " axis2", name + "u"), node("Expand", f"{name}u repeated", name + "e"), node("Reshape", f"{name}e joined", name)]
    nodes += [node("Transpose", "K", "KT", perm=[0, 1, 3, 2]), node("MatMul", "q KT", "raw"), node("Mul", "raw root", "scores"), node("Cast", "attention_mask", "seen", to=TensorProto.BOOL),
              node("Unsqueeze", "seen axes12", "seen4"), node("Where", "seen4 zero none", "given"), node("Add", "causal given", "mask"), node("Add", "scores mask", "masked"),
              node("Softmax", "masked", "p", axis=-1), node("MatMul", "p W", "y4"), node("Transpose", "y4", "yt", perm=[0, 2, 1, 3]), node("Reshape", "yt flat", "y"), node("MatMul", "y wo", "o"),
              node("Add", "x o", "h"), node("MatMul", "h gate", "g"), node("Sigmoid", "g", "gs"), node("Mul", "g gs", "silu"), node("MatMul", "h up", "u"), node("Mul", "silu u", "gated"),
              node("MatMul", "gated down", "d"), node("Add", "h d", "z"), node("MatMul", "z head", "logits")]
    inputs = [("tokens", TensorProto.INT64), ("attention_mask", TensorProto.INT64), ("position_ids", TensorProto.INT64)]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info(name, kind, [batch, T]) for name, kind in inputs],
                              [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [batch, T, V])], [numpy_helper.from_array(a, name) for name, a in arrays.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def attention():
    """ONNX's own operator, causal, with no mask; texts and tokens are one dimension in front of it."""
    rng = np.random.default_rng(3)
    arrays = {"table": rng.normal(size=(V, 8)).astype(np.float32), "where": rng.normal(size=(T, 8)).astype(np.float32) / 2, "w": rng.normal(size=(8, 24)).astype(np.float32) / 2,
              "head": rng.normal(size=(8, V)).astype(np.float32), "rows": np.array([3 * T, 8]), "split": np.array([3, T, 24])}
    nodes = [node("Gather", "table tokens", "e"), node("Add", "e where", "x"), node("Reshape", "x rows", "r"), node("MatMul", "r w", "m"), node("Reshape", "m split", "s"),
             helper.make_node("Split", ["s"], ["q", "k", "v"], axis=2, num_outputs=3), node("Attention", "q k v", "a", q_num_heads=2, kv_num_heads=2, is_causal=1),
             node("Add", "x a", "h"), node("MatMul", "h head", "logits")]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("tokens", TensorProto.INT64, [3, T])],
                              [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [3, T, V])], [numpy_helper.from_array(a, name) for name, a in arrays.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=10)


def logarithms():
    """The same with functions of one shape behind it, whose kernels can be exchanged: a sine of any number, a logarithm of positive ones."""
    rng = np.random.default_rng(5)
    model = attention()
    model.graph.node.pop()
    model.graph.initializer.extend([numpy_helper.from_array(rng.normal(size=(8, 8)).astype(np.float32), "mix"), numpy_helper.from_array(rng.random((8, 8), np.float32), "positive")])
    model.graph.node.extend([node("Exp", "h", "s1"), node("MatMul", "s1 positive", "s2"), node("Log", "s2", "s3"), node("MatMul", "s3 mix", "s4"), node("Sin", "s4", "s5"),
                             node("MatMul", "s5 mix", "s6"), node("Cos", "s6", "s7"), node("MatMul", "s7 head", "logits")])
    return model


def replace_in_plan(artifact, old, new):
    """Changes one place of a plan's programs to as many other bytes, and signs it again; a kernel's name is listed once more."""
    path, manifest = os.path.join(artifact, "plan.pb"), os.path.join(artifact, "manifest.json")
    with open(path, "rb") as file:
        plan = file.read()
    assert len(old) == len(new) and plan.count(old) in (1, 2), (old, new, plan.count(old))
    plan = plan.replace(old, new, 1)
    with open(path, "wb") as file:
        file.write(plan)
    with open(manifest) as file:
        fields = json.load(file)
    fields["files"]["plan.pb"] = {"size": len(plan), "hash": hashlib.sha256(plan).hexdigest()}
    dlc.write_manifest(manifest, fields)


class Cache(dlc.TestCase):
    def generate(self, model, **options):
        self.out, self.err = dlc.dlc("generate", model, **options)
        return self.out[:-1]

    def agree(self, source, **options):
        """Drawn tokens, in and beyond the window, say more of logits than the most probable ones."""
        plain, cached = [dlc.compile(source, self.path(f"{decode}.dlc"), decode=decode, **options) for decode in (False, True)]
        for prompt in "3", "1 5 2 8 0 9 4 4":
            words = dict(prompt=prompt, tokens=24, temperature=1.0, seed=4)
            expected = self.generate(plain, **words)
            self.assertIn("each token needs a forward pass over all 16 tokens: dlc compile --decode adds a key-value cache", self.err)
            self.assertGreater(len(set(expected.split())), 4)
            self.assertEqual(self.generate(cached, **words), expected)
            self.assertNotIn("--decode", self.err)

    def test_as_pytorch(self):
        artifact = dlc.compile(os.path.join(dlc.REFS, "generate.onnx"), self.path("m.dlc"), batch=2, decode=True)
        with np.load(os.path.join(dlc.REFS, "generate_ref.npz")) as data:
            for prompt in ("And", "In the beginning God created"):
                ids = list(data[prompt + "/ids"])
                found = self.generate(artifact, tokenizer=TEXT, prompt=prompt, tokens=len(ids) - len(prompt), ids=True)
                self.assertEqual([int(word) for word in found.split()], ids[len(prompt):])
                self.assertNotIn("--decode", self.err)

    def test_as_transformers_writes_it(self):
        onnx.save(llama(17, 2), self.path("m.onnx"))
        self.agree(self.path("m.onnx"), predict_only=True)

    def test_attention(self):
        onnx.save(attention(), self.path("m.onnx"))
        self.agree(self.path("m.onnx"))

    def test_halves(self):
        onnx.save(llama(17, 1), self.path("m.onnx"))
        artifact = dlc.compile(self.path("m.onnx"), self.path("m.dlc"), decode=True, amp=True)
        self.assertEqual(len(self.generate(artifact, prompt="3 1", tokens=20).split()), 20)

    def test_training(self):
        """Losses are those without it, and no checkpoint has keys and values."""
        np.savez(self.path("d.npz"), x=np.arange(8 * 32).reshape(8, 32) % 90, y=np.arange(8 * 32).reshape(8, 32) % 7)
        runs = [dlc.train(dlc.compile(os.path.join(dlc.REFS, "generate.onnx"), self.path(f"{decode}.dlc"), batch=2, accumulate=2, decode=decode), self.path("d.npz"),
                          self.path(f"run-{decode}"), steps=3) for decode in (False, True)]
        self.assertEqual(list(runs[0].metrics("loss")), list(runs[1].metrics("loss")))
        self.assertEqual(list(runs[0].state(3)), list(runs[1].state(3)))
        words = dict(tokenizer=TEXT, prompt="And the", tokens=12)
        self.assertEqual(self.generate(runs[1].folder, **words), self.generate(runs[0].folder, **words))

    def test_caches_that_give_other_logits(self):
        """Faults planted in the program of one token for its sine are found before anything is written: other numbers, and NaNs."""
        onnx.save(logarithms(), self.path("m.onnx"))
        for other, by in (b"cos", r"[0-9.]+"), (b"log", "nan"):
            artifact = dlc.compile(self.path("m.onnx"), self.path("m.dlc"), predict_only=True, decode=True)
            self.assertEqual(len(self.generate(artifact, prompt="3 1", tokens=3).split()), 3)
            with open(self.path("m.dlc/plan.pb"), "rb") as file:
                plan = file.read()
            # Of each program one: predict, decode and prefill; then in the list of kernels.
            (_, old, *_), (_, new, *_) = [re.findall(rb"k[0-9]+_" + name + rb"\b", plan) for name in (b"sin", other)]
            replace_in_plan(artifact, old, new)
            _, err = dlc.dlc("generate", artifact, prompt="3 1", tokens=3, code=dlc.FAILED)
            self.assertRegex(err, f"the key-value cache changes a token's logits, by {by} of [0-9.]+: compile the model without --decode")

    def test_program_of_one_token_without_a_place(self):
        artifact = dlc.compile(os.path.join(dlc.REFS, "generate.onnx"), self.path("m.dlc"), batch=2, decode=True)
        replace_in_plan(artifact, b"dlc.position", b"dlc.elsewhen")
        _, err = dlc.dlc("generate", artifact, prompt="3 1", tokens=3, code=dlc.CORRUPT)
        self.assertRegex(err, r"the program of one token takes .*'?dlc\.elsewhen")

    def test_models_that_cannot(self):
        table = numpy_helper.from_array(np.eye(V, dtype=np.float32), "table")
        axis = numpy_helper.from_array(np.array(1), "axis")
        graph = helper.make_graph([node("Gather", "table tokens", "e"), node("CumSum", "e axis", "logits")], "g", [helper.make_tensor_value_info("tokens", TensorProto.INT64, ["n", "t"])],
                                  [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["n", "t", V])], [table, axis])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10), self.path("m.onnx"))
        words = ["compile", self.path("m.onnx"), "--predict-only", "--batch=1", "-o", self.path("m.dlc")]
        _, err = dlc.dlc(*words, "--decode", "--dim=t=8", code=dlc.BAD_MODEL)
        self.assertRegex(err, "/logits.*--decode: no program of one token follows from the model, since ")
        _, err = dlc.dlc(*words, "--decode", "--dim=t=8,16", code=dlc.USAGE)
        self.assertIn("--decode supports a single size: give one --batch, and one number per --dim", err)
        _, err = dlc.dlc("compile", dlc.model("lenet"), "--decode", "-o", self.path("l.dlc"), code=dlc.BAD_MODEL)
        self.assertIn("--decode is of models of tokens, integers [B, T]", err)


if __name__ == "__main__":
    unittest.main()
