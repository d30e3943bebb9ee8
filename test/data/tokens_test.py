# SPDX-License-Identifier: Apache-2.0
"""dlc-data tokens, text and chat: the ids and texts of Hugging Face's tokenizers, of any length of text."""

import json
import os
import subprocess
import unittest

import dlc
import numpy as np
from tokens import TokenizerTest


class Tokens(TokenizerTest):
    def check_long(self, name, form, text):
        """In windows that overlap: as the package gives it for all of the text at once."""
        import tokenizers
        expected = tokenizers.Tokenizer.from_str(json.dumps(form)).encode(text, add_special_tokens=False).ids
        with self.subTest(name):
            np.testing.assert_array_equal(self.tokenize(self.write("long.txt", text), form), expected)

    def test_long_texts(self):
        for maker, tokenizer, reference, text, some in [
                ("make_tokenizer", "tokenizer.json", "tokenizer_ref.npz", "tokenizer.txt", ["gpt2", "llama3", "qwen2"]),
                ("make_sentencepiece", "sentencepiece.json", "sentencepiece_ref.npz", "sentencepiece.txt", ["t5_new", "xlmr", "llama2", "gemma"]),
                ("make_wordpiece", "wordpiece.json", "wordpiece_ref.npz", "wordpiece.txt", ["uncased"])]:
            self.share_forms(maker, tokenizer, reference)
            with open(os.path.join(dlc.REFS, text), newline="") as file:
                content = file.read()
            for name in some:
                self.check_long(name, self.forms[name], "x" + (content + "x") * (700_000 // len(content)))
        self.share_forms("make_tokenizer", "tokenizer.json", "tokenizer_ref.npz")
        # No two windows agree within what they share.
        self.check_long("blanks", self.forms["gpt2"], "one" + " " * 600_001 + "two" * 100)

    def test_what_is_refused(self):
        self.share_forms("make_tokenizer", "tokenizer.json", "tokenizer_ref.npz")
        gpt2 = self.forms["gpt2"]
        text = self.write("a.txt", "one two\n")
        for form, message in ({}, "is no tokenizer that"), ("{", "is no JSON"), (dict(gpt2, model=dict(gpt2["model"], dropout=0.1)), "its model's 'dropout'"):
            with self.subTest(message):
                self.tokenize(text, form, code=dlc.FAILED)
                self.assertRegex(self.err, r"^error: .*tokenizer\.json': " + message)
        with open(self.path("b.txt"), "wb") as file:
            file.write(b"one\n\ntwo\xff\n")
        self.tokenize(self.path("b.txt"), gpt2, code=dlc.FAILED)
        self.assertRegex(self.err, r"b\.txt': line 3 is no UTF-8")
        self.tokenize(self.path("none.txt"), gpt2, code=dlc.FAILED)
        self.assertIn("none.txt", self.err)
        self.tokenize(text, gpt2, code=dlc.FAILED, special_tokens="file")
        self.assertIn("its post-processor adds no special tokens: leave out --special-tokens", self.err)


class Chat(dlc.TestCase):
    def setUp(self):
        super().setUp()
        self.process = subprocess.Popen([dlc.DLC_DATA, "chat", "--tokenizer=" + os.path.join(dlc.MODELS, "text-tokenizer.json")], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

        self.assertEqual(json.loads(self.process.stdout.readline()), {"ready": True})

    def ask(self, **asked):
        self.process.stdin.write(json.dumps(asked) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def test_protocol(self):
        ids = self.ask(encode="And the LORD ")["ids"]
        self.assertEqual(len(ids), 13)
        self.assertEqual(self.ask(names=["A", "no such token"]), {"ids": [ids[0], None]})
        self.assertEqual(self.ask(name=ids[0]), {"name": "A"})
        self.assertEqual(self.ask(name=10**6), {"name": None})
        self.assertEqual(self.ask(skip=ids), {"skipped": 13})
        self.assertEqual([self.ask(push=i)["text"] for i in ids], list("And the LORD "))
        self.assertEqual(self.ask(finish=True), {"text": ""})
        self.assertIn("adds no special tokens", self.ask(encode="a", begins=True)["error"])
        self.assertIn("error", self.ask(other=1))
        self.process.stdin.close()
        self.assertEqual(self.process.wait(10), 0)
        self.process.stdout.close()


if __name__ == "__main__":
    unittest.main()
