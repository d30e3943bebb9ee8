# SPDX-License-Identifier: Apache-2.0
"""Tokens become the text that Hugging Face's tokenizers give (decode_ref.npz)."""

import json
import os
import sys
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
        _, self.err = dlc.dlc_data("text", self.path("ids.bin"), tokens="uint32", tokenizer=tokenizer, output=self.path("text.txt"), code=code, **options)

    def text(self, ids, form, **options):
        self.detokenize(ids, form, **options)
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

    def test_what_has_no_text(self):
        self.detokenize([60000, 70000, self.forms["fuse"]["model"]["vocab"]["a"]], self.forms["fuse"])
        self.assertIn("2 of 3 tokens are none of the tokenizer's, and have no text", self.err)

    def test_what_is_refused(self):
        self.detokenize([1], {}, code=dlc.FAILED)
        self.assertIn("is no tokenizer that the package tokenizers knows", self.err)
        with open(self.path("odd.bin"), "wb") as file:
            file.write(b"odd")
        tokenizer = self.write("tokenizer.json", self.forms["fuse"])
        for options, message in ({}, "has no header: say its type by --tokens=uint16 or uint32"), ({"tokens": "uint16"}, "has 3 bytes of tokens"):
            _, err = dlc.dlc_data("text", self.path("odd.bin"), tokenizer=tokenizer, output=self.path("text.txt"), code=dlc.FAILED, **options)
            self.assertIn(message, err)

    def test_stream(self):
        """Token by token, as dlc generate asks for it, the same text comes as of all at once; what was skipped is left out."""
        import tokenizers
        sys.path.insert(0, os.path.join(dlc.ROOT, "runtime", "python"))
        from dlc_data.chat import Stream
        from dlc_data.tokens import Vocabulary
        for name, form in self.forms.items():
            with self.subTest(name):
                vocabulary, ids = Vocabulary(self.write("tokenizer.json", form)), self.expected[name + "/ids"].tolist()
                known = [i for i in ids if vocabulary.name_of(i) is not None]
                stream = Stream(vocabulary)
                found = "".join(stream.push(i) for i in known) + stream.push(0, ends=True)
                self.assertEqual(found, tokenizers.Tokenizer.from_str(json.dumps(form)).decode(known))


if __name__ == "__main__":
    unittest.main()
