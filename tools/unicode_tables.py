# SPDX-License-Identifier: Apache-2.0
"""Writes tables of Unicode: letters and numbers as Hugging Face's tokenizers see them, what NFC may change, and what
BERT's normalizer and pre-tokenizer make of each character; and where a text's graphemes end.

    python tools/unicode_tables.py letters > runtime/data/text/unicode/LetterTables.cpp      (needs the package tokenizers)
    python tools/unicode_tables.py nfc > runtime/data/text/unicode/NfcTable.cpp
    python tools/unicode_tables.py bert > runtime/data/text/BertTables.cpp
    python tools/unicode_tables.py bert-bases > runtime/data/text/BertBases.cpp
    python tools/unicode_tables.py plain > runtime/data/text/unicode/PlainTables.cpp
    python tools/unicode_tables.py plain-low > runtime/data/text/unicode/PlainLowTable.cpp
    python tools/unicode_tables.py plain-middle > runtime/data/text/unicode/PlainMiddleTable.cpp
    python tools/unicode_tables.py plain-high > runtime/data/text/unicode/PlainHighTable.cpp
    python tools/unicode_tables.py graphemes > runtime/data/text/unicode/GraphemeTables.cpp  (needs the package regex, too)
"""

import sys
import unicodedata

import regex
from tokenizers import Regex, normalizers, pre_tokenizers

POINTS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
UNKNOWN = 255


