# SPDX-License-Identifier: Apache-2.0
"""An operator of a user's library on the stream of the CUDA backend, over the stand-ins: a copy trains as ONNX's Identity."""

import subprocess

import dlc
import numpy as np
import onnx
import standins
from onnx import TensorProto, helper, numpy_helper

SAME = """#include "runtime/plan/ops/dlc_op.h"
#include <dlfcn.h>
#include <stdio.h>
typedef int (*copy_function)(unsigned long long, unsigned long long, size_t, void *);
static int shapes(const dlc_op_call *call) { call->outputs[0] = call->inputs[0]; return 0; }
static int copy(const dlc_op_call *call, const dlc_op_tensor *from) {
  static void *driver;
  if (!driver)
    driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  copy_function f = (copy_function)(driver ? dlsym(driver, "cuMemcpyDtoDAsync_v2") : 0);
  size_t bytes = from->type == DLC_OP_F32 ? 4 : 2;
  for (int d = 0; d < from->rank; ++d)
    bytes *= (size_t)from->shape[d];
  if (f && call->stream && !f((unsigned long long)call->outputs[0].data, (unsigned long long)from->data, bytes, call->stream))
    return 0;
  snprintf(call->error, call->error_size, "cannot copy");
  return 1;
}
static int forward(const dlc_op_call *call) { return copy(call, &call->inputs[0]); }
static int backward(const dlc_op_call *call) { return copy(call, &call->inputs[2]); }
static const dlc_op_code codes[] = {{"cuda", forward, backward}};
static const dlc_op ops[] = {{"example", "Same", shapes, codes, 1}};
static const dlc_op_library all = {DLC_OP_VERSION, ops, 1};
const dlc_op_library *dlc_op_library_v1(void) { return &all; }
"""


class Custom(standins.StandinTest):
    def save(self, op, domain):
        random = np.random.default_rng(0)
        nodes = [helper.make_node("MatMul", ["x", "a"], ["h"]), helper.make_node(op, ["h"], ["t"], name="same", domain=domain),
                 helper.make_node("Relu", ["t"], ["r"]), helper.make_node("MatMul", ["r", "b"], ["y"])]
        weights = {"a": random.normal(size=(5, 8)), "b": random.normal(size=(8, 4))}
        info = lambda name, width: helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", width])
        graph = helper.make_graph(nodes, "g", [info("x", 5)], [info("y", 4)],
                                  [numpy_helper.from_array(v.astype(np.float32), k) for k, v in weights.items()])
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid("example", 1)]
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), self.path(op + ".onnx"))
        return self.path(op + ".onnx")

    def test_same(self):
        random = np.random.default_rng(1)
        np.savez(self.path("data.npz"), x=random.normal(size=(32, 5)).astype(np.float32), y=random.normal(size=(32, 4)).astype(np.float32))
        library = self.path("libsame.so")
        subprocess.run(["cc", "-shared", "-fPIC", "-Wall", "-Werror", "-I", dlc.ROOT, "-x", "c", "-", "-ldl", "-o", library],
                       input=SAME.encode(), check=True)
        options, training = dict(batch=8, loss="mse", lr=0.05), dict(steps=8, seed=1, threads=1)
        plain = dlc.compile(self.save("Identity", ""), self.path("cpu.dlc"), **options)
        expected = dlc.train(plain, self.path("data.npz"), self.path("cpu"), **training).metrics("loss")
        artifact = self.compile_for_cuda(self.save("Same", "example"), op_library=library, **options)
        self.run_on_standins(artifact, data=self.path("data.npz"), run=self.path("cuda"), **training)
        np.testing.assert_allclose(dlc.Run(self.path("cuda")).metrics("loss"), expected, rtol=1e-5)
        out, err = dlc.dlc("compile", self.path("Same.onnx"), "--op-library=" + library, "-o", self.path("m.dlc"), code=dlc.BAD_MODEL)
        self.assertIn("has no implementation of 'example.Same' for cpu", err)
        out, _ = dlc.dlc("check", self.path("Same.onnx"), "--op-library=" + library, "--target=cuda")
        self.assertRegex(out, r"example\.Same +1 +yes +yes +f32 +no +yes +same: .*has no implementation of 'example.Same' for cpu")


if __name__ == "__main__":
    dlc.main()
