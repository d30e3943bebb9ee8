# SPDX-License-Identifier: Apache-2.0
"""Makes decode_ref.npz: texts of tokens by Hugging Face's tokenizers, with special tokens and without.

    python test/refs/make_decode.py      (needs the packages tokenizers and numpy)

forms() makes of the tokenizers of make_tokenizer, make_sentencepiece and make_wordpiece what has each decoder, which the test
does, too. Tokens are those of their texts, and random ones: bytes that are no UTF-8, numbers that are no tokens.
"""

import json
import os

HERE = os.path.dirname(os.path.abspath(__file__))
META = "\u2581"


def metaspace(scheme):
    return {"type": "Metaspace", "replacement": META, "prepend_scheme": scheme, "split": True}


def sequence(*steps):
    return {"type": "Sequence", "decoders": list(steps)}


BLANKS = {"type": "Replace", "pattern": {"String": META}, "content": " "}
BYTES, FUSE = {"type": "ByteFallback"}, {"type": "Fuse"}


def strip(start, stop):
    return {"type": "Strip", "content": " ", "start": start, "stop": stop}


def forms(byte_level, pieces, words):
    """{name: (tokenizer.json, the file that has its text's tokens and their name)}"""
    unigram, bpe = pieces["unigram"], pieces["bpe"]
    t5, llama2 = ("sentencepiece", "t5"), ("sentencepiece", "llama2")
    return {"gpt2": (byte_level, ("tokenizer", "gpt2")), "bert": (words, ("wordpiece", "uncased")),
            "dirty": (dict(words, decoder={"type": "WordPiece", "prefix": "##", "cleanup": False}), ("wordpiece", "cased")),
            "blanks": (dict(words, decoder=None), ("wordpiece", "uncased")), "t5": (dict(unigram, decoder=metaspace("always")), t5),
            "first": (dict(unigram, decoder=metaspace("first")), t5), "never": (dict(unigram, decoder=metaspace("never")), t5),
            "old": (dict(unigram, decoder={"type": "Metaspace", "replacement": META, "add_prefix_space": True}), t5),
            "llama2": (dict(bpe, decoder=sequence(BLANKS, BYTES, FUSE, strip(1, 0))), llama2),
            "gemma": (dict(bpe, decoder=sequence(BLANKS, BYTES, FUSE)), llama2), "three": (dict(bpe, decoder=sequence(BLANKS, FUSE, strip(3, 0))), llama2),
            "each": (dict(bpe, decoder=sequence(BLANKS, dict(BLANKS, pattern={"String": "at"}, content="AT"), BYTES, strip(0, 1))), llama2),
            "left": (dict(bpe, decoder=sequence(BLANKS, BYTES, strip(1, 0))), llama2),
            "fuse": (dict(bpe, decoder=FUSE), llama2)}


def load():
    found = []
    for name in "tokenizer", "sentencepiece", "wordpiece":
        with open(os.path.join(HERE, name + ".json")) as file:
            found.append(json.load(file))
    return found


def main():
    import numpy as np
    from tokenizers import Tokenizer

    random, result = np.random.default_rng(0), {}
    for name, (form, (file, key)) in forms(*load()).items():
        tokenizer = Tokenizer.from_str(json.dumps(form))
        most = tokenizer.get_vocab_size()
        ids = np.concatenate([random.integers(0, most + 5, 6), np.load(os.path.join(HERE, file + "_ref.npz"))[key], random.integers(0, most + 5, 600)])
        result[name + "/ids"] = ids.astype(np.uint32)
        for what, skips in ("text", False), ("skipped", True):
            text = tokenizer.decode(ids.tolist(), skip_special_tokens=skips)
            result[f"{name}/{what}"] = np.frombuffer(text.encode(), np.uint8)
    np.savez_compressed(os.path.join(HERE, "decode_ref.npz"), **result)


if __name__ == "__main__":
    main()
