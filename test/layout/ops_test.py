# SPDX-License-Identifier: Apache-2.0
"""docs/ops.md, the reference of all ops, equals what this file generates from the .td files.

Every op has an example, which dlc-opt parses and verifies. To regenerate the page:

    PYTHONPATH=test/support .venv/bin/python test/layout/ops_test.py --write
"""

import glob
import json
import os
import re
import subprocess
import sys
import unittest

import dlc
from prose import wrapped

PAGE = os.path.join(dlc.ROOT, "docs", "ops.md")
DIALECT = os.path.join(dlc.ROOT, "compiler", "dialect")
FILES = "DlcOps", "ops/Recurrence", "ops/Custom", "ops/LibraryNorm", "ops/JointAttention", "ops/Epilogues", "ops/Split", "host/HostMemory", "float8/Float8", "ExecOps"
HEAD = """# The ops

All operations of the compiler's IR: first the `dlc` dialect, which computes on tensors, then the `exec` dialect, whose
ops are commands on buffers. test/layout/ops_test.py generates this page from the .td files of compiler/dialect and
parses every example. (C1), (C2), ... are the constraints that the verifier checks; test/dialect has a case for each.
Element type *any* is f16, bf16, f32, f64, i1, i8, i32 or i64; *float* is one of the first four.
"""
KINDS = {"Dlc_Tensor": "any", "Dlc_Float": "float", "Dlc_Bool": "i1", "Dlc_Index": "i64", "AnyMemRef": "buffer"}
# Symbols that examples use without a definition.
DLC_STATE = 'dlc.state @w : tensor<2x3xf32> param init = "w" trainable\n'
EXEC_REGION = """exec.region @param "state" bytes = 128
exec.region @scratch "scratch" bytes = 1024
exec.region @host "host" bytes = 64
"""
EXEC_KERNEL = """exec.kernel @exp {
^bb0(%x: tensor<4x4xf32>):
  dlc.yield %x : tensor<4x4xf32>
}
"""


def tool(name):
    with open(os.path.join(dlc.BUILD, "test", "lit.site.cfg.py")) as f:
        return os.path.join(re.search(r'llvm_tools = "(.*)"', f.read()).group(1), name)


class Records:
    """The records of one .td file."""

    def __init__(self, name):
        command = [tool("llvm-tblgen"), "--dump-json", "-I", DIALECT, "-I", os.path.join(tool(".."), "include"),
                   os.path.join(DIALECT, name + ".td")]
        self.all = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)

    def ops(self):
        """The ops, in the order of the files."""
        ops = [r for r in self.all.values() if isinstance(r, dict) and "Op" in r.get("!superclasses", [])
               and r.get("opName")]
        return sorted(ops, key=lambda r: (self.file(r), int(r["!locs"][-1].split(":")[1])))

    @staticmethod
    def file(op):
        return os.path.basename(op["!locs"][-1].split(":")[0])

    def get(self, reference):
        return self.all[reference["def"]]

    def operand(self, reference):
        record = self.get(reference)
        base, note = record, ""
        for wrapper, text in ("Optional", ", optional"), ("Variadic", ", any number"):
            if wrapper in record["!superclasses"]:
                base, note = self.get(record["baseType"]), text
        kind = KINDS.get(base["!name"]) or re.sub(r".* of (\d+)-bit (float)?.*", lambda m: "if"[bool(m[2])] + m[1], base["summary"])
        return kind + note

    def attribute(self, reference):
        record = self.get(reference)
        base = self.get(record["baseAttr"]) if record.get("baseAttr") else record
        text = re.sub(r" attribute.*", "", base["summary"])
        if base["!name"] == "UnitAttr":
            return "flag"
        if record.get("isOptional"):
            return text + ", optional"
        default = (record.get("defaultValue") or "").removeprefix("::dlc::ir::")  # of an enum
        return text + (f", default `{default}`" if default else "")

    def is_attribute(self, reference):
        return "Attr" in self.get(reference)["!superclasses"]


def group(pairs):
    """"`a`, `b`: float" of names of one kind that follow each other."""
    parts = []
    for name, kind in pairs:
        if parts and parts[-1][1] == kind:
            parts[-1][0].append(name)
        else:
            parts.append(([name], kind))
    return "; ".join(", ".join(f"`{n}`" for n in names) + f": {kind}" for names, kind in parts)


def plain(text):
    return " ".join(text.split())


def unindented(text):
    lines = text.strip("\n").split("\n")
    first = len(lines[0]) - len(lines[0].lstrip())
    return "\n".join(line[first:] if line[:first].isspace() or not first else line for line in lines).rstrip()


