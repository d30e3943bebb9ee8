# SPDX-License-Identifier: Apache-2.0
"""tools/figures.py counts right, and no figure is worse than the bound that it has reached."""

import importlib.util
import os
import unittest

import dlc

SPEC = importlib.util.spec_from_file_location("figures", os.path.join(dlc.ROOT, "tools", "figures.py"))
FIGURES = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(FIGURES)

MOST = {
    "product lines": 156_102,
    "lines of runtime/data": 8_272,
    "files that know shards": 15,
    "file names in two rooms": 13,
    "files of compiler/ that include passes/ or tools/": 3,
    "words of README.md": 700,
}


class Figures(unittest.TestCase):
    def test_counts(self):
        found = FIGURES.figures({
            "README.md": "two words",
            "compiler/driver/A.cpp": '// SPDX-License-Identifier: Apache-2.0\n#include "passes/Passes.h"\nShardOf x;\n',
            "passes/A.cpp": "int a;\n",
            "runtime/data/B.h": "int b;\nint c;\n",
            "test/C.cpp": "int d;\n",
        })
        self.assertEqual(found["product lines"], 5)
        self.assertEqual(found["lines of the core"], 3)
        self.assertEqual(found["lines of runtime/data"], 2)
        self.assertEqual(found["files that know shards"], 1)
        self.assertEqual(found["file names in two rooms"], 1)
        self.assertEqual(found["files of compiler/ that include passes/ or tools/"], 1)
        self.assertEqual(found["words of README.md"], 2)

    def test_bounds(self):
        found = FIGURES.figures(FIGURES.read_all(""))
        worse = [f"{name}: {found[name]}, at most {most}" for name, most in MOST.items() if found[name] > most]
        self.assertFalse(worse, "\n".join(worse))


if __name__ == "__main__":
    dlc.main()
