# SPDX-License-Identifier: Apache-2.0
"""Text becomes the tokens that Hugging Face's tokenizers give by WordPiece (wordpiece_ref.npz), in many languages."""

import os
import unittest

import dlc
import numpy as np
from tokens import TokenizerTest

TEXT = os.path.join(dlc.REFS, "wordpiece.txt")


class WordPiece(TokenizerTest):
    @classmethod
    def setUpClass(cls):
        cls.share_forms("make_wordpiece", "wordpiece.json", "wordpiece_ref.npz")

    def test_every_form(self):
        self.assertEqual(set(self.forms), set(self.expected))
        self.check_every_form(TEXT)

    def test_long_text(self):
        """Threads take parts of it; words do not lie across their borders."""
        with open(TEXT, newline="") as file:
            text = file.read()
        times = 3_000_000 // len(text.encode())
        found = self.tokenize(self.write("long.txt", (text + "\n") * times), self.forms["uncased"])
        np.testing.assert_array_equal(found, np.tile(self.expected["uncased"], times))

    def test_what_is_refused(self):
        uncased = self.forms["uncased"]
        other = dict(uncased, model=dict(uncased["model"], vocab=None))
        self.tokenize(TEXT, other, code=dlc.FAILED)
        self.assertRegex(self.err, r"tokenizer\.json': is no tokenizer that the package tokenizers knows")


if __name__ == "__main__":
    unittest.main()
