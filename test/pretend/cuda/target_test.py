# SPDX-License-Identifier: Apache-2.0
"""--target=auto, the default: CUDA where a driver's GPU is seen and can be compiled for, else the CPU; the summary says which and why."""

import json
import os
from unittest import mock

import dlc
import standins


def contents(folder):
    """All files of an artifact by their name."""
    found = {}
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), "rb") as file:
            found[name] = file.read()
    return found


class Target(standins.StandinTest):
    def compile(self, name, *words, seen=True, code=dlc.OK, command="compile", **environment):
        """What is said, and the artifact's target and SMs."""
        variables = {**os.environ, "LD_LIBRARY_PATH": standins.STANDINS if seen else "", **environment}
        artifact = self.path(name)
        with mock.patch.dict(os.environ, variables):
            _, err = dlc.dlc(command, dlc.model("mlp"), *words, *(["-o", artifact] if command == "compile" else []), code=code)
        if code != dlc.OK:
            return err, None, None
        out, _ = dlc.dlc("inspect", artifact, "--json")
        sms = sorted(n.split("_")[1].split(".")[0] for n in os.listdir(artifact) if n.endswith(".cubin"))
        line, = [line for line in err.splitlines() if line.startswith("target ")]
        return line, json.loads(out)["target"], sms

    def test_gpu(self):
        line, target, sms = self.compile("auto.dlc", DLC_STANDIN_DEVICES="2")
        self.assertEqual((target, sms), ("cuda", ["90"]))
        self.assertRegex(line, r"^target cuda \(--sm=90\), found here: Stand-in GPU, CUDA 13\.0; or --target=cpu$")
        same = dlc.compile(dlc.model("mlp"), self.path("same.dlc"), target="cuda", sm=90)
        self.assertEqual(contents(self.path("auto.dlc")), contents(same))
        # The frozen settings name the target.
        again, _ = dlc.dlc("compile", dlc.model("mlp"), "-o", self.path("again.dlc"), config=os.path.join(same, "config.yaml"))
        self.assertEqual(contents(self.path("again.dlc")), contents(same))

    def test_sm_by_hand(self):
        self.assertEqual(self.compile("a.dlc", "--sm=80,89")[1:], ("cuda", ["80", "89"]))
        self.assertEqual(self.compile("b.dlc", "model.sm=[86]", "model.target=auto")[1:], ("cuda", ["86"]))

    def test_unknown_sm(self):
        """A GPU between those that are known runs the code of the one before; so does a newer one, by PTX."""
        for sm, expected in ("88", "87"), ("130", "121"):
            line, target, sms = self.compile(f"{sm}.dlc", DLC_STANDIN_SM=sm)
            self.assertEqual((target, sms), ("cuda", [expected]), line)

    def test_asked_for(self):
        """A driver changes nothing about a target that is named."""
        line, target, _ = self.compile("seen.dlc", "--target=cpu")
        self.assertEqual(target, "cpu")
        self.assertRegex(line, r"^target cpu \(.+\), asked for; or --target=cuda$")
        _, target, _ = self.compile("unseen.dlc", "--target=cpu", seen=False)
        self.assertEqual(contents(self.path("seen.dlc")), contents(self.path("unseen.dlc")))
        line, target, _ = self.compile("none.dlc", seen=False)
        self.assertEqual(target, "cpu")
        self.assertRegex(line, r"^target cpu \(.+\), no driver of NVIDIA's GPUs is found.*; or --target=cuda$")
        self.assertEqual(contents(self.path("none.dlc")), contents(self.path("unseen.dlc")))
        line, target, _ = self.compile("cuda.dlc", "--target=cuda", "--sm=80", seen=False)
        self.assertEqual(target, "cuda")
        self.assertRegex(line, r"^target cuda \(--sm=80\), asked for; or --target=cpu$")

    def test_unusable(self):
        """A driver that is too old or has no GPU, a GPU that is too old, no assembler: the CPU, and why."""
        for why, environment in (
                (r"is for CUDA 11\.8, expected 12\.0 or newer: update it", dict(DLC_STANDIN_DRIVER_VERSION="11080")),
                (r"CUDA_ERROR_NO_DEVICE|the driver shows no GPU", dict(DLC_STANDIN_DEVICES="0")),
                (r"cuInit: .*999|cuInit: CUDA_ERROR_UNKNOWN", dict(DLC_STANDIN_FAIL="cuInit:1=999")),
                (r"cuDeviceGetCount", dict(DLC_STANDIN_MISSING="cuDeviceGetCount")),
                (r"Stand-in GPU, CUDA 13\.0 cannot be compiled for: kernels are made for compute capability 8\.0 and newer, not for --sm=75",
                 dict(DLC_STANDIN_SM="75")),
                (r"cannot be compiled for: no program .*, where CUDA_HOME points; install the CUDA Toolkit", dict(CUDA_HOME=self.folder))):
            with self.subTest(why):
                line, target, _ = self.compile("m.dlc", **environment)
                self.assertEqual(target, "cpu")
                self.assertRegex(line, rf"^target cpu \(.+\), .*(?:{why}).*; or --target=cuda$")

    def test_options_of_a_target(self):
        """Those of the GPUs are taken where there are some, those of CPUs are not."""
        self.compile("a.dlc", "--matmul=library")
        for word, seen, message in (("--matmul=library", False, "--matmul needs --target=cuda"),
                                    ("--sm=90", False, "--sm needs --target=cuda"), ("--cpu=native", True, "--cpu needs --target=cpu")):
            err, _, _ = self.compile("no.dlc", word, seen=seen, code=dlc.USAGE)
            self.assertIn(message, err)

    def test_settings(self):
        """The settings keep the word, of which each machine makes its own."""
        with mock.patch.dict(os.environ, LD_LIBRARY_PATH=standins.STANDINS):
            out, _ = dlc.dlc("config")
            self.assertRegex(out, r"(?m)^  target: auto +# --target: ")
            with open(self.path("all.yaml"), "w") as file:
                file.write(out)
            out, _ = dlc.dlc("config", "diff", self.path("all.yaml"), self.path("all.yaml"))
            self.assertEqual(out, "")
            artifact = dlc.compile(dlc.model("mlp"), self.path("m.dlc"), config=self.path("all.yaml"))
        out, _ = dlc.dlc("config", "diff", self.path("all.yaml"), artifact)
        self.assertEqual(out, "model.target: auto -> cuda\n")

    def test_check_and_graph(self):
        """Commands that make no artifact take the same word."""
        self.assertEqual(dlc.dlc("check", dlc.model("mlp"), "--target=auto")[0], dlc.dlc("check", dlc.model("mlp"))[0])
        dlc.dlc("graph", dlc.model("mlp"), "-o", self.path("m.dot"))
        _, err = dlc.dlc("compile", dlc.model("mlp"), "--target=gpu", code=dlc.USAGE)
        self.assertIn("'gpu' is not one of", err)


if __name__ == "__main__":
    dlc.main()
