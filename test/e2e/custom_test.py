# SPDX-License-Identifier: Apache-2.0
"""Operators of a user's library: models/examples/twist.c trains as the same function made of ONNX's operators does, and what
a library does wrong is said by name."""

import os
import subprocess

import dlc
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

RATE = 0.75


def library(source, output, *flags):
    """A shared library of a C file, or of text."""
    words = ["cc", "-O2", "-shared", "-fPIC", "-Wall", "-Werror", "-I", dlc.ROOT, "-I", os.path.join(dlc.BUILD, "include"), *flags]
    if os.path.exists(source):
        subprocess.run([*words, source, "-lm", "-o", output], check=True)
    else:
        subprocess.run([*words, "-x", "c", "-", "-lm", "-o", output], check=True, input=source.encode())
    return output


BAD = """#include "runtime/plan/ops/dlc_op.h"
#include <stdio.h>
static int shapes(const dlc_op_call *call) { call->outputs[0] = call->inputs[0]; %s return 0; }
static int forward(const dlc_op_call *call) { snprintf(call->error, call->error_size, "out of luck"); return 1; }
static const dlc_op_code codes[] = {{"%s", forward, 0}};
static const dlc_op ops[] = {{"%s", "Twist", shapes, codes, 1}};
static const dlc_op_library all = {%s, ops, 1};
const dlc_op_library *dlc_op_library_v1(void) { return &all; }
"""


