# SPDX-License-Identifier: Apache-2.0
"""Command lines that must be refused: exit code 2 and a message that shows the way out."""

import os
from unittest import mock

import re

import dlc


class Usage(dlc.TestCase):
    def refuse(self, words, message, code=dlc.USAGE):
        _, err = dlc.dlc(*words, code=code, timeout=20)
        self.assertRegex(err, message)

    def compile(self, *words):
        return ["compile", dlc.model("mlp"), "-o", self.path("out.dlc"), *words]

    def train(self, *words):
        return ["train", "a.dlc", "--data=x.npz", *words]

    def test_table(self):
        cases = {
            "no command": ([], r"compile"),
            "unknown command": (["trian"], r"trian.*train"),
            "no model": (["compile"], r"(?i)model"),
            "unknown flag, one letter off": (self.compile("--optimiser=sgd"), r"--optimizer"),
            "unknown flag, its beginning": (self.compile("--optimi=sgd"), r"'--optimi'; did you mean '--optimizer'"),
            "unknown flag, the shortest that begins so": (self.compile("--amp-n"), r"did you mean '--amp-node'"),
            "unknown flag, not so near": (self.compile("--optimizer-groups=a:sgd"), r"did you mean '--optimizer-group'"),
            "unknown flag, nothing near": (self.compile("--zzzzzzzz"), r"unknown flag '--zzzzzzzz'; see"),
            "unknown flag, letters swapped": (self.compile("--bacth=3"), r"--batch"),
            "unknown flag of train": (["train", "a.dlc", "--epoch=3"], r"--epochs"),
            "unknown flag like nothing": (self.compile("--xyzzy"), r"--xyzzy"),
            "two models": (self.compile("other.onnx"), r"other\.onnx"),
            "an artifact of a phase": (self.compile("--stop-after=loss"), r"--output .*out\.dlc: .* write no artifact, .*: > .*out\.dlc"),
            "optimizer's name": (self.compile("--optimizer=sgdd"), r"sgdd.*sgd"),
            "loss's name": (self.compile("--loss=entropy"), r"entropy.*cross_entropy"),
            "schedule's name": (self.compile("--schedule=cos"), r"cos.*cosine"),
            "batch of no number": (self.compile("--batch=many"), r"--batch.*many|many.*--batch"),
            "batch below 0": (self.compile("--batch=-4"), r"--batch"),
            "batch beyond 64 bits": (self.compile("--batch=99999999999999999999"), r"--batch"),
            "learning rate of no number": (self.compile("--lr=fast"), r"--lr"),
            "learning rate NaN": (self.compile("--lr=nan"), r"--lr"),
            "level of autocast": (self.compile("--amp=O4"), r"--amp: expected O0, O1, O2 or O3, found 'O4'"),
            "preset without it": (self.compile("--amp-preset=torch"), r"--amp-preset needs --amp=O1"),
            "lists of autocast without it": (self.compile("--amp-deny=conv"), r"needs --amp"),
            "op that autocast does not know": (self.compile("--amp", "--amp-deny=Covn"),
                                               r"--amp-deny: 'Covn' is neither an op .*did you mean 'Conv'"),
            "op on two lists": (self.compile("--amp", "--amp-deny=Gemm", "--amp-clear=relu,matmul"),
                                r"two lists of autocast: --amp-deny=Gemm and --amp-clear=matmul"),
            "products of a library on a CPU": (self.compile("--matmul=library"), r"--matmul needs --target=cuda"),
            "placement on a CPU": (self.compile("--place=norm=library"), r"--place=norm=library matches no op"),
            "placement of nothing": (self.compile("--target=cuda", "--place=norm"), r"--place: expected \[REGEX:\]OP=BY"),
            "placement of no op": (self.compile("--target=cuda", "--place=norms=library"),
                                   r"--place: 'norms' is not one of attention, matmul, .*did you mean 'norm'"),
            "placement by nobody": (self.compile("--target=cuda", "--place=norm=cudnn"),
                                    r"--place: expected library, generated, decomposed, winograd2 or winograd4 after 'norm=', found "
                                    r"'cudnn'"),
            "placement of nodes": (self.compile("--target=cuda", "--place=(:norm=library"), r"--place.*regular expression"),
            "placement that fits nothing": (self.compile("--target=cuda", "--place=attention=library"),
                                            r"--place=attention=library matches no op"),
            "placement without a choice": (self.compile("--target=cuda", "--debug-overflow", "--place=matmul=library"),
                                           r"--place=matmul=library conflicts with --debug-overflow"),
            "norms' maker": (self.compile("--target=cuda", "--norm=cudnn"), r"cudnn.*library"),
            "attention's maker": (self.compile("--target=cuda", "--attention=cudnn"), r"cudnn.*library"),
            "rule for no node": (self.compile("--amp", "--amp-node=f3/Gem:f32"), r"fits no node"),
            "rule one letter off": (self.compile("--amp", "--amp-node=/fc1/Gemn:f32"),
                                    r"--amp-node=/fc1/Gemn:f32 fits no node; did you mean '/f1/Gemm'"),
            "rule of no type": (self.compile("--amp", "--amp-node=Gemm"), r"expected REGEX:f32 or REGEX:half"),
            "rule of no pattern": (self.compile("--amp", "--amp-node=(:half"), r"'\(' is not a regular expression"),
            "pattern that is none": (self.compile("--train=("), r"--train.*regular expression"),
            "nodes to recompute that are none": (self.compile("--recompute=Relu"),
                                                 r"--recompute=Relu matches no node.*; (did you mean|there are)"),
            "memory of no size": (self.compile("--memory=much"), r"--memory.*4GiB.*much"),
            "pieces of a loss": (self.compile("--loss-chunk=some"), r"--loss-chunk.*auto, off or a number of rows, found 'some'"),
            "pieces of no rows": (self.compile("--loss-chunk=0"), r"--loss-chunk.*auto, off or a number of rows, found '0'"),
            "offload of an unknown kind": (self.compile("--target=cuda", "--offload=most"), r"--offload.*'most' is not one of auto, off, only"),
            "offload without a limit": (self.compile("--target=cuda", "--offload=only"), r"--offload=only needs --memory=SIZE"),
            "offload on a CPU": (self.compile("--offload=off", "--memory=1GiB"), r"--offload needs --target=cuda"),
            "batch for no memory": (self.compile("--batch=auto"), r"--batch=auto needs --memory=SIZE"),
            "batches of which one is auto": (self.compile("--batch=8,auto", "--memory=1GiB"), r"--batch.*auto"),
            "batch to check": (["check", dlc.model("mlp"), "--batch=auto", "--memory=1GiB"],
                               r"--batch=auto is for dlc compile"),
            "pattern of nodes that is none": (self.compile("--recompute=["), r"--recompute.*regular expression"),
            "names to train": (self.compile("--train=f1.wieght"),
                               r"--train=f1.wieght matches no initializer.*did you mean 'f1.weight'"),
            "names to freeze": (self.compile("--freeze=^encoder"),
                                r"--freeze=\^encoder matches no initializer.*there are '.*' and [0-9]+ more"),
            "names to initialize": (self.compile("--init=f1.wieght:zeros"), r"--init.* no trained.*mean 'f1.weight'"),
            "names of rates": (self.compile("--lr-scale=f1.wieght:2"), r"--lr-scale.* no trained.*mean 'f1.weight'"),
            "names of decays": (self.compile("--weight-decay-scale=x9:2"),
                                r"--weight-decay-scale=x9:2 matches no trained parameter; (did you|there are)"),
            "names of groups": (self.compile("--optimizer-group=f1.wieght:sgd"),
                                r"--optimizer-group.* no trained.*mean 'f1.weight'"),
            "names of targets": (self.compile("--lora=2", "--lora-targets=f1.wieght"),
                                 r"--lora-targets=f1.wieght matches no weight.*mean 'f1.weight'"),
            "look-ahead": (self.compile("--train=(?!bn)w"), r"--train: .*no look-around and no references"),
            "reference to a group": (self.compile(r"--amp-node=(a)\1:half", "--amp"), r"--amp-node.*no look-around"),
            "floor without cosine": (self.compile("--min-lr=0.1"), r"--min-lr needs --schedule=cosine"),
            "factor of a plateau": (self.compile("--schedule=plateau(factor=1)"), r"factor: expected a number from 0 to 0.999999, found '1'"),
            "plateau's argument": (self.compile("--schedule=cosine(patience=3)"), r"patience"),
            "warm-up as long as all": (self.compile("--warmup=5", "--steps=5"), r"--warmup=5"),
            "warm-up below 0": (self.compile("--warmup=-1"), r"--warmup.*at least 0"),
            "factor of no warm-up": (self.compile("--warmup-start-factor=0.1"), r"--warmup-start-factor needs --warmup"),
            "warm-up from 0": (self.compile("--warmup=2", "--warmup-start-factor=0"), r"number above 0, of at most 1, found '0'"),
            "unset variable": (["train", "--run=", "a.dlc", "--data=x.npz"], r"--run=: expected a value, found nothing"),
            "number with arguments": (self.compile("--ema=0.9(start=3)"), r"--ema: '0\.9\(start=3\)': a number has no arguments.*--ema='auto\("),
            "arrays as a picture": (["predict", "a.dlc", "x.npz"], r"'x\.npz' is not a picture: expected --data=x\.npz"),
            "scale of nothing": (self.train("--scale=0"), r"--scale: 0 would make all samples equal"),
            "scale of data NaN": (self.train("--scale=nan"), r"--scale: expected a number, found 'nan'"),
            "momentum beyond 1": (self.compile("--momentum=1.5"), r"--momentum"),
            "one beta": (self.compile("--optimizer=adamw", "--betas=0.9"), r"--betas"),
            "no ranks": (self.compile("--ddp=0"), r"--ddp"),
            "ramp of a ramp": (self.compile("--ema", "--ema-ramp=0.05"), r"--ema: ramp needs decay or halflife"),
            "moments in fp16": (self.compile("--moments=fp16"), r"--moments.*f32.*bf16.*8bit"),
            "blocks over ranks": (self.compile("--moments=8bit", "--ddp=2", "--zero=1"),
                                  r"--moments=8bit keeps blocks .* --zero would split .*: use --moments=bf16, or --zero=0"),
            "blocks of whole tensors": (self.compile("--moments=8bit", "--optimizer=lamb"),
                                        r"lamb computes with whole tensors: use --moments=bf16"),
            "decay beyond 1": (self.compile("--ema=1.5"), r"--ema"),
            "phase": (["compile", dlc.model("mlp"), "--stop-after=autodif", "--emit=mlir"], r"autodif.*autodiff"),
            "shuffle": (self.train("--shuffle=maybe"), r"--shuffle: expected off or on, found 'maybe'"),
            "way to tune": (self.train("--tune=bench"), r"--tune: 'bench' is not one of off, heuristic, benchmark"),
            "scratch of no size": (self.train("--workspace-mb=much"), r"--workspace-mb: expected a number from 0 to"),
            "candidates": (self.train("--tune-candidates=0"), r"expected a whole number from 1 to 1000, found '0'"),
            "threads of a run": (self.train("--threads=100000"), r"--threads: .*whole number from 0 to 4096, found '100000'"),
            "patience": (self.train("--timeout=nan"), r"--timeout: expected a number from 0.1 to 1000000, found 'nan'"),
            "seed": (self.train("--seed=-1"), r"--seed: expected a whole number of at least 0, found '-1'"),
            "threads": (["eval", "a.dlc", "--data=x.npz", "--threads=0"], r"--threads: expected a whole number from 1 to 4096, found '0'"),
            "switch of neither": (self.train("--quiet=maybe"), r"--quiet: expected true or false, found 'maybe'"),
            "averages of no number": (["eval", "a.dlc", "--data=x.npz", "--ema=x"], r"--ema: expected a whole number.*'x'"),
            "adapters": (["export", "a.dlc", "-o", "b.onnx", "--lora=merge"], r"--lora: 'merge' is not one of merged, adapters; did you mean 'merged'"),
            "seed beyond 64 bits": (self.train("--seed=18446744073709551616"), r"--seed: .* of at least 0, found '18446744"),
            "steps and epochs": (self.train("--steps=1", "--epochs=1"), r"--steps and --epochs are both given"),
            "no steps": (self.train("--steps=0"), r"--steps: expected a whole number of at least 1, found '0'"),
            "no epochs": (self.train("--epochs=0"), r"--epochs: expected a whole number of at least 1, found '0'"),
            "checkpoint of a new run": (self.train("--checkpoint=3"), r"--checkpoint needs --resume"),
            "artifact of a run": (self.train("--resume=x"), r"--resume takes the run's own artifact, found 'a\.dlc'"),
            "seed of a run": (["train", "--resume=x", "--seed=0"], r"--seed cannot change in a run that is resumed"),
            "no artifact": (["train", "--data=x.npz"], r"expected an artifact, as in"),
            "no data": (["train", "a.dlc"], r"expected --data=FILE"),
            "no run": (["report"], r"expected RUN, as in: dlc report runs/.*; see dlc report --help"),
            "no second model": (["debug", "diff", "a.onnx"], r"expected B, as in: dlc debug diff .*\.onnx .*\.onnx; see"),
            "no data of an evaluation": (["eval", "a.dlc"], r"expected --data, as in: dlc eval "),
            "no command of commands": (["doctor", "cache"], r"expected a command: list, prune, export; see dlc doctor cache --help"),
            "one of another name": (["data", "inspct"], r"unknown command 'inspct'; did you mean 'inspect'\?; see dlc data"),
            "a command's flag": (["data", "inspect", "--foo"], r"unknown flag '--foo'.*; see dlc data inspect --help"),
            "ranks of a new run": (self.train("--ranks=2"), r"--ranks needs --resume: a new run has the number"),
            "no ranks": (["train", "--resume=x", "--ranks=0"], r"--ranks: .*whole number from 1 to 65536, found '0'"),
            "lost ranks": (self.train("--on-lost-rank=wait"), r"--on-lost-rank: expected end or shrink, found 'wait'"),
            "least ranks of a run that ends": (self.train("--min-ranks=2"), r"--min-ranks needs --on-lost-rank=shrink"),
            "restarts of such a run": (self.train("--max-restarts=2"), r"--max-restarts needs --on-lost-rank=shrink"),
        }
        for name, (words, message) in cases.items():
            with self.subTest(name):
                self.refuse(words, message)

    def test_optional_words(self):
        """They come behind '='; the word behind the flag is the next argument, or another flag."""
        def phase(*words):
            return dlc.dlc("compile", *words, "--quiet", "--stop-after=import", "--emit=mlir")[0]

        model = dlc.model("mlp")
        expected = phase(model)
        for flags in ["--amp"], ["--ema"], ["--ema", "--amp"]:
            with self.subTest(flags):
                self.assertEqual(phase(*flags, model), expected)
        for flag in "--amp", "--ema", "--dropout":
            self.refuse(["compile", flag, "none.onnx", "-o", self.path("out.dlc")], r"none\.onnx", code=dlc.FAILED)
        self.refuse(self.compile("--amp", "O2"), "O2")
        self.refuse(self.compile("--amp=O1", "--amp=O2"), "--amp")
        self.refuse(self.compile("--ema", "--loss", "--amp"), "--loss: expected .*, found the flag '--amp'")

    def test_placement_that_cannot_be(self):
        for word, why in ("matmul=generated", "generated kernels multiply 16-bit floats only"), ("matmul-epilogue=library", "rows of 10 "):
            self.refuse(self.compile("--target=cuda", "--place=" + word), f"--place={word} cannot be: {why}.*; without it",
                        code=dlc.BAD_MODEL)

    def test_ranks_of_another_launcher(self):
        with mock.patch.dict(os.environ, RANK="0", WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT="1"):
            for word in "--on-lost-rank=shrink", "--ranks=2":
                self.refuse(["train", "--resume=x", word], r"rank 0 of the environment's \(RANK\): the launcher chooses the number of ranks")

    def test_lists_file(self):
        """File, line and column of what is wrong."""
        cases = {
            "key": ("allow: [Conv]\nalow: [Gemm]\n", r":2:1: 'alow' is none of the lists .*did you mean 'allow'"),
            "op": ("allow: [Conv, Gem]\n", r":1:15: 'Gem' is neither .*did you mean 'Gemm'"),
            "op of a block": ("deny:\n  - Softmax\n  - sofmax\n", r":3:5: 'sofmax' is neither"),
            "two lists": ("allow: [Gemm]\ninfer: [matmul]\n", r":2:9: 'matmul' is on the list 'allow' already, at .*:1:9"),
            "map": ("allow: {Gemm: 1}\n", r":1:8: expected a list of ops"),
            "nested": ("allow: [[Gemm]]\n", r":1:9: expected the name of an op"),
            "syntax": ("allow: [Gemm\n", r":2:1: "),
            "no map": ("- Gemm\n", r"expected lists by the keys allow"),
        }
        for name, (text, message) in cases.items():
            with self.subTest(name):
                with open(self.path("lists.yaml"), "w") as file:
                    file.write(text)
                self.refuse(self.compile("--amp", "--amp-lists=" + self.path("lists.yaml")),
                            "--amp-lists: .*lists.yaml.*" + message)
        self.refuse(self.compile("--amp", "--amp-lists=none.yaml"), r"none.yaml", code=dlc.FAILED)

    def test_help(self):
        """Help is no error: it goes to stdout, for the tool and for every command."""
        for words in [], ["compile"], ["train"], ["eval"], ["predict"], ["export"], ["inspect"], ["debug", "replay"], ["debug", "compare"], ["doctor"], \
                ["doctor", "env"], ["debug", "reduce"]:
            out, _ = dlc.dlc(*words, "--help")
            self.assertRegex(out, r"(?i)usage")
            self.assertNotRegex(out, r"->|\{false\}| in \[|\b(INT|FLOAT|UINT):", "a validator's own words")
        out, _ = dlc.dlc("--version")
        self.assertRegex(out, r"\d+\.\d+\.\d+")

    def test_few_commands_in_groups(self):
        out, _ = dlc.dlc("--help")
        found = re.findall(r"^(Make|Run|Look|Find faults):\n((?:  .*\n)+)", out, re.MULTILINE)
        self.assertEqual([name for name, _ in found], ["Make", "Run", "Look", "Find faults"])
        names = [line.split()[0] for _, lines in found for line in lines.splitlines() if line[2] != " "]
        self.assertLessEqual(len(names), 15, names)
        self.assertNotIn("completion", out)

    def test_short_help(self):
        """compile and train show what most people need, and how to see the rest; dlc help is --help."""
        for name, most in ("compile", 25), ("train", 25):
            short, whole = (dlc.dlc(name, word)[0] for word in ("--help", "--help=all"))
            few, all_ = (set(re.findall(r"^  (?:-\w,)?(--[\w-]+)", text, re.MULTILINE)) - {"--help"} for text in (short, whole))
            self.assertLessEqual(len(few), most)
            self.assertGreater(len(few), 15)
            self.assertLess(few, all_)
            self.assertIn(f"dlc {name} --help=all shows {len(all_) - len(few)} more options.", short)
            self.assertNotIn("more options", whole)
            self.assertIn("Examples:", short)
            self.assertEqual(dlc.dlc("help", name)[0], short)


if __name__ == "__main__":
    dlc.main()
