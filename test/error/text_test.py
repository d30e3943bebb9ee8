# SPDX-License-Identifier: Apache-2.0
"""Text from files reaches a terminal escaped and cut, wherever in a file it stands."""

import json
import os
import re
import shutil
import zipfile

import dlc
import numpy as np
import onnx
from onnx import helper

LONG = "A" * 3000
EVIL = "\x1b[2J\x1b]0;title\x07\x9b31m\u202e\u200b" + LONG
UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u202e]")
MOST = 200


def mlp(names=(), node=None, opset=17):
    """Gemm and Relu; `names` says what is called otherwise."""
    n = {k: k for k in ("gemm", "relu", "x", "w", "b", "h", "y", "op", "attribute", "dim", "domain", "graph")} | dict(names)
    w = np.random.default_rng(1).normal(size=(4, 3)).astype(np.float32)
    nodes = [helper.make_node("Gemm", [n["x"], n["w"], n["b"]], [n["h"]], name=n["gemm"]),
             helper.make_node("Relu" if n["op"] == "op" else n["op"], [n["h"]], [n["y"]], name=n["relu"],
                              domain="" if n["domain"] == "domain" else n["domain"])]
    if n["attribute"] != "attribute":
        nodes[1].attribute.append(helper.make_attribute(n["attribute"], 1))
    graph = helper.make_graph(
        nodes, n["graph"],
        [helper.make_tensor_value_info(n["x"], onnx.TensorProto.FLOAT, [n["dim"], 4])],
        [helper.make_tensor_value_info(n["y"], onnx.TensorProto.FLOAT, [n["dim"], 3])],
        [onnx.numpy_helper.from_array(w, n["w"]), onnx.numpy_helper.from_array(w[0], n["b"])])
    opsets = [helper.make_opsetid("", opset)] + ([helper.make_opsetid(n["domain"], 1)] if n["domain"] != "domain" else [])
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


class Text(dlc.TestCase):
    def run_dlc(self, *words, code=None, cut=True, **options):
        """What was printed must be fit for a terminal; any exit code that is documented will do."""
        process = dlc.start(*words, **options)
        status, out, err = dlc.finish(process)
        self.assertIn(status, range(9) if code is None else [code], err[-2000:])
        for text in out, err:
            self.assertIsNone(UNSEEN.search(text), f"{UNSEEN.search(text)}: {text[:2000]!r}")
            self.assertFalse(cut and "A" * (MOST + 1) in text, text[:2000])
        return out, err

    def save(self, model):
        onnx.save(model, self.path("m.onnx"))
        return self.path("m.onnx")

    def test_names_of_models_that_compile(self):
        path = self.save(mlp({key: key + EVIL for key in ("gemm", "relu", "x", "w", "b", "h", "y", "dim", "graph")}))
        out, err = self.run_dlc("compile", path, "-o", self.path("m.dlc"), batch=2)
        if not os.path.exists(self.path("m.dlc")):
            return
        for choice in {}, {"memory": True}, {"costs": True}, {"json": True, "costs": True}:
            out, _ = self.run_dlc("inspect", self.path("m.dlc"), code=0, **choice)
            if "json" in choice:
                json.loads(out)
        self.run_dlc("compile", path, "--stop-after=import", "--emit=mlir", cut=False)  # a program to read back
        np.savez(self.path("d.npz"), x=np.zeros((4, 5), np.float32), y=np.zeros(4, np.int64))
        self.run_dlc("train", self.path("m.dlc"), data=self.path("d.npz"), run=self.path("run"))

    def test_names_of_models_that_do_not(self):
        for key in "op", "attribute", "domain":
            with self.subTest(key=key):
                names = {k: k + EVIL for k in ("gemm", "relu", "x", "w", "b", "h", "y", key)}
                _, err = self.run_dlc("compile", self.save(mlp(names)), "-o", self.path("m.dlc"), code=dlc.BAD_MODEL)
                self.assertIn("\\x1b", err)

    def test_commands_that_are_suggested_are_quoted(self):
        source = self.save(mlp())
        folder = self.path("a b;\x1b[0m$(touch x)'")
        dlc.compile(source, self.path("m.dlc"), batch=2)
        np.savez(self.path("d.npz"), x=np.zeros((4, 4), np.float32), y=np.zeros(4, np.int64))
        os.makedirs(folder + "/mine")
        _, err = self.run_dlc("train", self.path("m.dlc"), data=self.path("d.npz"), run=folder, code=dlc.USAGE)
        quoted = folder.replace("'", "\\'").replace("\x1b", "\\033")
        self.assertIn(f"--resume=$'{quoted}'", err)

    def test_names_of_arrays(self):
        dlc.compile(self.save(mlp()), self.path("m.dlc"), batch=2)
        with zipfile.ZipFile(self.path("d.npz"), "w") as file:
            for i in range(30):
                file.writestr(f"{i}{EVIL}.npy", b"")
        self.run_dlc("train", self.path("m.dlc"), data=self.path("d.npz"), run=self.path("run"), code=dlc.FAILED)

    def test_bomb_is_refused_before_it_is_inflated(self):
        """A gigabyte of zeros in a megabyte: the directory of the file says that it does not fit."""
        dlc.compile(self.save(mlp()), self.path("m.dlc"), batch=2)
        header = np.lib.format.header_data_from_array_1_0(np.empty((0, 5), np.float32)) | {"shape": (50_000_000, 5)}
        with zipfile.ZipFile(self.path("d.npz"), "w", zipfile.ZIP_DEFLATED) as file:
            with file.open("x.npy", "w", force_zip64=True) as x:
                np.lib.format.write_array_header_1_0(x, header)
                for _ in range(1000):
                    x.write(bytes(1_000_000))
            with file.open("y.npy", "w") as y:
                np.save(y, np.zeros(4, np.int64))
        words = ["train", self.path("m.dlc"), f"--data={self.path('d.npz')}", f"--run={self.path('run')}"]
        limited = f"ulimit -v {600 << 10}; exec \"$0\" \"$@\""
        process = dlc.subprocess.run(["bash", "-c", limited, dlc.DLC, *words], capture_output=True, text=True,
                                     timeout=60, env=os.environ | {"OMP_NUM_THREADS": "1"})
        self.assertEqual(process.returncode, dlc.FAILED, process.stderr)
        self.assertIn("its compressed arrays take more than 96 MiB of memory, 48 times the file", process.stderr)

    def test_manifest_of_an_artifact(self):
        """A command that an artifact's manifest suggests."""
        dlc.compile(self.save(mlp()), self.path("m.dlc"), batch=2)
        path = self.path("m.dlc/manifest.json")
        with open(path) as file:
            manifest = json.load(file)
        for change in {"format": EVIL}, {"files": manifest["files"] | {EVIL: {}}}, {"files": {EVIL: EVIL}}:
            with open(path, "w") as file:
                json.dump(manifest | change, file)
            self.run_dlc("inspect", self.path("m.dlc"), code=dlc.CORRUPT)
        with open(path, "w") as file:
            file.write('{"' + EVIL)
        self.run_dlc("inspect", self.path("m.dlc"), code=dlc.CORRUPT)
        shutil.rmtree(self.path("m.dlc"))


if __name__ == "__main__":
    dlc.main()
