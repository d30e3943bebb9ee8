# SPDX-License-Identifier: Apache-2.0
"""Text becomes the tokens that Hugging Face's tokenizers give by WordPiece (wordpiece_ref.npz), in many languages."""

import json
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
        def changed(part, **fields):
            other = json.loads(json.dumps(self.forms["uncased"]))
            other[part].update(fields)
            return other

        uncased = self.forms["uncased"]
        for form, message in [
                (dict(uncased, normalizer=None), "its normalizer 'none' is not supported: .*WordPiece, as of BERT"),
                (dict(uncased, normalizer={"type": "Lowercase"}), "its normalizer 'Lowercase'"),
                (dict(uncased, pre_tokenizer={"type": "Whitespace"}), "its pre-tokenizer 'Whitespace'"),
                (changed("model", unk_token="[NONE]"), r"its vocabulary lacks the unknown token '\[NONE\]'"),
                (changed("model", vocab=None), "its model has no 'vocab'"),
                (changed("model", vocab={"[UNK]": -1}), r"its vocabulary has '\[UNK\]' with the id -1"),
                (changed("model", max_input_chars_per_word="x"), "max_input_chars_per_word"),
                (dict(uncased, added_tokens=[dict(uncased["added_tokens"][4], single_word=True)]), r"its added token '\[MASK\]': 'single_word'"),
                (dict(uncased, added_tokens=[dict(uncased["added_tokens"][4], normalized=True)]), r"its added token '\[MASK\]': 'normalized'")]:
            with self.subTest(message):
                self.tokenize(TEXT, form, code=dlc.FAILED)
                self.assertRegex(self.err, r"tokenizer\.json': .*" + message)
        # Two marks that stripping accents leaves, and puts in the order of their classes.
        marks = self.write("a.txt", "one\ntwo a\U0001d16d\U0001d165\n")
        self.tokenize(marks, uncased, code=dlc.FAILED)
        self.assertRegex(self.err, r"a\.txt': line 2 has U\+1D165, which the tokenizer's normalizer puts before the mark that it follows")
        self.tokenize(marks, self.forms["cased"])


if __name__ == "__main__":
    unittest.main()
