"""What the import tests share: building small models and running dlc-import."""

import os
import re
import subprocess

import dlc
import numpy as np
from onnx import TensorProto, helper, numpy_helper

IMPORT = os.path.join(dlc.BUILD, "bin", "dlc-import")
ROUNDTRIP = os.path.join(dlc.BUILD, "test", "import-roundtrip")
node = helper.make_node


def value(name, shape, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def model(nodes, inputs, outputs, weights=None, opset=17, functions=(), domains=()):
    tensors = [numpy_helper.from_array(np.asarray(v), k) for k, v in (weights or {}).items()]
    graph = helper.make_graph(nodes, "g", inputs, outputs, tensors)
    opsets = [helper.make_opsetid("", opset)] + [helper.make_opsetid(d, 1) for d in domains]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9, functions=list(functions))


def linear(rows=4):
    """y = x w, with w of shape [8, 3]."""
    return model([node("MatMul", ["x", "w"], ["y"], name="product")],
                 [value("x", [rows, 8])], [value("y", [rows, 3])],
                 {"w": np.arange(24, dtype=np.float32).reshape(8, 3)})


def run(*words, cwd=None, timeout=20):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, cwd=cwd, timeout=timeout)
    return done.returncode, done.stdout, done.stderr


def reasons(path, *flags):
    """{tensor: (its role's number, why)}"""
    _, out, _ = run(IMPORT, path, "--roles", "--quiet", *flags)
    return {name: (int(role), why) for name, role, why in re.findall(r"(?m)^role (\S+) (\d) (.*)$", out)}
