# SPDX-License-Identifier: Apache-2.0
"""dlc generate writes what PyTorch does (generate_ref.npz), draws by its documented generator, and refuses what it cannot."""

import json
import os
import shutil
import subprocess
import unittest

import dlc
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from philox import philox
from tokens import tokens_of

TEXT = os.path.join(dlc.MODELS, "text-tokenizer.json")
T, V = 6, 12
STREAM = 0x74657874


def save(path, nodes, arrays, inputs=(("tokens", TensorProto.INT64, [2, T]),), outputs=(("logits", TensorProto.FLOAT, [2, T, V]),)):
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info(*i) for i in inputs], [helper.make_tensor_value_info(*o) for o in outputs],
                              [numpy_helper.from_array(array, name) for name, array in arrays.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10), path)


def table():
    """Logits of the next token by the last one."""
    return {"table": np.random.default_rng(3).normal(size=(V, V)).astype(np.float32)}


def drawn(seed, count):
    a, b, _, _ = philox(seed, np.arange(count, dtype=np.uint64), STREAM)
    return ((a.astype(np.uint64) << np.uint64(32) | b) >> np.uint64(11)).astype(float) * 2.0**-53


def sample(token, count, seed, temperature, top_k=0, top_p=1.0):
    """Written from the description in Generator.h."""
    logits, found = table()["table"].astype(float), []
    for u in drawn(seed, count):
        weights = np.exp((logits[token] - logits[token].max()) / temperature)
        order = np.arange(V)
        if 0 < top_k < V or top_p < 1:
            order = np.argsort(-weights, kind="stable")[:top_k or V]
        if top_p < 1:
            sums = np.cumsum(weights[order])
            order = order[:1 + np.searchsorted(sums, top_p * sums[-1])]
        sums = np.cumsum(weights[order])
        token = int(order[np.searchsorted(sums, u * sums[-1], side="right")])
        found.append(token)
    return found


