# SPDX-License-Identifier: Apache-2.0
"""Text becomes the tokens that Hugging Face's tokenizers give (tokenizer_ref.npz), and trains as a file of them."""

import json
import os
import unittest
from unittest import mock

import dlc
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokens import TokenizerTest

TEXT = os.path.join(dlc.REFS, "tokenizer.txt")
T, VOCABULARY = 16, 512


def save_model(path):
    """Logits of the next token from this one."""
    random = np.random.default_rng(0)
    table, head = (random.normal(size=shape).astype(np.float32) for shape in ((VOCABULARY, 8), (8, VOCABULARY)))
    nodes = [helper.make_node("Gather", ["table", "tokens"], ["e"]), helper.make_node("MatMul", ["e", "head"], ["logits"])]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("tokens", TensorProto.INT64, [4, T])],
                              [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [4, T, VOCABULARY])],
                              [numpy_helper.from_array(table, "table"), numpy_helper.from_array(head, "head")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10), path)


class Tokenize(TokenizerTest):
    @classmethod
    def setUpClass(cls):
        cls.share_forms("make_tokenizer", "tokenizer.json", "tokenizer_ref.npz")

    def test_every_form(self):
        self.check_every_form(TEXT)

    def test_long_text(self):
        """Threads take parts of it; each ends where a piece does."""
        with open(TEXT, newline="") as file:
            text = file.read()
        times = 3_000_000 // len(text)
        once = self.tokenize(self.write("once.txt", "x" + text + "x"), self.forms["llama3"])
        twice = self.tokenize(self.write("twice.txt", "x" + text + "x" + text + "x"), self.forms["llama3"])
        # What a repetition adds is the same each time.
        begin = next((i for i in range(len(once)) if once[i] != twice[i]), len(once))
        period = len(twice) - len(once)
        found = self.tokenize(self.write("long.txt", "x" + (text + "x") * times), self.forms["llama3"])
        expected = np.concatenate([twice[:begin], np.tile(twice[begin:begin + period], times - 1), once[begin:]])
        np.testing.assert_array_equal(found, expected)

    def test_training(self):
        save_model(self.path("lm.onnx"))
        artifact = dlc.compile(self.path("lm.onnx"), self.path("lm.dlc"), loss="cross_entropy")
        tokenizer = self.write("tokenizer.json", self.forms["gpt2"])
        tokens = self.expected["gpt2"]
        tokens.astype(np.uint16).tofile(self.path("same.bin"))
        last = 3 * ((len(tokens) - 1) // T // 4)
        expected = dlc.train(artifact, self.path("same.bin"), self.path("expected"), tokens="uint16", epochs=3, val=self.path("same.bin"))
        os.makedirs(self.path("books/.hidden"))
        with open(TEXT, newline="") as file:
            self.write("books/a.txt", file.read())
        self.write("books/.hidden/b.txt", "not this")
        self.write("books/c.md", "nor this")
        process = dlc.start("train", artifact, data=self.path("books"), val=TEXT, tokenizer=tokenizer, epochs=3, run=self.path("run"), save_every=3)
        while not os.path.isdir(self.path("run/checkpoint-3")):
            self.assertIsNone(process.poll(), "it ended before it could be killed")
        dlc.kill(process)
        dlc.dlc("train", resume=self.path("run"))
        self.assertBitwise(dlc.Run(self.path("run")).state(last), expected.state(last), "after kill -9")
        self.assertEqual(dlc.evaluate(self.path("run"), TEXT), dlc.evaluate(expected.folder, self.path("same.bin"), tokens="uint16"))
        out, _ = dlc.dlc("data", "inspect", TEXT, tokenizer=tokenizer)
        self.assertIn(f"{len(tokens)} tokens in 1 file, the largest is 500", out)
        with open(self.path("books/a.txt"), "a") as file:
            file.write("more")
        _, err = dlc.dlc("train", resume=self.path("run"), epochs=4, code=dlc.FAILED)
        self.assertIn("is not the data that the run began with", err)
        _, err = dlc.dlc("train", artifact, data=TEXT, epochs=1, run=self.path("none"), code=dlc.FAILED)
        self.assertIn("is text: give --tokenizer=tokenizer.json", err)
        added, model = self.forms["gpt2"]["added_tokens"][0], self.forms["gpt2"]["model"]
        large = self.write("large.json", dict(self.forms["gpt2"], added_tokens=[dict(added, id=700)],
                                              model=dict(model, vocab=model["vocab"] | {added["content"]: 700})))
        _, err = dlc.dlc("train", artifact, data=TEXT, tokenizer=large, epochs=1, run=self.path("none"), code=dlc.FAILED)
        self.assertRegex(err, r"tokens \d+ to \d+ of '.*tokenizer\.txt': value 700 in row \d+ is out of range, expected 0 to 511")

    def test_ranks_share(self):
        """Of a long text one rank writes the tokens, the others map them, and later runs too; the same tokens as a file's."""
        with open(TEXT, newline="") as file:
            text = file.read()
        long = self.write("long.txt", text * (5_000_000 // len(text)))
        save_model(self.path("lm.onnx"))
        artifact = dlc.compile(self.path("lm.onnx"), self.path("two.dlc"), loss="cross_entropy", ddp=2)
        tokenizer = self.write("tokenizer.json", self.forms["gpt2"])
        self.tokenize(long, self.forms["gpt2"])
        expected = dlc.train(artifact, self.path("out.bin"), self.path("expected"), steps=3)
        with mock.patch.dict(os.environ, DLC_CACHE_DIR=self.path("cache")):
            for name in "first", "second":
                out, err = dlc.dlc("train", artifact, data=long, tokenizer=tokenizer, steps=3, run=self.path(name))
                self.assertEqual((out + err).count("is cached as"), int(name == "first"), out + err)
                self.assertBitwise(dlc.Run(self.path(name)).state(3), expected.state(3), name)
        [tokens] = [name for name in os.listdir(self.path("cache/data")) if name.endswith(".tokens")]
        self.assertEqual(os.path.getsize(self.path("cache/data/" + tokens)) - 40, os.path.getsize(self.path("out.bin")) - 1024)

    def test_what_is_refused(self):
        """test/data has dlc-data's own errors; here they come through a run, and it leaves nothing."""
        save_model(self.path("lm.onnx"))
        artifact = dlc.compile(self.path("lm.onnx"), self.path("lm.dlc"), loss="cross_entropy")
        tokenizer = self.write("tokenizer.json", self.forms["gpt2"])
        with open(self.path("b.txt"), "wb") as file:
            file.write(b"one\n\ntwo\xff\n")
        for text, of, message in (self.path("b.txt"), tokenizer, r"b\.txt': line 3 is no UTF-8"), (TEXT, self.write("none.json", {}), "is no tokenizer that the package tokenizers knows"):
            _, err = dlc.dlc("train", artifact, data=text, tokenizer=of, epochs=1, run=self.path("run"), code=dlc.FAILED)
            self.assertRegex(err, message)
            self.assertFalse(os.path.exists(self.path("run")))


if __name__ == "__main__":
    unittest.main()
