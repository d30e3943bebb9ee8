# SPDX-License-Identifier: Apache-2.0
"""Files that are none, and files that shrink while they are read: a message and an exit code, at once, no signal."""

import os
import re
import shutil
import signal
import socket
import subprocess
import time

import dlc
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

KINDS = {"fifo": "a FIFO", "socket": "a socket", "folder": "a folder", "/dev/zero": "a device", "/dev/tty": "."}


class SpecialFiles(dlc.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.share_artifact()
        cls.share_run(steps=2)

    def special(self, name):
        path = name if name.startswith("/") else self.path(name)
        shutil.rmtree(path, ignore_errors=True) if os.path.isdir(path) else None
        if name == "fifo":
            os.mkfifo(path)
        elif name == "folder":
            os.mkdir(path)
        elif name == "socket":
            listener = socket.socket(socket.AF_UNIX)
            self.addCleanup(listener.close)
            listener.bind(path)
        return path

    def refuse(self, words, kind, codes):
        process = dlc.start(*words)
        status, _, err = dlc.finish(process, 20)
        self.assertIn(status, codes, err)
        self.assertRegex(err, KINDS[kind])

    def test_in_place_of_any_file(self):
        data = "--data=" + dlc.data("digits-train")
        for kind in KINDS:
            self.new_folder()
            x = self.special(kind)
            npz = x if kind.startswith("/") else shutil.move(x, x + ".npy")  # read as it is, not as a zip
            weights = self.path("w.safetensors")
            os.symlink(npz, weights)
            for words in (["train", self.artifact, "--data=" + npz],
                          ["train", self.artifact, data, "--val=" + npz],
                          ["train", self.artifact, data, "--config=" + npz],
                          ["eval", self.run_folder, "--data=" + npz],
                          ["predict", self.run_folder, "--data=" + npz, "-o", self.path("y.npz")],
                          ["compile", npz, "-o", self.path("a.dlc")],
                          ["compile", dlc.model("mlp"), "-o", self.path("a.dlc"), "--weights=" + weights],
                          ["compile", dlc.model("mlp"), "-o", self.path("a.dlc"), "--config=" + npz]):
                with self.subTest(kind=kind, words=words):
                    self.refuse(words, kind, (dlc.FAILED, dlc.USAGE, dlc.BAD_MODEL))

    def test_in_place_of_a_file_of_an_artifact(self):
        for name in os.listdir(self.artifact):
            with self.subTest(name=name):
                copy = shutil.copytree(self.artifact, self.path("copy.dlc"))
                os.remove(os.path.join(copy, name))
                os.mkfifo(os.path.join(copy, name))
                self.refuse(["train", copy, "--data=" + dlc.data("digits-train")], "fifo", (dlc.CORRUPT,))
                shutil.rmtree(copy)

    def test_in_place_of_external_data(self):
        self.external()
        os.remove(self.path("w.bin"))
        os.mkfifo(self.path("w.bin"))
        self.refuse(["compile", self.path("m.onnx"), "-o", self.path("a.dlc")], "fifo", (dlc.BAD_MODEL,))

    def external(self, rows=4):
        """A linear layer with its weight in a file of its own."""
        weight = numpy_helper.from_array(np.ones((rows, 64), np.float32), "w")
        node = helper.make_node("Gemm", ["x", "w"], ["y"], transB=1)
        graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 64])],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", rows])], [weight])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
        onnx.save(model, self.path("m.onnx"), save_as_external_data=True, location="w.bin", size_threshold=0)

    def shrink(self, words, path, size, steps=None):
        """Runs a command and cuts `path` once it is mapped, or after some steps."""
        process = dlc.start(*words)
        self.addCleanup(dlc.kill, process)
        end = time.monotonic() + 60
        while process.poll() is None and time.monotonic() < end and not (
                self.has_steps() if steps else self.is_mapped(process.pid, path)):
            time.sleep(0.001)
        os.truncate(path, size)
        return dlc.finish(process, 60)

    def is_mapped(self, pid, path):
        try:
            with open(f"/proc/{pid}/maps") as file:
                return os.path.basename(path) in file.read()
        except OSError:
            return False

    def has_steps(self):
        """Some, and a checkpoint of one: none is written once a file that was read is known to be damaged."""
        return os.path.isdir(self.path("run")) and any(re.fullmatch(r"checkpoint-\d+", name) for name in os.listdir(self.path("run")))

    def big(self, copies):
        with np.load(dlc.data("digits-train")) as data:
            np.savez(self.path("big.npz"), **{key: np.concatenate([data[key]] * copies) for key in data.files})
        return self.path("big.npz")

    def test_data_that_shrinks_while_training(self):
        for ranks in 1, 2:
            with self.subTest(ranks=ranks):
                self.new_folder()
                artifact = dlc.compile(dlc.model("mlp"), self.path("m.dlc"), batch=16, ddp=ranks)
                data = self.big(20)
                words = ["train", artifact, "--data=" + data, "--steps=100000000", "--save-every=10",
                         "--run=" + self.path("run"), "--threads=1"]
                status, _, err = self.shrink(words, data, 50000, steps=True)
                self.assertEqual(status, dlc.FAILED, err)
                self.assertIn("big.npz' became shorter, or could not be read, while it was in use", err)
                self.assertFalse([name for name in os.listdir(self.path("run")) if ".tmp" in name])
                dlc.dlc("eval", self.path("run"), data=dlc.data("digits-test"))  # its newest checkpoint is whole
                shutil.rmtree(self.path("run"))

    def test_artifact_that_changes_while_training(self):
        """What was loaded stays what it was: code is a copy, and no state is read again."""
        def cut(path):
            os.truncate(path, 0)

        def overwrite(path):
            with open(path, "r+b") as file:
                file.write(os.urandom(os.path.getsize(path)))

        def replace(path):
            shutil.copyfile(dlc.data("digits-test"), path + ".new")
            os.replace(path + ".new", path)

        for ranks, change in (1, cut), (2, overwrite), (1, replace):
            with self.subTest(ranks=ranks, change=change.__name__):
                self.new_folder()
                artifact = dlc.compile(dlc.model("mlp"), self.path("m.dlc"), batch=16, ddp=ranks)
                process = dlc.start("train", artifact, data=dlc.data("digits-train"), val=dlc.data("digits-test"),
                                    epochs=1000000, save_every=100, run=self.path("run"), threads=1)
                self.addCleanup(dlc.kill, process)
                wait = lambda: self.wait_until(process, self.has_steps)
                wait()
                inside = self.path("run/model.dlc")
                for name in os.listdir(inside):
                    change(os.path.join(inside, name))
                os.truncate(self.path("run/metrics.jsonl"), 0)
                wait()
                process.terminate()
                status, _, err = dlc.finish(process, 60)
                self.assertEqual(status, 128 + signal.SIGTERM, err)
                _, err = dlc.dlc("train", resume=self.path("run"), code=dlc.CORRUPT)
                self.assertIn("model.dlc/", err)

    def wait_until(self, process, condition):
        end = time.monotonic() + 60
        while not condition():
            self.assertIsNone(process.poll(), "ended early")
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)

    def test_whatever_shrinks_at_once(self):
        """It may be late, and all was read: but then the command has done what it does."""
        for command in "eval", "predict", "train", "compile", "export":
            for size in 0, 5000:
                with self.subTest(command=command, size=size):
                    self.new_folder()
                    run = shutil.copytree(self.run_folder, self.path("run"))
                    if command == "compile":
                        self.external(rows=20000)
                        words, path = ["compile", self.path("m.onnx"), "-o", self.path("out")], self.path("w.bin")
                    elif command == "export":
                        path = os.path.join(run, "checkpoint-2", "state.safetensors")
                        words = ["export", run, "-o", self.path("out")]
                    else:
                        path = self.big(40)
                        words = [command, run, "--data=" + path]
                        words += dict(eval=[], predict=["-o", self.path("out")],
                                      train=["--steps=3", "--run=" + self.path("out")])[command]
                        words[1] = self.artifact if command == "train" else run
                    status, _, err = self.shrink(words, path, size)
                    self.assertIn(status, (dlc.OK, dlc.FAILED, dlc.BAD_MODEL, dlc.CORRUPT), err)
                    if status != dlc.OK:
                        self.assertRegex(err, "became shorter|truncated|damaged|not an npz|header|bytes")
                        self.assertFalse(os.path.exists(self.path("out")) and command != "train")
                    self.assertFalse([name for name in os.listdir(self.folder) if ".tmp" in name])


if __name__ == "__main__":
    dlc.main()
