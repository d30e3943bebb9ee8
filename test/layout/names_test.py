# SPDX-License-Identifier: Apache-2.0
"""No two types of one name: programs link rooms together, and two definitions would be one of them, without a word."""

import collections
import pathlib
import re
import unittest

import dlc

QUIET = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\])\'', re.S)
NAMESPACE = re.compile(r"namespace\s*([\w:]*)\s*$")
TYPE = re.compile(r"\b(?:struct|class|union)\s+(?:\w+_API\s+)?(\w+)(?:\s+final)?\s*(?::(?!:)[^()]*)?$")


def types_of(text):
    """Names of the types that a file defines where others can see them, with their namespaces."""
    text, scopes, start = QUIET.sub("", text), [], 0
    for brace in re.finditer(r"[{}]", text):
        head, start = re.split(r"[;{}]", text[start:brace.start()])[-1].strip(), brace.end()
        if brace.group() == "}":
            if scopes:
                scopes.pop()
            continue
        namespace, found = NAMESPACE.search(head), TYPE.search(head)
        if found and all(scopes):
            yield "::".join([*scopes, found.group(1)])
        scopes.append(namespace.group(1) if namespace else None)  # "" is nobody else's, None no namespace


class Names(unittest.TestCase):
    def test_reader(self):
        text = """namespace dlc { // struct No {
            struct A : Base<int> { struct Inner {}; }; enum class E { X };
            namespace { class Mine {}; } namespace inner { class B final {}; }
            template <class T> struct C { const char *text = "struct Quoted {"; };
            Status of(const struct stat &found) { return {}; } } struct Outside {};"""
        self.assertEqual(list(types_of(text)), ["dlc::A", "dlc::E", "dlc::inner::B", "dlc::C", "Outside"])

    def test_one_definition_each(self):
        files = collections.defaultdict(set)
        for room in ("runtime", "compiler", "passes", "tools"):
            for path in pathlib.Path(dlc.ROOT, room).rglob("*"):
                if path.suffix in (".h", ".cpp") and "examples" not in path.parts:
                    for name in types_of(path.read_text()):
                        files[name].add(str(path.relative_to(dlc.ROOT)))
        self.assertGreater(len(files), 300)
        self.assertEqual({name: sorted(found) for name, found in files.items() if len(found) > 1}, {})


if __name__ == "__main__":
    dlc.main()
