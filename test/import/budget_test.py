# SPDX-License-Identifier: Apache-2.0
"""Small files that stand for much: refused, or taken, within the seconds and bytes that their own size explains."""

import os
import re
import resource
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(__file__))
import bombs
import dlc
from support import IMPORT

SECONDS = 2  # of CPU, on a quiet machine; a busy one spends more on the same work
BUSY = 5
MEMORY = 512 << 20


class Budget(dlc.TestCase):
    def measure(self, words):
        """Exit code and messages; fails past the limits."""
        def limit():
            resource.setrlimit(resource.RLIMIT_CPU, (10 * SECONDS, 10 * SECONDS))
        with tempfile.TemporaryFile("w+") as messages:
            child = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=messages, preexec_fn=limit)
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
            messages.seek(0)
            err = messages.read()
        self.assertLess(usage.ru_utime + usage.ru_stime, BUSY * SECONDS, err[-300:])
        self.assertLess(usage.ru_maxrss << 10, MEMORY, err[-300:])
        return child.returncode, err

    def write(self, proto):
        content = proto if isinstance(proto, bytes) else proto.SerializeToString()
        self.assertLess(len(content), 2 << 20)
        with open(self.path("m.onnx"), "wb") as file:
            file.write(content)
        return self.path("m.onnx")

    def refuse(self, proto, message):
        code, err = self.measure([IMPORT, self.write(proto), "--quiet"])
        self.assertEqual(code, dlc.BAD_MODEL, err)
        self.assertRegex(err, message)

    def accept(self, proto):
        code, err = self.measure([IMPORT, self.write(proto), "--quiet"])
        self.assertEqual(code, dlc.OK, err)

    def test_folding(self):
        for proto, message in [
            (bombs.cast_like(), r'"CastLike -> k\d+".*folding a value of shape \[8388608\] needs 67108864 bytes'),
            (bombs.big_chain("Neg"), "takes 8388608 steps, .* left of the import's budget"),
            (bombs.big_chain("Cast", to=1), "left of the import's budget"),
            (bombs.empty_concats(), "Concat takes"),
            (bombs.long_axes(), "to rank 8388608, expected at most 8"),
            (bombs.gathers(), "--import-budget=SIZE raises it"),
            (bombs.masks(), "left of the import's budget"),
        ]:
            with self.subTest(message):
                self.refuse(proto, message)
        self.accept(bombs.empty_concat())
        self.accept(bombs.big_chain("Identity", 20000))

    def test_names(self):
        self.accept(bombs.branches_of_one_name())

    def test_split(self):
        self.refuse(bombs.split_outputs(), "9223372036854775807 parts for 2 outputs")
        self.refuse(bombs.folded_split_outputs(), "9223372036854775807 parts for 2 outputs")
        self.refuse(bombs.sequences(), "splitting a tensor needs")
        for op in "SequenceInsert", "Identity":
            self.refuse(bombs.inserts(op), "a sequence of tensors needs .* left of the import's budget")

    def test_copies(self):
        self.refuse(bombs.identities(), r"parting '.*' from '.*', .* needs .* import's budget")
        self.refuse(bombs.norms_of_one_splat(), r"parting '.*' from '.*', .* needs .* import's budget")
        self.accept(bombs.one_name())
        self.refuse(bombs.shared_external(self.folder), "'t258', whose bytes in 'data.bin' other tensors have, too")

    def test_functions(self):
        for proto in bombs.functions(8, 30), bombs.functions(2, 30), bombs.heavy_function():
            self.refuse(proto, "inlining function 'f::.*' needs .* --import-budget=SIZE")
        self.accept(bombs.functions(1, 60))

    def test_what_notes_and_names_say_costs_no_more_than_they_are_long(self):
        for proto in (bombs.noted_concat(), bombs.read_often("mean", "Sum"), bombs.read_often("freqs", "Concat", axis=0),
                      bombs.one_operand(), bombs.ways_of_a_number(), bombs.folded_twice(), bombs.nearly_zeros(),
                      bombs.second_calls()):
            with self.subTest(proto.graph.node[0].op_type, inputs=len(proto.graph.node[0].input)):
                self.accept(proto)
        self.refuse(bombs.sum_of_dimensions(), "bind it with --dim a0=N --dim a1=N")

    def test_iterations_without_nodes(self):
        for op in "Loop", "Scan":
            with self.subTest(op):
                self.refuse(bombs.empty_iterations(op), "expanding 'y' needs .* left of the import's budget")

    def test_empty_messages(self):
        for proto, message in [
            (bombs.repeated(1), "no outputs"), (bombs.repeated(5), "an initializer has no name"),
            (bombs.empty_attributes(), "attribute '' is not one"),
            (bombs.empty_tensors(), "attribute 't' is not one"),
        ]:
            self.refuse(proto, message)

    def test_long_lists(self):
        self.accept(bombs.many_ints())
        self.accept(bombs.many_inputs())
        self.accept(bombs.one_node_of_many())
        self.accept(bombs.one_node_of_many("Concat"))

    def test_long_names(self):
        self.refuse(bombs.long_name(), r"the name of an initializer, 'w+\.\.\.', has 1000000 bytes, expected at most 1000")
        self.refuse(bombs.long_names(), r"the name of a node, 'n+\.\.\.', has 100001 bytes")

    def test_users_can_allow_more(self):
        words = [os.path.join(dlc.BUILD, "bin", "dlc"), "compile", self.write(bombs.functions(2, 5)), "-o",
                 self.path("m.dlc"), "--batch=2"]
        for size, found in ("1kB", "inlining function"), ("1GiB", "no trainable parameter"):
            code, err = self.measure([*words, f"--import-budget={size}"])
            self.assertEqual(code, dlc.BAD_MODEL)
            self.assertRegex(err, found)
        help_text, _ = dlc.dlc("compile", "--help=all")
        self.assertTrue(re.search(r"--import-budget SIZE=256MiB", help_text))


if __name__ == "__main__":
    dlc.main()
