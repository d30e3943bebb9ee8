# SPDX-License-Identifier: Apache-2.0
"""Where dlc writes: what it must not replace, what it leaves, and what a crash leaves."""

import glob
import hashlib
import json
import os
import random
import shutil
import socket
import subprocess
import time

import dlc
import numpy as np
import onnx
from onnx import numpy_helper

KILLS = int(os.environ.get("DLC_TEST_KILLS", 12))
CONSTRUCTOR = """
#include <cstdio>
__attribute__((constructor)) static void ran() { if (FILE *f = std::fopen("%s", "w")) std::fclose(f); }
"""


def tree(folder):
    """Every path below a folder, with the content of files."""
    found = {}
    for path in sorted(glob.glob(folder + "/**", recursive=True, include_hidden=True)):
        found[path] = None
        if os.path.isfile(path) and not os.path.islink(path):
            with open(path, "rb") as file:
                found[path] = file.read()
    return found


def weights(path):
    return {t.name: numpy_helper.to_array(t) for t in onnx.load(path).graph.initializer}


def rewrite_manifest(folder):
    """As whoever makes an artifact by hand would: all hashes fit."""
    path = os.path.join(folder, "manifest.json")
    with open(path) as file:
        manifest = json.load(file)
    for name, entry in manifest["files"].items():
        with open(os.path.join(folder, name), "rb") as file:
            content = file.read()
        entry.update(size=len(content), hash=hashlib.sha256(content).hexdigest())
    dlc.write_manifest(path, manifest)


