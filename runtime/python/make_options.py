# SPDX-License-Identifier: Apache-2.0
"""Writes dlc/options.py: the options of libdlc and of dlc-compile as keyword arguments with types.

    python make_options.py PREFIX FILE      PREFIX has lib/libdlc.so.0 and bin/dlc-compile
"""

import ctypes
import json
import keyword
import re
import subprocess
import sys

# Options that have another form in Python, or that request other output.
NOT_OPTIONS = {"help", "output", "data", "val"}
HEAD = '''"""Options of dlc as keyword arguments: flags of the tool, with `_` for `-`.

Made from the tables of the library and of the compiler, which check them, too.
"""

from __future__ import annotations

from os import PathLike
from typing import Literal, Sequence, TypedDict, Union

Path = Union[str, "PathLike[str]"]
Words = Union[str, Sequence[Union[str, int, float]]]

'''


class Row(ctypes.Structure):
    """struct dlc_option_row."""

    _fields_ = [("name", ctypes.c_char_p), ("word", ctypes.c_char_p), ("group", ctypes.c_char_p),
                ("help", ctypes.c_char_p), ("optional", ctypes.c_int), ("list", ctypes.c_int)]


def of_library(path, what):
    library = ctypes.CDLL(path)
    library.dlc_options.restype = ctypes.POINTER(Row)
    count = ctypes.c_size_t()
    rows = library.dlc_options(what.encode(), ctypes.byref(count))
    for row in rows[:count.value]:
        yield {"name": row.name.decode(), "word": row.word.decode(), "help": row.help.decode(),
               "optional": bool(row.optional), "list": bool(row.list), "repeats": False, "arguments": False}


def of_compiler(path, command):
    tree = json.loads(subprocess.run([path, "--tree"], check=True, capture_output=True, text=True).stdout)
    options, = (c["options"] for c in tree["commands"] if c["name"] == command)
    for option in options:
        word = option["word"]
        yield {"name": max(option["names"], key=len).lstrip("-"), "word": word[1:-1] if option["optional"] else word,
               "help": option["help"], "optional": option["optional"],
               "list": option["repeats"] or "," in re.sub(r"\{.*?\}", "", word), "repeats": option["repeats"],
               "arguments": option["arguments"]}


def type_of(row):
    word, choices = row["word"], re.fullmatch(r"\{([^{}]*)\}(.*)", row["word"])
    if word == "":
        return "bool"
    if choices:
        kinds = ["Literal[" + ", ".join(f'"{c}"' for c in choices.group(1).split(",")) + "]"]
        kinds += ["str"] if choices.group(2) or row["arguments"] else []
        kinds += ["bool"] if choices.group(1) == "true,false" else []
    elif word == "N":
        kinds = ["int"]
    elif word == "NUMBER":
        kinds = ["float"]
    elif word in ("FILE", "FOLDER", "PATH", "RUN"):
        kinds = ["Path"]
    elif row["list"]:
        kinds = ["Words", "int", "float"]
    else:
        kinds = ["str", "int", "float"]
    return "Union[" + ", ".join([*kinds, *(["bool"] if row["optional"] else []), "None"]) + "]"


def record(name, about, rows):
    lines = [f"class {name}(TypedDict, total=False):", f'    """{about}"""', ""]
    for row in rows:
        if row["name"] in NOT_OPTIONS:
            continue
        key = row["name"].replace("-", "_")
        assert key.isidentifier() and not keyword.iskeyword(key), key
        text = row["help"].replace("\\", "\\\\").replace('"', "'").replace("\n", "\n    ")
        lines += [f"    {key}: {type_of(row)}", f'    """{text}"""']
    return "\n".join(lines) + "\n\n"


def main(prefix, path):
    library, compiler = f"{prefix}/lib/libdlc.so.0", f"{prefix}/bin/dlc-compile"
    records = {
        "CompileOptions": ("Of dlc.compile() and dlc.from_torch(): flags of `dlc compile`.",
                           list(of_compiler(compiler, "compile"))),
        "ExportOptions": ("Of dlc.export(): flags of `dlc export`.", list(of_compiler(compiler, "export"))),
        "TrainerOptions": ("Of dlc.Trainer: flags of `dlc train`.", list(of_library(library, "trainer"))),
        "SessionOptions": ("Of dlc.Session.", list(of_library(library, "session"))),
        "DatasetOptions": ("Of dlc.Dataset.open(): flags of `dlc train` that make samples of what is there.",
                           list(of_library(library, "dataset"))),
    }
    rows = [row for _, part in records.values() for row in part]
    with open(path, "w", encoding="utf-8") as file:
        file.write(HEAD)
        for name, of in (("REPEATED", {row["name"] for row in rows if row["repeats"]}),
                         ("TRUTHS", {row["name"] for row in rows if row["word"] == "{true,false}"})):
            about = "come several times" if name == "REPEATED" else "want true or false as a word"
            file.write(f"# Options that {about}.\n{name} = frozenset({sorted(of)!r})\n\n")
        for name, (about, part) in records.items():
            file.write("\n" + record(name, about, part))


if __name__ == "__main__":
    main(*sys.argv[1:])
