# SPDX-License-Identifier: Apache-2.0
"""docs/operators.md says of each ONNX operator how it is imported, and what its node cases and gradient cases are.

    operators_page_test.py --write     writes the page again
"""

import os
import sys
import unittest
from collections import defaultdict

import onnx

sys.path.insert(0, os.path.dirname(__file__))
import conformance_test
import dlc
from contrib_cases import CASES as CONTRIB_CASES
from gradient_cases import CASES
from prose import wrapped
from support import IMPORT, run

PAGE = os.path.join(dlc.ROOT, "docs", "operators.md")
HOW = {"row": "yes", "form": "as others", "folded": "known values", "no": "no"}
HEAD = """# ONNX's operators

How dlc imports each operator of opset {opset}, the newest that it reads; the importer upgrades older versions of an
operator to the newest one. test/import/operators_page_test.py generates this page from the importer's tables and from
the lists that the importer's tests check.

- *Imported*: **yes**; **as others**: the operator is rewritten to other operators; **known values**: only where all
  inputs are constants when the model is compiled; **no**: a model with the operator is refused by the operator's name.
- *Node cases*: how many of ONNX's own test cases of the operator give ONNX's results, and why dlc refuses the other
  cases (test/import/refused.txt).
- *Gradient cases*: how many test cases compare the operator's gradient with PyTorch's and with finite differences
  (test/import/gradient_cases.py). An operator that is a single dlc op has its cases in test/ops.

`dlc check MODEL.onnx` reports the same for one model, with its trainable parameters.

| operator | imported | node cases | gradient cases |
|---|---|---|---|
"""
FOOT = """Operators of com.microsoft whose results are compared with ONNX Runtime's (test/import/contrib_cases.py): {contrib}.
Operators of other domains need a function body in the model or a library (`--op-library`). ai.dlc.StopGradient is dlc's
own ([why](guide/losses.md)).
"""
CONTRIB = sorted({case.op for case in CONTRIB_CASES.values()} | {"BiasDropout", "NhwcConv", "NhwcFusedConv",
                                                                 "QuantizeLinear", "DequantizeLinear", "SimplifiedLayerNormalization"})


def imported(names):
    code, text, err = run(IMPORT, "--operators=" + ",".join(names))
    assert code == 0, err
    return dict(line.split(" ") for line in text.splitlines())


def reasons(refused):
    counts = defaultdict(int)
    for name in refused:
        counts[conformance_test.listed()[name].split(":")[0]] += 1
    return ", ".join(f"{n} {reason}" for reason, n in sorted(counts.items()))


def page():
    names = sorted({".".join(filter(None, [s.domain, s.name])) for s in onnx.defs.get_all_schemas()
                    if s.domain == "" or s.domain.startswith("ai.onnx.preview")})
    how = imported(names)
    refused, cases = conformance_test.listed(), defaultdict(list)
    for case in conformance_test.load():
        operators = {".".join(filter(None, [n.domain, n.op_type])) for n in case.model.graph.node}
        if len(operators) == 1:
            cases[operators.pop()].append(case.name)
    gradients = defaultdict(int)
    for case in CASES.values():
        for op in {".".join(filter(None, [n.domain, n.op_type])) for n in case.nodes}:
            gradients[op] += 1
    lines = []
    for name in names:
        bad = [c for c in cases[name] if c in refused]
        passed = f"{len(cases[name]) - len(bad)} of {len(cases[name])}" + (f" ({reasons(bad)})" if bad else "")
        lines.append(f"| {name} | {HOW[how[name]]} | {passed if cases[name] else ''} | {gradients[name] or ''} |\n")
    contrib = [n for n, h in imported(["com.microsoft." + n for n in CONTRIB]).items() if h != "no"]
    return (HEAD.format(opset=onnx.defs.onnx_opset_version()) + "".join(lines)
            + "\n" + wrapped(FOOT.format(contrib=", ".join(n.split(".")[-1] for n in contrib))) + "\n")


class Page(unittest.TestCase):
    def test_is_fresh(self):
        with open(PAGE, encoding="utf-8") as file:
            self.assertEqual(file.read(), page(), "run test/import/operators_page_test.py --write")

    def test_knows_what_is_there(self):
        self.assertEqual(list(imported(["Conv", "Gelu", "com.microsoft.BiasGelu", "StringConcat"]).values()),
                         ["row", imported(["Gelu"])["Gelu"], "form", "no"])


if __name__ == "__main__":
    if "--write" in sys.argv:
        with open(PAGE, "w", encoding="utf-8") as out:
            out.write(page())
    else:
        dlc.main()
