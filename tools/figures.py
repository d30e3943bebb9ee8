#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints figures of the sources, such as lines per room.

    tools/figures.py [--json] [REVISION]

Product lines are those of C++, TableGen, Protobuf and Python files of compiler, passes, runtime and tools, without the
licence's line. The files are those of a revision in git, or of the working tree.
"""

import argparse
import collections
import json
import os
import re
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PRODUCT = ("compiler/", "passes/", "runtime/", "tools/")
ENDINGS = (".cpp", ".h", ".hpp", ".c", ".cu", ".td", ".proto", ".py", ".sh", ".cmake", ".js", ".css")
CORE = ("compiler/dialect/", "compiler/kernel/", "compiler/lower/", "compiler/placement/", "compiler/target/",
        "compiler/reference/", "compiler/driver/", "passes/", "runtime/exec/", "runtime/device/", "runtime/plan/",
        "runtime/collective/")
# Families of operators, which rooms mirror, and the two backends' parts of one name.
MIRRORED = {"Activation", "Attention", "BatchNorm", "Columns", "Conv", "Convolution", "Custom", "Elementwise", "Epilogues",
            "Flat", "Linear", "Loss", "Matmul", "Norm", "Pool", "Recurrence", "Reduce", "Resize", "Shape", "Window"}
SHARD_ROOMS = ("compiler/", "passes/", "runtime/plan/", "runtime/exec/", "runtime/train/", "runtime/device/")
SHARD_WORDS = re.compile(r"shard|gathers\(\)|scatters\(\)", re.IGNORECASE)


def git(*arguments):
    return subprocess.run(["git", "-C", ROOT, *arguments], capture_output=True, check=True).stdout


def read_all(revision):
    """{path: text} of all tracked text files."""
    if not revision:
        names = git("ls-files", "-co", "--exclude-standard").decode().split("\n")
        texts = {}
        for name in filter(None, names):
            path = os.path.join(ROOT, name)
            if os.path.isfile(path):
                with open(path, encoding="utf-8", errors="replace") as file:
                    texts[name] = file.read()
        return texts
    names = git("ls-tree", "-r", "--name-only", revision).decode().split("\n")
    names = [name for name in names if name.endswith((*ENDINGS, ".md", ".txt"))]
    batch = subprocess.run(["git", "-C", ROOT, "cat-file", "--batch"], capture_output=True, check=True,
                           input="".join(f"{revision}:{name}\n" for name in names).encode()).stdout
    texts, at = {}, 0
    for name in names:
        end = batch.index(b"\n", at)
        size = int(batch[at:end].split()[2])
        texts[name] = batch[end + 1:end + 1 + size].decode(errors="replace")
        at = end + 1 + size + 1
    return texts


def lines(text):
    return text.count("\n") - ("SPDX-License-Identifier" in text[:200])


def names_in_two_rooms(sources):
    """Names of .cpp files, but for those of operators."""
    rooms = collections.defaultdict(set)
    for name in sources:
        if name.endswith(".cpp") and os.path.basename(name)[:-4] not in MIRRORED:
            rooms[os.path.basename(name)].add(os.path.dirname(name))
    return sorted(name for name, folders in rooms.items() if len(folders) > 1)


def includes_upwards(sources):
    """Files of compiler/ that include passes/ or tools/."""
    pattern = re.compile(r'#include "(passes|tools)/')
    return sorted(name for name, text in sources.items() if name.startswith("compiler/") and pattern.search(text))


def figures(texts):
    sources = {n: t for n, t in texts.items() if n.startswith(PRODUCT) and n.endswith(ENDINGS)}
    total = sum(map(lines, sources.values()))

    def below(*rooms):
        return sum(lines(text) for name, text in sources.items() if name.startswith(rooms))

    shards = [n for n, t in sources.items() if n.startswith(SHARD_ROOMS) and SHARD_WORDS.search(t)]
    readmes = [line for name, text in texts.items() if name.endswith("README.md") for line in text.split("\n")]
    return {
        "product lines": total,
        "lines of the core": below(*CORE),
        "share of the core, %": round(100 * below(*CORE) / total, 1),
        "lines of compiler/import": below("compiler/import/"),
        "lines of runtime/data": below("runtime/data/"),
        "lines of tools": below("tools/"),
        "files that know shards": len(shards),
        "file names in two rooms": len(names_in_two_rooms(sources)),
        "files of compiler/ that include passes/ or tools/": len(includes_upwards(sources)),
        "words of README.md": len(texts["README.md"].split()),
        "longest line of a README": max(map(len, readmes)),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("revision", nargs="?", help="a commit; the working tree by default")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    found = figures(read_all(options.revision))
    if options.json:
        print(json.dumps(found, indent=1))
        return
    for name, value in found.items():
        print(f"{name:52} {value:>9,}")


if __name__ == "__main__":
    main()
