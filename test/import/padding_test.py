# SPDX-License-Identifier: Apache-2.0
"""Rows of embedding tables that get no gradient: by torch's notes, by --padding-idx, and a hint where neither says it."""

import os
import sys

import numpy as np

sys.path.insert(0, os.path.dirname(__file__))
import dlc
import onnx
from support import IMPORT, model, node, run, value

random = np.random.RandomState(0)


class Padding(dlc.TestCase):
    def read(self, notes=None, table=None, flags=(), between=(), axis=0, code=0):
        """What dlc-import prints of an embedding of 5 rows, and a tied head."""
        table = random.randn(5, 8).astype(np.float32) if table is None else table
        name = between[-1].output[0] if between else "tok:table"
        lookup = node("Gather", [name, "i"], ["p"], name="lookup", axis=axis)
        if notes is not None:
            lookup.metadata_props.add(key="pkg.torch.onnx.fx_node", value="%p : [num_users=1] = call_function[target="
                                      f"torch.ops.aten.embedding.default](args = (%p_tok, %i{notes}), kwargs = {{}})")
        nodes = [*between, lookup, node("Transpose", ["tok:table"], ["t"]),
                 node("MatMul", ["p", "t"] if axis == 0 else ["t", "p"], ["y"])]
        proto = model(nodes, [value("i", [4], 7)], [value("y", [4, 5] if axis == 0 else [8, 4])], {"tok:table": table})
        onnx.save(proto, self.path("m.onnx"))
        status, self.text, self.errors = run(IMPORT, self.path("m.onnx"), *flags)
        self.assertEqual(status, code, self.errors)
        return self.text.count(" padding = 2 : i64"), self.text.count(" padding = ")

    def test_notes_name_the_row(self):
        self.assertEqual(self.read(", 2"), (1, 1))
        self.assertEqual(self.read(", 2, False, True"), (1, 1))
        self.assertNotIn("warning", self.errors)

    def test_notes_without_a_row_or_that_lie(self):
        for notes in "", ", -1", ", 5", ", 99999999999999999999", ", x", ", %p_tok", ", ":
            self.assertEqual(self.read(notes), (0, 0), notes)

    def test_scaling_by_frequency_is_named(self):
        self.read(", -1, True")
        self.assertRegex(self.errors, "warning: .*scale_grad_by_freq.* 'tok:table'")
        self.read(", -1, False, True")
        self.assertNotIn("scale_grad_by_freq", self.errors)

    def test_option(self):
        self.assertEqual(self.read(flags=["--padding-idx=tok:table:2"]), (1, 1))
        self.assertEqual(self.read(", 1", flags=["--padding-idx=tok:table:2"]), (1, 1), "the option wins")
        between = [node("Identity", ["tok:table"], ["same"])]
        self.assertEqual(self.read(flags=["--padding-idx=tok:table:2"], between=between), (1, 1))

    def refuse(self, flag, message, **options):
        self.read(flags=[f"--padding-idx={flag}"], code=dlc.USAGE, **options)
        self.assertRegex(self.errors, f"error: --padding-idx={flag}: {message}")

    def test_options_that_do_not_fit(self):
        self.refuse("tok:tabel:2", "the model has no initializer 'tok:tabel'; did you mean 'tok:table'")
        self.refuse("tok:table:5", "'tok:table' has rows 0 to 4")
        self.refuse("tok:table:1", "no Gather looks up rows of 'tok:table'", axis=1)

    def test_malformed_options(self):
        for word in "tok", "tok:", ":1", "tok:x", "tok:-1", "tok:1.5", "tok:99999999999999999999":
            self.read()
            out, err = dlc.dlc("compile", self.path("m.onnx"), f"--padding-idx={word}", "-o", self.path("m.dlc"), code=dlc.USAGE)
            self.assertIn(f"--padding-idx: expected PARAM:ROW with a ROW of 0 or more, found '{word}'", err)

    def test_a_row_of_zeros_is_a_hint(self):
        table = random.randn(5, 8).astype(np.float32)
        table[2] = 0
        self.assertEqual(self.read(table=table), (0, 0))
        self.assertRegex(self.errors, "warning: a row of zeros in an embedding table, .* compile with '--padding-idx=tok:table:2'")
        for flags, notes in ([], ""), (["--padding-idx=tok:table:2"], None), (["--freeze=table"], None):
            self.read(notes, table, flags)
            self.assertNotIn("row of zeros", self.errors)
        table[1] = 0
        self.read(table=table)
        self.assertNotIn("row of zeros", self.errors)


if __name__ == "__main__":
    dlc.main()
