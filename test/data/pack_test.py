# SPDX-License-Identifier: Apache-2.0
"""dlc-data pack: documents side by side, each in the first row that has room, with positions and labels of their own."""

import json
import os

import dlc
import numpy as np
from tokens import TokenizerTest

IGNORED = -100


def first_fit(lengths, length):
    rows = []
    places = []
    for n in lengths:
        row = next((i for i, used in enumerate(rows) if used + n <= length), len(rows))
        if row == len(rows):
            rows.append(0)
        places.append((row, rows[row]))
        rows[row] += n
    return places, len(rows)


class Pack(TokenizerTest):
    @classmethod
    def setUpClass(cls):
        cls.share_forms("make_sentencepiece", "sentencepiece.json", "sentencepiece_ref.npz")
        cls.special = cls.maker.special_forms(cls.json)["bert"]

    def pack(self, *files, form=None, code=dlc.OK, **options):
        tokenizer = self.write("tokenizer.json", form or self.special)
        self.out, self.err = dlc.dlc_data("pack", *files, tokenizer=tokenizer, output=self.path("rows.safetensors"), code=code,
                                          **dict(dict(length=16), **options))
        return dlc.load_file(self.path("rows.safetensors")) if code == dlc.OK else None

    def encoded(self, texts, special):
        import tokenizers
        tokenizer = tokenizers.Tokenizer.from_str(json.dumps(self.special))
        return [tokenizer.encode(text, add_special_tokens=special).ids for text in texts]

    def check(self, rows, documents, length):
        pieces = [(ids[at:at + length], (ids[1:] + [IGNORED])[at:at + length]) for ids in documents for at in range(0, len(ids), length)
                  if len(ids) - at > 1]
        places, count = first_fit([len(ids) for ids, _ in pieces], length)
        self.assertEqual(rows["y"].shape, (count, length))
        seen = np.zeros((count, length), bool)
        for (row, at), (ids, labels) in zip(places, pieces):
            here = slice(at, at + len(ids))
            seen[row, here] = True
            np.testing.assert_array_equal(rows["input_ids"][row, here], ids)
            np.testing.assert_array_equal(rows["y"][row, here], labels)
            np.testing.assert_array_equal(rows["position_ids"][row, here], np.arange(len(ids)))
        self.assertTrue((rows["y"][~seen] == IGNORED).all())
        for row, used in enumerate(seen.sum(1)):
            np.testing.assert_array_equal(rows["position_ids"][row, used:], np.arange(length - used))

    def texts(self):
        with open(os.path.join(dlc.REFS, "sentencepiece.txt")) as file:
            return [line for line in file.read().split("\n") if line] + ["a", "the cat " * 20]

    def test_lines(self):
        texts = self.texts()
        path = self.write("a.txt", "\n\n".join(texts) + "\n")
        for special in False, True:
            for length in 8, 64:
                with self.subTest(f"{special} {length}"):
                    rows = self.pack(path, length=length, **({"special_tokens": True} if special else {}))
                    self.check(rows, self.encoded(texts, special), length)
        self.assertRegex(self.out, rf"{len(texts)} documents in {len(rows['y'])} rows of 64 tokens, [\d.]+ % full")

    def test_other_documents(self):
        texts = self.texts()
        self.write("a.jsonl", "\n".join(json.dumps({"id": 1, "text": text}) for text in texts))
        self.check(self.pack(self.path("a.jsonl")), self.encoded(texts, False), 16)
        os.makedirs(self.path("two"))
        for name, text in ("a", "the cat\nand the dog"), ("b", "two"):
            self.write(f"two/{name}.txt", text)
        self.check(self.pack(self.path("two"), documents="file"), self.encoded(["the cat\nand the dog", "two"], False), 16)

    def test_what_is_refused(self):
        self.pack(self.write("a.jsonl", '{"text": "a b"}\n{"words": 1}\n'), code=dlc.FAILED)
        self.assertIn("a.jsonl': line 2 is no JSON object with a string \"text\"", self.err)
        self.pack(self.write("empty.txt", "\n"), code=dlc.FAILED)
        self.assertIn("has no document of two tokens, which a label needs", self.err)
        self.pack(self.write("b.txt", "a b"), length=1, code=dlc.USAGE)
        self.assertIn("--length: expected at least 2 tokens, found 1", self.err)
        self.pack(self.path("b.txt"), form=self.forms["t5"], special_tokens=True, code=dlc.FAILED)
        self.assertIn("its post-processor adds no special tokens: leave out --special-tokens", self.err)


if __name__ == "__main__":
    dlc.main()
