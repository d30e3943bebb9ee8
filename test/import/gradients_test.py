# SPDX-License-Identifier: Apache-2.0
"""Operators that the importer makes of others have the values and gradients of PyTorch, and gradients that agree with differences."""

import json
import os
import re
import sys
import unittest

import numpy as np
from onnx import TensorProto

sys.path.insert(0, os.path.dirname(__file__))
import dlc
from gradient_cases import CASES, NUMBERS, losses
from support import IMPORT, model, run, value

GRADCHECK = os.path.join(dlc.BUILD, "bin", "dlc-gradcheck")


def dense(numbers, shape):
    kind = f"tensor<{''.join(f'{d}x' for d in shape)}f64>"
    text = json.dumps(np.asarray(numbers, float).reshape(shape).tolist())
    return f"dense<{text}> : {kind}"


class Gradients(dlc.TestCase):
    def setUp(self):
        super().setUp()
        with open(NUMBERS, encoding="utf-8") as file:
            self.numbers = json.load(file)

    def program(self, name, case):
        """The imported function as dlc-gradcheck takes it, with what to feed and to expect."""
        expected = self.numbers[name]
        kind = TensorProto.FLOAT if case.single else TensorProto.DOUBLE
        proto = model(case.nodes, [value(k, v.shape, kind) for k, v in case.inputs.items()], [value("y", None, kind)],
                      {k: v.astype(np.float64) if k == "v" else v for k, v in case.known.items()}, opset=case.opset,
                      domains=[n.domain for n in case.nodes if n.domain])
        proto.ir_version = 10
        path = self.path("m.onnx")
        with open(path, "wb") as file:
            file.write(proto.SerializeToString())
        code, text, err = run(IMPORT, path)
        self.assertEqual(code, 0, f"{name}: {err}")
        for key, codes in case.known.items():
            if codes.dtype == np.uint8:  # weights of few bits are states of any size
                text = re.sub(rf"^  dlc\.state @{key} .*\n", "", text, flags=re.M)
                text = text.replace(f"dlc.read @{key} :", f"dlc.constant dense<{codes.tolist()}> :")
        self.assertNotIn("dlc.state", text, f"{name}: an initializer of more than 16 elements")
        if case.single:
            text = text.replace("f32", "f64")
        for (key, content), gradient in zip(case.inputs.items(), expected["gradients"]):
            given = f"dlc.value = {dense(content, content.shape)}, dlc.gradient = {dense(gradient, content.shape)}"
            text = text.replace(f'dlc.name = "{key}"', given, 1)
        shape = expected["shape"]
        result = f"dlc.value = {dense(expected['y'], shape)}, dlc.weight = {dense(losses(np.zeros(shape)), shape)}"
        text = text.replace('dlc.name = "y"', result, 1)
        text = text.replace("@predict", "@" + re.sub(r"\W+", "_", name), 1)
        if case.kink:
            text = re.sub(r"^(  func\.func .*) \{( loc\(.*\))?$", r"\1 attributes {dlc.kink} {", text, count=1, flags=re.M)
        return text

    def test_all(self):
        paths = []
        for i, (name, case) in enumerate(CASES.items()):
            with self.subTest(case=name):
                paths.append(self.path(f"{i}.mlir"))
                with open(paths[-1], "w") as file:
                    file.write(self.program(name, case))
        code, out, err = run(GRADCHECK, *paths, timeout=60)
        self.assertEqual(code, 0, "\n".join(line for line in out.splitlines() if not line.startswith("ok")) + err)
        self.assertEqual(len(out.splitlines()), len(CASES))


if __name__ == "__main__":
    dlc.main()
