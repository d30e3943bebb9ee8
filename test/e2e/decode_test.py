# SPDX-License-Identifier: Apache-2.0
"""Tokens become the text that Hugging Face's tokenizers give (decode_ref.npz)."""

import os
import unittest

import dlc
import numpy as np
from tokens import TokenizerTest, load_maker


class Decode(TokenizerTest):
    @classmethod
    def setUpClass(cls):
        cls.maker = load_maker("make_decode")
        cls.forms = {name: form for name, (form, _) in cls.maker.forms(*cls.maker.load()).items()}
        with np.load(os.path.join(dlc.REFS, "decode_ref.npz")) as data:
            cls.expected = dict(data)

    def detokenize(self, ids, form, code=dlc.OK, **options):
        np.asarray(ids, np.uint32).tofile(self.path("ids.bin"))
        tokenizer = self.write("tokenizer.json", form)
        self.out, self.err = dlc.dlc("data", "detokenize", self.path("ids.bin"), tokens="uint32", tokenizer=tokenizer, code=code, **options)

    def text(self, ids, form, **options):
        self.detokenize(ids, form, output=self.path("text.txt"), **options)
        with open(self.path("text.txt"), "rb") as file:
            return file.read()

    def test_every_form(self):
        self.assertEqual(set(self.forms), {key.split("/")[0] for key in self.expected})
        for name, form in self.forms.items():
            for what, skips in ("text", False), ("skipped", True):
                with self.subTest(f"{name} {what}"):
                    found = self.text(self.expected[name + "/ids"], form, skip_special_tokens=skips)
                    self.assertEqual(found.decode(), self.expected[f"{name}/{what}"].tobytes().decode())

    def test_round_trip(self):
        """The text that was tokenized comes back, but for characters that its BPE does not have."""
        text = os.path.join(dlc.REFS, "tokenizer.txt")
        ids = self.tokenize(text, self.forms["gpt2"])
        with open(text, "rb") as file:
            self.assertEqual(self.text(ids, self.forms["gpt2"]), file.read())

    def test_stdout(self):
        """Control characters do not reach a terminal; numbers that are no tokens are said."""
        vocabulary = self.forms["fuse"]["model"]["vocab"] | {"\x1b[2J": 60000}
        form = dict(self.forms["fuse"], model=dict(self.forms["fuse"]["model"], vocab=vocabulary))
        self.detokenize([60000, vocabulary["a"], 70000], form)
        self.assertEqual(self.out, "\\x1b[2Ja")
        self.assertIn("1 of 3 tokens are none of the tokenizer's", self.err)

    def test_what_is_refused(self):
        maker = self.maker
        for decoder, message in [
                ({"type": "CTC"}, r"its decoder \{\"type\":\"CTC\"\} is not supported"),
                (maker.sequence(maker.FUSE, maker.BYTES), r"its decoder \{\"type\":\"ByteFallback\"\}"),
                (maker.sequence(maker.FUSE, maker.strip(0, 1)), "its decoder's Strip behind Fuse, at the end"),
                (maker.sequence(dict(maker.BLANKS, pattern={"Regex": "x+"})), r"its decoder's Replace \{\"Regex\":\"x\+\"\}"),
                (dict(maker.strip(1, 0), content="ab"), "its decoder's Strip"), (dict(maker.metaspace("always"), replacement=""), r"its decoder \{")]:
            with self.subTest(message):
                self.detokenize([1], dict(self.forms["fuse"], decoder=decoder), code=dlc.FAILED)
                self.assertRegex(self.err, r"tokenizer\.json': " + message)
        for form, message in ({}, "its model has no 'vocab'"), ({"model": {"vocab": {"a": -1}}}, "its vocabulary has 'a' with the id -1"), (
                {"model": {"vocab": [[1, 2]]}}, r"its vocabulary has \[1,2\]"):
            self.detokenize([1], form, code=dlc.FAILED)
            self.assertRegex(self.err, message)
        self.write("tokenizer.json", "{")
        _, err = dlc.dlc("data", "detokenize", self.path("ids.bin"), tokenizer=self.path("tokenizer.json"), code=dlc.FAILED)
        self.assertIn("is no JSON", err)


if __name__ == "__main__":
    unittest.main()