class Outputs(dlc.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.share_artifact(lora=2)
        cls.share_run(steps=2)

    def refuse(self, words, message, **options):
        """Exit code 1 with the message, and nothing below the folder has changed."""
        before = tree(self.folder)
        _, err = dlc.dlc(*words, code=dlc.FAILED, timeout=20, **options)
        self.assertIn(message, err)
        self.assertEqual(tree(self.folder), before)

    def compile(self, output, message):
        with self.subTest(output=output):
            self.refuse(["compile", dlc.model("mlp"), "-o", output], message)

    def special_files(self):
        os.symlink(self.path("target"), self.path("link"))
        os.makedirs(self.path("folder/inner"))
        os.symlink(self.path("folder"), self.path("link-to-folder"))
        os.mkfifo(self.path("fifo"))
        listener = socket.socket(socket.AF_UNIX)
        self.addCleanup(listener.close)
        listener.bind(self.path("socket"))
        return {"link": "a symbolic link", "link-to-folder": "a symbolic link", "fifo": "a FIFO",
                "socket": "a socket", "/dev/null": "a device"}

    def test_folders_that_compile_keeps(self):
        os.makedirs(self.path("web"))
        for name, content in ("web/manifest.json", '{"name": "app"}'), ("web/index.html", "keep me"):
            with open(self.path(name), "w") as file:
                file.write(content)
        shutil.copytree(self.run_folder, self.path("run"))
        shutil.copytree(self.artifact, self.path("mlp.dlc"))
        with open(self.path("mlp.dlc/notes.txt"), "w") as file:
            file.write("keep me")
        self.compile(self.path("web"), "exists and is not an artifact: ")
        self.compile(self.path("web/"), "exists and is not an artifact: ")
        self.compile(self.path("run"), "exists and is a run;")
        self.compile(self.path("run/model.dlc"), "is the artifact of a run, which its checkpoints need;")
        self.compile(self.path("run/checkpoint-2"), "format is 'dlc-checkpoint', expected 'dlc-artifact'")
        self.compile(self.path("mlp.dlc"), "an artifact, but 'notes.txt' in it was not written by dlc")
        for name in "/", ".", "..", self.path("web/.."):
            self.compile(name, f"'{name}' is not a valid name of a new folder")

    def test_what_is_no_folder_is_named(self):
        for name, kind in self.special_files().items():
            for slash in "", "/":
                self.compile(self.path(name) + slash, f"'{self.path(name)}' exists and is {kind}, expected a folder")
        open(self.path("file"), "w").close()
        self.compile(self.path("file"), "exists and is a file, expected a folder")

    def test_artifacts_are_replaced(self):
        for output in self.path("a.dlc"), self.path("a.dlc/"):
            dlc.compile(dlc.model("mlp"), output, batch=16)
        self.assertEqual(os.listdir(self.folder), ["a.dlc"])

    def test_files_that_export_keeps(self):
        for name, kind in self.special_files().items() | {("folder", "a folder")}:
            for choice in {}, {"lora": "adapters"}:
                with self.subTest(name=name, **choice):
                    self.refuse(["export", self.run_folder, "-o", self.path(name)],
                                f"'{self.path(name)}' exists and is {kind}, expected a file or nothing", **choice)

    def test_names_beside_an_output_are_the_users(self):
        names = [f"out{end}" for end in (".tmp", ".data", ".tmp-1", ".tmp-4000000", ".tmp-4000000-backup")]
        for name in names:
            with open(self.path(name), "w") as file:
                file.write("keep me")
        before = tree(self.folder)
        for choice in {}, {"lora": "adapters"}, {"inline_limit": "1kB"}:
            dlc.dlc("export", self.run_folder, "-o", self.path("out"), **choice)
        dlc.compile(dlc.model("mlp"), self.path("out.dlc"))
        after = tree(self.folder)
        self.assertEqual({path: after.get(path) for path in before if path != self.folder + "/"},
                         {path: content for path, content in before.items() if path != self.folder + "/"})

    def test_rights_follow_the_umask_and_the_old_file(self):
        path, before = self.path("out.onnx"), os.umask(0o027)
        self.addCleanup(os.umask, before)
        dlc.dlc("export", self.run_folder, "-o", path)
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o640)
        os.chmod(path, 0o604)
        dlc.dlc("export", self.run_folder, "-o", path)
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o604)

    def export_large(self, run):
        dlc.dlc("export", run, "-o", self.path("out.onnx"), inline_limit="1kB")

    def data_files(self):
        return glob.glob(self.path("out.onnx.*.data"))

    def other_run(self):
        folder = self.path("other")
        dlc.train(self.artifact, dlc.data("digits-train"), folder, steps=1)
        return folder

    def test_large_weights_have_a_file_of_their_own(self):
        dlc.dlc("export", self.run_folder, "-o", self.path("whole.onnx"))
        mine = [self.path(f"out.onnx.{name}.data") for name in ("1234", "0123456789abcdeg")]
        for path in mine:
            open(path, "w").close()
        for run in self.run_folder, self.other_run(), self.run_folder:
            self.export_large(run)
            self.assertEqual(len(self.data_files()), 1 + len(mine))
        for name, value in weights(self.path("whole.onnx")).items():
            np.testing.assert_array_equal(weights(self.path("out.onnx"))[name], value, name)
        dlc.dlc("export", self.run_folder, "-o", self.path("out.onnx"))
        self.assertEqual(sorted(self.data_files()), sorted(mine))
        _, err = dlc.dlc("export", self.run_folder, "-o", self.path("out.onnx"), inline_limit="much",
                         code=dlc.USAGE)
        self.assertIn("--inline-limit: expected a size such as 4GiB or 500MB, found 'much'", err)

    def test_a_killed_export_leaves_a_model_with_its_own_weights(self):
        runs, chance, wanted = [self.run_folder, self.other_run()], random.Random(1), []
        for run in runs:
            start = time.monotonic()
            self.export_large(run)
            wanted.append(weights(self.path("out.onnx")))
            seconds = time.monotonic() - start
        for i in range(KILLS):
            process = dlc.start("export", runs[i % 2], "-o", self.path("out.onnx"), inline_limit="1kB")
            time.sleep(seconds * chance.uniform(0.2, 1.1))
            dlc.kill(process)
            found = weights(self.path("out.onnx"))
            self.assertTrue(any(all(np.array_equal(found[n], w[n]) for n in w) for w in wanted), i)
        self.export_large(runs[0])
        self.assertEqual(sorted(os.listdir(self.folder)),
                         sorted(["other", "out.onnx"] + [os.path.basename(p) for p in self.data_files()]))
        self.assertEqual(len(self.data_files()), 1)

    def test_a_killed_compile_leaves_nothing_for_long(self):
        os.makedirs(self.path("tmp"))
        os.environ["TMPDIR"] = self.path("tmp")
        self.addCleanup(os.environ.pop, "TMPDIR")
        chance = random.Random(2)
        for _ in range(KILLS):
            process = dlc.start("compile", dlc.model("mlp"), "-o", self.path("a.dlc"))
            time.sleep(chance.uniform(0.1, 0.8))
            dlc.kill(process)
        dlc.compile(dlc.model("mlp"), self.path("a.dlc"))
        dlc.dlc("inspect", self.path("a.dlc"))
        self.assertEqual(sorted(os.listdir(self.folder)), ["a.dlc", "tmp"])
        self.assertEqual(os.listdir(self.path("tmp")), [])

    def test_killed_ranks_leave_nothing(self):
        os.makedirs(self.path("tmp"))
        os.environ["TMPDIR"] = self.path("tmp")
        self.addCleanup(os.environ.pop, "TMPDIR")
        artifact = dlc.compile(dlc.model("mlp"), self.path("a.dlc"), batch=16, ddp=2)
        process = dlc.start("train", artifact, data=dlc.data("digits-train"), run=self.path("run"), steps=10**6)
        while process.poll() is None and not os.path.exists(self.path("run/metrics.jsonl")):
            time.sleep(0.01)
        self.assertIsNone(process.poll())
        dlc.kill(process)
        self.assertEqual(os.listdir(self.path("tmp")), [])

    def test_inspect_executes_nothing(self):
        copy = shutil.copytree(self.artifact, self.path("copy.dlc"))
        with open(self.path("ran.cpp"), "w") as file:
            file.write(CONSTRUCTOR % self.path("ran"))
        subprocess.run(["c++", "-shared", "-fPIC", self.path("ran.cpp"), "-o", os.path.join(copy, "kernels.so")],
                       check=True)
        _, err = dlc.dlc("inspect", copy, code=dlc.CORRUPT)
        self.assertIn("kernels.so", err)
        rewrite_manifest(copy)
        for choice in {}, {"json": True}, {"memory": True}, {"costs": True}:
            dlc.dlc("inspect", copy, **choice)
        dlc.dlc("export", copy, "-o", self.path("out.onnx"))
        self.assertFalse(os.path.exists(self.path("ran")))
        dlc.dlc("train", copy, data=dlc.data("digits-train"), run=self.path("run"), steps=1, code=dlc.CORRUPT)
        self.assertTrue(os.path.exists(self.path("ran")), "the library of this test would have said so")


if __name__ == "__main__":
    dlc.main()
