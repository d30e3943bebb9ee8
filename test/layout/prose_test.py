# SPDX-License-Identifier: Apache-2.0
"""Lines of Markdown files have at most 120 characters, but for what cannot be broken: a single word, and what is printed."""

import subprocess
import unittest

import dlc
from prose import WIDTH

# Blocks of commands, which `\\` continues on the next line; all other blocks show what a program prints or reads.
COMMANDS = ("", "sh")


def long_lines(text):
    """Numbers and lengths of lines that should be broken."""
    block = None
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith("```"):
            block = line.strip().strip("`") if block is None else None
        elif len(line) > WIDTH and block in (None, *COMMANDS) and len(line.lstrip(" -").split()) > 1:
            yield number, len(line)


class Prose(unittest.TestCase):
    def test_finds_long_lines(self):
        word, line = "x" * 130, "word " * 30
        text = [line, f"- {word}", f"| {line} |", "```sh", line, "```", "```text", line, "```", f"- {word} {word}", "word"]
        self.assertEqual([number for number, _ in long_lines("\n".join(text))], [1, 3, 5, 10])

    def test_lines_are_short(self):
        listed = subprocess.run(["git", "-C", dlc.ROOT, "ls-files", "*.md"], capture_output=True, text=True, check=True)
        names = listed.stdout.splitlines()
        self.assertGreater(len(names), 60)
        problems = []
        for name in names:
            with open(f"{dlc.ROOT}/{name}", encoding="utf-8") as file:
                problems += [f"{name}:{number}: {length} characters" for number, length in long_lines(file.read())]
        self.assertFalse(problems, f"lines of at most {WIDTH} characters:\n  " + "\n  ".join(problems))


if __name__ == "__main__":
    dlc.main()