def members(pattern):
    """Characters that match alone: each is followed by one that does not."""
    split, found = pre_tokenizers.Split(Regex(pattern), "isolated"), []
    for base in range(0, len(POINTS), 4096):
        some = POINTS[base:base + 4096]
        pieces = split.pre_tokenize_str("".join(chr(c) + "\0" for c in some))
        found += [some[begin // 2] for _, (begin, end) in pieces if end - begin == 1 and begin % 2 == 0]
    return [c for c in sorted(found) if c]


def seconds():
    """What can be the second character of one that NFC composes."""
    found = set(range(0x1161, 0x1176)) | set(range(0x11A8, 0x11C3))
    for c in POINTS:
        parts = unicodedata.decomposition(chr(c)).split()
        if len(parts) == 2 and not parts[0].startswith("<") and unicodedata.normalize("NFC", chr(c)) == chr(c):
            found.add(int(parts[1], 16))
    return found


def nfc():
    """{character: class}, but for those that NFC leaves as they are wherever they stand."""
    maybe, found = seconds(), {}
    for c in POINTS:
        assigned = unicodedata.category(chr(c)) != "Cn" or 0x1F000 <= c < 0x1FB00 or 0x20000 <= c < 0x2F800 or 0x2FA20 <= c < 0x40000
        if c in maybe or unicodedata.normalize("NFC", chr(c)) != chr(c) or not assigned:
            found[c] = UNKNOWN
        elif unicodedata.combining(chr(c)):
            found[c] = unicodedata.combining(chr(c))
    return found


def normalized(**flags):
    """{character: text} of those that BertNormalizer changes, each alone, with these of its steps."""
    steps = dict(clean_text=False, handle_chinese_chars=False, strip_accents=False, lowercase=False)
    normalizer = normalizers.BertNormalizer(**steps | flags)
    texts = {c: normalizer.normalize_str(chr(c)) for c in POINTS}
    return {c: text for c, text in texts.items() if text != chr(c)}


def strides(mapping):
    """[first, last, stride, to - from] of {character: character}."""
    rows = []
    for c, to in sorted(mapping.items()):
        if rows and rows[-1][3] == to - c:
            step = c - rows[-1][1]
            if step <= 2 and rows[-1][2] in (0, step):
                rows[-1][1:3] = c, step
                continue
        rows.append([c, c, 0, to - c])
    return [[first, last, stride or 1, delta] for first, last, stride, delta in rows]


def bert():
    isolated = pre_tokenizers.BertPreTokenizer()
    clean, strip, lower = normalized(clean_text=True), normalized(strip_accents=True), normalized(lowercase=True)
    assert lower.pop(0x130) == "i\u0307" and all(len(text) == 1 for text in lower.values())
    table("kBertRemoved", ranges({c: 0 for c, text in clean.items() if not text}), "What cleaning takes out; it makes a blank of other white space.")
    assert all(text in ("", " ") for text in clean.values())
    table("kBertPunctuation", ranges({c: 0 for c in POINTS if len(isolated.pre_tokenize_str(f"a{chr(c)}a")) == 3}), "A word each.")
    table("kBertAccents", ranges({c: 0 for c, text in strip.items() if not text}), "Marks that are stripped.")
    table("kBertMarks", ranges({c: unicodedata.combining(chr(c)) for c in POINTS if unicodedata.combining(chr(c)) and strip.get(c, "-") != ""}),
          "Marks that are not, and their combining classes.")
    table("kBertChinese", ranges({c: 0 for c in normalized(handle_chinese_chars=True)}), "Characters with blanks around them.")
    rows("kBertLower", "UnicodeStride", strides({c: ord(text) for c, text in lower.items()}), "Upper case, each `stride`th, but for U+0130.")


def bert_bases():
    strip = normalized(strip_accents=True)
    rows("kBertBases", "BertMapping", [(c, *map(ord, text)) for c, text in sorted(strip.items()) if text and not 0xAC00 <= c < 0xD7A4],
         "What is left of a character, decomposed, without accents; but for Hangul.")


GRAPHEME_KINDS = ["Control", "Extend", "ZWJ", "Prepend", "SpacingMark", "L", "V", "T", "Regional_Indicator"]
CONJUNCTS = ((0x900, 0x980), (0x980, 0xA00), (0xA80, 0xB00), (0xB00, 0xB80), (0xC00, 0xC80), (0xD00, 0xD80))


def graphemes():
    """{character: GraphemeKind + flags}, as Unicode 16 has them: conjuncts in six scripts."""
    found, newer = {}, set(members(r"\p{Cn}"))
    for i, kind in enumerate(GRAPHEME_KINDS):
        found.update((c, i + 1) for c in POINTS if c > 0x7E and regex.match(rf"\p{{GCB={kind}}}", chr(c)) and (kind == "Control" or c not in newer))
    for c in POINTS:
        if c > 0x7E and regex.match(r"\p{Extended_Pictographic}", chr(c)):
            found[c] = found.get(c, 0) | 0x10
        if any(first <= c < end for first, end in CONJUNCTS):
            for flag, kind in (0x20, "Consonant"), (0x40, "Linker"):
                if regex.match(rf"\p{{InCB={kind}}}", chr(c)):
                    found[c] = found.get(c, 0) | flag
    return found


def plain():
    """{character: text} by NFKD and StripAccents, but for Hangul: what is a mark there is stripped, so that no order is left."""
    decompose, strip = normalizers.NFKD(), normalizers.StripAccents()
    parts = {c: decompose.normalize_str(chr(c)) for c in POINTS if not 0xAC00 <= c < 0xD7A4}
    for c in POINTS:
        text = chr(c)
        moves = decompose.normalize_str(text + "\u0334") != text + "\u0334" and parts.get(c) == text
        assert not moves or strip.normalize_str("a" + text) == "a", hex(c)
    texts = {c: strip.normalize_str("a" + text)[1:] for c, text in parts.items()}
    return {c: text for c, text in texts.items() if text != chr(c)}


def rows(name, kind, values, note, around="{{{}}},"):
    print(f"// {note}\nconst {kind} {name}[] = {{")
    line = ""
    for value in values:
        item = around.format(",".join(f"{v:#x}" if v >= 16 else str(v) for v in value)) + "," * (around == "{}")
        if len(line) + len(item) > 78:
            print("   " + line)
            line = ""
        line += " " + item
    print("   " + line + "\n};")
    print(f"const size_t {name}Count = std::size({name});\n")


def ranges(values):
    """[first, last, value] of {character: value}."""
    rows = []
    for c, value in sorted(values.items()):
        if rows and rows[-1][1] == c - 1 and rows[-1][2] == value:
            rows[-1][1] = c
        else:
            rows.append([c, c, value])
    return rows


def table(name, rows, note):
    print(f"// {note}\nconst UnicodeRange {name}[] = {{")
    line = ""
    for first, last, value in rows:
        item = f"{{{first:#x}, {last:#x}, {value}}}," if value else f"{{{first:#x}, {last:#x}}},"
        if len(line) + len(item) > 78:
            print("   " + line)
            line = ""
        line += " " + item
    print("   " + line + "\n};")
    print(f"const size_t {name}Count = std::size({name});\n")


kind = sys.argv[1]
header = "BertText" if kind.startswith("bert") else "unicode/Graphemes" if kind == "graphemes" else "unicode/Plain" if kind.startswith("plain") else "unicode/Unicode"
print(f"// Made by tools/unicode_tables.py {kind}.\n#include \"runtime/data/text/{header}.h\"\n\n#include <iterator>\n\n// clang-format off\nnamespace dlc {{\n")
if kind == "letters":
    table("kLetters", ranges(dict.fromkeys(members(r"\p{L}"), 0)), r"\p{L}")
    table("kNumbers", ranges(dict.fromkeys(members(r"\p{N}"), 0)), r"\p{N}")
elif kind == "bert":
    bert()
elif kind == "bert-bases":
    bert_bases()
elif kind.startswith("plain"):
    found = plain()
    runs = [run for run in strides({c: ord(text) for c, text in found.items() if len(text) == 1}) if run[0] != run[1]]
    apart = [(c, *map(ord, text), 0) for c, text in sorted(found.items()) if text and not any(first <= c <= last and not (c - first) % stride for first, last, stride, _ in runs)]
    if kind == "plain":
        table("kPlainRemoved", ranges({c: 0 for c, text in found.items() if not text}), "Marks.")
        rows("kPlainOne", "UnicodeStride", runs, "Each `stride`th is another one.")
    else:
        name, first, last = {"plain-low": ("Low", 0, 0x3000), "plain-middle": ("Middle", 0x3000, 0xFB00), "plain-high": ("High", 0xFB00, 0x110000)}[kind]
        rows("kPlain" + name, "char32_t", [row for row in apart if first <= row[0] < last], "A character, what it is, 0.", "{}")
elif kind == "graphemes":
    table("kGraphemes", ranges(graphemes()), "GraphemeKind and flags.")
else:
    table("kNfc", ranges(nfc()), "Combining classes; 255: NFC may change it, or it is not known.")
print("} // namespace dlc")
