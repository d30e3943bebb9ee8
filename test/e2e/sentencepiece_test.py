# SPDX-License-Identifier: Apache-2.0
"""Text becomes the tokens that Hugging Face's tokenizers give by Unigram and BPE of characters (sentencepiece_ref.npz)."""

import base64
import json
import os
import unittest

import dlc
import numpy as np
from tokens import TokenizerTest

TEXT = os.path.join(dlc.REFS, "sentencepiece.txt")


class SentencePiece(TokenizerTest):
    @classmethod
    def setUpClass(cls):
        cls.share_forms("make_sentencepiece", "sentencepiece.json", "sentencepiece_ref.npz")

    def test_every_form(self):
        self.assertEqual(set(self.forms), set(self.expected))
        self.check_every_form(TEXT)

    def test_long_text(self):
        """Threads take parts of it, which change nothing: between two tokens that end what was before is one long text."""
        with open(TEXT, newline="") as file:
            text = file.read()
        times = 3_000_000 // len(text.encode())
        for name in "t5_new", "xlmr", "llama2", "gemma":
            with self.subTest(name):
                once = self.tokenize(self.write("once.txt", "</s>" + text), self.forms[name])
                found = self.tokenize(self.write("long.txt", ("</s>" + text) * times), self.forms[name])
                np.testing.assert_array_equal(found, np.tile(once, times))
                # The same words, uncut by any token.
                words = "the cat  sat on\u00a0the mat\n"
                once, twice = (self.tokenize(self.write("few.txt", words * n), self.forms[name]) for n in (2, 3))
                found = self.tokenize(self.write("long.txt", words * 100_000), self.forms[name])
                period = twice[len(once) - (len(twice) - len(once)):len(once)] if name != "t5_new" else None
                self.assertEqual(len(found), len(once) + (len(twice) - len(once)) * 99_998)
                if period is not None:
                    np.testing.assert_array_equal(found[len(once) - len(period):], np.tile(period, 99_999))

    def test_what_is_refused(self):
        def changed(form, part, **fields):
            other = json.loads(json.dumps(self.forms[form]))
            other[part].update(fields)
            return other

        t5, llama2 = self.forms["t5"], self.forms["llama2"]
        charsmap = base64.b64decode(t5["normalizer"]["precompiled_charsmap"])

        def mapped(content):
            return changed("t5", "normalizer", precompiled_charsmap=base64.b64encode(content).decode())

        for form, message in [
                (changed("t5", "model", unk_id=None), "its model has no 'unk_id'"),
                (changed("t5", "model", unk_id=99999), "its model's 'unk_id' is 99999, of"),
                (changed("t5", "model", vocab=[["a"]]), r"its vocabulary has \[.a.\], expected a text and its score"),
                (changed("t5", "normalizer", precompiled_charsmap="?"), "its normalizer's precompiled_charsmap is no base64"),
                (mapped(b"\1"), "its precompiled_charsmap of 1 bytes has an array of 0"),
                (mapped(charsmap[:100]), "its precompiled_charsmap of 100 bytes has an array of"),
                (mapped(charsmap + b"\xff"), "its precompiled_charsmap has texts that are no UTF-8"),
                (mapped(charsmap + b"x" * 1025), "its precompiled_charsmap has a text of 1025 bytes, expected at most 1024"),
                (changed("t5", "pre_tokenizer", prepend_scheme="last"), "its pre-tokenizer's prepend_scheme"),
                (changed("t5", "pre_tokenizer", replacement=""), "its pre-tokenizer's replacement is empty"),
                (dict(llama2, pre_tokenizer=self.forms["mistral"]["pre_tokenizer"]), "its pre-tokenizer's prepend_scheme 'first' is not supported"),
                (dict(llama2, pre_tokenizer={"type": "Whitespace"}), "its pre-tokenizer 'Whitespace'"),
                (dict(self.forms["gemma"], normalizer=None), "its pre-tokenizer 'Split'"),
                (dict(t5, normalizer={"type": "NFD"}), "its normalizer 'NFD'"),
                (dict(t5, normalizer={"type": "Sequence", "normalizers": [{"type": "NFKD"}, {"type": "Lowercase"}, {"type": "StripAccents"}]}), "its normalizer 'NFKD'"),
                (dict(t5, normalizer={"type": "Sequence", "normalizers": [{"type": "StripAccents"}]}), "its normalizer 'StripAccents'"),
                (dict(t5, normalizer={"type": "Replace", "pattern": {"Regex": "a+"}, "content": ""}), "its normalizer's Replace '.*a\\+"),
                (dict(t5, pre_tokenizer={"type": "ByteLevel", "add_prefix_space": False, "use_regex": True}), "its pre-tokenizer 'ByteLevel'"),
                (changed("llama2", "model", unk_token="[UNK]"), r"its vocabulary lacks '\[UNK\]'"),
                (changed("llama2", "model", merges=[["t", "\u0416\u0416"]]), "its vocabulary lacks"),
                (dict(t5, added_tokens=[dict(t5["added_tokens"][0], single_word=True)]), "its added token '.*': 'single_word'")]:
            with self.subTest(message):
                self.tokenize(TEXT, form, code=dlc.FAILED)
                self.assertRegex(self.err, r"tokenizer\.json': .*" + message)

    def test_damaged_charsmap(self):
        """References out of it are no match: no text makes the reader leave it."""
        charsmap = bytearray(base64.b64decode(self.forms["t5"]["normalizer"]["precompiled_charsmap"]))
        random = np.random.default_rng(0)
        size = int.from_bytes(charsmap[:4], "little")
        for _ in range(20):
            other = bytearray(charsmap)
            for at in random.integers(4, 4 + size, 200):
                other[at] = random.integers(256)
            form = json.loads(json.dumps(self.forms["t5"]))
            form["normalizer"]["precompiled_charsmap"] = base64.b64encode(other).decode()
            self.assertGreater(len(self.tokenize(TEXT, form)), 0)


if __name__ == "__main__":
    unittest.main()
