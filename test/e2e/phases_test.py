# SPDX-License-Identifier: Apache-2.0
"""Every phase can be stopped behind; no pass breaks a law of our ops: every model through all phases, for both targets and
several options.

MLIR verifies the program after each pass, and the last phase builds the loops of each kernel. A model may be refused before; what
no file may see is an error that a pass made. Each model with one set of options, or DLC_PHASES=all.
"""
# processors: 2

import concurrent.futures
import glob
import os
import re

import dlc

OPTIONS = [dict(), dict(amp=True), dict(accumulate=2), dict(ddp=2), dict(ema=True), dict(ddp=2, zero=3, ema=0.9),
           dict(amp=True, amp_dtype="fp16", recompute=".*"), dict(layout="nchw"), dict(debug_overflow=True)]
OF_AN_OP = re.compile(r"'(dlc|exec|func|builtin)\.\w+' op|not a legal cluster|verification|Assertion|Stack dump")


def compile_all(model, target, options):
    """The exit code and the errors, with the first loss that there is."""
    for loss in "cross_entropy", "mse", "graph":
        process = dlc.start("compile", model, "-o", "-", stop_after="plan", emit="mlir", target=target, loss=loss, quiet=True, **options)
        code, _, err = dlc.finish(process, timeout=300)
        if code == dlc.OK or OF_AN_OP.search(err):
            break
    return code, err


def texts(model, **options):
    """The program after each phase, by its name."""
    _, err = dlc.dlc("compile", model, "-o", "-", stop_after="?", emit="mlir", code=dlc.USAGE, **options)
    names = re.search(r"unknown phase '\?', known are (.*)", err)[1].split(", ")
    return {name: dlc.dlc("compile", model, "-o", "-", stop_after=name, emit="mlir", quiet=True, **options)[0] for name in names}


class Phases(dlc.TestCase):
    def test_each_phase_can_be_the_last(self):
        """What an option turns on changes the program in its phase, in the table's order; `plan` is the last one."""
        training = dict(amp=True, amp_dtype="fp16", ddp=2, accumulate=2, clip_grad=1, clip_param_grad=2,
                        stats=True, ema=True, optimizer="adamw")
        after = texts(dlc.model("lenet"), **training)
        changes = [name for name, text, before in zip(list(after)[1:], list(after.values())[1:], after.values()) if text != before]
        self.assertEqual(changes, [
            "loss", "autocast", "autodiff", "scale-loss", "accumulate", "all-reduce", "unscale",
            "measure-gradients", "clip-each", "clip", "optimizer", "measure-parameters", "ema", "simplify",
            "layout", "decompose", "fuse", "memory", "schedule"])
        self.assertIn("func.func @predict", after["import"])
        self.assertNotIn("@train_step", after["canonicalize"])
        self.assertIn("@train_step", after["loss"])
        plan, _ = dlc.dlc("compile", dlc.model("lenet"), "-o", "-", stop_after="plan", emit="mlir", quiet=True, **training)
        self.assertEqual(plan, list(after.values())[-1])

    def test_phases_of_prediction(self):
        after = texts(dlc.model("gpt_tiny"), predict_only=True, decode=True, batch=1)
        self.assertNotIn("autodiff", after)
        self.assertNotIn("@decode", after["randomize"])
        self.assertIn("@decode", after["decode"])
        self.assertIn("exec.program", after["memory"])
        self.assertNotIn("exec.program", after["recompute"])

    def test_verifiers_are_silent(self):
        models = sorted(glob.glob(os.path.join(dlc.MODELS, "*.onnx")) + glob.glob(os.path.join(dlc.REFS, "*.onnx")))
        every = os.environ.get("DLC_PHASES") == "all"
        jobs = [(m, target, options) for i, m in enumerate(models) for t, target in enumerate(("cpu", "cuda"))
                for o, options in enumerate(OPTIONS) if every or o == (i + 4 * t) % len(OPTIONS)]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            results = list(pool.map(lambda job: compile_all(*job), jobs))
        for (model, target, options), (code, err) in zip(jobs, results):
            with self.subTest(model=os.path.basename(model), target=target, **options):
                self.assertNotRegex(err, OF_AN_OP)
                self.assertIn(code, (dlc.OK, dlc.USAGE, dlc.BAD_MODEL, dlc.FAILED), err)
        self.assertGreater(sum(code == dlc.OK for code, _ in results), len(jobs) * 0.8)


if __name__ == "__main__":
    dlc.main()
