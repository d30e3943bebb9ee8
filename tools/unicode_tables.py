"""Writes tables of Unicode: letters and numbers as Hugging Face's tokenizers see them, and what NFC may change.

    python tools/unicode_tables.py letters > runtime/data/text/LetterTables.cpp      (needs the package tokenizers)
    python tools/unicode_tables.py nfc > runtime/data/text/NfcTable.cpp
"""

import sys
import unicodedata

from tokenizers import Regex, pre_tokenizers

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
print(f"// Made by tools/unicode_tables.py {kind}.\n#include \"runtime/data/text/Unicode.h\"\n\n#include <iterator>\n\n// clang-format off\nnamespace dlc {{\n")
if kind == "letters":
    table("kLetters", ranges(dict.fromkeys(members(r"\p{L}"), 0)), r"\p{L}")
    table("kNumbers", ranges(dict.fromkeys(members(r"\p{N}"), 0)), r"\p{N}")
else:
    table("kNfc", ranges(nfc()), "Combining classes; 255: NFC may change it, or it is not known.")
print("} // namespace dlc")
