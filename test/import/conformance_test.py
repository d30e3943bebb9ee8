# SPDX-License-Identifier: Apache-2.0
"""Each of ONNX's node cases means here what it means there, or is refused with a reason that refused.txt gives.

A case goes through the importer and compiler/reference as it is, and where that is refused once more with more and more of its inputs
known at import: shapes and axes, all but the first, all. refused.txt holds both ways: what is refused is listed, and what is listed is refused, for that reason.

    conformance_test.py --write     writes refused.txt again, and prints the totals (then operators_page_test.py --write)
    DLC_CASES=cumsum,_pad_          only cases whose names have one of these; prints each one's verdict
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import warnings

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

sys.path.insert(0, os.path.dirname(__file__))
import dlc
from support import ROUNDTRIP

LIST = os.path.join(os.path.dirname(os.path.abspath(__file__)), "refused.txt")
DTYPES = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64, "i64": np.int64,
          "i32": np.int32, "i16": np.int16, "i8": np.int8, "u64": np.uint64, "u32": np.uint32, "u16": np.uint16,
          "u8": np.uint8, "bool": np.bool_}
OLDEST = 7  # cases of older operators are given this opset, where they mean the same
# What a refusal is called in the list, by its message; the first that fits.
REASONS = [("sequence", r"sequence|SequenceProto"), ("string", r"STRING|type 8\b"), ("optional", r"[Oo]ptional"),
           ("domain", r"ai\.onnx\.(ml|preview)"),
           ("type", r"FLOAT8|FLOAT4|INT4|INT2|COMPLEX|(U?INT\d+|DOUBLE|E8M0).*(not supported|no such)|element type"),
           ("operator", r"not supported:"), ("random", r"^random$"), ("training", r"^training$"), ("data", r"depends on the model's data|known at"),
           ("form", r".")]
# What test/e2e compares: random ones, and BatchNormalization in training mode, which is what the training step makes of it.
ELSEWHERE = {"random": re.compile(r"bernoulli|training_dropout(_default)?(_mask)?$"), "training": re.compile(r"training_mode$")}


def to_array(content):
    return numpy_helper.to_array(content) if isinstance(content, TensorProto) else np.asarray(content)


def is_dense(case):
    """All values are tensors of numbers, and the operators ai.onnx's own."""
    values = [v.type for v in [*case.model.graph.input, *case.model.graph.output]]
    return (all(v.HasField("tensor_type") and v.tensor_type.elem_type != TensorProto.STRING for v in values)
            and all(o.domain in ("", "ai.onnx") for o in case.model.opset_import))


def as_it_is(case):
    proto = onnx.ModelProto()
    proto.CopyFrom(case.model)
    for opset in proto.opset_import:
        if opset.domain in ("", "ai.onnx"):
            opset.version = max(OLDEST, opset.version)
    arrays = [to_array(a) for a in case.data_sets[0][0]]
    return proto, {info.name: a for info, a in zip(proto.graph.input, arrays)}


def known_but(case, is_kept):
    """The case with initializers for all inputs but those where is_kept(array, whether none is kept yet)."""
    proto, inputs = as_it_is(case)
    kept = {}
    for name, array in inputs.items():
        if is_kept(array, not kept):
            kept[name] = array
        else:
            proto.graph.initializer.append(numpy_helper.from_array(array, name))
    infos = [info for info in proto.graph.input if info.name in kept]
    del proto.graph.input[:]
    proto.graph.input.extend(infos)
    return proto, kept


FORMS = [as_it_is,
         lambda case: known_but(case, lambda array, is_first: is_first or (array.dtype.kind in "fb" and array.ndim > 0)),
         lambda case: known_but(case, lambda array, is_first: is_first),
         lambda case: known_but(case, lambda array, is_first: False)]


class Verdict:
    """What became of a model: results by name, or the message of a refusal, or what went wrong."""

    def __init__(self):
        self.results, self.refused, self.wrong = {}, None, None


