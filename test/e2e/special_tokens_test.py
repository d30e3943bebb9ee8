# SPDX-License-Identifier: Apache-2.0
"""--special-tokens: what a tokenizer puts around a document, as Hugging Face's encode(add_special_tokens=True) does."""

import os
import unittest

import dlc
import numpy as np
from tokens import TokenizerTest

TEXT = os.path.join(dlc.REFS, "sentencepiece.txt")


class SpecialTokens(TokenizerTest):
    @classmethod
    def setUpClass(cls):
        cls.share_forms("make_sentencepiece", "sentencepiece.json", "special_ref.npz")
        cls.special = cls.maker.special_forms(cls.json)

    def test_every_form(self):
        self.assertEqual({f"{name} {kind}" for name in self.special for kind in ("file", "line")}, set(self.expected))
        for name in self.expected:
            form, kind = name.split()
            with self.subTest(name):
                np.testing.assert_array_equal(self.tokenize(TEXT, self.special[form], special_tokens=kind), self.expected[name])

    def test_each_file(self):
        os.makedirs(self.path("two"))
        ids = {t["content"]: t["id"] for t in self.special["both"]["added_tokens"]}
        around = [1, ids["<mask>"], ids["<mask>"]], [ids["</s>"]] * 2
        self.write("two/a.txt", "the cat")
        self.write("two/b.txt", "")
        words = list(self.tokenize(self.path("two/a.txt"), self.special["both"]))
        found = list(self.tokenize(self.path("two"), self.special["both"], special_tokens="file"))
        self.assertEqual(found, around[0] + words + around[1] + around[0] + around[1])

    def test_long_lines(self):
        """Threads take whole lines."""
        with open(TEXT, newline="") as file:
            text = file.read()
        times = 2_500_000 // len(text.encode())
        form = self.special["bert"]
        found = self.tokenize(self.write("long.txt", text * times), form, special_tokens="line")
        once, twice = (self.tokenize(self.write("few.txt", text * n), form, special_tokens="line") for n in (1, 2))
        self.assertEqual(len(found), len(once) + (times - 1) * (len(twice) - len(once)))
        np.testing.assert_array_equal(found, np.tile(once, times))

    def test_what_is_refused(self):
        self.tokenize(TEXT, self.forms["t5"], code=dlc.FAILED, special_tokens="file")
        self.assertIn("its post-processor adds no special tokens: leave out --special-tokens", self.err)
        self.tokenize(TEXT, self.forms["t5"])
        bert = dict(self.forms["t5"], post_processor=self.special["bert"]["post_processor"] | {"cls": ["<s>"]})
        self.tokenize(TEXT, bert, code=dlc.FAILED, special_tokens="file")
        self.assertIn("is no tokenizer that", self.err)


if __name__ == "__main__":
    unittest.main()
