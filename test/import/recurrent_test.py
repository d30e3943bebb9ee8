# SPDX-License-Identifier: Apache-2.0
"""LSTM, GRU and RNN in forms that ONNX's node cases lack, against onnxruntime; what is refused, by name."""

import dlc
import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from rows_test import Rows

STEPS, ROWS, FEATURES, UNITS = 5, 3, 4, 2
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


class Recurrent(Rows):
    def setUp(self):
        super().setUp()
        self.random = np.random.default_rng(0)

    def floats(self, *shape):
        return (self.random.standard_normal(shape) * 0.7).astype(np.float32)

    def proto(self, op, given=(), outputs=None, lengths=None, known=True, **attributes):
        """A layer with the optional inputs `given`; the lengths are known to the compiler or data."""
        both = 2 if attributes.get("direction") == "bidirectional" else 1
        rows, states = GATES[op] * UNITS, 2 if op == "LSTM" else 1
        weights = {"W": self.floats(both, rows, FEATURES), "R": self.floats(both, rows, UNITS)}
        if "B" in given:
            weights["B"] = self.floats(both, 2 * rows)
        if "P" in given:
            weights["P"] = self.floats(both, 3 * UNITS)
        for name in "H0", "C0":
            if name in given:
                weights[name] = self.floats(*((ROWS, both, UNITS) if attributes.get("layout") else (both, ROWS, UNITS)))
        names = ["X", "W", "R", "B" * ("B" in given), "L" * bool(lengths), "H0" * ("H0" in given), "C0" * ("C0" in given), "P" * ("P" in given)]
        outputs = outputs or ["Y", "Yh", "Yc"][:1 + states]
        node = helper.make_node(op, names[:8 if op == "LSTM" else 6], outputs, hidden_size=UNITS, **attributes)
        inputs = {"X": self.floats(*((ROWS, STEPS) if attributes.get("layout") else (STEPS, ROWS)), FEATURES)}
        tensors = [numpy_helper.from_array(v, k) for k, v in weights.items()]
        infos = [helper.make_tensor_value_info("X", TensorProto.FLOAT, inputs["X"].shape)]
        if lengths and known:
            tensors.append(numpy_helper.from_array(np.array(lengths, np.int32), "L"))
        elif lengths:
            inputs["L"] = np.array(lengths, np.int32)
            infos.append(helper.make_tensor_value_info("L", TensorProto.INT32, [ROWS]))
        results = [helper.make_tensor_value_info(o, TensorProto.FLOAT, None) for o in outputs if o]
        graph = helper.make_graph([node], "g", infos, results, tensors)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=9), inputs

    def compare(self, op, **form):
        proto, inputs = self.proto(op, **form)
        session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
        expected = session.run(None, inputs)
        found = self.imported(proto, inputs)
        self.assertIsNotNone(found, self.error)
        for output, array in zip(session.get_outputs(), expected):
            self.near(found[output.name], array, f"{op} {form} {output.name}")

    def test_directions_states_and_lengths(self):
        for op in GATES:
            given = ["B", "H0", "C0"] if op == "LSTM" else ["B", "H0"]
            for direction in "forward", "reverse", "bidirectional":
                for lengths in None, [5, 2, 3], [5, 5, 5]:
                    with self.subTest(op=op, direction=direction, lengths=lengths):
                        self.compare(op, given=given, direction=direction, lengths=lengths)
            self.compare(op, direction="bidirectional", lengths=[1, 5, 4], known=False)

    def test_reset_before_and_after(self):
        for after in 0, 1:
            for direction in "reverse", "bidirectional":
                self.compare("GRU", given=["B", "H0"], linear_before_reset=after, direction=direction)

    def test_activations_by_name(self):
        self.compare("RNN", activations=["Relu", "Relu"], direction="bidirectional")
        self.compare("LSTM", activations=["Sigmoid", "Tanh", "Tanh"])

    def test_gates_step_by_step(self):
        """Other gates than the op's: peepholes, clips, coupled gates, Keras's hard sigmoids; a state outlives steps that do not count."""
        for op, names in ("LSTM", ["Sigmoid", "Tanh", "Tanh"]), ("GRU", ["Sigmoid", "Tanh"]), ("RNN", ["Tanh"]):
            given, last = ["B", "H0", "C0", "P"][:4 if op == "LSTM" else 2], names[-1:]
            forms = [dict(activations=["HardSigmoid", *last * (len(names) - 1)]), dict(activations=["Softsign"] * len(names), lengths=[2, 5, 1]),
                     dict(clip=0.3, direction="reverse", lengths=[5, 3, 4], known=False),
                     dict(activations=["HardSigmoid"] + names[1:] + ["Affine"] + names[1:], activation_alpha=[0.3, 0.9], activation_beta=[0.4, 0.1],
                          direction="bidirectional")]
            for form in forms:
                with self.subTest(op=op, **form):
                    self.compare(op, given=given[:2], **form)
        for after in 0, 1:
            self.compare("GRU", given=["B", "H0"], linear_before_reset=after, activations=["HardSigmoid", "Relu"] * 2, direction="bidirectional",
                         lengths=[5, 2, 4])
        for form in dict(), dict(input_forget=1), dict(direction="bidirectional", lengths=[2, 5, 1]), dict(direction="reverse", clip=0.5):
            with self.subTest(**form):
                self.compare("LSTM", given=["B", "H0", "C0", "P"], **form)
        self.compare("LSTM", given=["B"], input_forget=1)

    def test_outputs_left_out(self):
        for outputs in ["", "Yh"], ["", "", "Yc"], ["Y", "", "Yc"]:
            self.compare("LSTM", outputs=outputs, lengths=[2, 5, 1])

    def refused(self, expected, op, **form):
        proto, inputs = self.proto(op, **form)
        self.assertIsNone(self.imported(proto, inputs))
        self.assertIn(expected, self.error)

    def test_refusals(self):
        self.refused("clip is below 0", "LSTM", clip=-1.0)
        self.refused("activation 'Elu' is not supported", "RNN", activations=["Elu"])
        self.refused("activations has 2 names, expected 4", "GRU", activations=["Sigmoid", "Tanh"], direction="bidirectional")
        self.refused("direction 'up' is not supported, expected forward, reverse or bidirectional", "GRU", direction="up")
        self.refused("sequence_lens has 9, expected 0 to 5", "GRU", lengths=[9, 1, 1])
        self.refused("layout is 2, expected 0 or 1", "RNN", layout=2)
        proto, inputs = self.proto("LSTM")
        proto.graph.initializer[1].CopyFrom(numpy_helper.from_array(self.floats(1, 8, 3), "R"))
        self.assertIsNone(self.imported(proto, inputs))
        self.assertIn("hidden_size is 2, but R is [1, 8, 3]", self.error)
        proto, inputs = self.proto("LSTM", given=["P"])
        proto.graph.initializer[2].CopyFrom(numpy_helper.from_array(self.floats(1, 4), "P"))
        self.assertIsNone(self.imported(proto, inputs))
        self.assertIn("P is [1, 4], expected [1, 6]", self.error)
        proto, inputs = self.proto("GRU", given=["B"])
        proto.graph.initializer[2].CopyFrom(numpy_helper.from_array(self.floats(1, 6), "B"))
        self.assertIsNone(self.imported(proto, inputs))
        self.assertIn("B is [1, 6], expected [1, 12]", self.error)


if __name__ == "__main__":
    dlc.main()