def held(array):
    """The array in the type that a program holds its type in."""
    name = array.dtype.name
    if name in ("int8", "int16", "uint16") or name in ("int2", "uint2", "int4", "uint4"):
        return array.astype(np.int32)
    if name in ("uint32", "uint64"):
        return array.astype(np.int64)
    return array.astype(np.float32) if name.startswith(("float8", "float4")) else array


def write(folder, proto, inputs):
    os.makedirs(folder)
    with open(os.path.join(folder, "model.onnx"), "wb") as file:
        file.write(proto.SerializeToString())
    for i, array in enumerate(inputs.values()):
        with open(os.path.join(folder, f"in{i}"), "wb") as file:
            file.write(b"" if array.dtype == object else held(array).tobytes())  # strings are refused
    return "\t".join([folder, *inputs])


def read_result(folder, line):
    index, dtype, rest = line.split(" ", 2)
    shape, name = rest[1:].split("] ", 1)
    dims = [int(d) for d in shape.split(",") if d.strip()]
    return name, np.fromfile(os.path.join(folder, index), DTYPES[dtype]).reshape(dims)


def read_report(text, verdicts):
    """The folder that was begun and not ended, or None."""
    folder = None
    for line in text.splitlines():
        word, _, rest = line.partition(" ")
        if word == "case":
            folder = rest
            verdict = verdicts[folder] = Verdict()
        elif word == "end":
            code, _, message = rest.partition(" ")
            if code == str(dlc.BAD_MODEL):
                verdict.refused = message
            elif code != str(dlc.OK):
                verdict.wrong = f"exit code {code}: {message}"
            folder = None
        else:
            name, result = read_result(folder, line)
            verdict.results[name] = result
    return folder


def run_all(models):
    """{key: Verdict} of {key: (proto, inputs)}: all in one process, and a new one behind each that ends it."""
    root, verdicts = tempfile.mkdtemp(), {}
    try:
        lines = {os.path.join(root, key): write(os.path.join(root, key), *m) for key, m in models.items()}
        while todo := [line for folder, line in lines.items() if folder not in verdicts]:
            with open(os.path.join(root, "list"), "w", encoding="utf-8") as file:
                file.write("".join(line + "\n" for line in todo))
            with open(os.path.join(root, "report"), "w+", encoding="utf-8") as report:
                try:
                    code = subprocess.run([ROUNDTRIP, "judge", file.name], stdout=report, stderr=subprocess.DEVNULL,
                                          timeout=120, check=False).returncode
                except subprocess.TimeoutExpired:
                    code = "timeout"
                report.seek(0)
                ended = read_report(report.read(), verdicts)
            if ended:
                verdicts[ended].wrong = f"the process ended: {code}"
            elif code:
                raise AssertionError(f"exit code {code}")
        return {os.path.basename(folder): verdict for folder, verdict in verdicts.items()}
    finally:
        shutil.rmtree(root)


def wide(array):
    return array.astype(np.float64) if array.dtype.kind not in "iub" else array


def difference(case, verdict):
    """How the results differ from ONNX's; None where they agree."""
    for info, content in zip(case.model.graph.output, case.data_sets[0][1]):
        found, expected = verdict.results.get(info.name), held(to_array(content))
        if found is None or (found.dtype, found.shape) != (expected.dtype, expected.shape):
            form = found is not None and (found.dtype, found.shape)
            return f"{info.name}: {form}, expected {expected.dtype} {expected.shape}"
        # One side rounds each step to half: ONNX's reference those of attention, ours where an op is made of others.
        half = expected.dtype.itemsize == 2 and expected.dtype.kind not in "iu"
        try:
            np.testing.assert_allclose(wide(found), wide(expected), 2e-2 if half else max(case.rtol, 1e-4), 1e-5)
        except AssertionError as error:
            return f"{info.name}: {' '.join(str(error).split())[:400]}"
    return None


