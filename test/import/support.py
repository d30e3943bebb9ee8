# SPDX-License-Identifier: Apache-2.0
"""What the import tests share: building small models and running dlc-import."""

import os
import re
import subprocess

import dlc
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

IMPORT = os.path.join(dlc.BUILD, "bin", "dlc-import")
ROUNDTRIP = os.path.join(dlc.BUILD, "test", "import-roundtrip")
node = helper.make_node
SIGNATURE = "pkg.torch.export.ExportedProgram.graph_signature"
FX, SCOPES = "pkg.torch.onnx.fx_node", "pkg.torch.onnx.name_scopes"


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


def call(proto_node, target, args, scope=""):
    """Notes on a node as torch's dynamo exporter writes them."""
    proto_node.metadata_props.add(key=FX, value=f"%{proto_node.output[0]} : [num_users=1] = call_function[target="
                                  f"torch.ops.aten.{target}.default](args = ({args}), kwargs = {{}})")
    proto_node.metadata_props.add(key=SCOPES, value=f"['', '{scope}', '{proto_node.output[0]}']")
    return proto_node


class RestoreCase(dlc.TestCase):
    """Small files of torch's exporters: which tensors train, under which names."""

    def read(self, nodes, weights, inputs=None, outputs=None, parameters=None, producer="pytorch", batch=4, flags=(), code=0,
             buffers=(), constants=(), updated=()):
        proto = model(nodes, inputs or [value("x", [4, 8])], outputs or [value("y", [4, 8])], weights)
        proto.producer_name = producer
        if parameters is not None:
            lines = [f"{kind[0].lower()}_{re.sub('[^a-z0-9]', '_', p.lower())}: {kind} target='{p}'"
                     for kind, group in (("PARAMETER", parameters), ("BUFFER", buffers), ("CONSTANT_TENSOR", constants))
                     for p in group]
            mutations = "".join(f"new_{i}: BUFFER_MUTATION target='{name}'\n" for i, name in enumerate(updated))
            proto.graph.metadata_props.add(key=SIGNATURE, value="\n# inputs\n" + "\n".join(lines) + "\nx: USER_INPUT\n\n# outputs\n" + mutations)
        onnx.save(proto, self.path("m.onnx"))
        status, self.text, self.errors = run(IMPORT, self.path("m.onnx"), f"--batch={batch}", "--weights", *flags)
        self.assertEqual(status, code, self.errors)
        found = re.findall(r'dlc\.state @(?:"([^"]+)"|(\S+)) : tensor<(\S+)xf32> (\w+) init', self.text)
        states = {a or b: (shape, role) for a, b, shape, role in found}
        self.trained = {name: shape for name, (shape, role) in states.items() if role == "param"}
        self.constant = {name for name, (_, role) in states.items() if role == "const"}
        return self.trained
