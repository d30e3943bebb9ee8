# SPDX-License-Identifier: Apache-2.0
"""Dimensions that a file writes as expressions of others, as both of torch's exporters do."""

import os
import sys

sys.path.insert(0, os.path.dirname(__file__))
import dlc
from support import IMPORT, model, node, run, value

TIME_4, TIME_3 = "--dim=time=4", "--dim=time=3"


class Dimensions(dlc.TestCase):
    def run_import(self, dims, *flags, declared=None, batch=("--batch=2",)):
        proto = model([node("Relu", ["x"], ["y"])], [value("x", dims)], [value("y", declared)])
        with open(self.path("m.onnx"), "wb") as file:
            file.write(proto.SerializeToString())
        return run(IMPORT, self.path("m.onnx"), *batch, *flags)

    def check(self, text, expected, *flags):
        code, out, err = self.run_import(["batch", text], *flags)
        self.assertEqual(code, dlc.OK, err)
        self.assertIn(f"tensor<2x{expected}xf32>", out, text)

    def refuse(self, text, message, *flags):
        code, _, err = self.run_import(["batch", text], *flags)
        self.assertEqual(code, dlc.BAD_MODEL)
        self.assertIn(message, err)

    def test_values(self):
        for text, expected in (
                ("2*time", 8), ("time + 1", 5), ("((time//3))", 1), ("floor(time/2 - 1/2) + 1", 2), ("Max(1, time - 9)", 1),
                ("PythonMod(-time, 3)", 2), ("2**time % 5", 1), ("-(-time//3)", 2), ("CeilDiv(time, 3)", 2),
                ("ceiling(time/3)", 2), ("time - 2*batch + 1", 1), ("FloorDiv(time - 1, 2) + 1", 2), ("time", 4)):
            self.check(text, expected, TIME_4)
        self.check("Min(time, 3, heads)", 2, TIME_4, "--dim=heads=2")
        self.check("time*heads - batch", 6, TIME_4, "--dim=heads=2")

    def test_a_text_that_is_bound_itself(self):
        """Also one that is an expression, or nothing that can be read."""
        for text in "2*time", "Foo(time)", "f(", "2 3", "time-major", "1" * 40, "2.time", "floor(time, 2)", "x" * 200:
            self.check(text, 6, f"--dim={text}=6")

    def test_unknown_names(self):
        self.refuse("2*time + heads", "input 'x': dimension 1 ('2*time + heads') is symbolic; bind it with --dim heads=N\n", TIME_3)
        self.refuse("2*time + heads", "bind it with --dim time=N --dim heads=N\n")
        self.refuse("Foo(time)", "('Foo(time)') is symbolic; bind it with --dim Foo(time)=N\n", TIME_3)
        self.refuse("(" * 5000 + "time" + ")" * 5000, "is symbolic; bind it with --dim ", TIME_3)
        self.refuse("-" * 5000 + "time", "is symbolic; bind it with --dim ", TIME_3)

    def test_sizes_that_a_file_leaves_open(self):
        """-1 of Paddle, 0 of OpenVINO, nothing at all: --batch or --dim INPUT.AXIS=N."""
        for unknown in -1, 0, None:
            for dims, flags, expected in (([unknown, 8], ("--batch=2",), "2x8"), ([unknown, unknown], ("--batch=2", "--dim=x.1=5"), "2x5"),
                                          ([4, unknown, unknown], ("--dim=x.1=5", "--dim=x.2=7"), "4x5x7"),
                                          ([unknown, 8], ("--dim=x.0=3",), "3x8")):
                code, out, err = self.run_import(dims, *flags, declared=dims, batch=())
                self.assertEqual(code, dlc.OK, err)
                self.assertIn(f"tensor<{expected}xf32>", out, (dims, flags))
                self.assertNotIn("another shape than the file declares", err)
            code, _, err = self.run_import([unknown, unknown])
            self.assertEqual(code, dlc.BAD_MODEL)
            self.assertIn("input 'x': dimension 1 is neither a number nor named; bind it with --dim x.1=N", err)
            code, _, err = self.run_import([unknown, 8], batch=())
            self.assertIn("is symbolic; bind it with --batch=N or --dim x.0=N", err)
        code, _, err = self.run_import([2, 8], "--dim=x.1=8")
        self.assertEqual(code, dlc.USAGE)
        self.assertIn("--dim x.1=8: no input has a dimension of that name, or an unknown one at that place (INPUT.AXIS)", err)

    def test_a_place_and_its_name(self):
        """One of two sizes would be ignored."""
        code, out, err = self.run_import(["T", 8], "--dim=x.0=4", "--dim=T=4", batch=())
        self.assertEqual(code, dlc.OK, err)
        self.assertIn("tensor<4x8xf32>", out)
        code, _, err = self.run_import(["T", 8], "--dim=x.0=4", "--dim=T=8", batch=())
        self.assertEqual(code, dlc.BAD_MODEL)
        self.assertIn("input 'x': --dim x.0=4 and --dim T=8 bind the same dimension 0; give one of them", err)

    def test_a_batch_and_its_name(self):
        """Two sizes are refused; a batch of 1 means that a sample is the whole input."""
        for flag, batch, expected in (("--dim=B=4", "4", "4x8"), ("--dim=B=4", "1", "4x8"), ("--dim=B=8", "4", None), ("--dim=x.0=8", "4", None)):
            code, out, err = self.run_import(["B", 8], flag, batch=[f"--batch={batch}"])
            self.assertEqual(code, dlc.OK if expected else dlc.USAGE, err)
            self.assertIn(f"tensor<{expected}xf32>" if expected else f"--batch=4 and {flag.replace('=', ' ', 1)} bind the same dimension; give one", out + err)

    def test_an_input_without_elements_beside_others(self):
        """It has none, unless --dim says how many."""
        proto = model([node("Concat", ["past", "x"], ["y"], axis=1)], [value("past", [2, 0, 3]), value("x", [2, 4, 3])], [value("y", None)])
        with open(self.path("m.onnx"), "wb") as file:
            file.write(proto.SerializeToString())
        for flags, expected in ((), "2x4x3"), (("--dim=past.1=6",), "2x10x3"):
            code, out, err = run(IMPORT, self.path("m.onnx"), *flags)
            self.assertEqual(code, dlc.OK, err)
            self.assertIn(f"-> (tensor<{expected}xf32>", out)

    def test_what_is_no_size(self):
        for text, message in (
                ("time/2", "dimension 1: 'time/2' is 3/2, expected a whole number, with time=3; bind it with other numbers, or by "
                           "itself with --dim 'time/2=N'"),
                ("time - 3", "'time - 3' is 0, expected at least 1"),
                ("1 - time", "'1 - time' is -2, expected at least 1"),
                ("time//(time - 3)", "'time//(time - 3)' cannot be counted"),
                ("time**40*time**40", "'time**40*time**40' cannot be counted"),
                ("2**(-time)", "cannot be counted")):
            self.refuse(text, message, TIME_3)


if __name__ == "__main__":
    dlc.main()
