"""The laws of the dlc dialect stand three times: in the .td (labels C1, C2, ...), in the C++ checks, in cases of this folder.

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

# What has checks without labels. It can only shrink.
WITHOUT_LABELS = {"Exec.cpp"}
# Ops that no case prints and reads back. It can only shrink.
WITHOUT_ROUNDTRIP = set()

LABEL = re.compile(r"\((C\d+)\)")
FUNCTION = re.compile(r"^[\w:<>&,*\[\] ]+?\s((?:\w+::)?\w+)\(((?:[^(){};]|\([^()]*\))*)\)\s*(?:const )?\{(?: ([^\n]*) \}$|$(.*?)^\})",
                      re.M | re.S)
EMIT = re.compile(r"emit(?:OptionalError|OpError)\(")


def records():
    """Of each op of the dialect: its class in C++, its description, the text of its C++ definitions."""
    with open(os.path.join(dlc.BUILD, "test", "lit.site.cfg.py")) as f:
        tools = re.search(r'llvm_tools = "(.*)"', f.read()).group(1)
    ops = {}
    for family in "DlcOps", "LibraryNorm", "Epilogues":
        text = subprocess.run([os.path.join(tools, "mlir-tblgen"), "-print-records", "-I", DIALECT, "-I",
                               os.path.join(tools, "..", "include"), os.path.join(DIALECT, family + ".td")],
                              check=True, capture_output=True, text=True).stdout
        for record in re.split(r"^def ", text, flags=re.M)[1:]:
            if match := re.match(r"Dlc_(\w+Op) ", record):
                fields = {key: code or quoted for key, code, quoted in
                          re.findall(r'^  (?:string|code) (\w+) = (?:\[\{(.*?)\}\]|"(.*?)");$', record, re.M | re.S)}
                ops[fields["opName"]] = (match[1], fields.get("description", ""), fields.get("extraClassDefinition", ""))
    return ops


def functions():
    """Bodies by name; a method has its class in front."""
    found = {}
    for path in glob.glob(os.path.join(DIALECT, "*.cpp")) + glob.glob(os.path.join(DIALECT, "*.h")):
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
            for label, op in re.findall(r"expected-error @\+1 \{\{\((C\d+)\).*\n.*?\bdlc\.(\w+)", f.read()):
                found.setdefault(op, set()).add(label)
    return found


class Laws(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.ops, cls.bodies, cls.cases = records(), functions(), cases()

    def laws(self, op):
        return set(LABEL.findall(self.ops[op][1]))

    def test_all_is_seen(self):
        self.assertGreater(len(self.ops), 85)
        self.assertEqual(self.laws("conv"), {f"C{i}" for i in range(1, 9)})
        self.assertIn("ConvOp::countFlops", self.bodies)
        self.assertIn("convShape", self.bodies)

    def test_labels_are_numbered_from_one(self):
        for op in self.ops:
            numbers = sorted(int(label[1:]) for label in self.laws(op))
            self.assertEqual(numbers[:1], [1] * bool(numbers), op)
            self.assertLessEqual(max(numbers, default=0), len(numbers) + 1, f"dlc.{op}: a gradient may lack its op's bias")

    def test_laws_are_checked(self):
        for op, (name, _, definition) in self.ops.items():
            entries = re.findall(r"return (\w+)\(location", definition) + [f"{name}::verify", f"{name}::verifySymbolUses"]
            text = reached(entries, self.bodies)
            self.assertEqual(set(LABEL.findall(text)), self.laws(op), f"dlc.{op}: labels in C++, then in the .td")

    def test_checks_have_labels(self):
        without = set()
        for path in glob.glob(os.path.join(DIALECT, "*.cpp")) + glob.glob(os.path.join(DIALECT, "*.h")):
            with open(path) as f:
                text = f.read()
            for match in EMIT.finditer(text):
                message = text[match.end():].split(";")[0]
                if not re.match(r'\s*(loc,\s*)?(law\b|"\(C\d+\))', message):
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
        missing = set(self.ops) - set(re.findall(r"\bdlc\.(\w+)", text))
        self.assertEqual(missing, WITHOUT_ROUNDTRIP)


if __name__ == "__main__":
    dlc.main()
