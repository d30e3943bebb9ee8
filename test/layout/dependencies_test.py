# SPDX-License-Identifier: Apache-2.0
"""The repository's shape: who may include whom, sizes, READMEs, and what is linked."""

import collections
import fnmatch
import os
import re
import subprocess
import unittest

import dlc

# A room may include itself, the rooms below it that are not listed apart, and these; a name stands for all below it,
# one that ends with "/" for the folder's own files.
RUNTIME = ["runtime/base", "runtime/plan"]
IR = ["runtime/base", "compiler/dialect"]
IMPORT, LOWER, CUDA = "compiler/import/", "compiler/lower/", "runtime/device/cuda/"
MAY_INCLUDE = {
    "runtime/base": [],
    "runtime/plan": ["runtime/base"],
    "runtime/device": RUNTIME,
    "runtime/device/commands": RUNTIME + ["runtime/device/"],
    "runtime/device/cpu": RUNTIME + ["runtime/device/", "runtime/device/commands"],
    "runtime/device/cuda": RUNTIME + ["runtime/device/", "runtime/device/commands"],
    "runtime/device/cuda/driver": RUNTIME + ["runtime/device/", "runtime/device/commands"],
    "runtime/device/cuda/cublaslt": RUNTIME + ["runtime/device/", "runtime/device/commands", CUDA, CUDA + "driver"],
    "runtime/device/cuda/cudnn": RUNTIME + ["runtime/device/", "runtime/device/commands", CUDA, CUDA + "driver"],
    "runtime/collective": RUNTIME,
    "runtime/data": RUNTIME,
    "runtime/exec": RUNTIME + ["runtime/device", "runtime/collective"],
    "runtime/train": ["runtime"],
    "runtime/api": ["runtime"],
    "runtime/python": [],  # <dlc/dlc.hpp>, as it is installed
    "runtime": ["runtime"],  # dlc.h, all rooms for the tools
    "compiler/dialect": ["runtime/base"],
    "compiler/options": ["runtime/base"],
    "passes": IR + ["compiler/options", "compiler/target/", "compiler/placement"],
    "compiler/reference": IR,
    "compiler/import": RUNTIME + ["compiler/dialect"],
    "compiler/import/tensor": RUNTIME,
    "compiler/import/guide": [],
    "compiler/import/file": RUNTIME + [IMPORT + "tensor", IMPORT + "guide"],
    "compiler/import/diff": RUNTIME + [IMPORT + "tensor", IMPORT + "file"],
    "compiler/import/roles": RUNTIME + [IMPORT + "tensor", IMPORT + "file"],
    "compiler/import/bind": RUNTIME + ["compiler/dialect", IMPORT, *(IMPORT + room for room in ("tensor", "guide", "file", "rows"))],
    "compiler/import/repair": RUNTIME + [IMPORT, *(IMPORT + room for room in ("tensor", "file", "roles", "bind", "rows"))],
    "compiler/import/fold": RUNTIME + ["compiler/reference", IMPORT + "tensor", IMPORT + "file"],
    "compiler/import/rows": RUNTIME + ["compiler/dialect", IMPORT + "tensor", IMPORT + "file", IMPORT + "fold"],
    "compiler/export": RUNTIME + ["compiler/dialect", IMPORT + "tensor", IMPORT + "file"],
    "compiler/kernel": IR,
    "compiler/placement": IR + ["compiler/target/"],
    "compiler/lower": RUNTIME + ["compiler/dialect", "compiler/kernel", "compiler/options", "compiler/target/", "compiler/placement"],
    "compiler/lower/memory": IR + ["compiler/kernel", LOWER, "compiler/target/"],
    "compiler/lower/fuse": IR + ["compiler/kernel", LOWER, LOWER + "memory", "compiler/target/", "compiler/placement"],
    "compiler/lower/decompose": IR + ["compiler/kernel", LOWER, LOWER + "memory", LOWER + "fuse"],
    "compiler/lower/place": IR + [LOWER, "compiler/target/", "compiler/placement"],
    "compiler/lower/shard": IR + [LOWER, LOWER + "memory", LOWER + "emit"],
    "compiler/lower/emit": RUNTIME + ["compiler/dialect", "compiler/kernel", LOWER, LOWER + "memory", "compiler/target/"],
    "compiler/target": RUNTIME + ["compiler/dialect", "compiler/kernel"],
    "compiler/target/cpu": RUNTIME + ["compiler/target/", "compiler/dialect", "compiler/kernel"],
    "compiler/target/cuda": RUNTIME + ["compiler/target/", "compiler/dialect", "compiler/kernel"],
    "compiler/driver": RUNTIME + ["compiler", "passes"],
    "tools": ["runtime", "compiler", "passes"],
    "tools/process": ["runtime/base"],
}
FILES_OF_A_FOLDER = 26
INCLUDE = re.compile(r'^\s*#?\s*include\s+"([^"]+)"', re.MULTILINE)
SOURCES = (".h", ".cpp", ".cu", ".td")
LIMITS = {".h": 500, ".cpp": 500, ".cu": 500, ".td": 700, ".py": 500, ".sh": 200}
README_LINES = 60
DATA_BYTES = 14 << 20


