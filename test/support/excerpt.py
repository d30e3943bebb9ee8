# SPDX-License-Identifier: Apache-2.0
"""Short excerpts of printed programs: selected lines and their operands.

A line is selected if a regular expression matches it. Prefixes of the expression:
<   also the lines whose values it reads; << those that they read, too
>   also the lines that read its values
+   also the region that follows it, to its closing brace
/   not the line itself; if another prefix selects it, its operands are not shown
In an excerpt values are renumbered; a value of an omitted line is "..."; operand types, the geometry of convolutions and
pools, and the cost of commands are not shown.
"""

import re

VALUE = re.compile(r"%[\w.]+")
UNSHOWN = re.compile(r"((dilations|pads|strides|kernel) = array<i64: [^>]*>|(flops|grain|group) = \d+ : i64)(, )?")


def function(text, name):
    """The lines of the function or program `name`; all lines outside of functions if it is None."""
    inside, lines = False, []
    for line in text.split("\n"):
        if re.match(r"  (func\.func|exec\.program|exec\.kernel) @", line):
            inside = re.search(r"@([\w.]+)", line).group(1)
        if inside == name or (name is None and not inside):
            lines.append(line)
        if line.startswith("  }"):
            inside = False
    if not lines:
        raise AssertionError(f"no function @{name}")
    return lines


def defined(line):
    """Values that a line defines: results, or arguments of a function or block."""
    if re.match(r"\s*(\^bb|func\.func)", line):
        return [v.rstrip(":") for v in re.findall(r"%[\w.]+(?=:)", line)]
    return VALUE.findall(line.split(" = ")[0]) if re.match(r"\s*%", line) else []


class Program:
    def __init__(self, lines):
        self.lines = lines
        self.reads = []  # per line: lines that define its operands
        self.ends = set()  # lines from which "<" does not continue
        makers = {}
        for number, line in enumerate(lines):
            made = defined(line)
            used = [v for v in VALUE.findall(line) if v not in made]
            self.reads.append([makers[v] for v in used if v in makers])
            makers.update((v, number) for v in made)

    def region(self, first):
        indent = re.match(r" *", self.lines[first]).group()
        if not self.lines[first].endswith("{"):
            raise AssertionError(f"no region: {self.lines[first]}")
        return range(first, self.lines.index(indent + "}", first) + 1)

    def choose(self, pattern):
        marks, pattern = re.match(r"([<>+/]*) ?(.*)", pattern).groups()
        chosen = {n for n, line in enumerate(self.lines) if re.search(pattern, line)}
        if not chosen:
            raise AssertionError(f"nothing matches {pattern}")
        if marks == "/":
            self.ends |= chosen
            return set()
        for _ in range(marks.count("<")):
            chosen |= {made for n in chosen - self.ends for made in self.reads[n]}
        for _ in range(marks.count(">")):
            chosen |= {n for n, reads in enumerate(self.reads) if chosen & set(reads)}
        if "+" in marks:
            chosen |= {n for first in chosen for n in self.region(first)}
        return chosen

    def excerpt(self, patterns):
        patterns = sorted(patterns, key=lambda pattern: not pattern.startswith("/"))
        chosen = sorted(set().union(*map(self.choose, patterns)))
        least = min(len(re.match(r" *", self.lines[n]).group()) for n in chosen)
        numbers, shown = {}, []
        for n in chosen:
            line, made = self.lines[n], defined(self.lines[n])
            for value in made:
                numbers[value] = (n, f"%{len({place for place in numbers.values()})}")
            shown.append(shorten(self.name(n, line, made, numbers))[least:])
        return "\n".join(shown) + "\n"

    def name(self, n, line, made, numbers):
        def renamed(found):
            value = found.group()
            if value in made or (value in numbers and numbers[value][0] in self.reads[n]):
                return numbers[value][1]
            return "..."
        line = re.sub(r"%[\w.]+", renamed, line)
        line = re.sub(r"\.\.\.#\d+", "...", line)
        return re.sub(r"\.\.\.(, \.\.\.)+", "...", line)


def shorten(line):
    line = re.sub(r" ?\{\}", "", UNSHOWN.sub("", line).replace(", }", "}"))
    line = re.sub(r" : \([^()]*\) -> ", " : ", line)
    line = re.sub(r"ins\(([^:()]*) : [^()]*\)", r"ins(\1)", line)
    if line.lstrip().startswith("^bb"):
        line = re.sub(r": tensor<[^>]*>", "", line)
    return line
