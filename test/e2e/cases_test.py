# SPDX-License-Identifier: Apache-2.0
"""ONNX's node cases through the whole tool: compiled with --predict-only, predicted, and compared.

test/import/conformance_test.py judges them all before code is made of them; here every 25th, or
    DLC_CASES=cumsum,_pad_   those whose names have one of these;   DLC_CASES=all
"""

import os
import sys

import ml_dtypes
import numpy as np
from onnx.backend.test.loader import load_model_tests

import dlc

sys.path.insert(0, os.path.join(dlc.ROOT, "test", "import"))
import conformance_test as judge

STRIDE = 25
# Indices that the samples bring, some of which count from the end.
NEGATIVE = {"test_gather_negative_indices", "test_gather_elements_negative_indices", "test_scatter_elements_with_negative_indices"}
# What neither .npz nor numpy has.
HALF = np.dtype(ml_dtypes.bfloat16)


def chosen():
    with open(judge.LIST) as file:
        refused = {line.split()[0] for line in file if line.strip() and not line.startswith("#")}
    cases = [c for c in load_model_tests(kind="node") if c.name not in refused]
    cases = [c for c in cases if all(judge.to_array(a).dtype != HALF for side in c.data_sets[0] for a in side)]
    words = os.environ.get("DLC_CASES", "")
    if not words:
        return [c for i, c in enumerate(cases) if i % STRIDE == 0 or c.name in NEGATIVE]
    return [c for c in cases if words == "all" or any(w in c.name for w in words.split(","))]


class Cases(dlc.TestCase):
    def predict(self, proto, inputs):
        """The results by name; None if it is refused."""
        with open(self.path("m.onnx"), "wb") as file:
            file.write(proto.SerializeToString())
        process = dlc.start("compile", self.path("m.onnx"), "--predict-only", "--quiet", "-o", self.path("m.dlc"))
        code, _, self.error = dlc.finish(process)
        if code == dlc.BAD_MODEL:
            return None
        self.assertEqual(code, dlc.OK, self.error)
        np.savez(self.path("in.npz"), **{name: judge.held(array) for name, array in inputs.items()})
        process = dlc.start("predict", self.path("m.dlc"), "-o", self.path("out.npz"), "--scale=1", data=self.path("in.npz"))
        code, _, self.error = dlc.finish(process)
        self.assertEqual(code, dlc.OK, self.error)
        with np.load(self.path("out.npz")) as found:
            outputs = [o.name for o in proto.graph.output]
            return {outputs[0] if name == "y" and len(found.files) == 1 else name: found[name] for name in found.files}

    def test_cases(self):
        ran, negative = 0, set()
        for case in chosen():
            with self.subTest(case=case.name):
                verdict = judge.Verdict()
                for form in judge.FORMS:
                    proto, inputs = form(case)
                    if inputs and (found := self.predict(proto, inputs)) is not None:
                        verdict.results = found
                        self.assertIsNone(judge.difference(case, verdict))
                        ran += 1
                        if form is judge.as_it_is:
                            negative.add(case.name)
                        break
        if not os.environ.get("DLC_CASES"):
            self.assertGreater(ran, 25)
            self.assertLessEqual(NEGATIVE, negative)


if __name__ == "__main__":
    dlc.main()
