# SPDX-License-Identifier: Apache-2.0
"""Text becomes the tokens that Hugging Face's tokenizers give by Unigram and BPE of characters (sentencepiece_ref.npz)."""

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
        t5 = self.forms["t5"]
        for other in dict(t5, model=dict(t5["model"], vocab=[["a"]])), dict(t5, normalizer=dict(t5["normalizer"], precompiled_charsmap="?")):
            self.tokenize(TEXT, other, code=dlc.FAILED)
            self.assertRegex(self.err, r"tokenizer\.json': is no tokenizer that the package tokenizers knows")


if __name__ == "__main__":
    unittest.main()