def entry(records, op):
    arguments = [(name, reference) for reference, name in op["arguments"]["args"]]
    operands = [(n, records.operand(r)) for n, r in arguments if not records.is_attribute(r)]
    attributes = [(n, records.attribute(r)) for n, r in arguments if records.is_attribute(r)]
    results = [(n, records.operand(r)) for r, n in op["results"]["args"]]
    text = f"### {full_name(records, op)}\n{wrapped(plain(op['summary']))}\n```mlir\n{unindented(op['example'])}\n```\n"
    if op.get("shapes"):
        text += wrapped(f"- shapes: {plain(op['shapes'])}", "  ") + "\n"
    for title, pairs in ("operands", operands), ("results", results), ("attributes", attributes):
        if pairs:
            text += wrapped(f"- {title} {group(pairs)}", "  ") + "\n"
    about, *constraints = re.split(r"(?=\(C\d+\) )", plain(op["description"]))
    if about:
        text += f"\n{wrapped(about.rstrip(' ;.') + '.')}\n"
    for number, each in sorted((int(re.match(r"\(C(\d+)", c)[1]), c) for c in constraints):
        text += ("\n" if each == constraints[0] else "") + wrapped(f"- {each.rstrip(' ;.')}", "  ") + "\n"
    return text + "\n"


def full_name(records, op):
    return records.get(op["opDialect"])["name"] + "." + op["opName"]


def heading(file):
    """The comment at the head of the .td file."""
    path, = glob.glob(os.path.join(DIALECT, "**", file), recursive=True)
    with open(path) as f:
        lines = []
        for line in f:
            if line.startswith("// SPDX-"):
                continue
            if not line.startswith("//"):
                break
            lines.append(line[2:].strip())
    return f"## {file.removesuffix('.td')}\n{wrapped(' '.join(lines))}\n\n"


def page(all_records):
    text, last = HEAD, None
    for records in all_records:
        for op in records.ops():
            if records.file(op) != last:
                last = records.file(op)
                text += "\n" + heading(last)
            text += entry(records, op)
    return text


def used(example):
    """Values that an example uses but does not define, with their types."""
    flat = example.split("{\n^bb0")[0] if "{\n^bb0" in example else example
    made = set(re.findall(r"(%\w+)(?=[^=\n]* = )", flat.split("\n")[0])) if re.match(r"%", flat) else set()
    right = flat.split(" = ", 1)[1] if made else flat
    names = re.findall(r"%\w+", right)
    types = re.findall(r"(?:tensor|memref)<[^>]*>", right.split("->")[0])
    return dict(zip(names, types))


def program(name, example):
    """A module that contains the example."""
    if name.startswith("dlc."):
        if name == "dlc.state":
            return example
        arguments = ", ".join(f"{n}: {t}" for n, t in used(example).items())
        return f"{DLC_STATE}func.func @f({arguments}) {{\n{example}\nreturn\n}}\n"
    if example.startswith(("exec.region", "exec.kernel", "exec.state", "exec.program")):
        return (EXEC_REGION if name != "exec.region" else "") + example
    made = set(re.findall(r"^(%\w+) = ", example))
    buffers = "".join(f"{n} = exec.buffer @{'host' if n == '%h' else 'scratch'} at 0 : {t}\n"
                      for n, t in used(example).items() if n not in made)
    return f"{EXEC_REGION}{EXEC_KERNEL}exec.program @f scratch = 64 {{\n{buffers}{example}\n}}\n"


class Ops(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.records = [Records(name) for name in FILES]
        cls.ops = {full_name(r, op): op for r in cls.records for op in r.ops()}

    def test_page_is_fresh(self):
        with open(PAGE) as f:
            self.assertEqual(f.read(), page(self.records), "run test/layout/ops_test.py --write")

    def test_all_ops_are_there(self):
        self.assertGreater(len(self.ops), 95)
        for name in "dlc.conv", "dlc.fused_layer_norm", "dlc.matmul_activation", "exec.launch":
            self.assertIn(name, self.ops)

    def test_ops_on_tensors_say_their_shapes(self):
        """The shapes of an op name each operand and result, or apply to all."""
        for name, op in self.ops.items():
            if not name.startswith("dlc.") or name == "dlc.state":
                continue
            self.assertTrue(op["shapes"], name)
            if re.search(r"\b(all|others?|any|as|scalar)\b", op["shapes"]):
                continue
            records = next(r for r in self.records if op["!name"] in r.all)
            named = [n for r, n in op["arguments"]["args"] if not records.is_attribute(r)]
            for value in named + [n for _, n in op["results"]["args"]]:
                self.assertRegex(op["shapes"], rf"\b{value}\b", name)

    def test_examples_are_programs(self):
        parts = []
        for name, op in self.ops.items():
            example = unindented(op["example"])
            self.assertIn(name + " ", example.replace("(", " ").replace("\n", " "), f"{name} has no example of itself")
            parts.append(program(name, example))
        done = subprocess.run([os.path.join(dlc.BUILD, "bin", "dlc-opt"), "--split-input-file"],
                              input="\n// -----\n".join(parts), capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        for name in self.ops:
            self.assertRegex(done.stdout, re.escape(name) + r"\b")


if __name__ == "__main__":
    if "--write" in sys.argv:
        with open(PAGE, "w") as f:
            f.write(page([Records(name) for name in FILES]))
    else:
        dlc.main()
