# SPDX-License-Identifier: Apache-2.0
"""The operators of gradient_cases.py in one step that ONNX Runtime runs (dlc export --step): gradients are PyTorch's."""

import json
import os
import sys

import numpy as np
import onnx
from onnx import TensorProto

sys.path.insert(0, os.path.dirname(__file__))
import dlc
from gradient_cases import CASES, rename_inputs, NUMBERS, losses
from support import model, node, value

sys.path.insert(0, os.path.join(dlc.MODELS, "examples"))
from onnx_step import Step  # noqa: E402


def part(name, case, numbers):
    """Nodes and initializers of a case whose tensors are "NAME.KEY"; its loss is NAME.loss."""
    of = lambda key: f"{name}.{key}" if key else ""
    nodes, shape = [], numbers["shape"]
    for original in case.nodes:
        renamed = onnx.NodeProto()
        renamed.CopyFrom(original)
        renamed.name = of(original.op_type)
        names = [*case.inputs, *case.known, *(output for node in case.nodes for output in node.output)]
        rename_inputs(renamed, {key: of(key) for key in names})
        renamed.output[:] = [of(key) for key in renamed.output]
        nodes.append(renamed)
    tensors = {of(key): v.astype(np.float32) for key, v in case.inputs.items()}
    tensors |= {of(key): v.astype(np.float32) if v.dtype == np.float64 else v for key, v in case.known.items()}
    tensors[of("weights")] = losses(np.zeros(shape)).astype(np.float32)
    nodes += [node("Cast", [of("y")], [of("single")], to=TensorProto.FLOAT), node("Mul", [of("single"), of("weights")], [of("product")]),
              node("ReduceSum", [of("product")], [of("loss")], keepdims=0)]
    return nodes, tensors


class StepCases(dlc.TestCase):
    def test_all(self):
        with open(NUMBERS, encoding="utf-8") as file:
            numbers = json.load(file)
        chosen = {f"c{i}": name for i, (name, case) in enumerate(CASES.items()) if case.opset == 21}
        self.assertGreater(len(chosen), 80)
        nodes, tensors, totals = [], {}, []
        for short, name in chosen.items():
            more, held = part(short, CASES[name], numbers[name])
            nodes, tensors = nodes + more, tensors | held
            totals.append(short + ".loss")
        nodes += [node("Sum", totals, ["sum"]), node("ReduceMean", ["b"], ["one"], keepdims=0), node("Mul", ["sum", "one"], ["total"])]
        domains = sorted({n.domain for name in chosen.values() for n in CASES[name].nodes if n.domain})
        proto = model(nodes, [value("b", ["batch", 1])], [value("total", [])], tensors, opset=21, domains=domains)
        proto.ir_version = 10
        onnx.save(proto, self.path("m.onnx"))
        trained = "|".join(rf"^{short}\.({'|'.join(CASES[name].inputs)})$" for short, name in chosen.items())
        artifact = dlc.compile(self.path("m.onnx"), self.path("m.dlc"), batch=2, loss="total:graph", optimizer="sgd", lr=1,
                               schedule="constant", train=trained, sparse_embeddings="off", quiet=True)
        dlc.dlc("export", artifact, "--step", "-o", self.path("step.onnx"))
        onnx.checker.check_model(self.path("step.onnx"), full_check=True)
        step = Step(self.path("step.onnx"))
        step({"b": np.ones((2, 1), np.float32)})
        for short, name in chosen.items():
            for (key, start), gradient in zip(CASES[name].inputs.items(), numbers[name]["gradients"]):
                with self.subTest(case=name, input=key):
                    end = step.state.get(f"{short}.{key}", start)
                    self.assertNear(start.reshape(-1) - end.reshape(-1), gradient, 2e-5, name)


if __name__ == "__main__":
    dlc.main()