class Generate(dlc.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.share_folder()
        shared = lambda name: os.path.join(cls.shared, name)  # noqa: E731
        cls.trained = dlc.compile(os.path.join(dlc.REFS, "generate.onnx"), shared("trained.dlc"), batch=2, ema=True)
        save(shared("table.onnx"), [helper.make_node("Gather", ["table", "tokens"], ["logits"])], table())
        cls.table = dlc.compile(shared("table.onnx"), shared("table.dlc"), predict_only=True)

    def generate(self, *words, model=None, **options):
        self.out, self.err = dlc.dlc("generate", model or self.table, *words, **options)
        return self.out[:-1]

    def ids(self, *words, **options):
        return [int(word) for word in self.generate(*words, **options).split()]

    def pipe(self, model, text, *words):
        command = [dlc.DLC, "generate", model, *words]
        return subprocess.run(command, input=text.encode(), capture_output=True, check=True, timeout=60).stdout.decode()

    def test_as_pytorch(self):
        """Also beyond the 32 tokens that it reads, which is said once; text streams, and is without the prompt."""
        with np.load(os.path.join(dlc.REFS, "generate_ref.npz")) as data:
            expected = {key[:-4]: data[key] for key in data if key.endswith("/ids")}
            self.assertGreater(data["margin"], 1e-4)
        for prompt, ids in expected.items():
            count = len(ids) - len(prompt)
            with self.subTest(prompt):
                self.assertEqual(self.ids(model=self.trained, tokenizer=TEXT, prompt=prompt, tokens=count, ids=True), list(ids[len(prompt):]))
                self.assertEqual(self.err.count("the model reads 32 tokens: from here on only the last 32 tokens of the text"), 1)
                text = self.generate(model=self.trained, tokenizer=TEXT, prompt=prompt, tokens=count)
                self.assertEqual(text, "".join(chr(c + 32) if c < 95 else "\n" for c in ids[len(prompt):]))
                with open(self.path("prompt.txt"), "w") as file:
                    file.write(prompt + "\n")
                self.assertEqual(self.generate(model=self.trained, tokenizer=TEXT, prompt_file=self.path("prompt.txt"), tokens=count), text)
                self.assertEqual(self.pipe(self.trained, prompt + "\n", "--tokenizer=" + TEXT, f"--tokens={count}"), text + "\n")

    def test_averages(self):
        """--ema writes by the averages: as the model that is exported with them."""
        np.savez(self.path("d.npz"), x=np.zeros((4, 32), np.int64), y=np.full((4, 32), 7))
        artifact = dlc.compile(os.path.join(dlc.REFS, "generate.onnx"), self.path("m.dlc"), batch=2, ema=0.99, lr=0.05, schedule="constant")
        run = dlc.train(artifact, self.path("d.npz"), self.path("run"), steps=6).folder
        words = dict(tokenizer=TEXT, prompt="And the", tokens=20)
        found = {ema: self.generate(model=run, ema=ema, **words) for ema in (False, True)}
        self.assertNotEqual(found[False], found[True])
        for ema, text in found.items():
            dlc.dlc("export", run, "-o", self.path("m.onnx"), ema=ema)
            shutil.rmtree(self.path("one.dlc"), ignore_errors=True)
            exported = dlc.compile(self.path("m.onnx"), self.path("one.dlc"), predict_only=True, batch=1)
            self.assertEqual(self.generate(model=exported, **words), text)

    def test_lengths(self):
        """Of several compiled lengths the shortest with room: the same tokens."""
        nodes = [helper.make_node("Gather", ["table", "tokens"], ["e"]), helper.make_node("CumSum", ["e", "axis"], ["logits"])]
        save(self.path("m.onnx"), nodes, table() | {"axis": np.array(1)}, [("tokens", TensorProto.INT64, ["n", "t"])],
             [("logits", TensorProto.FLOAT, ["n", "t", V])])
        several = dlc.compile(self.path("m.onnx"), self.path("several.dlc"), batch=1, dim="t=4,8,16", predict_only=True)
        one = dlc.compile(self.path("m.onnx"), self.path("one.dlc"), batch=3, dim="t=16", predict_only=True)
        expected, tokens = [], [1]
        for _ in range(20):
            tokens.append(int(np.cumsum(table()["table"][tokens[-16:]], axis=0)[-1].argmax()))
            expected.append(tokens[-1])
        for artifact in several, one:
            self.assertEqual(self.ids(model=artifact, prompt="1", tokens=20), expected)

    def test_drawing(self):
        for options in dict(seed=0, temperature=1.0), dict(seed=5, temperature=0.7), dict(seed=2**40 + 1, temperature=3.0, top_k=4), dict(
                seed=1, temperature=1.5, top_p=0.6), dict(seed=9, temperature=1.0, top_k=5, top_p=0.9), dict(seed=3, temperature=1.0, top_k=1):
            with self.subTest(str(options)):
                self.assertEqual(self.ids(prompt="3", tokens=40, **options), sample(3, 40, **options))
        self.assertNotEqual(sample(3, 40, 0, 1.0), sample(3, 40, 1, 1.0))

    def test_numbers_and_files(self):
        greedy = [int(self.table_next(4))]
        for _ in range(7):
            greedy.append(int(self.table_next(greedy[-1])))
        self.assertEqual(self.ids(prompt="1, 2\n4", tokens=8), greedy)
        self.assertEqual(self.pipe(self.table, "4\n", "--tokens=8"), " ".join(map(str, greedy)) + "\n")
        with open(self.path("a.txt"), "w") as file:
            file.write("0!$")
        dlc.dlc_data("tokens", self.path("a.txt"), tokenizer=TEXT, output=self.path("a.bin"))
        self.assertEqual(list(tokens_of(self.path("a.bin"))), [16, 1, 4])
        self.generate(prompt_file=self.path("a.bin"), tokens=8, code=dlc.USAGE)
        self.assertIn("16 at position 0 is out of range, expected 0 to 11", self.err)

    def table_next(self, token):
        return table()["table"][token].argmax()

    def tokenizer(self, special, decoder=None, post=None):
        """a to l are tokens 0 to 11, those in `special` added ones."""
        vocabulary = {chr(97 + i): i for i in range(V)}
        added = [{"id": vocabulary[c], "content": c, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True} for c in special]
        with open(TEXT) as file:
            form = json.load(file)
        form["model"].update(vocab=vocabulary, unk_token="a")
        form.update(added_tokens=added, decoder=decoder or form["decoder"], post_processor=post)
        with open(self.path("t.json"), "w") as file:
            json.dump(form, file)
        return self.path("t.json")

    def test_ends(self):
        """A special token ends the text, or what --stop says; the unknown one does not."""
        text = "".join(chr(97 + token) for token in sample(3, 40, 0, 1.0))
        words = dict(prompt="d", tokens=40, temperature=1, seed=0)
        end = text[6]
        upto = text[:text.index(end)]
        self.assertEqual(self.generate(tokenizer=self.tokenizer(end), **words), upto)
        self.assertRegex(self.err, rf"{len(upto)} tokens, [\d.]+ a second; ended by '{end}' \({ord(end) - 97}\)")
        self.assertEqual(self.generate(tokenizer=self.tokenizer(""), **words), text)
        self.assertIn("a", text)
        self.assertEqual(self.generate(tokenizer=self.tokenizer("a"), **words), text.replace("a", ""))
        self.assertEqual(self.generate("--stop=none", tokenizer=self.tokenizer(end), **words), text.replace(end, ""))
        for stop in end, str(ord(end) - 97):
            self.assertEqual(self.generate("--stop=" + stop, "--stop=11", tokenizer=self.tokenizer(""), **words), text[:min(text.index(c) for c in (end, "l") if c in text)])

    def test_before_the_prompt(self):
        ends = {"type": "BertProcessing", "cls": ["h", 7], "sep": ["b", 1]}
        tokenizer = self.tokenizer("", post=ends)
        self.assertEqual(self.ids("--prompt", "", tokenizer=tokenizer, special_tokens=True, tokens=1, ids=True), [self.table_next(7)])
        self.generate("--prompt", "", tokenizer=tokenizer, code=dlc.USAGE)
        self.assertIn("the prompt is empty, but generation needs at least one token: give --prompt, or --special-tokens", self.err)

    def test_bytes(self):
        """Whole characters of UTF-8; what is none is U+FFFD."""
        follow = {0x41: 0xE2, 0xE2: 0x82, 0x82: 0xAC, 0xAC: 0xC3, 0xC3: 0x42, 0x42: 0xF0, 0xF0: 0x42}
        logits = np.zeros((256, 256), np.float32)
        for token, after in follow.items():
            logits[token, after] = 1
        save(self.path("m.onnx"), [helper.make_node("Gather", ["table", "tokens"], ["logits"])], {"table": logits},
             outputs=[("logits", TensorProto.FLOAT, [2, T, 256])])
        artifact = dlc.compile(self.path("m.onnx"), self.path("m.dlc"), predict_only=True)
        self.assertEqual(self.generate(model=artifact, tokenizer="bytes", prompt="xA", tokens=6), "\u20ac\ufffdB\ufffd")
        self.assertEqual(self.ids(model=artifact, tokenizer="bytes", prompt="xA", tokens=4, ids=True), [0xE2, 0x82, 0xAC, 0xC3])

    def test_tokens_that_are_no_bytes(self):
        logits = np.zeros((300, 300), np.float32)
        logits[:, 280] = 1
        save(self.path("m.onnx"), [helper.make_node("Gather", ["table", "tokens"], ["logits"])], {"table": logits},
             outputs=[("logits", TensorProto.FLOAT, [2, T, 300])])
        artifact = dlc.compile(self.path("m.onnx"), self.path("m.dlc"), predict_only=True)
        self.generate(model=artifact, tokenizer="bytes", prompt="A", code=dlc.FAILED)
        self.assertIn("the model generated token 280, which is not a byte", self.err)

    def test_several_outputs(self):
        """What is called logits is read; without such a name it is not guessed."""
        gather, half = helper.make_node("Gather", ["table", "tokens"], ["e"]), np.array([0.5], np.float32)
        for name, code in ("logits", dlc.OK), ("scores", dlc.FAILED):
            save(self.path("m.onnx"), [gather, helper.make_node("Mul", ["e", "half"], [name])], table() | {"half": half},
                 outputs=[(each, TensorProto.FLOAT, [2, T, V]) for each in ("e", name)])
            artifact = dlc.compile(self.path("m.onnx"), self.path(name + ".dlc"), predict_only=True)
            found = self.generate(model=artifact, prompt="4", tokens=1, code=code)
            if code == dlc.OK:
                self.assertEqual(found, str(self.table_next(4)))
            else:
                self.assertIn("export a model whose only output, or the output 'logits',", self.err)

    def test_masks_and_positions(self):
        """Those of Hugging Face's models: all tokens count, in their order; here logits of tokens at positions, times the mask."""
        positions = np.random.default_rng(5).normal(size=(T, V)).astype(np.float32)
        nodes = [helper.make_node("Gather", ["table", "tokens"], ["e"]), helper.make_node("Gather", ["positions", "position_ids"], ["p"]),
                 helper.make_node("Add", ["e", "p"], ["s"]), helper.make_node("Cast", ["attention_mask"], ["m"], to=TensorProto.FLOAT),
                 helper.make_node("Unsqueeze", ["m", "axis"], ["u"]), helper.make_node("Mul", ["s", "u"], ["logits"])]
        for mask in TensorProto.INT64, TensorProto.BOOL, TensorProto.FLOAT:
            with self.subTest(mask):
                save(self.path("m.onnx"), nodes, table() | {"positions": positions, "axis": np.array([2])},
                     [("position_ids", TensorProto.INT64, [2, T]), ("tokens", TensorProto.INT64, [2, T]), ("attention_mask", mask, [2, T])])
                shutil.rmtree(self.path("m.dlc"), ignore_errors=True)
                artifact = dlc.compile(self.path("m.onnx"), self.path("m.dlc"), predict_only=True)
                tokens = [1, 8]
                for _ in range(4):
                    tokens.append(int((table()["table"][tokens[-1]] + positions[len(tokens) - 1]).argmax()))
                self.assertEqual(self.ids(model=artifact, prompt="1 8", tokens=4), tokens[2:])

    def test_empty_past(self):
        """A decoder's past, bound to no tokens, is no input of predict; what it would hand on is no output that counts."""
        nodes = [helper.make_node("Gather", ["table", "tokens"], ["e"]), helper.make_node("Concat", ["past", "e"], ["present"], axis=1),
                 helper.make_node("CumSum", ["present", "axis"], ["logits"])]
        save(self.path("m.onnx"), nodes, table() | {"axis": np.array(1)}, [("tokens", TensorProto.INT64, [2, T]), ("past", TensorProto.FLOAT, [2, "p", V])],
             [("present", TensorProto.FLOAT, [2, "q", V]), ("logits", TensorProto.FLOAT, [2, "q", V])])
        artifact = dlc.compile(self.path("m.onnx"), self.path("m.dlc"), predict_only=True, dim="p=0")
        self.assertEqual(self.ids(model=artifact, prompt="1 8", tokens=1), [int(table()["table"][[1, 8]].sum(0).argmax())])

    def test_models_that_look_ahead_in_a_half(self):
        """Tokens of the second half leave the first one alone: the last token tells."""
        nodes = [helper.make_node("Gather", ["table", "tokens"], ["e"]), helper.make_node("Reshape", ["e", "halves"], ["h"]),
                 helper.make_node("ReduceMean", ["h"], ["m"], axes=[2]), helper.make_node("Add", ["h", "m"], ["s"]),
                 helper.make_node("Reshape", ["s", "whole"], ["logits"])]
        save(self.path("m.onnx"), nodes, table() | {"halves": np.array([2, 2, T // 2, V]), "whole": np.array([2, T, V])},
             [("tokens", TensorProto.INT64, [2, T])], [("logits", TensorProto.FLOAT, [2, T, V])])
        artifact = dlc.compile(self.path("m.onnx"), self.path("m.dlc"), predict_only=True)
        _, err = dlc.dlc("generate", artifact, prompt="1 2", tokens=1, code=dlc.FAILED)
        self.assertRegex(err, r"a token changes the logits of earlier tokens, by .*: the model is not causal")

    def test_models_that_cannot(self):
        gather = helper.make_node("Gather", ["table", "tokens"], ["e"])
        for what, nodes, ports, message in [
                ("looks ahead", [gather, helper.make_node("ReduceMean", ["e"], ["m"], axes=[1]), helper.make_node("Add", ["e", "m"], ["logits"])], {},
                 r"a token changes the logits of earlier tokens, by .*: the model is not causal"),
                ("one of all", [gather, helper.make_node("ReduceSum", ["e", "one"], ["logits"], keepdims=0)], {"outputs": [("logits", TensorProto.FLOAT, [2, V])]},
                 r"logits \[2, 6, V\] or \[12, V\] for \[2, 6\] tokens: predict returns 'logits' \[2, 12\]"),
                ("two inputs", [gather, helper.make_node("Add", ["e", "x"], ["logits"])],
                 {"inputs": [("tokens", TensorProto.INT64, [2, T]), ("x", TensorProto.FLOAT, [2, T, V])]},
                 r"a model with integer tokens \[B, T\] .*: predict takes 'tokens' \[2, 6\], 'x' \[2, 6, 12\]; export"),
                ("another row", [gather, helper.make_node("Unsqueeze", ["x", "axis"], ["u"]), helper.make_node("Add", ["e", "u"], ["logits"])],
                 {"inputs": [("tokens", TensorProto.INT64, [2, T]), ("x", TensorProto.FLOAT, [2, T])]}, "'x'")]:
            with self.subTest(what):
                save(self.path("m.onnx"), nodes, table() | {"one": np.array([1]), "axis": np.array([2])}, **ports)
                shutil.rmtree(self.path("m.dlc"), ignore_errors=True)
                artifact = dlc.compile(self.path("m.onnx"), self.path("m.dlc"), predict_only=True)
                self.generate(model=artifact, prompt="1", code=dlc.FAILED)
                self.assertRegex(self.err, message)

    def test_values_that_cannot(self):
        logits = np.zeros((V, V), np.float32)
        logits[2] = np.inf
        save(self.path("m.onnx"), [helper.make_node("Gather", ["table", "tokens"], ["logits"])], {"table": logits})
        artifact = dlc.compile(self.path("m.onnx"), self.path("m.dlc"), predict_only=True)
        self.generate(model=artifact, prompt="2", code=dlc.DIVERGED)
        self.assertIn("the model's largest logit is not finite", self.err)

    def test_words_that_cannot(self):
        tokenizer = self.tokenizer("")
        for words, message in [
                (["--prompt=one"], "'one' in the prompt is not a token id: without --tokenizer the prompt consists of token ids"),
                (["--prompt=1", "--prompt-file=a"], "--prompt and --prompt-file are both given, expected one"), (["--prompt=1", "--stop=x"], "--stop: 'x' is no token's number"),
                (["--prompt=a", "--stop=xx", "--tokenizer=" + tokenizer], "--stop: 'xx' is no token of the tokenizer"),
                (["--prompt=1", "--stop=none", "--stop=1"], "--stop=none, and tokens"), (["--prompt=1", "--special-tokens"], "--special-tokens needs --tokenizer"),
                (["--prompt=1", "--top-k=3"], "--top-k needs --temperature"), (["--prompt=1", "--top-p=0.5"], "--top-p needs --temperature"),
                (["--prompt=1", "--seed=3"], "--seed needs --temperature"), (["--prompt=12"], "12 at position 0 is out of range"),
                (["--prompt=1", "--temperature=1", "--top-p=0"], "--top-p"), (["--prompt=1", "--temperature=-1"], "--temperature")]:
            with self.subTest(message):
                self.generate(*words, code=dlc.USAGE)
                self.assertIn(message, self.err)


if __name__ == "__main__":
    unittest.main()