def git_files():
    """Tracked files and new ones that are not ignored, as they are in the working tree."""
    command = ["git", "-C", dlc.ROOT, "ls-files", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\n")
    return [n for n in names if n and os.path.isfile(os.path.join(dlc.ROOT, n))]


def read(name):
    with open(os.path.join(dlc.ROOT, name), encoding="utf-8", errors="replace") as file:
        return file.read()


def within(name, room):
    """`room` as in MAY_INCLUDE."""
    if room.endswith("/"):
        return os.path.dirname(name) + "/" == room
    return name.startswith(room + "/")


def parts_of(room):
    """What is below it and has rules of its own: it may include all that it is made of."""
    return [part for part in MAY_INCLUDE if within(part + "/", room)]


def listed(readme):
    """What a README's tables and lists of files name: "Rows, Columns", "a-{b,c}.npz", "x.cpp: its program"."""
    for cell in cells(readme):
        cell = re.sub(r":? .?= .*|: .*| \([^)]*\)|`", "", cell)
        for name in re.split(r", and |, or |, | and (?![^{]*})|,(?![^{]*})", cell):
            yield from braces(name)


def cells(readme):
    """The first cells of tables whose head is "file" or the like; the items of lists below "Files:" or the like."""
    head, in_list = None, False
    for line in readme.split("\n"):
        cell = line.split("|")[1].strip() if line.startswith("|") else None
        if cell is not None and head in ("file", "folder", "library", "room", "script") and cell.strip("-:"):
            yield cell
        head = cell if head is None or cell is None else head
        in_list = bool(re.match(r"(Files|Folders|Libraries|Rooms|Scripts)\b.*:$", line)) or in_list and bool(line)
        if in_list and line.startswith("- "):
            yield line[2:]


def braces(name):
    """"a{b,c}" -> "ab", "ac"."""
    found = re.fullmatch(r"(.*)\{(.*)\}(.*)", name)
    return [found[1] + part + found[3] for part in found[2].split(",")] if found else [name]


def room_of(name):
    rooms = [room for room in MAY_INCLUDE if within(name, room)]
    return max(rooms, key=len, default=None)


class Layout(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.files = git_files()

    def expect_none(self, problems, rule):
        self.assertFalse(problems, f"{rule}:\n  " + "\n  ".join(problems))

    def test_dependency_direction(self):
        problems = []
        for name in self.files:
            room = room_of(name)
            if not name.endswith(SOURCES) or room is None:
                continue
            for target in INCLUDE.findall(read(name)):
                if "/" not in target or not target.startswith(("runtime/", "compiler/", "passes/", "tools/")):
                    continue
                if not any(within(target, allowed) for allowed in [room, *MAY_INCLUDE[room]]):
                    problems.append(f"{name} includes {target}; {room} may include {MAY_INCLUDE[room]}")
        self.expect_none(problems, "dependencies point one way")

    def test_parts_of_a_room_point_one_way(self):
        """No two folders of a room include each other, but for the room's own files, which put the parts together."""
        seen = {}
        for name in self.files:
            room = room_of(name)
            if name.endswith(SOURCES) and room is not None:
                for target in INCLUDE.findall(read(name)):
                    other = room_of(target)
                    if other and other != room and os.path.dirname(other) == os.path.dirname(room):
                        seen.setdefault((room, other), name)
        problems = [f"{one} and {two}: {seen[one, two]}, {seen[two, one]}"
                    for one, two in seen if one < two and (two, one) in seen]
        self.expect_none(problems, "dependencies point one way")

    def test_folders_are_small(self):
        count = collections.Counter(os.path.dirname(n) for n in self.files
                                    if n.startswith(("compiler/", "passes/", "runtime/", "tools/")))
        problems = [f"{folder}: {files} files, at most {FILES_OF_A_FOLDER}"
                    for folder, files in count.items() if files > FILES_OF_A_FOLDER]
        self.expect_none(problems, "rooms have rooms")

    def test_compiler_libraries_stay_in_the_compiler(self):
        pattern = re.compile(r'#include\s+[<"](mlir|llvm|lld)/|#include\s+[<"]onnx')
        problems = [n for n in self.files
                    if n.startswith("runtime/") and n.endswith(SOURCES) and pattern.search(read(n))]
        self.expect_none(problems, "the runtime knows no MLIR, LLVM or ONNX")

    def test_onnx_stays_at_the_border(self):
        pattern = re.compile(r'#include\s+[<"](onnx/)?onnx(-ml)?\.pb\.h|#include\s+[<"].*onnx-ml')
        problems = [n for n in self.files if n.endswith(SOURCES) and pattern.search(read(n))
                    and not n.startswith(("compiler/import/", "compiler/export/"))]
        self.expect_none(problems, "only import and export see ONNX's protobufs")

    def test_the_environment_is_read_in_one_place(self):
        """Launchers' variables, whose names are a table's, in the launcher; what a process left for the next there, too."""
        places = ("runtime/base/options/Environment.cpp", "runtime/collective/launch/", "runtime/collective/Launcher.cpp")
        problems = [n for n in self.files if n.startswith(("compiler/", "passes/", "runtime/", "tools/")) and n.endswith(SOURCES)
                    and not n.startswith(places) and "getenv(" in read(n)]
        self.expect_none(problems, "base/options/Environment reads the environment")

    def test_only_targets_name_devices(self):
        pattern = re.compile(r'cudnn|cublas|nvidia|\bsm_?[0-9]|\b[ahb][12]00\b|"cuda"', re.IGNORECASE)
        problems = [f"{n}:{i}: {line.strip()}" for n in self.files if n.startswith(("passes/", "compiler/lower/", "compiler/kernel/"))
                    for i, line in enumerate(read(n).split("\n"), 1) if pattern.search(line)]
        self.expect_none(problems, "passes and lower ask compiler/target")

    def test_every_room_has_a_readme(self):
        rooms = {os.path.dirname(n) for n in self.files if os.path.basename(n) == "CMakeLists.txt"
                 and n.startswith(("runtime/", "compiler/", "passes/")) and "dlc_room" in read(n)}
        rooms |= {n.split("/")[0] for n in self.files} & {"models", "passes"}
        problems = [r for r in sorted(rooms) if f"{r}/README.md" not in self.files]
        self.expect_none(problems, "every room has a README.md")

    def test_readmes_are_short(self):
        problems = [f"{n}: {read(n).count(chr(10))} lines" for n in self.files
                    if n.endswith("/README.md") and read(n).count("\n") > README_LINES]
        self.expect_none(problems, f"a README of a room has at most {README_LINES} lines")

    def test_readmes_list_what_is_there(self):
        """A name is a path from the README's folder or, without one, any file below it; its ending may be left out."""
        stems = {n: os.path.splitext(n)[0] for n in self.files}
        problems, names = [], 0
        for readme in (n for n in self.files if os.path.basename(n) == "README.md"):
            room = os.path.dirname(readme)
            below = {os.path.basename(p) for n, stem in stems.items() if not room or within(n, room) for p in (n, stem)}
            for name in listed(read(readme)):
                names += 1
                path = os.path.normpath(os.path.join(room, name))
                if name not in below and not any(path in (n, stem) or within(n, path) or fnmatch.fnmatch(n, path)
                                                 for n, stem in stems.items()):
                    problems.append(f"{readme}: {name}")
        self.assertGreater(names, 150)
        self.expect_none(problems, "a file or folder that a README's table names is there")

    def test_files_are_small(self):
        problems = []
        for name in self.files:
            limit = LIMITS.get(os.path.splitext(name)[1])
            lines = read(name).count("\n") - 1 if limit else 0  # but for the licence's line
            if limit and lines > limit:
                problems.append(f"{name}: {lines} lines, at most {limit}")
        self.expect_none(problems, "one idea a file")

    def test_license_is_named(self):
        """The first line, or the second after that of an interpreter, in every source file."""
        ends = (".cpp", ".h", ".hpp", ".td", ".proto", ".cu", ".c", ".py", ".sh", ".cmake", "CMakeLists.txt")
        problems = [name for name in self.files if name.endswith(ends)
                    and not any("SPDX-License-Identifier: Apache-2.0" in line for line in read(name).split("\n", 2)[:2])]
        self.expect_none(problems, "every source names its licence")

    def test_data_is_small(self):
        size = sum(os.path.getsize(os.path.join(dlc.ROOT, n)) for n in self.files
                   if n.startswith(("models/", "test/")) and not n.endswith((*LIMITS, ".mlir")))
        self.assertLessEqual(size, DATA_BYTES)

    def test_no_machine_paths(self):
        """Nothing names a computer's folders: text and models alike."""
        pattern = re.compile(rb"/(work|root|home)/[A-Za-z]")
        problems = []
        for name in self.files:
            with open(os.path.join(dlc.ROOT, name), "rb") as file:
                found = pattern.search(file.read())
            if found and not name.endswith(("layout/dependencies_test.py", ".npz")):
                problems.append(f"{name}: {found.group().decode()}")
        self.expect_none(problems, "no paths of a machine")


class Linked(unittest.TestCase):
    """What the runtime library brings along."""

    @classmethod
    def setUpClass(cls):
        folder = os.path.join(dlc.BUILD, "lib")
        present = os.listdir(folder) if os.path.isdir(folder) else []
        names = [n for n in present if re.fullmatch(r"libdlc\w*\.so(\.\d+)*", n)]
        cls.libraries = [os.path.join(folder, n) for n in names]

    def test_there_is_one(self):
        self.assertTrue(self.libraries, f"no libdlc*.so in {dlc.BUILD}/lib")

    def test_links_no_compiler(self):
        for library in self.libraries:
            with self.subTest(library):
                out = subprocess.run(["ldd", library], capture_output=True, text=True, check=True).stdout
                self.assertNotRegex(out, r"(?i)llvm|mlir|onnx")
                self.assertNotIn("not found", out)

    def test_is_small(self):
        for library in self.libraries:
            with self.subTest(library):
                self.assertLess(os.path.getsize(library), 20 << 20)


if __name__ == "__main__":
    dlc.main()
