# SPDX-License-Identifier: Apache-2.0
"""What cmake --install leaves can be moved, needs nothing of the checkout, and is found by CMake and by shells."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest

import dlc

PROJECT = """cmake_minimum_required(VERSION 3.25)
project(app LANGUAGES C CXX)
find_package(dlc 0.1 REQUIRED)
add_executable(app embed.cpp)
target_link_libraries(app PRIVATE dlc::dlc)
add_executable(app_c embed.c)
target_link_libraries(app_c PRIVATE dlc::dlc)
add_executable(compiles from_onnx.cpp)
target_link_libraries(compiles PRIVATE dlc::compiler)
dlc_add_model(mlp MODEL mlp.onnx OPTIONS --optimizer=adamw --lr=0.003 --batch=64)
"""


class Install(dlc.TestCase):
    @classmethod
    def setUpClass(cls):
        made = tempfile.mkdtemp(prefix="dlc-test-")
        cls.addClassCleanup(shutil.rmtree, made, ignore_errors=True)
        subprocess.run(["cmake", "--install", dlc.BUILD, "--prefix", f"{made}/first", "--strip"], check=True,
                       capture_output=True, text=True)
        cls.prefix = f"{made}/moved"
        os.rename(f"{made}/first", cls.prefix)
        cls.dlc = f"{cls.prefix}/bin/dlc"

    def run_installed(self, *words):
        done = subprocess.run(words, capture_output=True, text=True, timeout=120, cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_it_works_and_reads_nothing_of_the_checkout(self):
        shutil.copy(dlc.model("mlp"), self.path("mlp.onnx"))
        for name in ("digits-train", "digits-test"):
            shutil.copy(dlc.data(name), self.path(f"{name}.npz"))
        trace = ["strace", "-f", "-qq", "-e", "trace=openat,open,execve,readlink", "-o", self.path("trace")]
        opened = ""
        for words in (["compile", "mlp.onnx", "--optimizer=adamw", "--ddp=2", "--amp", "-o", "mlp.dlc"],
                      ["train", "mlp.dlc", "--data=digits-train.npz", "--steps=40", "--run=run", "--quiet"],
                      ["eval", "run", "--data=digits-test.npz"], ["export", "run", "-o", "out.onnx"]):
            self.run_installed(*trace, self.dlc, *words)
            with open(self.path("trace"), errors="replace") as file:
                opened += file.read()
        self.assertIn("libdnnl.so.3", opened)
        of_checkout = [line for line in opened.splitlines() if f'"{dlc.ROOT}/' in line]
        self.assertEqual(of_checkout, [])
        self.assertTrue(os.path.exists(self.path("out.onnx")))

    def test_models_and_data_of_the_guide(self):
        folder = self.run_installed(self.dlc, "data", "samples").strip()
        self.assertEqual(folder, f"{self.prefix}/share/dlc/models")
        self.assertLess({"README.md", "lenet.onnx", "mnist-train.npz", "text-tokenizer.json"}, set(os.listdir(folder)))
        os.rename(folder, folder + "-away")
        self.addCleanup(os.rename, folder + "-away", folder)
        done = subprocess.run([self.dlc, "data", "samples"], capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr),
                         (dlc.FAILED, f"error: no folder {folder}: this installation of dlc lacks its samples\n"))

    def test_libraries_are_found_beside_it(self):
        for name in ("bin/dlc", "bin/dlc-compile", "lib/libdlc.so.0"):
            text = self.run_installed("readelf", "-d", f"{self.prefix}/{name}")
            self.assertIn("(RPATH)", text)
            self.assertNotIn("(RUNPATH)", text)
            self.assertNotIn(dlc.ROOT, text)
            self.assertNotIn("LLVM", text)
        needed = self.run_installed("ldd", self.dlc)
        for name in ("libdnnl.so.3", "libgloo.so.0", "libhiredis"):
            line = next(line for line in needed.splitlines() if name in line)
            self.assertIn(os.path.realpath(self.prefix), os.path.realpath(line.split("=>")[1].split("(")[0].strip()))

    def test_no_path_of_the_checkout(self):
        for name in ("bin/dlc", "bin/dlc-compile", "lib/libdlc.so.0"):
            with open(f"{self.prefix}/{name}", "rb") as file:
                found = re.search(b"[ -~]*" + re.escape(dlc.ROOT.encode()) + b"/[ -~]*", file.read())
            self.assertIsNone(found, f"{name}: {found}")

    def test_exports_its_interface_alone(self):
        declared = set()
        for header in ("dlc.h", "compile.h"):
            with open(f"{self.prefix}/include/dlc/{header}") as file:
                declared |= set(re.findall(r"DLC_API[^;{(]*?\b(dlc_\w+)\(", file.read()))
        table = self.run_installed("nm", "-D", "--defined-only", f"{self.prefix}/lib/libdlc.so.0")
        self.assertEqual({line.split()[2] for line in table.splitlines()}, declared)

    def test_headers_are_few_and_need_nothing(self):
        headers = sorted(os.listdir(f"{self.prefix}/include/dlc"))
        self.assertEqual(headers, ["compile.h", "dlc.h", "dlc.hpp", "dlc_op.h"])
        for header, language, standard in (("dlc.h", "c", "c99"), ("compile.h", "c", "c99"), ("dlc_op.h", "c", "c99"),
                                           ("dlc.h", "c++", "c++11"), ("dlc.hpp", "c++", "c++17"), ("dlc_op.h", "c++", "c++17")):
            subprocess.run(["g++" if language == "c++" else "gcc", "-x", language, f"-std={standard}", "-Wall", "-Wextra",
                            "-Wpedantic", "-Werror", "-fsyntax-only", "-I", f"{self.prefix}/include", "-"],
                           input=f"#include <dlc/{header}>\n", text=True, check=True, cwd=self.folder)

    def test_a_project_of_ones_own(self):
        with open(self.path("CMakeLists.txt"), "w") as file:
            file.write(PROJECT)
        for name in ("embed.cpp", "embed.c", "from_onnx.cpp"):
            shutil.copy(f"{self.prefix}/share/doc/dlc/examples/{name}", self.path(name))
        shutil.copy(dlc.model("mlp"), self.path("mlp.onnx"))
        self.run_installed("cmake", "-S", ".", "-B", "b", f"-DCMAKE_PREFIX_PATH={self.prefix}", "-DCMAKE_BUILD_TYPE=Debug")
        self.run_installed("cmake", "--build", "b")
        self.assertIn("right", self.run_installed("b/app_c", "b/mlp.dlc", "20"))
        out = self.run_installed("b/app", "b/mlp.dlc", dlc.data("digits-train"), dlc.data("digits-test"))
        self.assertIn("steps, accuracy", out)
        out = self.run_installed("b/compiles", "mlp.onnx", dlc.data("digits-train"), "trained.onnx")
        self.assertRegex(out, r"^trained.onnx: after \d+ steps, loss \d\.\d+")

    def test_completion_of_bash(self):
        def complete(*words):
            script = 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _dlc; echo "${COMPREPLY[@]}"'
            file = f"{self.prefix}/share/bash-completion/completions/dlc"
            return self.run_installed("bash", "-c", script, "-", file, *words).split()

        self.assertEqual(complete("dlc", "tr"), ["train"])
        self.assertIn("--epochs", complete("dlc", "train", "--ep"))
        self.assertIn("--optimizer", complete("dlc", "compile", "m.onnx", "--opt"))
        self.assertEqual(complete("dlc", "compile", "--layout", "=", "n"), ["nchw", "nhwc"])
        self.assertEqual(complete("dlc", "compile", "--layout", "n"), ["nchw", "nhwc"])
        self.assertEqual(complete("dlc", "doctor", "cache", "pr"), ["prune"])
        self.assertEqual(complete("dlc", "debug", "co"), ["compare"])
        self.assertIn("--onnxruntime", complete("dlc", "debug", "compare", "a.dlc", "--onn"))
        self.assertEqual(complete("dlc", "compile", "mod"), [])

    def test_manual_has_every_command_and_flag(self):
        pages = sorted(os.listdir(f"{self.prefix}/share/man/man1"))
        with open(f"{self.prefix}/share/man/man1/dlc.1") as file:
            listed = re.findall(r"^\.BR (dlc\S+) \(1\)", file.read().replace("\\-", "-"), re.M)
        self.assertEqual(pages, sorted(["dlc.1"] + [name + ".1" for name in listed]))
        for name in "dlc-train", "dlc-debug", "dlc-debug-replay", "dlc-debug-diff", "dlc-doctor-cache-list":
            self.assertIn(name, listed)
        for name in listed:
            with open(f"{self.prefix}/share/man/man1/{name}.1") as file:
                page = file.read().replace("\\-", "-")
            text = self.run_installed(self.dlc, *name.split("-")[1:], "--help=all")
            flags = re.findall(r"^  (?:-\w,)?(--[\w-]+)", text, re.M)
            self.assertIn("--help", flags)
            for flag in flags:
                self.assertIn(f"\\fB{flag}\\fR", page)
            self.assertIn(f".TH {name.upper()} 1", page)


if __name__ == "__main__":
    dlc.main()
