# SPDX-License-Identifier: Apache-2.0
"""Slices of one parameter that torch's exporter folded train as the parameter does in the file that has it whole."""

import os
import re
import sys

import dlc
import numpy as np
import onnx
from onnx import helper, numpy_helper

sys.path.insert(0, os.path.join(dlc.ROOT, "test", "import"))
from support import SIGNATURE, call, node, value  # noqa: E402

FOLDED = "pkg.onnxscript.optimizer.folded_from"
OPTIMIZERS = {"sgd": dict(optimizer="sgd", lr=0.05, momentum=0.9), "adamw": dict(optimizer="adamw", lr=1e-2, weight_decay=1e-2)}
STEPS, BATCH, WIDTH = 5, 4, 6
random = np.random.RandomState(0)


def floats(*shape):
    return (random.randn(*shape) / 2).astype(np.float32)


class Part:
    """A slice of a parameter: its name in the source, what numpy takes, and the values that the exporter folded on its way."""

    def __init__(self, name, parameter, index, sources=("val_0",)):
        self.name, self.parameter, self.index, self.sources = name, parameter, index, sources

    def nodes(self, whole):
        """The same slice as a node: of rows, columns or one row."""
        places = np.arange(whole.size).reshape(whole.shape)[self.index]
        return [node("Reshape", [self.parameter, self.parameter + "/all"], [self.name + "/flat"]),
                node("Gather", [self.name + "/flat", self.name + "/places"], [self.name])], {
                    self.parameter + "/all": np.array([-1]), self.name + "/places": places}


def scale_and_shift(a="select", b="select_1"):
    """y = tanh(x w a + b) head"""
    return [call(node("MatMul", ["x", "w"], ["h"]), "matmul", "%x, %p_w"), call(node("Mul", ["h", a], ["m"]), "mul", f"%h, %{a}"),
            call(node("Add", ["m", b], ["s"]), "add", f"%m, %{b}"), call(node("Tanh", ["s"], ["t"]), "tanh", "%s"),
            call(node("MatMul", ["t", "head"], ["y"]), "matmul", "%t, %p_head")]


def products(*parts):
    """y = the sum of tanh(x w part) over all, times head."""
    nodes, total = [call(node("MatMul", ["x", "w"], ["h"]), "matmul", "%x, %p_w")], None
    for i, part in enumerate(parts):
        nodes += [call(node("MatMul", ["h", part], [f"p{i}"]), "matmul", f"%h, %{part}"),
                  call(node("Tanh", [f"p{i}"], [f"t{i}"]), "tanh", f"%p{i}")]
        if total:
            nodes.append(call(node("Add", [total, f"t{i}"], [f"s{i}"]), "add", f"%{total}, %t{i}"))
        total = f"s{i}" if total else f"t{i}"
    return nodes + [call(node("MatMul", [total, "head"], ["y"]), "matmul", f"%{total}, %p_head")]