class Custom(dlc.TestCase):
    def setUp(self):
        super().setUp()
        random = np.random.default_rng(3)
        self.weights = {"a": random.normal(size=(5, 7)), "b": random.normal(size=(7, 4))}
        np.savez(self.path("data.npz"), x=random.normal(size=(64, 5)).astype(np.float32), y=random.integers(0, 4, 64))

    def save(self, name, custom, attributes=None):
        nodes = [helper.make_node("MatMul", ["x", "a"], ["h"], name="before")]
        if custom:
            nodes += [helper.make_node("Twist", ["h"], ["t"], name="twist", domain="example", **(attributes or {"rate": RATE}))]
        else:
            nodes += [helper.make_node("Mul", ["h", "rate"], ["r"]), helper.make_node("Tanh", ["r"], ["s"]),
                      helper.make_node("Mul", ["h", "s"], ["t"])]
        nodes += [helper.make_node("MatMul", ["t", "b"], ["logits"], name="after")]
        tensors = {**self.weights, "rate": np.array(RATE)}
        graph = helper.make_graph(
            nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 5])],
            [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["N", 4])],
            [numpy_helper.from_array(v.astype(np.float32), k) for k, v in tensors.items() if k != "rate" or not custom])
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid("example", 1)]
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), self.path(name))
        return self.path(name)

    def train(self, model, name, **options):
        artifact = dlc.compile(model, self.path(name + ".dlc"), loss="cross_entropy", optimizer="adamw", lr=0.01, batch=8, **options)
        return artifact, dlc.train(artifact, self.path("data.npz"), self.path(name), shuffle="off", epochs=2, threads=1)

    def twist(self):
        return library(os.path.join(dlc.ROOT, "models", "examples", "twist.c"), self.path("libtwist.so"))

    def test_trains_as_onnx_operators_do(self):
        for amp in ({}, {"amp": True}):
            _, plain = self.train(self.save("plain.onnx", False), f"plain{len(amp)}", freeze="rate", **amp)
            artifact, run = self.train(self.save("custom.onnx", True), f"custom{len(amp)}", op_library=self.twist(), **amp)
            np.testing.assert_allclose(run.metrics("loss"), plain.metrics("loss"), rtol=2e-2 if amp else 1e-6)
        self.assertEqual(len(run.metrics("loss")), 16)
        self.assertIn("ops.libtwist.so", os.listdir(artifact))

    def test_library_goes_with_the_artifact(self):
        path = self.twist()
        artifact, run = self.train(self.save("custom.onnx", True), "r", op_library=path)
        os.remove(path)
        dlc.dlc("eval", run.folder, "--data=" + self.path("data.npz"))
        dlc.dlc("export", run.folder, "-o", self.path("out.onnx"))
        self.assertEqual([n.op_type for n in onnx.load(self.path("out.onnx")).graph.node], ["MatMul", "Twist", "MatMul"])
        _, err = dlc.dlc("export", run.folder, "--step", "-o", self.path("step.onnx"), code=dlc.BAD_MODEL)
        self.assertRegex(err, r"model\.mlir:\d+: 'dlc\.custom' \(Twist\) has no form in ONNX's standard operators: dlc train runs the step")
        dlc.flip(os.path.join(artifact, "ops.libtwist.so"))
        out, err = dlc.dlc("predict", artifact, "--data=" + self.path("data.npz"), "-o", self.path("p.npz"), code=dlc.CORRUPT)
        self.assertIn("ops.libtwist.so", err)

    def test_predicts_without_any_kernel(self):
        artifact = dlc.compile(self.save("custom.onnx", True), self.path("p.dlc"), predict_only=True, op_library=self.twist(), batch=64)
        dlc.dlc("predict", artifact, "--data=" + self.path("data.npz"), "-o", self.path("p.npz"))
        with np.load(self.path("data.npz")) as data, np.load(self.path("p.npz")) as found:
            h = data["x"] @ self.weights["a"]
            np.testing.assert_allclose(found[found.files[0]], h * np.tanh(RATE * h) @ self.weights["b"], rtol=1e-4, atol=1e-4)

    def test_check_knows_it(self):
        model = self.save("custom.onnx", True)
        out, _ = dlc.dlc("check", model, code=dlc.BAD_MODEL)
        self.assertIn("--op-library", out)
        out, _ = dlc.dlc("check", model, "--op-library=" + self.twist())
        self.assertRegex(out, r"example\.Twist +1 +yes +yes +f32 +yes +no +twist: .*has no implementation of 'example.Twist' for cuda")

    def refused(self, message, path, code=dlc.BAD_MODEL, **options):
        out, err = dlc.dlc("compile", self.save("custom.onnx", True, **options), "--op-library=" + path, "-o", self.path("m.dlc"), code=code)
        self.assertRegex(err, message)
        self.assertFalse(os.path.exists(self.path("m.dlc")))

    def bad(self, change="", device="cpu", domain="example", version="1"):
        return library(BAD % (change, device, domain, version), self.path("libbad.so"))

    def test_says_what_is_wrong(self):
        out, err = dlc.dlc("compile", self.save("custom.onnx", True), "-o", self.path("m.dlc"), code=dlc.BAD_MODEL)
        self.assertIn("example.Twist in 1 node: 'twist'", err)
        self.refused(r"--op-library: .*nowhere\.so", "nowhere.so", code=dlc.USAGE)
        self.refused(r"libplain.so: expected a library of operators", library("int x;", self.path("libplain.so")), code=dlc.USAGE)
        self.refused(r"libbad.so: made for version 7 .* expected 1", self.bad(version="7"), code=dlc.USAGE)
        self.refused(r"'ai.onnx.Twist' is in a reserved domain", self.bad(domain="ai.onnx"), code=dlc.USAGE)
        self.refused(r"twist: .*has no implementation of 'example.Twist' for cpu", self.bad(device="cuda"))
        self.refused(r"twist: .*output 0: the library gave no valid type and shape", self.bad("call->outputs[0].rank = 9;"))
        self.refused(r"twist: .*too sad", self.bad('snprintf(call->error, call->error_size, "too sad"); return 1;'))
        self.refused(r"operator 'example.Twist' of 'ops.libbad.so' has no gradient.*--freeze", self.bad())
        self.refused(r"twist: .*attribute 'rate'.*numbers", self.twist(), attributes={"rate": numpy_helper.from_array(np.ones(2))})

    def test_failing_call_ends_the_run(self):
        artifact = dlc.compile(self.save("custom.onnx", True), self.path("p.dlc"), predict_only=True, op_library=self.bad(), batch=64)
        out, err = dlc.dlc("predict", artifact, "--data=" + self.path("data.npz"), "-o", self.path("p.npz"), code=dlc.FAILED)
        self.assertRegex(err, r"custom 'twist'.*out of luck")


if __name__ == "__main__":
    dlc.main()
