# SPDX-License-Identifier: Apache-2.0
"""Makes wordpiece.json, a small WordPiece tokenizer as of BERT, wordpiece.txt, and wordpiece_ref.npz: its tokens by Hugging
Face's tokenizers.

    python test/refs/make_wordpiece.py      (needs the packages tokenizers and numpy)

The file is of the uncased kind; forms() makes of it others, which the test does, too. The text has many languages and
characters of each kind that the normalizer knows, each between letters.
"""

import copy
import json
import os
import random
import unicodedata

HERE = os.path.dirname(os.path.abspath(__file__))
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = ["the", "cat", "sat", "on", "mat", "un", "##affable", "##aff", "##able", "play", "##ing", "##ed", "read", "##er", "##s", "in", "for"]


def forms(uncased):
    """{name: tokenizer.json}"""
    result = {}
    for name, flags in {"uncased": {}, "cased": {"lowercase": False}, "lower": {"strip_accents": False},
                        "strip": {"lowercase": False, "strip_accents": True},
                        "raw": {"clean_text": False, "handle_chinese_chars": False, "lowercase": False}}.items():
        result[name] = copy.deepcopy(uncased)
        result[name]["normalizer"].update(flags)
    result["short"] = copy.deepcopy(uncased)
    result["short"]["model"]["max_input_chars_per_word"] = 8
    return result


def kinds():
    """Some characters of each kind, by what Unicode says of them."""
    found = {}
    for c in range(0x80, 0x30000):
        if not 0xD800 <= c < 0xE000:
            text = chr(c)
            kind = (unicodedata.category(text), unicodedata.combining(text) > 0, unicodedata.decomposition(text)[:1], len(text.lower()), text.lower() == text)
            found.setdefault(kind, []).append(text)
    draw = random.Random(0)
    return [text for kind in sorted(found) for text in sorted(draw.sample(found[kind], min(len(found[kind]), 12)))]


def make_text():
    lines = ["The cat sat on the mat; unaffable players READING, played for readers.", "Ä ö ü ß ẞ é È ñ Å å ø Ø ı İ I i ǆ ǅ Ǆ Σ σ ς ΌΣΟΣ ﬁ ﬀ",
             "naïve café CAFÉ cafe\u0301 e\u0323\u0301 Việt Nam Đà Nẵng", "Русский Ёлка Й й українська Ґ ї", "Ελληνικά ΆΈΉ ώ ΐ", "עברית שָׁלוֹם العربية مُحَمَّد",
             "हिन्दी नमस्ते क़ ไทย น้ำ தமிழ்", "日本語のテキスト がぎぐ カ゛ 中文字符 漢字 豈 \U00020000 \U0002f800", "한국어 각갂 값 ᄀ", "emoji 😀👍🏽👨‍👩‍👧 🇩🇪 ☺️",
             "a\tb\rc\u00a0d\u2003e\u2028f\u3000g\u200bh\ufeffi\x00j\x07k\x85l\ufffdm\u00adn", "“quotes” … €5 £6 ¥ §1 → ∑ ^~`$+<=>|_ # @ % & * ' \" \\ /",
             "[CLS] a [MASK] b[SEP]c [mask] [UNK]", "supercalifragilisticexpialidocious " + "x" * 100 + " " + "y" * 101]
    return "\n".join(lines) + "\n" + "".join(f"a{c}B {c}\n" if i % 8 == 7 else f"a{c}B {c} " for i, c in enumerate(kinds()))


def main():
    import numpy as np
    from tokenizers import Tokenizer, normalizers

    text = make_text()
    alphabet = sorted({c for strip in (True, False) for lower in (True, False) for c in normalizers.BertNormalizer(
        clean_text=False, handle_chinese_chars=False, strip_accents=strip, lowercase=lower).normalize_str(text) if not c.isspace()})
    vocabulary = SPECIAL + WORDS + [c for c in alphabet if c != "ß"] + ["##" + c for c in alphabet if c not in "qz"]
    uncased = {"version": "1.0", "truncation": None, "padding": None,
               "added_tokens": [{"id": i, "content": c, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
                                for i, c in enumerate(SPECIAL)],
               "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True},
               "pre_tokenizer": {"type": "BertPreTokenizer"}, "post_processor": None, "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
               "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
                         "vocab": {c: i for i, c in enumerate(dict.fromkeys(vocabulary))}}}
    with open(os.path.join(HERE, "wordpiece.json"), "w") as file:
        json.dump(uncased, file, separators=(",", ":"), ensure_ascii=False)
        file.write("\n")
    with open(os.path.join(HERE, "wordpiece.txt"), "w", newline="") as file:
        file.write(text)
    refs = {name: np.array(Tokenizer.from_str(json.dumps(form)).encode(text, add_special_tokens=False).ids, np.uint32) for name, form in forms(uncased).items()}
    np.savez_compressed(os.path.join(HERE, "wordpiece_ref.npz"), **refs)
    for name, ids in refs.items():
        print(name, len(ids), "unknown", int((ids == 1).sum()))


if __name__ == "__main__":
    main()
