# SPDX-License-Identifier: Apache-2.0
"""Settings from YAML files: bases, overrides, flags, and what they are refused for."""

import os

import dlc


class Config(dlc.TestCase):
    def write(self, name, text):
        with open(self.path(name), "w") as file:
            file.write(text)
        return self.path(name)

    def show(self, *words, **options):
        """The settings as dlc config prints them: {key: value}."""
        out, _ = dlc.dlc("config", *words, **options)
        values, section = {}, ""
        for line in out.splitlines():
            text = line.split(" # ")[0].rstrip()
            if text.startswith("  "):
                key, value = text.strip().split(": ", 1)
                values[f"{section}.{key}"] = value
            else:
                section = text.rstrip(":")
        return values

    def refuse(self, text, message, name="exp.yaml", code=dlc.USAGE):
        _, err = dlc.dlc("compile", dlc.model("mlp"), "-o", self.path("out.dlc"),
                         config=self.write(name, text), code=code)
        self.assertRegex(err, message)
        self.assertFalse(os.path.exists(self.path("out.dlc")))

    def test_compile_says_what_differs_from_the_defaults(self):
        _, err = dlc.dlc("compile", dlc.model("mlp"), "-o", self.path("out.dlc"), optimizer="adamw", amp=True, warmup=0)
        line = [line for line in err.splitlines() if line.startswith("options: ")]
        self.assertEqual(line, ["options: loss auto, optimizer adamw, lr 0.001, weight-decay 0.01, betas [0.9, 0.999], eps 1e-08, "
                                "amsgrad false, amp O1"])

    def test_compile_says_what_the_optimizer_reads(self):
        """All of it, also where it is the default: torch.optim's, and plain SGD where nothing is said."""
        for words, text in (
                ([], "optimizer sgd, lr 0.01, weight-decay 0, momentum 0, nesterov false, dampening 0"),
                (["--momentum=0.9", "--nesterov"], "optimizer sgd, lr 0.01, weight-decay 0, momentum 0.9, nesterov true, dampening 0"),
                (["--schedule=onecycle", "--steps=9"], "optimizer sgd, lr 0.01, weight-decay 0, momentum 0.95, nesterov false, dampening 0"),
                (["--optimizer=rmsprop"], "optimizer rmsprop, lr 0.01, weight-decay 0, momentum 0, eps 1e-08, alpha 0.99"),
                (["--optimizer=adagrad"], "optimizer adagrad, lr 0.01, weight-decay 0, eps 1e-10"),
                (["--optimizer=lion"], "optimizer lion, lr 0.0001, weight-decay 0, betas [0.9, 0.99]"),
                (["--optimizer=nadam"], "optimizer nadam, lr 0.002, weight-decay 0, betas [0.9, 0.999], eps 1e-08, momentum-decay 0.004, "
                                        "decoupled-weight-decay false"),
                (["--optimizer=adafactor"], "optimizer adafactor, lr 0.01, weight-decay 0, eps 1.1920928955078125e-07, beta2-decay -0.8, "
                                            "eps2 0.001, clip-threshold 1"),
                (["--optimizer=lars"], "optimizer lars, lr 0.1, weight-decay 0, momentum 0.9, nesterov false, eps 1e-08, "
                                       "trust-coefficient 0.001"),
                (["--optimizer=muon"], "optimizer muon, lr 0.001, weight-decay 0.1, momentum 0.95, nesterov true, eps 1e-07")):
            with self.subTest(words):
                _, err = dlc.dlc("compile", dlc.model("mlp"), "-o", self.path("out.dlc"), *words)
                self.assertIn(f"options: loss auto, {text}", err)
                self.assertRegex(dlc.dlc("inspect", self.path("out.dlc"))[0], r"weight-decay")
        dlc.dlc("compile", dlc.model("mlp"), "-o", self.path("out.dlc"), "--nesterov", code=dlc.USAGE)

    def test_sgd_is_plain(self):
        """Without a word SGD keeps no moments: its weights are those of --momentum=0, not of 0.9."""
        plain = dlc.compile(dlc.model("mlp"), self.path("plain.dlc"), optimizer="sgd")
        named = dlc.compile(dlc.model("mlp"), self.path("named.dlc"), optimizer="sgd", momentum=0)
        for name in "plan.pb", "config.yaml":
            with open(os.path.join(plain, name), "rb") as a, open(os.path.join(named, name), "rb") as b:
                self.assertEqual(a.read(), b.read())
        self.assertNotIn(".m ", dlc.dlc("compile", dlc.model("mlp"), "-o", "-", stop_after="plan")[0])

    def test_switched_off_by_name(self):
        """What a switch turned off reads nothing, which a script may do: a warning; without the switch it is an error."""
        for words, message in ((["--amp=O0", "--amp-dtype=fp16"], "--amp-dtype has no effect with --amp=O0"),
                               (["--amp=O0", "--amp-preset=torch"], "--amp-preset has no effect with --amp=O0"),
                               (["amp.level=O0", "--explain-amp"], "--explain-amp has no effect with --amp=O0"),
                               (["--lora=0", "--lora-alpha=16"], "--lora-alpha has no effect with --lora=0"),
                               (["--ema=false", "--ema-tau=5"], "--ema-tau has no effect with --ema=false"),
                               (["--loss-scale=none", "--loss-scale-init=8"], "--loss-scale-init has no effect with --loss-scale=none")):
            with self.subTest(words):
                _, err = dlc.dlc("compile", dlc.model("mlp"), "-o", self.path("out.dlc"), *words)
                self.assertIn("warning: " + message, err)
        plain = dlc.compile(dlc.model("mlp"), self.path("plain.dlc"))
        off = dlc.compile(dlc.model("mlp"), self.path("off.dlc"), amp="O0", amp_dtype="fp16")
        with open(os.path.join(plain, "plan.pb"), "rb") as a, open(os.path.join(off, "plan.pb"), "rb") as b:
            self.assertEqual(a.read(), b.read())
        for words in ["--amp-dtype=fp16"], ["--amp=O2", "--amp-preset=torch"], ["--lora-alpha=16"]:
            dlc.dlc("compile", dlc.model("mlp"), "-o", self.path("out.dlc"), *words, code=dlc.USAGE)

    def test_base_of_yacs(self):
        """BASE is another name of _BASE_, alone or in a chain of both."""
        self.write("base.yaml", "train:\n  lr: 0.1\n  momentum: 0.5\n")
        self.write("middle.yaml", "_BASE_: base.yaml\ntrain:\n  momentum: 0.7\n")
        for text in "BASE: middle.yaml\n", "BASE: [base.yaml, middle.yaml]\n", "_BASE_: middle.yaml\n":
            values = self.show(config=self.write("top.yaml", text + "train:\n  warmup: 3\n"))
            self.assertEqual([values["train." + k] for k in ("lr", "momentum", "warmup")], ["0.1", "0.7", "3"])
        self.refuse("BASE: exp.yaml\n", r"includes this file recursively")
        self.refuse("BASE: {a: b}\n", r"expected BASE to be a file's name")
        self.refuse("BASE: a.yaml\n_BASE_: b.yaml\n", r"exp\.yaml: _BASE_ and BASE are the same setting")
        self.refuse("BASE: ''\n", r"expected BASE to be a file's name")

    def test_order(self):
        """Bases, then the file, then overrides, then flags."""
        self.write("base.yaml", "train:\n  lr: 0.1\n  momentum: 0.5\n  warmup: 3\n")
        top = self.write("top.yaml", "_BASE_: base.yaml\ntrain:\n  momentum: 0.7\n  schedule: cosine\n")
        values = self.show("train.warmup=4", config=top)
        self.assertEqual([values["train." + k] for k in ("lr", "momentum", "schedule", "warmup")],
                         ["0.1", "0.7", "cosine", "4"])
        artifact = self.path("out.dlc")
        dlc.dlc("compile", dlc.model("mlp"), "train.warmup=4", "-o", artifact, config=top, warmup=5)
        frozen = self.show(config=os.path.join(artifact, "config.yaml"))
        self.assertEqual(frozen["train.warmup"], "5")
        self.assertEqual(frozen["train.momentum"], "0.7")

    def test_frozen_copy_compiles_the_same(self):
        first = dlc.compile(dlc.model("mlp"), self.path("a.dlc"), optimizer="adamw", lr=0.003, amp=True,
                            ema=0.99, clip_grad=1, amp_deny="tanh", loss_scale=128)
        dlc.dlc("compile", dlc.model("mlp"), "-o", self.path("b.dlc"),
                config=os.path.join(first, "config.yaml"))
        for name in "config.yaml", "model.mlir":
            with open(os.path.join(first, name)) as a, open(self.path("b.dlc/" + name)) as b:
                self.assertEqual(a.read(), b.read(), name)

    def test_every_default_is_taken_back(self):
        out, _ = dlc.dlc("config")
        values = self.show(config=self.write("all.yaml", out))
        self.assertEqual(values, self.show())
        self.assertGreater(len(values), 25)

    def test_lists_and_nested_bases(self):
        os.mkdir(self.path("deep"))
        self.write("a.yaml", "train:\n  lr: 1\n  betas: [0.8, 0.9]\n")
        self.write("deep/b.yaml", "_BASE_: ../a.yaml\namp:\n  level: true\n  deny: [conv, MatMul]\n")
        values = self.show(config=self.write("c.yaml", "_BASE_: [deep/b.yaml]\n"))
        self.assertEqual(values["train.betas"], "[0.8, 0.9]")
        self.assertEqual(values["amp.deny"], "[conv, MatMul]")

    def test_diff(self):
        a = self.write("a.yaml", "train:\n  lr: 0.1\n")
        b = self.write("b.yaml", "train:\n  lr: 0.2\nddp:\n  ranks: 2\n")
        out, _ = dlc.dlc("config", "diff", a, b)
        self.assertEqual(out, "ddp.ranks: 1 -> 2\ntrain.lr: 0.1 -> 0.2\n")
        artifact = dlc.compile(dlc.model("mlp"), self.path("m.dlc"), lr=0.1)
        out, _ = dlc.dlc("config", "diff", a, artifact)
        self.assertEqual(out, "model.target: auto -> cpu\n")

    def test_train_reads_its_section(self):
        exp = self.write("exp.yaml", f"train:\n  lr: 0.1\nrun:\n  data: {dlc.data('digits-train')}\n"
                                     "  steps: 3\n  seed: 7\n")
        artifact = self.path("m.dlc")
        dlc.dlc("compile", dlc.model("mlp"), "-o", artifact, config=exp)
        dlc.dlc("train", artifact, config=exp, run=self.path("run"), steps=2)
        with open(self.path("run/config.yaml")) as file:
            text = file.read()
        self.assertIn("seed: 7", text)
        self.assertIn("steps: 2", text, "a flag wins")
        for bad, message in {"run:\n  sed: 1\n": r"exp\.yaml:2:3: unknown key 'run\.sed'; did you mean",
                             "run:\n  resume: x\n": r"exp\.yaml:2:3: unknown key 'run\.resume'",
                             "run:\n  steps: x\n": r"exp\.yaml:2:10: run\.steps: .*'x'",
                             "run:\n  seed: 7\n": r"--seed cannot change in a run that is resumed"}.items():
            of = {"resume": self.path("run")} if "seed" in bad else {}
            _, err = dlc.dlc("train", *([] if of else [artifact]), config=self.write("exp.yaml", bad), code=dlc.USAGE, **of)
            self.assertRegex(err, message)

    def test_places_of_errors(self):
        self.refuse("train:\n  lrr: 0.1\n", r"exp\.yaml:2:3: unknown key 'train\.lrr'; did you mean 'train\.lr'\?")
        self.refuse("train:\n  lr: fast\n", r"exp\.yaml:2:7: train\.lr: expected a number.*'fast'")
        self.refuse("train:\n  optimizer: sgdd\n", r"exp\.yaml:2:14: .*'sgdd'.*did you mean 'sgd'")
        self.refuse("train: [\n", r"exp\.yaml:2:1")
        self.refuse("lr: 0.1\n", r"exp\.yaml:1:1: expected 'lr' to be a section")
        self.refuse("train:\n  lr: 1\n  lr: 2\n", r"exp\.yaml:3:3: 'train\.lr' is given twice")
        self.refuse("train:\n  lr: {a: 1}\n", r"exp\.yaml:2:7: expected 'train\.lr' to be a value")
        self.refuse("- 1\n", r"expected sections")

    def test_bases_that_fail(self):
        self.refuse("_BASE_: exp.yaml\n", r"includes this file recursively")
        self.write("b.yaml", "_BASE_: exp.yaml\n")
        self.refuse("_BASE_: b.yaml\n", r"includes this file recursively")
        self.refuse("_BASE_: none.yaml\n", r"none\.yaml", code=dlc.FAILED)
        self.refuse("_BASE_: {a: b}\n", r"_BASE_")

    def test_bases_and_aliases_that_multiply(self):
        """Thirty files of two bases each would be read a billion times, an alias may repeat a list without end."""
        for i in range(30):
            self.write(f"b{i}.yaml", f"_BASE_: [b{i + 1}.yaml, b{i + 1}.yaml]\n")
        self.write("b30.yaml", "train:\n  lr: 1\n")
        self.refuse("_BASE_: b0.yaml\n", r"b\d+\.yaml: more than 1000 files are read for one config")
        many = ", ".join("a" for _ in range(60_000))
        keys = "".join(f"  k{i}: *many\n" for i in range(20))
        self.refuse(f"train:\n  deny: &many [{many}]\n{keys}", r"exp\.yaml:\d+:\d+: more than 1000000 values")

    def test_arguments_of_values(self):
        """NAME(KEY=VALUE,...) is what the older flags are, which warn."""
        for now, before in ((["--schedule=onecycle(pct_start=0.2, div_factor=5)", "--steps=100"],
                             ["--schedule=onecycle", "--pct-start=0.2", "--div-factor=5", "--steps=100"]),
                            (["--schedule=multistep(milestones=[3,5])"], ["--schedule=multistep", "--milestones=3,5"]),
                            (["--loss=focal(gamma=3)"], ["--loss=focal", "--focal-gamma=3"]),
                            (["--loss=logits:focal(gamma=3):2"], ["--loss=logits:focal:2", "--focal-gamma=3"]),
                            (["--optimizer=sgd(momentum=0.9,nesterov)"], ["--optimizer=sgd", "--momentum=0.9", "--nesterov"]),
                            (["--optimizer=adamw(betas=[0.8,0.9],eps=1e-6)"], ["--optimizer=adamw", "--betas=0.8,0.9", "--eps=1e-6"]),
                            (["--optimizer-group=f1:adamw(lr=0.1,beta1=0.8)"], ["--optimizer-group=f1:adamw,lr=0.1,beta1=0.8"]),
                            (["--ema=timm(decay=0.99,warmup)"], ["--ema=0.99", "--ema-kind=timm", "--ema-warmup"]),
                            (["--amp", "--amp-dtype=fp16", "--loss-scale=dynamic(init=8)"],
                             ["--amp", "--amp-dtype=fp16", "--loss-scale-init=8", "--loss-scale=dynamic"]),
                            (["train.schedule=cosine(min-lr=0.001)"], ["train.schedule=cosine", "train.min-lr=0.001"])):
            with self.subTest(now):
                name = "lenet" if "focal" in now[0] else "mlp"
                _, quiet = dlc.dlc("compile", dlc.model(name), *now, "-o", self.path("now.dlc"))
                self.assertNotIn("older spelling", quiet)
                _, err = dlc.dlc("compile", dlc.model(name), *before, "-o", self.path("before.dlc"))
                flags = [word for word in before if word.startswith("--") and not word.startswith(("--schedule", "--loss=", "--steps"))]
                if flags and "group" not in before[0] and "amp" not in before[0]:
                    self.assertIn("older spelling of --", err)
                if "group" not in before[0]:
                    with open(self.path("now.dlc/config.yaml")) as a, open(self.path("before.dlc/config.yaml")) as b:
                        self.assertEqual(a.read(), b.read())
                for file in ["plan.pb"] if "group" not in before[0] else ["model.mlir"]:
                    with open(self.path("now.dlc/" + file), "rb") as a, open(self.path("before.dlc/" + file), "rb") as b:
                        self.assertEqual(a.read(), b.read())
        _, err = dlc.dlc("compile", dlc.model("mlp"), "--optimizer=sgd", "--momentum=0.9", "-o", self.path("before.dlc"))
        self.assertIn("--momentum is an older spelling of --optimizer='sgd(momentum=...)'; the next version removes it", err)

    def test_arguments_that_fail(self):
        for word, message in {"--schedule=cosine(pct_start=0.3)": r"--schedule: cosine has no argument 'pct_start', only min_lr, ",
                              "--schedule=cosine(min_rl=0.3)": r"did you mean 'min_lr'",
                              "--schedule=cosine(min_lr=x)": r"--schedule: min_lr: expected a number of at least 0, found 'x'",
                              "--schedule=cosine(min_lr=0.1": r"'cosine\(min_lr=0.1' lacks its '\)'",
                              "--schedule=cosine(=1)": r"cosine: expected KEY=VALUE, found '=1'",
                              "--schedule=multistep(milestones=[])": r"'milestones=\[\]' has no value",
                              "--schedule=constant(power=2)": r"'constant\(power=2\)' is not one of constant, step",
                              "--loss=a:focal(gamma=1),b:focal(gamma=2)": r"--loss: gamma is 1 and 2: all terms have one",
                              "--optimizer-group=f1:sgd(momentum": r"'sgd\(momentum' lacks its '\)'"}.items():
            _, err = dlc.dlc("compile", dlc.model("mlp"), word, "-o", self.path("o.dlc"), code=dlc.USAGE)
            self.assertRegex(err, message)

    def test_help_lists_arguments(self):
        """Below their flag, in the whole help; older spellings are nowhere."""
        whole, _ = dlc.dlc("compile", "--help=all")
        self.assertIn("onecycle(pct_start=0.3): ", whole)
        self.assertIn("sgd|", whole)
        self.assertNotIn("--pct-start", whole)
        short, _ = dlc.dlc("compile", "--help")
        self.assertIn("--schedule", short)
        self.assertNotIn("pct_start", short)

    def test_overrides_that_fail(self):
        for word, message in {"train.lr": r"settings as in train\.lr=0\.1", "lr=0.1": r"settings as in train\.lr=0\.1",
                              "train.lrr=1": r"did you mean 'train\.lr'", "train.lr=x": r"train\.lr=x.*'x'",
                              "train.power=2": r"--power needs --schedule=polynomial"}.items():
            _, err = dlc.dlc("compile", dlc.model("mlp"), word, "-o", self.path("o.dlc"), code=dlc.USAGE)
            self.assertRegex(err, message)


if __name__ == "__main__":
    dlc.main()
