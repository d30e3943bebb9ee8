# SPDX-License-Identifier: Apache-2.0
"""The laws of both dialects stand three times: in the .td (labels C1, C2, ...), in the C++ checks, in cases of this folder.

The .td is read as mlir-tblgen resolves it, so that laws which a class states hold for all its ops. The C++ side of an op is
its inference function and its verifiers with all functions of the room that they call. Ops with one text of laws share
their cases."""

import glob
import os
import re
import subprocess
import unittest

import dlc

DIALECT = os.path.join(dlc.ROOT, "compiler", "dialect")
CASES = os.path.dirname(os.path.abspath(__file__))

# A dialect's .td files and the C++ files that are its own; all others are of dlc.
FAMILIES = {"dlc": ("DlcOps", "ops/Recurrence", "ops/Custom", "ops/LibraryNorm", "ops/JointAttention", "ops/Epilogues", "ops/Split", "host/HostMemory", "float8/Float8"), "exec": ("ExecOps",)}
EXEC = {"Exec.cpp", "Schedule.cpp", "Threads.cpp"}
# Checks of an op beside those of its class.
CHECKS_TOO = {"exec.kernel": ["ScheduleAttr::verify", "ThreadsAttr::verify"]}
# What has checks without labels. It can only shrink.
WITHOUT_LABELS = set()
# Ops that no case prints and reads back. It can only shrink.
WITHOUT_ROUNDTRIP = set()

LABEL = re.compile(r"\((C\d+)\)")
FUNCTION = re.compile(r"^[\w:<>&,*\[\] ]+?\s((?:\w+::)?\w+)\(((?:[^(){};]|\([^()]*\))*)\)\s*(?:const )?\{(?: ([^\n]*) \}$|$(.*?)^\})",
                      re.M | re.S)
EMIT = re.compile(r"(?<!parser\.)emit(?:OptionalError|OpError|Error)\(")


def records():
    """Of each op of the dialect: its class in C++, its description, the text of its C++ definitions."""
    with open(os.path.join(dlc.BUILD, "test", "lit.site.cfg.py")) as f:
        tools = re.search(r'llvm_tools = "(.*)"', f.read()).group(1)
    ops = {}
    for dialect, family in ((d, f) for d, families in FAMILIES.items() for f in families):
        text = subprocess.run([os.path.join(tools, "mlir-tblgen"), "-print-records", "-I", DIALECT, "-I",
                               os.path.join(tools, "..", "include"), os.path.join(DIALECT, family + ".td")],
                              check=True, capture_output=True, text=True).stdout
        for record in re.split(r"^def ", text, flags=re.M)[1:]:
            if match := re.match(rf"{dialect.capitalize()}_(\w+Op) ", record):
                fields = {key: code or quoted for key, code, quoted in
                          re.findall(r'^  (?:string|code) (\w+) = (?:\[\{(.*?)\}\]|"(.*?)");$', record, re.M | re.S)}
                ops[f'{dialect}.{fields["opName"]}'] = (match[1], fields.get("description", ""), fields.get("extraClassDefinition", ""))
    return ops


def sources():
    return [p for ending in ("cpp", "h") for p in glob.glob(os.path.join(DIALECT, "**", "*." + ending), recursive=True)]


def functions(dialect):
    """Bodies by name; a method has its class in front."""
    found = {}
    for path in sources():
        if (os.path.basename(path) in EXEC) != (dialect == "exec"):
            continue
        with open(path) as f:
            for name, _, line, body in FUNCTION.findall(f.read()):
                found[name] = found.get(name, "") + line + body
    return found


def reached(entries, bodies):
    """The text of the functions `entries` and of all that they call."""
    known, todo = {}, [e for e in entries if e in bodies]
    while todo:
        name = todo.pop()
        if name in known:
            continue
        known[name] = bodies[name]
        todo += [call for call in re.findall(r"\b(\w+)\(", bodies[name]) if call in bodies]
    return "\n".join(known.values())


def cases():
    """Labels that are expected of each op in invalid programs."""
    found = {}
    for path in glob.glob(os.path.join(CASES, "*-invalid.mlir")):
        with open(path) as f:
            for label, op in re.findall(r"expected-error @\+1 \{\{\((C\d+)\).*\n.*?\b((?:dlc|exec)\.(?!schedule<|threads<)\w+)", f.read()):
                found.setdefault(op, set()).add(label)
    return found


class Laws(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.ops, cls.cases = records(), cases()
        cls.bodies = {dialect: functions(dialect) for dialect in FAMILIES}

    def laws(self, op):
        return set(LABEL.findall(self.ops[op][1]))

    def test_all_is_seen(self):
        self.assertGreater(len(self.ops), 95)
        self.assertEqual(self.laws("dlc.conv"), {f"C{i}" for i in (*range(1, 9), 10)})
        self.assertIn("ConvOp::countFlops", self.bodies["dlc"])
        self.assertIn("convShape", self.bodies["dlc"])
        self.assertIn("verifyPlace", self.bodies["exec"])

    def test_labels_are_numbered_from_one(self):
        for op in self.ops:
            numbers = sorted(int(label[1:]) for label in self.laws(op))
            self.assertEqual(numbers[:1], [1] * bool(numbers), op)
            self.assertLessEqual(max(numbers, default=0), len(numbers) + 1, f"{op}: a gradient may lack its op's bias")

    def test_laws_are_checked(self):
        for op, (name, _, definition) in self.ops.items():
            entries = re.findall(r"return (\w+)\(location", definition) + [f"{name}::verify", f"{name}::verifySymbolUses"]
            text = reached(entries + CHECKS_TOO.get(op, []), self.bodies[op.split(".")[0]])
            self.assertEqual(set(LABEL.findall(text)), self.laws(op), f"{op}: labels in C++, then in the .td")

    def test_checks_have_labels(self):
        without = set()
        for path in sources():
            with open(path) as f:
                text = f.read()
            for match in EMIT.finditer(text):
                message = text[match.end():].split(";")[0]
                if not re.match(r'\s*(loc,\s*|\)\s*<<\s*)?(law\b|"\(C\d+\))', message):
                    without.add(os.path.basename(path))
        self.assertEqual(without, WITHOUT_LABELS)

    def test_laws_have_cases(self):
        families = {}
        for op, (_, description, _) in self.ops.items():
            if self.laws(op):
                families.setdefault(description, set()).add(op)
        for ops in families.values():
            seen = set().union(*(self.cases.get(op, set()) for op in ops))
            self.assertEqual(seen, self.laws(min(ops)), f"cases of {sorted(ops)}, then their laws")

    def test_every_op_is_read_back(self):
        text = ""
        for path in glob.glob(os.path.join(CASES, "*.mlir")):
            if not path.endswith("-invalid.mlir"):
                with open(path) as f:
                    text += f.read()
        missing = set(self.ops) - set(re.findall(r"\b(?:dlc|exec)\.\w+", text))
        self.assertEqual(missing, WITHOUT_ROUNDTRIP)


if __name__ == "__main__":
    dlc.main()