def judge(cases):
    """{name: Verdict}: `wrong` is set where a result is not ONNX's."""
    verdicts = {case.name: Verdict() for case in cases}
    for case in cases:
        verdicts[case.name].refused = next((what for what, names in ELSEWHERE.items() if names.search(case.name)), "")
    plain = [c for c in cases if verdicts[c.name].refused == ""]
    for form in FORMS:
        todo = [c for c in plain if verdicts[c.name].refused is not None]
        models = {}
        for case in todo:
            if any(isinstance(a, list) or a is None for side in case.data_sets[0] for a in side):
                verdicts[case.name].refused = "a sequence"
                continue
            models[case.name] = form(case)
        found = run_all(models)
        for case in todo:
            if case.name in found:
                verdict = verdicts[case.name] = found[case.name]
                if verdict.refused is None and verdict.wrong is None:
                    verdict.wrong = difference(case, verdict)
    return verdicts


def reason(case, verdict):
    """"class: operator" of a refusal."""
    kind = next(kind for kind, pattern in REASONS if re.search(pattern, verdict.refused))
    operators = sorted({n.op_type for n in case.model.graph.node})
    if kind == "operator":
        named = re.findall(r"  ([\w.]+) (?:\(.*?\) )?in \d+ node", verdict.refused)
        operators = sorted({n.split(".")[-1] for n in named}) or operators
    return f"{kind}: {' '.join(operators[:3])}"


def listed():
    with open(LIST, encoding="utf-8") as file:
        return dict(line.rstrip("\n").split("  ", 1) for line in file if line[0] != "#")


def totals(cases, verdicts):
    passed = {n for n, v in verdicts.items() if v.refused is None and v.wrong is None}
    dense = {c.name for c in cases if is_dense(c)}
    return (f"{len(cases)} cases: {len(passed)} pass, {sum(v.refused is not None for v in verdicts.values())} refused; of "
            f"{len(dense)} of dense tensors {len(dense & passed)} pass ({100 * len(dense & passed) / len(dense):.1f} %)")


def load():
    warnings.simplefilter("ignore")
    from onnx.backend.test.loader import load_model_tests
    cases = load_model_tests(kind="node")
    only = os.environ.get("DLC_CASES")
    return [c for c in cases if not only or any(part in c.name for part in only.split(","))]


class Conformance(dlc.TestCase):
    def test_every_node_case(self):
        cases = load()
        verdicts, known = judge(cases), listed()
        print(totals(cases, verdicts))
        for case in cases:
            verdict = verdicts[case.name]
            with self.subTest(case=case.name):
                self.assertIsNone(verdict.wrong)
                if verdict.refused is None:
                    self.assertNotIn(case.name, known, "passes, but refused.txt lists it: conformance_test.py --write")
                else:
                    self.assertEqual(known.get(case.name), reason(case, verdict), f"refused: {verdict.refused}")
            if os.environ.get("DLC_CASES"):
                print(case.name, "wrong" if verdict.wrong else verdict.refused or "passes")
        if not os.environ.get("DLC_CASES"):
            self.assertEqual(set(known) - {c.name for c in cases}, set(), "listed, but not cases")


def write_list():
    cases = load()
    verdicts = judge(cases)
    with open(LIST, "w", encoding="utf-8") as file:
        file.write("# Node cases that are refused, and why; conformance_test.py --write makes this list.\n")
        for case in sorted(cases, key=lambda c: c.name):
            if verdicts[case.name].refused is not None:
                file.write(f"{case.name}  {reason(case, verdicts[case.name])}\n")
    for name, verdict in verdicts.items():
        if verdict.wrong:
            print(f"WRONG {name}: {verdict.wrong}")
    print(totals(cases, verdicts))


if __name__ == "__main__":
    if "--write" in sys.argv:
        write_list()
    else:
        dlc.main()