class Slices(dlc.TestCase):
    def setUp(self):
        super().setUp()
        inputs = np.random.RandomState(1)
        np.savez(self.path("data.npz"), x=inputs.randn(STEPS * BATCH, 8).astype(np.float32), y=inputs.randint(0, 4, STEPS * BATCH))

    def save(self, nodes, parameters, parts, folded, merged=None, sources=True):
        """A file with folded slices, or the parameters whole. `merged` is {slice: the one whose initializer it reads}."""
        merged = merged or {}
        weights = {name: array for name, array in parameters.items()
                   if not folded or any(name in n.input for n in nodes)}
        infos, before = [], []
        for part in parts:
            whole = parameters[part.parameter]
            if not folded:
                made, more = part.nodes(whole)
                before += made
                weights |= more
            elif part.name not in merged:
                weights[part.name] = np.ascontiguousarray(whole[part.index])
                info = value(part.name, weights[part.name].shape)
                if sources:
                    info.metadata_props.add(key=FOLDED, value=str([part.parameter, *part.sources]))
                infos.append(info)
        copies = [onnx.NodeProto.FromString(n.SerializeToString()) for n in nodes]
        for n in copies:
            n.input[:] = [merged.get(i, i) if folded else i for i in n.input]
            if not folded:
                del n.metadata_props[:]
        graph = helper.make_graph(before + copies, "g", [value("x", [BATCH, 8])], [value("y", [BATCH, 4])],
                                  [numpy_helper.from_array(array, name) for name, array in weights.items()], value_info=infos)
        if folded:
            graph.metadata_props.add(key=SIGNATURE, value="".join(f"p_{name}: PARAMETER target='{name}'\n" for name in parameters))
        proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10, producer_name="pytorch")
        path = self.path("folded.onnx" if folded else "whole.onnx")
        onnx.save(proto, path)
        return path

    def trained(self, source, label, **options):
        _, err = dlc.dlc("compile", source, "-o", self.path(label + ".dlc"), loss="cross_entropy", schedule="constant", batch=BATCH, **options)
        self.runs = getattr(self, "runs", 0) + 1
        run = dlc.train(self.path(label + ".dlc"), self.path("data.npz"), self.path(f"run{self.runs}"), shuffle="off", steps=STEPS, threads=1)
        dlc.dlc("export", run.folder, "-o", self.path(label + "-out.onnx"))
        tensors = {t.name: numpy_helper.to_array(t) for t in onnx.load(self.path(label + "-out.onnx")).graph.initializer}
        return run.metrics("loss"), tensors, err

    def same(self, nodes, parameters, parts, merged=None):
        """Training moves each part as the same elements of its parameter; the export has them all."""
        merged = merged or {}
        parameters = parameters | {"w": floats(8, WIDTH), "head": floats(WIDTH, 4)}
        for optimizer, options in OPTIMIZERS.items():
            losses, found, errors = self.trained(self.save(nodes, parameters, parts, True, merged), "folded-" + optimizer, **options)
            whole, expected, _ = self.trained(self.save(nodes, parameters, parts, False), "whole-" + optimizer, train=".", **options)
            np.testing.assert_allclose(losses, whole, rtol=1e-6, err_msg=optimizer)
            for part in parts:
                moved, before = expected[part.parameter][part.index], parameters[part.parameter][part.index]
                self.assertGreater(np.abs(moved - before).max(), 1e-4)
                if part.name not in merged:
                    np.testing.assert_allclose(found[part.name], moved, rtol=1e-5, atol=1e-6, err_msg=part.name)
            self.assertNotIn("that the file does not have", errors)
        return errors

    def test_rows(self):
        """p[0] and p[1], p.unbind(), a row of a slice."""
        p = {"p": floats(2, WIDTH)}
        errors = self.same(scale_and_shift(), p, [Part("select", "p", 0), Part("select_1", "p", 1, ["val_1"])])
        self.assertNotIn("warning", errors)
        unbound = [Part(name, "p", i, ["val_0", "val_4"]) for i, name in enumerate(("getitem", "getitem_1"))]
        self.same(scale_and_shift("getitem", "getitem_1"), p, unbound)
        q = {"p": floats(4, 12)}
        parts = [Part("slice_2", "p", (1, slice(0, 6)), ["select", "slice_1", "val_0"]), Part("slice_3", "p", (2, slice(6, 12)), ["select_1", "slice_1"])]
        self.same(scale_and_shift("slice_2", "slice_3"), q, parts)
        out, _ = dlc.dlc("inspect", self.path("folded-sgd.dlc"))
        self.assertRegex(out, r"unfolded +slice_3: slice of p in the source, each element once")

    def test_matrices(self):
        """Three of [3, N, N], columns, and rows that are read transposed."""
        three = ["select", "select_1", "select_2"]
        self.same(products(*three), {"p": floats(3, WIDTH, WIDTH)}, [Part(name, "p", i) for i, name in enumerate(three)])
        halves = slice(0, WIDTH), slice(WIDTH, 2 * WIDTH)
        columns = [Part(f"slice_{i + 1}", "p", (slice(None), half)) for i, half in enumerate(halves)]
        self.same(products("slice_1", "slice_2"), {"p": floats(WIDTH, 2 * WIDTH)}, columns)
        rows = [Part(f"slice_{i + 1}", "p", half) for i, half in enumerate(halves)]
        self.same(products("slice_1", "slice_2"), {"p": floats(2 * WIDTH, WIDTH)}, rows)

    def test_several_parameters_of_a_module(self):
        nodes = scale_and_shift()
        nodes[3:3] = [call(node("Mul", ["s", "select_2"], ["s2"]), "mul", "%s, %select_2"), call(node("Add", ["s2", "select_3"], ["s3"]), "add", "%s2, %select_3")]
        nodes[5].input[0] = "s3"
        parts = [Part(f"select_{i}" if i else "select", "pq"[i // 2], i % 2) for i in range(4)]
        self.same(nodes, {"p": floats(2, WIDTH), "q": floats(2, WIDTH)}, parts)

    def test_numbers(self):
        """Two weights of a sum."""
        self.same(scale_and_shift(), {"p": np.float32([0.7, 0.31])}, [Part("select", "p", 0), Part("select_1", "p", 1)])

    def test_equal_values_are_different_parts(self):
        """The exporter merges what is equal: zeros, ones."""
        for p in np.ones((2, WIDTH), np.float32), np.zeros((2, WIDTH), np.float32), np.ones(2, np.float32):
            errors = self.same(scale_and_shift(), {"p": p}, [Part("select", "p", 0), Part("select_1", "p", 1)], merged={"select_1": "select"})
            self.assertRegex(errors, r"warning: .*: parts of one parameter that hold the same numbers train as different parts of it: 'select_1'\. If the "
                             r"source reads one of them several times, export with .*optimize=False")

    def test_read_twice(self):
        """Equal numbers of many digits are one part, under whichever name."""
        nodes = scale_and_shift()
        nodes[4:] = [call(node("Mul", ["t", "select"], ["u"]), "mul", "%t, %select_2"), call(node("MatMul", ["u", "head"], ["y"]), "matmul", "%u, %p_head")]
        self.assertNotIn("warning", self.same(nodes, {"p": floats(2, WIDTH)}, [Part("select", "p", 0), Part("select_1", "p", 1)]))

    def kept(self, nodes, parameters, parts, **words):
        """What is said of slices, none of which is trained."""
        parameters = parameters | {"w": floats(8, WIDTH), "head": floats(WIDTH, 4)}
        _, found, errors = self.trained(self.save(nodes, parameters, parts, True, **words), "folded", **OPTIMIZERS["adamw"])
        for part in parts:
            np.testing.assert_array_equal(found[part.name], parameters[part.parameter][part.index])
        self.assertFalse(np.array_equal(found["w"], parameters["w"]))
        return errors

    def test_parts_with_elements_in_common(self):
        """They are no parameters of their own: a warning names them, and none is trained."""
        warned = r"warning: .*: parts of one parameter that have elements in common, .* are not trained: 'slice_1', 'slice_2'\. .*optimize=False"
        for shape, first, second in (((9, 6), slice(0, 6), slice(3, 9)), ((6, 11), (slice(None), slice(0, 6)), (slice(None), slice(5, 11)))):
            parts = [Part("slice_1", "p", first), Part("slice_2", "p", second)]
            self.assertRegex(self.kept(products("slice_1", "slice_2"), {"p": floats(*shape)}, parts), warned)
        row_and_column = [Part("select", "p", 0), Part("select_1", "p", (slice(None), 0))]
        self.assertRegex(self.kept(scale_and_shift(), {"p": floats(WIDTH, WIDTH)}, row_and_column), "in common, .* 'select', 'select_1'")

    def test_large_parts(self):
        """Chance gives large tensors many numbers in common; rows of them are found all the same."""
        p = {"p": floats(1024, 1024)}
        def names(first, second):
            parts = [Part("slice_1", "p", first), Part("slice_2", "p", second)]
            nodes = [call(node("MatMul", ["x", "w"], ["h"]), "matmul", "%x, %p_w"), call(node("MatMul", ["h", "slice_1"], ["a"]), "matmul", "%h, %slice_1"),
                     call(node("MatMul", ["a", "slice_2"], ["b"]), "matmul", "%a, %slice_2"), call(node("MatMul", ["b", "head"], ["y"]), "matmul", "%b, %p_head")]
            n, m = p["p"][first].shape, p["p"][second].shape
            parameters = p | {"w": floats(8, n[0]), "head": floats(m[1], 4)}
            self.save(nodes, parameters, parts, True)
            return dlc.dlc("compile", self.path("folded.onnx"), "-o", self.path("m.dlc"), batch=BATCH)[1]
        self.assertNotIn("warning", names((slice(0, 512), slice(0, 512)), (slice(512, 1024), slice(None))))
        self.assertIn("in common", names((slice(0, 512), slice(0, 512)), (slice(511, 1023), slice(None))))

    def test_a_part_of_what_is_in_the_file(self):
        """A column beside its matrix, and a sum of what trains as parts: neither is silent."""
        nodes = products("p")
        nodes[-2:-2] = [call(node("Mul", ["h", "select"], ["h2"]), "mul", "%h, %select")]
        nodes[-2].input[0] = "h2"
        nodes = [nodes[0], next(n for n in nodes if n.output[0] == "h2"), *[n for n in nodes[1:] if n.output[0] != "h2"]]
        nodes[2].input[0] = "h2"
        column = Part("select", "p", (slice(None), 2))
        errors = self.kept(nodes, {"p": floats(WIDTH, WIDTH)}, [column])
        self.assertRegex(errors, "in common, .* are not trained: 'select'")
        for total in floats(2, WIDTH).sum(0), np.float32(1.5):
            nodes = scale_and_shift()
            nodes[3:3] = [call(node("Add", ["s", "sum_1"], ["s2"]), "add", "%s, %sum_1")]
            nodes[4].input[0] = "s2"
            parts = [Part("select", "p", 0), Part("select_1", "p", 1)]
            parameters = {"p": floats(2, WIDTH), "w": floats(8, WIDTH), "head": floats(WIDTH, 4)}
            path = self.save(nodes, parameters, parts, True)
            proto = onnx.load(path)
            proto.graph.initializer.append(numpy_helper.from_array(np.asarray(total), "sum_1"))
            info = value("sum_1", np.shape(total))
            info.metadata_props.add(key=FOLDED, value="['p']")
            proto.graph.value_info.append(info)
            onnx.save(proto, path)
            _, err = dlc.dlc("compile", path, "-o", self.path("m.dlc"), batch=BATCH)
            self.assertRegex(err, r"not trained: 'sum_1'|functions of parameters that cannot be inverted; .*: 'sum_1'")

    def test_rules_of_whole_tensors_are_warned_of(self):
        parameters = {"p": floats(2, WIDTH), "w": floats(8, WIDTH), "head": floats(WIDTH, 4)}
        path = self.save(scale_and_shift(), parameters, [Part("select", "p", 0), Part("select_1", "p", 1)], True)
        _, err = dlc.dlc("compile", path, "-o", self.path("m.dlc"), batch=BATCH, optimizer="lamb")
        self.assertRegex(err, r"lamb depends on whole tensors, .*: 'select', 'select_1'\. They train differently")

    def test_files_that_do_not_say_it(self):
        """Without what a value was folded from, the first is the parameter, and others are warned of."""
        parameters = {"p": floats(2, WIDTH), "w": floats(8, WIDTH), "head": floats(WIDTH, 4)}
        path = self.save(scale_and_shift(), parameters, [Part("select", "p", 0), Part("select_1", "p", 1)], True, sources=False)
        _, err = dlc.dlc("compile", path, "-o", self.path("m.dlc"), batch=BATCH)
        self.assertRegex(err, "warning: .*: constants that the exporter computed, .* are not trained: 'select_1'")
        out, _ = dlc.dlc("inspect", self.path("m.dlc"), "--tensors")
        self.assertTrue(re.search(r"(?m)^ *select +trained", out), out)


if __name__ == "__main__":
    dlc.main()
