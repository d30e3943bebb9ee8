# SPDX-License-Identifier: Apache-2.0
"""Cuts a plain text into next-character samples: text-train.npz and text-test.npz beside this file; and writes
text-tokenizer.json, a tokenizer of these characters.

    python make_text.py kjv.txt        # or .txt.gz
    python make_text.py                # the tokenizer alone

x[i] is 32 characters, y[i] the character after each of them. A character is 0..94 for the
printable ASCII from space to tilde and 95 for anything else, the end of a line included.
Test samples come from the last twentieth of the text, so none overlaps a training sample.
"""

import gzip
import json
import os
import sys

import numpy as np

LENGTH, TRAIN, TEST = 32, 12000, 1000


def read(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rb") as file:
        text = np.frombuffer(file.read(), np.uint8)
    printable = (text >= 32) & (text < 127)
    return np.where(printable, text - np.uint8(32), 95)


def samples(text, count, random):
    starts = LENGTH * random.choice((len(text) - 1) // LENGTH, count, replace=False)
    windows = text[np.sort(starts)[:, None] + np.arange(LENGTH + 1)]
    windows = windows[random.permutation(count)].astype(np.int64)
    return windows[:, :-1], windows[:, 1:]


def tokenizer():
    """As Hugging Face's tokenizers read it: each character a token, what is no other an end of line."""
    vocabulary = {chr(32 + i): i for i in range(95)} | {"\n": 95}
    model = {"type": "BPE", "dropout": None, "unk_token": "\n", "continuing_subword_prefix": None, "end_of_word_suffix": None,
             "fuse_unk": False, "byte_fallback": False, "ignore_merges": False, "vocab": vocabulary, "merges": []}
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None, "pre_tokenizer": None,
            "post_processor": None, "decoder": {"type": "Fuse"}, "model": model}


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, "text-tokenizer.json"), "w") as file:
        json.dump(tokenizer(), file, separators=(",", ":"))
        file.write("\n")
    if len(sys.argv) < 2:
        return
    text = read(sys.argv[1])
    random = np.random.RandomState(0)
    border = len(text) * 19 // 20
    for name, part, count in ("train", text[:border], TRAIN), ("test", text[border:], TEST):
        x, y = samples(part, count, random)
        path = os.path.join(here, f"text-{name}.npz")
        np.savez_compressed(path, x=x, y=y)
        print(path, x.shape, os.path.getsize(path), "bytes")


if __name__ == "__main__":
    main()
